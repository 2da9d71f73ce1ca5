`include "simulation.svh"

/// Choice of a link input: one of six channels, in turns. Combinational.
///
/// The two channels of a class can have the same aim, which is open to them at the same moments only: they take turns
/// of their own. So at most one of each pair is eligible.
module switch_router_choice #(
    /// Bits of a way.
    parameter int unsigned WAY_W = 5
) (
    /// Channels whose phit could leave.
    input  logic [5:0]            able_i,
    /// By channel: way of the phit, a way_t.
    input  logic [5:0][WAY_W-1:0] way_i,
    /// By class: the channel with the dateline bit was chosen last.
    input  logic [2:0]            odd_was_last_i,
    /// Channels after the last choice.
    input  logic [5:0]            mask_i,
    /// The choice, one-hot.
    output logic [5:0]            next_o,
    /// Way of the chosen phit, a way_t.
    output logic [WAY_W-1:0]      way_o,
    /// Channels after the choice.
    output logic [5:0]            mask_o
);

  logic [2:0] any, odd, ahead, win;

  for (genvar c = 0; c < 3; c++) begin : g_pair
    assign any[c] = able_i[2*c] || able_i[2*c+1];
    assign odd[c] = able_i[2*c+1] && !(able_i[2*c] && odd_was_last_i[c]);
    assign ahead[c] = odd[c] ? mask_i[2*c+1] : able_i[2*c] && mask_i[2*c];
  end

  // The first of those behind the last choice, or of all.
  always_comb begin
    win = '0;
    next_o = '0;
    way_o = '0;
    mask_o = '0;
    if (`ALCOR_AWAKE(able_i != '0)) begin
      win[0] = ahead[0] || (any[0] && ahead == '0);
      win[1] = !ahead[0] && (ahead[1] || (any[1] && !any[0] && !ahead[2]));
      win[2] = ahead[1:0] == '0 && (ahead[2] || (any[2] && any[1:0] == '0));
      for (int unsigned c = 0; c < 3; c++) begin
        next_o[2*c] = win[c] && !odd[c];
        next_o[2*c+1] = win[c] && odd[c];
        if (win[c]) way_o |= odd[c] ? way_i[2*c+1] : way_i[2*c];
      end
      mask_o = {
        !(win[2] && odd[2]), win[1] || win[0],
        win[0] || (win[1] && !odd[1]), win[0], win[0] && !odd[0], 1'b0
      };
    end
  end

endmodule

`include "assertions.svh"

/// Chooses one of 32 communicators in turn: a registered choice, made from the candidates of the
/// cycle before it is looked at.
///
/// A choice that could not be used takes a nap, in which others come first, so that a communicator
/// that waits costs the others next to nothing; naps end when nobody else is a candidate, and every
/// 16 cycles, so that nobody is passed over for long.
module coll_pick (
    /// Clock.
    input  logic        clk_i,
    /// Synchronous reset, active low.
    input  logic        rst_ni,
    /// Candidates.
    input  logic [31:0] candidates_i,
    /// The present choice could not be used.
    input  logic        failed_i,
    /// There is a choice.
    output logic        valid_o,
    /// The choice.
    output logic [ 4:0] row_o
);

  logic [31:0] awake, behind, chosen, above_q, nap_d, nap_q;
  logic [31:0] chosen_q;
  logic [4:0] row;
  logic [3:0] time_q;

  always_comb begin
    nap_d = (time_q == '0) ? '0 : nap_q;
    if (failed_i) nap_d = nap_d | chosen_q;
    awake = candidates_i & ~nap_d;
    if (awake == '0) begin
      awake = candidates_i;
      nap_d = '0;
    end
    behind = awake & above_q;
    chosen = (behind != '0) ? (behind & (~behind + 1'b1)) : (awake & (~awake + 1'b1));
  end

  assign row[0] = |(chosen & 32'hAAAA_AAAA);
  assign row[1] = |(chosen & 32'hCCCC_CCCC);
  assign row[2] = |(chosen & 32'hF0F0_F0F0);
  assign row[3] = |(chosen & 32'hFF00_FF00);
  assign row[4] = |(chosen & 32'hFFFF_0000);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_o  <= 1'b0;
      row_o    <= '0;
      nap_q    <= '0;
      time_q   <= '0;
      above_q  <= '0;
      chosen_q <= '0;
    end else begin
      valid_o  <= candidates_i != '0;
      nap_q    <= nap_d;
      time_q   <= time_q + 1'b1;
      chosen_q <= chosen;
      if (candidates_i != '0) begin
        row_o   <= row;
        // The ones above the choice.
        above_q <= ~(chosen | (chosen - 1'b1));
      end
    end
  end

  `ALCOR_ASSERT(a_one, $onehot0(chosen_q))

endmodule

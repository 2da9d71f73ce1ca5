`include "simulation.svh"

/// Round-robin choice of one of 32 communicators. The choice is a register: it is made from the
/// candidates of the cycle before its use.
///
/// A choice that could not be used is marked, and unmarked candidates come first. So a communicator
/// that has to wait costs the others almost no cycle. The marks are cleared when no unmarked
/// candidate is left, and every 16 cycles, so that no communicator waits long.
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

  // Whether the present choice could be used is known late. Until then both answers are worked out: who
  // comes first among those awake, with and without the present choice, or among all if nobody is awake.
  logic [31:0] candidates, awake, self, above_q, nap_q;
  logic higher_some, used_some, failed_some, above_some, some;
  logic [4:0] higher, used_first, failed_first, above, first, used_row, failed_row, all_row, row;
  logic [3:0] time_q;

  // No state changes without a candidate.
  assign candidates = `ALCOR_AWAKE(candidates_i != '0) ? candidates_i : '0;
  assign awake      = candidates & ~nap_q;
  assign self       = 32'd1 << row_o;

  coll_first u_higher (.request_i(awake & above_q), .valid_o(higher_some), .row_o(higher));
  coll_first u_used (.request_i(awake), .valid_o(used_some), .row_o(used_first));
  coll_first u_failed (.request_i(awake & ~self), .valid_o(failed_some), .row_o(failed_first));
  coll_first u_above (.request_i(candidates & above_q), .valid_o(above_some), .row_o(above));
  coll_first u_any (.request_i(candidates), .valid_o(some), .row_o(first));

  assign all_row    = above_some ? above : first;
  assign used_row   = higher_some ? higher : used_some ? used_first : all_row;
  assign failed_row = higher_some ? higher : failed_some ? failed_first : all_row;
  assign row        = failed_i ? failed_row : used_row;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_o <= 1'b0;
      row_o   <= '0;
      nap_q   <= '0;
      time_q  <= '0;
      above_q <= '0;
    end else begin
      valid_o <= some;
      time_q  <= time_q + 1'b1;
      if (some) begin
        row_o   <= row;
        above_q <= 32'hFFFF_FFFE << row;
      end
      if (time_q == '0 || !(failed_i ? failed_some : used_some)) nap_q <= '0;
      if (failed_i && failed_some) nap_q <= ((time_q == '0) ? '0 : nap_q) | self;
    end
  end

endmodule

`include "assertions.svh"

import alcor_abi_pkg::*;

/// Communicators whose collectives are cancelled: all those of a rank that is being reset and, for a rank whose neighbour
/// was reset, those that the neighbour is a member of. The others go on: a rank that resets itself takes part in no
/// collective of theirs.
module coll_lost #(
    /// Ranks of the board.
    parameter int unsigned RANKS = 1
) (
    /// Clock.
    input  logic                          clk_i,
    /// Synchronous reset, active low.
    input  logic                          rst_ni,

    /// By rank: pulse, the rank had begun and is reset.
    input  logic [RANKS-1:0]              lost_i,
    /// By rank: state of the rank, a cancel_t.
    input  logic [RANKS-1:0][CancelW-1:0] cancel_i,
    /// By rank: communicators that the rank is a member of.
    input  logic [RANKS-1:0][31:0]        member_i,

    /// By rank: communicators whose collectives that wait for other members end, and in which new ones are refused.
    output logic [RANKS-1:0][31:0]        cancel_o
);

  // Ranks that were lost to a rank that has not begun a run since.
  logic [RANKS-1:0] lost_q, orphaned;
  logic [31:0] rows, rows_q;

  always_comb begin
    rows = '0;
    for (int unsigned r = 0; r < RANKS; r++) rows = rows | (member_i[r] & {32{lost_q[r]}});
  end

  always_ff @(posedge clk_i) begin
    rows_q <= rows;
    // Whoever misses a rank says so from the cycle after the pulse.
    if (!rst_ni) lost_q <= '0;
    else if (lost_i != '0) lost_q <= lost_q | lost_i;
    else if (orphaned == '0) lost_q <= '0;
  end

  for (genvar r = 0; r < RANKS; r++) begin : g_rank
    alcor_abi_pkg::cancel_t cancel;
    assign cancel      = cancel_i[r];
    assign orphaned[r] = cancel.orphaned;

    // No rank drains or misses another one in a reset.
    always_ff @(posedge clk_i) cancel_o[r] <= {32{cancel.drain}} | (rows_q & {32{cancel.orphaned}});

    `ALCOR_NEXT(coll_lost_none, rst_ni && cancel == '0, cancel_o[r] == '0)
  end

endmodule

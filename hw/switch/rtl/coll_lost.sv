`include "assertions.svh"

import alcor_abi_pkg::*;

/// Communicators in which a rank's waiting collectives are cancelled. A rank that is being reset loses all of them. A rank
/// whose neighbour on the board was reset loses the communicators that the neighbour is a member of; its other
/// communicators go on. A member of a row that was taken out of use loses the communicator.
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
    /// Communicators whose row was taken out of use.
    input  logic [31:0]                   closed_i,

    /// Ranks that are being reset.
    output logic [RANKS-1:0]              drain_o,
    /// By rank: communicators in which waiting collectives end, and new ones are refused.
    output logic [RANKS-1:0][31:0]        cancel_o
);

  // Ranks that were reset; they are forgotten when no rank is orphaned any more.
  logic [RANKS-1:0] lost_q, orphaned;
  logic [31:0] rows, rows_q;

  always_comb begin
    rows = '0;
    for (int unsigned r = 0; r < RANKS; r++) rows = rows | (member_i[r] & {32{lost_q[r]}});
  end

  always_ff @(posedge clk_i) begin
    rows_q <= rows;
    // The other ranks are orphaned from the cycle after the pulse.
    if (!rst_ni) lost_q <= '0;
    else if (lost_i != '0) lost_q <= lost_q | lost_i;
    else if (orphaned == '0) lost_q <= '0;
  end

  for (genvar r = 0; r < RANKS; r++) begin : g_rank
    alcor_abi_pkg::cancel_t cancel;
    assign cancel      = cancel_i[r];
    assign orphaned[r] = cancel.orphaned;
    assign drain_o[r]  = cancel.drain;

    // No rank drains or is orphaned in a reset.
    always_ff @(posedge clk_i) cancel_o[r] <= {32{cancel.drain}} | (rows_q & {32{cancel.orphaned}})
        | (closed_i & member_i[r]);

    `ALCOR_NEXT(coll_lost_none, rst_ni && cancel == '0 && closed_i == '0, cancel_o[r] == '0)
  end

endmodule

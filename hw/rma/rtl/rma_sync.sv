`include "assertions.svh"

import alcor_abi_pkg::*;

/// Collective commands of a board: decides when every rank of the run has come to the same one and
/// no packet is left anywhere.
///
/// Requests are registered (all in the same cycle, so that each packet is counted where it is), then
/// combined, then announced: 2 cycles from the request to `fire_o`. `fire_o` follows its inputs as they were
/// two cycles before, so it stays high for two cycles after the commands have ended. A rank ignores it in
/// the first two cycles of a command. A run's ranks are those below NPROCS as the ranks that have begun say it.
module rma_sync #(
    /// Ranks of the board.
    parameter int unsigned RANKS = 2
) (
    /// Clock.
    input  logic                  clk_i,
    /// Synchronous reset, active low.
    input  logic                  rst_ni,

    /// Number of this board's first rank.
    input  logic [7:0]            first_rank_i,
    /// By rank: the rank is at a collective command.
    input  logic [RANKS-1:0]      valid_i,
    /// By rank: asserted when none of the rank's traffic is queued or under way.
    input  logic [RANKS-1:0]      quiet_i,
    /// By rank: the collective command, sync_kind_e.
    input  logic [RANKS-1:0][1:0] kind_i,
    /// By rank: status of the command at this rank.
    input  logic [RANKS-1:0][4:0] status_i,
    /// By rank: the registration slot that the command names.
    input  logic [RANKS-1:0][7:0] slot_i,
    /// By rank: between BEGIN and END.
    input  logic [RANKS-1:0]      begun_i,
    /// By rank: number of ranks of the run.
    input  logic [RANKS-1:0][7:0] nprocs_i,
    /// No packet is in the network.
    input  logic                  network_empty_i,

    /// Two cycles ago all ranks of the run were at a collective command.
    output logic                  present_o,
    /// As `present_o`, and all ranks were quiet.
    output logic                  fire_o,
    /// Status for all ranks: the first rank's status that is not OK, or MISMATCH.
    output logic [4:0]            verdict_o,
    /// Rank 0's command: sync_kind_e.
    output logic [1:0]            kind_o,
    /// The registration slot that the command names.
    output logic [7:0]            slot_o
);

  logic [RANKS-1:0] valid_q, here_q, needed_d, needed_q;
  logic [RANKS-1:0][1:0] kind_q;
  logic [RANKS-1:0][4:0] status_q;
  logic [RANKS-1:0][7:0] slot_q;
  logic network_empty_q;
  logic all_present, all_here, alike;
  logic [4:0] verdict;

  always_comb begin
    needed_d = '0;
    for (int unsigned r = 0; r < RANKS; r++) begin
      for (int unsigned other = 0; other < RANKS; other++) begin
        if (begun_i[other] && {1'b0, nprocs_i[other]} > {1'b0, first_rank_i} + 9'(r)) needed_d[r] = 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    kind_q   <= kind_i;
    status_q <= status_i;
    slot_q   <= slot_i;
    if (!rst_ni) begin
      valid_q         <= '0;
      here_q          <= '0;
      needed_q        <= '0;
      network_empty_q <= 1'b0;
    end else begin
      valid_q         <= valid_i;
      here_q          <= valid_i & quiet_i;
      needed_q        <= needed_d;
      network_empty_q <= network_empty_i;
    end
  end

  always_comb begin
    all_present = needed_q[0] && (needed_q & ~valid_q) == '0;
    all_here    = needed_q[0] && (needed_q & ~here_q) == '0 && network_empty_q;
    alike       = 1'b1;
    verdict     = ST_OK;
    for (int unsigned r = RANKS; r > 0; r--) begin
      if (needed_q[r-1]) begin
        if (kind_q[r-1] != kind_q[0] || slot_q[r-1] != slot_q[0]) alike = 1'b0;
        if (status_q[r-1] != ST_OK) verdict = status_q[r-1];
      end
    end
    // Where a rank has a reason of its own, its slot says nothing.
    if (!alike && verdict == ST_OK) verdict = ST_MISMATCH;
    for (int unsigned r = 0; r < RANKS; r++) begin
      if (needed_q[r] && kind_q[r] != kind_q[0]) verdict = ST_MISMATCH;
    end
  end

  always_ff @(posedge clk_i) begin
    verdict_o <= verdict;
    kind_o    <= kind_q[0];
    slot_o    <= slot_q[0];
    if (!rst_ni) begin
      present_o <= 1'b0;
      fire_o    <= 1'b0;
    end else begin
      present_o <= all_present;
      fire_o    <= all_here;
    end
  end

  `ALCOR_CHECK_PARAM(g_check_ranks, RANKS >= 1 && RANKS <= 16, "rma_sync: RANKS must be 1 to 16")

endmodule

`include "formal.svh"

/// Proof of the collective commands of one board: `rma_sync`, and the pipelines and resets of its ranks. The commands
/// of all ranks end together, each once, as soon as all ranks are at a command.
module sync_board #(
    /// Ranks of the board, all ranks of the run.
    parameter int unsigned RANKS = 2
) (
    /// Clock.
    input logic             clk_i,
    /// Synchronous reset, active low.
    input logic             rst_ni,
    /// No traffic of a rank is queued or under way; free.
    input logic [RANKS-1:0] quiet_i,
    /// No packet is in the network; free.
    input logic             network_empty_i
);

  `ALCOR_FORMAL_RESET

  logic [RANKS-1:0] valid, ended;
  logic fire;
  logic [4:0] verdict;

  sync_ranks #(
      .RANKS (RANKS),
      .NPROCS(RANKS)
  ) u_ranks (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .quiet_i        (quiet_i),
      .network_empty_i(network_empty_i),
      .fire_i         (fire),
      .verdict_i      (verdict),
      .valid_o        (valid),
      .ended_o        (ended),
      .present_o      (),
      .here_o         (fire),
      .verdict_o      (verdict),
      .kind_o         (),
      .slot_o         ()
  );

  // Two cycles ago every rank was at a command and the board was quiet; commands that have ended since.
  logic [1:0] here_q;
  logic [1:0][RANKS-1:0] ended_q;
  logic here;

  assign here = (&valid) && (&quiet_i) && network_empty_i;

  always_ff @(posedge clk_i) begin
    here_q  <= {here_q[0], here};
    ended_q <= {ended_q[0], ended};
    if (!rst_ni) here_q <= '0;
    if (!rst_ni) ended_q <= '0;
  end

  // A command ends when all ranks were at commands that have not ended since.
  `ALCOR_IMPLIES(p_all_here, ended != '0, here_q[1] && ended_q == '0)
  // All commands end in the same cycle, except commands that a reset ends.
  `ALCOR_IMPLIES(p_together, ended != '0, (valid & ~ended) == '0)
  // No rank waits longer than the two cycles of the announcement.
  logic [1:0] waits_q;
  always_ff @(posedge clk_i) waits_q <= (rst_ni && here && ended == '0) ? waits_q + 2'(waits_q != '1) : '0;
  `ALCOR_IMPLIES(p_prompt, here && waits_q >= 2'd2, ended != '0)

endmodule

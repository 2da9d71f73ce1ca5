`include "formal.svh"

/// Proof of the collective commands of one board of a cluster: `rma_sync`, `cluster_sync`, and the pipelines and
/// resets of its ranks. The switch is free: rounds take any time and have any result. A command ends only by a round
/// that began after the command, and a round begins as soon as all ranks are at a command.
module cluster_board #(
    /// Ranks of the board.
    parameter int unsigned RANKS = 2
) (
    /// Clock.
    input logic             clk_i,
    /// Synchronous reset, active low.
    input logic             rst_ni,
    /// No traffic of a rank is queued or under way; free.
    input logic [RANKS-1:0] quiet_i,
    /// No packet is in the network; free.
    input logic             network_empty_i,
    /// Pulses: packets sent and consumed; free.
    input logic [1:0]       sent_i,
    input logic [1:0]       consumed_i,
    /// The switch takes a round; free.
    input logic             round_ready_i,
    /// Pulse: the result of the round arrives; free during a round.
    input logic             result_i,
    /// Result of the round; free.
    input logic [255:0]     result_data_i
);

  `ALCOR_FORMAL_RESET

  logic [RANKS-1:0] valid, ended;
  logic here, present, round, fire, busy, seen, stayed;
  logic [4:0] here_verdict, verdict;
  logic [1:0] here_kind;
  logic [7:0] here_slot;

  sync_ranks #(
      .RANKS (RANKS),
      .NPROCS(2 * RANKS)
  ) u_ranks (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .quiet_i        (quiet_i),
      .network_empty_i(network_empty_i),
      .fire_i         (fire),
      .verdict_i      (verdict),
      .valid_o        (valid),
      .ended_o        (ended),
      .present_o      (present),
      .here_o         (here),
      .verdict_o      (here_verdict),
      .kind_o         (here_kind),
      .slot_o         (here_slot)
  );

  cluster_sync u_cluster (
      .clk_i        (clk_i),
      .rst_ni       (rst_ni),
      .here_i       (here),
      .present_i    (present),
      .verdict_i    (here_verdict),
      .kind_i       (here_kind),
      .slot_i       (here_slot),
      .sent_i       (sent_i),
      .consumed_i   (consumed_i),
      .round_o      (round),
      .round_ready_i(round_ready_i),
      .round_data_o (),
      .result_i     (result_i),
      .result_data_i(result_data_i),
      .hold_o       (),
      .lost_i       (1'b0),
      .fire_o       (fire),
      .verdict_o    (verdict),
      .busy_q       (busy),
      .seen_q       (seen),
      .stayed_q     (stayed)
  );

  // The switch answers each round once.
  `ALCOR_ASSUME(!result_i || busy)

  // Commands that waited when the round began, and have waited since.
  logic [RANKS-1:0] same_q;
  always_ff @(posedge clk_i) begin
    same_q <= (round ? '1 : same_q) & valid & ~ended;
    if (!rst_ni) same_q <= '0;
  end

  // A round begins only if two cycles ago all ranks were at commands that have not ended since. The board was quiet
  // then, or at the begin of the previous round, if that round was for the same commands.
  logic [1:0] here_q;
  logic [1:0][RANKS-1:0] ended_q, stood_q;
  always_ff @(posedge clk_i) begin
    here_q  <= {here_q[0], (&valid) && (&quiet_i) && network_empty_i};
    ended_q <= {ended_q[0], ended};
    stood_q <= {stood_q[0], (round ? '1 : same_q) & valid};
    if (!rst_ni) here_q <= '0;
    if (!rst_ni) ended_q <= '0;
  end
  `ALCOR_IMPLIES(p_round, round, (here_q[1] || stood_q[1] == '1) && ended_q == '0)

  // Invariant of the induction: the end of a command without `fire` is visible two cycles later.
  logic [1:0][RANKS-1:0] valid_q;
  always_ff @(posedge clk_i) valid_q <= rst_ni ? {valid_q[0], valid} : '0;
  `ALCOR_IMPLIES(p_stayed, (busy || seen) && stayed, (valid_q[0] & valid_q[1] & ~same_q) == '0)

  `ALCOR_IMPLIES(p_from_the_beginning, ended != '0, (ended & ~same_q) == '0)
  // All commands end in the same cycle, except commands that a reset ends.
  `ALCOR_IMPLIES(p_together, ended != '0, (valid & ~ended) == '0)
  // A round begins two cycles after all ranks are at a command and the board is quiet, unless a round is under way.
  logic [1:0] waits_q;
  logic waits;
  assign waits = !fire && (&valid) && (&quiet_i) && network_empty_i && consumed_i == '0 && ended == '0 && round_ready_i && !busy;
  always_ff @(posedge clk_i) waits_q <= (rst_ni && waits) ? waits_q + 2'(waits_q != '1) : '0;
  `ALCOR_IMPLIES(p_prompt, waits && waits_q >= 2'd2, round)

endmodule

`include "formal.svh"

import alcor_abi_pkg::*;

/// A rank in the proofs of collective commands: the pipeline and the reset, with all other blocks free. So the rank
/// gives any commands in any order, including BEGIN and END; but a rank that has begun has a run of NPROCS ranks.
module sync_rank #(
    /// Ranks of every run.
    parameter int unsigned NPROCS = 2
) (
    /// Clock.
    input  logic       clk_i,
    /// Synchronous reset, active low.
    input  logic       rst_ni,
    /// Pulse: another rank of the board is reset.
    input  logic       peer_lost_i,
    /// Announcement that all ranks are at a collective command.
    input  logic       fire_i,
    /// Result of that command.
    input  logic [4:0] verdict_i,
    /// Pulse: the rank had begun and is reset.
    output logic       lost_o,
    /// The rank is at a collective command.
    output alcor_abi_pkg::sync_request_t sync_o,
    /// The announcement ends this command.
    output logic       ended_o,
    /// The rank has begun a run.
    output logic       begun_o,
    /// Ranks of this run.
    output logic [7:0] nprocs_o
);

  (* anyconst *) logic [7:0] rank;
  (* anyseq *) logic command_valid, data8_valid, table_ready, head_ready, task_ready, engine_ready, completion_ready;
  (* anyseq *) logic barrier_pending, start, answered, messages, collectives, packets, commands;
  (* anyseq *) logic [7:0] run_ranks;
  (* anyseq *) alcor_abi_pkg::command_t command;
  (* anyseq *) alcor_abi_pkg::data8_t data8;
  (* anyseq *) alcor_abi_pkg::table_answer_t table_answer;
  alcor_abi_pkg::pipeline_events_t events;
  logic drain, clear, busy, orphaned;

  rma_pipeline #(
      .NODE_BYTES   (2048),
      .PAYLOAD_WORDS(16),
      .DESTS        (4),
      .MESSAGES     (2),
      .FRAGMENT     (16)
  ) u_pipeline (
      .clk_i             (clk_i),
      .rst_ni            (rst_ni && !clear),
      .rank_i            (rank),
      .run_ranks_i       (run_ranks),
      .drain_i           (drain),
      .peer_lost_i       (peer_lost_i),
      .orphaned_o        (orphaned),
      .asked_o           (),
      .command_valid_i   (command_valid),
      .command_ready_o   (),
      .command_i         (command),
      .kernel_i          ('0),
      .data8_valid_i     (data8_valid),
      .data8_ready_o     (),
      .data8_i           (data8),
      .table_ready_i     (table_ready),
      .table_o           (),
      .table_i           (table_answer),
      .head_valid_o      (),
      .head_ready_i      (head_ready),
      .head_o            (),
      .task_valid_o      (),
      .task_ready_i      (task_ready),
      .task_o            (),
      .engine_valid_o    (),
      .engine_ready_i    (engine_ready),
      .engine_o          (),
      .announce_o        (),
      .completion_valid_o(),
      .completion_ready_i(completion_ready),
      .completion_o      (),
      .sync_o            (sync_o),
      .sync_i            ({fire_i, verdict_i}),
      .barrier_pending_i (barrier_pending),
      .nprocs_o          (nprocs_o),
      .begun_o           (begun_o),
      .events_o          (events),
      .busy_o            (busy),
      .sending_o         ()
  );

  rma_rank_reset #(
      .DESTS(4)
  ) u_reset (
      .clk_i        (clk_i),
      .rst_ni       (rst_ni),
      .rank_i       (rank),
      .start_i      (start),
      .written_i    (1'b0),
      .begun_i      (begun_o),
      .nprocs_i     (nprocs_o),
      .asked_i      (1'b0),
      .answered_i   (answered),
      .commands_i   (busy || commands),
      .messages_i   (messages),
      .collectives_i(collectives),
      .packets_i    (packets),
      .ready_i      (table_ready),
      .orphaned_i   (orphaned),
      .drain_o      (drain),
      .hold_o       (),
      .clear_o      (clear),
      .clear_next_o (),
      .lost_o       (lost_o),
      .flush_o      (),
      .flush_ready_i(engine_ready),
      .recall_o     (),
      .head_o       (),
      .head_valid_o (),
      .head_ready_i (head_ready),
      .task_valid_o (),
      .task_ready_i (task_ready),
      .state_o      ()
  );

  // Commands of the host and of the kernel.
  assign ended_o = sync_o.valid && (events.barrier_done || events.kernel_barrier || events.result_valid);

  // BARRIER_DONE is set by the end of a barrier.
  `ALCOR_ASSUME(!barrier_pending || $past(barrier_pending || events.barrier_done))
  `ALCOR_ASSUME(!begun_o || nprocs_o == 8'(NPROCS))

endmodule

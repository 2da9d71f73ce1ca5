`include "assertions.svh"

import alcor_abi_pkg::*;

/// Resets one rank while the other ranks go on. State of the process that had the rank must not reach the next process,
/// and the reset must not disturb traffic between other ranks.
///
/// Steps: (1) Queued commands are dropped, and the command in the pipeline ends. (2) A recall goes to every
/// rank that this rank may have sent to. The receiver drops the messages that no receive has taken. The answer
/// to a recall follows the answers to all earlier requests, so a recall is also a fence. (3) Waiting messages
/// of this rank are dropped, and their senders get a status. (4) When no answer is outstanding, new packets of
/// other ranks wait until the packets that have begun to arrive are finished. (5) The rank's state is cleared.
/// Each step waits for an event that needs no host, unless a board or link is dead. The other ranks are told at the
/// beginning: a board that held back requests for a barrier with this rank would never answer. A collective of this rank
/// ends without the members on other boards: its communicator row is taken out of use (coll_retire).
module rma_rank_reset #(
    /// Ranks that the network reaches: 0 to DESTS-1.
    parameter int unsigned DESTS = 256,
    /// Bits of the count of outstanding answers: of what 256 message engines hold, and what is in the network.
    parameter int unsigned OWED_W = 24
) (
    /// Clock.
    input  logic                             clk_i,
    /// Synchronous reset of the board, active low.
    input  logic                             rst_ni,
    /// This rank's number on the network.
    input  logic [7:0]                       rank_i,

    /// Pulse: RANK_RESET is written.
    input  logic                             start_i,
    /// Something else is written into the rank's page.
    input  logic                             written_i,
    /// Between BEGIN and END.
    input  logic                             begun_i,
    /// Ranks of the run.
    input  logic [7:0]                       nprocs_i,
    /// Pulse: a request has been sent that will be answered once.
    input  logic                             asked_i,
    /// Pulse: an answer to a request or recall has come.
    input  logic                             answered_i,

    /// Commands are queued or in the pipeline.
    input  logic                             commands_i,
    /// Messages or receives are being worked on.
    input  logic                             messages_i,
    /// Collectives have not ended.
    input  logic                             collectives_i,
    /// Packets are being served, sent or written.
    input  logic                             packets_i,
    /// Registration table and message engine are cleared.
    input  logic                             ready_i,
    /// Collective commands end at once.
    input  logic                             orphaned_i,

    /// Commands are dropped, messages that come are refused, collectives that wait are cancelled.
    output logic                             drain_o,
    /// No packet of a request is let in that has not begun to come in.
    output logic                             hold_o,
    /// The rank's state is cleared.
    output logic                             clear_o,
    /// `clear_o` in the next cycle, unless the board is reset.
    output logic                             clear_next_o,
    /// Pulse: a rank that had begun is reset.
    output logic                             lost_o,
    /// Messages that wait are to be dropped.
    output logic                             flush_o,
    /// The message engine has taken the flush.
    input  logic                             flush_ready_i,
    /// Recalls are sent.
    output logic                             recall_o,
    /// A header word of a recall.
    output logic [31:0]                      head_o,
    /// The header word is offered.
    output logic                             head_valid_o,
    /// The header word is taken.
    input  logic                             head_ready_i,
    /// The task of a recall is offered, with its last header word.
    output logic                             task_valid_o,
    /// The task is taken.
    input  logic                             task_ready_i,
    /// RESET_STATE.
    output alcor_abi_pkg::rank_reset_state_t state_o
);

  typedef enum logic [2:0] {
    Idle,    // no reset
    Drain,   // commands end
    Recall,  // other ranks drop unmatched messages
    Flush,   // messages in this rank are dropped
    Settle,  // answers arrive, collectives end
    Hold,    // packets of other ranks end
    Clear,   // registers are cleared
    Sweep    // tables are cleared row by row
  } state_e;

  state_e state_d, state_q;
  logic [OWED_W-1:0] owed_q;
  // A packet that is answered has gone in the last cycle. It is counted before the reset looks at the count.
  logic asked_q;
  // In the last cycle, which was in Hold, no packet was in the rank. Hold lets none in.
  logic quiet_q;
  logic used_q, ever_begun_q, told_q;
  logic [7:0] reach_q, dest_q;
  logic [1:0] word_q, clear_q;
  logic [7:0] count_q;
  logic recalled, last_dest, settled, more_owed, less_owed;
  alcor_abi_pkg::message_t header;

  // `reach_q` grows at most, so no destination is passed over.
  assign last_dest = 9'(dest_q) + 9'd1 == 9'(reach_q) || 32'(dest_q) == DESTS - 1;
  assign recalled  = task_valid_o && task_ready_i;
  assign more_owed = asked_q || recalled;
  assign less_owed = answered_i && owed_q != '0;
  assign settled   = owed_q == '0 && !commands_i && !messages_i && !collectives_i;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle:    if (start_i) state_d = Drain;
      Drain:   if (!commands_i) state_d = ever_begun_q ? Recall : Flush;
      Recall:  if (recalled && last_dest) state_d = Flush;
      Flush:   if (flush_ready_i) state_d = Settle;
      Settle:  if (settled) state_d = Hold;
      // Packets in the network may still bring this rank new work.
      Hold:    if (settled && quiet_q) state_d = Clear;
      Clear:   if (clear_q == '1) state_d = Sweep;
      Sweep:   if (ready_i) state_d = Idle;
      default: state_d = Idle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (state_q != Recall) dest_q <= '0;
    else if (recalled) dest_q <= dest_q + 1'b1;
    if (!rst_ni) begin
      state_q      <= Idle;
      asked_q      <= 1'b0;
      quiet_q      <= 1'b0;
      owed_q       <= '0;
      word_q       <= '0;
      clear_q      <= '0;
      used_q       <= 1'b0;
      ever_begun_q <= 1'b0;
      told_q       <= 1'b0;
      reach_q      <= '0;
      count_q      <= '0;
    end else begin
      state_q <= state_d;
      asked_q <= asked_i;
      quiet_q <= state_q == Hold && !packets_i;
      if (more_owed != less_owed) owed_q <= owed_q + (more_owed ? OWED_W'(1) : '1);
      if (head_valid_o && head_ready_i) word_q <= word_q + 1'b1;
      clear_q <= (state_q == Clear) ? clear_q + 1'b1 : '0;
      if (clear_o) begin
        used_q       <= 1'b0;
        ever_begun_q <= 1'b0;
      end else begin
        if (written_i) used_q <= 1'b1;
        if (begun_i) ever_begun_q <= 1'b1;
      end
      if (begun_i && nprocs_i > reach_q) reach_q <= nprocs_i;
      told_q <= drain_o && (told_q || begun_i);
      if (state_q == Clear && state_d == Sweep) count_q <= count_q + 1'b1;
    end
  end

  assign drain_o      = state_q != Idle;
  assign hold_o       = state_q == Hold || state_q == Clear;
  assign clear_o      = state_q == Clear;
  assign clear_next_o = state_d == Clear;
  assign lost_o       = drain_o && begun_i && !told_q;
  assign flush_o      = state_q == Flush;
  assign recall_o     = state_q == Recall;
  assign head_valid_o = state_q == Recall && (word_q != 2'd3 || task_ready_i);
  assign task_valid_o = state_q == Recall && word_q == 2'd3 && head_ready_i;

  always_comb begin
    header          = '0;
    header.dpid     = dest_q;
    header.ptype    = PT_MESSAGE;
    header.announce = 1'b1;
    header.recall   = 1'b1;
    header.src      = rank_i;
    head_o          = (word_q == 2'd0) ? header : '0;

    state_o             = '0;
    state_o.used        = used_q;
    state_o.busy        = drain_o;
    state_o.orphaned    = orphaned_i;
    state_o.commands    = drain_o && commands_i;
    state_o.answers     = drain_o && (owed_q != '0 || recall_o);
    state_o.messages    = drain_o && messages_i;
    state_o.collectives = drain_o && collectives_i;
    state_o.packets     = hold_o && !quiet_q;
    state_o.largest     = reach_q;
    state_o.count       = count_q;
  end

  `ALCOR_IMPLIES(a_asks_or_recalls, recalled, !asked_q)

endmodule

import alcor_abi_pkg::*;

/// Control of a rank: its reset by RANK_RESET, and its state for the board.
///
/// The rank is quiet when no packet is served, sent or written, and no completion or message waits.
module rma_rank_control #(
    /// Ranks that the network reaches: 0 to DESTS-1.
    parameter int unsigned DESTS = 256,
    /// Bits of the count of outstanding answers.
    parameter int unsigned OWED_W = 24
) (
    /// Clock.
    input  logic                             clk_i,
    /// Synchronous reset of the board, active low.
    input  logic                             rst_ni,
    /// This rank's number on the network.
    input  logic [7:0]                       rank_i,
    /// To the board.
    output alcor_abi_pkg::rank_to_board_t    board_o,

    /// Host: a write into the rank's page.
    input  alcor_abi_pkg::page_write_t       page_i,
    /// Host: the write is a register of the coprocessor.
    input  logic                             register_write_i,
    /// Host: the write is a register of the message engine.
    input  logic                             message_write_i,

    /// State of command queue and pipeline.
    input  alcor_abi_pkg::issue_state_t      issue_i,
    /// The rank's collective command.
    input  alcor_abi_pkg::sync_request_t     sync_i,
    /// BARRIER_DONE, not yet acknowledged.
    input  logic                             barrier_pending_i,
    /// The kernel's port or its memory port is busy.
    input  logic                             kernel_busy_i,
    /// Collectives have not ended.
    input  logic                             collectives_i,
    /// Pulse: an answer to a request or recall has come.
    input  logic                             answered_i,
    /// Registration table and message engine are cleared.
    input  logic                             ready_i,
    /// By plane, 0 requests, 1 replies: no packet is sent.
    input  logic [1:0]                       sends_idle_i,
    /// By plane: no packet is received.
    input  logic [1:0]                       receives_idle_i,
    /// All completions are in the ring.
    input  logic                             ring_idle_i,
    /// The message engine works on no message or receive.
    input  logic                             messages_idle_i,

    /// Commands are dropped, messages that come are refused, collectives that wait are cancelled.
    output logic                             drain_o,
    /// No packet of a request is let in that has not begun to come in.
    output logic                             hold_o,
    /// The rank's state is cleared in the next cycle.
    output logic                             clear_next_o,
    /// Messages that wait are to be dropped.
    output logic                             flush_o,
    /// The message engine has taken the flush.
    input  logic                             flush_ready_i,
    /// Recalls are sent.
    output logic                             recalls_o,
    /// Recall: header words and task of a packet.
    output alcor_abi_pkg::outgoing_t         recall_o,
    /// Recall: the header word, and the task, are taken.
    input  alcor_abi_pkg::outgoing_taken_t   recall_i,
    /// RESET_STATE.
    output alcor_abi_pkg::rank_reset_state_t state_o
);
  logic begin_reset, quiet, lost;
  alcor_abi_pkg::rank_rank_reset_t reset_word;
  alcor_abi_pkg::board_rank_state_t state;

  assign reset_word  = page_i.data;
  assign begin_reset = register_write_i && page_i.offset == RANK_RANK_RESET_OFFSET && reset_word.reset;

  assign quiet = !issue_i.sending && (&sends_idle_i) && (&receives_idle_i) && ring_idle_i && messages_idle_i;

  always_comb begin
    state              = '0;
    state.pid          = rank_i;
    state.nprocs       = issue_i.nprocs;
    state.begun        = issue_i.begun;
    state.in_sync      = sync_i.valid;
    state.sync_kind    = sync_i.kind;
    state.quiet        = quiet;
    state.commands     = issue_i.commands;
    state.tx_request   = !sends_idle_i[0];
    state.tx_reply     = !sends_idle_i[1];
    state.rx_request   = !receives_idle_i[0];
    state.rx_reply     = !receives_idle_i[1];
    state.barrier_done = barrier_pending_i;
  end

  assign board_o.state        = state;
  assign board_o.aborts       = issue_i.aborts;
  assign board_o.abort_reason = issue_i.abort_reason;
  assign board_o.ready        = ready_i;
  assign board_o.lost         = lost;
  assign board_o.cancel       = {drain_o, issue_i.orphaned};

  rma_rank_reset #(
      .DESTS (DESTS),
      .OWED_W(OWED_W)
  ) u_rank_reset (
      .clk_i        (clk_i),
      .rst_ni       (rst_ni),
      .rank_i       (rank_i),
      .start_i      (begin_reset),
      .written_i    (issue_i.written || message_write_i || (register_write_i && !begin_reset)),
      .begun_i      (issue_i.begun),
      .nprocs_i     (issue_i.nprocs),
      .asked_i      (issue_i.asked),
      .answered_i   (answered_i),
      .commands_i   (issue_i.commands || issue_i.operands || kernel_busy_i),
      .messages_i   (!messages_idle_i),
      .collectives_i(collectives_i),
      .packets_i    (!quiet),
      .ready_i      (ready_i),
      .orphaned_i   (issue_i.orphaned),
      .drain_o      (drain_o),
      .hold_o       (hold_o),
      .clear_o      (),
      .clear_next_o (clear_next_o),
      .lost_o       (lost),
      .flush_o      (flush_o),
      .flush_ready_i(flush_ready_i),
      .recall_o     (recalls_o),
      .head_o       (recall_o.head),
      .head_valid_o (recall_o.head_valid),
      .head_ready_i (recall_i.head),
      .task_valid_o (recall_o.task_valid),
      .task_ready_i (recall_i.read),
      .state_o      (state_o)
  );

  assign recall_o.read = HeaderTask;

endmodule

`include "assertions.svh"

import alcor_abi_pkg::*;

/// What a rank reports to its host and its kernel: registers of the page, interrupt, and completions.
///
/// Completions of the host's commands go to the completion ring in node memory. Completions of the kernel's commands go to
/// the kernel's port, which takes each at once.
module rma_reports #(
    /// Entries of the queue of the completion ring.
    parameter int unsigned DEPTH = 16,
    /// 1: a write is in memory a cycle after it is done.
    parameter bit LATE = 1'b0,
    /// Ids of messages and receives: 0 to MESSAGES-1; 0 without a message engine.
    parameter int unsigned MESSAGES = 0,
    /// Bits of the counters that the host reads, 2 to 32.
    parameter int unsigned COUNT_W = 32,
    /// 1: the kernel of the rank issues commands, too.
    parameter bit KERNEL = 1'b0
) (
    /// Clock.
    input  logic                             clk_i,
    /// Reset of the rank's own state, synchronous, active low.
    input  logic                             rst_ni,
    /// This rank's number on the network.
    input  logic [7:0]                       rank_i,
    /// From the board.
    input  alcor_abi_pkg::board_to_rank_t    board_i,

    /// Host: a write into the rank's page.
    input  alcor_abi_pkg::page_write_t       page_i,
    /// Host: the write is one of these registers.
    input  logic                             register_write_i,
    /// Host: register to be read.
    input  logic [11:0]                      read_offset_i,
    /// Host: the register's value, in the same cycle.
    output logic [31:0]                      read_data_o,
    /// Host: interrupt, a level.
    output logic                             irq_o,

    /// From the kernel's port; all zero without one.
    input  alcor_abi_pkg::kernel_to_rank_t   kernel_i,
    /// To the kernel's port.
    output alcor_abi_pkg::rank_to_kernel_t   kernel_o,
    /// The kernel's command is taken.
    input  logic                             kernel_ready_i,

    /// The rank is being reset.
    input  logic                             drain_i,
    /// RESET_STATE.
    input  alcor_abi_pkg::rank_reset_state_t reset_state_i,
    /// State of command queue and pipeline.
    input  alcor_abi_pkg::issue_state_t      issue_i,
    /// Results of commands that have no completion.
    input  alcor_abi_pkg::pipeline_events_t  events_i,
    /// Packets that the request plane has refused.
    input  alcor_abi_pkg::refusal_t          request_refusal_i,
    /// Packets that the reply plane has refused.
    input  alcor_abi_pkg::refusal_t          reply_refusal_i,
    /// Pulse: a message is refused for lack of room, and its sender does not send it again.
    input  logic                             no_room_i,
    /// CAUSES.crowded.
    input  logic                             crowded_i,
    /// Words passing: request sent, reply sent, request received, reply received.
    input  logic [3:0]                       words_i,

    /// An answer to a command of this rank is offered.
    input  logic                             reply_valid_i,
    /// The answer is taken.
    output logic                             reply_ready_o,
    /// The answer.
    input  alcor_abi_pkg::answered_t         reply_i,
    /// The completion of a command that was refused before its first packet is offered.
    input  logic                             local_valid_i,
    /// The completion is taken.
    output logic                             local_ready_o,
    /// The completion.
    input  alcor_abi_pkg::completion_t       local_i,
    /// The completion of a collective is offered.
    input  logic                             collective_valid_i,
    /// The completion is taken.
    output logic                             collective_ready_o,
    /// The completion.
    input  alcor_abi_pkg::completion_t       collective_i,
    /// The completion of a receive or probe is offered.
    input  logic                             message_valid_i,
    /// The completion is taken.
    output logic                             message_ready_o,
    /// The completion.
    input  alcor_abi_pkg::received_t         message_i,

    /// A lost command write is not yet acknowledged.
    output logic                             overflow_pending_o,
    /// BARRIER_DONE, not yet acknowledged.
    output logic                             barrier_pending_o,
    /// All completions are in the ring, and copies of it have been asked for.
    output logic                             idle_o,

    /// Node memory: a write of a word of the completion ring is offered.
    output alcor_abi_pkg::memory_request_t   write_o,
    /// The write is granted.
    input  logic                             write_gnt_i,
    /// The word.
    output logic [31:0]                      write_data_o,
    /// A copy of entries of the ring into host memory.
    output alcor_abi_pkg::host_copy_t        copy_o,
    /// The copy is taken.
    input  logic                             copy_ready_i
);

  // ---------------------------------------------------------------- completions of the host and of the kernel

  logic [3:0] to_kernel, ring_valid, ring_ready;
  logic [3:0] ended, ended_ready;

  assign ended = {message_valid_i, collective_valid_i, local_valid_i, reply_valid_i};
  assign {message_ready_o, collective_ready_o, local_ready_o, reply_ready_o} = ended_ready;

  if (KERNEL) begin : g_kernel
    // Of receives and probes an id says no more than the message's number.
    assign to_kernel = {32'(message_i.id) >= MESSAGES - KernelCommands, collective_i.id[15], local_i.id[15],
                        reply_i.ended.id[15]};
  end else begin : g_no_kernel
    assign to_kernel = '0;

    logic unused_kernel;
    assign unused_kernel = ^{kernel_i, kernel_ready_i};
  end

  assign ring_valid  = ended & ~to_kernel;
  assign ended_ready = ring_ready | to_kernel;

  always_comb begin
    kernel_o                = '0;
    kernel_o.ready          = kernel_ready_i;
    kernel_o.done           = events_i.kernel_done;
    kernel_o.drain          = drain_i;
    kernel_o.begun          = issue_i.begun;
    kernel_o.nprocs         = issue_i.nprocs;
    kernel_o.reply          = {ended[0] && to_kernel[0], reply_i.ended.status, reply_i.ended.id[KernelSlotW-1:0]};
    kernel_o.refused        = {ended[1] && to_kernel[1], local_i.status, local_i.id[KernelSlotW-1:0]};
    kernel_o.collective     = {ended[2] && to_kernel[2], collective_i.status, collective_i.id[KernelSlotW-1:0]};
    kernel_o.message        = {ended[3] && to_kernel[3], message_i.status, message_i.id[KernelSlotW-1:0]};
    kernel_o.source         = message_i.source;
    kernel_o.tag            = message_i.message.tag;
    kernel_o.length         = message_i.length;
    kernel_o.atomic         = reply_i.atomic;
    kernel_o.old            = reply_i.old;
    kernel_o.barrier        = events_i.kernel_barrier;
    kernel_o.barrier_status = events_i.kernel_status;
  end

  // ---------------------------------------------------------------- completion ring

  alcor_abi_pkg::ring_settings_t ring_settings;
  alcor_abi_pkg::ring_state_t ring_state;
  logic queue_idle, copies_idle;

  assign idle_o = queue_idle && copies_idle;

  rma_completion_queue #(
      .DEPTH(DEPTH),
      .LATE (LATE)
  ) u_completion_queue (
      .clk_i             (clk_i),
      .rst_ni            (rst_ni),
      .reply_valid_i     (ring_valid[0]),
      .reply_ready_o     (ring_ready[0]),
      .reply_i           (reply_i),
      .local_valid_i     (ring_valid[1]),
      .local_ready_o     (ring_ready[1]),
      .local_i           (local_i),
      .collective_valid_i(ring_valid[2]),
      .collective_ready_o(ring_ready[2]),
      .collective_i      (collective_i),
      .message_valid_i   (ring_valid[3]),
      .message_ready_o   (ring_ready[3]),
      .message_i         (message_i),
      .barrier_i         (events_i.barrier_done),
      .mismatch_i        (events_i.mismatch),
      .settings_i        (ring_settings),
      .state_o           (ring_state),
      .idle_o            (queue_idle),
      .write_valid_o     (write_o.req),
      .write_ready_i     (write_gnt_i),
      .write_address_o   (write_o.address),
      .write_data_o      (write_data_o)
  );

  rma_host_ring u_host_ring (
      .clk_i       (clk_i),
      .rst_ni      (rst_ni),
      .drain_i     (drain_i),
      .settings_i  (ring_settings),
      .state_i     (ring_state),
      .idle_o      (copies_idle),
      .copy_o      (copy_o),
      .copy_ready_i(copy_ready_i)
  );

  // ---------------------------------------------------------------- registers

  rma_registers #(
      .COUNT_W(COUNT_W)
  ) u_registers (
      .clk_i             (clk_i),
      .rst_ni            (rst_ni),
      .write_i           (register_write_i),
      .write_offset_i    (page_i.offset),
      .write_data_i      (page_i.data),
      .read_offset_i     (read_offset_i),
      .read_data_o       (read_data_o),
      .irq_o             (irq_o),
      .written_i         (issue_i.written),
      .overflow_i        (issue_i.overflow),
      .events_i          (events_i),
      .kernel_done_i     (kernel_i.done),
      .refused_x_i       (local_valid_i && local_ready_o),
      .request_refusal_i (request_refusal_i),
      .reply_refusal_i   (reply_refusal_i),
      .no_room_i         (no_room_i),
      .crowded_i         (crowded_i),
      .board_i           (board_i),
      .words_i           (words_i),
      .pid_i             (rank_i),
      .nprocs_i          (issue_i.nprocs),
      .begun_i           (issue_i.begun),
      .reset_state_i     (reset_state_i),
      .overflow_pending_o(overflow_pending_o),
      .ring_o            (ring_settings),
      .ring_i            (ring_state),
      .barrier_pending_o (barrier_pending_o)
  );

`ifdef ALCOR_COVERAGE
  // Answers to commands; in a reset they are answers to recalls, and are ignored.
`define ALCOR_COVER_ANSWER(status_) \
  `ALCOR_COVER(c_answers_reply_``status_, \
               reply_valid_i && reply_ready_o && !drain_i && reply_i.ended.status == ST_``status_)
  `ALCOR_COVER_ANSWER(OK)
  `ALCOR_COVER_ANSWER(BAD_SLOT)
  `ALCOR_COVER_ANSWER(OUT_OF_BOUNDS)
  `ALCOR_COVER_ANSWER(DENIED)
  `ALCOR_COVER_ANSWER(NO_ROOM)
  `ALCOR_COVER_ANSWER(RANK_RESET)
`undef ALCOR_COVER_ANSWER
`endif

endmodule

`include "assertions.svh"

import alcor_abi_pkg::*;

/// Registers of a rank's page above the command window, its causes and its interrupt.
module rma_registers #(
    /// Bits of the counters that the host reads, 2 to 32.
    parameter int unsigned COUNT_W = 32
) (
    /// Clock.
    input  logic                             clk_i,
    /// Synchronous reset, active low.
    input  logic                             rst_ni,

    /// A write to a register, offset 0x400 and above.
    input  logic                             write_i,
    /// Offset of the write in the page.
    input  logic [11:0]                      write_offset_i,
    /// Data of the write.
    input  logic [31:0]                      write_data_i,
    /// Register to be read.
    input  logic [11:0]                      read_offset_i,
    /// Value of the register, in the same cycle.
    output logic [31:0]                      read_data_o,
    /// The rank's interrupt, a level.
    output logic                             irq_o,

    /// A command was written.
    input  logic                             written_i,
    /// A command write was lost.
    input  logic                             overflow_i,
    /// Results of commands that have no completion.
    input  alcor_abi_pkg::pipeline_events_t  events_i,
    /// KERNEL_STATUS.done.
    input  logic                             kernel_done_i,
    /// A command with a completion was refused.
    input  logic                             refused_x_i,
    /// Packets that the request plane has refused.
    input  alcor_abi_pkg::refusal_t          request_refusal_i,
    /// Packets that the reply plane has refused.
    input  alcor_abi_pkg::refusal_t          reply_refusal_i,
    /// Pulse: a message is refused for lack of room, and its sender does not send it again.
    input  logic                             no_room_i,
    /// CAUSES.crowded.
    input  logic                             crowded_i,
    /// From the board.
    input  alcor_abi_pkg::board_to_rank_t    board_i,
    /// Words passing: request sent, reply sent, request received, reply received.
    input  logic [3:0]                       words_i,
    /// This rank's id.
    input  logic [7:0]                       pid_i,
    /// Ranks of the run.
    input  logic [7:0]                       nprocs_i,
    /// Between BEGIN and END.
    input  logic                             begun_i,
    /// RESET_STATE.
    input  alcor_abi_pkg::rank_reset_state_t reset_state_i,

    /// Registers of the completion ring.
    output alcor_abi_pkg::ring_settings_t    ring_o,
    /// State of the completion ring.
    input  alcor_abi_pkg::ring_state_t       ring_i,
    /// A lost command write is not yet acknowledged.
    output logic                             overflow_pending_o,
    /// BARRIER_DONE, not yet acknowledged.
    output logic                             barrier_pending_o
);

  // ---------------------------------------------------------------- written by the host

  logic [31:0] cq_base_q, cq_tail_q;
  logic [COUNT_W-1:0] cq_wake_q, retired_wake_q;
  logic [3:0] cq_log2_q;
  logic [7:0] enable_q;
  alcor_abi_pkg::rank_host_ring_t host_ring;
  logic host_copies_q;
  logic [63:6] host_address_q;
  logic ack, ack_events;
  alcor_abi_pkg::rank_ack_t acks;

  assign ack        = write_i && write_offset_i == RANK_ACK_OFFSET;
  assign ack_events = write_i && write_offset_i == RANK_ACK_EVENTS_OFFSET;
  assign acks       = write_data_i;
  assign host_ring  = write_data_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      enable_q       <= '0;
      cq_base_q      <= '0;
      cq_log2_q      <= '0;
      cq_tail_q      <= '0;
      cq_wake_q      <= '0;
      retired_wake_q <= '0;
      host_copies_q  <= 1'b0;
      host_address_q <= '0;
    end else if (write_i) begin
      unique case (write_offset_i)
        RANK_IRQ_ENABLE_OFFSET:   enable_q <= write_data_i[7:0];
        RANK_CQ_BASE_OFFSET:      cq_base_q <= write_data_i;
        RANK_CQ_SIZE_OFFSET:      cq_log2_q <= write_data_i[3:0];
        RANK_CQ_TAIL_OFFSET:      cq_tail_q <= write_data_i;
        RANK_CQ_WAKE_OFFSET:      cq_wake_q <= write_data_i[COUNT_W-1:0];
        RANK_RETIRED_WAKE_OFFSET: retired_wake_q <= write_data_i[COUNT_W-1:0];
        RANK_HOST_RING_OFFSET: begin
          host_copies_q        <= host_ring.enable;
          host_address_q[31:6] <= host_ring.address;
        end
        RANK_HOST_RING_HIGH_OFFSET: host_address_q[63:32] <= write_data_i;
        default: ;
      endcase
    end
  end

  assign ring_o.clear        = write_i && write_offset_i == RANK_CQ_BASE_OFFSET;
  assign ring_o.log2_entries = cq_log2_q;
  assign ring_o.base         = cq_base_q;
  assign ring_o.tail         = cq_tail_q;
  assign ring_o.retired      = retired_q;
  assign ring_o.copies       = host_copies_q;
  assign ring_o.host         = {host_address_q, 6'd0};

  // ---------------------------------------------------------------- what happened

  logic barrier_q, registration_q;
  logic [11:0] events_d, events_q;
  alcor_abi_pkg::rank_events_t raised, events;
  logic [31:0] raised_bits;
  logic [COUNT_W-1:0] retired_count_q, barriers_count_q, refused_in_count_q, refused_out_count_q;
  logic refused_q;
  logic [3:0] passed_q;
  logic [3:0][COUNT_W-1:0] words_count_q;
  alcor_abi_pkg::status_e result_status_q, error_status_q;
  logic [7:0] result_slot_q, error_opcode_q;
  logic [15:0] result_count_q;
  logic epoch_runs_q;
  logic [COUNT_W-1:0] epoch_timer_q, epoch_count_q;
  // The counters as the host reads them.
  logic [31:0] retired_q, barriers_q, refused_in_q, refused_out_q, epoch_q;
  logic [3:0][31:0] words_q;

  assign retired_q     = 32'(retired_count_q);
  assign barriers_q    = 32'(barriers_count_q);
  assign refused_in_q  = 32'(refused_in_count_q);
  assign refused_out_q = 32'(refused_out_count_q);
  assign epoch_q       = 32'(epoch_count_q);

  for (genvar i = 0; i < 4; i++) begin : g_words
    assign words_q[i] = 32'(words_count_q[i]);
  end

  always_comb begin
    raised             = '0;
    raised.overflow    = overflow_i;
    raised.bad_opcode  = events_i.bad_opcode;
    raised.refused     = events_i.refused || board_i.denied;
    raised.dropped     = request_refusal_i.dropped || reply_refusal_i.dropped;
    raised.cq_overflow = ring_i.overflow;
    raised.malformed   = request_refusal_i.malformed || reply_refusal_i.malformed;
    raised.mismatch    = events_i.mismatch;
    raised.no_room     = no_room_i;
    raised.unrouted    = board_i.unrouted;
    raised.foreign     = board_i.foreign;
    raised.stale       = board_i.stale;
    raised.damaged     = board_i.damaged;
  end

  assign raised_bits = raised;
  assign events      = 32'(events_q);

  always_comb begin
    events_d = events_q;
    if (ack_events) events_d &= ~write_data_i[11:0];
    events_d |= raised_bits[11:0];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      barrier_q           <= 1'b0;
      registration_q      <= 1'b0;
      events_q            <= '0;
      retired_count_q     <= '0;
      barriers_count_q    <= '0;
      refused_in_count_q  <= '0;
      refused_out_count_q <= '0;
      refused_q           <= 1'b0;
      passed_q            <= '0;
      words_count_q       <= '0;
      result_status_q     <= ST_OK;
      result_slot_q       <= '0;
      result_count_q      <= '0;
      error_status_q      <= ST_OK;
      error_opcode_q      <= '0;
    end else begin
      if (ack && acks.barrier) barrier_q <= 1'b0;
      if (events_i.barrier_done) barrier_q <= 1'b1;
      if (ack && acks.registration) registration_q <= 1'b0;
      if (events_i.result_valid) begin
        registration_q  <= 1'b1;
        result_status_q <= events_i.result_status;
        result_slot_q   <= events_i.result_slot;
        result_count_q  <= result_count_q + 1'b1;
      end
      events_q            <= events_d;
      // No carry chain behind the late handshake: it enables the register.
      if (events_i.retired) retired_count_q <= retired_count_q + 1'b1;
      barriers_count_q    <= barriers_count_q + COUNT_W'(events_i.barrier_done);
      refused_in_count_q  <= refused_in_count_q + COUNT_W'(request_refusal_i.refused) + COUNT_W'(reply_refusal_i.refused);
      refused_out_count_q <= refused_out_count_q + COUNT_W'(refused_q) + COUNT_W'(board_i.denied);
      // A register apart: the handshakes are late in their cycle.
      refused_q <= events_i.refused || refused_x_i;
      passed_q  <= words_i;
      for (int unsigned i = 0; i < 4; i++) words_count_q[i] <= words_count_q[i] + COUNT_W'(passed_q[i]);
      if (request_refusal_i.dropped) begin
        error_status_q <= request_refusal_i.status;
        error_opcode_q <= 8'(request_refusal_i.ptype);
      end
      if (reply_refusal_i.dropped) begin
        error_status_q <= reply_refusal_i.status;
        error_opcode_q <= 8'(reply_refusal_i.ptype);
      end
      if (board_i.denied) begin
        error_status_q <= ST_DENIED;
        error_opcode_q <= '0;
      end
      if (events_i.refused) begin
        error_status_q <= events_i.refused_status;
        error_opcode_q <= events_i.refused_opcode;
      end
    end
  end

  // The timer shows, in each cycle, how many have passed since the one in which the epoch's first
  // command write was offered.
  always_ff @(posedge clk_i) begin
    epoch_timer_q <= epoch_runs_q ? epoch_timer_q + 1'b1 : COUNT_W'(1);
    if (!rst_ni) begin
      epoch_runs_q  <= 1'b0;
      epoch_count_q <= '0;
    end else if (events_i.barrier_done) begin
      epoch_runs_q  <= 1'b0;
      epoch_count_q <= epoch_timer_q + 1'b1;
    end else if (written_i) begin
      epoch_runs_q <= 1'b1;
    end
  end

  assign overflow_pending_o = events.overflow;
  assign barrier_pending_o  = barrier_q;

  // ---------------------------------------------------------------- causes and interrupt

  alcor_abi_pkg::rank_causes_t causes;
  logic [31:0] cause_bits;
  logic [COUNT_W-1:0] cq_ahead, retired_ahead;

  always_comb begin
    cq_ahead            = ring_i.head[COUNT_W-1:0] - cq_wake_q;
    retired_ahead       = retired_count_q - retired_wake_q;
    causes              = '0;
    causes.completion   = !cq_ahead[COUNT_W-1];
    causes.barrier      = barrier_q;
    causes.registration = registration_q;
    causes.aborted      = board_i.aborted;
    causes.event_       = events_q != '0;
    causes.credit       = !retired_ahead[COUNT_W-1];
    causes.kernel       = kernel_done_i;
    causes.crowded      = crowded_i;
  end

  assign cause_bits = causes;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) irq_o <= 1'b0;
    else irq_o <= (cause_bits[7:0] & enable_q) != '0;
  end

  // ---------------------------------------------------------------- read by the host

  alcor_abi_pkg::rank_identity_t identity;
  alcor_abi_pkg::rank_reg_result_t result;
  alcor_abi_pkg::rank_last_error_t error;

  always_comb begin
    identity        = '0;
    identity.pid    = pid_i;
    identity.nprocs = nprocs_i;
    identity.begun  = begun_i;
    result          = '0;
    result.slot     = result_slot_q;
    result.status   = result_status_q;
    result.count    = result_count_q;
    error           = '0;
    error.status    = error_status_q;
    error.opcode    = error_opcode_q;
  end

  always_comb begin
    unique case (read_offset_i)
      RANK_IDENTITY_OFFSET:         read_data_o = identity;
      RANK_CAUSES_OFFSET:           read_data_o = causes;
      RANK_RETIRED_OFFSET:          read_data_o = retired_q;
      RANK_CQ_HEAD_OFFSET:          read_data_o = ring_i.head;
      RANK_REG_RESULT_OFFSET:       read_data_o = result;
      RANK_EPOCH_CYCLES_OFFSET:     read_data_o = epoch_q;
      RANK_EVENTS_OFFSET:           read_data_o = events;
      RANK_LAST_ERROR_OFFSET:       read_data_o = error;
      RANK_REFUSED_IN_OFFSET:       read_data_o = refused_in_q;
      RANK_REFUSED_OUT_OFFSET:      read_data_o = refused_out_q;
      RANK_TX_REQUEST_WORDS_OFFSET: read_data_o = words_q[0];
      RANK_TX_REPLY_WORDS_OFFSET:   read_data_o = words_q[1];
      RANK_RX_REQUEST_WORDS_OFFSET: read_data_o = words_q[2];
      RANK_RX_REPLY_WORDS_OFFSET:   read_data_o = words_q[3];
      RANK_BARRIERS_OFFSET:         read_data_o = barriers_q;
      RANK_RESET_STATE_OFFSET:      read_data_o = reset_state_i;
      default:                      read_data_o = '0;
    endcase
  end

  `ALCOR_IMPLIES(a_one_barrier, events_i.barrier_done, !barrier_q)

endmodule

`include "assertions.svh"

import alcor_abi_pkg::*;

/// Registers of a rank's page above the command window, its causes and its interrupt.
module rma_registers (
    /// Clock.
    input  logic        clk_i,
    /// Synchronous reset, active low.
    input  logic        rst_ni,

    /// A write to a register, offset 0x400 and above.
    input  logic        write_i,
    /// Its offset in the page.
    input  logic [11:0] write_offset_i,
    /// Its data.
    input  logic [31:0] write_data_i,
    /// Register to be read.
    input  logic [11:0] read_offset_i,
    /// Its value, in the same cycle.
    output logic [31:0] read_data_o,
    /// The rank's interrupt, a level.
    output logic        irq_o,

    /// A command was written.
    input  logic        written_i,
    /// A command write was lost.
    input  logic        overflow_i,
    /// A command left the Instruction FIFO.
    input  logic        retired_i,
    /// An opcode was wrong.
    input  logic        bad_opcode_i,
    /// A command without completion was refused, with status and opcode.
    input  logic        refused_i,
    /// Why.
    input  logic [4:0]  refused_status_i,
    /// Its opcode.
    input  logic [7:0]  refused_opcode_i,
    /// A command with a completion was refused.
    input  logic        refused_x_i,
    /// Accesses of others that failed their check: request plane, reply plane.
    input  logic [1:0]  refused_in_i,
    /// Of these, paper packets.
    input  logic [1:0]  dropped_i,
    /// Why.
    input  logic [1:0][4:0] dropped_status_i,
    /// Their type.
    input  logic [1:0][2:0] dropped_type_i,
    /// A packet was on the wrong plane.
    input  logic        malformed_i,
    /// Ranks met in different collective operations.
    input  logic        mismatch_i,
    /// Pulse: a message is refused for want of room.
    input  logic        no_room_i,
    /// A barrier is complete.
    input  logic        barrier_done_i,
    /// A registration has ended.
    input  logic        result_valid_i,
    /// Its outcome.
    input  logic [4:0]  result_status_i,
    /// Its slot.
    input  logic [7:0]  result_slot_i,
    /// The run is aborted.
    input  logic        aborted_i,
    /// Words passing: request sent, reply sent, request received, reply received.
    input  logic [3:0]  words_i,
    /// This rank's id.
    input  logic [7:0]  pid_i,
    /// Ranks of the run.
    input  logic [7:0]  nprocs_i,
    /// Between BEGIN and END.
    input  logic        begun_i,
    /// RESET_STATE.
    input  logic [31:0] reset_state_i,

    /// Completion ring: base.
    output logic [31:0] cq_base_o,
    /// Completion ring: log2 of its entries.
    output logic [3:0]  cq_log2_entries_o,
    /// Completion ring: entries taken.
    output logic [31:0] cq_tail_o,
    /// Completion ring: the base is being written.
    output logic        cq_clear_o,
    /// Completion ring: entries written.
    input  logic [31:0] cq_head_i,
    /// Completion ring: a completion was lost.
    input  logic        cq_overflow_i,
    /// Commands retired.
    output logic [31:0] retired_o,
    /// BARRIER_DONE, not yet acknowledged.
    output logic        barrier_pending_o
);

  // ---------------------------------------------------------------- written by the host

  logic [31:0] cq_base_q, cq_tail_q, cq_wake_q, retired_wake_q;
  logic [3:0] cq_log2_q;
  logic [5:0] enable_q;
  logic ack, ack_events;

  assign ack        = write_i && write_offset_i == RANK_ACK_OFFSET;
  assign ack_events = write_i && write_offset_i == RANK_ACK_EVENTS_OFFSET;
  assign cq_clear_o = write_i && write_offset_i == RANK_CQ_BASE_OFFSET;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      enable_q       <= '0;
      cq_base_q      <= '0;
      cq_log2_q      <= '0;
      cq_tail_q      <= '0;
      cq_wake_q      <= '0;
      retired_wake_q <= '0;
    end else if (write_i) begin
      unique case (write_offset_i)
        RANK_IRQ_ENABLE_OFFSET:   enable_q <= write_data_i[5:0];
        RANK_CQ_BASE_OFFSET:      cq_base_q <= write_data_i;
        RANK_CQ_SIZE_OFFSET:      cq_log2_q <= write_data_i[3:0];
        RANK_CQ_TAIL_OFFSET:      cq_tail_q <= write_data_i;
        RANK_CQ_WAKE_OFFSET:      cq_wake_q <= write_data_i;
        RANK_RETIRED_WAKE_OFFSET: retired_wake_q <= write_data_i;
        default: ;
      endcase
    end
  end

  assign cq_base_o         = cq_base_q;
  assign cq_log2_entries_o = cq_log2_q;
  assign cq_tail_o         = cq_tail_q;

  // ---------------------------------------------------------------- what happened

  logic barrier_q, registration_q;
  logic [7:0] events_d, events_q;
  logic [31:0] retired_q, barriers_q, refused_in_q, refused_out_q;
  logic [3:0] passed_q;
  logic [3:0][31:0] words_q;
  logic [4:0] result_status_q, error_status_q;
  logic [7:0] result_slot_q, error_opcode_q;
  logic [15:0] result_count_q;
  logic epoch_runs_q;
  logic [31:0] epoch_timer_q, epoch_q;

  always_comb begin
    events_d = events_q;
    if (ack_events) events_d &= ~write_data_i[7:0];
    events_d[RANK_EVENTS_OVERFLOW_LSB]    |= overflow_i;
    events_d[RANK_EVENTS_BAD_OPCODE_LSB]  |= bad_opcode_i;
    events_d[RANK_EVENTS_REFUSED_LSB]     |= refused_i;
    events_d[RANK_EVENTS_DROPPED_LSB]     |= |dropped_i;
    events_d[RANK_EVENTS_CQ_OVERFLOW_LSB] |= cq_overflow_i;
    events_d[RANK_EVENTS_MALFORMED_LSB]   |= malformed_i;
    events_d[RANK_EVENTS_MISMATCH_LSB]    |= mismatch_i;
    events_d[RANK_EVENTS_NO_ROOM_LSB]     |= no_room_i;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      barrier_q       <= 1'b0;
      registration_q  <= 1'b0;
      events_q        <= '0;
      retired_q       <= '0;
      barriers_q      <= '0;
      refused_in_q    <= '0;
      refused_out_q   <= '0;
      passed_q        <= '0;
      words_q         <= '0;
      result_status_q <= '0;
      result_slot_q   <= '0;
      result_count_q  <= '0;
      error_status_q  <= '0;
      error_opcode_q  <= '0;
    end else begin
      if (ack && write_data_i[RANK_ACK_BARRIER_LSB]) barrier_q <= 1'b0;
      if (barrier_done_i) barrier_q <= 1'b1;
      if (ack && write_data_i[RANK_ACK_REGISTRATION_LSB]) registration_q <= 1'b0;
      if (result_valid_i) begin
        registration_q  <= 1'b1;
        result_status_q <= result_status_i;
        result_slot_q   <= result_slot_i;
        result_count_q  <= result_count_q + 1'b1;
      end
      events_q      <= events_d;
      retired_q     <= retired_q + 32'(retired_i);
      barriers_q    <= barriers_q + 32'(barrier_done_i);
      refused_in_q  <= refused_in_q + 32'(refused_in_i[0]) + 32'(refused_in_i[1]);
      refused_out_q <= refused_out_q + 32'(refused_i || refused_x_i);
      // A register apart: the handshakes are late in their cycle.
      passed_q <= words_i;
      for (int unsigned i = 0; i < 4; i++) words_q[i] <= words_q[i] + 32'(passed_q[i]);
      for (int unsigned p = 0; p < 2; p++) begin
        if (dropped_i[p]) begin
          error_status_q <= dropped_status_i[p];
          error_opcode_q <= 8'(dropped_type_i[p]);
        end
      end
      if (refused_i) begin
        error_status_q <= refused_status_i;
        error_opcode_q <= refused_opcode_i;
      end
    end
  end

  // The timer shows, in each cycle, how many have passed since the one in which the epoch's first
  // command write was offered.
  always_ff @(posedge clk_i) begin
    epoch_timer_q <= epoch_runs_q ? epoch_timer_q + 1'b1 : 32'd1;
    if (!rst_ni) begin
      epoch_runs_q <= 1'b0;
      epoch_q      <= '0;
    end else if (barrier_done_i) begin
      epoch_runs_q <= 1'b0;
      epoch_q      <= epoch_timer_q + 1'b1;
    end else if (written_i) begin
      epoch_runs_q <= 1'b1;
    end
  end

  assign retired_o         = retired_q;
  assign barrier_pending_o = barrier_q;

  // ---------------------------------------------------------------- causes and interrupt

  logic [5:0] causes;
  logic [31:0] cq_ahead, retired_ahead;

  always_comb begin
    cq_ahead      = cq_head_i - cq_wake_q;
    retired_ahead = retired_q - retired_wake_q;
    causes        = '0;
    causes[RANK_CAUSES_COMPLETION_LSB]   = !cq_ahead[31];
    causes[RANK_CAUSES_BARRIER_LSB]      = barrier_q;
    causes[RANK_CAUSES_REGISTRATION_LSB] = registration_q;
    causes[RANK_CAUSES_ABORTED_LSB]      = aborted_i;
    causes[RANK_CAUSES_EVENT_LSB]        = events_q != '0;
    causes[RANK_CAUSES_CREDIT_LSB]       = !retired_ahead[31];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) irq_o <= 1'b0;
    else irq_o <= (causes & enable_q) != '0;
  end

  // ---------------------------------------------------------------- read by the host

  always_comb begin
    read_data_o = '0;
    unique case (read_offset_i)
      RANK_IDENTITY_OFFSET: begin
        read_data_o[RANK_IDENTITY_PID_LSB+:8]    = pid_i;
        read_data_o[RANK_IDENTITY_NPROCS_LSB+:8] = nprocs_i;
        read_data_o[RANK_IDENTITY_BEGUN_LSB]     = begun_i;
      end
      RANK_CAUSES_OFFSET:           read_data_o[5:0] = causes;
      RANK_RETIRED_OFFSET:          read_data_o = retired_q;
      RANK_CQ_HEAD_OFFSET:          read_data_o = cq_head_i;
      RANK_REG_RESULT_OFFSET: begin
        read_data_o[RANK_REG_RESULT_SLOT_LSB+:8]    = result_slot_q;
        read_data_o[RANK_REG_RESULT_STATUS_LSB+:5]  = result_status_q;
        read_data_o[RANK_REG_RESULT_COUNT_LSB+:16]  = result_count_q;
      end
      RANK_EPOCH_CYCLES_OFFSET:     read_data_o = epoch_q;
      RANK_EVENTS_OFFSET:           read_data_o[7:0] = events_q;
      RANK_LAST_ERROR_OFFSET: begin
        read_data_o[RANK_LAST_ERROR_STATUS_LSB+:5] = error_status_q;
        read_data_o[RANK_LAST_ERROR_OPCODE_LSB+:8] = error_opcode_q;
      end
      RANK_REFUSED_IN_OFFSET:       read_data_o = refused_in_q;
      RANK_REFUSED_OUT_OFFSET:      read_data_o = refused_out_q;
      RANK_TX_REQUEST_WORDS_OFFSET: read_data_o = words_q[0];
      RANK_TX_REPLY_WORDS_OFFSET:   read_data_o = words_q[1];
      RANK_RX_REQUEST_WORDS_OFFSET: read_data_o = words_q[2];
      RANK_RX_REPLY_WORDS_OFFSET:   read_data_o = words_q[3];
      RANK_BARRIERS_OFFSET:         read_data_o = barriers_q;
      RANK_RESET_STATE_OFFSET:      read_data_o = reset_state_i;
      default: ;
    endcase
  end

  `ALCOR_IMPLIES(a_one_barrier, barrier_done_i, !barrier_q)

endmodule

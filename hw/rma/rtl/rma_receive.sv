`include "assertions.svh"

import alcor_abi_pkg::*;

/// Receiving side of one plane: from the router's output into node memory.
///
/// Header words go to the Head FIFO and payload to the In FIFO, each as it comes; the packet
/// controller works on headers, the write side of the memory interface controller on payload, so a
/// packet's header is checked while the payload before it is still being written.
module rma_receive #(
    /// 1: request plane, which answers; 0: reply plane.
    parameter bit REQUESTS = 1'b1,
    /// Payload words of an extended packet, a power of two.
    parameter int unsigned PAYLOAD_WORDS = 128,
    /// Words of the Head FIFO.
    parameter int unsigned HEAD_DEPTH = 16,
    /// Tasks of the MM Interface FIFO.
    parameter int unsigned MM_DEPTH = 16,
    /// Words of the In FIFO.
    parameter int unsigned IN_DEPTH = 512,
    /// Width of a task's word count; derived, not to be set.
    localparam int unsigned CountW = $clog2(PAYLOAD_WORDS + 1)
) (
    /// Clock.
    input  logic              clk_i,
    /// Synchronous reset, active low.
    input  logic              rst_ni,

    /// From the router: a word is offered.
    input  logic              in_valid_i,
    /// It is taken.
    output logic              in_ready_o,
    /// The word.
    input  logic [31:0]       in_data_i,
    /// It is its packet's last.
    input  logic              in_last_i,

    /// Registration table: look `slot_o` up.
    output logic              lookup_o,
    /// The slot.
    output logic [7:0]        slot_o,
    /// A cycle later, until the next lookup: it is registered.
    input  logic              registered_i,
    /// Its base address.
    input  logic [31:0]       base_i,
    /// Its size in bytes.
    input  logic [31:0]       size_i,
    /// Denied rights.
    input  logic [1:0]        deny_i,

    /// Memory write.
    output logic              write_valid_o,
    /// It is done.
    input  logic              write_ready_i,
    /// Word address.
    output logic [29:0]       write_address_o,
    /// Data.
    output logic [31:0]       write_data_o,
    /// Byte strobes.
    output logic [3:0]        write_strobe_o,

    /// Request plane: header word of an answer.
    output logic              reply_head_valid_o,
    /// It is taken.
    input  logic              reply_head_ready_i,
    /// The word.
    output logic [31:0]       reply_head_o,
    /// Request plane: read task of an answer.
    output logic              reply_task_valid_o,
    /// It is taken.
    input  logic              reply_task_ready_i,
    /// Header words.
    output logic [2:0]        reply_task_heads_o,
    /// Payload words.
    output logic [CountW-1:0] reply_task_words_o,
    /// Byte address of byte 0 of the first payload word.
    output logic [31:0]       reply_task_address_o,

    /// Reply plane: an extended command of this rank is complete.
    output logic              completion_valid_o,
    /// It is entered.
    input  logic              completion_ready_i,
    /// Its status.
    output logic [4:0]        completion_status_o,
    /// Its id.
    output logic [15:0]       completion_id_o,

    /// Pulse: an access failed its check.
    output logic              refused_o,
    /// Pulse, with `refused_o`: it was a paper packet, so nobody is told.
    output logic              dropped_o,
    /// Why.
    output logic [4:0]        refused_status_o,
    /// The packet's type.
    output logic [2:0]        refused_type_o,
    /// Pulse: a packet's type does not belong on this plane.
    output logic              malformed_o,
    /// Nothing is queued or under way.
    output logic              idle_o
);

  localparam int unsigned NoteW = 8 + 5 + 16;

  // ---------------------------------------------------------------- headers apart from payload

  logic [2:0] heads_left_d, heads_left_q;
  logic in_packet_d, in_packet_q;
  logic is_head, taken;
  logic [2:0] in_type;

  assign in_type = in_data_i[X_HEADER_PTYPE_LSB+:X_HEADER_PTYPE_W];
  assign is_head = !in_packet_q || heads_left_q != '0;
  assign taken   = in_valid_i && in_ready_o;

  always_comb begin
    heads_left_d = heads_left_q;
    in_packet_d  = in_packet_q;
    if (taken) begin
      in_packet_d = !in_last_i;
      if (in_packet_q) begin
        if (heads_left_q != '0) heads_left_d = heads_left_q - 1'b1;
      end else begin
        unique case (in_type)
          PT_GET:           heads_left_d = 3'd1;
          PT_XPUT, PT_XDATA: heads_left_d = 3'd2;
          PT_XGET:          heads_left_d = 3'd3;
          default:          heads_left_d = 3'd0;
        endcase
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      heads_left_q <= '0;
      in_packet_q  <= 1'b0;
    end else begin
      heads_left_q <= heads_left_d;
      in_packet_q  <= in_packet_d;
    end
  end

  logic head_room, head_valid, head_ready, head_empty;
  logic [31:0] head;
  logic payload_room, payload_valid, payload_ready, payload_empty;
  logic [31:0] payload;

  assign in_ready_o = is_head ? head_room : payload_room;

  fifo #(.WIDTH(32), .DEPTH(HEAD_DEPTH)) u_head_fifo (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(in_valid_i && is_head), .ready_o(head_room),
      .data_i(in_data_i), .valid_o(head_valid), .ready_i(head_ready), .data_o(head),
      .empty_o(head_empty), .usage_o()
  );

  fifo #(.WIDTH(32), .DEPTH(IN_DEPTH), .BLOCK_RAM(IN_DEPTH >= 128)) u_in_fifo (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(in_valid_i && !is_head), .ready_o(payload_room),
      .data_i(in_data_i), .valid_o(payload_valid), .ready_i(payload_ready), .data_o(payload),
      .empty_o(payload_empty), .usage_o()
  );

  // ---------------------------------------------------------------- packet controller, memory writes

  logic task_valid, task_ready, task_drop, task_noted;
  logic [CountW-1:0] task_words;
  logic [31:0] task_address;
  logic [1:0] task_end_lane;
  logic [NoteW-1:0] task_note, note;
  logic note_valid, note_ready, writes_idle, controller_idle, acks_empty;
  logic ack_valid, ack_ready;
  logic [NoteW-1:0] ack;

  rma_packet_controller #(
      .REQUESTS     (REQUESTS),
      .PAYLOAD_WORDS(PAYLOAD_WORDS)
  ) u_packet_controller (
      .clk_i               (clk_i),
      .rst_ni              (rst_ni),
      .head_valid_i        (head_valid),
      .head_ready_o        (head_ready),
      .head_i              (head),
      .lookup_o            (lookup_o),
      .slot_o              (slot_o),
      .registered_i        (registered_i),
      .base_i              (base_i),
      .size_i              (size_i),
      .deny_i              (deny_i),
      .write_valid_o       (task_valid),
      .write_ready_i       (task_ready),
      .write_drop_o        (task_drop),
      .write_words_o       (task_words),
      .write_address_o     (task_address),
      .write_end_lane_o    (task_end_lane),
      .write_noted_o       (task_noted),
      .note_rank_o         (task_note[28:21]),
      .note_status_o       (task_note[20:16]),
      .note_id_o           (task_note[15:0]),
      .ack_valid_i         (ack_valid),
      .ack_ready_o         (ack_ready),
      .ack_rank_i          (ack[28:21]),
      .ack_status_i        (ack[20:16]),
      .ack_id_i            (ack[15:0]),
      .reply_head_valid_o  (reply_head_valid_o),
      .reply_head_ready_i  (reply_head_ready_i),
      .reply_head_o        (reply_head_o),
      .reply_task_valid_o  (reply_task_valid_o),
      .reply_task_ready_i  (reply_task_ready_i),
      .reply_task_heads_o  (reply_task_heads_o),
      .reply_task_words_o  (reply_task_words_o),
      .reply_task_address_o(reply_task_address_o),
      .refused_o           (refused_o),
      .dropped_o           (dropped_o),
      .refused_status_o    (refused_status_o),
      .refused_type_o      (refused_type_o),
      .malformed_o         (malformed_o),
      .idle_o              (controller_idle)
  );

  rma_mm_write #(
      .MM_DEPTH(MM_DEPTH),
      .COUNT_W (CountW),
      .NOTE_W  (NoteW)
  ) u_mm_write (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .task_valid_i   (task_valid),
      .task_ready_o   (task_ready),
      .task_drop_i    (task_drop),
      .task_words_i   (task_words),
      .task_address_i (task_address),
      .task_end_lane_i(task_end_lane),
      .task_noted_i   (task_noted),
      .task_note_i    (task_note),
      .in_valid_i     (payload_valid),
      .in_ready_o     (payload_ready),
      .in_data_i      (payload),
      .write_valid_o  (write_valid_o),
      .write_ready_i  (write_ready_i),
      .write_address_o(write_address_o),
      .write_data_o   (write_data_o),
      .write_strobe_o (write_strobe_o),
      .note_valid_o   (note_valid),
      .note_ready_i   (note_ready),
      .note_o         (note),
      .idle_o         (writes_idle)
  );

  // ---------------------------------------------------------------- what becomes of a note

  if (REQUESTS) begin : g_acknowledge
    // Room for a note of every task that can be under way while the controller waits for a place in
    // the task queue: the queue must be able to empty itself then.
    fifo #(.WIDTH(NoteW), .DEPTH(2 * MM_DEPTH)) u_ack_fifo (
        .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(note_valid), .ready_o(note_ready), .data_i(note),
        .valid_o(ack_valid), .ready_i(ack_ready), .data_o(ack), .empty_o(acks_empty), .usage_o()
    );
    assign completion_valid_o  = 1'b0;
    assign completion_status_o = '0;
    assign completion_id_o     = '0;
  end else begin : g_complete
    assign ack_valid           = 1'b0;
    assign ack                 = '0;
    assign acks_empty          = 1'b1;
    assign completion_valid_o  = note_valid;
    assign note_ready          = completion_ready_i;
    assign completion_status_o = note[20:16];
    assign completion_id_o     = note[15:0];
  end

  assign idle_o = !in_packet_q && head_empty && payload_empty && controller_idle && writes_idle &&
                  acks_empty;

  `ALCOR_ASSERT(a_room_for_acks, !note_valid || note_ready || !REQUESTS)
  `ALCOR_IMPLIES(a_whole_header, taken && in_last_i, heads_left_d == '0)

endmodule

`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_nic_pkg::*;

/// Receiving side of one plane: from the router's output into node memory.
///
/// Header words go to the Head FIFO and payload to the In FIFO, each as it comes; the packet
/// controller works on headers, the write side of the memory interface controller on payload, so a
/// packet's header is checked while the payload before it is still being written.
///
/// In beats of several words, a packet's first beat is its header, whose words the controller gets one
/// by one; a PUT-1 of one beat has its payload behind its header word.
module rma_receive #(
    /// Bits of a beat: 32, 128, 256 or 512.
    parameter int unsigned DATA_W = 32,
    /// 1: request plane, which answers; 0: reply plane.
    parameter bit REQUESTS = 1'b1,
    /// Payload words of an extended packet, a power of two.
    parameter int unsigned PAYLOAD_WORDS = 128,
    /// Words of the Head FIFO, or headers where a beat has several words.
    parameter int unsigned HEAD_DEPTH = 16,
    /// Tasks of the MM Interface FIFO.
    parameter int unsigned MM_DEPTH = 16,
    /// Beats of the In FIFO.
    parameter int unsigned IN_DEPTH = 512,
    /// Width of a task's word count; derived, not to be set.
    localparam int unsigned CountW = $clog2(PAYLOAD_WORDS + 1),
    /// Bytes of a beat; derived, not to be set.
    localparam int unsigned Bytes = DATA_W / 8
) (
    /// Clock.
    input  logic              clk_i,
    /// Synchronous reset, active low.
    input  logic              rst_ni,
    /// This rank's number on the network.
    input  logic [7:0]        rank_i,

    /// From the router: a beat is offered.
    input  logic              in_valid_i,
    /// It is taken.
    output logic              in_ready_o,
    /// The beat.
    input  logic [DATA_W-1:0] in_data_i,
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
    /// Address of the beat's first word.
    output logic [29:0]       write_address_o,
    /// Data.
    output logic [DATA_W-1:0] write_data_o,
    /// Byte strobes.
    output logic [Bytes-1:0]  write_strobe_o,

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

    /// Request plane: an acknowledgement that the message engine sends.
    input  logic              ack_valid_i,
    /// It is taken.
    output logic              ack_ready_o,
    /// To whom.
    input  logic [7:0]        ack_rank_i,
    /// Its status.
    input  logic [4:0]        ack_status_i,
    /// Command id.
    input  logic [15:0]       ack_id_i,
    /// Request plane: the message that an XGET fetches; look it up.
    output logic              fetch_lookup_o,
    /// Its id.
    output logic [9:0]        fetch_id_o,
    /// A cycle later, until the next lookup: its byte address.
    input  logic [31:0]       fetch_base_i,
    /// Its bytes.
    input  logic [31:0]       fetch_size_i,
    /// The rank is being reset, which is why messages are refused.
    input  logic              closed_i,
    /// Request plane: a message is here, and waits for a verdict.
    output logic              arrival_valid_o,
    /// It is an announcement.
    output logic              arrival_announce_o,
    /// It is a recall.
    output logic              arrival_recall_o,
    /// Its source.
    output logic [7:0]        arrival_source_o,
    /// Its context.
    output logic [7:0]        arrival_context_o,
    /// Its tag.
    output logic [25:0]       arrival_tag_o,
    /// Its length in bytes.
    output logic [31:0]       arrival_length_o,
    /// Its sender's command id.
    output logic [15:0]       arrival_id_o,
    /// The verdict is there.
    input  logic              verdict_valid_i,
    /// It is taken.
    output logic              verdict_ready_o,
    /// One of message_verdict_e.
    input  logic [1:0]        verdict_i,
    /// Byte address that the payload goes to.
    input  logic [31:0]       verdict_address_i,
    /// Bytes of the payload that go there.
    input  logic [31:0]       verdict_bytes_i,
    /// Id of the receive, of MvDirect.
    input  logic [15:0]       verdict_receive_i,
    /// Request plane: the payload of a message is to be copied to its receive buffer.
    input  logic              copy_valid_i,
    /// It is taken.
    output logic              copy_ready_o,
    /// From this byte address.
    input  logic [31:0]       copy_from_i,
    /// To this byte address.
    input  logic [31:0]       copy_to_i,
    /// Bytes.
    input  logic [15:0]       copy_bytes_i,
    /// Id of the receive.
    input  logic [15:0]       copy_receive_i,
    /// Pulse: a message's payload lies in its fragment.
    output logic              stored_o,
    /// Pulse: a message's payload lies in the receive buffer.
    output logic              delivered_o,
    /// Id of the receive.
    output logic [15:0]       delivered_receive_o,
    /// Its status.
    output logic [4:0]        delivered_status_o,

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

  localparam int unsigned NoteW = 2 + 8 + 5 + 16;

  // Header words behind the first, by packet type: XACK, XDATA, XGET, XPUT, GET, PUT-n, PUT-1, message.
  localparam logic [23:0] HeadsBehind = {3'd0, 3'd2, 3'd3, 3'd2, 3'd1, 3'd0, 3'd0, 3'd3};

  // ---------------------------------------------------------------- headers apart from payload

  logic in_packet_d, in_packet_q;
  logic taken;
  logic [2:0] in_type;
  logic head_valid, head_ready, heads_empty;
  logic [31:0] head;
  logic payload_room, payload_in, payload_valid, payload_ready, payload_empty;
  logic [DATA_W-1:0] payload_word, payload;

  assign in_type     = in_data_i[X_HEADER_PTYPE_LSB+:X_HEADER_PTYPE_W];
  assign taken       = in_valid_i && in_ready_o;
  assign in_packet_d = taken ? !in_last_i : in_packet_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) in_packet_q <= 1'b0;
    else in_packet_q <= in_packet_d;
  end

  if (DATA_W == 32) begin : g_words
    logic is_head, head_room;
    logic [2:0] heads_left_d, heads_left_q;

    assign is_head      = !in_packet_q || heads_left_q != '0;
    assign in_ready_o   = is_head ? head_room : payload_room;
    assign payload_in   = in_valid_i && !is_head;
    assign payload_word = in_data_i;

    always_comb begin
      heads_left_d = heads_left_q;
      if (taken) begin
        if (!in_packet_q) heads_left_d = HeadsBehind[3*in_type+:3];
        else if (heads_left_q != '0) heads_left_d = heads_left_q - 1'b1;
      end
    end

    always_ff @(posedge clk_i) begin
      if (!rst_ni) heads_left_q <= '0;
      else heads_left_q <= heads_left_d;
    end

    fifo #(.WIDTH(32), .DEPTH(HEAD_DEPTH)) u_head_fifo (
        .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(in_valid_i && is_head), .ready_o(head_room),
        .data_i(in_data_i), .valid_o(head_valid), .ready_i(head_ready), .data_o(head),
        .empty_o(heads_empty), .usage_o()
    );

    `ALCOR_IMPLIES(a_whole_header, taken && in_last_i, heads_left_d == '0)
    `ALCOR_COVER(c_full_received_heads, !head_room)
  end else begin : g_beats
    logic head_room, beside, last_word;
    logic [127:0] heads;
    logic [2:0] type_out;
    logic [1:0] word_q;

    // Header and payload of one beat go to their queues together.
    assign beside       = !in_packet_q && in_last_i && in_type == PT_PUT_1;
    assign in_ready_o   = (in_packet_q || head_room) && ((!in_packet_q && !beside) || payload_room);
    assign payload_in   = in_valid_i && (in_packet_q || (beside && head_room));
    assign payload_word = in_packet_q ? in_data_i : in_data_i >> 32;

    fifo #(.WIDTH(128), .DEPTH(HEAD_DEPTH)) u_head_fifo (
        .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(in_valid_i && !in_packet_q && (!beside || payload_room)),
        .ready_o(head_room), .data_i(in_data_i[127:0]), .valid_o(head_valid),
        .ready_i(head_ready && last_word),
        .data_o(heads), .empty_o(heads_empty), .usage_o()
    );

    assign type_out  = heads[X_HEADER_PTYPE_LSB+:X_HEADER_PTYPE_W];
    assign last_word = 3'(word_q) == HeadsBehind[3*type_out+:3];
    assign head      = heads[32*word_q+:32];

    always_ff @(posedge clk_i) begin
      if (!rst_ni) word_q <= '0;
      else if (head_valid && head_ready) word_q <= last_word ? '0 : word_q + 1'b1;
    end

    `ALCOR_COVER(c_full_received_heads, !head_room)
  end

  fifo #(.WIDTH(DATA_W), .DEPTH(IN_DEPTH), .BLOCK_RAM(IN_DEPTH >= 128)) u_in_fifo (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(payload_in), .ready_o(payload_room),
      .data_i(payload_word), .valid_o(payload_valid), .ready_i(payload_ready), .data_o(payload),
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
  logic [7:0] ack_rank;
  logic [4:0] ack_status;
  logic [15:0] ack_id;
  logic [1:0] note_kind;

  rma_packet_controller #(
      .DATA_W       (DATA_W),
      .REQUESTS     (REQUESTS),
      .PAYLOAD_WORDS(PAYLOAD_WORDS)
  ) u_packet_controller (
      .clk_i               (clk_i),
      .rst_ni              (rst_ni),
      .rank_i              (rank_i),
      .head_valid_i        (head_valid),
      .head_ready_o        (head_ready),
      .head_i              (head),
      .lookup_o            (lookup_o),
      .slot_o              (slot_o),
      .registered_i        (registered_i),
      .base_i              (base_i),
      .size_i              (size_i),
      .deny_i              (deny_i),
      .fetch_lookup_o      (fetch_lookup_o),
      .fetch_id_o          (fetch_id_o),
      .fetch_base_i        (fetch_base_i),
      .fetch_size_i        (fetch_size_i),
      .arrival_valid_o     (arrival_valid_o),
      .closed_i            (closed_i),
      .arrival_announce_o  (arrival_announce_o),
      .arrival_recall_o    (arrival_recall_o),
      .arrival_source_o    (arrival_source_o),
      .arrival_context_o   (arrival_context_o),
      .arrival_tag_o       (arrival_tag_o),
      .arrival_length_o    (arrival_length_o),
      .arrival_id_o        (arrival_id_o),
      .verdict_valid_i     (verdict_valid_i),
      .verdict_ready_o     (verdict_ready_o),
      .verdict_i           (verdict_i),
      .verdict_address_i   (verdict_address_i),
      .verdict_bytes_i     (verdict_bytes_i),
      .verdict_receive_i   (verdict_receive_i),
      .copy_valid_i        (copy_valid_i),
      .copy_ready_o        (copy_ready_o),
      .copy_from_i         (copy_from_i),
      .copy_to_i           (copy_to_i),
      .copy_bytes_i        (copy_bytes_i),
      .copy_receive_i      (copy_receive_i),
      .write_valid_o       (task_valid),
      .write_ready_i       (task_ready),
      .write_drop_o        (task_drop),
      .write_words_o       (task_words),
      .write_address_o     (task_address),
      .write_end_lane_o    (task_end_lane),
      .write_noted_o       (task_noted),
      .note_kind_o         (task_note[30:29]),
      .note_rank_o         (task_note[28:21]),
      .note_status_o       (task_note[20:16]),
      .note_id_o           (task_note[15:0]),
      .ack_valid_i         (ack_valid),
      .ack_ready_o         (ack_ready),
      .ack_rank_i          (ack_rank),
      .ack_status_i        (ack_status),
      .ack_id_i            (ack_id),
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
      .DATA_W  (DATA_W),
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

  // The message engine always has room for the notes that it waits for.
  assign note_kind           = note[30:29];
  assign stored_o            = note_valid && note_kind == NkStored;
  assign delivered_o         = note_valid && note_kind == NkDelivered;
  assign delivered_receive_o = note[15:0];
  assign delivered_status_o  = note[20:16];

  if (REQUESTS) begin : g_acknowledge
    logic own_room, own_valid, own_ready;
    logic [28:0] own;

    // Room for a note of every task that can be under way while the controller waits for a place in
    // the task queue: the queue must be able to empty itself then.
    fifo #(.WIDTH(29), .DEPTH(2 * MM_DEPTH)) u_ack_fifo (
        .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(note_valid && note_kind == NkCommand), .ready_o(own_room),
        .data_i(note[28:0]), .valid_o(own_valid), .ready_i(own_ready), .data_o(own),
        .empty_o(acks_empty), .usage_o()
    );
    assign note_ready          = note_kind != NkCommand || own_room;

    stream_pick #(
        .WIDTH(29)
    ) u_acks (
        .clk_i  (clk_i),
        .rst_ni (rst_ni),
        .valid_i({own_valid, ack_valid_i}),
        .ready_o({own_ready, ack_ready_o}),
        .data_i ({own, ack_rank_i, ack_status_i, ack_id_i}),
        .valid_o(ack_valid),
        .ready_i(ack_ready),
        .data_o ({ack_rank, ack_status, ack_id})
    );

    assign completion_valid_o  = 1'b0;
    assign completion_status_o = '0;
    assign completion_id_o     = '0;
  end else begin : g_complete
    assign ack_valid           = 1'b0;
    assign ack_ready_o         = 1'b0;
    assign ack_rank            = '0;
    assign ack_status          = '0;
    assign ack_id              = '0;
    assign acks_empty          = 1'b1;
    assign completion_valid_o  = note_valid && note_kind == NkCommand;
    assign note_ready          = note_kind != NkCommand || completion_ready_i;
    assign completion_status_o = note[20:16];
    assign completion_id_o     = note[15:0];
  end

  assign idle_o = !in_packet_q && heads_empty && payload_empty && controller_idle && writes_idle &&
                  acks_empty;

  `ALCOR_ASSERT(a_room_for_acks, !note_valid || note_ready || !REQUESTS)
  `ALCOR_CHECK_PARAM(g_check_width, DATA_W == 32 || DATA_W == 128 || DATA_W == 256 || DATA_W == 512,
                     "rma_receive: DATA_W must be 32, 128, 256 or 512")

  `ALCOR_COVER(c_full_in, !payload_room)

endmodule

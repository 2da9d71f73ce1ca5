`include "assertions.svh"

import alcor_abi_pkg::*;

/// Receiving side of the request plane: from the router's output into node memory, and the answers.
///
/// `rma_parser` takes packets apart; the packet controller works on headers, the write side of the memory interface
/// controller on payload, so a packet's header is checked while the payload before it is still being written. A note
/// leaves when its write is done: it becomes an acknowledgement, or goes to the message engine.
module rma_receive_requests #(
    /// Bits of a beat: 32, 256 or 512.
    parameter int unsigned DATA_W = 32,
    /// Payload words of an extended packet, a power of two.
    parameter int unsigned PAYLOAD_WORDS = 128,
    /// Words of the Head FIFO, or headers where a beat has several words.
    parameter int unsigned HEAD_DEPTH = 16,
    /// Tasks of the MM Interface FIFO.
    parameter int unsigned MM_DEPTH = 16,
    /// Beats of the In FIFO.
    parameter int unsigned IN_DEPTH = 512,
    /// 1: there is a unit for accumulates; 0: accumulates are refused.
    parameter bit ACCUMULATE = 1'b0,
    /// Cycles from grant to data up to which accumulates go on at one beat per cycle.
    parameter int unsigned MEM_LATENCY = 1,
    /// Bytes of a beat; derived, not to be set.
    localparam int unsigned Bytes = DATA_W / 8
) (
    /// Clock.
    input  logic                        clk_i,
    /// Synchronous reset, active low.
    input  logic                        rst_ni,
    /// This rank's number on the network.
    input  logic [7:0]                  rank_i,
    /// The rank is being reset, which is why messages are refused.
    input  logic                        closed_i,

    /// No packet is let in that has not begun to come in.
    input  logic                        hold_i,
    /// From the router: a beat is offered.
    input  logic                        in_valid_i,
    /// The beat is taken.
    output logic                        in_ready_o,
    /// The beat.
    input  logic [DATA_W-1:0]           in_data_i,
    /// The beat is its packet's last.
    input  logic                        in_last_i,
    /// With `in_last_i`: the beat ends a damaged packet, and holds no data.
    input  logic                        in_cut_i,

    /// Registration table: look a window up.
    output alcor_abi_pkg::slot_lookup_t lookup_o,
    /// The window that was looked up.
    input  alcor_abi_pkg::window_t      window_i,

    /// Atomic operations and accumulates: a read of node memory.
    output alcor_abi_pkg::memory_request_t read_o,
    /// The memory's answer.
    input  alcor_abi_pkg::memory_answer_t read_i,
    /// Data, with `read_i.rvalid`.
    input  logic [DATA_W-1:0]           read_data_i,

    /// A memory write is offered.
    output logic                        write_valid_o,
    /// The write is done.
    input  logic                        write_ready_i,
    /// Address of the beat's first word.
    output logic [29:0]                 write_address_o,
    /// Data.
    output logic [DATA_W-1:0]           write_data_o,
    /// Byte strobes.
    output logic [Bytes-1:0]            write_strobe_o,

    /// The reply plane sends nothing.
    input  logic                        replied_i,
    /// Header words and read task of an answer.
    output alcor_abi_pkg::outgoing_t    reply_o,
    /// Header words and read task that are taken.
    input  alcor_abi_pkg::outgoing_taken_t reply_i,

    /// To the message engine.
    output alcor_abi_pkg::to_engine_t   engine_o,
    /// From the message engine.
    input  alcor_abi_pkg::from_engine_t engine_i,

    /// Packets that were refused.
    output alcor_abi_pkg::refusal_t     refusal_o,
    /// Nothing is queued or under way.
    output logic                        idle_o
);

  localparam int unsigned CountW = $clog2(PAYLOAD_WORDS + 1);

  // ---------------------------------------------------------------- headers apart from payload

  logic head_valid, head_ready, head_cut, head_bare, payload_valid, payload_ready, payload_last, payload_cut, parser_idle;
  logic [31:0] head;
  logic [DATA_W-1:0] payload;

  rma_parser #(
      .DATA_W    (DATA_W),
      .HEADS     ((DATA_W >= 256) ? 8 : 4),
      .HEAD_DEPTH(HEAD_DEPTH),
      .IN_DEPTH  (IN_DEPTH)
  ) u_parser (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .hold_i         (hold_i),
      .in_valid_i     (in_valid_i),
      .in_ready_o     (in_ready_o),
      .in_data_i      (in_data_i),
      .in_last_i      (in_last_i),
      .in_cut_i       (in_cut_i),
      .head_valid_o   (head_valid),
      .head_ready_i   (head_ready),
      .head_o         (head),
      .head_cut_o     (head_cut),
      .head_bare_o    (head_bare),
      .payload_valid_o(payload_valid),
      .payload_ready_i(payload_ready),
      .payload_o      (payload),
      .payload_last_o (payload_last),
      .payload_cut_o  (payload_cut),
      .malformed_o    (surplus),
      .idle_o         (parser_idle)
  );

  // ---------------------------------------------------------------- memory writes

  logic task_valid, task_ready, note_valid, writes_idle, controller_idle, acks_empty;
  // A packet has more or fewer beats than its type or its header says.
  logic surplus, wrong_length;
  alcor_abi_pkg::refusal_t refusal;
  alcor_abi_pkg::write_task_t write_task;
  logic mm_write, mm_written, mm_first, mm_last, mm_idle, accumulating, payload_write, atomic_write;
  logic [29:0] mm_address, payload_address, atomic_address;
  logic [DATA_W-1:0] mm_data, payload_data, atomic_data;
  logic [Bytes-1:0] mm_strobe, payload_strobe, atomic_strobe;
  alcor_abi_pkg::reduction_t reduction;
  alcor_abi_pkg::note_t note;
  alcor_abi_pkg::memory_request_t atomic_read, accumulate_read;

  rma_mm_write #(
      .DATA_W    (DATA_W),
      .MM_DEPTH  (MM_DEPTH),
      .COUNT_W   (CountW),
      .ACCUMULATE(ACCUMULATE)
  ) u_mm_write (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .task_valid_i   (task_valid),
      .task_ready_o   (task_ready),
      .task_i         (write_task),
      .in_valid_i     (payload_valid),
      .in_ready_o     (payload_ready),
      .in_data_i      (payload),
      .in_last_i      (payload_last),
      .in_cut_i       (payload_cut),
      .write_valid_o  (mm_write),
      .write_ready_i  (mm_written),
      .write_address_o(mm_address),
      .write_data_o   (mm_data),
      .write_strobe_o (mm_strobe),
      .write_reduction_o(reduction),
      .write_first_o  (mm_first),
      .write_last_o   (mm_last),
      .busy_i         (accumulating),
      .note_valid_o   (note_valid),
      // There is room for each note: see the ack FIFO.
      .note_ready_i   (1'b1),
      .note_o         (note),
      .malformed_o    (wrong_length),
      .idle_o         (mm_idle)
  );

  assign writes_idle = mm_idle && !accumulating;

  if (ACCUMULATE) begin : g_accumulate
    rma_accumulate #(
        .DATA_W(DATA_W),
        // Reads, the vector unit, the queue of results.
        .DEPTH (2 ** $clog2(MEM_LATENCY + 12))
    ) u_accumulate (
        .clk_i          (clk_i),
        .rst_ni         (rst_ni),
        .valid_i        (mm_write),
        .ready_o        (mm_written),
        .address_i      (mm_address),
        .data_i         (mm_data),
        .strobe_i       (mm_strobe),
        .reduction_i    (reduction),
        .first_i        (mm_first),
        .last_i         (mm_last),
        .read_o         (accumulate_read),
        .read_i         ({read_i.gnt, read_i.rvalid && accumulating}),
        .read_data_i    (read_data_i),
        .write_valid_o  (payload_write),
        .write_ready_i  (write_ready_i),
        .write_address_o(payload_address),
        .write_data_o   (payload_data),
        .write_strobe_o (payload_strobe),
        .busy_o         (accumulating)
    );
  end else begin : g_no_accumulate
    assign mm_written      = write_ready_i;
    assign payload_write   = mm_write;
    assign payload_address = mm_address;
    assign payload_data    = mm_data;
    assign payload_strobe  = mm_strobe;
    assign accumulate_read = '0;
    assign accumulating    = 1'b0;

    logic unused_accumulate;
    assign unused_accumulate = ^{reduction, mm_first, mm_last};
  end

  // An atomic operation reads while no write task is queued, an accumulate as a write task: never both.
  assign read_o.req     = atomic_read.req || accumulate_read.req;
  assign read_o.address = accumulate_read.req ? accumulate_read.address : atomic_read.address;

  // An atomic operation writes only while no write task is queued, so the two never write in the same cycle.
  assign write_valid_o   = payload_write || atomic_write;
  assign write_address_o = atomic_write ? atomic_address : payload_address;
  assign write_data_o    = atomic_write ? atomic_data : payload_data;
  assign write_strobe_o  = atomic_write ? atomic_strobe : payload_strobe;

  always_comb begin
    refusal_o = refusal;
    refusal_o.malformed |= surplus || wrong_length;
  end

  // ---------------------------------------------------------------- packet controller, and what becomes of a note

  alcor_abi_pkg::to_engine_t to_engine;
  logic ack_taken;

  logic ack_valid, ack_ready, own_room, own_valid, own_ready;
  alcor_abi_pkg::acknowledgement_t ack, own, engine_ack;

  rma_request_controller #(
      .DATA_W       (DATA_W),
      .PAYLOAD_WORDS(PAYLOAD_WORDS),
      .ACCUMULATE   (ACCUMULATE)
  ) u_controller (
      .clk_i             (clk_i),
      .rst_ni            (rst_ni),
      .rank_i            (rank_i),
      .closed_i          (closed_i),
      .head_valid_i      (head_valid),
      .head_ready_o      (head_ready),
      .head_i            (head),
      .head_cut_i        (head_cut),
      .head_bare_i       (head_bare),
      .lookup_o          (lookup_o),
      .window_i          (window_i),
      .engine_i          (engine_i),
      .engine_o          (to_engine),
      .full_i            (in_valid_i && !in_ready_o),
      .settled_i         (writes_idle),
      .replied_i         (replied_i),
      .atomic_read_o     (atomic_read),
      .atomic_read_i     ({read_i.gnt, read_i.rvalid && !accumulating}),
      .atomic_data_i     (read_data_i),
      .atomic_write_o    (atomic_write),
      .atomic_written_i  (write_ready_i),
      .atomic_address_o  (atomic_address),
      .atomic_data_o     (atomic_data),
      .atomic_strobe_o   (atomic_strobe),
      .write_valid_o     (task_valid),
      .write_ready_i     (task_ready),
      .write_o           (write_task),
      .ack_valid_i       (ack_valid),
      .ack_ready_o       (ack_ready),
      .ack_i             (ack),
      .reply_o           (reply_o),
      .reply_i           (reply_i),
      .refusal_o         (refusal),
      .idle_o            (controller_idle)
  );

  // Room for a note of every task that can be under way while the controller waits for a place in
  // the task queue: the queue must be able to empty itself then.
  fifo #(.WIDTH(29), .DEPTH(2 * MM_DEPTH)) u_ack_fifo (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(note_valid && note.kind == NkCommand), .ready_o(own_room),
      .data_i(note.told), .valid_o(own_valid), .ready_i(own_ready), .data_o(own),
      .empty_o(acks_empty), .usage_o()
  );
  assign engine_ack = engine_i.ack;

  stream_pick #(
      .WIDTH(29)
  ) u_acks (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i({own_valid, engine_i.ack_valid}),
      .ready_o({own_ready, ack_taken}),
      .data_i ({own, engine_ack}),
      .valid_o(ack_valid),
      .ready_i(ack_ready),
      .data_o (ack)
  );

  // The message engine always has room for the notes that it waits for.
  always_comb begin
    engine_o                   = to_engine;
    engine_o.ack_ready         = ack_taken;
    engine_o.stored            = note_valid && note.kind == NkStored;
    engine_o.delivered.valid   = note_valid && note.kind == NkDelivered;
    engine_o.delivered.status  = note.told.status;
    engine_o.delivered.receive = note.told.id;
  end

  assign idle_o = parser_idle && controller_idle && writes_idle && acks_empty;

  `ALCOR_ASSERT(a_one_write, !(payload_write && atomic_write))
  `ALCOR_ASSERT(a_one_read, !(atomic_read.req && (accumulate_read.req || accumulating)))
  `ALCOR_ASSERT(a_room_for_acks, !note_valid || note.kind != NkCommand || own_room)

endmodule

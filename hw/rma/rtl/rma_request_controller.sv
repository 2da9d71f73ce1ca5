`include "assertions.svh"

import alcor_abi_pkg::*;

/// Packet controller of the request plane: turns the header words of received packets into memory tasks and answers.
///
/// Each packet's window is looked up by slot and the access checked against bounds and rights before
/// anything touches memory. A PUT becomes a write task; a refused one becomes a task that drops its
/// payload. A GET becomes the header and read task of its answer on the reply plane. The last packet
/// of an extended command is always answered, by XDATA or by XACK; acknowledgements of finished
/// writes come back in on `ack_*` and leave here, so the reply plane has a single author.
///
/// A message goes to the message engine with its header's last word. A payload waits here for the engine's verdict, which
/// says where the payload goes. A copy of the engine from one place in memory to another becomes an XDATA packet to this
/// rank itself, as the answer to an XGET would.
///
/// An atomic operation waits here until its word is written and its answer sent: no other packet comes between.
///
/// An accumulate is a write task that says how its payload is combined with memory. Where the old elements are fetched,
/// they are sent as the answer to an XGET would be, once all earlier writes are done; the write task follows when they
/// are read. The XACK, which comes behind the write, completes the command.
///
/// A packet that ends within its header is dropped as malformed.
///
/// Header words arrive one per cycle: a PUT packet takes 2 cycles, XPUT 4, GET 3, XGET 8, a message 4, with a payload 5 and
/// the time to its verdict, an atomic operation 6 and the time for the memory. An acknowledgement leaves while a message
/// comes, or beside the header word of the next packet.
module rma_request_controller #(
    /// Bits of a beat of node memory: 32, 256 or 512.
    parameter int unsigned DATA_W = 32,
    /// Payload words of an extended packet, a power of two.
    parameter int unsigned PAYLOAD_WORDS = 128,
    /// 1: there is a unit for accumulates; 0: accumulates are refused.
    parameter bit ACCUMULATE = 1'b0,
    /// Bytes of a beat; derived, not to be set.
    localparam int unsigned Bytes = DATA_W / 8
) (
    /// Clock.
    input  logic                            clk_i,
    /// Synchronous reset, active low.
    input  logic                            rst_ni,
    /// This rank's number on the network.
    input  logic [7:0]                      rank_i,
    /// The rank is being reset, which is why messages are refused.
    input  logic                            closed_i,

    /// Head FIFO: a header word is offered.
    input  logic                            head_valid_i,
    /// The header word is taken.
    output logic                            head_ready_o,
    /// The header word.
    input  logic [31:0]                     head_i,
    /// The packet ends with the header word, which is not its header's last.
    input  logic                            head_cut_i,
    /// With the header's last word: the packet has no payload.
    input  logic                            head_bare_i,

    /// Registration table: look a window up.
    output alcor_abi_pkg::slot_lookup_t     lookup_o,
    /// The window that was looked up.
    input  alcor_abi_pkg::window_t          window_i,

    /// From the message engine.
    input  alcor_abi_pkg::from_engine_t     engine_i,
    /// To the message engine: look the message up that an XGET fetches. It is there a cycle later, until the next lookup.
    output logic                            fetch_valid_o,
    /// Id of the message.
    output alcor_abi_pkg::entry_t           fetch_id_o,
    /// A message arrives.
    output logic                            arrival_valid_o,
    /// The message.
    output alcor_abi_pkg::arrival_t         arrival_o,
    /// The payload of the message must leave now, without waiting for its verdict.
    output logic                            late_o,
    /// The verdict is taken.
    output logic                            verdict_ready_o,
    /// The copy of a payload to its receive buffer is taken.
    output logic                            copy_ready_o,
    /// A beat of the plane waits, as there is no room for it.
    input  logic                            full_i,

    /// All write tasks are done.
    input  logic                            settled_i,
    /// The reply plane sends nothing: all answers are read.
    input  logic                            replied_i,
    /// Atomic operation: a read of node memory.
    output alcor_abi_pkg::memory_request_t  atomic_read_o,
    /// The memory's answer.
    input  alcor_abi_pkg::memory_answer_t   atomic_read_i,
    /// Data, with `atomic_read_i.rvalid`.
    input  logic [DATA_W-1:0]               atomic_data_i,
    /// Atomic operation: a write of node memory is offered, while all write tasks are done.
    output logic                            atomic_write_o,
    /// The write is done.
    input  logic                            atomic_written_i,
    /// Address of the write's first word.
    output logic [29:0]                     atomic_address_o,
    /// Data of the write.
    output logic [DATA_W-1:0]               atomic_data_o,
    /// Byte strobes of the write.
    output logic [Bytes-1:0]                atomic_strobe_o,

    /// A write task is offered.
    output logic                            write_valid_o,
    /// The task is taken.
    input  logic                            write_ready_i,
    /// The task.
    output alcor_abi_pkg::write_task_t      write_o,

    /// An acknowledgement is to be sent.
    input  logic                            ack_valid_i,
    /// The acknowledgement is taken.
    output logic                            ack_ready_o,
    /// The acknowledgement.
    input  alcor_abi_pkg::acknowledgement_t ack_i,

    /// A header word of an answer is offered.
    output logic                            reply_head_valid_o,
    /// The header word is taken.
    input  logic                            reply_head_ready_i,
    /// The header word.
    output logic [31:0]                     reply_head_o,
    /// The read task of an answer is offered, with its last header word.
    output logic                            reply_task_valid_o,
    /// The task is taken.
    input  logic                            reply_task_ready_i,
    /// The task.
    output alcor_abi_pkg::read_task_t       reply_task_o,

    /// Packets that were refused.
    output alcor_abi_pkg::refusal_t         refusal_o,
    /// No operation is under way in this block.
    output logic                            idle_o
);

  localparam int unsigned CountW = $clog2(PAYLOAD_WORDS + 1);
  localparam int unsigned BytesW = CountW + 2;

  typedef enum logic [3:0] {
    Idle,         // no packet
    PaperCheck,   // PUT: check and write task
    GetHeader2,   // GET: second header word
    GetCheck,     // GET: check and answer
    XOffset,      // XPUT, XGET: offset
    XLength,      // length
    XReduce,      // accumulate: operation and type
    XLaddr,       // XGET, accumulate that fetches: local address of the requester
    XCheck,       // check, then write task, answer or refusal
    Reply,        // rma_reply_sender sends XDATA
    Drain,        // accumulate that fetches: the old elements are read
    Message,      // rma_message_port takes a message
    Atomic        // rma_atomic carries an atomic operation out
  } state_e;

  state_e state_d, state_q;
  logic [31:0] header_q;
  logic [31:0] offset_q, laddr_q, left_q, address_q;
  logic [33:0] end_d, end_q;
  logic take, take_header, head_taken, bare_q;

  // The header word that is held, and the one that comes, as each of their formats.
  alcor_abi_pkg::put_header_t incoming;
  alcor_abi_pkg::x_header_t incoming_x, header, answered;
  alcor_abi_pkg::x_accumulate_t header_accumulate;
  // The low bits of x_reduction.
  logic [ReductionW-2:0] reduction_q;
  alcor_abi_pkg::put_header_t header_paper;
  alcor_abi_pkg::message_t header_message;
  alcor_abi_pkg::x_atomic_t header_atomic;
  alcor_abi_pkg::get_header2_t answer_q;
  alcor_abi_pkg::x_length_t length, incoming_length;
  alcor_abi_pkg::packet_type_e ptype;
  logic is_get, is_extended, beyond;
  logic fits_d, fits_q;

  assign incoming        = head_i;
  assign incoming_x      = head_i;
  assign incoming_length = head_i;
  assign header          = header_q;
  assign header_paper    = header_q;
  assign header_message  = header_q;
  assign header_atomic   = header_q;
  assign header_accumulate = header_q;
  assign length          = left_q;
  assign ptype           = header.ptype;
  assign is_get          = ptype == PT_GET || ptype == PT_XGET;
  assign is_extended     = ptype == PT_XPUT || ptype == PT_XGET;
  // The last packet of a command holds all that is left of it, and no other packet does. An atomic operation has one packet,
  // and no payload.
  assign beyond          = is_extended && !is_atomic && (header.beyond || header.last != fits_q);
  assign lookup_o.valid  = take_header;
  assign lookup_o.slot   = incoming.slot;

  // An XGET of the message engine; an atomic operation; the atomic unit has the packet.
  logic is_fetch, is_atomic, atomic_active;
  // An accumulate; it fetches the old elements, which have not been sent.
  logic is_accumulate, fetches, fetched_q;

  assign is_accumulate = ptype == PT_XPUT && header_accumulate.accumulate;
  assign fetches       = is_accumulate && header_accumulate.fetch;

  assign atomic_active = is_atomic && (state_q == XLength || state_q == Atomic);
  assign is_atomic     = ptype == PT_XGET && header_atomic.atomic && !header_atomic.message;
  assign is_fetch      = ptype == PT_XGET && header.message;
  assign fetch_valid_o = take_header;
  assign fetch_id_o    = {incoming_x.high, incoming_x.slot};

  // ---------------------------------------------------------------- the check, for every access

  logic access_refused;
  alcor_abi_pkg::status_e status, moved_status_q;

  rma_access_check u_access_check (
      .window_i    (window_i),
      .read_i      (is_get || is_accumulate),
      .write_i     (!is_get || is_atomic),
      .beyond_i    (beyond),
      .unable_i    (is_accumulate && !ACCUMULATE),
      .end_i       (end_q),
      .fetch_i     (is_fetch),
      .fetch_size_i(engine_i.fetch.length),
      .refused_o   (access_refused),
      .status_o    (status)
  );

  // The paper's units are words. A GET's second header word says how many are asked for; a PUT's length counts its
  // header word.
  logic [31:0] paper_offset;
  logic [4:0] paper_words;

  assign paper_offset = 32'({incoming.offset, 2'b00});
  assign paper_words  = (state_q == PaperCheck) ? header_paper.length - 5'd1 : incoming.length;

  // ---------------------------------------------------------------- payload of an extended packet

  logic [1:0] segment_align, segment_end_lane;
  logic [BytesW-1:0] segment_bytes;
  logic [CountW-1:0] segment_words;

  assign segment_align = (ptype == PT_XGET) ? laddr_q[1:0] : offset_q[1:0];

  segmenter #(
      .PAYLOAD_WORDS(PAYLOAD_WORDS)
  ) u_segmenter (
      .left_i    (left_q),
      .align_i   (segment_align),
      .last_i    (header.last),
      .fits_o    (),
      .bytes_o   (segment_bytes),
      .words_o   (segment_words),
      .end_lane_o(segment_end_lane)
  );

  // Whether all that is left fits into the packet: of an XPUT with its length, of an XGET with its local address, which is
  // the next word.
  logic [31:0] whole;
  logic [1:0] whole_align;

  assign whole       = (state_q == XLength) ? head_i : left_q;
  assign whole_align = (state_q == XLength) ? offset_q[1:0] : head_i[1:0];

  segmenter #(
      .PAYLOAD_WORDS(PAYLOAD_WORDS)
  ) u_whole (
      .left_i    ({header.last ? 16'd0 : whole[31:16], whole[15:0]}),
      .align_i   (whole_align),
      .last_i    (header.last),
      .fits_o    (fits_d),
      .bytes_o   (),
      .words_o   (),
      .end_lane_o()
  );

  // ---------------------------------------------------------------- messages

  logic message_take, message_valid, message_done;
  alcor_abi_pkg::write_task_t message_task;

  rma_message_port #(
      .PAYLOAD_WORDS(PAYLOAD_WORDS)
  ) u_message_port (
      .clk_i            (clk_i),
      .rst_ni           (rst_ni),
      .closed_i         (closed_i),
      .active_i         (state_q == Message),
      .header_i         (header_message),
      .done_o           (message_done),
      .head_valid_i     (head_valid_i),
      .head_ready_o     (message_take),
      .head_i           (head_i),
      .head_cut_i       (head_cut_i),
      .head_bare_i      (head_bare_i),
      .behind_i         (head_valid_i || full_i),
      .arrival_valid_o  (arrival_valid_o),
      .arrival_ready_i  (engine_i.arrival_ready),
      .arrival_refused_i(engine_i.arrival_refused),
      .arrival_o        (arrival_o),
      .late_o           (late_o),
      .verdict_valid_i  (engine_i.verdict_valid),
      .verdict_ready_o  (verdict_ready_o),
      .verdict_i        (engine_i.verdict),
      .task_valid_o     (message_valid),
      .task_ready_i     (write_ready_i),
      .task_o           (message_task)
  );

  // ---------------------------------------------------------------- atomic operations

  logic atomic_done, atomic_dropped, atomic_take, atomic_head_valid, atomic_task_valid;
  logic [31:0] atomic_head;
  alcor_abi_pkg::read_task_t atomic_task;
  alcor_abi_pkg::x_operation_t operation;

  assign operation = left_q;

  rma_atomic #(
      .DATA_W(DATA_W)
  ) u_atomic (
      .clk_i             (clk_i),
      .rst_ni            (rst_ni),
      .active_i          (atomic_active),
      .named_i           (state_q == Atomic),
      .header_i          (header_atomic),
      .operation_i       (operation),
      .address_i         (address_q),
      .refused_i         (access_refused),
      .settled_i         (settled_i),
      .cut_i             (atomic_active && head_taken && head_cut_i),
      .done_o            (atomic_done),
      .dropped_o         (atomic_dropped),
      .head_valid_i      (head_valid_i),
      .head_ready_o      (atomic_take),
      .head_i            (head_i),
      .read_o            (atomic_read_o),
      .read_i            (atomic_read_i),
      .read_data_i       (atomic_data_i),
      .write_valid_o     (atomic_write_o),
      .write_ready_i     (atomic_written_i),
      .write_address_o   (atomic_address_o),
      .write_data_o      (atomic_data_o),
      .write_strobe_o    (atomic_strobe_o),
      .reply_head_valid_o(atomic_head_valid),
      .reply_head_ready_i(reply_head_ready_i),
      .reply_head_o      (atomic_head),
      .reply_task_valid_o(atomic_task_valid),
      .reply_task_ready_i(reply_task_ready_i),
      .reply_task_o      (atomic_task)
  );

  // ---------------------------------------------------------------- answers

  logic data_done, data_head_valid, data_task_valid;
  logic [31:0] data_head;
  alcor_abi_pkg::read_task_t data_task;

  rma_reply_sender #(
      .PAYLOAD_WORDS(PAYLOAD_WORDS)
  ) u_reply_sender (
      .clk_i       (clk_i),
      .rst_ni      (rst_ni),
      .active_i    (state_q == Reply),
      .request_i   (answered),
      .message_i   (is_fetch),
      .status_i    (moved_status_q),
      .laddr_i     (laddr_q),
      .id_i        (length.id),
      .bytes_i     (segment_bytes),
      .words_i     (segment_words),
      .address_i   (address_q),
      .done_o      (data_done),
      .head_valid_o(data_head_valid),
      .head_ready_i(reply_head_ready_i),
      .head_o      (data_head),
      .task_valid_o(data_task_valid),
      .task_ready_i(reply_task_ready_i),
      .task_o      (data_task)
  );

  alcor_abi_pkg::acknowledgement_t acknowledgement;
  alcor_abi_pkg::x_ack_t ack_header;
  alcor_abi_pkg::put_header_t get_answer;
  alcor_abi_pkg::x_header_t copy_header;

  always_comb begin
    // The XACK of an accumulate ends its command.
    answered = header;
    if (is_accumulate) answered.last = 1'b0;

    // An acknowledgement of a write that is done, or of this packet, which is refused.
    acknowledgement = ack_i;
    if (state_q == XCheck) acknowledgement = {header.src, status, length.id};
    ack_header        = '0;
    ack_header.dpid   = acknowledgement.rank;
    ack_header.ptype  = PT_XACK;
    ack_header.status = acknowledgement.status;
    ack_header.id     = acknowledgement.id;

    // A GET's second header word is the header of the answer, once its length counts itself.
    get_answer        = answer_q;
    get_answer.length = answer_q.length + 5'd1;

    // A copy is served as an XGET of a message that this rank has sent to itself.
    copy_header         = '0;
    copy_header.ptype   = PT_XGET;
    copy_header.last    = 1'b1;
    copy_header.message = 1'b1;
    copy_header.src     = rank_i;
  end

  // ---------------------------------------------------------------- states

  logic answers_ready, sends_ack, held_back, checks, malformed;

  // The other states that an acknowledgement could leave in are short.
  assign sends_ack     = ack_valid_i && (state_q == Idle || state_q == Message);
  assign held_back     = sends_ack && !answers_ready;
  assign answers_ready = reply_head_ready_i && reply_task_ready_i;

  always_comb begin
    state_d     = state_q;
    take        = 1'b0;
    take_header = 1'b0;
    end_d       = end_q;

    write_valid_o            = 1'b0;
    write_o.reduction        = {is_accumulate, reduction_q};
    write_o.drop             = access_refused;
    write_o.bare             = bare_q;
    write_o.words            = 13'(segment_words);
    write_o.kept             = 13'(segment_words);
    write_o.address          = address_q;
    write_o.end_lane         = segment_end_lane;
    write_o.noted            = header.last;
    write_o.note.kind        = NkCommand;
    write_o.note.told.rank   = header.src;
    write_o.note.told.status = status;
    write_o.note.told.id     = length.id;

    ack_ready_o          = 1'b0;
    copy_ready_o         = 1'b0;
    reply_head_valid_o   = 1'b0;
    reply_head_o         = '0;
    reply_task_valid_o   = 1'b0;
    reply_task_o.heads   = 3'd1;
    reply_task_o.words   = '0;
    reply_task_o.address = address_q;

    checks    = 1'b0;
    malformed = 1'b0;

    if (sends_ack) begin
      reply_head_o       = ack_header;
      reply_head_valid_o = reply_task_ready_i;
      reply_task_valid_o = reply_head_ready_i;
      ack_ready_o        = answers_ready;
    end

    unique case (state_q)
      Idle: begin
        // Acknowledgements first: there are never more of them than write tasks, and the room for
        // them must not run out while a header waits for a task's place.
        if (engine_i.copy_valid && !held_back) begin
          copy_ready_o = 1'b1;
          state_d      = Reply;
        end else if (head_valid_i && !held_back) begin
          take_header = 1'b1;
          // Only the header is at hand: enough for a paper PUT's bounds.
          end_d       = 34'(paper_offset) + 34'({incoming.length - 5'd1, 2'b00});
          unique case (incoming.ptype)
            PT_PUT_1, PT_PUT_N: state_d = PaperCheck;
            PT_GET:             state_d = GetHeader2;
            PT_XPUT, PT_XGET:   state_d = XOffset;
            PT_MESSAGE:         state_d = Message;
            PT_XDATA, PT_XACK:  malformed = 1'b1;
            default: ;
          endcase
        end
      end

      PaperCheck: begin
        write_valid_o    = 1'b1;
        write_o.reduction = '0;
        write_o.words    = 13'(paper_words);
        write_o.kept     = 13'(paper_words);
        write_o.address  = window_i.base + offset_q;
        write_o.end_lane = 2'd3;
        write_o.noted    = 1'b0;
        if (write_ready_i) begin
          checks  = 1'b1;
          state_d = Idle;
        end
      end

      GetHeader2: begin
        take  = 1'b1;
        end_d = 34'(offset_q) + 34'({paper_words, 2'b00});
        if (head_valid_i) state_d = GetCheck;
      end

      GetCheck: begin
        reply_head_o       = get_answer;
        reply_task_o.words = 13'(answer_q.length);
        checks             = 1'b1;
        if (access_refused) begin
          state_d = Idle;
        end else begin
          reply_head_valid_o = reply_task_ready_i;
          reply_task_valid_o = reply_head_ready_i;
          if (answers_ready) state_d = Idle;
        end
      end

      XOffset: begin
        take  = 1'b1;
        end_d = 34'(head_i) + (header_atomic.wide ? 34'd8 : 34'd4);
        if (head_valid_i) state_d = XLength;
      end

      XLength: begin
        take = 1'b1;
        if (!is_atomic) end_d = 34'(offset_q) + (header.last ? 34'(incoming_length.length) : 34'(head_i));
        if (head_valid_i && is_atomic) state_d = Atomic;
        else if (head_valid_i && is_accumulate) state_d = XReduce;
        else if (head_valid_i) state_d = (ptype == PT_XGET) ? XLaddr : XCheck;
      end

      XReduce: begin
        take = 1'b1;
        if (head_valid_i) state_d = fetches ? XLaddr : XCheck;
      end

      XLaddr: begin
        take = 1'b1;
        if (head_valid_i) state_d = XCheck;
      end

      XCheck: begin
        checks = ptype == PT_XGET && !(is_fetch && header.last) && (!header.last || answers_ready);
        if (fetches && !fetched_q && !access_refused) begin
          if (settled_i) state_d = Reply;
        end else if (ptype == PT_XPUT) begin
          write_valid_o = 1'b1;
          checks        = write_ready_i;
          if (write_ready_i) state_d = Idle;
        end else if (!access_refused || (is_fetch && header.last)) begin
          state_d = Reply;
        end else if (!header.last) begin
          state_d = Idle;
        end else begin
          reply_head_o       = ack_header;
          reply_head_valid_o = reply_task_ready_i;
          reply_task_valid_o = reply_head_ready_i;
          if (answers_ready) state_d = Idle;
        end
      end

      Reply: begin
        reply_head_valid_o = data_head_valid;
        reply_head_o       = data_head;
        reply_task_valid_o = data_task_valid;
        reply_task_o       = data_task;
        if (data_done) state_d = fetches ? Drain : Idle;
      end

      Drain: begin
        if (replied_i) state_d = XCheck;
      end

      Message: begin
        take          = message_take;
        write_valid_o = message_valid;
        write_o       = message_task;
        if (message_done) state_d = Idle;
      end

      Atomic: begin
        take               = atomic_take;
        reply_head_valid_o = atomic_head_valid;
        reply_head_o       = atomic_head;
        reply_task_valid_o = atomic_task_valid;
        reply_task_o       = atomic_task;
        if (atomic_done) state_d = (access_refused && !atomic_dropped) ? XCheck : Idle;
      end

      default: state_d = Idle;
    endcase

    // A read of an atomic operation may be under way.
    if (head_taken && head_cut_i) state_d = atomic_active ? Atomic : Idle;
  end

  assign head_ready_o = take || take_header;
  assign head_taken   = head_valid_i && head_ready_o;
  assign idle_o       = state_q == Idle;

  // The outcome of the check is known last. It is counted once, when the packet's turn is over.
  assign refusal_o.refused   = checks && access_refused;
  assign refusal_o.dropped   = refusal_o.refused && (state_q == PaperCheck || state_q == GetCheck);
  assign refusal_o.malformed = malformed || (head_taken && head_cut_i);
  assign refusal_o.status    = status;
  assign refusal_o.ptype     = ptype;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= Idle;
    else state_q <= state_d;
  end

  always_ff @(posedge clk_i) begin
    end_q <= end_d;
    if (head_taken) bare_q <= head_bare_i;
    if (take_header) begin
      header_q <= head_i;
      offset_q <= paper_offset;
    end
    if (head_valid_i) begin
      unique case (state_q)
        XOffset:    offset_q <= head_i;
        XLength:    left_q <= head_i;
        XReduce:    reduction_q <= head_i[ReductionW-2:0];
        XLaddr:     laddr_q <= head_i;
        GetHeader2: answer_q <= head_i;
        default: ;
      endcase
    end
    if (state_q == XLength || (state_q == XLaddr && ptype == PT_XGET)) fits_q <= fits_d;
    if (state_q == Idle) fetched_q <= 1'b0;
    else if (state_q == Drain) fetched_q <= 1'b1;
    if (state_q == XOffset) address_q <= window_i.base + head_i;
    if ((state_q == XLength && !is_atomic) || state_q == GetHeader2)
      address_q <= (is_fetch ? engine_i.fetch.address : window_i.base) + offset_q;
    if (state_q == XCheck) moved_status_q <= is_fetch ? status : ST_OK;
    if (copy_ready_o) begin
      header_q       <= copy_header;
      left_q         <= {engine_i.copy.receive, engine_i.copy.bytes};
      laddr_q        <= engine_i.copy.to;
      address_q      <= engine_i.copy.from;
      moved_status_q <= ST_OK;
    end
  end

  `ALCOR_STABLE(a_write_stable, write_valid_o, write_ready_i,
                {write_o.drop, write_o.words, write_o.address, write_o.noted, write_o.note.told.id})
  `ALCOR_IMPLIES(a_replies_together, reply_task_valid_o && reply_task_ready_i,
                 reply_head_valid_o && reply_head_ready_i)
  `ALCOR_ASSERT(a_well_formed, !malformed)

`ifdef ALCOR_PROVE_REQUEST_CONTROLLER
  `include "rma_request_controller_properties.svh"
`endif

endmodule

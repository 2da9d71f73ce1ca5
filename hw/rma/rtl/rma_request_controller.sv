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
/// `rma_request_packet` keeps the header words and checks the access, `rma_reply_sender` sends the answers. This block takes
/// the words in turn, and decides when tasks and answers leave.
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
    /// To the message engine; all but `ack_ready`, `stored` and `delivered`, which are 0.
    output alcor_abi_pkg::to_engine_t       engine_o,
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

    /// Header words and read task of an answer; the task is offered with the last header word.
    output alcor_abi_pkg::outgoing_t        reply_o,
    /// Header words and read task that are taken.
    input  alcor_abi_pkg::outgoing_taken_t  reply_i,

    /// Packets that were refused.
    output alcor_abi_pkg::refusal_t         refusal_o,
    /// No operation is under way in this block.
    output logic                            idle_o
);

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
  logic take, take_header, head_taken, copy_taken;

  // ---------------------------------------------------------------- the packet

  alcor_abi_pkg::request_packet_t packet;
  alcor_abi_pkg::put_header_t incoming;
  alcor_abi_pkg::x_header_t incoming_x;
  alcor_abi_pkg::packet_type_e ptype;
  alcor_abi_pkg::request_word_e word;

  assign incoming       = head_i;
  assign incoming_x     = head_i;
  assign ptype          = packet.header.ptype;
  assign lookup_o.valid = take_header;
  assign lookup_o.slot  = incoming.slot;

  always_comb begin
    unique case (state_q)
      GetHeader2:      word = RwGet;
      XOffset:         word = RwOffset;
      XLength:         word = RwLength;
      XReduce:         word = RwReduction;
      XLaddr:          word = RwAddress;
      Message, Atomic: word = RwOther;
      default:         word = RwHeader;
    endcase
  end

  rma_request_packet #(
      .PAYLOAD_WORDS(PAYLOAD_WORDS),
      .ACCUMULATE   (ACCUMULATE)
  ) u_packet (
      .clk_i       (clk_i),
      .rank_i      (rank_i),
      .taken_i     (head_taken),
      .word_i      (word),
      .head_i      (head_i),
      .bare_i      (head_bare_i),
      .copy_taken_i(copy_taken),
      .copy_i      (engine_i.copy),
      .window_i    (window_i),
      .fetch_i     (engine_i.fetch),
      .packet_o    (packet)
  );

  // ---------------------------------------------------------------- messages

  logic message_take, message_valid, message_done;
  alcor_abi_pkg::message_t message_header;
  alcor_abi_pkg::write_task_t message_task;

  assign message_header       = packet.header;
  assign engine_o.fetch_valid = take_header;
  assign engine_o.fetch_id    = {incoming_x.high, incoming_x.slot};
  assign engine_o.copy_ready  = copy_taken;
  assign engine_o.ack_ready   = 1'b0;
  assign engine_o.stored      = 1'b0;
  assign engine_o.delivered   = '0;

  rma_message_port #(
      .PAYLOAD_WORDS(PAYLOAD_WORDS)
  ) u_message_port (
      .clk_i            (clk_i),
      .rst_ni           (rst_ni),
      .closed_i         (closed_i),
      .active_i         (state_q == Message),
      .header_i         (message_header),
      .done_o           (message_done),
      .head_valid_i     (head_valid_i),
      .head_ready_o     (message_take),
      .head_i           (head_i),
      .head_cut_i       (head_cut_i),
      .head_bare_i      (head_bare_i),
      .behind_i         (head_valid_i || full_i),
      .arrival_valid_o  (engine_o.arrival_valid),
      .arrival_ready_i  (engine_i.arrival_ready),
      .arrival_refused_i(engine_i.arrival_refused),
      .arrival_line_i   (engine_i.arrival_line),
      .arrival_o        (engine_o.arrival),
      .late_o           (engine_o.late),
      .verdict_valid_i  (engine_i.verdict_valid),
      .verdict_ready_o  (engine_o.verdict_ready),
      .verdict_i        (engine_i.verdict),
      .task_valid_o     (message_valid),
      .task_ready_i     (write_ready_i),
      .task_o           (message_task)
  );

  // ---------------------------------------------------------------- atomic operations

  logic atomic_active, atomic_done, atomic_dropped, atomic_take;
  alcor_abi_pkg::outgoing_t atomic_reply;
  alcor_abi_pkg::x_atomic_t atomic_header;
  alcor_abi_pkg::x_operation_t operation;

  assign atomic_header = packet.header;
  assign operation     = packet.length;
  // The atomic unit has the packet.
  assign atomic_active = packet.atomic && (state_q == XLength || state_q == Atomic);

  rma_atomic #(
      .DATA_W(DATA_W)
  ) u_atomic (
      .clk_i             (clk_i),
      .rst_ni            (rst_ni),
      .active_i          (atomic_active),
      .named_i           (state_q == Atomic),
      .header_i          (atomic_header),
      .operation_i       (operation),
      .address_i         (packet.address),
      .refused_i         (packet.refused),
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
      .reply_o           (atomic_reply),
      .reply_i           (reply_i)
  );

  // ---------------------------------------------------------------- answers

  logic answer_done, refuses;
  alcor_abi_pkg::outgoing_t answer_packet;
  alcor_abi_pkg::answer_kind_e answer;
  alcor_abi_pkg::acknowledgement_t ack;
  alcor_abi_pkg::status_e moved_status_q;

  // The last packet of an XGET that is refused gets an XACK, but a fetch XDATA with the status.
  assign refuses = packet.refused && ptype != PT_XPUT && packet.header.last && !packet.fetch;
  // Of a write that is done, or of this packet, which is refused.
  assign ack     = (state_q == XCheck) ? {packet.header.src, packet.status, packet.length.id} : ack_i;

  always_comb begin
    unique case (state_q)
      // Acknowledgements first: there are never more of them than write tasks, and the room for
      // them must not run out while a header waits for a task's place. The other states that an acknowledgement could
      // leave in are short.
      Idle, Message: answer = ack_valid_i ? AkAck : AkNone;
      GetCheck:      answer = packet.refused ? AkNone : AkGet;
      XCheck:        answer = refuses ? AkAck : AkNone;
      Reply:         answer = AkData;
      default:       answer = AkNone;
    endcase
  end

  rma_reply_sender u_reply_sender (
      .clk_i    (clk_i),
      .rst_ni   (rst_ni),
      .answer_i (answer),
      .request_i(packet),
      .ack_i    (ack),
      .status_i (moved_status_q),
      .done_o   (answer_done),
      .packet_o (answer_packet),
      .packet_i (reply_i)
  );

  // The answer of an atomic operation has no payload, so its address is of no meaning.
  always_comb begin
    reply_o = (state_q == Atomic) ? atomic_reply : answer_packet;
    reply_o.read.address = answer_packet.read.address;
    reply_o.read.lane    = answer_packet.read.lane;
  end

  assign ack_ready_o = (state_q == Idle || state_q == Message) && answer_done;

  // ---------------------------------------------------------------- states

  logic held_back, checks, malformed, fetched_q;

  assign held_back = ack_valid_i && !answer_done;

  // Of a task that drops its payload, the place of the payload is of no meaning.
  always_comb begin
    write_o = (state_q == Message) ? message_task : packet.payload;
    if (message_task.drop) begin
      write_o.kept     = packet.payload.kept;
      write_o.end_lane = packet.payload.end_lane;
      write_o.address  = packet.payload.address;
    end
  end

  always_comb begin
    state_d       = state_q;
    take          = 1'b0;
    take_header   = 1'b0;
    copy_taken    = 1'b0;
    write_valid_o = 1'b0;
    checks        = 1'b0;
    malformed     = 1'b0;

    unique case (state_q)
      Idle: begin
        if (engine_i.copy_valid && !held_back) begin
          copy_taken = 1'b1;
          state_d    = Reply;
        end else if (head_valid_i && !held_back) begin
          take_header = 1'b1;
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
        write_valid_o = 1'b1;
        checks        = write_ready_i;
        if (write_ready_i) state_d = Idle;
      end

      GetHeader2: begin
        take = 1'b1;
        if (head_valid_i) state_d = GetCheck;
      end

      GetCheck: begin
        checks = 1'b1;
        if (packet.refused || answer_done) state_d = Idle;
      end

      XOffset: begin
        take = 1'b1;
        if (head_valid_i) state_d = XLength;
      end

      XLength: begin
        take = 1'b1;
        if (head_valid_i && packet.atomic) state_d = Atomic;
        else if (head_valid_i && packet.accumulate) state_d = XReduce;
        else if (head_valid_i) state_d = (ptype == PT_XGET) ? XLaddr : XCheck;
      end

      XReduce: begin
        take = 1'b1;
        if (head_valid_i) state_d = packet.fetches ? XLaddr : XCheck;
      end

      XLaddr: begin
        take = 1'b1;
        if (head_valid_i) state_d = XCheck;
      end

      XCheck: begin
        if (packet.fetches && !fetched_q && !packet.refused) begin
          if (settled_i) state_d = Reply;
        end else if (ptype == PT_XPUT) begin
          write_valid_o = 1'b1;
          checks        = write_ready_i;
          if (write_ready_i) state_d = Idle;
        end else if (!packet.refused || (packet.fetch && packet.header.last)) begin
          state_d = Reply;
        end else begin
          checks = !refuses || answer_done;
          if (checks) state_d = Idle;
        end
      end

      Reply: begin
        if (answer_done) state_d = packet.fetches ? Drain : Idle;
      end

      Drain: begin
        if (replied_i) state_d = XCheck;
      end

      Message: begin
        take          = message_take;
        write_valid_o = message_valid;
        if (message_done) state_d = Idle;
      end

      Atomic: begin
        take = atomic_take;
        if (atomic_done) state_d = (packet.refused && !atomic_dropped) ? XCheck : Idle;
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
  assign refusal_o.refused   = checks && packet.refused;
  assign refusal_o.dropped   = refusal_o.refused && (state_q == PaperCheck || state_q == GetCheck);
  assign refusal_o.malformed = malformed || (head_taken && head_cut_i);
  assign refusal_o.status    = packet.status;
  assign refusal_o.ptype     = ptype;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= Idle;
    else state_q <= state_d;
  end

  always_ff @(posedge clk_i) begin
    if (state_q == Idle) fetched_q <= 1'b0;
    else if (state_q == Drain) fetched_q <= 1'b1;
    if (copy_taken) moved_status_q <= ST_OK;
    else if (state_q == XCheck) moved_status_q <= packet.fetch ? packet.status : ST_OK;
  end

  `ALCOR_STABLE(a_write_stable, write_valid_o, write_ready_i,
                {write_o.drop, write_o.words, write_o.address, write_o.noted, write_o.note.told.id})
  `ALCOR_IMPLIES(a_replies_together, reply_o.task_valid && reply_i.read, reply_o.head_valid && reply_i.head)
  `ALCOR_ASSERT(a_well_formed, !malformed)

`ifdef ALCOR_PROVE_REQUEST_CONTROLLER
  `include "rma_request_controller_properties.svh"
`endif

endmodule

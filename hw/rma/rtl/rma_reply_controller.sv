`include "assertions.svh"

import alcor_abi_pkg::*;

/// Packet controller of the reply plane: turns the header words of received packets into memory tasks.
///
/// An answer to a paper GET comes as a PUT. Its window is looked up by slot and the access checked against bounds and
/// rights. An XDATA packet is written to the address in its header, which comes from this rank's own command and was
/// checked there. An XACK becomes a write task without payload, whose note is the completion. The XDATA packet of an
/// atomic operation is a completion, and writes nothing.
///
/// A packet that ends within its header is dropped as malformed.
///
/// Header words arrive one per cycle: a PUT packet takes 2 cycles, XACK 2, XDATA 4, that of an atomic operation 2, or 3
/// with 64 bits.
module rma_reply_controller #(
    /// Payload words of an extended packet, a power of two.
    parameter int unsigned PAYLOAD_WORDS = 128
) (
    /// Clock.
    input  logic                        clk_i,
    /// Synchronous reset, active low.
    input  logic                        rst_ni,

    /// Head FIFO: a header word is offered.
    input  logic                        head_valid_i,
    /// The header word is taken.
    output logic                        head_ready_o,
    /// The header word.
    input  logic [31:0]                 head_i,
    /// The packet ends with the header word, which is not its header's last.
    input  logic                        head_cut_i,
    /// With the header's last word: the packet has no payload.
    input  logic                        head_bare_i,

    /// Registration table: look a window up.
    output alcor_abi_pkg::slot_lookup_t lookup_o,
    /// The window that was looked up.
    input  alcor_abi_pkg::window_t      window_i,

    /// An atomic operation of this rank has been carried out.
    output logic                        answered_valid_o,
    /// Its completion is taken.
    input  logic                        answered_ready_i,
    /// Its completion.
    output alcor_abi_pkg::answered_t    answered_o,

    /// A write task is offered.
    output logic                        write_valid_o,
    /// The task is taken.
    input  logic                        write_ready_i,
    /// The task.
    output alcor_abi_pkg::write_task_t  write_o,

    /// Packets that were refused.
    output alcor_abi_pkg::refusal_t     refusal_o,
    /// Nothing is under way here.
    output logic                        idle_o
);

  localparam int unsigned CountW = $clog2(PAYLOAD_WORDS + 1);

  typedef enum logic [2:0] {
    Idle,         // no packet
    PaperCheck,   // PUT: check and write task
    DataAddress,  // XDATA: local address
    DataLength,   // length
    DataTask,     // write task
    AckTask,      // XACK: task without payload
    Old           // XDATA of an atomic operation: completion
  } state_e;

  state_e state_d, state_q;
  logic [31:0] header_q, offset_q, laddr_q, length_q;
  logic [33:0] end_d, end_q;
  logic take, take_header, head_taken, bare_q;

  // The header word that is held, and the one that comes, as each of their formats.
  alcor_abi_pkg::put_header_t incoming, header_paper;
  alcor_abi_pkg::x_old_t incoming_old, header_old;
  alcor_abi_pkg::x_data_t header;
  alcor_abi_pkg::x_ack_t header_ack;
  alcor_abi_pkg::x_length_t length;

  assign incoming       = head_i;
  assign incoming_old   = head_i;
  assign header         = header_q;
  assign header_paper   = header_q;
  assign header_old     = header_q;
  assign header_ack     = header_q;
  assign length         = length_q;
  assign lookup_o.valid = take_header;
  assign lookup_o.slot  = incoming.slot;

  // ---------------------------------------------------------------- check of a paper packet

  logic access_refused;
  alcor_abi_pkg::status_e status;
  logic [31:0] paper_offset;
  logic [4:0] paper_words;

  // The paper's units are words. A PUT's length counts its header word.
  assign paper_offset = 32'({incoming.offset, 2'b00});
  assign paper_words  = header_paper.length - 5'd1;

  // The access of a paper packet ends below 2^11.
  rma_access_check #(
      .END_W(11)
  ) u_access_check (
      .window_i    (window_i),
      .read_i      (1'b0),
      .write_i     (1'b1),
      .beyond_i    (1'b0),
      .unable_i    (1'b0),
      .end_i       (end_q),
      .fetch_i     (1'b0),
      .fetch_size_i('0),
      .refused_o   (access_refused),
      .status_o    (status)
  );

  // ---------------------------------------------------------------- payload of an XDATA packet

  logic [1:0] segment_end_lane;
  logic [CountW-1:0] segment_words;

  segmenter #(
      .PAYLOAD_WORDS(PAYLOAD_WORDS)
  ) u_segmenter (
      .left_i    (length_q),
      .align_i   (laddr_q[1:0]),
      .last_i    (1'b1),
      .fits_o    (),
      .bytes_o   (),
      .words_o   (segment_words),
      .end_lane_o(segment_end_lane)
  );

  // The old value of an atomic operation comes in one word or in two, the lower one first.
  assign answered_o.atomic       = 1'b1;
  assign answered_o.old          = header_old.wide ? {head_i, laddr_q} : {32'd0, head_i};
  assign answered_o.ended.status = ST_OK;
  assign answered_o.ended.id     = header_old.id;

  // ---------------------------------------------------------------- states

  logic checks, malformed;

  always_comb begin
    state_d     = state_q;
    take        = 1'b0;
    take_header = 1'b0;

    // An XDATA packet's task.
    write_valid_o            = 1'b0;
    write_o.reduction        = '0;
    write_o.drop             = 1'b0;
    write_o.bare             = bare_q;
    write_o.words            = 13'(segment_words);
    write_o.kept             = 13'(segment_words);
    write_o.address          = laddr_q;
    write_o.end_lane         = segment_end_lane;
    write_o.noted            = header.last;
    write_o.note.kind        = header.message ? NkDelivered : NkCommand;
    write_o.note.told.rank   = '0;
    write_o.note.told.status = header.message ? header.status : ST_OK;
    write_o.note.told.id     = length.id;

    checks           = 1'b0;
    malformed        = 1'b0;
    answered_valid_o = 1'b0;

    unique case (state_q)
      Idle: begin
        if (head_valid_i) begin
          take_header = 1'b1;
          unique case (incoming.ptype)
            PT_PUT_1, PT_PUT_N: state_d = PaperCheck;
            PT_XDATA:           state_d = (incoming_old.atomic && !incoming_old.wide) ? Old : DataAddress;
            PT_XACK:            state_d = AckTask;
            PT_GET, PT_XPUT, PT_XGET, PT_MESSAGE: malformed = 1'b1;
            default: ;
          endcase
        end
      end

      PaperCheck: begin
        write_valid_o     = 1'b1;
        write_o.drop      = access_refused;
        write_o.words     = 13'(paper_words);
        write_o.kept      = 13'(paper_words);
        write_o.address   = window_i.base + offset_q;
        write_o.end_lane  = 2'd3;
        write_o.noted     = 1'b0;
        write_o.note.kind = NkCommand;
        if (write_ready_i) begin
          checks  = 1'b1;
          state_d = Idle;
        end
      end

      DataAddress: begin
        take = 1'b1;
        if (head_valid_i) state_d = header_old.atomic ? Old : DataLength;
      end

      DataLength: begin
        take = 1'b1;
        if (head_valid_i) state_d = DataTask;
      end

      DataTask: begin
        write_valid_o = 1'b1;
        if (write_ready_i) state_d = Idle;
      end

      AckTask: begin
        write_valid_o            = 1'b1;
        write_o.drop             = 1'b1;
        write_o.words            = '0;
        write_o.kept             = '0;
        write_o.noted            = 1'b1;
        write_o.note.kind        = NkCommand;
        write_o.note.told.status = header_ack.status;
        write_o.note.told.id     = header_ack.id;
        if (write_ready_i) state_d = Idle;
      end

      Old: begin
        // Of an old value that is cut off, there is no completion.
        answered_valid_o = head_valid_i && !head_cut_i;
        take             = answered_ready_i || head_cut_i;
        if (head_valid_i && answered_ready_i) state_d = Idle;
      end

      default: state_d = Idle;
    endcase

    if (head_taken && head_cut_i) state_d = Idle;
  end

  assign end_d        = take_header ? 34'(paper_offset) + 34'({incoming.length - 5'd1, 2'b00}) : end_q;
  assign head_ready_o = take || take_header;
  assign head_taken   = head_valid_i && head_ready_o;
  assign idle_o       = state_q == Idle;

  // The outcome of the check is known last. It is counted once, when the packet's turn is over.
  assign refusal_o.refused   = checks && access_refused;
  assign refusal_o.dropped   = refusal_o.refused;
  assign refusal_o.malformed = malformed || (head_taken && head_cut_i);
  assign refusal_o.status    = status;
  assign refusal_o.ptype     = header.ptype;

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
    if (head_valid_i && state_q == DataAddress) laddr_q <= head_i;
    if (head_valid_i && state_q == DataLength) length_q <= head_i;
  end

  `ALCOR_STABLE(a_write_stable, write_valid_o, write_ready_i,
                {write_o.drop, write_o.words, write_o.address, write_o.noted, write_o.note.told.id})
  `ALCOR_ASSERT(a_well_formed, !malformed)

`ifdef ALCOR_PROVE_REPLY_CONTROLLER
  `include "rma_reply_controller_properties.svh"
`endif

endmodule

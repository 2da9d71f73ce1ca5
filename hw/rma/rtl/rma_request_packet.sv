import alcor_abi_pkg::*;

/// The packet that the packet controller of the request plane works on: its header words, the check of its access, and
/// the part of node memory that its payload or its answer covers.
///
/// The controller states which header word it takes. The result of the check is valid once the last header word is taken,
/// and stays until the next header is taken.
module rma_request_packet #(
    /// Payload words of an extended packet, a power of two.
    parameter int unsigned PAYLOAD_WORDS = 128,
    /// 1: there is a unit for accumulates; 0: accumulates are refused.
    parameter bit ACCUMULATE = 1'b0
) (
    /// Clock.
    input  logic                           clk_i,
    /// This rank's number on the network.
    input  logic [7:0]                     rank_i,

    /// A header word is taken.
    input  logic                           taken_i,
    /// Place of the header word in its packet; valid with and without `taken_i`.
    input  alcor_abi_pkg::request_word_e   word_i,
    /// The header word.
    input  logic [31:0]                    head_i,
    /// With the header's last word: the packet has no payload.
    input  logic                           bare_i,
    /// A copy of the message engine is taken in place of a packet.
    input  logic                           copy_taken_i,
    /// The copy.
    input  alcor_abi_pkg::copy_t           copy_i,

    /// The window that the header names.
    input  alcor_abi_pkg::window_t         window_i,
    /// Buffer of the announced message that an XGET fetches.
    input  alcor_abi_pkg::buffer_t         fetch_i,

    /// The packet.
    output alcor_abi_pkg::request_packet_t packet_o
);

  localparam int unsigned CountW = $clog2(PAYLOAD_WORDS + 1);
  localparam int unsigned BytesW = CountW + 2;

  // ---------------------------------------------------------------- header words

  logic [31:0] header_q;
  logic [31:0] offset_q, laddr_q, left_q, address_q;
  logic [33:0] end_d, end_q;
  // The low bits of x_reduction.
  logic [ReductionW-2:0] reduction_q;
  alcor_abi_pkg::get_header2_t answer_q;
  logic bare_q, fits_d, fits_q;

  // The header word that is held, and the one that comes, as each of their formats.
  alcor_abi_pkg::put_header_t incoming, header_paper;
  alcor_abi_pkg::x_header_t header;
  alcor_abi_pkg::x_accumulate_t header_accumulate;
  alcor_abi_pkg::x_atomic_t header_atomic;
  alcor_abi_pkg::x_length_t length, incoming_length;
  alcor_abi_pkg::packet_type_e ptype;

  assign incoming          = head_i;
  assign incoming_length   = head_i;
  assign header            = header_q;
  assign header_paper      = header_q;
  assign header_accumulate = header_q;
  assign header_atomic     = header_q;
  assign length            = left_q;
  assign ptype             = header.ptype;

  // An XGET of the message engine; an atomic operation; an accumulate; an accumulate that fetches the old elements.
  logic is_get, is_paper, is_extended, is_fetch, is_atomic, is_accumulate, fetches;

  assign is_get        = ptype == PT_GET || ptype == PT_XGET;
  assign is_paper      = ptype == PT_PUT_1 || ptype == PT_PUT_N;
  assign is_extended   = ptype == PT_XPUT || ptype == PT_XGET;
  assign is_fetch      = ptype == PT_XGET && header.message;
  assign is_atomic     = ptype == PT_XGET && header_atomic.atomic && !header_atomic.message;
  assign is_accumulate = ptype == PT_XPUT && header_accumulate.accumulate;
  assign fetches       = is_accumulate && header_accumulate.fetch;

  // The paper's units are words. A GET's second header word says how many are asked for; a PUT's length counts its
  // header word.
  logic [31:0] paper_offset;
  logic [4:0] paper_words;

  assign paper_offset = 32'({incoming.offset, 2'b00});
  assign paper_words  = header_paper.length - 5'd1;

  // The end of the access in the window: with the header, which is enough for a paper PUT's bounds, and with the word that
  // follows the offset.
  logic [31:0] size;

  always_comb begin
    size = head_i;
    if (header.last) size = 32'(incoming_length.length);
    if (is_atomic) size = header_atomic.wide ? 32'd8 : 32'd4;
    if (word_i == RwGet) size = 32'({incoming.length, 2'b00});
    end_d = 34'(offset_q) + 34'(size);
    if (word_i == RwHeader) end_d = 34'(paper_offset) + 34'({incoming.length - 5'd1, 2'b00});
  end

  // Address of the access: with the word that states the offset, and with each word behind it.
  logic [31:0] start;

  assign start = (is_fetch ? fetch_i.address : window_i.base) + ((word_i == RwOffset) ? head_i : offset_q);

  // A copy is served as an XGET of a message that this rank has sent to itself.
  alcor_abi_pkg::x_header_t copy_header;

  always_comb begin
    copy_header         = '0;
    copy_header.ptype   = PT_XGET;
    copy_header.last    = 1'b1;
    copy_header.message = 1'b1;
    copy_header.src     = rank_i;
  end

  always_ff @(posedge clk_i) begin
    if (taken_i) begin
      bare_q <= bare_i;
      if (word_i == RwHeader || word_i == RwGet || word_i == RwLength) end_q <= end_d;
      if (word_i == RwGet || word_i == RwOffset) address_q <= start;
      unique case (word_i)
        RwHeader: begin
          header_q <= head_i;
          offset_q <= paper_offset;
        end
        RwGet:    answer_q <= head_i;
        RwOffset: offset_q <= head_i;
        RwLength: begin
          left_q <= head_i;
          fits_q <= fits_d;
        end
        RwReduction: reduction_q <= head_i[ReductionW-2:0];
        RwAddress: begin
          laddr_q <= head_i;
          if (ptype == PT_XGET) fits_q <= fits_d;
        end
        default: ;
      endcase
    end
    if (copy_taken_i) begin
      header_q  <= copy_header;
      left_q    <= {copy_i.receive, copy_i.bytes};
      laddr_q   <= copy_i.to;
      address_q <= copy_i.from;
    end
  end

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

  assign whole       = (ptype == PT_XGET) ? left_q : head_i;
  assign whole_align = (ptype == PT_XGET) ? head_i[1:0] : offset_q[1:0];

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

  // ---------------------------------------------------------------- the check, for every access

  logic beyond, refused;
  alcor_abi_pkg::status_e status;

  // The last packet of a command holds all that is left of it, and no other packet does. An atomic operation has one packet,
  // and no payload.
  assign beyond = is_extended && !is_atomic && (header.beyond || header.last != fits_q);

  rma_access_check u_access_check (
      .window_i    (window_i),
      .read_i      (is_get || is_accumulate),
      .write_i     (!is_get || is_atomic),
      .beyond_i    (beyond),
      .unable_i    (is_accumulate && !ACCUMULATE),
      .end_i       (end_q),
      .fetch_i     (is_fetch),
      .fetch_size_i(fetch_i.length),
      .refused_o   (refused),
      .status_o    (status)
  );

  // ---------------------------------------------------------------- the packet

  always_comb begin
    packet_o.refused    = refused;
    packet_o.status     = status;
    packet_o.fetch      = is_fetch;
    packet_o.atomic     = is_atomic;
    packet_o.accumulate = is_accumulate;
    packet_o.fetches    = fetches;
    packet_o.header     = header;
    packet_o.length     = length;
    packet_o.answer     = answer_q;
    packet_o.laddr      = laddr_q;
    packet_o.address    = address_q;
    packet_o.bytes      = 15'(segment_bytes);

    packet_o.payload.reduction        = {is_accumulate, reduction_q};
    packet_o.payload.drop             = refused;
    packet_o.payload.bare             = bare_q;
    packet_o.payload.words            = 13'(segment_words);
    packet_o.payload.kept             = 13'(segment_words);
    packet_o.payload.address          = start;
    packet_o.payload.end_lane         = segment_end_lane;
    packet_o.payload.noted            = header.last;
    packet_o.payload.note.kind        = NkCommand;
    packet_o.payload.note.told.rank   = header.src;
    packet_o.payload.note.told.status = status;
    packet_o.payload.note.told.id     = length.id;
    if (is_paper) begin
      packet_o.payload.reduction = '0;
      packet_o.payload.words     = 13'(paper_words);
      packet_o.payload.kept      = 13'(paper_words);
      packet_o.payload.end_lane  = 2'd3;
      packet_o.payload.noted     = 1'b0;
    end
  end

endmodule

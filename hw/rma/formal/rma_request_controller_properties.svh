`include "formal.svh"

// Properties of `rma_request_controller`, included at its end: a write task covers a byte of memory only if a window
// permits the write, or a match result of the message engine contains the byte.
// A write of the atomic unit covers a byte only if a window permits the write.
// An answer is addressed only to bytes that its request has named. All header words are free.

  `ALCOR_FORMAL_RESET

  localparam int unsigned CountW = $clog2(PAYLOAD_WORDS + 1);
  localparam int unsigned BytesW = CountW + 2;

  // Registers and wires of the packet. Names after flattening.
  (* hierconn *) logic [31:0] \u_packet.offset_q ;
  (* hierconn *) logic [31:0] \u_packet.left_q ;
  (* hierconn *) logic [33:0] \u_packet.end_q ;
  (* hierconn *) logic \u_packet.fits_q ;
  (* hierconn *) logic [1:0] \u_packet.segment_align ;
  (* hierconn *) logic [4:0] \u_packet.paper_words ;
  logic [31:0] offset, left;
  logic [33:0] access_end;
  logic [1:0] segment_align;
  logic [4:0] paper_words;
  logic fits, is_atomic, is_accumulate, fetches;
  assign offset        = \u_packet.offset_q ;
  assign left          = \u_packet.left_q ;
  assign access_end    = \u_packet.end_q ;
  assign fits          = \u_packet.fits_q ;
  assign segment_align = \u_packet.segment_align ;
  assign paper_words   = \u_packet.paper_words ;
  assign is_atomic     = packet.atomic;
  assign is_accumulate = packet.accumulate;
  assign fetches       = packet.fetches;

  // Any byte of memory.
  (* anyconst *) logic [31:0] mine;
  logic [33:0] byte_;
  assign byte_ = {2'd0, mine};

  // The byte is in no writable window. A window stays until the next lookup, begins at a word, and
  // ends within memory.
  logic looked_q;
  always_ff @(posedge clk_i) looked_q <= take_header;
  always @(posedge clk_i) if (f_started && !looked_q) assume ($stable(window_i));
  logic [33:0] window_end;
  assign window_end = 34'(window_i.base) + 34'(window_i.size);
  `ALCOR_ASSUME(window_end <= 34'h1_0000_0000 && window_i.base[1:0] == 2'd0)
  `ALCOR_ASSUME(!window_i.registered || window_i.deny_write || byte_ < 34'(window_i.base) || byte_ >= window_end)

  // The byte is in no buffer and no fragment of a match result.
  logic [33:0] verdict_end;
  assign verdict_end = 34'(engine_i.verdict.address) + 34'(engine_i.verdict.bytes);
  `ALCOR_ASSUME(!engine_i.verdict_valid || (engine_i.verdict.kind != MvStore && engine_i.verdict.kind != MvDirect)
                || byte_ < 34'(engine_i.verdict.address) || byte_ >= verdict_end)
  `ALCOR_ASSUME(!engine_i.verdict_valid || verdict_end <= 34'h1_0000_0000)

  logic [33:0] task_end;
  assign task_end = {2'd0, write_o.address[31:2], 2'b00} + {19'd0, write_o.kept, 2'b00} - 34'd4 + 34'(write_o.end_lane);
  logic covers;
  assign covers = !write_o.drop && write_o.kept != '0 && byte_ >= 34'(write_o.address) && byte_ <= task_end;
  `ALCOR_IMPLIES(p_not_covered, write_valid_o, !covers)
  // Atomic operations. Names after flattening.
  (* hierconn *) logic [1:0] \u_atomic.written_q ;
  (* hierconn *) logic \u_atomic.taken_q ;
  logic [33:0] atomic_first, atomic_bytes;
  logic [1:0] halves;
  assign halves       = (DATA_W == 32 && atomic_header.wide) ? 2'd2 : 2'd1;
  assign atomic_first = {2'd0, atomic_address_o, 2'b00};
  assign atomic_bytes = (DATA_W != 32 && atomic_header.wide) ? 34'd8 : 34'd4;
  `ALCOR_IMPLIES(p_atomic_not_covered, atomic_write_o,
                 byte_ < atomic_first || byte_ >= atomic_first + atomic_bytes)
  `ALCOR_IMPLIES(p_atomic_window, atomic_write_o, window_i.registered && !window_i.deny_read && !window_i.deny_write)
  `ALCOR_IMPLIES(p_atomic_written, atomic_active, \u_atomic.written_q <= halves)
  `ALCOR_IMPLIES(p_atomic_idle, !atomic_active, \u_atomic.written_q == 2'd0)
  `ALCOR_IMPLIES(p_atomic_taken, state_q != Atomic, \u_atomic.taken_q == 1'b0)
  // The end is known with the word behind the offset.
  `ALCOR_IMPLIES(p_atomic_end, state_q == Atomic, access_end == 34'(offset) + (atomic_header.wide ? 34'd8 : 34'd4))
  `ALCOR_IMPLIES(p_atomic_address, atomic_active, packet.address == window_i.base + offset)
  // The window of a refused operation stays, so no data is sent in its place.
  `ALCOR_IMPLIES(p_atomic_refused, state_q == XCheck && is_atomic, packet.refused)
  // The address and length of an answer. Names after flattening.
  (* hierconn *) logic [1:0] \u_reply_sender.state_q ;
  logic [33:0] asked;
  assign asked = packet.header.last ? 34'(packet.length.length) : 34'(left);
  `ALCOR_IMPLIES(p_answer_address, state_q == Reply && reply_o.head_valid && \u_reply_sender.state_q == 2'd1,
                 reply_o.head == packet.laddr)
  `ALCOR_IMPLIES(p_answer_length, state_q == Reply && reply_o.head_valid && \u_reply_sender.state_q == 2'd2,
                 34'(reply_o.head[15:0]) <= asked)
  // The proof of `rma_mm_write` assumes this of a task.
  `ALCOR_IMPLIES(p_ends, write_valid_o && !write_o.drop && write_o.kept != '0, task_end < 34'h1_0000_0000)
  `ALCOR_IMPLIES(p_words, write_valid_o, (write_o.kept >> CountW) == '0)

  // Invariants of the induction.
  logic right;
  always_comb begin
    unique case (state_q)
      Idle:       right = 1'b1;
      PaperCheck: right = ptype == PT_PUT_1 || ptype == PT_PUT_N;
      GetHeader2, GetCheck: right = ptype == PT_GET;
      XOffset, XLength, XCheck: right = (ptype == PT_XPUT || ptype == PT_XGET);
      XReduce:    right = is_accumulate;
      XLaddr, Reply: right = (ptype == PT_XGET && !is_atomic) || fetches;
      Drain:      right = fetches;
      Atomic:     right = is_atomic;
      Message:    right = ptype == PT_MESSAGE;
      default:    right = 1'b0;
    endcase
  end
  `ALCOR_ASSERT(p_right_state, right)
  // The length of an accumulate is known from its last header words on.
  logic accumulates;
  assign accumulates = is_accumulate && (state_q == XReduce || state_q == XLaddr || state_q == Reply || state_q == Drain);
  `ALCOR_IMPLIES(p_fits, (state_q == XCheck && !is_atomic) || (state_q == Reply && !packet.header.last) || accumulates,
                 fits == (asked + 34'(segment_align) <= 34'(4 * PAYLOAD_WORDS)))
  `ALCOR_IMPLIES(p_not_last, state_q == Reply && !packet.header.last, !fits)
  logic [33:0] whole_end;
  assign whole_end = 34'(offset) + (packet.header.last ? 34'(packet.length.length) : 34'(left));
  `ALCOR_IMPLIES(p_x_end, (state_q == XCheck && ptype == PT_XPUT) || accumulates, access_end == whole_end)
  // The address is known from the offset on.
  `ALCOR_IMPLIES(p_x_address, ((state_q == XLength || state_q == XCheck) && (ptype == PT_XPUT || is_accumulate)) || accumulates,
                 packet.address == window_i.base + offset)
  `ALCOR_IMPLIES(p_paper_end, state_q == PaperCheck, access_end == 34'(offset) + 34'({paper_words, 2'b00}))
  `ALCOR_IMPLIES(p_paper_offset, state_q == PaperCheck, offset[1:0] == 2'd0)
  // For a message with a match result: the byte is outside the part that is written. Names after flattening.
  (* hierconn *) logic [2:0] \u_message_port.state_q ;
  (* hierconn *) logic [1:0] \u_message_port.kind_q ;
  (* hierconn *) logic [31:0] \u_message_port.address_q ;
  (* hierconn *) logic [BytesW-1:0] \u_message_port.kept_q ;
  (* hierconn *) logic [31:0] \u_message_port.length_q ;
  (* hierconn *) logic [CountW-1:0] \u_message_port.whole_words_q ;
  logic [BytesW-1:0] whole_round;
  assign whole_round = BytesW'(\u_message_port.length_q ) + BytesW'(3);
  `ALCOR_IMPLIES(p_no_message, state_q != Message, \u_message_port.state_q == 3'd0)
  `ALCOR_IMPLIES(p_whole_words, state_q == Message && \u_message_port.state_q >= 3'd3,
                 \u_message_port.whole_words_q == (message_header.announce ? '0 : whole_round[BytesW-1:2]))
  logic [33:0] kept_from, kept_end;
  logic kept;
  assign kept_from = 34'(\u_message_port.address_q );
  assign kept_end  = kept_from + 34'(\u_message_port.kept_q );
  assign kept      = (\u_message_port.kind_q == MvStore || \u_message_port.kind_q == MvDirect);
  `ALCOR_IMPLIES(p_kept, kept && \u_message_port.state_q >= 3'd4, (byte_ < kept_from || byte_ >= kept_end) && kept_end <= 34'h1_0000_0000)

`include "formal.svh"

// Properties of `rma_reply_controller`, included at its end: a write task covers a byte of memory only if a window
// permits the write, or an XDATA packet is addressed to the byte. All header words are free.

  `ALCOR_FORMAL_RESET

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

  // The byte is in no buffer that an XDATA packet is addressed to.
  logic [33:0] data_end;
  assign data_end = 34'(laddr_q) + 34'(length.length);
  `ALCOR_ASSUME(state_q != DataTask || byte_ < 34'(laddr_q) || byte_ >= data_end)
  `ALCOR_ASSUME(state_q != DataTask || data_end <= 34'h1_0000_0000)

  logic [33:0] task_end;
  assign task_end = {2'd0, write_o.address[31:2], 2'b00} + {19'd0, write_o.kept, 2'b00} - 34'd4 + 34'(write_o.end_lane);
  logic covers;
  assign covers = !write_o.drop && write_o.kept != '0 && byte_ >= 34'(write_o.address) && byte_ <= task_end;
  `ALCOR_IMPLIES(p_not_covered, write_valid_o, !covers)
  // The proof of `rma_mm_write` assumes this of a task.
  `ALCOR_IMPLIES(p_ends, write_valid_o && !write_o.drop && write_o.kept != '0, task_end < 34'h1_0000_0000)
  `ALCOR_IMPLIES(p_words, write_valid_o, (write_o.kept >> CountW) == '0)

  // Invariants of the induction.
  logic right;
  always_comb begin
    unique case (state_q)
      Idle:        right = 1'b1;
      PaperCheck:  right = header.ptype == PT_PUT_1 || header.ptype == PT_PUT_N;
      DataAddress: right = header.ptype == PT_XDATA;
      DataLength, DataTask: right = header.ptype == PT_XDATA && !header_old.atomic;
      AckTask:     right = header.ptype == PT_XACK;
      Old:         right = header.ptype == PT_XDATA && header_old.atomic;
      default:     right = 1'b0;
    endcase
  end
  `ALCOR_ASSERT(p_right_state, right)
  `ALCOR_IMPLIES(p_paper_end, state_q == PaperCheck, end_q == 34'(offset_q) + 34'({paper_words, 2'b00}))
  `ALCOR_IMPLIES(p_paper_offset, state_q == PaperCheck, offset_q[1:0] == 2'd0)

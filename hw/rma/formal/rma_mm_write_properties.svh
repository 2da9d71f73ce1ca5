`include "formal.svh"

// Properties of `rma_mm_write`, included at its end: a byte of memory that no task covers is never written, whatever
// the payload, however many beats a packet has, and however long the memory takes. A task covers the bytes from its
// address to the last byte that it keeps, unless it drops its payload.

  `ALCOR_FORMAL_RESET
  `ALCOR_ASSUME_STABLE(in_valid_i, in_ready_o, {in_data_i, in_last_i, in_cut_i})

  // Beats are under way only behind one that was taken.
  always @(posedge clk_i)
    if (rst_ni && $past(rst_ni) && $past(!busy_i && !(write_valid_o && write_ready_i))) assume (!busy_i);

  // Any byte of memory.
  (* anyconst *) logic [31:0] mine;
  logic [32:0] byte_;
  assign byte_ = {1'b0, mine};

  // No offered task covers the byte. A task ends within memory, and its count has its number of words.
  logic [32:0] task_end;
  assign task_end = {1'b0, task_i.address[31:2], 2'b00} + {18'd0, task_i.kept, 2'b00} - 33'd4 + 33'(task_i.end_lane);
  `ALCOR_ASSUME(!task_valid_i || task_i.drop || task_i.kept == '0 || byte_ < {1'b0, task_i.address} || byte_ > task_end)
  `ALCOR_ASSUME(!task_valid_i || (task_i.kept >> COUNT_W) == '0)
  `ALCOR_ASSUME(!task_valid_i || task_i.kept == '0 || !task_end[32])

  // Place of the byte in the beat; the addresses of a beat wrap.
  logic [31:0] lane;
  assign lane = mine - {write_address_o, 2'b00};
  `ALCOR_ASSERT(p_not_written, !write_valid_o || lane >= 32'(Bytes) || !write_strobe_o[lane[ByteW-1:0]])

  // Invariants of the induction: no task in the queue covers the byte; the beats of the first task are counted.
  logic [MM_DEPTH-1:0] covers, whole;
  for (genvar i = 0; i < MM_DEPTH; i++) begin : g_queued
    logic [ReducedW-1:0] q_reduction;
    logic q_drop, q_bare, q_noted;
    logic [COUNT_W-1:0] q_beats, q_kept;
    logic [31:0] q_address;
    logic [ByteW-1:0] q_end;
    logic [30:0] q_note;
    logic [32:0] q_last;
    assign {q_reduction, q_drop, q_bare, q_beats, q_kept, q_address, q_end, q_noted, q_note} = queued[i*TaskW+:TaskW];
    assign q_last = {1'b0, q_address[31:2], 2'b00} + (33'(q_kept) - 33'd1) * 33'(Bytes) + 33'(q_end);
    assign covers[i] = 32'(i) < 32'(count) && !q_drop && q_kept != '0 && byte_ >= {1'b0, q_address} && byte_ <= q_last;
    assign whole[i] = 32'(i) >= 32'(count) || q_drop || q_kept == '0 || !q_last[32];
  end
  `ALCOR_ASSERT(p_queued, covers == '0 && whole == '1)
  `ALCOR_IMPLIES(p_done, done_q != '0, task_valid && (drops || done_q < kept))
  `ALCOR_IMPLIES(p_address, done_q != '0 && !drops, next_address_q == address[31:2] + 30'(done_q) * 30'(Words))

`include "formal.svh"

/// Proof of `fifo_async` with any two clocks.
///
/// Each cycle of the proof is a moment, at which each clock has an edge or none. A clock may stand. `fifo_async_sync.sv`
/// gives the values that synchronisers see. Each side is reset at any time. Words count after both resets have been active
/// together for an edge of each clock, and the bits that this changed have arrived. They count until a side that has left
/// its reset is reset again.
module fifo_async_clocks #(
    parameter int unsigned WIDTH = 2,
    parameter int unsigned DEPTH = 4
) (
    /// Moments.
    input logic             clk_i,
    /// Active low in the first moment, and in no other.
    input logic             rst_ni,

    // Free except for the assumptions below.
    /// The clocks have an edge.
    input logic             wclk_i,
    input logic             rclk_i,
    /// Ports of the FIFO.
    input logic             wrst_ni,
    input logic             valid_i,
    input logic [WIDTH-1:0] data_i,
    input logic             rrst_ni,
    input logic             ready_i,
    /// The word that is taken in this moment is the chosen one.
    input logic             choose_i
);

  localparam int unsigned AddrW = $clog2(DEPTH);
  localparam int unsigned PtrW = AddrW + 1;
  localparam int unsigned CountW = PtrW + 1;

  `ALCOR_FORMAL_RESET

  logic ready, valid;
  logic [WIDTH-1:0] data;

  fifo_async #(
      .WIDTH(WIDTH),
      .DEPTH(DEPTH)
  ) u_fifo (
      .wclk_i (wclk_i),
      .wrst_ni(wrst_ni),
      .valid_i(valid_i),
      .ready_o(ready),
      .data_i (data_i),
      .rclk_i (rclk_i),
      .rrst_ni(rrst_ni),
      .valid_o(valid),
      .ready_i(ready_i),
      .data_o (data)
  );

  // ---------------------------------------------------------------- assumptions

  // The first edge comes later, and finds its side in reset.
  logic wup_q, rup_q;
  always_ff @(posedge clk_i) begin
    wup_q <= rst_ni && (wup_q || wclk_i);
    rup_q <= rst_ni && (rup_q || rclk_i);
  end
  always @(posedge clk_i) assume (rst_ni || !(wclk_i || rclk_i || wrst_ni || rrst_ni));
  `ALCOR_ASSUME(wup_q || !wrst_ni)
  `ALCOR_ASSUME(rup_q || !rrst_ni)

  // Inputs come from registers of their clock, and the writer keeps the handshake.
  always @(posedge clk_i) begin
    if (rst_ni && $past(rst_ni)) begin
      if (!$past(wclk_i)) assume ($stable({wrst_ni, valid_i, data_i}));
      if (!$past(rclk_i)) assume ($stable(rrst_ni));
      if (wrst_ni && $past(wclk_i && wrst_ni && valid_i && !ready)) assume (valid_i && $stable(data_i));
    end
  end

  // ---------------------------------------------------------------- registers of the FIFO

  logic push, load;
  logic [PtrW-1:0] wbin, wgray, rbin, rgray;
  // A pointer: as it was a moment ago, as it has arrived at the first flop, and in the flops.
  logic [PtrW-1:0] w_was, w_line, w_meta, w_sync, r_was, r_line, r_meta, r_sync;
  logic w_taken, r_taken;
  logic [WIDTH-1:0] mem[DEPTH];
`include "fifo_registers.svh"

  function automatic logic [PtrW-1:0] bin(input logic [PtrW-1:0] gray);
    for (int i = 0; i < PtrW; i++) bin[i] = ^(gray >> i);
  endfunction

  // ---------------------------------------------------------------- facts

  // Both resets are active; each clock has had an edge since; words count; a side has left its reset.
  logic both, wdone_q, rdone_q, live_q, wfree_q, rfree_q;
  // Words within, and those of them before the chosen one, which is within.
  logic [CountW-1:0] count_q, ahead_q;
  logic chosen_q;
  logic [WIDTH-1:0] word_q;
  logic put, take;
  // Edges of the read clock since the chosen word came, up to 2.
  logic [1:0] reads_q;

  assign both = !wrst_ni && !rrst_ni;
  assign put  = wclk_i && wrst_ni && valid_i && ready;
  assign take = rclk_i && rrst_ni && valid && ready_i;

  always_ff @(posedge clk_i) begin
    wdone_q <= both && (wdone_q || wclk_i);
    rdone_q <= both && (rdone_q || rclk_i);
    if (live_q) begin
      live_q   <= (wrst_ni || !wfree_q) && (rrst_ni || !rfree_q);
      wfree_q  <= wfree_q || wrst_ni;
      rfree_q  <= rfree_q || rrst_ni;
      count_q  <= count_q + CountW'(put) - CountW'(take);
      chosen_q <= chosen_q && !(take && ahead_q == '0);
      ahead_q  <= ahead_q - CountW'(take);
      if (rclk_i && !reads_q[1]) reads_q <= reads_q + 2'd1;
      if (put && choose_i && !chosen_q) begin
        chosen_q <= 1'b1;
        ahead_q  <= count_q - CountW'(take);
        word_q   <= data_i;
        reads_q  <= 2'(rclk_i);
      end
    end else begin
      live_q <= both && wdone_q && rdone_q && {w_line, r_line} == '0;
      {wfree_q, rfree_q, chosen_q, count_q} <= '0;
    end
    if (!rst_ni) {live_q, wdone_q, rdone_q} <= '0;
  end

  // Edges at which a pointer has been taken since its last bit arrived, up to 3.
  logic [1:0] wseen, wseen_q, rseen, rseen_q;
  logic [PtrW-1:0] w_line_q, r_line_q;
  always_comb begin
    wseen = (w_line == w_line_q) ? wseen_q : 2'd0;
    rseen = (r_line == r_line_q) ? rseen_q : 2'd0;
    if (w_taken && wseen != 2'd3) wseen += 2'd1;
    if (r_taken && rseen != 2'd3) rseen += 2'd1;
  end
  always_ff @(posedge clk_i) begin
    {w_line_q, r_line_q} <= {w_line, r_line};
    {wseen_q, rseen_q}   <= live_q ? {wseen, rseen} : '0;
  end

  // ---------------------------------------------------------------- properties

  // The chosen word comes out in its turn, unchanged: the words out are the words in, in their order.
  `ALCOR_ASSERT(p_word, !(live_q && chosen_q && valid && ahead_q == '0) || data == word_q)
  // No word is offered that is not within; there is a place for a word that is taken.
  `ALCOR_ASSERT(p_offered, !(live_q && valid) || count_q != '0)
  `ALCOR_ASSERT(p_room, !live_q || count_q <= CountW'(DEPTH + 1))
  // The RAM is not written while it is full, and not read while it is empty.
  `ALCOR_ASSERT(p_overflow, !(live_q && push) || wbin - rbin < PtrW'(DEPTH))
  `ALCOR_ASSERT(p_underflow, !(live_q && load) || wbin != rbin)
  // A word has been in the RAM for two periods of the read clock when it is read.
  `ALCOR_ASSERT(p_settled, !(live_q && chosen_q && load && ahead_q == CountW'(valid)) || reads_q[1])
  // An offered word stays until it is taken.
  always @(posedge clk_i) begin
    if (rst_ni && $past(rst_ni) && rrst_ni && $past(rrst_ni && valid && !(rclk_i && ready_i)))
      p_stable : assert (valid && $stable(data));
  end
  // Pointers change by a bit at a time; the pointer that has arrived is the old or the new one.
  `ALCOR_ASSERT(p_wgray, !live_q || $onehot0(wgray ^ w_was))
  `ALCOR_ASSERT(p_rgray, !live_q || $onehot0(rgray ^ r_was))
  `ALCOR_ASSERT(p_wline, !live_q || w_line == wgray || bin(w_line) == wbin - PtrW'(1))
  `ALCOR_ASSERT(p_rline, !live_q || r_line == rgray || bin(r_line) == rbin - PtrW'(1))
  // No word stays within, and no place is lost: three edges after all bits have arrived, a word is offered if there is one, and
  // the writer waits only if the RAM is full.
  `ALCOR_ASSERT(p_arrives, !(live_q && wseen == 2'd3 && w_line == wgray && count_q != '0) || valid)
  `ALCOR_ASSERT(p_frees, !(live_q && rseen == 2'd3 && r_line == rgray && !ready) || count_q >= CountW'(DEPTH))

  // ---------------------------------------------------------------- invariants of the induction

  `ALCOR_ASSERT(p_wcode, !wup_q || wgray == (wbin ^ (wbin >> 1)))
  `ALCOR_ASSERT(p_rcode, !rup_q || rgray == (rbin ^ (rbin >> 1)))
  `ALCOR_ASSERT(p_up, !live_q || (wup_q && rup_q))
  `ALCOR_ASSERT(p_wup, !wdone_q || wup_q)
  `ALCOR_ASSERT(p_rup, !rdone_q || rup_q)
  // Sides in reset.
  `ALCOR_ASSERT(p_wdone, !(wdone_q || (live_q && !wfree_q)) || (wbin == '0 && ready && r_meta == '0 && r_sync == '0))
  `ALCOR_ASSERT(p_rdone, !(rdone_q || (live_q && !rfree_q)) || (rbin == '0 && !valid && w_meta == '0 && w_sync == '0))
  `ALCOR_ASSERT(p_reset, !live_q || ((wfree_q || wbin == '0) && (rfree_q || rbin == '0)))

  // A moment ago.
  `ALCOR_ASSERT(p_wwas, !live_q || wbin - bin(w_was) <= PtrW'(1))
  `ALCOR_ASSERT(p_rwas, !live_q || rbin - bin(r_was) <= PtrW'(1))
  // The pointers from the oldest to the newest, all within DEPTH.
  logic [8:0][PtrW-1:0] chain;
  logic [PtrW+3:0] length;
  assign chain = {wbin, bin(w_line), bin(w_meta), bin(w_sync), rbin, bin(r_line), bin(r_meta), bin(r_sync), {PtrW{1'b0}}};
  always_comb begin
    length = '0;
    for (int i = 2; i < 9; i++) begin
      length += (PtrW + 4)'(PtrW'(chain[i] - chain[i-1]));
    end
  end
  `ALCOR_ASSERT(p_chain, !live_q || length <= (PtrW + 4)'(DEPTH))
  `ALCOR_ASSERT(p_full, !(live_q && ready) || length != (PtrW + 4)'(DEPTH))

  // The words are where the pointers say.
  logic [PtrW-1:0] place;
  assign place = rbin + PtrW'(ahead_q) - PtrW'(valid);
  `ALCOR_ASSERT(p_count, !live_q || count_q == CountW'(PtrW'(wbin - rbin)) + CountW'(valid))
  `ALCOR_ASSERT(p_ahead, !(live_q && chosen_q) || ahead_q < count_q)
  `ALCOR_ASSERT(p_ram, !(live_q && chosen_q) || (valid && ahead_q == '0) || mem[place[AddrW-1:0]] == word_q)

  // How far the news of the chosen word has come, and that of all words.
  logic [PtrW-1:0] behind;
  assign behind = place - rbin;
  `ALCOR_ASSERT(p_reads, !(live_q && chosen_q) || (valid && ahead_q == '0) || (
      (bin(w_meta) - rbin <= behind || reads_q != 2'd0) && (bin(w_sync) - rbin <= behind || reads_q[1])))
  `ALCOR_ASSERT(p_wseen, !live_q || ((wseen < 2'd1 || w_meta == w_line) && (wseen < 2'd2 || w_sync == w_line)
      && (wseen < 2'd3 || valid || rgray == w_line)))
  `ALCOR_ASSERT(p_rseen, !live_q || ((rseen < 2'd1 || r_meta == r_line) && (rseen < 2'd2 || r_sync == r_line)
      && (rseen < 2'd3 || ready || wbin - bin(r_line) == PtrW'(DEPTH))))

  // ---------------------------------------------------------------- states of interest, for the task `reached`

  // The FIFO has been full; then empty; then the write pointer has passed 0; an earlier life has had a word taken.
  logic filled_q, drained_q, wrapped_q, used_q, before_q;
  // Both sides have taken the other's new pointer in one moment; a pointer has been taken late.
  logic crossed_q, late_q;
  always_ff @(posedge clk_i) begin
    filled_q  <= live_q && (filled_q || (count_q == CountW'(DEPTH + 1) && !ready));
    drained_q <= live_q && (drained_q || (filled_q && count_q == '0));
    wrapped_q <= live_q && (wrapped_q || (drained_q && put && wbin == '1));
    used_q    <= used_q || (live_q && take);
    before_q  <= before_q || (used_q && !live_q);
    crossed_q <= live_q && (crossed_q || (w_taken && r_taken
        && w_line == wgray && w_was != wgray && r_line == rgray && r_was != rgray));
    late_q    <= live_q && (late_q || (w_taken && w_line != wgray && w_was == wgray));
    if (!rst_ni) {filled_q, drained_q, wrapped_q, used_q, before_q, crossed_q, late_q} <= '0;
  end
  always @(posedge clk_i) begin
    if (rst_ni) begin
      c_full : cover (filled_q);
      c_empty : cover (drained_q && !valid);
      c_wraps : cover (wrapped_q && take && rbin == '0 && chosen_q && ahead_q == '0);
      c_again : cover (live_q && before_q && take);
      c_crossed : cover (crossed_q && chosen_q && take && ahead_q == '0);
      c_late : cover (late_q && chosen_q && take && ahead_q == '0);
      // The writer has filled the RAM while the reader is still in reset.
      c_ahead : cover (live_q && !rfree_q && !ready);
    end
  end

endmodule

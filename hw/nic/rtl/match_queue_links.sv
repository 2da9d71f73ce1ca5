`include "assertions.svh"

/// Links of a match queue: the next and the previous entry of each entry, in RAM.
///
/// An append writes behind the tail, and an entry that leaves writes around itself. The links of an entry that leaves were read in
/// the cycle before, or, where the queue walked in that cycle, one cycle earlier. In an empty queue, the tail is an entry of no
/// list.
module match_queue_links #(
    /// Number of entries.
    parameter int unsigned DEPTH = 1024,
    /// Width of an entry's number; derived, not to be set.
    localparam int unsigned EntryW = $clog2(DEPTH)
) (
    /// Clock.
    input  logic              clk_i,

    /// The entry whose links are read.
    input  logic [EntryW-1:0] read_i,
    /// In the cycle after: the entry behind it.
    output logic [EntryW-1:0] next_o,

    /// Pulse: an entry is appended.
    input  logic              append_i,
    /// With `append_i`: the queue is empty.
    input  logic              empty_i,
    /// With `append_i`: the entry.
    input  logic [EntryW-1:0] append_entry_i,

    /// The queue walks: it reads the entry behind the one whose links it has.
    input  logic              walks_i,
    /// Pulse: an entry leaves, whose links were read as above. Not together with `append_i`.
    input  logic              unlink_i,
    /// With `unlink_i`: the entry.
    input  logic [EntryW-1:0] unlink_entry_i,
    /// With `unlink_i`: the entry behind it.
    output logic [EntryW-1:0] unlink_next_o
);

  logic [EntryW-1:0] head_q, tail_q, prev, next_q, prev_q, unlink_prev;
  logic walked_q, is_head, is_tail;

  assign unlink_next_o = walked_q ? next_q : next_o;
  assign unlink_prev   = walked_q ? prev_q : prev;
  assign is_head       = unlink_entry_i == head_q;
  assign is_tail       = unlink_entry_i == tail_q;

  ram_sdp #(
      .WIDTH(EntryW),
      .DEPTH(DEPTH)
  ) u_next (
      .clk_i  (clk_i),
      .we_i   (append_i || (unlink_i && !is_head)),
      .waddr_i(unlink_i ? unlink_prev : tail_q),
      .wdata_i(unlink_i ? unlink_next_o : append_entry_i),
      .re_i   (1'b1),
      .raddr_i(read_i),
      .rdata_o(next_o)
  );

  ram_sdp #(
      .WIDTH(EntryW),
      .DEPTH(DEPTH)
  ) u_prev (
      .clk_i  (clk_i),
      .we_i   (append_i || (unlink_i && !is_tail)),
      .waddr_i(unlink_i ? unlink_next_o : append_entry_i),
      .wdata_i(unlink_i ? unlink_prev : tail_q),
      .re_i   (1'b1),
      .raddr_i(read_i),
      .rdata_o(prev)
  );

  always_ff @(posedge clk_i) begin
    // The RAMs' outputs of the cycle before.
    next_q   <= next_o;
    prev_q   <= prev;
    walked_q <= walks_i;
    if (append_i) begin
      tail_q <= append_entry_i;
      if (empty_i) head_q <= append_entry_i;
    end
    if (unlink_i) begin
      if (is_head) head_q <= unlink_next_o;
      if (is_tail) tail_q <= unlink_prev;
    end
  end

  `ALCOR_CHECK_PARAM(g_check_depth, DEPTH >= 2, "match_queue_links: DEPTH must be 2 or more")

endmodule

`include "assertions.svh"

/// A bank of the header store with its matcher.
///
/// The bank holds a part of each queue, as a linked list in the order of the appends. A search walks over the part of
/// its queue until an entry matches, the part ends, or another lane has found an older entry. A search alone walks over
/// an entry in each cycle. The searches of several contexts take turns, and the first entries of a search go before
/// those of long searches: a long search does not hold up a short one.
///
/// A header's age tells the order among lanes: ages are compared modulo 2^AGE_W.
module match_lane #(
    /// Headers, 2 or more.
    parameter int unsigned ENTRIES = 128,
    /// Queues: two for each queue pair.
    parameter int unsigned QUEUES = 16,
    /// Contexts, 2 or more.
    parameter int unsigned CONTEXTS = 16,
    /// Number of entries at the begin of a search that go before those of longer searches.
    parameter int unsigned BURST = 4,
    /// Match bits.
    parameter int unsigned MATCH_W = 72,
    /// Bits of an id.
    parameter int unsigned ID_W = 32,
    /// Bits of an age.
    parameter int unsigned AGE_W = 56,
    /// Bits of the sweep's row.
    parameter int unsigned SWEEP_W = 8,
    /// Width of a queue's number; derived, not to be set.
    localparam int unsigned QueueW = $clog2(QUEUES),
    /// Width of a context's number; derived, not to be set.
    localparam int unsigned ContextW = $clog2(CONTEXTS)
) (
    /// Clock.
    input  logic                clk_i,
    /// Synchronous reset, active low.
    input  logic                rst_ni,
    /// The tables are being cleared, after reset.
    input  logic                sweep_i,
    /// Row that is cleared in this cycle.
    input  logic [SWEEP_W-1:0]  sweep_row_i,

    /// Operands of a context: written in this cycle.
    input  logic                put_i,
    /// Operands: the context.
    input  logic [ContextW-1:0] put_context_i,
    /// Operands: the search is for an id.
    input  logic                put_by_id_i,
    /// Operands: id.
    input  logic [ID_W-1:0]     put_id_i,
    /// Operands: match bits.
    input  logic [MATCH_W-1:0]  put_match_i,
    /// Operands: mask bits; a bit that is set matches either value.
    input  logic [MATCH_W-1:0]  put_mask_i,

    /// Start of a search: the queue, in the cycle before `start_i`.
    input  logic [QueueW-1:0]   start_queue_i,
    /// A search starts.
    input  logic                start_i,
    /// Its context.
    input  logic [ContextW-1:0] start_context_i,
    /// The search looks at no entry.
    input  logic                start_empty_i,
    /// By context: the search has not ended in this lane.
    output logic [CONTEXTS-1:0] busy_o,
    /// An entry is compared in this cycle.
    output logic                compare_o,

    /// A hit is reported.
    output logic                hit_valid_o,
    /// The hit is taken.
    input  logic                hit_ready_i,
    /// Context of the hit.
    output logic [ContextW-1:0] hit_context_o,
    /// Age of the entry.
    output logic [AGE_W-1:0]    hit_age_o,
    /// By context: a lane has found an entry.
    input  logic [CONTEXTS-1:0] found_i,
    /// A context has a new best hit.
    input  logic                best_i,
    /// The context.
    input  logic [ContextW-1:0] best_context_i,
    /// Age of the hit.
    input  logic [AGE_W-1:0]    best_age_i,

    /// End of an operation: context and queue are read, for the next cycle and those after it.
    input  logic                finish_i,
    /// End: the context.
    input  logic [ContextW-1:0] finish_context_i,
    /// End: the queue that changes.
    input  logic [QueueW-1:0]   finish_queue_i,
    /// A cycle after `finish_i`: id of the entry that the context has found in this lane.
    output logic [ID_W-1:0]     found_id_o,
    /// This entry is removed; a cycle after `finish_i` or later.
    input  logic                remove_i,
    /// A header is appended to the queue; a cycle after `finish_i` or later.
    input  logic                append_i,
    /// Header: id.
    input  logic [ID_W-1:0]     append_id_i,
    /// Header: match bits.
    input  logic [MATCH_W-1:0]  append_match_i,
    /// Header: mask bits.
    input  logic [MATCH_W-1:0]  append_mask_i,
    /// Header: age.
    input  logic [AGE_W-1:0]    append_age_i,
    /// There is room for a header.
    output logic                room_o
);

  localparam int unsigned EntryW = $clog2(ENTRIES);
  localparam int unsigned CountW = $clog2(ENTRIES + 1);
  localparam int unsigned ListW = 2 * EntryW + CountW;
  localparam int unsigned HeaderW = 2 * MATCH_W + ID_W + AGE_W;
  localparam int unsigned OperandW = 2 * MATCH_W + ID_W + 1;
  localparam int unsigned SpotW = ID_W + 2 * EntryW + EntryW + 1;

  // --------------------------------------------------------------------------------------- the lists
  logic [EntryW-1:0] start_head, head, tail, list_head, list_tail, free, next, link_at, link_to;
  logic [CountW-1:0] start_count, count, list_count;
  logic [QueueW-1:0] list_queue, finish_queue_q;
  logic change, free_ready, frees, link;

  // Where a search has found its entry.
  logic [EntryW-1:0] spot_entry, spot_previous, spot_next;
  logic spot_first;

  assign change     = remove_i || append_i;
  assign list_queue = sweep_i ? QueueW'(sweep_row_i) : finish_queue_q;

  always_comb begin
    list_head  = head;
    list_tail  = tail;
    list_count = count;
    if (remove_i) begin
      if (spot_first) list_head = spot_next;
      if (spot_entry == tail) list_tail = spot_previous;
      list_count = count - 1'b1;
    end
    if (append_i) begin
      if (count == '0) list_head = free;
      list_tail  = free;
      list_count = count + 1'b1;
    end
    if (sweep_i) list_count = '0;
  end

  // Two copies: one for searches that start, one for operations that end. Both never have the same queue: its pair is
  // locked.
  ram_sdp #(
      .WIDTH    (EntryW + CountW),
      .DEPTH    (QUEUES),
      .BLOCK_RAM(1'b0)
  ) u_starts (
      .clk_i  (clk_i),
      .we_i   (change || sweep_i),
      .waddr_i(list_queue),
      .wdata_i({list_head, list_count}),
      .re_i   (1'b1),
      .raddr_i(start_queue_i),
      .rdata_o({start_head, start_count})
  );

  ram_sdp #(
      .WIDTH    (ListW),
      .DEPTH    (QUEUES),
      .BLOCK_RAM(1'b0)
  ) u_lists (
      .clk_i  (clk_i),
      .we_i   (change || sweep_i),
      .waddr_i(list_queue),
      .wdata_i({list_head, list_tail, list_count}),
      .re_i   (finish_i),
      .raddr_i(finish_queue_i),
      .rdata_o({head, tail, count})
  );

  assign frees = remove_i || (sweep_i && 32'(sweep_row_i) < ENTRIES);

  fifo #(
      .WIDTH(EntryW),
      .DEPTH(ENTRIES),
      .BLOCK_RAM(ENTRIES >= 128)
  ) u_free (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i(frees),
      .ready_o(free_ready),
      .data_i (sweep_i ? EntryW'(sweep_row_i) : spot_entry),
      .valid_o(room_o),
      .ready_i(append_i),
      .data_o (free),
      .empty_o(),
      .usage_o()
  );

  // --------------------------------------------------------------------------------------- the walks
  // In the first cycle an entry is chosen and read, in the second it is compared.
  logic [CONTEXTS-1:0] alive_q, wants_q, pending_q, first_q;
  logic [CONTEXTS-1:0][EntryW-1:0] at_q, previous_q;
  logic [CONTEXTS-1:0][CountW-1:0] left_q;
  localparam int unsigned FreshW = $clog2(BURST + 1);
  localparam int unsigned OtherW = $clog2(4 * BURST + 1);
  logic issue, issue_last, any_fresh, any_other, pick_other, fresh_turn_ends, other_turn_ends;
  logic [CONTEXTS-1:0] fresh_q, fresh_grant, other_grant, issue_grant;
  logic [1:0] share_q;
  logic [FreshW-1:0] fresh_turn_q;
  logic [OtherW-1:0] other_turn_q;
  logic [ContextW-1:0] issue_context, fresh_context, other_context;
  logic [EntryW-1:0] issue_entry;

  logic walk_q, walk_last_q, walk_first_q, walk_found_q, live, equal, late, hit, stops;
  logic [ContextW-1:0] walk_context_q;
  logic [EntryW-1:0] walk_entry_q, walk_previous_q;
  logic [MATCH_W-1:0] walk_match, walk_mask, op_match, op_mask;
  logic [ID_W-1:0] walk_id, op_id;
  logic [AGE_W-1:0] walk_age, best_age, ahead;
  logic op_by_id;

  logic hit_waits, outdated, hit_leaves, best_q;
  logic [ContextW-1:0] best_context_q;
  logic [AGE_W-1:0] best_age_q, behind;

  // A search is fresh for its first BURST entries. Fresh searches go before others, which have every fourth cycle all
  // the same. Other searches have turns of 4 * BURST entries. Long turns let searches end one after the other, so that
  // the next operations of their pairs begin while the other searches go on.
  rr_arbiter #(
      .N(CONTEXTS)
  ) u_fresh (
      .clk_i    (clk_i),
      .rst_ni   (rst_ni),
      .req_i    (wants_q & fresh_q),
      .advance_i(fresh_turn_ends),
      .valid_o  (any_fresh),
      .grant_o  (fresh_grant),
      .index_o  (fresh_context)
  );

  rr_arbiter #(
      .N(CONTEXTS)
  ) u_others (
      .clk_i    (clk_i),
      .rst_ni   (rst_ni),
      .req_i    (wants_q & ~fresh_q),
      .advance_i(other_turn_ends),
      .valid_o  (any_other),
      .grant_o  (other_grant),
      .index_o  (other_context)
  );

  assign pick_other      = any_other && (!any_fresh || share_q == '1);
  assign issue           = any_fresh || any_other;
  assign issue_context   = pick_other ? other_context : fresh_context;
  assign fresh_turn_ends = any_fresh && !pick_other && (issue_last || fresh_turn_q == FreshW'(BURST - 1));
  assign other_turn_ends = pick_other && (issue_last || other_turn_q == OtherW'(4 * BURST - 1));

  // The registers of the chosen context, by a one-hot choice.
  logic issue_follows, issue_first;
  logic [EntryW-1:0] issue_at, issue_previous;

  always_comb begin
    issue_grant    = pick_other ? other_grant : fresh_grant;
    issue_last     = 1'b0;
    issue_first    = 1'b0;
    issue_follows  = 1'b0;
    issue_at       = '0;
    issue_previous = '0;
    for (int unsigned c = 0; c < CONTEXTS; c++) begin
      issue_last    |= issue_grant[c] && left_q[c] == CountW'(1);
      issue_first   |= issue_grant[c] && first_q[c];
      issue_follows |= issue_grant[c] && walk_q && walk_context_q == ContextW'(c);
      issue_at       |= issue_grant[c] ? at_q[c] : '0;
      issue_previous |= issue_grant[c] ? previous_q[c] : '0;
    end
  end

  // The entry behind the one that is compared is known in this cycle.
  assign issue_entry = issue_follows ? next : issue_at;

  ram_sdp #(
      .WIDTH    (HeaderW),
      .DEPTH    (ENTRIES),
      .BLOCK_RAM(1'b1)
  ) u_headers (
      .clk_i  (clk_i),
      .we_i   (append_i),
      .waddr_i(free),
      .wdata_i({append_match_i, append_mask_i, append_id_i, append_age_i}),
      .re_i   (1'b1),
      .raddr_i(issue_entry),
      .rdata_o({walk_match, walk_mask, walk_id, walk_age})
  );

  // An append links the tail to the new entry, a removal the entry before to the entry behind.
  assign link    = (append_i && count != '0) || (remove_i && !spot_first);
  assign link_at = append_i ? tail : spot_previous;
  assign link_to = append_i ? free : spot_next;

  ram_sdp #(
      .WIDTH    (EntryW),
      .DEPTH    (ENTRIES),
      .BLOCK_RAM(ENTRIES >= 128)
  ) u_next (
      .clk_i  (clk_i),
      .we_i   (link),
      .waddr_i(link_at),
      .wdata_i(link_to),
      .re_i   (1'b1),
      .raddr_i(issue_entry),
      .rdata_o(next)
  );

  ram_sdp #(
      .WIDTH    (OperandW),
      .DEPTH    (CONTEXTS),
      .BLOCK_RAM(1'b0)
  ) u_operands (
      .clk_i  (clk_i),
      .we_i   (put_i),
      .waddr_i(put_context_i),
      .wdata_i({put_by_id_i, put_id_i, put_match_i, put_mask_i}),
      .re_i   (1'b1),
      .raddr_i(issue_context),
      .rdata_o({op_by_id, op_id, op_match, op_mask})
  );

  ram_sdp #(
      .WIDTH    (AGE_W),
      .DEPTH    (CONTEXTS),
      .BLOCK_RAM(1'b0)
  ) u_best (
      .clk_i  (clk_i),
      .we_i   (best_i),
      .waddr_i(best_context_i),
      .wdata_i(best_age_i),
      .re_i   (1'b1),
      .raddr_i(issue_context),
      .rdata_o(best_age)
  );

  // An entry that was read after the search had ended does not count.
  assign live      = walk_q && alive_q[walk_context_q];
  assign equal   = op_by_id ? walk_id == op_id : ((walk_match ^ op_match) & ~(walk_mask | op_mask)) == '0;
  assign ahead     = best_age - walk_age;
  assign late      = walk_found_q && ahead[AGE_W-1];
  assign hit       = live && equal && !late;
  assign stops     = live && (equal || late || walk_last_q);
  assign compare_o = live;
  assign busy_o    = alive_q | pending_q;

  always_ff @(posedge clk_i) begin
    walk_context_q  <= issue_context;
    walk_entry_q    <= issue_entry;
    walk_last_q     <= issue_last;
    walk_first_q    <= issue_first;
    walk_previous_q <= issue_previous;
    walk_found_q    <= |(issue_grant & found_i);
    for (int unsigned c = 0; c < CONTEXTS; c++) begin
      if (walk_q && walk_context_q == ContextW'(c)) at_q[c] <= next;
      if (issue_grant[c]) begin
        previous_q[c] <= issue_entry;
        first_q[c]    <= 1'b0;
        left_q[c]     <= left_q[c] - 1'b1;
      end
      if (fresh_turn_ends && fresh_grant[c]) fresh_q[c] <= 1'b0;
      if (start_i && start_context_i == ContextW'(c)) begin
        fresh_q[c] <= 1'b1;
        first_q[c] <= 1'b1;
        at_q[c]    <= start_head;
        left_q[c]  <= start_count;
      end
    end
    if (finish_i) finish_queue_q <= finish_queue_i;
    if (!rst_ni) begin
      walk_q       <= 1'b0;
      alive_q      <= '0;
      wants_q      <= '0;
      pending_q    <= '0;
      share_q      <= '0;
      fresh_turn_q <= '0;
      other_turn_q <= '0;
    end else begin
      walk_q <= issue;
      if (issue) share_q <= share_q + 1'b1;
      if (any_fresh && !pick_other) fresh_turn_q <= fresh_turn_ends ? '0 : fresh_turn_q + 1'b1;
      if (pick_other) other_turn_q <= other_turn_ends ? '0 : other_turn_q + 1'b1;
      for (int unsigned c = 0; c < CONTEXTS; c++) begin
        if (issue_grant[c] && left_q[c] == CountW'(1)) wants_q[c] <= 1'b0;
        if (stops && walk_context_q == ContextW'(c)) begin
          alive_q[c] <= 1'b0;
          wants_q[c] <= 1'b0;
        end
      end
      if (hit) pending_q[walk_context_q] <= 1'b1;
      if (hit_leaves) pending_q[hit_context_o] <= 1'b0;
      if (start_i && !start_empty_i && start_count != '0) begin
        alive_q[start_context_i] <= 1'b1;
        wants_q[start_context_i] <= 1'b1;
      end
    end
  end

  // ---------------------------------------------------------------------------------------- the hits
  // A hit leaves in the cycle after another lane has reported an older entry for its context.
  logic hits_ready;

  assign behind      = best_age_q - hit_age_o;
  assign outdated    = hit_waits && best_q && best_context_q == hit_context_o && behind[AGE_W-1];
  assign hit_valid_o = hit_waits && !outdated;
  assign hit_leaves  = outdated || (hit_valid_o && hit_ready_i);

  always_ff @(posedge clk_i) begin
    best_context_q <= best_context_i;
    best_age_q     <= best_age_i;
    if (!rst_ni) best_q <= 1'b0;
    else best_q <= best_i;
  end

  fifo #(
      .WIDTH(ContextW + AGE_W),
      .DEPTH(CONTEXTS)
  ) u_hits (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i(hit),
      .ready_o(hits_ready),
      .data_i ({walk_context_q, walk_age}),
      .valid_o(hit_waits),
      .ready_i(hit_leaves),
      .data_o ({hit_context_o, hit_age_o}),
      .empty_o(),
      .usage_o()
  );

  ram_sdp #(
      .WIDTH    (SpotW),
      .DEPTH    (CONTEXTS),
      .BLOCK_RAM(1'b0)
  ) u_spots (
      .clk_i  (clk_i),
      .we_i   (hit),
      .waddr_i(walk_context_q),
      .wdata_i({walk_id, walk_entry_q, walk_previous_q, next, walk_first_q}),
      .re_i   (finish_i),
      .raddr_i(finish_context_i),
      .rdata_o({found_id_o, spot_entry, spot_previous, spot_next, spot_first})
  );

  `ALCOR_CHECK_PARAM(g_check_entries, ENTRIES >= 2, "match_lane: ENTRIES must be 2 or more")

  `ALCOR_IMPLIES(a_free_has_room, frees, free_ready)
  `ALCOR_IMPLIES(a_hit_has_room, hit, hits_ready)
  `ALCOR_IMPLIES(a_append_has_room, append_i, room_o)
  `ALCOR_IMPLIES(a_remove_has_entry, remove_i, count != '0 && (!spot_first || spot_entry == head))
  `ALCOR_IMPLIES(a_one_change, append_i, !remove_i)
  `ALCOR_IMPLIES(a_start_ended, start_i, !busy_o[start_context_i])

endmodule

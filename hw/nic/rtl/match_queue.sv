`include "assertions.svh"

import alcor_abi_pkg::*;

/// A queue of match entries: a linked list in RAM whose first entries are also in a matching unit.
///
/// A search asks the matching unit first, which answers in the same time for every length. Then it
/// walks over the entries that are not in the unit, one a cycle. Entries move into the unit in
/// batches, from the list's head on, once the queue is long enough for the unit to be faster.
///
/// One operation at a time: a search, a probe or a removal ends with a result, which stays until it is taken; an append
/// has no result. A search is taken in the cycle in which the unit finds the entry of the search before it, so searches
/// in the unit follow each other every fourth cycle. No other operation is taken while a result waits.
module match_queue #(
    /// Number of entries.
    parameter int unsigned DEPTH = 1024,
    /// Cells of the matching unit.
    parameter int unsigned CELLS = 128,
    /// Cells of a block of the matching unit.
    parameter int unsigned BLOCK = 16,
    /// 1: of posted receives, an entry has mask bits; 0: of unexpected messages, a search has them.
    parameter bit POSTED = 1'b1,
    /// Match bits.
    parameter int unsigned MATCH_W = MatchW,
    /// Number of waiting entries that delay an operation for their move into the unit.
    parameter int unsigned BATCH = 8,
    /// Width of an entry's number; derived, not to be set.
    localparam int unsigned EntryW = $clog2(DEPTH),
    /// Width of a number of entries; derived, not to be set.
    localparam int unsigned CountW = $clog2(DEPTH + 1)
) (
    /// Clock.
    input  logic                     clk_i,
    /// Synchronous reset, active low; empties the queue.
    input  logic                     rst_ni,
    /// Length of the queue from which on entries are moved into the unit; all ones: never.
    input  logic [15:0]              threshold_i,

    /// Operation: an operation is offered.
    input  logic                     op_valid_i,
    /// Operation: the operation is taken.
    output logic                     op_ready_o,
    /// Operation: its kind.
    input  alcor_abi_pkg::match_op_e op_i,
    /// Operation: match bits of a search or probe.
    input  logic [MATCH_W-1:0]       op_match_i,
    /// Operation: match bits of the entry of an append.
    input  logic [MATCH_W-1:0]       append_match_i,
    /// Operation: mask bits; a bit that is set matches either value.
    input  logic [MATCH_W-1:0]       op_mask_i,
    /// Operation: the entry of an append (not in the queue) or of a removal (in the queue).
    input  logic [EntryW-1:0]        op_entry_i,
    /// Operation: a tag, returned with the result.
    input  logic [EntryW-1:0]        op_tag_i,

    /// Result: a result is offered.
    output logic                     result_valid_o,
    /// Result: the result is taken.
    input  logic                     result_ready_i,
    /// Result: an entry matched, or was removed.
    output logic                     result_found_o,
    /// Result: the entry's number.
    output logic [EntryW-1:0]        result_entry_o,
    /// Result: the matching unit found it.
    output logic                     result_unit_o,
    /// Result: tag of the operation.
    output logic [EntryW-1:0]        result_tag_o,

    /// Entries in the queue.
    output logic [CountW-1:0]        count_o
);

  typedef enum logic [3:0] {
    StIdle,       // next operation is taken
    StWait,       // result of the unit is awaited
    StWalk,       // entries behind the unit, one a cycle
    StUnlink,     // an entry leaves the list
    StCancel,     // CANCEL waits for the unit
    StCancelled,  // result of CANCEL is awaited
    StStart,      // START INSERT waits for the unit
    StStarted,    // acknowledgement is awaited
    StInsert,     // entries move into the unit
    StStop        // STOP INSERT waits for the unit
  } state_e;

  localparam int unsigned CellW = $clog2(CELLS + 1);
  localparam int unsigned BatchW = $clog2(BATCH + 1);
  localparam int unsigned Patience = 15;
  // A batch that does not wait for idle cycles needs as many free cells, so that small units don't begin one for each.
  localparam int unsigned BatchCells = (BATCH < CELLS / 2) ? BATCH : (CELLS + 1) / 2;

  state_e state_d, state_q;
  alcor_abi_pkg::match_op_e op_q;
  logic [MATCH_W-1:0] match_q;
  logic [EntryW-1:0] entry_q, tag_q;
  logic take, append;

  // ------------------------------------------------------------------------------------------- the list
  // The first `cells_q` entries are in the unit; `rest_q` more follow, from `split_q` on.
  logic [EntryW-1:0] split_q, at_q, raddr, next, gone_next;
  logic [CellW-1:0] cells_q;
  logic [CountW-1:0] rest_q, left_q;
  logic [MATCH_W-1:0] body_match, body_mask, differs;
  logic hit, unlink_q;

  assign count_o = CountW'(cells_q) + rest_q;

  ram_sdp #(
      .WIDTH(MATCH_W),
      .DEPTH(DEPTH)
  ) u_match (
      .clk_i  (clk_i),
      .we_i   (append),
      .waddr_i(op_entry_i),
      .wdata_i(append_match_i),
      .re_i   (1'b1),
      .raddr_i(raddr),
      .rdata_o(body_match)
  );

  if (POSTED) begin : g_mask
    ram_sdp #(
        .WIDTH(MATCH_W),
        .DEPTH(DEPTH)
    ) u_mask (
        .clk_i  (clk_i),
        .we_i   (append),
        .waddr_i(op_entry_i),
        .wdata_i(op_mask_i),
        .re_i   (1'b1),
        .raddr_i(raddr),
        .rdata_o(body_mask)
    );
  end else begin : g_no_mask
    // The mask of the search.
    logic [MATCH_W-1:0] mask_q;

    always_ff @(posedge clk_i) begin
      if (take) mask_q <= op_mask_i;
    end

    assign body_mask = mask_q;
  end

  assign append = take && op_i == MoAppend;

  match_queue_links #(
      .DEPTH(DEPTH)
  ) u_links (
      .clk_i         (clk_i),
      .read_i        (raddr),
      .next_o        (next),
      .append_i      (append),
      .empty_i       (count_o == '0),
      .append_entry_i(op_entry_i),
      .walks_i       (state_q == StWalk),
      .unlink_i      (unlink_q),
      .unlink_entry_i(result_entry_o),
      .unlink_next_o (gone_next)
  );

  assign differs = (body_match ^ match_q) & ~body_mask;
  assign hit     = differs == '0;

  // ------------------------------------------------------------------------------------------- the unit
  logic request_ready, command_valid, command_ready, answer_valid;
  logic [3:0] command_op;
  logic [2:0] answer_kind;
  logic [EntryW-1:0] answer_entry, command_tag;
  logic searches, asks, success, result_free, answer_ready, answer, next_search;
  // The unit's tags are entries, and wide enough for its number of free cells.
  localparam int unsigned TagW = (EntryW > CellW) ? EntryW : CellW;
  logic [TagW-1:0] answer_value;

  alpu #(
      .CELLS  (CELLS),
      .BLOCK  (BLOCK),
      .POSTED (POSTED),
      .MATCH_W(MATCH_W),
      .TAG_W  (TagW),
      .ID_W   (1)
  ) u_alpu (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .request_valid_i(asks),
      .request_ready_o(request_ready),
      .request_probe_i(op_i == MoProbe),
      .request_id_i   (1'b0),
      .request_match_i(op_match_i),
      .request_mask_i (op_mask_i),
      .command_valid_i(command_valid),
      .command_ready_o(command_ready),
      .command_op_i   (command_op),
      .command_id_i   (1'b0),
      .command_tag_i  (TagW'(command_tag)),
      .command_match_i(body_match),
      .command_mask_i (body_mask),
      .result_valid_o (answer_valid),
      .result_ready_i (answer_ready),
      .result_kind_o  (answer_kind),
      .result_id_o    (),
      .result_value_o (answer_value),
      .count_o        (),
      .inserting_o    (),
      .discarded_o    ()
  );

  assign answer_entry  = EntryW'(answer_value);
  assign success       = answer_kind == AR_MATCH_SUCCESS || answer_kind == AR_PROBE_SUCCESS
                      || answer_kind == AR_CANCEL_SUCCESS;
  // The answer to a search waits while there is no room for its result.
  assign result_free   = !result_valid_o || result_ready_i;
  assign answer_ready  = state_q != StWait || result_free;
  assign answer        = answer_valid && answer_ready;
  assign searches      = op_i == MoSearch || op_i == MoProbe;
  assign asks          = take && searches && cells_q != '0;
  assign command_tag   = (state_q == StCancel) ? entry_q : at_q;
  assign command_valid = state_q == StCancel || state_q == StStart || state_q == StInsert || state_q == StStop;

  always_comb begin
    unique case (state_q)
      StCancel: command_op = AO_CANCEL;
      StStart:  command_op = AO_START_INSERT;
      StInsert: command_op = AO_INSERT;
      default:  command_op = AO_STOP_INSERT;
    endcase
  end

  // ----------------------------------------------------------------------------------------- what next
  // A batch goes when enough entries wait and enough cells are free, or when nothing has been asked for for a while.
  // Whether it can is known a cycle late. An operation that waits has its turn between two batches.
  logic fits, fits_q, fills, fills_q, turn_q, batch, enough, last, insert;
  logic [BatchW-1:0] moved_q;
  logic [3:0] idle_q;

  // No queue is as long as a threshold of all ones.
  assign fits   = cells_q != CellW'(CELLS) && 16'(count_o) >= threshold_i;
  assign fills  = rest_q >= CountW'(BATCH) && cells_q <= CellW'(CELLS - BatchCells);
  assign batch  = fits_q && rest_q != '0 && !(turn_q && op_valid_i) && (fills_q || idle_q == 4'(Patience));
  assign enough = op_valid_i && moved_q == BatchW'(BATCH);
  assign insert = state_q == StInsert && command_ready;
  assign last   = rest_q == CountW'(1) || cells_q == CellW'(CELLS - 1) || enough;

  // The unit has found an entry: the next search may begin, unless a batch is due.
  assign next_search = state_q == StWait && answer_valid && success && op_i == MoSearch && !batch;
  assign op_ready_o  = ((state_q == StIdle && !batch) || next_search) && result_free;
  assign take        = op_valid_i && op_ready_o;

  logic found, failed;

  always_comb begin
    state_d = state_q;
    raddr   = split_q;
    found   = 1'b0;
    failed  = 1'b0;
    unique case (state_q)
      StIdle: begin
        if (batch) begin
          state_d = StStart;
        end else if (take) begin
          unique case (op_i)
            MoAppend: ;
            MoRemove: state_d = (cells_q != '0) ? StCancel : StCancelled;
            default: begin
              if (cells_q != '0) state_d = StWait;
              else if (rest_q != '0) state_d = StWalk;
              else failed = 1'b1;
            end
          endcase
        end
      end
      StWait: begin
        if (success) raddr = answer_entry;
        if (answer) begin
          if (success) begin
            found   = 1'b1;
            state_d = (op_q == MoProbe) ? StIdle : StUnlink;
            if (take) state_d = StWait;
          end else if (rest_q != '0) begin
            state_d = StWalk;
          end else begin
            failed  = 1'b1;
            state_d = StIdle;
          end
        end
      end
      StWalk: begin
        raddr = next;
        if (hit) begin
          found   = 1'b1;
          state_d = (op_q == MoProbe) ? StIdle : StUnlink;
        end else if (left_q == CountW'(1)) begin
          failed  = 1'b1;
          state_d = StIdle;
        end
      end
      StUnlink: state_d = StIdle;
      StCancel: if (command_ready) state_d = StCancelled;
      StCancelled: begin
        raddr = entry_q;
        if (answer_valid || cells_q == '0) begin
          found   = 1'b1;
          state_d = StUnlink;
        end
      end
      StStart: if (command_ready) state_d = StStarted;
      StStarted: if (answer_valid) state_d = StInsert;
      StInsert: begin
        raddr = command_ready ? next : at_q;
        if (command_ready && last) state_d = StStop;
      end
      StStop: if (command_ready) state_d = StIdle;
      default: state_d = StIdle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      op_q    <= op_i;
      tag_q   <= op_tag_i;
      match_q <= op_match_i;
      entry_q <= op_entry_i;
    end
    // The address that the RAMs' outputs belong to.
    at_q    <= raddr;
    left_q  <= (state_q == StWalk) ? left_q - 1'b1 : rest_q;
    fits_q  <= fits;
    fills_q <= fills;
    moved_q <= (state_q == StInsert) ? moved_q + BatchW'(insert && moved_q != BatchW'(BATCH)) : '0;

    if (append && rest_q == '0) split_q <= op_entry_i;
    // An entry of the unit is split_q only while no entry is outside: the next append writes split_q.
    if (unlink_q && result_entry_o == split_q) split_q <= gone_next;
    if (insert) split_q <= next;

    if (found || failed) begin
      result_found_o <= found;
      result_tag_o   <= (state_q == StIdle) ? op_tag_i : tag_q;
      // The links of the entry are read in this cycle, or, in a walk, in the cycle before.
      result_entry_o <= (state_q == StWalk) ? at_q : raddr;
      result_unit_o  <= answer_valid && success;
    end

    if (!rst_ni) begin
      state_q        <= StIdle;
      cells_q        <= '0;
      rest_q         <= '0;
      idle_q         <= '0;
      turn_q         <= 1'b0;
      unlink_q       <= 1'b0;
      result_valid_o <= 1'b0;
    end else begin
      state_q        <= state_d;
      unlink_q       <= found && op_q != MoProbe;
      result_valid_o <= found || failed || !result_free;
      cells_q        <= cells_q + CellW'(insert) - CellW'(unlink_q && result_unit_o);
      rest_q         <= rest_q + CountW'(append) - CountW'(insert) - CountW'(unlink_q && !result_unit_o);
      if (state_q == StStop) turn_q <= 1'b1;
      else if (take) turn_q <= 1'b0;
      if (state_q != StIdle || take) idle_q <= '0;
      else if (idle_q != 4'(Patience)) idle_q <= idle_q + 1'b1;
    end
  end

  `ALCOR_CHECK_PARAM(g_check_batch, BATCH >= 1, "match_queue: BATCH must be 1 or more")
  `ALCOR_CHECK_PARAM(g_check_depth, DEPTH >= 2 && DEPTH < 65535, "match_queue: DEPTH must be 2 to 65534")

  `ALCOR_STABLE(a_op_stable, op_valid_i, op_ready_o, {op_i, op_match_i, append_match_i, op_mask_i, op_entry_i, op_tag_i})
  `ALCOR_STABLE(a_result_stable, result_valid_o, result_ready_i, {result_found_o, result_entry_o, result_unit_o, result_tag_o})
  `ALCOR_IMPLIES(a_result_has_room, found || failed, result_free)
  // One request or command is under way in the unit, so the unit is ready.
  `ALCOR_IMPLIES(a_unit_takes_requests, asks, request_ready)
  `ALCOR_IMPLIES(a_append_has_room, append, count_o != CountW'(DEPTH) && !unlink_q)
  `ALCOR_IMPLIES(a_remove_has_entry, take && op_i == MoRemove, count_o != '0)
  // No other block inserts, so the unit has room for the entries that are counted.
  `ALCOR_IMPLIES(a_unit_has_room, state_q == StStarted && answer_valid,
                 answer_value == TagW'(CELLS) - TagW'(cells_q))

`ifdef ALCOR_COVERAGE
  // verilator coverage_off
  // The place in the queue, from 1 on, of the entry that a search finds.
  logic [DEPTH-1:0] queued_q;
  logic [31:0] age_q, ages_q[DEPTH];
  logic [EntryW-1:0] found_entry;
  int unsigned place;

  assign found_entry = (state_q == StWait) ? answer_entry : at_q;

  always_comb begin
    place = 0;
    if (found && op_q != MoRemove) begin
      for (int unsigned e = 0; e < DEPTH; e++) place += 32'(queued_q[e] && ages_q[e] <= ages_q[found_entry]);
    end
  end

  always_ff @(posedge clk_i) begin
    if (append) ages_q[op_entry_i] <= age_q;
    if (!rst_ni) begin
      queued_q <= '0;
      age_q    <= '0;
    end else begin
      age_q <= age_q + 32'(append);
      if (unlink_q) queued_q[result_entry_o] <= 1'b0;
      if (append) queued_q[op_entry_i] <= 1'b1;
    end
  end
  // verilator coverage_on

`define ALCOR_COVER_MATCH(kind_) \
  `ALCOR_COVER(c_search_``kind_``_empty, take && searches && count_o == '0) \
  `ALCOR_COVER(c_search_``kind_``_nothing, failed && state_q != StIdle) \
  `ALCOR_COVER(c_search_``kind_``_unit, found && state_q == StWait) \
  `ALCOR_COVER(c_search_``kind_``_list, found && state_q == StWalk && cells_q == '0) \
  `ALCOR_COVER(c_search_``kind_``_beyond_the_unit, found && state_q == StWalk && cells_q != '0) \
  `ALCOR_COVER(c_full_``kind_``_unit, cells_q == CellW'(CELLS)) \
  `ALCOR_COVER(c_full_``kind_``_queue, count_o == CountW'(DEPTH)) \
  `ALCOR_COVER(c_depth_``kind_``_1, place == 1) \
  `ALCOR_COVER(c_depth_``kind_``_2, place == 2) \
  if (DEPTH >= 3) begin : g_depth_3 \
    `ALCOR_COVER(c_depth_``kind_``_3_to_4, place >= 3 && place <= 4) \
  end \
  if (DEPTH >= 5) begin : g_depth_5 \
    `ALCOR_COVER(c_depth_``kind_``_5_to_8, place >= 5 && place <= 8) \
  end \
  if (DEPTH >= 9) begin : g_depth_9 \
    `ALCOR_COVER(c_depth_``kind_``_9_to_16, place >= 9 && place <= 16) \
  end \
  if (DEPTH >= 17) begin : g_depth_17 \
    `ALCOR_COVER(c_depth_``kind_``_17_to_32, place >= 17 && place <= 32) \
  end \
  if (DEPTH >= 33) begin : g_depth_33 \
    `ALCOR_COVER(c_depth_``kind_``_33_to_64, place >= 33 && place <= 64) \
  end \
  if (DEPTH >= 65) begin : g_depth_65 \
    `ALCOR_COVER(c_depth_``kind_``_65_to_128, place >= 65 && place <= 128) \
  end \
  if (DEPTH >= 129) begin : g_depth_129 \
    `ALCOR_COVER(c_depth_``kind_``_129_to_256, place >= 129 && place <= 256) \
  end \
  if (DEPTH >= 257) begin : g_depth_257 \
    `ALCOR_COVER(c_depth_``kind_``_257_to_512, place >= 257 && place <= 512) \
  end \
  if (DEPTH >= 513) begin : g_depth_513 \
    `ALCOR_COVER(c_depth_``kind_``_513_to_1024, place >= 513 && place <= 1024) \
  end
  if (POSTED) begin : g_cover_posted
    `ALCOR_COVER_MATCH(posted)
  end else begin : g_cover_unexpected
    `ALCOR_COVER_MATCH(unexpected)
  end
`undef ALCOR_COVER_MATCH
`endif

endmodule

`include "formal.svh"

import alcor_abi_pkg::*;

/// Proof that `match_queue` is a list, with its matching unit: a search or probe finds the oldest matching entry, a
/// search and a removal remove one entry, and all other entries are unchanged.
/// Each result comes after a bounded number of cycles.
///
/// The reference list is a shift register beside the queue, which changes when the queue takes an operation.
module match_list #(
    /// Maximum number of entries.
    parameter int unsigned DEPTH = 3,
    /// 1: posted receives; 0: unexpected messages.
    parameter bit POSTED = 1'b1,
    /// 1: the queue uses its matching unit at every length; 0: the queue never uses the unit.
    parameter bit UNIT = 1'b1,
    /// Match bits.
    parameter int unsigned MATCH_W = 1
) (
    /// Clock.
    input logic                       clk_i,
    /// Synchronous reset, active low.
    input logic                       rst_ni,
    /// An operation is offered; free, except for the assumptions below.
    input logic                       op_valid_i,
    input logic [1:0]                 op_i,
    input logic [MATCH_W-1:0]         op_match_i,
    input logic [MATCH_W-1:0]         append_match_i,
    input logic [MATCH_W-1:0]         op_mask_i,
    input logic [$clog2(DEPTH)-1:0]   op_entry_i
);

  localparam int unsigned EntryW = $clog2(DEPTH);
  localparam int unsigned CountW = $clog2(DEPTH + 1);

  `ALCOR_FORMAL_RESET

  logic op_ready, result_valid, result_found, result_unit, take;
  logic [EntryW-1:0] result_entry, result_tag;
  logic [CountW-1:0] count;
  // list.sby sets the parameters: a unit of 2 cells, BATCH 1, and the parameters above.
  match_queue u_queue (
      .clk_i         (clk_i),
      .rst_ni        (rst_ni),
      .threshold_i   (UNIT ? 16'd0 : 16'hFFFF),
      .op_valid_i    (op_valid_i),
      .op_ready_o    (op_ready),
      .op_i          (op_i),
      .op_match_i    (op_match_i),
      .append_match_i(append_match_i),
      .op_mask_i     (op_mask_i),
      .op_entry_i    (op_entry_i),
      .op_tag_i      (op_entry_i),
      .result_valid_o(result_valid),
      .result_ready_i(1'b1),
      .result_found_o(result_found),
      .result_entry_o(result_entry),
      .result_unit_o (result_unit),
      .result_tag_o  (result_tag),
      .count_o       (count)
  );

  assign take = op_valid_i && op_ready;
  `ALCOR_ASSUME_STABLE(op_valid_i, op_ready, ({op_i, op_match_i, append_match_i, op_mask_i, op_entry_i}))

  // The list, the oldest entry first.
  logic [DEPTH*EntryW-1:0] entries_q;
  logic [DEPTH*MATCH_W-1:0] matches_q, masks_q;
  logic [CountW-1:0] length_q;
  // Place in the list of the entry that an operation removes or finds.
  logic found, held;
  logic [CountW-1:0] place;
  logic [EntryW-1:0] entry;

  always_comb begin
    found = 1'b0;
    held  = 1'b0;
    place = '0;
    for (int unsigned i = 0; i < DEPTH; i++) begin
      if (i < 32'(length_q)) begin
        if (entries_q[i*EntryW+:EntryW] == op_entry_i) held = 1'b1;
        if (!found && (op_i == MoRemove ? entries_q[i*EntryW+:EntryW] == op_entry_i :
            ((matches_q[i*MATCH_W+:MATCH_W] ^ op_match_i) & ~(POSTED ? masks_q[i*MATCH_W+:MATCH_W] : op_mask_i)) == '0)) begin
          found = 1'b1;
          place = CountW'(i);
        end
      end
    end
    entry = EntryW'(entries_q >> (32'(place) * EntryW));
  end

  `ALCOR_ASSUME(32'(op_entry_i) < DEPTH)
  // An appended entry is not in the queue; a removed entry is.
  `ALCOR_ASSUME(!op_valid_i || op_i != MoAppend || (!held && length_q != CountW'(DEPTH)))
  `ALCOR_ASSUME(!op_valid_i || op_i != MoRemove || held)

  // Expected results of the oldest operation without a result, and of the operation after it.
  logic pending_q, found_q, second_q, second_found_q, asks, first;
  logic [EntryW-1:0] entry_q, tag_q, second_entry_q, second_tag_q;
  logic [CountW-1:0] deletes;
  assign asks    = take && op_i != MoAppend;
  assign first   = !pending_q || (result_valid && !second_q);
  assign deletes = CountW'(take && found && (op_i == MoSearch || op_i == MoRemove));

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < DEPTH; i++) begin
      if (deletes != '0 && i >= 32'(place)) begin
        entries_q[i*EntryW+:EntryW]   <= (i + 1 < DEPTH) ? EntryW'(entries_q >> ((i + 1) * EntryW)) : '0;
        matches_q[i*MATCH_W+:MATCH_W] <= (i + 1 < DEPTH) ? MATCH_W'(matches_q >> ((i + 1) * MATCH_W)) : '0;
        masks_q[i*MATCH_W+:MATCH_W]   <= (i + 1 < DEPTH) ? MATCH_W'(masks_q >> ((i + 1) * MATCH_W)) : '0;
      end
      if (take && op_i == MoAppend && i == 32'(length_q)) begin
        entries_q[i*EntryW+:EntryW]   <= op_entry_i;
        matches_q[i*MATCH_W+:MATCH_W] <= append_match_i;
        masks_q[i*MATCH_W+:MATCH_W]   <= op_mask_i;
      end
    end
    if (!rst_ni) begin
      length_q  <= '0;
      pending_q <= 1'b0;
      second_q  <= 1'b0;
    end else begin
      length_q  <= length_q + CountW'(take && op_i == MoAppend) - deletes;
      pending_q <= asks || second_q || (pending_q && !result_valid);
      second_q  <= (asks && !first) || (second_q && !result_valid);
    end
    if (result_valid) begin
      found_q <= second_found_q;
      entry_q <= second_entry_q;
      tag_q   <= second_tag_q;
    end
    if (asks && first) begin
      found_q <= found;
      entry_q <= entry;
      tag_q   <= op_entry_i;
    end
    if (asks && !first) begin
      second_found_q <= found;
      second_entry_q <= entry;
      second_tag_q   <= op_entry_i;
    end
  end

  // Each operation but an append has one result. A search may be taken in the cycle before the result of another
  // operation.
  `ALCOR_IMPLIES(p_one_result, result_valid, pending_q)
  `ALCOR_IMPLIES(p_result_first, take && op_i != MoSearch, !pending_q || result_valid)
  `ALCOR_IMPLIES(p_two_results, take, !second_q)
  `ALCOR_NEXT(p_result_next, take && pending_q && !result_valid, result_valid)
  `ALCOR_IMPLIES(p_tag, result_valid, result_tag == tag_q)
  `ALCOR_IMPLIES(p_found, result_valid, result_found == found_q)
  `ALCOR_IMPLIES(p_entry, result_valid && found_q, result_entry == entry_q)
  `ALCOR_IMPLIES(p_count, op_ready && !pending_q, count == length_q)

  // Bound on the cycles to a result.
  logic [3:0] waits_q;
  always_ff @(posedge clk_i) waits_q <= (rst_ni && pending_q && !result_valid) ? waits_q + 4'(waits_q != '1) : '0;
  `ALCOR_ASSERT(p_answered, waits_q < 4'd12)

  // States of interest, for the task `reached`.
  always @(posedge clk_i) begin
    if (rst_ni) begin
      c_unit : cover (result_valid && result_found && result_unit);
      c_walk : cover (result_valid && result_found && !result_unit && length_q != '0);
      c_second : cover (take && op_i == MoSearch && found && place == CountW'(1));
      c_after : cover (result_valid && result_found && result_unit && length_q >= CountW'(2));
      c_overlap : cover (second_q && result_valid);
      c_full : cover (length_q == CountW'(DEPTH) && pending_q);
    end
  end

endmodule

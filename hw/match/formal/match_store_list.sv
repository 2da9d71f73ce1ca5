`include "formal.svh"

import alcor_match_pkg::*;

/// Proof that the queues of a match store are lists, and that operations of a pair never overtake each other.
///
/// The store has two lanes, two pairs and two contexts. All operations are free, of both pairs. Beside the store is a
/// reference of one pair, which is any of both: two shift registers, which change when the store takes an operation of
/// this pair. The results of the pair must be those of the reference, in order. A search that overtakes another one of
/// its pair, or an entry that is found although an older one matches, gives another result.
module match_store_list (
    /// Clock.
    input logic       clk_i,
    /// Synchronous reset, active low.
    input logic       rst_ni,
    /// An operation is offered; free.
    input logic       op_valid_i,
    input logic [3:0] op_kind_i,
    input logic       op_pair_i,
    input logic       op_match_i,
    input logic       op_mask_i,
    input logic [1:0] op_id_i,
    /// The result is taken; free.
    input logic       result_ready_i,
    /// The pair of the reference; free, and constant.
    input logic       pair_i
);

  `ALCOR_FORMAL_RESET
  always @(posedge clk_i) if (rst_ni) assume ($stable(pair_i));

  logic ready, describes, described_q, second_q, op_valid, op_ready, take, result_valid, result_pair, ends;
  logic [2:0] result_status;
  logic [1:0] result_id, result_found;

  // After the sweep, the pair of the reference gets room for two headers in each queue, the other one for one. The
  // limits add up to the store's six headers, so the outcome of an operation depends on its pair alone.
  assign describes = ready && !described_q;
  assign op_valid  = op_valid_i && described_q;
  assign take      = op_valid && op_ready && op_pair_i == pair_i;
  assign ends      = result_valid && result_ready_i && result_pair == pair_i;

  // list.sby sets the parameters.
  match_store u_store (
      .clk_i                        (clk_i),
      .rst_ni                       (rst_ni),
      .ready_o                      (ready),
      .idle_o                       (),
      .compares_o                   (),
      .descriptor_write_i           (describes),
      .descriptor_pair_i            (second_q),
      .descriptor_source_mask_i     (1'b0),
      .descriptor_tag_mask_i        (1'b0),
      .descriptor_key_i             (1'b0),
      .descriptor_posted_limit_i    ((second_q == pair_i) ? 3'd2 : 3'd1),
      .descriptor_unexpected_limit_i((second_q == pair_i) ? 3'd2 : 3'd1),
      .descriptor_attr_i            (1'b0),
      .resume_i                     (1'b0),
      .stopped_o                    (),
      .look_pair_i                  (1'b0),
      .look_counts_o                (),
      .op_valid_i                   (op_valid),
      .op_ready_o                   (op_ready),
      .op_kind_i                    (op_kind_i),
      .op_pair_i                    (op_pair_i),
      .op_key_i                     (1'b0),
      .op_wild_i                    (2'b00),
      .op_match_i                   (op_match_i),
      .op_mask_i                    (op_mask_i),
      .op_id_i                      (op_id_i),
      .result_valid_o               (result_valid),
      .result_ready_i               (result_ready_i),
      .result_status_o              (result_status),
      .result_port_o                (),
      .result_pair_o                (result_pair),
      .result_attr_o                (),
      .result_id_o                  (result_id),
      .result_found_o               (result_found)
  );

  `ALCOR_ASSUME_STABLE(op_valid, op_ready, ({op_kind_i, op_pair_i, op_match_i, op_mask_i, op_id_i}))

  // The lists, unexpected messages and posted receives: two places each, the oldest header first.
  logic [1:0] count_q[2];
  logic [1:0] match_q[2], mask_q[2];
  logic [3:0] id_q[2];
  logic searched, posted, by_id, keep, append, found, place, stopped_q, refused, removes, appends;
  logic [1:0] hits;
  logic [2:0] status;
  logic [1:0] found_id;

  assign {posted, by_id, keep, append} = op_kind_i;
  assign searched = posted;

  always_comb begin
    for (int unsigned i = 0; i < 2; i++) begin
      hits[i] = 32'(count_q[searched]) > i && (by_id ? id_q[searched][2*i+:2] == op_id_i :
                ((match_q[searched][i] ^ op_match_i) & !(mask_q[searched][i] | op_mask_i)) == 1'b0);
    end
    found    = hits != '0;
    place    = !hits[0];
    found_id = place ? id_q[searched][3:2] : id_q[searched][1:0];
    refused  = (posted && append && stopped_q) || (!found && append && count_q[!searched] == 2'd2);
    status   = MsNone;
    if (found) status = MsFound;
    else if (append) status = MsAppended;
    if (refused) status = MsRefused;
    removes = take && status == MsFound && !keep;
    appends = take && status == MsAppended;
  end

  always_ff @(posedge clk_i) begin
    if (removes && !place) begin
      match_q[searched] <= match_q[searched] >> 1;
      mask_q[searched]  <= mask_q[searched] >> 1;
      id_q[searched]    <= id_q[searched] >> 2;
    end
    if (appends) begin
      match_q[!searched][count_q[!searched][0]]     <= op_match_i;
      mask_q[!searched][count_q[!searched][0]]      <= op_mask_i;
      id_q[!searched][2*count_q[!searched][0]+:2]   <= op_id_i;
    end
    if (!rst_ni) begin
      described_q <= 1'b0;
      second_q    <= 1'b0;
      count_q[0]  <= '0;
      count_q[1]  <= '0;
      stopped_q   <= 1'b0;
    end else begin
      if (describes) second_q <= 1'b1;
      described_q <= described_q || (describes && second_q);
      if (removes) count_q[searched] <= count_q[searched] - 1'b1;
      if (appends) count_q[!searched] <= count_q[!searched] + 1'b1;
      if (take && refused && posted) stopped_q <= 1'b1;
    end
  end

  // Expected results of the operations under way, in a ring: two contexts, and a result that waits.
  logic [1:0] write_q, read_q;
  logic [2:0] waiting_q;
  logic [3:0][2:0] status_q;
  logic [3:0][1:0] op_id_q, found_q;

  always_ff @(posedge clk_i) begin
    if (take) begin
      status_q[write_q] <= status;
      op_id_q[write_q]  <= op_id_i;
      found_q[write_q]  <= found_id;
    end
    if (!rst_ni) begin
      write_q   <= '0;
      read_q    <= '0;
      waiting_q <= '0;
    end else begin
      write_q   <= write_q + 2'(take);
      read_q    <= read_q + 2'(ends);
      waiting_q <= waiting_q + 3'(take) - 3'(ends);
    end
  end

  `ALCOR_IMPLIES(p_expected, ends, waiting_q != '0)
  `ALCOR_IMPLIES(p_order, ends, result_id == op_id_q[read_q])
  `ALCOR_IMPLIES(p_status, ends, result_status == status_q[read_q])
  `ALCOR_IMPLIES(p_found, ends && status_q[read_q] == MsFound, result_found == found_q[read_q])

  // States of interest, for the task `reached`.
  always @(posedge clk_i) begin
    if (rst_ni) begin
      c_second : cover (ends && result_status == MsFound && count_q[1] == 2'd1);
      c_both : cover (waiting_q == 3'd2);
      c_full : cover (ends && result_status == MsRefused);
    end
  end

endmodule

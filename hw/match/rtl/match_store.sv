`include "assertions.svh"

import alcor_match_pkg::*;

/// Header store of many queue pairs with parallel matchers.
///
/// Each queue pair has a queue of posted receives and one of unexpected messages. A message or receive searches the one
/// queue and, if it finds nothing, is appended to the other one: a pair is locked meanwhile, and operations of a pair
/// never overtake each other. Operations of different pairs overlap.
///
/// The store has LANES banks, each with a matcher (`match_lane`). The headers of a queue lie in all lanes in turn, so a
/// search compares LANES entries a cycle, and the searches of different pairs share the matchers entry by entry. The
/// oldest hit of all lanes wins (`match_best`). All headers are from one store: the limits in the descriptors divide it
/// among the queues, and software may change the limits at any time.
module match_store #(
    /// Lanes: banks and matchers, 1 to 64.
    parameter int unsigned LANES = 8,
    /// Headers of a lane, 2 or more.
    parameter int unsigned ENTRIES = 128,
    /// Queue pairs, a power of two, 2 or more.
    parameter int unsigned PAIRS = 8,
    /// Contexts: maximum number of operations under way, 2 or more.
    parameter int unsigned CONTEXTS = 16,
    /// Maximum number of operations of a pair under way.
    parameter int unsigned AHEAD = 2,
    /// Number of entries of a lane at the begin of a search that go before those of longer searches.
    parameter int unsigned BURST = 4,
    /// Ports for operations.
    parameter int unsigned PORTS = 2,
    /// Match bits.
    parameter int unsigned MATCH_W = 72,
    /// Bits of an id: the number of a receive or message, and data of the user.
    parameter int unsigned ID_W = 32,
    /// Bits of a key.
    parameter int unsigned KEY_W = 16,
    /// Bits of a descriptor's attributes.
    parameter int unsigned ATTR_W = 16,
    /// Bits of an age; a header may wait for 2^(AGE_W-1) appends to the store.
    parameter int unsigned AGE_W = 56,
    /// Width of a pair's number; derived, not to be set.
    localparam int unsigned PairW = $clog2(PAIRS),
    /// Width of a port's number; derived, not to be set.
    localparam int unsigned PortW = (PORTS > 1) ? $clog2(PORTS) : 1,
    /// Width of a number of headers; derived, not to be set.
    localparam int unsigned CountW = $clog2(LANES * ENTRIES + 1),
    /// Width of a number of lanes; derived, not to be set.
    localparam int unsigned LanesW = $clog2(LANES + 1)
) (
    /// Clock.
    input  logic                           clk_i,
    /// Synchronous reset, active low; empties all queues and clears all descriptors.
    input  logic                           rst_ni,
    /// The tables are cleared: operations and descriptors are taken.
    output logic                           ready_o,
    /// No operation is under way, and no result waits.
    output logic                           idle_o,
    /// Number of entries compared in this cycle.
    output logic [LanesW-1:0]              compares_o,

    /// Descriptor: written in this cycle; not before `ready_o`.
    input  logic                           descriptor_write_i,
    /// Descriptor: the pair.
    input  logic [PairW-1:0]               descriptor_pair_i,
    /// Descriptor: mask of an operation with any source.
    input  logic [MATCH_W-1:0]             descriptor_source_mask_i,
    /// Descriptor: mask of an operation with any tag.
    input  logic [MATCH_W-1:0]             descriptor_tag_mask_i,
    /// Descriptor: key that an operation must have.
    input  logic [KEY_W-1:0]               descriptor_key_i,
    /// Descriptor: maximum number of posted receives.
    input  logic [CountW-1:0]              descriptor_posted_limit_i,
    /// Descriptor: maximum number of unexpected messages.
    input  logic [CountW-1:0]              descriptor_unexpected_limit_i,
    /// Descriptor: attributes, returned with each result: completion queue, interrupt group, threshold.
    input  logic [ATTR_W-1:0]              descriptor_attr_i,
    /// Pulse: the pair `descriptor_pair_i` takes messages again.
    input  logic                           resume_i,
    /// By pair: messages are refused, since one was refused for lack of room.
    output logic [PAIRS-1:0]               stopped_o,
    /// Counts: the pair.
    input  logic [PairW-1:0]               look_pair_i,
    /// Counts, a cycle later: unexpected messages and posted receives.
    output logic [1:0][CountW-1:0]         look_counts_o,

    /// By port: an operation is offered.
    input  logic [PORTS-1:0]               op_valid_i,
    /// By port: the operation is taken.
    output logic [PORTS-1:0]               op_ready_o,
    /// By port: match_kind_t.
    input  logic [PORTS-1:0][3:0]          op_kind_i,
    /// By port: the queue pair.
    input  logic [PORTS-1:0][PairW-1:0]    op_pair_i,
    /// By port: key.
    input  logic [PORTS-1:0][KEY_W-1:0]    op_key_i,
    /// By port: any tag, any source.
    input  logic [PORTS-1:0][1:0]          op_wild_i,
    /// By port: match bits.
    input  logic [PORTS-1:0][MATCH_W-1:0]  op_match_i,
    /// By port: mask bits besides those of the descriptor; a bit that is set matches either value.
    input  logic [PORTS-1:0][MATCH_W-1:0]  op_mask_i,
    /// By port: id.
    input  logic [PORTS-1:0][ID_W-1:0]     op_id_i,

    /// A result is offered; results of a pair are in order of its operations.
    output logic                           result_valid_o,
    /// The result is taken.
    input  logic                           result_ready_i,
    /// Result: match_status_e.
    output logic [2:0]                     result_status_o,
    /// Result: port of the operation.
    output logic [PortW-1:0]               result_port_o,
    /// Result: the queue pair.
    output logic [PairW-1:0]               result_pair_o,
    /// Result: attributes of the pair's descriptor.
    output logic [ATTR_W-1:0]              result_attr_o,
    /// Result: id of the operation.
    output logic [ID_W-1:0]                result_id_o,
    /// Result: with MsFound, id of the entry found.
    output logic [ID_W-1:0]                result_found_o
);

  localparam int unsigned ContextW = $clog2(CONTEXTS);
  localparam int unsigned LaneW = (LANES > 1) ? $clog2(LANES) : 1;
  localparam int unsigned QueueW = PairW + 1;
  localparam int unsigned Rows = (2 * PAIRS > ENTRIES) ? 2 * PAIRS : ENTRIES;
  localparam int unsigned SweepW = $clog2(Rows);

  logic sweep_q;
  logic [SweepW-1:0] sweep_row_q;

  assign ready_o = !sweep_q;

  // --------------------------------------------------------------------------------- take and start
  logic take, start, release_context, idle;
  logic [PortW-1:0] take_port;
  logic [ContextW-1:0] take_context, start_context, end_context_q;
  logic [CONTEXTS-1:0][PairW-1:0] pairs;

  match_contexts #(
      .PORTS   (PORTS),
      .CONTEXTS(CONTEXTS),
      .PAIRS   (PAIRS),
      .AHEAD   (AHEAD)
  ) u_contexts (
      .clk_i            (clk_i),
      .rst_ni           (rst_ni),
      .enable_i         (!sweep_q),
      .op_valid_i       (op_valid_i),
      .op_ready_o       (op_ready_o),
      .op_pair_i        (op_pair_i),
      .take_o           (take),
      .take_port_o      (take_port),
      .take_context_o   (take_context),
      .start_o          (start),
      .start_context_o  (start_context),
      .release_i        (release_context),
      .release_context_i(end_context_q),
      .pair_o           (pairs),
      .idle_o           (idle)
  );

  // A cycle after it is taken, the operation has its masks, and its key is compared.
  logic put_q;
  logic [ContextW-1:0] put_context_q;
  logic [MATCH_W-1:0] put_match_q, put_own_mask_q, put_mask, source_mask, tag_mask;
  logic [ID_W-1:0] put_id_q;
  logic [KEY_W-1:0] put_key_q, key;
  logic [1:0] put_wild_q;
  logic [CONTEXTS-1:0][3:0] kind_q;
  logic [CONTEXTS-1:0][PortW-1:0] port_q;
  logic [CONTEXTS-1:0] denied_q;
  alcor_match_pkg::match_kind_t put_kind, start_kind, end_kind, finish_kind;

  assign put_kind   = kind_q[put_context_q];
  assign start_kind = kind_q[start_context];
  assign put_mask   = put_own_mask_q | (put_wild_q[0] ? source_mask : '0) | (put_wild_q[1] ? tag_mask : '0);

  logic start_q;
  logic [ContextW-1:0] start_context_q;
  logic [CONTEXTS-1:0] walks_q, ended;

  // ------------------------------------------------------------------------------------------ lanes
  logic [LANES-1:0] hit_valid, hit_ready, room, removes, appends, compares;
  logic [LANES-1:0][ContextW-1:0] hit_context;
  logic [LANES-1:0][AGE_W-1:0] hit_age;
  logic [LANES-1:0][CONTEXTS-1:0] busy;
  logic [LANES-1:0][ID_W-1:0] found_id;
  logic best_write, finish;
  logic [ContextW-1:0] best_context, finish_context;
  logic [AGE_W-1:0] best_age, age_q;
  logic [CONTEXTS-1:0] found, busy_any;
  logic [CONTEXTS-1:0][LaneW-1:0] best_lane;
  logic [QueueW-1:0] finish_queue;
  logic [MATCH_W-1:0] end_match, end_mask;
  logic [ID_W-1:0] end_id;

  for (genvar l = 0; l < LANES; l++) begin : g_lane
    match_lane #(
        .ENTRIES (ENTRIES),
        .QUEUES  (2 * PAIRS),
        .CONTEXTS(CONTEXTS),
        .BURST   (BURST),
        .MATCH_W (MATCH_W),
        .ID_W    (ID_W),
        .AGE_W   (AGE_W),
        .SWEEP_W (SweepW)
    ) u_lane (
        .clk_i           (clk_i),
        .rst_ni          (rst_ni),
        .sweep_i         (sweep_q),
        .sweep_row_i     (sweep_row_q),
        .put_i           (put_q),
        .put_context_i   (put_context_q),
        .put_by_id_i     (put_kind.by_id),
        .put_id_i        (put_id_q),
        .put_match_i     (put_match_q),
        .put_mask_i      (put_mask),
        .start_queue_i   ({start_kind.posted, pairs[start_context]}),
        .start_i         (start_q),
        .start_context_i (start_context_q),
        .start_empty_i   (denied_q[start_context_q]),
        .busy_o          (busy[l]),
        .compare_o       (compares[l]),
        .hit_valid_o     (hit_valid[l]),
        .hit_ready_i     (hit_ready[l]),
        .hit_context_o   (hit_context[l]),
        .hit_age_o       (hit_age[l]),
        .found_i         (found),
        .best_i          (best_write),
        .best_context_i  (best_context),
        .best_age_i      (best_age),
        .finish_i        (finish),
        .finish_context_i(finish_context),
        .finish_queue_i  (finish_queue),
        .found_id_o      (found_id[l]),
        .remove_i        (removes[l]),
        .append_i        (appends[l]),
        .append_id_i     (end_id),
        .append_match_i  (end_match),
        .append_mask_i   (end_mask),
        .append_age_i    (age_q),
        .room_o          (room[l])
    );
  end

  match_best #(
      .LANES   (LANES),
      .CONTEXTS(CONTEXTS),
      .AGE_W   (AGE_W)
  ) u_best (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .clear_i        (start),
      .clear_context_i(start_context),
      .hit_valid_i    (hit_valid),
      .hit_ready_o    (hit_ready),
      .hit_context_i  (hit_context),
      .hit_age_i      (hit_age),
      .write_o        (best_write),
      .write_context_o(best_context),
      .write_age_o    (best_age),
      .found_o        (found),
      .lane_o         (best_lane)
  );

  always_comb begin
    compares_o = '0;
    busy_any   = '0;
    for (int unsigned l = 0; l < LANES; l++) begin
      compares_o += LanesW'(compares[l]);
      busy_any |= busy[l];
    end
  end

  // ----------------------------------------------------------------------------------- end, in two cycles
  // First, one of the operations whose walks have ended is chosen, and the tables are read.
  logic any_ended, end_q, end_found_q, end_go;
  logic [LaneW-1:0] end_lane_q, append_lane;
  logic [1:0][CountW-1:0] limits, counts, counts_next;
  logic [1:0][LaneW-1:0] lanes, lanes_next;
  logic [ATTR_W-1:0] attr;
  logic [PairW-1:0] end_pair;
  logic remove, append, stop;
  alcor_match_pkg::match_status_e status;

  assign ended        = walks_q & ~busy_any;
  assign finish       = any_ended && (!end_q || end_go);
  assign finish_kind  = kind_q[finish_context];
  assign finish_queue = {finish_kind.posted ^ !found[finish_context], pairs[finish_context]};

  rr_arbiter #(
      .N(CONTEXTS)
  ) u_ended (
      .clk_i    (clk_i),
      .rst_ni   (rst_ni),
      .req_i    (ended),
      .advance_i(finish),
      .valid_o  (any_ended),
      .grant_o  (),
      .index_o  (finish_context)
  );

  match_pairs #(
      .PAIRS  (PAIRS),
      .MATCH_W(MATCH_W),
      .KEY_W  (KEY_W),
      .ATTR_W (ATTR_W),
      .COUNT_W(CountW),
      .LANE_W (LaneW)
  ) u_pairs (
      .clk_i                   (clk_i),
      .rst_ni                  (rst_ni),
      .sweep_i                 (sweep_q),
      .sweep_pair_i            (PairW'(sweep_row_q)),
      .write_i                 (descriptor_write_i),
      .write_pair_i            (descriptor_pair_i),
      .write_source_mask_i     (descriptor_source_mask_i),
      .write_tag_mask_i        (descriptor_tag_mask_i),
      .write_key_i             (descriptor_key_i),
      .write_posted_limit_i    (descriptor_posted_limit_i),
      .write_unexpected_limit_i(descriptor_unexpected_limit_i),
      .write_attr_i            (descriptor_attr_i),
      .resume_i                (resume_i),
      .stopped_o               (stopped_o),
      .first_read_i            (take),
      .first_pair_i            (op_pair_i[take_port]),
      .source_mask_o           (source_mask),
      .tag_mask_o              (tag_mask),
      .key_o                   (key),
      .last_read_i             (finish),
      .last_pair_i             (pairs[finish_context]),
      .limits_o                (limits),
      .attr_o                  (attr),
      .counts_o                (counts),
      .lanes_o                 (lanes),
      .update_i                ((remove || append) && end_go),
      .update_pair_i           (end_pair),
      .update_counts_i         (counts_next),
      .update_lanes_i          (lanes_next),
      .stop_i                  (stop && end_go),
      .look_pair_i             (look_pair_i),
      .look_counts_o           (look_counts_o)
  );

  ram_sdp #(
      .WIDTH    (2 * MATCH_W + ID_W),
      .DEPTH    (CONTEXTS),
      .BLOCK_RAM(1'b0)
  ) u_operands (
      .clk_i  (clk_i),
      .we_i   (put_q),
      .waddr_i(put_context_q),
      .wdata_i({put_match_q, put_mask, put_id_q}),
      .re_i   (finish),
      .raddr_i(finish_context),
      .rdata_o({end_match, end_mask, end_id})
  );

  // Then the outcome is known, and the queue changes.
  assign end_kind   = kind_q[end_context_q];
  assign end_pair   = pairs[end_context_q];
  assign end_go     = end_q && (!result_valid_o || result_ready_i);

  match_outcome #(
      .LANES  (LANES),
      .COUNT_W(CountW)
  ) u_outcome (
      .kind_i       (end_kind),
      .denied_i     (denied_q[end_context_q]),
      .stopped_i    (stopped_o[end_pair]),
      .found_i      (end_found_q),
      .limits_i     (limits),
      .counts_i     (counts),
      .lanes_i      (lanes),
      .room_i       (room),
      .status_o     (status),
      .remove_o     (remove),
      .append_o     (append),
      .append_lane_o(append_lane),
      .stop_o       (stop),
      .counts_o     (counts_next),
      .lanes_o      (lanes_next)
  );

  always_comb begin
    for (int unsigned l = 0; l < LANES; l++) begin
      removes[l] = end_go && remove && end_lane_q == LaneW'(l);
      appends[l] = end_go && append && append_lane == LaneW'(l);
    end
  end

  assign release_context = end_go;
  assign idle_o          = idle && !result_valid_o;

  always_ff @(posedge clk_i) begin
    put_context_q   <= take_context;
    put_match_q     <= op_match_i[take_port];
    put_own_mask_q  <= op_mask_i[take_port];
    put_id_q        <= op_id_i[take_port];
    put_key_q       <= op_key_i[take_port];
    put_wild_q      <= op_wild_i[take_port];
    start_context_q <= start_context;
    if (take) begin
      kind_q[take_context] <= op_kind_i[take_port];
      port_q[take_context] <= take_port;
    end
    if (put_q) denied_q[put_context_q] <= put_key_q != key;
    if (finish) begin
      end_context_q <= finish_context;
      end_found_q   <= found[finish_context];
      end_lane_q    <= best_lane[finish_context];
    end
    if (end_go) begin
      result_status_o <= status;
      result_port_o   <= port_q[end_context_q];
      result_pair_o   <= end_pair;
      result_attr_o   <= attr;
      result_id_o     <= end_id;
      result_found_o  <= found_id[end_lane_q];
    end
    if (!rst_ni) begin
      sweep_q        <= 1'b1;
      sweep_row_q    <= '0;
      put_q          <= 1'b0;
      start_q        <= 1'b0;
      walks_q        <= '0;
      end_q          <= 1'b0;
      age_q          <= '0;
      result_valid_o <= 1'b0;
    end else begin
      if (sweep_row_q == SweepW'(Rows - 1)) sweep_q <= 1'b0;
      if (sweep_q) sweep_row_q <= sweep_row_q + 1'b1;
      put_q   <= take;
      start_q <= start;
      if (start_q) walks_q[start_context_q] <= 1'b1;
      if (finish) walks_q[finish_context] <= 1'b0;
      end_q          <= finish || (end_q && !end_go);
      result_valid_o <= end_go || (result_valid_o && !result_ready_i);
      age_q          <= age_q + AGE_W'(end_go && append);
    end
  end

  `ALCOR_CHECK_PARAM(g_check_lanes, LANES >= 1 && LANES <= 64, "match_store: LANES must be 1 to 64")
  `ALCOR_CHECK_PARAM(g_check_pairs, PAIRS >= 2 && (PAIRS & (PAIRS - 1)) == 0,
                     "match_store: PAIRS must be a power of two, 2 or more")

  for (genvar p = 0; p < PORTS; p++) begin : g_port
    `ALCOR_STABLE(a_op_stable, op_valid_i[p], op_ready_o[p],
                  {op_kind_i[p], op_pair_i[p], op_key_i[p], op_wild_i[p], op_match_i[p], op_mask_i[p], op_id_i[p]})
  end
  `ALCOR_STABLE(a_result_stable, result_valid_o, result_ready_i,
                {result_status_o, result_port_o, result_pair_o, result_attr_o, result_id_o, result_found_o})
  `ALCOR_IMPLIES(a_found_is_counted, end_q && status == MsFound, counts[end_kind.posted] != '0)
  `ALCOR_IMPLIES(a_descriptor_ready, descriptor_write_i || resume_i, ready_o)

endmodule

// Properties of `alpu`, included at its end if FORMAL is defined. A reference list, a plain queue of entries,
// follows the unit, and gives its expected state and results in each cycle.

localparam int unsigned EntryW = 2 * MATCH_W + TAG_W;
localparam int unsigned RequestW = 2 * MATCH_W + 1 + ID_W;
localparam int unsigned AtW = $clog2(CELLS + 1);

// Reset in the first cycle; an offered request or command stays valid and unchanged until it is taken.
logic f_started = 1'b0;
always_ff @(posedge clk_i) f_started <= 1'b1;
always @(posedge clk_i) begin
  assume (rst_ni == f_started);
  if (rst_ni && $past(rst_ni)) begin
    if ($past(request_valid_i && !request_ready_o)) begin
      assume (request_valid_i && $stable({request_probe_i, request_id_i, request_match_i, request_mask_i}));
    end
    if ($past(command_valid_i && !command_ready_o)) begin
      assume (command_valid_i
          && $stable({command_op_i, command_id_i, command_tag_i, command_match_i, command_mask_i}));
    end
  end
end

// ------------------------------------------------------------------------------------------ the list
// Entry 0 is the head. An entry that was inserted in the cycle before is fresh: the unit compared the decided
// request before the insertion.
logic [CELLS*EntryW-1:0] f_list_d, f_list_q;
logic [AtW-1:0] f_count_d, f_count_q;
logic f_fresh_q;
// Mask bits of the inserted entry, and of the decided request.
logic [MATCH_W-1:0] f_mask, f_mask0, f_mask1, f_request_mask, f_mask3;
if (POSTED) begin : g_f_posted
  assign f_mask         = command_mask_i;
  assign f_mask0        = '0;
  assign f_mask1        = '0;
  assign f_request_mask = '0;
  assign f_mask3        = '0;
end else begin : g_f_unexpected
  assign f_mask         = '0;
  assign f_mask0        = request_mask_i;
  assign f_mask1        = g_unexpected.mask1_q;
  assign f_request_mask = g_unexpected.mask2_q;
  assign f_mask3        = g_unexpected.mask3_q;
end

logic f_hit, f_hit_fresh, f_tag_hit;
logic [AtW-1:0] f_at, f_tag_at;
logic [TAG_W-1:0] f_tag, f_won_q;

always_comb begin
  f_hit       = 1'b0;
  f_hit_fresh = 1'b0;
  f_tag_hit   = 1'b0;
  f_at        = '0;
  f_tag_at    = '0;
  f_tag       = '0;
  for (int i = CELLS - 1; i >= 0; i--) begin
    if (AtW'(i) < f_count_q) begin
      if (((f_list_q[i*EntryW+MATCH_W+TAG_W+:MATCH_W] ^ match2_q)
          & ~(f_list_q[i*EntryW+TAG_W+:MATCH_W] | f_request_mask)) == '0) begin
        f_hit_fresh = 1'b1;
        if (!(f_fresh_q && AtW'(i + 1) == f_count_q)) begin
          f_hit = 1'b1;
          f_at  = AtW'(i);
          f_tag = f_list_q[i*EntryW+:TAG_W];
        end
      end
      if (f_list_q[i*EntryW+:TAG_W] == scan_tag_q) begin
        f_tag_hit = 1'b1;
        f_tag_at  = AtW'(i);
      end
    end
  end
end

logic f_remove;
logic [AtW-1:0] f_remove_at, f_rest;
assign f_remove    = (state_q == StDelete) ? f_tag_hit : turn && !start2_q && !probe2_q && f_hit;
assign f_remove_at = (state_q == StDelete) ? f_tag_at : f_at;
assign f_rest      = f_count_q - AtW'(f_remove);

always_comb begin
  f_list_d  = f_list_q;
  f_count_d = f_rest;
  for (int i = 0; i < CELLS; i++) begin
    if (f_remove && AtW'(i) >= f_remove_at && i + 1 < CELLS) begin
      f_list_d[i*EntryW+:EntryW] = f_list_q[((i+1)%CELLS)*EntryW+:EntryW];
    end
  end
  for (int i = 0; i < CELLS; i++) begin
    if (insert && AtW'(i) == f_rest) begin
      f_list_d[i*EntryW+:EntryW] = {command_match_i, f_mask, command_tag_i};
    end
  end
  if (insert) f_count_d = f_rest + 1'b1;
  if (clear) f_count_d = '0;
end

always_ff @(posedge clk_i) begin
  f_list_q  <= f_list_d;
  f_count_q <= f_count_d;
  f_fresh_q <= insert;
  f_won_q   <= (state_q == StDelete) ? (f_tag_hit ? scan_tag_q : '0) : f_tag;
  if (!rst_ni) begin
    f_count_q <= '0;
    f_fresh_q <= 1'b0;
  end
end

// The valid cells, from the highest on, equal the reference list: in order, without lost or duplicated entries.
logic f_same;
logic [AtW-1:0] f_n;
always_comb begin
  f_same = 1'b1;
  f_n    = '0;
  for (int c = CELLS - 1; c >= 0; c--) begin
    if (f_cells[c*(EntryW+1)+EntryW]) begin
      f_same = f_same && f_n < f_count_q
          && f_cells[c*(EntryW+1)+:EntryW] == EntryW'(f_list_q >> (32'(f_n) * EntryW));
      f_n    = f_n + 1'b1;
    end
  end
  f_same = f_same && f_n == f_count_q;
end
`ALCOR_ASSERT(p_list, f_same)
`ALCOR_ASSERT(p_count, count_o == f_count_q)

// A request finds the first matching entry; a search for a tag finds the tag if an entry has it.
`ALCOR_IMPLIES(p_found, turn && !start2_q, found == f_hit)
`ALCOR_IMPLIES(p_found_tag, state_q == StDelete, found == f_tag_hit)
`ALCOR_IMPLIES(p_tag, result_q && (kind_q == AR_MATCH_SUCCESS || kind_q == AR_PROBE_SUCCESS || kind_q == AR_CANCEL_SUCCESS),
               value == ValueW'(f_won_q))
// START_ACKNOWLEDGE has the exact number of free cells.
`ALCOR_IMPLIES(p_free, result_q && kind_q == AR_START_ACKNOWLEDGE, 32'(value) == CELLS - 32'(f_count_q))
// In insert mode no request fails; in match mode a request fails only if no entry matches.
`ALCOR_IMPLIES(p_no_failure, inserting_o && decided, found || start2_q)
`ALCOR_IMPLIES(p_real_failure, decided && !found && !start2_q, !f_hit_fresh)
// A taken insertion has a free cell.
`ALCOR_IMPLIES(p_room, insert, f_count_q < AtW'(CELLS))

// ------------------------------------------------------------------------- requests under way
// The taken requests in their order: the unit decides them in this order, each once.
logic [3*RequestW-1:0] f_requests_d, f_requests_q;
logic [1:0] f_under_d, f_under_q, f_left;
logic f_in, f_out;
logic [RequestW-1:0] f_in_request, f_place1, f_place2, f_place3;
assign f_in    = take || start;
// START INSERT has an id only.
assign f_in_request = start ? {{2 * MATCH_W + 1{1'b0}}, command_id_q} : {f_mask0, request_match_i, request_probe_i, request_id_i};
assign f_place1 = (v1_q && start1_q) ? {{2 * MATCH_W + 1{1'b0}}, id1_q} : {f_mask1, match1_q, probe1_q, id1_q};
assign f_place2 = (v2_q && start2_q) ? {{2 * MATCH_W + 1{1'b0}}, id2_q} : {f_request_mask, match2_q, probe2_q, id2_q};
assign f_place3 = {f_mask3, match3_q, probe3_q, id3_q};
assign f_out   = decided;
assign f_left  = f_under_q - 2'(f_out);
always_comb begin
  f_requests_d = f_out ? f_requests_q >> RequestW : f_requests_q;
  for (int i = 0; i < 3; i++) begin
    if (f_in && f_left == 2'(i)) f_requests_d[i*RequestW+:RequestW] = f_in_request;
  end
  f_under_d = f_left + 2'(f_in);
end
always_ff @(posedge clk_i) begin
  f_requests_q <= f_requests_d;
  f_under_q    <= f_under_d;
  if (!rst_ni) f_under_q <= '0;
end

// Order in which the places are decided: from the place that is first, otherwise from place 2.
logic [2:0] f_v;
logic [3*RequestW-1:0] f_places, f_ring;
logic [1:0] f_ring_n;
always_comb begin
  f_v      = {v3_q, v1_q, v2_q};
  f_places = {f_place3, f_place1, f_place2};
  if (first3_q) begin
    f_v      = {v1_q, v2_q, v3_q};
    f_places = {f_place1, f_place2, f_place3};
  end else if (first1_q) begin
    f_v      = {v2_q, v3_q, v1_q};
    f_places = {f_place2, f_place3, f_place1};
  end
  f_ring   = '0;
  f_ring_n = '0;
  for (int i = 2; i >= 0; i--) begin
    if (f_v[i]) begin
      f_ring   = (f_ring << RequestW) | (3 * RequestW)'(f_places[i*RequestW+:RequestW]);
      f_ring_n = f_ring_n + 1'b1;
    end
  end
end
logic f_ring_same;
always_comb begin
  f_ring_same = f_ring_n == f_under_q;
  for (int i = 0; i < 3; i++) begin
    if (2'(i) < f_under_q && f_ring[i*RequestW+:RequestW] != f_requests_q[i*RequestW+:RequestW]) f_ring_same = 1'b0;
  end
end
`ALCOR_ASSERT(p_requests, f_ring_same)
`ALCOR_IMPLIES(p_in_order, decided, f_under_q != '0 && f_place2 == f_requests_q[RequestW-1:0])
// A result has the id of its request or command.
logic [ID_W-1:0] f_id_q;
always_ff @(posedge clk_i) f_id_q <= (state_q == StDelete) ? command_id_q : f_requests_q[ID_W-1:0];
`ALCOR_IMPLIES(p_id, result_q, result_id_q == f_id_q)
// RESET, and CANCEL in match mode, take effect after all requests that were taken before.
`ALCOR_IMPLIES(p_reset_behind, clear, f_under_q == '0)
`ALCOR_IMPLIES(p_search_behind, (state_q == StLoad || state_q == StScan || state_q == StDelete) && !inserting_o,
               f_under_q == '0)
// In insert mode CANCEL takes effect when the first held request was compared with every entry, and none matches.
logic f_head_hit;
always_comb begin
  f_head_hit = 1'b0;
  for (int i = 0; i < CELLS; i++) begin
    if (AtW'(i) < f_count_q && ((f_list_q[i*EntryW+MATCH_W+TAG_W+:MATCH_W] ^ f_requests_q[ID_W+1+:MATCH_W])
        & ~(f_list_q[i*EntryW+TAG_W+:MATCH_W] | f_requests_q[ID_W+1+MATCH_W+:MATCH_W])) == '0) f_head_hit = 1'b1;
  end
end
`ALCOR_IMPLIES(p_search_settled, state_q == StLoad && f_under_q != '0, !f_head_hit)
// The reserved room equals the number of results of all requests and commands under way.
`ALCOR_ASSERT(p_owed, 32'(owed_q) == 32'(f_under_q) + 32'(result_q) + 32'(results_held)
              + 32'(state_q == StLoad || state_q == StScan || state_q == StDelete))
`ALCOR_ASSERT(p_owed_range, owed_q <= OwedW'(RESULTS))
`ALCOR_ASSERT(p_room_known, room_q == (owed_q != OwedW'(RESULTS)))

`ifdef FORMAL_BOUNDED
// At the ports: after an acknowledgement is taken, no failure is offered until the STOP INSERT or RESET that
// ends this insert mode is taken. STOP INSERT or RESET may be taken before the acknowledgement.
logic [3:0] f_begun_q, f_ended_q;
always_ff @(posedge clk_i) begin
  if (result_valid_o && result_ready_i && result_kind_o == AR_START_ACKNOWLEDGE) f_begun_q <= f_begun_q + 1'b1;
  if (command_valid_i && command_ready_o && inserting_o
      && (command_op_i == AO_STOP_INSERT || command_op_i == AO_RESET)) begin
    f_ended_q <= f_ended_q + 1'b1;
  end
  if (!rst_ni) begin
    f_begun_q <= '0;
    f_ended_q <= '0;
  end
end
`ALCOR_IMPLIES(p_no_failure_offered, f_begun_q > f_ended_q && result_valid_o,
               result_kind_o != AR_MATCH_FAILURE && result_kind_o != AR_PROBE_FAILURE)
`endif

// --------------------------------------------------------------------- invariants of the induction
`ALCOR_IMPLIES(p_first, v3_q, first1_q || first2_q || first3_q || again1_q || again2_q)
`ALCOR_ASSERT(p_again, (!again1_q || v1_q) && (!again2_q || v2_q))
`ALCOR_IMPLIES(p_start_once, (v1_q && start1_q) || (v2_q && start2_q), state_q == StStarting && !inserting_o)
`ALCOR_IMPLIES(p_starting, state_q == StStarting, !inserting_o && ((v1_q && start1_q) ^ (v2_q && start2_q)))
`ALCOR_IMPLIES(p_start, state_q == StStart, !inserting_o)
`ALCOR_IMPLIES(p_reset_mode, state_q == StReset, !inserting_o)

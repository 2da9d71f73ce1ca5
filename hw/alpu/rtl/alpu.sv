`include "assertions.svh"

import alcor_abi_pkg::*;

/// Associative list processing unit (Brightwell et al. 2005): a list of entries that requests are
/// matched with, in list order.
///
/// Requests, commands and results are three valid/ready streams. Requests and commands take effect
/// in the order in which they are taken; a request takes effect before a command that is taken in
/// the same cycle. Results come in the order of their effects, so results of requests come in the
/// order of the requests.
///
/// A request is on offer in cycle 0, compared with all entries in cycle 1, and decided in cycle 2:
/// the first entry that matches wins and is deleted at the end of that cycle. Its tag is read in
/// cycle 3; the result is on offer in cycle 4. A request can be taken in each cycle.
///
/// In insert mode, a request that fails is held, with the requests behind it, and decided again
/// every third cycle, until an entry matches or insert mode ends.
module alpu #(
    /// Number of entries of the list, a multiple of BLOCK.
    parameter int unsigned CELLS = 256,
    /// Cells of a block, a power of two from 2.
    parameter int unsigned BLOCK = 16,
    /// 1: for posted receives, an entry has mask bits; 0: for unexpected messages, a request has them.
    parameter bit POSTED = 1'b1,
    /// Match bits.
    parameter int unsigned MATCH_W = alcor_abi_pkg::MatchW,
    /// Tag bits.
    parameter int unsigned TAG_W = 16,
    /// Bits of an id.
    parameter int unsigned ID_W = 8,
    /// Number of results that can wait, 4 or more; from 6 on, a request can be taken in
    /// each cycle.
    parameter int unsigned RESULTS = 8,
    /// Width of the number of entries; derived, not to be set.
    localparam int unsigned CountW = $clog2(CELLS + 1),
    /// Width of a result's value; derived, not to be set.
    localparam int unsigned ValueW = (TAG_W > CountW) ? TAG_W : CountW
) (
    /// Clock.
    input  logic               clk_i,
    /// Synchronous reset, active low; empties the list and drops requests under way.
    input  logic               rst_ni,

    /// Request: a request is offered.
    input  logic               request_valid_i,
    /// Request: the request is taken.
    output logic               request_ready_o,
    /// Request: an entry that matches is not deleted (AO_PROBE in place of AO_MATCH).
    input  logic               request_probe_i,
    /// Request: an id, returned with the result.
    input  logic [   ID_W-1:0] request_id_i,
    /// Request: match bits.
    input  logic [MATCH_W-1:0] request_match_i,
    /// Request: mask bits, of a unit for unexpected messages; a bit that is set matches either value.
    input  logic [MATCH_W-1:0] request_mask_i,

    /// Command: a command is offered.
    input  logic               command_valid_i,
    /// Command: the command is taken.
    output logic               command_ready_o,
    /// Command: one of alpu_op_e; other values are discarded.
    input  logic [        3:0] command_op_i,
    /// Command: an id, returned with the result, if the command has one.
    input  logic [   ID_W-1:0] command_id_i,
    /// Command: tag, of AO_INSERT and AO_CANCEL.
    input  logic [  TAG_W-1:0] command_tag_i,
    /// Command: match bits, of AO_INSERT.
    input  logic [MATCH_W-1:0] command_match_i,
    /// Command: mask bits, of AO_INSERT into a unit for posted receives; a bit that is set matches either
    /// value.
    input  logic [MATCH_W-1:0] command_mask_i,

    /// Result: a result is offered.
    output logic               result_valid_o,
    /// Result: the result is taken.
    input  logic               result_ready_i,
    /// Result: one of alpu_result_e.
    output logic [        2:0] result_kind_o,
    /// Result: the id of the request or command.
    output logic [   ID_W-1:0] result_id_o,
    /// Result: a tag, or the number of free cells; zero where nothing was found.
    output logic [ ValueW-1:0] result_value_o,

    /// Entries in the list.
    output logic [ CountW-1:0] count_o,
    /// Insert mode.
    output logic               inserting_o,
    /// Commands that were discarded, modulo 2^32.
    output logic [       31:0] discarded_o
);

  localparam int unsigned OwedW = $clog2(RESULTS + 1);
  localparam int unsigned StepW = $clog2(BLOCK);

  // Commands that take longer than a cycle, step by step.
  typedef enum logic [2:0] {
    StRun,       // commands are taken
    StStart,     // START INSERT waits for its turn
    StStarting,  // START INSERT passes through the pipeline
    StReset,     // RESET waits until no request is under way
    StCancel,    // CANCEL waits until no request can be decided
    StLoad,      // CANCEL: cells are loaded
    StScan,      // CANCEL: tags are compared, a cell a cycle
    StDelete     // CANCEL: first hit is deleted
  } state_e;

  state_e state_d, state_q;
  logic inserting_d;
  logic [CountW-1:0] count_d;
  logic full, insert, discard, clear;
  logic [ID_W-1:0] command_id_q;
  logic [TAG_W-1:0] scan_tag_q;
  logic [StepW-1:0] step_q;
  logic waited_q;

  // ------------------------------------------------------------------------------------- requests
  // Three places, each of which a request passes in each cycle: compared (1), decided (2), decided in the
  // cycle before (3). What is in place 3 was not decided, and goes round again. While anything goes round
  // nothing is taken, so their order stays that in which they came. The first of them is marked: those
  // behind it are decided only when it has been.
  logic v1_q, v2_q, v3_q, again1_q, again2_q, first1_q, first2_q, first3_q;
  logic start1_q, start2_q, probe1_q, probe2_q, probe3_q;
  logic [ID_W-1:0] id1_q, id2_q, id3_q;
  logic [MATCH_W-1:0] match1_q, match2_q, match3_q, match0, mask0;
  logic take, start, quiet, scanning, turn, found, decided, failed;

  // Room for a result is set aside for each request that is taken, so that nothing that is under way ever
  // has to wait.
  logic room_q, owe, pay;
  logic [OwedW-1:0] owed_d, owed_q, results_held;

  assign quiet           = !again1_q && !again2_q && !v3_q;
  assign request_ready_o = (state_q == StRun || state_q == StStarting) && quiet && room_q;
  assign take            = request_valid_i && request_ready_o;
  assign start           = state_q == StStart && quiet && room_q;
  assign match0          = v3_q ? match3_q : request_match_i;

  assign scanning = state_q == StLoad || state_q == StScan;
  assign turn     = v2_q && !first1_q && !first3_q && !scanning && state_q != StDelete;
  assign decided  = turn && (found || !inserting_o || start2_q);
  assign failed   = turn && !found && inserting_o && !start2_q;

  always_ff @(posedge clk_i) begin
    v1_q     <= v3_q || take || start;
    v2_q     <= v1_q;
    v3_q     <= v2_q && !decided;
    again1_q <= v3_q;
    again2_q <= again1_q;
    first1_q <= first3_q;
    first2_q <= first1_q;
    first3_q <= failed || (first2_q && !decided);
    if (!rst_ni) begin
      v1_q     <= 1'b0;
      v2_q     <= 1'b0;
      v3_q     <= 1'b0;
      again1_q <= 1'b0;
      again2_q <= 1'b0;
      first1_q <= 1'b0;
      first2_q <= 1'b0;
      first3_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    start1_q <= start;
    probe1_q <= v3_q ? probe3_q : request_probe_i;
    id1_q    <= v3_q ? id3_q : start ? command_id_q : request_id_i;
    match1_q <= match0;
    start2_q <= start1_q;
    probe2_q <= probe1_q;
    id2_q    <= id1_q;
    match2_q <= match1_q;
    probe3_q <= probe2_q;
    id3_q    <= id2_q;
    match3_q <= match2_q;
  end

  if (POSTED) begin : g_posted
    assign mask0 = '0;
  end else begin : g_unexpected
    logic [MATCH_W-1:0] mask1_q, mask2_q, mask3_q;
    assign mask0 = v3_q ? mask3_q : request_mask_i;
    always_ff @(posedge clk_i) begin
      mask1_q <= mask0;
      mask2_q <= mask1_q;
      mask3_q <= mask2_q;
    end
  end

  // ------------------------------------------------------------------------------------- commands
  assign command_ready_o = state_q == StRun;
  assign full            = count_o == CountW'(CELLS);

  always_comb begin
    state_d     = state_q;
    inserting_d = inserting_o;
    insert      = 1'b0;
    discard     = 1'b0;
    clear       = 1'b0;
    unique case (state_q)
      StRun: begin
        if (command_valid_i) begin
          unique case (command_op_i)
            AO_START_INSERT: begin
              if (inserting_o) discard = 1'b1;
              else state_d = StStart;
            end
            AO_INSERT: begin
              insert  = inserting_o && !full;
              discard = !insert;
            end
            AO_STOP_INSERT: begin
              inserting_d = 1'b0;
              discard     = !inserting_o;
            end
            AO_RESET: begin
              inserting_d = 1'b0;
              state_d     = StReset;
            end
            AO_CANCEL: state_d = StCancel;
            default: discard = 1'b1;
          endcase
        end
      end
      StStart: if (start) state_d = StStarting;
      StStarting: begin
        if (v2_q && start2_q) begin
          inserting_d = 1'b1;
          state_d     = StRun;
        end
      end
      StReset: begin
        if (!v1_q && !v2_q && !v3_q) begin
          clear   = 1'b1;
          state_d = StRun;
        end
      end
      StCancel: begin
        // All that was taken before is decided, or held behind a request that has been compared with all
        // entries and has failed.
        if (room_q && ((!v1_q && !v2_q && !v3_q) || (inserting_o && first3_q && waited_q))) state_d = StLoad;
      end
      StLoad: state_d = StScan;
      StScan: if (step_q == StepW'(BLOCK - 1)) state_d = StDelete;
      StDelete: state_d = StRun;
      default: state_d = StRun;
    endcase
  end

  always_ff @(posedge clk_i) begin
    waited_q <= state_q == StCancel;
    step_q   <= (state_q == StScan) ? step_q + 1'b1 : '0;
    if (state_q == StRun) begin
      command_id_q <= command_id_i;
      scan_tag_q   <= command_tag_i;
    end
    if (!rst_ni) begin
      state_q     <= StRun;
      inserting_o <= 1'b0;
      discarded_o <= '0;
    end else begin
      state_q     <= state_d;
      inserting_o <= inserting_d;
      if (discard) discarded_o <= discarded_o + 1'b1;
    end
  end

  // ------------------------------------------------------------------------------------- the list
  logic remove, removed;
  logic [TAG_W-1:0] tag;
`ifdef FORMAL
  logic [CELLS*(1+2*MATCH_W+TAG_W)-1:0] f_cells;
`endif

  assign remove  = (turn && !probe2_q && !start2_q) || state_q == StDelete;
  assign removed = remove && found;

  alpu_array #(
      .CELLS  (CELLS),
      .BLOCK  (BLOCK),
      .POSTED (POSTED),
      .MATCH_W(MATCH_W),
      .TAG_W  (TAG_W)
  ) u_array (
      .clk_i         (clk_i),
      .rst_ni        (rst_ni),
      .clear_i       (clear),
      .insert_i      (insert),
      .match_i       (command_match_i),
      .mask_i        (command_mask_i),
      .tag_i         (command_tag_i),
      .request_i     (match0),
      .request_mask_i(mask0),
      .busy_i        (v1_q),
      .found_o       (found),
      .delete_i      (remove),
      .tag_o         (tag),
      .scan_i        (scanning),
      .scan_load_i   (state_q == StLoad),
`ifdef FORMAL
      .cells_o       (f_cells),
`endif
      .scan_tag_i    (scan_tag_q)
  );

  always_comb begin
    count_d = count_o;
    if (insert && !removed) count_d = count_o + 1'b1;
    if (!insert && removed) count_d = count_o - 1'b1;
    if (clear) count_d = '0;
  end

  always_ff @(posedge clk_i) begin
    count_o <= count_d;
    if (!rst_ni) count_o <= '0;
  end

  // -------------------------------------------------------------------------------------- results
  logic result_q, result_ready;
  logic [2:0] kind_q;
  logic [ID_W-1:0] result_id_q;
  logic [ValueW-1:0] value;

  always_ff @(posedge clk_i) begin
    result_q <= decided || state_q == StDelete;
    if (state_q == StDelete) kind_q <= found ? AR_CANCEL_SUCCESS : AR_CANCEL_FAILURE;
    else if (start2_q) kind_q <= AR_START_ACKNOWLEDGE;
    else if (probe2_q) kind_q <= found ? AR_PROBE_SUCCESS : AR_PROBE_FAILURE;
    else kind_q <= found ? AR_MATCH_SUCCESS : AR_MATCH_FAILURE;
    result_id_q <= (state_q == StDelete) ? command_id_q : id2_q;
    if (!rst_ni) result_q <= 1'b0;
  end

  // Nothing can have changed since the acknowledgement was decided: insert mode has only just begun.
  assign value = (kind_q == AR_START_ACKNOWLEDGE) ? ValueW'(CountW'(CELLS) - count_o) : ValueW'(tag);

  fifo #(
      .WIDTH(3 + ID_W + ValueW),
      .DEPTH(RESULTS)
  ) u_results (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i(result_q),
      .ready_o(result_ready),
      .data_i ({kind_q, result_id_q, value}),
      .valid_o(result_valid_o),
      .ready_i(result_ready_i),
      .data_o ({result_kind_o, result_id_o, result_value_o}),
      .empty_o(),
      .usage_o(results_held)
  );

  assign owe = take || start || (state_q == StCancel && state_d == StLoad);
  assign pay = result_valid_o && result_ready_i;

  always_comb begin
    owed_d = owed_q;
    if (owe && !pay) owed_d = owed_q + 1'b1;
    if (!owe && pay) owed_d = owed_q - 1'b1;
  end

  always_ff @(posedge clk_i) begin
    owed_q <= owed_d;
    room_q <= owed_d != OwedW'(RESULTS);
    if (!rst_ni) begin
      owed_q <= '0;
      room_q <= 1'b1;
    end
  end

  // Three for held requests; one for a CANCEL, which would otherwise wait for a later STOP INSERT.
  `ALCOR_CHECK_PARAM(g_check_results, RESULTS >= 4, "alpu: RESULTS must be 4 or more")
  `ALCOR_CHECK_PARAM(g_check_widths, MATCH_W >= 1 && TAG_W >= 1 && ID_W >= 1,
                     "alpu: MATCH_W, TAG_W and ID_W must be 1 or more")

  `ALCOR_STABLE(a_request_stable, request_valid_i, request_ready_o,
                {request_probe_i, request_id_i, request_match_i, request_mask_i})
  `ALCOR_STABLE(a_command_stable, command_valid_i, command_ready_o,
                {command_op_i, command_id_i, command_tag_i, command_match_i, command_mask_i})
  `ALCOR_STABLE(a_result_stable, result_valid_o, result_ready_i,
                {result_kind_o, result_id_o, result_value_o})
  `ALCOR_IMPLIES(a_result_has_room, result_q, result_ready)
  `ALCOR_ASSERT(a_owed, owed_q >= results_held)
  `ALCOR_ASSERT(a_one_is_first, (2'(first1_q) + 2'(first2_q) + 2'(first3_q)) <= 2'd1)
  `ALCOR_ASSERT(a_first_is_one, (!first1_q || v1_q) && (!first2_q || v2_q) && (!first3_q || v3_q))
  `ALCOR_NEXT(a_no_failure, decided && inserting_o, kind_q != AR_MATCH_FAILURE && kind_q != AR_PROBE_FAILURE)
  `ALCOR_IMPLIES(a_count, removed, count_o != '0)

`ifdef FORMAL
  `include "alpu_properties.svh"
`endif

endmodule

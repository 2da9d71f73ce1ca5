`include "assertions.svh"

import alcor_abi_pkg::*;

/// Matches the messages that arrive at a rank with the receives that its host posts.
///
/// A message takes its entry when it arrives, and waits in a FIFO for its search (`message_arrivals`). A message
/// searches for a receive and, if there is none, is appended to the unexpected messages; a receive searches for a
/// message and, if there is none, is appended to the posted receives. Messages follow each other in three stages: the
/// search is offered, the search is under way, the message is matched or appended. A command of the host begins when no
/// message is in a stage, and ends before the next message enters the first one. So neither can pass the other. A
/// matched pair goes to `message_delivery`, with the entries of both.
///
/// A receive's entry is its command id, chosen by the host. `message_arrivals` chooses a message's entry, and gives the
/// verdict on its payload.
module message_matcher #(
    /// Number of posted receives, and of unexpected messages, that fit; a power of two.
    parameter int unsigned DEPTH = 256,
    /// Cells of each matching unit.
    parameter int unsigned CELLS = 16,
    /// Cells of a block of the matching units.
    parameter int unsigned BLOCK = 8,
    /// Bytes of a fragment of the unexpected message buffer, a power of two.
    parameter int unsigned FRAGMENT = 256,
    /// Bytes of node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Maximum number of payloads under way into receive buffers without a fragment.
    parameter int unsigned DIRECT = 8,
    /// Width of an entry; derived, not to be set.
    localparam int unsigned EntryW = $clog2(DEPTH),
    /// Width of a number of entries; derived, not to be set.
    localparam int unsigned CountW = $clog2(DEPTH + 1)
) (
    /// Clock.
    input  logic                             clk_i,
    /// Synchronous reset, active low; empties both queues.
    input  logic                             rst_ni,
    /// The tables are cleared.
    output logic                             ready_o,
    /// No operation is under way in this block.
    output logic                             idle_o,
    /// The rank is being reset: messages are refused.
    input  logic                             closed_i,
    /// Thresholds and quota.
    input  alcor_abi_pkg::matcher_settings_t settings_i,
    /// Counts of entries and matches.
    output alcor_abi_pkg::matcher_counts_t   counts_o,

    /// A message arrives; its source is valid one cycle earlier.
    input  logic                             arrival_valid_i,
    /// The message is taken.
    output logic                             arrival_ready_o,
    /// The message is refused and dropped, because there is no room.
    output logic                             arrival_refused_o,
    /// With `arrival_refused_o`: sources whose messages are refused; 0 if the message has no serial number.
    output logic [4:0]                       arrival_line_o,
    /// The message. A recall drops the waiting messages of its source; its verdict is a refusal.
    input  alcor_abi_pkg::arrival_t          arrival_i,
    /// The payload that waits for its verdict must leave now.
    input  logic                             late_i,
    /// The verdict on the last message is valid, if the message has a payload or is a recall.
    output logic                             verdict_valid_o,
    /// The verdict is taken.
    input  logic                             verdict_ready_i,
    /// The verdict.
    output alcor_abi_pkg::verdict_t          verdict_o,

    /// A command of the host is offered.
    input  logic                             command_valid_i,
    /// The command is taken.
    output logic                             command_ready_o,
    /// The command; the id of a receive is its entry.
    input  alcor_abi_pkg::engine_command_t   command_i,

    /// A receive is entered, with its buffer as commanded.
    output alcor_abi_pkg::enter_receive_t    receive_o,
    /// The message that arrives is entered.
    output alcor_abi_pkg::enter_message_t    message_o,
    /// A matched pair: a receive and its message.
    output alcor_abi_pkg::pair_t             pair_o,

    /// A delivered pair, whose entries are to be freed.
    input  logic                             retire_valid_i,
    /// The pair is taken.
    output logic                             retire_ready_o,
    /// The pair.
    input  alcor_abi_pkg::retire_t           retire_i,
    /// Pulse: a payload that went directly is delivered.
    input  logic                             direct_done_i,

    /// A probe or cancelled receive is complete.
    output logic                             result_valid_o,
    /// The completion is entered.
    input  logic                             result_ready_i,
    /// The completion; source, tag and length are those of the message that a probe has found.
    output alcor_abi_pkg::received_t         result_o
);

  localparam int unsigned SweepW = (EntryW > 8) ? EntryW : 8;

  typedef enum logic [3:0] {
    StSweep,       // tables are cleared
    StIdle,        // messages pass; next command is chosen
    StPost,        // receive: search begins
    StPosting,     // receive: unexpected messages are searched
    StQueue,       // receive: append to the posted receives
    StProbe,       // probe: search begins
    StProbing,     // probe: unexpected messages are searched
    StCancel,      // cancel: removal begins
    StCancelling,  // cancel: the receive is removed
    StDrop,        // recall or flush: search begins
    StDropping,    // recall or flush: repeated until nothing is found
    StResult       // completion is offered
  } state_e;

  state_e state_d, state_q;
  logic idle, commanded, arrived_last_q;
  logic [SweepW-1:0] sweep_q;
  logic sweeps;

  assign idle = state_q == StIdle;

  // The command under way, or the recall.
  alcor_abi_pkg::match_t match_q, mask_q;
  alcor_abi_pkg::buffer_t buffer_q;
  logic [EntryW-1:0] receive_q;
  logic recall_q, defer_q;

  // -------------------------------------------------------------------------------- messages that arrive
  logic waiting_valid, pops, look, look_kernel, freeing, free_valid, free_ready;
  alcor_abi_pkg::waiting_message_t waiting;
  alcor_abi_pkg::match_t found_match;
  logic [EntryW-1:0] look_entry;
  logic [31:0] look_length;
  alcor_abi_pkg::search_outcome_t outcome;
  alcor_abi_pkg::buffer_t buffer;
  alcor_abi_pkg::retire_t freed;

  message_arrivals #(
      .DEPTH     (DEPTH),
      .FRAGMENT  (FRAGMENT),
      .NODE_BYTES(NODE_BYTES),
      .DIRECT    (DIRECT)
  ) u_arrivals (
      .clk_i            (clk_i),
      .rst_ni           (rst_ni),
      .sweep_i          (sweeps),
      .sweep_row_i      (sweep_q),
      .closed_i         (closed_i),
      .quota_i          (settings_i.quota),
      .arrival_valid_i  (arrival_valid_i),
      .arrival_ready_o  (arrival_ready_o),
      .arrival_refused_o(arrival_refused_o),
      .arrival_line_o   (arrival_line_o),
      .arrival_i        (arrival_i),
      .late_i           (late_i),
      .verdict_valid_o  (verdict_valid_o),
      .verdict_ready_i  (verdict_ready_i),
      .verdict_o        (verdict_o),
      .message_o        (message_o),
      .waiting_valid_o  (waiting_valid),
      .waiting_ready_i  (pops),
      .waiting_o        (waiting),
      .look_i           (look),
      .look_entry_i     (look_entry),
      .look_match_o     (found_match),
      .look_kernel_o    (look_kernel),
      .look_length_o    (look_length),
      .outcome_i        (outcome),
      .buffer_i         (buffer),
      .direct_o         (pair_o.direct),
      .stored_o         (pair_o.stored),
      .direct_done_i    (direct_done_i),
      .retire_valid_i   (retire_valid_i),
      .retire_ready_o   (retire_ready_o),
      .retire_i         (retire_i),
      .freeing_o        (freeing),
      .free_valid_o     (free_valid),
      .free_ready_i     (free_ready),
      .free_o           (freed)
  );

  // First stage: the search is offered. Second: up to two searches are under way, one of which has its result. Third:
  // the message is matched or appended. In other states than StIdle, no message is in a stage.
  logic next_valid_q, next_recall_q, next_goes, drops;
  logic [EntryW-1:0] next_entry_q;
  alcor_abi_pkg::match_t next_match_q;
  logic [1:0] searching_q;
  logic found_valid_q, found_q, matched, kept, message_done, message_result, removed;
  logic [EntryW-1:0] found_receive_q, found_message_q;
  logic stages_empty;

  assign stages_empty = !next_valid_q && searching_q == '0 && !found_valid_q;

  // --------------------------------------------------------------------------------------- the queues
  logic posted_valid, posted_ready, posted_done, posted_take, posted_found, posted_unit;
  alcor_abi_pkg::match_op_e posted_op;
  logic [EntryW-1:0] posted_entry, posted_message;
  logic unexpected_valid, unexpected_ready, unexpected_done, unexpected_found, unexpected_unit;
  alcor_abi_pkg::match_op_e unexpected_op;
  logic [EntryW-1:0] unexpected_entry;
  logic [CountW-1:0] posted, unexpected;

  match_queue #(
      .DEPTH (DEPTH),
      .CELLS (CELLS),
      .BLOCK (BLOCK),
      .POSTED(1'b1)
  ) u_posted (
      .clk_i         (clk_i),
      .rst_ni        (rst_ni),
      .threshold_i   (settings_i.posted_threshold),
      .op_valid_i    (posted_valid),
      .op_ready_o    (posted_ready),
      .op_i          (posted_op),
      .op_match_i    (next_match_q),
      .append_match_i(match_q),
      .op_mask_i     (mask_q),
      .op_entry_i    (receive_q),
      .op_tag_i      (next_entry_q),
      .result_valid_o(posted_done),
      .result_ready_i(posted_take),
      .result_found_o(posted_found),
      .result_entry_o(posted_entry),
      .result_unit_o (posted_unit),
      .result_tag_o  (posted_message),
      .count_o       (posted)
  );

  match_queue #(
      .DEPTH (DEPTH),
      .CELLS (CELLS),
      .BLOCK (BLOCK),
      .POSTED(1'b0)
  ) u_unexpected (
      .clk_i         (clk_i),
      .rst_ni        (rst_ni),
      .threshold_i   (settings_i.unexpected_threshold),
      .op_valid_i    (unexpected_valid),
      .op_ready_o    (unexpected_ready),
      .op_i          (unexpected_op),
      .op_match_i    (match_q),
      .append_match_i(found_match),
      .op_mask_i     (mask_q),
      .op_entry_i    (found_message_q),
      .op_tag_i      ('0),
      .result_valid_o(unexpected_done),
      .result_ready_i(1'b1),
      .result_found_o(unexpected_found),
      .result_entry_o(unexpected_entry),
      .result_unit_o (unexpected_unit),
      .result_tag_o  (),
      .count_o       (unexpected)
  );

  logic entry_free, entry_queued, probes, queues, cancels, next_searches;

  assign probes        = state_q == StProbe;
  assign queues        = state_q == StQueue;
  assign cancels       = state_q == StCancel;
  assign next_searches = next_valid_q && !next_recall_q;

  always_comb begin
    posted_op = MoSearch;
    if (queues) posted_op = MoAppend;
    if (cancels) posted_op = MoRemove;
    unexpected_op = MoSearch;
    if (found_valid_q) unexpected_op = MoAppend;
    if (probes) unexpected_op = MoProbe;
  end

  assign unexpected_valid = receive_o.valid || (found_valid_q && !found_q) || probes || state_q == StDrop;
  assign posted_valid     = next_searches || queues || (cancels && entry_queued);

  assign next_goes      = next_searches && posted_ready;
  assign drops          = next_valid_q && next_recall_q && searching_q == '0 && !found_valid_q;
  assign matched        = found_valid_q && found_q;
  assign kept           = found_valid_q && !found_q && unexpected_ready;
  assign message_done   = matched || kept;
  assign posted_take    = !found_valid_q || message_done;
  assign message_result = posted_done && posted_take && idle;
  // A receive, a recall or a flush takes a message out of the queue.
  assign removed        = unexpected_done && unexpected_found && state_q != StProbing;

  assign counts_o.posted     = 16'(posted);
  assign counts_o.unexpected = 16'(unexpected);
  assign counts_o.refused    = arrival_valid_i && arrival_ready_o && arrival_refused_o;
  assign counts_o.lost       = arrival_i.serial == '0;
  assign counts_o.found = {removed && !pair_o.dropped && !unexpected_unit,
                           removed && !pair_o.dropped && unexpected_unit,
                           message_result && posted_found && !posted_unit,
                           message_result && posted_found && posted_unit};

  // ------------------------------------------------------------------------------- entries of receives
  message_receives #(
      .DEPTH(DEPTH)
  ) u_receives (
      .clk_i         (clk_i),
      .sweep_i       (sweeps),
      .sweep_entry_i (sweep_q[EntryW-1:0]),
      .look_i        (idle),
      .look_entry_i  (command_i.id[EntryW-1:0]),
      .free_o        (entry_free),
      .queued_o      (entry_queued),
      .entry_i       (receive_q),
      .enter_i       (receive_o.valid),
      .buffer_i      (buffer_q),
      .queue_i       (queues && posted_ready),
      .cancel_i      (posted_done && !idle),
      .match_i       (pair_o.valid && !pair_o.dropped),
      .match_entry_i (pair_o.receive[EntryW-1:0]),
      .retire_valid_i(free_valid),
      .retire_ready_o(free_ready),
      .retire_i      (freed),
      .find_i        (message_result),
      .find_entry_i  (posted_entry),
      .buffer_o      (buffer)
  );

  assign receive_o.valid  = state_q == StPost && entry_free;
  assign receive_o.entry  = 10'(receive_q);
  assign receive_o.defer  = defer_q;
  assign receive_o.buffer = buffer_q;

  // ------------------------------------------------------------------------- results, outcomes, pairs
  alcor_abi_pkg::status_e result_status_q;

  // The message that is appended, or that a probe has found.
  assign look       = message_result || unexpected_done;
  assign look_entry = unexpected_done ? unexpected_entry : posted_message;

  always_comb begin
    result_o        = '0;
    result_o.status = result_status_q;
    result_o.id     = 16'(receive_q);
    if (result_status_q == ST_OK) begin
      result_o.source         = found_match.source;
      result_o.message.tag    = found_match.tag;
      result_o.message.kernel = look_kernel;
      result_o.length         = look_length;
    end
  end

  assign outcome.matched  = matched;
  assign outcome.kept     = kept;
  assign outcome.recalled = recall_q && unexpected_done && !unexpected_found;
  assign outcome.receive  = 10'(found_receive_q);
  assign outcome.message  = 10'(found_message_q);

  // A pair: of a message that has found its receive, or of a receive that has found its message; or one to be dropped.
  assign pair_o.dropped = state_q == StDropping;
  assign pair_o.refused = 1'b0;
  assign pair_o.valid   = matched || removed;
  assign pair_o.receive = matched ? 10'(found_receive_q) : 10'(receive_q);
  assign pair_o.message = matched ? 10'(found_message_q) : 10'(unexpected_entry);

  // ----------------------------------------------------------------------------------------- what next
  // Turns: messages and commands one after the other. A command waits while an entry is being freed, which may be that
  // of the command; a flush waits for all messages that have arrived.
  logic flushes, command_turn;

  assign flushes         = command_i.command == McFlush;
  assign command_turn    = command_valid_i && !flushes && arrived_last_q;
  assign pops            = idle && waiting_valid && (!next_valid_q || next_goes) && !command_turn && !commanded;
  assign commanded       = idle && command_valid_i && stages_empty && !retire_valid_i && !freeing &&
                           !(waiting_valid && (flushes || !arrived_last_q));
  assign command_ready_o = commanded;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StSweep: if (sweep_q == '1) state_d = StIdle;
      StIdle: begin
        if (drops) state_d = StDrop;
        if (commanded) begin
          unique case (command_i.command)
            McReceive: state_d = StPost;
            McProbe:   state_d = StProbe;
            McFlush:   state_d = StDrop;
            default:   state_d = StCancel;
          endcase
        end
      end
      StPost: begin
        if (!entry_free) state_d = StResult;
        else if (unexpected_ready) state_d = StPosting;
      end
      StPosting: if (unexpected_done) state_d = unexpected_found ? StIdle : StQueue;
      StQueue: if (posted_ready) state_d = StIdle;
      StProbe: if (unexpected_ready) state_d = StProbing;
      StProbing: if (unexpected_done) state_d = StResult;
      StCancel: begin
        if (!entry_queued) state_d = StIdle;
        else if (posted_ready) state_d = StCancelling;
      end
      StCancelling: if (posted_done) state_d = StResult;
      StDrop: if (unexpected_ready) state_d = StDropping;
      StDropping: begin
        if (unexpected_done && unexpected_found) state_d = StDrop;
        else if (unexpected_done) state_d = StIdle;
      end
      StResult: if (result_ready_i) state_d = StIdle;
      default: state_d = StIdle;
    endcase
  end

  assign result_valid_o = state_q == StResult;
  assign sweeps         = state_q == StSweep;
  assign ready_o        = !sweeps;
  assign idle_o         = idle && stages_empty && !waiting_valid && !verdict_valid_o && !freeing;

  always_ff @(posedge clk_i) begin
    if (commanded) begin
      match_q   <= {command_i.rank, command_i.context_, command_i.tag.tag};
      mask_q    <= {{8{command_i.tag.any_source}}, 8'd0, {26{command_i.tag.any_tag}}};
      buffer_q  <= command_i.buffer;
      defer_q   <= command_i.tag.defer;
      receive_q <= command_i.id[EntryW-1:0];
      recall_q  <= 1'b0;
      if (command_i.command == McFlush) mask_q <= '1;
    end
    if (drops) begin
      match_q.source <= next_match_q.source;
      mask_q         <= {8'd0, 8'hFF, 26'h3FF_FFFF};
      recall_q       <= 1'b1;
    end
    if (pops) begin
      next_recall_q <= waiting.recall;
      next_entry_q  <= waiting.entry[EntryW-1:0];
      next_match_q  <= waiting.match;
    end
    if (message_result) begin
      found_q         <= posted_found;
      found_receive_q <= posted_entry;
      found_message_q <= posted_message;
    end
    // A receive whose entry is not free has neither result.
    if (commanded) result_status_q <= ST_BAD_ID;
    if (unexpected_done) result_status_q <= unexpected_found ? ST_OK : ST_NOT_FOUND;
    if (posted_done) result_status_q <= ST_CANCELLED;
    if (pops) arrived_last_q <= 1'b1;
    if (commanded) arrived_last_q <= 1'b0;
    if (!rst_ni) begin
      state_q       <= StSweep;
      sweep_q       <= '0;
      next_valid_q  <= 1'b0;
      searching_q   <= '0;
      found_valid_q <= 1'b0;
    end else begin
      state_q       <= state_d;
      // The counter stands after the sweep: an idle board has no state that changes.
      if (sweeps) sweep_q <= sweep_q + 1'b1;
      next_valid_q  <= pops || (next_valid_q && !next_goes && !drops);
      searching_q   <= searching_q + 2'(next_goes) - 2'(message_result);
      found_valid_q <= message_result || (found_valid_q && !message_done);
    end
  end

  `ALCOR_CHECK_PARAM(g_check_depth, (DEPTH & (DEPTH - 1)) == 0 && DEPTH >= 4 && DEPTH <= 1024,
                     "message_matcher: DEPTH must be a power of two, 4 to 1024")

`ifdef ALCOR_COVERAGE
  logic [1:0] wildcards;
  assign wildcards = {command_i.tag.any_source, command_i.tag.any_tag};
`define ALCOR_COVER_WILDCARD(kind_, command_) \
  `ALCOR_COVER(c_wildcard_``kind_``_none, commanded && command_i.command == command_ && wildcards == 2'b00) \
  `ALCOR_COVER(c_wildcard_``kind_``_source, commanded && command_i.command == command_ && wildcards == 2'b10) \
  `ALCOR_COVER(c_wildcard_``kind_``_tag, commanded && command_i.command == command_ && wildcards == 2'b01) \
  `ALCOR_COVER(c_wildcard_``kind_``_source_and_tag, commanded && command_i.command == command_ && wildcards == 2'b11)
  `ALCOR_COVER_WILDCARD(receive, McReceive)
  `ALCOR_COVER_WILDCARD(probe, McProbe)
`undef ALCOR_COVER_WILDCARD
`endif
  `ALCOR_COVER(c_message_recalled, pair_o.dropped && pair_o.valid)

`ifdef ALCOR_PROVE_MESSAGE_MATCHER
  `include "message_matcher_properties.svh"
`endif

endmodule

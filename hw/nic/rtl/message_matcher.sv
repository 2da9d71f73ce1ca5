`include "assertions.svh"

import alcor_abi_pkg::*;

/// Matches the messages that arrive at a rank with the receives that its host posts.
///
/// A message takes its entry when it arrives, and waits in a FIFO for its search. A message searches for a receive and,
/// if there is none, is appended to the unexpected messages; a receive searches for a message and, if there is none, is
/// appended to the posted receives. Messages follow each other in three stages: the search is offered, the search is
/// under way, the message is matched or appended. A command of the host begins when no message is in a stage, and ends
/// before the next message enters the first one. So neither can pass the other. A matched pair goes to
/// `message_delivery`, with the entries of both.
///
/// A receive's entry is its command id, chosen by the host. A message's entry comes from a free
/// list and is also the number of the fragment that its payload may be stored in. The entry is free
/// again when the message is delivered.
///
/// At most one message waits for its verdict: the one that has arrived last, if it has a payload or is a recall. With
/// `late_i` the payload goes to the fragment, whatever the search finds later.
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

  typedef enum logic [1:0] {
    EnFree    = 2'd0,
    EnQueued  = 2'd1,  // waits for a message
    EnMatched = 2'd2   // has one
  } entry_e;

  state_e state_d, state_q;
  logic commanded, arrived_last_q;
  logic [SweepW-1:0] sweep_q;
  logic sweeps;

  // The command under way, or the recall.
  alcor_abi_pkg::match_t match_q, mask_q;
  alcor_abi_pkg::buffer_t buffer_q;
  logic [EntryW-1:0] receive_q;
  logic flush_q, defer_q;

  // -------------------------------------------------------------------------------- messages that arrive
  logic take_message, admits, known, room, entry_room, fits, has_payload;
  logic [EntryW-1:0] free_entry;
  logic [7:0] source_q;
  logic waiting_valid, waiting_room, waiting_recall, pops;
  logic [EntryW-1:0] waiting_entry;
  alcor_abi_pkg::match_t waiting_match;

  // A sender's fragments may be longer than this engine's: a message must not run over the next entry's.
  assign fits        = arrival_i.announce || arrival_i.length <= 32'(FRAGMENT);
  assign room        = entry_room && fits;
  assign has_payload = !arrival_i.announce && arrival_i.length != '0;
  // The count of the source was read a cycle before.
  assign known             = source_q == arrival_i.match.source && !sweeps;
  assign arrival_ready_o   = known && (waiting_room || arrival_refused_o);
  assign arrival_refused_o = !room && !arrival_i.recall;
  assign admits            = arrival_valid_i && arrival_ready_o && (room || arrival_i.recall);
  assign take_message      = admits && !arrival_i.recall;

  always_ff @(posedge clk_i) source_q <= arrival_i.match.source;

  // Messages that wait have entries, so there is room for all of them, but for the place of a recall.
  fifo #(.WIDTH(1 + EntryW + MatchW), .DEPTH(DEPTH), .BLOCK_RAM(DEPTH >= 128)) u_waiting (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(admits), .ready_o(waiting_room),
      .data_i({arrival_i.recall, free_entry, arrival_i.match}), .valid_o(waiting_valid), .ready_i(pops),
      .data_o({waiting_recall, waiting_entry, waiting_match}), .empty_o(), .usage_o()
  );

  // First stage: the search is offered. Second: up to two searches are under way, one of which has its result. Third:
  // the message is matched or appended.
  logic next_valid_q, next_recall_q, next_goes, drops;
  logic [EntryW-1:0] next_entry_q;
  alcor_abi_pkg::match_t next_match_q;
  logic [1:0] searching_q;
  logic found_valid_q, found_q, matched, kept, message_done, message_result;
  logic [EntryW-1:0] found_receive_q, found_message_q;
  alcor_abi_pkg::match_t found_match;
  logic stages_empty;

  assign stages_empty = !next_valid_q && searching_q == '0 && !found_valid_q;

  // --------------------------------------------------------------------------------------- the queues
  logic posted_valid, posted_ready, posted_done, posted_take, posted_found, posted_unit;
  alcor_abi_pkg::match_op_e posted_op;
  logic [EntryW-1:0] posted_entry, posted_message;
  alcor_abi_pkg::match_t posted_match, unexpected_match;
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
      .op_match_i    (posted_match),
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
      .op_match_i    (unexpected_match),
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

  logic [1:0] entry_state;

  always_comb begin
    posted_op = MoSearch;
    if (state_q == StQueue) posted_op = MoAppend;
    if (state_q == StCancel) posted_op = MoRemove;
    unexpected_op = MoSearch;
    if (found_valid_q) unexpected_op = MoAppend;
    if (state_q == StProbe) unexpected_op = MoProbe;
  end

  assign posted_match     = (state_q == StIdle) ? next_match_q : match_q;
  assign unexpected_match = found_valid_q ? found_match : match_q;
  assign unexpected_valid = (state_q == StPost && entry_state == EnFree) || (found_valid_q && !found_q) ||
                            state_q == StProbe || state_q == StDrop;
  assign posted_valid     = (state_q == StIdle && next_valid_q && !next_recall_q) || state_q == StQueue ||
                            (state_q == StCancel && entry_state == EnQueued);

  assign next_goes      = state_q == StIdle && next_valid_q && !next_recall_q && posted_ready;
  assign drops          = state_q == StIdle && next_valid_q && next_recall_q && searching_q == '0 && !found_valid_q;
  assign matched        = found_valid_q && found_q;
  assign kept           = found_valid_q && !found_q && unexpected_ready;
  assign message_done   = matched || kept;
  assign posted_take    = !found_valid_q || message_done;
  assign message_result = posted_done && posted_take && state_q == StIdle;

  assign counts_o.posted     = 16'(posted);
  assign counts_o.unexpected = 16'(unexpected);
  assign counts_o.refused    = arrival_valid_i && arrival_ready_o && arrival_refused_o;
  assign counts_o.found = {state_q == StPosting && unexpected_done && unexpected_found && !unexpected_unit,
                           state_q == StPosting && unexpected_done && unexpected_found && unexpected_unit,
                           message_result && posted_found && !posted_unit,
                           message_result && posted_found && posted_unit};

  // ------------------------------------------------------------------------------- entries of messages
  logic freed_valid, retire, retire_ready, entry_changes;
  alcor_abi_pkg::retire_t freed;

  // Delivery does not wait for a cycle in which an entry can be freed.
  fifo #(.WIDTH(1 + 10 + 10 + 8), .DEPTH(2)) u_freed (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(retire_valid_i), .ready_o(retire_ready_o),
      .data_i(retire_i), .valid_o(freed_valid), .ready_i(retire), .data_o(freed), .empty_o(), .usage_o()
  );

  message_entries #(
      .DEPTH(DEPTH)
  ) u_entries_of_messages (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .sweep_i        (sweeps),
      .sweep_row_i    (sweep_q),
      .closed_i       (closed_i),
      .quota_i        (settings_i.quota),
      .source_i       (arrival_i.match.source),
      .room_o         (entry_room),
      .entry_o        (free_entry),
      .take_i         (take_message),
      .retire_valid_i (freed_valid),
      .retire_ready_o (retire_ready),
      .retire_i       (retire),
      .retire_source_i(freed.source),
      .retire_entry_i (freed.message[EntryW-1:0])
  );

  // A receive's entry is freed in a cycle in which no other entry changes its state.
  assign retire = retire_ready && !entry_changes;

  // ------------------------------------------------------------------------------- entries of receives
  logic [1:0] entry_next;
  logic entry_write;
  logic [EntryW-1:0] entry_at;

  ram_sdp #(
      .WIDTH    (2),
      .DEPTH    (DEPTH),
      .BLOCK_RAM(1'b0)
  ) u_entries (
      .clk_i  (clk_i),
      .we_i   (entry_write || sweeps),
      .waddr_i(sweeps ? EntryW'(sweep_q) : entry_at),
      .wdata_i(sweeps ? EnFree : entry_next),
      .re_i   (state_q == StIdle),
      .raddr_i(command_i.id[EntryW-1:0]),
      .rdata_o(entry_state)
  );

  always_comb begin
    entry_changes = 1'b0;
    entry_at      = receive_q;
    entry_next    = EnFree;
    if (pair_o.valid && !pair_o.dropped) begin
      entry_changes = 1'b1;
      entry_next    = EnMatched;
      if (matched) entry_at = found_receive_q;
    end
    if (state_q == StQueue && posted_ready) begin
      entry_changes = 1'b1;
      entry_next    = EnQueued;
    end
    if (state_q == StCancelling && posted_done) entry_changes = 1'b1;
    entry_write = entry_changes || (retire && !freed.dropped);
    if (!entry_changes) entry_at = freed.receive[EntryW-1:0];
  end

  // The buffer of the receive that a message has found.
  alcor_abi_pkg::buffer_t buffer;

  ram_sdp #(
      .WIDTH(64),
      .DEPTH(DEPTH)
  ) u_receives (
      .clk_i  (clk_i),
      .we_i   (receive_o.valid),
      .waddr_i(receive_q),
      .wdata_i(buffer_q),
      .re_i   (message_result),
      .raddr_i(posted_entry),
      .rdata_o(buffer)
  );

  assign receive_o.valid  = state_q == StPost && entry_state == EnFree;
  assign receive_o.entry  = 10'(receive_q);
  assign receive_o.defer  = defer_q;
  assign receive_o.buffer = buffer_q;

  // Match bits of a message that is appended; match bits and length of the message that a probe has found.
  alcor_abi_pkg::status_e result_status_q;
  logic [31:0] probed_length;

  ram_sdp #(
      .WIDTH(MatchW + 32),
      .DEPTH(DEPTH)
  ) u_messages (
      .clk_i  (clk_i),
      .we_i   (take_message),
      .waddr_i(free_entry),
      .wdata_i({arrival_i.match, arrival_i.length}),
      .re_i   (message_result || state_q == StProbing),
      .raddr_i((state_q == StProbing) ? unexpected_entry : posted_message),
      .rdata_o({found_match, probed_length})
  );

  assign result_o.status = result_status_q;
  assign result_o.id     = 16'(receive_q);
  assign result_o.source = (result_status_q == ST_OK) ? found_match.source : '0;
  assign result_o.tag    = (result_status_q == ST_OK) ? found_match.tag : '0;
  assign result_o.length = (result_status_q == ST_OK) ? probed_length : '0;

  assign message_o.valid = take_message;
  assign message_o.entry = 10'(free_entry);

  // ------------------------------------------------------------------------------------------- verdict
  // The message that waits for its verdict.
  logic waits_q, waits_recall_q, awaited, decides, recalled;
  logic [EntryW-1:0] waits_entry_q;
  logic [31:0] waits_length_q;
  logic [EntryW-1:0] verdict_receive_q;
  logic verdict_valid_q;
  alcor_abi_pkg::message_verdict_e kind;
  alcor_abi_pkg::buffer_t place;

  assign awaited  = waits_q && !waits_recall_q && found_message_q == waits_entry_q;
  assign recalled = state_q == StDropping && unexpected_done && !unexpected_found && !flush_q;

  message_verdict #(
      .DEPTH     (DEPTH),
      .FRAGMENT  (FRAGMENT),
      .NODE_BYTES(NODE_BYTES),
      .DIRECT    (DIRECT)
  ) u_verdict (
      .clk_i        (clk_i),
      .rst_ni       (rst_ni),
      .length_i     (waits_length_q),
      .entry_i      (waits_entry_q),
      .buffer_i     (buffer),
      .refuse_i     (recalled),
      .expected_i   (matched && awaited),
      .kept_i       (kept && awaited),
      .late_i       (late_i && waits_q && !waits_recall_q && !(matched && awaited)),
      .direct_done_i(direct_done_i),
      .decides_o    (decides),
      .kind_o       (kind),
      .place_o      (place),
      .direct_o     (pair_o.direct),
      .stored_o     (pair_o.stored)
  );

  always_ff @(posedge clk_i) begin
    if (admits) begin
      waits_recall_q <= arrival_i.recall;
      waits_entry_q  <= free_entry;
      waits_length_q <= arrival_i.length;
    end
    if (decides) verdict_receive_q <= found_receive_q;
    if (!rst_ni) begin
      waits_q         <= 1'b0;
      verdict_valid_q <= 1'b0;
    end else begin
      waits_q         <= (admits && (arrival_i.recall || has_payload)) || (waits_q && !decides);
      verdict_valid_q <= decides || (verdict_valid_q && !verdict_ready_i);
    end
  end

  assign verdict_valid_o   = verdict_valid_q;
  assign verdict_o.kind    = kind;
  assign verdict_o.address = place.address;
  assign verdict_o.bytes   = place.length;
  assign verdict_o.receive = 16'(verdict_receive_q);

  // A pair: of a message that has found its receive, or of a receive that has found its message; or one to be dropped.
  assign pair_o.dropped = state_q == StDropping;
  assign pair_o.valid   = matched ||
                          ((state_q == StPosting || state_q == StDropping) && unexpected_done && unexpected_found);
  assign pair_o.receive = matched ? 10'(found_receive_q) : 10'(receive_q);
  assign pair_o.message = matched ? 10'(found_message_q) : 10'(unexpected_entry);

  // ----------------------------------------------------------------------------------------- what next
  // Turns: messages and commands one after the other. A command waits while an entry is being freed, which may be that
  // of the command; a flush waits for all messages that have arrived.
  logic flushes, command_turn;

  assign flushes         = command_i.command == McFlush;
  assign command_turn    = command_valid_i && !flushes && arrived_last_q;
  assign pops            = state_q == StIdle && waiting_valid && (!next_valid_q || next_goes || drops) && !command_turn &&
                           !commanded;
  assign commanded       = state_q == StIdle && command_valid_i && stages_empty && !retire_valid_i && !freed_valid &&
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
        if (entry_state != EnFree) state_d = StResult;
        else if (unexpected_ready) state_d = StPosting;
      end
      StPosting: if (unexpected_done) state_d = unexpected_found ? StIdle : StQueue;
      StQueue: if (posted_ready) state_d = StIdle;
      StProbe: if (unexpected_ready) state_d = StProbing;
      StProbing: if (unexpected_done) state_d = StResult;
      StCancel: begin
        if (entry_state != EnQueued) state_d = StIdle;
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
  assign idle_o         = state_q == StIdle && stages_empty && !waiting_valid && !verdict_valid_q && !freed_valid;

  always_ff @(posedge clk_i) begin
    if (commanded) begin
      match_q   <= {command_i.rank, command_i.context_, command_i.tag.tag};
      mask_q    <= {{8{command_i.tag.any_source}}, 8'd0, {26{command_i.tag.any_tag}}};
      buffer_q  <= command_i.buffer;
      defer_q   <= command_i.tag.defer;
      receive_q <= command_i.id[EntryW-1:0];
      flush_q   <= command_i.command == McFlush;
      if (command_i.command == McFlush) mask_q <= '1;
    end
    if (drops) begin
      match_q <= next_match_q;
      mask_q  <= {8'd0, 8'hFF, 26'h3FF_FFFF};
      flush_q <= 1'b0;
    end
    if (pops) begin
      next_recall_q <= waiting_recall;
      next_entry_q  <= waiting_entry;
      next_match_q  <= waiting_match;
    end
    if (message_result) begin
      found_q         <= posted_found;
      found_receive_q <= posted_entry;
      found_message_q <= posted_message;
    end
    unique case (state_q)
      StPost:       result_status_q <= ST_BAD_ID;
      StProbing:    result_status_q <= unexpected_found ? ST_OK : ST_NOT_FOUND;
      StCancelling: result_status_q <= ST_CANCELLED;
      default: ;
    endcase
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
      if (sweeps) sweep_q <= sweep_q + 1'b1;
      next_valid_q  <= pops || (next_valid_q && !next_goes && !drops);
      searching_q   <= searching_q + 2'(next_goes) - 2'(message_result);
      found_valid_q <= message_result || (found_valid_q && !message_done);
    end
  end

  `ALCOR_CHECK_PARAM(g_check_depth, (DEPTH & (DEPTH - 1)) == 0 && DEPTH >= 4 && DEPTH <= 1024,
                     "message_matcher: DEPTH must be a power of two, 4 to 1024")

  `ALCOR_STABLE(a_verdict_stable, verdict_valid_o, verdict_ready_i, verdict_o)
  `ALCOR_STABLE(a_arrival_stable, arrival_valid_i, arrival_ready_o, arrival_i)
  // A message arrives when the one before has its verdict.
  `ALCOR_IMPLIES(a_one_waits, arrival_valid_i, !waits_q && !verdict_valid_o)
  `ALCOR_IMPLIES(a_late_waits, late_i, waits_q || verdict_valid_o)

`ifdef ALCOR_COVERAGE
  logic [1:0] wildcards;
  assign wildcards = {command_i.tag.any_source, command_i.tag.any_tag};
  `ALCOR_COVER(c_wildcard_receive_none, commanded && command_i.command == McReceive && wildcards == 2'b00)
  `ALCOR_COVER(c_wildcard_receive_source, commanded && command_i.command == McReceive && wildcards == 2'b10)
  `ALCOR_COVER(c_wildcard_receive_tag, commanded && command_i.command == McReceive && wildcards == 2'b01)
  `ALCOR_COVER(c_wildcard_receive_source_and_tag, commanded && command_i.command == McReceive && wildcards == 2'b11)
  `ALCOR_COVER(c_wildcard_probe_none, commanded && command_i.command == McProbe && wildcards == 2'b00)
  `ALCOR_COVER(c_wildcard_probe_source, commanded && command_i.command == McProbe && wildcards == 2'b10)
  `ALCOR_COVER(c_wildcard_probe_tag, commanded && command_i.command == McProbe && wildcards == 2'b01)
  `ALCOR_COVER(c_wildcard_probe_source_and_tag, commanded && command_i.command == McProbe && wildcards == 2'b11)
  // Messages that have no payload with them: announcements and empty ones.
  logic [DEPTH-1:0] announcements_q, empties_q;
  logic announced, empty;
  always_ff @(posedge clk_i) begin
    if (take_message) begin
      announcements_q[free_entry] <= arrival_i.announce;
      empties_q[free_entry]       <= !arrival_i.announce && !has_payload;
    end
  end
  assign announced = announcements_q[found_message_q];
  assign empty     = empties_q[found_message_q];
  `ALCOR_COVER(c_message_empty_expected, matched && empty)
  `ALCOR_COVER(c_message_empty_unexpected, kept && empty)
  `ALCOR_COVER(c_message_rendezvous_expected, matched && announced)
  `ALCOR_COVER(c_message_rendezvous_unexpected, kept && announced)
`endif
  `ALCOR_COVER(c_message_recalled, pair_o.dropped && pair_o.valid)
  `ALCOR_COVER(c_refused_message_without_fragment, counts_o.refused && !closed_i && !u_entries_of_messages.free_valid)
  `ALCOR_COVER(c_refused_message_beyond_quota, counts_o.refused && !closed_i && u_entries_of_messages.free_valid)
  `ALCOR_COVER(c_refused_message_longer_than_a_fragment, counts_o.refused && !closed_i && !fits)
  `ALCOR_COVER(c_refused_message_in_reset, counts_o.refused && closed_i)

`ifdef ALCOR_PROVE_MESSAGE_MATCHER
  `include "message_matcher_properties.svh"
`endif

endmodule

`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_match_pkg::*;

/// Matches messages with receives as `message_matcher` does, by a match store with queue pairs.
///
/// The low bits of a message's context are the number of its pair, so no receive with wildcards belongs to two pairs.
/// Operations of a pair keep their order, and those of different pairs overlap. A message and a command are offered to
/// the store as soon as they are known; the cycle in which the store takes one is its place in the order of its pair.
/// `message_arrivals` chooses a message's entry, and gives the verdict on its payload; a receive's entry is its command
/// id.
///
/// `message_store_commands` offers commands, recalls and flushes. No message is offered while a recall or a flush is
/// under way.
///
/// The store has room for all entries of receives and messages. So only a lower limit, which the host sets, refuses a
/// header. A refused message is a pair to be dropped, and its payload goes to its fragment first.
module message_store_matcher #(
    /// Number of posted receives, and of unexpected messages, that fit; a power of two.
    parameter int unsigned DEPTH = 256,
    /// Matchers of the store, 1 to 64, and DEPTH at most.
    parameter int unsigned MATCHERS = 8,
    /// Queue pairs, a power of two from 2 to 128.
    parameter int unsigned PAIRS = 16,
    /// Bytes of a fragment of the unexpected message buffer, a power of two.
    parameter int unsigned FRAGMENT = 256,
    /// Bytes of node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Maximum number of payloads under way into receive buffers without a fragment.
    parameter int unsigned DIRECT = 8,
    /// Width of a pair's number; derived, not to be set.
    localparam int unsigned PairW = $clog2(PAIRS),
    /// Width of an entry; derived, not to be set.
    localparam int unsigned EntryW = $clog2(DEPTH)
) (
    /// Clock.
    input  logic                             clk_i,
    /// Synchronous reset, active low; empties all queues.
    input  logic                             rst_ni,
    /// The tables are cleared.
    output logic                             ready_o,
    /// No operation is under way in this block.
    output logic                             idle_o,
    /// The rank is being reset: messages are refused.
    input  logic                             closed_i,
    /// Quota; the thresholds have no use.
    input  alcor_abi_pkg::matcher_settings_t settings_i,
    /// Counts of entries and matches; the matchers count as the walk.
    output alcor_abi_pkg::matcher_counts_t   counts_o,

    /// The pair whose limits are set, and whose state is shown.
    input  logic [PairW-1:0]                 pair_i,
    /// Limits of the pair are set, and the pair takes messages again.
    input  logic                             limits_valid_i,
    /// Limits of the pair.
    input  alcor_abi_pkg::rank_queue_pair_limits_t limits_i,
    /// State of the pair, a cycle after `pair_i`.
    output alcor_abi_pkg::rank_queue_pair_state_t  state_o,

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
    /// A matched pair: a receive and its message, or a message that is recalled or refused.
    output alcor_abi_pkg::pair_t             pair_o,

    /// A delivered pair, whose entries are to be freed.
    input  logic                             retire_valid_i,
    /// The pair is taken.
    output logic                             retire_ready_o,
    /// The pair.
    input  alcor_abi_pkg::retire_t           retire_i,
    /// Pulse: a payload that went directly is delivered.
    input  logic                             direct_done_i,

    /// The completion of a probe, of a cancelled receive, or of a receive that is refused.
    output logic                             result_valid_o,
    /// The completion is entered.
    input  logic                             result_ready_i,
    /// The completion; source, tag and length are those of the message that a probe has found.
    output alcor_abi_pkg::received_t         result_o
);

  localparam int unsigned SweepW = (EntryW > 8) ? EntryW : 8;
  // The store has a header for each receive and each message.
  localparam int unsigned LaneEntries = (2 * DEPTH + MATCHERS - 1) / MATCHERS;
  localparam int unsigned CountW = $clog2(MATCHERS * LaneEntries + 1);
  localparam logic [CountW-1:0] Whole = CountW'(MATCHERS * LaneEntries);

  // An id of the store is an entry, and what the entry is of. The entry found tells a cancelled receive from a receive
  // that has found its message.
  localparam logic [1:0] OfReceive = 2'd0;
  localparam logic [1:0] OfMessage = 2'd1;
  localparam logic [1:0] OfProbe = 2'd2;
  localparam logic [1:0] OfDrop = 2'd3;

  // ----------------------------------------------------------------------------------------- after reset
  logic store_ready, sweeps, divides;
  logic [SweepW:0] sweep_q;
  logic [PairW:0] divide_q;

  // Each pair may use the whole store.
  assign sweeps  = !sweep_q[SweepW];
  assign divides = store_ready && !divide_q[PairW];
  assign ready_o = !sweeps && divide_q[PairW];

  // -------------------------------------------------------------------------------- messages that arrive
  logic waiting_valid, pops, freeing, free_valid, free_ready, look_kernel;
  alcor_abi_pkg::waiting_message_t waiting;
  alcor_abi_pkg::match_t look_match;
  logic [31:0] look_length;
  alcor_abi_pkg::search_outcome_t outcome;
  alcor_abi_pkg::buffer_t buffer;
  alcor_abi_pkg::retire_t freed;
  logic takes;
  logic [EntryW-1:0] result_entry, result_found;
  logic [1:0] result_of, result_found_of;

  message_arrivals #(
      .DEPTH     (DEPTH),
      .FRAGMENT  (FRAGMENT),
      .NODE_BYTES(NODE_BYTES),
      .DIRECT    (DIRECT)
  ) u_arrivals (
      .clk_i            (clk_i),
      .rst_ni           (rst_ni),
      .sweep_i          (sweeps),
      .sweep_row_i      (sweep_q[SweepW-1:0]),
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
      .look_i           (takes),
      .look_entry_i     (result_found),
      .look_match_o     (look_match),
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

  // ------------------------------------------------------------------------------------------ the store
  // Port 0: messages. Port 1: commands, and searches of a recall or flush.
  logic message_valid, message_ready, search_valid, search_ready;
  alcor_match_pkg::match_kind_t message_kind, search_kind;
  logic [PairW-1:0] search_pair;
  alcor_abi_pkg::match_t search_match;
  logic [MatchW-1:0] search_mask;
  logic [EntryW-1:0] command_entry, search_entry;
  logic [1:0] search_of;
  logic store_idle, result_valid, result_port;
  logic [2:0] result_status;
  logic [PAIRS-1:0] stopped;
  logic [1:0][CountW-1:0] lengths, limits;

  match_store #(
      .LANES   (MATCHERS),
      .ENTRIES (LaneEntries),
      .PAIRS   (PAIRS),
      .CONTEXTS(16),
      .AHEAD   (8),
      .PORTS   (2),
      .MATCH_W (MatchW),
      .ID_W    (EntryW + 2),
      .KEY_W   (1),
      .ATTR_W  (1)
  ) u_store (
      .clk_i                        (clk_i),
      .rst_ni                       (rst_ni),
      .ready_o                      (store_ready),
      .idle_o                       (store_idle),
      .compares_o                   (),
      .descriptor_write_i           (divides || limits_valid_i),
      .descriptor_pair_i            (divides ? divide_q[PairW-1:0] : pair_i),
      .descriptor_source_mask_i     ('0),
      .descriptor_tag_mask_i        ('0),
      .descriptor_key_i             ('0),
      .descriptor_posted_limit_i    (limits[1]),
      .descriptor_unexpected_limit_i(limits[0]),
      .descriptor_attr_i            ('0),
      .resume_i                     (limits_valid_i),
      .stopped_o                    (stopped),
      .look_pair_i                  (pair_i),
      .look_counts_o                (lengths),
      .op_valid_i                   ({search_valid, message_valid}),
      .op_ready_o                   ({search_ready, message_ready}),
      .op_kind_i                    ({search_kind, message_kind}),
      .op_pair_i                    ({search_pair, waiting.match.context_[PairW-1:0]}),
      .op_key_i                     ('0),
      .op_wild_i                    ('0),
      .op_match_i                   ({search_match, waiting.match}),
      .op_mask_i                    ({search_mask, {MatchW{1'b0}}}),
      .op_id_i                      ({search_entry, search_of, waiting.entry[EntryW-1:0], OfMessage}),
      .result_valid_o               (result_valid),
      .result_ready_i               (takes),
      .result_status_o              (result_status),
      .result_port_o                (result_port),
      .result_pair_o                (),
      .result_attr_o                (),
      .result_id_o                  ({result_entry, result_of}),
      .result_found_o               ({result_found, result_found_of})
  );

  assign limits[1] = (divides || limits_i.posted >= 16'(Whole)) ? Whole : limits_i.posted[CountW-1:0];
  assign limits[0] = (divides || limits_i.unexpected >= 16'(Whole)) ? Whole : limits_i.unexpected[CountW-1:0];

  logic stopped_q;

  always_ff @(posedge clk_i) stopped_q <= stopped[pair_i];

  always_comb begin
    state_o            = '0;
    state_o.posted     = 15'(lengths[1]);
    state_o.unexpected = 15'(lengths[0]);
    state_o.stopped    = stopped_q;
  end

  // ----------------------------------------------------------------------------------- what is offered
  logic dropping, recall_taken, recalled, free, enters, bad_valid, valid_q, is_drop, found, completes, cancel_ends;
  logic [EntryW-1:0] bad_entry;

  assign message_valid = waiting_valid && !waiting.recall && !dropping && ready_o;
  assign message_kind  = 4'b1001;
  assign pops          = (message_valid && message_ready) || recall_taken;

  message_store_commands #(
      .DEPTH(DEPTH),
      .PAIRS(PAIRS)
  ) u_commands (
      .clk_i           (clk_i),
      .rst_ni          (rst_ni),
      .ready_i         (ready_o),
      .command_valid_i (command_valid_i),
      .command_ready_o (command_ready_o),
      .command_i       (command_i),
      .free_i          (free),
      .freeing_i       (retire_valid_i || freeing),
      .enters_o        (enters),
      .waiting_valid_i (waiting_valid),
      .waiting_recall_i(waiting.recall),
      .waiting_source_i(waiting.match.source),
      .recall_taken_o  (recall_taken),
      .dropping_o      (dropping),
      .recalled_o      (recalled),
      .search_valid_o  (search_valid),
      .search_ready_i  (search_ready),
      .search_kind_o   (search_kind),
      .search_pair_o   (search_pair),
      .search_match_o  (search_match),
      .search_mask_o   (search_mask),
      .drop_result_i   (valid_q && is_drop),
      .drop_found_i    (found),
      .cancel_ends_i   (cancel_ends),
      .completes_i     (completes),
      .bad_valid_o     (bad_valid),
      .bad_ready_i     (result_ready_i),
      .bad_entry_o     (bad_entry)
  );

  assign command_entry = command_i.id[EntryW-1:0];

  always_comb begin
    search_entry = command_entry;
    search_of    = (command_i.command == McProbe) ? OfProbe : OfReceive;
    if (dropping) begin
      search_entry = '0;
      search_of    = OfDrop;
    end
  end

  // ---------------------------------------------------------------------------------------------- results
  // A result, with what was read by its entry: the buffer of the receive found, or the message that a probe has found.
  logic port_q, done, is_message, is_probe, refused, matched, dropped, cancels, frees, freed_q, change;
  alcor_match_pkg::match_status_e status_q;
  logic [EntryW-1:0] entry_q, found_q;
  logic [1:0] of_q, found_of_q;
  logic [15:0] posted_q, unexpected_q;

  assign takes = result_valid && (!valid_q || done);

  assign is_message = !port_q;
  assign is_probe   = port_q && of_q == OfProbe;
  assign is_drop    = port_q && of_q == OfDrop;
  assign found      = valid_q && status_q == MsFound;
  assign refused    = valid_q && status_q == MsRefused;
  assign cancels    = found && port_q && found_of_q == OfReceive;
  assign dropped    = found && is_drop;
  // A receive or a message leaves its queue with its partner.
  assign matched    = found && !is_probe && !is_drop && !cancels;
  // The entry of a receive is free before its completion is offered.
  assign frees      = cancels || (refused && port_q);
  assign completes  = (valid_q && is_probe) || (frees && freed_q);
  // An entry is freed in a cycle in which no receive enters.
  assign change     = frees && !freed_q && !enters;
  // The engine counts one refused message in a cycle.
  assign done       = valid_q && !(frees && !freed_q) &&
                      !(completes && (bad_valid || !result_ready_i)) &&
                      !(refused && is_message && arrival_valid_i && arrival_refused_o);
  assign cancel_ends = done && port_q && !is_probe && !is_drop && (cancels || status_q == MsNone);

  // The entry of a receive is taken from the acceptance of the receive until its message is delivered.
  message_receives #(
      .DEPTH(DEPTH)
  ) u_receives (
      .clk_i         (clk_i),
      .sweep_i       (sweeps),
      .sweep_entry_i (sweep_q[EntryW-1:0]),
      .look_i        (1'b1),
      .look_entry_i  (command_entry),
      .free_o        (free),
      .queued_o      (),
      .entry_i       (enters ? command_entry : entry_q),
      .enter_i       (enters),
      .buffer_i      (command_i.buffer),
      .queue_i       (enters),
      .cancel_i      (change),
      .match_i       (1'b0),
      .match_entry_i ('0),
      .retire_valid_i(free_valid),
      .retire_ready_o(free_ready),
      .retire_i      (freed),
      .find_i        (takes),
      .find_entry_i  (result_found),
      .buffer_o      (buffer)
  );

  assign receive_o.valid  = enters;
  assign receive_o.entry  = 10'(command_entry);
  assign receive_o.defer  = command_i.tag.defer;
  assign receive_o.buffer = command_i.buffer;

  assign outcome.matched  = done && matched && is_message;
  assign outcome.kept     = done && is_message && !found;
  assign outcome.recalled = recalled;
  assign outcome.receive  = 10'(found_q);
  assign outcome.message  = 10'(entry_q);

  assign pair_o.dropped = !matched;
  assign pair_o.valid   = done && (matched || dropped || (refused && is_message));
  assign pair_o.refused = refused;
  assign pair_o.receive = is_message ? 10'(found_q) : 10'(entry_q);
  assign pair_o.message = is_message ? 10'(entry_q) : 10'(found_q);

  assign counts_o.posted     = posted_q;
  assign counts_o.unexpected = unexpected_q;
  assign counts_o.refused    = (arrival_valid_i && arrival_ready_o && arrival_refused_o) || (done && refused && is_message);
  // A message beyond its pair's limit has left its serial number behind.
  assign counts_o.lost       = (arrival_i.serial == '0) || (done && refused && is_message);
  assign counts_o.found      = {done && matched && port_q, 1'b0, done && matched && is_message, 1'b0};

  assign result_valid_o = bad_valid || completes;

  always_comb begin
    result_o    = '0;
    result_o.id = 16'(bad_valid ? bad_entry : entry_q);
    if (bad_valid) result_o.status = ST_BAD_ID;
    else if (cancels) result_o.status = ST_CANCELLED;
    else if (refused) result_o.status = ST_NO_ROOM;
    else if (!found) result_o.status = ST_NOT_FOUND;
    if (!bad_valid && is_probe && found) begin
      result_o.source         = look_match.source;
      result_o.message.tag    = look_match.tag;
      result_o.message.kernel = look_kernel;
      result_o.length         = look_length;
    end
  end

  assign idle_o = ready_o && !dropping && store_idle && !valid_q && !waiting_valid && !verdict_valid_o && !freeing &&
                  !bad_valid;

  always_ff @(posedge clk_i) begin
    if (takes) begin
      status_q   <= alcor_match_pkg::match_status_e'(result_status);
      port_q     <= result_port;
      entry_q    <= result_entry;
      of_q       <= result_of;
      found_q    <= result_found;
      found_of_q <= result_found_of;
    end
    if (!rst_ni) begin
      sweep_q      <= '0;
      divide_q     <= '0;
      valid_q      <= 1'b0;
      freed_q      <= 1'b0;
      posted_q     <= '0;
      unexpected_q <= '0;
    end else begin
      if (sweeps) sweep_q <= sweep_q + 1'b1;
      divide_q <= divide_q + (PairW + 1)'(divides);
      valid_q  <= takes || (valid_q && !done);
      freed_q  <= frees && !done && (freed_q || change);
      posted_q <= posted_q + 16'(done && port_q && status_q == MsAppended) -
                  16'(done && ((matched && is_message) || cancels));
      unexpected_q <= unexpected_q + 16'(done && is_message && status_q == MsAppended) -
                      16'(done && ((matched && port_q) || dropped));
    end
  end

  `ALCOR_CHECK_PARAM(g_check_depth, (DEPTH & (DEPTH - 1)) == 0 && DEPTH >= 4 && DEPTH <= 1024,
                     "message_store_matcher: DEPTH must be a power of two, 4 to 1024")
  `ALCOR_CHECK_PARAM(g_check_pairs, PAIRS <= 128, "message_store_matcher: PAIRS must be 128 or less")
  `ALCOR_CHECK_PARAM(g_check_matchers, MATCHERS <= DEPTH, "message_store_matcher: MATCHERS must be DEPTH or less")

  // No operation has another key.
  `ALCOR_IMPLIES(a_key, valid_q, status_q != MsKey)
  `ALCOR_STABLE(a_result_stable, result_valid_o, result_ready_i, result_o)
  `ALCOR_COVER(c_message_recalled, pair_o.dropped && pair_o.valid && !refused)
  `ALCOR_COVER(c_message_beyond_limit, pair_o.valid && refused)

endmodule

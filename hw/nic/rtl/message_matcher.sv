`include "assertions.svh"

import alcor_abi_pkg::*;

/// Matches the messages that arrive at a rank with the receives that its host posts.
///
/// One operation at a time: a message searches for a receive and, if there is none, is appended to
/// the unexpected messages; a receive searches for a message and, if there is none, is appended to
/// the posted receives. So neither can pass the other. A matched pair goes to `message_delivery`,
/// with the entries of both.
///
/// A receive's entry is its command id, chosen by the host. A message's entry comes from a free
/// list and is also the number of the fragment that its payload may be stored in. The entry is free
/// again when the message is delivered.
module message_matcher #(
    /// Posted receives, and unexpected messages, that there is room for; a power of two.
    parameter int unsigned DEPTH = 256,
    /// Cells of each matching unit.
    parameter int unsigned CELLS = 16,
    /// Cells of a block of them.
    parameter int unsigned BLOCK = 8,
    /// Bytes of a fragment of the unexpected message buffer, a power of two.
    parameter int unsigned FRAGMENT = 256,
    /// Bytes of node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Messages that may be on their way into receive buffers without a stay in a fragment.
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
    /// Nothing is under way here.
    output logic                             idle_o,
    /// The rank is being reset: messages are refused.
    input  logic                             closed_i,
    /// Thresholds and quota.
    input  alcor_abi_pkg::matcher_settings_t settings_i,
    /// Counts of entries and matches.
    output alcor_abi_pkg::matcher_counts_t   counts_o,

    /// A message waits for its verdict.
    input  logic                             arrival_valid_i,
    /// The message. A recall drops the messages that wait of its source, and is then refused.
    input  alcor_abi_pkg::arrival_t          arrival_i,
    /// The verdict, which takes the message.
    output logic                             verdict_valid_o,
    /// The verdict is taken.
    input  logic                             verdict_ready_i,
    /// The verdict.
    output alcor_abi_pkg::verdict_t          verdict_o,

    /// The host asks for something.
    input  logic                             command_valid_i,
    /// The command is taken.
    output logic                             command_ready_o,
    /// The command; the id of a receive is its entry.
    input  alcor_abi_pkg::engine_command_t   command_i,

    /// A receive is entered, with its buffer as commanded.
    output alcor_abi_pkg::enter_receive_t    receive_o,
    /// The message that waits for its verdict is entered.
    output alcor_abi_pkg::enter_message_t    message_o,
    /// A receive and a message are to be brought together.
    output alcor_abi_pkg::pair_t             pair_o,

    /// A pair is delivered.
    input  logic                             retire_valid_i,
    /// The entries of the pair are free again.
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

  typedef enum logic [4:0] {
    StSweep,       // tables are cleared
    StIdle,        // next operation is chosen
    StArrive,      // message: room is checked, search begins
    StArriving,    // message: posted receives are searched
    StChoose,      // message: a receive matches
    StKeep,        // message: append to the unexpected messages
    StVerdict,     // verdict is offered
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
  logic arrives, commanded, retires, arrived_last_q;
  logic [SweepW-1:0] sweep_q;
  logic sweeps;

  // The operation under way: a command, or the message that waits for its verdict.
  alcor_abi_pkg::match_t match_q, mask_q;
  alcor_abi_pkg::buffer_t buffer_q;
  logic [EntryW-1:0] receive_q, message_q;
  logic flush_q, defer_q;

  // --------------------------------------------------------------------------------------- the queues
  logic posted_valid, posted_ready, posted_done, posted_found, posted_unit;
  alcor_abi_pkg::match_op_e posted_op;
  logic [EntryW-1:0] posted_entry;
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
      .op_match_i    (match_q),
      .op_mask_i     (mask_q),
      .op_entry_i    (receive_q),
      .result_valid_o(posted_done),
      .result_found_o(posted_found),
      .result_entry_o(posted_entry),
      .result_unit_o (posted_unit),
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
      .op_mask_i     (mask_q),
      .op_entry_i    (message_q),
      .result_valid_o(unexpected_done),
      .result_found_o(unexpected_found),
      .result_entry_o(unexpected_entry),
      .result_unit_o (unexpected_unit),
      .count_o       (unexpected)
  );

  logic room, entry_room, fits;
  logic [1:0] entry_state;

  always_comb begin
    posted_op = MoSearch;
    if (state_q == StQueue) posted_op = MoAppend;
    if (state_q == StCancel) posted_op = MoRemove;
    unexpected_op = MoSearch;
    if (state_q == StKeep) unexpected_op = MoAppend;
    if (state_q == StProbe) unexpected_op = MoProbe;
  end

  assign unexpected_valid = (state_q == StPost && entry_state == EnFree) || state_q == StKeep || state_q == StProbe ||
                            state_q == StDrop;
  assign posted_valid     = (state_q == StArrive && room) || state_q == StQueue ||
                            (state_q == StCancel && entry_state == EnQueued);

  assign counts_o.posted     = 16'(posted);
  assign counts_o.unexpected = 16'(unexpected);
  assign counts_o.refused    = state_q == StArrive && !room;
  assign counts_o.found = {state_q == StPosting && unexpected_done && unexpected_found && !unexpected_unit,
                           state_q == StPosting && unexpected_done && unexpected_found && unexpected_unit,
                           state_q == StArriving && posted_done && posted_found && !posted_unit,
                           state_q == StArriving && posted_done && posted_found && posted_unit};

  // ------------------------------------------------------------------------------- entries of messages
  logic take_message, retiring_q, retire;
  logic [EntryW-1:0] free_entry;

  message_entries #(
      .DEPTH(DEPTH)
  ) u_entries_of_messages (
      .clk_i         (clk_i),
      .rst_ni        (rst_ni),
      .sweep_i       (sweeps),
      .sweep_row_i   (sweep_q),
      .closed_i      (closed_i),
      .quota_i       (settings_i.quota),
      .read_i        (state_q == StIdle),
      .source_i      (retire_valid_i ? retire_i.source : arrival_i.match.source),
      .room_o        (entry_room),
      .entry_o       (free_entry),
      .take_i        (take_message),
      .retire_i      (retire),
      .retire_entry_i(retire_i.message[EntryW-1:0])
  );

  // A sender's fragments may be longer than this engine's: a message must not run over the next entry's.
  assign fits = arrival_i.announce || arrival_i.length <= 32'(FRAGMENT);
  assign room = entry_room && fits;

  assign take_message = state_q == StArrive && room && posted_ready;
  assign retire       = retiring_q;

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
    entry_write = 1'b0;
    entry_at    = receive_q;
    entry_next  = EnFree;
    if (pair_o.valid && !pair_o.dropped) begin
      entry_write = 1'b1;
      entry_next  = EnMatched;
    end
    if (state_q == StQueue && posted_ready) begin
      entry_write = 1'b1;
      entry_next  = EnQueued;
    end
    if (state_q == StCancelling && posted_done) entry_write = 1'b1;
    if (retire) begin
      entry_write = !retire_i.dropped;
      entry_at    = retire_i.receive[EntryW-1:0];
    end
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
      .re_i   (1'b1),
      .raddr_i(posted_entry),
      .rdata_o(buffer)
  );

  assign receive_o.valid  = state_q == StPost && entry_state == EnFree;
  assign receive_o.entry  = 10'(receive_q);
  assign receive_o.defer  = defer_q;
  assign receive_o.buffer = buffer_q;

  // Source, tag and length of the message that a probe has found.
  alcor_abi_pkg::status_e result_status_q;
  logic [7:0] probed_source;
  logic [25:0] probed_tag;
  logic [31:0] probed_length;

  ram_sdp #(
      .WIDTH(8 + 26 + 32),
      .DEPTH(DEPTH)
  ) u_messages (
      .clk_i  (clk_i),
      .we_i   (take_message),
      .waddr_i(free_entry),
      .wdata_i({arrival_i.match.source, arrival_i.match.tag, arrival_i.length}),
      .re_i   (state_q == StProbing),
      .raddr_i(unexpected_entry),
      .rdata_o({probed_source, probed_tag, probed_length})
  );

  assign result_o.status = result_status_q;
  assign result_o.id     = 16'(receive_q);
  assign result_o.source = (result_status_q == ST_OK) ? probed_source : '0;
  assign result_o.tag    = (result_status_q == ST_OK) ? probed_tag : '0;
  assign result_o.length = (result_status_q == ST_OK) ? probed_length : '0;

  assign message_o.valid = take_message;
  assign message_o.entry = 10'(free_entry);

  // ------------------------------------------------------------------------------------------- verdict
  alcor_abi_pkg::message_verdict_e kind;
  alcor_abi_pkg::buffer_t place;

  message_verdict #(
      .DEPTH     (DEPTH),
      .FRAGMENT  (FRAGMENT),
      .NODE_BYTES(NODE_BYTES),
      .DIRECT    (DIRECT)
  ) u_verdict (
      .clk_i        (clk_i),
      .rst_ni       (rst_ni),
      .arrival_i    (arrival_i),
      .entry_i      (message_q),
      .buffer_i     (buffer),
      .refuse_i     (state_q == StArrive || state_q == StDrop),
      .expected_i   (state_q == StChoose),
      .unexpected_i (state_q == StKeep),
      .kept_i       (state_q == StKeep && unexpected_ready),
      .direct_done_i(direct_done_i),
      .kind_o       (kind),
      .place_o      (place),
      .direct_o     (pair_o.direct),
      .stored_o     (pair_o.stored)
  );

  assign verdict_valid_o   = state_q == StVerdict;
  assign verdict_o.kind    = kind;
  assign verdict_o.address = place.address;
  assign verdict_o.bytes   = place.length;
  assign verdict_o.receive = 16'(receive_q);

  // A pair: of a message that has found its receive, or of a receive that has found its message; or one to be dropped.
  assign pair_o.dropped = state_q == StDropping;
  assign pair_o.valid   = state_q == StChoose ||
                          ((state_q == StPosting || state_q == StDropping) && unexpected_done && unexpected_found);
  assign pair_o.receive = 10'(receive_q);
  assign pair_o.message = (state_q == StChoose) ? 10'(message_q) : 10'(unexpected_entry);

  // ----------------------------------------------------------------------------------------- what next
  // Turns: what is delivered first, since it makes room; then messages and commands one after the other.
  assign retires         = state_q == StIdle && retire_valid_i && !retiring_q;
  assign arrives         = state_q == StIdle && !retire_valid_i && !retiring_q && arrival_valid_i &&
                           !(command_valid_i && arrived_last_q);
  assign commanded       = state_q == StIdle && !retire_valid_i && !retiring_q && command_valid_i && !arrives;
  assign command_ready_o = commanded;
  assign retire_ready_o  = retiring_q;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StSweep: if (sweep_q == '1) state_d = StIdle;
      StIdle: begin
        if (arrives) state_d = arrival_i.recall ? StDrop : StArrive;
        if (commanded) begin
          unique case (command_i.command)
            McReceive: state_d = StPost;
            McProbe:   state_d = StProbe;
            McFlush:   state_d = StDrop;
            default:   state_d = StCancel;
          endcase
        end
      end
      StArrive: begin
        if (!room) state_d = StVerdict;
        else if (posted_ready) state_d = StArriving;
      end
      StArriving: if (posted_done) state_d = posted_found ? StChoose : StKeep;
      StChoose: state_d = StVerdict;
      StKeep: if (unexpected_ready) state_d = StVerdict;
      StVerdict: if (verdict_ready_i) state_d = StIdle;
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
        else if (unexpected_done) state_d = flush_q ? StIdle : StVerdict;
      end
      StResult: if (result_ready_i) state_d = StIdle;
      default: state_d = StIdle;
    endcase
  end

  assign result_valid_o = state_q == StResult;
  assign sweeps         = state_q == StSweep;
  assign ready_o        = !sweeps;
  assign idle_o         = state_q == StIdle && !retiring_q;

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
    if (arrives) begin
      match_q <= arrival_i.match;
      mask_q  <= arrival_i.recall ? {8'd0, 8'hFF, 26'h3FF_FFFF} : '0;
      flush_q <= 1'b0;
    end
    if (take_message) message_q <= free_entry;
    if (state_q == StArriving) receive_q <= posted_entry;
    unique case (state_q)
      StPost:       result_status_q <= ST_BAD_ID;
      StProbing:    result_status_q <= unexpected_found ? ST_OK : ST_NOT_FOUND;
      StCancelling: result_status_q <= ST_CANCELLED;
      default: ;
    endcase
    if (arrives) arrived_last_q <= 1'b1;
    if (commanded) arrived_last_q <= 1'b0;
    if (!rst_ni) begin
      state_q    <= StSweep;
      sweep_q    <= '0;
      retiring_q <= 1'b0;
    end else begin
      state_q    <= state_d;
      retiring_q <= retires;
      if (sweeps) sweep_q <= sweep_q + 1'b1;
    end
  end

  `ALCOR_CHECK_PARAM(g_check_depth, (DEPTH & (DEPTH - 1)) == 0 && DEPTH >= 4 && DEPTH <= 1024,
                     "message_matcher: DEPTH must be a power of two, 4 to 1024")

  `ALCOR_STABLE(a_verdict_stable, verdict_valid_o, verdict_ready_i, verdict_o)
  // A message stays on offer until it has its verdict.
  `ALCOR_NEXT(a_arrival_waits, arrival_valid_i && !(verdict_valid_o && verdict_ready_i), arrival_valid_i)

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

`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_nic_pkg::*;

/// Matches the messages that arrive at a rank with the receives that its host posts.
///
/// One thing at a time: a message looks for its receive and is appended to the unexpected messages where
/// there is none; a receive looks for its message and is appended to the posted receives where there is
/// none. So neither can pass the other. What has met goes to `message_delivery`, with the entries of both.
///
/// A receive's entry is its command id, chosen by the host; a message's entry is also the fragment of the
/// unexpected message buffer that its payload may lie in, and is taken from a free list until the message
/// is delivered.
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
    input  logic              clk_i,
    /// Synchronous reset, active low; empties both queues.
    input  logic              rst_ni,
    /// The tables are cleared.
    output logic              ready_o,
    /// Nothing is under way here.
    output logic              idle_o,

    /// Length of the posted queue from which on its matching unit is used.
    input  logic [15:0]       posted_threshold_i,
    /// Length of the unexpected queue from which on its matching unit is used.
    input  logic [15:0]       unexpected_threshold_i,
    /// Messages that a source may have here.
    input  logic [15:0]       quota_i,

    /// A message is here, and waits for a verdict.
    input  logic              arrival_valid_i,
    /// It is an announcement, without payload.
    input  logic              arrival_announce_i,
    /// Its source.
    input  logic [7:0]        arrival_source_i,
    /// Its context.
    input  logic [7:0]        arrival_context_i,
    /// Its tag.
    input  logic [25:0]       arrival_tag_i,
    /// Its length in bytes.
    input  logic [31:0]       arrival_length_i,
    /// It is a recall: what waits of its source is dropped, and then it is refused.
    input  logic              arrival_recall_i,
    /// The rank is being reset: messages are refused.
    input  logic              closed_i,
    /// The verdict, which takes the message.
    output logic              verdict_valid_o,
    /// The verdict is taken.
    input  logic              verdict_ready_i,
    /// One of message_verdict_e.
    output logic [1:0]        verdict_o,
    /// Byte address that the payload goes to.
    output logic [31:0]       verdict_address_o,
    /// Bytes of the payload that go there.
    output logic [31:0]       verdict_bytes_o,
    /// Entry of the receive, of MvDirect.
    output logic [EntryW-1:0] verdict_receive_o,

    /// The host asks for something.
    input  logic              command_valid_i,
    /// It is taken.
    output logic              command_ready_o,
    /// One of message_command_e.
    input  logic [1:0]        command_i,
    /// Source, of all but McCancel.
    input  logic [7:0]        command_rank_i,
    /// Context.
    input  logic [7:0]        command_context_i,
    /// x_tag.
    input  logic [31:0]       command_tag_i,
    /// Receive buffer: byte address.
    input  logic [31:0]       command_address_i,
    /// Receive buffer: bytes.
    input  logic [31:0]       command_length_i,
    /// Command id; of a receive, its entry.
    input  logic [EntryW-1:0] command_id_i,

    /// Pulse: a receive is written to its entry, with its buffer as commanded.
    output logic              receive_write_o,
    /// Which.
    output logic [EntryW-1:0] receive_entry_o,
    /// Its buffer: byte address.
    output logic [31:0]       receive_address_o,
    /// Its buffer: bytes.
    output logic [31:0]       receive_length_o,
    /// Pulse: the message that waits for a verdict is written to its entry.
    output logic              message_write_o,
    /// Which.
    output logic [EntryW-1:0] message_entry_o,

    /// Pulse: a receive and a message have met.
    output logic              pair_valid_o,
    /// The receive.
    output logic [EntryW-1:0] pair_receive_o,
    /// The message.
    output logic [EntryW-1:0] pair_message_o,
    /// There is no receive: the message is dropped.
    output logic              pair_dropped_o,
    /// Its payload goes to the receive buffer at once.
    output logic              pair_direct_o,
    /// Payloads sent to fragments up to and with this one, modulo 4096.
    output logic [11:0]       pair_stored_o,

    /// A pair is delivered.
    input  logic              retire_valid_i,
    /// Its entries are free again.
    output logic              retire_ready_o,
    /// The receive.
    input  logic [EntryW-1:0] retire_receive_i,
    /// There is none.
    input  logic              retire_dropped_i,
    /// The message.
    input  logic [EntryW-1:0] retire_message_i,
    /// The message's source.
    input  logic [7:0]        retire_source_i,
    /// Pulse: one that went directly is.
    input  logic              direct_done_i,

    /// A probe or cancelled receive is complete.
    output logic              result_valid_o,
    /// It is entered.
    input  logic              result_ready_i,
    /// Its status.
    output logic [4:0]        result_status_o,
    /// Its id.
    output logic [EntryW-1:0] result_id_o,
    /// Found: the message's source.
    output logic [7:0]        result_source_o,
    /// Found: its tag.
    output logic [25:0]       result_tag_o,
    /// Found: its length.
    output logic [31:0]       result_length_o,

    /// Posted receives that wait.
    output logic [CountW-1:0] posted_o,
    /// Unexpected messages that wait.
    output logic [CountW-1:0] unexpected_o,
    /// Pulses: found by the unit, by walking; posted receives 1:0, unexpected messages 3:2.
    output logic [3:0]        found_o,
    /// Pulse: a message is refused.
    output logic              refused_o
);

  localparam int unsigned MatchW = 42;
  localparam int unsigned Sources = 256;
  localparam int unsigned SweepW = (EntryW > 8) ? EntryW : 8;
  localparam int unsigned FragmentW = $clog2(FRAGMENT);
  localparam int unsigned DirectW = $clog2(DIRECT + 1);
  localparam logic [31:0] Buffer = 32'(NODE_BYTES - DEPTH * FRAGMENT);

  typedef enum logic [4:0] {
    StSweep,                                 // tables are cleared
    StIdle,
    StArrive, StArriving, StChoose, StKeep,  // a message: search, what was found, append
    StVerdict,
    StPost, StPosting, StQueue,              // a receive: search, what was found, append
    StProbe, StProbing,
    StCancel, StCancelling,
    StDrop, StDropping,                      // a recall or flush: search, and again until nothing is found
    StResult
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

  // What is being done: of the command, or of the message that waits for a verdict.
  logic [MatchW-1:0] match_q, mask_q;
  logic [31:0] address_q, length_q;
  logic [EntryW-1:0] receive_q, message_q;
  logic flush_q;

  // --------------------------------------------------------------------------------------- the queues
  logic posted_valid, posted_ready, posted_done, posted_found, posted_unit;
  logic [1:0] posted_op;
  logic [EntryW-1:0] posted_entry;
  logic unexpected_valid, unexpected_ready, unexpected_done, unexpected_found, unexpected_unit;
  logic [1:0] unexpected_op;
  logic [EntryW-1:0] unexpected_entry;

  match_queue #(
      .DEPTH (DEPTH),
      .CELLS (CELLS),
      .BLOCK (BLOCK),
      .POSTED(1'b1)
  ) u_posted (
      .clk_i         (clk_i),
      .rst_ni        (rst_ni),
      .threshold_i   (posted_threshold_i),
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
      .count_o       (posted_o)
  );

  match_queue #(
      .DEPTH (DEPTH),
      .CELLS (CELLS),
      .BLOCK (BLOCK),
      .POSTED(1'b0)
  ) u_unexpected (
      .clk_i         (clk_i),
      .rst_ni        (rst_ni),
      .threshold_i   (unexpected_threshold_i),
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
      .count_o       (unexpected_o)
  );

  logic room;
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

  assign found_o = {state_q == StPosting && unexpected_done && unexpected_found && !unexpected_unit,
                    state_q == StPosting && unexpected_done && unexpected_found && unexpected_unit,
                    state_q == StArriving && posted_done && posted_found && !posted_unit,
                    state_q == StArriving && posted_done && posted_found && posted_unit};

  // ------------------------------------------------------------------------------- entries of messages
  logic free_valid, free_ready, take_message, retiring_q, retire;
  logic [EntryW-1:0] free_entry;

  fifo #(.WIDTH(EntryW), .DEPTH(DEPTH), .BLOCK_RAM(DEPTH >= 128)) u_free (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(retire || (sweeps && 32'(sweep_q) < DEPTH)), .ready_o(free_ready),
      .data_i(sweeps ? EntryW'(sweep_q) : retire_message_i), .valid_o(free_valid), .ready_i(take_message),
      .data_o(free_entry), .empty_o(), .usage_o()
  );

  // How many each source has here. What is read in StIdle is of who comes next.
  logic [CountW-1:0] held, held_next;
  logic [7:0] source_q;
  logic held_write;

  ram_sdp #(
      .WIDTH    (CountW),
      .DEPTH    (Sources),
      .BLOCK_RAM(1'b0)
  ) u_held (
      .clk_i  (clk_i),
      .we_i   (held_write || sweeps),
      .waddr_i(sweeps ? sweep_q[7:0] : source_q),
      .wdata_i(sweeps ? '0 : held_next),
      .re_i   (state_q == StIdle),
      .raddr_i(retire_valid_i ? retire_source_i : arrival_source_i),
      .rdata_o(held)
  );

  assign room         = !closed_i && free_valid && (quota_i == '1 || 32'(held) < 32'(quota_i));
  assign take_message = state_q == StArrive && room && posted_ready;
  assign retire       = retiring_q;
  assign held_write   = take_message || retire;
  assign held_next    = retire ? held - 1'b1 : held + 1'b1;

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
      .raddr_i(command_id_i),
      .rdata_o(entry_state)
  );

  always_comb begin
    entry_write = 1'b0;
    entry_at    = receive_q;
    entry_next  = EnFree;
    if (pair_valid_o && !pair_dropped_o) begin
      entry_write = 1'b1;
      entry_next  = EnMatched;
    end
    if (state_q == StQueue && posted_ready) begin
      entry_write = 1'b1;
      entry_next  = EnQueued;
    end
    if (state_q == StCancelling && posted_done) entry_write = 1'b1;
    if (retire) begin
      entry_write = !retire_dropped_i;
      entry_at    = retire_receive_i;
    end
  end

  // The buffer of the receive that a message has found.
  logic [31:0] buffer_address, buffer_length;

  ram_sdp #(
      .WIDTH(64),
      .DEPTH(DEPTH)
  ) u_receives (
      .clk_i  (clk_i),
      .we_i   (receive_write_o),
      .waddr_i(receive_q),
      .wdata_i({address_q, length_q}),
      .re_i   (1'b1),
      .raddr_i(posted_entry),
      .rdata_o({buffer_address, buffer_length})
  );

  assign receive_write_o   = state_q == StPost && entry_state == EnFree;
  assign receive_entry_o   = receive_q;
  assign receive_address_o = address_q;
  assign receive_length_o  = length_q;

  // What a probe tells of the message that it has found.
  logic [4:0] result_status_q;
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
      .wdata_i({arrival_source_i, arrival_tag_i, arrival_length_i}),
      .re_i   (state_q == StProbing),
      .raddr_i(unexpected_entry),
      .rdata_o({probed_source, probed_tag, probed_length})
  );

  assign result_source_o = (result_status_q == ST_OK) ? probed_source : '0;
  assign result_tag_o    = (result_status_q == ST_OK) ? probed_tag : '0;
  assign result_length_o = (result_status_q == ST_OK) ? probed_length : '0;

  assign message_write_o = take_message;
  assign message_entry_o = free_entry;

  // ------------------------------------------------------------------------------------------- verdict
  logic [1:0] verdict_d, verdict_q;
  logic [31:0] verdict_address_d, verdict_address_q, verdict_bytes_d, verdict_bytes_q;
  logic [31:0] fragment, kept;
  logic has_payload, fits;
  logic [DirectW-1:0] direct_q;
  logic [11:0] stored_q;
  logic goes_direct, goes_to_fragment;

  assign fragment    = Buffer + (32'(message_q) << FragmentW);
  assign has_payload = !arrival_announce_i && arrival_length_i != '0;
  assign fits        = arrival_length_i <= buffer_length;
  assign kept        = fits ? arrival_length_i : buffer_length;

  always_comb begin
    verdict_d         = verdict_q;
    verdict_address_d = verdict_address_q;
    verdict_bytes_d   = verdict_bytes_q;
    unique case (state_q)
      StArrive, StDrop: verdict_d = MvRefuse;
      StChoose: begin
        verdict_d         = MvNone;
        verdict_address_d = buffer_address;
        verdict_bytes_d   = kept;
        if (has_payload && kept != '0) begin
          verdict_d = MvDirect;
          // A payload comes with its first byte in lane 0, and is shifted only on its way out of memory.
          if (buffer_address[1:0] != 2'd0 || direct_q == DirectW'(DIRECT)) begin
            verdict_d         = MvStore;
            verdict_address_d = fragment;
            verdict_bytes_d   = arrival_length_i;
          end
        end
      end
      StKeep: begin
        verdict_d         = has_payload ? MvStore : MvNone;
        verdict_address_d = fragment;
        verdict_bytes_d   = arrival_length_i;
      end
      default: ;
    endcase
  end

  assign verdict_valid_o   = state_q == StVerdict;
  assign verdict_o         = verdict_q;
  assign verdict_address_o = verdict_address_q;
  assign verdict_bytes_o   = verdict_bytes_q;
  assign verdict_receive_o = receive_q;
  assign goes_direct       = state_q == StChoose && verdict_d == MvDirect;
  assign goes_to_fragment  = (state_q == StChoose && verdict_d == MvStore) ||
                             (state_q == StKeep && unexpected_ready && verdict_d == MvStore);
  assign refused_o         = state_q == StArrive && !room;

  // A pair: of a message that has found its receive, or of a receive that has found its message; or one to be dropped.
  assign pair_dropped_o = state_q == StDropping;
  assign pair_valid_o   = state_q == StChoose ||
                          ((state_q == StPosting || state_q == StDropping) && unexpected_done && unexpected_found);
  assign pair_receive_o = receive_q;
  assign pair_message_o = (state_q == StChoose) ? message_q : unexpected_entry;
  assign pair_direct_o  = goes_direct;
  assign pair_stored_o  = stored_q + 12'(goes_to_fragment);

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
        if (arrives) state_d = arrival_recall_i ? StDrop : StArrive;
        if (commanded) begin
          unique case (command_i)
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

  assign result_valid_o  = state_q == StResult;
  assign result_status_o = result_status_q;
  assign result_id_o     = receive_q;
  assign sweeps          = state_q == StSweep;
  assign ready_o         = !sweeps;
  assign idle_o          = state_q == StIdle && !retiring_q;

  always_ff @(posedge clk_i) begin
    if (commanded) begin
      match_q   <= {command_rank_i, command_context_i, command_tag_i[X_TAG_TAG_LSB+:X_TAG_TAG_W]};
      mask_q    <= {{8{command_tag_i[X_TAG_ANY_SOURCE_LSB]}}, 8'd0, {26{command_tag_i[X_TAG_ANY_TAG_LSB]}}};
      address_q <= command_address_i;
      length_q  <= command_length_i;
      receive_q <= command_id_i;
      flush_q   <= command_i == McFlush;
      if (command_i == McFlush) mask_q <= '1;
    end
    if (arrives) begin
      match_q <= {arrival_source_i, arrival_context_i, arrival_tag_i};
      mask_q  <= arrival_recall_i ? {8'd0, 8'hFF, 26'h3FF_FFFF} : '0;
      flush_q <= 1'b0;
    end
    if (state_q == StIdle) source_q <= retire_valid_i ? retire_source_i : arrival_source_i;
    if (take_message) message_q <= free_entry;
    if (state_q == StArriving) receive_q <= posted_entry;
    unique case (state_q)
      StPost:       result_status_q <= ST_BAD_ID;
      StProbing:    result_status_q <= unexpected_found ? ST_OK : ST_NOT_FOUND;
      StCancelling: result_status_q <= ST_CANCELLED;
      default: ;
    endcase
    verdict_q         <= verdict_d;
    verdict_address_q <= verdict_address_d;
    verdict_bytes_q   <= verdict_bytes_d;
    if (arrives) arrived_last_q <= 1'b1;
    if (commanded) arrived_last_q <= 1'b0;
    if (!rst_ni) begin
      state_q    <= StSweep;
      sweep_q    <= '0;
      retiring_q <= 1'b0;
      direct_q   <= '0;
      stored_q   <= '0;
    end else begin
      state_q    <= state_d;
      retiring_q <= retires;
      direct_q   <= direct_q + DirectW'(goes_direct) - DirectW'(direct_done_i);
      stored_q   <= stored_q + 12'(goes_to_fragment);
      if (sweeps) sweep_q <= sweep_q + 1'b1;
    end
  end

  `ALCOR_CHECK_PARAM(g_check_depth, (DEPTH & (DEPTH - 1)) == 0 && DEPTH >= 4 && DEPTH <= 1024,
                     "message_matcher: DEPTH must be a power of two, 4 to 1024")
  `ALCOR_CHECK_PARAM(g_check_buffer, (FRAGMENT & (FRAGMENT - 1)) == 0 && FRAGMENT >= 4 && DEPTH * FRAGMENT < NODE_BYTES,
                     "message_matcher: FRAGMENT must be a power of two, and all fragments fit into node memory")

  `ALCOR_STABLE(a_verdict_stable, verdict_valid_o, verdict_ready_i,
                {verdict_o, verdict_address_o, verdict_bytes_o, verdict_receive_o})
  `ALCOR_IMPLIES(a_free_has_room, retire, free_ready)
  `ALCOR_IMPLIES(a_held_counts, retire, held != '0)
  // What waits for a verdict waits until it has it.
  `ALCOR_NEXT(a_arrival_waits, arrival_valid_i && !(verdict_valid_o && verdict_ready_i), arrival_valid_i)

`ifdef ALCOR_COVERAGE
  logic [1:0] wildcards;
  assign wildcards = {command_tag_i[X_TAG_ANY_SOURCE_LSB], command_tag_i[X_TAG_ANY_TAG_LSB]};
  `ALCOR_COVER(c_wildcard_receive_none, commanded && command_i == McReceive && wildcards == 2'b00)
  `ALCOR_COVER(c_wildcard_receive_source, commanded && command_i == McReceive && wildcards == 2'b10)
  `ALCOR_COVER(c_wildcard_receive_tag, commanded && command_i == McReceive && wildcards == 2'b01)
  `ALCOR_COVER(c_wildcard_receive_source_and_tag, commanded && command_i == McReceive && wildcards == 2'b11)
  `ALCOR_COVER(c_wildcard_probe_none, commanded && command_i == McProbe && wildcards == 2'b00)
  `ALCOR_COVER(c_wildcard_probe_source, commanded && command_i == McProbe && wildcards == 2'b10)
  `ALCOR_COVER(c_wildcard_probe_tag, commanded && command_i == McProbe && wildcards == 2'b01)
  `ALCOR_COVER(c_wildcard_probe_source_and_tag, commanded && command_i == McProbe && wildcards == 2'b11)
`endif
  // A message that is expected has found its receive.
  `ALCOR_COVER(c_message_eager_expected, state_q == StChoose && verdict_d == MvDirect)
  `ALCOR_COVER(c_message_eager_expected_by_way_of_a_fragment, state_q == StChoose && verdict_d == MvStore)
  `ALCOR_COVER(c_message_eager_unexpected, state_q == StKeep && unexpected_ready && has_payload)
  `ALCOR_COVER(c_message_empty_expected, state_q == StChoose && !arrival_announce_i && !has_payload)
  `ALCOR_COVER(c_message_empty_unexpected, state_q == StKeep && unexpected_ready && !arrival_announce_i && !has_payload)
  `ALCOR_COVER(c_message_rendezvous_expected, state_q == StChoose && arrival_announce_i)
  `ALCOR_COVER(c_message_rendezvous_unexpected, state_q == StKeep && unexpected_ready && arrival_announce_i)
  `ALCOR_COVER(c_message_recalled, pair_dropped_o && pair_valid_o)
  `ALCOR_COVER(c_refused_message_without_fragment, refused_o && !closed_i && !free_valid)
  `ALCOR_COVER(c_refused_message_beyond_quota, refused_o && !closed_i && free_valid)
  `ALCOR_COVER(c_refused_message_in_reset, refused_o && closed_i)
  `ALCOR_COVER(c_full_unexpected_buffer, state_q == StIdle && !free_valid)
  `ALCOR_COVER(c_full_direct_messages, direct_q == DirectW'(DIRECT))

endmodule

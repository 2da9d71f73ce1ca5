`include "assertions.svh"

import alcor_abi_pkg::*;

/// Messages that arrive at a rank: their entries, their order until they are searched for a
/// receive, and the verdict on their payload.
///
/// A message takes its entry when it arrives, and waits in a FIFO for its search. Its entry comes
/// from a free list and is also the number of the fragment that its payload may be stored in. The
/// entry is free again when the message is delivered. A message without an entry is refused, and so
/// are those after it that have serial numbers (`message_streams`). A recall takes a place in the FIFO and no
/// entry.
///
/// At most one message waits for its verdict: the one that has arrived last, if it has a payload or
/// is a recall. With `late_i` the payload goes to the fragment, whatever the search finds later.
module message_arrivals #(
    /// Number of messages that fit; a power of two.
    parameter int unsigned DEPTH = 256,
    /// Bytes of a fragment of the unexpected message buffer, a power of two.
    parameter int unsigned FRAGMENT = 256,
    /// Bytes of node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Maximum number of payloads under way into receive buffers without a fragment.
    parameter int unsigned DIRECT = 8,
    /// Width of an entry; derived, not to be set.
    localparam int unsigned EntryW = $clog2(DEPTH),
    /// Width of a payload's length, which is FRAGMENT at most; derived, not to be set.
    localparam int unsigned LengthW = $clog2(FRAGMENT + 1),
    /// Width of the sweep's counter; derived, not to be set.
    localparam int unsigned SweepW = (EntryW > 8) ? EntryW : 8
) (
    /// Clock.
    input  logic                            clk_i,
    /// Synchronous reset, active low; forgets all messages.
    input  logic                            rst_ni,
    /// The tables are being cleared, after reset.
    input  logic                            sweep_i,
    /// Row that is cleared in this cycle.
    input  logic [SweepW-1:0]               sweep_row_i,
    /// The rank is being reset: messages are refused.
    input  logic                            closed_i,
    /// Maximum number of messages of one source; all ones: no limit.
    input  logic [15:0]                     quota_i,

    /// A message arrives; its source is valid one cycle earlier.
    input  logic                            arrival_valid_i,
    /// The message is taken.
    output logic                            arrival_ready_o,
    /// The message is refused and dropped, because there is no room.
    output logic                            arrival_refused_o,
    /// With `arrival_refused_o`: sources whose messages are refused; 0 if the message has no serial number.
    output logic [4:0]                      arrival_line_o,
    /// The message. The verdict on a recall is a refusal.
    input  alcor_abi_pkg::arrival_t         arrival_i,
    /// The payload that waits for its verdict must leave now.
    input  logic                            late_i,
    /// The verdict on the last message is valid, if the message has a payload or is a recall.
    output logic                            verdict_valid_o,
    /// The verdict is taken.
    input  logic                            verdict_ready_i,
    /// The verdict.
    output alcor_abi_pkg::verdict_t         verdict_o,

    /// The message that arrives is entered.
    output alcor_abi_pkg::enter_message_t   message_o,
    /// A message or a recall waits for its search.
    output logic                            waiting_valid_o,
    /// The message or recall is taken.
    input  logic                            waiting_ready_i,
    /// The message or recall.
    output alcor_abi_pkg::waiting_message_t waiting_o,
    /// Match bits and length of a message are looked up.
    input  logic                            look_i,
    /// Entry of the message that is looked up.
    input  logic [EntryW-1:0]               look_entry_i,
    /// In the cycle after, until the next lookup: match bits of the message.
    output alcor_abi_pkg::match_t           look_match_o,
    /// In the cycle after, until the next lookup: a kernel has announced the message.
    output logic                            look_kernel_o,
    /// In the cycle after, until the next lookup: length of the message in bytes.
    output logic [31:0]                     look_length_o,

    /// Outcomes of searches.
    input  alcor_abi_pkg::search_outcome_t  outcome_i,
    /// With `outcome_i.matched`: buffer of the receive.
    input  alcor_abi_pkg::buffer_t          buffer_i,
    /// With `outcome_i.matched`: the payload goes directly to the receive buffer.
    output logic                            direct_o,
    /// Payloads sent to fragments up to and with this one, modulo 4096.
    output logic [11:0]                     stored_o,
    /// Pulse: a payload that went directly is delivered.
    input  logic                            direct_done_i,

    /// A delivered pair, whose entries are to be freed.
    input  logic                            retire_valid_i,
    /// The pair is taken.
    output logic                            retire_ready_o,
    /// The pair.
    input  alcor_abi_pkg::retire_t          retire_i,
    /// A pair that was taken waits until its entries are freed.
    output logic                            freeing_o,
    /// The entries of the waiting pair can be freed in this cycle.
    output logic                            free_valid_o,
    /// The entries of the waiting pair are freed, if `free_valid_o` is asserted.
    input  logic                            free_ready_i,
    /// The waiting pair.
    output alcor_abi_pkg::retire_t          free_o
);

  // ------------------------------------------------------------------------------------- admission
  logic admits, known, room, entry_room, fits, in_order, has_payload, waiting_room;
  logic [7:0] source_q;
  logic [EntryW-1:0] entry, waiting_entry;

  // A sender's fragments may be longer than this engine's: a message must not run over the next entry's.
  assign fits        = arrival_i.announce || arrival_i.length <= 32'(FRAGMENT);
  assign room        = entry_room && fits && in_order;
  assign has_payload = !arrival_i.announce && arrival_i.length[LengthW-1:0] != '0;
  // The count of the source was read a cycle before.
  assign known             = source_q == arrival_i.match.source && !sweep_i;
  assign arrival_ready_o   = known && (waiting_room || arrival_refused_o);
  assign arrival_refused_o = !room && !arrival_i.recall;
  assign admits            = arrival_valid_i && arrival_ready_o && (room || arrival_i.recall);
  assign message_o.valid   = admits && !arrival_i.recall;
  assign message_o.entry   = 10'(entry);

  always_ff @(posedge clk_i) source_q <= arrival_i.match.source;

  message_streams u_streams (
      .clk_i      (clk_i),
      .rst_ni     (rst_ni),
      .sweep_i    (sweep_i),
      .sweep_row_i(sweep_row_i[7:0]),
      .closed_i   (closed_i),
      .source_i   (arrival_i.match.source),
      .serial_i   (arrival_i.serial),
      .in_order_o (in_order),
      .line_o     (arrival_line_o),
      .taken_i    (admits && !arrival_i.recall),
      .refused_i  (arrival_valid_i && arrival_ready_o && arrival_refused_o),
      .recalled_i (admits && arrival_i.recall)
  );

  // Messages that wait have entries, so there is room for all of them, but for the place of a recall.
  fifo #(.WIDTH(1 + EntryW + MatchW), .DEPTH(DEPTH), .BLOCK_RAM(DEPTH >= 128)) u_waiting (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(admits), .ready_o(waiting_room),
      .data_i({arrival_i.recall, entry, arrival_i.match}), .valid_o(waiting_valid_o), .ready_i(waiting_ready_i),
      .data_o({waiting_o.recall, waiting_entry, waiting_o.match}), .empty_o(), .usage_o()
  );

  assign waiting_o.entry = 10'(waiting_entry);

  // Match bits of a message that is appended; match bits and length of the message that a probe has found, and whether a
  // kernel has announced it: ids of a kernel have bit 15.
  ram_sdp #(
      .WIDTH(MatchW + 1 + 32),
      .DEPTH(DEPTH)
  ) u_messages (
      .clk_i  (clk_i),
      .we_i   (message_o.valid),
      .waddr_i(entry),
      .wdata_i({arrival_i.match, arrival_i.announce && arrival_i.id[15], arrival_i.length}),
      .re_i   (look_i),
      .raddr_i(look_entry_i),
      .rdata_o({look_match_o, look_kernel_o, look_length_o})
  );

  // --------------------------------------------------------------------------------------- entries
  logic retire;

  // Delivery does not wait for a cycle in which an entry can be freed.
  fifo #(.WIDTH(1 + 10 + 10 + 8), .DEPTH(2)) u_freed (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(retire_valid_i), .ready_o(retire_ready_o),
      .data_i(retire_i), .valid_o(freeing_o), .ready_i(retire), .data_o(free_o), .empty_o(), .usage_o()
  );

  message_entries #(
      .DEPTH(DEPTH)
  ) u_entries (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .sweep_i        (sweep_i),
      .sweep_row_i    (sweep_row_i),
      .closed_i       (closed_i),
      .quota_i        (quota_i),
      .source_i       (arrival_i.match.source),
      .room_o         (entry_room),
      .entry_o        (entry),
      .take_i         (message_o.valid),
      .retire_valid_i (freeing_o),
      .retire_ready_o (free_valid_o),
      .retire_i       (retire),
      .retire_source_i(free_o.source),
      .retire_entry_i (free_o.message[EntryW-1:0])
  );

  assign retire = free_valid_o && free_ready_i;

  // --------------------------------------------------------------------------------------- verdict
  // The message that waits for its verdict.
  logic waits_q, waits_recall_q, awaited, decides;
  logic [EntryW-1:0] waits_entry_q;
  logic [LengthW-1:0] waits_length_q;
  logic [EntryW-1:0] verdict_receive_q;
  logic verdict_valid_q;
  alcor_abi_pkg::message_verdict_e kind;
  alcor_abi_pkg::buffer_t place;

  assign awaited = waits_q && !waits_recall_q && outcome_i.message[EntryW-1:0] == waits_entry_q;

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
      .buffer_i     (buffer_i),
      .refuse_i     (outcome_i.recalled),
      .expected_i   (outcome_i.matched && awaited),
      .kept_i       (outcome_i.kept && awaited),
      .late_i       (late_i && waits_q && !waits_recall_q && !(outcome_i.matched && awaited)),
      .direct_done_i(direct_done_i),
      .decides_o    (decides),
      .kind_o       (kind),
      .place_o      (place),
      .direct_o     (direct_o),
      .stored_o     (stored_o)
  );

  always_ff @(posedge clk_i) begin
    if (admits) begin
      waits_recall_q <= arrival_i.recall;
      waits_entry_q  <= entry;
      waits_length_q <= arrival_i.length[LengthW-1:0];
    end
    if (decides) verdict_receive_q <= outcome_i.receive[EntryW-1:0];
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

  `ALCOR_STABLE(a_verdict_stable, verdict_valid_o, verdict_ready_i, verdict_o)
  `ALCOR_STABLE(a_arrival_stable, arrival_valid_i, arrival_ready_o, arrival_i)
  // A message arrives when the one before has its verdict.
  `ALCOR_IMPLIES(a_one_waits, arrival_valid_i, !waits_q && !verdict_valid_o)
  `ALCOR_IMPLIES(a_late_waits, late_i, waits_q || verdict_valid_o)

`ifdef ALCOR_COVERAGE
  // Messages that have no payload with them: announcements and empty ones.
  logic [DEPTH-1:0] announcements_q, empties_q;
  logic announced, empty, refused;
  always_ff @(posedge clk_i) begin
    if (message_o.valid) begin
      announcements_q[entry] <= arrival_i.announce;
      empties_q[entry]       <= !arrival_i.announce && !has_payload;
    end
  end
  assign announced = announcements_q[outcome_i.message[EntryW-1:0]];
  assign empty     = empties_q[outcome_i.message[EntryW-1:0]];
  assign refused   = arrival_valid_i && arrival_ready_o && arrival_refused_o;
  `ALCOR_COVER(c_message_empty_expected, outcome_i.matched && empty)
  `ALCOR_COVER(c_message_empty_unexpected, outcome_i.kept && empty)
  `ALCOR_COVER(c_message_rendezvous_expected, outcome_i.matched && announced)
  `ALCOR_COVER(c_message_rendezvous_unexpected, outcome_i.kept && announced)
  `ALCOR_COVER(c_refused_message_without_fragment, refused && !closed_i && !u_entries.free_valid)
  `ALCOR_COVER(c_refused_message_beyond_quota, refused && !closed_i && u_entries.free_valid)
  `ALCOR_COVER(c_refused_message_longer_than_a_fragment, refused && !closed_i && !fits)
  `ALCOR_COVER(c_refused_message_in_reset, refused && closed_i)
`endif

endmodule

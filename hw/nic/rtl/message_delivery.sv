`include "assertions.svh"

import alcor_abi_pkg::*;

/// Brings the payload of a matched message into its receive buffer, and notifies the host and the
/// sender.
///
/// The first half begins deliveries. An XDATA packet to this rank itself copies a payload from its
/// fragment to the receive buffer. XGET packets, cut as in a host's get, fetch an announced
/// payload. The second half ends deliveries. When the last byte is in memory, it enters the
/// completion, acknowledges the sender's command and frees both entries. Up to FLIGHTS copies and
/// fetches are under way.
module message_delivery #(
    /// Number of posted receives, and of unexpected messages, that fit; a power of two.
    parameter int unsigned DEPTH = 256,
    /// Bytes of a fragment of the unexpected message buffer, a power of two.
    parameter int unsigned FRAGMENT = 256,
    /// Bytes of node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Payload words of an extended packet, a power of two.
    parameter int unsigned PAYLOAD_WORDS = 128,
    /// Maximum number of payloads under way into receive buffers without a fragment.
    parameter int unsigned DIRECT = 8,
    /// Copies and fetches that may be under way.
    parameter int unsigned FLIGHTS = 8,
    /// Width of an entry; derived, not to be set.
    localparam int unsigned EntryW = $clog2(DEPTH)
) (
    /// Clock.
    input  logic                            clk_i,
    /// Synchronous reset, active low.
    input  logic                            rst_ni,
    /// This rank's number on the network.
    input  logic [7:0]                      rank_i,
    /// Nothing is under way.
    output logic                            idle_o,

    /// A receive is entered.
    input  alcor_abi_pkg::enter_receive_t   receive_i,
    /// The message `arrival_i` is entered.
    input  alcor_abi_pkg::enter_message_t   message_i,
    /// The message that waits for its verdict.
    input  alcor_abi_pkg::arrival_t         arrival_i,

    /// A receive and a message are to be brought together; there is always room.
    input  alcor_abi_pkg::pair_t            pair_i,
    /// A pair's entries are to be freed.
    output logic                            retire_valid_o,
    /// The entries are freed.
    input  logic                            retire_ready_i,
    /// The pair.
    output alcor_abi_pkg::retire_t          retire_o,
    /// Pulse: a payload that went directly is delivered.
    output logic                            direct_done_o,

    /// Pulse: a payload lies in its fragment.
    input  logic                            stored_i,
    /// A payload that went directly lies in the receive buffer; there is always room.
    input  alcor_abi_pkg::delivered_t       direct_i,
    /// A payload that was copied or fetched lies in the receive buffer; there is always room.
    input  alcor_abi_pkg::delivered_t       moved_i,

    /// A copy is offered.
    output logic                            copy_valid_o,
    /// The copy is taken.
    input  logic                            copy_ready_i,
    /// The copy.
    output alcor_abi_pkg::copy_t            copy_o,

    /// Request plane: a header word of a fetch is offered.
    output logic                            head_valid_o,
    /// The header word is taken.
    input  logic                            head_ready_i,
    /// The header word.
    output logic [31:0]                     head_o,
    /// Request plane: the task of a fetch is offered, with its last header word.
    output logic                            task_valid_o,
    /// The task is taken.
    input  logic                            task_ready_i,

    /// The completion of a receive is offered.
    output logic                            completion_valid_o,
    /// The completion is entered.
    input  logic                            completion_ready_i,
    /// The completion.
    output alcor_abi_pkg::received_t        completion_o,

    /// An acknowledgement for the sender is offered.
    output logic                            ack_valid_o,
    /// The acknowledgement is taken.
    input  logic                            ack_ready_i,
    /// The acknowledgement.
    output alcor_abi_pkg::acknowledgement_t ack_o
);

  localparam int unsigned BytesW = $clog2(4 * PAYLOAD_WORDS + 1);
  localparam int unsigned FragmentW = $clog2(FRAGMENT);
  localparam int unsigned FlightW = $clog2(FLIGHTS + 1);
  localparam int unsigned MessageW = 1 + 8 + 26 + 32 + 16;
  localparam int unsigned PairW = 2 + 2 * EntryW + 12;
  localparam logic [31:0] Buffer = 32'(NODE_BYTES - DEPTH * FRAGMENT);

  // ------------------------------------------------------------------------------------------- entries
  logic [EntryW-1:0] receive_raddr, message_raddr;
  logic receive_read, message_read;
  alcor_abi_pkg::buffer_t buffer;
  logic defer;
  logic [31:0] length;
  logic [EntryW-1:0] peer;
  logic announce;
  logic [7:0] source;
  logic [25:0] tag;
  logic [15:0] sender_id;

  ram_sdp #(
      .WIDTH(65),
      .DEPTH(DEPTH)
  ) u_receives (
      .clk_i  (clk_i),
      .we_i   (receive_i.valid),
      .waddr_i(receive_i.entry[EntryW-1:0]),
      .wdata_i({receive_i.defer, receive_i.buffer}),
      .re_i   (receive_read),
      .raddr_i(receive_raddr),
      .rdata_o({defer, buffer})
  );

  ram_sdp #(
      .WIDTH(MessageW),
      .DEPTH(DEPTH)
  ) u_messages (
      .clk_i  (clk_i),
      .we_i   (message_i.valid),
      .waddr_i(message_i.entry[EntryW-1:0]),
      .wdata_i({arrival_i.announce, arrival_i.match.source, arrival_i.match.tag, arrival_i.length, arrival_i.id}),
      .re_i   (message_read),
      .raddr_i(message_raddr),
      .rdata_o({announce, source, tag, length, sender_id})
  );

  // The message that a receive has met.
  ram_sdp #(
      .WIDTH(EntryW),
      .DEPTH(DEPTH)
  ) u_peers (
      .clk_i  (clk_i),
      .we_i   (pair_i.valid && !pair_i.dropped),
      .waddr_i(pair_i.receive[EntryW-1:0]),
      .wdata_i(pair_i.message[EntryW-1:0]),
      .re_i   (receive_read),
      .raddr_i(receive_raddr),
      .rdata_o(peer)
  );

  // --------------------------------------------------------------------------------- what waits to begin
  logic pair_valid, pair_ready, pair_room, pair_dropped, pair_refused;
  logic [EntryW-1:0] pair_receive, pair_message;
  // While a pair waits its message's entry is taken, and so is that of each payload that is stored meanwhile:
  // these are 1024 at most, so the count is never mistaken for one of the past.
  logic [11:0] pair_stored, landed_q, ahead;

  fifo #(.WIDTH(PairW), .DEPTH(DEPTH), .BLOCK_RAM(DEPTH >= 128)) u_pairs (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(pair_i.valid && !pair_i.direct), .ready_o(pair_room),
      .data_i({pair_i.dropped, pair_i.refused, pair_i.receive[EntryW-1:0], pair_i.message[EntryW-1:0], pair_i.stored}),
      .valid_o(pair_valid), .ready_i(pair_ready),
      .data_o({pair_dropped, pair_refused, pair_receive, pair_message, pair_stored}), .empty_o(), .usage_o()
  );

  // ----------------------------------------------------------------------------------- what waits to end
  logic direct_valid, direct_ready, direct_room, moved_valid, moved_ready, moved_room;
  logic [EntryW-1:0] direct_receive, moved_receive;
  alcor_abi_pkg::status_e direct_status, moved_status;

  fifo #(.WIDTH(5 + EntryW), .DEPTH(DIRECT)) u_direct (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(direct_i.valid), .ready_o(direct_room),
      .data_i({direct_i.status, direct_i.receive[EntryW-1:0]}), .valid_o(direct_valid), .ready_i(direct_ready),
      .data_o({direct_status, direct_receive}), .empty_o(), .usage_o()
  );

  fifo #(.WIDTH(5 + EntryW), .DEPTH(FLIGHTS)) u_moved (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(moved_i.valid), .ready_o(moved_room),
      .data_i({moved_i.status, moved_i.receive[EntryW-1:0]}), .valid_o(moved_valid), .ready_i(moved_ready),
      .data_o({moved_status, moved_receive}), .empty_o(), .usage_o()
  );

  // ------------------------------------------------------------------------------------------------ end
  typedef enum logic [1:0] {
    EndIdle,     // no end
    EndPeer,     // receive, and its message, are read
    EndMessage,  // message is read
    EndTell      // host, sender and matcher are notified
  } end_e;

  end_e end_d, end_q;
  alcor_abi_pkg::status_e status_q, empty_status;
  logic [EntryW-1:0] end_receive_q, end_message_q, begin_message_q, met;
  logic [2:0] told_d, told_q, tells;
  logic empty_valid, end_reads, takes_direct, takes_moved, takes_empty, begin_dropped_q, begin_refused_q, end_dropped_q;
  logic defers, deferred_q;
  logic [EntryW-1:0] empty_receive_q;

  assign takes_moved  = end_q == EndIdle && moved_valid;
  assign takes_direct = end_q == EndIdle && !moved_valid && direct_valid;
  assign takes_empty  = end_q == EndIdle && !moved_valid && !direct_valid && empty_valid;
  assign moved_ready  = takes_moved;
  assign direct_ready = takes_direct;
  assign end_reads    = takes_moved || takes_direct || takes_empty || end_q == EndPeer;

  assign completion_valid_o = end_q == EndTell && !told_q[0] && !end_dropped_q;
  assign ack_valid_o        = end_q == EndTell && !told_q[1];
  assign retire_valid_o     = end_q == EndTell && !told_q[2];
  assign tells              = {retire_valid_o && retire_ready_i, ack_valid_o && ack_ready_i,
                               (completion_valid_o && completion_ready_i) || end_dropped_q};
  assign told_d             = (end_q == EndTell) ? told_q | tells : '0;

  always_comb begin
    end_d = end_q;
    unique case (end_q)
      EndIdle:    if (end_reads) end_d = EndPeer;
      EndPeer:    end_d = EndMessage;
      EndMessage: end_d = EndTell;
      EndTell:    if (told_d == '1) end_d = EndIdle;
      default:    end_d = EndIdle;
    endcase
  end

  logic [7:0] end_source_q;
  logic [25:0] end_tag_q;
  logic [31:0] end_length_q, end_capacity_q;
  logic [15:0] end_id_q;

  always_ff @(posedge clk_i) begin
    if (end_q == EndIdle) begin
      status_q      <= takes_moved ? moved_status : takes_direct ? direct_status : empty_status;
      end_receive_q <= takes_moved ? moved_receive : takes_direct ? direct_receive : empty_receive_q;
      end_dropped_q <= takes_empty && begin_dropped_q;
    end
    if (end_q == EndPeer) end_message_q <= met;
    // Used in EndMessage alone, the cycle behind EndPeer.
    end_capacity_q <= buffer.length;
    if (end_q == EndMessage) begin
      end_source_q <= source;
      end_tag_q    <= tag;
      end_length_q <= length;
      end_id_q     <= sender_id;
      if (status_q == ST_OK && length > end_capacity_q) status_q <= ST_TRUNCATED;
    end
    if (!rst_ni) begin
      end_q  <= EndIdle;
      told_q <= '0;
    end else begin
      end_q  <= end_d;
      told_q <= told_d;
    end
  end

  always_comb begin
    completion_o             = '0;
    completion_o.status      = status_q;
    completion_o.id          = 16'(end_receive_q);
    completion_o.source      = end_source_q;
    completion_o.message.tag = end_tag_q;
    completion_o.length      = end_length_q;
  end
  assign ack_o.rank          = end_source_q;
  assign ack_o.status        = (end_dropped_q || status_q == ST_DEFERRED) ? status_q : ST_OK;
  assign ack_o.id            = end_id_q;
  assign retire_o.receive    = 10'(end_receive_q);
  assign retire_o.dropped    = end_dropped_q;
  assign retire_o.message    = 10'(end_message_q);
  assign retire_o.source     = end_source_q;
  assign direct_done_o       = takes_direct;

  // ---------------------------------------------------------------------------------------------- begin
  typedef enum logic [3:0] {
    BeginIdle,     // no pair
    BeginRead,     // receive and message are read
    BeginEmpty,    // no data to move
    BeginCopy,     // copy is offered
    BeginCut,      // next packet of the fetch is sized
    BeginHead,     // XGET: header word
    BeginOffset,   // XGET: offset
    BeginLength,   // XGET: length
    BeginAddress   // XGET: local address
  } begin_e;

  begin_e begin_d, begin_q;
  alcor_abi_pkg::x_header_t fetch_header;
  alcor_abi_pkg::x_length_t fetch_length;
  logic begins, begin_reads, last_d, last_q, steps, done;
  logic [EntryW-1:0] begin_receive_q;
  logic [7:0] begin_source_q;
  // The ten bits that the header of a fetch has.
  logic [9:0] begin_id_q;
  logic [31:0] to_q, left_q, offset_q, bytes;
  logic [BytesW-1:0] segment_d, segment_q;
  logic [FlightW-1:0] flights_q;

  // The payload of the oldest pair lies in its fragment, as all before it do.
  assign ahead       = landed_q - pair_stored;
  assign begins      = begin_q == BeginIdle && pair_valid && !ahead[11] && flights_q != FlightW'(FLIGHTS);
  assign begin_reads = begins && !end_reads;
  assign pair_ready  = begin_reads;

  assign receive_raddr = takes_moved ? moved_receive : takes_direct ? direct_receive :
                         takes_empty ? empty_receive_q : pair_receive;
  assign receive_read  = takes_moved || takes_direct || takes_empty || begin_reads;
  // A dropped message has no receive; the next pair begins when this one has been read.
  assign met           = end_dropped_q ? begin_message_q : peer;
  assign message_raddr = (end_q == EndPeer) ? met : pair_message;
  assign message_read  = end_q == EndPeer || begin_reads;

  assign defers = announce && defer && !begin_dropped_q;
  assign bytes  = (length > buffer.length) ? buffer.length : length;

  segmenter #(
      .PAYLOAD_WORDS(PAYLOAD_WORDS)
  ) u_segmenter (
      .left_i    (left_q),
      .align_i   (to_q[1:0]),
      .last_i    (last_d),
      .fits_o    (last_d),
      .bytes_o   (segment_d),
      .words_o   (),
      .end_lane_o()
  );

  // A fetch names the announced message by its sender's id, ten bits in the places of slot and `high`.
  always_comb begin
    fetch_header         = '0;
    fetch_header.dpid    = begin_source_q;
    fetch_header.ptype   = PT_XGET;
    fetch_header.last    = last_q;
    fetch_header.message = 1'b1;
    fetch_header.high    = begin_id_q[9:8];
    fetch_header.src     = rank_i;
    fetch_header.slot    = begin_id_q[7:0];
    fetch_length.id      = 16'(begin_receive_q);
    fetch_length.length  = left_q[15:0];
  end

  always_comb begin
    begin_d      = begin_q;
    steps        = 1'b0;
    done         = 1'b0;
    head_valid_o = 1'b0;
    head_o       = '0;
    task_valid_o = 1'b0;
    unique case (begin_q)
      BeginIdle: if (begin_reads) begin_d = BeginRead;
      BeginRead: begin
        begin_d = announce ? BeginCut : BeginCopy;
        if (bytes == '0 || begin_dropped_q || defers) begin_d = BeginEmpty;
      end
      BeginEmpty: if (takes_empty) begin_d = BeginIdle;
      BeginCopy: begin
        done = copy_ready_i;
        if (copy_ready_i) begin_d = BeginIdle;
      end
      BeginCut: begin_d = BeginHead;
      BeginHead: begin
        head_valid_o = 1'b1;
        head_o       = fetch_header;
        if (head_ready_i) begin_d = BeginOffset;
      end
      BeginOffset: begin
        head_valid_o = 1'b1;
        head_o       = offset_q;
        if (head_ready_i) begin_d = BeginLength;
      end
      BeginLength: begin
        head_valid_o = 1'b1;
        head_o       = last_q ? fetch_length : left_q;
        if (head_ready_i) begin_d = BeginAddress;
      end
      BeginAddress: begin
        head_valid_o = task_ready_i;
        head_o       = to_q;
        task_valid_o = head_ready_i;
        steps        = head_ready_i && task_ready_i;
        done         = steps && last_q;
        if (steps) begin_d = last_q ? BeginIdle : BeginCut;
      end
      default: begin_d = BeginIdle;
    endcase
  end

  assign empty_valid     = begin_q == BeginEmpty;
  assign empty_receive_q = begin_receive_q;
  assign empty_status    = begin_refused_q ? ST_NO_ROOM : begin_dropped_q ? ST_RANK_RESET : deferred_q ? ST_DEFERRED : ST_OK;
  assign copy_valid_o    = begin_q == BeginCopy;
  assign copy_o.from     = Buffer + (32'(begin_message_q) << FragmentW);
  assign copy_o.to       = to_q;
  assign copy_o.bytes    = left_q[15:0];
  assign copy_o.receive  = 16'(begin_receive_q);

  always_ff @(posedge clk_i) begin
    if (begin_reads) begin
      begin_receive_q <= pair_receive;
      begin_message_q <= pair_message;
      begin_dropped_q <= pair_dropped;
      begin_refused_q <= pair_refused;
    end
    if (begin_q == BeginRead) begin
      begin_source_q <= source;
      begin_id_q     <= sender_id[9:0];
      to_q           <= buffer.address;
      left_q         <= bytes;
      deferred_q     <= defers;
      offset_q       <= '0;
    end
    if (begin_q == BeginCut) begin
      last_q    <= last_d;
      segment_q <= segment_d;
    end
    if (steps) begin
      to_q     <= to_q + 32'(segment_q);
      left_q   <= left_q - 32'(segment_q);
      offset_q <= offset_q + 32'(segment_q);
    end
    if (!rst_ni) begin
      begin_q   <= BeginIdle;
      flights_q <= '0;
      landed_q  <= '0;
    end else begin
      begin_q   <= begin_d;
      flights_q <= flights_q + FlightW'(done) - FlightW'(takes_moved);
      landed_q  <= landed_q + 12'(stored_i);
    end
  end

  assign idle_o = begin_q == BeginIdle && end_q == EndIdle && !pair_valid && !direct_valid && !moved_valid &&
                  flights_q == '0;

  `ALCOR_ASSERT(a_pair_room, !pair_i.valid || pair_i.direct || pair_room)
  `ALCOR_IMPLIES(a_direct_room, direct_i.valid, direct_room)
  `ALCOR_IMPLIES(a_moved_room, moved_i.valid, moved_room)
  `ALCOR_STABLE(a_copy_stable, copy_valid_o, copy_ready_i, copy_o)
  `ALCOR_STABLE(a_ack_stable, ack_valid_o, ack_ready_i, ack_o)

`ifdef ALCOR_COVERAGE
  logic truncates;
  assign truncates = end_q == EndMessage && !end_dropped_q && status_q == ST_OK && length > end_capacity_q;
`endif
  `ALCOR_COVER(c_truncation_eager, truncates && !announce && end_capacity_q != '0)
  `ALCOR_COVER(c_truncation_eager_to_nothing, truncates && !announce && end_capacity_q == '0)
  `ALCOR_COVER(c_truncation_rendezvous, truncates && announce && end_capacity_q != '0)
  `ALCOR_COVER(c_truncation_rendezvous_to_nothing, truncates && announce && end_capacity_q == '0)
  `ALCOR_COVER(c_announcement_deferred, begin_q == BeginRead && defers)
  `ALCOR_COVER(c_full_moves_to_receivers, begin_q == BeginIdle && pair_valid && flights_q == FlightW'(FLIGHTS))

`ifdef ALCOR_PROVE_MESSAGE_DELIVERY
  `include "message_delivery_properties.svh"
`endif

endmodule

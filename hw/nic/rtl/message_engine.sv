`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_nic_pkg::*;

/// Two-sided messages of one rank: what the ALPU's paper (Brightwell et al. 2005) leaves to the network
/// card's processor, done in hardware.
///
/// Messages come from the coprocessor's request plane and wait for a verdict; receives come from its
/// pipeline. `message_matcher` brings them together, `message_delivery` moves the data and tells both
/// sides. The doc beside this file has the picture.
module message_engine #(
    /// Posted receives, and unexpected messages, that there is room for; a power of two up to 1024.
    parameter int unsigned DEPTH = 256,
    /// Cells of each matching unit.
    parameter int unsigned CELLS = 16,
    /// Cells of a block of them.
    parameter int unsigned BLOCK = 8,
    /// Bytes of a fragment of the unexpected message buffer, a power of two.
    parameter int unsigned FRAGMENT = 256,
    /// Bytes of node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Payload words of an extended packet, a power of two.
    parameter int unsigned PAYLOAD_WORDS = 128,
    /// Width of an entry; derived, not to be set.
    localparam int unsigned EntryW = $clog2(DEPTH)
) (
    /// Clock.
    input  logic              clk_i,
    /// Synchronous reset, active low.
    input  logic              rst_ni,
    /// This rank's number on the network.
    input  logic [7:0]        rank_i,
    /// Tables are cleared.
    output logic              ready_o,
    /// Nothing is under way; messages and receives that wait for each other may be there.
    output logic              idle_o,

    /// Host: a write to a register.
    input  logic              register_write_i,
    /// Host: its offset in the page.
    input  logic [11:0]       register_offset_i,
    /// Host: its data.
    input  logic [31:0]       register_data_i,
    /// Host: register to be read.
    input  logic [11:0]       read_offset_i,
    /// Host: its value, in the same cycle; 0 where it is not of this block.
    output logic [31:0]       read_data_o,
    /// Pulse: a message is refused for want of room.
    output logic              no_room_o,

    /// A command.
    input  logic              command_valid_i,
    /// It is taken.
    output logic              command_ready_o,
    /// One of message_command_e.
    input  logic [1:0]        command_i,
    /// Source.
    input  logic [7:0]        command_rank_i,
    /// Context.
    input  logic [7:0]        command_context_i,
    /// x_tag.
    input  logic [31:0]       command_tag_i,
    /// Buffer: byte address; of an announcement, the message's.
    input  logic [31:0]       command_address_i,
    /// Buffer: bytes; of an announcement, the message's.
    input  logic [31:0]       command_length_i,
    /// Command id.
    input  logic [15:0]       command_id_i,
    /// Pulse: the command is an announcement of this rank, whose message others may fetch.
    input  logic              announce_i,

    /// A fetch asks for the message with id `fetch_id_i`.
    input  logic              fetch_lookup_i,
    /// The id.
    input  logic [9:0]        fetch_id_i,
    /// A cycle later, until the next lookup: its byte address.
    output logic [31:0]       fetch_base_o,
    /// Its bytes.
    output logic [31:0]       fetch_size_o,

    /// A message is here, and waits for a verdict.
    input  logic              arrival_valid_i,
    /// It is an announcement.
    input  logic              arrival_announce_i,
    /// Its source.
    input  logic [7:0]        arrival_source_i,
    /// Its context.
    input  logic [7:0]        arrival_context_i,
    /// Its tag.
    input  logic [25:0]       arrival_tag_i,
    /// Its length in bytes.
    input  logic [31:0]       arrival_length_i,
    /// Its sender's command id.
    input  logic [15:0]       arrival_id_i,
    /// It is a recall of its source.
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
    /// Id of the receive, of MvDirect.
    output logic [15:0]       verdict_receive_o,

    /// Pulse: a payload lies in its fragment.
    input  logic              stored_i,
    /// Pulse: a payload that went directly lies in the receive buffer.
    input  logic              direct_i,
    /// Id of the receive.
    input  logic [15:0]       direct_receive_i,
    /// Pulse: a payload that was copied or fetched lies in the receive buffer.
    input  logic              moved_i,
    /// Id of the receive.
    input  logic [15:0]       moved_receive_i,
    /// Its status.
    input  logic [4:0]        moved_status_i,

    /// Copy of a payload to the receive buffer: one is offered.
    output logic              copy_valid_o,
    /// It is taken.
    input  logic              copy_ready_i,
    /// From this byte address.
    output logic [31:0]       copy_from_o,
    /// To this byte address.
    output logic [31:0]       copy_to_o,
    /// Bytes.
    output logic [15:0]       copy_bytes_o,
    /// Id of the receive.
    output logic [15:0]       copy_receive_o,

    /// Fetches: header word for the request plane.
    output logic              head_valid_o,
    /// It is taken.
    input  logic              head_ready_i,
    /// The word.
    output logic [31:0]       head_o,
    /// Fetches: task, with a packet's last header word.
    output logic              task_valid_o,
    /// It is taken.
    input  logic              task_ready_i,

    /// Acknowledgement for a sender.
    output logic              ack_valid_o,
    /// It is taken.
    input  logic              ack_ready_i,
    /// The sender.
    output logic [7:0]        ack_rank_o,
    /// Its status.
    output logic [4:0]        ack_status_o,
    /// Its command id.
    output logic [15:0]       ack_id_o,

    /// Completion of a receive or probe.
    output logic              completion_valid_o,
    /// It is entered.
    input  logic              completion_ready_i,
    /// Its status.
    output logic [4:0]        completion_status_o,
    /// Its id.
    output logic [15:0]       completion_id_o,
    /// The message's source.
    output logic [7:0]        completion_source_o,
    /// Its tag.
    output logic [25:0]       completion_tag_o,
    /// Its length in bytes.
    output logic [31:0]       completion_length_o
);

  localparam int unsigned CountW = $clog2(DEPTH + 1);
  // Messages that may be on their way into receive buffers: without a stay in a fragment, and with one or by a fetch.
  localparam int unsigned Direct = 8;
  localparam int unsigned Flights = 8;

  // ----------------------------------------------------------------------------------------- registers
  logic [15:0] posted_threshold_q, unexpected_threshold_q, quota_q;
  logic [CountW-1:0] posted, unexpected;
  logic [3:0] found;
  logic [3:0][31:0] found_q;
  logic [31:0] refused_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      posted_threshold_q     <= RANK_POSTED_THRESHOLD_LENGTH_VALUE;
      unexpected_threshold_q <= RANK_UNEXPECTED_THRESHOLD_LENGTH_VALUE;
      quota_q                <= '1;
      found_q                <= '0;
      refused_q              <= '0;
    end else begin
      if (register_write_i) begin
        unique case (register_offset_i)
          RANK_POSTED_THRESHOLD_OFFSET:     posted_threshold_q <= register_data_i[15:0];
          RANK_UNEXPECTED_THRESHOLD_OFFSET: unexpected_threshold_q <= register_data_i[15:0];
          RANK_MESSAGE_QUOTA_OFFSET:        quota_q <= register_data_i[15:0];
          default: ;
        endcase
      end
      for (int unsigned i = 0; i < 4; i++) found_q[i] <= found_q[i] + 32'(found[i]);
      refused_q <= refused_q + 32'(no_room_o);
    end
  end

  always_comb begin
    unique case (read_offset_i)
      RANK_MESSAGE_QUEUES_OFFSET:     read_data_o = {16'(unexpected), 16'(posted)};
      RANK_POSTED_BY_UNIT_OFFSET:     read_data_o = found_q[0];
      RANK_POSTED_BY_WALK_OFFSET:     read_data_o = found_q[1];
      RANK_UNEXPECTED_BY_UNIT_OFFSET: read_data_o = found_q[2];
      RANK_UNEXPECTED_BY_WALK_OFFSET: read_data_o = found_q[3];
      RANK_MESSAGES_REFUSED_OFFSET:   read_data_o = refused_q;
      default:                        read_data_o = '0;
    endcase
  end

  // ----------------------------------------------------------------- what this rank lets others fetch
  ram_sdp #(
      .WIDTH(64),
      .DEPTH(DEPTH)
  ) u_announced (
      .clk_i  (clk_i),
      .we_i   (announce_i),
      .waddr_i(EntryW'(command_id_i)),
      .wdata_i({command_address_i, command_length_i}),
      .re_i   (fetch_lookup_i),
      .raddr_i(EntryW'(fetch_id_i)),
      .rdata_o({fetch_base_o, fetch_size_o})
  );

  // ------------------------------------------------------------------------------ matching and delivery
  logic matcher_idle, delivery_idle;
  logic receive_write, message_write, pair_valid, pair_direct, pair_dropped, retire_dropped, direct_done;
  logic [EntryW-1:0] receive_entry, message_entry, pair_receive, pair_message, verdict_receive;
  logic [31:0] receive_address, receive_length;
  logic [11:0] pair_stored;
  logic retire_valid, retire_ready;
  logic [EntryW-1:0] retire_receive, retire_message, copy_receive;
  logic [7:0] retire_source;
  logic [1:0] done_valid, done_ready;
  logic [1:0][4:0] done_status;
  logic [1:0][EntryW-1:0] done_id;
  logic [1:0][7:0] done_source;
  logic [1:0][25:0] done_tag;
  logic [1:0][31:0] done_length;

  message_matcher #(
      .DEPTH     (DEPTH),
      .CELLS     (CELLS),
      .BLOCK     (BLOCK),
      .FRAGMENT  (FRAGMENT),
      .NODE_BYTES(NODE_BYTES),
      .DIRECT    (Direct)
  ) u_matcher (
      .clk_i                 (clk_i),
      .rst_ni                (rst_ni),
      .ready_o               (ready_o),
      .idle_o                (matcher_idle),
      .posted_threshold_i    (posted_threshold_q),
      .unexpected_threshold_i(unexpected_threshold_q),
      .quota_i               (quota_q),
      .arrival_valid_i       (arrival_valid_i),
      .arrival_announce_i    (arrival_announce_i),
      .arrival_source_i      (arrival_source_i),
      .arrival_context_i     (arrival_context_i),
      .arrival_tag_i         (arrival_tag_i),
      .arrival_length_i      (arrival_length_i),
      .arrival_recall_i      (arrival_recall_i),
      .closed_i              (closed_i),
      .verdict_valid_o       (verdict_valid_o),
      .verdict_ready_i       (verdict_ready_i),
      .verdict_o             (verdict_o),
      .verdict_address_o     (verdict_address_o),
      .verdict_bytes_o       (verdict_bytes_o),
      .verdict_receive_o     (verdict_receive),
      .command_valid_i       (command_valid_i),
      .command_ready_o       (command_ready_o),
      .command_i             (command_i),
      .command_rank_i        (command_rank_i),
      .command_context_i     (command_context_i),
      .command_tag_i         (command_tag_i),
      .command_address_i     (command_address_i),
      .command_length_i      (command_length_i),
      .command_id_i          (EntryW'(command_id_i)),
      .receive_write_o       (receive_write),
      .receive_entry_o       (receive_entry),
      .receive_address_o     (receive_address),
      .receive_length_o      (receive_length),
      .message_write_o       (message_write),
      .message_entry_o       (message_entry),
      .pair_valid_o          (pair_valid),
      .pair_receive_o        (pair_receive),
      .pair_message_o        (pair_message),
      .pair_dropped_o        (pair_dropped),
      .pair_direct_o         (pair_direct),
      .pair_stored_o         (pair_stored),
      .retire_valid_i        (retire_valid),
      .retire_ready_o        (retire_ready),
      .retire_receive_i      (retire_receive),
      .retire_dropped_i      (retire_dropped),
      .retire_message_i      (retire_message),
      .retire_source_i       (retire_source),
      .direct_done_i         (direct_done),
      .result_valid_o        (done_valid[0]),
      .result_ready_i        (done_ready[0]),
      .result_status_o       (done_status[0]),
      .result_id_o           (done_id[0]),
      .result_source_o       (done_source[0]),
      .result_tag_o          (done_tag[0]),
      .result_length_o       (done_length[0]),
      .posted_o              (posted),
      .unexpected_o          (unexpected),
      .found_o               (found),
      .refused_o             (no_room_o)
  );

  message_delivery #(
      .DEPTH        (DEPTH),
      .FRAGMENT     (FRAGMENT),
      .NODE_BYTES   (NODE_BYTES),
      .PAYLOAD_WORDS(PAYLOAD_WORDS),
      .DIRECT       (Direct),
      .FLIGHTS      (Flights)
  ) u_delivery (
      .clk_i              (clk_i),
      .rst_ni             (rst_ni),
      .rank_i             (rank_i),
      .idle_o             (delivery_idle),
      .receive_write_i    (receive_write),
      .receive_entry_i    (receive_entry),
      .receive_address_i  (receive_address),
      .receive_length_i   (receive_length),
      .message_write_i    (message_write),
      .message_entry_i    (message_entry),
      .message_announce_i (arrival_announce_i),
      .message_source_i   (arrival_source_i),
      .message_tag_i      (arrival_tag_i),
      .message_length_i   (arrival_length_i),
      .message_id_i       (arrival_id_i),
      .pair_valid_i       (pair_valid),
      .pair_receive_i     (pair_receive),
      .pair_message_i     (pair_message),
      .pair_dropped_i     (pair_dropped),
      .pair_direct_i      (pair_direct),
      .pair_stored_i      (pair_stored),
      .stored_i           (stored_i),
      .direct_i           (direct_i),
      .direct_receive_i   (EntryW'(direct_receive_i)),
      .moved_i            (moved_i),
      .moved_receive_i    (EntryW'(moved_receive_i)),
      .moved_status_i     (moved_status_i),
      .copy_valid_o       (copy_valid_o),
      .copy_ready_i       (copy_ready_i),
      .copy_from_o        (copy_from_o),
      .copy_to_o          (copy_to_o),
      .copy_bytes_o       (copy_bytes_o),
      .copy_receive_o     (copy_receive),
      .head_valid_o       (head_valid_o),
      .head_ready_i       (head_ready_i),
      .head_o             (head_o),
      .task_valid_o       (task_valid_o),
      .task_ready_i       (task_ready_i),
      .completion_valid_o (done_valid[1]),
      .completion_ready_i (done_ready[1]),
      .completion_status_o(done_status[1]),
      .completion_id_o    (done_id[1]),
      .completion_source_o(done_source[1]),
      .completion_tag_o   (done_tag[1]),
      .completion_length_o(done_length[1]),
      .ack_valid_o        (ack_valid_o),
      .ack_ready_i        (ack_ready_i),
      .ack_rank_o         (ack_rank_o),
      .ack_status_o       (ack_status_o),
      .ack_id_o           (ack_id_o),
      .retire_valid_o     (retire_valid),
      .retire_ready_i     (retire_ready),
      .retire_receive_o   (retire_receive),
      .retire_dropped_o   (retire_dropped),
      .retire_message_o   (retire_message),
      .retire_source_o    (retire_source),
      .direct_done_o      (direct_done)
  );

  assign idle_o            = matcher_idle && delivery_idle && !arrival_valid_i && !command_valid_i;
  assign verdict_receive_o = 16'(verdict_receive);
  assign copy_receive_o    = 16'(copy_receive);

  // ---------------------------------------------------------------------------------------- completions
  logic [EntryW-1:0] completion_id;

  stream_pick #(
      .WIDTH(5 + EntryW + 8 + 26 + 32)
  ) u_completions (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i(done_valid),
      .ready_o(done_ready),
      .data_i ({
        done_status[1], done_id[1], done_source[1], done_tag[1], done_length[1],
        done_status[0], done_id[0], done_source[0], done_tag[0], done_length[0]
      }),
      .valid_o(completion_valid_o),
      .ready_i(completion_ready_i),
      .data_o ({completion_status_o, completion_id, completion_source_o, completion_tag_o, completion_length_o})
  );

  assign completion_id_o = 16'(completion_id);

endmodule

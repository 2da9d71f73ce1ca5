`include "assertions.svh"

import alcor_abi_pkg::*;

/// Two-sided messages of one rank: the work that the ALPU's paper (Brightwell et al. 2005) leaves
/// to the network card's processor, in hardware.
///
/// Messages come from the coprocessor's request plane, where payloads wait for a verdict; receives come from
/// its pipeline. `message_matcher` matches them, or with MATCHERS `message_store_matcher`; `message_delivery` moves the
/// data and notifies both sides. hw/nic/doc/nic.md has a picture.
module message_engine #(
    /// Posted receives, and unexpected messages, that there is room for; a power of two up to 1024.
    parameter int unsigned DEPTH = 256,
    /// Cells of each matching unit.
    parameter int unsigned CELLS = 16,
    /// Cells of a block of the matching units.
    parameter int unsigned BLOCK = 8,
    /// Matchers of the match store, up to 64; 0: two queues with matching units.
    parameter int unsigned MATCHERS = 0,
    /// Queue pairs of the match store, a power of two from 2 to 128.
    parameter int unsigned PAIRS = 16,
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
    input  logic                           clk_i,
    /// Synchronous reset, active low.
    input  logic                           rst_ni,
    /// This rank's number on the network.
    input  logic [7:0]                     rank_i,
    /// Tables are cleared.
    output logic                           ready_o,
    /// Nothing is under way; messages and receives that wait for each other may be there.
    output logic                           idle_o,
    /// The rank is being reset: messages are refused.
    input  logic                           closed_i,

    /// Host: a write to a register of the engine.
    input  logic                           write_i,
    /// Host: offset of the write in the page.
    input  logic [11:0]                    write_offset_i,
    /// Host: data of the write.
    input  logic [31:0]                    write_data_i,
    /// Host: register to be read.
    input  logic [11:0]                    read_offset_i,
    /// Host: the register's value, in the same cycle; 0 for registers of other blocks.
    output logic [31:0]                    read_data_o,
    /// Pulse: a message is refused for lack of room, and its sender does not send it again.
    output logic                           no_room_o,
    /// Host: at least MESSAGE_WAKE unexpected messages wait.
    output logic                           crowded_o,

    /// A command is offered.
    input  logic                           command_valid_i,
    /// The command is taken.
    output logic                           command_ready_o,
    /// The command.
    input  alcor_abi_pkg::engine_command_t command_i,
    /// Pulse: a message of this rank is announced.
    input  logic                           announce_i,
    /// The message.
    input  alcor_abi_pkg::announced_t      announced_i,

    /// From the request plane's receive side.
    input  alcor_abi_pkg::to_engine_t      port_i,
    /// To the request plane's receive side.
    output alcor_abi_pkg::from_engine_t    port_o,
    /// From the reply plane's receive side: a copied or fetched payload lies in the receive buffer.
    input  alcor_abi_pkg::delivered_t      moved_i,

    /// Request plane: a header word of a fetch is offered.
    output logic                           head_valid_o,
    /// The header word is taken.
    input  logic                           head_ready_i,
    /// The header word.
    output logic [31:0]                    head_o,
    /// Request plane: the task of a fetch is offered, with its last header word.
    output logic                           task_valid_o,
    /// The task is taken.
    input  logic                           task_ready_i,

    /// The completion of a receive or probe is offered.
    output logic                           completion_valid_o,
    /// The completion is entered.
    input  logic                           completion_ready_i,
    /// The completion.
    output alcor_abi_pkg::received_t       completion_o
);

  // Messages that may be on their way into receive buffers: without a stay in a fragment, and with one or by a fetch.
  localparam int unsigned Direct = 8;
  localparam int unsigned Flights = 8;

  // ----------------------------------------------------------------------------------------- registers
  alcor_abi_pkg::matcher_settings_t settings_q;
  alcor_abi_pkg::matcher_counts_t counts;
  logic [3:0][31:0] found_q;
  logic [31:0] refused_q;
  logic [15:0] wake_q;
  logic crowded_q;
  alcor_abi_pkg::rank_queue_pair_state_t pair_state;

  assign no_room_o = counts.refused && counts.lost;
  assign crowded_o = crowded_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      settings_q.posted_threshold     <= RANK_POSTED_THRESHOLD_LENGTH_VALUE;
      settings_q.unexpected_threshold <= RANK_UNEXPECTED_THRESHOLD_LENGTH_VALUE;
      settings_q.quota                <= '1;
      found_q                         <= '0;
      refused_q                       <= '0;
      wake_q                          <= RANK_MESSAGE_WAKE_MESSAGES_VALUE;
      crowded_q                       <= 1'b0;
    end else begin
      if (write_i) begin
        unique case (write_offset_i)
          RANK_POSTED_THRESHOLD_OFFSET:     settings_q.posted_threshold <= write_data_i[15:0];
          RANK_UNEXPECTED_THRESHOLD_OFFSET: settings_q.unexpected_threshold <= write_data_i[15:0];
          RANK_MESSAGE_QUOTA_OFFSET:        settings_q.quota <= write_data_i[15:0];
          RANK_MESSAGE_WAKE_OFFSET:         wake_q <= write_data_i[15:0];
          default: ;
        endcase
      end
      for (int unsigned i = 0; i < 4; i++) found_q[i] <= found_q[i] + 32'(counts.found[i]);
      refused_q <= refused_q + 32'(counts.refused);
      crowded_q <= counts.unexpected >= wake_q;
    end
  end

  always_comb begin
    unique case (read_offset_i)
      RANK_MESSAGE_QUEUES_OFFSET:     read_data_o = {counts.unexpected, counts.posted};
      RANK_POSTED_BY_UNIT_OFFSET:     read_data_o = found_q[0];
      RANK_POSTED_BY_WALK_OFFSET:     read_data_o = found_q[1];
      RANK_UNEXPECTED_BY_UNIT_OFFSET: read_data_o = found_q[2];
      RANK_UNEXPECTED_BY_WALK_OFFSET: read_data_o = found_q[3];
      RANK_MESSAGES_REFUSED_OFFSET:   read_data_o = refused_q;
      RANK_QUEUE_PAIR_STATE_OFFSET:   read_data_o = pair_state;
      default:                        read_data_o = '0;
    endcase
  end

  // ----------------------------------------------------------------- what this rank lets others fetch
  alcor_abi_pkg::buffer_t fetch;

  ram_sdp #(
      .WIDTH(64),
      .DEPTH(DEPTH)
  ) u_announced (
      .clk_i  (clk_i),
      .we_i   (announce_i),
      .waddr_i(announced_i.id[EntryW-1:0]),
      .wdata_i(announced_i.buffer),
      .re_i   (port_i.fetch_valid),
      .raddr_i(port_i.fetch_id[EntryW-1:0]),
      .rdata_o(fetch)
  );

  // ------------------------------------------------------------------------------ matching and delivery
  logic matcher_idle, delivery_idle;
  alcor_abi_pkg::enter_receive_t receive;
  alcor_abi_pkg::enter_message_t message;
  alcor_abi_pkg::pair_t pair;
  logic retire_valid, retire_ready, direct_done;
  alcor_abi_pkg::retire_t retire;
  logic probed_valid, probed_ready, received_valid, received_ready;
  alcor_abi_pkg::received_t probed, received;
  logic [4:0] arrival_line;
  logic arrival_ready, arrival_refused, verdict_valid, copy_valid, ack_valid;
  alcor_abi_pkg::verdict_t verdict;
  alcor_abi_pkg::copy_t copy;
  alcor_abi_pkg::acknowledgement_t ack;

  if (MATCHERS == 0) begin : g_matcher
    message_matcher #(
        .DEPTH     (DEPTH),
        .CELLS     (CELLS),
        .BLOCK     (BLOCK),
        .FRAGMENT  (FRAGMENT),
        .NODE_BYTES(NODE_BYTES),
        .DIRECT    (Direct)
    ) u_matcher (
        .clk_i            (clk_i),
        .rst_ni           (rst_ni),
        .ready_o          (ready_o),
        .idle_o           (matcher_idle),
        .closed_i         (closed_i),
        .settings_i       (settings_q),
        .counts_o         (counts),
        .arrival_valid_i  (port_i.arrival_valid),
        .arrival_ready_o  (arrival_ready),
        .arrival_refused_o(arrival_refused),
        .arrival_line_o   (arrival_line),
        .arrival_i        (port_i.arrival),
        .late_i           (port_i.late),
        .verdict_valid_o  (verdict_valid),
        .verdict_ready_i  (port_i.verdict_ready),
        .verdict_o        (verdict),
        .command_valid_i  (command_valid_i),
        .command_ready_o  (command_ready_o),
        .command_i        (command_i),
        .receive_o        (receive),
        .message_o        (message),
        .pair_o           (pair),
        .retire_valid_i   (retire_valid),
        .retire_ready_o   (retire_ready),
        .retire_i         (retire),
        .direct_done_i    (direct_done),
        .result_valid_o   (probed_valid),
        .result_ready_i   (probed_ready),
        .result_o         (probed)
    );
    assign pair_state = '0;
  end else begin : g_matcher
    alcor_abi_pkg::rank_queue_pair_limits_t limits;
    logic [$clog2(PAIRS)-1:0] pair_q;

    assign limits = write_data_i;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) pair_q <= '0;
      else if (write_i && write_offset_i == RANK_QUEUE_PAIR_OFFSET) pair_q <= write_data_i[$clog2(PAIRS)-1:0];
    end

    message_store_matcher #(
        .DEPTH     (DEPTH),
        .MATCHERS  (MATCHERS),
        .PAIRS     (PAIRS),
        .FRAGMENT  (FRAGMENT),
        .NODE_BYTES(NODE_BYTES),
        .DIRECT    (Direct)
    ) u_matcher (
        .clk_i            (clk_i),
        .rst_ni           (rst_ni),
        .ready_o          (ready_o),
        .idle_o           (matcher_idle),
        .closed_i         (closed_i),
        .settings_i       (settings_q),
        .counts_o         (counts),
        .pair_i           (pair_q),
        .limits_valid_i   (ready_o && write_i && write_offset_i == RANK_QUEUE_PAIR_LIMITS_OFFSET),
        .limits_i         (limits),
        .state_o          (pair_state),
        .arrival_valid_i  (port_i.arrival_valid),
        .arrival_ready_o  (arrival_ready),
        .arrival_refused_o(arrival_refused),
        .arrival_line_o   (arrival_line),
        .arrival_i        (port_i.arrival),
        .late_i           (port_i.late),
        .verdict_valid_o  (verdict_valid),
        .verdict_ready_i  (port_i.verdict_ready),
        .verdict_o        (verdict),
        .command_valid_i  (command_valid_i),
        .command_ready_o  (command_ready_o),
        .command_i        (command_i),
        .receive_o        (receive),
        .message_o        (message),
        .pair_o           (pair),
        .retire_valid_i   (retire_valid),
        .retire_ready_o   (retire_ready),
        .retire_i         (retire),
        .direct_done_i    (direct_done),
        .result_valid_o   (probed_valid),
        .result_ready_i   (probed_ready),
        .result_o         (probed)
    );
  end

  message_delivery #(
      .DEPTH        (DEPTH),
      .FRAGMENT     (FRAGMENT),
      .NODE_BYTES   (NODE_BYTES),
      .PAYLOAD_WORDS(PAYLOAD_WORDS),
      .DIRECT       (Direct),
      .FLIGHTS      (Flights)
  ) u_delivery (
      .clk_i             (clk_i),
      .rst_ni            (rst_ni),
      .rank_i            (rank_i),
      .idle_o            (delivery_idle),
      .receive_i         (receive),
      .message_i         (message),
      .arrival_i         (port_i.arrival),
      .pair_i            (pair),
      .retire_valid_o    (retire_valid),
      .retire_ready_i    (retire_ready),
      .retire_o          (retire),
      .direct_done_o     (direct_done),
      .stored_i          (port_i.stored),
      .direct_i          (port_i.delivered),
      .moved_i           (moved_i),
      .copy_valid_o      (copy_valid),
      .copy_ready_i      (port_i.copy_ready),
      .copy_o            (copy),
      .head_valid_o      (head_valid_o),
      .head_ready_i      (head_ready_i),
      .head_o            (head_o),
      .task_valid_o      (task_valid_o),
      .task_ready_i      (task_ready_i),
      .completion_valid_o(received_valid),
      .completion_ready_i(received_ready),
      .completion_o      (received),
      .ack_valid_o       (ack_valid),
      .ack_ready_i       (port_i.ack_ready),
      .ack_o             (ack)
  );

  assign idle_o = matcher_idle && delivery_idle && !port_i.arrival_valid && !command_valid_i;

  always_comb begin
    port_o.arrival_ready   = arrival_ready;
    port_o.arrival_refused = arrival_refused;
    port_o.arrival_line    = arrival_line;
    port_o.verdict_valid   = verdict_valid;
    port_o.verdict         = verdict;
    port_o.fetch           = fetch;
    port_o.copy_valid      = copy_valid;
    port_o.copy            = copy;
    port_o.ack_valid       = ack_valid;
    port_o.ack             = ack;
  end

  // ---------------------------------------------------------------------------------------- completions
  stream_pick #(
      .WIDTH(5 + 16 + 8 + 32 + 32)
  ) u_completions (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i({received_valid, probed_valid}),
      .ready_o({received_ready, probed_ready}),
      .data_i ({received, probed}),
      .valid_o(completion_valid_o),
      .ready_i(completion_ready_i),
      .data_o (completion_o)
  );

endmodule

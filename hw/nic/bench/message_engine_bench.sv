import alcor_abi_pkg::*;


/// Bench top for `message_engine`: each member of its structs is a port.
module message_engine_bench #(
    /// Maximum number of posted receives, and of unexpected messages; a power of two up to 1024.
    parameter int unsigned DEPTH = 256,
    /// Cells of each matching unit.
    parameter int unsigned CELLS = 16,
    /// Cells of a block of the matching units.
    parameter int unsigned BLOCK = 8,
    /// Matchers of the match store, 0 without one.
    parameter int unsigned MATCHERS = 0,
    /// Queue pairs of the match store.
    parameter int unsigned PAIRS = 16,
    /// Bytes of a fragment of the unexpected message buffer, a power of two.
    parameter int unsigned FRAGMENT = 256,
    /// Bytes of node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Payload words of an extended packet, a power of two.
    parameter int unsigned PAYLOAD_WORDS = 128
) (
    /// Clock.
    input  logic              clk_i,
    /// Synchronous reset, active low.
    input  logic              rst_ni,
    /// This rank's number on the network.
    input  logic [7:0]        rank_i,
    /// Tables are cleared.
    output logic              ready_o,
    /// No operation is under way; messages and receives that wait for each other may exist.
    output logic              idle_o,

    /// Host: a write to a register.
    input  logic              register_write_i,
    /// Host: offset of the register in the page.
    input  logic [11:0]       register_offset_i,
    /// Host: data of the write.
    input  logic [31:0]       register_data_i,
    /// Host: register of the read.
    input  logic [11:0]       read_offset_i,
    /// Host: value of the register, in the same cycle; 0 for registers of other blocks.
    output logic [31:0]       read_data_o,
    /// Pulse: a message without a serial number is refused, or one beyond the limit of its queue pair.
    output logic              no_room_o,
    /// Host: at least MESSAGE_WAKE unexpected messages wait.
    output logic              crowded_o,

    /// A command is offered.
    input  logic              command_valid_i,
    /// The command is taken.
    output logic              command_ready_o,
    /// Operation of the command, a message_command_e.
    input  logic [1:0]        command_i,
    /// Source of the command.
    input  logic [7:0]        command_rank_i,
    /// Context of the command.
    input  logic [7:0]        command_context_i,
    /// x_tag of the command.
    input  logic [31:0]       command_tag_i,
    /// Byte address of the buffer; for an announcement, of the message.
    input  logic [31:0]       command_address_i,
    /// Bytes of the buffer; for an announcement, of the message.
    input  logic [31:0]       command_length_i,
    /// Command id.
    input  logic [15:0]       command_id_i,
    /// Pulse: the command is an announcement of this rank; other ranks may fetch the message.
    input  logic              announce_i,

    /// A fetch requests the message with id `fetch_id_i`.
    input  logic              fetch_lookup_i,
    /// Id of the fetched message.
    input  logic [9:0]        fetch_id_i,
    /// Byte address of the fetched message, from a cycle later to the next lookup.
    output logic [31:0]       fetch_base_o,
    /// Bytes of the fetched message.
    output logic [31:0]       fetch_size_o,

    /// A message arrives; its source is valid a cycle before.
    input  logic              arrival_valid_i,
    /// The arriving message is taken.
    output logic              arrival_ready_o,
    /// The arriving message is refused.
    output logic              arrival_refused_o,
    /// With `arrival_refused_o`: sources whose messages are refused; 0 if the message has no serial number.
    output logic [4:0]        arrival_line_o,
    /// The payload that waits for its match result must leave now.
    input  logic              late_i,
    /// A message begins its search, or a recall begins.
    output logic              begins_o,
    /// The message is an announcement.
    input  logic              arrival_announce_i,
    /// Source of the message.
    input  logic [7:0]        arrival_source_i,
    /// Context of the message.
    input  logic [7:0]        arrival_context_i,
    /// Tag of the message.
    input  logic [25:0]       arrival_tag_i,
    /// Serial number of the message.
    input  logic [5:0]        arrival_serial_i,
    /// Length of the message in bytes.
    input  logic [31:0]       arrival_length_i,
    /// Command id of the message's sender.
    input  logic [15:0]       arrival_id_i,
    /// The message is a recall by its source.
    input  logic              arrival_recall_i,
    /// The rank is being reset: messages are refused.
    input  logic              closed_i,
    /// Match result of the last taken message is valid.
    output logic              verdict_valid_o,
    /// The match result is taken.
    input  logic              verdict_ready_i,
    /// Destination of the payload, a message_verdict_e.
    output logic [1:0]        verdict_o,
    /// Byte address of the destination.
    output logic [31:0]       verdict_address_o,
    /// Bytes of the payload that are written.
    output logic [31:0]       verdict_bytes_o,
    /// With MvDirect: id of the receive.
    output logic [15:0]       verdict_receive_o,

    /// Pulse: a payload is in its fragment.
    input  logic              stored_i,
    /// Pulse: a payload without a fragment is in the receive buffer.
    input  logic              direct_i,
    /// Id of the receive.
    input  logic [15:0]       direct_receive_i,
    /// Status of the payload.
    input  logic [4:0]        direct_status_i,
    /// Pulse: a copied or fetched payload is in the receive buffer.
    input  logic              moved_i,
    /// Id of the receive.
    input  logic [15:0]       moved_receive_i,
    /// Status of the receive.
    input  logic [4:0]        moved_status_i,

    /// A copy of a payload to the receive buffer is offered.
    output logic              copy_valid_o,
    /// The copy is taken.
    input  logic              copy_ready_i,
    /// Byte address of the source of the copy.
    output logic [31:0]       copy_from_o,
    /// Byte address of the destination of the copy.
    output logic [31:0]       copy_to_o,
    /// Bytes of the copy.
    output logic [15:0]       copy_bytes_o,
    /// Id of the receive.
    output logic [15:0]       copy_receive_o,

    /// Fetch: a header word for the request plane is offered.
    output logic              head_valid_o,
    /// The header word is taken.
    input  logic              head_ready_i,
    /// The header word.
    output logic [31:0]       head_o,
    /// Fetch: a task is offered, with a packet's last header word.
    output logic              task_valid_o,
    /// The task is taken.
    input  logic              task_ready_i,

    /// An acknowledgement for a sender is offered.
    output logic              ack_valid_o,
    /// The acknowledgement is taken.
    input  logic              ack_ready_i,
    /// Sender of the message.
    output logic [7:0]        ack_rank_o,
    /// Status of the acknowledgement.
    output logic [4:0]        ack_status_o,
    /// Command id of the acknowledgement.
    output logic [15:0]       ack_id_o,

    /// A completion of a receive or probe is offered.
    output logic              completion_valid_o,
    /// The completion is taken.
    input  logic              completion_ready_i,
    /// Status of the completion.
    output logic [4:0]        completion_status_o,
    /// Id of the completion.
    output logic [15:0]       completion_id_o,
    /// Source of the message.
    output logic [7:0]        completion_source_o,
    /// Tag of the message, and whether a kernel has announced it.
    output logic [31:0]       completion_message_o,
    /// Length of the message in bytes.
    output logic [31:0]       completion_length_o
);

  alcor_abi_pkg::engine_command_t command;
  alcor_abi_pkg::to_engine_t to_engine;
  alcor_abi_pkg::from_engine_t from_engine;
  alcor_abi_pkg::delivered_t moved;
  alcor_abi_pkg::received_t completion;

  assign command = {
    command_i, command_rank_i, command_context_i, command_id_i, command_tag_i, command_address_i, command_length_i
  };
  assign to_engine = {
    arrival_valid_i, arrival_announce_i, arrival_recall_i, arrival_source_i, arrival_context_i, arrival_tag_i,
    arrival_serial_i, arrival_id_i, arrival_length_i, late_i, verdict_ready_i, fetch_lookup_i, fetch_id_i, copy_ready_i,
    ack_ready_i, stored_i, direct_i, direct_status_i, direct_receive_i
  };
  assign moved = {moved_i, moved_status_i, moved_receive_i};

  assign arrival_ready_o     = from_engine.arrival_ready;
  assign arrival_refused_o   = from_engine.arrival_refused;
  assign arrival_line_o      = from_engine.arrival_line;
  assign begins_o            = u_engine.g_matcher.u_matcher.pops;
  assign verdict_valid_o     = from_engine.verdict_valid;
  assign verdict_o           = from_engine.verdict.kind;
  assign verdict_address_o   = from_engine.verdict.address;
  assign verdict_bytes_o     = from_engine.verdict.bytes;
  assign verdict_receive_o   = from_engine.verdict.receive;
  assign fetch_base_o        = from_engine.fetch.address;
  assign fetch_size_o        = from_engine.fetch.length;
  assign copy_valid_o        = from_engine.copy_valid;
  assign copy_from_o         = from_engine.copy.from;
  assign copy_to_o           = from_engine.copy.to;
  assign copy_bytes_o        = from_engine.copy.bytes;
  assign copy_receive_o      = from_engine.copy.receive;
  assign ack_valid_o         = from_engine.ack_valid;
  assign ack_rank_o          = from_engine.ack.rank;
  assign ack_status_o        = from_engine.ack.status;
  assign ack_id_o            = from_engine.ack.id;
  assign completion_status_o = completion.status;
  assign completion_id_o     = completion.id;
  assign completion_source_o = completion.source;
  assign completion_message_o = completion.message;
  assign completion_length_o = completion.length;

  message_engine #(
      .DEPTH        (DEPTH),
      .CELLS        (CELLS),
      .BLOCK        (BLOCK),
      .MATCHERS     (MATCHERS),
      .PAIRS        (PAIRS),
      .FRAGMENT     (FRAGMENT),
      .NODE_BYTES   (NODE_BYTES),
      .PAYLOAD_WORDS(PAYLOAD_WORDS)
  ) u_engine (
      .clk_i             (clk_i),
      .rst_ni            (rst_ni),
      .rank_i            (rank_i),
      .ready_o           (ready_o),
      .idle_o            (idle_o),
      .closed_i          (closed_i),
      .write_i           (register_write_i),
      .write_offset_i    (register_offset_i),
      .write_data_i      (register_data_i),
      .read_offset_i     (read_offset_i),
      .read_data_o       (read_data_o),
      .no_room_o         (no_room_o),
      .crowded_o         (crowded_o),
      .command_valid_i   (command_valid_i),
      .command_ready_o   (command_ready_o),
      .command_i         (command),
      .announce_i        (announce_i),
      .announced_i       ({command.id, command.buffer}),
      .port_i            (to_engine),
      .port_o            (from_engine),
      .moved_i           (moved),
      .head_valid_o      (head_valid_o),
      .head_ready_i      (head_ready_i),
      .head_o            (head_o),
      .task_valid_o      (task_valid_o),
      .task_ready_i      (task_ready_i),
      .completion_valid_o(completion_valid_o),
      .completion_ready_i(completion_ready_i),
      .completion_o      (completion)
  );

endmodule

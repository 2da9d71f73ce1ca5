import alcor_abi_pkg::*;

/// Messages of a rank: its message engine. Without one (MESSAGES = 0), messages that arrive are refused.
///
/// Commands wait in a queue while the engine searches, so that puts and gets behind them go on. The engine sees a
/// command in the cycle in which it comes, if none waits.
module rma_messages #(
    /// Posted receives, and as many unexpected messages, that there is room for; 0: no message engine.
    parameter int unsigned MESSAGES = 0,
    /// Bytes of a fragment of the unexpected message buffer.
    parameter int unsigned FRAGMENT = 256,
    /// Cells of each matching unit of the message engine.
    parameter int unsigned MATCH_CELLS = 16,
    /// Cells of a block of the matching units.
    parameter int unsigned MATCH_BLOCK = 8,
    /// Matchers of each rank's match store; 0: queues with matching units.
    parameter int unsigned MATCHERS = 0,
    /// Queue pairs of the match store, a power of two from 2 to 128.
    parameter int unsigned PAIRS = 16,
    /// Bytes of node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Payload words of an extended packet, a power of two.
    parameter int unsigned PAYLOAD_WORDS = 128
) (
    /// Clock.
    input  logic                           clk_i,
    /// Reset of the rank's own state, synchronous, active low.
    input  logic                           rst_ni,
    /// This rank's number on the network.
    input  logic [7:0]                     rank_i,
    /// The rank is being reset: messages that come are refused.
    input  logic                           closed_i,

    /// Host: a write into the rank's page.
    input  alcor_abi_pkg::page_write_t     page_i,
    /// Host: the write is a register of the message engine.
    input  logic                           register_write_i,
    /// Host: register to be read.
    input  logic [11:0]                    read_offset_i,
    /// Host: the register's value, in the same cycle; 0 of any other register.
    output logic [31:0]                    read_data_o,

    /// Pipeline: a command is offered.
    input  logic                           command_valid_i,
    /// The command, or the flush, is taken.
    output logic                           command_ready_o,
    /// The command.
    input  alcor_abi_pkg::engine_command_t command_i,
    /// Pulse: `command_i` announces a message.
    input  logic                           announce_i,
    /// Messages that wait are to be dropped; the pipeline offers no command.
    input  logic                           flush_i,

    /// From the request plane's receive side.
    input  alcor_abi_pkg::to_engine_t      port_i,
    /// To the request plane's receive side.
    output alcor_abi_pkg::from_engine_t    port_o,
    /// From the reply plane's receive side: a payload is in a receive buffer.
    input  alcor_abi_pkg::delivered_t      moved_i,
    /// Fetches: header words and tasks.
    output alcor_abi_pkg::outgoing_t       packet_o,
    /// Fetches: the header word, and the task, are taken.
    input  alcor_abi_pkg::outgoing_taken_t packet_i,

    /// The completion of a receive or probe is offered.
    output logic                           completion_valid_o,
    /// The completion is taken.
    input  logic                           completion_ready_i,
    /// The completion.
    output alcor_abi_pkg::received_t       completion_o,
    /// Pulse: a message is refused for lack of room, and its sender does not send it again.
    output logic                           no_room_o,
    /// CAUSES.crowded.
    output logic                           crowded_o,
    /// The message engine is cleared.
    output logic                           ready_o,
    /// No message or receive is being worked on.
    output logic                           idle_o
);

  // Commands that wait for the engine.
  localparam int unsigned Waiting = 16;

  assign packet_o.read = HeaderTask;

  if (MESSAGES != 0) begin : g_engine
    alcor_abi_pkg::engine_command_t command, waiting;
    logic offered, queue_empty, engine_ready;

    always_comb begin
      command = command_i;
      if (flush_i) command.command = McFlush;
    end

    assign offered = command_valid_i || flush_i;

    fifo #(
        .WIDTH(EngineCommandW),
        .DEPTH(Waiting)
    ) u_queue (
        .clk_i  (clk_i),
        .rst_ni (rst_ni),
        .valid_i(offered && !(queue_empty && engine_ready)),
        .ready_o(command_ready_o),
        .data_i (command),
        .valid_o(),
        .ready_i(engine_ready),
        .data_o (waiting),
        .empty_o(queue_empty),
        .usage_o()
    );

    message_engine #(
        .DEPTH        (MESSAGES),
        .CELLS        (MATCH_CELLS),
        .BLOCK        (MATCH_BLOCK),
        .MATCHERS     (MATCHERS),
        .PAIRS        (PAIRS),
        .FRAGMENT     (FRAGMENT),
        .NODE_BYTES   (NODE_BYTES),
        .PAYLOAD_WORDS(PAYLOAD_WORDS)
    ) u_message_engine (
        .clk_i             (clk_i),
        .rst_ni            (rst_ni),
        .rank_i            (rank_i),
        .ready_o           (ready_o),
        .idle_o            (idle_o),
        .closed_i          (closed_i),
        .write_i           (register_write_i),
        .write_offset_i    (page_i.offset),
        .write_data_i      (page_i.data),
        .read_offset_i     (read_offset_i),
        .read_data_o       (read_data_o),
        .no_room_o         (no_room_o),
        .crowded_o         (crowded_o),
        .command_valid_i   (offered || !queue_empty),
        .command_ready_o   (engine_ready),
        .command_i         (queue_empty ? command : waiting),
        .announce_i        (announce_i),
        .announced_i       ({command_i.id, command_i.buffer}),
        .port_i            (port_i),
        .port_o            (port_o),
        .moved_i           (moved_i),
        .head_valid_o      (packet_o.head_valid),
        .head_ready_i      (packet_i.head),
        .head_o            (packet_o.head),
        .task_valid_o      (packet_o.task_valid),
        .task_ready_i      (packet_i.read),
        .completion_valid_o(completion_valid_o),
        .completion_ready_i(completion_ready_i),
        .completion_o      (completion_o)
    );
  end else begin : g_no_engine
    always_comb begin
      port_o                 = '0;
      port_o.arrival_ready   = 1'b1;
      port_o.arrival_refused = 1'b1;
    end
    assign packet_o.head_valid = 1'b0;
    assign packet_o.head       = '0;
    assign packet_o.task_valid = 1'b0;
    assign command_ready_o     = 1'b1;
    assign completion_valid_o  = 1'b0;
    assign completion_o        = '0;
    assign read_data_o         = '0;
    assign no_room_o           = 1'b0;
    assign crowded_o           = 1'b0;
    assign ready_o             = 1'b1;
    assign idle_o              = 1'b1;

    logic unused;
    assign unused = ^{
      clk_i, rst_ni, rank_i, closed_i, page_i, register_write_i, read_offset_i, command_valid_i, command_i, announce_i,
      flush_i, port_i, moved_i, packet_i, completion_ready_i
    };
  end

endmodule

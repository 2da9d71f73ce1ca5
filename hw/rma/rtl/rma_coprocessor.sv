`include "assertions.svh"

import alcor_abi_pkg::*;

/// RMA coprocessor of one rank (Ziavras et al. 2006): puts, gets, registration, barrier.
///
/// With a message engine (MESSAGES) also two-sided messages.
/// From the host come writes into a 4 KiB page; to and from the router go packets on two planes,
/// requests and replies, which share nothing but the ports of node memory. The doc beside this file
/// has the picture and the latency of each stage.
module rma_coprocessor #(
    /// Bits of a beat, to and from the router and node memory: 32, 256 or 512.
    parameter int unsigned DATA_W = 32,
    /// Slots of the registration table, 2 to 256.
    parameter int unsigned SLOTS = 32,
    /// Bytes of node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Payload words of an extended packet, a power of two.
    parameter int unsigned PAYLOAD_WORDS = 128,
    /// Ranks that the network reaches: 0 to DESTS-1.
    parameter int unsigned DESTS = 256,
    /// Entries of the Instruction, Data and Data8 FIFOs.
    parameter int unsigned COMMAND_DEPTH = 64,
    /// Beats of each In FIFO.
    parameter int unsigned IN_DEPTH = 512,
    /// Beats of each Out FIFO.
    parameter int unsigned OUT_DEPTH = 512,
    /// Words of each Head FIFO, 5 or more.
    parameter int unsigned HEAD_DEPTH = 16,
    /// Tasks of each MM Interface FIFO.
    parameter int unsigned MM_DEPTH = 16,
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
    /// Cycles from grant to data up to which reads go on at one per cycle.
    parameter int unsigned MEM_LATENCY = 1,
    /// Bits of the counters that the host reads, and, up to 24, of the count of outstanding answers. Boards have 32. A
    /// bench counts to the ends of counters that are smaller.
    parameter int unsigned COUNT_W = 32,
    /// 1: there is a unit for accumulates; 0: accumulates are refused.
    parameter bit ACCUMULATE = 1'b0,
    /// 1: the kernel of the rank issues commands, too.
    parameter bit KERNEL = 1'b0,
    /// Bytes of a beat; derived, not to be set.
    localparam int unsigned Bytes = DATA_W / 8
) (
    /// Clock.
    input  logic                             clk_i,
    /// Synchronous reset, active low.
    input  logic                             rst_ni,
    /// This rank's number on the network; constant.
    input  logic [7:0]                       rank_i,
    /// From the board.
    input  alcor_abi_pkg::board_to_rank_t    board_i,
    /// To the board.
    output alcor_abi_pkg::rank_to_board_t    board_o,
    /// Reset of the rank's own state, a register: the board's, or that of RANK_RESET.
    output logic                             rank_rst_no,

    /// Host: a write into the rank's page.
    input  alcor_abi_pkg::page_write_t       page_i,
    /// Host: register to be read.
    input  logic [11:0]                      read_offset_i,
    /// Host: the register's value, in the same cycle.
    output logic [31:0]                      read_data_o,
    /// Host: interrupt, a level.
    output logic                             irq_o,
    /// Host: a copy of completions into host memory.
    output alcor_abi_pkg::host_copy_t        copy_o,
    /// Host: the copy is taken.
    input  logic                             copy_ready_i,

    /// From the kernel's port; all zero without one.
    input  alcor_abi_pkg::kernel_to_rank_t   kernel_i,
    /// To the kernel's port.
    output alcor_abi_pkg::rank_to_kernel_t   kernel_o,

    /// A collective of this rank has ended: a completion is offered.
    input  logic                             collective_valid_i,
    /// The completion is taken.
    output logic                             collective_ready_o,
    /// The completion.
    input  alcor_abi_pkg::completion_t       collective_i,
    /// Collectives of this rank have not ended.
    input  logic                             collectives_i,

    /// At a collective command; see rma_sync.
    output alcor_abi_pkg::sync_request_t     sync_o,
    /// All ranks were at a collective command two cycles ago.
    input  alcor_abi_pkg::sync_answer_t      sync_i,

    /// To the router, plane 0 requests, plane 1 replies: a beat is offered.
    output logic [1:0]                       tx_valid_o,
    /// The beat is taken.
    input  logic [1:0]                       tx_ready_i,
    /// The beat.
    output logic [1:0][DATA_W-1:0]           tx_data_o,
    /// The beat is its packet's last.
    output logic [1:0]                       tx_last_o,
    /// From the router: a beat is offered.
    input  logic [1:0]                       rx_valid_i,
    /// The beat is taken.
    output logic [1:0]                       rx_ready_o,
    /// The beat.
    input  logic [1:0][DATA_W-1:0]           rx_data_i,
    /// The beat is its packet's last.
    input  logic [1:0]                       rx_last_i,
    /// With `rx_last_i`: the beat ends a damaged packet, and holds no data.
    input  logic [1:0]                       rx_cut_i,

    /// Node memory, reads of plane 0 and 1 and of atomic operations and accumulates: a read is asked for.
    output logic [2:0]                       read_req_o,
    /// The read is granted.
    input  logic [2:0]                       read_gnt_i,
    /// Address of the beat's first word, which may be any.
    output logic [2:0][29:0]                 read_address_o,
    /// Data of the reader's oldest granted read is there.
    input  logic [2:0]                       read_rvalid_i,
    /// Data, of any of them.
    input  logic [DATA_W-1:0]                read_data_i,
    /// Node memory, writes of plane 0 and 1 and of the completion ring: a write is asked for.
    output logic [2:0]                       write_req_o,
    /// The write is granted.
    input  logic [2:0]                       write_gnt_i,
    /// Address of the beat's first word, which may be any.
    output logic [2:0][29:0]                 write_address_o,
    /// Data.
    output logic [2:0][DATA_W-1:0]           write_data_o,
    /// Byte strobes.
    output logic [2:0][Bytes-1:0]            write_strobe_o
);

  localparam int unsigned Request = 0;
  localparam int unsigned Reply = 1;

  // ---------------------------------------------------------------- resets

  logic block_rst_n, clear_next;

  reset_pipe u_block_reset (
      .clk_i (clk_i),
      .rst_ni(rst_ni),
      .rst_no(block_rst_n)
  );

  // State of the rank alone is cleared by its own reset too; state that packets of its neighbours pass through is not.
  reset_pipe u_rank_reset_pipe (
      .clk_i (clk_i),
      .rst_ni(rst_ni && !clear_next),
      .rst_no(rank_rst_no)
  );

  // ---------------------------------------------------------------- the page: commands and registers

  logic command_write, register_write, message_write;

  // A quarter of the page is the command window, the next one the coprocessor's registers; behind the collective
  // unit's eighth come the message engine's registers.
  assign command_write  = page_i.valid && page_i.offset[11:10] == 2'b00;
  assign register_write = page_i.valid && page_i.offset[11:10] == 2'b01;
  assign message_write  = page_i.valid && page_i.offset[11:9] == 3'b101;

  // ---------------------------------------------------------------- commands become header words and tasks

  logic drain, table_ready, barrier_pending, overflow_pending;
  alcor_abi_pkg::slot_lookup_t request_lookup, reply_lookup;
  alcor_abi_pkg::window_t request_window, reply_window;
  alcor_abi_pkg::outgoing_t pipeline_packet;
  alcor_abi_pkg::outgoing_taken_t pipeline_taken;
  logic pipeline_split, pipeline_last;
  logic engine_command_valid, engine_command_ready, announce;
  alcor_abi_pkg::engine_command_t engine_command;
  logic local_valid, local_ready;
  alcor_abi_pkg::completion_t local_completion;
  alcor_abi_pkg::issue_state_t issue;
  alcor_abi_pkg::pipeline_events_t events;
  logic kernel_ready;

  rma_issue #(
      .SLOTS        (SLOTS),
      .NODE_BYTES   (NODE_BYTES),
      .PAYLOAD_WORDS(PAYLOAD_WORDS),
      .DESTS        (DESTS),
      .COMMAND_DEPTH(COMMAND_DEPTH),
      .MESSAGES     (MESSAGES),
      .FRAGMENT     (FRAGMENT),
      .EARLY        (DATA_W == 32),
      .ACCUMULATE   (ACCUMULATE),
      .KERNEL       (KERNEL)
  ) u_issue (
      .clk_i             (clk_i),
      .rst_ni            (block_rst_n),
      .rank_rst_ni       (rank_rst_no),
      .rank_i            (rank_i),
      .run_ranks_i       (board_i.ranks),
      .drain_i           (drain),
      .peer_lost_i       (board_i.peer_lost),
      .blocked_i         (overflow_pending),
      .write_i           (command_write),
      .opcode_i          (page_i.offset[9:2]),
      .data_i            (page_i.data),
      .kernel_i          (kernel_i),
      .kernel_ready_o    (kernel_ready),
      .table_ready_o     (table_ready),
      .ready_i           (ready),
      .request_lookup_i  (request_lookup),
      .request_window_o  (request_window),
      .reply_lookup_i    (reply_lookup),
      .reply_window_o    (reply_window),
      .head_valid_o      (pipeline_packet.head_valid),
      .head_ready_i      (pipeline_taken.head),
      .head_o            (pipeline_packet.head),
      .task_valid_o      (pipeline_packet.task_valid),
      .task_ready_i      (pipeline_taken.read),
      .task_o            (pipeline_packet.read),
      .split_o           (pipeline_split),
      .last_o            (pipeline_last),
      .engine_valid_o    (engine_command_valid),
      .engine_ready_i    (engine_command_ready),
      .engine_o          (engine_command),
      .announce_o        (announce),
      .completion_valid_o(local_valid),
      .completion_ready_i(local_ready),
      .completion_o      (local_completion),
      .sync_o            (sync_o),
      .sync_i            (sync_i),
      .barrier_pending_i (barrier_pending),
      .state_o           (issue),
      .events_o          (events)
  );

  // ---------------------------------------------------------------- packets out, both planes

  alcor_abi_pkg::outgoing_t reply_packet, engine_packet, recall_packet;
  alcor_abi_pkg::outgoing_taken_t reply_taken, engine_taken, recall_taken;
  logic recalls;
  logic [1:0] sends_idle;

  rma_send #(
      .DATA_W       (DATA_W),
      .PAYLOAD_WORDS(PAYLOAD_WORDS),
      .HEAD_DEPTH   (HEAD_DEPTH),
      .MM_DEPTH     (MM_DEPTH),
      .OUT_DEPTH    (OUT_DEPTH),
      .MEM_LATENCY  (MEM_LATENCY)
  ) u_send (
      .clk_i           (clk_i),
      .rst_ni          (block_rst_n),
      .pipeline_i      (pipeline_packet),
      .pipeline_o      (pipeline_taken),
      .pipeline_split_i(pipeline_split),
      .pipeline_last_i (pipeline_last),
      .engine_i        (engine_packet),
      .engine_o        (engine_taken),
      .recalls_i       (recalls),
      .recall_i        (recall_packet),
      .recall_o        (recall_taken),
      .reply_i         (reply_packet),
      .reply_o         (reply_taken),
      .tx_valid_o      (tx_valid_o),
      .tx_ready_i      (tx_ready_i),
      .tx_data_o       (tx_data_o),
      .tx_last_o       (tx_last_o),
      .read_req_o      (read_req_o[1:0]),
      .read_gnt_i      (read_gnt_i[1:0]),
      .read_address_o  (read_address_o[1:0]),
      .read_rvalid_i   (read_rvalid_i[1:0]),
      .read_data_i     (read_data_i),
      .idle_o          (sends_idle)
  );

  // ---------------------------------------------------------------- packets in, a plane each

  logic hold;
  logic [1:0] receives_idle;
  alcor_abi_pkg::to_engine_t request_to_engine;
  alcor_abi_pkg::delivered_t reply_delivered;
  alcor_abi_pkg::from_engine_t from_engine;
  alcor_abi_pkg::refusal_t request_refusal, reply_refusal;
  logic completion_valid, completion_ready;
  alcor_abi_pkg::answered_t completion;
  alcor_abi_pkg::memory_request_t atomic_read;

  assign read_req_o[2]     = atomic_read.req;
  assign read_address_o[2] = atomic_read.address;

  rma_receive_requests #(
      .DATA_W       (DATA_W),
      .PAYLOAD_WORDS(PAYLOAD_WORDS),
      .HEAD_DEPTH   (HEAD_DEPTH),
      .MM_DEPTH     (MM_DEPTH),
      .IN_DEPTH     (IN_DEPTH),
      .ACCUMULATE   (ACCUMULATE),
      .MEM_LATENCY  (MEM_LATENCY)
  ) u_receive_requests (
      .clk_i             (clk_i),
      .rst_ni            (block_rst_n),
      .rank_i            (rank_i),
      .closed_i          (drain),
      .hold_i            (hold),
      .in_valid_i        (rx_valid_i[Request]),
      .in_ready_o        (rx_ready_o[Request]),
      .in_data_i         (rx_data_i[Request]),
      .in_last_i         (rx_last_i[Request]),
      .in_cut_i          (rx_cut_i[Request]),
      .lookup_o          (request_lookup),
      .window_i          (request_window),
      .read_o            (atomic_read),
      .read_i            ({read_gnt_i[2], read_rvalid_i[2]}),
      .read_data_i       (read_data_i),
      .write_valid_o     (write_req_o[Request]),
      .write_ready_i     (write_gnt_i[Request]),
      .write_address_o   (write_address_o[Request]),
      .write_data_o      (write_data_o[Request]),
      .write_strobe_o    (write_strobe_o[Request]),
      .replied_i         (sends_idle[Reply]),
      .reply_o           (reply_packet),
      .reply_i           (reply_taken),
      .engine_o          (request_to_engine),
      .engine_i          (from_engine),
      .refusal_o         (request_refusal),
      .idle_o            (receives_idle[Request])
  );

  rma_receive_replies #(
      .DATA_W       (DATA_W),
      .PAYLOAD_WORDS(PAYLOAD_WORDS),
      .HEAD_DEPTH   (HEAD_DEPTH),
      .MM_DEPTH     (MM_DEPTH),
      .IN_DEPTH     (IN_DEPTH)
  ) u_receive_replies (
      .clk_i             (clk_i),
      .rst_ni            (block_rst_n),
      .in_valid_i        (rx_valid_i[Reply]),
      .in_ready_o        (rx_ready_o[Reply]),
      .in_data_i         (rx_data_i[Reply]),
      .in_last_i         (rx_last_i[Reply]),
      .in_cut_i          (rx_cut_i[Reply]),
      .lookup_o          (reply_lookup),
      .window_i          (reply_window),
      .write_valid_o     (write_req_o[Reply]),
      .write_ready_i     (write_gnt_i[Reply]),
      .write_address_o   (write_address_o[Reply]),
      .write_data_o      (write_data_o[Reply]),
      .write_strobe_o    (write_strobe_o[Reply]),
      .delivered_o       (reply_delivered),
      .completion_valid_o(completion_valid),
      .completion_ready_i(completion_ready),
      .completion_o      (completion),
      .refusal_o         (reply_refusal),
      .idle_o            (receives_idle[Reply])
  );

  // ---------------------------------------------------------------- messages

  logic received_valid, received_ready, messages_ready, messages_idle, no_room, crowded, flush;
  alcor_abi_pkg::received_t received;
  logic [31:0] message_read;

  rma_messages #(
      .MESSAGES     (MESSAGES),
      .FRAGMENT     (FRAGMENT),
      .MATCH_CELLS  (MATCH_CELLS),
      .MATCH_BLOCK  (MATCH_BLOCK),
      .MATCHERS     (MATCHERS),
      .PAIRS        (PAIRS),
      .NODE_BYTES   (NODE_BYTES),
      .PAYLOAD_WORDS(PAYLOAD_WORDS)
  ) u_messages (
      .clk_i             (clk_i),
      .rst_ni            (rank_rst_no),
      .rank_i            (rank_i),
      .closed_i          (drain),
      .page_i            (page_i),
      .register_write_i  (message_write),
      .read_offset_i     (read_offset_i),
      .read_data_o       (message_read),
      .command_valid_i   (engine_command_valid),
      .command_ready_o   (engine_command_ready),
      .command_i         (engine_command),
      .announce_i        (announce),
      .flush_i           (flush),
      .port_i            (request_to_engine),
      .port_o            (from_engine),
      .moved_i           (reply_delivered),
      .packet_o          (engine_packet),
      .packet_i          (engine_taken),
      .completion_valid_o(received_valid),
      .completion_ready_i(received_ready),
      .completion_o      (received),
      .no_room_o         (no_room),
      .crowded_o         (crowded),
      .ready_o           (messages_ready),
      .idle_o            (messages_idle)
  );

  // ---------------------------------------------------------------- registers and completions

  logic ring_idle;
  logic [31:0] ring_word, register_read;
  alcor_abi_pkg::memory_request_t ring_write;
  alcor_abi_pkg::rank_reset_state_t reset_state;

  rma_reports #(
      .DEPTH   (MM_DEPTH),
      .LATE    (MEM_LATENCY >= 3),
      .MESSAGES(MESSAGES),
      .COUNT_W (COUNT_W),
      .KERNEL  (KERNEL)
  ) u_reports (
      .clk_i             (clk_i),
      .rst_ni            (rank_rst_no),
      .rank_i            (rank_i),
      .board_i           (board_i),
      .page_i            (page_i),
      .register_write_i  (register_write),
      .read_offset_i     (read_offset_i),
      .read_data_o       (register_read),
      .irq_o             (irq_o),
      .kernel_i          (kernel_i),
      .kernel_o          (kernel_o),
      .kernel_ready_i    (kernel_ready),
      .drain_i           (drain),
      .reset_state_i     (reset_state),
      .issue_i           (issue),
      .events_i          (events),
      .request_refusal_i (request_refusal),
      .reply_refusal_i   (reply_refusal),
      .no_room_i         (no_room),
      .crowded_i         (crowded),
      .words_i           ({rx_valid_i & rx_ready_o, tx_valid_o & tx_ready_i}),
      .reply_valid_i     (completion_valid),
      .reply_ready_o     (completion_ready),
      .reply_i           (completion),
      .local_valid_i     (local_valid),
      .local_ready_o     (local_ready),
      .local_i           (local_completion),
      .collective_valid_i(collective_valid_i),
      .collective_ready_o(collective_ready_o),
      .collective_i      (collective_i),
      .message_valid_i   (received_valid),
      .message_ready_o   (received_ready),
      .message_i         (received),
      .overflow_pending_o(overflow_pending),
      .barrier_pending_o (barrier_pending),
      .idle_o            (ring_idle),
      .write_o           (ring_write),
      .write_gnt_i       (write_gnt_i[2]),
      .write_data_o      (ring_word),
      .copy_o            (copy_o),
      .copy_ready_i      (copy_ready_i)
  );

  assign write_req_o[2]     = ring_write.req;
  assign write_address_o[2] = ring_write.address;
  assign write_data_o[2]    = DATA_W'(ring_word);
  assign write_strobe_o[2]  = Bytes'(4'b1111);
  assign read_data_o        = register_read | message_read;

  // ---------------------------------------------------------------- reset of the rank, signals to the board

  logic ready;

  assign ready = table_ready && messages_ready;

  rma_rank_control #(
      .DESTS (DESTS),
      .OWED_W((COUNT_W < 24) ? COUNT_W : 24)
  ) u_rank_control (
      .clk_i            (clk_i),
      .rst_ni           (block_rst_n),
      .rank_i           (rank_i),
      .board_o          (board_o),
      .page_i           (page_i),
      .register_write_i (register_write),
      .message_write_i  (message_write),
      .issue_i          (issue),
      .sync_i           (sync_o),
      .barrier_pending_i(barrier_pending),
      .kernel_busy_i    (kernel_i.busy),
      .collectives_i    (collectives_i || collective_valid_i),
      .answered_i       (completion_valid && completion_ready),
      .ready_i          (ready),
      .sends_idle_i     (sends_idle),
      .receives_idle_i  (receives_idle),
      .ring_idle_i      (ring_idle),
      .messages_idle_i  (messages_idle),
      .drain_o          (drain),
      .hold_o           (hold),
      .clear_next_o     (clear_next),
      .flush_o          (flush),
      .flush_ready_i    (engine_command_ready),
      .recalls_o        (recalls),
      .recall_o         (recall_packet),
      .recall_i         (recall_taken),
      .state_o          (reset_state)
  );

  `ALCOR_CHECK_PARAM(g_check_heads, HEAD_DEPTH >= 5,
                     "rma_coprocessor: HEAD_DEPTH must hold a whole header, 5 or more")

endmodule

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
    /// Cycles from grant to data up to which reads go on at one per cycle.
    parameter int unsigned MEM_LATENCY = 1,
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

  logic command_write, register_write, message_write, begin_reset;
  alcor_abi_pkg::rank_rank_reset_t reset_word;

  // A quarter of the page is the command window, the next one the coprocessor's registers; behind the collective
  // unit's eighth come the message engine's registers.
  assign command_write  = page_i.valid && page_i.offset[11:10] == 2'b00;
  assign register_write = page_i.valid && page_i.offset[11:10] == 2'b01;
  assign message_write  = page_i.valid && page_i.offset[11:9] == 3'b101;

  // ---------------------------------------------------------------- the rank's own reset

  logic drain, hold, lost, flush, recall;
  logic recall_head_valid, recall_head_ready, recall_task_valid, recall_task_ready;
  logic [31:0] recall_head;
  alcor_abi_pkg::rank_reset_state_t reset_state;
  alcor_abi_pkg::issue_state_t issue;

  assign reset_word  = page_i.data;
  assign begin_reset = register_write && page_i.offset == RANK_RANK_RESET_OFFSET && reset_word.reset;

  // ---------------------------------------------------------------- commands become header words and tasks

  logic table_ready, barrier_pending, overflow_pending;
  alcor_abi_pkg::slot_lookup_t request_lookup, reply_lookup;
  alcor_abi_pkg::window_t request_window, reply_window;
  logic pipeline_head_valid, pipeline_head_ready, pipeline_task_valid, pipeline_task_ready, pipeline_split, pipeline_last;
  logic [31:0] pipeline_head;
  alcor_abi_pkg::read_task_t pipeline_task;
  logic engine_command_valid, engine_command_ready, announce;
  alcor_abi_pkg::engine_command_t pipeline_command, engine_command;
  logic local_valid, local_ready;
  alcor_abi_pkg::completion_t local_completion;
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
      .head_valid_o      (pipeline_head_valid),
      .head_ready_i      (pipeline_head_ready),
      .head_o            (pipeline_head),
      .task_valid_o      (pipeline_task_valid),
      .task_ready_i      (pipeline_task_ready),
      .task_o            (pipeline_task),
      .split_o           (pipeline_split),
      .last_o            (pipeline_last),
      .engine_valid_o    (engine_command_valid),
      .engine_ready_i    (engine_command_ready),
      .engine_o          (pipeline_command),
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

  logic reply_head_valid, reply_head_ready, reply_task_valid, reply_task_ready;
  logic [31:0] reply_head, engine_head;
  alcor_abi_pkg::read_task_t reply_task;
  logic engine_head_valid, engine_head_ready, engine_task_valid, engine_task_ready;
  logic [1:0] sends_idle;

  rma_send #(
      .DATA_W       (DATA_W),
      .PAYLOAD_WORDS(PAYLOAD_WORDS),
      .HEAD_DEPTH   (HEAD_DEPTH),
      .MM_DEPTH     (MM_DEPTH),
      .OUT_DEPTH    (OUT_DEPTH),
      .MEM_LATENCY  (MEM_LATENCY)
  ) u_send (
      .clk_i                (clk_i),
      .rst_ni               (block_rst_n),
      .pipeline_head_valid_i(pipeline_head_valid),
      .pipeline_head_ready_o(pipeline_head_ready),
      .pipeline_head_i      (pipeline_head),
      .pipeline_task_valid_i(pipeline_task_valid),
      .pipeline_task_ready_o(pipeline_task_ready),
      .pipeline_task_i      (pipeline_task),
      .pipeline_split_i     (pipeline_split),
      .pipeline_last_i      (pipeline_last),
      .engine_head_valid_i  (engine_head_valid),
      .engine_head_ready_o  (engine_head_ready),
      .engine_head_i        (engine_head),
      .engine_task_valid_i  (engine_task_valid),
      .engine_task_ready_o  (engine_task_ready),
      .recall_i             (recall),
      .recall_head_valid_i  (recall_head_valid),
      .recall_head_ready_o  (recall_head_ready),
      .recall_head_i        (recall_head),
      .recall_task_valid_i  (recall_task_valid),
      .recall_task_ready_o  (recall_task_ready),
      .reply_head_valid_i   (reply_head_valid),
      .reply_head_ready_o   (reply_head_ready),
      .reply_head_i         (reply_head),
      .reply_task_valid_i   (reply_task_valid),
      .reply_task_ready_o   (reply_task_ready),
      .reply_task_i         (reply_task),
      .tx_valid_o           (tx_valid_o),
      .tx_ready_i           (tx_ready_i),
      .tx_data_o            (tx_data_o),
      .tx_last_o            (tx_last_o),
      .read_req_o           (read_req_o[1:0]),
      .read_gnt_i           (read_gnt_i[1:0]),
      .read_address_o       (read_address_o[1:0]),
      .read_rvalid_i        (read_rvalid_i[1:0]),
      .read_data_i          (read_data_i),
      .idle_o               (sends_idle)
  );

  // ---------------------------------------------------------------- packets in, a plane each

  logic [1:0] receives_idle;
  alcor_abi_pkg::to_engine_t request_to_engine, reply_to_engine;
  alcor_abi_pkg::from_engine_t from_engine;
  alcor_abi_pkg::refusal_t request_refusal, reply_refusal;
  logic completion_valid, completion_ready;
  alcor_abi_pkg::answered_t completion;
  alcor_abi_pkg::memory_request_t atomic_read;

  assign read_req_o[2]     = atomic_read.req;
  assign read_address_o[2] = atomic_read.address;

  rma_receive #(
      .DATA_W       (DATA_W),
      .REQUESTS     (1'b1),
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
      .reply_head_valid_o(reply_head_valid),
      .reply_head_ready_i(reply_head_ready),
      .reply_head_o      (reply_head),
      .reply_task_valid_o(reply_task_valid),
      .reply_task_ready_i(reply_task_ready),
      .reply_task_o      (reply_task),
      .engine_o          (request_to_engine),
      .engine_i          (from_engine),
      .completion_valid_o(),
      .completion_ready_i(1'b0),
      .completion_o      (),
      .refusal_o         (request_refusal),
      .idle_o            (receives_idle[Request])
  );

  rma_receive #(
      .DATA_W       (DATA_W),
      .REQUESTS     (1'b0),
      .PAYLOAD_WORDS(PAYLOAD_WORDS),
      .HEAD_DEPTH   (HEAD_DEPTH),
      .MM_DEPTH     (MM_DEPTH),
      .IN_DEPTH     (IN_DEPTH)
  ) u_receive_replies (
      .clk_i             (clk_i),
      .rst_ni            (block_rst_n),
      .rank_i            (rank_i),
      .closed_i          (1'b0),
      .hold_i            (1'b0),
      .in_valid_i        (rx_valid_i[Reply]),
      .in_ready_o        (rx_ready_o[Reply]),
      .in_data_i         (rx_data_i[Reply]),
      .in_last_i         (rx_last_i[Reply]),
      .lookup_o          (reply_lookup),
      .window_i          (reply_window),
      .read_o            (),
      .read_i            ('0),
      .read_data_i       ('0),
      .write_valid_o     (write_req_o[Reply]),
      .write_ready_i     (write_gnt_i[Reply]),
      .write_address_o   (write_address_o[Reply]),
      .write_data_o      (write_data_o[Reply]),
      .write_strobe_o    (write_strobe_o[Reply]),
      .replied_i         (1'b0),
      .reply_head_valid_o(),
      .reply_head_ready_i(1'b0),
      .reply_head_o      (),
      .reply_task_valid_o(),
      .reply_task_ready_i(1'b0),
      .reply_task_o      (),
      .engine_o          (reply_to_engine),
      .engine_i          ('0),
      .completion_valid_o(completion_valid),
      .completion_ready_i(completion_ready),
      .completion_o      (completion),
      .refusal_o         (reply_refusal),
      .idle_o            (receives_idle[Reply])
  );

  // ---------------------------------------------------------------- messages

  logic received_valid, received_ready, messages_ready, messages_idle, no_room, crowded;
  alcor_abi_pkg::received_t received;
  logic [31:0] message_read;

  always_comb begin
    engine_command = pipeline_command;
    if (flush) engine_command.command = McFlush;
  end

  if (MESSAGES != 0) begin : g_messages
    message_engine #(
        .DEPTH        (MESSAGES),
        .CELLS        (MATCH_CELLS),
        .BLOCK        (MATCH_BLOCK),
        .FRAGMENT     (FRAGMENT),
        .NODE_BYTES   (NODE_BYTES),
        .PAYLOAD_WORDS(PAYLOAD_WORDS)
    ) u_message_engine (
        .clk_i             (clk_i),
        .rst_ni            (rank_rst_no),
        .rank_i            (rank_i),
        .ready_o           (messages_ready),
        .idle_o            (messages_idle),
        .closed_i          (drain),
        .write_i           (message_write),
        .write_offset_i    (page_i.offset),
        .write_data_i      (page_i.data),
        .read_offset_i     (read_offset_i),
        .read_data_o       (message_read),
        .no_room_o         (no_room),
        .crowded_o         (crowded),
        .command_valid_i   (engine_command_valid || flush),
        .command_ready_o   (engine_command_ready),
        .command_i         (engine_command),
        .announce_i        (announce),
        .port_i            (request_to_engine),
        .port_o            (from_engine),
        .moved_i           (reply_to_engine.delivered),
        .head_valid_o      (engine_head_valid),
        .head_ready_i      (engine_head_ready),
        .head_o            (engine_head),
        .task_valid_o      (engine_task_valid),
        .task_ready_i      (engine_task_ready),
        .completion_valid_o(received_valid),
        .completion_ready_i(received_ready),
        .completion_o      (received)
    );
  end else begin : g_no_messages
    // Messages that come all the same are refused.
    always_comb begin
      from_engine                 = '0;
      from_engine.arrival_ready   = 1'b1;
      from_engine.arrival_refused = 1'b1;
    end
    assign {messages_ready, messages_idle, engine_command_ready} = '1;
    assign {no_room, crowded, engine_head_valid, engine_task_valid, received_valid} = '0;
    assign message_read = '0;
    assign engine_head  = '0;
    assign received     = '0;

    logic unused_messages;
    assign unused_messages = ^{
      message_write, engine_command_valid, engine_command, announce, request_to_engine, reply_to_engine, received_ready,
      engine_head_ready, engine_task_ready
    };
  end

  // ---------------------------------------------------------------- completions, registers

  alcor_abi_pkg::ring_settings_t ring_settings;
  alcor_abi_pkg::ring_state_t ring_state;
  logic ring_idle;
  logic [31:0] ring_word, register_read;

  // Completions of the kernel's commands go to its port, which takes each at once.
  logic [3:0] to_kernel, ring_valid, ring_ready;
  logic [3:0] ended, ended_ready;

  assign ended = {received_valid, collective_valid_i, local_valid, completion_valid};
  assign {received_ready, collective_ready_o, local_ready, completion_ready} = ended_ready;

  if (KERNEL) begin : g_kernel
    // Of receives and probes an id says no more than the message's number.
    assign to_kernel = {32'(received.id) >= MESSAGES - KernelCommands, collective_i.id[15], local_completion.id[15],
                        completion.ended.id[15]};
  end else begin : g_no_kernel
    assign to_kernel = '0;

    logic unused_kernel;
    assign unused_kernel = ^{kernel_i, kernel_ready};
  end

  assign ring_valid  = ended & ~to_kernel;
  assign ended_ready = ring_ready | to_kernel;

  always_comb begin
    kernel_o                = '0;
    kernel_o.ready          = kernel_ready;
    kernel_o.done           = events.kernel_done;
    kernel_o.drain          = drain;
    kernel_o.begun          = issue.begun;
    kernel_o.nprocs         = issue.nprocs;
    kernel_o.reply          = {ended[0] && to_kernel[0], completion.ended.status, completion.ended.id[KernelSlotW-1:0]};
    kernel_o.refused        = {ended[1] && to_kernel[1], local_completion.status, local_completion.id[KernelSlotW-1:0]};
    kernel_o.collective     = {ended[2] && to_kernel[2], collective_i.status, collective_i.id[KernelSlotW-1:0]};
    kernel_o.message        = {ended[3] && to_kernel[3], received.status, received.id[KernelSlotW-1:0]};
    kernel_o.source         = received.source;
    kernel_o.tag            = received.tag;
    kernel_o.length         = received.length;
    kernel_o.atomic         = completion.atomic;
    kernel_o.old            = completion.old;
    kernel_o.barrier        = events.kernel_barrier;
    kernel_o.barrier_status = events.kernel_status;
  end

  rma_completion_queue #(
      .DEPTH(MM_DEPTH)
  ) u_completion_queue (
      .clk_i             (clk_i),
      .rst_ni            (rank_rst_no),
      .reply_valid_i     (ring_valid[0]),
      .reply_ready_o     (ring_ready[0]),
      .reply_i           (completion),
      .local_valid_i     (ring_valid[1]),
      .local_ready_o     (ring_ready[1]),
      .local_i           (local_completion),
      .collective_valid_i(ring_valid[2]),
      .collective_ready_o(ring_ready[2]),
      .collective_i      (collective_i),
      .message_valid_i   (ring_valid[3]),
      .message_ready_o   (ring_ready[3]),
      .message_i         (received),
      .settings_i        (ring_settings),
      .state_o           (ring_state),
      .idle_o            (ring_idle),
      .write_valid_o     (write_req_o[2]),
      .write_ready_i     (write_gnt_i[2]),
      .write_address_o   (write_address_o[2]),
      .write_data_o      (ring_word)
  );
  assign write_data_o[2]   = DATA_W'(ring_word);
  assign write_strobe_o[2] = Bytes'(4'b1111);

  rma_registers u_registers (
      .clk_i            (clk_i),
      .rst_ni           (rank_rst_no),
      .write_i          (register_write),
      .write_offset_i   (page_i.offset),
      .write_data_i     (page_i.data),
      .read_offset_i    (read_offset_i),
      .read_data_o      (register_read),
      .irq_o            (irq_o),
      .written_i        (issue.written),
      .overflow_i       (issue.overflow),
      .events_i         (events),
      .kernel_done_i    (kernel_i.done),
      .refused_x_i      (local_valid && local_ready),
      .request_refusal_i(request_refusal),
      .reply_refusal_i  (reply_refusal),
      .no_room_i        (no_room),
      .crowded_i        (crowded),
      .board_i          (board_i),
      .words_i          ({rx_valid_i[Reply] && rx_ready_o[Reply],
                          rx_valid_i[Request] && rx_ready_o[Request],
                          tx_valid_o[Reply] && tx_ready_i[Reply],
                          tx_valid_o[Request] && tx_ready_i[Request]}),
      .pid_i            (rank_i),
      .nprocs_i         (issue.nprocs),
      .begun_i          (issue.begun),
      .reset_state_i    (reset_state),
      .overflow_pending_o(overflow_pending),
      .ring_o           (ring_settings),
      .ring_i           (ring_state),
      .barrier_pending_o(barrier_pending)
  );

  assign read_data_o = register_read | message_read;

  // ---------------------------------------------------------------- signals to the board

  logic ready, quiet;
  alcor_abi_pkg::board_rank_state_t state;

  assign ready = table_ready && messages_ready;
  assign quiet = !issue.sending && (&sends_idle) && (&receives_idle) && ring_idle && messages_idle;

  always_comb begin
    state              = '0;
    state.pid          = rank_i;
    state.nprocs       = issue.nprocs;
    state.begun        = issue.begun;
    state.in_sync      = sync_o.valid;
    state.sync_kind    = sync_o.kind;
    state.quiet        = quiet;
    state.commands     = issue.commands;
    state.tx_request   = !sends_idle[Request];
    state.tx_reply     = !sends_idle[Reply];
    state.rx_request   = !receives_idle[Request];
    state.rx_reply     = !receives_idle[Reply];
    state.barrier_done = barrier_pending;
  end

  assign board_o.state        = state;
  assign board_o.aborts       = issue.aborts;
  assign board_o.abort_reason = issue.abort_reason;
  assign board_o.ready        = ready;
  assign board_o.lost         = lost;
  assign board_o.cancel       = {drain, issue.orphaned};

  rma_rank_reset #(
      .DESTS(DESTS)
  ) u_rank_reset (
      .clk_i        (clk_i),
      .rst_ni       (block_rst_n),
      .rank_i       (rank_i),
      .start_i      (begin_reset),
      .written_i    (issue.written || message_write || (register_write && !begin_reset)),
      .begun_i      (issue.begun),
      .nprocs_i     (issue.nprocs),
      .asked_i      (issue.asked),
      .answered_i   (completion_valid && completion_ready),
      .commands_i   (issue.commands || issue.operands || kernel_i.busy),
      .messages_i   (!messages_idle),
      .collectives_i(collectives_i || collective_valid_i),
      .packets_i    (!quiet),
      .ready_i      (ready),
      .orphaned_i   (issue.orphaned),
      .drain_o      (drain),
      .hold_o       (hold),
      .clear_o      (),
      .clear_next_o (clear_next),
      .lost_o       (lost),
      .flush_o      (flush),
      .flush_ready_i(engine_command_ready),
      .recall_o     (recall),
      .head_o       (recall_head),
      .head_valid_o (recall_head_valid),
      .head_ready_i (recall_head_ready),
      .task_valid_o (recall_task_valid),
      .task_ready_i (recall_task_ready),
      .state_o      (reset_state)
  );

  `ALCOR_CHECK_PARAM(g_check_heads, HEAD_DEPTH >= 5,
                     "rma_coprocessor: HEAD_DEPTH must hold a whole header, 5 or more")

`ifdef ALCOR_COVERAGE
  // Answers to commands; in a reset they are answers to recalls, and are ignored.
`define ALCOR_COVER_ANSWER(status_) \
  `ALCOR_COVER(c_answers_reply_``status_, \
               completion_valid && completion_ready && !drain && completion.ended.status == ST_``status_)
  `ALCOR_COVER_ANSWER(OK)
  `ALCOR_COVER_ANSWER(BAD_SLOT)
  `ALCOR_COVER_ANSWER(OUT_OF_BOUNDS)
  `ALCOR_COVER_ANSWER(DENIED)
  `ALCOR_COVER_ANSWER(NO_ROOM)
  `ALCOR_COVER_ANSWER(RANK_RESET)
`undef ALCOR_COVER_ANSWER
`endif

endmodule

`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_nic_pkg::*;

/// RMA coprocessor of one rank (Ziavras et al. 2006): puts, gets, registration, barrier.
///
/// With a message engine (MESSAGES) also two-sided messages.
/// From the host come writes into a 4 KiB page; to and from the router go packets on two planes,
/// requests and replies, which share nothing but the ports of node memory. The doc beside this file
/// has the picture and the latency of each stage.
module rma_coprocessor #(
    /// Bits of a beat, to and from the router and node memory: 32, 128, 256 or 512.
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
    /// Cells of a block of them.
    parameter int unsigned MATCH_BLOCK = 8,
    /// Cycles from a granted memory read to its data.
    parameter int unsigned MEM_LATENCY = 1,
    /// 1: commands are written in the clock domain of `host_clk_i`; registers stay in that of `clk_i`.
    parameter bit ASYNC_HOST = 1'b0,
    /// Bytes of a beat; derived, not to be set.
    localparam int unsigned Bytes = DATA_W / 8
) (
    /// Clock.
    input  logic              clk_i,
    /// Synchronous reset, active low.
    input  logic              rst_ni,
    /// This rank's number on the network; constant.
    input  logic [7:0]        rank_i,
    /// Clock of command writes; `clk_i` unless ASYNC_HOST is set.
    input  logic              host_clk_i,
    /// Reset of the host's side.
    input  logic              host_rst_ni,

    /// Host: a write into the command window, in the host's clock.
    input  logic              command_write_i,
    /// Host: its opcode.
    input  logic [7:0]        command_opcode_i,
    /// Host: its operand.
    input  logic [31:0]       command_data_i,
    /// Host: a write to a register, in `clk_i`.
    input  logic              register_write_i,
    /// Host: its offset in the page.
    input  logic [11:0]       register_offset_i,
    /// Host: its data.
    input  logic [31:0]       register_data_i,
    /// Host: a write to a register of the message engine, with the same offset and data.
    input  logic              message_write_i,
    /// Host: register to be read.
    input  logic [11:0]       read_offset_i,
    /// Host: its value, in the same cycle.
    output logic [31:0]       read_data_o,
    /// Host: interrupt, a level.
    output logic              irq_o,
    /// Host: RANK_STATE.
    output logic [31:0]       state_o,

    /// Pulse: this rank aborts the run.
    output logic              abort_o,
    /// Its reason.
    output logic [7:0]        abort_reason_o,
    /// The run is aborted, by whomever.
    input  logic              aborted_i,
    /// A collective of this rank has ended: an entry for its completion ring.
    input  logic              collective_valid_i,
    /// It is taken.
    output logic              collective_ready_o,
    /// Its status.
    input  logic [4:0]        collective_status_i,
    /// Its command id.
    input  logic [15:0]       collective_id_i,
    /// Its collectives have not all ended.
    input  logic              collectives_i,
    /// Those that wait for others are to be cancelled, and new ones refused.
    output logic              cancel_o,
    /// The registration table is cleared.
    output logic              ready_o,

    /// Pulse: this rank had begun, and is reset.
    output logic              lost_o,
    /// What is this rank's alone is being cleared.
    output logic              clear_o,
    /// Pulse: another rank of the board is.
    input  logic              peer_lost_i,

    /// Collective commands; see rma_sync.
    output logic              sync_valid_o,
    /// No traffic of this rank is queued or under way.
    output logic              quiet_o,
    /// Which command.
    output logic [1:0]        sync_kind_o,
    /// This rank's verdict.
    output logic [4:0]        sync_status_o,
    /// The slot it is about.
    output logic [7:0]        sync_slot_o,
    /// Its phase.
    output logic              sync_phase_o,
    /// All ranks are here.
    input  logic              sync_fire_i,
    /// For this phase.
    input  logic              sync_fire_phase_i,
    /// With this verdict.
    input  logic [4:0]        sync_verdict_i,
    /// Between BEGIN and END.
    output logic              begun_o,
    /// Ranks of the run.
    output logic [7:0]        nprocs_o,

    /// To the router, plane 0 requests, plane 1 replies: a beat is offered.
    output logic [1:0]        tx_valid_o,
    /// It is taken.
    input  logic [1:0]        tx_ready_i,
    /// The beat.
    output logic [1:0][DATA_W-1:0] tx_data_o,
    /// It is its packet's last.
    output logic [1:0]        tx_last_o,
    /// From the router: a beat is offered.
    input  logic [1:0]        rx_valid_i,
    /// It is taken.
    output logic [1:0]        rx_ready_o,
    /// The beat.
    input  logic [1:0][DATA_W-1:0] rx_data_i,
    /// It is its packet's last.
    input  logic [1:0]        rx_last_i,

    /// Node memory: a read is asked for.
    output logic              read_valid_o,
    /// It is granted; data follows MEM_LATENCY cycles later.
    input  logic              read_ready_i,
    /// Address of the beat's first word, which may be any.
    output logic [29:0]       read_address_o,
    /// Data.
    input  logic [DATA_W-1:0] read_data_i,
    /// Node memory: a write is asked for.
    output logic              write_valid_o,
    /// It is done.
    input  logic              write_ready_i,
    /// Address of the beat's first word, which may be any.
    output logic [29:0]       write_address_o,
    /// Data.
    output logic [DATA_W-1:0] write_data_o,
    /// Byte strobes.
    output logic [Bytes-1:0]  write_strobe_o
);

  localparam int unsigned SlotW = $clog2(SLOTS);
  localparam int unsigned CountW = $clog2(PAYLOAD_WORDS + 1);
  localparam int unsigned Request = 0;
  localparam int unsigned Reply = 1;

  // ---------------------------------------------------------------- the rank's own reset

  // What is the rank's goes with it; what neighbours' packets pass through does not.
  logic rank_rst_n, drain, hold, clear, flush, recall, orphaned, asked, cleared;
  logic recall_head_valid, recall_head_ready, recall_task_valid, recall_task_ready;
  logic [31:0] recall_head, reset_state;
  logic begin_reset;

  assign rank_rst_n  = rst_ni && !clear;
  assign begin_reset = register_write_i && register_offset_i == RANK_RANK_RESET_OFFSET &&
                       register_data_i[RANK_RANK_RESET_RESET_LSB];
  assign cancel_o    = drain || orphaned;
  assign clear_o     = clear;

  // ---------------------------------------------------------------- commands

  logic command_valid, command_ready, data8_valid, data8_ready;
  logic [7:0] command_opcode;
  logic [31:0] command_data;
  logic [23:0] data8;
  logic overflow, written;

  rma_command_queue #(
      .DEPTH(COMMAND_DEPTH),
      .ASYNC(ASYNC_HOST)
  ) u_command_queue (
      .clk_i           (clk_i),
      .rst_ni          (rst_ni),
      .host_clk_i      (host_clk_i),
      .host_rst_ni     (host_rst_ni),
      .clear_i         (drain),
      .cleared_o       (cleared),
      .write_i         (command_write_i),
      .opcode_i        (command_opcode_i),
      .data_i          (command_data_i),
      .command_valid_o (command_valid),
      .command_ready_i (command_ready),
      .command_opcode_o(command_opcode),
      .command_data_o  (command_data),
      .data8_valid_o   (data8_valid),
      .data8_ready_i   (data8_ready),
      .data8_o         (data8),
      .abort_o         (abort_o),
      .abort_reason_o  (abort_reason_o),
      .overflow_o      (overflow),
      .written_o       (written)
  );

  // ---------------------------------------------------------------- pipeline and registration table

  logic lookup, match, table_full, op_valid, op_deregister, op_ready, op_commit;
  logic [31:0] lookup_key, op_base, op_size;
  logic [1:0] op_deny;
  logic [SlotW-1:0] match_slot, next_slot;
  logic [1:0] slot_lookup, registered;
  logic [1:0][7:0] slot;
  logic [1:0][31:0] window_base, window_size;
  logic [1:0][1:0] window_deny;

  logic [1:0] head_valid, head_ready, task_valid, task_ready;
  logic [1:0][31:0] head, task_address;
  logic [1:0][2:0] task_heads;
  logic [1:0][CountW-1:0] task_words;

  logic local_valid, local_ready;
  logic [4:0] local_status;
  logic [15:0] local_id;
  logic barrier_pending, barrier_done, result_valid, mismatch, refused, bad_opcode, retired;
  logic [4:0] result_status, refused_status;
  logic [7:0] result_slot, refused_opcode;
  logic pipeline_busy, sending;

  // ---------------------------------------------------------------- to and from the message engine

  logic message_valid, message_ready, announce;
  logic [1:0] message_command;
  logic [7:0] message_rank, message_context;
  logic [31:0] message_tag, message_address, message_length;
  logic [15:0] message_id;
  logic fetch_lookup;
  logic [9:0] fetch_id;
  logic [31:0] fetch_base, fetch_size;
  logic arrival_valid, arrival_announce, arrival_recall, verdict_valid, verdict_ready;
  logic [7:0] arrival_source, arrival_context;
  logic [25:0] arrival_tag;
  logic [31:0] arrival_length, verdict_address, verdict_bytes;
  logic [15:0] arrival_id, verdict_receive;
  logic [1:0] verdict;
  logic stored;
  logic [1:0] delivered;
  logic [1:0][15:0] delivered_receive;
  logic [1:0][4:0] delivered_status;
  logic copy_valid, copy_ready;
  logic [31:0] copy_from, copy_to;
  logic [15:0] copy_bytes, copy_receive;
  logic engine_ack_valid, engine_ack_ready;
  logic [7:0] engine_ack_rank;
  logic [15:0] engine_ack_id;
  logic [4:0] engine_ack_status;
  logic received_valid, received_ready;
  logic [4:0] received_status;
  logic [15:0] received_id;
  logic [7:0] received_source;
  logic [25:0] received_tag;
  logic [31:0] received_length;
  logic messages_ready, messages_idle, no_room, table_ready;
  logic [31:0] register_read, message_read;

  // ---------------------------------------------------------------- who sends requests

  // The pipeline and the engine's fetches take turns, a packet each; recalls have the pipeline's, which is idle then.
  logic pipeline_head_valid, pipeline_head_ready, pipeline_task_valid, pipeline_task_ready;
  logic engine_head_valid, engine_head_ready, engine_task_valid, engine_task_ready;
  logic [31:0] pipeline_head, engine_head, pipeline_task_address;
  logic [2:0] pipeline_task_heads;
  logic [CountW-1:0] pipeline_task_words;
  logic engine_turn_d, engine_turn_q, recall_turn_d, recall_turn_q, open_d, open_q;

  assign head_valid[Request]   = recall_turn_q ? recall_head_valid : engine_turn_q ? engine_head_valid : pipeline_head_valid;
  assign head[Request]         = recall_turn_q ? recall_head : engine_turn_q ? engine_head : pipeline_head;
  assign task_valid[Request]   = recall_turn_q ? recall_task_valid : engine_turn_q ? engine_task_valid : pipeline_task_valid;
  assign task_heads[Request]   = (recall_turn_q || engine_turn_q) ? 3'd4 : pipeline_task_heads;
  assign task_words[Request]   = (recall_turn_q || engine_turn_q) ? '0 : pipeline_task_words;
  assign task_address[Request] = (recall_turn_q || engine_turn_q) ? '0 : pipeline_task_address;
  assign pipeline_head_ready = !engine_turn_q && !recall_turn_q && head_ready[Request];
  assign pipeline_task_ready = !engine_turn_q && !recall_turn_q && task_ready[Request];
  assign engine_head_ready   = engine_turn_q && head_ready[Request];
  assign engine_task_ready   = engine_turn_q && task_ready[Request];
  assign recall_head_ready   = recall_turn_q && head_ready[Request];
  assign recall_task_ready   = recall_turn_q && task_ready[Request];

  // A packet is open from its first header word to its task.
  always_comb begin
    open_d = open_q;
    if (head_valid[Request] && head_ready[Request]) open_d = 1'b1;
    if (task_valid[Request] && task_ready[Request]) open_d = 1'b0;
    engine_turn_d = engine_turn_q;
    recall_turn_d = recall_turn_q;
    // What is on offer stays on offer until it is taken.
    if (!open_d && (!head_valid[Request] || head_ready[Request])) begin
      engine_turn_d = engine_head_valid && !engine_turn_q;
      recall_turn_d = recall && !engine_turn_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      open_q        <= 1'b0;
      engine_turn_q <= 1'b0;
      recall_turn_q <= 1'b0;
    end else begin
      open_q        <= open_d;
      engine_turn_q <= engine_turn_d;
      recall_turn_q <= recall_turn_d;
    end
  end

  rma_pipeline #(
      .SLOTS        (SLOTS),
      .NODE_BYTES   (NODE_BYTES),
      .PAYLOAD_WORDS(PAYLOAD_WORDS),
      .DESTS        (DESTS),
      .MESSAGES     (MESSAGES),
      .FRAGMENT     (FRAGMENT)
  ) u_pipeline (
      .clk_i              (clk_i),
      .rst_ni             (rank_rst_n),
      .rank_i             (rank_i),
      .drain_i            (drain),
      .peer_lost_i        (peer_lost_i),
      .orphaned_o         (orphaned),
      .asked_o            (asked),
      .command_valid_i    (command_valid),
      .command_ready_o    (command_ready),
      .command_opcode_i   (command_opcode),
      .command_data_i     (command_data),
      .data8_valid_i      (data8_valid),
      .data8_ready_o      (data8_ready),
      .data8_i            (data8),
      .table_ready_i      (ready_o),
      .message_valid_o    (message_valid),
      .message_ready_i    (message_ready),
      .message_command_o  (message_command),
      .message_rank_o     (message_rank),
      .message_context_o  (message_context),
      .message_tag_o      (message_tag),
      .message_address_o  (message_address),
      .message_length_o   (message_length),
      .message_id_o       (message_id),
      .announce_o         (announce),
      .lookup_o           (lookup),
      .lookup_key_o       (lookup_key),
      .match_i            (match),
      .match_slot_i       (match_slot),
      .table_full_i       (table_full),
      .next_slot_i        (next_slot),
      .op_valid_o         (op_valid),
      .op_deregister_o    (op_deregister),
      .op_base_o          (op_base),
      .op_size_o          (op_size),
      .op_deny_o          (op_deny),
      .op_commit_o        (op_commit),
      .head_valid_o       (pipeline_head_valid),
      .head_ready_i       (pipeline_head_ready),
      .head_o             (pipeline_head),
      .task_valid_o       (pipeline_task_valid),
      .task_ready_i       (pipeline_task_ready),
      .task_heads_o       (pipeline_task_heads),
      .task_words_o       (pipeline_task_words),
      .task_address_o     (pipeline_task_address),
      .completion_valid_o (local_valid),
      .completion_ready_i (local_ready),
      .completion_status_o(local_status),
      .completion_id_o    (local_id),
      .sync_valid_o       (sync_valid_o),
      .sync_kind_o        (sync_kind_o),
      .sync_status_o      (sync_status_o),
      .sync_slot_o        (sync_slot_o),
      .sync_phase_o       (sync_phase_o),
      .sync_fire_i        (sync_fire_i),
      .sync_fire_phase_i  (sync_fire_phase_i),
      .sync_verdict_i     (sync_verdict_i),
      .barrier_pending_i  (barrier_pending),
      .nprocs_o           (nprocs_o),
      .begun_o            (begun_o),
      .retired_o          (retired),
      .barrier_done_o     (barrier_done),
      .result_valid_o     (result_valid),
      .result_status_o    (result_status),
      .result_slot_o      (result_slot),
      .mismatch_o         (mismatch),
      .refused_o          (refused),
      .refused_status_o   (refused_status),
      .refused_opcode_o   (refused_opcode),
      .bad_opcode_o       (bad_opcode),
      .busy_o             (pipeline_busy),
      .sending_o          (sending)
  );

  rma_registration_table #(
      .SLOTS  (SLOTS),
      .LOOKUPS(2)
  ) u_registration_table (
      .clk_i          (clk_i),
      .rst_ni         (rank_rst_n),
      .ready_o        (table_ready),
      .lookup_i       (lookup),
      .key_i          (lookup_key),
      .match_o        (match),
      .match_slot_o   (match_slot),
      .slot_lookup_i  (slot_lookup),
      .slot_i         (slot),
      .registered_o   (registered),
      .base_o         (window_base),
      .size_o         (window_size),
      .deny_o         (window_deny),
      .full_o         (table_full),
      .next_slot_o    (next_slot),
      .op_valid_i     (op_valid),
      .op_deregister_i(op_deregister),
      .op_base_i      (op_base),
      .op_size_i      (op_size),
      .op_deny_i      (op_deny),
      .op_ready_o     (op_ready),
      .commit_i       (op_commit)
  );

  // ---------------------------------------------------------------- the two planes

  logic [1:0] reads_idle, receives_idle;
  logic [1:0] mem_read_valid, mem_read_ready;
  logic [1:0][29:0] mem_read_address;
  logic [2:0] mem_write_valid, mem_write_ready;
  logic [2:0][29:0] mem_write_address;
  logic [2:0][DATA_W-1:0] mem_write_data;
  logic [2:0][Bytes-1:0] mem_write_strobe;

  logic [1:0] refused_in, dropped_in, malformed;
  logic [1:0][4:0] refused_in_status;
  logic [1:0][2:0] refused_in_type;
  logic completion_valid, completion_ready;
  logic [4:0] completion_status;
  logic [15:0] completion_id;

  for (genvar p = 0; p < 2; p++) begin : g_plane
    rma_mm_read #(
        .DATA_W     (DATA_W),
        .HEAD_DEPTH (HEAD_DEPTH),
        .MM_DEPTH   (MM_DEPTH),
        .OUT_DEPTH  (OUT_DEPTH),
        .COUNT_W    (CountW),
        .MEM_LATENCY(MEM_LATENCY)
    ) u_mm_read (
        .clk_i         (clk_i),
        .rst_ni        (rst_ni),
        .head_valid_i  (head_valid[p]),
        .head_ready_o  (head_ready[p]),
        .head_i        (head[p]),
        .task_valid_i  (task_valid[p]),
        .task_ready_o  (task_ready[p]),
        .task_heads_i  (task_heads[p]),
        .task_words_i  (task_words[p]),
        .task_address_i(task_address[p]),
        .read_valid_o  (mem_read_valid[p]),
        .read_ready_i  (mem_read_ready[p]),
        .read_address_o(mem_read_address[p]),
        .read_data_i   (read_data_i),
        .out_valid_o   (tx_valid_o[p]),
        .out_ready_i   (tx_ready_i[p]),
        .out_data_o    (tx_data_o[p]),
        .out_last_o    (tx_last_o[p]),
        .idle_o        (reads_idle[p])
    );
  end

  // While the rank is cleared no request comes in; a packet that has begun to does to its end.
  logic let_in, request_ready, in_packet_q;

  assign let_in              = in_packet_q || !hold;
  assign rx_ready_o[Request] = request_ready && let_in;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) in_packet_q <= 1'b0;
    else if (rx_valid_i[Request] && rx_ready_o[Request]) in_packet_q <= !rx_last_i[Request];
  end

  rma_receive #(
      .DATA_W       (DATA_W),
      .REQUESTS     (1'b1),
      .PAYLOAD_WORDS(PAYLOAD_WORDS),
      .HEAD_DEPTH   (HEAD_DEPTH),
      .MM_DEPTH     (MM_DEPTH),
      .IN_DEPTH     (IN_DEPTH)
  ) u_receive_requests (
      .clk_i               (clk_i),
      .rst_ni              (rst_ni),
      .rank_i              (rank_i),
      .ack_valid_i         (engine_ack_valid),
      .ack_ready_o         (engine_ack_ready),
      .ack_rank_i          (engine_ack_rank),
      .ack_status_i        (engine_ack_status),
      .ack_id_i            (engine_ack_id),
      .closed_i            (drain),
      .fetch_lookup_o      (fetch_lookup),
      .fetch_id_o          (fetch_id),
      .fetch_base_i        (fetch_base),
      .fetch_size_i        (fetch_size),
      .arrival_valid_o     (arrival_valid),
      .arrival_announce_o  (arrival_announce),
      .arrival_recall_o    (arrival_recall),
      .arrival_source_o    (arrival_source),
      .arrival_context_o   (arrival_context),
      .arrival_tag_o       (arrival_tag),
      .arrival_length_o    (arrival_length),
      .arrival_id_o        (arrival_id),
      .verdict_valid_i     (verdict_valid),
      .verdict_ready_o     (verdict_ready),
      .verdict_i           (verdict),
      .verdict_address_i   (verdict_address),
      .verdict_bytes_i     (verdict_bytes),
      .verdict_receive_i   (verdict_receive),
      .copy_valid_i        (copy_valid),
      .copy_ready_o        (copy_ready),
      .copy_from_i         (copy_from),
      .copy_to_i           (copy_to),
      .copy_bytes_i        (copy_bytes),
      .copy_receive_i      (copy_receive),
      .stored_o            (stored),
      .delivered_o         (delivered[Request]),
      .delivered_receive_o (delivered_receive[Request]),
      .delivered_status_o  (delivered_status[Request]),
      .in_valid_i          (rx_valid_i[Request] && let_in),
      .in_ready_o          (request_ready),
      .in_data_i           (rx_data_i[Request]),
      .in_last_i           (rx_last_i[Request]),
      .lookup_o            (slot_lookup[Request]),
      .slot_o              (slot[Request]),
      .registered_i        (registered[Request]),
      .base_i              (window_base[Request]),
      .size_i              (window_size[Request]),
      .deny_i              (window_deny[Request]),
      .write_valid_o       (mem_write_valid[Request]),
      .write_ready_i       (mem_write_ready[Request]),
      .write_address_o     (mem_write_address[Request]),
      .write_data_o        (mem_write_data[Request]),
      .write_strobe_o      (mem_write_strobe[Request]),
      .reply_head_valid_o  (head_valid[Reply]),
      .reply_head_ready_i  (head_ready[Reply]),
      .reply_head_o        (head[Reply]),
      .reply_task_valid_o  (task_valid[Reply]),
      .reply_task_ready_i  (task_ready[Reply]),
      .reply_task_heads_o  (task_heads[Reply]),
      .reply_task_words_o  (task_words[Reply]),
      .reply_task_address_o(task_address[Reply]),
      .completion_valid_o  (),
      .completion_ready_i  (1'b0),
      .completion_status_o (),
      .completion_id_o     (),
      .refused_o           (refused_in[Request]),
      .dropped_o           (dropped_in[Request]),
      .refused_status_o    (refused_in_status[Request]),
      .refused_type_o      (refused_in_type[Request]),
      .malformed_o         (malformed[Request]),
      .idle_o              (receives_idle[Request])
  );

  rma_receive #(
      .DATA_W       (DATA_W),
      .REQUESTS     (1'b0),
      .PAYLOAD_WORDS(PAYLOAD_WORDS),
      .HEAD_DEPTH   (HEAD_DEPTH),
      .MM_DEPTH     (MM_DEPTH),
      .IN_DEPTH     (IN_DEPTH)
  ) u_receive_replies (
      .clk_i               (clk_i),
      .rst_ni              (rst_ni),
      .rank_i              (rank_i),
      .ack_valid_i         (1'b0),
      .ack_ready_o         (),
      .ack_rank_i          ('0),
      .ack_status_i        ('0),
      .ack_id_i            ('0),
      .closed_i            (1'b0),
      .fetch_lookup_o      (),
      .fetch_id_o          (),
      .fetch_base_i        ('0),
      .fetch_size_i        ('0),
      .arrival_valid_o     (),
      .arrival_announce_o  (),
      .arrival_recall_o    (),
      .arrival_source_o    (),
      .arrival_context_o   (),
      .arrival_tag_o       (),
      .arrival_length_o    (),
      .arrival_id_o        (),
      .verdict_valid_i     (1'b0),
      .verdict_ready_o     (),
      .verdict_i           ('0),
      .verdict_address_i   ('0),
      .verdict_bytes_i     ('0),
      .verdict_receive_i   ('0),
      .copy_valid_i        (1'b0),
      .copy_ready_o        (),
      .copy_from_i         ('0),
      .copy_to_i           ('0),
      .copy_bytes_i        ('0),
      .copy_receive_i      ('0),
      .stored_o            (),
      .delivered_o         (delivered[Reply]),
      .delivered_receive_o (delivered_receive[Reply]),
      .delivered_status_o  (delivered_status[Reply]),
      .in_valid_i          (rx_valid_i[Reply]),
      .in_ready_o          (rx_ready_o[Reply]),
      .in_data_i           (rx_data_i[Reply]),
      .in_last_i           (rx_last_i[Reply]),
      .lookup_o            (slot_lookup[Reply]),
      .slot_o              (slot[Reply]),
      .registered_i        (registered[Reply]),
      .base_i              (window_base[Reply]),
      .size_i              (window_size[Reply]),
      .deny_i              (window_deny[Reply]),
      .write_valid_o       (mem_write_valid[Reply]),
      .write_ready_i       (mem_write_ready[Reply]),
      .write_address_o     (mem_write_address[Reply]),
      .write_data_o        (mem_write_data[Reply]),
      .write_strobe_o      (mem_write_strobe[Reply]),
      .reply_head_valid_o  (),
      .reply_head_ready_i  (1'b0),
      .reply_head_o        (),
      .reply_task_valid_o  (),
      .reply_task_ready_i  (1'b0),
      .reply_task_heads_o  (),
      .reply_task_words_o  (),
      .reply_task_address_o(),
      .completion_valid_o  (completion_valid),
      .completion_ready_i  (completion_ready),
      .completion_status_o (completion_status),
      .completion_id_o     (completion_id),
      .refused_o           (refused_in[Reply]),
      .dropped_o           (dropped_in[Reply]),
      .refused_status_o    (refused_in_status[Reply]),
      .refused_type_o      (refused_in_type[Reply]),
      .malformed_o         (malformed[Reply]),
      .idle_o              (receives_idle[Reply])
  );

  // ---------------------------------------------------------------- completions, registers

  logic [31:0] cq_base, cq_tail, cq_head, retired_count;
  logic [3:0] cq_log2_entries;
  logic cq_clear, cq_overflow, cq_idle;
  logic [31:0] ring_word;

  rma_completion_queue #(
      .DEPTH(MM_DEPTH)
  ) u_completion_queue (
      .clk_i          (clk_i),
      .rst_ni         (rank_rst_n),
      .reply_valid_i  (completion_valid),
      .reply_ready_o  (completion_ready),
      .reply_status_i (completion_status),
      .reply_id_i     (completion_id),
      .local_valid_i  (local_valid),
      .local_ready_o  (local_ready),
      .local_status_i (local_status),
      .local_id_i     (local_id),
      .collective_valid_i (collective_valid_i),
      .collective_ready_o (collective_ready_o),
      .collective_status_i(collective_status_i),
      .collective_id_i    (collective_id_i),
      .message_valid_i(received_valid),
      .message_ready_o(received_ready),
      .message_status_i(received_status),
      .message_id_i   (received_id),
      .message_source_i(received_source),
      .message_tag_i  (received_tag),
      .message_length_i(received_length),
      .base_i         (cq_base),
      .log2_entries_i (cq_log2_entries),
      .tail_i         (cq_tail),
      .clear_i        (cq_clear),
      .retired_i      (retired_count),
      .write_valid_o  (mem_write_valid[2]),
      .write_ready_i  (mem_write_ready[2]),
      .write_address_o(mem_write_address[2]),
      .write_data_o   (ring_word),
      .head_o         (cq_head),
      .overflow_o     (cq_overflow),
      .idle_o         (cq_idle)
  );
  assign mem_write_data[2]   = DATA_W'(ring_word);
  assign mem_write_strobe[2] = Bytes'(4'b1111);

  rma_registers u_registers (
      .clk_i            (clk_i),
      .rst_ni           (rank_rst_n),
      .write_i          (register_write_i),
      .write_offset_i   (register_offset_i),
      .write_data_i     (register_data_i),
      .read_offset_i    (read_offset_i),
      .read_data_o      (register_read),
      .irq_o            (irq_o),
      .written_i        (written),
      .overflow_i       (overflow),
      .retired_i        (retired),
      .bad_opcode_i     (bad_opcode),
      .refused_i        (refused),
      .refused_status_i (refused_status),
      .refused_opcode_i (refused_opcode),
      .refused_x_i      (local_valid && local_ready),
      .refused_in_i     (refused_in),
      .dropped_i        (dropped_in),
      .dropped_status_i (refused_in_status),
      .dropped_type_i   (refused_in_type),
      .malformed_i      (|malformed),
      .mismatch_i       (mismatch),
      .no_room_i        (no_room),
      .barrier_done_i   (barrier_done),
      .result_valid_i   (result_valid),
      .result_status_i  (result_status),
      .result_slot_i    (result_slot),
      .aborted_i        (aborted_i),
      .words_i          ({rx_valid_i[Reply] && rx_ready_o[Reply],
                          rx_valid_i[Request] && rx_ready_o[Request],
                          tx_valid_o[Reply] && tx_ready_i[Reply],
                          tx_valid_o[Request] && tx_ready_i[Request]}),
      .pid_i            (rank_i),
      .nprocs_i         (nprocs_o),
      .begun_i          (begun_o),
      .reset_state_i    (reset_state),
      .cq_base_o        (cq_base),
      .cq_log2_entries_o(cq_log2_entries),
      .cq_tail_o        (cq_tail),
      .cq_clear_o       (cq_clear),
      .cq_head_i        (cq_head),
      .cq_overflow_i    (cq_overflow),
      .retired_o        (retired_count),
      .barrier_pending_o(barrier_pending)
  );

  assign read_data_o = register_read | message_read;
  assign ready_o     = table_ready && messages_ready;
  assign quiet_o     = !sending && (&reads_idle) && (&receives_idle) && cq_idle && messages_idle;

  always_comb begin
    state_o = '0;
    state_o[BOARD_RANK_STATE_PID_LSB+:8]        = rank_i;
    state_o[BOARD_RANK_STATE_NPROCS_LSB+:8]     = nprocs_o;
    state_o[BOARD_RANK_STATE_BEGUN_LSB]         = begun_o;
    state_o[BOARD_RANK_STATE_IN_SYNC_LSB]       = sync_valid_o;
    state_o[BOARD_RANK_STATE_SYNC_KIND_LSB+:2]  = sync_kind_o;
    state_o[BOARD_RANK_STATE_QUIET_LSB]         = quiet_o;
    state_o[BOARD_RANK_STATE_COMMANDS_LSB]      = pipeline_busy || command_valid;
    state_o[BOARD_RANK_STATE_TX_REQUEST_LSB]    = !reads_idle[Request];
    state_o[BOARD_RANK_STATE_TX_REPLY_LSB]      = !reads_idle[Reply];
    state_o[BOARD_RANK_STATE_RX_REQUEST_LSB]    = !receives_idle[Request];
    state_o[BOARD_RANK_STATE_RX_REPLY_LSB]      = !receives_idle[Reply];
    state_o[BOARD_RANK_STATE_BARRIER_DONE_LSB]  = barrier_pending;
  end

  rma_rank_reset #(
      .DESTS(DESTS)
  ) u_rank_reset (
      .clk_i        (clk_i),
      .rst_ni       (rst_ni),
      .rank_i       (rank_i),
      .start_i      (begin_reset),
      .written_i    (written || message_write_i || (register_write_i && !begin_reset)),
      .begun_i      (begun_o),
      .nprocs_i     (nprocs_o),
      .asked_i      (asked),
      .answered_i   (completion_valid && completion_ready),
      .commands_i   (pipeline_busy || command_valid || data8_valid || !cleared),
      .messages_i   (!messages_idle),
      .collectives_i(collectives_i || collective_valid_i),
      .packets_i    (!quiet_o),
      .ready_i      (ready_o),
      .orphaned_i   (orphaned),
      .drain_o      (drain),
      .hold_o       (hold),
      .clear_o      (clear),
      .lost_o       (lost_o),
      .flush_o      (flush),
      .flush_ready_i(message_ready),
      .recall_o     (recall),
      .head_o       (recall_head),
      .head_valid_o (recall_head_valid),
      .head_ready_i (recall_head_ready),
      .task_valid_o (recall_task_valid),
      .task_ready_i (recall_task_ready),
      .state_o      (reset_state)
  );

  // ---------------------------------------------------------------- messages

  if (MESSAGES != 0) begin : g_messages
    message_engine #(
        .DEPTH        (MESSAGES),
        .CELLS        (MATCH_CELLS),
        .BLOCK        (MATCH_BLOCK),
        .FRAGMENT     (FRAGMENT),
        .NODE_BYTES   (NODE_BYTES),
        .PAYLOAD_WORDS(PAYLOAD_WORDS)
    ) u_message_engine (
        .clk_i              (clk_i),
        .rst_ni             (rank_rst_n),
        .rank_i             (rank_i),
        .ready_o            (messages_ready),
        .idle_o             (messages_idle),
        .register_write_i   (message_write_i),
        .register_offset_i  (register_offset_i),
        .register_data_i    (register_data_i),
        .read_offset_i      (read_offset_i),
        .read_data_o        (message_read),
        .no_room_o          (no_room),
        .command_valid_i    (message_valid || flush),
        .command_ready_o    (message_ready),
        .command_i          (flush ? McFlush : message_command),
        .command_rank_i     (message_rank),
        .command_context_i  (message_context),
        .command_tag_i      (message_tag),
        .command_address_i  (message_address),
        .command_length_i   (message_length),
        .command_id_i       (message_id),
        .announce_i         (announce),
        .fetch_lookup_i     (fetch_lookup),
        .fetch_id_i         (fetch_id),
        .fetch_base_o       (fetch_base),
        .fetch_size_o       (fetch_size),
        .arrival_valid_i    (arrival_valid),
        .arrival_announce_i (arrival_announce),
        .arrival_source_i   (arrival_source),
        .arrival_context_i  (arrival_context),
        .arrival_tag_i      (arrival_tag),
        .arrival_length_i   (arrival_length),
        .arrival_id_i       (arrival_id),
        .arrival_recall_i   (arrival_recall),
        .closed_i           (drain),
        .verdict_valid_o    (verdict_valid),
        .verdict_ready_i    (verdict_ready),
        .verdict_o          (verdict),
        .verdict_address_o  (verdict_address),
        .verdict_bytes_o    (verdict_bytes),
        .verdict_receive_o  (verdict_receive),
        .stored_i           (stored),
        .direct_i           (delivered[Request]),
        .direct_receive_i   (delivered_receive[Request]),
        .moved_i            (delivered[Reply]),
        .moved_receive_i    (delivered_receive[Reply]),
        .moved_status_i     (delivered_status[Reply]),
        .copy_valid_o       (copy_valid),
        .copy_ready_i       (copy_ready),
        .copy_from_o        (copy_from),
        .copy_to_o          (copy_to),
        .copy_bytes_o       (copy_bytes),
        .copy_receive_o     (copy_receive),
        .head_valid_o       (engine_head_valid),
        .head_ready_i       (engine_head_ready),
        .head_o             (engine_head),
        .task_valid_o       (engine_task_valid),
        .task_ready_i       (engine_task_ready),
        .ack_valid_o        (engine_ack_valid),
        .ack_ready_i        (engine_ack_ready),
        .ack_rank_o         (engine_ack_rank),
        .ack_status_o       (engine_ack_status),
        .ack_id_o           (engine_ack_id),
        .completion_valid_o (received_valid),
        .completion_ready_i (received_ready),
        .completion_status_o(received_status),
        .completion_id_o    (received_id),
        .completion_source_o(received_source),
        .completion_tag_o   (received_tag),
        .completion_length_o(received_length)
    );
  end else begin : g_no_messages
    // What comes all the same is refused.
    assign messages_ready    = 1'b1;
    assign messages_idle     = 1'b1;
    assign message_read      = '0;
    assign no_room           = 1'b0;
    assign message_ready     = 1'b1;
    assign fetch_base        = '0;
    assign fetch_size        = '0;
    assign verdict_valid     = 1'b1;
    assign verdict           = MvRefuse;
    assign verdict_address   = '0;
    assign verdict_bytes     = '0;
    assign verdict_receive   = '0;
    assign copy_valid        = 1'b0;
    assign copy_from         = '0;
    assign copy_to           = '0;
    assign copy_bytes        = '0;
    assign copy_receive      = '0;
    assign engine_head_valid = 1'b0;
    assign engine_head       = '0;
    assign engine_task_valid = 1'b0;
    assign engine_ack_valid  = 1'b0;
    assign engine_ack_rank   = '0;
    assign engine_ack_id     = '0;
    assign engine_ack_status = '0;
    assign received_valid    = 1'b0;
    assign received_status   = '0;
    assign received_id       = '0;
    assign received_source   = '0;
    assign received_tag      = '0;
    assign received_length   = '0;

    logic unused_messages;
    assign unused_messages = ^{
      message_write_i, message_valid, flush, arrival_recall, announce, message_command, message_rank, message_context,
      message_tag, message_address, message_length, message_id, fetch_lookup, fetch_id, arrival_valid, arrival_announce,
      arrival_source, arrival_context,
      arrival_tag, arrival_length, arrival_id, verdict_ready, stored, delivered, delivered_receive, delivered_status, copy_ready,
      engine_ack_ready, received_ready, engine_head_ready, engine_task_ready
    };
  end

  // ---------------------------------------------------------------- ports of node memory

  // Reads and writes have a port each; on each, whoever asks gets his turn beat by beat.
  logic [1:0] read_grant;
  logic [2:0] write_grant;
  logic [1:0] write_index;
  logic read_index;

  rr_arbiter #(.N(2)) u_read_arbiter (
      .clk_i(clk_i), .rst_ni(rst_ni), .req_i(mem_read_valid), .advance_i(read_ready_i),
      .valid_o(read_valid_o), .grant_o(read_grant), .index_o(read_index)
  );
  assign read_address_o = mem_read_address[read_index];
  assign mem_read_ready = read_grant & {2{read_ready_i}};

  rr_arbiter #(.N(3)) u_write_arbiter (
      .clk_i(clk_i), .rst_ni(rst_ni), .req_i(mem_write_valid), .advance_i(write_ready_i),
      .valid_o(write_valid_o), .grant_o(write_grant), .index_o(write_index)
  );
  assign write_address_o = mem_write_address[write_index];
  assign write_data_o    = mem_write_data[write_index];
  assign write_strobe_o  = mem_write_strobe[write_index];
  assign mem_write_ready = write_grant & {3{write_ready_i}};

  `ALCOR_CHECK_PARAM(g_check_heads, HEAD_DEPTH >= 5,
                     "rma_coprocessor: HEAD_DEPTH must hold a whole header, 5 or more")
  `ALCOR_CHECK_PARAM(g_check_commands, COMMAND_DEPTH >= 2,
                     "rma_coprocessor: COMMAND_DEPTH must be 2 or more")
  // A registration is committed when all ranks agree, which takes longer than preparing it.
  `ALCOR_IMPLIES(a_prepared, op_commit, op_ready)

`ifdef ALCOR_COVERAGE
  // Answers to commands; in a reset there are answers to recalls, which nobody looks at.
`define ALCOR_COVER_ANSWER(status_) \
  `ALCOR_COVER(c_answers_reply_``status_, \
               completion_valid && completion_ready && !drain && completion_status == ST_``status_)
  `ALCOR_COVER_ANSWER(OK)
  `ALCOR_COVER_ANSWER(BAD_SLOT)
  `ALCOR_COVER_ANSWER(OUT_OF_BOUNDS)
  `ALCOR_COVER_ANSWER(DENIED)
  `ALCOR_COVER_ANSWER(NO_ROOM)
  `ALCOR_COVER_ANSWER(RANK_RESET)
`undef ALCOR_COVER_ANSWER
`endif

endmodule

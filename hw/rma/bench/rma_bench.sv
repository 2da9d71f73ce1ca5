/// Bench top for the blocks of the RMA coprocessor: several sizes of each side by side in one model,
/// so that the model is compiled once. Lane g of a packed port belongs to instance g; the sizes are
/// listed here and in the Rust files beside this one.
module rma_bench (
    /// Clock of all blocks with one clock.
    input  logic                  clk_i,
    /// Reset of all blocks with one clock.
    input  logic                  rst_ni,

    /// Registration tables.
    output logic [3:0]            table_ready_o,
    input  logic [3:0]            table_lookup_i,
    input  logic [3:0][31:0]      table_key_i,
    output logic [3:0]            table_match_o,
    output logic [3:0][7:0]       table_match_slot_o,
    input  logic [3:0][1:0]       table_slot_lookup_i,
    input  logic [3:0][1:0][7:0]  table_slot_i,
    output logic [3:0][1:0]       table_registered_o,
    output logic [3:0][1:0][31:0] table_base_o,
    output logic [3:0][1:0][31:0] table_size_o,
    output logic [3:0][1:0][1:0]  table_deny_o,
    output logic [3:0]            table_full_o,
    output logic [3:0][7:0]       table_next_slot_o,
    input  logic [3:0]            table_op_valid_i,
    input  logic [3:0]            table_op_deregister_i,
    input  logic [3:0][31:0]      table_op_base_i,
    input  logic [3:0][31:0]      table_op_size_i,
    input  logic [3:0][1:0]       table_op_deny_i,
    output logic [3:0]            table_op_ready_o,
    input  logic [3:0]            table_commit_i,

    /// Command queues with one clock.
    input  logic [1:0]            queue_write_i,
    input  logic [1:0][7:0]       queue_opcode_i,
    input  logic [1:0][31:0]      queue_data_i,
    output logic [1:0]            queue_command_valid_o,
    input  logic [1:0]            queue_command_ready_i,
    output logic [1:0][7:0]       queue_command_opcode_o,
    output logic [1:0][31:0]      queue_command_data_o,
    output logic [1:0]            queue_data8_valid_o,
    input  logic [1:0]            queue_data8_ready_i,
    output logic [1:0][23:0]      queue_data8_o,
    output logic [1:0]            queue_abort_o,
    output logic [1:0][7:0]       queue_abort_reason_o,
    output logic [1:0]            queue_overflow_o,
    output logic [1:0]            queue_written_o,

    /// Command queues between two clocks.
    input  logic                  async_clk_i,
    input  logic                  async_rst_ni,
    input  logic                  async_host_clk_i,
    input  logic                  async_host_rst_ni,
    input  logic [1:0]            async_write_i,
    input  logic [1:0][7:0]       async_opcode_i,
    input  logic [1:0][31:0]      async_data_i,
    output logic [1:0]            async_command_valid_o,
    input  logic [1:0]            async_command_ready_i,
    output logic [1:0][7:0]       async_command_opcode_o,
    output logic [1:0][31:0]      async_command_data_o,
    output logic [1:0]            async_data8_valid_o,
    input  logic [1:0]            async_data8_ready_i,
    output logic [1:0][23:0]      async_data8_o,
    output logic [1:0]            async_abort_o,
    output logic [1:0][7:0]       async_abort_reason_o,
    output logic [1:0]            async_overflow_o,
    output logic [1:0]            async_written_o,

    /// Memory interface controllers, read side.
    input  logic [3:0]            read_head_valid_i,
    output logic [3:0]            read_head_ready_o,
    input  logic [3:0][31:0]      read_head_i,
    input  logic [3:0]            read_task_valid_i,
    output logic [3:0]            read_task_ready_o,
    input  logic [3:0][2:0]       read_task_heads_i,
    input  logic [3:0][7:0]       read_task_words_i,
    input  logic [3:0][31:0]      read_task_address_i,
    output logic [3:0]            read_valid_o,
    input  logic [3:0]            read_ready_i,
    output logic [3:0][29:0]      read_address_o,
    input  logic [3:0][31:0]      read_data_i,
    output logic [3:0]            read_out_valid_o,
    input  logic [3:0]            read_out_ready_i,
    output logic [3:0][31:0]      read_out_data_o,
    output logic [3:0]            read_out_last_o,
    output logic [3:0]            read_idle_o,

    /// Memory interface controllers, write side.
    input  logic [1:0]            write_task_valid_i,
    output logic [1:0]            write_task_ready_o,
    input  logic [1:0]            write_task_drop_i,
    input  logic [1:0][7:0]       write_task_words_i,
    input  logic [1:0][31:0]      write_task_address_i,
    input  logic [1:0][1:0]       write_task_end_lane_i,
    input  logic [1:0]            write_task_noted_i,
    input  logic [1:0][28:0]      write_task_note_i,
    input  logic [1:0]            write_in_valid_i,
    output logic [1:0]            write_in_ready_o,
    input  logic [1:0][31:0]      write_in_data_i,
    output logic [1:0]            write_valid_o,
    input  logic [1:0]            write_ready_i,
    output logic [1:0][29:0]      write_address_o,
    output logic [1:0][31:0]      write_data_o,
    output logic [1:0][3:0]       write_strobe_o,
    output logic [1:0]            write_note_valid_o,
    input  logic [1:0]            write_note_ready_i,
    output logic [1:0][28:0]      write_note_o,
    output logic [1:0]            write_idle_o,

    /// The same with beats of 256 bits.
    input  logic [1:0]            beat_read_head_valid_i,
    output logic [1:0]            beat_read_head_ready_o,
    input  logic [1:0][31:0]      beat_read_head_i,
    input  logic [1:0]            beat_read_task_valid_i,
    output logic [1:0]            beat_read_task_ready_o,
    input  logic [1:0][2:0]       beat_read_task_heads_i,
    input  logic [1:0][7:0]       beat_read_task_words_i,
    input  logic [1:0][31:0]      beat_read_task_address_i,
    output logic [1:0]            beat_read_valid_o,
    input  logic [1:0]            beat_read_ready_i,
    output logic [1:0][29:0]      beat_read_address_o,
    input  logic [1:0][255:0]     beat_read_data_i,
    output logic [1:0]            beat_read_out_valid_o,
    input  logic [1:0]            beat_read_out_ready_i,
    output logic [1:0][255:0]     beat_read_out_data_o,
    output logic [1:0]            beat_read_out_last_o,
    output logic [1:0]            beat_read_idle_o,

    input  logic [1:0]            beat_write_task_valid_i,
    output logic [1:0]            beat_write_task_ready_o,
    input  logic [1:0]            beat_write_task_drop_i,
    input  logic [1:0][7:0]       beat_write_task_words_i,
    input  logic [1:0][31:0]      beat_write_task_address_i,
    input  logic [1:0][1:0]       beat_write_task_end_lane_i,
    input  logic [1:0]            beat_write_task_noted_i,
    input  logic [1:0][28:0]      beat_write_task_note_i,
    input  logic [1:0]            beat_write_in_valid_i,
    output logic [1:0]            beat_write_in_ready_o,
    input  logic [1:0][255:0]     beat_write_in_data_i,
    output logic [1:0]            beat_write_valid_o,
    input  logic [1:0]            beat_write_ready_i,
    output logic [1:0][29:0]      beat_write_address_o,
    output logic [1:0][255:0]     beat_write_data_o,
    output logic [1:0][31:0]      beat_write_strobe_o,
    output logic [1:0]            beat_write_note_valid_o,
    input  logic [1:0]            beat_write_note_ready_i,
    output logic [1:0][28:0]      beat_write_note_o,
    output logic [1:0]            beat_write_idle_o,

    /// Packet controllers.
    input  logic [3:0][7:0]       packet_rank_i,
    output logic [3:0]            packet_fetch_lookup_o,
    output logic [3:0][9:0]       packet_fetch_id_o,
    input  logic [3:0][31:0]      packet_fetch_base_i,
    input  logic [3:0][31:0]      packet_fetch_size_i,
    output logic [3:0]            packet_arrival_valid_o,
    output logic [3:0]            packet_arrival_announce_o,
    output logic [3:0][7:0]       packet_arrival_source_o,
    output logic [3:0][7:0]       packet_arrival_context_o,
    output logic [3:0][25:0]      packet_arrival_tag_o,
    output logic [3:0][31:0]      packet_arrival_length_o,
    output logic [3:0][15:0]      packet_arrival_id_o,
    input  logic [3:0]            packet_verdict_valid_i,
    output logic [3:0]            packet_verdict_ready_o,
    input  logic [3:0][1:0]       packet_verdict_i,
    input  logic [3:0][31:0]      packet_verdict_address_i,
    input  logic [3:0][31:0]      packet_verdict_bytes_i,
    input  logic [3:0][15:0]      packet_verdict_receive_i,
    input  logic [3:0]            packet_copy_valid_i,
    output logic [3:0]            packet_copy_ready_o,
    input  logic [3:0][31:0]      packet_copy_from_i,
    input  logic [3:0][31:0]      packet_copy_to_i,
    input  logic [3:0][15:0]      packet_copy_bytes_i,
    input  logic [3:0][15:0]      packet_copy_receive_i,
    output logic [3:0][1:0]       packet_note_kind_o,
    input  logic [3:0]            packet_head_valid_i,
    output logic [3:0]            packet_head_ready_o,
    input  logic [3:0][31:0]      packet_head_i,
    output logic [3:0]            packet_lookup_o,
    output logic [3:0][7:0]       packet_slot_o,
    input  logic [3:0]            packet_registered_i,
    input  logic [3:0][31:0]      packet_base_i,
    input  logic [3:0][31:0]      packet_size_i,
    input  logic [3:0][1:0]       packet_deny_i,
    output logic [3:0]            packet_write_valid_o,
    input  logic [3:0]            packet_write_ready_i,
    output logic [3:0]            packet_write_drop_o,
    output logic [3:0][7:0]       packet_write_words_o,
    output logic [3:0][31:0]      packet_write_address_o,
    output logic [3:0][1:0]       packet_write_end_lane_o,
    output logic [3:0]            packet_write_noted_o,
    output logic [3:0][7:0]       packet_note_rank_o,
    output logic [3:0][4:0]       packet_note_status_o,
    output logic [3:0][15:0]      packet_note_id_o,
    input  logic [3:0]            packet_ack_valid_i,
    output logic [3:0]            packet_ack_ready_o,
    input  logic [3:0][7:0]       packet_ack_rank_i,
    input  logic [3:0][4:0]       packet_ack_status_i,
    input  logic [3:0][15:0]      packet_ack_id_i,
    output logic [3:0]            packet_reply_head_valid_o,
    input  logic [3:0]            packet_reply_head_ready_i,
    output logic [3:0][31:0]      packet_reply_head_o,
    output logic [3:0]            packet_reply_task_valid_o,
    input  logic [3:0]            packet_reply_task_ready_i,
    output logic [3:0][2:0]       packet_reply_task_heads_o,
    output logic [3:0][7:0]       packet_reply_task_words_o,
    output logic [3:0][31:0]      packet_reply_task_address_o,
    output logic [3:0]            packet_refused_o,
    output logic [3:0]            packet_dropped_o,
    output logic [3:0][4:0]       packet_refused_status_o,
    output logic [3:0][2:0]       packet_refused_type_o,
    output logic [3:0]            packet_idle_o,

    /// Collective commands.
    input  logic [2:0][15:0]      sync_valid_i,
    input  logic [2:0][15:0]      sync_quiet_i,
    input  logic [2:0][15:0][1:0] sync_kind_i,
    input  logic [2:0][15:0][4:0] sync_status_i,
    input  logic [2:0][15:0][7:0] sync_slot_i,
    input  logic [2:0][15:0]      sync_phase_i,
    input  logic [2:0][15:0]      sync_begun_i,
    input  logic [2:0][15:0][7:0] sync_nprocs_i,
    input  logic [2:0]            sync_network_empty_i,
    output logic [2:0]            sync_fire_o,
    output logic [2:0]            sync_fire_phase_o,
    output logic [2:0][4:0]       sync_verdict_o,

    /// Completion rings.
    input  logic [1:0]            ring_reply_valid_i,
    output logic [1:0]            ring_reply_ready_o,
    input  logic [1:0][4:0]       ring_reply_status_i,
    input  logic [1:0][15:0]      ring_reply_id_i,
    input  logic [1:0]            ring_message_valid_i,
    output logic [1:0]            ring_message_ready_o,
    input  logic [1:0][4:0]       ring_message_status_i,
    input  logic [1:0][15:0]      ring_message_id_i,
    input  logic [1:0][7:0]       ring_message_source_i,
    input  logic [1:0][25:0]      ring_message_tag_i,
    input  logic [1:0][31:0]      ring_message_length_i,
    input  logic [1:0]            ring_local_valid_i,
    output logic [1:0]            ring_local_ready_o,
    input  logic [1:0][4:0]       ring_local_status_i,
    input  logic [1:0][15:0]      ring_local_id_i,
    input  logic [1:0][31:0]      ring_base_i,
    input  logic [1:0][3:0]       ring_log2_entries_i,
    input  logic [1:0][31:0]      ring_tail_i,
    input  logic [1:0]            ring_clear_i,
    input  logic [1:0][31:0]      ring_retired_i,
    output logic [1:0]            ring_write_valid_o,
    input  logic [1:0]            ring_write_ready_i,
    output logic [1:0][29:0]      ring_write_address_o,
    output logic [1:0][31:0]      ring_write_data_o,
    output logic [1:0][31:0]      ring_head_o,
    output logic [1:0]            ring_overflow_o,
    output logic [1:0]            ring_idle_o
);

  // A lane is as wide as its widest instance: the spare bits of the narrower ones are not read.
  // verilator lint_off UNUSEDSIGNAL

  localparam int unsigned TableSlots[4] = '{2, 5, 32, 256};

  for (genvar g = 0; g < 4; g++) begin : g_table
    logic [$clog2(TableSlots[g])-1:0] match_slot, next_slot;
    rma_registration_table #(
        .SLOTS  (TableSlots[g]),
        .LOOKUPS(2)
    ) u_table (
        .clk_i          (clk_i),
        .rst_ni         (rst_ni),
        .ready_o        (table_ready_o[g]),
        .lookup_i       (table_lookup_i[g]),
        .key_i          (table_key_i[g]),
        .match_o        (table_match_o[g]),
        .match_slot_o   (match_slot),
        .slot_lookup_i  (table_slot_lookup_i[g]),
        .slot_i         (table_slot_i[g]),
        .registered_o   (table_registered_o[g]),
        .base_o         (table_base_o[g]),
        .size_o         (table_size_o[g]),
        .deny_o         (table_deny_o[g]),
        .full_o         (table_full_o[g]),
        .next_slot_o    (next_slot),
        .op_valid_i     (table_op_valid_i[g]),
        .op_deregister_i(table_op_deregister_i[g]),
        .op_base_i      (table_op_base_i[g]),
        .op_size_i      (table_op_size_i[g]),
        .op_deny_i      (table_op_deny_i[g]),
        .op_ready_o     (table_op_ready_o[g]),
        .commit_i       (table_commit_i[g])
    );
    assign table_match_slot_o[g] = 8'(match_slot);
    assign table_next_slot_o[g]  = 8'(next_slot);
  end

  localparam int unsigned QueueDepth[2] = '{2, 64};

  for (genvar g = 0; g < 2; g++) begin : g_queue
    rma_command_queue #(
        .DEPTH(QueueDepth[g]),
        .ASYNC(1'b0)
    ) u_queue (
        .clk_i           (clk_i),
        .rst_ni          (rst_ni),
        .host_clk_i      (clk_i),
        .host_rst_ni     (rst_ni),
        .clear_i         (1'b0),
        .cleared_o       (),
        .write_i         (queue_write_i[g]),
        .opcode_i        (queue_opcode_i[g]),
        .data_i          (queue_data_i[g]),
        .command_valid_o (queue_command_valid_o[g]),
        .command_ready_i (queue_command_ready_i[g]),
        .command_opcode_o(queue_command_opcode_o[g]),
        .command_data_o  (queue_command_data_o[g]),
        .data8_valid_o   (queue_data8_valid_o[g]),
        .data8_ready_i   (queue_data8_ready_i[g]),
        .data8_o         (queue_data8_o[g]),
        .abort_o         (queue_abort_o[g]),
        .abort_reason_o  (queue_abort_reason_o[g]),
        .overflow_o      (queue_overflow_o[g]),
        .written_o       (queue_written_o[g])
    );
  end

  localparam int unsigned AsyncDepth[2] = '{4, 64};

  for (genvar g = 0; g < 2; g++) begin : g_async
    rma_command_queue #(
        .DEPTH(AsyncDepth[g]),
        .ASYNC(1'b1)
    ) u_queue (
        .clk_i           (async_clk_i),
        .rst_ni          (async_rst_ni),
        .host_clk_i      (async_host_clk_i),
        .host_rst_ni     (async_host_rst_ni),
        .clear_i         (1'b0),
        .cleared_o       (),
        .write_i         (async_write_i[g]),
        .opcode_i        (async_opcode_i[g]),
        .data_i          (async_data_i[g]),
        .command_valid_o (async_command_valid_o[g]),
        .command_ready_i (async_command_ready_i[g]),
        .command_opcode_o(async_command_opcode_o[g]),
        .command_data_o  (async_command_data_o[g]),
        .data8_valid_o   (async_data8_valid_o[g]),
        .data8_ready_i   (async_data8_ready_i[g]),
        .data8_o         (async_data8_o[g]),
        .abort_o         (async_abort_o[g]),
        .abort_reason_o  (async_abort_reason_o[g]),
        .overflow_o      (async_overflow_o[g]),
        .written_o       (async_written_o[g])
    );
  end

  localparam int unsigned ReadHeadDepth[4] = '{16, 5, 5, 16};
  localparam int unsigned ReadMmDepth[4] = '{16, 2, 2, 16};
  localparam int unsigned ReadOutDepth[4] = '{512, 4, 4, 512};
  localparam int unsigned ReadCountW[4] = '{8, 5, 5, 8};
  localparam int unsigned ReadLatency[4] = '{1, 1, 3, 3};

  for (genvar g = 0; g < 4; g++) begin : g_read
    rma_mm_read #(
        .HEAD_DEPTH (ReadHeadDepth[g]),
        .MM_DEPTH   (ReadMmDepth[g]),
        .OUT_DEPTH  (ReadOutDepth[g]),
        .COUNT_W    (ReadCountW[g]),
        .MEM_LATENCY(ReadLatency[g])
    ) u_read (
        .clk_i         (clk_i),
        .rst_ni        (rst_ni),
        .head_valid_i  (read_head_valid_i[g]),
        .head_ready_o  (read_head_ready_o[g]),
        .head_i        (read_head_i[g]),
        .task_valid_i  (read_task_valid_i[g]),
        .task_ready_o  (read_task_ready_o[g]),
        .task_heads_i  (read_task_heads_i[g]),
        .task_words_i  (read_task_words_i[g][ReadCountW[g]-1:0]),
        .task_address_i(read_task_address_i[g]),
        .read_valid_o  (read_valid_o[g]),
        .read_ready_i  (read_ready_i[g]),
        .read_address_o(read_address_o[g]),
        .read_data_i   (read_data_i[g]),
        .out_valid_o   (read_out_valid_o[g]),
        .out_ready_i   (read_out_ready_i[g]),
        .out_data_o    (read_out_data_o[g]),
        .out_last_o    (read_out_last_o[g]),
        .idle_o        (read_idle_o[g])
    );
  end

  localparam int unsigned WriteMmDepth[2] = '{16, 2};
  localparam int unsigned WriteCountW[2] = '{8, 5};

  for (genvar g = 0; g < 2; g++) begin : g_write
    rma_mm_write #(
        .MM_DEPTH(WriteMmDepth[g]),
        .COUNT_W (WriteCountW[g]),
        .NOTE_W  (29)
    ) u_write (
        .clk_i          (clk_i),
        .rst_ni         (rst_ni),
        .task_valid_i   (write_task_valid_i[g]),
        .task_ready_o   (write_task_ready_o[g]),
        .task_drop_i    (write_task_drop_i[g]),
        .task_words_i   (write_task_words_i[g][WriteCountW[g]-1:0]),
        .task_address_i (write_task_address_i[g]),
        .task_end_lane_i(write_task_end_lane_i[g]),
        .task_noted_i   (write_task_noted_i[g]),
        .task_note_i    (write_task_note_i[g]),
        .in_valid_i     (write_in_valid_i[g]),
        .in_ready_o     (write_in_ready_o[g]),
        .in_data_i      (write_in_data_i[g]),
        .write_valid_o  (write_valid_o[g]),
        .write_ready_i  (write_ready_i[g]),
        .write_address_o(write_address_o[g]),
        .write_data_o   (write_data_o[g]),
        .write_strobe_o (write_strobe_o[g]),
        .note_valid_o   (write_note_valid_o[g]),
        .note_ready_i   (write_note_ready_i[g]),
        .note_o         (write_note_o[g]),
        .idle_o         (write_idle_o[g])
    );
  end

  localparam int unsigned BeatReadMmDepth[2] = '{16, 2};
  localparam int unsigned BeatReadOutDepth[2] = '{128, 4};
  localparam int unsigned BeatReadCountW[2] = '{8, 5};
  localparam int unsigned BeatReadLatency[2] = '{1, 3};

  for (genvar g = 0; g < 2; g++) begin : g_beat_read
    rma_mm_read #(
        .DATA_W     (256),
        .MM_DEPTH   (BeatReadMmDepth[g]),
        .OUT_DEPTH  (BeatReadOutDepth[g]),
        .COUNT_W    (BeatReadCountW[g]),
        .MEM_LATENCY(BeatReadLatency[g])
    ) u_read (
        .clk_i         (clk_i),
        .rst_ni        (rst_ni),
        .head_valid_i  (beat_read_head_valid_i[g]),
        .head_ready_o  (beat_read_head_ready_o[g]),
        .head_i        (beat_read_head_i[g]),
        .task_valid_i  (beat_read_task_valid_i[g]),
        .task_ready_o  (beat_read_task_ready_o[g]),
        .task_heads_i  (beat_read_task_heads_i[g]),
        .task_words_i  (beat_read_task_words_i[g][BeatReadCountW[g]-1:0]),
        .task_address_i(beat_read_task_address_i[g]),
        .read_valid_o  (beat_read_valid_o[g]),
        .read_ready_i  (beat_read_ready_i[g]),
        .read_address_o(beat_read_address_o[g]),
        .read_data_i   (beat_read_data_i[g]),
        .out_valid_o   (beat_read_out_valid_o[g]),
        .out_ready_i   (beat_read_out_ready_i[g]),
        .out_data_o    (beat_read_out_data_o[g]),
        .out_last_o    (beat_read_out_last_o[g]),
        .idle_o        (beat_read_idle_o[g])
    );
  end

  localparam int unsigned BeatWriteMmDepth[2] = '{16, 2};
  localparam int unsigned BeatWriteCountW[2] = '{8, 5};

  for (genvar g = 0; g < 2; g++) begin : g_beat_write
    rma_mm_write #(
        .DATA_W  (256),
        .MM_DEPTH(BeatWriteMmDepth[g]),
        .COUNT_W (BeatWriteCountW[g]),
        .NOTE_W  (29)
    ) u_write (
        .clk_i          (clk_i),
        .rst_ni         (rst_ni),
        .task_valid_i   (beat_write_task_valid_i[g]),
        .task_ready_o   (beat_write_task_ready_o[g]),
        .task_drop_i    (beat_write_task_drop_i[g]),
        .task_words_i   (beat_write_task_words_i[g][BeatWriteCountW[g]-1:0]),
        .task_address_i (beat_write_task_address_i[g]),
        .task_end_lane_i(beat_write_task_end_lane_i[g]),
        .task_noted_i   (beat_write_task_noted_i[g]),
        .task_note_i    (beat_write_task_note_i[g]),
        .in_valid_i     (beat_write_in_valid_i[g]),
        .in_ready_o     (beat_write_in_ready_o[g]),
        .in_data_i      (beat_write_in_data_i[g]),
        .write_valid_o  (beat_write_valid_o[g]),
        .write_ready_i  (beat_write_ready_i[g]),
        .write_address_o(beat_write_address_o[g]),
        .write_data_o   (beat_write_data_o[g]),
        .write_strobe_o (beat_write_strobe_o[g]),
        .note_valid_o   (beat_write_note_valid_o[g]),
        .note_ready_i   (beat_write_note_ready_i[g]),
        .note_o         (beat_write_note_o[g]),
        .idle_o         (beat_write_idle_o[g])
    );
  end

  localparam bit PacketRequests[4] = '{1, 0, 1, 0};
  localparam int unsigned PacketPayload[4] = '{128, 128, 16, 16};

  for (genvar g = 0; g < 4; g++) begin : g_packet
    logic [$clog2(PacketPayload[g]+1)-1:0] write_words, reply_words;
    rma_packet_controller #(
        .REQUESTS     (PacketRequests[g]),
        .PAYLOAD_WORDS(PacketPayload[g])
    ) u_packet (
        .clk_i               (clk_i),
        .rst_ni              (rst_ni),
        .rank_i              (packet_rank_i[g]),
        .fetch_lookup_o      (packet_fetch_lookup_o[g]),
        .fetch_id_o          (packet_fetch_id_o[g]),
        .fetch_base_i        (packet_fetch_base_i[g]),
        .fetch_size_i        (packet_fetch_size_i[g]),
        .arrival_valid_o     (packet_arrival_valid_o[g]),
        .closed_i            (1'b0),
        .arrival_announce_o  (packet_arrival_announce_o[g]),
        .arrival_recall_o    (),
        .arrival_source_o    (packet_arrival_source_o[g]),
        .arrival_context_o   (packet_arrival_context_o[g]),
        .arrival_tag_o       (packet_arrival_tag_o[g]),
        .arrival_length_o    (packet_arrival_length_o[g]),
        .arrival_id_o        (packet_arrival_id_o[g]),
        .verdict_valid_i     (packet_verdict_valid_i[g]),
        .verdict_ready_o     (packet_verdict_ready_o[g]),
        .verdict_i           (packet_verdict_i[g]),
        .verdict_address_i   (packet_verdict_address_i[g]),
        .verdict_bytes_i     (packet_verdict_bytes_i[g]),
        .verdict_receive_i   (packet_verdict_receive_i[g]),
        .copy_valid_i        (packet_copy_valid_i[g]),
        .copy_ready_o        (packet_copy_ready_o[g]),
        .copy_from_i         (packet_copy_from_i[g]),
        .copy_to_i           (packet_copy_to_i[g]),
        .copy_bytes_i        (packet_copy_bytes_i[g]),
        .copy_receive_i      (packet_copy_receive_i[g]),
        .head_valid_i        (packet_head_valid_i[g]),
        .head_ready_o        (packet_head_ready_o[g]),
        .head_i              (packet_head_i[g]),
        .lookup_o            (packet_lookup_o[g]),
        .slot_o              (packet_slot_o[g]),
        .registered_i        (packet_registered_i[g]),
        .base_i              (packet_base_i[g]),
        .size_i              (packet_size_i[g]),
        .deny_i              (packet_deny_i[g]),
        .write_valid_o       (packet_write_valid_o[g]),
        .write_ready_i       (packet_write_ready_i[g]),
        .write_drop_o        (packet_write_drop_o[g]),
        .write_words_o       (write_words),
        .write_address_o     (packet_write_address_o[g]),
        .write_end_lane_o    (packet_write_end_lane_o[g]),
        .write_noted_o       (packet_write_noted_o[g]),
        .note_kind_o         (packet_note_kind_o[g]),
        .note_rank_o         (packet_note_rank_o[g]),
        .note_status_o       (packet_note_status_o[g]),
        .note_id_o           (packet_note_id_o[g]),
        .ack_valid_i         (packet_ack_valid_i[g]),
        .ack_ready_o         (packet_ack_ready_o[g]),
        .ack_rank_i          (packet_ack_rank_i[g]),
        .ack_status_i        (packet_ack_status_i[g]),
        .ack_id_i            (packet_ack_id_i[g]),
        .reply_head_valid_o  (packet_reply_head_valid_o[g]),
        .reply_head_ready_i  (packet_reply_head_ready_i[g]),
        .reply_head_o        (packet_reply_head_o[g]),
        .reply_task_valid_o  (packet_reply_task_valid_o[g]),
        .reply_task_ready_i  (packet_reply_task_ready_i[g]),
        .reply_task_heads_o  (packet_reply_task_heads_o[g]),
        .reply_task_words_o  (reply_words),
        .reply_task_address_o(packet_reply_task_address_o[g]),
        .refused_o           (packet_refused_o[g]),
        .dropped_o           (packet_dropped_o[g]),
        .refused_status_o    (packet_refused_status_o[g]),
        .refused_type_o      (packet_refused_type_o[g]),
        .malformed_o         (),
        .idle_o              (packet_idle_o[g])
    );
    assign packet_write_words_o[g]      = 8'(write_words);
    assign packet_reply_task_words_o[g] = 8'(reply_words);
  end

  localparam int unsigned SyncRanks[3] = '{2, 4, 16};

  for (genvar g = 0; g < 3; g++) begin : g_sync
    rma_sync #(
        .RANKS(SyncRanks[g])
    ) u_sync (
        .clk_i          (clk_i),
        .rst_ni         (rst_ni),
        .first_rank_i   ('0),
        .valid_i        (sync_valid_i[g][SyncRanks[g]-1:0]),
        .quiet_i        (sync_quiet_i[g][SyncRanks[g]-1:0]),
        .kind_i         (sync_kind_i[g][SyncRanks[g]-1:0]),
        .status_i       (sync_status_i[g][SyncRanks[g]-1:0]),
        .slot_i         (sync_slot_i[g][SyncRanks[g]-1:0]),
        .phase_i        (sync_phase_i[g][SyncRanks[g]-1:0]),
        .begun_i        (sync_begun_i[g][SyncRanks[g]-1:0]),
        .nprocs_i       (sync_nprocs_i[g][SyncRanks[g]-1:0]),
        .network_empty_i(sync_network_empty_i[g]),
        .fire_o         (sync_fire_o[g]),
        .fire_phase_o   (sync_fire_phase_o[g]),
        .verdict_o      (sync_verdict_o[g]),
        .kind_o         (),
        .slot_o         ()
    );
  end

  localparam int unsigned RingDepth[2] = '{16, 2};

  for (genvar g = 0; g < 2; g++) begin : g_ring
    rma_completion_queue #(
        .DEPTH(RingDepth[g])
    ) u_ring (
        .clk_i          (clk_i),
        .rst_ni         (rst_ni),
        .reply_valid_i  (ring_reply_valid_i[g]),
        .reply_ready_o  (ring_reply_ready_o[g]),
        .reply_status_i (ring_reply_status_i[g]),
        .reply_id_i     (ring_reply_id_i[g]),
        .local_valid_i  (ring_local_valid_i[g]),
        .local_ready_o  (ring_local_ready_o[g]),
        .local_status_i (ring_local_status_i[g]),
        .local_id_i     (ring_local_id_i[g]),
        .collective_valid_i (1'b0),
        .collective_ready_o (),
        .collective_status_i('0),
        .collective_id_i    ('0),
        .message_valid_i    (ring_message_valid_i[g]),
        .message_ready_o    (ring_message_ready_o[g]),
        .message_status_i   (ring_message_status_i[g]),
        .message_id_i       (ring_message_id_i[g]),
        .message_source_i   (ring_message_source_i[g]),
        .message_tag_i      (ring_message_tag_i[g]),
        .message_length_i   (ring_message_length_i[g]),
        .base_i         (ring_base_i[g]),
        .log2_entries_i (ring_log2_entries_i[g]),
        .tail_i         (ring_tail_i[g]),
        .clear_i        (ring_clear_i[g]),
        .retired_i      (ring_retired_i[g]),
        .write_valid_o  (ring_write_valid_o[g]),
        .write_ready_i  (ring_write_ready_i[g]),
        .write_address_o(ring_write_address_o[g]),
        .write_data_o   (ring_write_data_o[g]),
        .head_o         (ring_head_o[g]),
        .overflow_o     (ring_overflow_o[g]),
        .idle_o         (ring_idle_o[g])
    );
  end

endmodule

/// Bench top for the blocks of the RMA coprocessor: several sizes of each side by side in one model,
/// so that the model is compiled once. Lane g of a packed port belongs to instance g; the sizes are
/// listed here and in the Rust files beside this one.
module rma_bench (
    /// Clock.
    input  logic                  clk_i,
    /// Reset.
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

    /// Command queues.
    input  logic [1:0]            queue_blocked_i,
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

    /// Memory interface controllers, read side.
    input  logic [3:0]            read_head_valid_i,
    output logic [3:0]            read_head_ready_o,
    input  logic [3:0][31:0]      read_head_i,
    input  logic [3:0]            read_task_valid_i,
    output logic [3:0]            read_task_ready_o,
    input  logic [3:0][2:0]       read_task_heads_i,
    input  logic [3:0][7:0]       read_task_words_i,
    input  logic [3:0][31:0]      read_task_address_i,
    input  logic [3:0][1:0]       read_task_lane_i,
    output logic [3:0]            read_valid_o,
    input  logic [3:0]            read_ready_i,
    output logic [3:0][29:0]      read_address_o,
    input  logic [3:0]            read_rvalid_i,
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
    input  logic [1:0]            write_task_bare_i,
    input  logic [1:0][7:0]       write_task_words_i,
    input  logic [1:0][7:0]       write_task_kept_i,
    input  logic [1:0][31:0]      write_task_address_i,
    input  logic [1:0][1:0]       write_task_end_lane_i,
    input  logic [1:0]            write_task_noted_i,
    input  logic [1:0][28:0]      write_task_note_i,
    input  logic [1:0]            write_in_valid_i,
    output logic [1:0]            write_in_ready_o,
    input  logic [1:0][31:0]      write_in_data_i,
    input  logic [1:0]            write_in_last_i,
    input  logic [1:0]            write_in_cut_i,
    output logic [1:0]            write_valid_o,
    input  logic [1:0]            write_ready_i,
    output logic [1:0][29:0]      write_address_o,
    output logic [1:0][31:0]      write_data_o,
    output logic [1:0][3:0]       write_strobe_o,
    output logic [1:0]            write_note_valid_o,
    input  logic [1:0]            write_note_ready_i,
    output logic [1:0][28:0]      write_note_o,
    output logic [1:0]            write_malformed_o,
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
    input  logic [1:0][1:0]       beat_read_task_lane_i,
    output logic [1:0]            beat_read_valid_o,
    input  logic [1:0]            beat_read_ready_i,
    output logic [1:0][29:0]      beat_read_address_o,
    input  logic [1:0]            beat_read_rvalid_i,
    input  logic [1:0][255:0]     beat_read_data_i,
    output logic [1:0]            beat_read_out_valid_o,
    input  logic [1:0]            beat_read_out_ready_i,
    output logic [1:0][255:0]     beat_read_out_data_o,
    output logic [1:0]            beat_read_out_last_o,
    output logic [1:0]            beat_read_idle_o,

    input  logic [1:0]            beat_write_task_valid_i,
    output logic [1:0]            beat_write_task_ready_o,
    input  logic [1:0]            beat_write_task_drop_i,
    input  logic [1:0]            beat_write_task_bare_i,
    input  logic [1:0][7:0]       beat_write_task_words_i,
    input  logic [1:0][7:0]       beat_write_task_kept_i,
    input  logic [1:0][31:0]      beat_write_task_address_i,
    input  logic [1:0][1:0]       beat_write_task_end_lane_i,
    input  logic [1:0]            beat_write_task_noted_i,
    input  logic [1:0][28:0]      beat_write_task_note_i,
    input  logic [1:0]            beat_write_in_valid_i,
    output logic [1:0]            beat_write_in_ready_o,
    input  logic [1:0][255:0]     beat_write_in_data_i,
    input  logic [1:0]            beat_write_in_last_i,
    input  logic [1:0]            beat_write_in_cut_i,
    output logic [1:0]            beat_write_valid_o,
    input  logic [1:0]            beat_write_ready_i,
    output logic [1:0][29:0]      beat_write_address_o,
    output logic [1:0][255:0]     beat_write_data_o,
    output logic [1:0][31:0]      beat_write_strobe_o,
    output logic [1:0]            beat_write_note_valid_o,
    input  logic [1:0]            beat_write_note_ready_i,
    output logic [1:0][28:0]      beat_write_note_o,
    output logic [1:0]            beat_write_malformed_o,
    output logic [1:0]            beat_write_idle_o,

    /// Packet controllers.
    input  logic [3:0][7:0]       packet_rank_i,
    input  logic [3:0]            packet_closed_i,
    input  logic [3:0]            packet_settled_i,
    output logic [3:0]            packet_atomic_read_o,
    output logic [3:0][29:0]      packet_atomic_read_address_o,
    input  logic [3:0]            packet_atomic_gnt_i,
    input  logic [3:0]            packet_atomic_rvalid_i,
    input  logic [3:0][31:0]      packet_atomic_data_i,
    output logic [3:0]            packet_atomic_write_o,
    input  logic [3:0]            packet_atomic_written_i,
    output logic [3:0][29:0]      packet_atomic_address_o,
    output logic [3:0][31:0]      packet_atomic_data_o,
    output logic [3:0][3:0]       packet_atomic_strobe_o,
    output logic [3:0]            packet_fetch_lookup_o,
    output logic [3:0][9:0]       packet_fetch_id_o,
    input  logic [3:0][31:0]      packet_fetch_base_i,
    input  logic [3:0][31:0]      packet_fetch_size_i,
    output logic [3:0]            packet_arrival_valid_o,
    output logic [3:0]            packet_arrival_announce_o,
    output logic [3:0]            packet_arrival_recall_o,
    output logic [3:0][7:0]       packet_arrival_source_o,
    output logic [3:0][7:0]       packet_arrival_context_o,
    output logic [3:0][25:0]      packet_arrival_tag_o,
    output logic [3:0][5:0]       packet_arrival_serial_o,
    output logic [3:0][31:0]      packet_arrival_length_o,
    output logic [3:0][15:0]      packet_arrival_id_o,
    input  logic [3:0]            packet_arrival_ready_i,
    input  logic [3:0]            packet_arrival_refused_i,
    input  logic [3:0][4:0]       packet_arrival_line_i,
    output logic [3:0]            packet_late_o,
    input  logic [3:0]            packet_full_i,
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
    input  logic [3:0]            packet_head_cut_i,
    input  logic [3:0]            packet_head_bare_i,
    output logic [3:0]            packet_lookup_o,
    output logic [3:0][7:0]       packet_slot_o,
    input  logic [3:0]            packet_registered_i,
    input  logic [3:0][31:0]      packet_base_i,
    input  logic [3:0][31:0]      packet_size_i,
    input  logic [3:0][1:0]       packet_deny_i,
    output logic [3:0]            packet_write_valid_o,
    input  logic [3:0]            packet_write_ready_i,
    output logic [3:0]            packet_write_drop_o,
    output logic [3:0]            packet_write_bare_o,
    output logic [3:0][7:0]       packet_write_words_o,
    output logic [3:0][7:0]       packet_write_kept_o,
    output logic [3:0][31:0]      packet_write_address_o,
    output logic [3:0][1:0]       packet_write_end_lane_o,
    output logic [3:0]            packet_write_noted_o,
    output logic [3:0][7:0]       packet_note_rank_o,
    output logic [3:0][4:0]       packet_note_status_o,
    output logic [3:0][15:0]      packet_note_id_o,
    output logic [3:0]            packet_answered_valid_o,
    input  logic [3:0]            packet_answered_ready_i,
    output logic [3:0]            packet_answered_atomic_o,
    output logic [3:0][63:0]      packet_answered_old_o,
    output logic [3:0][4:0]       packet_answered_status_o,
    output logic [3:0][15:0]      packet_answered_id_o,
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
    output logic [3:0]            packet_malformed_o,
    output logic [3:0]            packet_dropped_o,
    output logic [3:0][4:0]       packet_refused_status_o,
    output logic [3:0][2:0]       packet_refused_type_o,
    output logic [3:0]            packet_idle_o,

    /// Collective commands.
    input  logic [2:0][7:0]       sync_first_rank_i,
    input  logic [2:0][15:0]      sync_valid_i,
    input  logic [2:0][15:0]      sync_quiet_i,
    input  logic [2:0][15:0][1:0] sync_kind_i,
    input  logic [2:0][15:0][4:0] sync_status_i,
    input  logic [2:0][15:0][7:0] sync_slot_i,
    input  logic [2:0][15:0]      sync_begun_i,
    input  logic [2:0][15:0][7:0] sync_nprocs_i,
    input  logic [2:0]            sync_network_empty_i,
    output logic [2:0]            sync_fire_o,
    output logic [2:0]            sync_present_o,
    output logic [2:0][4:0]       sync_verdict_o,
    output logic [2:0][1:0]       sync_kind_o,
    output logic [2:0][7:0]       sync_slot_o,

    /// Completion rings.
    input  logic [1:0]            ring_reply_valid_i,
    output logic [1:0]            ring_reply_ready_o,
    input  logic [1:0][4:0]       ring_reply_status_i,
    input  logic [1:0][15:0]      ring_reply_id_i,
    input  logic [1:0]            ring_reply_atomic_i,
    input  logic [1:0][63:0]      ring_reply_old_i,
    input  logic [1:0]            ring_collective_valid_i,
    output logic [1:0]            ring_collective_ready_o,
    input  logic [1:0][4:0]       ring_collective_status_i,
    input  logic [1:0][15:0]      ring_collective_id_i,
    input  logic [1:0]            ring_message_valid_i,
    output logic [1:0]            ring_message_ready_o,
    input  logic [1:0][4:0]       ring_message_status_i,
    input  logic [1:0][15:0]      ring_message_id_i,
    input  logic [1:0][7:0]       ring_message_source_i,
    input  logic [1:0][31:0]      ring_message_word_i,
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
    output logic [1:0]            ring_idle_o,
    input  logic [1:0]            ring_barrier_i,
    input  logic [1:0]            ring_mismatch_i,
    input  logic [1:0]            ring_copies_i,
    input  logic [1:0][63:0]      ring_host_i,
    output logic [1:0]            ring_copy_valid_o,
    input  logic [1:0]            ring_copy_ready_i,
    output logic [1:0][31:0]      ring_copy_source_o,
    output logic [1:0][63:0]      ring_copy_destination_o,
    output logic [1:0][12:0]      ring_copy_bytes_o,
    output logic [1:0]            ring_copies_idle_o
);

  // A lane has the width of its widest instance: the spare bits of the narrower instances are not read.
  // verilator lint_off UNUSEDSIGNAL

  for (genvar g = 0; g < 4; g++) begin : g_table
    localparam int unsigned TableSlots = g == 0 ? 2 : g == 1 ? 5 : g == 2 ? 32 : 256;
    logic [$clog2(TableSlots)-1:0] match_slot, next_slot;
    rma_registration_table #(
        .SLOTS  (TableSlots),
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

  for (genvar g = 0; g < 2; g++) begin : g_queue
    localparam int unsigned QueueDepth = g == 0 ? 2 : 64;
    rma_command_queue #(
        .DEPTH(QueueDepth)
    ) u_queue (
        .clk_i           (clk_i),
        .rst_ni          (rst_ni),
        .clear_i         (1'b0),
        .blocked_i       (queue_blocked_i[g]),
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

  for (genvar g = 0; g < 4; g++) begin : g_read
    localparam int unsigned ReadHeadDepth = g == 0 || g == 3 ? 16 : 5;
    localparam int unsigned ReadMmDepth = g == 0 || g == 3 ? 16 : 2;
    localparam int unsigned ReadOutDepth = g == 0 || g == 3 ? 512 : 4;
    localparam int unsigned ReadCountW = g == 0 || g == 3 ? 8 : 5;
    localparam int unsigned ReadLatency = g < 2 ? 1 : 3;
    alcor_abi_pkg::memory_request_t read;

    rma_mm_read #(
        .HEAD_DEPTH (ReadHeadDepth),
        .MM_DEPTH   (ReadMmDepth),
        .OUT_DEPTH  (ReadOutDepth),
        .COUNT_W    (ReadCountW),
        .MEM_LATENCY(ReadLatency)
    ) u_read (
        .clk_i         (clk_i),
        .rst_ni        (rst_ni),
        .head_valid_i  (read_head_valid_i[g]),
        .head_ready_o  (read_head_ready_o[g]),
        .head_i        (read_head_i[g]),
        .task_valid_i  (read_task_valid_i[g]),
        .task_ready_o  (read_task_ready_o[g]),
        .task_i        ({read_task_heads_i[g], 13'(read_task_words_i[g]), read_task_address_i[g], read_task_lane_i[g]}),
        .read_o        (read),
        .read_i        ({read_ready_i[g], read_rvalid_i[g]}),
        .read_data_i   (read_data_i[g]),
        .out_valid_o   (read_out_valid_o[g]),
        .out_ready_i   (read_out_ready_i[g]),
        .out_data_o    (read_out_data_o[g]),
        .out_last_o    (read_out_last_o[g]),
        .idle_o        (read_idle_o[g])
    );
    assign read_valid_o[g]   = read.req;
    assign read_address_o[g] = read.address;
  end

  for (genvar g = 0; g < 2; g++) begin : g_write
    localparam int unsigned WriteMmDepth = g == 0 ? 16 : 2;
    localparam int unsigned WriteCountW = g == 0 ? 8 : 5;
    alcor_abi_pkg::note_t note;
    assign write_note_o[g] = note.told;
    rma_mm_write #(
        .MM_DEPTH(WriteMmDepth),
        .COUNT_W (WriteCountW)
    ) u_write (
        .clk_i          (clk_i),
        .rst_ni         (rst_ni),
        .task_valid_i   (write_task_valid_i[g]),
        .task_ready_o   (write_task_ready_o[g]),
        .task_i         ({
          8'd0, write_task_drop_i[g], write_task_noted_i[g], write_task_bare_i[g], 13'(write_task_words_i[g]),
          13'(write_task_kept_i[g]), write_task_end_lane_i[g], write_task_address_i[g], 2'd0, write_task_note_i[g]
        }),
        .in_valid_i     (write_in_valid_i[g]),
        .in_ready_o     (write_in_ready_o[g]),
        .in_data_i      (write_in_data_i[g]),
        .in_last_i      (write_in_last_i[g]),
        .in_cut_i       (write_in_cut_i[g]),
        .write_valid_o  (write_valid_o[g]),
        .write_ready_i  (write_ready_i[g]),
        .write_address_o(write_address_o[g]),
        .write_data_o   (write_data_o[g]),
        .write_strobe_o (write_strobe_o[g]),
        .write_reduction_o(),
        .write_first_o  (),
        .write_last_o   (),
        .busy_i         (1'b0),
        .note_valid_o   (write_note_valid_o[g]),
        .note_ready_i   (write_note_ready_i[g]),
        .note_o         (note),
        .malformed_o    (write_malformed_o[g]),
        .idle_o         (write_idle_o[g])
    );
  end

  for (genvar g = 0; g < 2; g++) begin : g_beat_read
    localparam int unsigned BeatReadMmDepth = g == 0 ? 16 : 2;
    localparam int unsigned BeatReadOutDepth = g == 0 ? 128 : 4;
    localparam int unsigned BeatReadCountW = g == 0 ? 8 : 5;
    localparam int unsigned BeatReadLatency = g == 0 ? 1 : 3;
    alcor_abi_pkg::memory_request_t read;

    rma_mm_read #(
        .DATA_W     (256),
        .MM_DEPTH   (BeatReadMmDepth),
        .OUT_DEPTH  (BeatReadOutDepth),
        .COUNT_W    (BeatReadCountW),
        .MEM_LATENCY(BeatReadLatency)
    ) u_read (
        .clk_i         (clk_i),
        .rst_ni        (rst_ni),
        .head_valid_i  (beat_read_head_valid_i[g]),
        .head_ready_o  (beat_read_head_ready_o[g]),
        .head_i        (beat_read_head_i[g]),
        .task_valid_i  (beat_read_task_valid_i[g]),
        .task_ready_o  (beat_read_task_ready_o[g]),
        .task_i        ({beat_read_task_heads_i[g], 13'(beat_read_task_words_i[g]), beat_read_task_address_i[g], beat_read_task_lane_i[g]}),
        .read_o        (read),
        .read_i        ({beat_read_ready_i[g], beat_read_rvalid_i[g]}),
        .read_data_i   (beat_read_data_i[g]),
        .out_valid_o   (beat_read_out_valid_o[g]),
        .out_ready_i   (beat_read_out_ready_i[g]),
        .out_data_o    (beat_read_out_data_o[g]),
        .out_last_o    (beat_read_out_last_o[g]),
        .idle_o        (beat_read_idle_o[g])
    );
    assign beat_read_valid_o[g]   = read.req;
    assign beat_read_address_o[g] = read.address;
  end

  for (genvar g = 0; g < 2; g++) begin : g_beat_write
    localparam int unsigned BeatWriteMmDepth = g == 0 ? 16 : 2;
    localparam int unsigned BeatWriteCountW = g == 0 ? 8 : 5;
    alcor_abi_pkg::note_t note;
    assign beat_write_note_o[g] = note.told;
    rma_mm_write #(
        .DATA_W  (256),
        .MM_DEPTH(BeatWriteMmDepth),
        .COUNT_W (BeatWriteCountW)
    ) u_write (
        .clk_i          (clk_i),
        .rst_ni         (rst_ni),
        .task_valid_i   (beat_write_task_valid_i[g]),
        .task_ready_o   (beat_write_task_ready_o[g]),
        .task_i         ({
          8'd0, beat_write_task_drop_i[g], beat_write_task_noted_i[g], beat_write_task_bare_i[g], 13'(beat_write_task_words_i[g]),
          13'(beat_write_task_kept_i[g]), beat_write_task_end_lane_i[g], beat_write_task_address_i[g], 2'd0, beat_write_task_note_i[g]
        }),
        .in_valid_i     (beat_write_in_valid_i[g]),
        .in_ready_o     (beat_write_in_ready_o[g]),
        .in_data_i      (beat_write_in_data_i[g]),
        .in_last_i      (beat_write_in_last_i[g]),
        .in_cut_i       (beat_write_in_cut_i[g]),
        .write_valid_o  (beat_write_valid_o[g]),
        .write_ready_i  (beat_write_ready_i[g]),
        .write_address_o(beat_write_address_o[g]),
        .write_data_o   (beat_write_data_o[g]),
        .write_strobe_o (beat_write_strobe_o[g]),
        .write_reduction_o(),
        .write_first_o  (),
        .write_last_o   (),
        .busy_i         (1'b0),
        .note_valid_o   (beat_write_note_valid_o[g]),
        .note_ready_i   (beat_write_note_ready_i[g]),
        .note_o         (note),
        .malformed_o    (beat_write_malformed_o[g]),
        .idle_o         (beat_write_idle_o[g])
    );
  end

  for (genvar g = 0; g < 4; g++) begin : g_packet
    localparam bit PacketRequests = g % 2 == 0;
    localparam int unsigned PacketPayload = g < 2 ? 128 : 16;
    alcor_abi_pkg::slot_lookup_t lookup;
    alcor_abi_pkg::to_engine_t to_engine;
    alcor_abi_pkg::write_task_t write_task;
    alcor_abi_pkg::outgoing_t reply;
    alcor_abi_pkg::refusal_t refusal;
    alcor_abi_pkg::answered_t answered;
    alcor_abi_pkg::memory_request_t atomic_read;

    if (PacketRequests) begin : g_requests
      alcor_abi_pkg::from_engine_t engine;

      assign packet_answered_valid_o[g] = 1'b0;
      assign answered                   = '0;

      assign engine.arrival_ready   = packet_arrival_ready_i[g];
      assign engine.arrival_refused = packet_arrival_refused_i[g];
      assign engine.arrival_line    = packet_arrival_line_i[g];
      assign engine.verdict_valid   = packet_verdict_valid_i[g];
      assign engine.verdict         = {packet_verdict_i[g], packet_verdict_receive_i[g], packet_verdict_address_i[g],
                                       packet_verdict_bytes_i[g]};
      assign engine.fetch           = {packet_fetch_base_i[g], packet_fetch_size_i[g]};
      assign engine.copy_valid      = packet_copy_valid_i[g];
      assign engine.copy            = {packet_copy_from_i[g], packet_copy_to_i[g], packet_copy_receive_i[g],
                                       packet_copy_bytes_i[g]};
      assign engine.ack_valid       = 1'b0;
      assign engine.ack             = '0;

      rma_request_controller #(
          .PAYLOAD_WORDS(PacketPayload)
      ) u_packet (
          .clk_i             (clk_i),
          .rst_ni            (rst_ni),
          .rank_i            (packet_rank_i[g]),
          .closed_i          (packet_closed_i[g]),
          .head_valid_i      (packet_head_valid_i[g]),
          .head_ready_o      (packet_head_ready_o[g]),
          .head_i            (packet_head_i[g]),
          .head_cut_i        (packet_head_cut_i[g]),
          .head_bare_i       (packet_head_bare_i[g]),
          .lookup_o          (lookup),
          .window_i          ({packet_registered_i[g], packet_deny_i[g], packet_base_i[g], packet_size_i[g]}),
          .engine_i          (engine),
          .engine_o          (to_engine),
          .full_i            (packet_full_i[g]),
          .settled_i         (packet_settled_i[g]),
          .replied_i         (1'b1),
          .atomic_read_o     (atomic_read),
          .atomic_read_i     ({packet_atomic_gnt_i[g], packet_atomic_rvalid_i[g]}),
          .atomic_data_i     (packet_atomic_data_i[g]),
          .atomic_write_o    (packet_atomic_write_o[g]),
          .atomic_written_i  (packet_atomic_written_i[g]),
          .atomic_address_o  (packet_atomic_address_o[g]),
          .atomic_data_o     (packet_atomic_data_o[g]),
          .atomic_strobe_o   (packet_atomic_strobe_o[g]),
          .write_valid_o     (packet_write_valid_o[g]),
          .write_ready_i     (packet_write_ready_i[g]),
          .write_o           (write_task),
          .ack_valid_i       (packet_ack_valid_i[g]),
          .ack_ready_o       (packet_ack_ready_o[g]),
          .ack_i             ({packet_ack_rank_i[g], packet_ack_status_i[g], packet_ack_id_i[g]}),
          .reply_o           (reply),
          .reply_i           ({packet_reply_head_ready_i[g], packet_reply_task_ready_i[g]}),
          .refusal_o         (refusal),
          .idle_o            (packet_idle_o[g])
      );
    end else begin : g_replies
      rma_reply_controller #(
          .PAYLOAD_WORDS(PacketPayload)
      ) u_packet (
          .clk_i           (clk_i),
          .rst_ni          (rst_ni),
          .head_valid_i    (packet_head_valid_i[g]),
          .head_ready_o    (packet_head_ready_o[g]),
          .head_i          (packet_head_i[g]),
          .head_cut_i      (packet_head_cut_i[g]),
          .head_bare_i     (packet_head_bare_i[g]),
          .lookup_o        (lookup),
          .window_i        ({packet_registered_i[g], packet_deny_i[g], packet_base_i[g], packet_size_i[g]}),
          .answered_valid_o(packet_answered_valid_o[g]),
          .answered_ready_i(packet_answered_ready_i[g]),
          .answered_o      (answered),
          .write_valid_o   (packet_write_valid_o[g]),
          .write_ready_i   (packet_write_ready_i[g]),
          .write_o         (write_task),
          .refusal_o       (refusal),
          .idle_o          (packet_idle_o[g])
      );

      assign atomic_read                  = '0;
      assign packet_atomic_write_o[g]     = 1'b0;
      assign packet_atomic_address_o[g]   = '0;
      assign packet_atomic_data_o[g]      = '0;
      assign packet_atomic_strobe_o[g]    = '0;
      assign to_engine                    = '0;
      assign packet_ack_ready_o[g]        = 1'b0;
      assign reply                        = '0;
    end
    assign packet_atomic_read_o[g]         = atomic_read.req;
    assign packet_atomic_read_address_o[g] = atomic_read.address;
    assign packet_answered_atomic_o[g]    = answered.atomic;
    assign packet_answered_old_o[g]       = answered.old;
    assign packet_answered_status_o[g]    = answered.ended.status;
    assign packet_answered_id_o[g]        = answered.ended.id;
    assign packet_lookup_o[g]             = lookup.valid;
    assign packet_fetch_lookup_o[g]       = to_engine.fetch_valid;
    assign packet_fetch_id_o[g]           = to_engine.fetch_id;
    assign packet_late_o[g]               = to_engine.late;
    assign packet_verdict_ready_o[g]      = to_engine.verdict_ready;
    assign packet_copy_ready_o[g]         = to_engine.copy_ready;
    assign packet_arrival_valid_o[g]      = to_engine.arrival_valid;
    assign packet_slot_o[g]               = lookup.slot;
    assign packet_arrival_announce_o[g]   = to_engine.arrival.announce;
    assign packet_arrival_recall_o[g]     = to_engine.arrival.recall;
    assign packet_arrival_source_o[g]     = to_engine.arrival.match.source;
    assign packet_arrival_context_o[g]    = to_engine.arrival.match.context_;
    assign packet_arrival_tag_o[g]        = to_engine.arrival.match.tag;
    assign packet_arrival_serial_o[g]     = to_engine.arrival.serial;
    assign packet_arrival_length_o[g]     = to_engine.arrival.length;
    assign packet_arrival_id_o[g]         = to_engine.arrival.id;
    assign packet_write_drop_o[g]         = write_task.drop;
    assign packet_write_bare_o[g]         = write_task.bare;
    assign packet_write_words_o[g]        = write_task.words[7:0];
    assign packet_write_kept_o[g]         = write_task.kept[7:0];
    assign packet_write_address_o[g]      = write_task.address;
    assign packet_write_end_lane_o[g]     = write_task.end_lane;
    assign packet_write_noted_o[g]        = write_task.noted;
    assign packet_note_kind_o[g]          = write_task.note.kind;
    assign packet_note_rank_o[g]          = write_task.note.told.rank;
    assign packet_note_status_o[g]        = write_task.note.told.status;
    assign packet_note_id_o[g]            = write_task.note.told.id;
    assign packet_reply_head_valid_o[g]   = reply.head_valid;
    assign packet_reply_head_o[g]         = reply.head;
    assign packet_reply_task_valid_o[g]   = reply.task_valid;
    assign packet_reply_task_heads_o[g]   = reply.read.heads;
    assign packet_reply_task_words_o[g]   = reply.read.words[7:0];
    assign packet_reply_task_address_o[g] = reply.read.address - 32'(reply.read.lane);
    assign packet_refused_o[g]            = refusal.refused;
    assign packet_malformed_o[g]          = refusal.malformed;
    assign packet_dropped_o[g]            = refusal.dropped;
    assign packet_refused_status_o[g]     = refusal.status;
    assign packet_refused_type_o[g]       = refusal.ptype;
  end

  for (genvar g = 0; g < 3; g++) begin : g_sync
    localparam int unsigned SyncRanks = g == 0 ? 2 : g == 1 ? 4 : 16;
    rma_sync #(
        .RANKS(SyncRanks)
    ) u_sync (
        .clk_i          (clk_i),
        .rst_ni         (rst_ni),
        .first_rank_i   (sync_first_rank_i[g]),
        .valid_i        (sync_valid_i[g][SyncRanks-1:0]),
        .quiet_i        (sync_quiet_i[g][SyncRanks-1:0]),
        .kind_i         (sync_kind_i[g][SyncRanks-1:0]),
        .status_i       (sync_status_i[g][SyncRanks-1:0]),
        .slot_i         (sync_slot_i[g][SyncRanks-1:0]),
        .begun_i        (sync_begun_i[g][SyncRanks-1:0]),
        .nprocs_i       (sync_nprocs_i[g][SyncRanks-1:0]),
        .network_empty_i(sync_network_empty_i[g]),
        .fire_o         (sync_fire_o[g]),
        .present_o      (sync_present_o[g]),
        .verdict_o      (sync_verdict_o[g]),
        .kind_o         (sync_kind_o[g]),
        .slot_o         (sync_slot_o[g])
    );
  end

  for (genvar g = 0; g < 2; g++) begin : g_ring
    localparam int unsigned RingDepth = g == 0 ? 16 : 2;
    alcor_abi_pkg::ring_settings_t settings;
    alcor_abi_pkg::ring_state_t state;

    assign settings = {ring_clear_i[g], ring_log2_entries_i[g], ring_base_i[g], ring_tail_i[g], ring_retired_i[g],
                       ring_copies_i[g], ring_host_i[g]};

    rma_completion_queue #(
        .DEPTH(RingDepth),
        .LATE (g == 1)
    ) u_ring (
        .clk_i             (clk_i),
        .rst_ni            (rst_ni),
        .reply_valid_i     (ring_reply_valid_i[g]),
        .reply_ready_o     (ring_reply_ready_o[g]),
        .reply_i           ({ring_reply_atomic_i[g], ring_reply_old_i[g], ring_reply_status_i[g],
                             ring_reply_id_i[g]}),
        .local_valid_i     (ring_local_valid_i[g]),
        .local_ready_o     (ring_local_ready_o[g]),
        .local_i           ({ring_local_status_i[g], ring_local_id_i[g]}),
        .collective_valid_i(ring_collective_valid_i[g]),
        .collective_ready_o(ring_collective_ready_o[g]),
        .collective_i      ({ring_collective_status_i[g], ring_collective_id_i[g]}),
        .message_valid_i   (ring_message_valid_i[g]),
        .message_ready_o   (ring_message_ready_o[g]),
        .message_i         ({ring_message_status_i[g], ring_message_id_i[g], ring_message_source_i[g],
                             ring_message_word_i[g], ring_message_length_i[g]}),
        .barrier_i         (ring_barrier_i[g]),
        .mismatch_i        (ring_mismatch_i[g]),
        .settings_i        (settings),
        .state_o           (state),
        .idle_o            (ring_idle_o[g]),
        .write_valid_o     (ring_write_valid_o[g]),
        .write_ready_i     (ring_write_ready_i[g]),
        .write_address_o   (ring_write_address_o[g]),
        .write_data_o      (ring_write_data_o[g])
    );
    rma_host_ring #(
        .ENTRIES(g == 0 ? 256 : 3)
    ) u_host_ring (
        .clk_i       (clk_i),
        .rst_ni      (rst_ni),
        .drain_i     (1'b0),
        .settings_i  (settings),
        .state_i     (state),
        .idle_o      (ring_copies_idle_o[g]),
        .copy_o      ({ring_copy_valid_o[g], ring_copy_source_o[g], ring_copy_destination_o[g], ring_copy_bytes_o[g]}),
        .copy_ready_i(ring_copy_ready_i[g])
    );

    assign ring_head_o[g]     = state.head;
    assign ring_overflow_o[g] = state.overflow;
  end

endmodule

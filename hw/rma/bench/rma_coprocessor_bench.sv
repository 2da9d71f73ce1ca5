/// Bench top for coprocessors: the default sizes with a message engine, and the smallest sizes. Lane g of a packed port
/// belongs to instance g; the sizes are listed here and in the Rust file beside this one. The bench models node memory and
/// network.
module rma_coprocessor_bench #(
    /// Bits of a beat.
    parameter int unsigned DATA_W = 32
) (
    /// Clock.
    input  logic                  clk_i,
    /// Reset.
    input  logic                  rst_ni,

    input  logic [1:0][7:0]       cop_rank_i,
    input  logic [1:0]            cop_command_write_i,
    input  logic [1:0][7:0]       cop_command_opcode_i,
    input  logic [1:0][31:0]      cop_command_data_i,
    input  logic [1:0]            cop_register_write_i,
    input  logic [1:0][11:0]      cop_register_offset_i,
    input  logic [1:0][31:0]      cop_register_data_i,
    input  logic [1:0][11:0]      cop_read_offset_i,
    output logic [1:0][31:0]      cop_read_data_o,
    output logic [1:0]            cop_irq_o,
    output logic [1:0][31:0]      cop_state_o,
    output logic [1:0]            cop_abort_o,
    output logic [1:0][7:0]       cop_abort_reason_o,
    input  logic [1:0]            cop_aborted_i,
    input  logic [1:0]            cop_peer_lost_i,
    output logic [1:0]            cop_ready_o,
    output logic [1:0]            cop_sync_valid_o,
    output logic [1:0]            cop_quiet_o,
    output logic [1:0][1:0]       cop_sync_kind_o,
    output logic [1:0][4:0]       cop_sync_status_o,
    output logic [1:0][7:0]       cop_sync_slot_o,
    input  logic [1:0]            cop_sync_fire_i,
    input  logic [1:0][4:0]       cop_sync_verdict_i,
    output logic [1:0]            cop_begun_o,
    output logic [1:0][7:0]       cop_nprocs_o,
    output logic [1:0][1:0]       cop_tx_valid_o,
    input  logic [1:0][1:0]       cop_tx_ready_i,
    output logic [1:0][1:0][DATA_W-1:0] cop_tx_data_o,
    output logic [1:0][1:0]       cop_tx_last_o,
    input  logic [1:0][1:0]       cop_rx_valid_i,
    output logic [1:0][1:0]       cop_rx_ready_o,
    input  logic [1:0][1:0][DATA_W-1:0] cop_rx_data_i,
    input  logic [1:0][1:0]       cop_rx_last_i,
    input  logic [1:0][1:0]       cop_rx_cut_i,
    output logic [1:0]            cop_read_valid_o,
    input  logic [1:0]            cop_read_ready_i,
    input  logic [1:0]            cop_read_rvalid_i,
    output logic [1:0][29:0]      cop_read_address_o,
    input  logic [1:0][DATA_W-1:0] cop_read_beat_i,
    output logic [1:0]            cop_write_valid_o,
    input  logic [1:0]            cop_write_ready_i,
    output logic [1:0][29:0]      cop_write_address_o,
    output logic [1:0][DATA_W-1:0] cop_write_beat_o,
    output logic [1:0][DATA_W/8-1:0] cop_write_strobe_o
);

  for (genvar g = 0; g < 2; g++) begin : g_coprocessor
    localparam int unsigned Slots = g == 0 ? 32 : 4;
    localparam int unsigned PayloadWords = g == 0 ? 128 : 16;
    localparam int unsigned CommandDepth = g == 0 ? 64 : 8;
    localparam int unsigned InDepth = g == 0 ? 512 : 4;
    localparam int unsigned OutDepth = g == 0 ? 512 : 4;
    localparam int unsigned HeadDepth = g == 0 ? 16 : 5;
    localparam int unsigned MmDepth = g == 0 ? 16 : 2;
    localparam int unsigned MemLatency = g == 0 ? 1 : 3;
    localparam int unsigned Messages = g == 0 ? 32 : 0;
    // More ranks than the network reaches, or fewer.
    localparam logic [7:0] Ranks = g == 0 ? 8'd20 : 8'd6;
    alcor_abi_pkg::page_write_t page;
    alcor_abi_pkg::sync_request_t sync;

    // The bench drives command window and registers separately; only one of them is written in a cycle.
    assign page.valid  = cop_command_write_i[g] || cop_register_write_i[g];
    assign page.offset = cop_command_write_i[g] ? {2'b00, cop_command_opcode_i[g], 2'b00} : cop_register_offset_i[g];
    assign page.data   = cop_command_write_i[g] ? cop_command_data_i[g] : cop_register_data_i[g];

    // The coprocessor's readers and writers share one port each, as on a board.
    logic [2:0] read_req, read_gnt, read_rvalid;
    logic [2:0][29:0] read_address;
    logic [2:0] write_req, write_gnt;
    logic [2:0][29:0] write_address;
    logic [2:0][DATA_W-1:0] write_data;
    logic [2:0][DATA_W/8-1:0] write_strobe;
    alcor_abi_pkg::memory_request_t read, write;

    memory_arbiter #(
        .READERS(3),
        .WRITERS(3),
        .WIDTH  (DATA_W),
        .READS  (MemLatency + 1)
    ) u_arbiter (
        .clk_i          (clk_i),
        .rst_ni         (rst_ni),
        .read_req_i     (read_req),
        .read_gnt_o     (read_gnt),
        .read_address_i (read_address),
        .read_rvalid_o  (read_rvalid),
        .write_req_i    (write_req),
        .write_gnt_o    (write_gnt),
        .write_address_i(write_address),
        .write_data_i   (write_data),
        .write_strobe_i (write_strobe),
        .read_o         (read),
        .read_i         ({cop_read_ready_i[g], cop_read_rvalid_i[g]}),
        .write_o        (write),
        .write_data_o   (cop_write_beat_o[g]),
        .write_strobe_o (cop_write_strobe_o[g]),
        .write_gnt_i    (cop_write_ready_i[g])
    );
    assign cop_read_valid_o[g]    = read.req;
    assign cop_read_address_o[g]  = read.address;
    assign cop_write_valid_o[g]   = write.req;
    assign cop_write_address_o[g] = write.address;

    alcor_abi_pkg::board_to_rank_t to_rank;
    alcor_abi_pkg::rank_to_board_t from_rank;
    assign to_rank = {Ranks, cop_aborted_i[g], cop_peer_lost_i[g], 5'b00000};
    assign cop_state_o[g] = from_rank.state;
    assign cop_abort_o[g] = from_rank.aborts;
    assign cop_abort_reason_o[g] = from_rank.abort_reason;
    assign cop_ready_o[g] = from_rank.ready;

    logic unused;
    assign unused = ^{from_rank.lost, from_rank.cancel};
    assign cop_quiet_o[g] = from_rank.state.quiet;
    assign cop_begun_o[g] = from_rank.state.begun;
    assign cop_nprocs_o[g] = from_rank.state.nprocs;

    rma_coprocessor #(
        .DATA_W       (DATA_W),
        .SLOTS        (Slots),
        .NODE_BYTES   (65536),
        .DESTS        (16),
        .PAYLOAD_WORDS(PayloadWords),
        .COMMAND_DEPTH(CommandDepth),
        .IN_DEPTH     (InDepth),
        .OUT_DEPTH    (OutDepth),
        .HEAD_DEPTH   (HeadDepth),
        .MM_DEPTH     (MmDepth),
        .MESSAGES     (Messages),
        .FRAGMENT     (64),
        .MATCH_CELLS  (16),
        .MATCH_BLOCK  (8),
        .MEM_LATENCY  (MemLatency),
        .ACCUMULATE   (g == 0)
    ) u_coprocessor (
        .clk_i            (clk_i),
        .rst_ni           (rst_ni),
        .rank_i           (cop_rank_i[g]),
        .board_i          (to_rank),
        .board_o          (from_rank),
        .rank_rst_no      (),
        .page_i            (page),
        .read_offset_i    (cop_read_offset_i[g]),
        .read_data_o      (cop_read_data_o[g]),
        .irq_o            (cop_irq_o[g]),
        .copy_o           (),
        .copy_ready_i     (1'b1),
        .kernel_i           ('0),
        .kernel_o           (),
        .collective_valid_i (1'b0),
        .collective_ready_o (),
        .collective_i       ('0),
        .collectives_i    (1'b0),
        .sync_o           (sync),
        .sync_i           ({cop_sync_fire_i[g], cop_sync_verdict_i[g]}),
        .tx_valid_o       (cop_tx_valid_o[g]),
        .tx_ready_i       (cop_tx_ready_i[g]),
        .tx_data_o        (cop_tx_data_o[g]),
        .tx_last_o        (cop_tx_last_o[g]),
        .rx_valid_i       (cop_rx_valid_i[g]),
        .rx_ready_o       (cop_rx_ready_o[g]),
        .rx_data_i        (cop_rx_data_i[g]),
        .rx_last_i        (cop_rx_last_i[g]),
        .rx_cut_i         (cop_rx_cut_i[g]),
        .read_req_o       (read_req),
        .read_gnt_i       (read_gnt),
        .read_address_o   (read_address),
        .read_rvalid_i    (read_rvalid),
        .read_data_i      (cop_read_beat_i[g]),
        .write_req_o      (write_req),
        .write_gnt_i      (write_gnt),
        .write_address_o  (write_address),
        .write_data_o     (write_data),
        .write_strobe_o   (write_strobe)
    );
    assign cop_sync_valid_o[g]  = sync.valid;
    assign cop_sync_kind_o[g]   = sync.kind;
    assign cop_sync_status_o[g] = sync.status;
    assign cop_sync_slot_o[g]   = sync.slot;
  end

endmodule

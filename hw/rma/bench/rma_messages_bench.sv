/// Bench top for two coprocessors with message engines. Lane g of a packed port belongs to rank g. The bench models the
/// node memories, the network between the two ranks, and their hosts.
module rma_messages_bench #(
    /// Payload words of an extended packet.
    parameter int unsigned PAYLOAD_WORDS = 128,
    /// Entries of the Instruction, Data and Data8 FIFOs.
    parameter int unsigned COMMAND_DEPTH = 64,
    /// Beats of each In FIFO.
    parameter int unsigned IN_DEPTH = 512,
    /// Beats of each Out FIFO.
    parameter int unsigned OUT_DEPTH = 512,
    /// Words of each Head FIFO.
    parameter int unsigned HEAD_DEPTH = 16,
    /// Tasks of each MM Interface FIFO.
    parameter int unsigned MM_DEPTH = 16,
    /// Cycles from a granted memory read to its data.
    parameter int unsigned MEM_LATENCY = 1,
    /// Bits of the counters that the host reads.
    parameter int unsigned COUNT_W = 32,
    /// 1: the ranks have kernels, which the bench models.
    parameter bit KERNEL = 1'b0
) (
    /// Clock.
    input  logic                  clk_i,
    /// Reset.
    input  logic                  rst_ni,

    input  logic [1:0]            command_write_i,
    input  logic [1:0][7:0]       command_opcode_i,
    input  logic [1:0][31:0]      command_data_i,
    input  logic [1:0]            register_write_i,
    input  logic [1:0]            message_write_i,
    input  logic [1:0][11:0]      register_offset_i,
    input  logic [1:0][31:0]      register_data_i,
    input  logic [1:0][11:0]      read_offset_i,
    output logic [1:0][31:0]      read_data_o,
    output logic [1:0][31:0]      state_o,
    output logic [1:0]            ready_o,
    output logic [1:0]            irq_o,
    /// Copies of completions into host memory.
    output logic [1:0]            copy_valid_o,
    input  logic [1:0]            copy_ready_i,
    output logic [1:0][31:0]      copy_source_o,
    output logic [1:0][63:0]      copy_destination_o,
    output logic [1:0][12:0]      copy_bytes_o,
    /// Commands of the kernels, and ends of their sends: valid, status and slot.
    input  logic [1:0]            kernel_valid_i,
    input  logic [1:0][7:0]       kernel_opcode_i,
    input  logic [1:0][31:0]      kernel_data_i,
    input  logic [1:0][31:0]      kernel_address_i,
    input  logic [1:0][31:0]      kernel_length_i,
    input  logic [1:0][31:0]      kernel_tag_i,
    output logic [1:0]            kernel_ready_o,
    output logic [1:0]            kernel_done_o,
    output logic [1:0][8:0]       kernel_reply_o,
    /// From the board: ABORTED, and pulses unrouted, foreign, stale, damaged, denied.
    input  logic [1:0]            aborted_i,
    input  logic [1:0][4:0]       events_i,
    output logic [1:0]            clear_o,
    output logic [1:0]            sync_valid_o,
    output logic [1:0]            quiet_o,
    input  logic [1:0]            sync_fire_i,
    output logic [1:0][1:0]       tx_valid_o,
    input  logic [1:0][1:0]       tx_ready_i,
    output logic [1:0][1:0][31:0] tx_data_o,
    output logic [1:0][1:0]       tx_last_o,
    input  logic [1:0][1:0]       rx_valid_i,
    output logic [1:0][1:0]       rx_ready_o,
    input  logic [1:0][1:0][31:0] rx_data_i,
    input  logic [1:0][1:0]       rx_last_i,
    output logic [1:0]            read_valid_o,
    input  logic [1:0]            read_ready_i,
    input  logic [1:0]            read_rvalid_i,
    output logic [1:0][29:0]      read_address_o,
    input  logic [1:0][31:0]      read_word_i,
    output logic [1:0]            write_valid_o,
    input  logic [1:0]            write_ready_i,
    output logic [1:0][29:0]      write_address_o,
    output logic [1:0][31:0]      write_word_o,
    output logic [1:0][3:0]       write_strobe_o
);

  logic [1:0] rank_rst_n;

  assign clear_o = ~rank_rst_n;

  // The bench uses two members of the bundle.
  // verilator lint_off UNUSEDSIGNAL

  logic [1:0] lost;

  for (genvar g = 0; g < 2; g++) begin : g_coprocessor
    alcor_abi_pkg::page_write_t page;
    alcor_abi_pkg::sync_request_t sync;

    // The bench drives command window and registers separately; only one of them is written in a cycle.
    assign page.valid  = command_write_i[g] || register_write_i[g] || message_write_i[g];
    assign page.offset = command_write_i[g] ? {2'b00, command_opcode_i[g], 2'b00} : register_offset_i[g];
    assign page.data   = command_write_i[g] ? command_data_i[g] : register_data_i[g];

    // The coprocessor's readers and writers share one port each, as on a board.
    logic [2:0] read_req, read_gnt, read_rvalid;
    logic [2:0][29:0] read_address;
    logic [2:0] write_req, write_gnt;
    logic [2:0][29:0] write_address;
    logic [2:0][32-1:0] write_data;
    logic [2:0][32/8-1:0] write_strobe;
    alcor_abi_pkg::memory_request_t read, write;

    memory_arbiter #(
        .READERS(3),
        .WRITERS(3),
        .WIDTH  (32),
        .READS  (MEM_LATENCY + 1)
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
        .read_i         ({read_ready_i[g], read_rvalid_i[g]}),
        .write_o        (write),
        .write_data_o   (write_word_o[g]),
        .write_strobe_o (write_strobe_o[g]),
        .write_gnt_i    (write_ready_i[g])
    );
    assign read_valid_o[g]    = read.req;
    assign read_address_o[g]  = read.address;
    assign write_valid_o[g]   = write.req;
    assign write_address_o[g] = write.address;

    alcor_abi_pkg::board_to_rank_t to_rank;
    alcor_abi_pkg::rank_to_board_t from_rank;
    assign to_rank = {8'd2, aborted_i[g], lost[1-g], events_i[g]};
    assign state_o[g] = from_rank.state;
    assign ready_o[g] = from_rank.ready;
    assign lost[g] = from_rank.lost;

    alcor_abi_pkg::kernel_to_rank_t to_coprocessor;
    alcor_abi_pkg::rank_to_kernel_t to_kernel;

    always_comb begin
      to_coprocessor         = '0;
      to_coprocessor.valid   = kernel_valid_i[g];
      to_coprocessor.opcode  = kernel_opcode_i[g];
      to_coprocessor.data    = kernel_data_i[g];
      to_coprocessor.address = kernel_address_i[g];
      to_coprocessor.length  = kernel_length_i[g];
      to_coprocessor.tag     = kernel_tag_i[g];
    end
    assign kernel_ready_o[g] = to_kernel.ready;
    assign kernel_done_o[g]  = to_kernel.done;
    assign kernel_reply_o[g] = to_kernel.reply;

    logic unused;
    assign unused = ^{from_rank.aborts, from_rank.abort_reason, from_rank.cancel};
    assign quiet_o[g] = from_rank.state.quiet;

    rma_coprocessor #(
        .SLOTS        (4),
        .NODE_BYTES   (65536),
        .DESTS        (2),
        .PAYLOAD_WORDS(PAYLOAD_WORDS),
        .COMMAND_DEPTH(COMMAND_DEPTH),
        .IN_DEPTH     (IN_DEPTH),
        .OUT_DEPTH    (OUT_DEPTH),
        .HEAD_DEPTH   (HEAD_DEPTH),
        .MM_DEPTH     (MM_DEPTH),
        .MESSAGES     (32),
        .FRAGMENT     (64),
        .MATCH_CELLS  (16),
        .MATCH_BLOCK  (8),
        .MEM_LATENCY  (MEM_LATENCY),
        .COUNT_W      (COUNT_W),
        .KERNEL       (KERNEL)
    ) u_coprocessor (
        .clk_i              (clk_i),
        .rst_ni             (rst_ni),
        .rank_i             (8'(g)),
        .board_i            (to_rank),
        .board_o            (from_rank),
        .rank_rst_no        (rank_rst_n[g]),
        .page_i            (page),
        .read_offset_i      (read_offset_i[g]),
        .read_data_o        (read_data_o[g]),
        .irq_o              (irq_o[g]),
        .copy_o             ({copy_valid_o[g], copy_source_o[g], copy_destination_o[g], copy_bytes_o[g]}),
        .copy_ready_i       (copy_ready_i[g]),
        .kernel_i           (to_coprocessor),
        .kernel_o           (to_kernel),
        .collective_valid_i (1'b0),
        .collective_ready_o (),
        .collective_i       ('0),
        .collectives_i      (1'b0),
        .sync_o             (sync),
        .sync_i             ({sync_fire_i[g], 5'd0}),
        .tx_valid_o         (tx_valid_o[g]),
        .tx_ready_i         (tx_ready_i[g]),
        .tx_data_o          (tx_data_o[g]),
        .tx_last_o          (tx_last_o[g]),
        .rx_valid_i         (rx_valid_i[g]),
        .rx_ready_o         (rx_ready_o[g]),
        .rx_data_i          (rx_data_i[g]),
        .rx_last_i          (rx_last_i[g]),
        .rx_cut_i           ('0),
        .read_req_o       (read_req),
        .read_gnt_i       (read_gnt),
        .read_address_o   (read_address),
        .read_rvalid_i    (read_rvalid),
        .read_data_i      (read_word_i[g]),
        .write_req_o      (write_req),
        .write_gnt_i      (write_gnt),
        .write_address_o  (write_address),
        .write_data_o     (write_data),
        .write_strobe_o   (write_strobe)
    );
    assign sync_valid_o[g] = sync.valid;
  end

endmodule

`include "assertions.svh"

/// One rank of a board: its coprocessor, its node memory, and with ALPU_CELLS the matching unit in its page.
module rank_tile #(
    /// Bits of a beat of the coprocessors and the crossbar: 32 as in the paper, 256 or 512.
    parameter int unsigned DATA_W = 32,
    /// Slots of each registration table.
    parameter int unsigned SLOTS = 32,
    /// Bytes of each node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Payload words of an extended packet.
    parameter int unsigned PAYLOAD_WORDS = 128,
    /// Entries of the command FIFOs.
    parameter int unsigned COMMAND_DEPTH = 64,
    /// Beats of each In FIFO.
    parameter int unsigned IN_DEPTH = 512,
    /// Beats of each Out FIFO.
    parameter int unsigned OUT_DEPTH = 512,
    /// Words of each Head FIFO.
    parameter int unsigned HEAD_DEPTH = 16,
    /// Tasks of each MM Interface FIFO.
    parameter int unsigned MM_DEPTH = 16,
    /// Ranks that the network reaches.
    parameter int unsigned DESTS = 256,
    /// Banks of node memory.
    parameter int unsigned BANKS = 1,
    /// Cycles from a memory read's grant to its data. From 2 on, requests are granted in two stages.
    parameter int unsigned MEM_LATENCY = 1,
    /// Simulation: maximum number of additional cycles of node memory, at random.
    parameter int unsigned MEM_JITTER = 0,
    /// Posted receives, and as many unexpected messages, that a rank's message engine has room for.
    parameter int unsigned MESSAGES = 256,
    /// Bytes of a fragment of its unexpected message buffer: an eager message at most.
    parameter int unsigned FRAGMENT = 256,
    /// Cells of each of its matching units.
    parameter int unsigned MATCH_CELLS = 16,
    /// Cells of a block of the matching units.
    parameter int unsigned MATCH_BLOCK = 8,
    /// Matchers of each rank's match store; 0: queues with matching units.
    parameter int unsigned MATCHERS = 0,
    /// Queue pairs of the match store, a power of two from 2 to 128.
    parameter int unsigned PAIRS = 16,
    /// 1: each rank has a unit for accumulates; 0: accumulates are refused.
    parameter bit ACCUMULATE = 1'b1,
    /// Cells of the matching unit in the rank's page, 0 for none.
    parameter int unsigned ALPU_CELLS = 0,
    /// Cells of a block of the matching unit.
    parameter int unsigned ALPU_BLOCK = 16,
    /// 1: the matching unit in the page is for posted receives; 0: for unexpected messages.
    parameter bit ALPU_POSTED = 1'b1,
    /// Bits of a beat of the memory port of the rank's kernel, no more than BANKS words; 0 for no kernel.
    parameter int unsigned KERNEL = 0,
    /// 1: the board has a collective unit.
    parameter bit SWITCH = 1'b0
) (
    /// Clock.
    input  logic                             clk_i,
    /// Synchronous reset, active low.
    input  logic                             rst_ni,
    /// Reset of node memory and the sharing of it, synchronous, active low: the host's DMA outlives `rst_ni`.
    input  logic                             memory_rst_ni,
    /// Reads of node memory are under way; the reset waits for their data.
    output logic                             reading_o,
    /// This rank's number on the network.
    input  logic [7:0]                       rank_i,
    /// From the board.
    input  alcor_abi_pkg::board_to_rank_t    board_i,
    /// To the board.
    output alcor_abi_pkg::rank_to_board_t    board_o,

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

    /// A collective of this rank has ended: a completion is offered.
    input  logic                             collective_valid_i,
    /// The completion is taken.
    output logic                             collective_ready_o,
    /// The completion.
    input  alcor_abi_pkg::completion_t       collective_i,
    /// Collectives of this rank have not ended.
    input  logic                             collectives_i,

    /// Kernel: a collective is posted.
    output alcor_abi_pkg::kernel_post_t      post_o,
    /// Kernel: the collective is taken.
    input  logic                             post_ready_i,

    /// Four characters that name the kernel; constant, 0 without one.
    output logic [31:0]                      kernel_id_o,

    /// At a collective command; see rma_sync.
    output alcor_abi_pkg::sync_request_t     sync_o,
    /// All ranks are at a collective command.
    input  alcor_abi_pkg::sync_answer_t      sync_i,

    /// To the routers, plane 0 requests, plane 1 replies: a beat is offered.
    output logic [1:0]                       tx_valid_o,
    /// The beat is taken.
    input  logic [1:0]                       tx_ready_i,
    /// The beat.
    output logic [1:0][DATA_W-1:0]           tx_data_o,
    /// The beat is its packet's last.
    output logic [1:0]                       tx_last_o,
    /// From the routers: a beat is offered.
    input  logic [1:0]                       rx_valid_i,
    /// The beat is taken.
    output logic [1:0]                       rx_ready_o,
    /// The beat.
    input  logic [1:0][DATA_W-1:0]           rx_data_i,
    /// The beat is its packet's last.
    input  logic [1:0]                       rx_last_i,
    /// With `rx_last_i`: the beat ends a damaged packet, and holds no data.
    input  logic [1:0]                       rx_cut_i,

    /// Phit: a read.
    input  alcor_abi_pkg::memory_request_t   phit_read_i,
    /// Answer to the read.
    output alcor_abi_pkg::memory_answer_t    phit_read_o,
    /// Phit: a write.
    input  alcor_abi_pkg::phit_write_t       phit_write_i,
    /// The write is done.
    output logic                             phit_write_ready_o,
    /// Data of the write.
    input  logic [BANKS*32-1:0]              phit_write_data_i,

    /// Host's DMA: a read of a beat.
    input  alcor_abi_pkg::memory_request_t   dma_read_i,
    /// Answer to the read.
    output alcor_abi_pkg::memory_answer_t    dma_read_o,
    /// Host's DMA: a write of a beat.
    input  alcor_abi_pkg::memory_request_t   dma_write_i,
    /// The write is granted.
    output logic                             dma_write_gnt_o,
    /// Data of the write.
    input  logic [BANKS*32-1:0]              dma_write_data_i,
    /// Byte strobes of the write.
    input  logic [BANKS*4-1:0]               dma_write_strobe_i,

    /// Data of the read that is answered, of any reader.
    output logic [BANKS*32-1:0]              data_o
);

  // Latency that queues are made for: with MEM_JITTER they run full now and then.
  localparam int unsigned Typical = MEM_LATENCY + MEM_JITTER / 4;
  localparam int unsigned MemoryW = BANKS * 32;
  // Readers: plane 0, plane 1, phits, DMA, atomic operations, kernel. Writers: plane 0, plane 1, completions, phits, DMA, kernel.
  localparam int unsigned Readers = (KERNEL == 0) ? 5 : 6;
  localparam int unsigned Writers = (KERNEL == 0) ? 5 : 6;

  logic rank_rst_n, memory_rst_n;
  logic [Readers-1:0] read_gnt, read_rvalid;
  logic [Writers-1:0] write_gnt;
  // Of the coprocessor: plane 0, plane 1, atomic operations.
  logic [2:0] read_req;
  logic [2:0][29:0] read_address;
  logic [2:0] write_req;
  logic [2:0][29:0] write_address;
  logic [2:0][DATA_W-1:0] write_data;
  logic [2:0][DATA_W/8-1:0] write_strobe;
  logic [31:0] rank_read_data, alpu_read_data, kernel_read_data;
  alcor_abi_pkg::kernel_to_rank_t from_kernel;
  alcor_abi_pkg::rank_to_kernel_t to_kernel;

  assign read_data_o = rank_read_data | alpu_read_data | kernel_read_data;

  reset_pipe u_memory_reset (
      .clk_i (clk_i),
      .rst_ni(memory_rst_ni),
      .rst_no(memory_rst_n)
  );

  rma_coprocessor #(
      .DATA_W       (DATA_W),
      .SLOTS        (SLOTS),
      .NODE_BYTES   (NODE_BYTES),
      .PAYLOAD_WORDS(PAYLOAD_WORDS),
      .DESTS        (DESTS),
      .COMMAND_DEPTH(COMMAND_DEPTH),
      .IN_DEPTH     (IN_DEPTH),
      .OUT_DEPTH    (OUT_DEPTH),
      .HEAD_DEPTH   (HEAD_DEPTH),
      .MM_DEPTH     (MM_DEPTH),
      .MESSAGES     (MESSAGES),
      .FRAGMENT     (FRAGMENT),
      .MATCH_CELLS  (MATCH_CELLS),
      .MATCH_BLOCK  (MATCH_BLOCK),
      .MATCHERS     (MATCHERS),
      .PAIRS        (PAIRS),
      .ACCUMULATE   (ACCUMULATE),
      .MEM_LATENCY  (Typical),
      .KERNEL       (KERNEL != 0)
  ) u_coprocessor (
      .clk_i             (clk_i),
      .rst_ni            (rst_ni),
      .rank_i            (rank_i),
      .board_i           (board_i),
      .board_o           (board_o),
      .rank_rst_no       (rank_rst_n),
      .page_i            (page_i),
      .read_offset_i     (read_offset_i),
      .read_data_o       (rank_read_data),
      .irq_o             (irq_o),
      .copy_o            (copy_o),
      .copy_ready_i      (copy_ready_i),
      .kernel_i          (from_kernel),
      .kernel_o          (to_kernel),
      .collective_valid_i(collective_valid_i),
      .collective_ready_o(collective_ready_o),
      .collective_i      (collective_i),
      .collectives_i     (collectives_i),
      .sync_o            (sync_o),
      .sync_i            (sync_i),
      .tx_valid_o        (tx_valid_o),
      .tx_ready_i        (tx_ready_i),
      .tx_data_o         (tx_data_o),
      .tx_last_o         (tx_last_o),
      .rx_valid_i        (rx_valid_i),
      .rx_ready_o        (rx_ready_o),
      .rx_data_i         (rx_data_i),
      .rx_last_i         (rx_last_i),
      .rx_cut_i          (rx_cut_i),
      .read_req_o        (read_req),
      .read_gnt_i        ({read_gnt[4], read_gnt[1:0]}),
      .read_address_o    (read_address),
      .read_rvalid_i     ({read_rvalid[4], read_rvalid[1:0]}),
      .read_data_i       (data_o[DATA_W-1:0]),
      .write_req_o       (write_req),
      .write_gnt_i       (write_gnt[2:0]),
      .write_address_o   (write_address),
      .write_data_o      (write_data),
      .write_strobe_o    (write_strobe)
  );

  // ---------------------------------------------------------------- node memory

  alcor_abi_pkg::memory_request_t memory_read, memory_write;
  alcor_abi_pkg::memory_answer_t memory_answer;
  logic [MemoryW-1:0] memory_data;
  logic [MemoryW/8-1:0] memory_strobe, phit_strobe;
  logic memory_gnt;
  alcor_abi_pkg::memory_request_t kernel_read, kernel_write;
  logic [MemoryW-1:0] kernel_data;
  logic [MemoryW/8-1:0] kernel_strobe;
  // All readers and writers, with the kernel's.
  logic [5:0] all_read_req;
  logic [5:0][29:0] all_read_address;
  logic [5:0] all_write_req;
  logic [5:0][29:0] all_write_address;
  logic [5:0][MemoryW-1:0] all_write_data;
  logic [5:0][MemoryW/8-1:0] all_write_strobe;

  for (genvar w = 0; w < BANKS; w++) begin : g_strobe
    assign phit_strobe[4*w+:4] = {4{phit_write_i.strobe[w]}};
  end

  assign all_read_req      = {kernel_read.req, read_req[2], dma_read_i.req, phit_read_i.req, read_req[1:0]};
  assign all_read_address  = {kernel_read.address, read_address[2], dma_read_i.address, phit_read_i.address,
                              read_address[1:0]};
  assign all_write_req     = {kernel_write.req, dma_write_i.req, phit_write_i.valid, write_req};
  assign all_write_address = {kernel_write.address, dma_write_i.address, phit_write_i.address, write_address};
  assign all_write_data    = {kernel_data, dma_write_data_i, phit_write_data_i, MemoryW'(write_data[2]),
                              MemoryW'(write_data[1]), MemoryW'(write_data[0])};
  assign all_write_strobe  = {kernel_strobe, dma_write_strobe_i, phit_strobe, (MemoryW / 8)'(write_strobe[2]),
                              (MemoryW / 8)'(write_strobe[1]), (MemoryW / 8)'(write_strobe[0])};

  memory_arbiter #(
      .READERS(Readers),
      .WRITERS(Writers),
      .WIDTH  (MemoryW),
      .READS  (MEM_LATENCY + MEM_JITTER + 1),
      .STAGES ((MEM_LATENCY > 1) ? 2 : 1)
  ) u_arbiter (
      .clk_i          (clk_i),
      .rst_ni         (memory_rst_n),
      .read_req_i     (all_read_req[Readers-1:0]),
      .read_gnt_o     (read_gnt),
      .read_address_i (all_read_address[Readers-1:0]),
      .read_rvalid_o  (read_rvalid),
      .write_req_i    (all_write_req[Writers-1:0]),
      .write_gnt_o    (write_gnt),
      .write_address_i(all_write_address[Writers-1:0]),
      .write_data_i   (all_write_data[Writers-1:0]),
      .write_strobe_i (all_write_strobe[Writers-1:0]),
      .read_o         (memory_read),
      .read_i         (memory_answer),
      .write_o        (memory_write),
      .write_data_o   (memory_data),
      .write_strobe_o (memory_strobe),
      .write_gnt_i    (memory_gnt)
  );

  node_memory #(
      .NODE_BYTES(NODE_BYTES),
      .BANKS     (BANKS),
      .LATENCY   (MEM_LATENCY),
      .JITTER    (MEM_JITTER)
  ) u_memory (
      .clk_i         (clk_i),
      .rst_ni        (memory_rst_n),
      .read_i        (memory_read),
      .read_o        (memory_answer),
      .data_o        (data_o),
      .write_i       (memory_write),
      .write_gnt_o   (memory_gnt),
      .write_data_i  (memory_data),
      .write_strobe_i(memory_strobe)
  );

  assign phit_read_o.gnt    = read_gnt[2];
  assign phit_read_o.rvalid = read_rvalid[2];
  assign dma_read_o.gnt     = read_gnt[3];
  assign dma_read_o.rvalid  = read_rvalid[3];
  assign phit_write_ready_o = write_gnt[3];
  assign dma_write_gnt_o    = write_gnt[4];

  // Readers whose outstanding reads a reset drops.
  logic [4:0] under_reset_gnt, under_reset_rvalid;

  // A reset forgets reads under way. Their data would then be taken for the data of later reads.
  localparam int unsigned ReadingW = $clog2(MEM_LATENCY + MEM_JITTER + 2);
  logic [ReadingW-1:0] reading_q;

  always_ff @(posedge clk_i) begin
    if (!memory_rst_n) reading_q <= '0;
    else reading_q <= reading_q + ReadingW'(|under_reset_gnt) - ReadingW'(|under_reset_rvalid);
  end

  assign reading_o = reading_q != '0;

  // ---------------------------------------------------------------- kernel

  if (KERNEL != 0) begin : g_kernel
    logic [KERNEL-1:0] word;
    logic [KERNEL/8-1:0] strobe;

    assign under_reset_gnt    = {read_gnt[5:4], read_gnt[2:0]};
    assign under_reset_rvalid = {read_rvalid[5:4], read_rvalid[2:0]};
    assign kernel_data        = MemoryW'(word);
    assign kernel_strobe      = (MemoryW / 8)'(strobe);

    rank_kernel #(
        .WIDTH     (KERNEL),
        .NODE_BYTES(NODE_BYTES),
        .LATENCY   (Typical),
        .MESSAGES  (MESSAGES),
        .FRAGMENT  (FRAGMENT),
        .SWITCH    (SWITCH)
    ) u_kernel (
        .clk_i         (clk_i),
        .rst_ni        (rst_ni),
        .rank_rst_ni   (rank_rst_n),
        .rank_i        (rank_i),
        .id_o          (kernel_id_o),
        .page_i        (page_i),
        .read_offset_i (read_offset_i),
        .read_data_o   (kernel_read_data),
        .coprocessor_o (from_kernel),
        .coprocessor_i (to_kernel),
        .post_o        (post_o),
        .post_ready_i  (post_ready_i),
        .read_o        (kernel_read),
        .read_i        ({read_gnt[5], read_rvalid[5]}),
        .memory_data_i (data_o[KERNEL-1:0]),
        .write_o       (kernel_write),
        .write_gnt_i   (write_gnt[5]),
        .write_data_o  (word),
        .write_strobe_o(strobe)
    );
  end else begin : g_no_kernel
    assign under_reset_gnt    = {1'b0, read_gnt[4], read_gnt[2:0]};
    assign under_reset_rvalid = {1'b0, read_rvalid[4], read_rvalid[2:0]};
    assign kernel_data        = '0;
    assign kernel_strobe      = '0;
    assign kernel_read        = '0;
    assign kernel_write       = '0;
    assign kernel_read_data   = '0;
    assign kernel_id_o        = '0;
    assign from_kernel        = '0;
    assign post_o             = '0;

    logic unused_kernel;
    assign unused_kernel = ^{
      to_kernel, post_ready_i, all_read_req[5], all_read_address[5], all_write_req[5], all_write_address[5],
      all_write_data[5], all_write_strobe[5]
    };
  end

  `ALCOR_CHECK_PARAM(g_check_kernel, KERNEL <= MemoryW, "rank_tile: KERNEL must not be wider than node memory")
`ifndef ALCOR_KERNEL
  `ALCOR_CHECK_PARAM(g_check_macro, KERNEL == 0, "rank_tile: KERNEL without a kernel: the macro ALCOR_KERNEL names none")
`endif

  if (ALPU_CELLS != 0) begin : g_alpu
    alpu_port #(
        .CELLS (ALPU_CELLS),
        .BLOCK (ALPU_BLOCK),
        .POSTED(ALPU_POSTED)
    ) u_alpu_port (
        .clk_i         (clk_i),
        .rst_ni        (rank_rst_n),
        .write_i       (page_i.valid && page_i.offset[11:10] == 2'b11),
        .write_offset_i(page_i.offset),
        .write_data_i  (page_i.data),
        .read_offset_i (read_offset_i),
        .read_data_o   (alpu_read_data)
    );
  end else begin : g_no_alpu
    assign alpu_read_data = '0;

    logic unused_reset;
    assign unused_reset = rank_rst_n;
  end

endmodule

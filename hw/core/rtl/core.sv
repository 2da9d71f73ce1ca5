`include "assertions.svh"

import alcor_abi_pkg::*;

/// One whole board without its vendor parts: coprocessors, crossbar routers, node memory, host port.
///
/// The simulator and the U280 build instantiate this same module. The host reaches it as a stock
/// XDMA in memory-mapped mode does: AXI4-Lite for registers, AXI4 for node memory, an interrupt a
/// rank. `move_*` is a second way to write registers, a write a rank and cycle, which reproduces the
/// papers' test rigs in simulation; a board ties it off.
module core #(
    /// Ranks of the board, 2 to 16.
    parameter int unsigned RANKS = 2,
    /// Slots of each registration table.
    parameter int unsigned SLOTS = 32,
    /// Bytes of each node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Payload words of an extended packet.
    parameter int unsigned PAYLOAD_WORDS = 128,
    /// Entries of the command FIFOs.
    parameter int unsigned COMMAND_DEPTH = 64,
    /// Words of each In FIFO.
    parameter int unsigned IN_DEPTH = 512,
    /// Words of each Out FIFO.
    parameter int unsigned OUT_DEPTH = 512,
    /// Words of each Head FIFO.
    parameter int unsigned HEAD_DEPTH = 16,
    /// Tasks of each MM Interface FIFO.
    parameter int unsigned MM_DEPTH = 16,
    /// Words of each router input memory.
    parameter int unsigned ROUTER_INPUT_DEPTH = 512,
    /// Words of each virtual output queue, crosspoint and output memory.
    parameter int unsigned ROUTER_QUEUE_DEPTH = 16,
    /// Cycles from a granted memory read to its data.
    parameter int unsigned MEM_LATENCY = 1,
    /// Clock in kHz.
    parameter int unsigned CLOCK_KHZ = 250000,
    /// First 32 bits of the source revision, 0 in simulation.
    parameter logic [31:0] REVISION = 32'h0,
    /// Address bits of the register BAR; derived, not to be set.
    localparam int unsigned BarW = 17,
    /// Address bits of the board's node memory; derived, not to be set.
    localparam int unsigned DmaW = $clog2(RANKS) + $clog2(NODE_BYTES)
) (
    /// Clock.
    input  logic                     clk_i,
    /// Synchronous reset, active low.
    input  logic                     rst_ni,

    /// Register BAR, AXI4-Lite: write address.
    input  logic                     lite_awvalid_i,
    /// Register BAR: write address.
    output logic                     lite_awready_o,
    /// Register BAR: write address.
    input  logic [BarW-1:0]          lite_awaddr_i,
    /// Register BAR: write data.
    input  logic                     lite_wvalid_i,
    /// Register BAR: write data.
    output logic                     lite_wready_o,
    /// Register BAR: write data.
    input  logic [31:0]              lite_wdata_i,
    /// Register BAR: write response.
    output logic                     lite_bvalid_o,
    /// Register BAR: write response.
    input  logic                     lite_bready_i,
    /// Register BAR: read address.
    input  logic                     lite_arvalid_i,
    /// Register BAR: read address.
    output logic                     lite_arready_o,
    /// Register BAR: read address.
    input  logic [BarW-1:0]          lite_araddr_i,
    /// Register BAR: read data.
    output logic                     lite_rvalid_o,
    /// Register BAR: read data.
    input  logic                     lite_rready_i,
    /// Register BAR: read data.
    output logic [31:0]              lite_rdata_o,
    /// The register at `lite_araddr_i`, in the same cycle; simulation reads it while time stands.
    output logic [31:0]              peek_o,

    /// Node memory, AXI4: write address.
    input  logic                     dma_awvalid_i,
    /// Node memory: write address.
    output logic                     dma_awready_o,
    /// Node memory: write address, rank × NODE_BYTES + byte.
    input  logic [DmaW-1:0]          dma_awaddr_i,
    /// Node memory: write data.
    input  logic                     dma_wvalid_i,
    /// Node memory: write data.
    output logic                     dma_wready_o,
    /// Node memory: write data.
    input  logic [31:0]              dma_wdata_i,
    /// Node memory: write strobes.
    input  logic [3:0]               dma_wstrb_i,
    /// Node memory: last beat.
    input  logic                     dma_wlast_i,
    /// Node memory: write response.
    output logic                     dma_bvalid_o,
    /// Node memory: write response.
    input  logic                     dma_bready_i,
    /// Node memory: read address.
    input  logic                     dma_arvalid_i,
    /// Node memory: read address.
    output logic                     dma_arready_o,
    /// Node memory: read address.
    input  logic [DmaW-1:0]          dma_araddr_i,
    /// Node memory: beats - 1.
    input  logic [7:0]               dma_arlen_i,
    /// Node memory: read data.
    output logic                     dma_rvalid_o,
    /// Node memory: read data.
    input  logic                     dma_rready_i,
    /// Node memory: read data.
    output logic [31:0]              dma_rdata_o,
    /// Node memory: last beat.
    output logic                     dma_rlast_o,

    /// Interrupt of each rank, a level.
    output logic [RANKS-1:0]         irq_o,

    /// Test rig: a write into a rank's page.
    input  logic [RANKS-1:0]         move_valid_i,
    /// Test rig: its offset.
    input  logic [RANKS-1:0][11:0]   move_offset_i,
    /// Test rig: its data.
    input  logic [RANKS-1:0][31:0]   move_data_i,

    /// Monitor: a word passes; per rank request out, reply out, request in, reply in.
    output logic [RANKS-1:0][3:0]       monitor_valid_o,
    /// Monitor: it is its packet's last.
    output logic [RANKS-1:0][3:0]       monitor_last_o,
    /// Monitor: the word.
    output logic [RANKS-1:0][3:0][31:0] monitor_data_o
);

  localparam int unsigned NodeW = $clog2(NODE_BYTES);
  localparam int unsigned RankW = $clog2(RANKS);

  // ---------------------------------------------------------------- reset: from outside or CONTROL

  logic reset_command;
  logic [3:0] reset_count_q;
  logic core_rst_n;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || reset_command) reset_count_q <= '1;
    else if (reset_count_q != '0) reset_count_q <= reset_count_q - 1'b1;
  end

  assign core_rst_n = reset_count_q == '0;

  // ---------------------------------------------------------------- register BAR

  logic bar_write, bar_ready;
  logic [BarW-1:0] bar_write_address, bar_read_address;
  logic [31:0] bar_write_data, bar_read_data, board_read_data;
  logic [RANKS-1:0][31:0] rank_read_data;

  axi_lite_port #(
      .ADDR_W(BarW)
  ) u_axi_lite_port (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .awvalid_i      (lite_awvalid_i),
      .awready_o      (lite_awready_o),
      .awaddr_i       (lite_awaddr_i),
      .wvalid_i       (lite_wvalid_i),
      .wready_o       (lite_wready_o),
      .wdata_i        (lite_wdata_i),
      .bvalid_o       (lite_bvalid_o),
      .bready_i       (lite_bready_i),
      .arvalid_i      (lite_arvalid_i),
      .arready_o      (lite_arready_o),
      .araddr_i       (lite_araddr_i),
      .rvalid_o       (lite_rvalid_o),
      .rready_i       (lite_rready_i),
      .rdata_o        (lite_rdata_o),
      .write_valid_o  (bar_write),
      .write_ready_i  (bar_ready),
      .write_address_o(bar_write_address),
      .write_data_o   (bar_write_data),
      .read_address_o (bar_read_address),
      .read_data_i    (bar_read_data)
  );

  assign peek_o = bar_read_data;

  always_comb begin
    bar_read_data = (bar_read_address[BarW-1:12] == '0) ? board_read_data : '0;
    for (int unsigned r = 0; r < RANKS; r++) begin
      if (bar_read_address[BarW-1:12] == 5'(r + 1)) bar_read_data = rank_read_data[r];
    end
  end

  // A page has one write a cycle; the rig's goes first.
  logic [RANKS-1:0] page_write;
  logic [RANKS-1:0][11:0] page_offset;
  logic [RANKS-1:0][31:0] page_data;

  always_comb begin
    bar_ready = 1'b1;
    for (int unsigned r = 0; r < RANKS; r++) begin
      page_write[r]  = move_valid_i[r];
      page_offset[r] = move_offset_i[r];
      page_data[r]   = move_data_i[r];
      if (bar_write_address[BarW-1:12] == 5'(r + 1)) begin
        if (move_valid_i[r]) begin
          bar_ready = 1'b0;
        end else begin
          page_write[r]  = bar_write;
          page_offset[r] = bar_write_address[11:0];
          page_data[r]   = bar_write_data;
        end
      end
    end
  end

  logic aborted;
  logic [RANKS-1:0] ready, abort;
  logic [RANKS-1:0][7:0] abort_reason;
  logic [RANKS-1:0][31:0] state;

  board_registers #(
      .RANKS        (RANKS),
      .LINKS        (0),
      .SLOTS        (SLOTS),
      .NODE_BYTES   (NODE_BYTES),
      .PAYLOAD_WORDS(PAYLOAD_WORDS),
      .COMMAND_DEPTH(COMMAND_DEPTH),
      .CLOCK_KHZ    (CLOCK_KHZ),
      .REVISION     (REVISION)
  ) u_board_registers (
      .clk_i         (clk_i),
      .rst_ni        (core_rst_n),
      .read_offset_i (bar_read_address[11:0]),
      .read_data_o   (board_read_data),
      .write_i       (bar_write && bar_ready && bar_write_address[BarW-1:12] == '0),
      .write_offset_i(bar_write_address[11:0]),
      .write_data_i  (bar_write_data),
      .ready_i       (core_rst_n && (&ready)),
      .state_i       (state),
      .abort_i       (abort),
      .abort_reason_i(abort_reason),
      .aborted_o     (aborted),
      .reset_o       (reset_command)
  );

  // ---------------------------------------------------------------- ranks

  logic [RANKS-1:0] sync_valid, quiet, sync_phase, begun;
  logic [RANKS-1:0][1:0] sync_kind;
  logic [RANKS-1:0][4:0] sync_status;
  logic [RANKS-1:0][7:0] sync_slot, nprocs;
  logic fire, fire_phase;
  logic [4:0] verdict;

  // By plane, for the routers.
  logic [1:0][RANKS-1:0] tx_valid, tx_ready, tx_last, rx_valid, rx_ready, rx_last;
  logic [1:0][RANKS-1:0][31:0] tx_data, rx_data;

  logic dma_valid, dma_ready, dma_write;
  logic [DmaW-3:0] dma_address;
  logic [31:0] dma_data;
  logic [3:0] dma_strobe;
  logic [RANKS-1:0] dma_rank_ready;
  logic [RANKS-1:0][31:0] mem_data;

  for (genvar r = 0; r < RANKS; r++) begin : g_rank
    logic read_valid, read_ready, write_valid, write_ready;
    logic [29:0] read_address, write_address;
    logic [31:0] write_word;
    logic [3:0] write_strobe;

    rma_coprocessor #(
        .SLOTS        (SLOTS),
        .NODE_BYTES   (NODE_BYTES),
        .PAYLOAD_WORDS(PAYLOAD_WORDS),
        .DESTS        (RANKS),
        .COMMAND_DEPTH(COMMAND_DEPTH),
        .IN_DEPTH     (IN_DEPTH),
        .OUT_DEPTH    (OUT_DEPTH),
        .HEAD_DEPTH   (HEAD_DEPTH),
        .MM_DEPTH     (MM_DEPTH),
        .MEM_LATENCY  (MEM_LATENCY),
        .ASYNC_HOST   (1'b0)
    ) u_coprocessor (
        .clk_i            (clk_i),
        .rst_ni           (core_rst_n),
        .rank_i           (8'(r)),
        .host_clk_i       (clk_i),
        .host_rst_ni      (core_rst_n),
        .command_write_i  (page_write[r] && page_offset[r][11:10] == 2'b00),
        .command_opcode_i (page_offset[r][9:2]),
        .command_data_i   (page_data[r]),
        .register_write_i (page_write[r] && page_offset[r][11:10] != 2'b00),
        .register_offset_i(page_offset[r]),
        .register_data_i  (page_data[r]),
        .read_offset_i    (bar_read_address[11:0]),
        .read_data_o      (rank_read_data[r]),
        .irq_o            (irq_o[r]),
        .state_o          (state[r]),
        .abort_o          (abort[r]),
        .abort_reason_o   (abort_reason[r]),
        .aborted_i        (aborted),
        .ready_o          (ready[r]),
        .sync_valid_o     (sync_valid[r]),
        .quiet_o          (quiet[r]),
        .sync_kind_o      (sync_kind[r]),
        .sync_status_o    (sync_status[r]),
        .sync_slot_o      (sync_slot[r]),
        .sync_phase_o     (sync_phase[r]),
        .sync_fire_i      (fire),
        .sync_fire_phase_i(fire_phase),
        .sync_verdict_i   (verdict),
        .begun_o          (begun[r]),
        .nprocs_o         (nprocs[r]),
        .tx_valid_o       ({tx_valid[1][r], tx_valid[0][r]}),
        .tx_ready_i       ({tx_ready[1][r], tx_ready[0][r]}),
        .tx_data_o        ({tx_data[1][r], tx_data[0][r]}),
        .tx_last_o        ({tx_last[1][r], tx_last[0][r]}),
        .rx_valid_i       ({rx_valid[1][r], rx_valid[0][r]}),
        .rx_ready_o       ({rx_ready[1][r], rx_ready[0][r]}),
        .rx_data_i        ({rx_data[1][r], rx_data[0][r]}),
        .rx_last_i        ({rx_last[1][r], rx_last[0][r]}),
        .read_valid_o     (read_valid),
        .read_ready_i     (read_ready),
        .read_address_o   (read_address),
        .read_word_i      (mem_data[r]),
        .write_valid_o    (write_valid),
        .write_ready_i    (write_ready),
        .write_address_o  (write_address),
        .write_word_o     (write_word),
        .write_strobe_o   (write_strobe)
    );

    node_memory #(
        .NODE_BYTES(NODE_BYTES),
        .LATENCY   (MEM_LATENCY)
    ) u_memory (
        .clk_i          (clk_i),
        .rst_ni         (core_rst_n),
        .read_valid_i   (read_valid),
        .read_ready_o   (read_ready),
        .read_address_i (read_address[NodeW-3:0]),
        .write_valid_i  (write_valid),
        .write_ready_o  (write_ready),
        .write_address_i(write_address[NodeW-3:0]),
        .write_data_i   (write_word),
        .write_strobe_i (write_strobe),
        .host_valid_i   (dma_valid && dma_address[DmaW-3-:RankW] == RankW'(r)),
        .host_ready_o   (dma_rank_ready[r]),
        .host_write_i   (dma_write),
        .host_address_i (dma_address[NodeW-3:0]),
        .host_data_i    (dma_data),
        .host_strobe_i  (dma_strobe),
        .data_o         (mem_data[r])
    );

    assign monitor_valid_o[r] = {rx_valid[1][r] && rx_ready[1][r], rx_valid[0][r] && rx_ready[0][r],
                                 tx_valid[1][r] && tx_ready[1][r], tx_valid[0][r] && tx_ready[0][r]};
    assign monitor_last_o[r]  = {rx_last[1][r], rx_last[0][r], tx_last[1][r], tx_last[0][r]};
    assign monitor_data_o[r]  = {rx_data[1][r], rx_data[0][r], tx_data[1][r], tx_data[0][r]};
  end

  // ---------------------------------------------------------------- routers, a plane each

  logic [1:0] plane_empty;
  logic [1:0][RANKS-1:0] plane_drop;
  logic [RANKS-1:0][RankW-1:0] route;

  // On one board the destination's number is its port.
  for (genvar r = 0; r < RANKS; r++) begin : g_route
    assign route[r] = RankW'(r);
  end

  for (genvar p = 0; p < 2; p++) begin : g_plane
    router #(
        .PORTS           (RANKS),
        .WIDTH           (32),
        .DESTS           (RANKS),
        .INPUT_DEPTH     (ROUTER_INPUT_DEPTH),
        .VOQ_DEPTH       (ROUTER_QUEUE_DEPTH),
        .CROSSPOINT_DEPTH(ROUTER_QUEUE_DEPTH),
        .OUTPUT_DEPTH    (ROUTER_QUEUE_DEPTH)
    ) u_router (
        .clk_i  (clk_i),
        .rst_ni (core_rst_n),
        .route_i(route),
        .valid_i(tx_valid[p]),
        .ready_o(tx_ready[p]),
        .data_i (tx_data[p]),
        .last_i (tx_last[p]),
        .valid_o(rx_valid[p]),
        .ready_i(rx_ready[p]),
        .data_o (rx_data[p]),
        .last_o (rx_last[p]),
        .drop_o (plane_drop[p]),
        .empty_o(plane_empty[p])
    );
  end

  rma_sync #(
      .RANKS(RANKS)
  ) u_sync (
      .clk_i          (clk_i),
      .rst_ni         (core_rst_n),
      .valid_i        (sync_valid),
      .quiet_i        (quiet),
      .kind_i         (sync_kind),
      .status_i       (sync_status),
      .slot_i         (sync_slot),
      .phase_i        (sync_phase),
      .begun_i        (begun),
      .nprocs_i       (nprocs),
      .network_empty_i(&plane_empty),
      .fire_o         (fire),
      .fire_phase_o   (fire_phase),
      .verdict_o      (verdict)
  );

  // ---------------------------------------------------------------- DMA

  logic [RankW-1:0] dma_rank;
  logic [MEM_LATENCY-1:0][RankW-1:0] dma_rank_q;

  axi_dma_port #(
      .ADDR_W (DmaW),
      .LATENCY(MEM_LATENCY)
  ) u_axi_dma_port (
      .clk_i        (clk_i),
      .rst_ni       (rst_ni),
      .awvalid_i    (dma_awvalid_i),
      .awready_o    (dma_awready_o),
      .awaddr_i     (dma_awaddr_i),
      .wvalid_i     (dma_wvalid_i),
      .wready_o     (dma_wready_o),
      .wdata_i      (dma_wdata_i),
      .wstrb_i      (dma_wstrb_i),
      .wlast_i      (dma_wlast_i),
      .bvalid_o     (dma_bvalid_o),
      .bready_i     (dma_bready_i),
      .arvalid_i    (dma_arvalid_i),
      .arready_o    (dma_arready_o),
      .araddr_i     (dma_araddr_i),
      .arlen_i      (dma_arlen_i),
      .rvalid_o     (dma_rvalid_o),
      .rready_i     (dma_rready_i),
      .rdata_o      (dma_rdata_o),
      .rlast_o      (dma_rlast_o),
      .mem_valid_o  (dma_valid),
      .mem_ready_i  (dma_ready),
      .mem_write_o  (dma_write),
      .mem_address_o(dma_address),
      .mem_data_o   (dma_data),
      .mem_strobe_o (dma_strobe),
      .mem_data_i   (mem_data[dma_rank_q[MEM_LATENCY-1]])
  );

  assign dma_rank  = dma_address[DmaW-3-:RankW];
  assign dma_ready = dma_rank_ready[dma_rank];

  always_ff @(posedge clk_i) begin
    dma_rank_q[0] <= dma_rank;
    for (int unsigned i = 1; i < MEM_LATENCY; i++) dma_rank_q[i] <= dma_rank_q[i-1];
  end

  `ALCOR_CHECK_PARAM(g_check_ranks, RANKS >= 2 && RANKS <= 16 && (RANKS & (RANKS - 1)) == 0,
                     "core: RANKS must be 2, 4, 8 or 16")
  // The coprocessors send to ranks of the run only, so the routers never drop.
  `ALCOR_ASSERT(a_no_drop, plane_drop == '0)

endmodule

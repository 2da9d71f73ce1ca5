/// Bench top for the blocks of hw/core: the AXI4-Lite port, and the DMA port in front of a node memory
/// with the coprocessor's ports beside it, for two latencies of the memory.
module core_bench (
    /// Clock.
    input  logic             clk_i,
    /// Reset.
    input  logic             rst_ni,

    /// AXI4-Lite port.
    input  logic             lite_awvalid_i,
    output logic             lite_awready_o,
    input  logic [16:0]      lite_awaddr_i,
    input  logic             lite_wvalid_i,
    output logic             lite_wready_o,
    input  logic [31:0]      lite_wdata_i,
    output logic             lite_bvalid_o,
    input  logic             lite_bready_i,
    input  logic             lite_arvalid_i,
    output logic             lite_arready_o,
    input  logic [16:0]      lite_araddr_i,
    output logic             lite_rvalid_o,
    input  logic             lite_rready_i,
    output logic [31:0]      lite_rdata_o,
    output logic             lite_write_valid_o,
    input  logic             lite_write_ready_i,
    output logic [16:0]      lite_write_address_o,
    output logic [31:0]      lite_write_data_o,
    output logic [16:0]      lite_read_address_o,
    input  logic [31:0]      lite_read_data_i,

    /// DMA ports and node memories.
    input  logic [1:0]       dma_awvalid_i,
    output logic [1:0]       dma_awready_o,
    input  logic [1:0][9:0]  dma_awaddr_i,
    input  logic [1:0]       dma_wvalid_i,
    output logic [1:0]       dma_wready_o,
    input  logic [1:0][31:0] dma_wdata_i,
    input  logic [1:0][3:0]  dma_wstrb_i,
    input  logic [1:0]       dma_wlast_i,
    output logic [1:0]       dma_bvalid_o,
    input  logic [1:0]       dma_bready_i,
    input  logic [1:0]       dma_arvalid_i,
    output logic [1:0]       dma_arready_o,
    input  logic [1:0][9:0]  dma_araddr_i,
    input  logic [1:0][7:0]  dma_arlen_i,
    output logic [1:0]       dma_rvalid_o,
    input  logic [1:0]       dma_rready_i,
    output logic [1:0][31:0] dma_rdata_o,
    output logic [1:0]       dma_rlast_o,
    /// What passes between the two.
    output logic [1:0]       dma_mem_valid_o,
    output logic [1:0]       dma_mem_ready_o,
    output logic [1:0]       dma_mem_write_o,
    output logic [1:0][7:0]  dma_mem_address_o,
    output logic [1:0][31:0] dma_mem_data_o,
    output logic [1:0][3:0]  dma_mem_strobe_o,
    /// The coprocessor's side.
    input  logic [1:0]       dma_read_valid_i,
    output logic [1:0]       dma_read_ready_o,
    input  logic [1:0][7:0]  dma_read_address_i,
    output logic [1:0][31:0] dma_data_o,
    input  logic [1:0]       dma_write_valid_i,
    output logic [1:0]       dma_write_ready_o,
    input  logic [1:0][7:0]  dma_write_address_i,
    input  logic [1:0][31:0] dma_write_data_i,
    input  logic [1:0][3:0]  dma_write_strobe_i
);

  axi_lite_port #(
      .ADDR_W(17)
  ) u_lite (
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
      .write_valid_o  (lite_write_valid_o),
      .write_ready_i  (lite_write_ready_i),
      .write_address_o(lite_write_address_o),
      .write_data_o   (lite_write_data_o),
      .read_address_o (lite_read_address_o),
      .read_data_i    (lite_read_data_i)
  );

  localparam int unsigned Latency[2] = '{1, 3};

  for (genvar g = 0; g < 2; g++) begin : g_dma
    axi_dma_port #(
        .ADDR_W (10),
        .LATENCY(Latency[g])
    ) u_dma (
        .clk_i        (clk_i),
        .rst_ni       (rst_ni),
        .awvalid_i    (dma_awvalid_i[g]),
        .awready_o    (dma_awready_o[g]),
        .awaddr_i     (dma_awaddr_i[g]),
        .wvalid_i     (dma_wvalid_i[g]),
        .wready_o     (dma_wready_o[g]),
        .wdata_i      (dma_wdata_i[g]),
        .wstrb_i      (dma_wstrb_i[g]),
        .wlast_i      (dma_wlast_i[g]),
        .bvalid_o     (dma_bvalid_o[g]),
        .bready_i     (dma_bready_i[g]),
        .arvalid_i    (dma_arvalid_i[g]),
        .arready_o    (dma_arready_o[g]),
        .araddr_i     (dma_araddr_i[g]),
        .arlen_i      (dma_arlen_i[g]),
        .rvalid_o     (dma_rvalid_o[g]),
        .rready_i     (dma_rready_i[g]),
        .rdata_o      (dma_rdata_o[g]),
        .rlast_o      (dma_rlast_o[g]),
        .mem_valid_o  (dma_mem_valid_o[g]),
        .mem_ready_i  (dma_mem_ready_o[g]),
        .mem_write_o  (dma_mem_write_o[g]),
        .mem_address_o(dma_mem_address_o[g]),
        .mem_data_o   (dma_mem_data_o[g]),
        .mem_strobe_o (dma_mem_strobe_o[g]),
        .mem_data_i   (dma_data_o[g])
    );

    node_memory #(
        .NODE_BYTES(1024),
        .LATENCY   (Latency[g])
    ) u_memory (
        .clk_i          (clk_i),
        .rst_ni         (rst_ni),
        .read_valid_i   (dma_read_valid_i[g]),
        .read_ready_o   (dma_read_ready_o[g]),
        .read_address_i (dma_read_address_i[g]),
        .write_valid_i  (dma_write_valid_i[g]),
        .write_ready_o  (dma_write_ready_o[g]),
        .write_address_i(dma_write_address_i[g]),
        .write_data_i   (dma_write_data_i[g]),
        .write_strobe_i (dma_write_strobe_i[g]),
        .phit_want_i         (1'b0),
        .phit_ready_o        (),
        .phit_read_i         (1'b0),
        .phit_address_i      ('0),
        .phit_write_valid_i  (1'b0),
        .phit_write_ready_o  (),
        .phit_write_address_i('0),
        .phit_write_data_i   ('0),
        .phit_write_strobe_i ('0),
        .host_valid_i   (dma_mem_valid_o[g]),
        .host_ready_o   (dma_mem_ready_o[g]),
        .host_write_i   (dma_mem_write_o[g]),
        .host_address_i (dma_mem_address_o[g]),
        .host_data_i    (dma_mem_data_o[g]),
        .host_strobe_i  (dma_mem_strobe_o[g]),
        .data_o         (dma_data_o[g])
    );
  end

endmodule

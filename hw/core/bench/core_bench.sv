/// Bench top for the blocks of hw/core: AXI4-Lite ports, and DMA ports with two node memories each and ports of
/// coprocessors. Instance 0 has no register slices, and memories that answer at once; instance 1 has slices, and
/// memories that answer at random times.
module core_bench (
    /// Clock.
    input  logic             clk_i,
    /// Reset.
    input  logic             rst_ni,

    /// AXI4-Lite ports, without and with register slices.
    input  logic [1:0]       lite_awvalid_i,
    output logic [1:0]       lite_awready_o,
    input  logic [1:0][16:0] lite_awaddr_i,
    input  logic [1:0]       lite_wvalid_i,
    output logic [1:0]       lite_wready_o,
    input  logic [1:0][31:0] lite_wdata_i,
    output logic [1:0]       lite_bvalid_o,
    input  logic [1:0]       lite_bready_i,
    input  logic [1:0]       lite_arvalid_i,
    output logic [1:0]       lite_arready_o,
    input  logic [1:0][16:0] lite_araddr_i,
    output logic [1:0]       lite_rvalid_o,
    input  logic [1:0]       lite_rready_i,
    output logic [1:0][31:0] lite_rdata_o,
    output logic [1:0]       lite_write_valid_o,
    input  logic [1:0]       lite_write_ready_i,
    output logic [1:0][16:0] lite_write_address_o,
    output logic [1:0][31:0] lite_write_data_o,
    output logic [1:0][16:0] lite_read_address_o,
    input  logic [1:0]       lite_read_ready_i,
    input  logic [1:0][31:0] lite_read_data_i,

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
    /// Signals between DMA ports and node memories.
    output logic [1:0]       dma_mem_read_o,
    output logic [1:0]       dma_mem_read_gnt_o,
    output logic [1:0][7:0]  dma_mem_read_address_o,
    output logic [1:0]       dma_mem_write_o,
    output logic [1:0]       dma_mem_write_gnt_o,
    output logic [1:0][7:0]  dma_mem_write_address_o,
    output logic [1:0][31:0] dma_mem_data_o,
    output logic [1:0][3:0]  dma_mem_strobe_o,
    /// Side of the coprocessors: the upper address bit selects the memory.
    input  logic [1:0]       dma_read_valid_i,
    output logic [1:0]       dma_read_ready_o,
    input  logic [1:0][7:0]  dma_read_address_i,
    input  logic [1:0]       dma_write_valid_i,
    output logic [1:0]       dma_write_ready_o,
    input  logic [1:0][7:0]  dma_write_address_i,
    input  logic [1:0][31:0] dma_write_data_i,
    input  logic [1:0][3:0]  dma_write_strobe_i,
    /// By memory: a read of the coprocessors is answered.
    output logic [1:0][1:0]  dma_answer_o,
    output logic [1:0][1:0][31:0] dma_data_o
);

  for (genvar g = 0; g < 2; g++) begin : g_lite
    axi_lite_port #(
        .ADDR_W(17),
        .SLICES(g != 0)
    ) u_lite (
        .clk_i          (clk_i),
        .rst_ni         (rst_ni),
        .bus_i          ({lite_awvalid_i[g], 1'b0, lite_awaddr_i[g], lite_wvalid_i[g], lite_wdata_i[g], lite_bready_i[g],
                          lite_arvalid_i[g], 1'b0, lite_araddr_i[g], lite_rready_i[g]}),
        .bus_o          ({lite_awready_o[g], lite_wready_o[g], lite_bvalid_o[g], lite_arready_o[g], lite_rvalid_o[g],
                          lite_rdata_o[g]}),
        .write_valid_o  (lite_write_valid_o[g]),
        .write_ready_i  (lite_write_ready_i[g]),
        .write_address_o(lite_write_address_o[g]),
        .write_data_o   (lite_write_data_o[g]),
        .read_address_o (lite_read_address_o[g]),
        .read_ready_i   (lite_read_ready_i[g]),
        .read_data_i    (lite_read_data_i[g])
    );
  end

  for (genvar g = 0; g < 2; g++) begin : g_dma
    localparam int unsigned Latency = (g == 0) ? 1 : 3;
    localparam int unsigned Jitter = (g == 0) ? 0 : 40;

    alcor_abi_pkg::memory_request_t read, write;
    logic [1:0] read_gnt, rvalid, write_gnt, other_read_gnt, other_write_gnt;

    axi_dma_port #(
        .ADDR_W (10),
        .NODE_W (9),
        .LATENCY(Latency),
        .SLICES (g != 0)
    ) u_dma (
        .clk_i         (clk_i),
        .rst_ni        (rst_ni),
        .bus_i         ({dma_awvalid_i[g], 32'(dma_awaddr_i[g]), dma_wvalid_i[g], dma_wlast_i[g], dma_bready_i[g],
                         dma_arvalid_i[g], 32'(dma_araddr_i[g]), dma_arlen_i[g], dma_rready_i[g]}),
        .wdata_i       (dma_wdata_i[g]),
        .wstrb_i       (dma_wstrb_i[g]),
        .bus_o         ({dma_awready_o[g], dma_wready_o[g], dma_bvalid_o[g], dma_arready_o[g], dma_rvalid_o[g],
                         dma_rlast_o[g]}),
        .rdata_o       (dma_rdata_o[g]),
        .read_o        (read),
        .read_i        ({read_gnt != '0, rvalid != '0}),
        .read_data_i   (rvalid[1] ? dma_data_o[g][1] : dma_data_o[g][0]),
        .write_o       (write),
        .write_gnt_i   (write_gnt != '0),
        .write_data_o  (dma_mem_data_o[g]),
        .write_strobe_o(dma_mem_strobe_o[g])
    );

    assign dma_mem_read_o[g]          = read.req;
    assign dma_mem_read_gnt_o[g]      = read_gnt != '0;
    assign dma_mem_read_address_o[g]  = read.address[7:0];
    assign dma_mem_write_o[g]         = write.req;
    assign dma_mem_write_gnt_o[g]     = write_gnt != '0;
    assign dma_mem_write_address_o[g] = write.address[7:0];
    assign dma_read_ready_o[g]        = other_read_gnt != '0;
    assign dma_write_ready_o[g]       = other_write_gnt != '0;

    for (genvar m = 0; m < 2; m++) begin : g_memory
      alcor_abi_pkg::memory_request_t memory_read, memory_write;
      alcor_abi_pkg::memory_answer_t answer;
      logic [31:0] memory_data;
      logic [3:0] memory_strobe;
      logic gnt;

      memory_arbiter #(
          .READERS(2),
          .WRITERS(2),
          .READS  (Latency + Jitter + 1),
          .STAGES (g + 1)
      ) u_arbiter (
          .clk_i          (clk_i),
          .rst_ni         (rst_ni),
          .read_req_i     ({read.req && read.address[7] == 1'(m),
                            dma_read_valid_i[g] && dma_read_address_i[g][7] == 1'(m)}),
          .read_gnt_o     ({read_gnt[m], other_read_gnt[m]}),
          .read_address_i ({read.address, 30'(dma_read_address_i[g])}),
          .read_rvalid_o  ({rvalid[m], dma_answer_o[g][m]}),
          .write_req_i    ({write.req && write.address[7] == 1'(m),
                            dma_write_valid_i[g] && dma_write_address_i[g][7] == 1'(m)}),
          .write_gnt_o    ({write_gnt[m], other_write_gnt[m]}),
          .write_address_i({write.address, 30'(dma_write_address_i[g])}),
          .write_data_i   ({dma_mem_data_o[g], dma_write_data_i[g]}),
          .write_strobe_i ({dma_mem_strobe_o[g], dma_write_strobe_i[g]}),
          .read_o         (memory_read),
          .read_i         (answer),
          .write_o        (memory_write),
          .write_data_o   (memory_data),
          .write_strobe_o (memory_strobe),
          .write_gnt_i    (gnt)
      );

      node_memory #(
          .NODE_BYTES(512),
          .LATENCY   (Latency),
          .JITTER    (Jitter)
      ) u_memory (
          .clk_i         (clk_i),
          .rst_ni        (rst_ni),
          .read_i        (memory_read),
          .read_o        (answer),
          .data_o        (dma_data_o[g][m]),
          .write_i       (memory_write),
          .write_gnt_o   (gnt),
          .write_data_i  (memory_data),
          .write_strobe_i(memory_strobe)
      );
    end
  end

endmodule

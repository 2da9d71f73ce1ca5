import alcor_abi_pkg::*;

/// Bench top for the host's side of `core`: its AXI4 and AXI4-Lite ports, the pages behind both, and a node memory.
module host_side_bench #(
    /// Bits of a beat of the AXI4 port.
    parameter int unsigned DATA_W = 32,
    /// Cycles from a memory read's grant to its data.
    parameter int unsigned MEM_LATENCY = 1,
    /// Maximum number of additional cycles, at random.
    parameter int unsigned MEM_JITTER = 0,
    /// Register slices at both ports.
    parameter bit SLICES = 1'b0,
    /// Bytes of node memory; derived, do not set.
    localparam int unsigned NodeBytes = 4096,
    /// Address bits of the AXI4 port; derived, do not set.
    localparam int unsigned AddrW = 18
) (
    /// Clock.
    input  logic                clk_i,
    /// Reset.
    input  logic                rst_ni,

    /// AXI4-Lite.
    input  lite_request_t       lite_i,
    output lite_answer_t        lite_o,

    /// AXI4.
    input  dma_request_t        dma_i,
    input  logic [DATA_W-1:0]   wdata_i,
    input  logic [DATA_W/8-1:0] wstrb_i,
    output dma_answer_t         dma_o,
    output logic [DATA_W-1:0]   rdata_o,

    /// Page writes: the board's, and two ranks'.
    output page_write_t         board_o,
    output logic [1:0]          page_write_o,
    output logic [1:0][11:0]    page_offset_o,
    output logic [1:0][31:0]    page_data_o
);

  bus_write_t page;
  memory_request_t port_read, port_write, memory_read, memory_write;
  memory_answer_t port_answer, memory_answer;
  logic port_write_gnt, memory_write_gnt, page_ready, page_read;
  logic [16:0] page_address;
  logic [31:0] page_value;
  logic [11:0] read_offset;
  logic [DATA_W-1:0] port_data, memory_data, write_data;
  logic [DATA_W/8-1:0] write_strobe;

  axi_dma_port #(
      .DATA_W (DATA_W),
      .ADDR_W (AddrW),
      .NODE_W (12),
      .LATENCY(MEM_LATENCY),
      .SLICES (SLICES)
  ) u_port (
      .clk_i         (clk_i),
      .rst_ni        (rst_ni),
      .bus_i         (dma_i),
      .wdata_i       (wdata_i),
      .wstrb_i       (wstrb_i),
      .bus_o         (dma_o),
      .rdata_o       (rdata_o),
      .read_o        (port_read),
      .read_i        (port_answer),
      .read_data_i   (port_data),
      .write_o       (port_write),
      .write_gnt_i   (port_write_gnt),
      .write_data_o  (write_data),
      .write_strobe_o(write_strobe)
  );

  dma_pages #(
      .DATA_W(DATA_W),
      .ADDR_W(AddrW)
  ) u_pages (
      .clk_i             (clk_i),
      .rst_ni            (rst_ni),
      .read_i            (port_read),
      .read_o            (port_answer),
      .read_data_o       (port_data),
      .write_i           (port_write),
      .write_gnt_o       (port_write_gnt),
      .write_data_i      (write_data),
      .write_strobe_i    (write_strobe),
      .memory_read_o     (memory_read),
      .memory_read_i     (memory_answer),
      .memory_data_i     (memory_data),
      .memory_write_o    (memory_write),
      .memory_write_gnt_i(memory_write_gnt),
      .page_o            (page),
      .page_ready_i      (page_ready),
      .page_read_o       (page_read),
      .page_address_o    (page_address),
      .page_data_i       (page_value)
  );

  node_memory #(
      .NODE_BYTES(NodeBytes),
      .BANKS     (DATA_W / 32),
      .LATENCY   (MEM_LATENCY),
      .JITTER    (MEM_JITTER)
  ) u_memory (
      .clk_i         (clk_i),
      .rst_ni        (rst_ni),
      .read_i        (memory_read),
      .read_o        (memory_answer),
      .data_o        (memory_data),
      .write_i       (memory_write),
      .write_gnt_o   (memory_write_gnt),
      .write_data_i  (write_data),
      .write_strobe_i(write_strobe)
  );

  host_port #(
      .RANKS (2),
      .SLICES(SLICES)
  ) u_host (
      .clk_i            (clk_i),
      .rst_ni           (rst_ni),
      .bus_i            (lite_i),
      .bus_o            (lite_o),
      .dma_write_i      (page),
      .dma_write_ready_o(page_ready),
      .dma_read_i       (page_read),
      .dma_address_i    (page_address),
      .dma_data_o       (page_value),
      .board_o          (board_o),
      .page_write_o     (page_write_o),
      .page_offset_o    (page_offset_o),
      .page_data_o      (page_data_o),
      .read_offset_o    (read_offset),
      .board_read_i     ({8'hb0, 12'd0, read_offset}),
      .rank_read_i      ({8'h02, 12'd0, read_offset, 8'h01, 12'd0, read_offset})
  );

endmodule

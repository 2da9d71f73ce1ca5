import alcor_abi_pkg::*;

/// The page of the board's links: state of the link ends, and counts of their events. Read only.
module links_registers #(
    /// Link ports, at most 8.
    parameter int unsigned LINKS = 2
) (
    /// Clock.
    input  logic                   clk_i,
    /// Synchronous reset, active low.
    input  logic                   rst_ni,

    /// AXI4-Lite: write address.
    input  logic                   awvalid_i,
    /// AXI4-Lite: write address.
    output logic                   awready_o,
    /// AXI4-Lite: write address.
    input  logic [11:0]            awaddr_i,
    /// AXI4-Lite: write data.
    input  logic                   wvalid_i,
    /// AXI4-Lite: write data.
    output logic                   wready_o,
    /// AXI4-Lite: write data.
    input  logic [31:0]            wdata_i,
    /// AXI4-Lite: write response.
    output logic                   bvalid_o,
    /// AXI4-Lite: write response.
    input  logic                   bready_i,
    /// AXI4-Lite: read address.
    input  logic                   arvalid_i,
    /// AXI4-Lite: read address.
    output logic                   arready_o,
    /// AXI4-Lite: read address.
    input  logic [11:0]            araddr_i,
    /// AXI4-Lite: read data.
    output logic                   rvalid_o,
    /// AXI4-Lite: read data.
    input  logic                   rready_i,
    /// AXI4-Lite: read data.
    output logic [31:0]            rdata_o,

    /// By port: register LINK_STATUS.
    input  logic [LINKS-1:0][31:0]  status_i,
    /// By port: counts of events, link_counts_t.
    input  logic [LINKS-1:0][127:0] counts_i
);

  // Registers of counts, one after the other, as their members in link_counts_t.
  localparam int unsigned Kinds = 8;

  logic [11:0] read_address;
  logic [31:0] read_data;

  axi_lite_port #(
      .ADDR_W(12)
  ) u_port (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .awvalid_i      (awvalid_i),
      .awready_o      (awready_o),
      .awaddr_i       (awaddr_i),
      .wvalid_i       (wvalid_i),
      .wready_o       (wready_o),
      .wdata_i        (wdata_i),
      .bvalid_o       (bvalid_o),
      .bready_i       (bready_i),
      .arvalid_i      (arvalid_i),
      .arready_o      (arready_o),
      .araddr_i       (araddr_i),
      .rvalid_o       (rvalid_o),
      .rready_i       (rready_i),
      .rdata_o        (rdata_o),
      .write_valid_o  (),
      .write_ready_i  (1'b1),
      .write_address_o(),
      .write_data_o   (),
      .read_address_o (read_address),
      .read_data_i    (read_data)
  );

  always_comb begin
    read_data = '0;
    for (int unsigned p = 0; p < LINKS; p++) begin
      if (read_address == LINKS_LINK_STATUS_OFFSET + 12'(4 * p)) read_data = status_i[p];
      for (int unsigned k = 0; k < Kinds; k++) begin
        if (read_address == LINKS_LINK_DAMAGED_OFFSET + 12'(32 * k + 4 * p)) read_data[15:0] = counts_i[p][16*k+:16];
      end
    end
  end

endmodule

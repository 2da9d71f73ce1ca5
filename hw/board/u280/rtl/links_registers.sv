import alcor_abi_pkg::*;

/// The page of the board's links: state of the link ends, and counts of their events. Read only.
module links_registers #(
    /// Link ports, at most 8.
    parameter int unsigned LINKS = 2
) (
    /// Clock.
    input  logic                         clk_i,
    /// Synchronous reset, active low.
    input  logic                         rst_ni,

    /// AXI4-Lite: signals of the host.
    input  alcor_abi_pkg::lite_request_t bus_i,
    /// AXI4-Lite: signals of this slave.
    output alcor_abi_pkg::lite_answer_t  bus_o,

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
      .bus_i          (bus_i),
      .bus_o          (bus_o),
      .write_valid_o  (),
      .write_ready_i  (1'b1),
      .write_address_o(),
      .write_data_o   (),
      .read_address_o (read_address),
      .read_ready_i   (1'b1),
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

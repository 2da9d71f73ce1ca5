/// Bench tops for the board's blocks at the register BAR, with a port for each signal of their bundles.

/// The splitter.
module lite_split_bench (
    input  logic             clk_i,
    input  logic             rst_ni,
    // The master.
    input  logic             awvalid_i,
    output logic             awready_o,
    input  logic [17:0]      awaddr_i,
    input  logic             wvalid_i,
    output logic             wready_o,
    input  logic [31:0]      wdata_i,
    output logic             bvalid_o,
    input  logic             bready_i,
    input  logic             arvalid_i,
    output logic             arready_o,
    input  logic [17:0]      araddr_i,
    output logic             rvalid_o,
    input  logic             rready_i,
    output logic [31:0]      rdata_o,
    // By slave.
    output logic [1:0]       slave_awvalid_o,
    input  logic [1:0]       slave_awready_i,
    output logic [1:0][17:0] slave_awaddr_o,
    output logic [1:0]       slave_wvalid_o,
    input  logic [1:0]       slave_wready_i,
    output logic [1:0][31:0] slave_wdata_o,
    input  logic [1:0]       slave_bvalid_i,
    output logic [1:0]       slave_bready_o,
    output logic [1:0]       slave_arvalid_o,
    input  logic [1:0]       slave_arready_i,
    output logic [1:0][17:0] slave_araddr_o,
    input  logic [1:0]       slave_rvalid_i,
    output logic [1:0]       slave_rready_o,
    input  logic [1:0][31:0] slave_rdata_i
);

  logic [1:0][alcor_abi_pkg::LiteRequestW-1:0] requests;
  logic [1:0][alcor_abi_pkg::LiteAnswerW-1:0] answers;

  lite_split u_split (
      .clk_i   (clk_i),
      .rst_ni  (rst_ni),
      .bus_i   ({awvalid_i, awaddr_i, wvalid_i, wdata_i, bready_i, arvalid_i, araddr_i, rready_i}),
      .bus_o   ({awready_o, wready_o, bvalid_o, arready_o, rvalid_o, rdata_o}),
      .slaves_o(requests),
      .slaves_i(answers)
  );

  for (genvar s = 0; s < 2; s++) begin : g_slave
    assign {slave_awvalid_o[s], slave_awaddr_o[s], slave_wvalid_o[s], slave_wdata_o[s], slave_bready_o[s],
            slave_arvalid_o[s], slave_araddr_o[s], slave_rready_o[s]} = requests[s];
    assign answers[s] = {slave_awready_i[s], slave_wready_i[s], slave_bvalid_i[s], slave_arready_i[s], slave_rvalid_i[s],
                         slave_rdata_i[s]};
  end

endmodule

/// The page of the links.
module links_registers_bench #(
    /// Link ports.
    parameter int unsigned LINKS = 2
) (
    input  logic                    clk_i,
    input  logic                    rst_ni,
    input  logic                    awvalid_i,
    output logic                    awready_o,
    input  logic [17:0]             awaddr_i,
    input  logic                    wvalid_i,
    output logic                    wready_o,
    input  logic [31:0]             wdata_i,
    output logic                    bvalid_o,
    input  logic                    bready_i,
    input  logic                    arvalid_i,
    output logic                    arready_o,
    input  logic [17:0]             araddr_i,
    output logic                    rvalid_o,
    input  logic                    rready_i,
    output logic [31:0]             rdata_o,
    input  logic [LINKS-1:0][31:0]  status_i,
    input  logic [LINKS-1:0][127:0] counts_i
);

  links_registers #(
      .LINKS(LINKS)
  ) u_registers (
      .clk_i   (clk_i),
      .rst_ni  (rst_ni),
      .bus_i   ({awvalid_i, awaddr_i, wvalid_i, wdata_i, bready_i, arvalid_i, araddr_i, rready_i}),
      .bus_o   ({awready_o, wready_o, bvalid_o, arready_o, rvalid_o, rdata_o}),
      .status_i(status_i),
      .counts_i(counts_i)
  );

endmodule

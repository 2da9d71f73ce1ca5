/// The five channels of an AXI bus across a border between super logic regions (SLR), each in an `slr_stream`.
///
/// The host's side has the master, the core's side the slave. The channels stay in order by themselves and do not wait for each
/// other, so any AXI stays valid: AXI4, AXI4-Lite, any number of transactions. Each channel takes 2 × STAGES + 1 cycles.
module slr_axi #(
    /// Bits of a write address, with all that goes with it.
    parameter int unsigned AW_W = 32,
    /// Bits of a beat of write data, with strobes and last.
    parameter int unsigned W_W = 37,
    /// Bits of a read address, with all that goes with it.
    parameter int unsigned AR_W = 40,
    /// Bits of a beat of read data, with last.
    parameter int unsigned R_W = 33,
    /// Registers on each side of the border, 1 or more.
    parameter int unsigned STAGES = 1
) (
    /// Clock.
    input  logic            clk_i,
    /// Synchronous reset of the host's side, active low.
    input  logic            host_rst_ni,
    /// Synchronous reset of the core's side, active low.
    input  logic            core_rst_ni,

    /// Host's side: a write address is offered.
    input  logic            host_awvalid_i,
    /// Host's side: the write address is taken.
    output logic            host_awready_o,
    /// Host's side: the write address.
    input  logic [AW_W-1:0] host_aw_i,
    /// Host's side: a beat of write data is offered.
    input  logic            host_wvalid_i,
    /// Host's side: the beat of write data is taken.
    output logic            host_wready_o,
    /// Host's side: the beat of write data.
    input  logic [W_W-1:0]  host_w_i,
    /// Host's side: a write response is offered.
    output logic            host_bvalid_o,
    /// Host's side: the write response is taken.
    input  logic            host_bready_i,
    /// Host's side: a read address is offered.
    input  logic            host_arvalid_i,
    /// Host's side: the read address is taken.
    output logic            host_arready_o,
    /// Host's side: the read address.
    input  logic [AR_W-1:0] host_ar_i,
    /// Host's side: a beat of read data is offered.
    output logic            host_rvalid_o,
    /// Host's side: the beat of read data is taken.
    input  logic            host_rready_i,
    /// Host's side: the beat of read data.
    output logic [R_W-1:0]  host_r_o,

    /// Core's side: a write address is offered.
    output logic            core_awvalid_o,
    /// Core's side: the write address is taken.
    input  logic            core_awready_i,
    /// Core's side: the write address.
    output logic [AW_W-1:0] core_aw_o,
    /// Core's side: a beat of write data is offered.
    output logic            core_wvalid_o,
    /// Core's side: the beat of write data is taken.
    input  logic            core_wready_i,
    /// Core's side: the beat of write data.
    output logic [W_W-1:0]  core_w_o,
    /// Core's side: a write response is offered.
    input  logic            core_bvalid_i,
    /// Core's side: the write response is taken.
    output logic            core_bready_o,
    /// Core's side: a read address is offered.
    output logic            core_arvalid_o,
    /// Core's side: the read address is taken.
    input  logic            core_arready_i,
    /// Core's side: the read address.
    output logic [AR_W-1:0] core_ar_o,
    /// Core's side: a beat of read data is offered.
    input  logic            core_rvalid_i,
    /// Core's side: the beat of read data is taken.
    output logic            core_rready_o,
    /// Core's side: the beat of read data.
    input  logic [R_W-1:0]  core_r_i
);

  slr_stream #(.WIDTH(AW_W), .STAGES(STAGES)) u_aw (
      .clk_i(clk_i), .rst_ni(core_rst_ni), .valid_i(host_awvalid_i), .ready_o(host_awready_o), .data_i(host_aw_i),
      .valid_o(core_awvalid_o), .ready_i(core_awready_i), .data_o(core_aw_o)
  );

  slr_stream #(.WIDTH(W_W), .STAGES(STAGES)) u_w (
      .clk_i(clk_i), .rst_ni(core_rst_ni), .valid_i(host_wvalid_i), .ready_o(host_wready_o), .data_i(host_w_i),
      .valid_o(core_wvalid_o), .ready_i(core_wready_i), .data_o(core_w_o)
  );

  slr_stream #(.WIDTH(1), .STAGES(STAGES)) u_b (
      .clk_i(clk_i), .rst_ni(host_rst_ni), .valid_i(core_bvalid_i), .ready_o(core_bready_o), .data_i(1'b0),
      .valid_o(host_bvalid_o), .ready_i(host_bready_i), .data_o()
  );

  slr_stream #(.WIDTH(AR_W), .STAGES(STAGES)) u_ar (
      .clk_i(clk_i), .rst_ni(core_rst_ni), .valid_i(host_arvalid_i), .ready_o(host_arready_o), .data_i(host_ar_i),
      .valid_o(core_arvalid_o), .ready_i(core_arready_i), .data_o(core_ar_o)
  );

  slr_stream #(.WIDTH(R_W), .STAGES(STAGES)) u_r (
      .clk_i(clk_i), .rst_ni(host_rst_ni), .valid_i(core_rvalid_i), .ready_o(core_rready_o), .data_i(core_r_i),
      .valid_o(host_rvalid_o), .ready_i(host_rready_i), .data_o(host_r_o)
  );

endmodule

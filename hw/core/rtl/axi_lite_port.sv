`include "assertions.svh"

/// AXI4-Lite slave of the user BAR: 32-bit register writes and reads.
///
/// A write is taken when address and data are both there and `write_ready_i` is high; every access
/// is answered OKAY. Only whole words are written: strobes are not looked at, as the ABI has no
/// narrower access.
///
/// Responses and read data come from registers. With SLICES, addresses and write data pass a register slice each, so
/// that all paths of the bus end and begin at registers; a write and a read then take a cycle more.
module axi_lite_port #(
    /// Address bits.
    parameter int unsigned ADDR_W = 17,
    /// 1: register slices behind write address, write data and read address.
    parameter bit SLICES = 1'b0
) (
    /// Clock.
    input  logic              clk_i,
    /// Synchronous reset, active low.
    input  logic              rst_ni,

    /// AXI write address.
    input  logic              awvalid_i,
    /// AXI write address.
    output logic              awready_o,
    /// AXI write address.
    input  logic [ADDR_W-1:0] awaddr_i,
    /// AXI write data.
    input  logic              wvalid_i,
    /// AXI write data.
    output logic              wready_o,
    /// AXI write data.
    input  logic [31:0]       wdata_i,
    /// AXI write response.
    output logic              bvalid_o,
    /// AXI write response.
    input  logic              bready_i,
    /// AXI read address.
    input  logic              arvalid_i,
    /// AXI read address.
    output logic              arready_o,
    /// AXI read address.
    input  logic [ADDR_W-1:0] araddr_i,
    /// AXI read data.
    output logic              rvalid_o,
    /// AXI read data.
    input  logic              rready_i,
    /// AXI read data.
    output logic [31:0]       rdata_o,

    /// A register is written in this cycle.
    output logic              write_valid_o,
    /// The write can be taken.
    input  logic              write_ready_i,
    /// Address of the write.
    output logic [ADDR_W-1:0] write_address_o,
    /// Data of the write.
    output logic [31:0]       write_data_o,
    /// Register to be read.
    output logic [ADDR_W-1:0] read_address_o,
    /// Value of the register, in the same cycle.
    input  logic [31:0]       read_data_i
);

  logic write, read;
  logic bvalid_q, rvalid_q;
  logic [31:0] rdata_q;

  logic aw_valid, w_valid, ar_valid;

  skid_buffer #(.WIDTH(ADDR_W), .SLICE(SLICES)) u_aw (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(awvalid_i), .ready_o(awready_o), .data_i(awaddr_i),
      .valid_o(aw_valid), .ready_i(write), .data_o(write_address_o), .empty_o()
  );

  skid_buffer #(.WIDTH(32), .SLICE(SLICES)) u_w (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(wvalid_i), .ready_o(wready_o), .data_i(wdata_i),
      .valid_o(w_valid), .ready_i(write), .data_o(write_data_o), .empty_o()
  );

  skid_buffer #(.WIDTH(ADDR_W), .SLICE(SLICES)) u_ar (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(arvalid_i), .ready_o(arready_o), .data_i(araddr_i),
      .valid_o(ar_valid), .ready_i(!rvalid_q), .data_o(read_address_o), .empty_o()
  );

  assign write_valid_o = aw_valid && w_valid && !bvalid_q;
  assign write         = write_valid_o && write_ready_i;
  assign bvalid_o      = bvalid_q;

  assign read          = ar_valid && !rvalid_q;
  assign rvalid_o      = rvalid_q;
  assign rdata_o       = rdata_q;

  always_ff @(posedge clk_i) begin
    if (read) rdata_q <= read_data_i;
    if (!rst_ni) begin
      bvalid_q <= 1'b0;
      rvalid_q <= 1'b0;
    end else begin
      if (write) bvalid_q <= 1'b1;
      else if (bready_i) bvalid_q <= 1'b0;
      if (read) rvalid_q <= 1'b1;
      else if (rready_i) rvalid_q <= 1'b0;
    end
  end

  `ALCOR_STABLE(a_b_stable, bvalid_o, bready_i, 1'b0)
  `ALCOR_STABLE(a_r_stable, rvalid_o, rready_i, rdata_o)

endmodule

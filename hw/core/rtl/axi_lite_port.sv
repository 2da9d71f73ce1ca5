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
    input  logic                        clk_i,
    /// Synchronous reset, active low.
    input  logic                        rst_ni,

    /// AXI4-Lite: signals of the master.
    input  alcor_abi_pkg::lite_request_t bus_i,
    /// AXI4-Lite: signals of this slave.
    output alcor_abi_pkg::lite_answer_t bus_o,

    /// A register is written in this cycle.
    output logic                        write_valid_o,
    /// The write can be taken.
    input  logic                        write_ready_i,
    /// Address of the write.
    output logic [ADDR_W-1:0]           write_address_o,
    /// Data of the write.
    output logic [31:0]                 write_data_o,
    /// Register to be read.
    output logic [ADDR_W-1:0]           read_address_o,
    /// The value belongs to this register.
    input  logic                        read_ready_i,
    /// Value of the register, in the same cycle.
    input  logic [31:0]                 read_data_i
);

  logic write, read;
  logic bvalid_q, rvalid_q;
  logic [31:0] rdata_q;

  logic aw_valid, w_valid, ar_valid;

  skid_buffer #(.WIDTH(ADDR_W), .SLICE(SLICES)) u_aw (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(bus_i.awvalid), .ready_o(bus_o.awready), .data_i(bus_i.awaddr[ADDR_W-1:0]),
      .valid_o(aw_valid), .ready_i(write), .data_o(write_address_o), .empty_o()
  );

  skid_buffer #(.WIDTH(32), .SLICE(SLICES)) u_w (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(bus_i.wvalid), .ready_o(bus_o.wready), .data_i(bus_i.wdata),
      .valid_o(w_valid), .ready_i(write), .data_o(write_data_o), .empty_o()
  );

  skid_buffer #(.WIDTH(ADDR_W), .SLICE(SLICES)) u_ar (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(bus_i.arvalid), .ready_o(bus_o.arready), .data_i(bus_i.araddr[ADDR_W-1:0]),
      .valid_o(ar_valid), .ready_i(read_ready_i && !rvalid_q), .data_o(read_address_o), .empty_o()
  );

  assign write_valid_o = aw_valid && w_valid && !bvalid_q;
  assign write         = write_valid_o && write_ready_i;
  assign bus_o.bvalid  = bvalid_q;

  assign read         = ar_valid && read_ready_i && !rvalid_q;
  assign bus_o.rvalid = rvalid_q;
  assign bus_o.rdata  = rdata_q;

  always_ff @(posedge clk_i) begin
    if (read) rdata_q <= read_data_i;
    if (!rst_ni) begin
      bvalid_q <= 1'b0;
      rvalid_q <= 1'b0;
    end else begin
      if (write) bvalid_q <= 1'b1;
      else if (bus_i.bready) bvalid_q <= 1'b0;
      if (read) rvalid_q <= 1'b1;
      else if (bus_i.rready) rvalid_q <= 1'b0;
    end
  end

  `ALCOR_STABLE(a_b_stable, bus_o.bvalid, bus_i.bready, 1'b0)
  `ALCOR_STABLE(a_r_stable, bus_o.rvalid, bus_i.rready, bus_o.rdata)

endmodule

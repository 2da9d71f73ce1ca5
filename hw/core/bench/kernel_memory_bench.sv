import alcor_abi_pkg::*;

/// Bench top for `kernel_memory` with a port for each field of its bundles.
module kernel_memory_bench #(
    parameter int unsigned WIDTH = 32,
    parameter int unsigned NODE_BYTES = 2048,
    parameter int unsigned LATENCY = 1
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic               stop_i,
    output logic               idle_o,
    // The kernel.
    input  logic               awvalid_i,
    output logic               awready_o,
    input  logic [31:0]        awaddr_i,
    input  logic [7:0]         awlen_i,
    input  logic               wvalid_i,
    output logic               wready_o,
    input  logic [WIDTH-1:0]   wdata_i,
    input  logic [WIDTH/8-1:0] wstrb_i,
    output logic               bvalid_o,
    input  logic               bready_i,
    output logic [1:0]         bresp_o,
    input  logic               arvalid_i,
    output logic               arready_o,
    input  logic [31:0]        araddr_i,
    input  logic [7:0]         arlen_i,
    output logic               rvalid_o,
    input  logic               rready_i,
    output logic [WIDTH-1:0]   rdata_o,
    output logic [1:0]         rresp_o,
    output logic               rlast_o,
    // Node memory.
    output logic               read_req_o,
    output logic [29:0]        read_address_o,
    input  logic               read_gnt_i,
    input  logic               read_rvalid_i,
    input  logic [WIDTH-1:0]   read_data_i,
    output logic               write_req_o,
    output logic [29:0]        write_address_o,
    input  logic               write_gnt_i,
    output logic [WIDTH-1:0]   write_data_o,
    output logic [WIDTH/8-1:0] write_strobe_o
);

  alcor_abi_pkg::memory_request_t read, write;
  alcor_abi_pkg::memory_answer_t answer;

  assign answer          = {read_gnt_i, read_rvalid_i};
  assign read_req_o      = read.req;
  assign read_address_o  = read.address;
  assign write_req_o     = write.req;
  assign write_address_o = write.address;

  kernel_memory #(
      .WIDTH     (WIDTH),
      .NODE_BYTES(NODE_BYTES),
      .LATENCY   (LATENCY)
  ) u_memory (
      .clk_i         (clk_i),
      .rst_ni        (rst_ni),
      .stop_i        (stop_i),
      .idle_o        (idle_o),
      .awvalid_i     (awvalid_i),
      .awready_o     (awready_o),
      .awaddr_i      (awaddr_i),
      .awlen_i       (awlen_i),
      .wvalid_i      (wvalid_i),
      .wready_o      (wready_o),
      .wdata_i       (wdata_i),
      .wstrb_i       (wstrb_i),
      .bvalid_o      (bvalid_o),
      .bready_i      (bready_i),
      .bresp_o       (bresp_o),
      .arvalid_i     (arvalid_i),
      .arready_o     (arready_o),
      .araddr_i      (araddr_i),
      .arlen_i       (arlen_i),
      .rvalid_o      (rvalid_o),
      .rready_i      (rready_i),
      .rdata_o       (rdata_o),
      .rresp_o       (rresp_o),
      .rlast_o       (rlast_o),
      .read_o        (read),
      .read_i        (answer),
      .read_data_i   (read_data_i),
      .write_o       (write),
      .write_gnt_i   (write_gnt_i),
      .write_data_o  (write_data_o),
      .write_strobe_o(write_strobe_o)
  );

endmodule

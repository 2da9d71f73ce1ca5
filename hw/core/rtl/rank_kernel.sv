import alcor_abi_pkg::*;

/// A rank's kernel, the module that the macro ALCOR_KERNEL names, with `kernel_port` and `kernel_memory`.
///
/// hw/core/doc/kernel.md has the ports of the module.
module rank_kernel #(
    /// Bits of a beat of the kernel's memory port.
    parameter int unsigned WIDTH = 32,
    /// Bytes of node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Cycles from the grant of a memory read to its data at which reads reach one beat per cycle.
    parameter int unsigned LATENCY = 1,
    /// Ids of messages, a power of two; 0 without a message engine.
    parameter int unsigned MESSAGES = 256,
    /// Bytes of an eager message at most.
    parameter int unsigned FRAGMENT = 256,
    /// 1: the board has a collective unit.
    parameter bit SWITCH = 1'b0
) (
    /// Clock.
    input  logic                           clk_i,
    /// Synchronous reset of the board, active low.
    input  logic                           rst_ni,
    /// Synchronous reset of the rank, active low.
    input  logic                           rank_rst_ni,
    /// This rank's number on the network.
    input  logic [7:0]                     rank_i,
    /// Four characters that name the kernel; constant.
    output logic [31:0]                    id_o,

    /// Host: a write into the rank's page.
    input  alcor_abi_pkg::page_write_t     page_i,
    /// Host: register to be read.
    input  logic [11:0]                    read_offset_i,
    /// Host: value of the register, in the same cycle.
    output logic [31:0]                    read_data_o,

    /// To the coprocessor.
    output alcor_abi_pkg::kernel_to_rank_t coprocessor_o,
    /// From the coprocessor.
    input  alcor_abi_pkg::rank_to_kernel_t coprocessor_i,
    /// Collective unit: a collective is posted.
    output alcor_abi_pkg::kernel_post_t    post_o,
    /// Collective unit: the collective is taken.
    input  logic                           post_ready_i,

    /// Node memory: a read.
    output alcor_abi_pkg::memory_request_t read_o,
    /// Node memory: answer to the read.
    input  alcor_abi_pkg::memory_answer_t  read_i,
    /// Node memory: data of the read.
    input  logic [WIDTH-1:0]               memory_data_i,
    /// Node memory: a write.
    output alcor_abi_pkg::memory_request_t write_o,
    /// Node memory: the write is granted.
    input  logic                           write_gnt_i,
    /// Node memory: data of the write.
    output logic [WIDTH-1:0]               write_data_o,
    /// Node memory: byte strobes of the write.
    output logic [WIDTH/8-1:0]             write_strobe_o
);

  logic block_rst_n, kernel_rst_n, memory_idle;
  logic [15:0][31:0] arguments;
  logic done;
  logic [7:0] code;
  logic [7:0][31:0] results;
  logic command_tvalid, command_tready, completion_tvalid, completion_tready;
  logic [KernelCommandW-1:0] command_tdata;
  logic [KernelCompletionW-1:0] completion_tdata;
  logic awvalid, awready, wvalid, wready, bvalid, bready, arvalid, arready, rvalid, rready, rlast, wlast;
  logic [31:0] awaddr, araddr;
  logic [7:0] awlen, arlen;
  logic [WIDTH-1:0] wdata, rdata;
  logic [WIDTH/8-1:0] wstrb;
  logic [1:0] bresp, rresp;

  reset_pipe u_reset (
      .clk_i (clk_i),
      .rst_ni(rst_ni),
      .rst_no(block_rst_n)
  );

  kernel_port #(
      .WIDTH   (WIDTH),
      .MESSAGES(MESSAGES),
      .FRAGMENT(FRAGMENT),
      .SWITCH  (SWITCH)
  ) u_port (
      .clk_i              (clk_i),
      .rst_ni             (rank_rst_ni),
      .page_i             (page_i),
      .read_offset_i      (read_offset_i),
      .read_data_o        (read_data_o),
      .rank_o             (coprocessor_o),
      .rank_i             (coprocessor_i),
      .post_o             (post_o),
      .post_ready_i       (post_ready_i),
      .memory_idle_i      (memory_idle),
      .kernel_rst_no      (kernel_rst_n),
      .arguments_o        (arguments),
      .done_i             (done),
      .code_i             (code),
      .results_i          (results),
      .command_tvalid_i   (command_tvalid),
      .command_tready_o   (command_tready),
      .command_tdata_i    (command_tdata),
      .completion_tvalid_o(completion_tvalid),
      .completion_tready_i(completion_tready),
      .completion_tdata_o (completion_tdata)
  );

  kernel_memory #(
      .WIDTH     (WIDTH),
      .NODE_BYTES(NODE_BYTES),
      .LATENCY   (LATENCY)
  ) u_memory (
      .clk_i         (clk_i),
      .rst_ni        (block_rst_n),
      .stop_i        (!kernel_rst_n),
      .idle_o        (memory_idle),
      .awvalid_i     (awvalid),
      .awready_o     (awready),
      .awaddr_i      (awaddr),
      .awlen_i       (awlen),
      .wvalid_i      (wvalid),
      .wready_o      (wready),
      .wdata_i       (wdata),
      .wstrb_i       (wstrb),
      .bvalid_o      (bvalid),
      .bready_i      (bready),
      .bresp_o       (bresp),
      .arvalid_i     (arvalid),
      .arready_o     (arready),
      .araddr_i      (araddr),
      .arlen_i       (arlen),
      .rvalid_o      (rvalid),
      .rready_i      (rready),
      .rdata_o       (rdata),
      .rresp_o       (rresp),
      .rlast_o       (rlast),
      .read_o        (read_o),
      .read_i        (read_i),
      .read_data_i   (memory_data_i),
      .write_o       (write_o),
      .write_gnt_i   (write_gnt_i),
      .write_data_o  (write_data_o),
      .write_strobe_o(write_strobe_o)
  );

`ifdef ALCOR_KERNEL
  `ALCOR_KERNEL #(
      .WIDTH(WIDTH)
  ) u_kernel (
      .clk_i              (clk_i),
      .rst_ni             (kernel_rst_n),
      .rank_i             (rank_i),
      .nprocs_i           (coprocessor_i.nprocs),
      .id_o               (id_o),
      .arguments_i        (arguments),
      .done_o             (done),
      .code_o             (code),
      .results_o          (results),
      .command_tvalid_o   (command_tvalid),
      .command_tready_i   (command_tready),
      .command_tdata_o    (command_tdata),
      .completion_tvalid_i(completion_tvalid),
      .completion_tready_o(completion_tready),
      .completion_tdata_i (completion_tdata),
      .memory_awvalid_o   (awvalid),
      .memory_awready_i   (awready),
      .memory_awaddr_o    (awaddr),
      .memory_awlen_o     (awlen),
      .memory_wvalid_o    (wvalid),
      .memory_wready_i    (wready),
      .memory_wdata_o     (wdata),
      .memory_wstrb_o     (wstrb),
      .memory_wlast_o     (wlast),
      .memory_bvalid_i    (bvalid),
      .memory_bready_o    (bready),
      .memory_bresp_i     (bresp),
      .memory_arvalid_o   (arvalid),
      .memory_arready_i   (arready),
      .memory_araddr_o    (araddr),
      .memory_arlen_o     (arlen),
      .memory_rvalid_i    (rvalid),
      .memory_rready_o    (rready),
      .memory_rdata_i     (rdata),
      .memory_rresp_i     (rresp),
      .memory_rlast_i     (rlast)
  );
`else
  assign {id_o, done, code, results, command_tvalid, command_tdata, completion_tready} = '0;
  assign {awvalid, awaddr, awlen, wvalid, wdata, wstrb, wlast, bready} = '0;
  assign {arvalid, araddr, arlen, rready} = '0;

  logic unused_kernel;
  assign unused_kernel = ^{
    arguments, command_tready, completion_tvalid, completion_tdata, awready, wready, bvalid, bresp, arready, rvalid, rdata,
    rresp, rlast, rank_i
  };
`endif

  // The memory port counts the beats of a burst and needs no last.
  logic unused_last;
  assign unused_last = wlast;

endmodule

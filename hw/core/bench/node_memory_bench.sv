/// Bench top for `node_memory` with a `memory_arbiter`, and the readers and writers of a rank.
module node_memory_bench #(
    /// Bytes.
    parameter int unsigned NODE_BYTES = 1024,
    /// Banks.
    parameter int unsigned BANKS = 8,
    /// Cycles from a read's grant to its data.
    parameter int unsigned LATENCY = 1,
    /// Maximum number of additional cycles, at random.
    parameter int unsigned JITTER = 0,
    /// Stages of the arbitrations.
    parameter int unsigned STAGES = 1
) (
    /// Clock.
    input  logic                      clk_i,
    /// Synchronous reset, active low.
    input  logic                      rst_ni,
    /// By reader.
    input  logic [3:0]                read_req_i,
    output logic [3:0]                read_gnt_o,
    input  logic [3:0][29:0]          read_address_i,
    output logic [3:0]                read_rvalid_o,
    /// Data of the read that is answered.
    output logic [BANKS-1:0][31:0]    data_o,
    /// By writer.
    input  logic [4:0]                write_req_i,
    output logic [4:0]                write_gnt_o,
    input  logic [4:0][29:0]          write_address_i,
    input  logic [4:0][BANKS*32-1:0]  write_data_i,
    input  logic [4:0][BANKS*4-1:0]   write_strobe_i
);

  alcor_abi_pkg::memory_request_t read, write;
  alcor_abi_pkg::memory_answer_t answer;
  logic [BANKS*32-1:0] data;
  logic [BANKS*4-1:0] strobe;
  logic gnt;

  memory_arbiter #(
      .READERS(4),
      .WRITERS(5),
      .WIDTH  (BANKS * 32),
      .READS  (LATENCY + JITTER + 1),
      .STAGES (STAGES)
  ) u_arbiter (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .read_req_i     (read_req_i),
      .read_gnt_o     (read_gnt_o),
      .read_address_i (read_address_i),
      .read_rvalid_o  (read_rvalid_o),
      .write_req_i    (write_req_i),
      .write_gnt_o    (write_gnt_o),
      .write_address_i(write_address_i),
      .write_data_i   (write_data_i),
      .write_strobe_i (write_strobe_i),
      .read_o         (read),
      .read_i         (answer),
      .write_o        (write),
      .write_data_o   (data),
      .write_strobe_o (strobe),
      .write_gnt_i    (gnt)
  );

  node_memory #(
      .NODE_BYTES(NODE_BYTES),
      .BANKS     (BANKS),
      .LATENCY   (LATENCY),
      .JITTER    (JITTER)
  ) u_memory (
      .clk_i         (clk_i),
      .rst_ni        (rst_ni),
      .read_i        (read),
      .read_o        (answer),
      .data_o        (data_o),
      .write_i       (write),
      .write_gnt_o   (gnt),
      .write_data_i  (data),
      .write_strobe_i(strobe)
  );

endmodule

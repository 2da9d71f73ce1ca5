`include "assertions.svh"

/// Node memory of one rank: a read and a write port for the coprocessor, both shared with the
/// host's DMA.
///
/// The coprocessor goes first; a host access that had to wait goes first in the next cycle, so each
/// side gets at least every second cycle.
module node_memory #(
    /// Bytes, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Cycles from a granted read to its data, 1 or more.
    parameter int unsigned LATENCY = 1,
    /// Width of a word address; derived, not to be set.
    localparam int unsigned AddrW = $clog2(NODE_BYTES / 4)
) (
    /// Clock.
    input  logic             clk_i,
    /// Synchronous reset, active low; contents stay.
    input  logic             rst_ni,

    /// Coprocessor: read.
    input  logic             read_valid_i,
    /// It is granted.
    output logic             read_ready_o,
    /// Word address.
    input  logic [AddrW-1:0] read_address_i,
    /// Coprocessor: write.
    input  logic             write_valid_i,
    /// It is done.
    output logic             write_ready_o,
    /// Word address.
    input  logic [AddrW-1:0] write_address_i,
    /// Data.
    input  logic [31:0]      write_data_i,
    /// Byte strobes.
    input  logic [3:0]       write_strobe_i,

    /// Host: an access.
    input  logic             host_valid_i,
    /// It is granted or done.
    output logic             host_ready_o,
    /// It is a write.
    input  logic             host_write_i,
    /// Word address.
    input  logic [AddrW-1:0] host_address_i,
    /// Data to be written.
    input  logic [31:0]      host_data_i,
    /// Byte strobes.
    input  logic [3:0]       host_strobe_i,

    /// Data of the read granted LATENCY cycles ago, to whomever it was granted.
    output logic [31:0]      data_o
);

  (* ram_style = "ultra" *)
  logic [31:0] mem[NODE_BYTES/4]  /*verilator public_flat_rw*/;

  logic host_waited_q, host_reads, host_writes;
  logic read_enable;
  logic [AddrW-1:0] read_address, write_address;
  logic [31:0] write_data;
  logic [3:0] write_strobe;
  logic [LATENCY-1:0][31:0] data_q;

  assign host_reads    = host_valid_i && !host_write_i && (host_waited_q || !read_valid_i);
  assign host_writes   = host_valid_i && host_write_i && (host_waited_q || !write_valid_i);
  assign host_ready_o  = host_reads || host_writes;
  assign read_ready_o  = !host_reads;
  assign write_ready_o = !host_writes;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) host_waited_q <= 1'b0;
    else host_waited_q <= host_valid_i && !host_ready_o;
  end

  assign read_enable   = read_valid_i || host_reads;
  assign read_address  = host_reads ? host_address_i : read_address_i;
  assign write_address = host_writes ? host_address_i : write_address_i;
  assign write_data    = host_writes ? host_data_i : write_data_i;

  always_comb begin
    write_strobe = '0;
    if (write_valid_i) write_strobe = write_strobe_i;
    if (host_writes) write_strobe = host_strobe_i;
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned b = 0; b < 4; b++) begin
      if (write_strobe[b]) mem[write_address][8*b+:8] <= write_data[8*b+:8];
    end
  end

  always_ff @(posedge clk_i) begin
    if (read_enable) data_q[0] <= mem[read_address];
    for (int unsigned i = 1; i < LATENCY; i++) data_q[i] <= data_q[i-1];
  end

  assign data_o = data_q[LATENCY-1];

  `ALCOR_CHECK_PARAM(g_check_bytes, NODE_BYTES >= 16 && (NODE_BYTES & (NODE_BYTES - 1)) == 0,
                     "node_memory: NODE_BYTES must be a power of two, 16 or more")
  `ALCOR_CHECK_PARAM(g_check_latency, LATENCY >= 1, "node_memory: LATENCY must be 1 or more")

endmodule

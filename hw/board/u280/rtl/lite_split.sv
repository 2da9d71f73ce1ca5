`include "assertions.svh"

import alcor_abi_pkg::*;

/// One AXI4-Lite master to two slaves, by the highest address bit.
///
/// One write and one read at a time. A slave takes a write's address and data in the same cycle, as
/// `axi_lite_port` does; as that one does not take a write while its last response waits either, the
/// splitter costs no cycle.
module lite_split (
    /// Clock.
    input  logic                             clk_i,
    /// Synchronous reset, active low.
    input  logic                             rst_ni,

    /// Signals of the master.
    input  alcor_abi_pkg::lite_request_t     bus_i,
    /// Signals to the master.
    output alcor_abi_pkg::lite_answer_t      bus_o,
    /// By slave: signals of the master, a lite_request_t. Both slaves see all addresses and data.
    output logic [1:0][LiteRequestW-1:0]     slaves_o,
    /// By slave: signals of the slave, a lite_answer_t.
    input  logic [1:0][LiteAnswerW-1:0]      slaves_i
);

  logic writing_q, write_to_q, reading_q, read_to_q;
  logic write_to, read_to, write_taken, read_taken;
  logic [1:0] awtaken, wtaken, artaken, bvalid, rvalid;
  logic [1:0][31:0] rdata;

  assign write_to = bus_i.awaddr[17];
  assign read_to  = bus_i.araddr[17];

  for (genvar s = 0; s < 2; s++) begin : g_slave
    alcor_abi_pkg::lite_request_t request;
    alcor_abi_pkg::lite_answer_t answer;

    always_comb begin
      request         = bus_i;
      request.awvalid = bus_i.awvalid && bus_i.wvalid && !writing_q && write_to == 1'(s);
      request.wvalid  = request.awvalid;
      request.bready  = bus_i.bready && writing_q && write_to_q == 1'(s);
      request.arvalid = bus_i.arvalid && !reading_q && read_to == 1'(s);
      request.rready  = bus_i.rready && reading_q && read_to_q == 1'(s);
    end

    assign slaves_o[s] = request;
    assign answer      = slaves_i[s];
    assign awtaken[s]  = request.awvalid && answer.awready;
    assign wtaken[s]   = request.wvalid && answer.wready;
    assign artaken[s]  = request.arvalid && answer.arready;
    assign bvalid[s]   = answer.bvalid;
    assign rvalid[s]   = answer.rvalid;
    assign rdata[s]    = answer.rdata;
  end

  assign write_taken   = awtaken != '0;
  assign read_taken    = artaken != '0;
  assign bus_o.awready = write_taken;
  assign bus_o.wready  = write_taken;
  assign bus_o.bvalid  = writing_q && bvalid[write_to_q];
  assign bus_o.arready = read_taken;
  assign bus_o.rvalid  = reading_q && rvalid[read_to_q];
  assign bus_o.rdata   = rdata[read_to_q];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      writing_q <= 1'b0;
      reading_q <= 1'b0;
    end else begin
      if (write_taken) writing_q <= 1'b1;
      else if (bus_o.bvalid && bus_i.bready) writing_q <= 1'b0;
      if (read_taken) reading_q <= 1'b1;
      else if (bus_o.rvalid && bus_i.rready) reading_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (write_taken) write_to_q <= write_to;
    if (read_taken) read_to_q <= read_to;
  end

  `ALCOR_ASSERT(a_together, awtaken == wtaken)

endmodule

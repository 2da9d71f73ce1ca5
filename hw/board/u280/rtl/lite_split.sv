`include "assertions.svh"

/// One AXI4-Lite master to two slaves, by an address bit.
///
/// One write and one read at a time. A slave takes a write's address and data in the same cycle, as
/// `axi_lite_port` does; as that one does not take a write while its last response waits either, the
/// splitter costs no cycle.
module lite_split #(
    /// Address bits; the highest one chooses the slave.
    parameter int unsigned ADDR_W = 18
) (
    /// Clock.
    input  logic              clk_i,
    /// Synchronous reset, active low.
    input  logic              rst_ni,

    /// Master: write address.
    input  logic              awvalid_i,
    /// Master: write address.
    output logic              awready_o,
    /// Master: write address.
    input  logic [ADDR_W-1:0] awaddr_i,
    /// Master: write data.
    input  logic              wvalid_i,
    /// Master: write data.
    output logic              wready_o,
    /// Master: write response.
    output logic              bvalid_o,
    /// Master: write response.
    input  logic              bready_i,
    /// Master: read address.
    input  logic              arvalid_i,
    /// Master: read address.
    output logic              arready_o,
    /// Master: read address.
    input  logic [ADDR_W-1:0] araddr_i,
    /// Master: read data.
    output logic              rvalid_o,
    /// Master: read data.
    input  logic              rready_i,
    /// Master: read data.
    output logic [31:0]       rdata_o,

    /// Slaves: write address and data; both address bits and data go to both.
    output logic [1:0]        awvalid_o,
    /// Slaves: write address.
    input  logic [1:0]        awready_i,
    /// Slaves: write data.
    input  logic [1:0]        wready_i,
    /// Slaves: write response.
    input  logic [1:0]        bvalid_i,
    /// Slaves: write response.
    output logic [1:0]        bready_o,
    /// Slaves: read address.
    output logic [1:0]        arvalid_o,
    /// Slaves: read address.
    input  logic [1:0]        arready_i,
    /// Slaves: read data.
    input  logic [1:0]        rvalid_i,
    /// Slaves: read data.
    output logic [1:0]        rready_o,
    /// Slaves: read data.
    input  logic [1:0][31:0]  rdata_i
);

  logic writing_q, write_to_q, reading_q, read_to_q;
  logic write_to, read_to, write_taken, read_taken;

  assign write_to    = awaddr_i[ADDR_W-1];
  assign read_to     = araddr_i[ADDR_W-1];
  assign write_taken = |(awvalid_o & awready_i);
  assign read_taken  = |(arvalid_o & arready_i);
  assign awready_o   = write_taken;
  assign wready_o    = write_taken;
  assign arready_o   = read_taken;

  assign bvalid_o = writing_q && bvalid_i[write_to_q];
  assign rvalid_o = reading_q && rvalid_i[read_to_q];
  assign rdata_o  = rdata_i[read_to_q];

  always_comb begin
    awvalid_o = '0;
    bready_o  = '0;
    arvalid_o = '0;
    rready_o  = '0;
    awvalid_o[write_to]  = awvalid_i && wvalid_i && !writing_q;
    bready_o[write_to_q] = writing_q && bready_i;
    arvalid_o[read_to]   = arvalid_i && !reading_q;
    rready_o[read_to_q]  = reading_q && rready_i;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      writing_q <= 1'b0;
      reading_q <= 1'b0;
    end else begin
      if (write_taken) writing_q <= 1'b1;
      else if (bvalid_o && bready_i) writing_q <= 1'b0;
      if (read_taken) reading_q <= 1'b1;
      else if (rvalid_o && rready_i) reading_q <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (write_taken) write_to_q <= write_to;
    if (read_taken) read_to_q <= read_to;
  end

  `ALCOR_ASSERT(a_together, (awvalid_o & awready_i) == (awvalid_o & wready_i))

endmodule

`include "assertions.svh"

/// Simple dual-port RAM: one write port, one read port, one clock, read data a cycle after the
/// address.
///
/// A read of the address that is written in the same cycle gives the OLD contents; with ULTRA_RAM it
/// must not happen. Contents and read register are never reset. With `re_i` low the read data keeps
/// its value.
module ram_sdp #(
    /// Bits per word.
    parameter int unsigned WIDTH = 32,
    /// Number of words, 2 or more, any number.
    parameter int unsigned DEPTH = 512,
    /// Number of write strobes; each covers WIDTH/LANES bits (WIDTH/8 gives byte strobes).
    parameter int unsigned LANES = 1,
    /// 1: block RAM; 0: distributed (LUT) RAM.
    parameter bit BLOCK_RAM = 1'b1,
    /// 1: UltraRAM in place of block RAM, for 4096 words or more.
    parameter bit ULTRA_RAM = 1'b0,
    /// Width of an address; derived, not to be set.
    localparam int unsigned AddrW = $clog2(DEPTH)
) (
    /// Clock.
    input  logic             clk_i,
    /// Write strobes, one per lane.
    input  logic [LANES-1:0] we_i,
    /// Write address.
    input  logic [AddrW-1:0] waddr_i,
    /// Write data.
    input  logic [WIDTH-1:0] wdata_i,
    /// Read enable.
    input  logic             re_i,
    /// Read address.
    input  logic [AddrW-1:0] raddr_i,
`ifdef FORMAL
    /// All words, for proofs.
    output logic [DEPTH*WIDTH-1:0] contents_o,
`endif
    /// Read data, one cycle after the address.
    output logic [WIDTH-1:0] rdata_o
);

  `ALCOR_CHECK_PARAM(g_check_depth, DEPTH >= 2, "ram_sdp: DEPTH must be 2 or more")
  `ALCOR_CHECK_PARAM(g_check_lanes, LANES >= 1 && WIDTH % LANES == 0,
                     "ram_sdp: WIDTH must be a multiple of LANES")

  localparam int unsigned LaneW = WIDTH / LANES;

  logic [WIDTH-1:0] rdata_q;

  assign rdata_o = rdata_q;

  // The style is an attribute of the array, so each style has an array of its own.
  if (ULTRA_RAM) begin : g_ultra
    (* ram_style = "ultra" *)
    logic [WIDTH-1:0] mem_q[DEPTH];

    always_ff @(posedge clk_i) begin
      for (int unsigned i = 0; i < LANES; i++) begin
        if (we_i[i]) mem_q[waddr_i][i*LaneW+:LaneW] <= wdata_i[i*LaneW+:LaneW];
      end
    end

    always_ff @(posedge clk_i) begin
      if (re_i) rdata_q <= mem_q[raddr_i];
    end
  end else if (BLOCK_RAM) begin : g_block
    (* ram_style = "block" *)
    logic [WIDTH-1:0] mem_q[DEPTH];

    always_ff @(posedge clk_i) begin
      for (int unsigned i = 0; i < LANES; i++) begin
        if (we_i[i]) mem_q[waddr_i][i*LaneW+:LaneW] <= wdata_i[i*LaneW+:LaneW];
      end
    end

    always_ff @(posedge clk_i) begin
      if (re_i) rdata_q <= mem_q[raddr_i];
    end

`ifdef FORMAL
    for (genvar i = 0; i < DEPTH; i++) begin : g_contents
      assign contents_o[i*WIDTH+:WIDTH] = mem_q[i];
    end
`endif
  end else begin : g_distributed
    (* ram_style = "distributed" *)
    logic [WIDTH-1:0] mem_q[DEPTH];

    always_ff @(posedge clk_i) begin
      for (int unsigned i = 0; i < LANES; i++) begin
        if (we_i[i]) mem_q[waddr_i][i*LaneW+:LaneW] <= wdata_i[i*LaneW+:LaneW];
      end
    end

    always_ff @(posedge clk_i) begin
      if (re_i) rdata_q <= mem_q[raddr_i];
    end

`ifdef FORMAL
    for (genvar i = 0; i < DEPTH; i++) begin : g_contents
      assign contents_o[i*WIDTH+:WIDTH] = mem_q[i];
    end
`endif
  end

endmodule

`include "assertions.svh"

/// CRC-32 of IEEE 802.3, which Ethernet and zip use, over WIDTH more bits. Combinational.
///
/// A computation begins with the state of all ones. The checksum is the inverse of the state behind the last bit.
module crc32 #(
    /// Bits of data: 32 or more.
    parameter int unsigned WIDTH = 32
) (
    /// State in front of the data.
    input  logic [31:0]      state_i,
    /// Data, bit 0 first: bytes in ascending order, the least significant bit of each first.
    input  logic [WIDTH-1:0] data_i,
    /// State behind the data.
    output logic [31:0]      state_o
);

  localparam logic [31:0] Polynomial = 32'hEDB88320;

  // Bits of data that invert a bit of the result. A bit of data in the last place inverts the bits of the polynomial. In
  // any other place, its effect goes through one more step for each bit behind it.
  function automatic logic [WIDTH-1:0] inverters(input logic [4:0] result);
    logic [31:0] effect;
    effect = Polynomial;
    for (int unsigned i = 0; i < WIDTH; i++) begin
      inverters[WIDTH-1-i] = effect[result];
      effect = {1'b0, effect[31:1]} ^ (effect[0] ? Polynomial : 32'd0);
    end
  endfunction

  // A bit of the state has the effect of the bit of data in its place.
  logic [WIDTH-1:0] data;

  assign data = data_i ^ WIDTH'(state_i);

  for (genvar b = 0; b < 32; b++) begin : g_bit
    localparam logic [WIDTH-1:0] Inverters = inverters(5'(b));

    assign state_o[b] = ^(data & Inverters);
  end

  `ALCOR_CHECK_PARAM(g_check_width, WIDTH >= 32, "crc32: WIDTH must be 32 or more")

endmodule

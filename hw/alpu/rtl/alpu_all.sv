`include "assertions.svh"

/// Whether all bits of a vector are set: the carry out of the vector plus one.
///
/// A carry chain is one level behind the LUTs that make the bits, which may each look at a few signals, and
/// takes no LUT more than those.
module alpu_all #(
    /// Bits, 1 or more.
    parameter int unsigned WIDTH = 16
) (
    /// The vector.
    input  logic [WIDTH-1:0] bits_i,
    /// All of its bits are set.
    output logic             all_o
);

  `ALCOR_CHECK_PARAM(g_check_width, WIDTH >= 1, "alpu_all: WIDTH must be 1 or more")

  logic [WIDTH-1:0] sum;
  assign {all_o, sum} = {1'b0, bits_i} + 1'b1;

endmodule

`include "assertions.svh"

/// Registers of a bus without a handshake, on a long way across the die.
///
/// `q_o` is `d_i`, STAGES cycles earlier. Nothing is between two registers, so that a border between super logic regions (SLR)
/// of the die lies between two of them, and the registers can be those of the crossing (Laguna). No reset: every value is
/// legal, and a reset on its way passes like any other bit. The attribute `keep` stops synthesis from merging equal registers;
/// `shreg_extract` stops it from replacing them by a shift register of LUTs.
module register_pipe #(
    /// Bits of the bus.
    parameter int unsigned WIDTH = 1,
    /// Registers, 1 or more.
    parameter int unsigned STAGES = 1
) (
    /// Clock.
    input  logic             clk_i,
    /// The bus.
    input  logic [WIDTH-1:0] d_i,
    /// The bus, STAGES cycles later.
    output logic [WIDTH-1:0] q_o
);

  `ALCOR_CHECK_PARAM(g_check_width, WIDTH >= 1, "register_pipe: WIDTH must be 1 or more")
  `ALCOR_CHECK_PARAM(g_check_stages, STAGES >= 1, "register_pipe: STAGES must be 1 or more")

  (* keep = "true", shreg_extract = "no" *)
  logic [STAGES-1:0][WIDTH-1:0] pipe_q;

  always_ff @(posedge clk_i) pipe_q <= (STAGES * WIDTH)'({pipe_q, d_i});

  assign q_o = pipe_q[STAGES-1];

endmodule

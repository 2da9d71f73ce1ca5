`include "assertions.svh"

/// Two-flop synchroniser into the clock domain of `clk_i`.
///
/// For single bits that are held long enough, and for Gray-coded counters, of which at most one bit
/// changes at a time. Other vectors must not pass through it. `d_i` must come straight from a
/// register of the other domain.
module sync_2ff #(
    /// Bits, each synchronised by itself.
    parameter int unsigned WIDTH = 1
) (
    /// Clock of the receiving domain.
    input  logic             clk_i,
    /// Synchronous reset of the receiving domain, active low; the output becomes 0.
    input  logic             rst_ni,
    /// From a register of the other domain.
    input  logic [WIDTH-1:0] d_i,
    /// The value of `d_i`, two clock edges later.
    output logic [WIDTH-1:0] q_o
);

  `ALCOR_CHECK_PARAM(g_check_width, WIDTH >= 1, "sync_2ff: WIDTH must be 1 or more")

  (* ASYNC_REG = "TRUE" *)
  logic [WIDTH-1:0] meta_q;
  (* ASYNC_REG = "TRUE" *)
  logic [WIDTH-1:0] sync_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      meta_q <= '0;
      sync_q <= '0;
    end else begin
      meta_q <= d_i;
      sync_q <= meta_q;
    end
  end

  assign q_o = sync_q;

endmodule

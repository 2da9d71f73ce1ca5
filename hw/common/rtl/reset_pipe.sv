`include "assertions.svh"

/// Registers of a synchronous reset on its way to a block.
///
/// `rst_no` follows `rst_ni` after STAGES cycles. Each block has registers of its own, so that its reset starts near the block.
/// The attribute `keep` stops synthesis from merging the equal registers of several blocks; `shreg_extract` stops it from
/// replacing them by a shift register of LUTs.
module reset_pipe #(
    /// Registers, 1 or more.
    parameter int unsigned STAGES = 1
) (
    /// Clock.
    input  logic clk_i,
    /// Synchronous reset, active low.
    input  logic rst_ni,
    /// The reset, STAGES cycles later.
    output logic rst_no
);

  `ALCOR_CHECK_PARAM(g_check_stages, STAGES >= 1, "reset_pipe: STAGES must be 1 or more")

  // The reset is active at power-up: a block's state is arbitrary until `rst_ni` has come through.
  (* keep = "true", shreg_extract = "no" *)
  logic [STAGES-1:0] rst_q = '0;

  always_ff @(posedge clk_i) rst_q <= STAGES'({rst_q, rst_ni});

  assign rst_no = rst_q[STAGES-1];

endmodule

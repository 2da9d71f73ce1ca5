`include "assertions.svh"

/// Registers of a synchronous reset on its way to a block.
///
/// `rst_no` is `rst_ni` STAGES cycles earlier, and comes from a register that nothing else loads. Each block has registers of its
/// own, so that a block's reset starts near the block. At power-up the reset is active. `keep` stops synthesis from merging equal registers of several
/// blocks, and `shreg_extract` from making a shift register of LUTs of them.
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

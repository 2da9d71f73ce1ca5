`include "assertions.svh"

/// Resets of the two sides of a link end, each for its own clock, as FIFOs between two clocks want
/// them: both are active together for long. Nothing passes from the reason on, and the sending side of
/// a frame is reset first, so that no pointer of a FIFO jumps under a reader that is at work.
module link_reset #(
    /// Cycles that a reset lasts after its reason: longer than the other side takes to see it.
    parameter int unsigned HOLD = 32
) (
    /// Clock of the core.
    input  logic clk_i,
    /// Synchronous reset of the core's clock, active low: the reason.
    input  logic rst_ni,
    /// Clock of the medium access controller; may stop.
    input  logic mac_clk_i,
    /// Reset of the core's side, active low.
    output logic rst_no,
    /// In the core's clock: neither side is in reset, and none is due.
    output logic works_o,
    /// Reset of the controller's side, active low.
    output logic mac_rst_no
);

  `ALCOR_CHECK_PARAM(g_check_hold, HOLD >= 3, "link_reset: HOLD must be 3 or more")

  localparam int unsigned HoldW = $clog2(HOLD + 1);

  logic [HoldW-1:0] core_count_q;
  logic mac_free, mac_obeys, mac_hears;
  // The resets are active at power-up, until both sides have heard of each other.
  logic [HoldW-1:0] mac_count_q = HoldW'(HOLD);
  logic core_wants_q = 1'b1;
  logic mac_resets_q = 1'b1;
  logic core_free_q = 1'b0;
  logic mac_free_q = 1'b0;
  logic mac_obeys_q = 1'b0;

  // The other side's signals come straight from registers, so no synchroniser sees a glitch.
  sync_2ff #(.WIDTH(1)) u_mac_free (.clk_i(clk_i), .rst_ni(1'b1), .d_i(mac_free_q), .q_o(mac_free));
  sync_2ff #(.WIDTH(1)) u_mac_obeys (.clk_i(clk_i), .rst_ni(1'b1), .d_i(mac_obeys_q), .q_o(mac_obeys));
  sync_2ff #(.WIDTH(1)) u_mac_hears (.clk_i(mac_clk_i), .rst_ni(1'b1), .d_i(core_wants_q), .q_o(mac_hears));

  // A reset is wanted until the other side has obeyed for HOLD cycles: its clock may stand, and then the core waits. That
  // the other side is in reset does not suffice: it may be the end of an earlier reset.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      core_wants_q <= 1'b1;
      core_count_q <= HoldW'(HOLD);
    end else if (core_wants_q) begin
      if (!mac_obeys) core_count_q <= HoldW'(HOLD);
      else if (core_count_q != '0) core_count_q <= core_count_q - 1'b1;
      else core_wants_q <= 1'b0;
    end
  end

  always_ff @(posedge mac_clk_i) begin
    if (mac_hears) begin
      mac_resets_q <= 1'b1;
      mac_count_q  <= HoldW'(HOLD);
    end else begin
      if (mac_count_q != '0) mac_count_q <= mac_count_q - 1'b1;
      mac_resets_q <= mac_count_q != '0;
    end
  end

  always_ff @(posedge clk_i) core_free_q <= mac_free;

  // A side that obeys is in reset, and stays so for HOLD cycles: it may have heard the request before the present one.
  always_ff @(posedge mac_clk_i) begin
    mac_free_q  <= !mac_resets_q;
    mac_obeys_q <= mac_hears && mac_resets_q;
  end

  assign rst_no     = core_free_q;
  assign works_o    = core_free_q && !core_wants_q && rst_ni;
  assign mac_rst_no = mac_free_q;

endmodule

/// Resets of the two sides of a link end, each for its own clock, as FIFOs between two clocks want them:
/// both are active together for long, whichever side has the reason.
module link_reset #(
    /// Cycles that a reset lasts after its last reason: longer than the other side takes to see it.
    parameter int unsigned HOLD = 32
) (
    /// Clock of the core.
    input  logic clk_i,
    /// Synchronous reset of the core's clock, active low.
    input  logic rst_ni,
    /// Pulse: the link end is to be reset.
    input  logic clear_i,
    /// Clock of the medium access controller; may stop while `mac_ready_i` is low.
    input  logic mac_clk_i,
    /// The medium access controller is out of reset; from a register of its clock.
    input  logic mac_ready_i,
    /// Reset of the core's side, active low.
    output logic rst_no,
    /// Reset of the controller's side, active low.
    output logic mac_rst_no,
    /// In the core's clock: the medium access controller is in reset.
    output logic mac_lost_o
);

  localparam int unsigned HoldW = $clog2(HOLD + 1);

  logic [HoldW-1:0] core_count_q, mac_count_q;
  logic core_wants_q, mac_resets_q, core_hears, mac_hears, mac_ready;
  logic core_free_q, mac_free_q;

  // The other side's signals come from registers, so no synchroniser sees a glitch.
  sync_2ff #(.WIDTH(2)) u_core_hears (
      .clk_i(clk_i), .rst_ni(1'b1), .d_i({mac_ready_i, mac_resets_q}), .q_o({mac_ready, core_hears})
  );
  sync_2ff #(.WIDTH(1)) u_mac_hears (.clk_i(mac_clk_i), .rst_ni(1'b1), .d_i(core_wants_q), .q_o(mac_hears));

  // A reset is wanted until the other side has been in it for HOLD cycles: its clock may stand, and then it waits.
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i || !mac_ready) begin
      core_wants_q <= 1'b1;
      core_count_q <= HoldW'(HOLD);
    end else if (core_wants_q) begin
      if (!core_hears) core_count_q <= HoldW'(HOLD);
      else if (core_count_q != '0) core_count_q <= core_count_q - 1'b1;
      else core_wants_q <= 1'b0;
    end
  end

  always_ff @(posedge mac_clk_i) begin
    if (!mac_ready_i || mac_hears) begin
      mac_resets_q <= 1'b1;
      mac_count_q  <= HoldW'(HOLD);
    end else begin
      if (mac_count_q != '0) mac_count_q <= mac_count_q - 1'b1;
      mac_resets_q <= mac_count_q != '0;
    end
  end

  always_ff @(posedge clk_i) core_free_q <= !core_wants_q && !core_hears;

  always_ff @(posedge mac_clk_i) mac_free_q <= !mac_resets_q;

  assign rst_no     = core_free_q && rst_ni;
  assign mac_rst_no = mac_free_q && mac_ready_i;
  assign mac_lost_o = !mac_ready;

endmodule

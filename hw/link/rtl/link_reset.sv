/// Resets of the two sides of a link end, each for its own clock, as FIFOs between two clocks want them:
/// both are active together for long, whichever side has the reason.
module link_reset #(
    /// Cycles that a reset stays on after its last reason; more than the other side takes to hear of it.
    parameter int unsigned HOLD = 32
) (
    /// Clock of the core.
    input  logic clk_i,
    /// Its synchronous reset, active low.
    input  logic rst_ni,
    /// Pulse: the link end is to be reset.
    input  logic clear_i,
    /// Clock of the medium access controller; may stand while `mac_ready_i` is low.
    input  logic mac_clk_i,
    /// The medium access controller is out of reset; from a register of its clock.
    input  logic mac_ready_i,
    /// Reset of what runs with the core's clock, active low.
    output logic rst_no,
    /// Reset of what runs with the other clock, active low.
    output logic mac_rst_no,
    /// In the core's clock: the medium access controller is in reset.
    output logic mac_lost_o
);

  localparam int unsigned HoldW = $clog2(HOLD + 1);

  logic [HoldW-1:0] core_count_q, mac_count_q;
  logic core_wants_q, mac_wants_q, core_hears, mac_hears, mac_ready;

  // Registers, so that the other side's synchroniser sees no glitch.
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      core_count_q <= HoldW'(HOLD);
      core_wants_q <= 1'b1;
    end else begin
      if (core_count_q != '0) core_count_q <= core_count_q - 1'b1;
      core_wants_q <= core_count_q != '0;
    end
  end

  always_ff @(posedge mac_clk_i) begin
    if (!mac_ready_i) begin
      mac_count_q <= HoldW'(HOLD);
      mac_wants_q <= 1'b1;
    end else begin
      if (mac_count_q != '0) mac_count_q <= mac_count_q - 1'b1;
      mac_wants_q <= mac_count_q != '0;
    end
  end

  // A clock that stands cannot tell anything: the level of its reset is heard by itself.
  sync_2ff #(.WIDTH(2)) u_core_hears (
      .clk_i(clk_i), .rst_ni(1'b1), .d_i({mac_ready_i, mac_wants_q}), .q_o({mac_ready, core_hears})
  );
  sync_2ff #(.WIDTH(1)) u_mac_hears (.clk_i(mac_clk_i), .rst_ni(1'b1), .d_i(core_wants_q), .q_o(mac_hears));

  assign mac_lost_o = !mac_ready;

  logic core_free_q, mac_free_q;

  always_ff @(posedge clk_i) core_free_q <= !core_wants_q && !core_hears && mac_ready;

  always_ff @(posedge mac_clk_i) mac_free_q <= !mac_wants_q && !mac_hears;

  assign rst_no     = core_free_q && rst_ni;
  assign mac_rst_no = mac_free_q && mac_ready_i;

endmodule

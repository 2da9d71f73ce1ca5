/// Start-up of a 100G medium access controller, and whether its link is up.
///
/// Until its receiver is aligned, an end sends remote faults instead of frames, so that the other
/// end waits. The link is up once this end is aligned and the other end has sent no remote fault
/// for QUIET cycles. An end that trains the link again sends remote faults for QUIET cycles, which
/// takes both ends down.
module link_bringup #(
    /// Cycles without a fault after which the link is up.
    parameter int unsigned QUIET = 1024
) (
    /// Clock of the medium access controller.
    input  logic mac_clk_i,
    /// Synchronous reset of the controller's clock, active low.
    input  logic mac_rst_ni,
    /// The receiver is aligned.
    input  logic aligned_i,
    /// The other end sends remote faults.
    input  logic remote_fault_i,
    /// Pulse: the link is to be trained again.
    input  logic retrain_i,
    /// Frames may be sent.
    output logic tx_enable_o,
    /// Remote faults are to be sent.
    output logic send_fault_o,
    /// The link is up.
    output logic up_o,
    /// Pulse: the link was up and goes down.
    output logic fall_o
);

  localparam int unsigned CountW = $clog2(QUIET + 1);

  logic [CountW-1:0] count_q, train_q;
  logic aligned_q, fine;

  assign tx_enable_o  = aligned_q;
  assign send_fault_o = !aligned_q;
  assign fine         = aligned_i && !remote_fault_i && train_q == '0;

  always_ff @(posedge mac_clk_i) begin
    fall_o <= up_o && !(mac_rst_ni && fine);
    if (!mac_rst_ni) begin
      aligned_q <= 1'b0;
      count_q   <= '0;
      train_q   <= '0;
      up_o      <= 1'b0;
    end else begin
      aligned_q <= aligned_i && train_q == '0;
      up_o      <= fine && count_q == CountW'(QUIET);
      if (!fine) count_q <= '0;
      else if (count_q != CountW'(QUIET)) count_q <= count_q + 1'b1;
      if (retrain_i) train_q <= CountW'(QUIET);
      else if (train_q != '0) train_q <= train_q - 1'b1;
    end
  end

endmodule

import alcor_link_pkg::*;

/// A link port's end of a cable: between the switch's link port and a 100G medium access controller.
///
/// The switch's side is that of `switch_router`: a phit and a credit a cycle each way, no handshake.
/// A link that was up and fell carries nothing more until it is reset: phits under way are lost, and
/// nothing is sent again.
module link_end #(
    /// The board's register SHAPE: two boards with different ones refuse each other.
    parameter logic [31:0] SHAPE = 32'h0,
    /// Groups of a frame at most.
    parameter int unsigned GROUPS = 8,
    /// Phits that the receiver has room for: the credits of all channels, and some more.
    parameter int unsigned PHITS = 2048,
    /// Cycles without a fault after which the link is up.
    parameter int unsigned QUIET = 4096,
    /// Cycles for which both sides are reset together.
    parameter int unsigned HOLD = 32
) (
    /// Clock of the core.
    input  logic             clk_i,
    /// Its synchronous reset, active low.
    input  logic             rst_ni,
    /// Pulse: forget what was kept, and begin anew.
    input  logic             clear_i,

    /// From the switch: a phit leaves.
    input  logic             valid_i,
    /// Its channel.
    input  logic [2:0]       vc_i,
    /// The phit.
    input  logic [LinkPhitW-1:0] phit_i,
    /// A credit is given back.
    input  logic             credit_i,
    /// Its channel.
    input  logic [2:0]       credit_vc_i,
    /// To the switch: a phit comes.
    output logic             valid_o,
    /// Its channel.
    output logic [2:0]       vc_o,
    /// The phit.
    output logic [LinkPhitW-1:0] phit_o,
    /// A credit comes back.
    output logic             credit_o,
    /// Its channel.
    output logic [2:0]       credit_vc_o,

    /// The link works.
    output logic             up_o,
    /// The receiver is aligned.
    output logic             aligned_o,
    /// The other end's is not.
    output logic             remote_fault_o,
    /// Nothing more is delivered.
    output logic             shut_o,
    /// The link was up and fell; kept.
    output logic             fell_o,
    /// Something was to be sent while the link was down; kept.
    output logic             unsent_o,
    /// A frame came damaged or is missing; kept.
    output logic             damaged_o,
    /// A frame had another layout, ABI or SHAPE; kept.
    output logic             foreign_o,
    /// A buffer ran over; kept.
    output logic             overrun_o,
    /// Frames that came damaged or out of sequence.
    output logic [15:0]      errors_o,

    /// Clock of the medium access controller.
    input  logic             mac_clk_i,
    /// The medium access controller is out of reset; from a register of its clock.
    input  logic             mac_ready_i,
    /// Its receiver is aligned.
    input  logic             mac_aligned_i,
    /// The other end sends remote faults.
    input  logic             mac_remote_fault_i,
    /// Frames may be sent.
    output logic             mac_tx_enable_o,
    /// Remote faults are to be sent.
    output logic             mac_send_fault_o,
    /// A word of a frame is offered.
    output logic             mac_valid_o,
    /// It is taken.
    input  logic             mac_taken_i,
    /// The word.
    output logic [MacW-1:0] mac_data_o,
    /// It is the frame's last.
    output logic             mac_last_o,
    /// With the last word: the frame is to be sent as damaged.
    output logic             mac_error_o,
    /// A word of a frame comes.
    input  logic             mac_valid_i,
    /// The word.
    input  logic [MacW-1:0] mac_data_i,
    /// It is the frame's last.
    input  logic             mac_last_i,
    /// With the last word: the frame is damaged.
    input  logic             mac_error_i
);

  logic link_rst_n, mac_rst_n, mac_lost;

  link_reset #(
      .HOLD(HOLD)
  ) u_reset (
      .clk_i      (clk_i),
      .rst_ni     (rst_ni),
      .clear_i    (clear_i),
      .mac_clk_i  (mac_clk_i),
      .mac_ready_i(mac_ready_i),
      .rst_no     (link_rst_n),
      .mac_rst_no (mac_rst_n),
      .mac_lost_o (mac_lost)
  );

  // A reset of the link end alone does not take the link down: the other end would take it for a fall.
  logic mac_up;

  link_bringup #(
      .QUIET(QUIET)
  ) u_bringup (
      .mac_clk_i     (mac_clk_i),
      .mac_rst_ni    (mac_ready_i),
      .aligned_i     (mac_aligned_i),
      .remote_fault_i(mac_remote_fault_i),
      .tx_enable_o   (mac_tx_enable_o),
      .send_fault_o  (mac_send_fault_o),
      .up_o          (mac_up)
  );

  // ---------------------------------------------------------------- status, in the core's clock

  logic mac_damaged, mac_foreign, mac_overrun, mac_shut, mac_aligned_q, mac_fault_q;
  logic damaged, foreign, overrun, shut, up;
  logic [15:0] mac_errors, errors_gray;
  logic tx_overrun, working, open;

  always_ff @(posedge mac_clk_i) begin
    mac_aligned_q <= mac_aligned_i && mac_ready_i;
    mac_fault_q   <= mac_remote_fault_i && mac_ready_i;
  end

  sync_2ff #(
      .WIDTH(7)
  ) u_status (
      .clk_i (clk_i),
      .rst_ni(rst_ni),
      .d_i   ({mac_up, mac_aligned_q, mac_fault_q, mac_shut, mac_damaged, mac_foreign, mac_overrun}),
      .q_o   ({up, aligned_o, remote_fault_o, shut, damaged, foreign, overrun})
  );

  sync_2ff #(
      .WIDTH(16)
  ) u_errors (
      .clk_i (clk_i),
      .rst_ni(rst_ni),
      .d_i   (mac_errors),
      .q_o   (errors_gray)
  );

  for (genvar b = 0; b < 16; b++) begin : g_errors
    assign errors_o[b] = ^errors_gray[15:b];
  end

  // A clock that stands cannot say that the link is down.
  assign working   = up && !mac_lost;
  assign up_o      = working && link_rst_n;
  assign open      = up_o && !fell_o;
  assign shut_o    = shut || fell_o;
  assign damaged_o = damaged;
  assign foreign_o = foreign;

  logic was_up_q, tx_overrun_q;

  assign overrun_o = overrun || tx_overrun_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      was_up_q     <= 1'b0;
      fell_o       <= 1'b0;
      unsent_o     <= 1'b0;
      tx_overrun_q <= 1'b0;
    end else begin
      was_up_q <= working;
      if (was_up_q && !working) fell_o <= 1'b1;
      if ((valid_i || credit_i) && !open) unsent_o <= 1'b1;
      if (tx_overrun) tx_overrun_q <= 1'b1;
    end
  end

  // ---------------------------------------------------------------- the two ways

  logic rx_valid, rx_credit, tx_valid, tx_ready, tx_last;
  logic [MacW-1:0] tx_data;

  link_tx #(
      .SHAPE (SHAPE),
      .GROUPS(GROUPS)
  ) u_tx (
      .clk_i      (clk_i),
      .rst_ni     (link_rst_n),
      .up_i       (open),
      .valid_i    (valid_i),
      .vc_i       (vc_i),
      .phit_i     (phit_i),
      .credit_i   (credit_i),
      .credit_vc_i(credit_vc_i),
      .overrun_o  (tx_overrun),
      .mac_clk_i  (mac_clk_i),
      .mac_rst_ni (mac_rst_n),
      .mac_valid_o(tx_valid),
      .mac_ready_i(tx_ready),
      .mac_data_o (tx_data),
      .mac_last_o (tx_last)
  );

  link_closer u_closer (
      .mac_clk_i  (mac_clk_i),
      .mac_ready_i(mac_ready_i),
      .mac_rst_ni (mac_rst_n),
      .valid_i    (tx_valid),
      .ready_o    (tx_ready),
      .data_i     (tx_data),
      .last_i     (tx_last),
      .mac_valid_o(mac_valid_o),
      .mac_taken_i(mac_taken_i),
      .mac_data_o (mac_data_o),
      .mac_last_o (mac_last_o),
      .mac_error_o(mac_error_o)
  );

  link_rx #(
      .SHAPE(SHAPE),
      .PHITS(PHITS)
  ) u_rx (
      .mac_clk_i  (mac_clk_i),
      .mac_rst_ni (mac_rst_n),
      .mac_valid_i(mac_valid_i),
      .mac_data_i (mac_data_i),
      .mac_last_i (mac_last_i),
      .mac_error_i(mac_error_i),
      .damaged_o  (mac_damaged),
      .foreign_o  (mac_foreign),
      .overrun_o  (mac_overrun),
      .shut_o     (mac_shut),
      .errors_o   (mac_errors),
      .clk_i      (clk_i),
      .rst_ni     (link_rst_n),
      .valid_o    (rx_valid),
      .vc_o       (vc_o),
      .phit_o     (phit_o),
      .credit_o   (rx_credit),
      .credit_vc_o(credit_vc_o)
  );

  assign valid_o  = rx_valid && !fell_o;
  assign credit_o = rx_credit && !fell_o;

endmodule

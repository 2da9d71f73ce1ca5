import alcor_link_pkg::*;

/// One end of a cable: between a link port of the switch and a 100G medium access controller.
///
/// The switch's side is that of `switch_router`: a phit and a credit a cycle each way, no
/// handshake. A link that was up and fell carries nothing until it is reset: phits under way are
/// lost, and the link does not retransmit.
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
    input  logic                              clk_i,
    /// Synchronous reset of the core's clock, active low.
    input  logic                              rst_ni,
    /// Pulse: clear errors and buffers, and begin anew.
    input  logic                              clear_i,

    /// From the switch: a phit leaves.
    input  logic                              valid_i,
    /// Channel of the phit.
    input  logic [2:0]                        vc_i,
    /// The phit.
    input  logic [LinkPhitW-1:0]              phit_i,
    /// A credit is given back.
    input  logic                              credit_i,
    /// Channel of the credit.
    input  logic [2:0]                        credit_vc_i,
    /// To the switch: a phit comes.
    output logic                              valid_o,
    /// Channel of the phit.
    output logic [2:0]                        vc_o,
    /// The phit.
    output logic [LinkPhitW-1:0]              phit_o,
    /// A credit comes back.
    output logic                              credit_o,
    /// Channel of the credit.
    output logic [2:0]                        credit_vc_o,

    /// Register LINK_STATUS.
    output alcor_abi_pkg::links_link_status_t status_o,
    /// Frames that came damaged or out of sequence.
    output logic [15:0]                       errors_o,

    /// Clock of the medium access controller.
    input  logic                              mac_clk_i,
    /// The medium access controller is out of reset; from a register of its clock.
    input  logic                              mac_ready_i,
    /// The controller's receiver is aligned.
    input  logic                              mac_aligned_i,
    /// The other end sends remote faults.
    input  logic                              mac_remote_fault_i,
    /// Frames may be sent.
    output logic                              mac_tx_enable_o,
    /// Remote faults are to be sent.
    output logic                              mac_send_fault_o,
    /// A word of a frame is offered.
    output logic                              mac_valid_o,
    /// The word is taken.
    input  logic                              mac_taken_i,
    /// The word.
    output alcor_abi_pkg::frame_word_t        mac_word_o,
    /// With the last word: the frame is to be sent as damaged.
    output logic                              mac_error_o,
    /// A word of a frame comes.
    input  logic                              mac_valid_i,
    /// The word.
    input  alcor_abi_pkg::frame_word_t        mac_word_i,
    /// With the last word: the frame is damaged.
    input  logic                              mac_error_i
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

  logic mac_aligned_q, mac_fault_q, up, aligned, remote_fault, fell_q, unsent_q;
  alcor_abi_pkg::link_faults_t mac_faults, faults;
  logic [15:0] mac_errors, errors_gray;
  logic tx_overrun, working, usable, open;

  always_ff @(posedge mac_clk_i) begin
    mac_aligned_q <= mac_aligned_i && mac_ready_i;
    mac_fault_q   <= mac_remote_fault_i && mac_ready_i;
  end

  sync_2ff #(
      .WIDTH(7)
  ) u_status (
      .clk_i (clk_i),
      .rst_ni(rst_ni),
      .d_i   ({mac_up, mac_aligned_q, mac_fault_q, mac_faults}),
      .q_o   ({up, aligned, remote_fault, faults})
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
  assign working = up && !mac_lost;
  assign usable  = working && link_rst_n;
  assign open    = usable && !fell_q;

  logic was_up_q, tx_overrun_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      was_up_q     <= 1'b0;
      fell_q       <= 1'b0;
      unsent_q     <= 1'b0;
      tx_overrun_q <= 1'b0;
    end else begin
      was_up_q <= working;
      if (was_up_q && !working) fell_q <= 1'b1;
      if ((valid_i || credit_i) && !open) unsent_q <= 1'b1;
      if (tx_overrun) tx_overrun_q <= 1'b1;
    end
  end

  always_comb begin
    status_o              = '0;
    status_o.up           = usable;
    status_o.aligned      = aligned;
    status_o.remote_fault = remote_fault;
    status_o.shut         = faults.shut || fell_q;
    status_o.fell         = fell_q;
    status_o.unsent       = unsent_q;
    status_o.damaged      = faults.damaged;
    status_o.foreign      = faults.foreign;
    status_o.overrun      = faults.overrun || tx_overrun_q;
  end

  // ---------------------------------------------------------------- the two ways

  logic rx_valid, rx_credit, tx_valid, tx_ready;
  alcor_abi_pkg::frame_word_t tx_word;

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
      .mac_word_o (tx_word)
  );

  link_closer u_closer (
      .mac_clk_i  (mac_clk_i),
      .mac_ready_i(mac_ready_i),
      .mac_rst_ni (mac_rst_n),
      .valid_i    (tx_valid),
      .ready_o    (tx_ready),
      .word_i     (tx_word),
      .mac_valid_o(mac_valid_o),
      .mac_taken_i(mac_taken_i),
      .mac_word_o (mac_word_o),
      .mac_error_o(mac_error_o)
  );

  link_rx #(
      .SHAPE(SHAPE),
      .PHITS(PHITS)
  ) u_rx (
      .mac_clk_i  (mac_clk_i),
      .mac_rst_ni (mac_rst_n),
      .mac_valid_i(mac_valid_i),
      .mac_word_i (mac_word_i),
      .mac_error_i(mac_error_i),
      .faults_o   (mac_faults),
      .errors_o   (mac_errors),
      .clk_i      (clk_i),
      .rst_ni     (link_rst_n),
      .valid_o    (rx_valid),
      .vc_o       (vc_o),
      .phit_o     (phit_o),
      .credit_o   (rx_credit),
      .credit_vc_o(credit_vc_o)
  );

  assign valid_o  = rx_valid && !fell_q;
  assign credit_o = rx_credit && !fell_q;

endmodule

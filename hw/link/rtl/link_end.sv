import alcor_link_pkg::*;

/// One end of a cable: between a link port of the switch and a 100G medium access controller.
///
/// The switch's side is that of `switch_router`: a phit and a credit a cycle each way, no
/// handshake. Frames that are lost or damaged are sent again, so each phit and each credit arrives
/// once and in order, whatever becomes of the link in between. Nothing passes before the link ends
/// have agreed on the epochs of both boards.
module link_end #(
    /// The board's register SHAPE: two boards with different ones refuse each other.
    parameter logic [31:0] SHAPE = 32'h0,
    /// Groups of a frame at most.
    parameter int unsigned GROUPS = 8,
    /// Phits that each direction has room for: the credits of all channels, and some more.
    parameter int unsigned PHITS = 2048,
    /// Cycles without a fault after which the link is up.
    parameter int unsigned QUIET = 1024,
    /// Cycles for which both sides are reset together.
    parameter int unsigned HOLD = 32
) (
    /// Clock of the core.
    input  logic                              clk_i,
    /// Synchronous reset of the core's clock, active low: that of the board's switch.
    input  logic                              rst_ni,
    /// Key of the run, PLACE.key; 0 from the board's reset until the host writes it.
    input  logic [7:0]                        key_i,

    /// From the switch: a phit and a credit that leave.
    input  alcor_abi_pkg::link_flow_t         link_i,
    /// From the switch: the phit.
    input  logic [LinkPhitW-1:0]              phit_i,
    /// To the switch: a phit and a credit that arrive.
    output alcor_abi_pkg::link_flow_t         link_o,
    /// To the switch: the phit.
    output logic [LinkPhitW-1:0]              phit_o,

    /// Register LINK_STATUS.
    output alcor_abi_pkg::links_link_status_t status_o,
    /// Counts of events since the board's reset.
    output alcor_abi_pkg::link_counts_t       counts_o,

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

  logic link_rst_n, mac_rst_n, works;

  link_reset #(
      .HOLD(HOLD)
  ) u_reset (
      .clk_i     (clk_i),
      .rst_ni    (rst_ni),
      .mac_clk_i (mac_clk_i),
      .rst_no    (link_rst_n),
      .works_o   (works),
      .mac_rst_no(mac_rst_n)
  );

  // A number for the time until the next reset. No reset needed: every value is legal. The key crosses from a register.
  logic [7:0] resets_q, key_q;
  logic rst_n_q;

  always_ff @(posedge clk_i) begin
    key_q   <= key_i;
    rst_n_q <= rst_ni;
    if (rst_n_q && !rst_ni) resets_q <= resets_q + 1'b1;
  end

  // A reset of the link end does not take the link down: the other end would take it for a fall.
  logic mac_up, fall, retrain;

  link_bringup #(
      .QUIET(QUIET)
  ) u_bringup (
      .mac_clk_i     (mac_clk_i),
      .mac_rst_ni    (mac_ready_i),
      .aligned_i     (mac_aligned_i),
      .remote_fault_i(mac_remote_fault_i),
      .retrain_i     (retrain),
      .tx_enable_o   (mac_tx_enable_o),
      .send_fault_o  (mac_send_fault_o),
      .up_o          (mac_up),
      .fall_o        (fall)
  );

  // ---------------------------------------------------------------- status, in the core's clock

  logic mac_aligned_q, mac_fault_q, mac_open_q, mac_ready, up, aligned, remote_fault, open;
  alcor_abi_pkg::link_faults_t mac_faults, mac_faults_q, faults;
  alcor_abi_pkg::link_session_t session;
  alcor_abi_pkg::link_events_t events;
  logic overrun, overrun_q, was_up_q, fell_q;

  always_ff @(posedge mac_clk_i) begin
    mac_aligned_q <= mac_aligned_i && mac_ready_i;
    mac_fault_q   <= mac_remote_fault_i && mac_ready_i;
    // The session's state is decoded, so it passes a register before the synchroniser.
    mac_open_q    <= session.open;
    mac_faults_q  <= mac_faults;
  end

  sync_2ff #(
      .WIDTH(8)
  ) u_status (
      .clk_i (clk_i),
      .rst_ni(rst_ni),
      .d_i   ({mac_ready_i, mac_up, mac_aligned_q, mac_fault_q, mac_open_q, mac_faults_q}),
      .q_o   ({mac_ready, up, aligned, remote_fault, open, faults})
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      was_up_q  <= 1'b0;
      fell_q    <= 1'b0;
      overrun_q <= 1'b0;
    end else begin
      was_up_q <= status_o.up;
      if (was_up_q && !status_o.up) fell_q <= 1'b1;
      if (overrun) overrun_q <= 1'b1;
    end
  end

  always_comb begin
    status_o              = '0;
    // A clock that stands cannot say that the link is down.
    status_o.up           = up && mac_ready;
    status_o.aligned      = aligned;
    status_o.remote_fault = remote_fault;
    status_o.open         = open && works;
    status_o.stale        = faults.stale && works;
    status_o.fell         = fell_q;
    status_o.foreign      = faults.foreign && works;
    status_o.overrun      = (faults.overrun && works) || overrun_q;
  end

  link_counts u_counts (
      .mac_clk_i (mac_clk_i),
      .mac_rst_ni(mac_rst_n),
      .events_i  (events),
      .clk_i     (clk_i),
      .rst_ni    (link_rst_n),
      .counts_o  (counts_o)
  );

  // ---------------------------------------------------------------- the two ways

  logic tx_valid, tx_ready, replay, timeout;
  alcor_abi_pkg::frame_word_t tx_word;
  alcor_abi_pkg::link_news_t news;
  alcor_abi_pkg::link_drops_t drops;

  assign events = {retrain, fall, timeout, replay, drops};

  link_tx #(
      .SHAPE (SHAPE),
      .PHITS (PHITS),
      .GROUPS(GROUPS)
  ) u_tx (
      .clk_i      (clk_i),
      .rst_ni     (rst_ni),
      .link_rst_ni(link_rst_n),
      .works_i    (works),
      .valid_i    (link_i.valid),
      .vc_i       (link_i.vc),
      .phit_i     (phit_i),
      .credit_i   (link_i.credit),
      .credit_vc_i(link_i.credit_vc),
      .overrun_o  (overrun),
      .mac_clk_i  (mac_clk_i),
      .mac_rst_ni (mac_rst_n),
      .up_i       (mac_up),
      .session_i  (session),
      .news_i     (news),
      .mac_valid_o(tx_valid),
      .mac_ready_i(tx_ready),
      .mac_word_o (tx_word),
      .replay_o   (replay),
      .timeout_o  (timeout),
      .retrain_o  (retrain)
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
      .mac_ready_i(mac_ready_i),
      .mac_valid_i(mac_valid_i),
      .mac_word_i (mac_word_i),
      .mac_error_i(mac_error_i),
      .resets_i   (resets_q),
      .key_i      (key_q),
      .session_o  (session),
      .news_o     (news),
      .faults_o   (mac_faults),
      .drops_o    (drops),
      .clk_i      (clk_i),
      .rst_ni     (link_rst_n),
      .works_i    (works),
      .valid_o    (link_o.valid),
      .vc_o       (link_o.vc),
      .phit_o     (phit_o),
      .credit_o   (link_o.credit),
      .credit_vc_o(link_o.credit_vc)
  );

endmodule

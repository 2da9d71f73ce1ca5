`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_link_pkg::*;

/// A QSFP28 cage: the link end with its medium access controller in SLR2, and the way of its signals to the core's region, SLR1.
///
/// The controller makes the link's clock from the cage's reference, 322 MHz; the link end crosses between it and the core's. The
/// instances that end in `_core` and `_cage` are the registers in SLR1 and SLR2.
module u280_cage #(
    /// Number of the cage, 0 or 1.
    parameter int unsigned CAGE = 0,
    /// The register SHAPE of the board: two boards with different ones refuse each other.
    parameter logic [31:0] SHAPE = 32'h0,
    /// Phits that each direction of the link end has room for.
    parameter int unsigned PHITS = 2048,
    /// Registers on each side of the border between the regions.
    parameter int unsigned STAGES = 1
) (
    /// The core's clock.
    input  logic                      clk_i,
    /// The link's reset, synchronous, active low.
    input  logic                      link_rst_ni,
    /// Key of the run, which both ends of a link must have.
    input  logic [7:0]                link_key_i,
    /// From the core: link_flow_t.
    input  logic [LinkFlowW-1:0]      link_i,
    /// From the core: the phit.
    input  logic [LinkPhitW-1:0]      phit_i,
    /// To the core: link_flow_t.
    output logic [LinkFlowW-1:0]      link_o,
    /// To the core: the phit.
    output logic [LinkPhitW-1:0]      phit_o,
    /// LINK_STATUS.
    output logic [31:0]               status_o,
    /// Counters of the link's events.
    output logic [LinkCountsW-1:0]    counts_o,

    /// 100 MHz of the board.
    input  logic                      clk100_i,
    /// With `clk100_i`: the transceivers start anew.
    input  logic                      mac_reset_i,
    /// Reference clock of the cage, 161.1328125 MHz.
    input  logic                      refclk_p_i,
    /// Reference clock of the cage.
    input  logic                      refclk_n_i,
    /// Lanes, received.
    input  logic [3:0]                rxp_i,
    /// Lanes, received.
    input  logic [3:0]                rxn_i,
    /// Lanes, sent.
    output logic [3:0]                txp_o,
    /// Lanes, sent.
    output logic [3:0]                txn_o
);

  logic mac_clk, mac_ready_q, mac_rx_reset, mac_tx_reset;
  logic mac_aligned, mac_fault, mac_enable, mac_send_fault;
  logic mac_tx_valid, mac_tx_taken, mac_tx_last, mac_tx_error;
  logic mac_rx_valid, mac_rx_last, mac_rx_error;
  logic [MacW-1:0] mac_tx_data, mac_rx_data;

  // Between the core's region and the cages': reset, key, flow and phit one way, flow, phit, status and counts the other.
  localparam int unsigned OutW = 9 + LinkFlowW + LinkPhitW;
  localparam int unsigned InW = LinkFlowW + LinkPhitW + 32 + LinkCountsW;

  logic [OutW-1:0] out_core, out_cage;
  logic [InW-1:0] in_cage, in_core;
  logic cage_rst_n;
  logic [7:0] cage_key;
  logic [LinkFlowW-1:0] cage_tx, cage_rx;
  logic [LinkPhitW-1:0] cage_tx_phit, cage_rx_phit;
  logic [31:0] cage_status;
  logic [LinkCountsW-1:0] cage_counts;

  register_pipe #(.WIDTH(OutW), .STAGES(STAGES)) u_out_core (
      .clk_i(clk_i), .d_i({link_rst_ni, link_key_i, link_i, phit_i}), .q_o(out_core)
  );
  register_pipe #(.WIDTH(OutW), .STAGES(STAGES)) u_out_cage (.clk_i(clk_i), .d_i(out_core), .q_o(out_cage));

  assign {cage_rst_n, cage_key, cage_tx, cage_tx_phit} = out_cage;

  register_pipe #(.WIDTH(InW), .STAGES(STAGES)) u_in_cage (
      .clk_i(clk_i), .d_i({cage_rx, cage_rx_phit, cage_status, cage_counts}), .q_o(in_cage)
  );
  register_pipe #(.WIDTH(InW), .STAGES(STAGES)) u_in_core (.clk_i(clk_i), .d_i(in_cage), .q_o(in_core));

  assign {link_o, phit_o, status_o, counts_o} = in_core;

  always_ff @(posedge mac_clk) mac_ready_q <= !mac_rx_reset && !mac_tx_reset;

  link_end #(
      .SHAPE(SHAPE),
      .PHITS(PHITS)
  ) u_link_end (
      .clk_i             (clk_i),
      .rst_ni            (cage_rst_n),
      .key_i             (cage_key),
      .link_i            (cage_tx),
      .phit_i            (cage_tx_phit),
      .link_o            (cage_rx),
      .phit_o            (cage_rx_phit),
      .status_o          (cage_status),
      .counts_o          (cage_counts),
      .mac_clk_i         (mac_clk),
      .mac_ready_i       (mac_ready_q),
      .mac_aligned_i     (mac_aligned),
      .mac_remote_fault_i(mac_fault),
      .mac_tx_enable_o   (mac_enable),
      .mac_send_fault_o  (mac_send_fault),
      .mac_valid_o       (mac_tx_valid),
      .mac_taken_i       (mac_tx_taken),
      .mac_word_o        ({mac_tx_last, mac_tx_data}),
      .mac_error_o       (mac_tx_error),
      .mac_valid_i       (mac_rx_valid),
      .mac_word_i        ({mac_rx_last, mac_rx_data}),
      .mac_error_i       (mac_rx_error)
  );

  // Each cage has an IP of its own, as an IP is bound to its place. The ports are the same.
  // verilog_format: off
  `define ALCOR_CMAC(module_) \
  module_ u_cmac ( \
      .gt_rxp_in                           (rxp_i), \
      .gt_rxn_in                           (rxn_i), \
      .gt_txp_out                          (txp_o), \
      .gt_txn_out                          (txn_o), \
      .gt_ref_clk_p                        (refclk_p_i), \
      .gt_ref_clk_n                        (refclk_n_i), \
      .gt_loopback_in                      (12'd0), \
      .gtwiz_reset_tx_datapath             (1'b0), \
      .gtwiz_reset_rx_datapath             (1'b0), \
      .sys_reset                           (mac_reset_i), \
      .init_clk                            (clk100_i), \
      .gt_txusrclk2                        (mac_clk), \
      .rx_clk                              (mac_clk), \
      .core_rx_reset                       (1'b0), \
      .core_tx_reset                       (1'b0), \
      .usr_rx_reset                        (mac_rx_reset), \
      .usr_tx_reset                        (mac_tx_reset), \
      .ctl_rx_enable                       (1'b1), \
      .ctl_rx_force_resync                 (1'b0), \
      .ctl_rx_test_pattern                 (1'b0), \
      .ctl_tx_enable                       (mac_enable), \
      .ctl_tx_test_pattern                 (1'b0), \
      .ctl_tx_send_idle                    (1'b0), \
      .ctl_tx_send_rfi                     (mac_send_fault), \
      .ctl_tx_send_lfi                     (1'b0), \
      .ctl_tx_rsfec_enable                 (1'b1), \
      .ctl_rx_rsfec_enable                 (1'b1), \
      .ctl_rsfec_ieee_error_indication_mode(1'b1), \
      .ctl_rx_rsfec_enable_correction      (1'b1), \
      .ctl_rx_rsfec_enable_indication      (1'b1), \
      .stat_rx_aligned                     (mac_aligned), \
      .stat_rx_remote_fault                (mac_fault), \
      .tx_axis_tvalid                      (mac_tx_valid), \
      .tx_axis_tready                      (mac_tx_taken), \
      .tx_axis_tdata                       (mac_tx_data), \
      .tx_axis_tkeep                       (64'hFFFF_FFFF_FFFF_FFFF), \
      .tx_axis_tlast                       (mac_tx_last), \
      .tx_axis_tuser                       (mac_tx_error), \
      .tx_preamblein                       (56'd0), \
      .rx_axis_tvalid                      (mac_rx_valid), \
      .rx_axis_tdata                       (mac_rx_data), \
      .rx_axis_tkeep                       (), \
      .rx_axis_tlast                       (mac_rx_last), \
      .rx_axis_tuser                       (mac_rx_error), \
      .core_drp_reset                      (1'b0), \
      .drp_clk                             (1'b0), \
      .drp_addr                            (10'd0), \
      .drp_di                              (16'd0), \
      .drp_en                              (1'b0), \
      .drp_we                              (1'b0) \
  );
  // verilog_format: on

  if (CAGE == 0) begin : g_cage0
    `ALCOR_CMAC(cmac_u280_0)
  end else begin : g_cage1
    `ALCOR_CMAC(cmac_u280_1)
  end

  `ALCOR_CHECK_PARAM(g_check_cage, CAGE <= 1, "u280_cage: the board has two cages, so CAGE must be 0 or 1")

endmodule

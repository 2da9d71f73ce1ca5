import alcor_abi_pkg::*;

/// `switch_router` with a port for each signal of a link.
module router_bench #(
    /// Link ports.
    parameter int unsigned LINKS = 6,
    /// Stages of the collective unit.
    parameter int unsigned STAGES = 3,
    /// Data bits of a phit.
    parameter int unsigned PHIT_W = 256,
    /// Phits of each channel of a link input.
    parameter int unsigned VC_DEPTH = 256,
    /// Destinations of the forwarding table.
    parameter int unsigned DESTS = 256,
    /// Local ports; derived, not to be set.
    localparam int unsigned Locals = 2 + STAGES,
    /// Bits of a phit with its head; derived, not to be set.
    localparam int unsigned W = PHIT_W + PhitHeadW
) (
    input  logic                     clk_i,
    input  logic                     rst_ni,
    input  logic [7:0]               key_i,
    input  logic                     forward_write_i,
    input  logic [7:0]               forward_rank_i,
    input  logic [3:0]               forward_port_i,
    input  logic [LINKS-1:0]         dateline_i,
    input  logic [LINKS-1:0]         link_valid_i,
    input  logic [LINKS-1:0][2:0]    link_vc_i,
    input  logic [LINKS-1:0][W-1:0]  link_phit_i,
    input  logic [LINKS-1:0]         link_credit_i,
    input  logic [LINKS-1:0][2:0]    link_credit_vc_i,
    output logic [LINKS-1:0]         link_valid_o,
    output logic [LINKS-1:0][2:0]    link_vc_o,
    output logic [LINKS-1:0][W-1:0]  link_phit_o,
    output logic [LINKS-1:0]         link_credit_o,
    output logic [LINKS-1:0][2:0]    link_credit_vc_o,
    input  logic [Locals-1:0]        local_valid_i,
    output logic [Locals-1:0]        local_ready_o,
    input  logic [Locals-1:0][W-1:0] local_phit_i,
    output logic [Locals-1:0]        local_valid_o,
    input  logic [Locals-1:0]        local_ready_i,
    output logic [Locals-1:0][W-1:0] local_phit_o,
    input  logic                     control_i,
    input  logic [15:0]              control_data_i,
    output logic                     control_o,
    output logic [15:0]              control_data_o,
    output logic                     drop_o,
    output logic [LINKS-1:0]         link_tx_o,
    output logic [LINKS-1:0]         link_rx_o,
    output logic                     idle_o
);

  logic [LINKS-1:0][LinkFlowW-1:0] flow_in, flow_out;

  for (genvar l = 0; l < LINKS; l++) begin : g_link
    assign flow_in[l] = {link_valid_i[l], link_vc_i[l], link_credit_i[l], link_credit_vc_i[l]};
    assign {link_valid_o[l], link_vc_o[l], link_credit_o[l], link_credit_vc_o[l]} = flow_out[l];
  end

  switch_router #(
      .LINKS   (LINKS),
      .STAGES  (STAGES),
      .PHIT_W  (PHIT_W),
      .VC_DEPTH(VC_DEPTH),
      .DESTS   (DESTS)
  ) u_router (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .key_i          (key_i),
      .forward_write_i(forward_write_i),
      .forward_rank_i (forward_rank_i),
      .forward_port_i (forward_port_i),
      .dateline_i     (dateline_i),
      .link_i         (flow_in),
      .link_phit_i    (link_phit_i),
      .link_o         (flow_out),
      .link_phit_o    (link_phit_o),
      .local_valid_i  (local_valid_i),
      .local_ready_o  (local_ready_o),
      .local_phit_i   (local_phit_i),
      .local_valid_o  (local_valid_o),
      .local_ready_i  (local_ready_i),
      .local_phit_o   (local_phit_o),
      .control_i      (control_i),
      .control_data_i (control_data_i),
      .control_o      (control_o),
      .control_data_o (control_data_o),
      .drop_o         (drop_o),
      .link_tx_o      (link_tx_o),
      .link_rx_o      (link_rx_o),
      .idle_o         (idle_o)
  );

endmodule

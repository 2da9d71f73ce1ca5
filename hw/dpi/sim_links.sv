`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_link_pkg::*;

// No part of a board: nothing of it counts as covered or not.
// verilator coverage_off

/// The link ends of a simulated board, with the core's clock as the clock of the medium access
/// controllers. The simulator is the controllers and the medium. Words of frames have the places of
/// phits in its calls, and the states of a controller's pins have the places of credits.
module sim_links #(
    /// Link ports.
    parameter int unsigned LINKS = 2,
    /// The board's register SHAPE.
    parameter logic [31:0] SHAPE = 32'h0,
    /// Phits that a link port of the switch holds for each virtual channel.
    parameter int unsigned VC_DEPTH = 256,
    /// Bits of a word with its flags in a call; derived, not to be set.
    localparam int unsigned WireW = MacW + PhitHeadW
) (
    /// Clock.
    input  logic                             clk_i,
    /// Synchronous reset, active low: that of the controllers.
    input  logic                             rst_ni,
    /// Synchronous reset, active low: that of the board's link ends.
    input  logic                             link_rst_ni,
    /// Key of the run, PLACE.key.
    input  logic [7:0]                       key_i,

    /// From the switch: phits and credits that leave, a link_flow_t for each link.
    input  logic [LINKS-1:0][LinkFlowW-1:0]  link_i,
    /// From the switch: the phits.
    input  logic [LINKS-1:0][LinkPhitW-1:0]  phit_i,
    /// To the switch: phits and credits that arrive, a link_flow_t for each link.
    output logic [LINKS-1:0][LinkFlowW-1:0]  link_o,
    /// To the switch: the phits.
    output logic [LINKS-1:0][LinkPhitW-1:0]  phit_o,

    /// To the simulator, a link_flow_t for each link: `valid`, a controller takes a word of a frame; `credit`, a
    /// controller begins or ends to send remote faults, which `credit_vc` says.
    output logic [LINKS-1:0][LinkFlowW-1:0]  wire_o,
    /// The word; above it, whether it is the last one, and whether its frame is damaged.
    output logic [LINKS-1:0][WireW-1:0]      wire_word_o,
    /// From the simulator, a link_flow_t for each link: `valid`, a word of a frame comes; `credit`, the state of a
    /// controller changes to `credit_vc`: bit 0 the receiver is aligned, 1 the other end sends remote faults, 2 no word
    /// is taken.
    input  logic [LINKS-1:0][LinkFlowW-1:0]  wire_i,
    /// The word; above it, whether it is the last one, and whether its frame is damaged.
    input  logic [LINKS-1:0][WireW-1:0]      wire_word_i,

    /// Byte address of a register of the links page.
    input  logic [11:0]                      peek_addr_i,
    /// The register, in the same cycle.
    output logic [31:0]                      peek_data_o
);

  logic ready_q;
  logic [LINKS-1:0][31:0] status;
  logic [LINKS-1:0][LinkCountsW-1:0] counts;

  always_ff @(posedge clk_i) ready_q <= rst_ni;

  for (genvar l = 0; l < LINKS; l++) begin : g_link
    logic aligned_q, remote_fault_q, busy_q, fault_q, fault, valid, error;
    alcor_abi_pkg::frame_word_t word;
    alcor_abi_pkg::link_flow_t from_medium;

    assign from_medium = wire_i[l];

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        {busy_q, remote_fault_q, aligned_q} <= '0;
        fault_q                             <= 1'b1;
      end else begin
        if (from_medium.credit) {busy_q, remote_fault_q, aligned_q} <= from_medium.credit_vc;
        fault_q <= fault;
      end
    end

    assign wire_o[l]      = {valid && !busy_q, 3'd0, fault != fault_q, 2'd0, fault};
    assign wire_word_o[l] = WireW'({error, word});

    link_end #(
        .SHAPE(SHAPE),
        .PHITS(8 * VC_DEPTH),
        .QUIET(64)
    ) u_link_end (
        .clk_i             (clk_i),
        .rst_ni            (link_rst_ni),
        .key_i             (key_i),
        .link_i            (link_i[l]),
        .phit_i            (phit_i[l]),
        .link_o            (link_o[l]),
        .phit_o            (phit_o[l]),
        .status_o          (status[l]),
        .counts_o          (counts[l]),
        .mac_clk_i         (clk_i),
        .mac_ready_i       (ready_q),
        .mac_aligned_i     (aligned_q),
        .mac_remote_fault_i(remote_fault_q),
        .mac_tx_enable_o   (),
        .mac_send_fault_o  (fault),
        .mac_valid_o       (valid),
        .mac_taken_i       (!busy_q),
        .mac_word_o        (word),
        .mac_error_o       (error),
        .mac_valid_i       (from_medium.valid),
        .mac_word_i        (wire_word_i[l][MacW:0]),
        .mac_error_i       (wire_word_i[l][MacW+1])
    );
  end

  // As `links_registers` on a card.
  localparam int unsigned Kinds = 8;

  always_comb begin
    peek_data_o = '0;
    for (int unsigned p = 0; p < LINKS; p++) begin
      if (peek_addr_i == LINKS_LINK_STATUS_OFFSET + 12'(4 * p)) peek_data_o = status[p];
      for (int unsigned k = 0; k < Kinds; k++) begin
        if (peek_addr_i == LINKS_LINK_DAMAGED_OFFSET + 12'(32 * k + 4 * p)) peek_data_o[15:0] = counts[p][16*k+:16];
      end
    end
  end

endmodule

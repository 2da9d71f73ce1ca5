`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_link_pkg::*;

/// The sending half of a link end: turns phits and credits of the core's clock into frames of the
/// medium access controller.
///
/// The core is never stalled: a phit and a credit may come in every cycle. A frame of full groups
/// carries more phits than the core's clock has cycles in its time (hw/link/doc/link.md), so the
/// FIFO between the clocks never fills. Phits and credits that come while the link is down are
/// lost.
///
/// Frames: `mac_valid_o` stays high from a frame's first word to its last, and a word stays on
/// offer, unchanged, until it is taken.
module link_tx #(
    /// The board's register SHAPE, which each frame carries.
    parameter logic [31:0] SHAPE = 32'h0,
    /// Words of the FIFO between the clocks, a power of two.
    parameter int unsigned FIFO_DEPTH = 32,
    /// Groups of a frame at most.
    parameter int unsigned GROUPS = 8
) (
    /// Clock of the core.
    input  logic                       clk_i,
    /// Synchronous reset of the core's clock, active low.
    input  logic                       rst_ni,
    /// The link is up.
    input  logic                       up_i,
    /// A phit leaves.
    input  logic                       valid_i,
    /// Channel of the phit.
    input  logic [2:0]                 vc_i,
    /// The phit.
    input  logic [LinkPhitW-1:0]       phit_i,
    /// A credit is given back.
    input  logic                       credit_i,
    /// Channel of the credit.
    input  logic [2:0]                 credit_vc_i,
    /// Pulse: a phit or credit is lost, because the FIFO is full; a defect.
    output logic                       overrun_o,

    /// Clock of the medium access controller.
    input  logic                       mac_clk_i,
    /// Synchronous reset of the controller's clock, active low.
    input  logic                       mac_rst_ni,
    /// A word of a frame is offered.
    output logic                       mac_valid_o,
    /// The word is taken.
    input  logic                       mac_ready_i,
    /// The word.
    output alcor_abi_pkg::frame_word_t mac_word_o
);

  logic some, ready;
  logic entry_valid, entry_ready;
  alcor_abi_pkg::link_entry_t entry_in, entry;

  // From registers: the core's outputs end here.
  logic valid_q, credit_q;
  logic [2:0] vc_q, credit_vc_q;
  logic [LinkPhitW-1:0] phit_q;

  always_ff @(posedge clk_i) begin
    valid_q  <= valid_i && rst_ni;
    credit_q <= credit_i && rst_ni;
    if (valid_i) begin
      vc_q   <= vc_i;
      phit_q <= phit_i;
    end
    if (credit_i) credit_vc_q <= credit_vc_i;
  end

  assign some      = valid_q || credit_q;
  assign entry_in  = {credit_q, credit_vc_q, valid_q, vc_q, phit_q};
  assign overrun_o = some && up_i && !ready;

  fifo_async #(
      .WIDTH(LinkEntryW),
      .DEPTH(FIFO_DEPTH)
  ) u_cross (
      .wclk_i (clk_i),
      .wrst_ni(rst_ni),
      // The word is not offered again where there is no room: it is lost, and reported.
      .valid_i(some && up_i && ready),
      .ready_o(ready),
      .data_i (entry_in),
      .rclk_i (mac_clk_i),
      .rrst_ni(mac_rst_ni),
      .valid_o(entry_valid),
      .ready_i(entry_ready),
      .data_o (entry)
  );

  link_framer #(
      .SHAPE (SHAPE),
      .GROUPS(GROUPS)
  ) u_framer (
      .mac_clk_i  (mac_clk_i),
      .mac_rst_ni (mac_rst_ni),
      .valid_i    (entry_valid),
      .ready_o    (entry_ready),
      .entry_i    (entry),
      .mac_valid_o(mac_valid_o),
      .mac_ready_i(mac_ready_i),
      .mac_word_o (mac_word_o)
  );

  `ALCOR_IMPLIES(a_credit_has_channel, credit_i, credit_vc_i < 3'(LinkChannels))

endmodule

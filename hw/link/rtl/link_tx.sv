`include "assertions.svh"

import alcor_link_pkg::*;

/// The sending half of a link end: turns phits and credits of the core's clock into frames of the
/// medium access controller.
///
/// The core is never stalled: a phit and a credit may come in every cycle. Phits and credits wait in
/// FIFOs while the link is down, or frames are sent again. A phit is sent only with a credit, so PHITS
/// of all channels' credits are enough room for any time. A frame of full groups carries more phits
/// than the core's clock has cycles in its time (hw/link/doc/link.md), so the FIFOs empty again.
module link_tx #(
    /// The board's register SHAPE, which each frame carries.
    parameter logic [31:0] SHAPE = 32'h0,
    /// Phits that there is room for: the credits of all channels, and some for phits without.
    parameter int unsigned PHITS = 2048,
    /// Words of the FIFO between the clocks, a power of two.
    parameter int unsigned FIFO_DEPTH = 32,
    /// Groups of a frame at most.
    parameter int unsigned GROUPS = 8
) (
    /// Clock of the core.
    input  logic                         clk_i,
    /// Synchronous reset of the core's clock, active low: that of the board.
    input  logic                         rst_ni,
    /// Synchronous reset of the core's clock, active low: that of the link end, which lasts longer.
    input  logic                         link_rst_ni,
    /// No reset is on or due.
    input  logic                         works_i,
    /// A phit leaves.
    input  logic                         valid_i,
    /// Channel of the phit.
    input  logic [2:0]                   vc_i,
    /// The phit.
    input  logic [LinkPhitW-1:0]         phit_i,
    /// A credit is given back.
    input  logic                         credit_i,
    /// Channel of the credit.
    input  logic [2:0]                   credit_vc_i,
    /// Pulse: a phit or credit is lost, because a FIFO is full; a defect.
    output logic                         overrun_o,

    /// Clock of the medium access controller.
    input  logic                         mac_clk_i,
    /// Synchronous reset of the controller's clock, active low.
    input  logic                         mac_rst_ni,
    /// The link is up.
    input  logic                         up_i,
    /// The session with the other end.
    input  alcor_abi_pkg::link_session_t session_i,
    /// News of the receiving half.
    input  alcor_abi_pkg::link_news_t    news_i,
    /// A word of a frame is offered.
    output logic                         mac_valid_o,
    /// The word is taken.
    input  logic                         mac_ready_i,
    /// The word.
    output alcor_abi_pkg::frame_word_t   mac_word_o,
    /// Pulse: frames are sent again because the other end asked.
    output logic                         replay_o,
    /// Pulse: frames are sent again because no acknowledgement came.
    output logic                         timeout_o,
    /// Pulse: the other end stays silent, so the link is to be trained again.
    output logic                         retrain_o
);

  localparam int unsigned PhitEntryW = LinkSlotW - 1;

  logic phit_room, phit_valid, credit_room, credit_valid, ready, moves;
  logic [PhitEntryW-1:0] phit;
  logic [2:0] credit_vc;
  logic entry_valid, entry_ready;
  alcor_abi_pkg::link_entry_t entry_in, entry;

  fifo #(
      .WIDTH    (PhitEntryW),
      .DEPTH    (PHITS),
      .BLOCK_RAM(1'b1)
  ) u_phits (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      // The phit is not offered again where there is no room: it is lost, and reported.
      .valid_i(valid_i && phit_room),
      .ready_o(phit_room),
      .data_i ({vc_i, phit_i}),
      .valid_o(phit_valid),
      .ready_i(moves),
      .data_o (phit),
      .empty_o(),
      .usage_o()
  );

  fifo #(
      .WIDTH    (3),
      .DEPTH    (PHITS),
      .BLOCK_RAM(1'b1)
  ) u_credits (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i(credit_i && credit_room),
      .ready_o(credit_room),
      .data_i (credit_vc_i),
      .valid_o(credit_valid),
      .ready_i(moves),
      .data_o (credit_vc),
      .empty_o(),
      .usage_o()
  );

  assign moves     = ready && works_i;
  assign entry_in  = {credit_valid, credit_vc, phit_valid, phit};
  assign overrun_o = (valid_i && !phit_room) || (credit_i && !credit_room);

  fifo_async #(
      .WIDTH(LinkEntryW),
      .DEPTH(FIFO_DEPTH)
  ) u_cross (
      .wclk_i (clk_i),
      .wrst_ni(link_rst_ni),
      // A phit that waits may be joined by a credit, so neither is offered before it moves.
      .valid_i((phit_valid || credit_valid) && moves),
      .ready_o(ready),
      .data_i (entry_in),
      .rclk_i (mac_clk_i),
      .rrst_ni(mac_rst_ni),
      .valid_o(entry_valid),
      .ready_i(entry_ready),
      .data_o (entry)
  );

  logic word_valid, word_ready, word_first;
  alcor_abi_pkg::frame_word_t word;

  link_framer #(
      .GROUPS(GROUPS)
  ) u_framer (
      .mac_clk_i (mac_clk_i),
      .mac_rst_ni(mac_rst_ni),
      .valid_i   (entry_valid),
      .ready_o   (entry_ready),
      .entry_i   (entry),
      .valid_o   (word_valid),
      .ready_i   (word_ready),
      .first_o   (word_first),
      .word_o    (word)
  );

  link_replay #(
      .SHAPE  (SHAPE),
      .LONGEST(2 * GROUPS + 1)
  ) u_replay (
      .mac_clk_i  (mac_clk_i),
      .mac_rst_ni (mac_rst_ni),
      .up_i       (up_i),
      .session_i  (session_i),
      .news_i     (news_i),
      .valid_i    (word_valid),
      .ready_o    (word_ready),
      .first_i    (word_first),
      .word_i     (word),
      .mac_valid_o(mac_valid_o),
      .mac_ready_i(mac_ready_i),
      .mac_word_o (mac_word_o),
      .replay_o   (replay_o),
      .timeout_o  (timeout_o),
      .retrain_o  (retrain_o)
  );

  `ALCOR_IMPLIES(a_credit_has_channel, credit_i, credit_vc_i < 3'(LinkChannels))

endmodule

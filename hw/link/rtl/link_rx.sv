`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_link_pkg::*;

/// The receiving half of a link end: turns frames of the medium access controller into phits and
/// credits of the core's clock, at most one of each a cycle.
///
/// A frame is stored until it is complete and its checksum was right; no part of a damaged frame is
/// delivered. The link does not retransmit, so the first frame that is damaged, missing or foreign
/// shuts the receiver: later frames are counted and dropped until the link is reset.
///
/// The medium access controller cannot be stalled, and the core takes a phit a cycle of its own
/// clock, which may be a little slower than the sender's. Phits wait in a buffer meanwhile. A
/// sender has credits for all phits that it sends, so PHITS of all channels' credits are enough
/// room.
module link_rx #(
    /// The board's register SHAPE; a frame with another one is foreign.
    parameter logic [31:0] SHAPE = 32'h0,
    /// Phits that there is room for: the credits of all channels, and some for phits without.
    parameter int unsigned PHITS = 2048,
    /// Words of the FIFO between the clocks, a power of two.
    parameter int unsigned FIFO_DEPTH = 16
) (
    /// Clock of the medium access controller.
    input  logic                       mac_clk_i,
    /// Synchronous reset of the controller's clock, active low.
    input  logic                       mac_rst_ni,
    /// A word of a frame comes.
    input  logic                       mac_valid_i,
    /// The word.
    input  alcor_abi_pkg::frame_word_t mac_word_i,
    /// With the last word: the frame is damaged.
    input  logic                       mac_error_i,
    /// Faults; kept until reset.
    output alcor_abi_pkg::link_faults_t faults_o,
    /// Frames that came damaged or out of sequence, as a Gray code; for another clock.
    output logic [15:0]                errors_o,

    /// Clock of the core.
    input  logic                       clk_i,
    /// Synchronous reset of the core's clock, active low.
    input  logic                       rst_ni,
    /// A phit comes.
    output logic                       valid_o,
    /// Channel of the phit.
    output logic [2:0]                 vc_o,
    /// The phit.
    output logic [LinkPhitW-1:0]       phit_o,
    /// A credit comes back.
    output logic                       credit_o,
    /// Channel of the credit.
    output logic [2:0]                 credit_vc_o
);

  // Two of the longest frames.
  localparam int unsigned Words = 64;
  localparam int unsigned PhitEntryW = LinkSlotW - 1;

  // ---------------------------------------------------------------- whole frames

  logic inside_q, odd_q, spoilt_q, foreign_q;
  logic [7:0] sequence_q, expected_q;
  logic is_foreign, apart, put, words_ready, ends, good;
  logic bad_q, foreign_end_q, frame_q;

  // Checks of the first word; a frame of an even number of words is cut off.
  alcor_abi_pkg::first_word_t first;

  assign first = mac_word_i.data;
  assign is_foreign = first.addresses != LinkAddresses || first.frame.ethertype != LinkEtherType
      || first.frame.layout != LinkLayout || first.abi != ABI_HASH || first.shape != SHAPE;

  // The checks of a word are looked at a cycle later, so the word waits as long.
  logic word_valid_q, error_q;
  alcor_abi_pkg::frame_word_t word_q;

  always_ff @(posedge mac_clk_i) begin
    if (!mac_rst_ni) begin
      word_valid_q <= 1'b0;
      inside_q     <= 1'b0;
    end else begin
      word_valid_q <= mac_valid_i;
      if (mac_valid_i) inside_q <= !mac_word_i.last;
    end
  end

  always_ff @(posedge mac_clk_i) begin
    if (mac_valid_i) begin
      word_q  <= mac_word_i;
      error_q <= mac_word_i.last && mac_error_i;
      odd_q   <= !inside_q || !odd_q;
      if (!inside_q) begin
        foreign_q  <= is_foreign;
        sequence_q <= first.frame.sequence_;
      end
    end
  end

  assign apart = sequence_q != expected_q;

  assign put  = word_valid_q && !faults_o.shut;
  assign ends = word_valid_q && word_q.last;
  assign good = !error_q && odd_q && !foreign_q && !apart && !spoilt_q && words_ready;

  always_ff @(posedge mac_clk_i) begin
    if (!mac_rst_ni) begin
      expected_q    <= '0;
      spoilt_q      <= 1'b0;
      faults_o.shut    <= 1'b0;
      faults_o.damaged <= 1'b0;
      faults_o.foreign <= 1'b0;
      bad_q         <= 1'b0;
      foreign_end_q <= 1'b0;
      frame_q       <= 1'b0;
    end else begin
      // Some word of the frame found no room.
      if (word_valid_q) spoilt_q <= !word_q.last && (spoilt_q || !words_ready);
      if (ends) expected_q <= expected_q + 1'b1;
      frame_q       <= ends && good && !faults_o.shut;
      bad_q         <= ends && (error_q || !odd_q || (apart && !foreign_q && !faults_o.shut));
      foreign_end_q <= ends && !error_q && foreign_q;
      if (ends && !good) faults_o.shut <= 1'b1;
      if (bad_q) faults_o.damaged <= 1'b1;
      if (foreign_end_q) faults_o.foreign <= 1'b1;
    end
  end

  logic [15:0] errors_q;

  always_ff @(posedge mac_clk_i) begin
    if (!mac_rst_ni) begin
      errors_q <= '0;
      errors_o <= '0;
    end else begin
      if (bad_q && errors_q != '1) errors_q <= errors_q + 1'b1;
      errors_o <= errors_q ^ (errors_q >> 1);
    end
  end

  logic word_valid, word_ready;
  alcor_abi_pkg::frame_word_t word;

  fifo #(
      .WIDTH    (MacW + 1),
      .DEPTH    (Words),
      .BLOCK_RAM(1'b1)
  ) u_words (
      .clk_i  (mac_clk_i),
      .rst_ni (mac_rst_ni),
      .valid_i(put && words_ready),
      .ready_o(words_ready),
      .data_i (word_q),
      .valid_o(word_valid),
      .ready_i(word_ready),
      .data_o (word),
      .empty_o(),
      .usage_o()
  );

  // ---------------------------------------------------------------- phits and credits

  logic credits_valid, credits_room, phit_room;
  logic [LinkChannels*LinkCreditW-1:0] credits;
  alcor_abi_pkg::slot_t slot;

  link_unpacker u_unpacker (
      .mac_clk_i      (mac_clk_i),
      .mac_rst_ni     (mac_rst_ni),
      .frame_i        (frame_q),
      .valid_i        (word_valid),
      .ready_o        (word_ready),
      .word_i         (word),
      .credits_valid_o(credits_valid),
      .credits_o      (credits),
      .slot_o         (slot)
  );

  always_ff @(posedge mac_clk_i) begin
    if (!mac_rst_ni) begin
      faults_o.overrun <= 1'b0;
    end else begin
      if ((put && !words_ready) || (slot.tag.full && !phit_room) || (credits_valid && !credits_room)) begin
        faults_o.overrun <= 1'b1;
      end
    end
  end

  logic buffer_valid, buffer_ready, core_valid, credits_in_valid;
  logic [PhitEntryW-1:0] buffer, core_phit;
  logic [LinkChannels-1:0][LinkCreditW-1:0] credits_in;

  fifo #(
      .WIDTH    (PhitEntryW),
      .DEPTH    (PHITS),
      .BLOCK_RAM(1'b1)
  ) u_buffer (
      .clk_i  (mac_clk_i),
      .rst_ni (mac_rst_ni),
      .valid_i(slot.tag.full && phit_room),
      .ready_o(phit_room),
      .data_i ({slot.tag.vc, slot.phit}),
      .valid_o(buffer_valid),
      .ready_i(buffer_ready),
      .data_o (buffer),
      .empty_o(),
      .usage_o()
  );

  fifo_async #(
      .WIDTH(PhitEntryW),
      .DEPTH(FIFO_DEPTH)
  ) u_cross_phits (
      .wclk_i (mac_clk_i),
      .wrst_ni(mac_rst_ni),
      .valid_i(buffer_valid),
      .ready_o(buffer_ready),
      .data_i (buffer),
      .rclk_i (clk_i),
      .rrst_ni(rst_ni),
      .valid_o(core_valid),
      .ready_i(1'b1),
      .data_o (core_phit)
  );

  fifo_async #(
      .WIDTH(LinkChannels * LinkCreditW),
      .DEPTH(FIFO_DEPTH)
  ) u_cross_credits (
      .wclk_i (mac_clk_i),
      .wrst_ni(mac_rst_ni),
      .valid_i(credits_valid && credits_room),
      .ready_o(credits_room),
      .data_i (credits),
      .rclk_i (clk_i),
      .rrst_ni(rst_ni),
      .valid_o(credits_in_valid),
      .ready_i(1'b1),
      .data_o (credits_in)
  );

  // ---------------------------------------------------------------- in the core's clock

  always_ff @(posedge clk_i) begin
    valid_o <= core_valid && rst_ni;
    if (core_valid) {vc_o, phit_o} <= core_phit;
  end

  // Credits that have come and not been handed on, by channel; one leaves a cycle, in turns. A
  // channel's buffer has fewer phits than a count holds.
  localparam int unsigned OwedW = 12;
  logic [LinkChannels-1:0][OwedW-1:0] owed_q;
  logic [LinkChannels-1:0] owes, grant;
  logic [2:0] index;
  logic granted;

  for (genvar c = 0; c < LinkChannels; c++) begin : g_owed
    assign owes[c] = owed_q[c] != '0;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        owed_q[c] <= '0;
      end else begin
        owed_q[c] <= owed_q[c] + (credits_in_valid ? OwedW'(credits_in[c]) : '0) - OwedW'(grant[c]);
      end
    end
  end

  rr_arbiter #(
      .N(LinkChannels)
  ) u_turns (
      .clk_i    (clk_i),
      .rst_ni   (rst_ni),
      .req_i    (owes),
      .advance_i(1'b1),
      .valid_o  (granted),
      .grant_o  (grant),
      .index_o  (index)
  );

  always_ff @(posedge clk_i) begin
    credit_o    <= granted && rst_ni;
    credit_vc_o <= index;
  end

endmodule

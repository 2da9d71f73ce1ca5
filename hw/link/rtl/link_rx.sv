`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_link_pkg::*;

/// The receiving half of a link end: turns frames of the medium access controller into phits and
/// credits of the core's clock, at most one of each a cycle.
///
/// A frame is stored until it is complete and its checksum was right; no part of a damaged frame is
/// delivered. Numbered frames are delivered once and in order: the receiver drops a frame that is
/// not the one expected, and the other end sends it again.
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
    input  logic                         mac_clk_i,
    /// Synchronous reset of the controller's clock, active low.
    input  logic                         mac_rst_ni,
    /// The medium access controller is out of reset.
    input  logic                         mac_ready_i,
    /// A word of a frame comes.
    input  logic                         mac_valid_i,
    /// The word.
    input  alcor_abi_pkg::frame_word_t   mac_word_i,
    /// With the last word: the frame is damaged.
    input  logic                         mac_error_i,
    /// Resets of the board, modulo 256; changes in reset alone.
    input  logic [7:0]                   resets_i,
    /// PLACE.key in the core's clock; 0 before it is written.
    input  logic [7:0]                   key_i,
    /// The session with the other end.
    output alcor_abi_pkg::link_session_t session_o,
    /// News for the sending half.
    output alcor_abi_pkg::link_news_t    news_o,
    /// Faults; kept until reset.
    output alcor_abi_pkg::link_faults_t  faults_o,
    /// Pulses: what happened to frames.
    output alcor_abi_pkg::link_drops_t   drops_o,

    /// Clock of the core.
    input  logic                         clk_i,
    /// Synchronous reset of the core's clock, active low.
    input  logic                         rst_ni,
    /// No reset is on or due.
    input  logic                         works_i,
    /// A phit comes.
    output logic                         valid_o,
    /// Channel of the phit.
    output logic [2:0]                   vc_o,
    /// The phit.
    output logic [LinkPhitW-1:0]         phit_o,
    /// A credit comes back.
    output logic                         credit_o,
    /// Channel of the credit.
    output logic [2:0]                   credit_vc_o
);

  // Two of the longest frames.
  localparam int unsigned Words = 64;
  localparam int unsigned PhitEntryW = LinkSlotW - 1;
  localparam int unsigned UsageW = $clog2(PHITS + 1);
  // Phits of the longest frame, and those on the way to the buffer.
  localparam int unsigned Margin = 40;

  // ---------------------------------------------------------------- whole frames

  logic inside_q, odd_q, spoilt_q, foreign_q;
  logic [5:0] count_q;
  logic is_foreign, words_ready, ends, whole, heard, belongs, room, take;
  alcor_abi_pkg::first_word_t coming, first;
  alcor_abi_pkg::link_sequence_t sequence_q;
  alcor_abi_pkg::link_epochs_t epochs_q;
  alcor_abi_pkg::link_rounds_t rounds_q;
  logic numbered_q, known_q, open_q, again_q;

  // Checks of the first word; a frame of an even number of words is cut off.
  assign coming = mac_word_i.data;
  assign is_foreign = coming.addresses != LinkAddresses || coming.frame.ethertype != LinkEtherType
      || coming.frame.layout != LinkLayout || coming.abi != ABI_HASH || coming.shape != SHAPE;

  // The checks of a word are looked at a cycle later, so the word waits as long.
  logic word_valid_q, error_q;
  alcor_abi_pkg::frame_word_t word_q;

  // A frame that began in reset is taken apart, but cannot name this epoch. A reset of the controller ends a frame.
  always_ff @(posedge mac_clk_i) begin
    if (!mac_ready_i) begin
      inside_q     <= 1'b0;
      word_valid_q <= 1'b0;
    end else begin
      if (mac_valid_i) inside_q <= !mac_word_i.last;
      word_valid_q <= mac_valid_i && mac_rst_ni;
    end
  end

  always_ff @(posedge mac_clk_i) begin
    if (mac_valid_i) begin
      word_q  <= mac_word_i;
      error_q <= mac_word_i.last && mac_error_i;
      odd_q   <= !inside_q || !odd_q;
      count_q <= inside_q ? count_q + 1'b1 : 6'd1;
      if (!inside_q) begin
        foreign_q  <= is_foreign;
        sequence_q <= coming.sequence_;
        epochs_q   <= coming.epochs;
        rounds_q   <= coming.rounds;
        numbered_q <= coming.frame.numbered;
        known_q    <= coming.frame.known;
        open_q     <= coming.frame.open;
        again_q    <= coming.frame.again;
      end
    end
  end

  // The other fields were checked when the word came.
  always_comb begin
    first                = '0;
    first.sequence_      = sequence_q;
    first.epochs         = epochs_q;
    first.rounds         = rounds_q;
    first.frame.numbered = numbered_q;
    first.frame.known    = known_q;
    first.frame.open     = open_q;
    first.frame.again    = again_q;
  end

  logic [15:0] expected_q, ahead;
  logic [7:0] round_q;
  logic asked_q, early, repeated, lost;
  logic arrived_q, lost_q, heard_q, asks_again_q, answer, stale, overrun_q, foreign_kept_q;
  logic [15:0] acknowledged_q;
  logic [7:0] again_round_q;
  alcor_abi_pkg::link_drops_t drops_q;

  assign ends  = word_valid_q && word_q.last;
  assign whole = !error_q && odd_q;
  assign heard = ends && whole && !foreign_q;
  // Some word of the frame found no room.
  assign room  = !spoilt_q && words_ready;

  link_session u_session (
      .mac_clk_i (mac_clk_i),
      .mac_rst_ni(mac_rst_ni),
      .resets_i  (resets_i),
      .key_i     (key_i),
      .heard_i   (heard),
      .first_i   (first),
      .belongs_o (belongs),
      .answer_o  (answer),
      .session_o (session_o),
      .stale_o   (stale)
  );

  // ---------------------------------------------------------------- sequence

  assign ahead    = first.sequence_.word - expected_q;
  assign take     = heard && belongs && first.frame.numbered && ahead == '0 && room;
  // A frame without a number tells the number of the next one.
  assign early    = heard && belongs && ahead != '0 && !ahead[15];
  assign repeated = heard && belongs && first.frame.numbered && ahead[15];
  assign lost     = early || (ends && !whole && session_o.open)
      || (heard && belongs && first.frame.numbered && ahead == '0 && !room);

  always_ff @(posedge mac_clk_i) begin
    if (!mac_rst_ni) begin
      expected_q     <= '0;
      spoilt_q       <= 1'b0;
      round_q        <= '0;
      asked_q        <= 1'b0;
      arrived_q      <= 1'b0;
      lost_q         <= 1'b0;
      heard_q        <= 1'b0;
      drops_q        <= '0;
      foreign_kept_q <= 1'b0;
      overrun_q      <= 1'b0;
    end else begin
      if (!mac_ready_i) spoilt_q <= 1'b0;
      else if (word_valid_q) spoilt_q <= !word_q.last && (spoilt_q || !words_ready);
      if (take) expected_q <= expected_q + 16'(count_q);
      arrived_q <= take || repeated;
      heard_q   <= heard && belongs;
      // The other end is asked once in each of its rounds.
      lost_q <= lost && (!asked_q || (heard && belongs && first.rounds.round != round_q));
      if (heard && belongs) begin
        round_q <= first.rounds.round;
        if (first.rounds.round != round_q) asked_q <= 1'b0;
      end
      if (lost) asked_q <= 1'b1;
      drops_q.damaged  <= ends && !whole;
      drops_q.early    <= early;
      drops_q.repeated <= repeated;
      drops_q.foreign  <= (ends && whole && foreign_q) || (heard && !belongs && first.frame.known);
      if (ends && whole && foreign_q) foreign_kept_q <= 1'b1;
      if (word_valid_q && !words_ready) overrun_q <= 1'b1;
    end
  end

  always_ff @(posedge mac_clk_i) begin
    acknowledged_q <= first.sequence_.acknowledged;
    asks_again_q   <= first.frame.again;
    again_round_q  <= first.rounds.again;
  end

  assign news_o = {
    arrived_q, lost_q, answer, expected_q, round_q, heard_q, acknowledged_q, asks_again_q, again_round_q
  };
  assign faults_o = {stale, foreign_kept_q, overrun_q};
  assign drops_o  = drops_q;

  logic word_valid, word_ready;
  alcor_abi_pkg::frame_word_t word;

  link_frames #(
      .DEPTH(Words)
  ) u_frames (
      .mac_clk_i (mac_clk_i),
      .mac_rst_ni(mac_rst_ni),
      .valid_i   (word_valid_q),
      .ready_o   (words_ready),
      .word_i    (word_q),
      .keep_i    (take),
      .drop_i    (!mac_ready_i),
      .valid_o   (word_valid),
      .ready_i   (word_ready),
      .word_o    (word)
  );

  // ---------------------------------------------------------------- phits and credits

  logic credits_valid, credits_room, phit_room;
  logic [LinkChannels*LinkCreditW-1:0] credits;
  alcor_abi_pkg::slot_t slot;

  link_unpacker u_unpacker (
      .mac_clk_i      (mac_clk_i),
      .mac_rst_ni     (mac_rst_ni),
      .room_i         (room_q),
      .valid_i        (word_valid),
      .ready_o        (word_ready),
      .word_i         (word),
      .credits_valid_o(credits_valid),
      .credits_o      (credits),
      .slot_o         (slot)
  );

  logic [UsageW-1:0] usage;
  logic room_q;

  always_ff @(posedge mac_clk_i) begin
    room_q <= credits_room && usage <= UsageW'(PHITS - Margin);
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
      .valid_i(slot.tag.full),
      .ready_o(phit_room),
      .data_i ({slot.tag.vc, slot.phit}),
      .valid_o(buffer_valid),
      .ready_i(buffer_ready),
      .data_o (buffer),
      .empty_o(),
      .usage_o(usage)
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
      .valid_i(credits_valid),
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
    valid_o <= core_valid && works_i;
    {vc_o, phit_o} <= core_phit;
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
      if (!works_i) begin
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
    credit_o    <= granted && works_i;
    credit_vc_o <= index;
  end

  `ALCOR_CHECK_PARAM(g_check_phits, PHITS >= 2 * Margin, "link_rx: PHITS must be 80 or more")
  `ALCOR_ASSERT_CLK(a_phit_room, mac_clk_i, mac_rst_ni, !slot.tag.full || phit_room)
  `ALCOR_ASSERT_CLK(a_credits_room, mac_clk_i, mac_rst_ni, !credits_valid || credits_room)

endmodule

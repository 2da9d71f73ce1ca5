`include "assertions.svh"
`include "phit_types.svh"

import alcor_abi_pkg::*;

/// From the network into one plane of the RMA crossbar: packets of phits become packets of words again, which
/// are as wide as the crossbar, a word a cycle, without a gap while phits come. Packets of another run are dropped.
///
/// A phit with a wrong check is dropped, and so are all later phits until the reset. No later packet takes the place of the
/// damaged one, and no barrier counts it. If words of the damaged packet have left, a word without data ends it (`cut_o`).
///
/// Handshake of both streams: a word or phit moves when valid and ready are both high at a clock
/// edge. Valid does not wait for ready, and stays, with the payload, until the word moves.
/// `valid_o` comes from a register, `ready_o` from one and `hold_i`. The first word of a phit taken
/// in cycle t is offered in t+1.
module uplink_rx #(
    /// Bits of data in a phit: 64 or more, a power of two, at most 512.
    parameter  int unsigned PHIT_W = 256,
    /// Bits of a word: 32 or more, a power of two, at most PHIT_W.
    parameter  int unsigned DATA_W = 32,
    /// Bits of a phit; derived, not to be set.
    localparam int unsigned W      = PHIT_W + PhitHeadW
) (
    /// Clock.
    input  logic         clk_i,
    /// Synchronous reset, active low; empties the queue.
    input  logic         rst_ni,
    /// Key of the run; constant while packets are under way.
    input  logic [7:0]   key_i,
    /// No phit may be taken.
    input  logic         hold_i,
    /// Phits: one is offered.
    input  logic         valid_i,
    /// Phits: there is room.
    output logic         ready_o,
    /// Phits: the phit.
    input  logic [W-1:0] phit_i,
    /// Words: one is offered.
    output logic         valid_o,
    /// Words: the word is taken.
    input  logic         ready_i,
    /// Words: the word.
    output logic [DATA_W-1:0] data_o,
    /// Words: the word is its packet's last.
    output logic         last_o,
    /// Words: the word ends a damaged packet, and holds no data.
    output logic         cut_o,
    /// Pulse: a packet's last word is taken in this cycle.
    output logic         consumed_o,
    /// Pulse: a packet is damaged, the first one since the reset.
    output logic         damaged_o,
    /// Pulse: a packet of another run was dropped.
    output logic         foreign_o,
    /// No word is held.
    output logic         empty_o
);

  `ALCOR_CHECK_PARAM(g_check_phit, PHIT_W >= 64 && PHIT_W <= 512 && (PHIT_W & (PHIT_W - 1)) == 0,
                     "uplink_rx: PHIT_W must be 64, 128, 256 or 512")

  `ALCOR_CHECK_PARAM(g_check_word, DATA_W >= 32 && DATA_W <= PHIT_W && (DATA_W & (DATA_W - 1)) == 0,
                     "uplink_rx: DATA_W must be a power of two, 32 to PHIT_W")

  localparam int unsigned Words = PHIT_W / DATA_W;
  localparam int unsigned CountW = (Words > 1) ? $clog2(Words) : 1;

  `ALCOR_PHIT_TYPE(PHIT_W)
  phit_t phit;
  assign phit = phit_i;

  // The phit whose words are on offer, and the one behind it.
  logic [Words-1:0][DATA_W-1:0] data_q, next_data_q;
  logic [CountW-1:0] words_q, next_words_q, word_q;
  logic last_q, next_last_q, cut_q, next_cut_q;
  logic valid_q, next_valid_q;
  // Words of the packet under way have left. A packet was damaged, so all phits are dropped.
  logic passes_q, shut_q;

  logic [CountW-1:0] words;
  logic last, taken, good, foreign, damaged, take, cut, enters, done;
  logic [31:0] check_state, check_state_q;

  phit_check #(
      .PHIT_W(PHIT_W)
  ) u_check (
      .state_i(check_state_q),
      .phit_i (phit_i),
      .state_o(check_state),
      .check_o(),
      .good_o (good)
  );

  assign last    = phit.head.low.last;
  assign taken   = valid_i && ready_o;
  assign foreign = phit.head.high.key != key_i;
  assign done    = valid_q && ready_i && word_q == words_q;

  assign damaged = taken && !shut_q && !good;
  assign take    = taken && !shut_q && good && !foreign;
  assign cut     = damaged && passes_q;
  assign enters  = take || cut;

  // A cut packet ends with a word without data.
  assign words = cut ? '0 : phit.head.position.words[CountW-1:0];

  always_ff @(posedge clk_i) begin
    foreign_o <= rst_ni && taken && !shut_q && good && foreign && last;
    damaged_o <= rst_ni && damaged;
    if (!rst_ni) begin
      passes_q      <= 1'b0;
      shut_q        <= 1'b0;
      check_state_q <= '1;
    end else begin
      shut_q <= shut_q || damaged;
      if (take) passes_q <= !last;
      if (taken) check_state_q <= last ? '1 : check_state;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      next_valid_q <= 1'b0;
    end else if (done || !valid_q) begin
      valid_q <= next_valid_q || enters;
      next_valid_q <= 1'b0;
    end else if (enters) begin
      next_valid_q <= 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (done || !valid_q) word_q <= '0;
    else if (ready_i) word_q <= word_q + 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if ((done || !valid_q) && next_valid_q) begin
      data_q  <= next_data_q;
      words_q <= next_words_q;
      last_q  <= next_last_q;
      cut_q   <= next_cut_q;
    end else if (done || !valid_q) begin
      data_q  <= phit.data;
      words_q <= words;
      last_q  <= last || cut;
      cut_q   <= cut;
    end
  end

  always_ff @(posedge clk_i) begin
    if (enters) begin
      next_data_q  <= phit.data;
      next_words_q <= words;
      next_last_q  <= last || cut;
      next_cut_q   <= cut;
    end
  end

  assign ready_o = !next_valid_q && !hold_i;
  assign valid_o = valid_q;
  if (Words > 1) begin : g_turn
    assign data_o = data_q[word_q];
  end else begin : g_whole
    assign data_o = data_q;
  end
  assign last_o = last_q && word_q == words_q;
  assign cut_o = cut_q;
  assign consumed_o = valid_q && ready_i && last_o && !cut_q;
  assign empty_o = !valid_q;

  `ALCOR_STABLE(a_in_stable, valid_i, ready_o, phit_i)
  `ALCOR_STABLE(a_out_stable, valid_o, ready_i, ({cut_o, last_o, data_o}))
  `ALCOR_IMPLIES(a_next_behind, next_valid_q, valid_q)

endmodule

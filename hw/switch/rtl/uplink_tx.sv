`include "assertions.svh"
`include "phit_types.svh"

import alcor_abi_pkg::*;

/// From one plane of the RMA crossbar into the network: packets of words become packets of phits.
///
/// Words, which are as wide as the crossbar, fill a phit from below. The phit leaves when it is full or the packet ends, so a
/// long packet is under way before its end is known. The header holds the destination, the key of the run, `last`, the number
/// of words and the check (`phit_check`). All else is 0.
///
/// Handshake of both streams: a word or phit moves when valid and ready are both high at a clock
/// edge. Valid does not wait for ready, and stays, with the payload, until the word moves. All of
/// `ready_o`, `valid_o` and `phit_o` come from registers. A word a cycle passes as long as phits
/// are taken; the phit that a word completes in cycle t is offered in t+1.
module uplink_tx #(
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
    /// Words: one is offered.
    input  logic         valid_i,
    /// Words: there is room.
    output logic         ready_o,
    /// Words: the word; the first of a packet has the destination, a global rank, in [31:24].
    input  logic [DATA_W-1:0] data_i,
    /// Words: the word is its packet's last.
    input  logic         last_i,
    /// Phits: one is offered.
    output logic         valid_o,
    /// Phits: the phit is taken.
    input  logic         ready_i,
    /// Phits: the phit.
    output logic [W-1:0] phit_o,
    /// Pulse: a packet's first word is taken in this cycle.
    output logic         sent_o,
    /// No word is held, and no packet is under way.
    output logic         empty_o
);

  `ALCOR_CHECK_PARAM(g_check_phit, PHIT_W >= 64 && PHIT_W <= 512 && (PHIT_W & (PHIT_W - 1)) == 0,
                     "uplink_tx: PHIT_W must be 64, 128, 256 or 512")

  `ALCOR_CHECK_PARAM(g_check_word, DATA_W >= 32 && DATA_W <= PHIT_W && (DATA_W & (DATA_W - 1)) == 0,
                     "uplink_tx: DATA_W must be a power of two, 32 to PHIT_W")

  localparam int unsigned Words = PHIT_W / DATA_W;
  localparam int unsigned CountW = (Words > 1) ? $clog2(Words) : 1;

  `ALCOR_PHIT_TYPE(PHIT_W)

  // The phit that is being filled; the one that is offered next, without and with its check; the one on offer.
  logic [Words-1:0][DATA_W-1:0] fill_q, next_data;
  logic [CountW-1:0] count_q;
  logic full_q, fill_last_q, first_q, valid_q;
  logic [7:0] dest_q;
  phit_t plain, next, offer_q;
  // Of the packet up to the phit on offer.
  logic [31:0] check_state_q, check_state, check;

  logic take, complete, room;

  assign ready_o = !full_q;
  assign take = valid_i && !full_q;
  assign complete = take && (last_i || count_q == CountW'(Words - 1));
  assign room = !valid_q || ready_i;
  assign sent_o = take && first_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      count_q <= '0;
      full_q  <= 1'b0;
      first_q <= 1'b1;
      valid_q <= 1'b0;
    end else begin
      if (take) begin
        first_q <= last_i;
        // A full phit that has to wait keeps its count.
        if (!complete) count_q <= count_q + 1'b1;
        else if (room) count_q <= '0;
        full_q <= complete && !room;
      end else if (full_q && room) begin
        count_q <= '0;
        full_q  <= 1'b0;
      end
      valid_q <= complete || full_q || (valid_q && !ready_i);
    end
  end

  always_ff @(posedge clk_i) begin
    if (take) begin
      for (int unsigned w = 0; w < Words; w++) begin
        if (count_q == CountW'(w)) fill_q[w] <= data_i;
        else if (count_q == '0) fill_q[w] <= '0;
      end
      if (first_q) dest_q <= data_i[31:24];
      fill_last_q <= last_i;
    end
  end

  // The phit that is full, or that the word completes.
  always_comb begin
    plain = '0;
    for (int unsigned w = 0; w < Words; w++) begin
      if (full_q) next_data[w] = fill_q[w];
      else if (count_q == CountW'(w)) next_data[w] = data_i;
      else next_data[w] = (count_q == '0) ? '0 : fill_q[w];
    end
    plain.data = next_data;
    plain.head.low.dest = 16'((full_q || !first_q) ? dest_q : data_i[31:24]);
    plain.head.low.last = full_q ? fill_last_q : last_i;
    plain.head.high.key = key_i;
    plain.head.position.words = 4'(count_q);
  end

  phit_check #(
      .PHIT_W(PHIT_W)
  ) u_check (
      .state_i(check_state_q),
      .phit_i (plain),
      .state_o(check_state),
      .check_o(check),
      .good_o ()
  );

  always_comb begin
    next = plain;
    next.head.low.context_ = 5'(check[31:28]);
    next.head.position.word = check[27:0];
  end

  always_ff @(posedge clk_i) begin
    if (room) offer_q <= next;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) check_state_q <= '1;
    else if (room && (full_q || complete)) check_state_q <= next.head.low.last ? '1 : check_state;
  end

  assign valid_o = valid_q;
  assign phit_o = offer_q;
  assign empty_o = first_q && !full_q && !valid_q;

  `ALCOR_STABLE(a_in_stable, valid_i, ready_o, ({last_i, data_i}))
  `ALCOR_STABLE(a_out_stable, valid_o, ready_i, phit_o)
  `ALCOR_IMPLIES(a_full_waits, full_q, valid_q)

endmodule

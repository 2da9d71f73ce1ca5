`include "assertions.svh"
`include "phit_types.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// The way of a stage to its partner: announcements, credits, tokens of the stage before (taps) and copies become phits.
///
/// Handshake of all streams: an item moves when valid and ready are both high at a clock edge. A tap has room, since
/// the stage before asks for it.
module coll_tx #(
    /// Number of the stage.
    parameter  int unsigned STAGE  = 0,
    /// Bits of a phit's data.
    parameter  int unsigned PHIT_W = 256,
    /// Taps that there is room for, a power of two.
    parameter  int unsigned DEPTH  = 32,
    /// Bits of a token; derived, not to be set.
    localparam int unsigned TokenW = TokenHeadW + SpanW + PHIT_W
) (
    /// Clock.
    input  logic                        clk_i,
    /// Synchronous reset, active low.
    input  logic                        rst_ni,

    /// By communicator: global rank of a rank on the partner board.
    input  logic [31:0][15:0]           partner_i,
    /// By communicator: key of the row.
    input  logic [31:0][7:0]            key_i,
    /// Collectives under way.
    input  alcor_abi_pkg::collectives_t collectives_i,
    /// A tap is here or on its way.
    output logic                        busy_o,

    /// There is room for a tap.
    output logic                        tap_room_o,
    /// The room is taken.
    input  logic                        tap_take_i,
    /// The room is given back: a token is no tap.
    input  logic                        tap_return_i,
    /// A tap comes.
    input  logic                        tap_valid_i,
    /// The tap, a token.
    input  logic [TokenW-1:0]           tap_i,
    /// Communicators whose signature waits here for its turn to leave: their next collective waits.
    output logic [31:0]                 leaving_o,

    /// A copy is offered.
    input  logic                        copy_valid_i,
    /// The copy is taken.
    output logic                        copy_ready_o,
    /// Parity of the copy's collective.
    input  logic                        copy_parity_i,
    /// The copy, a token.
    input  logic [TokenW-1:0]           copy_i,

    /// An announcement is offered.
    input  logic                        tell_valid_i,
    /// The announcement is taken.
    output logic                        tell_ready_o,
    /// Communicator of the announcement.
    input  alcor_abi_pkg::row_t         tell_row_i,
    /// This board's call.
    input  alcor_abi_pkg::flow_t        tell_flow_i,

    /// Credits for the partner are offered.
    input  logic                        pay_valid_i,
    /// The credits are taken.
    output logic                        pay_ready_o,
    /// Communicator of the credits.
    input  alcor_abi_pkg::row_t         pay_row_i,
    /// Number of credits.
    input  logic [15:0]                 pay_phits_i,

    /// To the router: a phit is offered.
    output logic                        tx_valid_o,
    /// The phit is taken.
    input  logic                        tx_ready_i,
    /// The phit.
    output logic [PhitHeadW+PHIT_W-1:0] tx_phit_o
);

  localparam int unsigned CountW = $clog2(DEPTH + 1);

  `ALCOR_PHIT_TYPE(PHIT_W)
  `ALCOR_TOKEN_TYPES(PHIT_W)

  token_t in, tap, copy, token;
  logic in_parity, tap_valid, tap_ready, tap_parity, turn_q;
  logic [CountW-1:0] taps_q;
  logic returned_q, urgent, from_copy, free, some, parity;

  assign in        = tap_i;
  assign copy      = copy_i;
  assign in_parity = collectives_i.parity[in.head.row];

  fifo #(
      .WIDTH(1 + TokenW),
      .DEPTH(DEPTH)
  ) u_taps (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i(tap_valid_i),
      .ready_o(),
      .data_i ({in_parity, in}),
      .valid_o(tap_valid),
      .ready_i(tap_ready),
      .data_o ({tap_parity, tap}),
      .empty_o(),
      .usage_o()
  );

  // A power of two: full is the highest bit.
  assign tap_room_o = !taps_q[CountW-1];

  // A signature is the last that leaves through the taps for its collective. The collective may have ended here
  // before, since that takes the partner's signature, not this one. Copies of the next one do not go through the
  // taps and would overtake it; at the partner it would lie behind them, and they wait for it.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      leaving_o <= '0;
    end else begin
      if (tap_valid_i && in.head.signature) leaving_o[in.head.row] <= 1'b1;
      if (tap_valid && tap_ready && tap.head.signature) leaving_o[tap.head.row] <= 1'b0;
    end
  end

  // Announcements and credits first: they are few. Taps and copies take turns.
  assign urgent       = tell_valid_i || pay_valid_i;
  assign free         = !tx_valid_o || tx_ready_i;
  assign some         = urgent || tap_valid || copy_valid_i;
  assign from_copy    = !urgent && copy_valid_i && (!tap_valid || turn_q);
  assign tell_ready_o = free;
  assign pay_ready_o  = !tell_valid_i && free;
  assign tap_ready    = !urgent && !from_copy && free;
  assign copy_ready_o = from_copy && free;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      returned_q <= 1'b0;
      taps_q     <= '0;
      turn_q     <= 1'b0;
    end else begin
      returned_q <= tap_return_i;
      taps_q     <= taps_q + CountW'(tap_take_i) - CountW'(tap_valid && tap_ready) - CountW'(returned_q);
      if (some && free && !urgent) turn_q <= !from_copy;
    end
  end

  phit_t phit_q;
  alcor_abi_pkg::phit_head_t head;
  alcor_abi_pkg::phit_kind_e kind;
  alcor_abi_pkg::coll_call_t call;

  always_comb begin
    token  = tap;
    kind   = tap.head.signature ? PK_SIGNATURE : PK_COMBINE;
    parity = tap_parity;
    if (tell_valid_i) begin
      token                = '0;
      token.head.row       = tell_row_i;
      token.body.span.word = 28'(tell_flow_i);
      kind                 = PK_CREDIT;
      parity               = collectives_i.parity[tell_row_i];
    end else if (pay_valid_i) begin
      token                = '0;
      token.head.row       = pay_row_i;
      token.body.span.word = 28'(pay_phits_i);
      kind                 = PK_CREDIT;
      parity               = 1'b0;
    end else if (from_copy) begin
      token  = copy;
      kind   = copy.head.signature ? PK_SIGNATURE : PK_COPY;
      parity = copy_parity_i;
    end
  end

  assign call = collectives_i.calls[token.head.row];

  always_comb begin
    head                = '0;
    head.position.word  = token.body.span.word;
    head.position.words = token.body.span.words;
    head.high.stage     = 3'(STAGE);
    head.high.kind      = kind;
    head.high.parity    = parity;
    head.high.key       = key_i[token.head.row];
    head.high.announces = tell_valid_i;
    head.low.dest       = partner_i[token.head.row];
    head.low.context_   = token.head.row;
    head.low.opcode     = call.opcode;
    head.low.algorithm  = call.algorithm;
    head.low.operation  = call.operation;
    head.low.last       = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) tx_valid_o <= 1'b0;
    else if (free) tx_valid_o <= some;
    if (free && some) phit_q <= {head, token.body.data};
  end

  assign tx_phit_o = phit_q;
  assign busy_o    = taps_q != '0;

  `ALCOR_CHECK_PARAM(g_check_depth, DEPTH >= 2 && (DEPTH & (DEPTH - 1)) == 0, "coll_tx: DEPTH must be a power of two")
  // Room was taken before, so no token is ever lost.
  `ALCOR_ASSERT(a_taps, taps_q <= CountW'(DEPTH))
  `ALCOR_IMPLIES(a_one_leaves, tap_valid_i && in.head.signature, !leaving_o[in.head.row])

endmodule

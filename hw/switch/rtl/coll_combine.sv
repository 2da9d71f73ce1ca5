`include "assertions.svh"
`include "phit_types.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;
import alcor_fp_pkg::*;

/// Vector unit of a stage of the collective unit: combines own tokens with arrived phits, and keeps the results.
///
/// A pass is chosen one cycle before its operands come. The token goes to the next stage, or to the FIFO of results, in which
/// a place is reserved for the token when its pass is chosen.
module coll_combine #(
    /// Bits of a phit's data.
    parameter  int unsigned PHIT_W = 256,
    /// Operations of the vector unit, by bit of operation_e.
    parameter  bit [8:0]    OPS    = '1,
    /// Types of the vector unit, by bit of datatype_e.
    parameter  bit [5:0]    TYPES  = '1,
    /// 1: registers in front of the vector unit.
    parameter  bit          SLICE  = 1'b0,
    /// Bits of a token without its head; derived, not to be set.
    localparam int unsigned BodyW  = SpanW + PHIT_W,
    /// Bits of a token; derived, not to be set.
    localparam int unsigned TokenW = TokenHeadW + BodyW
) (
    /// Clock.
    input  logic                       clk_i,
    /// Synchronous reset, active low.
    input  logic                       rst_ni,

    /// A pass is chosen.
    input  alcor_abi_pkg::stage_pass_t pass_i,
    /// Head of the pass's token.
    input  alcor_abi_pkg::token_head_t head_i,
    /// Computation of the pass's collective.
    input  alcor_abi_pkg::coll_call_t  call_i,
    /// In the cycle after: the own token without its head.
    input  logic [BodyW-1:0]           own_i,
    /// In the cycle after: the arrived phit without its head.
    input  logic [BodyW-1:0]           arrived_i,

    /// A token goes to the next stage, which has room for it.
    output logic                       out_valid_o,
    /// The token.
    output logic [TokenW-1:0]          out_o,

    /// A result has room.
    output logic                       result_room_o,
    /// A result is offered.
    output logic                       result_valid_o,
    /// The result is taken.
    input  logic                       result_ready_i,
    /// The result, a token.
    output logic [TokenW-1:0]          result_o,
    /// Pulse: a result that is no signature has been chosen in the cycle before.
    output alcor_abi_pkg::row_pulse_t  result_take_o,

    /// A token is on its way to the next stage, or a result has not been taken.
    output logic                       busy_o
);

  // A result is AGLU_LATENCY + 1 cycles on its way to the FIFO in which it has a place, with SLICE one more.
  localparam int unsigned ResultDepth = 32;
  localparam int unsigned ResultW = $clog2(ResultDepth + 1);
  localparam int unsigned TagW = 1 + TokenHeadW + SpanW;
  localparam int unsigned FlyingW = $clog2(AGLU_LATENCY + 2 + 32'(SLICE));

  `ALCOR_TOKEN_TYPES(PHIT_W)

  // ---------------------------------------------------------------- combining

  logic fire_q, fire_alone_q, fire_final_q;
  alcor_abi_pkg::token_head_t fire_head_q;
  alcor_abi_pkg::operation_e operation_q;
  alcor_abi_pkg::datatype_e datatype_q;
  body_t own, arrived;
  token_t out;
  logic sum_valid, sum_final;

  assign own     = own_i;
  assign arrived = arrived_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) fire_q <= 1'b0;
    else fire_q <= pass_i.valid;
    if (pass_i.valid) begin
      fire_alone_q <= pass_i.alone;
      fire_final_q <= pass_i.last;
      fire_head_q  <= head_i;
      operation_q  <= pass_i.alone ? RO_BOR : head_i.signature ? RO_BAND : call_i.operation;
      datatype_q   <= (pass_i.alone || head_i.signature) ? DT_U32 : call_i.datatype;
    end
  end

  vector_aglu #(
      .PHIT_W(PHIT_W),
      .TAG_W (TagW),
      .OPS   (OPS),
      .TYPES (TYPES),
      .SLICE (SLICE)
  ) u_aglu (
      .clk_i      (clk_i),
      .rst_ni     (rst_ni),
      .valid_i    (fire_q),
      .operation_i(operation_q),
      .datatype_i (datatype_q),
      .a_i        (own.data),
      .b_i        (fire_alone_q ? own.data : arrived.data),
      .tag_i      ({fire_final_q, fire_head_q, own.span}),
      .valid_o    (sum_valid),
      .result_o   (out.body.data),
      .tag_o      ({sum_final, out.head, out.body.span})
  );

  assign result_take_o = {fire_q && fire_final_q && !fire_head_q.signature, fire_head_q.row};

  // ---------------------------------------------------------------- to the next stage

  // Tokens in the vector unit that go to the next stage.
  logic [FlyingW-1:0] flying_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) flying_q <= '0;
    else flying_q <= flying_q + FlyingW'(pass_i.valid && !pass_i.last) - FlyingW'(out_valid_o);
  end

  assign out_valid_o = sum_valid && !sum_final;
  assign out_o       = out;

  // ---------------------------------------------------------------- results

  logic [ResultW-1:0] results_q;

  // A power of two: full is the highest bit.
  assign result_room_o = !results_q[ResultW-1];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) results_q <= '0;
    else results_q <= results_q + ResultW'(pass_i.valid && pass_i.last) - ResultW'(result_valid_o && result_ready_i);
  end

  fifo #(
      .WIDTH(TokenW),
      .DEPTH(ResultDepth)
  ) u_results (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i(sum_valid && sum_final),
      .ready_o(),
      .data_i (out),
      .valid_o(result_valid_o),
      .ready_i(result_ready_i),
      .data_o (result_o),
      .empty_o(),
      .usage_o()
  );

  assign busy_o = flying_q != '0 || results_q != '0;

  `ALCOR_CHECK_PARAM(g_check_phit, PHIT_W == 256 || PHIT_W == 512, "coll_combine: PHIT_W must be 256 or 512")

  // Two phits that meet are of the same place, unless the members disagree.
  `ALCOR_IMPLIES(a_same_kind, fire_q && !fire_alone_q && fire_head_q.signature, own.span == arrived.span)

endmodule

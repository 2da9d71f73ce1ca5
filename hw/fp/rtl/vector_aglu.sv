`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_fp_pkg::*;

/// Vector unit of the collective switch: combines two phits, element by element, into one.
///
/// A pair a cycle goes in, with its operation and type; its result comes out AGLU_LATENCY cycles
/// later, for every operation, and one cycle more with SLICE. There is no back-pressure: the sender has room for all results under way.
///
/// Elements are 64-bit or 32-bit, the first in the lowest bits. Integers wrap. Floating-point numbers
/// are IEEE 754 with round to nearest, ties to even, and subnormal numbers. Every NaN result is the
/// quiet NaN with sign and payload zero. Minimum and maximum are IEEE 754-2019's: a NaN prevails, and
/// -0 is below +0. RO_SYNC adds in the two lowest 64-bit lanes and is a bitwise and in the others,
/// whatever the type. Every result is the same bit for bit with the operands exchanged.
///
/// OPS and TYPES say which operations are built on which types. Other operations give zero; so do
/// bitwise operations on floating-point numbers, and codes that stand for no operation or type. For
/// RO_SYNC only OPS counts.
module vector_aglu #(
    /// Bits of a phit: a multiple of 64; with RO_SYNC 128 or more.
    parameter int unsigned PHIT_W = 256,
    /// Bits of a pair's tag.
    parameter int unsigned TAG_W = 8,
    /// Operations in the hardware, by bit of operation_e.
    parameter bit [8:0] OPS = '1,
    /// Types in the hardware, by bit of datatype_e.
    parameter bit [5:0] TYPES = '1,
    /// 1: registers at the inputs, for operands that come late in their cycle.
    parameter bit SLICE = 1'b0
) (
    /// Clock.
    input  logic              clk_i,
    /// Synchronous reset, active low: drops the pairs under way.
    input  logic              rst_ni,
    /// A pair.
    input  logic              valid_i,
    /// Operation on the pair: operation_e.
    input  logic [3:0]        operation_i,
    /// The type of its elements: datatype_e.
    input  logic [2:0]        datatype_i,
    /// First operand.
    input  logic [PHIT_W-1:0] a_i,
    /// Second operand.
    input  logic [PHIT_W-1:0] b_i,
    /// Tag of the pair.
    input  logic [TAG_W-1:0]  tag_i,
    /// A result.
    output logic              valid_o,
    /// The result; it stays until the next one.
    output logic [PHIT_W-1:0] result_o,
    /// Tag of the result's pair; stays until the next result.
    output logic [TAG_W-1:0]  tag_o
);

  // A simulation has this code once, however many units there are: they compile sooner.
  /* verilator no_inline_module */

  `ALCOR_CHECK_PARAM(g_check_phit, PHIT_W >= (OPS[RO_SYNC] ? 128 : 64) && PHIT_W % 64 == 0,
                     "vector_aglu: PHIT_W must be a multiple of 64, with RO_SYNC 128 or more")
  `ALCOR_CHECK_PARAM(g_check_tag, TAG_W >= 1, "vector_aglu: TAG_W must be 1 or more")

  localparam int unsigned Lanes = PHIT_W / 64;
  localparam int unsigned Last = AGLU_LATENCY - 1;
  localparam bit Sums = OPS[RO_SUM];
  localparam bit Products = OPS[RO_PROD];

  // The pair that goes into the first stage.
  logic first_valid;
  logic [3:0] operation;
  logic [2:0] datatype;
  logic [PHIT_W-1:0] a, b;
  logic [TAG_W-1:0] tag;

  if (SLICE) begin : g_slice
    always_ff @(posedge clk_i) begin
      first_valid <= rst_ni && valid_i;
      if (valid_i) begin
        operation <= operation_i;
        datatype  <= datatype_i;
        a         <= a_i;
        b         <= b_i;
        tag       <= tag_i;
      end
    end
  end else begin : g_no_slice
    assign first_valid = valid_i;
    assign operation   = operation_i;
    assign datatype    = datatype_i;
    assign a           = a_i;
    assign b           = b_i;
    assign tag         = tag_i;
  end

  // A bit for each stage, of pairs of each kind. Bit 0 is what goes into the first stage now.
  logic [Last:0] valid, add_f64, add_f32, mul_f64, mul_f32, mul_int64, mul_int32, single;
  logic [Last:1] valid_q, add_f64_q, add_f32_q;
  logic [Last:1] mul_f64_q, mul_f32_q, mul_int64_q, mul_int32_q;
  logic sum, product;

  assign sum = first_valid && operation == RO_SUM;
  assign product = first_valid && operation == RO_PROD;
  assign valid = {valid_q, first_valid};
  assign add_f64 = {add_f64_q, Sums && TYPES[DT_F64] && sum && datatype == DT_F64};
  assign add_f32 = {add_f32_q, Sums && TYPES[DT_F32] && sum && datatype == DT_F32};
  assign mul_f64 = {mul_f64_q, Products && TYPES[DT_F64] && product && datatype == DT_F64};
  assign mul_f32 = {mul_f32_q, Products && TYPES[DT_F32] && product && datatype == DT_F32};
  assign mul_int64 = {mul_int64_q, Products && product
                      && ((TYPES[DT_I64] && datatype == DT_I64)
                          || (TYPES[DT_U64] && datatype == DT_U64))};
  assign mul_int32 = {mul_int32_q, Products && product
                      && ((TYPES[DT_I32] && datatype == DT_I32)
                          || (TYPES[DT_U32] && datatype == DT_U32))};
  // All the rest; aglu_single gives zero for what is no operation.
  assign single = valid & ~(add_f64 | add_f32 | mul_f64 | mul_f32 | mul_int64 | mul_int32);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      {valid_o, valid_q} <= '0;
      add_f64_q <= '0;
      add_f32_q <= '0;
      mul_f64_q <= '0;
      mul_f32_q <= '0;
      mul_int64_q <= '0;
      mul_int32_q <= '0;
    end else begin
      {valid_o, valid_q} <= valid;
      add_f64_q <= add_f64[Last-1:0];
      add_f32_q <= add_f32[Last-1:0];
      mul_f64_q <= mul_f64[Last-1:0];
      mul_f32_q <= mul_f32[Last-1:0];
      mul_int64_q <= mul_int64[Last-1:0];
      mul_int32_q <= mul_int32[Last-1:0];
    end
  end

  for (genvar s = 0; s < AGLU_LATENCY; s++) begin : g_tag
    logic [TAG_W-1:0] tag_d, tag_q;
    if (s == 0) begin : g_first
      assign tag_d = tag;
    end else begin : g_next
      assign tag_d = g_tag[s-1].tag_q;
    end
    always_ff @(posedge clk_i) begin
      if (valid[s]) tag_q <= tag_d;
    end
  end

  assign tag_o = g_tag[Last].tag_q;

  for (genvar lane = 0; lane < Lanes; lane++) begin : g_lane
    aglu #(
        .OPS     (OPS),
        .TYPES   (TYPES),
        .SYNC_SUM(lane < 2)
    ) u_aglu (
        .clk_i             (clk_i),
        .enable_single_i   (single),
        .enable_add_f64_i  (add_f64),
        .enable_add_f32_i  (add_f32),
        .enable_mul_f64_i  (mul_f64),
        .enable_mul_f32_i  (mul_f32),
        .enable_mul_int64_i(mul_int64),
        .enable_mul_int32_i(mul_int32),
        .operation_i       (operation),
        .datatype_i        (datatype),
        .a_i               (a[64*lane+:64]),
        .b_i               (b[64*lane+:64]),
        .result_o          (result_o[64*lane+:64])
    );
  end

  `ALCOR_ASSERT(a_one_kind, $onehot0({add_f64[0], add_f32[0], mul_f64[0], mul_f32[0], mul_int64[0],
                                      mul_int32[0]}))

endmodule

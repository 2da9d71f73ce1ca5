`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_fp_pkg::*;

/// Aggregation logic unit: one 64-bit lane of a vector unit. It combines one 64-bit element of each
/// operand, or two of 32 bits.
///
/// `enable_*_i[s]` says that a pair of this kind goes into stage s in this cycle, of one kind at most
/// in each stage; vector_aglu decodes operations and types once for all its lanes. What is not
/// enabled keeps its registers. There is no reset.
module aglu #(
    /// Operations in the hardware, by bit of operation_e.
    parameter bit [8:0] OPS = '1,
    /// Types in the hardware, by bit of datatype_e.
    parameter bit [5:0] TYPES = '1,
    /// RO_SYNC adds in this lane; else it is a bitwise and.
    parameter bit SYNC_SUM = 1'b0
) (
    /// Clock.
    input  logic                    clk_i,
    /// A pair for aglu_single goes into the stage.
    input  logic [AGLU_LATENCY-1:0] enable_single_i,
    /// Numbers to add, binary64.
    input  logic [AGLU_LATENCY-1:0] enable_add_f64_i,
    /// Numbers to add, binary32.
    input  logic [AGLU_LATENCY-1:0] enable_add_f32_i,
    /// Numbers to multiply, binary64.
    input  logic [AGLU_LATENCY-1:0] enable_mul_f64_i,
    /// Numbers to multiply, binary32.
    input  logic [AGLU_LATENCY-1:0] enable_mul_f32_i,
    /// Integers to multiply, 64 bits.
    input  logic [AGLU_LATENCY-1:0] enable_mul_int64_i,
    /// Integers to multiply, 32 bits.
    input  logic [AGLU_LATENCY-1:0] enable_mul_int32_i,
    /// operation_e, with bit 0 of the enable.
    input  logic [3:0]              operation_i,
    /// datatype_e.
    input  logic [2:0]              datatype_i,
    /// First operand.
    input  logic [63:0]             a_i,
    /// Second operand.
    input  logic [63:0]             b_i,
    /// The result, a cycle after the enable's last bit.
    output logic [63:0]             result_o
);

  `ALCOR_CHECK_PARAM(g_check_latency, AGLU_LATENCY == 6, "aglu: all units have five stages")

  localparam int unsigned Last = AGLU_LATENCY - 1;
  localparam bit AddF64 = OPS[RO_SUM] && TYPES[DT_F64];
  localparam bit AddF32 = OPS[RO_SUM] && TYPES[DT_F32];

  logic [63:0] single, sum_f64, sum_f32, product_f64, product_f32, product_integer;
  logic sum_f64_increment, product_f64_increment;
  logic [1:0] sum_f32_increment, product_f32_increment;

  aglu_single #(
      .OPS     (OPS),
      .TYPES   (TYPES),
      .SYNC_SUM(SYNC_SUM)
  ) u_single (
      .clk_i      (clk_i),
      .enable_i   (enable_single_i[Last-1:0]),
      .operation_i(operation_i),
      .datatype_i (datatype_i),
      .a_i        (a_i),
      .b_i        (b_i),
      .result_o   (single)
  );

  if (AddF64) begin : g_add_f64
    fp_add #(
        .EXP_W(11),
        .MAN_W(52)
    ) u_add (
        .clk_i      (clk_i),
        .enable_i   (enable_add_f64_i[Last-1:0]),
        .a_i        (a_i),
        .b_i        (b_i),
        .truncated_o(sum_f64),
        .increment_o(sum_f64_increment)
    );
  end else begin : g_no_add_f64
    assign {sum_f64, sum_f64_increment} = '0;
  end

  for (genvar half = 0; half < 2; half++) begin : g_half
    if (AddF32) begin : g_add_f32
      fp_add #(
          .EXP_W(8),
          .MAN_W(23)
      ) u_add (
          .clk_i      (clk_i),
          .enable_i   (enable_add_f32_i[Last-1:0]),
          .a_i        (a_i[32*half+:32]),
          .b_i        (b_i[32*half+:32]),
          .truncated_o(sum_f32[32*half+:32]),
          .increment_o(sum_f32_increment[half])
      );
    end else begin : g_no_add_f32
      assign {sum_f32[32*half+:32], sum_f32_increment[half]} = '0;
    end
  end

  if (OPS[RO_PROD]) begin : g_product
    aglu_product #(
        .TYPES(TYPES)
    ) u_product (
        .clk_i          (clk_i),
        .enable_f64_i   (enable_mul_f64_i[Last-1:0]),
        .enable_f32_i   (enable_mul_f32_i[Last-1:0]),
        .enable_int64_i (enable_mul_int64_i[Last-1:0]),
        .enable_int32_i (enable_mul_int32_i[Last-1:0]),
        .a_i            (a_i),
        .b_i            (b_i),
        .f64_o          (product_f64),
        .f64_increment_o(product_f64_increment),
        .f32_o          (product_f32),
        .f32_increment_o(product_f32_increment),
        .integer_o      (product_integer)
    );
  end else begin : g_no_product
    assign {product_f64, product_f64_increment} = '0;
    assign {product_f32, product_f32_increment} = '0;
    assign product_integer = '0;
  end

  // ---------------------------------------------------------------------------------------------
  // Last stage: one of them, and the addition that rounds it
  // ---------------------------------------------------------------------------------------------
  always_ff @(posedge clk_i) begin
    if (enable_single_i[Last] || enable_add_f64_i[Last] || enable_add_f32_i[Last]
        || enable_mul_f64_i[Last] || enable_mul_f32_i[Last]
        || enable_mul_int64_i[Last] || enable_mul_int32_i[Last]) begin : l_round
      logic wide, carry;
      logic [63:0] truncated;
      logic [31:0] low;
      logic [1:0] increment;
      wide = 1'b0;
      increment = '0;
      if (enable_add_f64_i[Last]) begin
        wide = 1'b1;
        truncated = sum_f64;
        increment[0] = sum_f64_increment;
      end else if (enable_add_f32_i[Last]) begin
        truncated = sum_f32;
        increment = sum_f32_increment;
      end else if (enable_mul_f64_i[Last]) begin
        wide = 1'b1;
        truncated = product_f64;
        increment[0] = product_f64_increment;
      end else if (enable_mul_f32_i[Last]) begin
        truncated = product_f32;
        increment = product_f32_increment;
      end else if (enable_single_i[Last]) begin
        truncated = single;
      end else begin
        truncated = product_integer;
      end
      {carry, low} = {1'b0, truncated[31:0]} + 33'(increment[0]);
      result_o <= {truncated[63:32] + 32'(wide ? carry : increment[1]), low};
    end
  end

endmodule

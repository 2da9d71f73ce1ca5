import alcor_abi_pkg::*;

/// Products of a 64-bit lane: of two 64-bit elements or two pairs of 32-bit ones, integers (their low
/// half) or floating-point numbers, on one array of four 32-bit multipliers.
///
/// The array multiplies halves: low × low, high × high, and crosswise for types wider than 32 bits.
/// Its operands and its products are in registers with nothing else between, which the multiplier
/// blocks of FPGAs take in.
///
/// `enable_*_i[s]` says that a pair of this kind goes into stage s in this cycle, one kind at most.
/// There is no reset.
module aglu_product #(
    /// Types in the hardware, by bit of datatype_e.
    parameter bit [5:0] TYPES = '1
) (
    /// Clock.
    input  logic        clk_i,
    /// A pair of binary64 numbers goes into the stage.
    input  logic [4:0]  enable_f64_i,
    /// Two pairs of binary32 numbers.
    input  logic [4:0]  enable_f32_i,
    /// A pair of 64-bit integers.
    input  logic [4:0]  enable_int64_i,
    /// Two pairs of 32-bit integers.
    input  logic [4:0]  enable_int32_i,
    /// One 64-bit element, or two of 32 bits; with bit 0 of the enable.
    input  logic [63:0] a_i,
    /// The other factor.
    input  logic [63:0] b_i,
    /// Product of binary64 numbers, rounded towards zero, a cycle after bit 4 of its enable.
    output logic [63:0] f64_o,
    /// Product of binary64 numbers: the result is one unit in the last place further from zero.
    output logic        f64_increment_o,
    /// Products of binary32 numbers, rounded towards zero.
    output logic [63:0] f32_o,
    /// Products of binary32 numbers: the result is one unit in the last place further from zero.
    output logic [1:0]  f32_increment_o,
    /// Products of integers.
    output logic [63:0] integer_o
);

  localparam bit Int64 = TYPES[DT_I64] || TYPES[DT_U64];
  localparam bit Int32 = TYPES[DT_I32] || TYPES[DT_U32];
  localparam bit Integers = Int64 || Int32;
  localparam bit Crosswise = TYPES[DT_F64] || Int64;
  // Of the crosswise products as much as a binary64 product (its high part has 21 bits) and the low
  // half of an integer product need.
  localparam int unsigned CrossW = 54;
  // Two significands of binary32.
  localparam int unsigned HighW = 48;

  // ---------------------------------------------------------------------------------------------
  // Stages 1 and 2: the operands
  // ---------------------------------------------------------------------------------------------
  logic [52:0] x64, y64;
  logic [1:0][23:0] x32, y32;
  logic [63:0] a1_q, b1_q, x2_q, y2_q;

  always_ff @(posedge clk_i) begin
    if (Integers && (enable_int64_i[0] || enable_int32_i[0])) begin
      a1_q <= a_i;
      b1_q <= b_i;
    end
    if (TYPES[DT_F64] && enable_f64_i[1]) begin
      x2_q <= 64'(x64);
      y2_q <= 64'(y64);
    end else if (TYPES[DT_F32] && enable_f32_i[1]) begin
      x2_q <= {32'(x32[1]), 32'(x32[0])};
      y2_q <= {32'(y32[1]), 32'(y32[0])};
    end else if (Integers && (enable_int64_i[1] || enable_int32_i[1])) begin
      x2_q <= a1_q;
      y2_q <= b1_q;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Stages 3 and 4: the multiplier array
  // ---------------------------------------------------------------------------------------------
  logic [63:0] low3_q;
  logic [HighW-1:0] high3_q, low4_q, high4_q;
  logic [CrossW-1:0] cross3_q, cross_back3_q;
  logic [31:0] middle4_q;
  // Kept, so that synthesis makes carry chains of it and of what follows, and no tree of LUTs.
  (* keep *) logic [CrossW:0] cross_sum;
  logic [1:0] any, crosswise;

  assign any = enable_f64_i[3:2] | enable_f32_i[3:2] | enable_int64_i[3:2] | enable_int32_i[3:2];
  assign crosswise = enable_f64_i[3:2] | enable_int64_i[3:2];
  assign cross_sum = {1'b0, cross3_q} + {1'b0, cross_back3_q};

  always_ff @(posedge clk_i) begin
    if (any[0]) begin
      low3_q <= 64'(x2_q[31:0]) * 64'(y2_q[31:0]);
      high3_q <= HighW'(x2_q[63:32]) * HighW'(y2_q[63:32]);
    end
    if (Crosswise && crosswise[0]) begin
      cross3_q <= CrossW'(x2_q[31:0]) * CrossW'(y2_q[63:32]);
      cross_back3_q <= CrossW'(x2_q[63:32]) * CrossW'(y2_q[31:0]);
    end
    if (any[1]) begin
      low4_q <= low3_q[HighW-1:0];
      high4_q <= high3_q;
    end
    if (Crosswise && crosswise[1]) begin : l_sum
      logic [CrossW:0] middle;
      middle = cross_sum + (CrossW + 1)'(low3_q[63:32]);
      middle4_q <= middle[31:0];
      // Of use to binary64 only.
      high4_q <= high3_q + HighW'(middle[CrossW:32]);
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Stage 5: what each type makes of the product, which is high, middle, and the low 32 bits of low
  // ---------------------------------------------------------------------------------------------
  if (TYPES[DT_F64]) begin : g_f64
    fp_mul #(
        .EXP_W(11),
        .MAN_W(52)
    ) u_mul (
        .clk_i      (clk_i),
        .enable_i   (enable_f64_i),
        .a_i        (a_i),
        .b_i        (b_i),
        .x_o        (x64),
        .y_o        (y64),
        .product_i  ({high4_q[41:0], middle4_q[31:19]}),
        .sticky_i   ({middle4_q[18:0], low4_q[31:0]} != '0),
        .truncated_o(f64_o),
        .increment_o(f64_increment_o)
    );
  end else begin : g_no_f64
    assign {x64, y64, f64_o, f64_increment_o} = '0;
  end

  if (TYPES[DT_F32]) begin : g_f32
    for (genvar half = 0; half < 2; half++) begin : g_half
      logic [47:0] product;
      assign product = half == 0 ? low4_q : high4_q;
      fp_mul #(
          .EXP_W(8),
          .MAN_W(23)
      ) u_mul (
          .clk_i      (clk_i),
          .enable_i   (enable_f32_i),
          .a_i        (a_i[32*half+:32]),
          .b_i        (b_i[32*half+:32]),
          .x_o        (x32[half]),
          .y_o        (y32[half]),
          .product_i  (product[47:22]),
          .sticky_i   (product[21:0] != '0),
          .truncated_o(f32_o[32*half+:32]),
          .increment_o(f32_increment_o[half])
      );
    end
  end else begin : g_no_f32
    assign {x32, y32, f32_o, f32_increment_o} = '0;
  end

  if (Integers) begin : g_integers
    always_ff @(posedge clk_i) begin
      if (Int64 && enable_int64_i[4]) begin
        integer_o <= {middle4_q, low4_q[31:0]};
      end else if (Int32 && enable_int32_i[4]) begin
        integer_o <= {high4_q[31:0], low4_q[31:0]};
      end
    end
  end else begin : g_no_integers
    assign integer_o = '0;
  end

endmodule

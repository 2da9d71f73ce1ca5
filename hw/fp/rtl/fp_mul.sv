`include "assertions.svh"

/// Product of two binary floating-point numbers (IEEE 754, round to nearest, ties to even), without
/// the multiplier of the significands and the last addition. As in fp_add, the product is
/// `truncated_o + increment_o`, taken as one unsigned number. Both are left to the user, who can
/// share them with other units.
///
/// The significands are on `x_o` and `y_o` in the cycle of `enable_i[1]`. Their product is awaited on
/// `product_i` and `sticky_i` in the cycle of `enable_i[4]`, so registers for three cycles lie between.
///
/// Subnormal numbers are taken and given at their full value. A NaN result is always the quiet NaN
/// with sign and payload zero. The product is the same bit for bit with a and b exchanged.
///
/// Five stages; one pair a cycle, never a stall. `enable_i[s]` says that a pair goes into stage s in
/// this cycle: the user keeps the pipeline of valid bits. A stage that is not enabled keeps its
/// registers. There is no reset.
module fp_mul #(
    /// Bits of the exponent, 5 to 11.
    parameter int unsigned EXP_W = 11,
    /// Bits of the fraction, 10 to 52.
    parameter int unsigned MAN_W = 52,
    /// Width of a number; derived, not to be set.
    localparam int unsigned W = 1 + EXP_W + MAN_W
) (
    /// Clock.
    input  logic             clk_i,
    /// A pair goes into the stage.
    input  logic [4:0]       enable_i,
    /// First number, with `enable_i[0]`.
    input  logic [W-1:0]     a_i,
    /// Second number.
    input  logic [W-1:0]     b_i,
    /// Significand of one number, normalised, with `enable_i[1]`.
    output logic [MAN_W:0]   x_o,
    /// Significand of the other.
    output logic [MAN_W:0]   y_o,
    /// The highest bits of their product, with `enable_i[4]`.
    input  logic [MAN_W+2:0] product_i,
    /// Any of the lower bits is set.
    input  logic             sticky_i,
    /// The product rounded towards zero, a cycle after `enable_i[4]`.
    output logic [W-1:0]     truncated_o,
    /// The product is one unit in the last place further from zero.
    output logic             increment_o
);

  `ALCOR_CHECK_PARAM(g_check_exp, EXP_W >= 5 && EXP_W <= 11, "fp_mul: EXP_W must be 5 to 11")
  `ALCOR_CHECK_PARAM(g_check_man, MAN_W >= 10 && MAN_W <= 52, "fp_mul: MAN_W must be 10 to 52")

  localparam int unsigned SigW = MAN_W + 1;
  // Two bits more than a significand: the guard bit, and one that becomes the guard bit when the
  // product is below two.
  localparam int unsigned TopW = SigW + 2;
  // Distances; the largest one clears the whole significand.
  localparam int unsigned ShiftW = $clog2(TopW + 1);
  // Exponents before they are known to be in range, with a sign.
  localparam int unsigned WideW = EXP_W + 2;
  localparam logic [EXP_W-1:0] ExpMax = '1;
  localparam logic [WideW-1:0] Bias = WideW'((1 << (EXP_W - 1)) - 1);

  // ---------------------------------------------------------------------------------------------
  // Stage 1: signs, exponents, what is no number; how far a subnormal number is to be shifted.
  // Of two subnormal numbers the product is less than half of the smallest number: zero.
  // ---------------------------------------------------------------------------------------------
  logic sign1_q, nan1_q, infinite1_q, zero1_q;
  logic [WideW-1:0] exp1_q;
  logic [ShiftW-1:0] shift1_q;
  logic [SigW-1:0] x1_q, y1_q;

  always_ff @(posedge clk_i) begin
    if (enable_i[0]) begin : l_unpack
      logic a_subnormal, b_subnormal, a_zero, b_zero, a_special, b_special, nan, infinite;
      logic [MAN_W-1:0] x;
      a_subnormal = a_i[W-2:MAN_W] == '0;
      b_subnormal = b_i[W-2:MAN_W] == '0;
      a_zero = a_i[W-2:0] == '0;
      b_zero = b_i[W-2:0] == '0;
      a_special = a_i[W-2:MAN_W] == ExpMax;
      b_special = b_i[W-2:MAN_W] == ExpMax;
      infinite = a_special || b_special;
      nan = (a_special && (a_i[MAN_W-1:0] != '0 || b_zero))
            || (b_special && (b_i[MAN_W-1:0] != '0 || a_zero));
      sign1_q <= !nan && a_i[W-1] != b_i[W-1];
      nan1_q <= nan;
      infinite1_q <= infinite;
      zero1_q <= a_zero || b_zero || (a_subnormal && b_subnormal);
      exp1_q <= WideW'(a_i[W-2:MAN_W]) + WideW'(b_i[W-2:MAN_W])
                + WideW'(a_subnormal || b_subnormal);
      // The subnormal one becomes x.
      x = a_subnormal ? a_i[MAN_W-1:0] : b_i[MAN_W-1:0];
      x1_q <= {!a_subnormal && !b_subnormal, x};
      y1_q <= {1'b1, a_subnormal ? b_i[MAN_W-1:0] : a_i[MAN_W-1:0]};
      shift1_q <= '0;
      if (a_subnormal || b_subnormal) begin : l_count
        logic [MAN_W-1:0] filled, first;
        // Ones from the first one on down; then that one alone.
        filled = x;
        filled |= filled >> 1;
        filled |= filled >> 2;
        filled |= filled >> 4;
        filled |= filled >> 8;
        filled |= filled >> 16;
        if (MAN_W > 32) filled |= filled >> 32;
        first = filled & ~(filled >> 1);
        for (int unsigned k = 0; k < ShiftW; k++) begin
          shift1_q[k] <= (first & positions(k)) != '0;
        end
      end
    end
  end

  // Positions of the fraction whose distance from the integer bit has bit k set.
  function automatic [MAN_W-1:0] positions(input int unsigned k);
    positions = '0;
    for (int unsigned i = 0; i < MAN_W; i++) positions[MAN_W-1-i] = (((i + 1) >> k) & 1) == 1;
  endfunction

  assign x_o = x1_q << shift1_q;
  assign y_o = y1_q;

  // ---------------------------------------------------------------------------------------------
  // Stages 2 to 4: the exponent, with the product at or above two and below it, while the
  // significands are multiplied. Below one it is how far the product is to be shifted right.
  // ---------------------------------------------------------------------------------------------
  logic sign2_q, nan2_q, infinite2_q, zero2_q;
  logic sign3_q, nan3_q, infinite3_q, zero3_q;
  logic sign4_q, nan4_q, zero4_q;
  logic [WideW-1:0] exp2_q, exp3_q;
  logic [1:0] infinite4_q;
  logic [1:0][EXP_W-1:0] exp4_q;
  logic [1:0][ShiftW-1:0] down4_q;

  always_ff @(posedge clk_i) begin
    if (enable_i[1]) begin
      exp2_q <= exp1_q - WideW'(shift1_q);
      sign2_q <= sign1_q;
      nan2_q <= nan1_q;
      infinite2_q <= infinite1_q;
      zero2_q <= zero1_q;
    end
    if (enable_i[2]) begin
      exp3_q <= exp2_q - Bias;
      sign3_q <= sign2_q;
      nan3_q <= nan2_q;
      infinite3_q <= infinite2_q;
      zero3_q <= zero2_q;
    end
    if (enable_i[3]) begin
      for (int unsigned two = 0; two < 2; two++) begin : l_exponent
        logic [WideW-1:0] exp, below;
        exp = exp3_q + WideW'(two);
        below = WideW'(1) - exp;
        // Above zero, and so not subnormal.
        if (!exp[WideW-1] && exp != '0) begin
          exp4_q[two] <= exp[EXP_W-1:0];
          down4_q[two] <= '0;
        end else begin
          exp4_q[two] <= '0;
          down4_q[two] <= below[WideW-1:ShiftW] != '0 ? '1 : below[ShiftW-1:0];
        end
        infinite4_q[two] <= infinite3_q || (!exp[WideW-1] && exp[EXP_W:0] >= {1'b0, ExpMax});
      end
      sign4_q <= sign3_q;
      nan4_q <= nan3_q;
      zero4_q <= zero3_q;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Stage 5: normalisation, the rounding decision, and what is no number
  // ---------------------------------------------------------------------------------------------
  always_ff @(posedge clk_i) begin
    if (enable_i[4]) begin : l_normalise
      logic two, sticky;
      logic [TopW-1:0] whole, lost;
      // Without the integer bit, which the exponent stands for.
      logic [TopW-2:0] kept;
      two = product_i[TopW-1];
      whole = two ? product_i : product_i << 1;
      kept = (TopW - 1)'(whole >> down4_q[two]);
      lost = whole & ~({TopW{1'b1}} << down4_q[two]);
      sticky = sticky_i || kept[0] || lost != '0;
      increment_o <= 1'b0;
      if (nan4_q) begin
        truncated_o <= {1'b0, ExpMax, 1'b1, {(MAN_W - 1) {1'b0}}};
      end else if (zero4_q) begin
        truncated_o <= {sign4_q, {(W - 1) {1'b0}}};
      end else if (infinite4_q[two]) begin
        truncated_o <= {sign4_q, ExpMax, {MAN_W{1'b0}}};
      end else begin
        truncated_o <= {sign4_q, exp4_q[two], kept[TopW-2-:MAN_W]};
        increment_o <= kept[1] && (kept[2] || sticky);
      end
    end
  end

endmodule

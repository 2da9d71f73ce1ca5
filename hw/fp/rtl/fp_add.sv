`include "assertions.svh"

/// Sum of two binary floating-point numbers (IEEE 754, round to nearest, ties to even), up to the
/// last addition: the sum is `truncated_o + increment_o`, taken as one unsigned number. A carry out
/// of the fraction is the right one, into the exponent, and from the largest finite number to
/// infinity. The user does this addition, since it can share it with other units.
///
/// Subnormal numbers are taken and given at their full value. A NaN result is always the quiet NaN
/// with sign and payload zero. The sum is the same bit for bit with a and b exchanged.
///
/// Five stages; one pair a cycle, never a stall. `enable_i[s]` says that a pair goes into stage s in
/// this cycle: the user keeps the pipeline of valid bits. A stage that is not enabled keeps its
/// registers. There is no reset.
module fp_add #(
    /// Bits of the exponent, 5 to 11.
    parameter int unsigned EXP_W = 11,
    /// Bits of the fraction, 10 to 52.
    parameter int unsigned MAN_W = 52,
    /// Width of a number; derived, not to be set.
    localparam int unsigned W = 1 + EXP_W + MAN_W
) (
    /// Clock.
    input  logic         clk_i,
    /// A pair goes into the stage.
    input  logic [4:0]   enable_i,
    /// First number, with `enable_i[0]`.
    input  logic [W-1:0] a_i,
    /// Second number.
    input  logic [W-1:0] b_i,
    /// The sum rounded towards zero, a cycle after `enable_i[4]`.
    output logic [W-1:0] truncated_o,
    /// The sum is one unit in the last place further from zero.
    output logic         increment_o
);

  `ALCOR_CHECK_PARAM(g_check_exp, EXP_W >= 5 && EXP_W <= 11, "fp_add: EXP_W must be 5 to 11")
  `ALCOR_CHECK_PARAM(g_check_man, MAN_W >= 10 && MAN_W <= 52, "fp_add: MAN_W must be 10 to 52")

  // A significand with its integer bit, and behind it guard, round and sticky bit.
  localparam int unsigned SigW = MAN_W + 1;
  localparam int unsigned AlignedW = SigW + 3;
  // The sum has a carry in front.
  localparam int unsigned SumW = AlignedW + 1;
  // Distances for alignment and normalisation. The largest distance clears the whole significand.
  localparam int unsigned ShiftW = $clog2(SumW + 1);
  localparam logic [EXP_W-1:0] ExpMax = '1;
  localparam logic [EXP_W-1:0] ExpLargest = ExpMax - 1'b1;

  // ---------------------------------------------------------------------------------------------
  // Stage 1: the larger magnitude in front, distance of the exponents, what is no number
  // ---------------------------------------------------------------------------------------------
  logic sign1_q, subtract1_q, nan1_q, infinite1_q;
  logic [EXP_W-1:0] exp1_q;
  logic [ShiftW-1:0] distance1_q;
  logic [SigW-1:0] larger1_q, smaller1_q;

  always_ff @(posedge clk_i) begin
    if (enable_i[0]) begin : l_order
      logic a_first, subtract, larger_normal, smaller_normal;
      logic [W-2:0] larger, smaller;
      logic [EXP_W-1:0] a_exp, b_exp, up, down, distance;
      a_first = a_i[W-2:0] >= b_i[W-2:0];
      larger = a_first ? a_i[W-2:0] : b_i[W-2:0];
      smaller = a_first ? b_i[W-2:0] : a_i[W-2:0];
      subtract = a_i[W-1] != b_i[W-1];
      larger_normal = larger[W-2:MAN_W] != '0;
      smaller_normal = smaller[W-2:MAN_W] != '0;
      // A subnormal number has the exponent of the smallest normal one.
      a_exp = {a_i[W-2:MAN_W+1], a_i[MAN_W] || a_i[W-2:MAN_W] == '0};
      b_exp = {b_i[W-2:MAN_W+1], b_i[MAN_W] || b_i[W-2:MAN_W] == '0};
      // Both ways, beside the comparison.
      down = a_exp - b_exp;
      up = b_exp - a_exp;
      distance = a_first ? down : up;
      // Equal magnitudes of different sign leave +0.
      sign1_q <= (a_first ? a_i[W-1] : b_i[W-1]) && !(subtract && a_i[W-2:0] == b_i[W-2:0]);
      subtract1_q <= subtract;
      infinite1_q <= larger[W-2:MAN_W] == ExpMax;
      nan1_q <= larger[W-2:MAN_W] == ExpMax
                && (larger[MAN_W-1:0] != '0 || (smaller[W-2:MAN_W] == ExpMax && subtract));
      exp1_q <= a_first ? a_exp : b_exp;
      distance1_q <= distance[EXP_W-1:ShiftW] != '0 ? '1 : distance[ShiftW-1:0];
      larger1_q <= {larger_normal, larger[MAN_W-1:0]};
      smaller1_q <= {smaller_normal, smaller[MAN_W-1:0]};
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Stage 2: alignment; what is shifted out remains as one bit
  // ---------------------------------------------------------------------------------------------
  logic sign2_q, subtract2_q, nan2_q, infinite2_q;
  logic [EXP_W-1:0] exp2_q;
  logic [SigW-1:0] larger2_q;
  logic [AlignedW-1:0] smaller2_q;

  always_ff @(posedge clk_i) begin
    if (enable_i[1]) begin : l_align
      logic [AlignedW-1:0] whole, kept, lost;
      whole = {smaller1_q, 3'b000};
      kept = whole >> distance1_q;
      lost = whole & ~({AlignedW{1'b1}} << distance1_q);
      smaller2_q <= {kept[AlignedW-1:1], kept[0] || lost != '0};
      sign2_q <= sign1_q;
      subtract2_q <= subtract1_q;
      nan2_q <= nan1_q;
      infinite2_q <= infinite1_q;
      exp2_q <= exp1_q;
      larger2_q <= larger1_q;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Stage 3: the sum or difference of the significands, which is not negative
  // ---------------------------------------------------------------------------------------------
  logic sign3_q, nan3_q, infinite3_q;
  logic [EXP_W-1:0] exp3_q;
  logic [SumW-1:0] sum3_q;

  always_ff @(posedge clk_i) begin
    if (enable_i[2]) begin : l_sum
      // The lowest bit makes the carry that a complement needs, so that one adder does.
      logic [SumW:0] sum;
      sum = {1'b0, larger2_q, 3'b000, 1'b1}
            + {{1'b0, smaller2_q} ^ {SumW{subtract2_q}}, subtract2_q};
      sum3_q <= sum[SumW:1];
      sign3_q <= sign2_q;
      nan3_q <= nan2_q;
      infinite3_q <= infinite2_q;
      exp3_q <= exp2_q;
    end
  end

  // ---------------------------------------------------------------------------------------------
  // Stage 4: how far to shift left. The exponent is a limit, which a mark in the sum sets: where it
  // is hit the result is subnormal.
  // ---------------------------------------------------------------------------------------------
  logic sign4_q, nan4_q, infinite4_q;
  logic [EXP_W-1:0] exp4_q;
  logic [ShiftW-1:0] shift4_q;
  logic [SumW-1:0] sum4_q;

  always_ff @(posedge clk_i) begin
    if (enable_i[3]) begin : l_count
      logic [SumW-1:0] filled, first;
      filled = sum3_q | ({1'b1, {(SumW - 1) {1'b0}}} >> exp3_q);
      // Ones from the first one on down; then that one alone.
      filled |= filled >> 1;
      filled |= filled >> 2;
      filled |= filled >> 4;
      filled |= filled >> 8;
      filled |= filled >> 16;
      if (SumW > 32) filled |= filled >> 32;
      first = filled & ~(filled >> 1);
      for (int unsigned k = 0; k < ShiftW; k++) begin
        shift4_q[k] <= (first & positions(k)) != '0;
      end
      sum4_q <= sum3_q;
      sign4_q <= sign3_q;
      nan4_q <= nan3_q;
      infinite4_q <= infinite3_q;
      exp4_q <= exp3_q;
    end
  end

  // Positions of the sum whose distance from the top has bit k set.
  function automatic [SumW-1:0] positions(input int unsigned k);
    positions = '0;
    for (int unsigned i = 0; i < SumW; i++) positions[SumW-1-i] = ((i >> k) & 1) == 1;
  endfunction

  // ---------------------------------------------------------------------------------------------
  // Stage 5: normalisation, the rounding decision, and what is no number
  // ---------------------------------------------------------------------------------------------
  always_ff @(posedge clk_i) begin
    if (enable_i[4]) begin : l_normalise
      logic [SumW-1:0] normal;
      normal = sum4_q << shift4_q;
      if (nan4_q) begin
        truncated_o <= {1'b0, ExpMax, 1'b1, {(MAN_W - 1) {1'b0}}};
        increment_o <= 1'b0;
      end else if (infinite4_q || (sum4_q[SumW-1] && exp4_q == ExpLargest)) begin
        truncated_o <= {sign4_q, ExpMax, {MAN_W{1'b0}}};
        increment_o <= 1'b0;
      end else begin
        truncated_o <= {sign4_q,
                        normal[SumW-1] ? exp4_q + 1'b1 - EXP_W'(shift4_q) : EXP_W'(0),
                        normal[SumW-2-:MAN_W]};
        increment_o <= normal[3] && (normal[4] || normal[2:0] != '0);
      end
    end
  end

endmodule

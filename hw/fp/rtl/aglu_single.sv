import alcor_abi_pkg::*;

/// The operations of a 64-bit lane that need no arithmetic of floating-point numbers: sums of integers, minima and maxima,
/// bitwise operations, and RO_SYNC. The first stage registers the operands, because their path to the
/// unit may be long. The second one has sums and bitwise operations, and compares the operands of a minimum or maximum; the
/// third one selects of these. The result goes through two more stages, so as to come out with those of fp_add and fp_mul.
///
/// Minima and maxima of all types are one comparison of unsigned numbers. Signed integers are brought
/// into their order by the sign bit's complement, floating-point numbers by that and by the complement
/// of all other bits of negative ones: so -0 is below +0, as IEEE 754-2019 minimum and maximum want it.
/// If an operand is a NaN the result is the quiet NaN with sign and payload zero.
///
/// Operations that are not built, and bitwise operations on floating-point numbers, give zero.
///
/// `enable_i[s]` says that a pair goes into stage s in this cycle. There is no reset.
module aglu_single #(
    /// Operations in the hardware, by bit of operation_e.
    parameter bit [8:0] OPS = '1,
    /// Types in the hardware, by bit of datatype_e.
    parameter bit [5:0] TYPES = '1,
    /// RO_SYNC adds in this lane; else it is a bitwise and.
    parameter bit SYNC_SUM = 1'b0
) (
    /// Clock.
    input  logic        clk_i,
    /// A pair goes into the stage.
    input  logic [4:0]  enable_i,
    /// operation_e, with `enable_i[0]`.
    input  logic [3:0]  operation_i,
    /// datatype_e.
    input  logic [2:0]  datatype_i,
    /// One 64-bit element, or two of 32 bits.
    input  logic [63:0] a_i,
    /// The other operand.
    input  logic [63:0] b_i,
    /// The result, a cycle after `enable_i[4]`.
    output logic [63:0] result_o
);

  // Codes that stand for nothing are not built.
  localparam bit [15:0] OpsByCode = 16'(OPS);
  localparam bit [7:0] TypesByCode = 8'(TYPES);
  // Parts that are built.
  localparam bit Floats = TYPES[DT_F64] || TYPES[DT_F32];
  localparam bit Integers = (TYPES & ~(6'd1 << DT_F64) & ~(6'd1 << DT_F32)) != '0;
  localparam bit Sums = (OPS[RO_SUM] && Integers) || (OPS[RO_SYNC] && SYNC_SUM);
  localparam bit Orders = OPS[RO_MIN] || OPS[RO_MAX];
  localparam bit Ands = (OPS[RO_BAND] && Integers) || (OPS[RO_SYNC] && !SYNC_SUM);
  localparam logic [31:0] SignBit = 32'h8000_0000;
  localparam logic [63:0] NanF64 = 64'h7FF8_0000_0000_0000;
  localparam logic [31:0] NanF32 = 32'h7FC0_0000;

  logic [63:0] a1_q, b1_q, a2_q, b2_q, result3_q, result4_q;
  // Of each half: the first operand is the result; the result is the quiet NaN, of 64 bits with `wide2_q`.
  logic a_high2_q, a_low2_q, nan_high2_q, nan_low2_q, wide2_q;
  logic [3:0] operation1_q;
  logic [2:0] datatype1_q;

  // Mask that maps 32 bits to the order of unsigned numbers by exclusive-or.
  function automatic [31:0] order(input logic is_float, input logic is_signed, input logic negative);
    order = is_float && negative ? '1 : is_float || is_signed ? SignBit : '0;
  endfunction

  function automatic is_nan64(input logic [62:0] bits);
    is_nan64 = bits[62:52] == '1 && bits[51:0] != '0;
  endfunction

  function automatic is_nan32(input logic [30:0] bits);
    is_nan32 = bits[30:23] == '1 && bits[22:0] != '0;
  endfunction

  always_ff @(posedge clk_i) begin
    if (enable_i[0]) begin
      a1_q         <= a_i;
      b1_q         <= b_i;
      operation1_q <= operation_i;
      datatype1_q  <= datatype_i;
    end
    if (enable_i[1]) begin : l_result
      logic built, wide, is_float, is_signed, carry;
      logic [31:0] low, high;
      logic a_high, high_below, high_equal, low_below;
      logic [31:0] a_high_key, b_high_key, a_low_key, b_low_key;
      // Types are in pairs: floating-point, signed, unsigned, each of 64 bits first.
      wide = !datatype1_q[0];
      is_float = Floats && datatype1_q[2:1] == DT_F64[2:1];
      is_signed = Integers && datatype1_q[2:1] == DT_I64[2:1];
      built = OpsByCode[operation1_q]
              && (operation1_q == RO_SYNC
                  || (TypesByCode[datatype1_q] && !(is_float && operation1_q[3:2] == RO_BAND[3:2])));
      // The result, or both operands of a minimum or maximum.
      a2_q        <= '0;
      b2_q        <= b1_q;
      a_high2_q   <= 1'b1;
      a_low2_q    <= 1'b1;
      nan_high2_q <= 1'b0;
      nan_low2_q  <= 1'b0;
      wide2_q     <= wide;
      if (!built) begin
        // Zero.
      end else if (Sums && (operation1_q == RO_SUM || (SYNC_SUM && operation1_q == RO_SYNC))) begin
        {carry, low} = {1'b0, a1_q[31:0]} + {1'b0, b1_q[31:0]};
        high = a1_q[63:32] + b1_q[63:32] + 32'(carry && (wide || operation1_q == RO_SYNC));
        a2_q <= {high, low};
      end else if (Orders && (operation1_q == RO_MIN || operation1_q == RO_MAX)) begin
        a_high_key = a1_q[63:32] ^ order(is_float, is_signed, a1_q[63]);
        b_high_key = b1_q[63:32] ^ order(is_float, is_signed, b1_q[63]);
        a_low_key = a1_q[31:0] ^ (wide ? {32{is_float && a1_q[63]}}
                                      : order(is_float, is_signed, a1_q[31]));
        b_low_key = b1_q[31:0] ^ (wide ? {32{is_float && b1_q[63]}}
                                      : order(is_float, is_signed, b1_q[31]));
        high_below = a_high_key < b_high_key;
        high_equal = a_high_key == b_high_key;
        low_below = a_low_key < b_low_key;
        a_high = (high_below || (wide && high_equal && low_below)) == (operation1_q == RO_MIN);
        a2_q      <= a1_q;
        a_high2_q <= a_high;
        a_low2_q  <= wide ? a_high : low_below == (operation1_q == RO_MIN);
        if (is_float && wide) begin
          nan_high2_q <= is_nan64(a1_q[62:0]) || is_nan64(b1_q[62:0]);
          nan_low2_q  <= is_nan64(a1_q[62:0]) || is_nan64(b1_q[62:0]);
        end else if (is_float) begin
          nan_high2_q <= is_nan32(a1_q[62:32]) || is_nan32(b1_q[62:32]);
          nan_low2_q  <= is_nan32(a1_q[30:0]) || is_nan32(b1_q[30:0]);
        end
      end else if (Ands && (operation1_q == RO_BAND || operation1_q == RO_SYNC)) begin
        a2_q <= a1_q & b1_q;
      end else if (OPS[RO_BOR] && Integers && operation1_q == RO_BOR) begin
        a2_q <= a1_q | b1_q;
      end else if (OPS[RO_BXOR] && Integers && operation1_q == RO_BXOR) begin
        a2_q <= a1_q ^ b1_q;
      end
    end
    if (enable_i[2]) begin
      result3_q[63:32] <= nan_high2_q ? (wide2_q ? NanF64[63:32] : NanF32) : a_high2_q ? a2_q[63:32] : b2_q[63:32];
      result3_q[31:0]  <= nan_low2_q ? (wide2_q ? NanF64[31:0] : NanF32) : a_low2_q ? a2_q[31:0] : b2_q[31:0];
    end
    if (enable_i[3]) result4_q <= result3_q;
    if (enable_i[4]) result_o <= result4_q;
  end

endmodule

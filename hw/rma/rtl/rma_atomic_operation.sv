import alcor_abi_pkg::*;

/// The operation of an atomic command: from the word as it is to the word as it will be.
///
/// The operation is decoded in one cycle and carried out in the next ones. Of a word of 32 bits the lower half of each value
/// counts, and the upper half of the result means nothing.
module rma_atomic_operation (
    /// Clock.
    input  logic        clk_i,
    /// The operation, a cycle before the values; an unknown code does not change the word.
    input  logic [3:0]  operation_i,
    /// The word has 64 bits, else 32.
    input  logic        wide_i,
    /// The word before the operation.
    input  logic [63:0] old_i,
    /// The value of the command.
    input  logic [63:0] value_i,
    /// The value that AT_COMPARE_SWAP compares with.
    input  logic [63:0] compare_i,
    /// The word is to be written.
    output logic        writes_o,
    /// The word after the operation.
    output logic [63:0] new_o
);

  typedef enum logic [1:0] {
    Value,
    And,
    Or,
    Xor
  } source_e;

  // ---------------------------------------------------------------- decoded

  source_e source_q;
  // The word stays as it is, where it is less than the value and where it is not.
  logic keeps_less_q, keeps_other_q;
  logic adds_q, is_signed_q, needs_equal_q;

  always_ff @(posedge clk_i) begin
    adds_q        <= operation_i == AT_ADD;
    is_signed_q   <= operation_i == AT_MIN || operation_i == AT_MAX;
    needs_equal_q <= operation_i == AT_COMPARE_SWAP;
    keeps_less_q  <= operation_i == AT_MIN || operation_i == AT_MIN_UNSIGNED || operation_i > AT_MAX_UNSIGNED;
    keeps_other_q <= operation_i == AT_MAX || operation_i == AT_MAX_UNSIGNED || operation_i > AT_MAX_UNSIGNED;
    unique case (operation_i)
      AT_AND:  source_q <= And;
      AT_OR:   source_q <= Or;
      AT_XOR:  source_q <= Xor;
      default: source_q <= Value;
    endcase
  end

  // ---------------------------------------------------------------- carried out

  logic equal, less, keeps;
  logic old_sign, value_sign, carry;
  logic [63:0] addend, chosen;
  logic [64:0] sum;

  // One adder sums, or subtracts the value from the word: then its carry says that the word is not less. The carry into bit
  // 32 says so of words of 32 bits.
  assign addend     = value_i ^ {64{!adds_q}};
  assign sum        = {1'b0, old_i} + {1'b0, addend} + 65'(!adds_q);
  assign carry      = wide_i ? sum[64] : sum[32] ^ old_i[32] ^ addend[32];
  assign old_sign   = wide_i ? old_i[63] : old_i[31];
  assign value_sign = wide_i ? value_i[63] : value_i[31];
  assign less       = (old_sign != value_sign) ? old_sign == is_signed_q : !carry;
  assign keeps      = less ? keeps_less_q : keeps_other_q;

  assign equal    = old_i[31:0] == compare_i[31:0] && (old_i[63:32] == compare_i[63:32] || !wide_i);
  assign writes_o = !needs_equal_q || equal;

  always_comb begin
    unique case (source_q)
      And:     chosen = old_i & value_i;
      Or:      chosen = old_i | value_i;
      Xor:     chosen = old_i ^ value_i;
      default: chosen = value_i;
    endcase
    if (keeps) chosen = old_i;
    // An addition keeps nothing, so the sum needs no place in the choice above.
    new_o = adds_q ? sum[63:0] : chosen;
  end

endmodule

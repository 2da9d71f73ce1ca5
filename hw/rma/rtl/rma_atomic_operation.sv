import alcor_abi_pkg::*;

/// The operation of an atomic command: from the word as it is to the word as it will be. Combinational.
///
/// Of a word of 32 bits the lower half of each value counts, and the upper half of the result means nothing.
module rma_atomic_operation (
    /// The operation; an unknown code does not change the word.
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

  logic is_signed, equal, less;
  logic old_sign, value_sign;
  logic [64:0] old_extended, value_extended;

  // Words of 32 bits are extended to 64, and both to a bit more, so that one signed comparison serves all four kinds.
  assign is_signed      = operation_i == AT_MIN || operation_i == AT_MAX;
  assign old_sign       = is_signed && (wide_i ? old_i[63] : old_i[31]);
  assign value_sign     = is_signed && (wide_i ? value_i[63] : value_i[31]);
  assign old_extended   = {old_sign, wide_i ? old_i[63:32] : {32{old_sign}}, old_i[31:0]};
  assign value_extended = {value_sign, wide_i ? value_i[63:32] : {32{value_sign}}, value_i[31:0]};
  assign less           = $signed(old_extended) < $signed(value_extended);
  assign equal          = old_i[31:0] == compare_i[31:0] && (old_i[63:32] == compare_i[63:32] || !wide_i);
  assign writes_o       = operation_i != AT_COMPARE_SWAP || equal;

  always_comb begin
    unique case (operation_i)
      AT_SWAP, AT_COMPARE_SWAP: new_o = value_i;
      AT_ADD:  new_o = old_i + value_i;
      AT_AND:  new_o = old_i & value_i;
      AT_OR:   new_o = old_i | value_i;
      AT_XOR:  new_o = old_i ^ value_i;
      AT_MIN, AT_MIN_UNSIGNED: new_o = less ? old_i : value_i;
      AT_MAX, AT_MAX_UNSIGNED: new_o = less ? value_i : old_i;
      default: new_o = old_i;
    endcase
  end

endmodule

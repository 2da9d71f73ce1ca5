// For measuring depth: an adder as one cell that mapping to LUTs leaves whole.
(* blackbox *)
module CARRY_CHAIN #(parameter A_WIDTH = 1, parameter B_WIDTH = 1, parameter Y_WIDTH = 1) (
  input [A_WIDTH-1:0] A, input [B_WIDTH-1:0] B, input CI, input BI,
  output [Y_WIDTH-1:0] X, output [Y_WIDTH-1:0] Y, output [Y_WIDTH-1:0] CO);
endmodule
// Likewise a multiplier.
(* blackbox *)
module MULTIPLIER #(parameter A_WIDTH = 1, parameter B_WIDTH = 1, parameter Y_WIDTH = 1) (
  input [A_WIDTH-1:0] A, input [B_WIDTH-1:0] B, output [Y_WIDTH-1:0] Y);
endmodule

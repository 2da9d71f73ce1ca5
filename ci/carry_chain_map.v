(* techmap_celltype = "$alu" *)
module carry_chain_of_alu (A, B, CI, BI, X, Y, CO);
  parameter A_SIGNED = 0;
  parameter B_SIGNED = 0;
  parameter A_WIDTH = 1;
  parameter B_WIDTH = 1;
  parameter Y_WIDTH = 1;
  input [A_WIDTH-1:0] A;
  input [B_WIDTH-1:0] B;
  input CI, BI;
  output [Y_WIDTH-1:0] X, Y, CO;
  CARRY_CHAIN #(.A_WIDTH(A_WIDTH), .B_WIDTH(B_WIDTH), .Y_WIDTH(Y_WIDTH))
    _TECHMAP_REPLACE_ (.A(A), .B(B), .CI(CI), .BI(BI), .X(X), .Y(Y), .CO(CO));
endmodule

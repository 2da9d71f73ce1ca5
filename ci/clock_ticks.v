// For the proofs of ci/mutate: a register takes its next value in the steps in which its clock is 1, so the clocks of a
// block tick in any order.
(* techmap_celltype = "$_DFF_P_" *)
module clock_ticks (input C, D, output Q);
  \$_DFF_P_ _TECHMAP_REPLACE_ (.C(C), .D(C ? D : Q), .Q(Q));
endmodule

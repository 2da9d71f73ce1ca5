// Macros of all proofs. A proof is a top module whose inputs are free in each cycle, or a file of properties that is
// included at the end of a block. A proof states properties by the macros of assertions.svh.
//
//   ALCOR_FORMAL_RESET         `rst_ni` is active in the first cycle, and in no other
//   ALCOR_ASSUME(expression)   holds in every cycle outside reset
//   ALCOR_ASSUME_STABLE(valid, ready, payload)
//                              an offered payload stays valid and unchanged until it is taken

`ifndef ALCOR_FORMAL_SVH
`define ALCOR_FORMAL_SVH

`include "assertions.svh"

`define ALCOR_FORMAL_RESET \
  logic f_started = 1'b0; \
  always_ff @(posedge clk_i) f_started <= 1'b1; \
  always @(posedge clk_i) assume (rst_ni == f_started);
`define ALCOR_ASSUME(expression_) \
  always @(posedge clk_i) if (rst_ni) assume (expression_);
`define ALCOR_ASSUME_STABLE(valid_, ready_, payload_) \
  always @(posedge clk_i) \
    if (rst_ni && $past(rst_ni) && $past((valid_) && !(ready_))) assume ((valid_) && $stable(payload_));

`endif

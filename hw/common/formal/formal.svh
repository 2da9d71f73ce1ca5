// Macros that all proofs use. A proof is a module at the top, of which every input is free in each cycle, or properties that
// are included at the end of a block. It states properties by the macros of assertions.svh.
//
//   ALCOR_FORMAL_RESET         `rst_ni` is active in the first cycle, and in no other
//   ALCOR_ASSUME(expression)   holds in every cycle outside reset
//   ALCOR_ASSUME_STABLE(valid, ready, payload)
//                              what is offered stays on offer, unchanged, until it is taken

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

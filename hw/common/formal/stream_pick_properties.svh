`include "formal.svh"

// Properties of `stream_pick`, included at its end: an entering word leaves in the same cycle, unchanged; an offered
// word stays valid and unchanged until it is taken; stream 1 has priority unless the output is held.

  `ALCOR_FORMAL_RESET
  `ALCOR_ASSUME_STABLE(valid_i[0], ready_o[0], data_i[0])
  `ALCOR_ASSUME_STABLE(valid_i[1], ready_o[1], data_i[1])

  logic [1:0] taken;
  logic held_q;

  assign taken = valid_i & ready_o;
  always_ff @(posedge clk_i) held_q <= rst_ni && valid_o && !ready_i;

  `ALCOR_ASSERT(p_offer, valid_o == (valid_i != '0))
  `ALCOR_ASSERT(p_one, (taken != '0) == (valid_o && ready_i) && taken != '1)
  `ALCOR_IMPLIES(p_first, taken[0], data_o == data_i[0])
  `ALCOR_IMPLIES(p_second, taken[1], data_o == data_i[1])
  `ALCOR_IMPLIES(p_priority, !held_q && valid_i[1], !taken[0])

  // Invariants of the induction.
  `ALCOR_IMPLIES(p_held, holds_q, valid_i[pick_q])

// Macros of assertions, parameter checks and cover points. RTL in this project states no property without them.
//
// Each macro takes a label that is unique within its module. Expressions are Boolean. ALCOR_IMPLIES (same cycle) and
// ALCOR_NEXT (one cycle later) express implications, for simulation and formal proofs alike. Macros without a clock
// use `clk_i` and `rst_ni` of their module. Assertions are empty if SYNTHESIS or ALCOR_NO_ASSERTIONS is defined.
//
//   ALCOR_CHECK_PARAM(label, condition, "message")    elaboration fails unless the condition holds
//   ALCOR_ASSERT(label, expression)                   holds in every cycle outside reset
//   ALCOR_IMPLIES(label, antecedent, consequent)      if a holds, c holds in the same cycle
//   ALCOR_NEXT(label, antecedent, consequent)         if a holds, c holds one cycle later
//   ALCOR_STABLE(label, valid, ready, payload)        an offered payload stays valid and unchanged
//                                                     until it is taken (the valid/ready rule)
//   ALCOR_ASSERT_CLK, ALCOR_NEXT_CLK, ALCOR_STABLE_CLK  the same, with (clock, reset) after the label
//   ALCOR_COVER(label, expression)                    a cover point: counts the cycles in which the expression holds
//
// Cover points, and logic that only they use, exist if ALCOR_COVERAGE is defined: in models that count coverage. Their
// labels are c_<group>_<name>: the group is one word; reports show underscores of the name as spaces.

`ifndef ALCOR_ASSERTIONS_SVH
`define ALCOR_ASSERTIONS_SVH

`define ALCOR_CHECK_PARAM(label_, condition_, message_) \
  if (!(condition_)) begin : label_ \
    $error(message_); \
  end

`ifdef SYNTHESIS

`define ALCOR_ASSERT_CLK(label_, clk_, rst_n_, expression_)
`define ALCOR_NEXT_CLK(label_, clk_, rst_n_, antecedent_, consequent_)
`define ALCOR_STABLE_CLK(label_, clk_, rst_n_, valid_, ready_, payload_)

`elsif FORMAL

`define ALCOR_ASSERT_CLK(label_, clk_, rst_n_, expression_) \
  always @(posedge clk_) if (rst_n_) label_ : assert (expression_);
`define ALCOR_NEXT_CLK(label_, clk_, rst_n_, antecedent_, consequent_) \
  always @(posedge clk_) \
    if ((rst_n_) && $past(rst_n_) && $past(antecedent_)) label_ : assert (consequent_);
`define ALCOR_STABLE_CLK(label_, clk_, rst_n_, valid_, ready_, payload_) \
  always @(posedge clk_) \
    if ((rst_n_) && $past(rst_n_) && $past((valid_) && !(ready_))) \
      label_ : assert ((valid_) && $stable(payload_));

`elsif ALCOR_NO_ASSERTIONS

`define ALCOR_ASSERT_CLK(label_, clk_, rst_n_, expression_)
`define ALCOR_NEXT_CLK(label_, clk_, rst_n_, antecedent_, consequent_)
`define ALCOR_STABLE_CLK(label_, clk_, rst_n_, valid_, ready_, payload_)

`else

// Plain conditions: for a concurrent assertion the simulator copies each operand in every cycle, and for an immediate
// assertion it checks each time whether assertions are on. All state is written by nonblocking assignments, so all
// forms see the values before the edge.

`define ALCOR_ASSERT_CLK(label_, clk_, rst_n_, expression_) \
  always_ff @(posedge clk_) begin \
    if ((rst_n_) && !(expression_)) begin : label_ \
      $error(`"label_ does not hold`"); \
    end \
  end
`define ALCOR_NEXT_CLK(label_, clk_, rst_n_, antecedent_, consequent_) \
  logic label_``_armed; \
  always_ff @(posedge clk_) begin \
    label_``_armed <= (rst_n_) && (antecedent_); \
    if ((rst_n_) && label_``_armed && !(consequent_)) begin : label_ \
      $error(`"label_ does not hold`"); \
    end \
  end
`define ALCOR_STABLE_CLK(label_, clk_, rst_n_, valid_, ready_, payload_) \
  logic label_``_armed; \
  logic [$bits(payload_)-1:0] label_``_offered; \
  always_ff @(posedge clk_) begin \
    label_``_armed <= (rst_n_) && (valid_) && !(ready_); \
    if ((valid_) && !(ready_)) label_``_offered <= (payload_); \
    if ((rst_n_) && label_``_armed && !((valid_) && (payload_) == label_``_offered)) begin : label_ \
      $error(`"label_: an offered item was withdrawn or changed`"); \
    end \
  end

`endif

`ifdef ALCOR_COVERAGE
`define ALCOR_COVER(label_, expression_) \
  label_ : cover property (@(posedge clk_i) disable iff (!rst_ni) (expression_));
`else
`define ALCOR_COVER(label_, expression_)
`endif

`define ALCOR_ASSERT(label_, expression_) \
  `ALCOR_ASSERT_CLK(label_, clk_i, rst_ni, expression_)
`define ALCOR_IMPLIES(label_, antecedent_, consequent_) \
  `ALCOR_ASSERT_CLK(label_, clk_i, rst_ni, (!(antecedent_) || (consequent_)))
`define ALCOR_NEXT(label_, antecedent_, consequent_) \
  `ALCOR_NEXT_CLK(label_, clk_i, rst_ni, antecedent_, consequent_)
`define ALCOR_STABLE(label_, valid_, ready_, payload_) \
  `ALCOR_STABLE_CLK(label_, clk_i, rst_ni, valid_, ready_, payload_)

`endif

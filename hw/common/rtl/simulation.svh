// Macros that only speed up simulations.
//
//   ALCOR_AWAKE(condition)    In simulation the condition, in hardware true. For guards of logic whose results
//                             do not depend on the guard, because the logic is idle: a simulator skips its
//                             evaluation. In hardware the guard would lengthen paths. A model with
//                             ALCOR_NO_GUARDS is simulated as it is synthesised (option guards=0).

`ifndef ALCOR_SIMULATION_SVH
`define ALCOR_SIMULATION_SVH

`ifdef SYNTHESIS
`define ALCOR_NO_GUARDS
`endif

`ifdef ALCOR_NO_GUARDS
`define ALCOR_AWAKE(condition_) 1'b1
`else
`define ALCOR_AWAKE(condition_) (condition_)
`endif

`endif

// Macros that only speed up simulations.
//
//   ALCOR_AWAKE(condition)    In simulation the condition, in hardware true. For guards around work whose
//                             results are the same without the guard, as nothing is asked for: a simulator
//                             skips the work, and in hardware the guard would make paths longer. A model
//                             with ALCOR_NO_GUARDS is simulated as it is synthesised (option guards=0).

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

/// Sizes that users of the arithmetic need to know.
package alcor_fp_pkg;

  /// Cycles from operands to result of aglu and vector_aglu, for every operation and type.
  parameter int unsigned AGLU_LATENCY = 6;

endpackage

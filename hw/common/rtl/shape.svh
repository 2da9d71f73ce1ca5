// The board's register SHAPE, of the parameters of the module that uses it. A macro, as Yosys evaluates no function of a
// package for a parameter.

`ifndef ALCOR_SHAPE_SVH
`define ALCOR_SHAPE_SVH

`define ALCOR_SHAPE { \
    4'h0, \
    (LINKS == 0) ? 4'h0 : 4'(STAGES), \
    (MESSAGES == 0) ? 4'h0 : 4'($clog2(FRAGMENT)), \
    (MESSAGES == 0) ? 4'h0 : 4'($clog2(MESSAGES) + 1), \
    (LINKS == 0) ? 4'h0 : 4'($clog2(PHIT_W / 8)), \
    4'($clog2(PAYLOAD_WORDS)), \
    4'($clog2(DATA_W / 8)), \
    4'($clog2(RANKS))}

`endif

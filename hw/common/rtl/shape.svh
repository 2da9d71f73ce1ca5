// Value of the board's register SHAPE, from the parameters of the module that uses the macro. A macro, because Yosys
// evaluates no function of a package for a parameter. The fields have the order of `board_shape_t`.

`ifndef ALCOR_SHAPE_SVH
`define ALCOR_SHAPE_SVH

`define ALCOR_SHAPE { \
    (LINKS == 0) ? 4'h0 : 4'($clog2(VC_DEPTH)), \
    (LINKS == 0) ? 4'h0 : 4'($clog2(alcor_switch_pkg::Window)), \
    (LINKS == 0) ? 3'h0 : 3'(STAGES), \
    (LINKS == 0) ? 3'h0 : 3'($clog2(PHIT_W / 8)), \
    (MESSAGES == 0) ? 4'h0 : 4'($clog2(FRAGMENT)), \
    (MESSAGES == 0) ? 4'h0 : 4'($clog2(MESSAGES) + 1), \
    4'($clog2(PAYLOAD_WORDS)), \
    3'($clog2(DATA_W / 8)), \
    3'($clog2(RANKS))}

`endif

// Value of the board's register SHAPE, from the parameters of the module that uses the macro. A macro, because Yosys
// evaluates no function of a package for a parameter. Yosys gives a choice among casts the wrong width, so each choice
// is cast. The fields have the order of `board_shape_t`.

`ifndef ALCOR_SHAPE_SVH
`define ALCOR_SHAPE_SVH

`define ALCOR_SHAPE { \
    4'((LINKS == 0) ? 0 : $clog2(VC_DEPTH)), \
    4'((LINKS == 0) ? 0 : $clog2(alcor_switch_pkg::Window)), \
    3'((LINKS == 0) ? 0 : STAGES), \
    3'((LINKS == 0) ? 0 : $clog2(PHIT_W / 8)), \
    4'((MESSAGES == 0) ? 0 : $clog2(FRAGMENT)), \
    4'((MESSAGES == 0) ? 0 : $clog2(MESSAGES) + 1), \
    4'($clog2(PAYLOAD_WORDS)), \
    3'($clog2(DATA_W / 8)), \
    3'($clog2(RANKS))}

`endif

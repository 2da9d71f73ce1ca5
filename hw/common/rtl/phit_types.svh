// Structs of phits and tokens. A parameter of the module sets the width of their data. A package has no such parameter,
// so a module that uses members of a phit declares the structs with these macros.

`ifndef ALCOR_PHIT_TYPES_SVH
`define ALCOR_PHIT_TYPES_SVH

// phit_t: a phit on the network: a head of PhitHeadW bits, and the data.
`define ALCOR_PHIT_TYPE(data_w_) \
  typedef struct packed { \
    alcor_abi_pkg::phit_head_t head; \
    logic [(data_w_)-1:0] data; \
  } phit_t;

// body_t, token_t: a phit of a collective inside a board, without head and with head.
`define ALCOR_TOKEN_TYPES(data_w_) \
  typedef struct packed { \
    alcor_abi_pkg::span_t span; \
    logic [(data_w_)-1:0] data; \
  } body_t; \
  typedef struct packed { \
    alcor_abi_pkg::token_head_t head; \
    body_t body; \
  } token_t;

`endif

// Structs between the blocks of the router. Parameters of the router set the width of an outlet's number, so a module
// that uses members declares the structs with this macro.
//
// An outlet is a channel of an output. The outlets of a class have the numbers 2 * link + dateline bit, and then those
// of its local outputs. The last number is that of packets that are dropped.

`ifndef ALCOR_ROUTER_TYPES_SVH
`define ALCOR_ROUTER_TYPES_SVH

// way_t: way of a phit through the router; offer_t: an offer of an input to the allocator; outlets_t: state of the
// outlets of a class, by number. `outlets_`: numbers of a class.
`define ALCOR_ROUTER_TYPES(outlets_) \
  typedef struct packed { \
    logic last; /* the phit is its packet's last */ \
    logic [$clog2(outlets_)-1:0] outlet; /* outlet of the phit, by its number in the class */ \
  } way_t; \
  typedef struct packed { \
    logic valid; /* a phit is offered */ \
    logic [1:0] class_; /* class of the phit */ \
    logic dateline; /* dateline bit of the channel that the phit came on */ \
    logic next; /* the outlet is reserved for the phit */ \
    way_t way; /* way of the phit */ \
  } offer_t; \
  typedef struct packed { \
    logic [(outlets_)-1:0] credits; /* there is a credit */ \
    logic [(outlets_)-1:0] unlocked; /* no packet keeps the outlet */ \
    logic [(outlets_)-1:0] unreserved; /* the outlet is not reserved */ \
    logic [(outlets_)-1:0] open; /* all three */ \
  } outlets_t;

`endif

`include "phit_types.svh"

import alcor_abi_pkg::*;

/// The check of a phit between RMA coprocessors. Combinational.
///
/// The check is the CRC-32 over all phits of the packet up to this one. Of each phit it covers the data, and the header
/// fields that `uplink_rx` uses. A phit that is damaged, or out of its place in a packet, has a wrong check, and so have all
/// later phits of the packet.
module phit_check #(
    /// Bits of data in a phit.
    parameter  int unsigned PHIT_W = 256,
    /// Bits of a phit; derived, not to be set.
    localparam int unsigned W      = PHIT_W + PhitHeadW
) (
    /// State of the CRC in front of the phit: all ones in front of a packet's first.
    input  logic [31:0]  state_i,
    /// The phit. Its own check has no effect on the state.
    input  logic [W-1:0] phit_i,
    /// State behind the phit.
    output logic [31:0]  state_o,
    /// The right check of the phit.
    output logic [31:0]  check_o,
    /// The phit carries its right check.
    output logic         good_o
);

  `ALCOR_PHIT_TYPE(PHIT_W)
  phit_t phit;
  logic [31:0] head;

  assign phit = phit_i;
  assign head = {phit.head.low.last, 3'd0, phit.head.position.words, phit.head.high.key, phit.head.low.dest};

  crc32 #(
      .WIDTH(32 + PHIT_W)
  ) u_crc (
      .state_i(state_i),
      .data_i ({head, phit.data}),
      .state_o(state_o)
  );

  assign check_o = ~state_o;
  assign good_o  = check_o == {phit.head.low.context_[3:0], phit.head.position.word};

endmodule

`include "phit_types.svh"

import alcor_abi_pkg::*;

/// The check that the phits of a packet between RMA coprocessors carry. Combinational.
///
/// The check of a phit is the CRC-32 over all phits of the packet up to this one. So a phit that is damaged, lost, repeated,
/// or out of its place is found when it arrives, and no later phit of its packet passes. Of each phit the check covers the
/// data and what `uplink_rx` uses of the header.
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
    /// The check that the phit must carry.
    output logic [31:0]  check_o,
    /// The phit carries this check.
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

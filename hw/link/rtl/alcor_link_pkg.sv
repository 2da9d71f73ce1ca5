/// Types and constants of the link end's blocks; fields of the frame are in hw/abi.
package alcor_link_pkg;

  /// Bits of a word of the medium access controller.
  localparam int unsigned MacW = 512;
  /// Bits of data in a phit: three slots fill a group.
  localparam int unsigned LinkDataW = 256;
  /// Bits of a phit with its header and position.
  localparam int unsigned LinkPhitW = LinkDataW + 80;
  /// Bits of a slot: a phit, its channel, and a valid bit.
  localparam int unsigned LinkSlotW = LinkPhitW + 4;
  /// LinkSlots of a group, which is two words.
  localparam int unsigned LinkSlots = 3;
  /// Bits of a group that its slots take.
  localparam int unsigned LinkGroupW = LinkSlots * LinkSlotW;
  /// Bits of link_entry_t.
  localparam int unsigned LinkEntryW = LinkSlotW + 4;
  /// LinkChannels that have credits.
  localparam int unsigned LinkChannels = 6;
  /// Bits of a channel's credits in a frame.
  localparam int unsigned LinkCreditW = 5;
  /// Bits of link_counts_t.
  localparam int unsigned LinkCountsW = 128;
  /// Destination and source as they lie in a frame's first word: the nearest bridge's address, which no
  /// bridge forwards, and one that is locally administered.
  localparam logic [95:0] LinkAddresses = {48'h00_00_00_00_00_02, 48'h0E_00_00_C2_80_01};
  /// LinkEtherType 88B5 (IEEE 802, local experiments) as its bytes lie in the frame.
  localparam logic [15:0] LinkEtherType = 16'hB588;
  /// Layout of the frame.
  localparam logic [7:0] LinkLayout = 8'd2;

endpackage

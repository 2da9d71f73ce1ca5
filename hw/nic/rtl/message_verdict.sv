`include "assertions.svh"

import alcor_abi_pkg::*;

/// Decides on the destination of a message's payload, and counts payloads on their way.
///
/// A payload whose receive waits goes directly to the receive buffer, where the buffer begins with a word and fewer than
/// DIRECT such payloads are on their way; any other payload goes to its fragment. Pulses say what becomes of the message;
/// the verdict is there in the cycle after.
module message_verdict #(
    /// Entries of messages, a power of two.
    parameter int unsigned DEPTH = 256,
    /// Bytes of a fragment of the unexpected message buffer, a power of two.
    parameter int unsigned FRAGMENT = 256,
    /// Bytes of node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Maximum number of payloads under way into receive buffers without a fragment.
    parameter int unsigned DIRECT = 8,
    /// Width of an entry; derived, not to be set.
    localparam int unsigned EntryW = $clog2(DEPTH),
    /// Width of a payload's length, which is FRAGMENT at most; derived, not to be set.
    localparam int unsigned LengthW = $clog2(FRAGMENT + 1)
) (
    /// Clock.
    input  logic                            clk_i,
    /// Synchronous reset, active low.
    input  logic                            rst_ni,

    /// Bytes of the payload that waits for its verdict.
    input  logic [LengthW-1:0]              length_i,
    /// Entry of the message with this payload.
    input  logic [EntryW-1:0]               entry_i,
    /// The buffer of the receive that the message has found.
    input  alcor_abi_pkg::buffer_t          buffer_i,
    /// Pulse: the message is refused.
    input  logic                            refuse_i,
    /// Pulse: the message has found its receive.
    input  logic                            expected_i,
    /// Pulse: the message has found no receive, and is stored.
    input  logic                            kept_i,
    /// Pulse: the payload must leave before the search ends.
    input  logic                            late_i,
    /// Pulse: a payload that went directly is delivered.
    input  logic                            direct_done_i,

    /// Pulse: there is a verdict in the next cycle.
    output logic                            decides_o,
    /// Destination of the payload.
    output alcor_abi_pkg::message_verdict_e kind_o,
    /// Address of the payload's destination, and number of bytes to write.
    output alcor_abi_pkg::buffer_t          place_o,
    /// With `expected_i`: the payload goes directly.
    output logic                            direct_o,
    /// Payloads sent to fragments up to and with this one, modulo 4096.
    output logic [11:0]                     stored_o
);

  localparam int unsigned FragmentW = $clog2(FRAGMENT);
  localparam int unsigned DirectW = $clog2(DIRECT + 1);
  localparam logic [31:0] Buffer = 32'(NODE_BYTES - DEPTH * FRAGMENT);

  alcor_abi_pkg::message_verdict_e kind_d, kind_q;
  logic [31:0] address_d, address_q, fragment;
  logic [LengthW-1:0] length_d, length_q;
  logic [LengthW-1:0] shorter;
  logic fits;
  logic [DirectW-1:0] direct_q;
  logic [11:0] stored_q;
  logic goes_to_fragment;

  assign fragment    = Buffer + (32'(entry_i) << FragmentW);
  assign fits        = 32'(length_i) <= buffer_i.length;
  assign shorter     = fits ? length_i : buffer_i.length[LengthW-1:0];

  always_comb begin
    kind_d    = kind_q;
    address_d = address_q;
    length_d  = length_q;
    if (refuse_i) kind_d = MvRefuse;
    if (expected_i) begin
      kind_d    = (shorter == '0) ? MvNone : MvDirect;
      address_d = buffer_i.address;
      length_d  = shorter;
    end
    // A payload comes with its first byte in lane 0, and is shifted only on its way out of memory.
    if (kept_i || late_i ||
        (expected_i && shorter != '0 && (buffer_i.address[1:0] != 2'd0 || direct_q == DirectW'(DIRECT)))) begin
      kind_d    = MvStore;
      address_d = fragment;
      length_d  = length_i;
    end
  end

  assign decides_o        = refuse_i || expected_i || kept_i || late_i;
  assign direct_o         = expected_i && kind_d == MvDirect;
  assign goes_to_fragment = (expected_i || kept_i || late_i) && kind_d == MvStore;
  assign stored_o         = stored_q + 12'(goes_to_fragment);
  assign kind_o           = kind_q;
  assign place_o.address  = address_q;
  assign place_o.length   = 32'(length_q);

  always_ff @(posedge clk_i) begin
    kind_q    <= kind_d;
    address_q <= address_d;
    length_q  <= length_d;
    if (!rst_ni) begin
      direct_q <= '0;
      stored_q <= '0;
    end else begin
      direct_q <= direct_q + DirectW'(direct_o) - DirectW'(direct_done_i);
      stored_q <= stored_o;
    end
  end

  `ALCOR_CHECK_PARAM(g_check_buffer, (FRAGMENT & (FRAGMENT - 1)) == 0 && FRAGMENT >= 4 && DEPTH * FRAGMENT < NODE_BYTES,
                     "message_verdict: FRAGMENT must be a power of two, and all fragments fit into node memory")

  // A message that is expected has found its receive.
  `ALCOR_COVER(c_message_eager_expected, expected_i && kind_d == MvDirect)
  `ALCOR_COVER(c_message_eager_expected_by_way_of_a_fragment, expected_i && kind_d == MvStore)
  `ALCOR_COVER(c_message_eager_unexpected, kept_i)
  `ALCOR_COVER(c_message_eager_late, late_i && !kept_i)
  `ALCOR_COVER(c_full_direct_messages, direct_q == DirectW'(DIRECT))

endmodule

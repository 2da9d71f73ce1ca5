/// How much of a transfer goes into its next packet: the one place that cuts transfers into packets.
///
/// Payload lies in a packet's words as it lies in the memory that it is written to, so the first word may
/// begin with up to three bytes that are not payload. A transfer's packets are full up to a word's end, but for
/// its last. The sender learns from `fits_o` whether a packet is the last; the receiver learns it from the
/// packet's header. Combinational.
module segmenter #(
    /// Payload words of a packet, a power of two.
    parameter int unsigned PAYLOAD_WORDS = 128,
    /// Width of a number of words; derived, not to be set.
    localparam int unsigned CountW = $clog2(PAYLOAD_WORDS + 1),
    /// Width of a number of bytes; derived, not to be set.
    localparam int unsigned BytesW = $clog2(4 * PAYLOAD_WORDS + 1)
) (
    /// Bytes that are left of the transfer.
    input  logic [31:0]       left_i,
    /// Byte lane of the first of them.
    input  logic [1:0]        align_i,
    /// The packet is the transfer's last: all that is left goes into it.
    input  logic              last_i,

    /// All that is left fits into a packet.
    output logic              fits_o,
    /// Bytes of payload of this packet.
    output logic [BytesW-1:0] bytes_o,
    /// Words of payload of this packet.
    output logic [CountW-1:0] words_o,
    /// Byte lane of the last byte of payload; of no meaning without payload.
    output logic [1:0]        end_lane_o
);

  localparam int unsigned PayloadBytes = 4 * PAYLOAD_WORDS;

  logic [2:0] lanes;

  // Beyond whole words, the low bits of length and alignment touch up to two words more.
  assign lanes = 3'(left_i[1:0]) + 3'(align_i);

`ifdef ALCOR_PROVE_WITH_SUM
  // For proofs about bounds: the solver compares this sum with other sums at once, and the form below not in 20 minutes.
  // `ci/prove common/segmenter-16 common/segmenter-4096` proves that both are equal.
  assign fits_o = 33'(left_i) + 33'(align_i) <= 33'(PayloadBytes);
`else
  // PayloadBytes is a power of two, so no sum is needed. What is left is a packet without alignment, or less than a
  // packet. The latter fits unless it has all whole words of a packet but one, and touches two words more.
  assign fits_o = left_i[31:BytesW] == '0 &&
                  (left_i[BytesW-1] ? (left_i[BytesW-2:0] == '0 && align_i == '0)
                                    : !(left_i[BytesW-2:2] == '1 && lanes > 3'd4));
`endif

  always_comb begin
    bytes_o    = BytesW'(PayloadBytes) - BytesW'(align_i);
    words_o    = CountW'(PAYLOAD_WORDS);
    end_lane_o = 2'd3;
    if (last_i) begin
      bytes_o    = left_i[BytesW-1:0];
      words_o    = left_i[BytesW-1:2] + ((lanes > 3'd4) ? CountW'(2) : CountW'(lanes != '0));
      end_lane_o = lanes[1:0] - 2'd1;
      if (left_i[BytesW-1:0] == '0) words_o = '0;
    end
  end

endmodule

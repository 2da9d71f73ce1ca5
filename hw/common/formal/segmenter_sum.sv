/// The sum by which `segmenter` may decide whether a packet takes all that is left, for proofs about bounds: a solver
/// compares it with the sums of the checks at once. `ci/prove common/segmenter` proves that both modules are equal.
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

  logic [BytesW:0] aligned;
  logic [2:0] lanes;

  // The sum of the low bits alone: whether a higher bit is set is known before it.
  assign aligned = {1'b0, left_i[BytesW-1:0]} + (BytesW + 1)'(align_i);
  // PayloadBytes is a power of two: the sum is less, or equal.
  assign fits_o  = left_i[31:BytesW] == '0 && (aligned[BytesW:BytesW-1] == '0 || aligned == (BytesW + 1)'(PayloadBytes));

  // Beyond whole words, the low bits of length and alignment touch up to two words more.
  assign lanes = 3'(left_i[1:0]) + 3'(align_i);

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

import alcor_abi_pkg::*;

/// Sends the answers of the request plane.
///
/// An acknowledgement (XACK) and the answer to a GET have one header word. An XDATA packet, the answer to an XGET or a copy
/// inside this rank, has three header words, one a cycle: header, local address, length with id. The read task goes with
/// the last header word. The packet controller keeps `answer_i`, and the inputs of an XDATA packet, stable until `done_o`.
module rma_reply_sender (
    /// Clock.
    input  logic                            clk_i,
    /// Synchronous reset, active low.
    input  logic                            rst_ni,

    /// The packet that is to be sent.
    input  alcor_abi_pkg::answer_kind_e     answer_i,
    /// The request that is answered.
    input  alcor_abi_pkg::request_packet_t  request_i,
    /// With AkAck: the acknowledgement.
    input  alcor_abi_pkg::acknowledgement_t ack_i,
    /// With AkData: outcome; without ST_OK the packet has no payload.
    input  alcor_abi_pkg::status_e          status_i,
    /// The packet is sent.
    output logic                            done_o,

    /// Header words and read task of the packet.
    output alcor_abi_pkg::outgoing_t        packet_o,
    /// Header words and read task that are taken.
    input  alcor_abi_pkg::outgoing_taken_t  packet_i
);

  // States of an XDATA packet.
  typedef enum logic [1:0] {
    Header,   // header word
    Address,  // header word with the address
    Length    // header word with the length, task
  } state_e;

  state_e state_d, state_q;
  logic last, single;
  logic [31:0] head;
  alcor_abi_pkg::read_task_t read;
  alcor_abi_pkg::x_data_t data_header;
  alcor_abi_pkg::x_length_t length;
  alcor_abi_pkg::x_ack_t ack_header;
  alcor_abi_pkg::put_header_t get_header;

  // The XACK of an accumulate ends its command.
  assign last = request_i.header.last && !request_i.accumulate;

  always_comb begin
    data_header         = '0;
    data_header.dpid    = request_i.header.src;
    data_header.ptype   = PT_XDATA;
    data_header.last    = last;
    data_header.message = request_i.fetch;
    data_header.status  = status_i;
    // A fetch that asks for more than there is gets nothing.
    length.id           = last ? request_i.length.id : '0;
    length.length       = (status_i == ST_OK) ? 16'(request_i.bytes) : '0;

    ack_header        = '0;
    ack_header.dpid   = ack_i.rank;
    ack_header.ptype  = PT_XACK;
    ack_header.status = ack_i.status;
    ack_header.id     = ack_i.id;

    // A GET's second header word is the header of the answer, once its length counts itself.
    get_header        = request_i.answer;
    get_header.length = request_i.answer.length + 5'd1;
  end

  // The header word is the packet's last.
  assign single = answer_i == AkAck || answer_i == AkGet || (answer_i == AkData && state_q == Length);

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Header:  if (answer_i == AkData && packet_i.head) state_d = Address;
      Address: if (answer_i == AkData && packet_i.head) state_d = Length;
      Length:  if (done_o) state_d = Header;
      default: state_d = Header;
    endcase

    unique case (state_q)
      Address: head = request_i.laddr;
      Length:  head = length;
      default: head = data_header;
    endcase
    if (answer_i == AkAck) head = ack_header;
    if (answer_i == AkGet) head = get_header;
  end

  assign packet_o.head_valid = single ? packet_i.read : answer_i == AkData;
  assign packet_o.head       = head;
  assign packet_o.task_valid = single && packet_i.head;
  assign packet_o.read       = read;
  assign done_o              = single && packet_i.head && packet_i.read;

  always_comb begin
    read.heads   = 3'd1;
    read.words   = '0;
    read.address = request_i.address;
    // Payload is laid out as it will lie in the memory that it is written to.
    read.lane    = (answer_i == AkData) ? request_i.laddr[1:0] : 2'd0;
    if (answer_i == AkGet) read.words = 13'(request_i.answer.length);
    if (answer_i == AkData) begin
      read.heads   = 3'd3;
      read.words   = (status_i == ST_OK) ? request_i.payload.words : '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= Header;
    else state_q <= state_d;
  end

endmodule

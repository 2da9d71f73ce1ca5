import alcor_abi_pkg::*;

/// Sends an XDATA packet: the answer to an XGET, or a copy inside this rank.
///
/// Three header words, one a cycle: header, local address, length with id; the read task goes with the last one. The
/// packet controller keeps `active_i` asserted, and its inputs stable, until `done_o`.
module rma_reply_sender #(
    /// Payload words of an extended packet, a power of two.
    parameter int unsigned PAYLOAD_WORDS = 128,
    /// Width of a number of words; derived, not to be set.
    localparam int unsigned CountW = $clog2(PAYLOAD_WORDS + 1)
) (
    /// Clock.
    input  logic                      clk_i,
    /// Synchronous reset, active low.
    input  logic                      rst_ni,

    /// A packet is to be sent.
    input  logic                      active_i,
    /// Header of the request that is answered.
    input  alcor_abi_pkg::x_header_t  request_i,
    /// The request fetches a message.
    input  logic                      message_i,
    /// Outcome; without ST_OK the packet has no payload.
    input  alcor_abi_pkg::status_e    status_i,
    /// Byte address at the rank that asked.
    input  logic [31:0]               laddr_i,
    /// Command id of the request.
    input  logic [15:0]               id_i,
    /// Bytes of payload.
    input  logic [CountW+1:0]         bytes_i,
    /// Words of payload.
    input  logic [CountW-1:0]         words_i,
    /// Byte address of the payload here.
    input  logic [31:0]               address_i,
    /// The packet is sent.
    output logic                      done_o,

    /// A header word is offered.
    output logic                      head_valid_o,
    /// The header word is taken.
    input  logic                      head_ready_i,
    /// The header word.
    output logic [31:0]               head_o,
    /// The read task is offered, with the last header word.
    output logic                      task_valid_o,
    /// The task is taken.
    input  logic                      task_ready_i,
    /// The task.
    output alcor_abi_pkg::read_task_t task_o
);

  typedef enum logic [1:0] {
    Header,   // header word
    Address,  // header word with the address
    Length    // header word with the length, task
  } state_e;

  state_e state_d, state_q;
  logic [1:0] align;
  alcor_abi_pkg::x_data_t header;
  alcor_abi_pkg::x_length_t length;

  assign align = laddr_i[1:0];

  always_comb begin
    header         = '0;
    header.dpid    = request_i.src;
    header.ptype   = PT_XDATA;
    header.last    = request_i.last;
    header.message = message_i;
    header.status  = status_i;
    // A fetch that asks for more than there is gets nothing.
    length.id      = request_i.last ? id_i : '0;
    length.length  = (status_i == ST_OK) ? 16'(bytes_i) : '0;
  end

  always_comb begin
    state_d      = state_q;
    head_valid_o = 1'b0;
    head_o       = header;
    task_valid_o = 1'b0;
    done_o       = 1'b0;
    if (active_i) begin
      unique case (state_q)
        Header: begin
          head_valid_o = 1'b1;
          if (head_ready_i) state_d = Address;
        end
        Address: begin
          head_valid_o = 1'b1;
          head_o       = laddr_i;
          if (head_ready_i) state_d = Length;
        end
        Length: begin
          head_valid_o = task_ready_i;
          head_o       = length;
          task_valid_o = head_ready_i;
          done_o       = head_ready_i && task_ready_i;
          if (done_o) state_d = Header;
        end
        default: state_d = Header;
      endcase
    end
  end

  assign task_o.heads   = 3'd3;
  assign task_o.words   = (status_i == ST_OK) ? 13'(words_i) : '0;
  assign task_o.address = address_i - 32'(align);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= Header;
    else state_q <= state_d;
  end

endmodule

`include "assertions.svh"

import alcor_abi_pkg::*;

/// Keeps the messages of each source in order after a refusal, as the protocol of SeaStar does (Brightwell et al.,
/// "SeaStar interconnect: balanced bandwidth for scalable performance", 2006, section "Protocol integration").
///
/// A refused message with a serial number marks its source, and the number is stored. The messages that the source has
/// sent after it are refused too, until the source sends the refused message again. Without a refusal, no number is
/// compared. Number 1 is the first of a source: it is taken whatever number is stored. Number 0 stands for none: such
/// a message neither marks its source nor is refused for a mark.
module message_streams (
    /// Clock.
    input  logic       clk_i,
    /// Synchronous reset, active low.
    input  logic       rst_ni,
    /// The table is being cleared, after reset.
    input  logic       sweep_i,
    /// Row that is cleared in this cycle.
    input  logic [7:0] sweep_row_i,
    /// The rank is being reset: a refusal marks no source.
    input  logic       closed_i,

    /// Source of a message; the outputs are valid one cycle later, while the source stays.
    input  logic [7:0] source_i,
    /// Serial number of the message.
    input  logic [5:0] serial_i,
    /// The message is not refused for its serial number.
    output logic       in_order_o,
    /// Sources that are marked if this message is refused, 31 at most; 0 if it has no serial number.
    output logic [4:0] line_o,

    /// Pulse: the message is taken.
    input  logic       taken_i,
    /// Pulse: the message is refused.
    input  logic       refused_i,
    /// Pulse: a recall of this source arrives.
    input  logic       recalled_i
);

  localparam int unsigned Sources = 256;
  localparam logic [5:0] None = 6'd0;
  localparam logic [5:0] First = 6'd1;

  typedef struct packed {
    logic       marked;
    logic [5:0] serial;
  } stream_t;

  stream_t read, passed_q, stream, next;
  logic passes_q, write, has_serial, marks, clears;
  logic [8:0] marked_q, line;

  ram_sdp #(
      .WIDTH    (7),
      .DEPTH    (Sources),
      .BLOCK_RAM(1'b0)
  ) u_streams (
      .clk_i  (clk_i),
      .we_i   (write),
      .waddr_i(sweep_i ? sweep_row_i : source_i),
      .wdata_i(next),
      .re_i   (1'b1),
      .raddr_i(source_i),
      .rdata_o(read)
  );

  assign stream     = passes_q ? passed_q : read;
  assign has_serial   = serial_i != None;
  assign in_order_o = !has_serial || !stream.marked || serial_i == stream.serial || serial_i == First;

  assign marks       = refused_i && has_serial && !closed_i && (!stream.marked || serial_i == First);
  assign clears      = stream.marked && (recalled_i || (taken_i && has_serial));
  assign write       = sweep_i || marks || clears;
  assign next.marked = marks && !sweep_i;
  assign next.serial = serial_i;

  assign line   = marked_q + 9'(!stream.marked);
  assign line_o = (!has_serial || closed_i) ? '0 : (line > 9'd31) ? '1 : line[4:0];

  always_ff @(posedge clk_i) begin
    passed_q <= next;
    // The row that is read while it is written is passed on.
    passes_q <= write && (!sweep_i || sweep_row_i == source_i);
    if (!rst_ni) marked_q <= '0;
    else marked_q <= marked_q + 9'(marks && !stream.marked) - 9'(clears);
  end

  `ALCOR_IMPLIES(a_line_counts, clears, marked_q != '0)
  `ALCOR_IMPLIES(a_one_outcome, taken_i || refused_i || recalled_i, $onehot({taken_i, refused_i, recalled_i}))
  `ALCOR_COVER(c_stream_marked, marks)
  `ALCOR_COVER(c_stream_marked_refused, refused_i && stream.marked && !in_order_o)
  `ALCOR_COVER(c_stream_marked_refused_again, refused_i && stream.marked && in_order_o && has_serial)
  `ALCOR_COVER(c_stream_goes_on, clears && taken_i && serial_i == stream.serial)
  `ALCOR_COVER(c_stream_begins_again, clears && taken_i && serial_i == First && serial_i != stream.serial)
  `ALCOR_COVER(c_stream_recalled, clears && recalled_i)

endmodule

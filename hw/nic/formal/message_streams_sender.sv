`include "formal.svh"

import alcor_abi_pkg::*;

/// Proof of `message_streams` by induction, for any one source among all sources: after a refusal, the source's messages
/// are refused until the refused one, number 1 or a recall comes; no other source changes this; and the messages of a
/// sender that follows the rules are taken in the order of their numbers.
///
/// The reference keeps the stored number of one source, and the state of its sender, in registers of its own.
module message_streams_sender #(
    /// Sources whose marks are counted.
    parameter int unsigned COUNTED = 8
) (
    /// Clock.
    input logic       clk_i,
    /// Synchronous reset, active low.
    input logic       rst_ni,
    /// The rank is being reset; free, as are all inputs but for the assumptions below.
    input logic       closed_i,
    input logic [7:0] source_i,
    input logic [5:0] serial_i,
    input logic       taken_i,
    input logic       refused_i,
    input logic       recalled_i
);

  localparam int unsigned Sources = 256;
  localparam int unsigned RowW = 7;

  `ALCOR_FORMAL_RESET

  // The table is cleared after reset, a row in each cycle.
  logic [8:0] row_q;
  logic sweep;
  assign sweep = !row_q[8];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) row_q <= '0;
    else row_q <= row_q + 9'(sweep);
  end

  logic in_order;
  logic [4:0] line;
  message_streams u_streams (
      .clk_i      (clk_i),
      .rst_ni     (rst_ni),
      .sweep_i    (sweep),
      .sweep_row_i(row_q[7:0]),
      .closed_i   (closed_i),
      .source_i   (source_i),
      .serial_i   (serial_i),
      .in_order_o (in_order),
      .line_o     (line),
      .taken_i    (taken_i),
      .refused_i  (refused_i),
      .recalled_i (recalled_i)
  );

  // As in message_arrivals: a message has an outcome when its source was there in the cycle before, and it is taken only
  // in order. It may be refused for other reasons, too.
  logic [7:0] source_q;
  logic known, arrives;
  always_ff @(posedge clk_i) source_q <= source_i;
  assign known   = f_started && source_q == source_i && !sweep;
  assign arrives = taken_i || refused_i || recalled_i;
  `ALCOR_ASSUME(!arrives || (known && $onehot({taken_i, refused_i, recalled_i})))
  `ALCOR_ASSUME(!taken_i || in_order)

  // -------------------------------------------------------------------------------------- one source
  (* anyconst *) logic [7:0] mine;
  logic is_mine, numbered, waits_q;
  logic [5:0] refused_q;
  assign is_mine  = known && source_i == mine;
  assign numbered = serial_i != 6'd0;

  // The refused message that the receiver waits for.
  always_ff @(posedge clk_i) begin
    if (is_mine && refused_i && numbered && !closed_i && (!waits_q || serial_i == 6'd1)) begin
      waits_q   <= 1'b1;
      refused_q <= serial_i;
    end
    if (is_mine && ((taken_i && (serial_i == refused_q || serial_i == 6'd1)) || recalled_i)) waits_q <= 1'b0;
    if (!rst_ni) waits_q <= 1'b0;
  end

  `ALCOR_IMPLIES(p_blocks, is_mine && waits_q && numbered && serial_i != 6'd1 && serial_i != refused_q, !in_order)
  // No other message is refused for its number, whatever other sources do.
  `ALCOR_IMPLIES(p_passes, is_mine && (!waits_q || !numbered || serial_i == 6'd1 || serial_i == refused_q), in_order)

  // ------------------------------------------------------------------------------------- the sender
  // Number 1 begins a stream, which ends with a recall and with a refusal in a reset. The sender numbers its messages
  // one after the other, and may at any time send again from the oldest one that is not taken.
  function automatic logic [5:0] after(input logic [5:0] serial);
    after = (serial == 6'd63) ? 6'd2 : serial + 6'd1;
  endfunction

  logic stream_q, sends, begins;
  // Number of the oldest message that is not taken, and of the message after the last one sent.
  logic [5:0] oldest_q, next_q;
  assign sends  = is_mine && numbered && (taken_i || refused_i);
  assign begins = serial_i == 6'd1;

  `ALCOR_ASSUME(!sends || !stream_q || begins || serial_i == next_q || serial_i == oldest_q)

  always_ff @(posedge clk_i) begin
    if (sends) begin
      next_q <= after(serial_i);
      if (begins) begin
        stream_q <= 1'b1;
        oldest_q <= 6'd1;
      end
      if (taken_i) oldest_q <= after(serial_i);
      if (refused_i && closed_i) stream_q <= 1'b0;
    end
    if (is_mine && recalled_i) stream_q <= 1'b0;
    if (!rst_ni) stream_q <= 1'b0;
  end

  `ALCOR_IMPLIES(p_order, sends && taken_i && stream_q, begins || serial_i == oldest_q)

  // ---------------------------------------------------------------------------------------- the line
  (* hierconn *) logic [Sources*RowW-1:0] \u_streams.u_streams.contents_o ;
  (* hierconn *) logic [8:0] \u_streams.marked_q ;
  logic [Sources-1:0] marked;
  for (genvar i = 0; i < Sources; i++) begin : g_marked
    assign marked[i] = \u_streams.u_streams.contents_o [RowW*i+RowW-1] && 9'(i) < row_q;
  end

  logic [RowW-1:0] mine_row;
  assign mine_row = \u_streams.u_streams.contents_o [RowW*mine+:RowW];

  // Invariants of the induction: the row of the source, what was read of a row, and what the sender knows of the mark.
  (* hierconn *) logic [RowW-1:0] \u_streams.stream ;
  logic [RowW-1:0] row;
  assign row = \u_streams.u_streams.contents_o [RowW*source_q+:RowW];
  `ALCOR_ASSERT(p_rows, row_q <= 9'd256)
  `ALCOR_ASSERT(p_read, \u_streams.stream == row)
  `ALCOR_IMPLIES(p_mine, 9'(mine) < row_q, mine_row[RowW-1] == waits_q && (!waits_q || mine_row[RowW-2:0] == refused_q))
  `ALCOR_IMPLIES(p_swept, sweep, !waits_q)
  `ALCOR_IMPLIES(p_not_none, waits_q, refused_q != 6'd0)
  `ALCOR_IMPLIES(p_numbers, stream_q, oldest_q != 6'd0 && next_q != 6'd0 && next_q != 6'd1)
  `ALCOR_IMPLIES(p_waits_for_oldest, stream_q && waits_q, refused_q == oldest_q)
  `ALCOR_IMPLIES(p_all_taken, stream_q && !waits_q, next_q == oldest_q)

`ifdef ALCOR_PROVE_MESSAGE_STREAMS_COUNT
  // The number of marked sources, if this message is refused. Messages come from the first sources alone.
  logic [8:0] count, refused_count;
  always_comb begin
    count = '0;
    for (int unsigned i = 0; i < COUNTED; i++) count = count + 9'(marked[i]);
  end
  assign refused_count = count + 9'(!marked[source_i]);
  `ALCOR_ASSUME(32'(source_i) < COUNTED)
  `ALCOR_ASSERT(p_others, marked[Sources-1:COUNTED] == '0)
  `ALCOR_ASSERT(p_count, \u_streams.marked_q == count)
  `ALCOR_IMPLIES(p_line, known && numbered && !closed_i, 9'(line) == (refused_count > 9'd31 ? 9'd31 : refused_count))
  `ALCOR_IMPLIES(p_no_line, known && (!numbered || closed_i), line == 5'd0)
`endif

endmodule

`include "assertions.svh"

/// Register slice across a border between super logic regions (SLR) of the die.
///
/// A `skid_buffer` has logic at its input, so the wire that crosses the border would not end at a register. Here, valid, payload
/// and ready cross from a register to a register, STAGES registers on each side of the border. Ready is late by these registers,
/// so a FIFO on the far side has room for all words that are on the way. The instances `u_source_*` belong to the region of the
/// input, the instances `u_sink_*` to that of the output.
///
/// Handshake: a word moves when valid and ready are both high at a clock edge. Valid does not wait for ready, and stays, with the
/// payload, until the word moves. All outputs but `data_o` come from registers. A word takes 2 × STAGES + 1 cycles; a word moves
/// in every cycle.
///
/// Both sides have one reset, that of the sink's side. `ready_o` falls 2 × STAGES cycles after the reset begins and rises as
/// long after its end, so nothing is sent to a side that is in reset. The reset lasts for more than 4 × STAGES cycles.
module slr_stream #(
    /// Bits per word.
    parameter int unsigned WIDTH = 32,
    /// Registers on each side of the border, 1 or more.
    parameter int unsigned STAGES = 1
) (
    /// Clock.
    input  logic             clk_i,
    /// Synchronous reset of the sink's side, active low; words on the way are lost.
    input  logic             rst_ni,
    /// Input: a word is offered.
    input  logic             valid_i,
    /// Input: there is room.
    output logic             ready_o,
    /// Input: the word.
    input  logic [WIDTH-1:0] data_i,
    /// Output: a word is offered.
    output logic             valid_o,
    /// Output: the word is taken.
    input  logic             ready_i,
    /// Output: the oldest word; undefined while `valid_o` is low.
    output logic [WIDTH-1:0] data_o
);

  // Words that still come after the end of the room: those on the way to the sink, and those sent while the news is on its way.
  localparam int unsigned Late = 4 * STAGES;
  // Twice as many, so that the FIFO never runs empty while the source waits for the news of room.
  localparam int unsigned Depth = 2 * Late + 2;
  localparam int unsigned UsageW = $clog2(Depth + 1);

  logic source_valid, sink_valid, room, room_q, fifo_ready;
  logic [WIDTH-1:0] source_data, sink_data;
  logic [UsageW-1:0] usage;

  register_pipe #(.WIDTH(WIDTH + 1), .STAGES(STAGES)) u_source_word (
      .clk_i(clk_i), .d_i({valid_i && ready_o, data_i}), .q_o({source_valid, source_data})
  );

  register_pipe #(.WIDTH(WIDTH + 1), .STAGES(STAGES)) u_sink_word (
      .clk_i(clk_i), .d_i({source_valid, source_data}), .q_o({sink_valid, sink_data})
  );

  fifo #(.WIDTH(WIDTH), .DEPTH(Depth)) u_sink_fifo (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(sink_valid), .ready_o(fifo_ready), .data_i(sink_data),
      .valid_o(valid_o), .ready_i(ready_i), .data_o(data_o), .empty_o(), .usage_o(usage)
  );

  assign room = rst_ni && usage < UsageW'(Depth - Late);

  register_pipe #(.WIDTH(1), .STAGES(STAGES)) u_sink_room (.clk_i(clk_i), .d_i(room), .q_o(room_q));
  register_pipe #(.WIDTH(1), .STAGES(STAGES)) u_source_room (.clk_i(clk_i), .d_i(room_q), .q_o(ready_o));

  `ALCOR_IMPLIES(a_room, sink_valid, fifo_ready)
  `ALCOR_STABLE(a_in_stable, valid_i, ready_o, data_i)
  `ALCOR_STABLE(a_out_stable, valid_o, ready_i, data_o)

endmodule

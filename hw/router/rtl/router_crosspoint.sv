`include "assertions.svh"

/// Crosspoint buffer of the router: where one input's words for one output wait.
///
/// Written by a strobe: a write is allowed only while `room_o`, which is a register, is high.
/// Read by valid/ready: a word moves when both are high at a clock edge; what is offered stays on
/// offer, unchanged, until it is taken. A word written in cycle t is offered in cycle t+1.
module router_crosspoint #(
    /// Bits per word.
    parameter int unsigned WIDTH = 32,
    /// Depth in words, 2 or more.
    parameter int unsigned DEPTH = 16
) (
    /// Clock.
    input  logic             clk_i,
    /// Synchronous reset, active low; empties the buffer.
    input  logic             rst_ni,
    /// Write strobe from the row.
    input  logic             write_i,
    /// Word from the row.
    input  logic [WIDTH-1:0] data_i,
    /// The word from the row is its packet's last.
    input  logic             last_i,
    /// The buffer is not full; feedback to the row's scheduler.
    output logic             room_o,
    /// Column: a word is offered.
    output logic             valid_o,
    /// Column: the word is taken.
    input  logic             ready_i,
    /// Column: the word.
    output logic [WIDTH-1:0] data_o,
    /// Column: the word is its packet's last.
    output logic             last_o,
    /// No word is held.
    output logic             empty_o
);

  // Size from which block RAM is used, as the paper chooses for its FIFOs.
  localparam int unsigned BlockRamDepth = 128;

  fifo #(
      .WIDTH    (WIDTH + 1),
      .DEPTH    (DEPTH),
      .BLOCK_RAM(DEPTH >= BlockRamDepth)
  ) u_buffer (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i(write_i),
      .ready_o(room_o),
      .data_i ({last_i, data_i}),
      .valid_o(valid_o),
      .ready_i(ready_i),
      .data_o ({last_o, data_o}),
      .empty_o(empty_o),
      .usage_o()
  );

  `ALCOR_IMPLIES(a_write_has_room, write_i, room_o)

  `ALCOR_COVER(c_full_crosspoint, !room_o)

endmodule

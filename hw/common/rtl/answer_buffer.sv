`include "assertions.svh"

/// Data of memory reads, which cannot be held up: passes the data on in the cycle in which it comes, or holds it until it
/// is taken.
module answer_buffer #(
    /// Bits of a read's data.
    parameter int unsigned WIDTH = 32,
    /// Reads under way and held at most, 2 or more: the user counts.
    parameter int unsigned DEPTH = 2
) (
    /// Clock.
    input  logic             clk_i,
    /// Synchronous reset, active low; empties the buffer.
    input  logic             rst_ni,
    /// Memory: data comes.
    input  logic             rvalid_i,
    /// Memory: the data.
    input  logic [WIDTH-1:0] data_i,
    /// Data is offered.
    output logic             valid_o,
    /// The data is taken.
    input  logic             ready_i,
    /// The oldest data.
    output logic [WIDTH-1:0] data_o
);

  logic held, room;
  logic [WIDTH-1:0] held_data;

  fifo #(.WIDTH(WIDTH), .DEPTH(DEPTH)) u_held (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(rvalid_i && (held || !ready_i)), .ready_o(room), .data_i(data_i),
      .valid_o(held), .ready_i(ready_i), .data_o(held_data), .empty_o(), .usage_o()
  );

  assign valid_o = held || rvalid_i;
  assign data_o  = held ? held_data : data_i;

  `ALCOR_IMPLIES(a_room, rvalid_i, room)

endmodule

`include "assertions.svh"

/// Two streams into one: stream 1 where it has something, else stream 0.
///
/// Handshake: a word moves when valid and ready are both high at a clock edge. What is offered stays on
/// offer, unchanged, until it is taken, also when the other stream gets something meanwhile. All
/// outputs follow their inputs in the same cycle; a word passes in every cycle.
module stream_pick #(
    /// Bits per word.
    parameter int unsigned WIDTH = 32
) (
    /// Clock.
    input  logic                  clk_i,
    /// Synchronous reset, active low.
    input  logic                  rst_ni,
    /// Inputs: a word is offered.
    input  logic [1:0]            valid_i,
    /// Inputs: the word is taken.
    output logic [1:0]            ready_o,
    /// Inputs: the words.
    input  logic [1:0][WIDTH-1:0] data_i,
    /// Output: a word is offered.
    output logic                  valid_o,
    /// Output: the word is taken.
    input  logic                  ready_i,
    /// Output: the word.
    output logic [WIDTH-1:0]      data_o
);

  logic pick, pick_q, holds_q;

  assign pick    = holds_q ? pick_q : valid_i[1];
  assign valid_o = |valid_i;
  assign ready_o = {pick && ready_i, !pick && ready_i};
  assign data_o  = data_i[pick];

  always_ff @(posedge clk_i) begin
    pick_q <= pick;
    if (!rst_ni) holds_q <= 1'b0;
    else holds_q <= valid_o && !ready_i;
  end

  `ALCOR_STABLE(a_first_stable, valid_i[0], ready_o[0], data_i[0])
  `ALCOR_STABLE(a_second_stable, valid_i[1], ready_o[1], data_i[1])
  `ALCOR_STABLE(a_out_stable, valid_o, ready_i, data_o)

`ifdef ALCOR_PROVE_STREAM_PICK
  `include "stream_pick_properties.svh"
`endif

endmodule

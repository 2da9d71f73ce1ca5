`include "formal.svh"

`ifndef FIFO_MODEL
`define FIFO_MODEL fifo_model
`endif

/// Model of `fifo` with the same behaviour at its ports: a shift register without unreachable states. The proofs of
/// `fifo` and `skid_buffer` compare the block with this model. With FIFO_MODEL defined as `fifo`, the model replaces
/// `fifo` in inductive proofs of larger blocks.
module `FIFO_MODEL #(
    /// Bits per word.
    parameter int unsigned WIDTH = 32,
    /// Maximum number of words.
    parameter int unsigned DEPTH = 16,
    /// Not used.
    parameter bit BLOCK_RAM = 1'b0,
    /// Width of the fill level; derived, do not set.
    localparam int unsigned UsageW = $clog2(DEPTH + 1)
) (
    /// Clock.
    input  logic                   clk_i,
    /// Synchronous reset, active low.
    input  logic                   rst_ni,
    /// Input: a word is offered.
    input  logic                   valid_i,
    /// Input: there is room.
    output logic                   ready_o,
    /// Input: the word.
    input  logic [      WIDTH-1:0] data_i,
    /// Output: a word is offered.
    output logic                   valid_o,
    /// Output: the word is taken.
    input  logic                   ready_i,
    /// Output: the oldest word.
    output logic [      WIDTH-1:0] data_o,
    /// No word is held.
    output logic                   empty_o,
    /// Words of all places, the oldest word first.
    output logic [DEPTH*WIDTH-1:0] words_o,
    /// Number of words held.
    output logic [     UsageW-1:0] usage_o
);

  logic [DEPTH*WIDTH-1:0] words_d, words_q;
  logic [UsageW-1:0] rest;
  logic pop, push;

  assign push = valid_i && ready_o;
  assign pop  = valid_o && ready_i;
  assign rest = usage_o - UsageW'(pop);

  always_comb begin
    words_d = pop ? words_q >> WIDTH : words_q;
    for (int i = 0; i < DEPTH; i++) begin
      if (push && rest == UsageW'(i)) words_d[i*WIDTH+:WIDTH] = data_i;
    end
  end

  always_ff @(posedge clk_i) begin
    words_q <= words_d;
    usage_o <= rst_ni ? rest + UsageW'(push) : '0;
  end

  assign ready_o = usage_o != UsageW'(DEPTH);
  assign valid_o = usage_o != '0;
  assign empty_o = !valid_o;
  assign data_o  = words_q[WIDTH-1:0];
  assign words_o = words_q;

  `ALCOR_ASSERT(a_usage_range, usage_o <= UsageW'(DEPTH))

endmodule

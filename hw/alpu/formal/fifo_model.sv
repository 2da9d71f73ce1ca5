`include "assertions.svh"

/// In place of `fifo` in proofs by induction: the same at its ports, as a plain shift register, of which
/// there is no state that could not be reached. What `fifo` does is benched in hw/common, and the bounded
/// proofs have it as it is.
module fifo #(
    parameter int unsigned WIDTH = 32,
    parameter int unsigned DEPTH = 16,
    parameter bit BLOCK_RAM = 1'b0,
    localparam int unsigned UsageW = $clog2(DEPTH + 1)
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic              valid_i,
    output logic              ready_o,
    input  logic [ WIDTH-1:0] data_i,
    output logic              valid_o,
    input  logic              ready_i,
    output logic [ WIDTH-1:0] data_o,
    output logic              empty_o,
    output logic [UsageW-1:0] usage_o
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

  `ALCOR_ASSERT(a_usage_range, usage_o <= UsageW'(DEPTH))

endmodule

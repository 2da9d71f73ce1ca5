`include "assertions.svh"

/// Model of `sync_2ff`, which takes its place in the proof of `fifo_async`. Each step of the proof is a moment, at which
/// `clk_i` tells whether the clock has an edge.
///
/// After a moment that changes `d_i`, each bit that changed arrives at the first flop by itself: in time for an edge of that
/// very moment, or at any later moment. An edge before that takes the old value. Assumption: a bit has arrived before `d_i`
/// changes again. A bit that is taken as new stays new.
module sync_2ff #(
    /// Bits, each synchronised by itself.
    parameter int unsigned WIDTH = 1
) (
    /// Clock of the receiving domain.
    input  logic             clk_i,
    /// Synchronous reset of the receiving domain, active low; the output becomes 0.
    input  logic             rst_ni,
    /// From a register of the other domain.
    input  logic [WIDTH-1:0] d_i,
    /// The value that arrived, one clock edge after it was taken.
    output logic [WIDTH-1:0] q_o
);

  // Bits that arrive now, if they have not before.
  (* anyseq *)
  logic [WIDTH-1:0] arrives;

  logic [WIDTH-1:0] was_q, line, line_q, meta, meta_q, sync_q;
  // The first flop had an edge in the moment before: it has the bits that have arrived by now.
  logic taken_q;

  assign line = (arrives & d_i) | (~arrives & ((d_i != was_q) ? was_q : line_q));
  assign meta = taken_q ? line : meta_q;

  always @($global_clock) begin
    was_q   <= d_i;
    line_q  <= line;
    taken_q <= clk_i && rst_ni;
    meta_q  <= (clk_i && !rst_ni) ? '0 : meta;
    if (clk_i) sync_q <= rst_ni ? meta : '0;
  end

  assign q_o = sync_q;

endmodule

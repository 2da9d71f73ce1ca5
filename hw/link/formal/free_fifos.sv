/// In the place of `fifo`, in proofs for which what comes out does not matter: outputs are free.
module fifo #(
    /// Bits per word.
    parameter int unsigned WIDTH = 32,
    /// Depth in words.
    parameter int unsigned DEPTH = 16,
    /// Not used.
    parameter bit BLOCK_RAM = 1'b0,
    /// Width of the fill level; derived, not to be set.
    localparam int unsigned UsageW = $clog2(DEPTH + 1)
) (
    /// Clock.
    input  logic              clk_i,
    /// Not used.
    input  logic              rst_ni,
    /// Not used.
    input  logic              valid_i,
    /// Free.
    output logic              ready_o,
    /// Not used.
    input  logic [ WIDTH-1:0] data_i,
    /// Free.
    output logic              valid_o,
    /// Not used.
    input  logic              ready_i,
    /// Free.
    output logic [ WIDTH-1:0] data_o,
    /// Free.
    output logic              empty_o,
    /// Free.
    output logic [UsageW-1:0] usage_o
);

  (* anyseq *) logic ready, valid, empty;
  (* anyseq *) logic [WIDTH-1:0] data;
  (* anyseq *) logic [UsageW-1:0] usage;

  assign ready_o = ready;
  assign valid_o = valid;
  assign data_o  = data;
  assign empty_o = empty;
  assign usage_o = usage;

endmodule

/// In the place of `fifo_async`: as above.
module fifo_async #(
    /// Bits per word.
    parameter int unsigned WIDTH = 32,
    /// Not used.
    parameter int unsigned DEPTH = 16
) (
    /// Write clock.
    input  logic             wclk_i,
    /// Not used.
    input  logic             wrst_ni,
    /// Not used.
    input  logic             valid_i,
    /// Free.
    output logic             ready_o,
    /// Not used.
    input  logic [WIDTH-1:0] data_i,
    /// Read clock.
    input  logic             rclk_i,
    /// Not used.
    input  logic             rrst_ni,
    /// Free.
    output logic             valid_o,
    /// Not used.
    input  logic             ready_i,
    /// Free.
    output logic [WIDTH-1:0] data_o
);

  (* anyseq *) logic ready, valid;
  (* anyseq *) logic [WIDTH-1:0] data;

  assign ready_o = ready;
  assign valid_o = valid;
  assign data_o  = data;

endmodule

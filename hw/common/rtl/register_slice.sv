/// Register slice of a stream, which a parameter turns into wires: timing is tuned without a change of logic.
///
/// With SLICE it is a `skid_buffer`: a cycle of latency, a word in every cycle, all outputs from registers.
module register_slice #(
    /// Bits per word.
    parameter int unsigned WIDTH = 32,
    /// 1: registers; 0: wires.
    parameter bit SLICE = 1'b1
) (
    /// Clock.
    input  logic             clk_i,
    /// Synchronous reset, active low; empties the slice.
    input  logic             rst_ni,
    /// Input: a word is offered.
    input  logic             valid_i,
    /// Input: the word is taken.
    output logic             ready_o,
    /// Input: the word.
    input  logic [WIDTH-1:0] data_i,
    /// Output: a word is offered.
    output logic             valid_o,
    /// Output: the word is taken.
    input  logic             ready_i,
    /// Output: the word; undefined while `valid_o` is low.
    output logic [WIDTH-1:0] data_o
);

  if (SLICE) begin : g_slice
    skid_buffer #(
        .WIDTH(WIDTH)
    ) u_skid_buffer (
        .clk_i  (clk_i),
        .rst_ni (rst_ni),
        .valid_i(valid_i),
        .ready_o(ready_o),
        .data_i (data_i),
        .valid_o(valid_o),
        .ready_i(ready_i),
        .data_o (data_o),
        .empty_o()
    );
  end else begin : g_wires
    assign valid_o = valid_i;
    assign ready_o = ready_i;
    assign data_o  = data_i;

    logic unused_clock;
    assign unused_clock = clk_i ^ rst_ni;
  end

endmodule

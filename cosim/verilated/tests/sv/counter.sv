// A counter with an enable; the width is a parameter.
module counter #(
    parameter int unsigned WIDTH = 8,
    parameter string LABEL = "none"
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             en_i,
    output logic [WIDTH-1:0] count_o,
    output logic [31:0]      label_o
);
`ifndef STEP
  `define STEP 1
`endif
  logic [WIDTH-1:0] count_q  /*verilator public_flat_rd*/;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) count_q <= '0;
    else if (en_i) count_q <= count_q + WIDTH'(`STEP);
  end
  assign count_o = count_q;
  assign label_o = (LABEL == "alcor") ? 32'd1 : 32'd0;
endmodule

module listed (
    input  logic        clk_i,
    input  logic        en_i,
    input  logic [47:0] base_i,
    output logic [ 7:0] count_o,
    output logic [47:0] sum_o,
    output logic [99:0] wide_o
);
  logic [7:0] next;
  step u_step (
      .count_i(count_o),
      .next_o(next)
  );
  always_ff @(posedge clk_i) if (en_i) count_o <= next;
  assign sum_o  = base_i + 48'(count_o);
  assign wide_o = {52'h1, sum_o};
endmodule

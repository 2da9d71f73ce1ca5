module broken (
    input logic clk_i
);
  assign no_such_signal = clk_i +;
endmodule

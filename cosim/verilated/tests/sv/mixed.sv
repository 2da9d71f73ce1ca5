// Of its imports, a C++ source defines one and the host the other.
module mixed (
    input logic clk_i,
    input logic [31:0] a_i,
    output logic [31:0] sum_o
);
  import "DPI-C" context function int cpp_twice(input int value);
  import "DPI-C" function int host_add(input int a, input int b);
  export "DPI-C" function sv_next;

  function int sv_next(input int value);
    return value + 1;
  endfunction

  always_ff @(posedge clk_i) sum_o <= host_add(cpp_twice(a_i), 7);
endmodule

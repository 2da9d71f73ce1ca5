// An import with an unpacked array, which no host can have.
module unsupported (
    input logic clk_i
);
  import "DPI-C" function void host_add(input int values[4]);

  int values[4];

  always_ff @(posedge clk_i) host_add(values);
endmodule

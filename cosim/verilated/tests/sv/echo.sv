// Calls the host twice a cycle, with vectors of different widths.
module echo (
    input  logic        clk_i,
    input  logic [63:0] dpi_handle_i,
    input  logic        misdirect_i,
    output logic [99:0] answer_o,
    output logic [39:0] other_o
);
  import "DPI-C" function void alcor_ask(
    input longint unsigned handle,
    input bit [69:0] in_bits,
    output bit [99:0] out_bits
  );
  import "DPI-C" function void alcor_count(
    input longint unsigned handle,
    input bit [32:0] in_bits,
    output bit [39:0] out_bits
  );
  logic [31:0] cycle_q;
  bit [99:0] answer;
  bit [39:0] other;
  always_ff @(posedge clk_i) begin
    cycle_q <= cycle_q + 1;
    alcor_ask(dpi_handle_i + 64'(misdirect_i), {6'h2a, 32'hcafe_f00d, cycle_q}, answer);
    alcor_count(dpi_handle_i, {1'b1, cycle_q}, other);
    answer_o <= answer;
    other_o  <= other;
  end
endmodule

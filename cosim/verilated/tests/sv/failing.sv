// Ends in the way that `how_i` says.
module failing (
    input  logic       clk_i,
    input  logic [2:0] how_i,
    output logic       ring_o
);
  always_ff @(posedge clk_i) begin
    case (how_i)
      3'd1: $error("the number is %0d", how_i);
      3'd2: $fatal(1, "beyond repair");
      3'd3: $finish;
      3'd4: $stop;
      3'd5: $display("just a word");
      default: ;
    endcase
  end
  // Never settles when asked to.
  /* verilator lint_off UNOPTFLAT */
  wire ring;
  assign ring = (how_i == 3'd7) ? ~ring : 1'b0;
  /* verilator lint_on UNOPTFLAT */
  assign ring_o = ring;
  final $display("final block");

  a_not_six :
  assert property (@(posedge clk_i) how_i != 3'd6)
  else $error("six");
endmodule

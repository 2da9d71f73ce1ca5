// DPI imports with signatures of their own, of every type that a host can have.
module calls (
    input logic clk_i,
    input logic [7:0] count_i,
    output logic [31:0] sum_o,
    output logic [99:0] wide_o,
    output logic [63:0] long_o,
    output logic [31:0] inout_o
);
  import "DPI-C" context function int add(input int a, input byte b);
  import "DPI-C" function void scalars(input byte unsigned ub, input shortint s, input shortint unsigned us, input longint l,
      input bit x, input logic y, output byte ob, output shortint os, output bit ox, inout int io);
  import "DPI-C" function longint unsigned vectors(input bit [99:0] v, input logic [69:0] lv, output bit [99:0] ov,
      output logic [33:0] olv, inout bit [39:0] iov);
  import "DPI-C" function real scaled(input real r, output real half);
  import "DPI-C" pure function int unsigned text_length(input string text, input int more, input string other);
  import "DPI-C" function chandle make(input longint unsigned n);
  import "DPI-C" function bit [31:0] word(input chandle handle);
  import "DPI-C" plain = function void renamed();

  byte ob;
  shortint os;
  bit ox;
  int io = 5;
  bit [99:0] ov;
  logic [33:0] olv;
  bit [39:0] iov = 40'hff_0000_0001;
  real half;
  real r;
  chandle handle;

  always_ff @(posedge clk_i) begin
    sum_o <= add(32'(count_i), -8'sd3);
    scalars(8'hff, -16'sd2, 16'hfffe, -64'sd1, 1'b1, 1'b0, ob, os, ox, io);
    long_o <= vectors({4'ha, 96'h1}, {6'h3f, 64'h2}, ov, olv, iov);
    wide_o <= ov;
    r = scaled(2.5, half);
    handle = make(64'h1_0000_0007);
    inout_o <= io;
    assert (ob == -8'sd4 && os == -16'sd300 && ox && olv == 34'h3_0000_0005 && iov == 40'h01_0000_0002) else $error("outputs");
    assert (r == 5.0 && half == 1.25) else $error("reals");
    assert (text_length("hello", 2, "") == 7 && text_length("", 0, "four") == 4) else $error("texts");
    assert (word(handle) == 32'd7) else $error("handle");
    renamed();
    iov = 40'hff_0000_0001;
  end
endmodule

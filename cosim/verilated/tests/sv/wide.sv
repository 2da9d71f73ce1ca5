// Ports of every width class; each output is the inverse or a copy of an input.
module wide (
    input  logic [0:0]        one_i,
    input  logic [8:0]        nine_i,
    input  logic [31:0]       word_i,
    input  logic [39:0]       forty_i,
    input  logic [99:0]       wide_i,
    input  logic [1:0][40:0]  packed_i,
    input  logic signed [2:0] signed_i,
    input  logic              under__score_i,
    output logic [0:0]        one_o,
    output logic [8:0]        nine_o,
    output logic [31:0]       word_o,
    output logic [39:0]       forty_o,
    output logic [99:0]       wide_o,
    output logic [81:0]       packed_o,
    output logic [7:0]        signed_o,
    output logic              under__score_o
);
  assign one_o          = ~one_i;
  assign nine_o         = ~nine_i;
  assign word_o         = ~word_i;
  assign forty_o        = ~forty_i;
  assign wide_o         = ~wide_i;
  assign packed_o       = {packed_i[0], packed_i[1]};
  assign signed_o       = 8'(signed_i);
  assign under__score_o = ~under__score_i;
endmodule

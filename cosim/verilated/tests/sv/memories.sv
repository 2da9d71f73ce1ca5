// Public arrays of several widths, one level below the top.
module memories (
    input  logic         clk_i,
    input  logic         we_i,
    input  logic [3:0]   addr_i,
    input  logic [31:0]  data_i,
    output logic [31:0]  word_o,
    output logic [127:0] line_o,
    output logic [36:0]  odd_o
);
  memories_bank u_bank (
      .clk_i,
      .we_i,
      .addr_i,
      .data_i,
      .word_o,
      .line_o,
      .odd_o
  );
endmodule

module memories_bank (
    input  logic         clk_i,
    input  logic         we_i,
    input  logic [3:0]   addr_i,
    input  logic [31:0]  data_i,
    output logic [31:0]  word_o,
    output logic [127:0] line_o,
    output logic [36:0]  odd_o
);
  logic [31:0] words[16]  /*verilator public_flat_rw*/;
  logic [7:0] bytes[16]  /*verilator public_flat_rw*/;
  logic [63:0] doubles[16]  /*verilator public_flat_rw*/;
  logic [127:0] lines[15:0]  /*verilator public_flat_rw*/;
  logic [36:0] odds[16]  /*verilator public_flat_rw*/;
  logic [15:0] writes_q  /*verilator public_flat_rw*/;
  logic [7:0] read_only_q  /*verilator public_flat_rd*/;
  always_ff @(posedge clk_i) begin
    if (we_i) begin
      words[addr_i]   <= data_i;
      bytes[addr_i]   <= data_i[7:0];
      doubles[addr_i] <= {data_i, ~data_i};
      lines[addr_i]   <= {4{data_i}};
      writes_q        <= writes_q + 1;
    end
    read_only_q <= bytes[addr_i];
    word_o      <= words[addr_i];
    line_o      <= lines[addr_i];
    odd_o       <= odds[addr_i];
  end
endmodule

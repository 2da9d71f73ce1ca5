// A countdown beside registers that count cycles, and a RAM that is written while the countdown runs.
module steady (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        start_i,
    input  logic        hold_i,
    // Shows the counters, which keeps the outputs from staying the same.
    input  logic        show_i,
    output logic [ 4:0] left_o,
    output logic [ 3:0] short_o,
    output logic [39:0] long_o,
    output logic [ 7:0] read_o
);
  logic [ 3:0] short_q;
  logic [39:0] long_q;
  logic [ 4:0] left_q;
  logic [ 7:0] mem_q[16];
  logic [ 7:0] read_q;

  always_ff @(posedge clk_i) begin
    short_q <= rst_ni ? short_q + 1'b1 : '0;
    long_q  <= !rst_ni ? '0 : hold_i ? long_q : long_q + 1'b1;
    if (!rst_ni) left_q <= '0;
    else if (start_i) left_q <= 5'd20;
    else if (left_q != '0) left_q <= left_q - 1'b1;
    if (left_q != '0) mem_q[left_q[3:0]] <= 8'(left_q);
    read_q <= mem_q[3];
  end

  assign left_o  = left_q;
  assign short_o = show_i ? short_q : '0;
  assign long_o  = show_i ? long_q : '0;
  assign read_o  = read_q;
endmodule

/// Resets of a board: from outside, or by CONTROL.
///
/// A reset starts from a counter and passes STAGES registers to each block, which are the block's own. The counter is shorter
/// than the reset by those cycles, so the blocks' reset ends 16 cycles after the command, or later: data of memory reads that
/// are under way comes before the reset ends.
module board_reset #(
    /// Ranks of the board.
    parameter int unsigned RANKS = 2,
    /// Registers between the counter and a block.
    parameter int unsigned STAGES = 2
) (
    /// Clock.
    input  logic             clk_i,
    /// Synchronous reset, active low.
    input  logic             rst_ni,
    /// CONTROL.reset is written.
    input  logic             command_i,
    /// By rank: reads of node memory are under way.
    input  logic [RANKS-1:0] reading_i,

    /// The counter has ended; low starts a reset.
    output logic             running_o,
    /// Reset of the board's control, active low.
    output logic             board_rst_no,
    /// Reset of the crossbar, active low.
    output logic             fabric_rst_no,
    /// Reset of the link ends, active low.
    output logic             link_rst_no,
    /// By rank: reset of the rank, active low, a register early: the rank has the last one.
    output logic [RANKS-1:0] tile_rst_no
);

  localparam logic [3:0] Cycles = 4'(15 - STAGES);

  logic [3:0] count_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || command_i) count_q <= Cycles;
    else if (count_q != '0 && (count_q != 4'd1 || reading_i == '0)) count_q <= count_q - 1'b1;
  end

  assign running_o = count_q == '0;

  reset_pipe #(.STAGES(STAGES)) u_board (.clk_i(clk_i), .rst_ni(running_o), .rst_no(board_rst_no));
  reset_pipe #(.STAGES(STAGES)) u_fabric (.clk_i(clk_i), .rst_ni(running_o), .rst_no(fabric_rst_no));
  reset_pipe #(.STAGES(STAGES)) u_link (.clk_i(clk_i), .rst_ni(running_o), .rst_no(link_rst_no));

  for (genvar r = 0; r < RANKS; r++) begin : g_rank
    reset_pipe #(.STAGES(STAGES - 1)) u_tile (.clk_i(clk_i), .rst_ni(running_o), .rst_no(tile_rst_no[r]));
  end

endmodule

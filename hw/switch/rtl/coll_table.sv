`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// Communicator table: a row for each communicator that this board has members in (Haghi et al.
/// 2022, section 3.1).
///
/// A row holds the number of boards, this board's label among them, its members on this board and,
/// for each stage of the collective algorithms, the rank to talk to. What follows from these, and is
/// needed in every cycle, is worked out when the row is written.
module coll_table #(
    /// Ranks of the board.
    parameter int unsigned RANKS = 1,
    /// Stages.
    parameter int unsigned STAGES = 3
) (
    /// Clock.
    input  logic                                 clk_i,
    /// Synchronous reset, active low; empties all rows.
    input  logic                                 rst_ni,

    /// A write into a rank's page, the part of collectives.
    input  logic [RANKS-1:0]                     write_i,
    /// Offset in the page.
    input  logic [RANKS-1:0][11:0]               offset_i,
    /// Data.
    input  logic [RANKS-1:0][31:0]               data_i,

    /// A row was written.
    output logic                                 written_o,
    /// Which.
    output logic [4:0]                           row_o,

    /// Rows in use.
    output logic [31:0]                          valid_o,
    /// By rank: communicators that it is a member of.
    output logic [RANKS-1:0][31:0]               member_o,
    /// This board's label.
    output logic [31:0][7:0]                     label_o,
    /// Labels from here on up fold onto the lower ones; 0 where the number of boards is a power of
    /// two.
    output logic [31:0][7:0]                     fold_o,
    /// Stages that the communicator has.
    output logic [31:0][2:0]                     stages_o,
    /// This board's label is folded away: it gives its data to its partner in stage 0.
    output logic [31:0]                          upper_o,
    /// Another label is folded onto this board's.
    output logic [31:0]                          lower_o,
    /// By stage: the partner.
    output logic [STAGES-1:0][31:0][15:0]        partner_o
);

  // Ranks may write at the same time; their writes come to the table one after the other. A row is
  // nine writes at most, so a FIFO of 16 holds what the others' rows make it wait.
  logic [RANKS-1:0] waiting, pick;
  logic [RANKS-1:0][5:0] offsets;
  logic [RANKS-1:0][31:0] operands;
  logic [RANKS-1:0][4:0] row_q;
  logic busy;
  logic [5:0] offset;
  logic [31:0] data;
  logic [4:0] row;

  logic shape_q;
  logic [4:0] shape_row_q;
  logic [7:0] boards_q, label_q, power;
  logic [2:0] stages;
  logic [15:0] members_q;

  for (genvar r = 0; r < RANKS; r++) begin : g_rank
    fifo #(
        .WIDTH(38),
        .DEPTH(16)
    ) u_writes (
        .clk_i  (clk_i),
        .rst_ni (rst_ni),
        .valid_i(write_i[r] && offset_i[r][11:6] == RANK_COMM_ROW_OFFSET[11:6]),
        .ready_o(),
        .data_i ({offset_i[r][5:0], data_i[r]}),
        .valid_o(waiting[r]),
        .ready_i(pick[r]),
        .data_o ({offsets[r], operands[r]}),
        .empty_o(),
        .usage_o()
    );
  end

  always_comb begin
    busy   = 1'b0;
    pick   = '0;
    offset = '0;
    data   = '0;
    row    = '0;
    for (int unsigned r = 0; r < RANKS; r++) begin
      if (!busy && waiting[r]) begin
        busy    = 1'b1;
        pick[r] = 1'b1;
        offset  = offsets[r];
        data    = operands[r];
        row     = row_q[r];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned r = 0; r < RANKS; r++) begin
      if (pick[r] && offsets[r] == RANK_COMM_ROW_OFFSET[5:0]) row_q[r] <= operands[r][4:0];
    end
    if (busy) begin
      for (int unsigned s = 0; s < STAGES; s++) begin
        /* verilator unroll_disable */
        for (int unsigned c = 0; c < Contexts; c++) begin
          if (offset == RANK_COMM_PARTNER_OFFSET[5:0] + 6'(4 * s) && row == 5'(c)) partner_o[s][c] <= data[15:0];
        end
      end
      shape_row_q <= row;
      boards_q    <= data[RANK_COMM_SHAPE_BOARDS_LSB+:8];
      label_q     <= data[RANK_COMM_SHAPE_LABEL_LSB+:8];
      members_q   <= data[RANK_COMM_SHAPE_MEMBERS_LSB+:16];
    end
    if (!rst_ni) begin
      row_q   <= '0;
      shape_q <= 1'b0;
    end else begin
      shape_q <= busy && offset == RANK_COMM_SHAPE_OFFSET[5:0];
    end
  end

  // The largest power of two below the number of boards, and how many halvings there are.
  always_comb begin
    power  = 8'd0;
    stages = 3'd0;
    for (int unsigned i = 0; i < 7; i++) begin
      if (boards_q > 8'(1 << i)) begin
        power  = 8'(1 << i);
        stages = 3'(i + 1);
      end
    end
  end

  logic folds;
  assign folds = (boards_q & (boards_q - 8'd1)) != 8'd0;

  always_ff @(posedge clk_i) begin
    written_o <= shape_q;
    row_o     <= shape_row_q;
    if (shape_q) begin
      /* verilator unroll_disable */
      for (int unsigned c = 0; c < Contexts; c++) begin
        if (shape_row_q == 5'(c)) begin
          valid_o[c]  <= boards_q != '0;
          label_o[c]  <= label_q;
          fold_o[c]   <= folds ? power : 8'd0;
          stages_o[c] <= stages;
          upper_o[c]  <= folds && label_q >= power;
          lower_o[c]  <= folds && label_q < boards_q - power;
          for (int unsigned r = 0; r < RANKS; r++) member_o[r][c] <= members_q[r];
        end
      end
    end
    if (!rst_ni) begin
      valid_o   <= '0;
      member_o  <= '0;
      upper_o   <= '0;
      lower_o   <= '0;
      written_o <= 1'b0;
    end
  end

  `ALCOR_CHECK_PARAM(g_check_stages, STAGES >= 1 && STAGES <= 7, "coll_table: STAGES must be 1 to 7")

endmodule

`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// Communicator table: a row for each communicator that this board has members in (Haghi et al.
/// 2022, section 3.1).
///
/// A row holds the number of boards, this board's label among them, its members on this board and,
/// for each stage of the collective algorithms, the rank to talk to. What follows from these, and is
/// needed in every cycle, is worked out when the row is written.
///
/// Each row has a key, which phits of its communicator carry. After reset all keys are 0. The rows of the world and of the
/// barrier keep phits with this key before they are written, since a partner board may be ahead. Every other row takes no
/// phits before it is written, nor does a row that was taken out of use before it is written again.
///
/// Each row has owners, and a write of another rank is refused. The board's first rank owns the rows of the world and of
/// the barrier. The members of a row in use own it. Any rank may write another row, with itself as a member.
module coll_table #(
    /// Ranks of the board.
    parameter int unsigned RANKS = 1,
    /// Stages.
    parameter int unsigned STAGES = 3
) (
    /// Clock.
    input  logic                             clk_i,
    /// Synchronous reset, active low; empties all rows.
    input  logic                             rst_ni,

    /// By rank: a write into the rank's page, the part of collectives; a page_write_t.
    input  logic [RANKS-1:0][PageWriteW-1:0] write_i,
    /// Rows in which a rank's collective has not ended.
    input  logic [31:0]                      posted_i,
    /// Rows are not written.
    input  logic                             hold_i,
    /// A row write waits until the row is out of use.
    output alcor_abi_pkg::row_pulse_t        wait_o,
    /// With `hold_i`: a row is closed. No collective begins in it, and its phits are dropped.
    input  alcor_abi_pkg::row_pulse_t        close_i,
    /// With `hold_i`: a row is taken out of use.
    input  alcor_abi_pkg::row_pulse_t        retire_i,
    /// With `retire_i`: the partner boards are notified.
    input  logic                             revoke_i,
    /// Ranks with a write that has not been carried out.
    output logic [RANKS-1:0]                 waiting_o,
    /// By rank: pulse, a write of the rank was refused in the cycle before, as the rank does not own the row.
    output logic [RANKS-1:0]                 denied_o,

    /// A row has been written, or taken out of use.
    output alcor_abi_pkg::shape_t            shape_o,
    /// The table.
    output alcor_abi_pkg::comm_table_t       table_o,
    /// By rank: communicators that the rank is a member of.
    output logic [RANKS-1:0][31:0]           member_o,
    /// By stage: global rank of a rank on the partner board, of each communicator.
    output logic [STAGES-1:0][31:0][15:0]    partner_o
);

  // Ranks may write at the same time; their writes come to the table one after the other. A row is
  // nine writes at most, so a FIFO of 16 holds the writes of a rank that waits for all others.
  logic [RANKS-1:0] waiting, pick, taken, comes, room;
  logic [RANKS-1:0][5:0] offsets;
  logic [RANKS-1:0][31:0] operands;
  logic [RANKS-1:0][4:0] row_q;
  logic [RANKS-1:0][7:0] key_q;
  logic some, changes, owns, denies, busy, retire_q, revoke_q;
  logic [7:0] key, shape_key_q;
  logic [5:0] offset;
  logic [31:0] data;
  alcor_abi_pkg::row_t row, shape_row_q;
  alcor_abi_pkg::rank_comm_shape_t shape, shape_q;
  alcor_abi_pkg::rank_comm_partner_t partner;
  logic shape_valid_q;

  for (genvar r = 0; r < RANKS; r++) begin : g_rank
    alcor_abi_pkg::page_write_t write;
    alcor_abi_pkg::rank_comm_row_t operand;

    assign write   = write_i[r];
    assign operand = operands[r];
    assign comes[r] = write.valid && write.offset[11:6] == RANK_COMM_ROW_OFFSET[11:6];

    fifo #(
        .WIDTH(38),
        .DEPTH(16)
    ) u_writes (
        .clk_i  (clk_i),
        .rst_ni (rst_ni),
        .valid_i(comes[r] && room[r]),
        .ready_o(room[r]),
        .data_i ({write.offset[5:0], write.data}),
        .valid_o(waiting[r]),
        .ready_i(taken[r]),
        .data_o ({offsets[r], operands[r]}),
        .empty_o(),
        .usage_o()
    );

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        row_q[r] <= '0;
        key_q[r] <= '0;
      end else if (taken[r] && offsets[r] == RANK_COMM_ROW_OFFSET[5:0]) begin
        row_q[r] <= operand.context_;
        key_q[r] <= operand.key;
      end
    end
  end

  always_comb begin
    some   = 1'b0;
    pick   = '0;
    offset = '0;
    data   = '0;
    row    = '0;
    key    = '0;
    for (int unsigned r = 0; r < RANKS; r++) begin
      if (!some && waiting[r]) begin
        some    = 1'b1;
        pick[r] = 1'b1;
        offset  = offsets[r];
        data    = operands[r];
        row     = row_q[r];
        key     = key_q[r];
      end
    end
  end

  assign shape   = data;
  assign partner = data;

  // A row is written when it is out of use, and when the collectives that were posted in it have ended.
  assign changes   = some && offset != RANK_COMM_ROW_OFFSET[5:0];
  assign denies    = changes && !owns;
  assign busy      = some && !(changes && (!owns || table_o.valid[row] || posted_i[row] || shape_valid_q || hold_i));
  assign taken     = pick & {RANKS{busy || denies}};
  assign waiting_o = waiting | {RANKS{shape_valid_q}};
  assign wait_o    = {changes && owns && table_o.valid[row] && !shape_valid_q, row};

  logic [RANKS-1:0] members;
  for (genvar r = 0; r < RANKS; r++) begin : g_members
    assign members[r] = table_o.valid[row] ? member_o[r][row] : shape.members[r];
  end

  always_comb begin
    owns = (pick & members) != '0;
    // Partners are written before the members are known. A row without boards is free.
    if (!table_o.valid[row] && (offset != RANK_COMM_SHAPE_OFFSET[5:0] || shape.boards == '0)) owns = 1'b1;
    if (row == '0 || row == 5'(SyncContext)) owns = pick[0];
  end

  always_ff @(posedge clk_i) denied_o <= rst_ni ? (pick & {RANKS{denies}}) | (comes & ~room) : '0;

  always_ff @(posedge clk_i) begin
    if (busy) begin
      for (int unsigned s = 0; s < STAGES; s++) begin
        /* verilator unroll_disable */
        for (int unsigned c = 0; c < Contexts; c++) begin
          if (offset == RANK_COMM_PARTNER_OFFSET[5:0] + 6'(4 * s) && row == 5'(c)) partner_o[s][c] <= partner.rank;
        end
      end
    end
    retire_q      <= retire_i.valid;
    revoke_q      <= retire_i.valid && revoke_i;
    shape_row_q   <= retire_i.valid ? retire_i.row : row;
    shape_q       <= retire_i.valid ? '0 : shape;
    shape_key_q   <= key;
    shape_valid_q <= rst_ni && (retire_i.valid || (busy && offset == RANK_COMM_SHAPE_OFFSET[5:0]));
  end

  // The largest power of two below the number of boards, and how many halvings there are.
  logic [7:0] power;
  logic [2:0] stages;

  always_comb begin
    power  = 8'd0;
    stages = 3'd0;
    for (int unsigned i = 0; i < 7; i++) begin
      if (shape_q.boards > 8'(1 << i)) begin
        power  = 8'(1 << i);
        stages = 3'(i + 1);
      end
    end
  end

  logic folds, upper, lower;
  assign folds = (shape_q.boards & (shape_q.boards - 8'd1)) != 8'd0;
  assign upper = folds && shape_q.label >= power;
  assign lower = folds && shape_q.label < shape_q.boards - power;

  // Stages of the row that is taken out of use that have a partner. Stage 0 of a folded tree joins two labels.
  logic [6:0] revokes;

  always_comb begin
    for (int unsigned s = 0; s < 7; s++) begin
      revokes[s] = revoke_q && 3'(s) < table_o.stages[shape_row_q] && !table_o.upper[shape_row_q];
    end
    if (table_o.fold[shape_row_q] != '0) begin
      revokes[0] = revoke_q && (table_o.upper[shape_row_q] || table_o.lower[shape_row_q]);
    end
  end

  always_ff @(posedge clk_i) begin
    shape_o <= {rst_ni && shape_valid_q, shape_row_q, retire_q || table_o.key[shape_row_q] != shape_key_q,
                revokes, stages, folds, upper, lower};
    if (shape_valid_q) begin
      /* verilator unroll_disable */
      for (int unsigned c = 0; c < Contexts; c++) begin
        if (shape_row_q == 5'(c)) begin
          table_o.valid[c]  <= shape_q.boards != '0;
          table_o.label[c]  <= shape_q.label;
          table_o.fold[c]   <= folds ? power : 8'd0;
          table_o.stages[c] <= stages;
          table_o.upper[c]  <= upper;
          table_o.lower[c]  <= lower;
          // The members of a row out of use stay: their collectives end with ST_RANK_RESET.
          if (retire_q) begin
            table_o.closed[c] <= 1'b1;
          end else begin
            table_o.key[c] <= shape_key_q;
            if (shape_q.boards != '0) table_o.closed[c] <= 1'b0;
            for (int unsigned r = 0; r < RANKS; r++) member_o[r][c] <= shape_q.members[r];
          end
        end
      end
    end
    if (close_i.valid) begin
      table_o.valid[close_i.row]  <= 1'b0;
      table_o.closed[close_i.row] <= 1'b1;
    end
    if (!rst_ni) begin
      table_o.valid  <= '0;
      table_o.key    <= '0;
      table_o.closed <= ~(32'd1 | (32'd1 << SyncContext));
      table_o.upper <= '0;
      table_o.lower <= '0;
      member_o      <= '0;
    end
  end

  `ALCOR_CHECK_PARAM(g_check_stages, STAGES >= 1 && STAGES <= 7, "coll_table: STAGES must be 1 to 7")
  `ALCOR_IMPLIES(a_denied_alone, denies, !busy)
  `ALCOR_IMPLIES(a_retired_in_hold, retire_i.valid || close_i.valid, hold_i && !shape_valid_q)

endmodule

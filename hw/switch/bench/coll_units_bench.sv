import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// Separate blocks of the collective unit, and the barrier over all boards: the names of the ports begin with the name
/// of the block.
module coll_units_bench #(
    /// Ranks of the board of the table.
    parameter int unsigned RANKS = 3,
    /// Stages of the table.
    parameter int unsigned STAGES = 7,
    /// Boards of the barrier.
    parameter int unsigned BOARDS = 5,
    /// Phits of a window.
    parameter int unsigned WINDOW = 16
) (
    /// Clock.
    input  logic                             clk_i,
    /// Synchronous reset, active low.
    input  logic                             rst_ni,

    /// Window: the queue of a communicator is emptied.
    input  logic                             window_flush_i,
    /// Window: communicator of the emptied queue.
    input  logic [4:0]                       window_flush_row_i,
    /// Window: a phit is written.
    input  logic                             window_push_i,
    /// Window: communicator of the written phit.
    input  logic [4:0]                       window_push_row_i,
    /// Window: the written phit.
    input  logic [47:0]                      window_push_data_i,
    /// Window: note of the written phit.
    input  logic [10:0]                      window_push_note_i,
    /// Window: communicators with a phit.
    output logic [31:0]                      window_some_o,
    /// Window: selected communicator.
    input  logic [4:0]                       window_head_row_i,
    /// Window: note of the phit at the head of the selected queue.
    output logic [10:0]                      window_head_note_o,
    /// Window: the phit at the head is taken.
    input  logic                             window_pop_i,
    /// Window: the phit taken in the cycle before.
    output logic [47:0]                      window_data_o,

    /// Pick: candidates.
    input  logic [31:0]                      pick_candidates_i,
    /// Pick: the present choice could not be used.
    input  logic                             pick_failed_i,
    /// Pick: a choice is valid.
    output logic                             pick_valid_o,
    /// Pick: the choice.
    output logic [4:0]                       pick_row_o,

    /// Table: a write.
    input  logic [RANKS-1:0]                 table_write_i,
    /// Table: offset of the write in the page.
    input  logic [RANKS-1:0][11:0]           table_offset_i,
    /// Table: data of the write.
    input  logic [RANKS-1:0][31:0]           table_data_i,
    /// Table: rows with collectives that have not ended.
    input  logic [31:0]                      table_posted_i,
    /// Table: writes of rows are held.
    input  logic                             table_hold_i,
    /// Table: a write waits for its row.
    output logic                             table_wait_o,
    /// Table: the row of the waiting write.
    output logic [4:0]                       table_wait_row_o,
    /// Table: ranks with writes that have not been carried out.
    output logic [RANKS-1:0]                 table_waiting_o,
    /// Table: ranks whose write was refused in the cycle before.
    output logic [RANKS-1:0]                 table_denied_o,
    /// Table: a row is closed.
    input  logic                             table_close_i,
    /// Table: a row is taken out of use.
    input  logic                             table_retire_i,
    /// Table: the partner boards of the row are notified.
    input  logic                             table_revoke_i,
    /// Table: the row that is taken out of use.
    input  logic [4:0]                       table_retire_row_i,
    /// Table: a row was written or taken out of use.
    output logic                             table_written_o,
    /// Table: the row that was written or taken out of use.
    output logic [4:0]                       table_row_o,
    /// Table: the windows of the row are emptied.
    output logic                             table_flush_o,
    /// Table: by stage, the partner is notified.
    output logic [6:0]                       table_revokes_o,
    /// Table: keys.
    output logic [31:0][7:0]                 table_key_o,
    /// Table: rows out of use that accept no phits.
    output logic [31:0]                      table_closed_o,
    /// Table: rows in use.
    output logic [31:0]                      table_valid_o,
    /// Table: by rank, communicators of which the rank is a member.
    output logic [RANKS-1:0][31:0]           table_member_o,
    /// Table: labels.
    output logic [31:0][7:0]                 table_label_o,
    /// Table: lowest label that folds.
    output logic [31:0][7:0]                 table_fold_o,
    /// Table: stages of each communicator.
    output logic [31:0][2:0]                 table_stages_o,
    /// Table: this board's label is folded.
    output logic [31:0]                      table_upper_o,
    /// Table: another label is folded onto this board's.
    output logic [31:0]                      table_lower_o,
    /// Table: partners.
    output logic [STAGES-1:0][31:0][15:0]    table_partner_o,

    /// Barrier, by board: all ranks have arrived.
    input  logic [BOARDS-1:0]                sync_here_i,
    /// Barrier: all ranks are at a collective command.
    input  logic [BOARDS-1:0]                sync_present_i,
    input  logic [BOARDS-1:0]                sync_lost_i,
    /// Barrier: status of the board.
    input  logic [BOARDS-1:0][4:0]           sync_verdict_i,
    /// Barrier: kind of the collective command.
    input  logic [BOARDS-1:0][1:0]           sync_kind_i,
    /// Barrier: slot of the registration.
    input  logic [BOARDS-1:0][7:0]           sync_slot_i,
    /// Barrier: packets sent.
    input  logic [BOARDS-1:0][1:0]           sync_sent_i,
    /// Barrier: packets consumed.
    input  logic [BOARDS-1:0][1:0]           sync_consumed_i,
    /// Barrier: a round begins.
    output logic [BOARDS-1:0]                sync_round_o,
    /// Barrier: the switch accepts a round.
    input  logic [BOARDS-1:0]                sync_round_ready_i,
    /// Barrier: contribution of the board.
    output logic [BOARDS-1:0][255:0]         sync_round_data_o,
    /// Barrier: the round has ended.
    input  logic [BOARDS-1:0]                sync_result_i,
    /// Barrier: result of the round.
    input  logic [BOARDS-1:0][255:0]         sync_result_data_i,
    /// Barrier: requests of other boards wait.
    output logic [BOARDS-1:0]                sync_hold_o,
    /// Barrier: the collective command ends.
    output logic [BOARDS-1:0]                sync_fire_o,
    /// Barrier: status of all boards.
    output logic [BOARDS-1:0][4:0]           sync_fire_verdict_o
);

  coll_window #(
      .WINDOW(WINDOW),
      .WIDTH (48),
      .NOTE_W(11)
  ) u_window (
      .clk_i      (clk_i),
      .rst_ni     (rst_ni),
      .flush_i    ({window_flush_i, window_flush_row_i}),
      .push_i     (window_push_i),
      .push_row_i (window_push_row_i),
      .push_data_i(window_push_data_i),
      .push_note_i(window_push_note_i),
      .some_o     (window_some_o),
      .head_row_i (window_head_row_i),
      .head_note_o(window_head_note_o),
      .pop_i      (window_pop_i),
      .data_o     (window_data_o)
  );

  coll_pick u_pick (
      .clk_i       (clk_i),
      .rst_ni      (rst_ni),
      .candidates_i(pick_candidates_i),
      .failed_i    (pick_failed_i),
      .valid_o     (pick_valid_o),
      .row_o       (pick_row_o)
  );

  logic [RANKS-1:0][PageWriteW-1:0] table_page;
  alcor_abi_pkg::shape_t shape;
  alcor_abi_pkg::comm_table_t rows;

  for (genvar r = 0; r < RANKS; r++) begin : g_rank
    assign table_page[r] = {table_write_i[r], table_offset_i[r], table_data_i[r]};
  end

  coll_table #(
      .RANKS (RANKS),
      .STAGES(STAGES)
  ) u_table (
      .clk_i    (clk_i),
      .rst_ni   (rst_ni),
      .write_i  (table_page),
      .posted_i (table_posted_i),
      .hold_i   (table_hold_i),
      .close_i  ({table_close_i, table_retire_row_i}),
      .wait_o   ({table_wait_o, table_wait_row_o}),
      .retire_i ({table_retire_i, table_retire_row_i}),
      .revoke_i (table_revoke_i),
      .waiting_o(table_waiting_o),
      .denied_o (table_denied_o),
      .shape_o  (shape),
      .table_o  (rows),
      .member_o (table_member_o),
      .partner_o(table_partner_o)
  );

  assign {table_written_o, table_row_o, table_flush_o, table_revokes_o} =
      {shape.valid, shape.row, shape.flush, shape.revokes};
  assign {table_label_o, table_fold_o, table_stages_o, table_valid_o, table_upper_o, table_lower_o, table_key_o,
          table_closed_o} = rows;

  for (genvar b = 0; b < BOARDS; b++) begin : g_board
    cluster_sync #(
        .PHIT_W(256)
    ) u_sync (
        .clk_i        (clk_i),
        .rst_ni       (rst_ni),
        .here_i       (sync_here_i[b]),
        .present_i    (sync_present_i[b]),
        .verdict_i    (sync_verdict_i[b]),
        .kind_i       (sync_kind_i[b]),
        .slot_i       (sync_slot_i[b]),
        .sent_i       (sync_sent_i[b]),
        .consumed_i   (sync_consumed_i[b]),
        .round_o      (sync_round_o[b]),
        .round_ready_i(sync_round_ready_i[b]),
        .round_data_o (sync_round_data_o[b]),
        .result_i     (sync_result_i[b]),
        .result_data_i(sync_result_data_i[b]),
        .hold_o       (sync_hold_o[b]),
        .lost_i       (sync_lost_i[b]),
        .fire_o       (sync_fire_o[b]),
        .verdict_o    (sync_fire_verdict_o[b])
    );
  end

endmodule

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// Rows of the communicator table: the table, the rows that are taken out of use, and the
/// communicators whose collectives are cancelled.
///
/// A row is taken out of use when it is written anew, and when a member is reset whose collective
/// cannot end: the members on other boards may never post theirs. The reset may be on this board or
/// on a partner board, which notifies this board. All ranks of the run are members of the barrier's row.
module coll_rows #(
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
    /// Ranks with a write of a row that has not been carried out.
    output logic [RANKS-1:0]                 writes_o,
    /// By rank: pulse, a write of a row was refused in the cycle before, as the rank does not own the row.
    output logic [RANKS-1:0]                 denied_o,
    /// By rank: pulse, the rank had begun and is reset.
    input  logic [RANKS-1:0]                 lost_i,
    /// By rank: state of the rank, a cancel_t.
    input  logic [RANKS-1:0][CancelW-1:0]    cancel_i,
    /// By stage: pulse, the partner board has taken a row out of use; a row_pulse_t.
    input  logic [STAGES-1:0][RowPulseW-1:0] revoked_i,

    /// By rank: communicators in which the rank's collective has not ended.
    input  logic [RANKS-1:0][31:0]           posted_i,
    /// Communicators with a collective under way.
    input  logic [31:0]                      active_i,
    /// Communicators with credits that are due to a partner.
    input  logic [31:0]                      owes_i,
    /// Communicators of which the unit has data under way.
    input  logic [31:0]                      under_way_i,
    /// The unit has data under way outside of the windows.
    input  logic                             busy_i,
    /// No collective begins, and no phit is read or taken out of a window.
    output logic                             pause_o,

    /// A row has been written, or taken out of use.
    output alcor_abi_pkg::shape_t            shape_o,
    /// The table.
    output alcor_abi_pkg::comm_table_t       table_o,
    /// By rank: communicators that the rank is a member of.
    output logic [RANKS-1:0][31:0]           member_o,
    /// By stage: global rank of a rank on the partner board, of each communicator.
    output logic [STAGES-1:0][31:0][15:0]    partner_o,
    /// By rank: communicators in which waiting collectives end, and new ones are refused.
    output logic [RANKS-1:0][31:0]           cancel_o,
    /// The barrier's row was taken out of use for a reset on any board, and has not been written since.
    output logic                             sync_lost_o
);

  alcor_abi_pkg::row_pulse_t table_wait, close, retire;
  logic [31:0] any_posted, has_partners, stuck, lost_rows, revoked, revoked_q;
  logic hold, revoke;
  logic [RANKS-1:0] drains;

  coll_table #(
      .RANKS (RANKS),
      .STAGES(STAGES)
  ) u_table (
      .clk_i    (clk_i),
      .rst_ni   (rst_ni),
      .write_i  (write_i),
      // A notification of partners leaves before the row is written anew.
      .posted_i (any_posted | owes_i),
      .hold_i   (hold),
      .wait_o   (table_wait),
      .close_i  (close),
      .retire_i (retire),
      .revoke_i (revoke),
      .waiting_o(writes_o),
      .denied_o (denied_o),
      .shape_o  (shape_o),
      .table_o  (table_o),
      .member_o (member_o),
      .partner_o(partner_o)
  );

  coll_lost #(
      .RANKS(RANKS)
  ) u_lost (
      .clk_i   (clk_i),
      .rst_ni  (rst_ni),
      .lost_i  (lost_i),
      .cancel_i(cancel_i),
      .member_i(member_o),
      .closed_i(table_o.closed),
      .drain_o (drains),
      .cancel_o(cancel_o)
  );

  // A rank that is being reset may have a collective under way whose members on other boards never post it. One on this
  // board alone comes to its end.
  for (genvar c = 0; c < 32; c++) begin : g_has_partners
    assign has_partners[c] = table_o.stages[c] != '0;
  end

  always_comb begin
    any_posted = '0;
    stuck      = '0;
    lost_rows  = '0;
    for (int unsigned r = 0; r < RANKS; r++) begin
      any_posted = any_posted | posted_i[r];
      stuck      = stuck | (posted_i[r] & {32{drains[r]}});
      lost_rows  = lost_rows | (member_o[r] & {32{lost_i[r]}});
    end
    lost_rows[SyncContext] = lost_i != '0;
    // A row is taken out of use for a reset on any of its boards.
    stuck = (stuck & active_i & has_partners) | (revoked_q & table_o.valid);
  end

  // Rows that a partner board has taken out of use, or that have lost a member here. A partner board may be ahead of
  // this board's first write of a row.
  alcor_abi_pkg::row_pulse_t revocation;
  always_comb begin
    revoked = lost_rows & table_o.valid & has_partners;
    for (int unsigned s = 0; s < STAGES; s++) begin
      revocation = revoked_i[s];
      revoked    = revoked | (32'(revocation.valid) << revocation.row);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      revoked_q <= '0;
    end else begin
      revoked_q <= revoked_q | revoked;
      if (shape_o.valid && shape_o.flush) revoked_q[shape_o.row] <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) sync_lost_o <= 1'b0;
    else if (retire.valid && revoke && retire.row == 5'(SyncContext)) sync_lost_o <= 1'b1;
    else if (table_o.valid[SyncContext] && !hold) sync_lost_o <= 1'b0;
  end

  coll_retire u_retire (
      .clk_i      (clk_i),
      .rst_ni     (rst_ni),
      .cancel_i   (stuck),
      .write_i    (table_wait),
      .under_way_i(under_way_i),
      .busy_i     (busy_i),
      .hold_o     (hold),
      .pause_o    (pause_o),
      .close_o    (close),
      .retire_o   (retire),
      .revoke_o   (revoke)
  );

endmodule

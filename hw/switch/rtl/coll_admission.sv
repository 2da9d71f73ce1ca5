`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// Admission of collectives on a board: communicator table, commands of the members, and control.
///
/// A collective of a communicator begins when all of the communicator's members on this board have posted it, and ends
/// with the members' completions. This block decides when a collective begins, the role of the board and of each stage in
/// it, and which rows of the communicator table are in use. Data passes the reader, the stages, the copy unit and the
/// writer, which report here what they still hold.
module coll_admission #(
    /// Ranks of the board.
    parameter int unsigned RANKS = 1,
    /// Stages: log2 of the number of boards, rounded up.
    parameter int unsigned STAGES = 3,
    /// A reduction of 2 to the power of this many words, or more, is announced.
    parameter int unsigned TELL_W = 10,
    /// Bytes of each node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// 1: each rank has a kernel, which posts collectives, too.
    parameter bit KERNEL = 1'b0,
    /// Operations that the vector units have, bit by operation_e.
    parameter bit [8:0] OPS = '1,
    /// Types of the vector units, by bit of datatype_e.
    parameter bit [5:0] TYPES = '1
) (
    /// Clock.
    input  logic                              clk_i,
    /// Synchronous reset, active low.
    input  logic                              rst_ni,

    /// By rank: a write into the rank's page, the part of collectives; a page_write_t.
    input  logic [RANKS-1:0][PageWriteW-1:0]  write_i,
    /// Of each rank: a collective that its kernel posts, kernel_post_t.
    input  logic [RANKS-1:0][KernelPostW-1:0] kernel_i,
    /// Of each rank: the kernel's collective is taken.
    output logic [RANKS-1:0]                  kernel_ready_o,
    /// By rank: pulse, the rank had begun and is reset.
    input  logic [RANKS-1:0]                  lost_i,
    /// By rank: the reason to cancel collectives that wait for other members, and to refuse new ones; a cancel_t.
    input  logic [RANKS-1:0][CancelW-1:0]     cancel_i,
    /// By rank: communicators in which the rank's collective has not ended.
    output logic [RANKS-1:0][31:0]            posted_o,
    /// Ranks with a write of a row that has not been carried out.
    output logic [RANKS-1:0]                  writes_o,
    /// By rank: pulse, a write of a row was refused in the cycle before, as the rank does not own the row.
    output logic [RANKS-1:0]                  denied_o,

    /// By rank: a completion is offered.
    output logic [RANKS-1:0]                  complete_valid_o,
    /// The completion is taken.
    input  logic [RANKS-1:0]                  complete_ready_i,
    /// The completion, a completion_t.
    output logic [RANKS-1:0][CompletionW-1:0] complete_o,

    /// The barrier over all boards asks for a round.
    input  logic                              sync_begin_i,
    /// The barrier can have a round: the row is there and no round is under way.
    output logic                              sync_ready_o,
    /// A rank of the run was reset, on any board: the barrier over all boards ends no more.
    output logic                              sync_lost_o,

    /// By stage: a partner board has taken a row out of use; a row_pulse_t.
    input  logic [STAGES-1:0][RowPulseW-1:0]  revoked_i,
    /// By stage: communicators with a signature that is to be sent.
    input  logic [STAGES-1:0][31:0]           leaving_i,
    /// Communicators with a signature that the copy unit is to send.
    input  logic [31:0]                       sending_i,
    /// Communicators with credits that are due to a partner.
    input  logic [31:0]                       owes_i,
    /// A token is on its way in the reader, a stage, the copy unit or the writer.
    input  logic                              busy_i,
    /// No phit leaves a window, and no collective begins.
    output logic                              pause_o,

    /// A row of the communicator table changes.
    output alcor_abi_pkg::shape_t             shape_o,
    /// The communicator table.
    output alcor_abi_pkg::comm_table_t        table_o,
    /// By rank: communicators that the rank is a member of.
    output logic [RANKS-1:0][31:0]            member_o,
    /// By stage and communicator: global rank of a rank on the partner board.
    output logic [STAGES-1:0][31:0][15:0]     partner_o,

    /// A collective begins.
    output alcor_abi_pkg::row_pulse_t         begin_o,
    /// With `begin_o`: role of the board in the collective.
    output alcor_abi_pkg::plan_t              plan_o,
    /// With `begin_o`: role of each stage in the collective, a stage_plan_t.
    output logic [STAGES-1:0][StagePlanW-1:0] stage_plan_o,
    /// Collectives of all communicators.
    output alcor_abi_pkg::collectives_t       collectives_o,
    /// Communicators whose copies are for this board, too.
    output logic [31:0]                       here_o,
    /// By stage: communicators whose copies go to the stage's partner.
    output logic [STAGES-1:0][31:0]           spreads_o,

    /// Communicator whose sources are read.
    input  alcor_abi_pkg::row_t               source_row_i,
    /// By rank: source of the communicator's collective.
    output logic [RANKS-1:0][SourceW-1:0]     source_o,
    /// Communicator whose signatures are read.
    input  alcor_abi_pkg::row_t               signature_row_i,
    /// By rank: signature of the communicator's collective.
    output logic [RANKS-1:0][SignatureW-1:0]  signature_o,
    /// Communicator whose destinations are read.
    input  alcor_abi_pkg::row_t               destination_row_i,
    /// By rank: destination of the communicator's collective.
    output logic [RANKS-1:0][DestinationW-1:0] destination_o,

    /// By rank: the completion of an ended collective is offered.
    input  logic [RANKS-1:0]                  ended_valid_i,
    /// The completion is taken.
    output logic [RANKS-1:0]                  ended_ready_o,
    /// The completion, a completion_t.
    input  logic [RANKS-1:0][CompletionW-1:0] ended_i,
    /// A collective has ended; the row stays until all completions are taken.
    input  alcor_abi_pkg::row_pulse_t         end_i
);

  // ---------------------------------------------------------------- communicators

  logic [RANKS-1:0][31:0] cancel;
  logic [RANKS-1:0] row_denied;
  logic [31:0] under_way;

  coll_rows #(
      .RANKS (RANKS),
      .STAGES(STAGES)
  ) u_rows (
      .clk_i      (clk_i),
      .rst_ni     (rst_ni),
      .write_i    (write_i),
      .writes_o   (writes_o),
      .denied_o   (row_denied),
      .lost_i     (lost_i),
      .cancel_i   (cancel_i),
      .revoked_i  (revoked_i),
      .posted_i   (posted_o),
      .active_i   (collectives_o.active),
      .owes_i     (owes_i),
      .under_way_i(under_way),
      .busy_i     (begin_o.valid || busy_i),
      .pause_o    (pause_o),
      .shape_o    (shape_o),
      .table_o    (table_o),
      .member_o   (member_o),
      .partner_o  (partner_o),
      .cancel_o   (cancel),
      .sync_lost_o(sync_lost_o)
  );

  always_comb begin
    // A signature that closes a collective may leave this board after the collective has ended here; nothing else does.
    under_way = collectives_o.active | sending_i;
    for (int unsigned s = 0; s < STAGES; s++) under_way = under_way | leaving_i[s];
  end

  // ---------------------------------------------------------------- commands

  logic [RANKS-1:0] refused_valid, refused_ready, refused_lost;
  logic [RANKS-1:0][CompletionW-1:0] refused;
  logic [RANKS-1:0][CollRequestW-1:0] request;

  for (genvar r = 0; r < RANKS; r++) begin : g_rank
    coll_commands #(
        .NODE_BYTES(NODE_BYTES),
        .KERNEL    (KERNEL)
    ) u_commands (
        .clk_i            (clk_i),
        .rst_ni           (rst_ni),
        .write_i          (write_i[r]),
        .kernel_i         (kernel_i[r]),
        .kernel_ready_o   (kernel_ready_o[r]),
        .member_i         (member_o[r] & table_o.valid),
        .active_i         (collectives_o.active),
        .cancel_i         (cancel[r]),
        .posted_o         (posted_o[r]),
        .end_i            ({ended_valid_i[r] && ended_ready_o[r], end_i.row}),
        .refused_valid_o  (refused_valid[r]),
        .refused_ready_i  (refused_ready[r]),
        .refused_o        (refused[r]),
        .lost_o           (refused_lost[r]),
        .source_row_i     (source_row_i),
        .source_o         (source_o[r]),
        .signature_row_i  (signature_row_i),
        .signature_o      (signature_o[r]),
        .request_row_i    (begin_o.row),
        .request_o        (request[r]),
        .destination_row_i(destination_row_i),
        .destination_o    (destination_o[r])
    );

    // For a rank its collective has ended once it has its completion: what it posts then must not be
    // refused because a neighbour has yet to take its own.
    // Ended collectives go first; a completion on offer stays, since a refusal waits for a gap.
    assign complete_valid_o[r] = ended_valid_i[r] || refused_valid[r];
    assign complete_o[r]       = ended_valid_i[r] ? ended_i[r] : refused[r];
    assign ended_ready_o[r]    = complete_ready_i[r];
    assign refused_ready[r]    = complete_ready_i[r] && !ended_valid_i[r];
  end

  assign denied_o = row_denied | refused_lost;

  // ---------------------------------------------------------------- control

  coll_control #(
      .RANKS (RANKS),
      .STAGES(STAGES),
      .TELL_W(TELL_W),
      .OPS   (OPS),
      .TYPES (TYPES)
  ) u_control (
      .clk_i        (clk_i),
      .rst_ni       (rst_ni),
      .shape_i      (shape_o),
      .pause_i      (pause_o),
      .table_i      (table_o),
      .member_i     (member_o),
      .posted_i     (posted_o),
      .cancel_i     (cancel),
      .leaving_i    (leaving_i),
      .end_i        (end_i),
      .writes_i     (writes_o != '0),
      .sync_begin_i (sync_begin_i),
      .sync_ready_o (sync_ready_o),
      .begin_o      (begin_o),
      .request_i    (request),
      .plan_o       (plan_o),
      .stage_plan_o (stage_plan_o),
      .collectives_o(collectives_o),
      .here_o       (here_o),
      .spreads_o    (spreads_o)
  );

`ifdef ALCOR_COVERAGE
`define ALCOR_COVER_ANSWER(status_) \
  `ALCOR_COVER(c_answers_collective_``status_, \
               complete_valid_o[r] && complete_ready_i[r] && complete.status == ST_``status_)
  for (genvar r = 0; r < RANKS; r++) begin : g_cover
    alcor_abi_pkg::completion_t complete;
    assign complete = complete_o[r];
    `ALCOR_COVER_ANSWER(OK)
    `ALCOR_COVER_ANSWER(BAD_LOCAL)
    `ALCOR_COVER_ANSWER(BAD_COMMUNICATOR)
    `ALCOR_COVER_ANSWER(MISMATCH)
    `ALCOR_COVER_ANSWER(OTHER_COUNT)
    `ALCOR_COVER_ANSWER(OTHER_TYPE)
    `ALCOR_COVER_ANSWER(OTHER_OPERATION)
    `ALCOR_COVER_ANSWER(OTHER_ROOT)
    `ALCOR_COVER_ANSWER(RANK_RESET)
  end
`undef ALCOR_COVER_ANSWER
`endif

endmodule

`include "assertions.svh"

import alcor_abi_pkg::*;

/// BARRIER, REGISTER and DEREGISTER in EX1: each waits there until all ranks are at the same command.
///
/// The announcement is about the commands of two cycles ago, so a command ignores it in its first two cycles.
module rma_collective #(
    /// Bytes of node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576
) (
    /// Clock.
    input  logic                         clk_i,
    /// Synchronous reset, active low.
    input  logic                         rst_ni,
    /// The rank is being reset: a collective command ends at once.
    input  logic                         drain_i,
    /// Between BEGIN and END.
    input  logic                         begun_i,
    /// A rank that had begun was reset: a collective command ends at once.
    input  logic                         orphaned_i,

    /// A collective command is in EX1.
    input  logic                         valid_i,
    /// The command in EX1.
    input  alcor_abi_pkg::decoded_t      ex1_i,
    /// Pulse: the command in EX1 is WINDOW_SIZE.
    input  logic                         window_size_i,
    /// The collective command is done.
    output logic                         done_o,
    /// The collective command is refused: the rank has not begun.
    output logic                         refused_o,

    /// The rank is at a collective command.
    output alcor_abi_pkg::sync_request_t sync_o,
    /// All ranks were at one two cycles ago.
    input  alcor_abi_pkg::sync_answer_t  sync_i,
    /// BARRIER_DONE is not yet acknowledged: the next BARRIER waits.
    input  logic                         barrier_pending_i,

    /// Registration table: no slot is vacant.
    input  logic                         table_full_i,
    /// Registration table: the next vacant slot.
    input  logic [7:0]                   next_slot_i,
    /// A command that changes the registration table is in EX1.
    output logic                         changes_table_o,
    /// Registration or deregistration under way.
    output logic                         op_valid_o,
    /// 1: deregistration.
    output logic                         op_deregister_o,
    /// Base address of the window.
    output logic [31:0]                  op_base_o,
    /// Registration: size in bytes.
    output logic [31:0]                  op_size_o,
    /// Commit the operation.
    output logic                         op_commit_o,

    /// Pulse: a barrier has ended.
    output logic                         barrier_done_o,
    /// Pulse, with `barrier_done_o`: the ranks were at different collective commands.
    output logic                         mismatch_o,
    /// Pulse: a registration or deregistration has ended.
    output logic                         result_valid_o,
    /// Outcome of the registration.
    output alcor_abi_pkg::status_e       result_status_o
);

  localparam int unsigned NodeW = $clog2(NODE_BYTES);

  logic [7:0] opcode;
  logic size_given_q;
  // The command has been on offer in the cycle before, and in the one before that.
  logic [1:0] offered_q;
  logic [31:0] size_q;
  logic [32:0] op_end;
  logic [NodeW:0] op_rest;
  logic waits, fires, ends_orphaned, range_bad;
  alcor_abi_pkg::sync_kind_e kind;
  alcor_abi_pkg::status_e status;
  logic [7:0] slot;

  assign opcode = ex1_i.command.opcode;

  assign changes_table_o = valid_i && !ex1_i.barrier;
  assign refused_o       = valid_i && !begun_i;
  // The kernel takes the end of its barrier at once.
  assign waits           = ex1_i.barrier && barrier_pending_i && !ex1_i.command.kernel;
  // No rank will come that could end the command: it ends here, and says so.
  assign ends_orphaned   = valid_i && begun_i && !waits && orphaned_i && !drain_i;
  assign fires           = sync_o.valid && offered_q[1] && sync_i.fire;
  assign done_o          = fires || refused_o || ends_orphaned || drain_i;

  always_ff @(posedge clk_i) begin
    if (window_size_i) size_q <= ex1_i.command.data;
    if (!rst_ni) begin
      offered_q    <= '0;
      size_given_q <= 1'b0;
    end else begin
      offered_q <= (sync_o.valid && !fires) ? {offered_q[0], 1'b1} : '0;
      if (window_size_i) size_given_q <= 1'b1;
      else if (valid_i && done_o && opcode == OP_REGISTER) size_given_q <= 1'b0;
    end
  end

  assign op_base_o       = {ex1_i.command.data[31:2], 2'b00};
  assign op_end          = {1'b0, op_base_o} + (size_given_q ? {1'b0, size_q} : 33'd0);
  // As bits, which are fewer than a subtraction takes: the end is greater than NODE_BYTES.
  assign range_bad       = op_end[32:NodeW+1] != '0 || (op_end[NodeW] && op_end[NodeW-1:0] != '0);
  assign op_valid_o      = changes_table_o && begun_i;
  assign op_deregister_o = opcode == OP_DEREGISTER;
  // Up to the end of node memory. The upper bits of the base are 0, or the window is refused.
  assign op_rest         = (NodeW + 1)'(NODE_BYTES) - op_base_o[NodeW:0];
  assign op_size_o       = size_given_q ? size_q : 32'(op_rest);
  assign op_commit_o     = fires && changes_table_o && sync_i.status == ST_OK;

  always_comb begin
    kind   = SK_BARRIER;
    status = ST_OK;
    slot   = '0;
    if (opcode == OP_REGISTER) begin
      kind = SK_REGISTER;
      slot = next_slot_i;
      if (range_bad) status = ST_BAD_RANGE;
      if (table_full_i) status = ST_TABLE_FULL;
      if (ex1_i.match) status = ST_DUPLICATE;
    end
    if (opcode == OP_DEREGISTER) begin
      kind = SK_DEREGISTER;
      slot = ex1_i.slot;
      if (!ex1_i.match) status = ST_NOT_REGISTERED;
    end
  end

  assign sync_o.valid  = valid_i && begun_i && !waits && !orphaned_i && !drain_i;
  assign sync_o.kind   = kind;
  assign sync_o.status = status;
  assign sync_o.slot   = slot;

  // A barrier that met another command ends, too, and says so: the host must not wait for it.
  assign barrier_done_o  = (fires || ends_orphaned) && ex1_i.barrier;
  assign mismatch_o      = barrier_done_o && (ends_orphaned || sync_i.status != ST_OK);
  assign result_valid_o  = changes_table_o && done_o;
  assign result_status_o = refused_o ? ST_NOT_BEGUN : orphaned_i ? ST_RANK_RESET : sync_i.status;

`ifdef ALCOR_COVERAGE
`define ALCOR_COVER_RESULT(status_) \
  `ALCOR_COVER(c_answers_window_``status_, result_valid_o && result_status_o == ST_``status_)
  `ALCOR_COVER_RESULT(OK)
  `ALCOR_COVER_RESULT(BAD_RANGE)
  `ALCOR_COVER_RESULT(TABLE_FULL)
  `ALCOR_COVER_RESULT(DUPLICATE)
  `ALCOR_COVER_RESULT(NOT_REGISTERED)
  `ALCOR_COVER_RESULT(MISMATCH)
  `ALCOR_COVER_RESULT(RANK_RESET)
  `ALCOR_COVER_RESULT(NOT_BEGUN)
`undef ALCOR_COVER_RESULT
  `ALCOR_COVER(c_answers_barrier_OK, barrier_done_o && !mismatch_o)
  `ALCOR_COVER(c_answers_barrier_MISMATCH, mismatch_o)
  `ALCOR_COVER(c_refused_together_NOT_BEGUN, refused_o)
`endif

endmodule

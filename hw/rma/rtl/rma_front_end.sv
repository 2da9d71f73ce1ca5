`include "assertions.svh"

import alcor_abi_pkg::*;

/// First stages of the coprocessor's pipeline: IF, ID, OR.
///
/// IF takes a command from the Instruction and Data FIFOs. ID decodes the command and looks its
/// operand up in the registration table's CAM. OR has the answer, and takes the Data8 operands of a
/// paper command's second write. The register before EX1 holds the result until EX1 has used it.
/// Commands of the host and of the rank's kernel come in one stream.
module rma_front_end #(
    /// Bytes of node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576
) (
    /// Clock.
    input  logic                    clk_i,
    /// Synchronous reset, active low.
    input  logic                    rst_ni,
    /// The rank is being reset: commands are taken and dropped.
    input  logic                    drain_i,
    /// The registration table is cleared and answers.
    input  logic                    table_ready_i,

    /// Instruction and Data FIFO: a command is offered.
    input  logic                    command_valid_i,
    /// The command is taken.
    output logic                    command_ready_o,
    /// The command.
    input  alcor_abi_pkg::command_t command_i,
    /// Data8 FIFO: an entry is offered.
    input  logic                    data8_valid_i,
    /// The entry is taken.
    output logic                    data8_ready_o,
    /// The entry.
    input  alcor_abi_pkg::data8_t   data8_i,

    /// Registration table: look up `lookup_key_o`.
    output logic                    lookup_o,
    /// Base address.
    output logic [31:0]             lookup_key_o,
    /// A cycle later, until the next lookup: a slot has this base.
    input  logic                    match_i,
    /// With `match_i`: the slot.
    input  logic [7:0]              match_slot_i,
    /// A command that changes the table is in EX1.
    input  logic                    changes_table_i,

    /// EX1: there is a command.
    output logic                    ex1_valid_o,
    /// EX1: the command is done.
    input  logic                    ex1_done_i,
    /// EX1: the command.
    output alcor_abi_pkg::decoded_t ex1_o,

    /// Pulse: a command of the host left the Instruction FIFO.
    output logic                    retired_o,
    /// Pulse: a paper command's second write is missing.
    output logic                    broken_o,
    /// A command is in ID or OR.
    output logic                    busy_o
);

  // ---------------------------------------------------------------- IF -> ID

  logic id_valid_q;
  alcor_abi_pkg::command_t id_q;
  logic id_free, or_free, ex1_free;
  logic id_moves, or_moves, taken;

  assign command_ready_o = (id_free && table_ready_i) || drain_i;
  assign taken           = command_valid_i && command_ready_o;
  assign retired_o       = taken && !command_i.kernel;
  assign id_free         = !id_valid_q || id_moves;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      id_valid_q <= 1'b0;
    end else if (id_free || drain_i) begin
      id_valid_q <= taken && !drain_i;
    end
    if (id_free) id_q <= command_i;
  end

  // ---------------------------------------------------------------- ID -> OR

  logic or_valid_q, or_second_q;
  alcor_abi_pkg::command_t or_q;
  logic id_two_word, id_looks_up, id_blocked, id_broken;
  logic second_d, second_q;
  logic [7:0] first_opcode_q;
  logic id_changes_table, or_changes_table;

  // A second write of another opcode than the first: the pair is broken, the new command stands.
  // A command of the kernel stands between the writes of a pair without breaking it.
  assign id_broken        = second_q && !id_q.kernel && id_q.opcode != first_opcode_q;
  assign id_two_word      = id_q.opcode == OP_PUT_1 || id_q.opcode == OP_PUT_N || id_q.opcode == OP_GET;
  assign id_changes_table = id_q.opcode == OP_REGISTER || id_q.opcode == OP_DEREGISTER;
  assign id_looks_up      = id_two_word || id_changes_table || id_q.opcode == OP_X_WINDOW;
  // A lookup must not pass a change of the table that is still under way.
  assign id_blocked       = id_looks_up && (or_changes_table || changes_table_i);
  assign id_moves         = id_valid_q && !id_blocked && or_free;
  assign second_d         = id_two_word && !(second_q && !id_broken);
  assign broken_o         = id_moves && id_broken;

  assign lookup_o     = id_moves && id_looks_up;
  assign lookup_key_o = {id_q.data[31:2], 2'b00};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      or_valid_q <= 1'b0;
      second_q   <= 1'b0;
    end else begin
      if (or_free || drain_i) or_valid_q <= id_moves && !drain_i;
      if (id_moves && !id_q.kernel) second_q <= second_d;
    end
    if (id_moves) begin
      if (!id_q.kernel) first_opcode_q <= id_q.opcode;
      or_q        <= id_q;
      or_second_q <= second_q && !id_broken && !id_q.kernel;
    end
  end

  // ---------------------------------------------------------------- OR -> EX1

  localparam int unsigned NodeW = $clog2(NODE_BYTES);

  logic ex1_valid_q, beyond;
  logic [10:0] low_end;
  alcor_abi_pkg::decoded_t ex1_d, ex1_q;

  // A paper transfer is shorter than 1 KiB, so it ends beyond node memory only if it begins there or in the last KiB.
  // (Length 0, for which this does not hold, has a status of its own.)
  assign low_end = {1'b0, or_q.data[9:0]} + 11'({data8_i.length, 2'b00});
  assign beyond  = or_q.data[31:NodeW] != '0 || (or_q.data[NodeW-1:10] == '1 && low_end > 11'd1024);

  // Decoded here, where there is time for it: EX1 cuts packets.
  always_comb begin
    ex1_d         = '0;
    ex1_d.second  = or_second_q;
    ex1_d.match   = match_i;
    ex1_d.slot    = match_slot_i;
    ex1_d.beyond  = beyond;
    ex1_d.data8   = data8_i;
    ex1_d.command = or_q;
    ex1_d.known   = 1'b1;
    ex1_d.barrier = or_q.opcode == OP_BARRIER;
    ex1_d.message = or_q.opcode == OP_X_SEND || or_q.opcode == OP_X_ANNOUNCE;
    ex1_d.eager   = or_q.opcode == OP_X_SEND;
    ex1_d.x_get   = or_q.opcode == OP_X_GET;
    ex1_d.fetch   = or_q.opcode == OP_X_FETCH_ACCUMULATE;
    ex1_d.atomic  = (or_q.opcode & 8'hE0) == OP_X_SWAP && or_q.opcode[3:0] <= AT_MAX_UNSIGNED;
    ex1_d.accumulate = or_q.opcode == OP_X_ACCUMULATE || ex1_d.fetch;
    ex1_d.x_transfer = or_q.opcode == OP_X_PUT || ex1_d.x_get || ex1_d.accumulate;
    unique case (or_q.opcode)
      OP_BARRIER, OP_REGISTER, OP_DEREGISTER: ex1_d.collective = 1'b1;
      OP_PUT_1, OP_PUT_N, OP_GET: ex1_d.paper = 1'b1;
      OP_X_PUT, OP_X_GET, OP_X_ACCUMULATE, OP_X_FETCH_ACCUMULATE: ex1_d.extended = 1'b1;
      OP_X_SEND, OP_X_ANNOUNCE, OP_X_RECEIVE, OP_X_PROBE, OP_X_CANCEL: ex1_d.extended = 1'b1;
      OP_X_OFFSET, OP_X_LADDR, OP_X_LENGTH, OP_X_TAG: ex1_d.operand = 1'b1;
      OP_X_OPERAND, OP_X_OPERAND_HIGH, OP_X_COMPARE, OP_X_COMPARE_HIGH: ex1_d.operand = 1'b1;
      OP_SET_PID, OP_SET_NPROCS, OP_BEGIN_RUN, OP_END_RUN, OP_WINDOW_SIZE, OP_X_WINDOW: ;
      default: begin
        ex1_d.known    = ex1_d.atomic;
        ex1_d.extended = ex1_d.atomic;
      end
    endcase
  end

  assign or_changes_table = or_valid_q && (or_q.opcode == OP_REGISTER || or_q.opcode == OP_DEREGISTER);
  assign or_moves         = or_valid_q && ex1_free && (!or_second_q || data8_valid_i);
  assign or_free          = !or_valid_q || or_moves;
  assign data8_ready_o    = (or_moves && or_second_q) || drain_i;
  assign ex1_free         = !ex1_valid_q || ex1_done_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ex1_valid_q <= 1'b0;
    end else if (ex1_free) begin
      ex1_valid_q <= or_moves && !drain_i;
    end
    if (or_moves) ex1_q <= ex1_d;
  end

  assign ex1_valid_o = ex1_valid_q;
  assign ex1_o       = ex1_q;
  assign busy_o      = id_valid_q || or_valid_q;

  `ALCOR_CHECK_PARAM(g_check_node, NODE_BYTES >= 2048, "rma_front_end: NODE_BYTES must be 2048 or more")

endmodule

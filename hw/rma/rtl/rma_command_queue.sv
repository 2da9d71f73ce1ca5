`include "assertions.svh"

import alcor_abi_pkg::*;

/// The host's side of the coprocessor: memory-mapped writes become commands.
///
/// The address carries the opcode (bits 9:2), the data bus the operand. A command goes into the
/// Instruction FIFO (opcode) and the Data FIFO (operand), which are one RAM; DATA8 operands are
/// gathered three at a time into an entry of the Data8 FIFO. ABORT does not queue: it must reach
/// its peers when the commands ahead of it are stuck.
///
/// A write is never stalled: the bus it comes on is shared with other ranks. A write that meets a full FIFO is lost and
/// reported; the host holds credits so that it does not happen. Operands stay until they are written again, so a command
/// behind a lost operand would be carried out with an old one: until the host has acknowledged the loss, each further
/// write is lost too.
///
/// While `clear_i` is up, operands of a paper command that is not complete are forgotten; what is in the FIFOs is the
/// pipeline's to take.
module rma_command_queue #(
    /// Entries of each of the three FIFOs.
    parameter int unsigned DEPTH = 64
) (
    /// Clock.
    input  logic        clk_i,
    /// Synchronous reset, active low.
    input  logic        rst_ni,
    /// The rank is being reset.
    input  logic        clear_i,
    /// A lost write is not yet acknowledged.
    input  logic        blocked_i,
    /// Host: a write into the command window.
    input  logic        write_i,
    /// Host: the opcode from the write's address.
    input  logic [7:0]  opcode_i,
    /// Host: the write's data.
    input  logic [31:0] data_i,

    /// A command is offered (Instruction and Data FIFO).
    output logic        command_valid_o,
    /// The command is taken.
    input  logic        command_ready_i,
    /// Opcode of the command.
    output logic [7:0]  command_opcode_o,
    /// Operand of the command.
    output logic [31:0] command_data_o,
    /// An entry of the Data8 FIFO is offered.
    output logic        data8_valid_o,
    /// The entry is taken.
    input  logic        data8_ready_i,
    /// dpid, len, off: the first operand written is in bits 23:16.
    output logic [23:0] data8_o,

    /// Pulse: ABORT was written.
    output logic        abort_o,
    /// Reason of the abort.
    output logic [7:0]  abort_reason_o,
    /// Pulse: a write was lost, as a FIFO was full or an earlier loss is not yet acknowledged.
    output logic        overflow_o,
    /// Pulse: a command was written (starts the epoch timer).
    output logic        written_o
);

  logic is_abort, is_data8, command, room, push, push8;
  logic command_ready, data8_ready;
  logic [1:0] gathered_d, gathered_q;
  logic [15:0] gather_d, gather_q;

  always_comb begin
    is_abort   = write_i && opcode_i == OP_ABORT;
    is_data8   = write_i && opcode_i == OP_DATA8;
    command    = write_i && opcode_i != OP_ABORT && opcode_i != OP_DATA8;
    room       = command_ready && !blocked_i;
    push       = command && room;
    push8      = is_data8 && gathered_q == 2'd2 && !blocked_i;
    gathered_d = gathered_q;
    gather_d   = gather_q;
    if (blocked_i) begin
      gathered_d = 2'd0;
    end else if (is_data8) begin
      gathered_d = push8 ? 2'd0 : gathered_q + 2'd1;
      gather_d   = {gather_q[7:0], data_i[7:0]};
    end
    overflow_o = (command && !room) || (push8 && !data8_ready) || (is_data8 && blocked_i);
  end

  always_ff @(posedge clk_i) begin
    gather_q <= gather_d;
    if (!rst_ni || clear_i) gathered_q <= '0;
    else gathered_q <= gathered_d;
  end

  // Instruction and Data FIFO have the same handshake in each cycle, so one FIFO holds both.
  fifo #(.WIDTH(8 + 32), .DEPTH(DEPTH)) u_command_fifo (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(push), .ready_o(command_ready),
      .data_i({opcode_i, data_i}), .valid_o(command_valid_o), .ready_i(command_ready_i),
      .data_o({command_opcode_o, command_data_o}), .empty_o(), .usage_o()
  );
  fifo #(.WIDTH(24), .DEPTH(DEPTH)) u_data8_fifo (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(push8 && data8_ready), .ready_o(data8_ready),
      .data_i({gather_q, data_i[7:0]}), .valid_o(data8_valid_o), .ready_i(data8_ready_i),
      .data_o(data8_o), .empty_o(), .usage_o()
  );

  assign abort_o        = is_abort;
  assign abort_reason_o = data_i[7:0];
  assign written_o      = write_i;

  `ALCOR_COVER(c_full_commands, !command_ready)
  `ALCOR_COVER(c_full_data8, !data8_ready)
  `ALCOR_COVER(c_refused_command_without_room, overflow_o)

endmodule

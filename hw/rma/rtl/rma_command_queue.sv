`include "assertions.svh"

import alcor_abi_pkg::*;

/// The host's side of the coprocessor: memory-mapped writes become commands.
///
/// The address carries the opcode (bits 9:2), the data bus the operand. A command goes into the
/// Instruction FIFO (opcode) and the Data FIFO (operand), which move in step; DATA8 operands are
/// gathered three at a time into an entry of the Data8 FIFO. ABORT does not queue: it must reach
/// its peers when the commands ahead of it are stuck.
///
/// A write is never stalled: the bus it comes on is shared with other ranks. What meets a full FIFO
/// is lost and reported; the host holds credits so that it does not happen.
///
/// While `clear_i` is up, operands of a paper command that is not complete are forgotten; what is in the FIFOs is the
/// pipeline's to take.
///
/// With ASYNC set the three FIFOs are dual-clock, and the host's side runs on `host_clk_i`.
module rma_command_queue #(
    /// Entries of each of the three FIFOs.
    parameter int unsigned DEPTH = 64,
    /// 1: the host's side has a clock of its own.
    parameter bit ASYNC = 1'b0
) (
    /// Clock of the coprocessor.
    input  logic        clk_i,
    /// Synchronous reset, active low.
    input  logic        rst_ni,
    /// Clock of the host's side; without ASYNC it must be `clk_i`.
    input  logic        host_clk_i,
    /// Synchronous reset of the host's side, active low.
    input  logic        host_rst_ni,
    /// The rank is being reset.
    input  logic        clear_i,
    /// What was gathered before `clear_i` rose is forgotten.
    output logic        cleared_o,
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
    /// Its opcode.
    output logic [7:0]  command_opcode_o,
    /// Its operand.
    output logic [31:0] command_data_o,
    /// An entry of the Data8 FIFO is offered.
    output logic        data8_valid_o,
    /// The entry is taken.
    input  logic        data8_ready_i,
    /// dpid, len, off: the first operand written is in bits 23:16.
    output logic [23:0] data8_o,

    /// Pulse: ABORT was written.
    output logic        abort_o,
    /// Reason given with it.
    output logic [7:0]  abort_reason_o,
    /// Pulse: a write met a full FIFO and was lost.
    output logic        overflow_o,
    /// Pulse: a command was written (starts the epoch timer).
    output logic        written_o
);

  logic is_abort, is_data8, command, room, push, push8;
  logic instruction_ready, operand_ready, data8_ready;
  logic instruction_valid, operand_valid;
  logic [1:0] gathered_d, gathered_q;
  logic [15:0] gather_d, gather_q;
  logic overflow_host, clear_host;

  always_comb begin
    is_abort   = write_i && opcode_i == OP_ABORT;
    is_data8   = write_i && opcode_i == OP_DATA8;
    command    = write_i && opcode_i != OP_ABORT && opcode_i != OP_DATA8;
    room       = instruction_ready && operand_ready;
    push       = command && room;
    push8      = is_data8 && gathered_q == 2'd2;
    gathered_d = gathered_q;
    gather_d   = gather_q;
    if (is_data8) begin
      gathered_d = push8 ? 2'd0 : gathered_q + 2'd1;
      gather_d   = {gather_q[7:0], data_i[7:0]};
    end
    overflow_host = (command && !room) || (push8 && !data8_ready);
  end

  always_ff @(posedge host_clk_i) begin
    gather_q <= gather_d;
    if (!host_rst_ni || clear_host) gathered_q <= '0;
    else gathered_q <= gathered_d;
  end

  // The Data FIFO follows the Instruction FIFO in every cycle, so one handshake serves both.
  assign command_valid_o = instruction_valid && operand_valid;

  if (ASYNC) begin : g_async
    logic [2:0] events, pending_q, send, sent_q, back, seen, seen_q;
    logic [7:0] latest_q, reason_q;

    sync_2ff #(.WIDTH(1)) u_sync_clear (
        .clk_i (host_clk_i),
        .rst_ni(host_rst_ni),
        .d_i   (clear_i),
        .q_o   (clear_host)
    );

    // Two edges of the host's clock behind the level, so that its effect has been.
    logic [1:0] clear_host_q;
    always_ff @(posedge host_clk_i) begin
      if (!host_rst_ni) clear_host_q <= '0;
      else clear_host_q <= {clear_host_q[0], clear_host};
    end

    sync_2ff #(.WIDTH(1)) u_sync_cleared (
        .clk_i (clk_i),
        .rst_ni(rst_ni),
        .d_i   (clear_host_q[1]),
        .q_o   (cleared_o)
    );

    fifo_async #(.WIDTH(8), .DEPTH(DEPTH)) u_instruction_fifo (
        .wclk_i(host_clk_i), .wrst_ni(host_rst_ni), .valid_i(push), .ready_o(instruction_ready),
        .data_i(opcode_i), .rclk_i(clk_i), .rrst_ni(rst_ni), .valid_o(instruction_valid),
        .ready_i(command_ready_i && operand_valid), .data_o(command_opcode_o)
    );
    fifo_async #(.WIDTH(32), .DEPTH(DEPTH)) u_data_fifo (
        .wclk_i(host_clk_i), .wrst_ni(host_rst_ni), .valid_i(push), .ready_o(operand_ready),
        .data_i(data_i), .rclk_i(clk_i), .rrst_ni(rst_ni),
        .valid_o(operand_valid), .ready_i(command_ready_i && instruction_valid),
        .data_o(command_data_o)
    );
    fifo_async #(.WIDTH(24), .DEPTH(DEPTH)) u_data8_fifo (
        .wclk_i(host_clk_i), .wrst_ni(host_rst_ni), .valid_i(push8 && data8_ready), .ready_o(data8_ready),
        .data_i({gather_q, data_i[7:0]}), .rclk_i(clk_i), .rrst_ni(rst_ni),
        .valid_o(data8_valid_o), .ready_i(data8_ready_i), .data_o(data8_o)
    );

    // Events cross as toggles. One of each kind is under way at a time, until its toggle has come
    // back; what happens again meanwhile is kept and sent then, several as one: two toggles in a row
    // would cancel each other where the host's clock is the faster. ABORT's reason is held while it
    // crosses, and has settled when its toggle arrives.
    assign events = {write_i, overflow_host, is_abort};
    assign send   = (pending_q | events) & ~(sent_q ^ back);

    always_ff @(posedge host_clk_i) begin
      if (!host_rst_ni) begin
        pending_q <= '0;
        sent_q    <= '0;
        latest_q  <= '0;
        reason_q  <= '0;
      end else begin
        pending_q <= (pending_q | events) & ~send;
        sent_q    <= sent_q ^ send;
        if (is_abort) latest_q <= data_i[7:0];
        if (send[0]) reason_q <= is_abort ? data_i[7:0] : latest_q;
      end
    end

    sync_2ff #(.WIDTH(3)) u_sync_sent (
        .clk_i (clk_i),
        .rst_ni(rst_ni),
        .d_i   (sent_q),
        .q_o   (seen)
    );

    sync_2ff #(.WIDTH(3)) u_sync_back (
        .clk_i (host_clk_i),
        .rst_ni(host_rst_ni),
        .d_i   (seen_q),
        .q_o   (back)
    );

    always_ff @(posedge clk_i) begin
      if (!rst_ni) seen_q <= '0;
      else seen_q <= seen;
    end

    assign {written_o, overflow_o, abort_o} = seen ^ seen_q;
    assign abort_reason_o = reason_q;
  end else begin : g_sync
    fifo #(.WIDTH(8), .DEPTH(DEPTH)) u_instruction_fifo (
        .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(push), .ready_o(instruction_ready),
        .data_i(opcode_i), .valid_o(instruction_valid), .ready_i(command_ready_i),
        .data_o(command_opcode_o), .empty_o(), .usage_o()
    );
    fifo #(.WIDTH(32), .DEPTH(DEPTH)) u_data_fifo (
        .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(push), .ready_o(operand_ready),
        .data_i(data_i), .valid_o(operand_valid), .ready_i(command_ready_i),
        .data_o(command_data_o), .empty_o(), .usage_o()
    );
    fifo #(.WIDTH(24), .DEPTH(DEPTH)) u_data8_fifo (
        .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(push8 && data8_ready), .ready_o(data8_ready),
        .data_i({gather_q, data_i[7:0]}), .valid_o(data8_valid_o), .ready_i(data8_ready_i),
        .data_o(data8_o), .empty_o(), .usage_o()
    );

    assign clear_host     = clear_i;
    assign cleared_o      = 1'b1;
    assign abort_o        = is_abort;
    assign abort_reason_o = data_i[7:0];
    assign overflow_o     = overflow_host;
    assign written_o      = write_i;

    `ALCOR_ASSERT(a_in_step, instruction_valid == operand_valid)
    `ALCOR_ASSERT(a_in_step_room, instruction_ready == operand_ready)
    `ALCOR_COVER(c_full_commands, !instruction_ready)
    `ALCOR_COVER(c_full_data8, !data8_ready)
    `ALCOR_COVER(c_refused_command_without_room, overflow_o)
  end

endmodule

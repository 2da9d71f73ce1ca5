`include "assertions.svh"

import alcor_abi_pkg::*;

/// From the host's command writes to header words and tasks: command queue, pipeline and registration table.
module rma_issue #(
    /// Slots of the registration table, 2 to 256.
    parameter int unsigned SLOTS = 32,
    /// Bytes of node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Payload words of an extended packet, a power of two.
    parameter int unsigned PAYLOAD_WORDS = 128,
    /// Ranks that the network reaches: 0 to DESTS-1.
    parameter int unsigned DESTS = 256,
    /// Entries of the Instruction, Data and Data8 FIFOs.
    parameter int unsigned COMMAND_DEPTH = 64,
    /// Ids of messages and receives; 0 without a message engine.
    parameter int unsigned MESSAGES = 0,
    /// Bytes of an eager message at most.
    parameter int unsigned FRAGMENT = 256,
    /// 1: the memory task of an atomic operation goes with its packet's first header word, else with the last one.
    parameter bit EARLY = 1'b1,
    /// 1: boards have a unit for accumulates; 0: accumulates are refused.
    parameter bit ACCUMULATE = 1'b0,
    /// 1: the kernel of the rank issues commands, too.
    parameter bit KERNEL = 1'b0
) (
    /// Clock.
    input  logic                            clk_i,
    /// Synchronous reset of the board, active low.
    input  logic                            rst_ni,
    /// Synchronous reset of the rank, active low.
    input  logic                            rank_rst_ni,
    /// This rank's number on the network.
    input  logic [7:0]                      rank_i,
    /// Ranks of the run: a rank that declares more is refused.
    input  logic [7:0]                      run_ranks_i,
    /// The rank is being reset: commands are taken and dropped.
    input  logic                            drain_i,
    /// Another rank of the run is reset.
    input  logic                            peer_lost_i,

    /// A lost command write is not yet acknowledged.
    input  logic                            blocked_i,
    /// Host: a write into the command window.
    input  logic                            write_i,
    /// Host: opcode of the write.
    input  logic [7:0]                      opcode_i,
    /// Host: data of the write.
    input  logic [31:0]                     data_i,

    /// Kernel: a command.
    input  alcor_abi_pkg::kernel_to_rank_t  kernel_i,
    /// Kernel: the command is taken.
    output logic                            kernel_ready_o,

    /// The registration table is cleared.
    output logic                            table_ready_o,
    /// Commands are served: all tables are cleared.
    input  logic                            ready_i,
    /// Request plane: look a window up.
    input  alcor_abi_pkg::slot_lookup_t     request_lookup_i,
    /// The window.
    output alcor_abi_pkg::window_t          request_window_o,
    /// Reply plane: look a window up.
    input  alcor_abi_pkg::slot_lookup_t     reply_lookup_i,
    /// The window.
    output alcor_abi_pkg::window_t          reply_window_o,

    /// Request plane: a header word is offered.
    output logic                            head_valid_o,
    /// The header word is taken.
    input  logic                            head_ready_i,
    /// The header word.
    output logic [31:0]                     head_o,
    /// Request plane: a read task is offered.
    output logic                            task_valid_o,
    /// The task is taken.
    input  logic                            task_ready_i,
    /// The task.
    output alcor_abi_pkg::read_task_t       task_o,
    /// The packet's task goes with its first header word, and the packet ends with `last_o`.
    output logic                            split_o,
    /// With `split_o`: the header word that is offered is its packet's last.
    output logic                            last_o,

    /// Message engine: a command is offered.
    output logic                            engine_valid_o,
    /// The command is taken.
    input  logic                            engine_ready_i,
    /// The command.
    output alcor_abi_pkg::engine_command_t  engine_o,
    /// Pulse: `engine_o` announces a message.
    output logic                            announce_o,

    /// The completion of a refused command is offered.
    output logic                            completion_valid_o,
    /// The completion is taken.
    input  logic                            completion_ready_i,
    /// The completion.
    output alcor_abi_pkg::completion_t      completion_o,

    /// At a collective command.
    output alcor_abi_pkg::sync_request_t    sync_o,
    /// All ranks are at a collective command.
    input  alcor_abi_pkg::sync_answer_t     sync_i,
    /// BARRIER_DONE is not yet acknowledged.
    input  logic                            barrier_pending_i,

    /// State of the command queue and pipeline.
    output alcor_abi_pkg::issue_state_t     state_o,
    /// Results of commands that have no completion.
    output alcor_abi_pkg::pipeline_events_t events_o
);

  localparam int unsigned SlotW = $clog2(SLOTS);
  localparam int unsigned Request = 0;
  localparam int unsigned Reply = 1;

  // ---------------------------------------------------------------- command queue

  logic host_valid, host_ready, command_valid, command_ready, data8_valid, data8_ready, abort, overflow, written;
  logic [7:0] command_opcode, abort_reason;
  logic [31:0] command_data;
  logic [23:0] data8_entry;
  alcor_abi_pkg::command_t command;
  alcor_abi_pkg::data8_t data8;

  rma_command_queue #(
      .DEPTH(COMMAND_DEPTH)
  ) u_command_queue (
      .clk_i           (clk_i),
      .rst_ni          (rst_ni),
      .clear_i         (drain_i),
      .blocked_i       (blocked_i),
      .write_i         (write_i),
      .opcode_i        (opcode_i),
      .data_i          (data_i),
      .command_valid_o (host_valid),
      .command_ready_i (host_ready),
      .command_opcode_o(command_opcode),
      .command_data_o  (command_data),
      .data8_valid_o   (data8_valid),
      .data8_ready_i   (data8_ready),
      .data8_o         (data8_entry),
      .abort_o         (abort),
      .abort_reason_o  (abort_reason),
      .overflow_o      (overflow),
      .written_o       (written)
  );

  // The kernel has one command at a time in the pipeline, so it goes first and the host's commands pass all the same.
  if (KERNEL) begin : g_kernel
    logic [40:0] picked;

    stream_pick #(
        .WIDTH(41)
    ) u_pick (
        .clk_i  (clk_i),
        .rst_ni (rst_ni),
        .valid_i({kernel_i.valid, host_valid}),
        .ready_o({kernel_ready_o, host_ready}),
        .data_i ({1'b1, kernel_i.opcode, kernel_i.data, 1'b0, command_opcode, command_data}),
        .valid_o(command_valid),
        .ready_i(command_ready),
        .data_o (picked)
    );
    assign command = picked;
  end else begin : g_no_kernel
    assign command_valid  = host_valid;
    assign host_ready     = command_ready;
    assign kernel_ready_o = 1'b0;
    assign command        = {1'b0, command_opcode, command_data};
  end

  assign data8   = data8_entry;

  // ---------------------------------------------------------------- pipeline

  logic begun, orphaned, asked, busy, sending;
  logic [7:0] nprocs;
  alcor_abi_pkg::table_request_t table_request;
  alcor_abi_pkg::table_answer_t table_answer;

  rma_pipeline #(
      .NODE_BYTES   (NODE_BYTES),
      .PAYLOAD_WORDS(PAYLOAD_WORDS),
      .DESTS        (DESTS),
      .MESSAGES     (MESSAGES),
      .FRAGMENT     (FRAGMENT),
      .EARLY        (EARLY),
      .ACCUMULATE   (ACCUMULATE),
      .KERNEL       (KERNEL)
  ) u_pipeline (
      .clk_i             (clk_i),
      .rst_ni            (rank_rst_ni),
      .rank_i            (rank_i),
      .run_ranks_i       (run_ranks_i),
      .drain_i           (drain_i),
      .peer_lost_i       (peer_lost_i),
      .orphaned_o        (orphaned),
      .asked_o           (asked),
      .command_valid_i   (command_valid),
      .command_ready_o   (command_ready),
      .command_i         (command),
      .kernel_i          (kernel_i),
      .data8_valid_i     (data8_valid),
      .data8_ready_o     (data8_ready),
      .data8_i           (data8),
      .table_ready_i     (ready_i),
      .table_o           (table_request),
      .table_i           (table_answer),
      .head_valid_o      (head_valid_o),
      .head_ready_i      (head_ready_i),
      .head_o            (head_o),
      .task_valid_o      (task_valid_o),
      .task_ready_i      (task_ready_i),
      .task_o            (task_o),
      .split_o           (split_o),
      .last_o            (last_o),
      .engine_valid_o    (engine_valid_o),
      .engine_ready_i    (engine_ready_i),
      .engine_o          (engine_o),
      .announce_o        (announce_o),
      .completion_valid_o(completion_valid_o),
      .completion_ready_i(completion_ready_i),
      .completion_o      (completion_o),
      .sync_o            (sync_o),
      .sync_i            (sync_i),
      .barrier_pending_i (barrier_pending_i),
      .nprocs_o          (nprocs),
      .begun_o           (begun),
      .events_o          (events_o),
      .busy_o            (busy),
      .sending_o         (sending)
  );

  assign state_o.begun        = begun;
  assign state_o.nprocs       = nprocs;
  assign state_o.orphaned     = orphaned;
  assign state_o.asked        = asked;
  assign state_o.sending      = sending;
  assign state_o.commands     = busy || command_valid;
  assign state_o.operands     = data8_valid;
  assign state_o.written      = written;
  assign state_o.overflow     = overflow;
  assign state_o.aborts       = abort;
  assign state_o.abort_reason = abort_reason;

  // ---------------------------------------------------------------- registration table

  logic match, table_full, op_ready;
  logic [SlotW-1:0] match_slot, next_slot;
  logic [1:0] registered;
  logic [1:0][31:0] window_base, window_size;
  logic [1:0][1:0] window_deny;

  rma_registration_table #(
      .SLOTS  (SLOTS),
      .LOOKUPS(2)
  ) u_registration_table (
      .clk_i          (clk_i),
      .rst_ni         (rank_rst_ni),
      .ready_o        (table_ready_o),
      .lookup_i       (table_request.lookup),
      .key_i          (table_request.key),
      .match_o        (match),
      .match_slot_o   (match_slot),
      .slot_lookup_i  ({reply_lookup_i.valid, request_lookup_i.valid}),
      .slot_i         ({reply_lookup_i.slot, request_lookup_i.slot}),
      .registered_o   (registered),
      .base_o         (window_base),
      .size_o         (window_size),
      .deny_o         (window_deny),
      .full_o         (table_full),
      .next_slot_o    (next_slot),
      .op_valid_i     (table_request.op_valid),
      .op_deregister_i(table_request.op_deregister),
      .op_base_i      (table_request.op_base),
      .op_size_i      (table_request.op_size),
      .op_deny_i      ({table_request.op_deny_write, table_request.op_deny_read}),
      .op_ready_o     (op_ready),
      .commit_i       (table_request.op_commit)
  );

  assign table_answer     = {match, 8'(match_slot), table_full, 8'(next_slot)};
  assign request_window_o = {registered[Request], window_deny[Request], window_base[Request], window_size[Request]};
  assign reply_window_o   = {registered[Reply], window_deny[Reply], window_base[Reply], window_size[Reply]};

  `ALCOR_CHECK_PARAM(g_check_commands, COMMAND_DEPTH >= 2,
                     "rma_issue: COMMAND_DEPTH must be 2 or more")
  // A registration is committed when all ranks agree, which takes longer than preparing it.
  `ALCOR_IMPLIES(a_prepared, table_request.op_commit, op_ready)

endmodule

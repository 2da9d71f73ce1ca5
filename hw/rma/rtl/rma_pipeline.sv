`include "assertions.svh"

import alcor_abi_pkg::*;

/// The coprocessor's five-stage pipeline: IF, ID, OR, EX1, EX2.
///
/// `rma_front_end` has IF, ID and OR. EX1 checks a command and sends a packet's first header word; EX2
/// sends its second word and the memory task. EX1 has a block for each kind of command: `rma_paper`
/// (PUT and GET of the paper, which also have EX2), `rma_collective` (BARRIER, REGISTER, DEREGISTER),
/// `rma_transfer` (extended commands, messages). This module holds the state of the run.
///
/// A collective command that waits leaves EX1 for a register of its own. Extended commands of host and kernel, and their
/// operands, pass it: a rank in a barrier continues its messages and its collectives in software. All other commands wait
/// in EX1 until the collective command has ended. X_WINDOW is one of them, as the collective command may change the table.
///
/// Stages are valid/ready: a stage moves when the next is free or moves itself.
module rma_pipeline #(
    /// Bytes of node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Payload words of an extended packet, a power of two.
    parameter int unsigned PAYLOAD_WORDS = 128,
    /// Ranks that the network reaches: 0 to DESTS-1.
    parameter int unsigned DESTS = 256,
    /// Ids of messages and receives: 0 to MESSAGES-1, a power of two; 0 without a message engine.
    parameter int unsigned MESSAGES = 256,
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
    /// Synchronous reset, active low.
    input  logic                            rst_ni,
    /// This rank's number on the network, which its packets carry as their source.
    input  logic [7:0]                      rank_i,
    /// Ranks of the run: a rank that declares more is refused.
    input  logic [7:0]                      run_ranks_i,
    /// The rank is being reset: commands are taken and dropped, but for the one that sends packets.
    input  logic                            drain_i,
    /// Another rank of the run is reset.
    input  logic                            peer_lost_i,
    /// A rank was reset since this rank has begun: collective commands end at once.
    output logic                            orphaned_o,
    /// Pulse: a request has been sent that will be answered once.
    output logic                            asked_o,

    /// Instruction and Data FIFO: a command is offered.
    input  logic                            command_valid_i,
    /// The command is taken.
    output logic                            command_ready_o,
    /// The command.
    input  alcor_abi_pkg::command_t         command_i,
    /// Operands of the kernel's command that is under way.
    input  alcor_abi_pkg::kernel_to_rank_t  kernel_i,
    /// Data8 FIFO: an entry is offered.
    input  logic                            data8_valid_i,
    /// The entry is taken.
    output logic                            data8_ready_o,
    /// The entry.
    input  alcor_abi_pkg::data8_t           data8_i,

    /// The registration table is cleared and answers.
    input  logic                            table_ready_i,
    /// To the registration table.
    output alcor_abi_pkg::table_request_t   table_o,
    /// From the registration table.
    input  alcor_abi_pkg::table_answer_t    table_i,

    /// Head FIFO of the request plane: a header word is offered.
    output logic                            head_valid_o,
    /// The header word is taken.
    input  logic                            head_ready_i,
    /// The header word.
    output logic [31:0]                     head_o,
    /// Request plane: a memory read task is offered.
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

    /// The completion of a command that was refused here is offered.
    output logic                            completion_valid_o,
    /// The completion is taken.
    input  logic                            completion_ready_i,
    /// The completion.
    output alcor_abi_pkg::completion_t      completion_o,

    /// At a collective command.
    output alcor_abi_pkg::sync_request_t    sync_o,
    /// All ranks were at a collective command two cycles ago.
    input  alcor_abi_pkg::sync_answer_t     sync_i,
    /// BARRIER_DONE is not yet acknowledged: the next BARRIER waits.
    input  logic                            barrier_pending_i,

    /// Ranks of the run.
    output logic [7:0]                      nprocs_o,
    /// Between BEGIN and END.
    output logic                            begun_o,
    /// Results of commands that have no completion.
    output alcor_abi_pkg::pipeline_events_t events_o,
    /// Commands are in the pipeline.
    output logic                            busy_o,
    /// A packet's second word and memory task are still to be sent.
    output logic                            sending_o
);

  logic ex1_valid, ex1_done, ex1_goes, front_busy, lookup, retired, broken, changes_table;
  logic [31:0] lookup_key;
  alcor_abi_pkg::decoded_t ex1;
  logic [7:0] opcode;

  rma_front_end #(
      .NODE_BYTES(NODE_BYTES)
  ) u_front_end (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .drain_i        (drain_i),
      .table_ready_i  (table_ready_i),
      .command_valid_i(command_valid_i),
      .command_ready_o(command_ready_o),
      .command_i      (command_i),
      .data8_valid_i  (data8_valid_i),
      .data8_ready_o  (data8_ready_o),
      .data8_i        (data8_i),
      .lookup_o       (lookup),
      .lookup_key_o   (lookup_key),
      .match_i        (table_i.match),
      .match_slot_i   (table_i.match_slot),
      .changes_table_i(changes_table),
      .ex1_valid_o    (ex1_valid),
      .ex1_done_i     (ex1_done),
      .ex1_o          (ex1),
      .retired_o      (retired),
      .broken_o       (broken),
      .busy_o         (front_busy)
  );

  // ---------------------------------------------------------------- EX1

  logic is_pair, pair_done, sync_done, x_done;

  assign opcode  = ex1.command.opcode;
  assign is_pair = ex1.paper && ex1.second;

  // ---------------------------------------------------------------- a collective command that waits

  logic waits_q, sync_valid;
  alcor_abi_pkg::decoded_t waiting_q, sync;

  assign sync_valid = waits_q || (ex1_valid && ex1.collective);
  assign sync       = waits_q ? waiting_q : ex1;

  always_ff @(posedge clk_i) begin
    if (!waits_q) waiting_q <= ex1;
    if (!rst_ni) waits_q <= 1'b0;
    else waits_q <= sync_valid && !sync_done;
  end

  assign ex1_goes = ex1_valid && (!waits_q || ex1.extended || ex1.operand);

  always_comb begin
    ex1_done = ex1_goes;
    if (is_pair) ex1_done = ex1_goes && pair_done;
    if (ex1.extended) ex1_done = x_done;
  end

  // ---------------------------------------------------------------- state of the run

  logic [7:0] nprocs_q;
  logic begun_q, orphaned_q, begins, run_refused;

  // A run has the ranks that the board was told: packets to others would reach nobody, and a rank beyond them would
  // take part without being waited for.
  assign run_refused = (opcode == OP_SET_NPROCS && ex1.command.data > 32'(run_ranks_i)) ||
                       (opcode == OP_BEGIN_RUN && rank_i >= nprocs_q);
  assign begins      = ex1_goes && opcode == OP_BEGIN_RUN && !run_refused;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      nprocs_q   <= 8'd1;
      begun_q    <= 1'b0;
      orphaned_q <= 1'b0;
    end else begin
      if (ex1_goes && opcode == OP_SET_NPROCS && !run_refused) nprocs_q <= ex1.command.data[7:0];
      if (begins) begun_q <= 1'b1;
      else if (ex1_goes && opcode == OP_END_RUN) begun_q <= 1'b0;
      if (peer_lost_i && begun_q) orphaned_q <= 1'b1;
      else if (begins) orphaned_q <= 1'b0;
    end
  end

  assign nprocs_o   = nprocs_q;
  assign begun_o    = begun_q;
  assign orphaned_o = orphaned_q;

  // ---------------------------------------------------------------- the blocks in EX1

  logic paper_head_valid, paper_task_valid, paper_refused, x_head_valid, x_task_valid, x_last;
  logic [31:0] paper_head, x_head;
  alcor_abi_pkg::read_task_t paper_task, x_task;
  alcor_abi_pkg::status_e pair_status;

  rma_paper #(
      .DESTS(DESTS)
  ) u_paper (
      .clk_i       (clk_i),
      .rst_ni      (rst_ni),
      .rank_i      (rank_i),
      .begun_i     (begun_q),
      .nprocs_i    (nprocs_q),
      .first_i     (ex1_goes && ex1.paper && !ex1.second),
      .second_i    (ex1_goes && is_pair),
      .ex1_i       (ex1),
      .done_o      (pair_done),
      .refused_o   (paper_refused),
      .status_o    (pair_status),
      .head_valid_o(paper_head_valid),
      .head_ready_i(head_ready_i),
      .head_o      (paper_head),
      .task_valid_o(paper_task_valid),
      .task_ready_i(task_ready_i),
      .task_o      (paper_task),
      .sending_o   (sending_o)
  );

  logic sync_refused, op_valid, op_deregister, op_commit, barrier_done, mismatch, result_valid;
  logic [31:0] op_base, op_size;
  alcor_abi_pkg::status_e result_status;

  rma_collective #(
      .NODE_BYTES(NODE_BYTES)
  ) u_collective (
      .clk_i            (clk_i),
      .rst_ni           (rst_ni),
      .drain_i          (drain_i),
      .begun_i          (begun_q),
      .orphaned_i       (orphaned_q),
      .valid_i          (sync_valid),
      .ex1_i            (sync),
      .window_size_i    (ex1_goes && opcode == OP_WINDOW_SIZE),
      .done_o           (sync_done),
      .refused_o        (sync_refused),
      .sync_o           (sync_o),
      .sync_i           (sync_i),
      .barrier_pending_i(barrier_pending_i),
      .table_full_i     (table_i.full),
      .next_slot_i      (table_i.next_slot),
      .changes_table_o  (changes_table),
      .op_valid_o       (op_valid),
      .op_deregister_o  (op_deregister),
      .op_base_o        (op_base),
      .op_size_o        (op_size),
      .op_commit_o      (op_commit),
      .barrier_done_o   (barrier_done),
      .mismatch_o       (mismatch),
      .result_valid_o   (result_valid),
      .result_status_o  (result_status)
  );

  assign table_o.lookup        = lookup;
  assign table_o.key           = lookup_key;
  assign table_o.op_valid      = op_valid;
  assign table_o.op_deregister = op_deregister;
  assign table_o.op_commit     = op_commit;
  assign table_o.op_deny_write = sync.command.data[1];
  assign table_o.op_deny_read  = sync.command.data[0];
  assign table_o.op_base       = op_base;
  assign table_o.op_size       = op_size;

  rma_transfer #(
      .NODE_BYTES   (NODE_BYTES),
      .PAYLOAD_WORDS(PAYLOAD_WORDS),
      .DESTS        (DESTS),
      .MESSAGES     (MESSAGES),
      .FRAGMENT     (FRAGMENT),
      .EARLY        (EARLY),
      .ACCUMULATE   (ACCUMULATE),
      .KERNEL       (KERNEL)
  ) u_transfer (
      .clk_i             (clk_i),
      .rst_ni            (rst_ni),
      .rank_i            (rank_i),
      .begun_i           (begun_q),
      .nprocs_i          (nprocs_q),
      .valid_i           (ex1_goes && ex1.extended),
      .operand_i         (ex1_goes && !ex1.extended),
      .ex1_i             (ex1),
      .kernel_i          (kernel_i),
      .done_o            (x_done),
      .asked_o           (asked_o),
      .blocked_i         (sending_o),
      .head_valid_o      (x_head_valid),
      .head_ready_i      (head_ready_i),
      .head_o            (x_head),
      .task_valid_o      (x_task_valid),
      .task_ready_i      (task_ready_i),
      .task_o            (x_task),
      .last_o            (x_last),
      .engine_valid_o    (engine_valid_o),
      .engine_ready_i    (engine_ready_i),
      .engine_o          (engine_o),
      .announce_o        (announce_o),
      .completion_valid_o(completion_valid_o),
      .completion_ready_i(completion_ready_i),
      .completion_o      (completion_o)
  );

  // ---------------------------------------------------------------- to the Head FIFO and the task queue

  // The word of EX2 goes first: it is the second half of a packet.
  assign head_valid_o = paper_head_valid || (x_head_valid && !sending_o);
  assign head_o       = (sending_o || is_pair) ? paper_head : x_head;
  assign task_valid_o = sending_o ? paper_task_valid : x_task_valid;
  assign task_o       = sending_o ? paper_task : x_task;
  assign split_o      = EARLY && ex1_goes && ex1.atomic && !sending_o;
  assign last_o       = x_last;

  // ---------------------------------------------------------------- events

  logic pid_refused, pair_refused;
  alcor_abi_pkg::status_e refused_status;

  // A rank can't take another's number: answers would go to memory that did not ask for them.
  assign pid_refused  = opcode == OP_SET_PID && ex1.command.data[7:0] != rank_i;
  assign pair_refused = is_pair && paper_refused;

  always_comb begin
    refused_status = ST_NOT_BEGUN;
    if (is_pair) refused_status = pair_status;
    if (pid_refused || run_refused) refused_status = ST_BAD_RANK;
  end

  assign events_o.retired        = retired;
  assign events_o.bad_opcode     = (ex1_goes && !ex1.known) || broken;
  assign events_o.barrier_done   = barrier_done && !sync.command.kernel;
  assign events_o.mismatch       = mismatch && !sync.command.kernel;
  assign events_o.refused        = (ex1_goes && (pair_refused || pid_refused || run_refused)) ||
                                   (sync_refused && !sync.command.kernel);
  assign events_o.refused_status = refused_status;
  assign events_o.refused_opcode = opcode;
  assign events_o.result_valid   = result_valid;
  assign events_o.result_status  = result_status;
  assign events_o.result_slot    = sync_o.slot;
  assign events_o.kernel_done    = (ex1_goes && ex1_done && !ex1.collective && ex1.command.kernel) ||
                                   (sync_valid && sync_done && sync.command.kernel);
  assign events_o.kernel_barrier = (barrier_done || sync_refused) && sync.command.kernel;
  assign events_o.kernel_status  = sync_refused ? ST_NOT_BEGUN : orphaned_q ? ST_RANK_RESET : mismatch ? ST_MISMATCH : ST_OK;

  assign busy_o = front_busy || ex1_valid || waits_q || sending_o;

  // What the front end has decoded agrees with the opcode.
  `ALCOR_IMPLIES(a_extended, ex1_valid && (ex1.extended || ex1.operand), opcode >= OP_X_OFFSET)
  `ALCOR_IMPLIES(a_collective, ex1_valid && ex1.collective,
                 ex1.barrier ? opcode == OP_BARRIER : opcode == OP_REGISTER || opcode == OP_DEREGISTER)
  `ALCOR_IMPLIES(a_waits, waits_q, begun_q && waiting_q.collective)
  `ALCOR_CHECK_PARAM(g_check_node, (NODE_BYTES & (NODE_BYTES - 1)) == 0,
                     "rma_pipeline: NODE_BYTES must be a power of two")

`ifdef ALCOR_COVERAGE
  // Commands that end without a completion.
`define ALCOR_COVER_REFUSED(status_) \
  `ALCOR_COVER(c_refused_paper_``status_, ex1_goes && pair_refused && pair_status == ST_``status_)
  `ALCOR_COVER_REFUSED(BAD_LOCAL)
  `ALCOR_COVER_REFUSED(BAD_LENGTH)
  `ALCOR_COVER_REFUSED(BAD_RANK)
  `ALCOR_COVER_REFUSED(NOT_REGISTERED)
  `ALCOR_COVER_REFUSED(NOT_BEGUN)
`undef ALCOR_COVER_REFUSED
  `ALCOR_COVER(c_refused_number_of_another, ex1_goes && pid_refused)
  `ALCOR_COVER(c_refused_beyond_the_run, ex1_goes && run_refused)
  `ALCOR_COVER(c_refused_unknown_command, ex1_goes && !ex1.known)
`endif

endmodule

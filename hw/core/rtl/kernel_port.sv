`include "assertions.svh"

import alcor_abi_pkg::*;

/// Port of a rank's kernel: registers, commands and completions.
///
/// The port passes each command to the rank's coprocessor or to the collective unit, one at a time. Up to KernelCommands
/// commands are outstanding. Each has a slot, which stores the kernel's tag for the completion. The low part of the
/// command's id is the number of the slot. One send is outstanding at most, because the host's credits for messages leave
/// room for one.
///
/// The kernel is in reset until KERNEL_CONTROL.start. Stop, start, BEGIN, END and a reset of the rank reset the kernel. The
/// port then drops the completions of outstanding commands, and frees each slot with its completion.
module kernel_port #(
    /// Bits of a beat of the kernel's memory port.
    parameter int unsigned WIDTH = 32,
    /// Ids of messages, a power of two; 0 without a message engine.
    parameter int unsigned MESSAGES = 256,
    /// Bytes of an eager message at most.
    parameter int unsigned FRAGMENT = 256,
    /// 1: the board has a collective unit.
    parameter bit SWITCH = 1'b0
) (
    /// Clock.
    input  logic                           clk_i,
    /// Synchronous reset of the rank, active low.
    input  logic                           rst_ni,

    /// Host: a write into the rank's page.
    input  alcor_abi_pkg::page_write_t     page_i,
    /// Host: register to be read.
    input  logic [11:0]                    read_offset_i,
    /// Host: value of the register, in the same cycle; 0 for registers of other blocks.
    output logic [31:0]                    read_data_o,

    /// To the coprocessor.
    output alcor_abi_pkg::kernel_to_rank_t rank_o,
    /// From the coprocessor.
    input  alcor_abi_pkg::rank_to_kernel_t rank_i,
    /// Collective unit: a collective is posted.
    output alcor_abi_pkg::kernel_post_t    post_o,
    /// Collective unit: the collective is taken.
    input  logic                           post_ready_i,
    /// Asserted when the memory port is idle.
    input  logic                           memory_idle_i,

    /// Kernel: reset, synchronous, active low.
    output logic                           kernel_rst_no,
    /// Kernel: arguments, constant while the kernel runs.
    output logic [15:0][31:0]              arguments_o,
    /// Kernel: asserted when the kernel is done.
    input  logic                           done_i,
    /// Kernel: with `done_i`, a code for the host.
    input  logic [7:0]                     code_i,
    /// Kernel: words that the host can read at any time.
    input  logic [7:0][31:0]               results_i,
    /// Kernel, AXI4-Stream: a command.
    input  logic                           command_tvalid_i,
    /// Kernel: the command is taken.
    output logic                           command_tready_o,
    /// Kernel: the command, kernel_command_t.
    input  logic [KernelCommandW-1:0]      command_tdata_i,
    /// Kernel, AXI4-Stream: a completion.
    output logic                           completion_tvalid_o,
    /// Kernel: the completion is taken.
    input  logic                           completion_tready_i,
    /// Kernel: the completion, kernel_completion_t.
    output logic [KernelCompletionW-1:0]   completion_tdata_o
);

  localparam int unsigned N = KernelCommands;
  // Cycles of reset before a kernel runs again.
  localparam logic [3:0] ResetCycles = 4'd8;

  // ---------------------------------------------------------------- registers

  logic write, starts, stops, acknowledges;
  alcor_abi_pkg::rank_kernel_control_t control;
  logic [15:0][31:0] arguments_q;

  assign write        = page_i.valid && page_i.offset[11:9] == 3'b011;
  assign control      = page_i.data;
  assign starts       = write && page_i.offset == RANK_KERNEL_CONTROL_OFFSET && control.start;
  assign stops        = write && page_i.offset == RANK_KERNEL_CONTROL_OFFSET && control.stop;
  assign acknowledges = write && page_i.offset == RANK_KERNEL_CONTROL_OFFSET && control.acknowledge;

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < 16; i++) begin
      if (!rst_ni) arguments_q[i] <= '0;
      else if (write && page_i.offset == RANK_KERNEL_ARGUMENT_OFFSET + 12'(4 * i)) arguments_q[i] <= page_i.data;
    end
  end

  assign arguments_o = arguments_q;

  // ---------------------------------------------------------------- start and end of the kernel

  logic run_q, start_q, begun_q, halt, finished_q, done_q;
  logic [3:0] cool_q;
  logic [7:0] code_q;

  assign halt          = rank_i.drain || rank_i.begun != begun_q || starts || stops;
  assign kernel_rst_no = run_q;

  always_ff @(posedge clk_i) begin
    begun_q <= rst_ni && rank_i.begun;
    if (!rst_ni) begin
      run_q      <= 1'b0;
      start_q    <= 1'b0;
      cool_q     <= '0;
      finished_q <= 1'b0;
      done_q     <= 1'b0;
      code_q     <= '0;
    end else begin
      if (run_q) cool_q <= ResetCycles;
      else if (cool_q != '0) cool_q <= cool_q - 1'b1;
      if (halt) begin
        run_q      <= 1'b0;
        start_q    <= (starts || (start_q && !stops)) && !rank_i.drain;
        finished_q <= 1'b0;
        done_q     <= 1'b0;
        code_q     <= '0;
      end else begin
        // A start before BEGIN waits for BEGIN.
        if (start_q && rank_i.begun && cool_q == '0 && memory_idle_i) begin
          run_q   <= 1'b1;
          start_q <= 1'b0;
        end
        if (run_q && done_i && !finished_q) begin
          finished_q <= 1'b1;
          done_q     <= 1'b1;
          code_q     <= code_i;
        end else if (acknowledges) begin
          done_q <= 1'b0;
        end
      end
    end
  end

  // ---------------------------------------------------------------- command to the coprocessor or collective unit

  typedef enum logic [2:0] {
    Idle,      // waits for a command
    Offer,     // offered to the coprocessor
    Operands,  // the coprocessor reads the operands
    Post,      // offered to the collective unit
    Refuse     // completes the command without sending it
  } state_e;

  state_e state_d, state_q;
  alcor_abi_pkg::kernel_command_t next, command_q;
  logic [KernelSlotW-1:0] free_slot, slot_q;
  logic [N-1:0] busy_q, free_first;
  logic [N-1:0] sends_q;
  logic takes, free, may_send;
  logic [7:0] opcode;
  logic [15:0] id;

  assign next       = command_tdata_i;
  assign free       = busy_q != '1;
  assign free_first = ~busy_q & (busy_q + 1'b1);
  assign may_send   = next.head.opcode != KO_SEND || (busy_q & sends_q) == '0;
  assign takes      = command_tvalid_i && command_tready_o;

  assign free_slot = {|(free_first & 8'hF0), |(free_first & 8'hCC), |(free_first & 8'hAA)};

  assign command_tready_o = run_q && !halt && state_q == Idle && free && may_send;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      Idle: begin
        if (takes) begin
          state_d = Refuse;
          unique case (next.head.opcode)
            KO_PUT, KO_GET, KO_SEND, KO_RECEIVE, KO_PROBE, KO_BARRIER: state_d = Offer;
            KO_ATOMIC: if (next.what[3:0] <= AT_MAX_UNSIGNED) state_d = Offer;
            KO_COLLECTIVE: if (SWITCH) state_d = Post;
            default: ;
          endcase
        end
      end
      // `rank_i.done` follows `rank_i.ready` by a cycle or more: the command passes other stages.
      Offer: if (rank_i.ready) state_d = Operands;
      Operands: if (rank_i.done) state_d = Idle;
      Post: if (post_ready_i) state_d = Idle;
      Refuse: state_d = Idle;
      default: state_d = Idle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= Idle;
    else state_q <= state_d;
    if (takes) begin
      command_q <= next;
      slot_q    <= free_slot;
    end
  end

  always_comb begin
    unique case (command_q.head.opcode)
      KO_PUT:     opcode = OP_X_PUT;
      KO_GET:     opcode = OP_X_GET;
      KO_SEND:    opcode = (command_q.length > 32'(FRAGMENT)) ? OP_X_ANNOUNCE : OP_X_SEND;
      KO_RECEIVE: opcode = OP_X_RECEIVE;
      KO_PROBE:   opcode = OP_X_PROBE;
      KO_ATOMIC:  opcode = OP_X_SWAP | 8'(command_q.what[4:0]);
      default:    opcode = OP_BARRIER;
    endcase
  end

  // The last ids of messages belong to the kernel. The coprocessor sets the bit that marks the kernel.
  assign id = (MESSAGES == 0) ? 16'(slot_q) : 16'(MESSAGES - N) | 16'(slot_q);

  always_comb begin
    rank_o         = '0;
    rank_o.valid   = state_q == Offer;
    rank_o.opcode  = opcode;
    rank_o.data    = {command_q.head.rank, command_q.head.slot, id};
    rank_o.offset  = command_q.offset;
    rank_o.address = command_q.address;
    rank_o.length  = command_q.length;
    rank_o.compare = {command_q.low, command_q.destination};
    rank_o.tag     = command_q.offset;
    rank_o.busy    = state_q == Post || !memory_idle_i;
    rank_o.done    = done_q;

    post_o             = '0;
    post_o.valid       = state_q == Post;
    post_o.operands    = {
      command_q.what, command_q.count, command_q.high, command_q.low, command_q.destination, command_q.offset,
      command_q.length, command_q.address
    };
    post_o.go.id       = id;
    post_o.go.context_ = command_q.head.slot[4:0];
  end

  // ---------------------------------------------------------------- outstanding commands, by slot

  logic [N-1:0] ended_q, orphan_q, message_q, atomic_q, picked;
  logic [N-1:0][7:0] tag_q;
  logic [N-1:0][4:0] status_q;
  logic [7:0] source_q[N];
  logic [25:0] message_tag_q[N];
  logic [31:0] length_q[N];
  logic [63:0] old_q[N];
  logic [KernelSlotW-1:0] pick;
  logic picks, out_valid_q, hands;
  logic [KernelCompletionW-1:0] out_q;
  alcor_abi_pkg::kernel_completion_t completion;

  rr_arbiter #(
      .N(N)
  ) u_pick (
      .clk_i    (clk_i),
      .rst_ni   (rst_ni),
      .req_i    (ended_q),
      .advance_i(hands),
      .valid_o  (picks),
      .grant_o  (picked),
      .index_o  (pick)
  );

  assign hands = picks && (!out_valid_q || completion_tready_i);

  for (genvar g = 0; g < N; g++) begin : g_slot
    logic ends;
    logic [4:0] status;

    always_comb begin
      status = ST_BAD_COMMAND;
      if (rank_i.barrier) status = rank_i.barrier_status;
      if (rank_i.message.valid && rank_i.message.slot == KernelSlotW'(g)) status = rank_i.message.status;
      if (rank_i.collective.valid && rank_i.collective.slot == KernelSlotW'(g)) status = rank_i.collective.status;
      if (rank_i.refused.valid && rank_i.refused.slot == KernelSlotW'(g)) status = rank_i.refused.status;
      if (rank_i.reply.valid && rank_i.reply.slot == KernelSlotW'(g)) status = rank_i.reply.status;
      if (state_q == Refuse && slot_q == KernelSlotW'(g) && command_q.head.opcode == KO_COLLECTIVE) begin
        status = ST_BAD_COMMUNICATOR;
      end
    end

    assign ends = (rank_i.message.valid && rank_i.message.slot == KernelSlotW'(g)) ||
                  (rank_i.collective.valid && rank_i.collective.slot == KernelSlotW'(g)) ||
                  (rank_i.refused.valid && rank_i.refused.slot == KernelSlotW'(g)) ||
                  (rank_i.reply.valid && rank_i.reply.slot == KernelSlotW'(g)) ||
                  ((rank_i.barrier || state_q == Refuse) && slot_q == KernelSlotW'(g));

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        busy_q[g]    <= 1'b0;
        ended_q[g]   <= 1'b0;
        orphan_q[g]  <= 1'b0;
        message_q[g] <= 1'b0;
        sends_q[g]   <= 1'b0;
      end else begin
        if (takes && free_first[g]) begin
          busy_q[g]    <= 1'b1;
          message_q[g] <= 1'b0;
          sends_q[g]   <= next.head.opcode == KO_SEND;
        end else if (ends) begin
          // Completions of commands from before a reset are dropped.
          ended_q[g]   <= !orphan_q[g] && !halt;
          busy_q[g]    <= !orphan_q[g] && !halt;
          orphan_q[g]  <= 1'b0;
          message_q[g] <= rank_i.message.valid && rank_i.message.slot == KernelSlotW'(g);
        end else if (halt) begin
          ended_q[g]  <= 1'b0;
          busy_q[g]   <= busy_q[g] && !ended_q[g];
          orphan_q[g] <= busy_q[g] && !ended_q[g];
        end else if (hands && picked[g]) begin
          ended_q[g] <= 1'b0;
          busy_q[g]  <= 1'b0;
        end
      end
      if (takes && free_first[g]) tag_q[g] <= next.head.tag;
      if (ends) begin
        status_q[g] <= status;
        atomic_q[g] <= rank_i.reply.valid && rank_i.atomic && rank_i.reply.slot == KernelSlotW'(g);
      end
    end
  end

  // Completions of receives and probes have source, tag and length, those of atomic operations the old value.
  always_ff @(posedge clk_i) begin
    if (rank_i.message.valid) begin
      source_q[rank_i.message.slot]      <= rank_i.source;
      message_tag_q[rank_i.message.slot] <= rank_i.tag;
      length_q[rank_i.message.slot]      <= rank_i.length;
    end
    if (rank_i.reply.valid) old_q[rank_i.reply.slot] <= rank_i.old;
  end

  always_comb begin
    completion        = '0;
    completion.result = {8'd0, 11'd0, status_q[pick], tag_q[pick]};
    if (message_q[pick]) begin
      completion.result.source = source_q[pick];
      completion.message_tag   = 32'(message_tag_q[pick]);
      completion.length        = length_q[pick];
    end
    if (atomic_q[pick]) {completion.length, completion.message_tag} = old_q[pick];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || halt) out_valid_q <= 1'b0;
    else if (!out_valid_q || completion_tready_i) out_valid_q <= picks;
    if (!out_valid_q || completion_tready_i) out_q <= completion;
  end

  assign completion_tvalid_o = out_valid_q;
  assign completion_tdata_o  = out_q;

  // ---------------------------------------------------------------- registers that the host reads

  logic [31:0] commands_q, completions_q;
  logic [3:0] outstanding;
  alcor_abi_pkg::kernel_head_t last_q;
  alcor_abi_pkg::rank_kernel_status_t kernel_status;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      commands_q    <= '0;
      completions_q <= '0;
      last_q        <= '0;
    end else begin
      commands_q    <= commands_q + 32'(takes);
      completions_q <= completions_q + 32'(completion_tvalid_o && completion_tready_i && run_q);
      if (takes) last_q <= next.head;
    end
  end

  always_comb begin
    outstanding = '0;
    for (int unsigned i = 0; i < N; i++) outstanding = outstanding + 4'(busy_q[i]);
    kernel_status             = '0;
    kernel_status.present     = 1'b1;
    kernel_status.running     = run_q || start_q;
    kernel_status.done        = done_q;
    kernel_status.code        = code_q;
    kernel_status.outstanding = outstanding;
    kernel_status.limit       = 4'(N);
    kernel_status.beat        = 8'(WIDTH / 8);
  end

  always_comb begin
    unique case (read_offset_i)
      RANK_KERNEL_STATUS_OFFSET:      read_data_o = kernel_status;
      RANK_KERNEL_COMMANDS_OFFSET:    read_data_o = commands_q;
      RANK_KERNEL_COMPLETIONS_OFFSET: read_data_o = completions_q;
      RANK_KERNEL_LAST_OFFSET:        read_data_o = last_q;
      default: begin
        read_data_o = '0;
        for (int unsigned i = 0; i < 8; i++) begin
          if (read_offset_i == RANK_KERNEL_RESULT_OFFSET + 12'(4 * i)) read_data_o = results_i[i];
        end
      end
    endcase
  end

  logic unused;
  assign unused = ^{rank_i.nprocs, control};

  `ALCOR_CHECK_PARAM(g_check_messages, MESSAGES == 0 || MESSAGES >= 2 * N,
                     "kernel_port: MESSAGES must be 16 or more")
  `ALCOR_STABLE(a_command_stable, rank_o.valid, rank_i.ready, {rank_o.opcode, rank_o.data, rank_o.offset, rank_o.address,
                                                                rank_o.length})
  `ALCOR_STABLE_CLK(a_completion_stable, clk_i, rst_ni && !halt && run_q, completion_tvalid_o, completion_tready_i,
                    completion_tdata_o)
  `ALCOR_IMPLIES(a_reply_of_a_command, rank_i.reply.valid, busy_q[rank_i.reply.slot] && !ended_q[rank_i.reply.slot])
  `ALCOR_IMPLIES(a_message_of_a_command, rank_i.message.valid,
                 busy_q[rank_i.message.slot] && !ended_q[rank_i.message.slot])
  `ALCOR_IMPLIES(a_collective_of_a_command, rank_i.collective.valid,
                 busy_q[rank_i.collective.slot] && !ended_q[rank_i.collective.slot])
  `ALCOR_IMPLIES(a_refusal_of_a_command, rank_i.refused.valid,
                 busy_q[rank_i.refused.slot] && !ended_q[rank_i.refused.slot])

  `ALCOR_COVER(c_kernel_all_slots_busy, !free)
  `ALCOR_COVER(c_kernel_reset_with_commands_under_way, halt && (busy_q & ~ended_q) != '0)
  `ALCOR_COVER(c_kernel_send_waits, command_tvalid_i && run_q && !may_send)

endmodule

`include "assertions.svh"

import alcor_abi_pkg::*;

/// Extended commands in EX1: transfers (X_PUT, X_GET, accumulates), atomic operations, messages (X_SEND, X_ANNOUNCE), and
/// commands of the message engine (X_RECEIVE, X_PROBE, X_CANCEL).
///
/// `rma_operands` keeps the operands. A transfer is cut into packets: a cycle to decide how much goes
/// into the next packet, then a header word a cycle; the memory task goes with the last header word. A message is one
/// packet, whose first header word leaves at once. An atomic operation is one packet of header words alone, whose first word
/// leaves at once, too. A command that is refused enters its completion here, and sends nothing.
module rma_transfer #(
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
    parameter bit ACCUMULATE = 1'b1,
    /// 1: commands of a kernel come beside those of the host. Bit 15 of an id then tells the kernel's commands, and the
    /// last KernelCommands ids of messages are the kernel's.
    parameter bit KERNEL = 1'b0
) (
    /// Clock.
    input  logic                           clk_i,
    /// Synchronous reset, active low.
    input  logic                           rst_ni,
    /// This rank's number on the network.
    input  logic [7:0]                     rank_i,
    /// Between BEGIN and END.
    input  logic                           begun_i,
    /// Ranks of the run.
    input  logic [7:0]                     nprocs_i,

    /// An extended command is in EX1.
    input  logic                           valid_i,
    /// Another command, which may be an operand, is in EX1 and done.
    input  logic                           operand_i,
    /// The command in EX1.
    input  alcor_abi_pkg::decoded_t        ex1_i,
    /// Operands of a command of the kernel; they stay until it is done.
    input  alcor_abi_pkg::kernel_to_rank_t kernel_i,
    /// The extended command is done.
    output logic                           done_o,
    /// Pulse: a request has been sent that will be answered once.
    output logic                           asked_o,

    /// EX2 has the request plane's streams.
    input  logic                           blocked_i,
    /// Header word of the request plane.
    output logic                           head_valid_o,
    /// The header word is taken.
    input  logic                           head_ready_i,
    /// The header word.
    output logic [31:0]                    head_o,
    /// Memory read task of the request plane, with a packet's last header word.
    output logic                           task_valid_o,
    /// The task is taken.
    input  logic                           task_ready_i,
    /// The task.
    output alcor_abi_pkg::read_task_t      task_o,
    /// The header word that is offered is its packet's last.
    output logic                           last_o,

    /// Message engine: a command is offered.
    output logic                           engine_valid_o,
    /// The command is taken.
    input  logic                           engine_ready_i,
    /// The command.
    output alcor_abi_pkg::engine_command_t engine_o,
    /// Pulse: `engine_o` announces a message.
    output logic                           announce_o,

    /// A completion of a refused command is offered.
    output logic                           completion_valid_o,
    /// The completion is taken.
    input  logic                           completion_ready_i,
    /// The completion.
    output alcor_abi_pkg::completion_t     completion_o
);

  localparam int unsigned CountW = $clog2(PAYLOAD_WORDS + 1);
  localparam int unsigned BytesW = CountW + 2;

  typedef enum logic [2:0] {
    Cut,      // next packet is sized; header word of a message
    Header,   // checks; header word
    Offset,   // offset, or tag
    Length,   // length
    Address,  // local address, or id
    Operate,  // atomic: id and operation; accumulate: operation and type
    Values    // atomic: value, then value to compare with
  } state_e;

  // ---------------------------------------------------------------- operands

  logic [7:0] opcode;
  logic window_taken;
  alcor_abi_pkg::x_operands_t operands;

  assign opcode = ex1_i.command.opcode;

  rma_operands #(
      .NODE_BYTES(NODE_BYTES),
      .FRAGMENT  (FRAGMENT),
      .KERNEL    (KERNEL)
  ) u_operands (
      .clk_i         (clk_i),
      .rst_ni        (rst_ni),
      .operand_i     (operand_i),
      .ex1_i         (ex1_i),
      .kernel_i      (kernel_i),
      .window_taken_i(window_taken),
      .operands_o    (operands)
  );

  // ---------------------------------------------------------------- which command

  // A transfer goes to a window, a message to another rank's engine, any other command to this rank's engine. Without
  // engines all messages are refused.
  logic is_get, is_transfer, is_atomic, is_message, is_eager, is_cancel, has_buffer, names_rank, id_bad;
  // Of an atomic operation: its word has 64 bits, it compares, its offset is no multiple of its word's size.
  logic is_wide, compares, misaligned;
  alcor_abi_pkg::x_commit_t commit;
  alcor_abi_pkg::x_message_t message;
  logic [7:0] slot;
  // An accumulate that this board can carry out; it fetches the old elements.
  logic is_accumulate, fetches;

  assign commit      = ex1_i.command.data;
  assign message     = ex1_i.command.data;
  assign is_get        = ex1_i.x_get;
  assign is_transfer   = ex1_i.x_transfer;
  assign is_atomic     = ex1_i.atomic;
  assign is_wide       = opcode[4];
  assign compares      = opcode[3:0] == AT_COMPARE_SWAP;
  assign misaligned    = operands.offset[1:0] != 2'd0 || (is_wide && operands.offset[2]);
  assign is_accumulate = ACCUMULATE && ex1_i.accumulate;
  assign fetches       = ACCUMULATE && ex1_i.fetch;
  assign is_eager      = ex1_i.eager;
  assign is_message    = MESSAGES != 0 && ex1_i.message;
  assign is_cancel     = opcode == OP_X_CANCEL;
  assign has_buffer    = opcode != OP_X_PROBE && !is_atomic;
  assign names_rank    = is_transfer || is_atomic || ex1_i.message || !operands.tag.any_source;
  assign slot          = operands.window ? operands.window_slot : commit.slot;

  // The command comes from the kernel, whose messages have no serial numbers.
  logic kernel;
  alcor_abi_pkg::message_id_t message_id;
  logic [15:0] id, own_id;

  assign kernel = KERNEL && ex1_i.command.kernel;
  assign own_id = (ex1_i.message && !kernel) ? 16'(message.id) : commit.id;

  always_comb begin
    message_id        = '0;
    message_id.serial = kernel ? '0 : message.serial;
    message_id.id     = id;
  end

  if (KERNEL) begin : g_kernel
    assign id     = {kernel, own_id[14:0]};
    assign id_bad = MESSAGES == 0 || (32'(own_id) >= MESSAGES - KernelCommands && !kernel);
  end else begin : g_no_kernel
    assign id     = own_id;
    assign id_bad = MESSAGES == 0 || (own_id >> $clog2(MESSAGES)) != '0;
  end

  // ---------------------------------------------------------------- accumulates

  logic [2:0] datatype;
  logic reduction_wide, reduction_bad, reduction_misaligned;

  assign datatype = operands.value[6:4];

  always_comb begin
    reduction_wide = datatype == DT_F64 || datatype == DT_I64 || datatype == DT_U64;
    unique case (operands.value[3:0])
      AC_SUM, AC_MIN, AC_MAX, AC_PROD, AC_REPLACE, AC_NONE: reduction_bad = 1'b0;
      AC_BAND, AC_BOR, AC_BXOR: reduction_bad = datatype == DT_F64 || datatype == DT_F32;
      default: reduction_bad = 1'b1;
    endcase
    if (datatype > DT_U32) reduction_bad = 1'b1;
    reduction_misaligned = operands.offset[1:0] != '0 || operands.length[1:0] != '0 ||
                           (fetches && operands.value[33:32] != '0) ||
                           (reduction_wide && (operands.offset[2] || operands.length[2]));
  end

  // ---------------------------------------------------------------- how much goes into the next packet

  state_e state_d, state_q;
  logic first_d, first_q, last_d, last_q, fits;
  // A bit more than an offset has: a transfer must not come back into the window from above.
  logic [32:0] cut_offset, go_offset_q;
  logic [31:0] cut_laddr, cut_left, go_laddr_q, go_left, go_left_not_q;
  logic [1:0] cut_align, go_align;
  logic [BytesW-1:0] bytes_d, bytes_q, passed;
  logic [BytesW-1:0] aligned;
  alcor_abi_pkg::status_e status_d, status_q;

  assign cut_offset = first_q ? {1'b0, operands.offset} : go_offset_q;
  assign cut_laddr  = first_q ? operands.laddr : go_laddr_q;
  assign cut_left   = first_q ? operands.length : go_left;
  assign go_left    = ~go_left_not_q;
  assign last_d     = fits || !is_transfer;

  // Payload is laid out as it will lie in the memory that it is written to. A message is one packet, whatever is said
  // of its alignment here.
  assign cut_align  = is_get ? cut_laddr[1:0] : cut_offset[1:0];

  segmenter #(
      .PAYLOAD_WORDS(PAYLOAD_WORDS)
  ) u_segmenter (
      .left_i    (cut_left),
      .align_i   (cut_align),
      .last_i    (last_d),
      .fits_o    (fits),
      .bytes_o   (bytes_d),
      .words_o   (),
      .end_lane_o()
  );

  // Causes of a refusal, and whether there is any. The order of the causes takes more levels.
  logic bad_local, bad_length, bad_id, bad_alignment, bad_operation, bad_rank, not_registered, refused;

  assign bad_local      = (operands.beyond && has_buffer) || (fetches && operands.old_beyond);
  assign bad_length     = MESSAGES != 0 && operands.too_long && is_eager;
  assign bad_id         = !is_transfer && !is_atomic && id_bad;
  assign bad_alignment  = (is_atomic && misaligned) || (is_accumulate && reduction_misaligned);
  assign bad_operation  = ex1_i.accumulate && (!ACCUMULATE || reduction_bad);
  assign bad_rank       = (commit.dpid >= nprocs_i || 9'(commit.dpid) >= 9'(DESTS)) && names_rank;
  assign not_registered = operands.window && !operands.window_match && (is_transfer || is_atomic);
  assign refused        = bad_local || bad_length || bad_id || bad_alignment || bad_operation || bad_rank ||
                          not_registered || !begun_i;

  always_comb begin
    status_d = status_q;
    if (first_q) begin
      status_d = ST_OK;
      if (bad_local) status_d = ST_BAD_LOCAL;
      if (bad_length) status_d = ST_BAD_LENGTH;
      if (bad_id) status_d = ST_BAD_ID;
      if (bad_alignment) status_d = ST_BAD_ALIGNMENT;
      if (bad_operation) status_d = ST_BAD_OPERATION;
      if (bad_rank) status_d = ST_BAD_RANK;
      if (not_registered) status_d = ST_NOT_REGISTERED;
      if (!begun_i) status_d = ST_NOT_BEGUN;
    end
  end

  // ---------------------------------------------------------------- header words

  alcor_abi_pkg::x_header_t transfer_header;
  alcor_abi_pkg::message_t message_header;
  alcor_abi_pkg::x_length_t last_length;
  alcor_abi_pkg::x_atomic_t atomic_header;
  alcor_abi_pkg::x_operation_t operation;
  // Values that are still to be sent: an atomic operation's value and the value that it compares with.
  logic [1:0] value_d, value_q;
  logic last_value;

  always_comb begin
    transfer_header        = '0;
    transfer_header.dpid   = commit.dpid;
    transfer_header.ptype  = is_get ? PT_XGET : PT_XPUT;
    transfer_header.last   = last_q;
    transfer_header.beyond = go_offset_q[32];
    transfer_header.message = is_accumulate;
    transfer_header.high    = {fetches, 1'b0};
    transfer_header.src    = rank_i;
    transfer_header.slot   = slot;

    message_header          = '0;
    message_header.dpid     = commit.dpid;
    message_header.ptype    = PT_MESSAGE;
    message_header.announce = !is_eager;
    message_header.src      = rank_i;
    message_header.context_ = message.context_;

    last_length.id     = id;
    last_length.length = go_left[15:0];

    atomic_header         = '0;
    atomic_header.dpid    = commit.dpid;
    atomic_header.ptype   = PT_XGET;
    atomic_header.last    = 1'b1;
    atomic_header.compare = compares;
    atomic_header.atomic  = 1'b1;
    atomic_header.wide    = is_wide;
    atomic_header.src     = rank_i;
    atomic_header.slot    = slot;

    operation = {id, 12'd0, opcode[3:0]};
  end

  // Words of the values, in the order in which they are sent: bit 1 chooses the value, bit 0 its half.
  assign last_value = value_q == {compares, is_wide};

  // ---------------------------------------------------------------- states

  logic step, sends, final_word, with_task;
  logic [31:0] value_word;
  // Address of the old elements, less the offset of the first element.
  logic [31:0] old_from_q;

  assign value_word = 32'((value_q[1] ? operands.compare : operands.value) >> {value_q[0], 5'd0});

  // Of no meaning while no header word is offered.
  always_comb begin
    unique case (state_q)
      Cut:     head_o = is_message ? message_header : atomic_header;
      Header:  head_o = transfer_header;
      Offset:  head_o = is_message ? 32'(operands.tag.tag) : go_offset_q[31:0];
      Length:  head_o = (last_q && is_transfer) ? last_length : go_left;
      Address: head_o = is_message ? message_id : is_accumulate ? go_offset_q[31:0] + old_from_q : go_laddr_q;
      Operate: head_o = is_accumulate ? 32'(operands.value[ReductionW-2:0]) : operation;
      default: head_o = value_word;
    endcase
  end

  always_comb begin
    state_d     = state_q;
    first_d     = first_q;
    sends       = 1'b0;
    final_word  = 1'b0;
    step        = 1'b0;
    done_o      = 1'b0;
    announce_o  = 1'b0;
    engine_valid_o     = 1'b0;
    completion_valid_o = 1'b0;
    value_d            = value_q;
    if (valid_i) begin
      unique case (state_q)
        Cut: begin
          step        = 1'b1;
          state_d     = Header;
          if ((is_message || is_atomic) && !refused) begin
            sends      = 1'b1;
            state_d    = Offset;
            announce_o = is_message && !is_eager;
          end
        end
        Header: begin
          if (is_cancel) begin
            // A receive that cannot be there has nothing to be cancelled.
            engine_valid_o = begun_i && !id_bad;
            done_o         = engine_ready_i || !engine_valid_o;
          end else if (status_q != ST_OK) begin
            completion_valid_o = 1'b1;
            done_o             = completion_ready_i;
          end else if (!is_transfer) begin
            engine_valid_o = 1'b1;
            done_o         = engine_ready_i;
          end else begin
            sends   = 1'b1;
            state_d = Offset;
          end
        end
        Offset: begin
          sends   = 1'b1;
          state_d = is_atomic ? Operate : Length;
        end
        Length: begin
          sends      = 1'b1;
          state_d    = is_accumulate ? Operate : Address;
          final_word = !is_get && !is_message && !is_accumulate;
        end
        Address: begin
          sends      = 1'b1;
          final_word = 1'b1;
        end
        Operate: begin
          sends      = 1'b1;
          state_d    = is_accumulate ? Address : Values;
          final_word = is_accumulate && !fetches;
          value_d    = '0;
        end
        Values: begin
          sends      = 1'b1;
          final_word = last_value;
        end
        default: state_d = Cut;
      endcase
      if (sends) step = head_ready_i && !blocked_i && (!with_task || task_ready_i);
      if (final_word) begin
        state_d = Cut;
        if (step) done_o = last_q;
      end
      // A word of 32 bits has no upper half.
      if (state_q == Values && step) value_d = is_wide ? value_q + 2'd1 : {1'b1, 1'b0};
      if (step) first_d = 1'b0;
      if (done_o) first_d = 1'b1;
    end
  end

  // Bytes by which a transfer moves on, with a packet's last word. In `Cut` the registers take the operands, or stay.
  assign passed = (state_q == Cut) ? '0 : bytes_q;

  assign window_taken = (is_transfer || is_atomic) && done_o && !kernel;
  assign asked_o      = final_word && step && last_q;

  assign with_task    = (is_atomic && EARLY) ? (sends && state_q == Cut) : final_word;
  assign head_valid_o = sends && (!with_task || task_ready_i);
  assign task_valid_o = with_task && head_ready_i;
  assign last_o       = final_word;

  // Words of payload are counted behind the register, where there is time for it. An XGET and an announcement carry
  // no payload.
  assign go_align = is_transfer ? go_offset_q[1:0] : 2'd0;
  assign aligned  = bytes_q + BytesW'(go_align) + BytesW'(3);

  always_comb begin
    task_o.heads = (is_get || is_message) ? 3'd4 : is_accumulate ? 3'd4 + 3'(fetches) : 3'd3;
    if (is_atomic) task_o.heads = 3'd3 + ((compares ? 3'd2 : 3'd1) << is_wide);
    task_o.words = 13'(aligned[BytesW-1:2]);
    if (is_get || (is_message && !is_eager) || is_atomic || bytes_q == '0) task_o.words = '0;
    // An atomic operation reads nothing; its task may be offered before the registers hold its operands.
    task_o.address = is_atomic ? '0 : go_laddr_q;
    task_o.lane    = go_align;
  end

  assign completion_o.status = status_q;
  assign completion_o.id     = id;

  assign engine_o.command  = is_cancel ? McCancel : (opcode == OP_X_PROBE) ? McProbe : McReceive;
  assign engine_o.rank     = message.rank;
  assign engine_o.context_ = message.context_;
  assign engine_o.id       = 16'(message.id);
  assign engine_o.tag      = operands.tag;
  assign engine_o.buffer   = {operands.laddr, operands.length};

  always_ff @(posedge clk_i) begin
    if (state_q == Cut || (final_word && step)) begin
      go_offset_q <= cut_offset + 33'(passed);
      go_laddr_q  <= cut_laddr + 32'(passed);
      // The complement, of which an addition makes the count less: ~(left - passed).
      go_left_not_q <= ~cut_left + 32'(passed);
    end
    value_q     <= value_d;
    if (state_q == Cut) begin
      old_from_q <= operands.value[63:32] - operands.offset;
      last_q   <= last_d;
      bytes_q  <= bytes_d;
      status_q <= status_d;
    end
    if (!rst_ni) begin
      state_q <= Cut;
      first_q <= 1'b1;
    end else begin
      first_q <= first_d;
      if (done_o) state_q <= Cut;
      else if (step) state_q <= state_d;
    end
  end

  `ALCOR_CHECK_PARAM(g_check_payload,
                     (PAYLOAD_WORDS & (PAYLOAD_WORDS - 1)) == 0 && PAYLOAD_WORDS >= 16 &&
                     PAYLOAD_WORDS <= 4096,
                     "rma_transfer: PAYLOAD_WORDS must be a power of two, 16 to 4096")
  `ALCOR_CHECK_PARAM(g_check_fragment, MESSAGES == 0 || FRAGMENT <= 4 * PAYLOAD_WORDS,
                     "rma_transfer: an eager message must fit into a packet")
  `ALCOR_IMPLIES(a_operands_first, first_q, state_q == Cut)
  `ALCOR_IMPLIES(a_refused, valid_i && first_q, refused == (status_d != ST_OK))
  // A task and one of its packet's header words go together, so that tasks and headers stay in step.
  `ALCOR_IMPLIES(a_task_with_head, task_valid_o && task_ready_i, head_valid_o && head_ready_i)

endmodule

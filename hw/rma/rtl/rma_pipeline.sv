`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_nic_pkg::*;

/// The coprocessor's five-stage pipeline: IF, ID, OR, EX1, EX2.
///
/// IF takes a command from the Instruction and Data FIFOs; ID decodes it and looks its operand up
/// in the registration table's CAM; OR has the answer and takes the Data8 operands; EX1 checks the
/// command and sends a packet's first header word; EX2 sends its second word and the memory task.
/// The paper's PUT and GET are two commands long and use both execution stages; all others are done
/// in EX1. Extended commands stay in EX1 and cut their transfer into packets there, a header word a
/// cycle; a message is one packet. Receives, probes and cancellations go from EX1 to the message engine.
/// Collective commands (BARRIER, REGISTER, DEREGISTER) wait in EX1 until `sync_fire_i`.
///
/// Stages are valid/ready: a stage moves when the next is free or moves itself.
module rma_pipeline #(
    /// Slots of the registration table.
    parameter int unsigned SLOTS = 32,
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
    /// Width of a slot number; derived, not to be set.
    localparam int unsigned SlotW = $clog2(SLOTS),
    /// Width of a task's word count; derived, not to be set.
    localparam int unsigned CountW = $clog2(PAYLOAD_WORDS + 1)
) (
    /// Clock.
    input  logic              clk_i,
    /// Synchronous reset, active low.
    input  logic              rst_ni,
    /// This rank's number on the network, which its packets carry as their source.
    input  logic [7:0]        rank_i,
    /// The rank is being reset: commands are taken and dropped, but for the one that sends packets.
    input  logic              drain_i,
    /// Pulse: another rank of the board that had begun is reset.
    input  logic              peer_lost_i,
    /// Since this rank has begun, one was: collective commands end at once.
    output logic              orphaned_o,
    /// Pulse: a request has been sent that will be answered once.
    output logic              asked_o,

    /// Instruction and Data FIFO: a command is offered.
    input  logic              command_valid_i,
    /// The command is taken.
    output logic              command_ready_o,
    /// Its opcode.
    input  logic [7:0]        command_opcode_i,
    /// Its operand.
    input  logic [31:0]       command_data_i,
    /// Data8 FIFO: an entry is offered.
    input  logic              data8_valid_i,
    /// The entry is taken.
    output logic              data8_ready_o,
    /// dpid, len, off.
    input  logic [23:0]       data8_i,

    /// Registration table: it is cleared and answers.
    input  logic              table_ready_i,
    /// CAM lookup.
    output logic              lookup_o,
    /// Base address looked up.
    output logic [31:0]       lookup_key_o,
    /// A slot has this base.
    input  logic              match_i,
    /// The slot.
    input  logic [SlotW-1:0]  match_slot_i,
    /// No slot is vacant.
    input  logic              table_full_i,
    /// The next vacant slot.
    input  logic [SlotW-1:0]  next_slot_i,
    /// Registration or deregistration under way.
    output logic              op_valid_o,
    /// 1: deregistration.
    output logic              op_deregister_o,
    /// Its base address.
    output logic [31:0]       op_base_o,
    /// Registration: size in bytes.
    output logic [31:0]       op_size_o,
    /// Registration: denied rights.
    output logic [1:0]        op_deny_o,
    /// Commit it.
    output logic              op_commit_o,

    /// Head FIFO of the request plane: a header word.
    output logic              head_valid_o,
    /// The word is taken.
    input  logic              head_ready_i,
    /// The word.
    output logic [31:0]       head_o,
    /// Memory read task of the request plane.
    output logic              task_valid_o,
    /// The task is taken.
    input  logic              task_ready_i,
    /// Header words that go before its data.
    output logic [2:0]        task_heads_o,
    /// Payload words.
    output logic [CountW-1:0] task_words_o,
    /// Byte address in node memory of the first payload word's byte 0.
    output logic [31:0]       task_address_o,

    /// Message engine: a command.
    output logic              message_valid_o,
    /// It is taken.
    input  logic              message_ready_i,
    /// One of message_command_e.
    output logic [1:0]        message_command_o,
    /// Its source.
    output logic [7:0]        message_rank_o,
    /// Its context.
    output logic [7:0]        message_context_o,
    /// x_tag.
    output logic [31:0]       message_tag_o,
    /// Byte address of its buffer.
    output logic [31:0]       message_address_o,
    /// Bytes of its buffer.
    output logic [31:0]       message_length_o,
    /// Its id.
    output logic [15:0]       message_id_o,
    /// Pulse: a message in this buffer is announced under this id.
    output logic              announce_o,

    /// A command was refused here: its completion.
    output logic              completion_valid_o,
    /// The completion is taken.
    input  logic              completion_ready_i,
    /// Its status.
    output logic [4:0]        completion_status_o,
    /// Its id.
    output logic [15:0]       completion_id_o,

    /// At a collective command.
    output logic              sync_valid_o,
    /// Which: sync_kind_e.
    output logic [1:0]        sync_kind_o,
    /// This rank's verdict on it.
    output logic [4:0]        sync_status_o,
    /// The slot it is about.
    output logic [7:0]        sync_slot_o,
    /// Alternates from one collective command to the next.
    output logic              sync_phase_o,
    /// All ranks are at the collective command of `sync_fire_phase_i`.
    input  logic              sync_fire_i,
    /// The phase it is for.
    input  logic              sync_fire_phase_i,
    /// The verdict of all ranks.
    input  logic [4:0]        sync_verdict_i,
    /// BARRIER_DONE is not yet acknowledged: the next BARRIER waits.
    input  logic              barrier_pending_i,

    /// Ranks of the run.
    output logic [7:0]        nprocs_o,
    /// Between BEGIN and END.
    output logic              begun_o,
    /// Pulse: a command left the Instruction FIFO.
    output logic              retired_o,
    /// Pulse: a barrier has ended.
    output logic              barrier_done_o,
    /// Pulse: a registration or deregistration has ended, with `result_*_o`.
    output logic              result_valid_o,
    /// Its outcome.
    output logic [4:0]        result_status_o,
    /// Its slot.
    output logic [7:0]        result_slot_o,
    /// Pulse, with `barrier_done_o`: the ranks met in different collective operations.
    output logic              mismatch_o,
    /// Pulse: a command without completion was refused, with `refused_*_o`.
    output logic              refused_o,
    /// Why.
    output logic [4:0]        refused_status_o,
    /// Its opcode.
    output logic [7:0]        refused_opcode_o,
    /// Pulse: an opcode that does not exist, or a paper command's second write is missing.
    output logic              bad_opcode_o,
    /// Commands are in the pipeline.
    output logic              busy_o,
    /// A packet's second word and memory task are still to be sent.
    output logic              sending_o
);

  localparam int unsigned PayloadBytes = 4 * PAYLOAD_WORDS;

  // ---------------------------------------------------------------- IF -> ID

  logic id_valid_q;
  logic [7:0] id_opcode_q;
  logic [31:0] id_data_q;
  logic id_free, or_free, ex1_free, ex2_free;
  logic id_moves, or_moves;

  assign command_ready_o = (id_free && table_ready_i) || drain_i;
  assign retired_o       = command_valid_i && command_ready_o;
  assign id_free         = !id_valid_q || id_moves;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      id_valid_q <= 1'b0;
    end else if (id_free || drain_i) begin
      id_valid_q <= retired_o && !drain_i;
    end
    if (id_free) begin
      id_opcode_q <= command_opcode_i;
      id_data_q   <= command_data_i;
    end
  end

  // ---------------------------------------------------------------- ID -> OR

  logic or_valid_q, or_second_q;
  logic [7:0] or_opcode_q;
  logic [31:0] or_data_q;
  logic id_two_word, id_looks_up, id_blocked, id_broken;
  logic second_d, second_q;
  logic [7:0] first_opcode_q;
  logic id_changes_table, or_changes_table, ex1_changes_table;

  // A second write of another opcode than the first: the pair is broken, the new command stands.
  assign id_broken   = second_q && id_opcode_q != first_opcode_q;
  assign id_two_word = id_opcode_q == OP_PUT_1 || id_opcode_q == OP_PUT_N || id_opcode_q == OP_GET;
  assign id_changes_table = id_opcode_q == OP_REGISTER || id_opcode_q == OP_DEREGISTER;
  assign id_looks_up = id_two_word || id_changes_table || id_opcode_q == OP_X_WINDOW;
  // A lookup must not pass a change of the table that is still under way.
  assign id_blocked  = id_looks_up && (or_changes_table || ex1_changes_table);
  assign id_moves    = id_valid_q && !id_blocked && or_free;
  assign second_d    = id_two_word && !(second_q && !id_broken);

  assign lookup_o     = id_moves && id_looks_up;
  assign lookup_key_o = {id_data_q[31:2], 2'b00};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      or_valid_q <= 1'b0;
      second_q   <= 1'b0;
    end else begin
      if (or_free || drain_i) or_valid_q <= id_moves && !drain_i;
      if (id_moves) second_q <= second_d;
    end
    if (id_moves) begin
      first_opcode_q <= id_opcode_q;
      or_opcode_q    <= id_opcode_q;
      or_data_q      <= id_data_q;
      or_second_q    <= second_q && !id_broken;
    end
  end

  // ---------------------------------------------------------------- OR -> EX1

  logic ex1_valid_q, ex1_second_q, ex1_match_q;
  logic [7:0] ex1_opcode_q;
  logic [31:0] ex1_data_q;
  logic [SlotW-1:0] ex1_match_slot_q;
  logic [7:0] ex1_dpid_q, ex1_len_q, ex1_off_q;
  logic ex1_done;

  assign or_changes_table = or_valid_q &&
                            (or_opcode_q == OP_REGISTER || or_opcode_q == OP_DEREGISTER);
  assign or_moves         = or_valid_q && ex1_free && (!or_second_q || data8_valid_i);
  assign or_free          = !or_valid_q || or_moves;
  assign data8_ready_o    = (or_moves && or_second_q) || drain_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ex1_valid_q <= 1'b0;
    end else if (ex1_free) begin
      ex1_valid_q <= or_moves && !drain_i;
    end
    if (or_moves) begin
      ex1_opcode_q                        <= or_opcode_q;
      ex1_data_q                          <= or_data_q;
      ex1_second_q                        <= or_second_q;
      ex1_match_q                         <= match_i;
      ex1_match_slot_q                    <= match_slot_i;
      {ex1_dpid_q, ex1_len_q, ex1_off_q} <= data8_i;
    end
  end

  assign ex1_changes_table = ex1_valid_q &&
                             (ex1_opcode_q == OP_REGISTER || ex1_opcode_q == OP_DEREGISTER);
  assign ex1_free          = !ex1_valid_q || ex1_done;

  // ---------------------------------------------------------------- state set by commands

  logic [7:0] nprocs_q;
  logic begun_q, phase_q;
  logic size_given_q;
  logic [31:0] size_q;
  logic [31:0] x_offset_q, x_laddr_q, x_length_q, x_tag_q;
  logic x_window_q, x_window_match_q;
  logic [7:0] x_window_slot_q;
  logic first_match_q;
  logic [7:0] first_slot_q;
  logic fires, x_taken, orphaned_q, ends_orphaned;
  logic [7:0] ex1_slot;

  assign ex1_slot = 8'(ex1_match_slot_q);

  always_ff @(posedge clk_i) begin
    if (ex1_valid_q && ex1_done) begin
      unique case (ex1_opcode_q)
        OP_SET_NPROCS:  nprocs_q <= ex1_data_q[7:0];
        OP_WINDOW_SIZE: size_q <= ex1_data_q;
        OP_X_OFFSET:    x_offset_q <= ex1_data_q;
        OP_X_LADDR:     x_laddr_q <= ex1_data_q;
        OP_X_LENGTH:    x_length_q <= ex1_data_q;
        OP_X_TAG:       x_tag_q <= ex1_data_q;
        OP_X_WINDOW: begin
          x_window_match_q <= ex1_match_q;
          x_window_slot_q  <= ex1_slot;
        end
        OP_PUT_1, OP_PUT_N, OP_GET: begin
          if (!ex1_second_q) begin
            first_match_q <= ex1_match_q;
            first_slot_q  <= ex1_slot;
          end
        end
        default: ;
      endcase
    end
    if (!rst_ni) begin
      nprocs_q     <= 8'd1;
      begun_q      <= 1'b0;
      phase_q      <= 1'b0;
      size_given_q <= 1'b0;
      x_window_q   <= 1'b0;
      orphaned_q   <= 1'b0;
    end else begin
      if (peer_lost_i && begun_q) orphaned_q <= 1'b1;
      else if (ex1_valid_q && ex1_opcode_q == OP_BEGIN_RUN) orphaned_q <= 1'b0;
    end
    if (rst_ni && ex1_valid_q && ex1_done) begin
      if (ex1_opcode_q == OP_BEGIN_RUN) begin
        begun_q <= 1'b1;
        phase_q <= 1'b0;
      end
      if (ex1_opcode_q == OP_END_RUN) begun_q <= 1'b0;
      if (ex1_opcode_q == OP_WINDOW_SIZE) size_given_q <= 1'b1;
      if (ex1_opcode_q == OP_REGISTER) size_given_q <= 1'b0;
      if (ex1_opcode_q == OP_X_WINDOW) x_window_q <= 1'b1;
      if (x_taken) x_window_q <= 1'b0;
      if (fires) phase_q <= !phase_q;
    end
  end

  assign nprocs_o   = nprocs_q;
  assign begun_o    = begun_q;
  assign orphaned_o = orphaned_q;

  // ---------------------------------------------------------------- EX1: what kind of command

  logic is_sync, is_pair, is_x, is_known;
  logic pair_refused, sync_refused, pid_refused;
  logic [4:0] pair_status;
  logic [32:0] pair_end;
  logic pair_sends, pair_done, sync_done, x_done;
  logic ex1_sends_head;

  always_comb begin
    is_sync  = 1'b0;
    is_pair  = 1'b0;
    is_x     = 1'b0;
    is_known = 1'b1;
    unique case (ex1_opcode_q)
      OP_BARRIER, OP_REGISTER, OP_DEREGISTER: is_sync = 1'b1;
      OP_PUT_1, OP_PUT_N, OP_GET: is_pair = ex1_second_q;
      OP_X_PUT, OP_X_GET, OP_X_SEND, OP_X_ANNOUNCE, OP_X_RECEIVE, OP_X_PROBE, OP_X_CANCEL: is_x = 1'b1;
      OP_SET_PID, OP_SET_NPROCS, OP_BEGIN_RUN, OP_END_RUN, OP_WINDOW_SIZE, OP_X_OFFSET,
      OP_X_LADDR, OP_X_LENGTH, OP_X_WINDOW, OP_X_TAG: ;
      default: is_known = 1'b0;
    endcase
  end

  always_comb begin
    ex1_done = 1'b1;
    if (is_sync) ex1_done = sync_done;
    if (is_pair) ex1_done = pair_done;
    if (is_x) ex1_done = x_done;
  end

  assign bad_opcode_o = (ex1_valid_q && ex1_done && !is_known) || (id_moves && id_broken);

  // ---------------------------------------------------------------- EX1: the paper's PUT and GET

  logic [2:0] pair_type;
  logic [4:0] pair_length;
  logic [7:0] pair_slot;

  always_comb begin
    pair_end    = {1'b0, ex1_data_q} + 33'({ex1_len_q, 2'b00});
    pair_status = ST_OK;
    if (ex1_opcode_q == OP_PUT_N && pair_end > 33'(NODE_BYTES)) pair_status = ST_BAD_LOCAL;
    if (ex1_len_q == '0 || ex1_len_q > 8'd30) pair_status = ST_BAD_LENGTH;
    // PUT-1 is for one word, PUT-n for more.
    if (ex1_opcode_q == OP_PUT_1 && ex1_len_q != 8'd1) pair_status = ST_BAD_LENGTH;
    if (ex1_opcode_q == OP_PUT_N && ex1_len_q == 8'd1) pair_status = ST_BAD_LENGTH;
    if (ex1_dpid_q >= nprocs_q || 9'(ex1_dpid_q) >= 9'(DESTS)) pair_status = ST_BAD_RANK;
    if (!first_match_q || (ex1_opcode_q == OP_GET && !ex1_match_q)) begin
      pair_status = ST_NOT_REGISTERED;
    end
    if (!begun_q) pair_status = ST_NOT_BEGUN;
  end

  assign pair_refused = pair_status != ST_OK;
  assign pair_sends   = ex1_valid_q && is_pair && !pair_refused;
  assign pair_done    = pair_refused || (ex2_free && head_ready_i && !sending_o);
  assign pair_type    = (ex1_opcode_q == OP_GET) ? PT_GET :
                        (ex1_opcode_q == OP_PUT_1) ? PT_PUT_1 : PT_PUT_N;
  assign pair_length  = (ex1_opcode_q == OP_PUT_N) ? ex1_len_q[4:0] + 5'd1 : 5'd2;
  // A PUT names the window it writes to, a GET's first word the one it reads from.
  assign pair_slot    = (ex1_opcode_q == OP_GET) ? ex1_slot : first_slot_q;

  // A rank can't take another's number: answers would go to memory that did not ask for them.
  assign pid_refused      = ex1_opcode_q == OP_SET_PID && ex1_data_q[7:0] != rank_i;
  assign sync_refused     = is_sync && !begun_q;
  assign refused_o        = ex1_valid_q &&
                            ((is_pair && pair_refused) || sync_refused || pid_refused);

  always_comb begin
    refused_status_o = ST_NOT_BEGUN;
    if (is_pair) refused_status_o = pair_status;
    if (pid_refused) refused_status_o = ST_BAD_RANK;
  end

  assign refused_opcode_o = ex1_opcode_q;

  // ---------------------------------------------------------------- EX1: collective commands

  logic range_bad;
  logic [31:0] op_base;
  logic [32:0] op_end;

  assign op_base = {ex1_data_q[31:2], 2'b00};

  always_comb begin
    op_end    = {1'b0, op_base} + (size_given_q ? {1'b0, size_q} : 33'd0);
    range_bad = op_end > 33'(NODE_BYTES);
  end

  assign op_valid_o      = ex1_changes_table && !sync_refused;
  assign op_deregister_o = ex1_opcode_q == OP_DEREGISTER;
  assign op_base_o       = op_base;
  assign op_size_o       = size_given_q ? size_q : 32'(NODE_BYTES) - op_base;
  assign op_deny_o       = ex1_data_q[1:0];

  logic sync_waits;

  assign sync_waits    = ex1_opcode_q == OP_BARRIER && barrier_pending_i;
  assign sync_valid_o  = ex1_valid_q && is_sync && begun_q && !sync_waits && !orphaned_q && !drain_i;
  // Nobody will come who could end it: it ends here, and says so.
  assign ends_orphaned = ex1_valid_q && is_sync && begun_q && !sync_waits && orphaned_q && !drain_i;
  assign sync_phase_o = phase_q;
  assign fires        = sync_valid_o && sync_fire_i && sync_fire_phase_i == phase_q;
  assign sync_done    = fires || sync_refused || ends_orphaned || drain_i;
  assign op_commit_o  = fires && ex1_changes_table && sync_verdict_i == ST_OK;

  always_comb begin
    sync_kind_o   = SK_BARRIER;
    sync_status_o = ST_OK;
    sync_slot_o   = '0;
    if (ex1_opcode_q == OP_REGISTER) begin
      sync_kind_o = SK_REGISTER;
      sync_slot_o = 8'(next_slot_i);
      if (range_bad) sync_status_o = ST_BAD_RANGE;
      if (table_full_i) sync_status_o = ST_TABLE_FULL;
      if (ex1_match_q) sync_status_o = ST_DUPLICATE;
    end
    if (ex1_opcode_q == OP_DEREGISTER) begin
      sync_kind_o = SK_DEREGISTER;
      sync_slot_o = ex1_slot;
      if (!ex1_match_q) sync_status_o = ST_NOT_REGISTERED;
    end
  end

  // A barrier that met something else ends too, and says so: the host must not wait for it.
  assign barrier_done_o  = (fires || ends_orphaned) && ex1_opcode_q == OP_BARRIER;
  assign mismatch_o      = barrier_done_o && (ends_orphaned || sync_verdict_i != ST_OK);
  assign result_valid_o  = ex1_changes_table && sync_done;
  assign result_status_o = sync_refused ? ST_NOT_BEGUN : orphaned_q ? ST_RANK_RESET : sync_verdict_i;
  assign result_slot_o   = sync_slot_o;

  // ---------------------------------------------------------------- EX1: extended commands

  typedef enum logic [2:0] {
    XCut,
    XHead,
    XOffset,
    XLength,
    XLaddr
  } x_state_e;

  x_state_e x_state_d, x_state_q;
  logic x_first_d, x_first_q;
  logic x_is_get, x_last_d, x_last_q;
  logic [31:0] cut_laddr, cut_left;
  // A bit more than an offset has: a command must not come back into the window from above.
  logic [32:0] cut_offset, go_offset_d, go_offset_q;
  logic [31:0] go_laddr_d, go_laddr_q, go_left_d, go_left_q;
  logic [1:0] cut_align;
  logic [CountW+2:0] cut_aligned;
  logic [32:0] local_end;
  logic [CountW+1:0] piece_d, piece_q;
  logic [CountW+1:0] piece_aligned;
  logic [4:0] x_status_d, x_status_q;
  logic x_step, x_head_valid, x_task_valid, x_final;
  logic [31:0] x_head;
  logic [7:0] x_slot, x_dpid;
  // A transfer goes to a window, a message to whoever matches it, anything else to this rank's engine.
  logic x_is_transfer, x_is_message, x_is_eager, x_is_cancel, x_has_buffer, x_names_rank, x_id_bad;
  logic [15:0] x_id;

  assign x_is_transfer = ex1_opcode_q == OP_X_PUT || ex1_opcode_q == OP_X_GET;
  assign x_is_eager    = ex1_opcode_q == OP_X_SEND;
  assign x_is_message  = x_is_eager || ex1_opcode_q == OP_X_ANNOUNCE;
  assign x_is_cancel   = ex1_opcode_q == OP_X_CANCEL;
  assign x_has_buffer  = ex1_opcode_q != OP_X_PROBE;
  assign x_names_rank  = x_is_transfer || x_is_message || !x_tag_q[X_TAG_ANY_SOURCE_LSB];
  assign x_id          = ex1_data_q[X_COMMIT_ID_LSB+:X_COMMIT_ID_W];
  assign x_id_bad      = MESSAGES == 0 || (x_id >> $clog2(MESSAGES)) != '0;
  assign x_is_get = ex1_opcode_q == OP_X_GET;
  assign x_dpid   = ex1_data_q[X_COMMIT_DPID_LSB+:X_COMMIT_DPID_W];
  assign x_slot   = x_window_q ? x_window_slot_q : ex1_data_q[X_COMMIT_SLOT_LSB+:X_COMMIT_SLOT_W];

  // XCut decides on one packet: how much of what is left goes into it.
  always_comb begin
    cut_offset  = x_first_q ? {1'b0, x_offset_q} : go_offset_q;
    cut_laddr   = x_first_q ? x_laddr_q : go_laddr_q;
    cut_left    = x_first_q ? x_length_q : go_left_q;
    // Payload is laid out as it will lie in the memory that it is written to.
    // Of what is no transfer nothing looks at it.
    cut_align   = x_is_get ? cut_laddr[1:0] : cut_offset[1:0];
    // Of the low bits alone: whether a higher one is set is known before their sum.
    cut_aligned = {1'b0, cut_left[CountW+1:0]} + (CountW + 3)'(cut_align);
    x_last_d    = x_last_q;
    piece_d     = piece_q;
    x_status_d  = x_status_q;
    local_end   = {1'b0, x_laddr_q} + {1'b0, x_length_q};
    if (x_state_q == XCut) begin
      x_last_d = (cut_left[31:CountW+2] == '0 && cut_aligned <= (CountW + 3)'(PayloadBytes)) || !x_is_transfer;
      piece_d  = x_last_d ? cut_left[CountW+1:0] : (CountW + 2)'(PayloadBytes) -
                 (CountW + 2)'(cut_align);
      if (x_first_q) begin
        x_status_d = ST_OK;
        if (local_end > 33'(NODE_BYTES) && x_has_buffer) x_status_d = ST_BAD_LOCAL;
        if (x_is_eager && x_length_q > 32'(FRAGMENT)) x_status_d = ST_BAD_LENGTH;
        if (!x_is_transfer && x_id_bad) x_status_d = ST_BAD_ID;
        if ((x_dpid >= nprocs_q || 9'(x_dpid) >= 9'(DESTS)) && x_names_rank) x_status_d = ST_BAD_RANK;
        if (x_window_q && !x_window_match_q && x_is_transfer) x_status_d = ST_NOT_REGISTERED;
        if (!begun_q) x_status_d = ST_NOT_BEGUN;
      end
    end
  end

  always_comb begin
    x_state_d    = x_state_q;
    x_first_d    = x_first_q;
    x_head_valid = 1'b0;
    x_task_valid = 1'b0;
    x_final      = 1'b0;
    x_head       = '0;
    x_step       = 1'b0;
    x_done       = 1'b0;
    announce_o      = 1'b0;
    message_valid_o = 1'b0;
    go_offset_d  = go_offset_q;
    go_laddr_d   = go_laddr_q;
    go_left_d    = go_left_q;
    completion_valid_o = 1'b0;
    if (ex1_valid_q && is_x) begin
      unique case (x_state_q)
        XCut: begin
          x_step      = 1'b1;
          x_state_d   = XHead;
          go_offset_d = cut_offset;
          go_laddr_d  = cut_laddr;
          go_left_d   = cut_left;
        end
        XHead: begin
          if (x_is_cancel) begin
            // A receive that cannot be there has nothing to be cancelled.
            message_valid_o = begun_q && !x_id_bad;
            x_done          = message_ready_i || !message_valid_o;
          end else if (x_status_q != ST_OK) begin
            completion_valid_o = 1'b1;
            x_done             = completion_ready_i;
          end else if (!x_is_transfer && !x_is_message) begin
            message_valid_o = 1'b1;
            x_done          = message_ready_i;
          end else begin
            x_head_valid = 1'b1;
            x_state_d    = XOffset;
            announce_o   = x_is_message && !x_is_eager;
          end
          x_head[X_HEADER_DPID_LSB+:X_HEADER_DPID_W] = x_dpid;
          x_head[X_HEADER_PTYPE_LSB+:X_HEADER_PTYPE_W] = x_is_get ? PT_XGET : PT_XPUT;
          x_head[X_HEADER_LAST_LSB] = x_last_q;
          x_head[X_HEADER_BEYOND_LSB] = go_offset_q[32];
          x_head[X_HEADER_SRC_LSB+:X_HEADER_SRC_W] = rank_i;
          x_head[X_HEADER_SLOT_LSB+:X_HEADER_SLOT_W] = x_slot;
          if (x_is_message) begin
            x_head                                     = '0;
            x_head[MESSAGE_DPID_LSB+:MESSAGE_DPID_W]   = x_dpid;
            x_head[MESSAGE_PTYPE_LSB+:MESSAGE_PTYPE_W] = PT_MESSAGE;
            x_head[MESSAGE_ANNOUNCE_LSB]               = !x_is_eager;
            x_head[MESSAGE_SRC_LSB+:MESSAGE_SRC_W]     = rank_i;
            x_head[MESSAGE_CONTEXT_LSB+:MESSAGE_CONTEXT_W] = message_context_o;
          end
        end
        XOffset: begin
          x_head_valid = 1'b1;
          x_head       = x_is_message ? 32'(x_tag_q[X_TAG_TAG_LSB+:X_TAG_TAG_W]) : go_offset_q[31:0];
          x_state_d    = XLength;
        end
        XLength: begin
          x_head_valid = 1'b1;
          x_head       = (x_last_q && x_is_transfer) ? {x_id, go_left_q[15:0]} : go_left_q;
          x_state_d    = XLaddr;
          x_final      = !x_is_get && !x_is_message;
        end
        XLaddr: begin
          x_head_valid = 1'b1;
          x_head       = x_is_message ? 32'(x_id) : go_laddr_q;
          x_final      = 1'b1;
        end
        default: x_state_d = XCut;
      endcase
      x_task_valid = x_final;
      if (x_head_valid) begin
        x_step = head_ready_i && !sending_o && (!x_final || task_ready_i);
      end
      if (x_final) begin
        x_state_d = XCut;
        if (x_step) begin
          go_offset_d = go_offset_q + 33'(piece_q);
          go_laddr_d  = go_laddr_q + 32'(piece_q);
          go_left_d   = go_left_q - 32'(piece_q);
          x_done      = x_last_q;
        end
      end
      if (x_step) x_first_d = 1'b0;
      if (x_done) x_first_d = 1'b1;
    end
  end

  assign x_taken             = is_x && x_is_transfer && x_done;
  assign asked_o             = x_final && x_step && x_last_q;
  assign completion_status_o = x_status_q;
  assign completion_id_o     = x_id;

  assign message_command_o = x_is_cancel ? McCancel : (ex1_opcode_q == OP_X_PROBE) ? McProbe : McReceive;
  assign message_rank_o    = ex1_data_q[X_MESSAGE_RANK_LSB+:X_MESSAGE_RANK_W];
  assign message_context_o = ex1_data_q[X_MESSAGE_CONTEXT_LSB+:X_MESSAGE_CONTEXT_W];
  assign message_tag_o     = x_tag_q;
  assign message_address_o = x_laddr_q;
  assign message_length_o  = x_length_q;
  assign message_id_o      = x_id;

  always_ff @(posedge clk_i) begin
    go_offset_q <= go_offset_d;
    go_laddr_q  <= go_laddr_d;
    go_left_q   <= go_left_d;
    x_last_q    <= x_last_d;
    piece_q     <= piece_d;
    x_status_q  <= x_status_d;
    if (!rst_ni) begin
      x_state_q <= XCut;
      x_first_q <= 1'b1;
    end else begin
      x_first_q <= x_first_d;
      if (x_done) x_state_q <= XCut;
      else if (x_step) x_state_q <= x_state_d;
    end
  end

  // ---------------------------------------------------------------- EX2: second word and task

  logic ex2_valid_q;
  logic [7:0] ex2_opcode_q;
  logic [31:0] ex2_word_q;
  logic [4:0] ex2_len_q;
  logic [31:0] get_header2;
  logic ex2_has_word, ex2_done;

  always_comb begin
    get_header2 = '0;
    get_header2[GET_HEADER2_MYID_LSB+:GET_HEADER2_MYID_W] = rank_i;
    get_header2[GET_HEADER2_PTYPE_LSB+:GET_HEADER2_PTYPE_W] =
        (ex1_len_q == 8'd1) ? PT_PUT_1 : PT_PUT_N;
    get_header2[GET_HEADER2_LENGTH_LSB+:GET_HEADER2_LENGTH_W] = ex1_len_q[4:0];
    get_header2[GET_HEADER2_SLOT_LSB+:GET_HEADER2_SLOT_W] = first_slot_q;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ex2_valid_q <= 1'b0;
    end else if (ex2_free) begin
      ex2_valid_q <= pair_sends && pair_done;
    end
    if (ex2_free) begin
      ex2_opcode_q <= ex1_opcode_q;
      ex2_word_q   <= (ex1_opcode_q == OP_GET) ? get_header2 : ex1_data_q;
      ex2_len_q    <= ex1_len_q[4:0];
    end
  end

  assign ex2_has_word = ex2_opcode_q != OP_PUT_N;
  assign ex2_done     = task_ready_i && (!ex2_has_word || head_ready_i);
  assign ex2_free     = !ex2_valid_q || ex2_done;
  assign sending_o    = ex2_valid_q;

  // ---------------------------------------------------------------- to the Head FIFO and the task queue

  logic [31:0] pair_header;
  logic [1:0] go_align;
  logic [31:0] go_source;

  always_comb begin
    pair_header = '0;
    pair_header[PUT_HEADER_DPID_LSB+:PUT_HEADER_DPID_W] = ex1_dpid_q;
    pair_header[PUT_HEADER_PTYPE_LSB+:PUT_HEADER_PTYPE_W] = pair_type;
    pair_header[PUT_HEADER_LENGTH_LSB+:PUT_HEADER_LENGTH_W] = pair_length;
    pair_header[PUT_HEADER_OFFSET_LSB+:PUT_HEADER_OFFSET_W] = ex1_off_q;
    pair_header[PUT_HEADER_SLOT_LSB+:PUT_HEADER_SLOT_W] = pair_slot;
  end

  assign go_align      = x_is_transfer ? go_offset_q[1:0] : 2'd0;
  assign go_source     = go_laddr_q - 32'(go_align);
  assign piece_aligned = piece_q + (CountW + 2)'(go_align) + (CountW + 2)'(3);

  assign ex1_sends_head = (pair_sends && ex2_free) || (x_head_valid && (!x_final || task_ready_i));

  always_comb begin
    head_valid_o   = ex1_sends_head;
    head_o         = is_pair ? pair_header : x_head;
    task_valid_o   = x_task_valid && head_ready_i;
    task_heads_o   = (x_is_get || x_is_message) ? 3'd4 : 3'd3;
    task_words_o   = piece_aligned[CountW+1:2];
    if (x_is_get || (x_is_message && !x_is_eager) || piece_q == '0) task_words_o = '0;
    task_address_o = go_source;
    if (ex2_valid_q) begin
      head_valid_o   = ex2_has_word && task_ready_i;
      head_o         = ex2_word_q;
      task_valid_o   = !ex2_has_word || head_ready_i;
      task_heads_o   = ex2_has_word ? 3'd2 : 3'd1;
      task_words_o   = ex2_has_word ? '0 : CountW'(ex2_len_q);
      task_address_o = ex2_word_q;
    end
  end

  assign busy_o = id_valid_q || or_valid_q || ex1_valid_q || ex2_valid_q;

  `ALCOR_CHECK_PARAM(g_check_node, (NODE_BYTES & (NODE_BYTES - 1)) == 0,
                     "rma_pipeline: NODE_BYTES must be a power of two")
  `ALCOR_CHECK_PARAM(g_check_payload,
                     (PAYLOAD_WORDS & (PAYLOAD_WORDS - 1)) == 0 && PAYLOAD_WORDS >= 16 &&
                     PAYLOAD_WORDS <= 4096,
                     "rma_pipeline: PAYLOAD_WORDS must be a power of two, 16 to 4096")
  // A task and its last header word go together, so that tasks and headers stay in step.
  `ALCOR_IMPLIES(a_task_with_head, task_valid_o && task_ready_i && ex2_valid_q && ex2_has_word,
                 head_valid_o && head_ready_i)
  `ALCOR_IMPLIES(a_x_task_with_head, task_valid_o && task_ready_i && !ex2_valid_q,
                 head_valid_o && head_ready_i)
  `ALCOR_CHECK_PARAM(g_check_fragment, MESSAGES == 0 || FRAGMENT <= PayloadBytes,
                     "rma_pipeline: an eager message must fit into a packet")
  `ALCOR_IMPLIES(a_fire_expected, fires, is_sync)

`ifdef ALCOR_COVERAGE
  // Commands that end without a completion: those that all ranks give together, and the paper's.
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
`define ALCOR_COVER_REFUSED(status_) \
  `ALCOR_COVER(c_refused_paper_``status_, refused_o && is_pair && refused_status_o == ST_``status_)
  `ALCOR_COVER_REFUSED(BAD_LOCAL)
  `ALCOR_COVER_REFUSED(BAD_LENGTH)
  `ALCOR_COVER_REFUSED(BAD_RANK)
  `ALCOR_COVER_REFUSED(NOT_REGISTERED)
  `ALCOR_COVER_REFUSED(NOT_BEGUN)
`undef ALCOR_COVER_REFUSED
  `ALCOR_COVER(c_refused_together_NOT_BEGUN, refused_o && is_sync)
  `ALCOR_COVER(c_refused_number_of_another, refused_o && pid_refused)
  `ALCOR_COVER(c_refused_unknown_command, ex1_valid_q && ex1_done && !is_known)
`endif

endmodule

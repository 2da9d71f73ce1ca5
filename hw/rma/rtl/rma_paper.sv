`include "assertions.svh"

import alcor_abi_pkg::*;

/// The paper's PUT-1, PUT-n and GET in EX1 and EX2.
///
/// A command is two writes. EX1 keeps what the first names, checks the second and sends the packet's first
/// header word; EX2 sends the second word (PUT-1: the data, GET: the second header word) and the memory task.
module rma_paper #(
    /// Ranks that the network reaches: 0 to DESTS-1.
    parameter int unsigned DESTS = 256
) (
    /// Clock.
    input  logic                      clk_i,
    /// Synchronous reset, active low.
    input  logic                      rst_ni,
    /// This rank's number on the network.
    input  logic [7:0]                rank_i,
    /// Between BEGIN and END.
    input  logic                      begun_i,
    /// Ranks of the run.
    input  logic [7:0]                nprocs_i,

    /// The first write of a command is in EX1, and is done at once.
    input  logic                      first_i,
    /// The second write of a command is in EX1.
    input  logic                      second_i,
    /// The write in EX1.
    input  alcor_abi_pkg::decoded_t   ex1_i,
    /// The second write is done.
    output logic                      done_o,
    /// The second write is refused: the command ends, and nothing is sent.
    output logic                      refused_o,
    /// Reason of `refused_o`.
    output alcor_abi_pkg::status_e    status_o,

    /// Header word of the request plane.
    output logic                      head_valid_o,
    /// The header word is taken.
    input  logic                      head_ready_i,
    /// The header word.
    output logic [31:0]               head_o,
    /// Memory read task of the request plane.
    output logic                      task_valid_o,
    /// The task is taken.
    input  logic                      task_ready_i,
    /// The task.
    output alcor_abi_pkg::read_task_t task_o,
    /// EX2 has a second word and a task still to be sent; both streams are this block's.
    output logic                      sending_o
);

  logic [7:0] opcode, length, dpid;
  logic first_match_q;
  logic [7:0] first_slot_q;
  logic sends, bad_local, bad_length, bad_rank, no_window;
  alcor_abi_pkg::put_header_t header;
  alcor_abi_pkg::get_header2_t header2;

  assign opcode  = ex1_i.command.opcode;
  assign length  = ex1_i.data8.length;
  assign dpid    = ex1_i.data8.dpid;

  always_ff @(posedge clk_i) begin
    if (first_i) begin
      first_match_q <= ex1_i.match;
      first_slot_q  <= ex1_i.slot;
    end
  end

  // ---------------------------------------------------------------- EX1

  logic ex2_valid_q, ex2_free;

  always_comb begin
    bad_local = opcode == OP_PUT_N && ex1_i.beyond;
    // PUT-1 is for one word, PUT-n for more.
    bad_length = length == '0 || length > 8'd30 || (opcode == OP_PUT_1 && length != 8'd1) ||
                 (opcode == OP_PUT_N && length == 8'd1);
    bad_rank   = dpid >= nprocs_i || 9'(dpid) >= 9'(DESTS);
    no_window  = !first_match_q || (opcode == OP_GET && !ex1_i.match);
    refused_o  = bad_length || bad_rank || no_window || !begun_i || bad_local;
    status_o   = ST_BAD_LOCAL;
    if (bad_length) status_o = ST_BAD_LENGTH;
    if (bad_rank) status_o = ST_BAD_RANK;
    if (no_window) status_o = ST_NOT_REGISTERED;
    if (!begun_i) status_o = ST_NOT_BEGUN;
  end

  assign sends    = second_i && !ex2_valid_q && !refused_o;
  assign done_o   = refused_o || (head_ready_i && !ex2_valid_q);

  always_comb begin
    header.dpid   = dpid;
    header.ptype  = (opcode == OP_GET) ? PT_GET : (opcode == OP_PUT_1) ? PT_PUT_1 : PT_PUT_N;
    header.length = (opcode == OP_PUT_N) ? length[4:0] + 5'd1 : 5'd2;
    header.offset = ex1_i.data8.offset;
    // A PUT names the window it writes to, a GET's first word the one it reads from.
    header.slot   = (opcode == OP_GET) ? ex1_i.slot : first_slot_q;

    header2.myid   = rank_i;
    header2.ptype  = (length == 8'd1) ? PT_PUT_1 : PT_PUT_N;
    header2.length = length[4:0];
    header2.zero   = '0;
    header2.slot   = first_slot_q;
  end

  // ---------------------------------------------------------------- EX2

  logic [7:0] ex2_opcode_q;
  logic [31:0] ex2_word_q;
  logic [4:0] ex2_length_q;
  logic ex2_has_word, ex2_done;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ex2_valid_q <= 1'b0;
    end else if (ex2_free) begin
      ex2_valid_q <= sends && done_o;
    end
    if (ex2_free) begin
      ex2_opcode_q <= opcode;
      ex2_word_q   <= (opcode == OP_GET) ? header2 : ex1_i.command.data;
      ex2_length_q <= length[4:0];
    end
  end

  assign ex2_has_word = ex2_opcode_q != OP_PUT_N;
  assign ex2_done     = task_ready_i && (!ex2_has_word || head_ready_i);
  assign ex2_free     = !ex2_valid_q || ex2_done;
  assign sending_o    = ex2_valid_q;

  // A task and its last header word go together, so that tasks and headers stay in step.
  assign head_valid_o   = (ex2_valid_q && ex2_has_word && task_ready_i) || sends;
  assign head_o         = ex2_valid_q ? ex2_word_q : header;
  assign task_valid_o   = ex2_valid_q && (!ex2_has_word || head_ready_i);
  assign task_o.heads   = ex2_has_word ? 3'd2 : 3'd1;
  assign task_o.words   = ex2_has_word ? '0 : 13'(ex2_length_q);
  assign task_o.address = ex2_word_q;
  assign task_o.lane    = 2'd0;

  `ALCOR_IMPLIES(a_task_with_head, task_valid_o && task_ready_i && ex2_has_word, head_valid_o && head_ready_i)

endmodule

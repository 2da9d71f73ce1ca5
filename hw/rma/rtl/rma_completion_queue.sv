`include "assertions.svh"

import alcor_abi_pkg::*;

/// Completion ring: enters each finished command of this rank into a ring in node memory.
///
/// An entry is four words: id with status, the count of retired commands, by which the host gets its
/// credits back, and of messages received or found tag and length. Of other commands only the first two
/// are written. CQ_HEAD moves when all are written, so an entry that is counted can be read. Four sources:
/// commands that came back from their target, commands refused before anything was sent, collectives,
/// and messages; who is named first has priority.
module rma_completion_queue #(
    /// Entries that may wait to be written.
    parameter int unsigned DEPTH = 16
) (
    /// Clock.
    input  logic        clk_i,
    /// Synchronous reset, active low.
    input  logic        rst_ni,

    /// From the reply plane.
    input  logic        reply_valid_i,
    /// It is taken.
    output logic        reply_ready_o,
    /// Status.
    input  logic [4:0]  reply_status_i,
    /// Command id.
    input  logic [15:0] reply_id_i,
    /// From the pipeline.
    input  logic        local_valid_i,
    /// It is taken.
    output logic        local_ready_o,
    /// Status.
    input  logic [4:0]  local_status_i,
    /// Command id.
    input  logic [15:0] local_id_i,
    /// From the collective unit.
    input  logic        collective_valid_i,
    /// It is taken.
    output logic        collective_ready_o,
    /// Status.
    input  logic [4:0]  collective_status_i,
    /// Command id.
    input  logic [15:0] collective_id_i,

    /// From the message engine.
    input  logic        message_valid_i,
    /// It is taken.
    output logic        message_ready_o,
    /// Status.
    input  logic [4:0]  message_status_i,
    /// Command id.
    input  logic [15:0] message_id_i,
    /// Its source.
    input  logic [7:0]  message_source_i,
    /// Its tag.
    input  logic [25:0] message_tag_i,
    /// Its length in bytes.
    input  logic [31:0] message_length_i,

    /// Ring's base address.
    input  logic [31:0] base_i,
    /// log2 of its entries.
    input  logic [3:0]  log2_entries_i,
    /// Entries the host has taken.
    input  logic [31:0] tail_i,
    /// CQ_BASE is written: the count starts again.
    input  logic        clear_i,
    /// Commands retired.
    input  logic [31:0] retired_i,

    /// Memory write.
    output logic        write_valid_o,
    /// It is done.
    input  logic        write_ready_i,
    /// Word address.
    output logic [29:0] write_address_o,
    /// Data.
    output logic [31:0] write_data_o,

    /// CQ_HEAD.
    output logic [31:0] head_o,
    /// Pulse: the ring was full and a completion is lost.
    output logic        overflow_o,
    /// Nothing is queued or under way.
    output logic        idle_o
);

  logic room, valid, ready, empty;
  logic [4:0] status;
  logic [15:0] id;
  logic is_message, next_is_message;
  logic [7:0] source;
  logic [25:0] tag;
  logic [31:0] length;
  logic [31:0] head_d, head_q;
  logic [1:0] word_d, word_q;
  logic advanced_q, full;
  logic [31:0] ahead_q;
  logic [15:0] mask, mask_q;

  assign reply_ready_o = room;
  assign local_ready_o = room && !reply_valid_i;
  assign collective_ready_o = room && !reply_valid_i && !local_valid_i;
  assign next_is_message    = !reply_valid_i && !local_valid_i && !collective_valid_i;
  assign message_ready_o    = room && next_is_message;

  // Offered only when there is room: a reply that comes while a local completion waits goes first,
  // and what is on offer must not change.
  fifo #(.WIDTH(22 + 8 + 26 + 32), .DEPTH(DEPTH)) u_fifo (
      .clk_i(clk_i), .rst_ni(rst_ni),
      .valid_i(room && (reply_valid_i || local_valid_i || collective_valid_i || message_valid_i)), .ready_o(room),
      .data_i({message_source_i, message_tag_i, message_length_i, next_is_message,
               reply_valid_i ? {reply_status_i, reply_id_i} :
               local_valid_i ? {local_status_i, local_id_i} :
               collective_valid_i ? {collective_status_i, collective_id_i} : {message_status_i, message_id_i}}),
      .valid_o(valid), .ready_i(ready), .data_o({source, tag, length, is_message, status, id}), .empty_o(empty),
      .usage_o()
  );

  assign mask            = (16'd1 << log2_entries_i) - 16'd1;
  assign full            = (ahead_q & ~{16'd0, mask_q}) != '0;
  // The distance to the tail follows the head a cycle later; the next entry waits for it.
  assign write_valid_o   = valid && !advanced_q && (word_q != '0 || !full);
  assign write_address_o = base_i[31:2] + 30'({head_q[15:0] & mask_q, word_q});
  assign overflow_o      = valid && !advanced_q && word_q == '0 && full;

  // The count of retired commands is written last.
  always_comb begin
    write_data_o = '0;
    unique case (word_q)
      2'd0: begin
        write_data_o[CQ_ENTRY_ID_LSB+:CQ_ENTRY_ID_W]         = id;
        write_data_o[CQ_ENTRY_STATUS_LSB+:CQ_ENTRY_STATUS_W] = status;
        if (is_message) write_data_o[CQ_ENTRY_SOURCE_LSB+:CQ_ENTRY_SOURCE_W] = source;
      end
      2'd1: write_data_o = retired_i;
      2'd2: write_data_o = 32'(tag);
      default: write_data_o = length;
    endcase
    word_d = word_q;
    head_d = head_q;
    ready  = overflow_o;
    if (write_valid_o && write_ready_i) begin
      unique case (word_q)
        2'd0: word_d = is_message ? 2'd2 : 2'd1;
        2'd1: word_d = 2'd0;
        2'd2: word_d = 2'd3;
        default: word_d = 2'd1;
      endcase
      if (word_q == 2'd1) begin
        head_d = head_q + 1'b1;
        ready  = 1'b1;
      end
    end
    if (clear_i) head_d = '0;
  end

  always_ff @(posedge clk_i) begin
    mask_q  <= mask;
    ahead_q <= head_q - tail_i;
    if (!rst_ni) begin
      head_q     <= '0;
      word_q     <= '0;
      advanced_q <= 1'b0;
    end else begin
      head_q     <= head_d;
      word_q     <= word_d;
      advanced_q <= ready || clear_i;
    end
  end

  assign head_o = head_q;
  assign idle_o = empty;

  // The address and the choice of word hold; the retired count is whatever it is when written.
  `ALCOR_STABLE(a_write_stable, write_valid_o && !clear_i, write_ready_i, write_address_o)

  `ALCOR_COVER(c_full_completions, !room)
  `ALCOR_COVER(c_full_ring, overflow_o)

`ifdef ALCOR_COVERAGE
  // What is entered, by where it comes from; of replies and collectives it is told where more is known of them.
`define ALCOR_COVER_ANSWER(from_, status_) \
  `ALCOR_COVER(c_answers_``from_``_``status_, \
               from_``_valid_i && from_``_ready_o && from_``_status_i == ST_``status_)
  `ALCOR_COVER_ANSWER(local, BAD_RANK)
  `ALCOR_COVER_ANSWER(local, BAD_LOCAL)
  `ALCOR_COVER_ANSWER(local, NOT_REGISTERED)
  `ALCOR_COVER_ANSWER(local, NOT_BEGUN)
  `ALCOR_COVER_ANSWER(local, BAD_LENGTH)
  `ALCOR_COVER_ANSWER(local, BAD_ID)
  `ALCOR_COVER_ANSWER(message, OK)
  `ALCOR_COVER_ANSWER(message, TRUNCATED)
  `ALCOR_COVER_ANSWER(message, CANCELLED)
  `ALCOR_COVER_ANSWER(message, NOT_FOUND)
  `ALCOR_COVER_ANSWER(message, BAD_ID)
`undef ALCOR_COVER_ANSWER
`endif

endmodule

`include "assertions.svh"

import alcor_abi_pkg::*;

/// Completion ring: enters each finished command of this rank into a ring in node memory.
///
/// An entry has four words. Word 0 is id and status. Word 1 is the count of retired commands, which
/// returns the host's credits. Words 2 and 3 are tag and length of a received or probed message, or
/// the old value of an atomic operation; other commands do not write them. CQ_HEAD moves when all
/// words are written, so the host can read each counted entry. An entry behind which another one waits has no count, which
/// saves a cycle: a later entry has it.
///
/// Sources, in order of priority: collectives, commands answered by their target, commands refused before sending,
/// messages, ends of barriers. Collectives come first because one writer serves all communicators: a completion that waits
/// holds them all up, and a rank has one collective at most in each communicator. The end of a barrier has an entry only
/// while entries are copied into host memory.
module rma_completion_queue #(
    /// Entries that may wait to be written.
    parameter int unsigned DEPTH = 16,
    /// 1: a write is in memory a cycle after it is done, and CQ_HEAD moves as late.
    parameter bit LATE = 1'b0
) (
    /// Clock.
    input  logic                          clk_i,
    /// Synchronous reset, active low.
    input  logic                          rst_ni,

    /// From the reply plane: a completion is offered.
    input  logic                          reply_valid_i,
    /// The completion is taken.
    output logic                          reply_ready_o,
    /// The completion.
    input  alcor_abi_pkg::answered_t      reply_i,
    /// From the pipeline: a completion is offered.
    input  logic                          local_valid_i,
    /// The completion is taken.
    output logic                          local_ready_o,
    /// The completion.
    input  alcor_abi_pkg::completion_t    local_i,
    /// From the collective unit: a completion is offered.
    input  logic                          collective_valid_i,
    /// The completion is taken.
    output logic                          collective_ready_o,
    /// The completion.
    input  alcor_abi_pkg::completion_t    collective_i,
    /// From the message engine: a completion is offered.
    input  logic                          message_valid_i,
    /// The completion is taken.
    output logic                          message_ready_o,
    /// The completion.
    input  alcor_abi_pkg::received_t      message_i,

    /// Pulse: a barrier has ended.
    input  logic                          barrier_i,
    /// With `barrier_i`: the ranks were at different collective commands.
    input  logic                          mismatch_i,

    /// Registers that the host has written, and the count of commands.
    input  alcor_abi_pkg::ring_settings_t settings_i,
    /// State of the ring.
    output alcor_abi_pkg::ring_state_t    state_o,
    /// Nothing is queued or under way.
    output logic                          idle_o,

    /// A memory write is offered.
    output logic                          write_valid_o,
    /// The write is done.
    input  logic                          write_ready_i,
    /// Word address.
    output logic [29:0]                   write_address_o,
    /// Data.
    output logic [31:0]                   write_data_o
);

  localparam int unsigned UsageW = $clog2(DEPTH + 1);

  logic room, valid, ready, empty;
  logic next_is_message, next_is_barrier, barrier_q, mismatch_q;
  alcor_abi_pkg::ring_entry_t next, entry;
  alcor_abi_pkg::cq_entry_t word;
  // The entry has a count: no other entry waits behind it when its first word is written.
  logic counted, counted_q;
  logic [31:0] head_d, head_q;
  // The word of the entry that is written, and the next one: 0 behind the entry's last.
  logic [1:0] word_d, word_q;
  logic [UsageW-1:0] usage;
  logic advances, behind_q, cleared_q, full;
  logic [31:0] ahead;
  logic far_q, last_q;
  logic [15:0] size;
  // Of the place in a ring of 2^15 entries at most.
  logic [14:0] mask, mask_q;
  logic [29:0] base_q;
  logic stalled, clear, clear_q;

  assign collective_ready_o = room;
  assign reply_ready_o      = room && !collective_valid_i;
  assign local_ready_o      = room && !collective_valid_i && !reply_valid_i;
  assign next_is_message    = !reply_valid_i && !local_valid_i && !collective_valid_i;
  assign message_ready_o    = room && next_is_message;
  assign next_is_barrier    = next_is_message && !message_valid_i;

  // Offered only when there is room: what is on offer must not change, and a collective that comes while another
  // completion waits goes first.
  always_comb begin
    next.whole   = next_is_message && message_valid_i;
    next.barrier = next_is_barrier;
    next.source  = next.whole ? message_i.source : '0;
    // Of an entry without these words no one reads them.
    next.low     = next.whole ? message_i.message : reply_i.old[31:0];
    next.high    = next.whole ? message_i.length : reply_i.old[63:32];
    next.ended   = {message_i.status, message_i.id};
    if (next_is_barrier) next.ended = {mismatch_q ? ST_MISMATCH : ST_OK, 16'd0};
    if (local_valid_i) next.ended = local_i;
    if (reply_valid_i) begin
      next.whole = reply_i.atomic;
      next.ended = reply_i.ended;
    end
    if (collective_valid_i) begin
      next.whole = 1'b0;
      next.ended = collective_i;
    end
  end

  fifo #(.WIDTH(RingEntryW), .DEPTH(DEPTH)) u_fifo (
      .clk_i(clk_i), .rst_ni(rst_ni),
      .valid_i(room && (!next_is_barrier || barrier_q)), .ready_o(room),
      .data_i(next), .valid_o(valid), .ready_i(ready), .data_o(entry),
      .empty_o(empty), .usage_o(usage)
  );

  // The bit of the head above an entry's place.
  assign size            = {mask_q, 1'b1} & ~{1'b0, mask_q};
  assign mask            = ~(15'h7FFF << settings_i.log2_entries);
  // The distance to the tail is compared with the size of the ring a cycle before the entry. With `behind_q`, the head
  // has advanced since, and the ring is full if one place was left.
  assign ahead           = head_q - settings_i.tail;
  assign full            = far_q || (behind_q && last_q);
  assign write_valid_o   = valid && !cleared_q && (word_q != '0 || !full);
  assign write_address_o = base_q + 30'({head_q[14:0] & mask_q, word_q});
  // A register that the host writes while a memory write waits takes effect after that write.
  assign stalled         = write_valid_o && !write_ready_i;
  assign clear           = (settings_i.clear || clear_q) && !stalled;
  assign state_o.clearing = settings_i.clear || clear_q;
  assign state_o.overflow = valid && !cleared_q && word_q == '0 && full;

  always_comb begin
    word         = '0;
    word.id      = entry.ended.id;
    word.status  = entry.ended.status;
    word.source  = entry.source;
    word.lap     = (head_q[15:0] & size) == '0;
    word.barrier = entry.barrier;
    word.counted = counted;
  end

  assign counted = (word_q == '0) ? usage == UsageW'(1) : counted_q;

  // In the order 0, 2, 3, 1: the count comes last.
  always_comb begin
    unique case (word_q)
      2'd0: begin
        write_data_o = word;
        word_d       = entry.whole ? 2'd2 : {1'b0, counted};
      end
      2'd1: begin
        write_data_o = settings_i.retired;
        word_d       = 2'd0;
      end
      2'd2: begin
        write_data_o = entry.low;
        word_d       = 2'd3;
      end
      default: begin
        write_data_o = entry.high;
        word_d       = {1'b0, counted};
      end
    endcase
  end

  assign advances = write_valid_o && write_ready_i && word_d == '0;
  assign ready    = state_o.overflow || advances;

  always_comb begin
    head_d = head_q;
    if (advances) head_d = head_q + 1'b1;
    if (clear) head_d = '0;
  end

  always_ff @(posedge clk_i) begin
    counted_q <= counted;
    if (barrier_i) mismatch_q <= mismatch_i;
    if (!stalled) begin
      base_q  <= settings_i.base[31:2];
      mask_q  <= mask;
      far_q   <= (ahead & ~{17'd0, mask}) != '0;
      last_q  <= (ahead[14:0] | ~mask) == '1;
    end
    if (!rst_ni) begin
      clear_q   <= 1'b0;
      head_q    <= '0;
      word_q    <= '0;
      behind_q  <= 1'b0;
      cleared_q <= 1'b0;
      barrier_q <= 1'b0;
    end else begin
      if (barrier_i && settings_i.copies) barrier_q <= 1'b1;
      else if (next_is_barrier && room) barrier_q <= 1'b0;
      head_q    <= head_d;
      if (write_valid_o && write_ready_i) word_q <= word_d;
      clear_q   <= (settings_i.clear || clear_q) && stalled;
      cleared_q <= clear;
      if (!stalled) behind_q <= advances && !clear;
    end
  end

  if (LATE) begin : g_late
    logic [31:0] shown_q;
    always_ff @(posedge clk_i) shown_q <= (rst_ni && !clear) ? head_q : '0;
    assign state_o.head = shown_q;
  end else begin : g_at_once
    assign state_o.head = head_q;
  end

  assign state_o.mask = mask_q;
  // With `behind_q` CQ_HEAD has yet to move.
  assign idle_o       = empty && !barrier_q && !(LATE && behind_q);

  // The address and the choice of word hold. Whether the entry has a count, and the count, are those of the write.
  `ALCOR_STABLE(a_write_stable, write_valid_o, write_ready_i, write_address_o)
  // The count that is left out comes with a later entry.
  `ALCOR_IMPLIES(a_count_follows, advances && !counted, usage > UsageW'(1))

  `ALCOR_COVER(c_full_completions, !room)
  `ALCOR_COVER(c_full_ring, state_o.overflow)

`ifdef ALCOR_COVERAGE
  // Entries by source; replies and collectives have cover points where more is known of them.
`define ALCOR_COVER_ANSWER(from_, status_) \
  `ALCOR_COVER(c_answers_``from_``_``status_, \
               from_``_valid_i && from_``_ready_o && from_``_i.status == ST_``status_)
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

`include "assertions.svh"

import alcor_abi_pkg::*;

/// Entries of messages: which are free, and how many each source has.
///
/// A message takes the oldest free entry, if its source is within its quota, and frees it when it is delivered. The
/// count of a source is read in each cycle, for the next one.
module message_entries #(
    /// Entries, a power of two.
    parameter int unsigned DEPTH = 256,
    /// Width of an entry; derived, not to be set.
    localparam int unsigned EntryW = $clog2(DEPTH),
    /// Width of the sweep's counter; derived, not to be set.
    localparam int unsigned SweepW = (EntryW > 8) ? EntryW : 8
) (
    /// Clock.
    input  logic              clk_i,
    /// Synchronous reset, active low.
    input  logic              rst_ni,
    /// The tables are being cleared, after reset.
    input  logic              sweep_i,
    /// Row that is cleared in this cycle.
    input  logic [SweepW-1:0] sweep_row_i,

    /// The rank is being reset: there is no room.
    input  logic              closed_i,
    /// Maximum number of messages of one source; all ones: no limit.
    input  logic [15:0]       quota_i,
    /// Source of a message; `room_o` is valid one cycle later.
    input  logic [7:0]        source_i,

    /// An entry is free for a message of the previous cycle's `source_i`.
    output logic              room_o,
    /// The entry.
    output logic [EntryW-1:0] entry_o,
    /// The free entry is taken, by a message of that source.
    input  logic              take_i,
    /// An entry is to be freed.
    input  logic              retire_valid_i,
    /// The entry can be freed in this cycle.
    output logic              retire_ready_o,
    /// Pulse: the entry is freed.
    input  logic              retire_i,
    /// Source of the entry that is freed.
    input  logic [7:0]        retire_source_i,
    /// The entry that is freed.
    input  logic [EntryW-1:0] retire_entry_i
);

  localparam int unsigned CountW = $clog2(DEPTH + 1);
  localparam int unsigned Sources = 256;

  logic free_ready, free_valid, write, passed_q, retire_read_q;
  logic [CountW-1:0] held, retire_held, held_next, held_read, passed_held_q;
  logic [7:0] source_q, write_at;

  fifo #(.WIDTH(EntryW), .DEPTH(DEPTH), .BLOCK_RAM(DEPTH >= 128)) u_free (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(retire_i || (sweep_i && 32'(sweep_row_i) < DEPTH)),
      .ready_o(free_ready), .data_i(sweep_i ? EntryW'(sweep_row_i) : retire_entry_i), .valid_o(free_valid),
      .ready_i(take_i), .data_o(entry_o), .empty_o(), .usage_o()
  );

  // Two copies: one read for messages that arrive, one for entries that are freed.
  ram_sdp #(
      .WIDTH    (CountW),
      .DEPTH    (Sources),
      .BLOCK_RAM(1'b0)
  ) u_held (
      .clk_i  (clk_i),
      .we_i   (write),
      .waddr_i(write_at),
      .wdata_i(held_next),
      .re_i   (1'b1),
      .raddr_i(source_i),
      .rdata_o(held_read)
  );

  ram_sdp #(
      .WIDTH    (CountW),
      .DEPTH    (Sources),
      .BLOCK_RAM(1'b0)
  ) u_held_by_retired (
      .clk_i  (clk_i),
      .we_i   (write),
      .waddr_i(write_at),
      .wdata_i(held_next),
      .re_i   (1'b1),
      .raddr_i(retire_source_i),
      .rdata_o(retire_held)
  );

  // A count that is written while it is read is passed on.
  always_ff @(posedge clk_i) begin
    source_q      <= source_i;
    passed_q      <= write && write_at == source_i;
    passed_held_q <= held_next;
    // The count that a retire has read must be that of the cycle before.
    if (!rst_ni) retire_read_q <= 1'b0;
    else retire_read_q <= retire_valid_i && !take_i && !retire_i;
  end

  assign held           = passed_q ? passed_held_q : held_read;
  // No source holds as many entries as a quota of all ones.
  assign room_o         = !closed_i && free_valid && 16'(held) < quota_i;
  assign retire_ready_o = retire_read_q && !take_i;
  assign write          = take_i || retire_i || sweep_i;

  always_comb begin
    write_at  = take_i ? source_q : retire_source_i;
    held_next = take_i ? held + 1'b1 : retire_held - 1'b1;
    if (sweep_i) begin
      write_at  = sweep_row_i[7:0];
      held_next = '0;
    end
  end

  `ALCOR_CHECK_PARAM(g_check_depth, DEPTH < 65535, "message_entries: DEPTH must be less than 65535")

  `ALCOR_IMPLIES(a_free_has_room, retire_i, free_ready)
  `ALCOR_IMPLIES(a_held_counts, retire_i, retire_held != '0)
  `ALCOR_IMPLIES(a_retire_in_turn, retire_i, retire_ready_o)
  `ALCOR_COVER(c_full_unexpected_buffer, !sweep_i && !free_valid)

endmodule

`include "assertions.svh"

import alcor_abi_pkg::*;

/// Entries of messages: which are free, and how many each source has.
///
/// A message takes the oldest free entry, if its source is within its quota, and frees it when it is delivered. The
/// count of a source is read a cycle before it is used, with `read_i`.
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
    /// Messages that a source may have here; all ones: any number.
    input  logic [15:0]       quota_i,
    /// Read the count of a source.
    input  logic              read_i,
    /// The source.
    input  logic [7:0]        source_i,

    /// There is an entry for a message of the source that was read last.
    output logic              room_o,
    /// The entry.
    output logic [EntryW-1:0] entry_o,
    /// The free entry is taken, by a message of that source.
    input  logic              take_i,
    /// An entry of that source is freed.
    input  logic              retire_i,
    /// The entry that is freed.
    input  logic [EntryW-1:0] retire_entry_i
);

  localparam int unsigned CountW = $clog2(DEPTH + 1);
  localparam int unsigned Sources = 256;

  logic free_ready, free_valid;
  logic [CountW-1:0] held, held_next;
  logic [7:0] source_q;

  fifo #(.WIDTH(EntryW), .DEPTH(DEPTH), .BLOCK_RAM(DEPTH >= 128)) u_free (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(retire_i || (sweep_i && 32'(sweep_row_i) < DEPTH)),
      .ready_o(free_ready), .data_i(sweep_i ? EntryW'(sweep_row_i) : retire_entry_i), .valid_o(free_valid),
      .ready_i(take_i), .data_o(entry_o), .empty_o(), .usage_o()
  );

  ram_sdp #(
      .WIDTH    (CountW),
      .DEPTH    (Sources),
      .BLOCK_RAM(1'b0)
  ) u_held (
      .clk_i  (clk_i),
      .we_i   (take_i || retire_i || sweep_i),
      .waddr_i(sweep_i ? sweep_row_i[7:0] : source_q),
      .wdata_i(sweep_i ? '0 : held_next),
      .re_i   (read_i),
      .raddr_i(source_i),
      .rdata_o(held)
  );

  always_ff @(posedge clk_i) begin
    if (read_i) source_q <= source_i;
  end

  assign room_o    = !closed_i && free_valid && (quota_i == '1 || 32'(held) < 32'(quota_i));
  assign held_next = retire_i ? held - 1'b1 : held + 1'b1;

  `ALCOR_IMPLIES(a_free_has_room, retire_i, free_ready)
  `ALCOR_IMPLIES(a_held_counts, retire_i, held != '0)
  `ALCOR_COVER(c_full_unexpected_buffer, read_i && !free_valid)

endmodule

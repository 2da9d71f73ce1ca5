`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// The windows of all communicators in one memory: a ring of WINDOW phits for each.
///
/// A phit written in cycle t can be seen at the head of its ring in cycle t+1. The data of a head that
/// is taken in cycle t is on `data_o` in cycle t+1. The note of a phit can be seen while it is the head.
module coll_window #(
    /// Phits of a ring, a power of two.
    parameter int unsigned WINDOW = alcor_switch_pkg::Window,
    /// Bits of a phit's data.
    parameter int unsigned WIDTH = 288,
    /// Bits of a phit's note.
    parameter int unsigned NOTE_W = 3
) (
    /// Clock.
    input  logic              clk_i,
    /// Synchronous reset, active low; empties all rings.
    input  logic              rst_ni,

    /// A ring is emptied: a phit that is written into the ring in the same cycle stays.
    input  alcor_abi_pkg::row_pulse_t flush_i,

    /// A phit is written. The ring has room: the caller counts.
    input  logic              push_i,
    /// Communicator of the phit that is written.
    input  logic [4:0]        push_row_i,
    /// Data of the phit that is written.
    input  logic [WIDTH-1:0]  push_data_i,
    /// Note of the phit that is written.
    input  logic [NOTE_W-1:0] push_note_i,

    /// Communicators with a phit.
    output logic [31:0]       some_o,
    /// Communicator whose head is shown.
    input  logic [4:0]        head_row_i,
    /// Note of that communicator's head.
    output logic [NOTE_W-1:0] head_note_o,
    /// The head of communicator `head_row_i` is taken.
    input  logic              pop_i,
    /// Data of the phit that was taken in the cycle before.
    output logic [WIDTH-1:0]  data_o
);

  localparam int unsigned CountW = $clog2(WINDOW);
  localparam int unsigned Phits = Contexts * WINDOW;

  logic [31:0][CountW-1:0] write_q, read_q;
  logic [CountW-1:0] write_at, read_at, read_next, write_next;
  logic drained;

  assign write_at   = write_q[push_row_i];
  assign read_at    = read_q[head_row_i];
  assign write_next = write_at + 1'b1;
  assign read_next  = read_at + 1'b1;
  assign drained    = read_next == write_q[head_row_i];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      some_o  <= '0;
      write_q <= '0;
      read_q  <= '0;
    end else begin
      if (pop_i) begin
        /* verilator unroll_disable */
        for (int unsigned c = 0; c < Contexts; c++) begin
          if (head_row_i == 5'(c)) begin
            read_q[c] <= read_next;
            if (drained) some_o[c] <= 1'b0;
          end
        end
      end
      if (flush_i.valid) begin
        some_o[flush_i.row] <= 1'b0;
        read_q[flush_i.row] <= write_q[flush_i.row];
      end
      if (push_i) begin
        /* verilator unroll_disable */
        for (int unsigned c = 0; c < Contexts; c++) begin
          if (push_row_i == 5'(c)) begin
            write_q[c] <= write_next;
            some_o[c]  <= 1'b1;
          end
        end
      end
    end
  end

  // ---------------------------------------------------------------- data

  ram_sdp #(
      .WIDTH    (WIDTH),
      .DEPTH    (Phits),
      .LANES    (1),
      .BLOCK_RAM(1'b1),
      .ULTRA_RAM(Phits >= 4096)
  ) u_ram (
      .clk_i  (clk_i),
      .we_i   (push_i),
      .waddr_i({push_row_i, write_at}),
      .wdata_i(push_data_i),
      .re_i   (pop_i),
      .raddr_i({head_row_i, read_at}),
      .rdata_o(data_o)
  );

  // ---------------------------------------------------------------- notes

  // A register for each ring holds the head's note. The note of the phit behind place n lies in a RAM
  // at place n: taking the head reads it, so it is there in the cycle in which its phit becomes the head.
  logic [31:0][NOTE_W-1:0] note_q;
  logic [NOTE_W-1:0] fetched;
  logic fetched_q, becomes_head;
  logic [4:0] fetched_row_q;

  ram_sdp #(
      .WIDTH    (NOTE_W),
      .DEPTH    (Phits),
      .LANES    (1),
      .BLOCK_RAM(1'b1)
  ) u_notes (
      .clk_i  (clk_i),
      .we_i   (push_i),
      .waddr_i({push_row_i, CountW'(write_at - 1'b1)}),
      .wdata_i(push_note_i),
      .re_i   (pop_i),
      .raddr_i({head_row_i, read_at}),
      .rdata_o(fetched)
  );

  // A phit that is written into an empty ring, or while its ring's only phit is taken or the ring is emptied.
  assign becomes_head = !some_o[push_row_i] || (pop_i && drained && head_row_i == push_row_i)
      || (flush_i.valid && flush_i.row == push_row_i);
  assign head_note_o  = (fetched_q && fetched_row_q == head_row_i) ? fetched : note_q[head_row_i];

  always_ff @(posedge clk_i) begin
    fetched_q     <= rst_ni && pop_i && !drained;
    fetched_row_q <= head_row_i;
    if (fetched_q) begin
      /* verilator unroll_disable */
      for (int unsigned c = 0; c < Contexts; c++) begin
        if (fetched_row_q == 5'(c)) note_q[c] <= fetched;
      end
    end
    if (push_i && becomes_head) begin
      /* verilator unroll_disable */
      for (int unsigned c = 0; c < Contexts; c++) begin
        if (push_row_i == 5'(c)) note_q[c] <= push_note_i;
      end
    end
  end

  `ALCOR_CHECK_PARAM(g_check_window, WINDOW >= 2 && (WINDOW & (WINDOW - 1)) == 0,
                     "coll_window: WINDOW must be a power of two")
  `ALCOR_IMPLIES(a_no_underrun, pop_i, some_o[head_row_i])
  // Nothing is taken out of a ring that is emptied.
  `ALCOR_IMPLIES(a_emptied, flush_i.valid && (pop_i || fetched_q), flush_i.row != (pop_i ? head_row_i : fetched_row_q))
  // An UltraRAM defines no result of a read at the address that is written in the same cycle.
  `ALCOR_IMPLIES(a_no_collision, push_i && pop_i, {push_row_i, write_at} != {head_row_i, read_at})
  // Both pointers of a ring with phits are equal when the ring is full.
  `ALCOR_IMPLIES(a_no_overrun, push_i && some_o[push_row_i], write_at != read_q[push_row_i])

endmodule

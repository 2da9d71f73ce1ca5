`include "assertions.svh"

import alcor_switch_pkg::*;

/// The windows of all communicators in one memory: a ring each.
///
/// A phit written in cycle t can be seen at its ring's head in cycle t+1; a head that is taken in
/// cycle t is on `data_o` in cycle t+1. What is known of a head without taking it is `note`.
module coll_window #(
    /// Bits of a phit that are only read when it is taken.
    parameter int unsigned WIDTH = 288,
    /// Bits of it that can be looked at before.
    parameter int unsigned NOTE_W = 11
) (
    /// Clock.
    input  logic              clk_i,
    /// Synchronous reset, active low; empties all rings.
    input  logic              rst_ni,

    /// A phit is written; there is room, since somebody counted.
    input  logic              push_i,
    /// Its communicator.
    input  logic [4:0]        push_row_i,
    /// The phit.
    input  logic [WIDTH-1:0]  push_data_i,
    /// Its note.
    input  logic [NOTE_W-1:0] push_note_i,

    /// Communicators with a phit.
    output logic [31:0]       some_o,
    /// The communicator looked at.
    input  logic [4:0]        head_row_i,
    /// The note of its head.
    output logic [NOTE_W-1:0] head_note_o,
    /// Its head is taken.
    input  logic              pop_i,
    /// The phit taken in the cycle before.
    output logic [WIDTH-1:0]  data_o
);

  logic [31:0][PoolW-1:0] write_q, read_q;
  logic [PoolW-1:0] write_at, read_at, read_next, write_next, write_mask;
  logic drained;

  (* ram_style = "distributed" *)
  logic [NOTE_W-1:0] notes_q[Pool];

  coll_place u_write_place (
      .row_i  (push_row_i),
      .count_i(write_q[push_row_i]),
      .mask_o (write_mask),
      .place_o(write_at)
  );

  coll_place u_read_place (
      .row_i  (head_row_i),
      .count_i(read_q[head_row_i]),
      .mask_o (),
      .place_o(read_at)
  );

  assign write_next = write_q[push_row_i] + 1'b1;
  assign read_next  = read_q[head_row_i] + 1'b1;
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

  always_ff @(posedge clk_i) begin
    if (push_i) notes_q[write_at] <= push_note_i;
  end

  assign head_note_o = notes_q[read_at];

  ram_sdp #(
      .WIDTH    (WIDTH),
      .DEPTH    (Pool),
      .LANES    (1),
      .BLOCK_RAM(1'b1)
  ) u_ram (
      .clk_i  (clk_i),
      .we_i   (push_i),
      .waddr_i(write_at),
      .wdata_i(push_data_i),
      .re_i   (pop_i),
      .raddr_i(read_at),
      .rdata_o(data_o)
  );

  `ALCOR_IMPLIES(a_no_underrun, pop_i, some_o[head_row_i])
  `ALCOR_IMPLIES(a_no_overrun, push_i,
                 PoolW'(write_q[push_row_i] - read_q[push_row_i]) <= write_mask)

endmodule

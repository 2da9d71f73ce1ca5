`include "assertions.svh"

import alcor_abi_pkg::*;

/// Completion ring: enters each finished command of this rank into a ring in node memory.
///
/// An entry is two words, id with status and the count of retired commands, by which the host gets
/// its credits back. CQ_HEAD moves when both are written, so an entry that is counted can be read.
/// Three sources: commands that came back from their target, commands refused before anything was
/// sent, and collectives; the first has priority, then the second.
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
  logic [31:0] head_d, head_q;
  logic second_d, second_q;
  logic advanced_q, full;
  logic [31:0] ahead_q;
  logic [15:0] mask, mask_q;

  assign reply_ready_o = room;
  assign local_ready_o = room && !reply_valid_i;
  assign collective_ready_o = room && !reply_valid_i && !local_valid_i;

  // Offered only when there is room: a reply that comes while a local completion waits goes first,
  // and what is on offer must not change.
  fifo #(.WIDTH(21), .DEPTH(DEPTH)) u_fifo (
      .clk_i(clk_i), .rst_ni(rst_ni),
      .valid_i(room && (reply_valid_i || local_valid_i || collective_valid_i)), .ready_o(room),
      .data_i(reply_valid_i ? {reply_status_i, reply_id_i} :
              local_valid_i ? {local_status_i, local_id_i} : {collective_status_i, collective_id_i}),
      .valid_o(valid), .ready_i(ready), .data_o({status, id}), .empty_o(empty), .usage_o()
  );

  assign mask            = (16'd1 << log2_entries_i) - 16'd1;
  assign full            = (ahead_q & ~{16'd0, mask_q}) != '0;
  // The distance to the tail follows the head a cycle later; the next entry waits for it.
  assign write_valid_o   = valid && !advanced_q && (second_q || !full);
  assign write_address_o = base_i[31:2] + 30'({head_q[15:0] & mask_q, second_q});
  assign overflow_o      = valid && !advanced_q && !second_q && full;

  always_comb begin
    write_data_o = retired_i;
    if (!second_q) begin
      write_data_o = '0;
      write_data_o[CQ_ENTRY_ID_LSB+:CQ_ENTRY_ID_W]         = id;
      write_data_o[CQ_ENTRY_STATUS_LSB+:CQ_ENTRY_STATUS_W] = status;
    end
    second_d = second_q;
    head_d   = head_q;
    ready    = overflow_o;
    if (write_valid_o && write_ready_i) begin
      second_d = !second_q;
      if (second_q) begin
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
      second_q   <= 1'b0;
      advanced_q <= 1'b0;
    end else begin
      head_q     <= head_d;
      second_q   <= second_d;
      advanced_q <= ready || clear_i;
    end
  end

  assign head_o = head_q;
  assign idle_o = empty;

  // The address and the choice of word hold; the retired count is whatever it is when written.
  `ALCOR_STABLE(a_write_stable, write_valid_o && !clear_i, write_ready_i, write_address_o)

endmodule

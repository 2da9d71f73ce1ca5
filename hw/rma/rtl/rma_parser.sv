`include "assertions.svh"

import alcor_abi_pkg::*;

/// Takes packets apart: header words go to the Head FIFO and payload to the In FIFO, each as it comes.
///
/// In beats of a word, header words are as many as the packet's type says. In beats of several words, a packet's first
/// beat is its header, whose words leave one by one; a PUT-1 of one beat has its payload behind its header word.
/// Beats behind the header of a packet whose type has no payload are dropped, and the packet is malformed.
module rma_parser #(
    /// Bits of a beat: 32, 256 or 512.
    parameter int unsigned DATA_W = 32,
    /// Header words that a beat of several words has at most: 4 or 8.
    parameter int unsigned HEADS = 4,
    /// Words of the Head FIFO, or headers where a beat has several words.
    parameter int unsigned HEAD_DEPTH = 16,
    /// Beats of the In FIFO.
    parameter int unsigned IN_DEPTH = 512
) (
    /// Clock.
    input  logic              clk_i,
    /// Synchronous reset, active low.
    input  logic              rst_ni,

    /// No packet is let in whose first beat has not been offered before.
    input  logic              hold_i,
    /// From the router: a beat is offered.
    input  logic              in_valid_i,
    /// The beat is taken.
    output logic              in_ready_o,
    /// The beat.
    input  logic [DATA_W-1:0] in_data_i,
    /// The beat is its packet's last.
    input  logic              in_last_i,
    /// With `in_last_i`: the beat ends a damaged packet, and holds no data.
    input  logic              in_cut_i,

    /// A header word is offered.
    output logic              head_valid_o,
    /// The header word is taken.
    input  logic              head_ready_i,
    /// The header word.
    output logic [31:0]       head_o,
    /// The packet ends with the header word, and its header does not; or the word ends a damaged packet.
    output logic              head_cut_o,
    /// With the header's last word: the packet has no payload.
    output logic              head_bare_o,

    /// A beat of payload is offered.
    output logic              payload_valid_o,
    /// The beat is taken.
    input  logic              payload_ready_i,
    /// The beat.
    output logic [DATA_W-1:0] payload_o,
    /// The beat is its packet's last.
    output logic              payload_last_o,
    /// With `payload_last_o`: the beat ends a damaged packet, and holds no data.
    output logic              payload_cut_o,

    /// Pulse: the packet that ends has payload, which its type has not.
    output logic              malformed_o,
    /// No packet is in the queues or comes in.
    output logic              idle_o
);

  localparam int unsigned LogHeads = $clog2(HEADS);

  logic in_packet_d, in_packet_q;
  logic let_in, in_valid, in_ready, taken, waits_q;
  alcor_abi_pkg::x_header_t in_header;
  alcor_abi_pkg::x_old_t in_old;
  logic heads_empty, payload_room, payload_in, payload_empty;
  // The packet's type has payload; the beat is one of the header.
  logic carries, carries_q, is_head;
  logic [DATA_W-1:0] payload_word;

  // All headers have their type in the same place.
  assign in_header   = in_data_i[31:0];
  assign in_old      = in_data_i[31:0];
  // A beat that waits for the Head FIFO is not withdrawn.
  assign let_in      = in_packet_q || waits_q || !hold_i;
  assign in_valid    = in_valid_i && let_in;
  assign in_ready_o  = in_ready && let_in;
  assign taken       = in_valid && in_ready;
  assign in_packet_d = taken ? !in_last_i : in_packet_q;

  always_ff @(posedge clk_i) begin
    waits_q <= rst_ni && in_valid && !in_ready;
    if (!rst_ni) in_packet_q <= 1'b0;
    else in_packet_q <= in_packet_d;
    if (!in_packet_q) carries_q <= carries;
  end

  assign carries     = in_header.ptype != PT_GET && in_header.ptype != PT_XGET && in_header.ptype != PT_XACK &&
                       !(in_header.ptype == PT_XDATA && in_old.atomic);
  assign malformed_o = taken && in_last_i && !is_head && !carries_q;

  if (DATA_W == 32) begin : g_words
    logic head_room, cut, bare;
    logic [2:0] behind, heads_behind, heads_left_q;

    rma_header_length u_header_length (
        .header_i(in_header),
        .behind_o(behind)
    );

    assign is_head      = !in_packet_q || heads_left_q != '0;
    assign in_ready     = is_head ? head_room : payload_room || !carries_q;
    assign payload_in   = in_valid && !is_head && carries_q;
    assign payload_word = in_data_i;

    assign heads_behind = in_packet_q ? heads_left_q - 1'b1 : behind;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) heads_left_q <= '0;
      else if (taken && is_head) heads_left_q <= heads_behind;
    end

    assign cut  = in_last_i && (heads_behind != '0 || in_cut_i);
    assign bare = in_last_i || !(in_packet_q ? carries_q : carries);

    fifo #(.WIDTH(2 + 32), .DEPTH(HEAD_DEPTH)) u_head_fifo (
        .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(in_valid && is_head), .ready_o(head_room),
        .data_i({cut, bare, in_data_i}), .valid_o(head_valid_o), .ready_i(head_ready_i),
        .data_o({head_cut_o, head_bare_o, head_o}),
        .empty_o(heads_empty), .usage_o()
    );

    `ALCOR_COVER(c_full_received_heads, !head_room)
  end else begin : g_beats
    logic head_room, beside, last_word;
    logic [32*HEADS-1:0] heads;
    logic [2:0] behind;
    logic [LogHeads-1:0] word_q;

    // Header and payload of one beat go to their queues together.
    assign beside       = !in_packet_q && in_last_i && in_header.ptype == PT_PUT_1;
    assign is_head      = !in_packet_q;
    assign in_ready     = is_head ? head_room && (!beside || payload_room) : payload_room || !carries_q;
    assign payload_in   = in_valid && (is_head ? beside && head_room : carries_q);
    assign payload_word = in_packet_q ? in_data_i : in_data_i >> 32;

    fifo #(.WIDTH(1 + 32 * HEADS), .DEPTH(HEAD_DEPTH)) u_head_fifo (
        .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(in_valid && is_head && (!beside || payload_room)),
        .ready_o(head_room), .data_i({!beside && (in_last_i || !carries), in_data_i[32*HEADS-1:0]}), .valid_o(head_valid_o),
        .ready_i(head_ready_i && last_word),
        .data_o({head_bare_o, heads}), .empty_o(heads_empty), .usage_o()
    );

    rma_header_length u_header_length (
        .header_i(heads[31:0]),
        .behind_o(behind)
    );

    assign last_word  = 3'(word_q) == behind;
    assign head_cut_o = 1'b0;
    assign head_o     = heads[32*word_q+:32];

    always_ff @(posedge clk_i) begin
      if (!rst_ni) word_q <= '0;
      else if (head_valid_o && head_ready_i) word_q <= last_word ? '0 : word_q + 1'b1;
    end

    `ALCOR_COVER(c_full_received_heads, !head_room)
  end

  fifo #(.WIDTH(2 + DATA_W), .DEPTH(IN_DEPTH), .BLOCK_RAM(IN_DEPTH >= 128)) u_in_fifo (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(payload_in), .ready_o(payload_room),
      .data_i({in_cut_i, in_last_i, payload_word}), .valid_o(payload_valid_o), .ready_i(payload_ready_i),
      .data_o({payload_cut_o, payload_last_o, payload_o}), .empty_o(payload_empty), .usage_o()
  );

  assign idle_o = !in_packet_q && heads_empty && payload_empty;

  `ALCOR_CHECK_PARAM(g_check_width, DATA_W == 32 || DATA_W == 256 || DATA_W == 512,
                     "rma_parser: DATA_W must be 32, 256 or 512")
  `ALCOR_COVER(c_full_in, !payload_room)

endmodule

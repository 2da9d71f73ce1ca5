`include "formal.svh"

// Properties of `router`, included at its end. The router does not depend on the bits of a word, so the proof uses
// these bits: source, output, first word of its packet, and two marks. The marks are on any two words of one input and
// one output, the second accepted after the first.
//
// Each marked word leaves its output once, unchanged, the first before the second; until then it is in one queue. Words
// leave an output packet by packet.

  `ALCOR_FORMAL_RESET

  localparam int unsigned WordW = WIDTH + 1;
  localparam int unsigned Pairs = PORTS * PORTS;

  // All queues have two words, Input Memory two or three.
  logic [PORTS-1:0][3*WordW-1:0] memory_words, output_words;
  logic [PORTS-1:0][1:0] memory_count, output_count, header_count;
  logic [Pairs-1:0][3*WordW-1:0] voq_words, crosspoint_words;
  logic [Pairs-1:0][1:0] voq_count, crosspoint_count;
  logic [PORTS-1:0][2*PORTS-1:0] header_words;
  logic [PORTS-1:0] memory_take, held, first;
  logic [PORTS-1:0][PORTS-1:0] voq_take, holder, under_way;
`include "router_queues.svh"

  // ---------------------------------------------------------------- arriving words

  // An output's number in two bits; 3: none.
  logic [PORTS-1:0][1:0] goes, went_q;
  logic [PORTS-1:0] inside_q, accept;

  assign accept = valid_i & ready_o;

  always_comb begin
    for (int i = 0; i < PORTS; i++) begin
      goes[i] = went_q[i];
      if (!inside_q[i]) begin
        goes[i] = 2'd3;
        for (int unsigned j = 0; j < PORTS; j++) if (route_i[i][j]) goes[i] = 2'(j);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    for (int i = 0; i < PORTS; i++) begin
      if (accept[i]) begin
        inside_q[i] <= !last_i[i];
        went_q[i]   <= goes[i];
      end
    end
    if (!rst_ni) inside_q <= '0;
  end

  (* anyconst *) logic [1:0] from, to;
  // The marked words; bits 5 and 6 are the marks.
  (* anyconst *) logic [WordW-1:0] word_a, word_b;
  logic a_in_q, b_in_q, a_out_q, b_out_q;
  logic [PORTS-1:0] a_in, b_in, a_out, b_out, right_in;

  always @(posedge clk_i) assume (32'(from) < PORTS && 32'(to) < PORTS);

  always_comb begin
    for (int i = 0; i < PORTS; i++) begin
      a_in[i]     = valid_i[i] && data_i[i][5];
      b_in[i]     = valid_i[i] && data_i[i][6];
      right_in[i] = data_i[i][1:0] == 2'(i) && data_i[i][3:2] == goes[i] && data_i[i][4] == !inside_q[i]
          && (inside_q[i] || (route_i[i] & (route_i[i] - 1'b1)) == '0);
      if (data_i[i][5]) right_in[i] = right_in[i] && !a_in_q && from == 2'(i) && to == goes[i] && {last_i[i], data_i[i]} == word_a;
      if (data_i[i][6]) right_in[i] = right_in[i] && a_in_q && !b_in_q && from == 2'(i) && to == goes[i] && {last_i[i], data_i[i]} == word_b;
      a_out[i] = valid_o[i] && ready_i[i] && data_o[i][5];
      b_out[i] = valid_o[i] && ready_i[i] && data_o[i][6];
    end
  end
  `ALCOR_ASSUME((valid_i & ~right_in) == '0)
  // An offered word stays valid and unchanged until it is taken.
  always @(posedge clk_i)
    if (rst_ni && $past(rst_ni))
      assume ((held_back_q & ~valid_i) == '0 && (held_back_q & changed) == '0);
  logic [PORTS-1:0] held_back_q, changed;
  logic [PORTS-1:0][WIDTH-1:0] data_q;
  logic [PORTS-1:0] last_q;
  always_ff @(posedge clk_i) begin
    held_back_q <= rst_ni ? valid_i & ~ready_o : '0;
    data_q      <= data_i;
    last_q      <= last_i;
  end
  always_comb for (int i = 0; i < PORTS; i++) changed[i] = data_q[i] != data_i[i] || last_q[i] != last_i[i];

  always_ff @(posedge clk_i) begin
    if (!rst_ni) {a_in_q, b_in_q, a_out_q, b_out_q} <= '0;
    else begin
      a_in_q  <= a_in_q || (a_in & accept) != '0;
      b_in_q  <= b_in_q || (b_in & accept) != '0;
      a_out_q <= a_out_q || a_out != '0;
      b_out_q <= b_out_q || b_out != '0;
    end
  end

  // ---------------------------------------------------------------- leaving words

  logic [PORTS-1:0] leaving_q, right_out, packet_out;
  logic [PORTS-1:0][1:0] source_q;

  always_ff @(posedge clk_i) begin
    for (int j = 0; j < PORTS; j++) begin
      if (valid_o[j] && ready_i[j]) begin
        leaving_q[j] <= !last_o[j];
        source_q[j]  <= data_o[j][1:0];
      end
    end
    if (!rst_ni) leaving_q <= '0;
  end

  always_comb begin
    for (int j = 0; j < PORTS; j++) begin
      right_out[j]  = data_o[j][3:2] == 2'(j);
      packet_out[j] = data_o[j][4] == !leaving_q[j] && (!leaving_q[j] || data_o[j][1:0] == source_q[j]);
      if (data_o[j][5]) right_out[j] = right_out[j] && to == 2'(j) && {last_o[j], data_o[j]} == word_a;
      if (data_o[j][6]) right_out[j] = right_out[j] && to == 2'(j) && {last_o[j], data_o[j]} == word_b;
    end
  end
  `ALCOR_ASSERT(p_right_output, (valid_o & ~right_out) == '0)
  `ALCOR_ASSERT(p_packet_by_packet, (valid_o & ~packet_out) == '0)
  `ALCOR_ASSERT(p_once, (a_out == '0 || (a_in_q && !a_out_q)) && (b_out == '0 || (b_in_q && !b_out_q)))
  `ALCOR_IMPLIES(p_order, b_out != '0, a_out_q)

  // Marked words in the queues, and their places, counted from the output: the first is ahead of the second.
  logic [5:0] a_held, b_held, a_place, b_place;
  always_comb begin
    a_held  = '0;
    b_held  = '0;
    a_place = '0;
    b_place = '0;
    for (int k = 0; k < 3; k++) begin
      for (int i = 0; i < PORTS; i++) begin
        if (k < 32'(output_count[i])) begin
          a_held = a_held + 6'(output_words[i][k*WordW+5]);
          b_held = b_held + 6'(output_words[i][k*WordW+6]);
          if (output_words[i][k*WordW+5]) a_place = 6'(k);
          if (output_words[i][k*WordW+6]) b_place = 6'(k);
        end
        if (k < 32'(memory_count[i])) begin
          a_held = a_held + 6'(memory_words[i][k*WordW+5]);
          b_held = b_held + 6'(memory_words[i][k*WordW+6]);
          if (memory_words[i][k*WordW+5]) a_place = 6'(k) + 6'd6;
          if (memory_words[i][k*WordW+6]) b_place = 6'(k) + 6'd6;
        end
      end
      for (int i = 0; i < Pairs; i++) begin
        if (k < 32'(crosspoint_count[i])) begin
          a_held = a_held + 6'(crosspoint_words[i][k*WordW+5]);
          b_held = b_held + 6'(crosspoint_words[i][k*WordW+6]);
          if (crosspoint_words[i][k*WordW+5]) a_place = 6'(k) + 6'd2;
          if (crosspoint_words[i][k*WordW+6]) b_place = 6'(k) + 6'd2;
        end
        if (k < 32'(voq_count[i])) begin
          a_held = a_held + 6'(voq_words[i][k*WordW+5]);
          b_held = b_held + 6'(voq_words[i][k*WordW+6]);
          if (voq_words[i][k*WordW+5]) a_place = 6'(k) + 6'd4;
          if (voq_words[i][k*WordW+6]) b_place = 6'(k) + 6'd4;
        end
      end
    end
  end
  `ALCOR_ASSERT(p_held, a_held == 6'(a_in_q && !a_out_q) && b_held == 6'(b_in_q && !b_out_q))
  `ALCOR_IMPLIES(p_not_empty, a_in_q && !a_out_q, !empty_o)
  `ALCOR_IMPLIES(p_in_front, b_in_q && !b_out_q && !a_out_q, a_place < b_place)
  `ALCOR_IMPLIES(p_marks, !a_in_q, !b_in_q && !a_out_q)
  `ALCOR_IMPLIES(p_marks_out, b_out_q, a_out_q && b_in_q)

  // ---------------------------------------------------------------- invariants: contents of the queues

  // By input: an unfinished packet leaves Input Memory; by virtual output queue: an unfinished packet leaves it; by
  // output: an unfinished packet enters, and its input.
  logic [PORTS-1:0] taking_q, entering_q;
  logic [PORTS-1:0][1:0] entered_q;
  logic [Pairs-1:0] sending_q;

  always_ff @(posedge clk_i) begin
    for (int i = 0; i < PORTS; i++) begin
      if (memory_take[i]) taking_q[i] <= !memory_words[i][WordW-1];
      for (int j = 0; j < PORTS; j++) begin
        if (voq_take[i][j]) sending_q[i*PORTS+j] <= !voq_words[i*PORTS+j][WordW-1];
        if (col_valid[j][i] && col_ready[j][i]) begin
          entering_q[j] <= !col_last[j][i];
          entered_q[j]  <= 2'(i);
        end
      end
    end
    if (!rst_ni) {taking_q, entering_q, sending_q} <= '0;
  end

  // Whether the words of a queue form consecutive packets. `before`: the last word that left the queue has left a
  // packet unfinished; `after`: so has the last word that entered.
  function automatic logic follows(input logic [3*WordW-1:0] words, input logic [1:0] count, input logic before,
                                   input logic after);
    follows = 1'b1;
    if (count == 2'd0) follows = before == after;
    if (count != 2'd0) follows = words[4] == !before && (count != 2'd1 || !words[WordW-1] == after);
    if (count >= 2'd2) follows = follows && words[WordW+4] == words[WordW-1] && (count != 2'd2 || !words[2*WordW-1] == after);
    if (count == 2'd3) follows = follows && words[2*WordW+4] == words[2*WordW-1] && !words[3*WordW-1] == after;
  endfunction

  // Whether a word is from input i (3: any) to output j (3: any), and a marked word is unchanged.
  function automatic logic belongs(input logic [WordW-1:0] word, input logic [1:0] i, input logic [1:0] j,
                                   input logic [1:0] f, input logic [1:0] t, input logic [WordW-1:0] a, input logic [WordW-1:0] b);
    belongs = (i == 2'd3 || word[1:0] == i) && (j == 2'd3 || word[3:2] == j);
    if (word[5]) belongs = belongs && word == a && word[1:0] == f && word[3:2] == t;
    if (word[6]) belongs = belongs && word == b && word[1:0] == f && word[3:2] == t;
  endfunction

  function automatic logic [PORTS-1:0] bits(input logic [1:0] j);
    bits = '0;
    if (32'(j) < PORTS) bits = PORTS'(1) << j;
  endfunction

  logic [PORTS-1:0] memory_right, header_right, output_right;
  logic [Pairs-1:0] voq_right, crosspoint_right;

  always_comb begin
    for (int i = 0; i < PORTS; i++) begin
      memory_right[i] = follows(memory_words[i], memory_count[i], taking_q[i], inside_q[i]) && first[i] == !inside_q[i];
      header_right[i] = 32'(header_count[i]) == 32'(taking_q[i]) + 32'(memory_count[i] != 2'd0 && memory_words[i][4])
                                                 + 32'(memory_count[i] >= 2'd2 && memory_words[i][WordW+4])
                                                 + 32'(memory_count[i] == 2'd3 && memory_words[i][2*WordW+4]);
      output_right[i] = follows(output_words[i], output_count[i], leaving_q[i], entering_q[i]);
      for (int k = 0; k < 3; k++) begin
        if (k < 32'(memory_count[i])) memory_right[i] = memory_right[i] && belongs(memory_words[i][k*WordW+:WordW], 2'(i), 2'd3, from, to, word_a, word_b);
        if (k < 32'(output_count[i])) output_right[i] = output_right[i] && belongs(output_words[i][k*WordW+:WordW], 2'd3, 2'(i), from, to, word_a, word_b)
            && 32'(output_words[i][k*WordW+:2]) < PORTS;
      end
      // Each last word ahead of a word in Input Memory moves the word to the next entry of Header Q.
      if (memory_count[i] != 2'd0) header_right[i] = header_right[i] && header_words[i][PORTS-1:0] == bits(memory_words[i][3:2]);
      if (memory_count[i] >= 2'd2) header_right[i] = header_right[i]
          && (memory_words[i][WordW-1] ? header_words[i][2*PORTS-1:PORTS] : header_words[i][PORTS-1:0]) == bits(memory_words[i][WordW+2+:2]);
      if (memory_count[i] == 2'd3) header_right[i] = header_right[i]
          && (memory_words[i][WordW-1] || memory_words[i][2*WordW-1] ? header_words[i][2*PORTS-1:PORTS] : header_words[i][PORTS-1:0])
             == bits(memory_words[i][2*WordW+2+:2]);
      if (inside_q[i]) header_right[i] = header_right[i] && header_count[i] != 2'd0
          && (header_count[i] == 2'd2 ? header_words[i][2*PORTS-1:PORTS] : header_words[i][PORTS-1:0]) == bits(went_q[i]);
      if (header_count[i] != 2'd0) header_right[i] = header_right[i] && (header_words[i][PORTS-1:0] & (header_words[i][PORTS-1:0] - 1'b1)) == '0;
      if ((under_way[i] & (under_way[i] - 1'b1)) != '0) header_right[i] = 1'b0;
      // An output holds the input of an unfinished packet.
      if (output_count[i] != 2'd0 && leaving_q[i]) output_right[i] = output_right[i] && output_words[i][1:0] == source_q[i];
      if (output_count[i] == 2'd0 && leaving_q[i]) output_right[i] = output_right[i] && entered_q[i] == source_q[i];
      if (output_count[i] == 2'd1) output_right[i] = output_right[i] && output_words[i][1:0] == entered_q[i];
      if (output_count[i] == 2'd2) output_right[i] = output_right[i] && output_words[i][WordW+:2] == entered_q[i]
          && (output_words[i][WordW-1] || output_words[i][1:0] == entered_q[i]);
      if (entering_q[i]) output_right[i] = output_right[i] && held[i] && holder[i] == bits(entered_q[i]) && 32'(entered_q[i]) < PORTS;
      for (int j = 0; j < PORTS; j++) begin
        voq_right[i*PORTS+j] = follows(voq_words[i*PORTS+j], voq_count[i*PORTS+j], sending_q[i*PORTS+j], taking_q[i] && header_words[i][j]);
        crosspoint_right[i*PORTS+j] = follows(crosspoint_words[i*PORTS+j], crosspoint_count[i*PORTS+j],
                                              entering_q[j] && entered_q[j] == 2'(i), sending_q[i*PORTS+j]);
        for (int k = 0; k < 2; k++) begin
          if (k < 32'(voq_count[i*PORTS+j])) voq_right[i*PORTS+j] = voq_right[i*PORTS+j]
              && belongs(voq_words[i*PORTS+j][k*WordW+:WordW], 2'(i), 2'(j), from, to, word_a, word_b);
          if (k < 32'(crosspoint_count[i*PORTS+j])) crosspoint_right[i*PORTS+j] = crosspoint_right[i*PORTS+j]
              && belongs(crosspoint_words[i*PORTS+j][k*WordW+:WordW], 2'(i), 2'(j), from, to, word_a, word_b);
        end
      end
    end
  end
  `ALCOR_ASSERT(p_memory, memory_right == '1)
  `ALCOR_ASSERT(p_header, header_right == '1)
  `ALCOR_ASSERT(p_voq, voq_right == '1)
  `ALCOR_ASSERT(p_crosspoint, crosspoint_right == '1)
  `ALCOR_ASSERT(p_output, output_right == '1)

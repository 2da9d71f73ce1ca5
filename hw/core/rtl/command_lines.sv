`include "assertions.svh"

import alcor_abi_pkg::*;

/// Commands in lines of 64 bytes, taken as a whole.
///
/// Behind the pages, each rank has a page for lines on the AXI4 port. A host writes a command into the first 64 bytes of this
/// page: a payload for node memory, and register writes. A processor that combines writes may send the line in pieces, in
/// any order. So the words are collected for each rank. Once all 16 words of a line are there, the payload is written, then
/// the registers, in order; meanwhile nothing else passes. A line of which a word is missing has no effect, and holds up
/// nobody. A write to another place of the page forgets the words that are there. All other writes pass in the same cycle.
module command_lines #(
    /// Ranks of the board, a power of two.
    parameter int unsigned RANKS = 2,
    /// Bits of a beat, 256 or 512.
    parameter int unsigned DATA_W = 256,
    /// Address bits of the port, the highest of which selects the pages; 19 or more.
    parameter int unsigned ADDR_W = 22,
    /// Address bits of one node memory.
    parameter int unsigned NODE_W = 20
) (
    /// Clock.
    input  logic                           clk_i,
    /// Synchronous reset, active low.
    input  logic                           rst_ni,

    /// Port: a write.
    input  alcor_abi_pkg::memory_request_t write_i,
    /// Port: the write is done.
    output logic                           write_gnt_o,
    /// Port: data of the write.
    input  logic [DATA_W-1:0]              write_data_i,
    /// Port: byte strobes of the write.
    input  logic [DATA_W/8-1:0]            write_strobe_i,

    /// Pages and node memory: a write, of the port or of a line.
    output alcor_abi_pkg::memory_request_t write_o,
    /// Pages and node memory: the write is done.
    input  logic                           write_gnt_i,
    /// Data of the write.
    output logic [DATA_W-1:0]              write_data_o,
    /// Byte strobes of the write.
    output logic [DATA_W/8-1:0]            write_strobe_o,

    /// A line is being carried out: reads wait.
    output logic                           busy_o
);

  localparam int unsigned Words = DATA_W / 32;
  // Bits of a word address below the beat.
  localparam int unsigned LowW = $clog2(Words);
  localparam int unsigned RankW = (RANKS == 1) ? 1 : $clog2(RANKS);
  // Address bits of a word in a page, and the page of the first rank.
  localparam int unsigned PageW = 10;

  typedef enum logic [1:0] {
    Collect,  // words are collected; other writes pass
    Payload,  // the line is complete: its payload is written to node memory
    Writes    // its register writes
  } state_e;

  state_e state_d, state_q;
  logic to_page, line_beat, forget, complete;
  logic [4:0] page;
  logic [RankW-1:0] rank, rank_q;
  logic [15:0] words;
  logic [RANKS-1:0][15:0] there_q;
  // The line of rank `rank_q`.
  logic [15:0][31:0] line;

  // ---------------------------------------------------------------- words of a line

  assign to_page   = write_i.req && write_i.address[ADDR_W-3] && write_i.address[15] && state_q == Collect;
  assign page      = write_i.address[PageW+:5];
  assign rank      = write_i.address[PageW+:RankW];
  assign line_beat = to_page && 32'(page) < RANKS && write_i.address[PageW-1:4] == '0;
  assign forget    = to_page && 32'(page) < RANKS && write_i.address[PageW-1:4] != '0;
  assign complete  = line_beat && (there_q[rank] | words) == '1;

  for (genvar w = 0; w < 16; w++) begin : g_word
    // In a memory of its own, so that the words of a beat are written in one cycle.
    logic [31:0] kept_q[RANKS];
    logic here;

    if (Words == 16) begin : g_line
      assign here = 1'b1;
    end else begin : g_part
      assign here = write_i.address[3:LowW] == (4 - LowW)'(w / Words);
    end

    assign words[w] = here && write_strobe_i[4*(w%Words)+:4] == '1;
    assign line[w]  = kept_q[rank_q];

    always_ff @(posedge clk_i) begin
      if (line_beat && words[w]) kept_q[rank] <= write_data_i[32*(w%Words)+:32];
    end
  end

  for (genvar r = 0; r < RANKS; r++) begin : g_rank
    always_ff @(posedge clk_i) begin
      if (!rst_ni) there_q[r] <= '0;
      else if ((complete || forget) && 32'(rank) == r) there_q[r] <= '0;
      else if (line_beat && 32'(rank) == r) there_q[r] <= there_q[r] | words;
    end
  end

  // ---------------------------------------------------------------- the line's writes

  alcor_abi_pkg::line_head_t head;
  logic [3:0] count_d, count_q;
  logic [7:0] code_q;
  logic [31:0] value_q, place;
  logic [9:0] register;
  logic [31:0] payload_strobe;
  logic [7:0][7:0] codes;
  logic [7:0][31:0] values;
  logic moves, done_q;

  assign head     = line[0];
  assign place    = line[1];
  assign codes    = line[3:2];
  assign values   = line[11:4];
  // A code with its highest bit names a register of the collective unit.
  assign register = code_q[7] ? {3'b100, code_q[6:0]} : {2'b00, code_q};
  assign moves    = state_q == Writes && write_gnt_i;
  assign count_d  = (state_q == Payload) ? '0 : count_q + 1'b1;

  // The next register write, while the payload or the write before it moves.
  always_ff @(posedge clk_i) begin
    if (state_q == Payload || moves) begin
      count_q <= count_d;
      code_q  <= codes[count_d[2:0]];
      value_q <= values[count_d[2:0]];
      done_q  <= count_d[3] || count_d >= head.writes;
    end
  end

  always_comb begin
    for (int unsigned b = 0; b < 32; b++) payload_strobe[b] = 6'(b) < head.payload;
  end

  always_comb begin
    state_d        = state_q;
    write_o        = write_i;
    write_data_o   = write_data_i;
    write_strobe_o = write_strobe_i;
    write_gnt_o    = write_gnt_i;
    unique case (state_q)
      Collect: begin
        if (to_page) begin
          write_o.req = 1'b0;
          write_gnt_o = 1'b1;
        end
        if (complete) state_d = Payload;
      end
      Payload: begin
        write_gnt_o     = 1'b0;
        write_o.req     = head.payload != '0;
        write_o.address = 30'({rank_q, place[NODE_W-1:5], 3'b000});
        write_data_o    = {(Words / 8){line[15:8]}};
        write_strobe_o  = (DATA_W / 8)'(payload_strobe);
        // The upper half of a beat of 512 bits.
        if (Words == 16 && place[5]) write_strobe_o = (DATA_W / 8)'({payload_strobe, 32'd0});
        if (write_gnt_i || head.payload == '0) state_d = Writes;
      end
      Writes: begin
        write_gnt_o     = 1'b0;
        write_o.req     = !done_q;
        write_o.address = 30'({1'b1, (ADDR_W - 18)'(0), 5'(rank_q) + 5'd1, register});
        write_data_o    = {Words{value_q}};
        write_strobe_o  = (DATA_W / 8)'(4'hF) << {register[LowW-1:0], 2'b00};
        if (done_q) state_d = Collect;
      end
      default: state_d = Collect;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= Collect;
    else state_q <= state_d;
    if (complete) rank_q <= rank;
  end

  assign busy_o = state_q != Collect;

  logic unused;
  assign unused = ^{head, place};

  `ALCOR_CHECK_PARAM(g_check_data, DATA_W == 256 || DATA_W == 512, "command_lines: DATA_W must be 256 or 512")
  `ALCOR_CHECK_PARAM(g_check_address, ADDR_W >= 19 && ADDR_W <= 32, "command_lines: ADDR_W must be 19 to 32")
  `ALCOR_STABLE(a_write_stable, write_o.req, write_gnt_i, {write_o.address, write_data_o, write_strobe_o})
  `ALCOR_IMPLIES(a_nothing_passes, busy_o, !write_gnt_o)
  `ALCOR_COVER(c_line_in_pieces, complete && there_q[rank] != '0)
  `ALCOR_COVER(c_line_with_payload, state_q == Payload && head.payload != '0)
  `ALCOR_COVER(c_line_forgotten, forget && there_q[rank] != '0)

endmodule

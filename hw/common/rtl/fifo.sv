`include "assertions.svh"

/// First-word fall-through FIFO with one clock.
///
/// Handshake: a word moves when valid and ready are both high at a clock edge. Valid does not wait
/// for ready, and stays, with the payload, until the word moves. `valid_o` and `ready_o` come from
/// registers, so no path leads from one side's handshake to the other's.
///
/// A word written in cycle t is at the output in cycle t+1, with either kind of RAM. A word enters
/// and a word leaves in every cycle, at every fill level that has both: a full FIFO that is read
/// takes a word again in the next cycle.
module fifo #(
    /// Bits per word.
    parameter int unsigned WIDTH = 32,
    /// Depth in words: any number from 2 on.
    parameter int unsigned DEPTH = 16,
    /// 1: block RAM; 0: distributed (LUT) RAM.
    parameter bit BLOCK_RAM = 1'b0,
    /// Width of the fill level; derived, not to be set.
    localparam int unsigned UsageW = $clog2(DEPTH + 1)
) (
    /// Clock.
    input  logic              clk_i,
    /// Synchronous reset, active low; empties the FIFO.
    input  logic              rst_ni,
    /// Input: a word is offered.
    input  logic              valid_i,
    /// Input: there is room.
    output logic              ready_o,
    /// Input: the word.
    input  logic [ WIDTH-1:0] data_i,
    /// Output: a word is offered.
    output logic              valid_o,
    /// Output: the word is taken.
    input  logic              ready_i,
    /// Output: the oldest word; undefined while `valid_o` is low.
    output logic [ WIDTH-1:0] data_o,
    /// No word is held.
    output logic              empty_o,
    /// Number of words held, 0 to DEPTH.
    output logic [UsageW-1:0] usage_o
);

  `ALCOR_CHECK_PARAM(g_check_depth, DEPTH >= 2, "fifo: DEPTH must be 2 or more")
  `ALCOR_CHECK_PARAM(g_check_width, WIDTH >= 1, "fifo: WIDTH must be 1 or more")

  localparam int unsigned AddrW = $clog2(DEPTH);

  logic push, pop;
  logic valid_d, valid_q;
  logic full_d, full_q;
  logic [UsageW-1:0] usage_q;
  logic [AddrW-1:0] waddr_next, waddr_q;
  logic [AddrW-1:0] raddr_next, raddr_q;

  assign push = valid_i && !full_q;
  assign pop  = valid_q && ready_i;

  if ((DEPTH & (DEPTH - 1)) == 0) begin : g_wrap
    assign waddr_next = waddr_q + 1'b1;
    assign raddr_next = raddr_q + 1'b1;
  end else begin : g_compare
    localparam logic [AddrW-1:0] LastAddr = AddrW'(DEPTH - 1);

    assign waddr_next = (waddr_q == LastAddr) ? '0 : waddr_q + 1'b1;
    assign raddr_next = (raddr_q == LastAddr) ? '0 : raddr_q + 1'b1;
  end

  // The addresses suffice for `valid_o` and `ready_o`, so synthesis drops the fill level where `usage_o` is not used.
  assign valid_d = push || (valid_q && !(pop && raddr_next == waddr_q));
  assign full_d  = !pop && (full_q || (push && waddr_next == raddr_q));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      full_q  <= 1'b0;
      usage_q <= '0;
      waddr_q <= '0;
      raddr_q <= '0;
    end else begin
      valid_q <= valid_d;
      full_q  <= full_d;
      usage_q <= usage_q + UsageW'(push) - UsageW'(pop);
      if (push) waddr_q <= waddr_next;
      if (pop) raddr_q <= raddr_next;
    end
  end

`ifdef FORMAL
  logic [DEPTH*WIDTH-1:0] contents;
`endif

  if (BLOCK_RAM) begin : g_block
    logic [AddrW-1:0] raddr_d;
    logic bypass_q;
    logic [WIDTH-1:0] bypass_data_q, rdata;

    assign raddr_d = pop ? raddr_next : raddr_q;

    // The RAM is read at the address of the next cycle's head. If that word is only now being
    // written, the read gives old contents, and the word comes from the bypass register instead.
    ram_sdp #(
        .WIDTH    (WIDTH),
        .DEPTH    (DEPTH),
        .LANES    (1),
        .BLOCK_RAM(1'b1)
    ) u_ram (
        .clk_i  (clk_i),
        .we_i   (push),
        .waddr_i(waddr_q),
        .wdata_i(data_i),
        .re_i   (1'b1),
        .raddr_i(raddr_d),
`ifdef FORMAL
        .contents_o(contents),
`endif
        .rdata_o(rdata)
    );

    // No reset: both are written in the cycle before the first word is offered.
    always_ff @(posedge clk_i) begin
      bypass_q      <= push && waddr_q == raddr_d;
      bypass_data_q <= data_i;
    end

    assign data_o = bypass_q ? bypass_data_q : rdata;
  end else begin : g_distributed
    // A distributed RAM is read in the same cycle, so a word needs no register behind the RAM.
    (* ram_style = "distributed" *)
    logic [WIDTH-1:0] mem_q[DEPTH];

    always_ff @(posedge clk_i) begin
      if (push) mem_q[waddr_q] <= data_i;
    end

    assign data_o = mem_q[raddr_q];

`ifdef FORMAL
    for (genvar i = 0; i < DEPTH; i++) begin : g_contents
      assign contents[i*WIDTH+:WIDTH] = mem_q[i];
    end
`endif
  end

  assign ready_o = !full_q;
  assign valid_o = valid_q;
  assign empty_o = !valid_q;
  assign usage_o = usage_q;

  `ALCOR_STABLE(a_in_stable, valid_i, ready_o, data_i)
  `ALCOR_STABLE(a_out_stable, valid_o, ready_i, data_o)
  // With a depth of 3 or 7 every value is in range.
  if (DEPTH + 1 != 2 ** UsageW) begin : g_range
    `ALCOR_ASSERT(a_usage_range, usage_q <= UsageW'(DEPTH))
  end
  `ALCOR_ASSERT(a_valid_exact, valid_q == (usage_q != '0))
  `ALCOR_ASSERT(a_full_exact, full_q == (usage_q == UsageW'(DEPTH)))

`ifdef ALCOR_PROVE_FIFO
  `include "fifo_properties.svh"
`endif

endmodule

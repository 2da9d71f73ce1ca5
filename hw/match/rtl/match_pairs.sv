`include "assertions.svh"

/// Queue pairs of a match store: their descriptors, and the number of headers in each queue.
///
/// A descriptor has two parts. The first one is read when an operation is taken: masks and key. The second one is read
/// when the operation ends: limits and attributes. Software may write a descriptor at any time; an operation uses the
/// parts as they are when it reads them.
module match_pairs #(
    /// Queue pairs, a power of two, 2 or more.
    parameter int unsigned PAIRS = 8,
    /// Match bits.
    parameter int unsigned MATCH_W = 72,
    /// Bits of a key.
    parameter int unsigned KEY_W = 16,
    /// Bits of attributes, which a result has from the descriptor.
    parameter int unsigned ATTR_W = 16,
    /// Bits of a number of headers.
    parameter int unsigned COUNT_W = 11,
    /// Bits of the number of a lane.
    parameter int unsigned LANE_W = 3,
    /// Width of a pair's number; derived, not to be set.
    localparam int unsigned PairW = $clog2(PAIRS)
) (
    /// Clock.
    input  logic                  clk_i,
    /// Synchronous reset, active low.
    input  logic                  rst_ni,
    /// The tables are being cleared, after reset.
    input  logic                  sweep_i,
    /// Pair that is cleared in this cycle.
    input  logic [PairW-1:0]      sweep_pair_i,

    /// Descriptor: written in this cycle.
    input  logic                  write_i,
    /// Descriptor: the pair.
    input  logic [PairW-1:0]      write_pair_i,
    /// Descriptor: mask of the source, for an operation with any source.
    input  logic [MATCH_W-1:0]    write_source_mask_i,
    /// Descriptor: mask of the tag, for an operation with any tag.
    input  logic [MATCH_W-1:0]    write_tag_mask_i,
    /// Descriptor: key.
    input  logic [KEY_W-1:0]      write_key_i,
    /// Descriptor: maximum number of posted receives.
    input  logic [COUNT_W-1:0]    write_posted_limit_i,
    /// Descriptor: maximum number of unexpected messages.
    input  logic [COUNT_W-1:0]    write_unexpected_limit_i,
    /// Descriptor: attributes.
    input  logic [ATTR_W-1:0]     write_attr_i,
    /// Pulse: the pair `write_pair_i` takes messages again.
    input  logic                  resume_i,
    /// By pair: messages are refused, since one was refused for lack of room.
    output logic [PAIRS-1:0]      stopped_o,

    /// First part: read in this cycle.
    input  logic                  first_read_i,
    /// First part: the pair.
    input  logic [PairW-1:0]      first_pair_i,
    /// First part, a cycle later: mask of the source.
    output logic [MATCH_W-1:0]    source_mask_o,
    /// First part, a cycle later: mask of the tag.
    output logic [MATCH_W-1:0]    tag_mask_o,
    /// First part, a cycle later: key.
    output logic [KEY_W-1:0]      key_o,

    /// Second part and counts: read in this cycle.
    input  logic                  last_read_i,
    /// Second part and counts: the pair.
    input  logic [PairW-1:0]      last_pair_i,
    /// A cycle later: limits of unexpected messages and of posted receives.
    output logic [1:0][COUNT_W-1:0] limits_o,
    /// A cycle later: attributes.
    output logic [ATTR_W-1:0]     attr_o,
    /// A cycle later: number of unexpected messages and of posted receives.
    output logic [1:0][COUNT_W-1:0] counts_o,
    /// A cycle later: lane of the last append to the unexpected messages and to the posted receives.
    output logic [1:0][LANE_W-1:0] lanes_o,
    /// Counts and lanes of the pair `update_pair_i` are written in this cycle.
    input  logic                  update_i,
    /// The pair.
    input  logic [PairW-1:0]      update_pair_i,
    /// New counts.
    input  logic [1:0][COUNT_W-1:0] update_counts_i,
    /// New lanes.
    input  logic [1:0][LANE_W-1:0] update_lanes_i,
    /// Pulse: the pair `update_pair_i` refuses messages from now on.
    input  logic                  stop_i,

    /// Counts for software: the pair.
    input  logic [PairW-1:0]      look_pair_i,
    /// Counts for software, a cycle later: unexpected messages and posted receives.
    output logic [1:0][COUNT_W-1:0] look_counts_o
);

  localparam int unsigned FirstW = 2 * MATCH_W + KEY_W;
  localparam int unsigned LastW = ATTR_W + 2 * COUNT_W;
  localparam int unsigned StateW = 2 * COUNT_W + 2 * LANE_W;

  logic [PairW-1:0] write_pair, update_pair;
  logic [FirstW-1:0] write_first;
  logic [LastW-1:0] write_last;
  logic [StateW-1:0] write_state;

  // After reset, a pair has no room, and its first headers go to a lane of their own.
  assign write_pair  = sweep_i ? sweep_pair_i : write_pair_i;
  assign write_first = sweep_i ? '0 : {write_source_mask_i, write_tag_mask_i, write_key_i};
  assign write_last  = sweep_i ? '0 : {write_attr_i, write_posted_limit_i, write_unexpected_limit_i};
  assign update_pair = sweep_i ? sweep_pair_i : update_pair_i;
  assign write_state = sweep_i ? {{2 * COUNT_W{1'b0}}, {2{LANE_W'(sweep_pair_i)}}} : {update_counts_i, update_lanes_i};

  ram_sdp #(
      .WIDTH    (FirstW),
      .DEPTH    (PAIRS),
      .BLOCK_RAM(1'b0)
  ) u_first (
      .clk_i  (clk_i),
      .we_i   (write_i || sweep_i),
      .waddr_i(write_pair),
      .wdata_i(write_first),
      .re_i   (first_read_i),
      .raddr_i(first_pair_i),
      .rdata_o({source_mask_o, tag_mask_o, key_o})
  );

  ram_sdp #(
      .WIDTH    (LastW),
      .DEPTH    (PAIRS),
      .BLOCK_RAM(1'b0)
  ) u_last (
      .clk_i  (clk_i),
      .we_i   (write_i || sweep_i),
      .waddr_i(write_pair),
      .wdata_i(write_last),
      .re_i   (last_read_i),
      .raddr_i(last_pair_i),
      .rdata_o({attr_o, limits_o})
  );

  ram_sdp #(
      .WIDTH    (StateW),
      .DEPTH    (PAIRS),
      .BLOCK_RAM(1'b0)
  ) u_state (
      .clk_i  (clk_i),
      .we_i   (update_i || sweep_i),
      .waddr_i(update_pair),
      .wdata_i(write_state),
      .re_i   (last_read_i),
      .raddr_i(last_pair_i),
      .rdata_o({counts_o, lanes_o})
  );

  ram_sdp #(
      .WIDTH    (2 * COUNT_W),
      .DEPTH    (PAIRS),
      .BLOCK_RAM(1'b0)
  ) u_look (
      .clk_i  (clk_i),
      .we_i   (update_i || sweep_i),
      .waddr_i(update_pair),
      .wdata_i(sweep_i ? '0 : update_counts_i),
      .re_i   (1'b1),
      .raddr_i(look_pair_i),
      .rdata_o(look_counts_o)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      stopped_o <= '0;
    end else begin
      if (resume_i) stopped_o[write_pair_i] <= 1'b0;
      if (stop_i) stopped_o[update_pair_i] <= 1'b1;
    end
  end

  `ALCOR_IMPLIES(a_write_after_sweep, write_i || update_i, !sweep_i)

endmodule

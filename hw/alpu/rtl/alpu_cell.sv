`include "assertions.svh"

/// One entry of the list: its match bits, its mask bits in the kind for posted receives, its tag, and
/// the comparison with the request.
///
/// The data input is always the next lower cell's, so that moving costs a clock enable. Whether there is
/// an entry, whether it was hit and whether it won are kept by the block, as vectors over its cells.
module alpu_cell #(
    /// 1: for posted receives, the entry has the mask; 0: for unexpected messages, the request has it.
    parameter bit POSTED = 1'b1,
    /// Match bits.
    parameter int unsigned MATCH_W = alcor_abi_pkg::MatchW,
    /// Tag bits.
    parameter int unsigned TAG_W = 16,
    /// Pairs of match bits; derived, not to be set.
    localparam int unsigned Half = (MATCH_W + 1) / 2
) (
    /// Clock.
    input  logic               clk_i,
    /// Take the entry of the next lower cell.
    input  logic               move_i,
    /// The next lower cell's entry: match bits.
    input  logic [MATCH_W-1:0] match_i,
    /// The next lower cell's entry: mask bits; a bit that is set matches whatever the request has.
    input  logic [MATCH_W-1:0] mask_i,
    /// The next lower cell's entry: tag.
    input  logic [  TAG_W-1:0] tag_i,
    /// The request.
    input  logic [MATCH_W-1:0] request_i,
    /// The request's mask bits; not used where the entry has them.
    input  logic [MATCH_W-1:0] request_mask_i,
    /// This cell's entry: match bits.
    output logic [MATCH_W-1:0] match_o,
    /// This cell's entry: mask bits; zero where the request has them.
    output logic [MATCH_W-1:0] mask_o,
    /// This cell's entry: tag.
    output logic [  TAG_W-1:0] tag_o,
    /// The request matches the entry, if there is one.
    output logic               hit_o
);

  always_ff @(posedge clk_i) begin
    if (move_i) begin
      match_o <= match_i;
      tag_o   <= tag_i;
    end
  end

  logic [MATCH_W-1:0] equal;
  if (POSTED) begin : g_posted
    always_ff @(posedge clk_i) begin
      if (move_i) mask_o <= mask_i;
    end
    assign equal = ~(request_i ^ match_o) | mask_o;
  end else begin : g_unexpected
    assign mask_o = '0;
    assign equal  = ~(request_i ^ match_o) | request_mask_i;
  end

  // A LUT compares two bits.
  logic [2*Half-1:0] padded;
  logic [  Half-1:0] pairs;
  always_comb begin
    padded = '1;
    padded[MATCH_W-1:0] = equal;
  end
  assign pairs = padded[Half-1:0] & padded[2*Half-1:Half];
  alpu_all #(
      .WIDTH(Half)
  ) u_all (
      .bits_i(pairs),
      .all_o (hit_o)
  );

endmodule

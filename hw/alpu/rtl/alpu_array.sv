`include "assertions.svh"

/// The list: blocks of cells in a row, and the signals between the blocks.
///
/// The head of the list, its oldest entry, is in the highest cells; entries are inserted into the
/// lowest cell. Each block registers a request (cycle 0) and compares it with all entries (cycle
/// 1). The first hit is chosen, and deleted if the request asks for it (cycle 2). Its tag is read
/// in cycle 3. The next request no longer sees an entry that was deleted at the end of cycle 2.
module alpu_array #(
    /// Cells, a multiple of BLOCK.
    parameter int unsigned CELLS = 256,
    /// Cells of a block, a power of two from 2.
    parameter int unsigned BLOCK = 16,
    /// 1: for posted receives, the entry has the mask; 0: for unexpected messages, the request has it.
    parameter bit POSTED = 1'b1,
    /// Match bits.
    parameter int unsigned MATCH_W = alcor_abi_pkg::MatchW,
    /// Tag bits.
    parameter int unsigned TAG_W = 16
) (
    /// Clock.
    input  logic               clk_i,
    /// Synchronous reset, active low; empties the list.
    input  logic               rst_ni,
    /// Empties the list.
    input  logic               clear_i,

    /// Append an entry; there must be an empty cell, and no search.
    input  logic               insert_i,
    /// The entry: match bits.
    input  logic [MATCH_W-1:0] match_i,
    /// The entry: mask bits.
    input  logic [MATCH_W-1:0] mask_i,
    /// The entry: tag.
    input  logic [  TAG_W-1:0] tag_i,

    /// Cycle 0: the request.
    input  logic [MATCH_W-1:0] request_i,
    /// Cycle 0: the request's mask bits.
    input  logic [MATCH_W-1:0] request_mask_i,
    /// Cycle 1: there is a request.
    input  logic               busy_i,
    /// Cycle 2: some entry is hit.
    output logic               found_o,
    /// Cycle 2: delete the first entry that is hit.
    input  logic               delete_i,
    /// Cycle 3: tag of the first entry that was hit; zero if none was.
    output logic [  TAG_W-1:0] tag_o,

    /// A search for a tag is under way: nothing moves. BLOCK + 1 cycles; behind them is a cycle 2, with
    /// those as hits that have the tag.
    input  logic               scan_i,
    /// First cycle of a search.
    input  logic               scan_load_i,
`ifdef FORMAL
    /// Contents of the cells: {valid, match, mask, tag} of each.
    output logic [CELLS*(1+2*MATCH_W+TAG_W)-1:0] cells_o,
`endif
    /// The tag that is searched for.
    input  logic [  TAG_W-1:0] scan_tag_i
);

  `ALCOR_CHECK_PARAM(g_check_cells, CELLS >= BLOCK && CELLS % BLOCK == 0,
                     "alpu_array: CELLS must be a multiple of BLOCK")

  localparam int unsigned Blocks = CELLS / BLOCK;

  logic [Blocks-1:0] hole, found;
  logic [Blocks*TAG_W-1:0] tags;

  for (genvar b = 0; b < Blocks; b++) begin : g_block
    logic hole_above, found_above;
    logic lower_valid, lower_hit, lower_win, lower_taken, valid, hit, win, taken;
    logic [MATCH_W-1:0] lower_match, lower_mask, match, mask;
    logic [TAG_W-1:0] lower_tag, tag;
    if (b == Blocks - 1) begin : g_highest
      assign hole_above  = 1'b0;
      assign found_above = 1'b0;
    end else begin : g_below
      assign hole_above  = |hole[Blocks-1:b+1];
      assign found_above = |found[Blocks-1:b+1];
    end
    if (b == 0) begin : g_lowest
      assign lower_valid = insert_i;
      assign lower_hit   = 1'b0;
      assign lower_win   = 1'b0;
      assign lower_taken = insert_i;
      assign lower_match = match_i;
      assign lower_mask  = mask_i;
      assign lower_tag   = tag_i;
    end else begin : g_other
      assign lower_valid = g_block[b-1].valid;
      assign lower_hit   = g_block[b-1].hit;
      assign lower_win   = g_block[b-1].win;
      assign lower_taken = g_block[b-1].taken;
      assign lower_match = g_block[b-1].match;
      assign lower_mask  = g_block[b-1].mask;
      assign lower_tag   = g_block[b-1].tag;
    end
    alpu_block #(
        .BLOCK  (BLOCK),
        .POSTED (POSTED),
        .MATCH_W(MATCH_W),
        .TAG_W  (TAG_W)
    ) u_block (
        .clk_i         (clk_i),
        .rst_ni        (rst_ni),
        .clear_i       (clear_i),
        .request_i     (request_i),
        .request_mask_i(request_mask_i),
        .busy_i        (busy_i),
        .delete_i      (delete_i),
        .hole_above_i  (hole_above),
        .hole_o        (hole[b]),
        .found_above_i (found_above),
        .found_o       (found[b]),
        .scan_i        (scan_i),
        .scan_load_i   (scan_load_i),
        .scan_tag_i    (scan_tag_i),
        .tag_o         (tags[b*TAG_W+:TAG_W]),
        .valid_i       (lower_valid),
        .hit_i         (lower_hit),
        .win_i         (lower_win),
        .taken_i       (lower_taken),
        .match_i       (lower_match),
        .mask_i        (lower_mask),
        .tag_i         (lower_tag),
        .valid_o       (valid),
        .hit_o         (hit),
        .win_o         (win),
        .taken_o       (taken),
        .match_o       (match),
        .mask_o        (mask),
`ifdef FORMAL
        .cells_o(cells_o[b*BLOCK*(1+2*MATCH_W+TAG_W)+:BLOCK*(1+2*MATCH_W+TAG_W)]),
`endif
        .up_tag_o      (tag)
    );
  end

  assign found_o = |found;

  always_comb begin
    tag_o = '0;
    for (int unsigned b = 0; b < Blocks; b++) tag_o |= tags[b*TAG_W+:TAG_W];
  end

  `ALCOR_IMPLIES(a_room, insert_i, hole != '0 && !scan_i)

endmodule

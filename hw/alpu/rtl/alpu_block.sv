`include "assertions.svh"
`include "simulation.svh"

/// A block of cells: its own copy of the request, the state of its cells (occupied, hit, chosen),
/// and the movement of entries.
///
/// The bits for hit and chosen move with their entry, so a request that is under way stays with its
/// entry.
module alpu_block #(
    /// Cells, a power of two from 2.
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
    /// Synchronous reset, active low; empties all cells.
    input  logic               rst_ni,
    /// Empties all cells.
    input  logic               clear_i,

    /// The next request; each block registers its own copy.
    input  logic [MATCH_W-1:0] request_i,
    /// The next request's mask bits.
    input  logic [MATCH_W-1:0] request_mask_i,
    /// The registered request is one.
    input  logic               busy_i,
    /// The winning entry is deleted, in this block or another.
    input  logic               delete_i,

    /// A cell of a higher block is empty.
    input  logic               hole_above_i,
    /// A cell of this block is empty.
    output logic               hole_o,
    /// A cell of a higher block was hit.
    input  logic               found_above_i,
    /// A cell of this block was hit.
    output logic               found_o,

    /// A search for a tag is under way: nothing moves.
    input  logic               scan_i,
    /// First cycle of a search: the highest cell is the first to be looked at.
    input  logic               scan_load_i,
    /// The tag that is searched for.
    input  logic [  TAG_W-1:0] scan_tag_i,

    /// Tag of the entry that won in the previous cycle; zero if it is of another block.
    output logic [  TAG_W-1:0] tag_o,

    /// Into the lowest cell: there is an entry.
    input  logic               valid_i,
    /// Into the lowest cell: the registered request hits the entry.
    input  logic               hit_i,
    /// Into the lowest cell: the entry wins in this cycle.
    input  logic               win_i,
    /// Into the lowest cell: the entry's cell is occupied, also if the entry is being deleted.
    input  logic               taken_i,
    /// Into the lowest cell: match bits.
    input  logic [MATCH_W-1:0] match_i,
    /// Into the lowest cell: mask bits.
    input  logic [MATCH_W-1:0] mask_i,
    /// Into the lowest cell: tag.
    input  logic [  TAG_W-1:0] tag_i,

    /// The same, of the highest cell, for the next block.
    output logic               valid_o,
    output logic               hit_o,
    output logic               win_o,
    output logic               taken_o,
    output logic [MATCH_W-1:0] match_o,
    output logic [MATCH_W-1:0] mask_o,
`ifdef FORMAL
    /// Contents of the cells: {valid, match, mask, tag} of each.
    output logic [BLOCK*(1+2*MATCH_W+TAG_W)-1:0] cells_o,
`endif
    output logic [  TAG_W-1:0] up_tag_o
);

  `ALCOR_CHECK_PARAM(g_check_block, BLOCK >= 2 && (BLOCK & (BLOCK - 1)) == 0,
                     "alpu_block: BLOCK must be a power of two from 2")

  localparam int unsigned Top = BLOCK - 1;
  localparam int unsigned Triples = (TAG_W + 2) / 3;

  // Copies, one a block: they must not be taken for one and the same.
  (* keep = "true" *) logic [MATCH_W-1:0] request_q;
  (* keep = "true" *) logic [MATCH_W-1:0] request_mask_q;
  logic [BLOCK-1:0] valid_q, hit_q, win_q;
  logic [BLOCK-1:0] hit, candidate, win, keep, move, hole_upto, found_upto, lower_taken;
  logic [BLOCK*TAG_W-1:0] tags;
  logic equal;

  always_ff @(posedge clk_i) begin
    request_q <= request_i;
  end
  if (POSTED) begin : g_posted
    assign request_mask_q = '0;
  end else begin : g_unexpected
    always_ff @(posedge clk_i) begin
      request_mask_q <= request_mask_i;
    end
  end

  // Every cell takes its lower neighbour's entry while it or a cell above it is empty: the highest hole is
  // closed in each cycle, and there is room in the lowest cell as long as there is any.
  alpu_upto #(
      .WIDTH(BLOCK)
  ) u_holes (
      .bits_i (~valid_q),
      .above_i(hole_above_i),
      .upto_o (hole_upto),
      .any_o  (hole_o)
  );
  assign move = hole_upto & {BLOCK{!scan_i}};

  // Cells that were hit and still have their entry; the highest of them wins.
  assign candidate = hit_q & valid_q;
  alpu_upto #(
      .WIDTH(BLOCK)
  ) u_found (
      .bits_i (candidate),
      .above_i(found_above_i),
      .upto_o (found_upto),
      .any_o  (found_o)
  );
  assign win = candidate & ~{found_above_i, found_upto[Top:1]};
  assign keep = valid_q & ~(win & {BLOCK{delete_i}});

  // Only what was an entry needs to be copied.
  assign lower_taken = {valid_q[Top-1:0], taken_i};

  for (genvar i = 0; i < BLOCK; i++) begin : g_cell
    logic [MATCH_W-1:0] lower_match, lower_mask, match, mask;
    logic [TAG_W-1:0] lower_tag;
    logic equals;
    if (i == 0) begin : g_lowest
      assign lower_match = match_i;
      assign lower_mask  = mask_i;
      assign lower_tag   = tag_i;
    end else begin : g_other
      assign lower_match = g_cell[i-1].match;
      assign lower_mask  = g_cell[i-1].mask;
      assign lower_tag   = tags[(i-1)*TAG_W+:TAG_W];
    end
    alpu_cell #(
        .POSTED (POSTED),
        .MATCH_W(MATCH_W),
        .TAG_W  (TAG_W)
    ) u_cell (
        .clk_i         (clk_i),
        .move_i        (move[i] && `ALCOR_AWAKE(lower_taken[i])),
        .match_i       (lower_match),
        .mask_i        (lower_mask),
        .tag_i         (lower_tag),
        .request_i     (request_q),
        .request_mask_i(request_mask_q),
        .match_o       (match),
        .mask_o        (mask),
        .tag_o         (tags[i*TAG_W+:TAG_W]),
        .hit_o         (equals)
    );
    assign hit[i] = `ALCOR_AWAKE(busy_i) && equals;
`ifdef FORMAL
    assign cells_o[i*(1+2*MATCH_W+TAG_W)+:1+2*MATCH_W+TAG_W] = {valid_q[i], match, mask, tags[i*TAG_W+:TAG_W]};
`endif
  end

  assign valid_o  = keep[Top];
  assign hit_o    = hit[Top];
  assign win_o    = win[Top];
  assign taken_o  = valid_q[Top];
  assign match_o  = g_cell[Top].match;
  assign mask_o   = g_cell[Top].mask;
  assign up_tag_o = tags[Top*TAG_W+:TAG_W];

  always_ff @(posedge clk_i) begin
    valid_q <= (move & {keep[Top-1:0], valid_i}) | (~move & keep);
    if (clear_i || !rst_ni) valid_q <= '0;
  end

  // A search looks at the cells from the highest to the lowest, one a cycle, by the way the winner's tag
  // takes; what it finds is pushed into `hit_q` from below, and lies where it belongs when the lowest cell
  // has been looked at.
  always_ff @(posedge clk_i) begin
    hit_q <= scan_i ? {hit_q[Top-1:0], equal} : (move & {hit[Top-1:0], hit_i}) | (~move & hit);
    win_q <= scan_i ? {1'b0, win_q[Top:1]} : (move & {win[Top-1:0], win_i}) | (~move & win);
    if (scan_load_i) win_q <= {1'b1, {Top{1'b0}}};
  end

  always_comb begin
    tag_o = '0;
    if (`ALCOR_AWAKE(win_q != '0)) begin
      for (int unsigned i = 0; i < BLOCK; i++) tag_o |= tags[i*TAG_W+:TAG_W] & {TAG_W{win_q[i]}};
    end
  end

  // A LUT compares three bits.
  logic [3*Triples-1:0] difference;
  logic [Triples-1:0] same;
  always_comb begin
    difference = '0;
    difference[TAG_W-1:0] = tag_o ^ scan_tag_i;
    for (int unsigned t = 0; t < Triples; t++) same[t] = difference[3*t+:3] == '0;
  end
  alpu_all #(
      .WIDTH(Triples)
  ) u_same (
      .bits_i(same),
      .all_o (equal)
  );

  `ALCOR_ASSERT(a_one_winner, (win & (win - 1'b1)) == '0)

endmodule

`include "formal.svh"

import alcor_abi_pkg::*;

/// Proof of the names of epochs: `link_reset` and `link_session` of one board, with their two clocks.
///
/// Each cycle of the proof is a moment, at which each clock has an edge or none; a clock may stand. The board is reset and
/// gets a key at any time. Bits that change at an edge of both clocks arrive before or after it, each by itself. The
/// frames that arrive are free.
module session_board #(
    /// Cycles that a reset lasts after its reason.
    parameter int unsigned HOLD = 32
) (
    /// Moments.
    input logic        clk_i,
    /// Active low in the first moment, and in no other.
    input logic        rst_ni,

    // Free except for the assumptions below.
    /// The clocks have an edge.
    input logic        core_i,
    input logic        mac_i,
    /// The board is in reset; the host writes this key.
    input logic        reset_i,
    input logic        writes_i,
    input logic [7:0]  key_i,
    /// Bits that arrive early.
    input logic [15:0] early_i,
    /// Frames that arrive.
    input logic        heard_i,
    input logic [31:0] epochs_i,
    input logic        known_i
);

  `ALCOR_FORMAL_RESET

  // The first edge comes later.
  always @(posedge clk_i) assume (rst_ni || !(core_i || mac_i));

  // ---------------------------------------------------------------- the board, as core and link_end have it

  logic core_rst_n_q, was_rst_n_q;
  logic [7:0] place_q, key_d, key_q, resets_d, resets_q;
  logic begins;

  // An epoch begins.
  assign begins   = core_i && was_rst_n_q && !core_rst_n_q;
  assign key_d    = core_i ? place_q : key_q;
  assign resets_d = begins ? resets_q + 8'd1 : resets_q;

  always_ff @(posedge clk_i) begin
    if (core_i) begin
      core_rst_n_q <= !reset_i;
      was_rst_n_q  <= core_rst_n_q;
      if (!core_rst_n_q) place_q <= '0;
      else if (writes_i && place_q == '0) place_q <= key_i;
    end
    key_q    <= key_d;
    resets_q <= resets_d;
    if (!rst_ni) begin
      // At power-up the board is in reset.
      core_rst_n_q <= 1'b0;
      was_rst_n_q  <= 1'b0;
      place_q      <= '0;
      key_q        <= '0;
    end
  end

  logic works, mac_rst_n, core_rst_n;
  logic [7:0] key_seen, resets_seen;
  alcor_abi_pkg::first_word_t first;
  alcor_abi_pkg::link_session_t session;
  logic stale, idle, belongs;

  link_reset #(
      .HOLD(HOLD)
  ) u_reset (
      .clk_i     (core_i),
      .rst_ni    (core_rst_n_q),
      .mac_clk_i (mac_i),
      .rst_no    (core_rst_n),
      .works_o   (works),
      .mac_rst_no(mac_rst_n)
  );

  assign {resets_seen, key_seen} = {resets_q, key_q} ^ (({resets_q, key_q} ^ {resets_d, key_d}) & early_i);

  always_comb begin
    first             = '0;
    first.frame.known = known_i;
    first.epochs      = epochs_i;
  end

  link_session u_session (
      .mac_clk_i (mac_i),
      .mac_rst_ni(mac_rst_n),
      .resets_i  (resets_seen),
      .key_i     (key_seen),
      .heard_i   (heard_i),
      .first_i   (first),
      .belongs_o (belongs),
      .answer_o  (),
      .session_o (session),
      .stale_o   (stale)
  );

  assign idle = !session.greets && !session.open && !stale;

  // ---------------------------------------------------------------- registers of both blocks

  localparam int unsigned CountW = $clog2(HOLD + 1);

  logic wants;
  logic [7:0] key_meta, key_sync, key_before;
  logic [CountW-1:0] core_count, mac_count;
  // How far the board's reset has come on its way to the session's, and the session's on its way back.
  logic [3:1] way;
  logic back_meta, back;
  // How far the news has come that the session is in the reset.
  logic obeys, obeyed_meta, obeyed;
`include "board_registers.svh"

  // No reset is under way.
  logic quiet;
  assign quiet = !wants && way == '0;

  // ---------------------------------------------------------------- facts

  // The session's life is the time between two of its resets.
  //   present  it began in the present epoch, or is to begin
  //   torn     it began as the count of resets changed
  //   used     the session has acted in the present epoch
  // Resets and key of the epoch in which it began; 0 for the key before the host has written it.
  logic present_q, torn_q, used_q;
  logic [7:0] life_resets_q, life_key_q;
  // The session acts from its second cycle on: link_replay sends nothing in the first one.
  logic acted_q, acts;
  assign acts = mac_rst_n && !idle && acted_q;

  always_ff @(posedge clk_i) begin
    if (mac_i) acted_q <= mac_rst_n && !idle;
    present_q <= !begins && (present_q || !mac_rst_n);
    used_q    <= !begins && (used_q || (acts && present_q));
    if (!mac_rst_n) torn_q <= begins;
    if (!mac_rst_n) life_resets_q <= resets_q;
    if (!mac_rst_n) life_key_q <= begins ? 8'd0 : place_q;
    else if (present_q) life_key_q <= place_q;
    if (!rst_ni) {acted_q, present_q, used_q} <= '0;
  end

  // ---------------------------------------------------------------- properties

  // A session acts under the name of its board's epoch, or of the one before, if the board's reset has not arrived yet.
  `ALCOR_ASSERT(p_name, !acts
      || (life_key_q != '0 && session.own.resets == life_resets_q && session.own.key == life_key_q))
  `ALCOR_ASSERT(p_present, !(mac_rst_n && present_q)
      || (life_resets_q == resets_q && (life_key_q == '0 || life_key_q == place_q)))
  // It acts in one life of an epoch.
  `ALCOR_ASSERT(p_once, !used_q || (mac_rst_n && present_q && !idle))
  // Phits and credits pass the core's side only outside of the board's reset, while the session is that of the present epoch
  // and out of reset, and no reset is on its way to it.
  `ALCOR_ASSERT(p_works, !works || (core_rst_n_q && mac_rst_n && present_q && quiet))

  // ---------------------------------------------------------------- invariants of the induction

  // The board. Its old key can be seen until the edge after the reset's first one.
  logic old_q;
  always_ff @(posedge clk_i) begin
    if (core_i) old_q <= begins;
    if (!rst_ni) old_q <= 1'b0;
  end
  `ALCOR_ASSERT(p_board, was_rst_n_q || core_rst_n_q || (wants && place_q == '0))
  `ALCOR_ASSERT(p_wants, wants || was_rst_n_q)
  `ALCOR_ASSERT(p_old, !old_q || (wants && place_q == '0 && !was_rst_n_q && core_count == CountW'(HOLD)))
  `ALCOR_ASSERT(p_key, old_q || key_q == '0 || key_q == place_q)

  // What a register of the key has: 0, nothing; 1, bits of a key as it came; 2, the key; 3, something else.
  logic [1:0] comes, meta_q, sync_q, before_q;
  always_comb begin
    if (!present_q || old_q) comes = 2'd3;
    else if (key_q != '0) comes = 2'd2;
    else comes = 2'(key_d != '0);
  end
  always_ff @(posedge clk_i) begin
    if (mac_i) {before_q, sync_q, meta_q} <= mac_rst_n ? {sync_q, meta_q, comes} : '0;
    if (!rst_ni) {before_q, sync_q, meta_q} <= '0;
  end
  `ALCOR_ASSERT(p_meta, !mac_rst_n || ((meta_q != 2'd0 || key_meta == '0)
      && (meta_q != 2'd2 || (key_meta == life_key_q && key_meta != '0)) && (meta_q != 2'd3 || way[1])))
  `ALCOR_ASSERT(p_sync, !mac_rst_n || ((sync_q != 2'd0 || key_sync == '0)
      && (sync_q != 2'd2 || (key_sync == life_key_q && key_sync != '0)) && (sync_q != 2'd3 || way[2])))
  `ALCOR_ASSERT(p_before, !mac_rst_n || ((before_q != 2'd0 || key_before == '0)
      && (before_q != 2'd2 || (key_before == life_key_q && key_before != '0)) && (before_q != 2'd3 || way[3])))

  // Later bits of a key never follow earlier ones of nothing; bits as they came are seen once.
  logic [2:0][1:0] older, newer;
  logic [2:0] follow;
  assign older = {before_q, sync_q, meta_q};
  assign newer = {sync_q, meta_q, comes};
  for (genvar k = 0; k < 3; k++) begin : g_stage
    always_comb begin
      unique case (older[k])
        2'd0: follow[k] = 1'b1;
        2'd1, 2'd2: follow[k] = newer[k] == 2'd2 || (newer[k] == 2'd3 && !present_q);
        default: follow[k] = 1'b1;
      endcase
    end
  end
  `ALCOR_ASSERT(p_follow, !mac_rst_n || follow == '1)
  `ALCOR_ASSERT(p_past, !(mac_rst_n && present_q && old_q) || (meta_q == 2'd0 || meta_q == 2'd3))

  // In a life that began in the present epoch, a reset on its way overtakes no key.
  `ALCOR_ASSERT(p_overtakes, !(mac_rst_n && present_q) || quiet || (
      (idle || (way[3] && !acted_q))
      && (before_q == '0 || way[3]) && (sync_q == '0 || way[3:2] != '0) && (meta_q == '0 || way != '0)
      && (key_q == '0 || wants || way != '0)))
  // In another life, a reset is on its way.
  `ALCOR_ASSERT(p_dies, !(mac_rst_n && !present_q) || wants)
  `ALCOR_ASSERT(p_torn, !(mac_rst_n && torn_q) || (!present_q && (meta_q == 2'd0 || meta_q == 2'd3)
      && (sync_q == 2'd0 || sync_q == 2'd3) && (before_q == 2'd0 || before_q == 2'd3)))
  `ALCOR_ASSERT(p_resets, !mac_rst_n || torn_q || session.own.resets == life_resets_q)
  `ALCOR_ASSERT(p_greets, !mac_rst_n || idle || (way[3] && !acted_q)
      || (!torn_q && life_key_q != '0 && session.own.key == life_key_q))
  `ALCOR_ASSERT(p_used, !used_q || quiet)
  `ALCOR_ASSERT(p_acted, !acted_q || !mac_rst_n || !idle)

  // Power-up.
  logic counts_q;
  always_ff @(posedge clk_i) counts_q <= rst_ni && (counts_q || core_i);
  always @(posedge clk_i) begin
    if (!f_started) p_start : assert (wants && way[3] && mac_count == CountW'(HOLD) && !mac_rst_n && !core_rst_n);
  end
  `ALCOR_ASSERT(p_first, counts_q || (wants && !core_rst_n_q))
  `ALCOR_ASSERT(p_counts, (core_count <= CountW'(HOLD) || !counts_q) && mac_count <= CountW'(HOLD))
  // A session that obeys is in reset, and its count begins. Until the core's wish has come to it, up to three earlier bits
  // let it count.
  logic held;
  assign held = way[3] && !mac_rst_n && mac_count >= CountW'(HOLD - 3) && (way[2] || mac_count >= CountW'(HOLD - 2))
      && (way[1] || !wants || mac_count >= CountW'(HOLD - 1));
  `ALCOR_ASSERT(p_obeys, !obeys || (way[3] && mac_count == CountW'(HOLD) && !mac_rst_n))
  `ALCOR_ASSERT(p_lasts, mac_count == '0 || way[3])
  // The news of it: what the core saw before its wish counts once.
  `ALCOR_ASSERT(p_meta_back, !(counts_q && wants && obeyed_meta) || (held && !back_meta))
  `ALCOR_ASSERT(p_sync_back, !(counts_q && wants && obeyed && core_count < CountW'(HOLD)) || (held && !back_meta && !back))
  `ALCOR_ASSERT(p_waits, !(counts_q && wants && core_count <= CountW'(HOLD - 2)) || (held && !back_meta && !back && !core_rst_n))
  // The end of the wish.
  `ALCOR_ASSERT(p_rest, wants || way[2:1] == '0 || held)
  `ALCOR_ASSERT(p_out, wants || (mac_rst_n && present_q && way == '0)
      || (!mac_rst_n && !back_meta && !back && !core_rst_n))

  // ---------------------------------------------------------------- states of interest, for the task `board-reached`

  // An epoch has begun after the core's wait in the one before. An epoch had a session, and has ended.
  // In this epoch, the controller's clock had an edge; it had none while the core waited for more than HOLD cycles.
  logic second_q, opened_q, before_epoch_q, moved_q, stood_q;
  logic [CountW:0] stands_q;
  always_ff @(posedge clk_i) begin
    second_q       <= second_q || (begins && !wants);
    opened_q       <= !begins && (opened_q || (works && session.open));
    before_epoch_q <= before_epoch_q || (begins && opened_q);
    moved_q        <= !begins && (moved_q || mac_i);
    stood_q        <= !begins && (stood_q || stands_q > (CountW + 1)'(HOLD));
    if (begins || mac_i) stands_q <= '0;
    else if (core_i && core_rst_n_q && wants && stands_q <= (CountW + 1)'(HOLD)) stands_q <= stands_q + 1'b1;
    if (!rst_ni) {second_q, opened_q, before_epoch_q, moved_q, stood_q, stands_q} <= '0;
  end
  always @(posedge clk_i) begin
    if (rst_ni) begin
      c_open : cover (works && acts && session.open);
      // The board's reset has not arrived yet; the next epoch's session.
      c_late : cover (before_epoch_q && acts && session.open && !present_q);
      c_again : cover (before_epoch_q && works && acts && session.open);
      // The controller's clock stood in a second reset, and the board works again.
      c_stood : cover (second_q && stood_q && works && acts && session.open);
      // The controller's clock has stood since the board's reset, and the core's wait has ended: the session was still in the
      // reset before.
      c_still : cover (second_q && !moved_q && !wants);
    end
  end

endmodule

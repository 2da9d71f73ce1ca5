`include "formal.svh"

import alcor_abi_pkg::*;

/// Proof of the session: two `link_session`, their boards, and a medium.
///
/// Each board is reset at any time and gets a key at any time. The solver chooses one name of an epoch for each side; the
/// proof is about these two epochs, and all others stand for any others. No two epochs of a board have the same name.
///
/// The medium holds any number of frames for any time, loses frames and repeats frames. For each direction it knows which
/// of five kinds of frames have been sent, and it delivers frames of these kinds in their order: 0, of the sender's
/// epochs before the chosen one; 1, of the chosen epoch, before the sender has named the chosen epoch of the receiver;
/// 2, naming it; 3, naming another one after that; 4, of later epochs. Within a kind, order and content are free. A
/// sender may send in every cycle.
module session_pair (
    /// Clock.
    input logic             clk_i,
    /// Active low in the first cycle, and in no other: begins the proof. The boards have resets of their own.
    input logic             rst_ni,

    // By side, all free except for the assumptions below.
    /// The board is in reset; its count of resets is changed, to this value.
    input logic [1:0]       reset_i,
    input logic [1:0]       counts_i,
    input logic [1:0][7:0]  count_i,
    /// The host writes this key; the core's reset, which comes before that of the session, clears the key.
    input logic [1:0]       writes_i,
    input logic [1:0][7:0]  key_i,
    input logic [1:0]       clears_i,
    /// Bits of the key that come a cycle late.
    input logic [1:0][7:0]  late_i,
    /// A frame arrives: its kind, whether it is numbered, and its fields.
    input logic [1:0]       heard_i,
    input logic [1:0][2:0]  kind_i,
    input logic [1:0]       numbered_i,
    input logic [1:0]       open_i,
    input logic [1:0]       known_i,
    input logic [1:0][15:0] sender_i,
    input logic [1:0][15:0] receiver_i
);

  `ALCOR_FORMAL_RESET

  // By side: an arbitrary name of an epoch, resets and key.
  (* anyconst *) logic [1:0][15:0] chosen;

  // ---------------------------------------------------------------- boards

  // The session's reset. The first key of an epoch, while it can be seen, and since it was written.
  logic [1:0] alive_q, shows_q, changes_q, named_q;
  logic [1:0][7:0] count_q, key_q, key, changed;
  // The board's epoch is the chosen one; it was, and has ended.
  logic [1:0] present, was_q, ended;
  // The session.
  logic [1:0] belongs, greets, open, known, stale, idle;
  logic [1:0][15:0] own, other;
  // The chosen epoch is the session's, is named as the other end's, and has a session with the other's chosen epoch.
  logic [1:0] mine, names, agrees;

  for (genvar s = 0; s < 2; s++) begin : g_side
    alcor_abi_pkg::first_word_t first;
    alcor_abi_pkg::link_session_t session;

    always_comb begin
      first                = '0;
      first.frame.numbered = numbered_i[s];
      first.frame.open     = open_i[s];
      first.frame.known    = known_i[s];
      // As link_replay has it.
      first.epochs         = {receiver_i[s], sender_i[s]};
    end

    link_session u_session (
        .mac_clk_i (clk_i),
        .mac_rst_ni(alive_q[s]),
        .resets_i  (count_q[s]),
        .key_i     (key[s]),
        .heard_i   (heard_i[s]),
        .first_i   (first),
        .belongs_o (belongs[s]),
        .answer_o  (),
        .session_o (session),
        .stale_o   (stale[s])
    );

    assign {greets[s], open[s], known[s], own[s], other[s]} = session;
    assign idle[s]    = !greets[s] && !open[s] && !stale[s];
    assign mine[s]    = alive_q[s] && !idle[s] && own[s] == chosen[s];
    assign names[s]   = known[s] && other[s] == chosen[1-s];
    assign agrees[s]  = mine[s] && open[s] && other[s] == chosen[1-s];
    assign present[s] = alive_q[s] && named_q[s] && {count_q[s], key_q[s]} == chosen[s];
    assign ended[s]   = was_q[s] && !present[s];
    assign changed[s] = changes_q[s] ? late_i[s] : 8'd0;
    assign key[s]     = key_q[s] & (shows_q[s] ? ~changed[s] : changed[s]);

    always_ff @(posedge clk_i) begin
      alive_q[s]   <= !reset_i[s];
      changes_q[s] <= alive_q[s] && (writes_i[s] || clears_i[s]);
      if (counts_i[s]) count_q[s] <= count_i[s];
      if (writes_i[s]) key_q[s] <= key_i[s];
      shows_q[s] <= alive_q[s] && (writes_i[s] || (shows_q[s] && !clears_i[s]));
      named_q[s] <= alive_q[s] && (writes_i[s] || named_q[s]);
      was_q[s]   <= was_q[s] || present[s];
      if (!rst_ni) begin
        alive_q[s]   <= 1'b0;
        changes_q[s] <= 1'b0;
        shows_q[s]   <= 1'b0;
        named_q[s]   <= 1'b0;
        was_q[s]     <= 1'b0;
      end
    end

    // The count changes in reset alone, and stands still before its end.
    `ALCOR_ASSUME(!counts_i[s] || (!alive_q[s] && reset_i[s]))
    // A host writes one key in an epoch.
    `ALCOR_ASSUME(!writes_i[s] || (alive_q[s] && !reset_i[s] && !named_q[s] && key_i[s] != '0))
    // The key stands for two cycles or more.
    `ALCOR_ASSUME(!clears_i[s] || (shows_q[s] && !changes_q[s]))
    // A name is never used again.
    `ALCOR_ASSUME(!ended[s] || !writes_i[s] || {count_q[s], key_i[s]} != chosen[s])
  end

  // ---------------------------------------------------------------- the medium

  // By sender: the last kind that was sent; kind 2 was sent; the chosen epochs have had a session at this end. By
  // receiver: the last kind that was delivered.
  logic [1:0][2:0] sent, sent_q, delivered_q;
  logic [1:0] told_q, agreed_q;

  for (genvar s = 0; s < 2; s++) begin : g_medium
    always_comb begin
      sent[s] = sent_q[s];
      if (mine[s] && names[s]) sent[s] = 3'd2;
      else if (mine[s]) sent[s] = sent_q[s] >= 3'd2 ? 3'd3 : 3'd1;
      else if (sent_q[s] != '0) sent[s] = 3'd4;
    end

    always_ff @(posedge clk_i) begin
      sent_q[s]   <= sent[s];
      told_q[s]   <= told_q[s] || (mine[s] && names[s]);
      agreed_q[s] <= agreed_q[s] || agrees[s];
      if (heard_i[s]) delivered_q[s] <= kind_i[s];
      if (!rst_ni) begin
        sent_q[s]      <= '0;
        told_q[s]      <= 1'b0;
        agreed_q[s]    <= 1'b0;
        delivered_q[s] <= '0;
      end
    end

    `ALCOR_ASSUME(!heard_i[s] || (kind_i[s] >= delivered_q[s] && kind_i[s] <= sent_q[1-s]))
    `ALCOR_ASSUME((sender_i[s] == chosen[1-s]) == (kind_i[s] >= 3'd1 && kind_i[s] <= 3'd3))
    `ALCOR_ASSUME(sender_i[s] != chosen[1-s] || (known_i[s] && receiver_i[s] == chosen[s]) == (kind_i[s] == 3'd2))
    `ALCOR_ASSUME(!heard_i[s] || kind_i[s] != 3'd2 || told_q[1-s])
    // Numbered frames leave in a session.
    `ALCOR_ASSUME(kind_i[s] != 3'd2 || !(numbered_i[s] || open_i[s]) || agreed_q[1-s])
  end

  // ---------------------------------------------------------------- properties

  // By side. Yosys has one name space for labels of assertions, so an assertion stands for both sides.
  logic [1:0] own_ok, key_ok, named_ok, opens_ok, one_ok, leaves_ok, closed_ok, phit_ok, heard_ok, both_ok, stale_ok;
  logic [1:0] shown_ok, epoch_ok, sent_ok, rises_ok, later_ok, order_ok, knows_ok, knew_ok, forgets_ok, in_ok, known_ok;
  logic [1:0] agreed_ok, told_ok;

  for (genvar s = 0; s < 2; s++) begin : g_properties
    // An end names its board's epoch, and has a key.
    assign own_ok[s] = !alive_q[s]
        || (own[s][15:8] == count_q[s] && (idle[s] || (named_q[s] && own[s][7:0] == key_q[s])));
    // A session is between ends with the same key.
    assign key_ok[s] = !alive_q[s] || !known[s] || other[s][7:0] == own[s][7:0];
    // An accepted frame names both epochs, and its session is open from the next cycle on.
    assign named_ok[s] = !(alive_q[s] && heard_i[s] && belongs[s])
        || (known_i[s] && receiver_i[s] == own[s] && (greets[s] || (open[s] && sender_i[s] == other[s])));
    // The cycle before, if no reset has begun since.
    logic accepted_q, refused_q, open_q, stale_q;
    logic [15:0] sender_q, other_q;
    always_ff @(posedge clk_i) begin
      sender_q   <= sender_i[s];
      accepted_q <= rst_ni && alive_q[s] && !reset_i[s] && heard_i[s] && belongs[s];
      refused_q  <= rst_ni && alive_q[s] && !reset_i[s] && heard_i[s] && !belongs[s];
      open_q     <= rst_ni && alive_q[s] && !reset_i[s] && open[s];
      stale_q    <= rst_ni && alive_q[s] && !reset_i[s] && stale[s];
      other_q    <= other[s];
    end
    assign opens_ok[s] = !accepted_q || (open[s] && other[s] == sender_q);
    // A session never gets another end; a frame that does not belong closes it for good.
    assign one_ok[s] = !open_q || ((open[s] || stale[s]) && other[s] == other_q);
    assign leaves_ok[s] = !(open_q && refused_q) || stale[s];
    assign closed_ok[s] = (!stale_q || stale[s]) && !(alive_q[s] && stale[s] && belongs[s]);

    // A phit of one chosen epoch that is accepted in the other one: both have had a session with each other, and no other.
    assign phit_ok[s] = !(mine[s] && heard_i[s] && belongs[s] && numbered_i[s] && sender_i[s] == chosen[1-s])
        || (agreed_q[1-s] && (!mine[1-s] || (other[1-s] == chosen[s] && (open[1-s] || stale[1-s]))));
    // An end that is open was named by the other one, which names it to the end of its epoch or of this one.
    assign heard_ok[s] = !agrees[s] || told_q[1-s];
    assign both_ok[s] = !(agrees[s] && mine[1-s]) || (names[1-s] && !stale[1-s]);
    // A session closes only after a reset of the other board.
    assign stale_ok[s] = !(mine[s] && stale[s] && other[s] == chosen[1-s]) || ended[1-s];

    // Invariants of the induction.
    assign shown_ok[s] = !(shows_q[s] || changes_q[s]) || (named_q[s] && key_q[s] != '0);
    assign epoch_ok[s] = !mine[s] || (present[s] && sent[s] != 3'd4);
    assign sent_ok[s] = sent_q[s] == '0 || was_q[s];
    assign rises_ok[s] = sent[s] >= sent_q[s];
    assign later_ok[s] = sent_q[s] != 3'd4 || ended[s];
    assign order_ok[s] = delivered_q[s] <= sent_q[1-s];
    assign knows_ok[s] = !(mine[s] && names[s]) || delivered_q[s] != '0;
    assign knew_ok[s] = !told_q[s] || (delivered_q[s] != '0 && sent_q[s] >= 3'd2);
    assign forgets_ok[s] = sent[s] != 3'd3 || delivered_q[s] == 3'd4;
    assign in_ok[s] = !(mine[s] && (open[s] || stale[s]) && other[s] == chosen[1-s]) || delivered_q[s] >= 3'd2;
    assign known_ok[s] = !alive_q[s] || (idle[s] ? !known[s] : greets[s] || known[s]);
    assign agreed_ok[s] = !agreed_q[s] || !mine[s] || ((open[s] || stale[s]) && other[s] == chosen[1-s]);
    assign told_ok[s] = !agreed_q[s] || told_q == '1;
  end

  `ALCOR_ASSERT(p_own, own_ok == '1)
  `ALCOR_ASSERT(p_key, key_ok == '1)
  `ALCOR_ASSERT(p_named, named_ok == '1)
  `ALCOR_ASSERT(p_opens, opens_ok == '1)
  `ALCOR_ASSERT(p_one, one_ok == '1)
  `ALCOR_ASSERT(p_leaves, leaves_ok == '1)
  `ALCOR_ASSERT(p_closed, closed_ok == '1)
  `ALCOR_ASSERT(p_phit, phit_ok == '1)
  `ALCOR_ASSERT(p_heard, heard_ok == '1)
  `ALCOR_ASSERT(p_both, both_ok == '1)
  `ALCOR_ASSERT(p_stale, stale_ok == '1)
  `ALCOR_ASSERT(p_epoch, epoch_ok == '1)
  `ALCOR_ASSERT(p_sent, sent_ok == '1)
  `ALCOR_ASSERT(p_rises, rises_ok == '1)
  `ALCOR_ASSERT(p_later, later_ok == '1)
  `ALCOR_ASSERT(p_order, order_ok == '1)
  `ALCOR_ASSERT(p_knows, knows_ok == '1)
  `ALCOR_ASSERT(p_knew, knew_ok == '1)
  `ALCOR_ASSERT(p_forgets, forgets_ok == '1)
  `ALCOR_ASSERT(p_in, in_ok == '1)
  `ALCOR_ASSERT(p_known, known_ok == '1)
  `ALCOR_ASSERT(p_agreed, agreed_ok == '1)
  `ALCOR_ASSERT(p_told, told_ok == '1)
  `ALCOR_ASSERT(p_shown, shown_ok == '1)

  // ---------------------------------------------------------------- states of interest, for the task `pair-reached`

  // Both ends have a session with each other, in any epochs. The chosen epochs have had one; other ones had one before.
  // A frame of an epoch before the chosen one was refused in the chosen one.
  logic together, both_q, before_q, older_q;
  assign together = alive_q == '1 && open == '1 && other[0] == own[1] && other[1] == own[0];
  always_ff @(posedge clk_i) begin
    both_q   <= both_q || agrees == '1;
    before_q <= before_q || (together && sent == '0);
    older_q  <= older_q || (before_q && mine[0] && greets[0] && heard_i[0] && !belongs[0] && kind_i[0] == 3'd0);
    if (!rst_ni) {both_q, before_q, older_q} <= '0;
  end
  always @(posedge clk_i) begin
    if (rst_ni) begin
      // One end is open and the other is not yet; both are; a phit arrives.
      c_one : cover (agrees[0] && mine[1] && greets[1]);
      c_both : cover (agrees == '1);
      c_phit : cover (both_q && mine[0] && heard_i[0] && belongs[0] && numbered_i[0]);
      // After a reset of one board: a phit that was under way still arrives in its session; the session closes.
      c_under_way : cover (both_q && ended[1] && agrees[0] && greets[1] && heard_i[0] && belongs[0] && numbered_i[0]);
      c_closes : cover (both_q && ended[1] && mine[0] && stale[0] && alive_q[1] && greets[1]);
      // After resets of both boards: the next session, with and without frames of the epoch before.
      c_again : cover (before_q && agrees == '1);
      c_older : cover (before_q && older_q && agrees == '1);
      c_after : cover (both_q && ended == '1 && together);
    end
  end

endmodule

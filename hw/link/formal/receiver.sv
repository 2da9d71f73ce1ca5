`include "formal.svh"

import alcor_abi_pkg::*;
import alcor_link_pkg::*;

/// Proof of the receiver: `link_rx` up to the words that it takes apart. The FIFOs behind are free.
///
/// The other end has a stream of numbered words, of which the solver chooses one. The medium is free: frames
/// are lost, repeated, early, damaged, cut off, and of any epoch and board. The controller and the board are reset at any
/// time. The proof is about the chosen lives of this board; in all others, the streams are free too.
module receiver (
    /// Clock.
    input logic                       clk_i,
    /// Active low in the first cycle, and in no other.
    input logic                       rst_ni,

    // Free except for the assumptions below.
    /// The board is in reset; the life that begins then is a chosen one.
    input logic                       reset_i,
    input logic                       chosen_i,
    /// Count of resets, and key.
    input logic [7:0]                 resets_i,
    input logic [7:0]                 key_i,
    /// The controller is out of reset; a word comes; with the last word: the checksum is wrong.
    input logic                       ready_i,
    input logic                       valid_i,
    input alcor_abi_pkg::frame_word_t word_i,
    input logic                       error_i,
    /// With a first word: the frame comes as the other end has sent it; place of the word in the stream.
    input logic                       true_i,
    input logic [63:0]                place_i
);

  `ALCOR_FORMAL_RESET

  // Epoch of the other end. A place of its stream, and the value of the word there: the mark of a last word, or one of
  // the bits of credits, as all bits have the same logic.
  (* anyconst *) logic [15:0] other;
  (* anyconst *) logic [63:0] number;
  (* anyconst *) logic mark, value;

  logic alive_q, chosen_q;
  always_ff @(posedge clk_i) begin
    alive_q <= !reset_i;
    if (!alive_q) chosen_q <= chosen_i;
    if (!rst_ni) alive_q <= 1'b0;
  end
  // At power-up the controller is in reset.
  always @(posedge clk_i) assume (rst_ni || !ready_i);

  alcor_abi_pkg::link_session_t session;
  alcor_abi_pkg::link_news_t news;
  alcor_abi_pkg::link_faults_t faults;

  link_rx #(
      .PHITS(80)
  ) u_rx (
      .mac_clk_i  (clk_i),
      .mac_rst_ni (alive_q),
      .mac_ready_i(ready_i),
      .mac_valid_i(valid_i),
      .mac_word_i (word_i),
      .mac_error_i(error_i),
      .resets_i   (resets_i),
      .key_i      (key_i),
      .session_o  (session),
      .news_o     (news),
      .faults_o   (faults),
      .drops_o    (),
      .clk_i      (clk_i),
      .rst_ni     (alive_q),
      .works_i    (1'b1),
      .valid_o    (),
      .vc_o       (),
      .phit_o     (),
      .credit_o   (),
      .credit_vc_o()
  );

  // ---------------------------------------------------------------- registers of the receiver

  // The store: a place is free, and its pointers; a word is offered, and is taken apart.
  logic room, offers, ready_apart, takes;
  logic [6:0] write, begins, ends, read;
  alcor_abi_pkg::frame_word_t offered, word_kept;
  logic [64*513-1:0] contents;
  logic inside_kept, valid_kept, error_kept, odd_kept, spoilt_kept, foreign_kept, numbered_kept, known_kept;
  logic [5:0] count_kept;
  logic [15:0] expected;
  logic [31:0] sequence_kept, epochs_kept;
`include "receiver_registers.svh"

  // ---------------------------------------------------------------- frames as they come

  // A word has come, in the cycle before; it was its frame's first. Fields of the frame's first word.
  logic inside_q, came_q, first_q, error_q, foreign_q, numbered_q, known_q, true_q, alone_q, spoilt_q;
  alcor_abi_pkg::frame_word_t word_q;
  logic [15:0] words_q, sequence_q, sender_q, receiver_q;
  logic [63:0] place_q;
  logic comes;
  assign comes = valid_i && ready_i;

  always_ff @(posedge clk_i) begin
    if (!ready_i) inside_q <= 1'b0;
    else if (valid_i) inside_q <= !word_i.last;
    came_q <= comes && alive_q;
    if (comes) begin
      word_q  <= word_i;
      error_q <= word_i.last && error_i;
      first_q <= !inside_q;
      words_q <= inside_q ? words_q + 16'd1 : 16'd1;
    end
    if (comes && !inside_q) begin
      // As link.md has the frame.
      foreign_q  <= word_i.data[95:0] != {48'h00_00_00_00_00_02, 48'h0E_00_00_C2_80_01} || word_i.data[119:96] != 24'h02B588
          || word_i.data[159:128] != ABI_HASH || word_i.data[223:192] != '0;
      numbered_q <= word_i.data[120];
      known_q    <= word_i.data[121];
      sequence_q <= word_i.data[239:224];
      sender_q   <= word_i.data[271:256];
      receiver_q <= word_i.data[287:272];
      true_q     <= true_i;
      place_q    <= place_i;
    end
    // The frame began outside of the reset, and all of its words have found room.
    if (!alive_q) alone_q <= 1'b0;
    else if (comes && !inside_q) alone_q <= 1'b1;
    if (came_q) spoilt_q <= (!first_q && spoilt_q) || !room;
    if (!rst_ni) {inside_q, came_q} <= '0;
  end

  // A frame ends; it is undamaged and from a board like this one; it names this end's epoch, and the epoch of the chosen
  // stream.
  logic last, sound, names_me, ours;
  assign last     = came_q && word_q.last;
  assign sound    = !error_q && words_q[0] && !foreign_q;
  assign names_me = known_q && receiver_q == session.own;
  assign ours     = chosen_q && sender_q == other;

  // The words that were kept and those that were taken apart.
  logic [63:0] kept_q, kept, apart_q;
  logic [6:0] begins_q;
  assign kept = kept_q + 64'(7'(begins - begins_q));
  always_ff @(posedge clk_i) begin
    kept_q   <= alive_q ? kept : '0;
    begins_q <= alive_q ? begins : '0;
    apart_q  <= alive_q ? apart_q + 64'(takes) : '0;
  end

  // ---------------------------------------------------------------- assumptions

  // A numbered frame of the chosen epochs that looks undamaged is as it was sent.
  `ALCOR_ASSUME(!(last && sound && numbered_q && names_me && ours && !true_q))
  // Its number is that of its first word. That word is not as far from the expected one as to be taken for another;
  // link_replay sends no word that is more than two rings behind the last one, and the medium keeps the order of frames.
  logic [63:0] ahead;
  assign ahead = place_q - kept;
  `ALCOR_ASSUME(!(last && chosen_q && true_q) || (sequence_q == place_q[15:0] && ahead[63:15] == {49{ahead[15]}}))
  // Its words are those of the stream.
  `ALCOR_ASSUME(!(came_q && chosen_q && true_q && place_q + 64'(words_q) - 64'd1 == number)
      || (mark ? word_q.last : word_q.data[160]) == value)
  // A frame that began in this board's reset does not name the epoch behind it.
  `ALCOR_ASSUME(!(last && names_me && !alone_q))

  // ---------------------------------------------------------------- properties

  // A frame is delivered if, and only if, it is undamaged, numbered, of this session, the expected one, and stored.
  logic began, accepts, expects, delivers;
  assign began    = session.open || faults.stale;
  assign accepts  = names_me && (session.greets ? sender_q[7:0] == session.own.key : session.open && sender_q == session.other);
  assign expects  = (ours && true_q) ? place_q == kept : sequence_q == expected;
  assign delivers = last && sound && numbered_q && accepts && expects && room && (first_q || !spoilt_q);

  // The frame's words are delivered as a whole, and the number that is expected next is that of the word behind them.
  logic [15:0] expected_q, more_q;
  logic lives_q;
  always_ff @(posedge clk_i) begin
    lives_q    <= alive_q;
    expected_q <= expected;
    more_q     <= delivers ? words_q : '0;
    if (!rst_ni) lives_q <= 1'b0;
  end
  `ALCOR_ASSERT(p_delivers, !(lives_q && alive_q)
      || (expected == expected_q + more_q && 16'(7'(begins - begins_q)) == more_q))
  `ALCOR_ASSERT(p_expected, !alive_q || (expected == kept[15:0] && news.expected == expected))
  // The words that are taken apart are those of the stream: all from its begin on, once each, in order.
  logic talks;
  assign talks = chosen_q && alive_q && began && session.other == other;
  `ALCOR_ASSERT(p_stream, !(talks && takes && apart_q == number) || (mark ? offered.last : offered.data[160]) == value)
  `ALCOR_ASSERT(p_whole, !alive_q || !takes || apart_q != kept)
  // Nothing is delivered before there is a session.
  `ALCOR_ASSERT(p_session, !alive_q || began || (kept == '0 && apart_q == '0))

  // ---------------------------------------------------------------- invariants of the induction

  // The words of the present frame that have been offered to the store.
  logic within;
  logic [15:0] done;
  assign within = came_q ? !first_q : inside_q;
  assign done   = within ? words_q - 16'(came_q) : '0;

  `ALCOR_ASSERT(i_inside, inside_kept == inside_q && valid_kept == came_q)
  `ALCOR_ASSERT(i_word, !came_q || (word_kept == word_q && error_kept == error_q && odd_kept == words_q[0]
      && error_q <= word_q.last))
  `ALCOR_ASSERT(i_frame, !(came_q || inside_q) || (odd_kept == words_q[0] && count_kept == words_q[5:0] && foreign_kept == foreign_q
      && numbered_kept == numbered_q && known_kept == known_q && sequence_kept[15:0] == sequence_q
      && epochs_kept == {receiver_q, sender_q}))
  `ALCOR_ASSERT(i_last, !came_q || (first_q ? words_q == 16'd1 : 1'b1))
  `ALCOR_ASSERT(i_goes_on, !came_q || word_q.last != inside_q)
  `ALCOR_ASSERT(i_spoilt, !alive_q || spoilt_kept == (within && alone_q && spoilt_q) || (within && !alone_q))
  `ALCOR_ASSERT(i_pointers, !alive_q || (read == apart_q[6:0] && begins == kept[6:0] && 7'(ends - read) <= 7'(begins - read)
      && 7'(begins - read) <= 7'(write - read) && 7'(write - read) <= 7'd64
      && kept - apart_q == 64'(7'(begins - read))))
  `ALCOR_ASSERT(i_pushed, !alive_q || !((!within || alone_q) && !(within && spoilt_q))
      || done == 16'(7'(write - begins)))
  `ALCOR_ASSERT(i_none, !came_q || alone_q || !first_q)
  `ALCOR_ASSERT(i_known, !alive_q || session.greets || session.known == began)

  // The chosen word, in the store and on offer.
  logic held;
  logic [63:0] place_has;
  for (genvar i = 0; i < 64; i++) begin : g_place
    assign place_has[i] = mark ? contents[i*513+512] : contents[i*513+160];
  end
  assign held = place_has[number[5:0]] == value;
  `ALCOR_ASSERT(i_stored, !(talks && number - apart_q < kept - apart_q) || held)
  `ALCOR_ASSERT(i_present, !(alive_q && chosen_q && within && alone_q && true_q && !spoilt_q && place_q == kept
      && number - kept < 64'(done)) || held)
  `ALCOR_ASSERT(i_offered, !(talks && offers && apart_q == number) || (mark ? offered.last : offered.data[160]) == value)

  // ---------------------------------------------------------------- states of interest, for the task `receiver-reached`

  // A frame of the chosen session has been refused since the last one was delivered: because it had come before, because
  // one before it is missing, or because it was damaged.
  logic candidate, repeated_q, early_q, damaged_q, stranger_q, cut_q;
  assign candidate = chosen_q && last && session.open && sound && numbered_q && names_me && ours && session.other == other;
  always_ff @(posedge clk_i) begin
    repeated_q <= repeated_q || (candidate && place_q < kept);
    early_q    <= early_q || (candidate && place_q > kept);
    damaged_q  <= damaged_q || (last && error_q && names_me && session.open && kept != '0);
    stranger_q <= stranger_q || (last && sound && numbered_q && !names_me && chosen_q && session.greets && sequence_q == expected);
    cut_q      <= cut_q || (!ready_i && within && alone_q && names_me && session.open);
    if (!alive_q) {repeated_q, early_q, damaged_q, stranger_q, cut_q} <= '0;
  end
  always @(posedge clk_i) begin
    if (rst_ni && alive_q && lives_q && chosen_q) begin
      c_word : cover (talks && takes && apart_q == number && number == 64'd3 && mark && value);
      c_repeated : cover (talks && repeated_q && takes && apart_q == number && number == 64'd2);
      c_early : cover (talks && early_q && takes && apart_q == number && number == 64'd1);
      c_damaged : cover (talks && damaged_q && takes && apart_q == number && number == 64'd1);
      c_cut : cover (talks && cut_q && takes && apart_q == number && number == 64'd1);
      c_stranger : cover (talks && stranger_q && takes);
      c_closed : cover (talks && faults.stale && kept != '0);
    end
  end

endmodule

// Properties of link_replay, included at its end. The framer and the other end are arbitrary: acknowledgements and
// requests have any value at any time. Only frames are whole, and not longer than LONGEST words.

`include "formal.svh"

logic f_started = 1'b0;
always_ff @(posedge mac_clk_i) f_started <= 1'b1;
always @(posedge mac_clk_i) assume (mac_rst_ni == f_started);

// Words of the present frame that have been taken.
logic [15:0] f_words;
always_ff @(posedge mac_clk_i) begin
  if (!mac_rst_ni) f_words <= '0;
  else if (stored) f_words <= word_i.last ? '0 : f_words + 1'b1;
end

always @(posedge mac_clk_i) begin
  if (mac_rst_ni) begin
    // The framer offers a first word between frames, and all others without a gap.
    assume (first_i == (f_words == '0));
    if (f_words != '0) assume (valid_i);
    if (f_words == 16'(LONGEST - 1)) assume (word_i.last);
  end
end

// An arbitrary word, from its storage to its acknowledgement: its mark of a last word, or one of the other bits, which
// all have the same logic.
(* anyconst *) logic [15:0] f_number;
(* anyconst *) logic f_mark;
logic f_kept, f_value;
logic f_any;
always_ff @(posedge mac_clk_i) f_any <= mac_rst_ni && (f_any || stored);
logic [31:0] f_before;
assign f_before = 32'(AddrW'(head_q - 1'b1));
logic [15:0] f_age;
logic [31:0] f_place;
assign f_place = 32'(f_number[AddrW-1:0]) * (MacW + 1);
assign f_age = f_number - tail_q;

always_ff @(posedge mac_clk_i) begin
  if (stored && head_q == f_number) f_value <= f_mark ? word_i.last : word_i.data[0];
end
assign f_kept = f_age < 16'(head_q - tail_q);

always @(posedge mac_clk_i) begin
  if (mac_rst_ni) begin
    // The ring never overflows, with room for the rest of a frame.
    f_room : assert (16'(head_q - tail_q) <= 16'(WORDS));
    f_length : assert (f_words < 16'(LONGEST));
    f_state : assert ((state_q == StNew) == (f_words != '0));
    f_frame : assert (state_q != StNew || 16'(head_q - tail_q) <= 16'(WORDS - LONGEST) + f_words);
    f_start : assert (!room_q || 16'(head_q - tail_q) <= 16'(WORDS - LONGEST));
    // What is sent next is not after what is stored, and at most a ring before what is acknowledged.
    f_next : assert (16'(head_q - next_q) <= 16'(2 * WORDS));
    f_behind : assert (16'(head_q - next_q) <= 16'(head_q - tail_q) || behind[15]);
    f_new : assert (state_q != StNew || next_q == head_q);
    // A frame is under way exactly if its last word has not been offered.
    f_inside : assert ((state_q != StBetween) == (mac_valid_o && !mac_word_o.last));
    // The ring ends with a frame, so a frame that is sent again ends before the ring does.
    f_some : assert (f_any || (head_q == '0 && tail_q == '0 && next_q == '0));
    f_last : assert (f_words != '0 || !f_any || f_contents[f_before*(MacW+1)+MacW]);
    f_kept_last : assert (next_q == head_q || kept.last == f_contents[32'(next_q[AddrW-1:0])*(MacW+1)+MacW]);
    f_again : assert (state_q != StAgain || next_q != head_q);
    // A numbered frame leaves in a session. Each frame names the session's epochs.
    if (sends && first) begin
      f_session : assert (!header.frame.numbered || session_i.open);
      f_names : assert (header.epochs.key == session_i.own.key && header.epochs.resets == session_i.own.resets
          && header.epochs.other_key == session_i.other.key && header.epochs.other_resets == session_i.other.resets
          && header.frame.known == session_i.known && header.frame.open == session_i.open);
    end
    // A word that is not acknowledged is in the ring as it was stored, and is sent as it is in the ring.
    if (f_kept) f_stored : assert ((f_mark ? f_contents[f_place+MacW] : f_contents[f_place]) == f_value);
    if (f_kept && next_q == f_number) f_read : assert ((f_mark ? kept.last : kept.data[0]) == f_value);
    if (f_kept && again && next_q == f_number && !first) f_sent : assert ((f_mark ? word.last : word.data[0]) == f_value);
  end
end

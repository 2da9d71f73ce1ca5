// Properties of link_frames, included at its end: the words that are offered are those of the frames that were kept, once
// each and in order, and of no other frame.

`include "formal.svh"

logic f_started = 1'b0;
always_ff @(posedge mac_clk_i) f_started <= 1'b1;
always @(posedge mac_clk_i) assume (mac_rst_ni == f_started);

// An arbitrary place of the store, written, kept and offered: the mark of a last word, or one of the other bits, which
// all have the same logic.
(* anyconst *) logic [AddrW:0] f_place;
(* anyconst *) logic f_mark;
logic f_value;
logic [AddrW:0] f_held, f_whole, f_seen;
assign f_held  = write_q - read_q;
assign f_whole = begin_q - read_q;
assign f_seen  = end_q - read_q;

always_ff @(posedge mac_clk_i) begin
  if (push && write_q == f_place) f_value <= f_mark ? word_i.last : word_i.data[0];
end

logic [AddrW:0] f_age;
logic [31:0] f_at;
assign f_at  = 32'(f_place[AddrW-1:0]) * (MacW + 1);
assign f_age = f_place - read_q;

always @(posedge mac_clk_i) begin
  if (mac_rst_ni) begin
    f_order : assert (f_seen <= f_whole && f_whole <= f_held && f_held <= (AddrW + 1)'(DEPTH));
    if (f_age < f_held) f_stored : assert ((f_mark ? f_contents[f_at+MacW] : f_contents[f_at]) == f_value);
    if (valid_o && read_q == f_place) f_offered : assert ((f_mark ? word_o.last : word_o.data[0]) == f_value);
  end
end

// Words of a frame become visible two cycles after its last word, and only if it is kept.
always @(posedge mac_clk_i) begin
  if (mac_rst_ni && $past(mac_rst_ni)) begin
    // A frame that is kept stays, even if the words of an unfinished frame are removed at that time.
    f_keep : assert (begin_q == ($past(push && word_i.last && keep_i) ? $past(write_q) + 1'b1 : $past(begin_q)));
    f_shown : assert (end_q == $past(begin_q));
  end
end

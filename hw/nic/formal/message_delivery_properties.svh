`include "formal.svh"

// Properties of `message_delivery`, included at its end: a copy or a fetch writes only bytes of the buffer with which
// its receive was entered.

  `ALCOR_FORMAL_RESET

  // Any byte of memory, and any receive; the byte is outside each buffer with which this receive is entered.
  (* anyconst *) logic [31:0] mine;
  (* anyconst *) logic [EntryW-1:0] my_receive;
  logic [33:0] byte_;
  logic entered_q, enters;
  assign byte_  = {2'd0, mine};
  assign enters = receive_i.valid && receive_i.entry[EntryW-1:0] == my_receive;
  always_ff @(posedge clk_i) entered_q <= rst_ni && (entered_q || enters);

  logic [33:0] entered_end;
  assign entered_end = 34'(receive_i.buffer.address) + 34'(receive_i.buffer.length);
  `ALCOR_ASSUME(!enters || ((byte_ < 34'(receive_i.buffer.address) || byte_ >= entered_end) && entered_end <= 34'h1_0000_0000))
  // Only entered receives are paired.
  `ALCOR_ASSUME(!pair_i.valid || pair_i.dropped || pair_i.receive[EntryW-1:0] != my_receive || entered_q)
  // A receive is not entered again while it waits or is being delivered.
  logic [DEPTH-1:0] waits;
  (* hierconn *) logic [DEPTH*PairW-1:0] \u_pairs.words_q ;
  (* hierconn *) logic [$clog2(DEPTH+1)-1:0] \u_pairs.usage_o ;
  for (genvar i = 0; i < DEPTH; i++) begin : g_waits
    logic dropped, refused;
    logic [EntryW-1:0] receive, message;
    logic [11:0] stored;
    assign {dropped, refused, receive, message, stored} = \u_pairs.words_q [i*PairW+:PairW];
    assign waits[i] = 32'(i) < 32'(\u_pairs.usage_o ) && !dropped && receive == my_receive;
  end

  logic moves;
  assign moves = begin_q != BeginIdle && begin_q != BeginRead && begin_q != BeginEmpty && begin_receive_q == my_receive;

  logic [33:0] to_end, copy_end;
  assign to_end   = 34'(to_q) + 34'(left_q);
  assign copy_end = 34'(copy_o.to) + 34'(copy_o.bytes);
  `ALCOR_IMPLIES(p_copy, copy_valid_o && copy_o.receive == 16'(my_receive), byte_ < 34'(copy_o.to) || byte_ >= copy_end)
  // A fetch states its address and its remaining bytes.
  `ALCOR_IMPLIES(p_fetch, moves, (byte_ < 34'(to_q) || byte_ >= to_end) && to_end <= 34'h1_0000_0000)
  // A packet before the last of a fetch requests less than the remaining bytes.
  `ALCOR_IMPLIES(p_not_last, begin_q >= BeginHead && !last_q, 34'(segment_q) < 34'(left_q))
  `ALCOR_IMPLIES(p_last, begin_q >= BeginHead && last_q, left_q <= 32'(4 * PAYLOAD_WORDS))
  `ALCOR_IMPLIES(p_head, head_valid_o && begin_q == BeginLength, head_o[15:0] == left_q[15:0] && (last_q || head_o == left_q))
  `ALCOR_IMPLIES(p_to, head_valid_o && begin_q == BeginAddress, head_o == to_q)

  // Invariants of the induction: the buffer in the table, and at the output of the table.
  (* hierconn *) logic [DEPTH*65-1:0] \u_receives.contents_o ;
  logic [63:0] entry;
  logic [33:0] entry_end, buffer_end;
  assign entry      = \u_receives.contents_o [65*my_receive+:64];
  assign entry_end  = 34'(entry[63:32]) + 34'(entry[31:0]);
  assign buffer_end = 34'(buffer.address) + 34'(buffer.length);
  `ALCOR_IMPLIES(p_entry, entered_q, (byte_ < 34'(entry[63:32]) || byte_ >= entry_end) && entry_end <= 34'h1_0000_0000)
  `ALCOR_IMPLIES(p_waits, waits != '0, entered_q)
  `ALCOR_IMPLIES(p_buffer, begin_q == BeginRead && begin_receive_q == my_receive && !begin_dropped_q,
                 (byte_ < 34'(buffer.address) || byte_ >= buffer_end) && buffer_end <= 34'h1_0000_0000)
  `ALCOR_ASSERT(p_states, begin_q <= BeginAddress)
  `ALCOR_IMPLIES(p_not_dropped, begin_q > BeginEmpty, !begin_dropped_q)
  `ALCOR_IMPLIES(p_segment, begin_q >= BeginHead && !last_q, 34'(segment_q) + 34'(to_q[1:0]) == 34'(4 * PAYLOAD_WORDS))

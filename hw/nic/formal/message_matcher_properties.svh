`include "formal.svh"

// Properties of `message_matcher`, included at its end: a match result directs a payload only to bytes of the buffer
// with which its receive was posted, or of the message's own fragment. The match queues are free: they find any posted
// receive.

  `ALCOR_FORMAL_RESET

  // Of `message_arrivals`: the message that waits for its verdict.
  (* hierconn *) logic \u_arrivals.waits_q ;
  (* hierconn *) logic \u_arrivals.waits_recall_q ;
  (* hierconn *) logic [EntryW-1:0] \u_arrivals.waits_entry_q ;
  localparam int unsigned LengthW = $clog2(FRAGMENT + 1);
  (* hierconn *) logic [LengthW-1:0] \u_arrivals.waits_length_q ;
  logic waits_q, waits_recall_q;
  logic [EntryW-1:0] waits_entry_q;
  logic [LengthW-1:0] waits_length_q;
  assign waits_q        = \u_arrivals.waits_q ;
  assign waits_recall_q = \u_arrivals.waits_recall_q ;
  assign waits_entry_q  = \u_arrivals.waits_entry_q ;
  assign waits_length_q = \u_arrivals.waits_length_q ;

  // A message arrives after the match result of the message before, and stays until it is taken. Only a payload is
  // late.
  `ALCOR_ASSUME_STABLE(arrival_valid_i, arrival_ready_o, arrival_i)
  `ALCOR_ASSUME(!arrival_valid_i || (!waits_q && !verdict_valid_o))
  `ALCOR_ASSUME(!late_i || waits_q || verdict_valid_o)

  // Any byte of memory, and any receive; the byte is outside each buffer with which this receive is entered.
  (* anyconst *) logic [31:0] mine;
  (* anyconst *) logic [EntryW-1:0] my_receive;
  logic [33:0] byte_, entered_end, place_end;
  logic entered_q, enters;
  assign byte_  = {2'd0, mine};
  assign enters = receive_o.valid && receive_q == my_receive;
  always_ff @(posedge clk_i) entered_q <= rst_ni && (entered_q || enters);

  assign entered_end = 34'(buffer_q.address) + 34'(buffer_q.length);
  `ALCOR_ASSUME(!enters || byte_ < 34'(buffer_q.address) || byte_ >= entered_end)
  // A search finds an entered receive.
  `ALCOR_ASSUME(!message_result || !posted_found || posted_entry != my_receive || entered_q)

  assign place_end = 34'(verdict_o.address) + 34'(verdict_o.bytes);
  `ALCOR_IMPLIES(p_direct, verdict_valid_o && verdict_o.kind == MvDirect && verdict_o.receive == 16'(my_receive),
                 byte_ < 34'(verdict_o.address) || byte_ >= place_end)
  `ALCOR_IMPLIES(p_fragment, verdict_valid_o && verdict_o.kind == MvStore,
                 verdict_o.address == 32'(NODE_BYTES - DEPTH * FRAGMENT) + 32'(waits_entry_q) * 32'(FRAGMENT)
                 && verdict_o.bytes <= 32'(FRAGMENT))

  // Invariants of the induction: the buffer in the table, and at the output of the table; a message under search fits.
  (* hierconn *) logic [DEPTH*64-1:0] \u_receives.u_buffers.contents_o ;
  logic [63:0] entry;
  logic [33:0] entry_end, buffer_end;
  assign entry      = \u_receives.u_buffers.contents_o [64*my_receive+:64];
  assign entry_end  = 34'(entry[63:32]) + 34'(entry[31:0]);
  assign buffer_end = 34'(buffer.address) + 34'(buffer.length);
  `ALCOR_IMPLIES(p_entry, entered_q, byte_ < 34'(entry[63:32]) || byte_ >= entry_end)
  `ALCOR_IMPLIES(p_buffer, found_valid_q && found_q && found_receive_q == my_receive,
                 byte_ < 34'(buffer.address) || byte_ >= buffer_end)
  `ALCOR_IMPLIES(p_fits, waits_q && !waits_recall_q, 32'(waits_length_q) <= 32'(FRAGMENT))

`include "formal.svh"

// Properties of `message_matcher`, included at its end: a verdict sends a payload to bytes of the buffer that its receive
// was posted with, or of the message's own fragment, and to no others. The match queues are free: they find any receive
// that was posted.

  `ALCOR_FORMAL_RESET

  // A message that waits for a verdict stays until it has one.
  `ALCOR_ASSUME_STABLE(arrival_valid_i, verdict_valid_o && verdict_ready_i, arrival_i)
  `ALCOR_ASSUME(!verdict_valid_o || arrival_valid_i)

  // Any byte of memory, and any receive; the byte is outside of each buffer that this receive is entered with.
  (* anyconst *) logic [31:0] mine;
  (* anyconst *) logic [EntryW-1:0] my_receive;
  logic [33:0] byte_, entered_end, place_end;
  logic entered_q, enters;
  assign byte_  = {2'd0, mine};
  assign enters = receive_o.valid && receive_q == my_receive;
  always_ff @(posedge clk_i) entered_q <= rst_ni && (entered_q || enters);

  assign entered_end = 34'(buffer_q.address) + 34'(buffer_q.length);
  `ALCOR_ASSUME(!enters || byte_ < 34'(buffer_q.address) || byte_ >= entered_end)
  // A search finds a receive that was entered.
  `ALCOR_ASSUME(state_q != StArriving || !posted_done || !posted_found || posted_entry != my_receive || entered_q)

  assign place_end = 34'(place.address) + 34'(place.length);
  `ALCOR_IMPLIES(p_direct, verdict_valid_o && verdict_o.kind == MvDirect && receive_q == my_receive,
                 byte_ < 34'(place.address) || byte_ >= place_end)
  `ALCOR_IMPLIES(p_fragment, verdict_valid_o && verdict_o.kind == MvStore,
                 place.address == 32'(NODE_BYTES - DEPTH * FRAGMENT) + 32'(message_q) * 32'(FRAGMENT)
                 && place.length <= 32'(FRAGMENT))

  // For induction: the buffer in the table, and at its output; a message that is looked at has fitted.
  (* hierconn *) logic [DEPTH*64-1:0] \u_receives.contents_o ;
  logic [63:0] entry;
  logic [33:0] entry_end, buffer_end;
  assign entry      = \u_receives.contents_o [64*my_receive+:64];
  assign entry_end  = 34'(entry[63:32]) + 34'(entry[31:0]);
  assign buffer_end = 34'(buffer.address) + 34'(buffer.length);
  `ALCOR_IMPLIES(p_entry, entered_q, byte_ < 34'(entry[63:32]) || byte_ >= entry_end)
  `ALCOR_IMPLIES(p_buffer, state_q == StChoose && receive_q == my_receive, byte_ < 34'(buffer.address) || byte_ >= buffer_end)
  `ALCOR_IMPLIES(p_dropping, state_q == StDropping, verdict_o.kind == MvRefuse)
  `ALCOR_IMPLIES(p_fits, state_q == StArriving || state_q == StChoose || state_q == StKeep, fits)
  `ALCOR_IMPLIES(p_arrival, state_q >= StArrive && state_q <= StVerdict, arrival_valid_i)

`include "formal.svh"

import alcor_switch_pkg::*;

/// Proof of the credits and the parity between two partner stages, for one arbitrary communicator: `coll_credits` of
/// both, with a model of the blocks that send and take phits. Network and boards take any time.
///
/// No phit arrives at a full window, no credit is lost or returned twice, and the parity identifies the collective of
/// each phit at the head of a window. `way` of a side holds the phits that have left the side and have not been taken
/// out of the partner's window: at most as many as the window has places.
module coll_pair #(
    /// Phits of a window.
    parameter int unsigned WINDOW = 8
) (
    /// Clock.
    input logic            clk_i,
    /// Synchronous reset, active low.
    input logic            rst_ni,

    // By side, all free except for the assumptions below.
    /// Row, kind, and the two uses of a token that requests room.
    input logic [1:0][4:0] ask_row_i,
    input logic [1:0]      ask_signature_i,
    input logic [1:0]      ask_sends_i,
    input logic [1:0]      ask_keeps_i,
    /// Rows and uses of the credits of copy unit and reader.
    input logic [3:0][4:0] look_row_i,
    input logic [3:0]      look_take_i,
    /// A result with a credit is chosen; it uses the credit in the cycle after.
    input logic [1:0]      result_i,
    /// A token returns its unused credit; a token returns its unused place.
    input logic [1:0]      unsent_i,
    input logic [1:0]      unkept_i,
    /// Selected row of the windows; a token leaves the window of own tokens.
    input logic [1:0][4:0] pick_row_i,
    input logic [1:0]      own_pop_i,
    /// The head of the window of arrivals is taken if its phit is of this collective.
    input logic [1:0]      takes_i,
    /// A data phit leaves; the signature leaves.
    input logic [1:0]      sends_data_i,
    input logic [1:0]      sends_signature_i,
    /// A return of credits leaves; credits arrive; number of arriving credits.
    input logic [1:0]      pay_ready_i,
    input logic [1:0]      returned_i,
    input logic [1:0][2:0] returned_phits_i,
    /// The next collective begins, if this one has ended.
    input logic [1:0]      begins_i,
    /// Another communicator's collective has ended.
    input logic [1:0]      end_i,
    input logic [1:0][4:0] end_row_i
);

  localparam int unsigned CountW = $clog2(WINDOW);
  // A phit under way: number of its collective, and whether the phit is a signature.
  localparam int unsigned EntryW = 4;

  `ALCOR_FORMAL_RESET

  // An arbitrary communicator.
  (* anyconst *) logic [4:0] row;

  logic [1:0] ask_room, pay_valid, pay_taken, data_sent, signature_sent, head_signature, pop, data_pop, signature_pop, begins;
  logic [3:0] look_credit;
  logic [1:0][4:0] pay_row;
  logic [1:0][15:0] pay_phits;
  // By side: number of the current collective; its signature has been sent; the partner's signature has been taken.
  logic [1:0][2:0] number_q;
  logic [1:0] sent_q, got_q;
  // By side: credits taken for phits that have not left; phits that have left; returned credits that have not arrived.
  logic [1:0][CountW:0] taken_q, way_count, paid_q, kept_q;
  logic [1:0][WINDOW*EntryW-1:0] way_words;
  logic [1:0][EntryW-1:0] head;
  logic [1:0] way_room, some;

  // By side: counts of all rows.
  logic [1:0][32*CountW-1:0] left, unpaid, stored;
  logic [1:0][31:0] once, twice, one, two;
  // By side: changes of this row in the cycle before.
  logic [1:0] tapped_q, unsent_q, popped_q, reserved_q, unkept_q, freed_q;
  logic [3:0] looked_q;
  logic [1:0][2:0] returned_q;
  logic [1:0] tapped, popped, reserved, freed;
  logic [1:0] result_q;
  logic [1:0][31:0] result_credit;
  logic [3:0] looked;
`include "pair_registers.svh"

  for (genvar s = 0; s < 2; s++) begin : g_side
    coll_credits #(
        .WINDOW(WINDOW)
    ) u_credits (
        .clk_i        (clk_i),
        .rst_ni       (rst_ni),
        .written_i    (6'd0),
        .revoke_i     (1'b0),
        .end_i        (begins[s] ? {1'b1, row} : {end_i[s], end_row_i[s]}),
        .ask_i        ({ask_row_i[s], ask_signature_i[s]}),
        .ask_room_o   (ask_room[s]),
        .ask_sends_i  (ask_sends_i[s]),
        .ask_keeps_i  (ask_keeps_i[s]),
        .look_row_i   (look_row_i[2*s+:2]),
        .look_credit_o(look_credit[2*s+:2]),
        .look_take_i  (look_take_i[2*s+:2]),
        .result_credit_o(result_credit[s]),
        .result_take_i(32'(result_q[s]) << row),
        .in_row_i     (row),
        .unsent_i     (unsent_i[s]),
        .unkept_i     (unkept_i[s]),
        .pick_row_i   (pick_row_i[s]),
        .own_pop_i    (own_pop_i[s]),
        .head_pop_i   (pick_row_i[s] == row ? data_pop[s] : takes_i[s]),
        .returned_i   ({returned_i[s], row, 13'd0, returned_phits_i[s]}),
        .owes_o       (),
        .pay_valid_o  (pay_valid[s]),
        .pay_ready_i  (pay_ready_i[s]),
        .pay_row_o    (pay_row[s]),
        .pay_phits_o  (pay_phits[s])
    );

    // Room and credits are used only if available; a token with room returns it once.
    `ALCOR_ASSUME(!(ask_sends_i[s] || ask_keeps_i[s]) || ask_room[s])
    `ALCOR_ASSUME((look_take_i[2*s+:2] & ~look_credit[2*s+:2]) == '0)
    // Results are the only use of credits in their collective.
    `ALCOR_ASSUME(!result_i[s] || (result_credit[s][row] && !sent_q[s] && !tapped[s] && looked[2*s+:2] == '0
                                   && !tapped_q[s] && looked_q[2*s+:2] == '0))
    `ALCOR_ASSUME(!result_q[s] || (!tapped[s] && looked[2*s+:2] == '0))
    `ALCOR_ASSUME(!own_pop_i[s] || pick_row_i[s] != row || kept_q[s] > (CountW + 1)'(unkept_i[s]))
    `ALCOR_ASSUME(!unkept_i[s] || kept_q[s] != '0)
    `ALCOR_ASSUME(!unsent_i[s] || taken_q[s] > (CountW + 1)'(sends_data_i[s]))
    `ALCOR_ASSUME(!sends_data_i[s] || taken_q[s] != '0)
    // For this communicator, credits are taken before the signature is sent; the signature is sent after all phits.
    `ALCOR_ASSUME(!sent_q[s] || !(tapped[s] || looked[2*s+:2] != '0))
    `ALCOR_ASSUME(!sends_signature_i[s] || (!sent_q[s] && !sends_data_i[s] && taken_q[s] == '0 && !tapped[s] && looked[2*s+:2] == '0
                                            && !result_i[s]))
    // Only credits that the partner has returned arrive.
    `ALCOR_ASSUME(!returned_i[s] || (returned_phits_i[s] != '0 && 4'(returned_phits_i[s]) <= paid_q[1-s]))

    assign tapped[s]         = ask_sends_i[s] && !ask_signature_i[s] && ask_row_i[s] == row;
    assign reserved[s]       = ask_keeps_i[s] && ask_row_i[s] == row;
    assign freed[s]          = own_pop_i[s] && pick_row_i[s] == row;
    assign looked[2*s]       = look_take_i[2*s] && look_row_i[2*s] == row;
    assign looked[2*s+1]     = look_take_i[2*s+1] && look_row_i[2*s+1] == row;
    assign data_sent[s]      = sends_data_i[s];
    assign signature_sent[s] = sends_signature_i[s];
    assign pay_taken[s]      = pay_valid[s] && pay_ready_i[s] && pay_row[s] == row;

    // Phits that this side has sent and the partner has not taken; the partner's parity decides whether it takes one.
    `FIFO_MODEL #(
        .WIDTH(EntryW),
        .DEPTH(WINDOW)
    ) u_way (
        .clk_i  (clk_i),
        .rst_ni (rst_ni),
        .valid_i(data_sent[s] || signature_sent[s]),
        .ready_o(way_room[s]),
        .data_i ({number_q[s], signature_sent[s]}),
        .valid_o(some[s]),
        .ready_i(pop[1-s]),
        .data_o (head[s]),
        .empty_o(),
        .words_o(way_words[s]),
        .usage_o(way_count[s])
    );

    // A phit carries the lowest bit of its collective's number.
    assign head_signature[s] = head[1-s][0];
    assign pop[s]            = takes_i[s] && pick_row_i[s] == row && some[1-s] && head[1-s][1] == number_q[s][0];
    assign data_pop[s]       = pop[s] && !head_signature[s];
    assign signature_pop[s]  = pop[s] && head_signature[s];
    // A collective has ended when the partner's signature has been taken and the own signature has left.
    assign begins[s]         = begins_i[s] && sent_q[s] && got_q[s];

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        result_q[s] <= 1'b0;
        number_q[s] <= '0;
        sent_q[s]   <= 1'b0;
        got_q[s]    <= 1'b0;
        taken_q[s]  <= '0;
        paid_q[s]   <= '0;
        kept_q[s]   <= '0;
      end else begin
        result_q[s] <= result_i[s];
        number_q[s] <= number_q[s] + 3'(begins[s]);
        sent_q[s]   <= !begins[s] && (sent_q[s] || signature_sent[s]);
        got_q[s]    <= !begins[s] && (got_q[s] || signature_pop[s]);
        taken_q[s]  <= taken_q[s] + 4'(tapped[s]) + 4'(looked[2*s]) + 4'(looked[2*s+1]) + 4'(result_i[s])
                     - 4'(data_sent[s]) - 4'(unsent_i[s]);
        paid_q[s]   <= paid_q[s] + (pay_taken[s] ? pay_phits[s][CountW:0] : '0)
                     - (returned_i[1-s] ? 4'(returned_phits_i[1-s]) : 4'd0);
        kept_q[s]   <= kept_q[s] + 4'(reserved[s]) - 4'(unkept_i[s]) - 4'(freed[s]);
      end
    end
  end

  // ---------------------------------------------------------------- properties

  // A sent phit has a place; a phit that can be taken belongs to the current collective of the taker.
  `ALCOR_ASSERT(p_room, ((data_sent | signature_sent) & ~way_room) == '0)
  `ALCOR_ASSERT(p_parity, (!pop[0] || head[1][3:1] == number_q[0]) && (!pop[1] || head[0][3:1] == number_q[1]))
  `ALCOR_ASSERT(p_one_signature, (signature_pop & got_q) == '0)
  // Own tokens have places.
  `ALCOR_ASSERT(p_kept, kept_q[0] < (CountW + 1)'(WINDOW) && kept_q[1] < (CountW + 1)'(WINDOW))

  // Credits are conserved: free, taken, of phits under way, of phits in the window, and returned.
  logic [1:0][5:0] sum, data, signatures;
  logic [1:0] same, follows, rows, enough;
  logic [1:0][2:0] sending, taking, next;
  always_comb begin
    for (int s = 0; s < 2; s++) begin
      sending[s]    = number_q[s] + 3'(sent_q[s]);
      taking[s]     = number_q[s] + 3'(got_q[s]);
    end
    for (int s = 0; s < 2; s++) begin
      data[s]       = '0;
      signatures[s] = '0;
      next[s]       = '0;
      follows[s]    = 1'b1;
      if (way_count[s] == '0) follows[s] = sending[s] == taking[1-s];
      else follows[s] = way_words[s][3:1] == taking[1-s];
      for (int k = 0; k < WINDOW; k++) begin
        if (k < 32'(way_count[s])) begin
          if (way_words[s][k*EntryW]) signatures[s] = signatures[s] + 6'd1;
          else data[s] = data[s] + 6'd1;
          // Number of the phit after this one, or of the phit that is sent next.
          next[s] = way_words[s][k*EntryW+1+:3];
          if (way_words[s][k*EntryW]) next[s] = next[s] + 3'd1;
          if (k + 1 == 32'(way_count[s])) follows[s] = follows[s] && sending[s] == next[s];
          else follows[s] = follows[s] && 3'(way_words[s] >> ((k + 1) * EntryW + 1)) == next[s];
        end
      end
      sum[s] = 6'(left[s][CountW*row+:CountW]) + 6'(returned_q[s]) + 6'(unsent_q[s]) - 6'(tapped_q[s])
          - 6'(looked_q[2*s]) - 6'(looked_q[2*s+1]) - 6'(result_q[s]) + 6'(taken_q[s]) + data[s]
          + 6'(unpaid[1-s][CountW*row+:CountW]) + 6'(popped_q[1-s]) + 6'(paid_q[1-s]);
      // More credits are free than were taken in the cycle before.
      enough[s] = 6'(left[s][CountW*row+:CountW]) >= 6'(tapped_q[s]) + 6'(looked_q[2*s]) + 6'(looked_q[2*s+1])
          + 6'(result_q[s]);
      same[s] = kept_q[s] == 4'(stored[s][CountW*row+:CountW]) + 4'(reserved_q[s]) - 4'(unkept_q[s]) - 4'(freed_q[s]);
    end
  end
  `ALCOR_ASSERT(p_conserved, sum[0] == 6'(WINDOW - 2) && sum[1] == 6'(WINDOW - 2))
  `ALCOR_ASSERT(p_two_signatures, signatures[0] <= 6'd2 && signatures[1] <= 6'd2)
  // No side is two collectives ahead.
  logic [2:0] ahead;
  assign ahead = number_q[0] - number_q[1] + 3'd1;
  `ALCOR_ASSERT(p_ahead, ahead <= 3'd2)

  // Invariants of the induction: phits under way are consecutive, and flags beside the counts agree with the counts.
  `ALCOR_ASSERT(p_follows, follows == '1)
  logic [1:0][2:0] between;
  assign between[0] = sending[0] - taking[1];
  assign between[1] = sending[1] - taking[0];
  `ALCOR_ASSERT(p_signatures, signatures[0] == 6'(between[0]) && signatures[1] == 6'(between[1]))
  `ALCOR_ASSERT(p_sent, (!sent_q[0] || taken_q[0] == '0) && (!sent_q[1] || taken_q[1] == '0))
  `ALCOR_ASSERT(p_stored, same == '1)
  `ALCOR_ASSERT(p_enough, enough == '1)
  always_comb begin
    rows = '1;
    for (int s = 0; s < 2; s++) begin
      for (int c = 0; c < 32; c++) begin
        if (once[s][c] != (left[s][CountW*c+:CountW] >= CountW'(3))) rows[s] = 1'b0;
        if (twice[s][c] != (left[s][CountW*c+:CountW] >= CountW'(6))) rows[s] = 1'b0;
        if (one[s][c] != (stored[s][CountW*c+:CountW] < CountW'(WINDOW - 1))) rows[s] = 1'b0;
        if (two[s][c] != (stored[s][CountW*c+:CountW] < CountW'(WINDOW - 2))) rows[s] = 1'b0;
      end
    end
  end
  `ALCOR_ASSERT(p_rows, rows == '1)

  // States of interest, for the task `reached`.
  always @(posedge clk_i) begin
    if (rst_ni) begin
      c_next : cover (number_q[0] == 3'd1 && number_q[1] == 3'd1);
      c_paid : cover (returned_q[0] != '0);
      c_no_credit : cover (data[0] == 6'd4);
      c_two_signatures : cover (signatures[0] == 6'd2 && data[0] >= 6'd2 && !way_words[0][0]);
    end
  end

endmodule

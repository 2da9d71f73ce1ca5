`include "assertions.svh"
`include "simulation.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// Credits of a stage, for each communicator: phits that may be sent to the partner, places of the window of own
/// tokens, and phits of the window of arrivals that have to be paid back.
///
/// A change of a count is kept for a cycle and counted in the next. So a count suffices only with the kept changes taken
/// off.
module coll_credits #(
    /// Phits of each communicator's window, a power of two, 8 or more.
    parameter int unsigned WINDOW = alcor_switch_pkg::Window
) (
    /// Clock.
    input  logic                      clk_i,
    /// Synchronous reset, active low.
    input  logic                      rst_ni,

    /// A row of the communicator table has been written: its credits start anew.
    input  alcor_abi_pkg::row_pulse_t written_i,
    /// With `written_i`: the partner gets a payment of no credits, which says that the row is out of use.
    input  logic                      revoke_i,
    /// A collective has ended: the remaining credits are paid back.
    input  alcor_abi_pkg::row_pulse_t end_i,

    /// Token that room is asked for.
    input  alcor_abi_pkg::token_head_t ask_i,
    /// There is a credit for the token, and a place.
    output logic                      ask_room_o,
    /// The credit is used.
    input  logic                      ask_sends_i,
    /// The place is taken.
    input  logic                      ask_keeps_i,
    /// By user: communicator whose credits are looked up.
    input  logic [1:0][4:0]           look_row_i,
    /// There is a credit.
    output logic [1:0]                look_credit_o,
    /// The credit is used.
    input  logic [1:0]                look_take_i,

    /// By communicator: a credit is left for a result.
    output logic [31:0]               result_credit_o,
    /// By communicator: the credit is used for a result that has just been chosen.
    input  logic [31:0]               result_take_i,

    /// Communicator of a token that gives room back.
    input  alcor_abi_pkg::row_t       in_row_i,
    /// The token's credit was not needed.
    input  logic                      unsent_i,
    /// The token's place was not needed.
    input  logic                      unkept_i,
    /// Communicator whose windows are read.
    input  alcor_abi_pkg::row_t       pick_row_i,
    /// A token has left the window of own tokens.
    input  logic                      own_pop_i,
    /// A phit that is to be paid back has left the window of arrivals.
    input  logic                      head_pop_i,
    /// The partner has given credits back.
    input  alcor_abi_pkg::returned_t  returned_i,

    /// Communicators in which credits are due to the partner.
    output logic [31:0]               owes_o,
    /// Credits to be paid to the partner are offered.
    output logic                      pay_valid_o,
    /// The credits are taken.
    input  logic                      pay_ready_i,
    /// Communicator of the credits.
    output alcor_abi_pkg::row_t       pay_row_o,
    /// Number of credits.
    output logic [15:0]               pay_phits_o
);

  // Bits of a count of a window's phits.
  localparam int unsigned CountW = $clog2(WINDOW);
  // Users of credits in the same cycle: one of `ask`, two of `look`.
  localparam int unsigned Users = 3;

  // ---------------------------------------------------------------- changes

  logic tapped_q, reserved_q, unsent_q, unkept_q, freed_q, popped_q;
  logic [1:0] looked_q;
  logic [1:0][4:0] look_row_q;
  alcor_abi_pkg::row_t ask_row_q, in_row_q, pick_row_q;
  alcor_abi_pkg::returned_t returned_q;
  logic pay_taken;

  always_ff @(posedge clk_i) begin
    tapped_q         <= rst_ni && ask_sends_i && !ask_i.signature;
    reserved_q       <= rst_ni && ask_keeps_i;
    looked_q         <= rst_ni ? look_take_i : '0;
    unsent_q         <= rst_ni && unsent_i;
    unkept_q         <= rst_ni && unkept_i;
    freed_q          <= rst_ni && own_pop_i;
    popped_q         <= rst_ni && head_pop_i;
    returned_q.valid <= rst_ni && returned_i.valid;
    ask_row_q        <= ask_i.row;
    look_row_q       <= look_row_i;
    in_row_q         <= in_row_i;
    pick_row_q       <= pick_row_i;
    if (returned_i.valid) begin
      returned_q.row   <= returned_i.row;
      returned_q.phits <= returned_i.phits;
    end
  end

  // ---------------------------------------------------------------- counts

  // Phits that may be sent, and whether they are enough for the users of one cycle, or of two.
  logic [31:0][CountW-1:0] left_q, left;
  logic [31:0] once_q, once, twice_q, twice;
  // Phits in the own window or on their way there, and whether one more has room, or two.
  logic [31:0][CountW-1:0] stored_q, stored;
  logic [31:0] one_q, one, two_q, two;
  // Phits taken out of the window of arrivals that have not been paid back; those that are due.
  logic [31:0][CountW-1:0] unpaid_q, unpaid;
  logic [31:0] owes_q, owes;
  // Of which communicators they change.
  logic [31:0] left_moves, stored_moves, unpaid_moves;

  assign left_moves   = (32'(tapped_q) << ask_row_q) | (32'(looked_q[0]) << look_row_q[0])
      | (32'(looked_q[1]) << look_row_q[1]) | (32'(returned_q.valid) << returned_q.row)
      | (32'(unsent_q) << in_row_q) | (32'(written_i.valid) << written_i.row) | result_take_i;
  assign stored_moves = (32'(reserved_q) << ask_row_q) | (32'(unkept_q) << in_row_q) | (32'(freed_q) << pick_row_q)
      | (32'(written_i.valid) << written_i.row);
  assign unpaid_moves = (32'(popped_q) << pick_row_q) | (32'(pay_taken) << pay_row_o)
      | (32'(end_i.valid) << end_i.row) | (32'(written_i.valid) << written_i.row);

  always_comb begin
    left  = left_q;
    once  = once_q;
    twice = twice_q;
    if (`ALCOR_AWAKE(left_moves != '0)) begin
      /* verilator unroll_disable */
      for (int unsigned c = 0; c < Contexts; c++) begin
        if (`ALCOR_AWAKE(left_moves[c])) begin
          left[c] = left_q[c] + ((returned_q.valid && returned_q.row == 5'(c)) ? returned_q.phits[CountW-1:0] : CountW'(0))
              + (CountW'(unsent_q && in_row_q == 5'(c)) - CountW'(tapped_q && ask_row_q == 5'(c))
                 - CountW'(looked_q[0] && look_row_q[0] == 5'(c)) - CountW'(looked_q[1] && look_row_q[1] == 5'(c))
                 - CountW'(result_take_i[c]));
          // Two places of each window are kept for signatures.
          if (written_i.valid && written_i.row == 5'(c)) left[c] = CountW'(WINDOW - 2);
          once[c]  = left[c] >= CountW'(Users);
          twice[c] = left[c] >= CountW'(2 * Users);
        end
      end
    end
  end

  always_comb begin
    stored = stored_q;
    one    = one_q;
    two    = two_q;
    if (`ALCOR_AWAKE(stored_moves != '0)) begin
      /* verilator unroll_disable */
      for (int unsigned c = 0; c < Contexts; c++) begin
        if (`ALCOR_AWAKE(stored_moves[c])) begin
          stored[c] = stored_q[c] + (CountW'(reserved_q && ask_row_q == 5'(c))
              - CountW'(unkept_q && in_row_q == 5'(c)) - CountW'(freed_q && pick_row_q == 5'(c)));
          if (written_i.valid && written_i.row == 5'(c)) stored[c] = '0;
          one[c] = stored[c] < CountW'(WINDOW - 1);
          two[c] = stored[c] < CountW'(WINDOW - 2);
        end
      end
    end
  end

  always_comb begin
    unpaid = unpaid_q;
    owes   = owes_q;
    if (`ALCOR_AWAKE(unpaid_moves != '0)) begin
      /* verilator unroll_disable */
      for (int unsigned c = 0; c < Contexts; c++) begin
        if (`ALCOR_AWAKE(unpaid_moves[c])) begin
          if (pay_taken && pay_row_o == 5'(c)) begin
            unpaid[c] = '0;
            owes[c]   = 1'b0;
          end
          if (popped_q && pick_row_q == 5'(c)) unpaid[c] = unpaid[c] + 1'b1;
          // A credit phit is worth a quarter of its window. At its end a collective returns what is left, so
          // that windows are whole for the next collective and for the next communicator in the row.
          if (unpaid[c] >= CountW'(WINDOW / 4)) owes[c] = 1'b1;
          if (end_i.valid && end_i.row == 5'(c) && unpaid[c] != '0) owes[c] = 1'b1;
          if (written_i.valid && written_i.row == 5'(c)) begin
            unpaid[c] = '0;
            owes[c]   = revoke_i;
          end
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      left_q   <= {Contexts{CountW'(WINDOW - 2)}};
      once_q   <= '1;
      twice_q  <= '1;
      stored_q <= '0;
      one_q    <= '1;
      two_q    <= '1;
      unpaid_q <= '0;
      owes_q   <= '0;
    end else begin
      if (`ALCOR_AWAKE(left_moves != '0)) begin
        left_q  <= left;
        once_q  <= once;
        twice_q <= twice;
      end
      if (`ALCOR_AWAKE(stored_moves != '0)) begin
        stored_q <= stored;
        one_q    <= one;
        two_q    <= two;
      end
      if (`ALCOR_AWAKE(unpaid_moves != '0)) begin
        unpaid_q <= unpaid;
        owes_q   <= owes;
      end
    end
  end

  // ---------------------------------------------------------------- answers

  // By user, the last of which is `ask`: a change that is kept is of the communicator that is looked up.
  logic [Users-1:0][4:0] user_row;
  logic [Users-1:0] user_credit;
  logic [Users-1:0][CountW-1:0] pending;
  logic place;

  assign user_row = {ask_i.row, look_row_i};

  for (genvar u = 0; u < Users; u++) begin : g_user
    logic tapped;
    logic [1:0] looked;
    assign tapped         = tapped_q && ask_row_q == user_row[u];
    assign looked[0]      = looked_q[0] && look_row_q[0] == user_row[u];
    assign looked[1]      = looked_q[1] && look_row_q[1] == user_row[u];
    assign user_credit[u] = (tapped || looked != '0) ? twice_q[user_row[u]] : once_q[user_row[u]];
    assign pending[u]     = CountW'(tapped) + CountW'(looked[0]) + CountW'(looked[1]);
  end

  assign place         = (reserved_q && ask_row_q == ask_i.row) ? two_q[ask_i.row] : one_q[ask_i.row];
  assign look_credit_o = user_credit[1:0];
  // Results are a communicator's only use of credits in their collective, a phit a cycle, and are counted in the cycle after.
  assign result_credit_o = once_q;
  // A signature needs no credit.
  assign ask_room_o    = (user_credit[2] || ask_i.signature) && place;

  // ---------------------------------------------------------------- payment

  // The communicator that is paid next is known a cycle before.
  logic pay_some, written_next, written_now;
  alcor_abi_pkg::row_t pay_next;

  coll_first u_pay (.request_i(owes_q), .valid_o(pay_some), .row_o(pay_next));

  assign written_next = written_i.valid && written_i.row == pay_next;
  assign written_now  = written_i.valid && written_i.row == pay_row_o;
  assign pay_taken    = pay_valid_o && pay_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) pay_valid_o <= 1'b0;
    else if (!pay_valid_o) pay_valid_o <= pay_some && !written_next;
    else if (pay_taken || written_now) pay_valid_o <= 1'b0;
    if (!pay_valid_o) pay_row_o <= pay_next;
  end

  assign pay_phits_o = 16'(unpaid_q[pay_row_o]);
  assign owes_o      = owes_q;

  // A count suffices only with the kept changes taken off.
  `ALCOR_IMPLIES(a_ask_credit, ask_sends_i && !ask_i.signature, left_q[ask_i.row] >= pending[2] + CountW'(Users))
  `ALCOR_IMPLIES(a_look_credit, look_take_i[0], left_q[look_row_i[0]] >= pending[0] + CountW'(Users))
  `ALCOR_IMPLIES(a_read_credit, look_take_i[1], left_q[look_row_i[1]] >= pending[1] + CountW'(Users))
  `ALCOR_IMPLIES(a_ask_place, ask_keeps_i,
                 stored_q[ask_i.row] + CountW'(reserved_q && ask_row_q == ask_i.row) < CountW'(WINDOW - 1))
  // A result has a credit.
  logic [31:0] some_left;
  for (genvar c = 0; c < Contexts; c++) begin : g_some_left
    assign some_left[c] = left_q[c] != '0;
  end
  `ALCOR_ASSERT(a_result_credit, (result_take_i & ~some_left) == '0)
  // Nothing is paid twice: no window has more room than it has places.
  `ALCOR_IMPLIES(a_paid_once, returned_q.valid, left[returned_q.row] <= CountW'(WINDOW - 2))

endmodule

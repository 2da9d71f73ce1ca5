`include "assertions.svh"
`include "phit_types.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// One stage of the collective unit: exchanges phits with the partner board of the stage, and
/// combines own and partner's phits in a vector unit (`coll_combine`).
///
/// Two memories hold a window of WINDOW phits for each communicator: arrivals, which the partner
/// has sent, and own phits, which came from the stage before. Each cycle, a communicator is chosen
/// whose heads in both windows can be combined. The result goes to the next stage, or to the
/// results if this stage is the last one. Phits that are only forwarded go to the copy unit. A phit
/// of one communicator never waits for a phit of another one: the choice skips communicators that
/// have to wait.
///
/// A phit is sent only if there is room for it at the partner. Credits of a window are returned in
/// batches. The signature that ends a stream needs no credit: two places are kept for signatures.
module coll_stage #(
    /// Number of the stage.
    parameter  int unsigned STAGE    = 0,
    /// Stages of the unit.
    parameter  int unsigned STAGES   = 3,
    /// Bits of a phit's data.
    parameter  int unsigned PHIT_W   = 256,
    /// Phits of each communicator's window in both memories, a power of two, 8 or more.
    parameter  int unsigned WINDOW   = alcor_switch_pkg::Window,
    /// Tokens on their way to the port to which room was given, a power of two: the cycles from there to
    /// here, and some in which the port cannot send.
    parameter  int unsigned TX_DEPTH = 32,
    /// Operations of the vector unit, by bit of operation_e.
    parameter  bit [8:0]    OPS      = '1,
    /// Types of the vector unit, by bit of datatype_e.
    parameter  bit [5:0]    TYPES    = '1,
    /// 1: registers in front of the vector unit.
    parameter  bit          SLICE    = 1'b0,
    /// Bits of a token without its head; derived, not to be set.
    localparam int unsigned BodyW    = SpanW + PHIT_W,
    /// Bits of a token; derived, not to be set.
    localparam int unsigned TokenW   = TokenHeadW + BodyW
) (
    /// Clock.
    input  logic                         clk_i,
    /// Synchronous reset, active low.
    input  logic                         rst_ni,

    /// A row of the communicator table has been written or taken out of use: its credits start anew.
    input  alcor_abi_pkg::shape_t        shape_i,
    /// Rows of the communicator table.
    input  alcor_abi_pkg::stage_rows_t   rows_i,
    /// Collectives under way.
    input  alcor_abi_pkg::collectives_t  collectives_i,
    /// Begin and end of collectives.
    input  alcor_abi_pkg::stage_events_t events_i,
    /// Conditions under which phits leave the windows.
    input  alcor_abi_pkg::stage_gates_t  gates_i,
    /// State of the stage.
    output alcor_abi_pkg::stage_state_t  state_o,
    /// Pulses: phits from the router that belong to no collective.
    output alcor_abi_pkg::stage_report_t report_o,

    /// The stage before asks for room, for this token.
    input  alcor_abi_pkg::ask_t          ask_i,
    /// There is room.
    output logic                         ask_room_o,
    /// The room is taken.
    input  logic                         ask_take_i,
    /// A token comes from the stage before, which has taken room for it.
    input  logic                         in_valid_i,
    /// Part that the token is of. A signature with a part is only sent or only kept.
    input  alcor_abi_pkg::part_t         in_part_i,
    /// The token.
    input  logic [TokenW-1:0]            in_i,

    /// The next stage is asked for room, for this token.
    output alcor_abi_pkg::ask_t          next_o,
    /// The next stage has room.
    input  logic                         next_room_i,
    /// The room is taken.
    output logic                         next_take_o,
    /// A token goes to the next stage.
    output logic                         out_valid_o,
    /// The token.
    output logic [TokenW-1:0]            out_o,

    /// A result is offered.
    output logic                         result_valid_o,
    /// The result is taken.
    input  logic                         result_ready_i,
    /// The result, a token.
    output logic [TokenW-1:0]            result_o,

    /// A phit is offered to the copy unit.
    output alcor_abi_pkg::copy_offer_t   copy_o,
    /// The phit is taken.
    input  logic                         copy_take_i,
    /// In the cycle after: the phit.
    output logic [BodyW-1:0]             copy_body_o,

    /// Pulse: a result that is no signature has been chosen in the cycle before.
    output alcor_abi_pkg::row_pulse_t    result_take_o,
    /// In stage 0, by communicator: the credit towards the partner is used for a result.
    input  logic [31:0]                  fold_take_i,

    /// Copy unit [0], reader [1]: communicator whose credits towards the partner are looked up.
    input  logic [1:0][4:0]              look_row_i,
    /// There is a credit.
    output logic [1:0]                   look_credit_o,
    /// The credit is used.
    input  logic [1:0]                   look_take_i,
    /// A copy is to be sent.
    input  logic                         send_valid_i,
    /// The copy is taken.
    output logic                         send_ready_o,
    /// Parity of the copy's collective.
    input  logic                         send_parity_i,
    /// The copy, a token.
    input  logic [TokenW-1:0]            send_i,

    /// From the router: a phit comes; it is always taken.
    input  logic                         rx_valid_i,
    /// The phit.
    input  logic [PhitHeadW+PHIT_W-1:0]  rx_phit_i,
    /// To the router: a phit is offered.
    output logic                         tx_valid_o,
    /// The phit is taken.
    input  logic                         tx_ready_i,
    /// The phit.
    output logic [PhitHeadW+PHIT_W-1:0]  tx_phit_o
);

  `ALCOR_PHIT_TYPE(PHIT_W)
  `ALCOR_TOKEN_TYPES(PHIT_W)

  token_t in;
  assign in = in_i;

  // Vectors of their own: simulation copies a struct that is indexed by a row in every cycle.
  logic [31:0][15:0] partner;
  logic [31:0][7:0] key;
  logic [31:0] closed;

  assign partner = rows_i.partner;
  assign key     = rows_i.key;
  assign closed  = rows_i.closed;

  // ---------------------------------------------------------------- treatment of tokens

  logic [31:0] takes, alone, last_stage, sends;
  logic ask_sends, ask_keeps;
  alcor_abi_pkg::division_t division;

  coll_roles #(
      .STAGE(STAGE)
  ) u_roles (
      .clk_i      (clk_i),
      .shape_i    (shape_i),
      .begin_i    (events_i.begins),
      .plan_i     (events_i.plan),
      .takes_o    (takes),
      .alone_o    (alone),
      .final_o    (last_stage),
      .sends_o    (sends),
      .ask_i      (ask_i),
      .ask_sends_o(ask_sends),
      .ask_keeps_o(ask_keeps),
      .in_valid_i (in_valid_i),
      .in_head_i  (in.head),
      .in_span_i  (in.body.span),
      .in_part_i  (in_part_i),
      .division_o (division)
  );

  // ---------------------------------------------------------------- windows

  phit_t rx;
  logic rx_push, rx_credit, rx_news, rx_tells, rx_fits;
  alcor_abi_pkg::row_t rx_row;
  alcor_abi_pkg::span_t rx_span;
  alcor_abi_pkg::arrival_note_t rx_note;
  alcor_abi_pkg::stage_heads_t heads;
  alcor_abi_pkg::returned_t returned;
  alcor_abi_pkg::row_pulse_t flush;

  assign flush     = {shape_i.valid && shape_i.flush, shape_i.row};
  assign rx        = rx_phit_i;
  assign rx_row    = rx.head.low.context_;
  assign rx_span   = {rx.head.position.word, rx.head.position.words};
  assign rx_note   = {rx.head.high.parity, rx.head.high.kind};
  assign rx_fits   = rx.head.high.key == key[rx_row] && !closed[rx_row];
  assign rx_news   = rx_valid_i && rx_fits && rx.head.high.kind == PK_CREDIT;
  assign rx_tells  = rx_news && rx.head.high.announces;
  assign rx_credit = rx_news && !rx_tells;
  assign rx_push   = rx_valid_i && rx_fits && rx.head.high.kind != PK_CREDIT;
  assign returned  = {rx_credit, rx_row, rx.head.position.word[15:0]};

  assign report_o.stale   = rx_valid_i && !rx_fits;
  assign report_o.revoked = {rx_credit && returned.phits == '0, rx_row};

  logic [31:0] arrived, own, spoilt;
  logic head_pop, own_pop;
  logic [BodyW-1:0] head_body, own_body;
  alcor_abi_pkg::row_pulse_t pick;

  coll_window #(
      .WINDOW(WINDOW),
      .WIDTH (BodyW),
      .NOTE_W(3)
  ) u_arrivals (
      .clk_i      (clk_i),
      .rst_ni     (rst_ni),
      .flush_i    (flush),
      .push_i     (rx_push),
      .push_row_i (rx_row),
      .push_data_i({rx_span, rx.data}),
      .push_note_i(rx_note),
      .some_o     (arrived),
      .head_row_i (pick.row),
      .head_note_o(heads.arrival),
      .pop_i      (head_pop),
      .data_o     (head_body)
  );

  coll_window #(
      .WINDOW(WINDOW),
      .WIDTH (BodyW),
      .NOTE_W(1)
  ) u_own (
      .clk_i      (clk_i),
      .rst_ni     (rst_ni),
      .flush_i    (flush),
      .push_i     (division.keep),
      .push_row_i (in.head.row),
      .push_data_i(in.body),
      .push_note_i(in.head.signature),
      .some_o     (own),
      .head_row_i (pick.row),
      .head_note_o(heads.own_signature),
      .pop_i      (own_pop),
      .data_o     (own_body)
  );

  // ---------------------------------------------------------------- choice

  alcor_abi_pkg::stage_pass_t pass;
  logic result_room;

  coll_choice u_choice (
      .clk_i        (clk_i),
      .rst_ni       (rst_ni),
      .written_i    ({shape_i.valid, shape_i.row}),
      .end_i        (events_i.ends),
      .collectives_i(collectives_i),
      .takes_i      (takes),
      .alone_i      (alone),
      .final_i      (last_stage),
      .spoilt_i     (spoilt),
      .arrived_i    (arrived),
      .own_i        (own),
      .pick_o       (pick),
      .heads_i      (heads),
      .head_pop_o   (head_pop),
      .own_pop_o    (own_pop),
      .gates_i      (gates_i),
      .next_room_i  (next_room_i),
      .result_room_i(result_room),
      .copy_o       (copy_o),
      .copy_take_i  (copy_take_i),
      .pass_o       (pass)
  );

  assign next_o      = {pick.row, heads.own_signature, 2'd0};
  assign next_take_o = pass.valid && !pass.last;
  assign copy_body_o = head_body;

  // ---------------------------------------------------------------- announcements

  logic tell_valid, tell_ready;
  alcor_abi_pkg::row_t tell_row;
  alcor_abi_pkg::flow_t tell_flow;

  coll_announce u_announce (
      .clk_i         (clk_i),
      .rst_ni        (rst_ni),
      .shape_i       (shape_i),
      .begin_i       (events_i.begins),
      .announce_i    (events_i.announce),
      .sends_i       (sends),
      .active_i      (collectives_i.active),
      .parity_i      (collectives_i.parity),
      .heard_i       ({rx_tells, rx_row}),
      .heard_parity_i(rx_note.parity),
      .heard_flow_i  (rx_span.word[FlowW-1:0]),
      .spoilt_o      (spoilt),
      .tell_valid_o  (tell_valid),
      .tell_ready_i  (tell_ready),
      .tell_row_o    (tell_row),
      .tell_flow_o   (tell_flow)
  );

  // ---------------------------------------------------------------- combining, results

  logic combine_busy;

  coll_combine #(
      .PHIT_W(PHIT_W),
      .OPS   (OPS),
      .TYPES (TYPES),
      .SLICE (SLICE)
  ) u_combine (
      .clk_i         (clk_i),
      .rst_ni        (rst_ni),
      .pass_i        (pass),
      .head_i        ({pick.row, heads.own_signature}),
      .call_i        (collectives_i.calls[pick.row]),
      .own_i         (own_body),
      .arrived_i     (head_body),
      .out_valid_o   (out_valid_o),
      .out_o         (out_o),
      .result_room_o (result_room),
      .result_valid_o(result_valid_o),
      .result_ready_i(result_ready_i),
      .result_o      (result_o),
      .result_take_o (result_take_o),
      .busy_o        (combine_busy)
  );

  // ---------------------------------------------------------------- credits, and to the partner

  logic credit_room, tx_room, tx_busy, pay_valid, pay_ready;
  alcor_abi_pkg::row_t pay_row;
  logic [15:0] pay_phits;

  assign ask_room_o   = credit_room && tx_room;
  assign state_o.busy = pick.valid || combine_busy || tx_busy;

  coll_credits #(
      .WINDOW(WINDOW)
  ) u_credits (
      .clk_i        (clk_i),
      .rst_ni       (rst_ni),
      .written_i    ({shape_i.valid, shape_i.row}),
      .revoke_i     (shape_i.revokes[STAGE]),
      .end_i        (events_i.ends),
      .ask_i        (ask_i.head),
      .ask_room_o   (credit_room),
      .ask_sends_i  (ask_take_i && ask_sends),
      .ask_keeps_i  (ask_take_i && ask_keeps),
      .look_row_i   (look_row_i),
      .look_credit_o(look_credit_o),
      .look_take_i  (look_take_i),
      .result_credit_o(state_o.fold_credit),
      .result_take_i(fold_take_i),
      .in_row_i     (in.head.row),
      .unsent_i     (division.unsent),
      .unkept_i     (division.unkept),
      .pick_row_i   (pick.row),
      .own_pop_i    (own_pop),
      .head_pop_i   (head_pop && heads.arrival.kind != PK_SIGNATURE),
      .returned_i   (returned),
      .owes_o       (state_o.owes),
      .pay_valid_o  (pay_valid),
      .pay_ready_i  (pay_ready),
      .pay_row_o    (pay_row),
      .pay_phits_o  (pay_phits)
  );

  coll_tx #(
      .STAGE (STAGE),
      .PHIT_W(PHIT_W),
      .DEPTH (TX_DEPTH)
  ) u_tx (
      .clk_i        (clk_i),
      .rst_ni       (rst_ni),
      .partner_i    (partner),
      .key_i        (key),
      .collectives_i(collectives_i),
      .busy_o       (tx_busy),
      .tap_room_o   (tx_room),
      .tap_take_i   (ask_take_i && ask_sends),
      .tap_return_i (division.unsent),
      .tap_valid_i  (division.send),
      .tap_i        (in),
      .leaving_o    (state_o.leaving),
      .copy_valid_i (send_valid_i),
      .copy_ready_o (send_ready_o),
      .copy_parity_i(send_parity_i),
      .copy_i       (send_i),
      .tell_valid_i (tell_valid),
      .tell_ready_o (tell_ready),
      .tell_row_i   (tell_row),
      .tell_flow_i  (tell_flow),
      .pay_valid_i  (pay_valid),
      .pay_ready_o  (pay_ready),
      .pay_row_i    (pay_row),
      .pay_phits_i  (pay_phits),
      .tx_valid_o   (tx_valid_o),
      .tx_ready_i   (tx_ready_i),
      .tx_phit_o    (tx_phit_o)
  );

  `ALCOR_CHECK_PARAM(g_check_phit, PHIT_W == 256 || PHIT_W == 512, "coll_stage: PHIT_W must be 256 or 512")
  `ALCOR_CHECK_PARAM(g_check_stage, STAGE < STAGES, "coll_stage: STAGE must be less than STAGES")
  // A chunk of a message read in parts goes out while as much as a credit is worth, less one, has not been paid
  // back of the chunk before, and then the reader asks for what its own half's takes: hence 8.
  `ALCOR_CHECK_PARAM(g_check_window, WINDOW >= 8 && (WINDOW & (WINDOW - 1)) == 0,
                     "coll_stage: WINDOW must be a power of two, 8 or more")

  // All phits of a collective arrive before the phits of the next one: the signature is the last. This order is a
  // property of a partner whose row agrees with this one. A row of a hostile rank can have its own board as partner:
  // the board's phits then come back, with the row's partner as their destination, and have no order.
  logic rx_ordered;
  logic [31:0] fresh_q, came_parity_q, came_signature_q;
  assign rx_ordered = rx_push && rx.head.low.dest != partner[rx_row];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      fresh_q <= '1;
    end else begin
      if (rx_ordered) begin
        fresh_q[rx_row]          <= 1'b0;
        came_parity_q[rx_row]    <= rx_note.parity;
        came_signature_q[rx_row] <= rx_note.kind == PK_SIGNATURE;
      end
      if (shape_i.valid && shape_i.flush) fresh_q[shape_i.row] <= 1'b1;
    end
  end
  `ALCOR_IMPLIES(a_in_turn, rx_ordered && !fresh_q[rx_row],
                 came_signature_q[rx_row] == (came_parity_q[rx_row] != rx_note.parity))

endmodule

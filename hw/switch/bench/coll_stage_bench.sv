import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// A stage of the collective unit with phits of 256 bits. Parameters are integers, as the bench gives them.
module coll_stage_bench #(
    /// Number of the stage.
    parameter int unsigned STAGE = 0,
    /// Phits of a communicator's window.
    parameter int unsigned WINDOW = 8,
    /// Tokens on their way to the port.
    parameter int unsigned TX_DEPTH = 4,
    /// Operations that the vector unit has, bit by operation_e.
    parameter int unsigned OPS = 511,
    /// Types that it has, bit by datatype_e.
    parameter int unsigned TYPES = 63,
    /// Bits of a phit's data; derived, not to be set.
    localparam int unsigned PhitW = 256,
    /// Bits of a token without its head; derived, not to be set.
    localparam int unsigned BodyW = SpanW + PhitW,
    /// Bits of a token; derived, not to be set.
    localparam int unsigned TokenW = TokenHeadW + BodyW
) (
    /// Clock.
    input  logic                        clk_i,
    /// Synchronous reset, active low.
    input  logic                        rst_ni,

    /// A row of the communicator table has been written or taken out of use: its credits start anew.
    input  alcor_abi_pkg::shape_t       shape_i,
    /// No phit is taken out of a window.
    input  logic                        pause_i,
    /// A token is on its way from here.
    output logic                        busy_o,
    /// By communicator: global rank of a rank on the partner board.
    input  logic [31:0][15:0]           partner_i,
    /// By communicator: key of the row. A phit with another key is dropped.
    input  logic [31:0][7:0]            key_i,
    /// Communicators whose row was taken out of use: their phits are dropped.
    input  logic [31:0]                 closed_i,
    /// Pulse: a phit is dropped.
    output logic                        stale_o,
    /// Collectives under way.
    input  alcor_abi_pkg::collectives_t collectives_i,
    /// A collective begins.
    input  alcor_abi_pkg::row_pulse_t   begin_i,
    /// With `begin_i`: role of the stage in the collective.
    input  alcor_abi_pkg::stage_plan_t  plan_i,
    /// A collective has ended.
    input  alcor_abi_pkg::row_pulse_t   end_i,
    /// Communicators in which credits are due: their next signature waits.
    output logic [31:0]                 owes_o,
    /// Communicators whose signature waits here for its turn to leave: their next collective waits.
    output logic [31:0]                 leaving_o,

    /// The stage before asks for room, for this token.
    input  alcor_abi_pkg::ask_t         ask_i,
    /// There is room.
    output logic                        ask_room_o,
    /// The room is taken.
    input  logic                        ask_take_i,
    /// A token comes from the stage before, which has taken room for it.
    input  logic                        in_valid_i,
    /// Part that the token is of. A signature with a part is only sent or only kept.
    input  alcor_abi_pkg::part_t        in_part_i,
    /// The token.
    input  logic [TokenW-1:0]           in_i,

    /// The next stage is asked for room, for this token.
    output alcor_abi_pkg::ask_t         next_o,
    /// The next stage has room.
    input  logic                        next_room_i,
    /// The room is taken.
    output logic                        next_take_o,
    /// A token goes to the next stage.
    output logic                        out_valid_o,
    /// The token.
    output logic [TokenW-1:0]           out_o,

    /// A result is offered.
    output logic                        result_valid_o,
    /// The result is taken.
    input  logic                        result_ready_i,
    /// The result, a token.
    output logic [TokenW-1:0]           result_o,

    /// To the copy unit: there will be a phit to copy in the next cycle, unless it can't go yet.
    output logic                        copy_soon_o,
    /// The phit can be taken in this cycle.
    output logic                        copy_valid_o,
    /// The phit is taken.
    input  logic                        copy_take_i,
    /// Communicator and kind of the phit.
    output alcor_abi_pkg::token_head_t  copy_head_o,
    /// In the cycle after: the phit.
    output logic [BodyW-1:0]            copy_body_o,
    /// Communicators whose phits the copy unit holds: their signatures wait.
    input  logic [31:0]                 copy_holds_i,

    /// Communicators that have a credit for a result, or need none.
    input  logic [31:0]                 result_credit_i,
    /// Pulse: a result that is no signature has been chosen in the cycle before.
    output alcor_abi_pkg::row_pulse_t   result_take_o,
    /// In stage 0, by communicator: a credit towards the partner is left for a result.
    output logic [31:0]                 fold_credit_o,
    /// In stage 0, by communicator: the credit is used.
    input  logic [31:0]                 fold_take_i,

    /// Copy unit [0], reader [1]: communicator whose credits towards the partner are looked up.
    input  logic [1:0][4:0]             look_row_i,
    /// There is a credit.
    output logic [1:0]                  look_credit_o,
    /// The credit is used.
    input  logic [1:0]                  look_take_i,
    /// A copy is to be sent.
    input  logic                        send_valid_i,
    /// The copy is taken.
    output logic                        send_ready_o,
    /// Parity of the copy's collective.
    input  logic                        send_parity_i,
    /// The copy, a token.
    input  logic [TokenW-1:0]           send_i,

    /// From the router: a phit comes; it is always taken.
    input  logic                        rx_valid_i,
    /// The phit.
    input  logic [PhitHeadW+PhitW-1:0] rx_phit_i,
    /// To the router: a phit is offered.
    output logic                        tx_valid_o,
    /// The phit is taken.
    input  logic                        tx_ready_i,
    /// The phit.
    output logic [PhitHeadW+PhitW-1:0] tx_phit_o
);

  coll_stage #(
      .STAGE   (STAGE),
      .STAGES  (3),
      .PHIT_W  (PhitW),
      .WINDOW  (WINDOW),
      .TX_DEPTH(TX_DEPTH),
      .OPS     (9'(OPS)),
      .TYPES   (6'(TYPES))
  ) u_stage (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .shape_i        (shape_i),
      .pause_i        (pause_i),
      .busy_o         (busy_o),
      .partner_i      (partner_i),
      .key_i          (key_i),
      .closed_i       (closed_i),
      .stale_o        (stale_o),
      .collectives_i  (collectives_i),
      .begin_i        (begin_i),
      .plan_i         (plan_i),
      .end_i          (end_i),
      .owes_o         (owes_o),
      .leaving_o      (leaving_o),
      .ask_i          (ask_i),
      .ask_room_o     (ask_room_o),
      .ask_take_i     (ask_take_i),
      .in_valid_i     (in_valid_i),
      .in_part_i      (in_part_i),
      .in_i           (in_i),
      .next_o         (next_o),
      .next_room_i    (next_room_i),
      .next_take_o    (next_take_o),
      .out_valid_o    (out_valid_o),
      .out_o          (out_o),
      .result_valid_o (result_valid_o),
      .result_ready_i (result_ready_i),
      .result_o       (result_o),
      .copy_soon_o    (copy_soon_o),
      .copy_valid_o   (copy_valid_o),
      .copy_take_i    (copy_take_i),
      .copy_head_o    (copy_head_o),
      .copy_body_o    (copy_body_o),
      .copy_holds_i   (copy_holds_i),
      .result_credit_i(result_credit_i),
      .result_take_o  (result_take_o),
      .fold_credit_o  (fold_credit_o),
      .fold_take_i    (fold_take_i),
      .look_row_i     (look_row_i),
      .look_credit_o  (look_credit_o),
      .look_take_i    (look_take_i),
      .send_valid_i   (send_valid_i),
      .send_ready_o   (send_ready_o),
      .send_parity_i  (send_parity_i),
      .send_i         (send_i),
      .rx_valid_i     (rx_valid_i),
      .rx_phit_i      (rx_phit_i),
      .tx_valid_o     (tx_valid_o),
      .tx_ready_i     (tx_ready_i),
      .tx_phit_o      (tx_phit_o)
  );

endmodule

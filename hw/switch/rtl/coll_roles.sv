import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// Role of a stage in the collective of each communicator: which tokens it keeps, sends, takes as they are, or passes
/// on alone. Lookups are combinational.
///
/// The part that follows from the shape of a communicator is known when its row has been written, the rest when a collective
/// begins. No reset needed: nothing uses a row before it has been written.
module coll_roles #(
    /// Number of the stage.
    parameter int unsigned STAGE = 0
) (
    /// Clock.
    input  logic                       clk_i,
    /// A row of the communicator table has been written.
    input  alcor_abi_pkg::shape_t      shape_i,
    /// A collective begins.
    input  alcor_abi_pkg::row_pulse_t  begin_i,
    /// With `begin_i`: role of the stage in the collective.
    input  alcor_abi_pkg::stage_plan_t plan_i,

    /// Communicators in which tokens of the partner are taken as they are.
    output logic [31:0]                takes_o,
    /// Communicators without a partner here: tokens from the stage before go on alone.
    output logic [31:0]                alone_o,
    /// Communicators whose last stage this is.
    output logic [31:0]                final_o,
    /// Communicators whose data and signatures are sent to the partner.
    output logic [31:0]                sends_o,

    /// Room is asked for a token.
    input  alcor_abi_pkg::ask_t        ask_i,
    /// The token may be sent.
    output logic                       ask_sends_o,
    /// The token may be kept.
    output logic                       ask_keeps_o,

    /// A token comes from the stage before.
    input  logic                       in_valid_i,
    /// Head of the token.
    input  alcor_abi_pkg::token_head_t in_head_i,
    /// Words of the token.
    input  alcor_abi_pkg::span_t       in_span_i,
    /// Part that the token is of.
    input  alcor_abi_pkg::part_t       in_part_i,
    /// Treatment of the token.
    output alcor_abi_pkg::division_t   division_o
);

  // By communicator: signatures are kept; the plan.
  logic [31:0] keeps_signature_q;
  logic [31:0][StagePlanW-1:0] plan_q;
  alcor_abi_pkg::stage_plan_t plan, ask_plan;

  always_ff @(posedge clk_i) begin
    if (shape_i.valid) begin
      takes_o[shape_i.row]           <= STAGE == 0 && shape_i.upper;
      // An upper label keeps no token, so the label has none that could go on alone.
      alone_o[shape_i.row]           <= STAGE == 0 && shape_i.folds && !shape_i.lower;
      final_o[shape_i.row]           <= shape_i.stages == 3'(STAGE + 1);
      // A folded label gives its data in stage 0 only, and the label that it is folded onto gives none there.
      sends_o[shape_i.row]           <= 3'(STAGE) < shape_i.stages
          && ((STAGE == 0 && shape_i.folds) ? shape_i.upper : !shape_i.upper);
      keeps_signature_q[shape_i.row] <= !(STAGE == 0 && shape_i.upper);
    end
    if (begin_i.valid) begin
      /* verilator unroll_disable */
      for (int unsigned c = 0; c < Contexts; c++) begin
        if (begin_i.row == 5'(c)) plan_q[c] <= plan_i;
      end
    end
  end

  assign ask_plan    = plan_q[ask_i.head.row];
  assign ask_sends_o = ask_i.head.signature ? sends_o[ask_i.head.row] && !ask_i.part.own : ask_plan.sends;
  assign ask_keeps_o = ask_i.head.signature ? keeps_signature_q[ask_i.head.row] && !ask_i.part.other : ask_plan.keeps;

  // A token across the middle of recursive halving is for both.
  logic low, high, mine, theirs;

  assign plan   = plan_q[in_head_i.row];
  assign low    = in_span_i.word < plan.middle;
  assign high   = in_span_i.word + 28'(in_span_i.words) >= plan.middle;
  assign mine   = !plan.halves || (plan.high ? high : low);
  assign theirs = !plan.halves || (plan.high ? low : high);

  always_comb begin
    division_o = '0;
    if (in_valid_i && in_head_i.signature) begin
      division_o.keep = keeps_signature_q[in_head_i.row] && !in_part_i.other;
      division_o.send = sends_o[in_head_i.row] && !in_part_i.own;
    end else if (in_valid_i) begin
      division_o.keep   = plan.keeps && mine;
      division_o.send   = plan.sends && theirs;
      // Room was taken for sending and for keeping, since a token's place is known only when the token comes.
      division_o.unkept = plan.keeps && !mine;
      division_o.unsent = plan.sends && !theirs;
    end
  end

endmodule

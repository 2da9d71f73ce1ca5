`include "assertions.svh"
`include "phit_types.svh"
`include "simulation.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// Copy unit: forwards phits unchanged to members of this board and to other boards.
///
/// Sources are the reader, the results of each stage, and phits that arrive at a stage for copying.
/// The unit takes a phit a cycle from one source, in turn, and offers it to all its destinations at
/// once; each destination takes it when it can. A copy that arrived in stage s goes to later stages
/// only, so copies never wait for each other in a cycle.
///
/// The destinations of a communicator's copies are fixed when its collective begins, because all
/// its copies have the same label. Copies of members that disagree go to the same destinations, or
/// end here.
module coll_copy #(
    /// Stages.
    parameter  int unsigned STAGES       = 3,
    /// Bits of a phit's data.
    parameter  int unsigned PHIT_W       = 256,
    /// Copies that the reader may have on their way to here.
    parameter  int unsigned READER_DEPTH = 32,
    /// Bits of a token without its head; derived, not to be set.
    localparam int unsigned BodyW        = SpanW + PHIT_W,
    /// Bits of a token; derived, not to be set.
    localparam int unsigned TokenW       = TokenHeadW + BodyW
) (
    /// Clock.
    input  logic                              clk_i,
    /// Synchronous reset, active low.
    input  logic                              rst_ni,

    /// Parity of each communicator's collective.
    input  logic [31:0]                       parity_i,
    /// Communicators in which this board's label is folded away.
    input  logic [31:0]                       upper_i,
    /// Communicators in which another label is folded onto this board's.
    input  logic [31:0]                       lower_i,
    /// By stage: communicators whose copies go to this stage's partner.
    input  logic [STAGES-1:0][31:0]           spreads_i,
    /// Communicators whose copies are for this board, too.
    input  logic [31:0]                       here_i,

    /// The reader has taken a phit that will come here.
    input  alcor_abi_pkg::row_pulse_t         reader_hold_i,
    /// Reader: a token is offered.
    input  logic                              reader_valid_i,
    /// The token is taken.
    output logic                              reader_ready_o,
    /// Part of the message that the token is of.
    input  alcor_abi_pkg::part_t              reader_part_i,
    /// The token.
    input  logic [TokenW-1:0]                 reader_i,

    /// By stage: a result is offered.
    input  logic [STAGES-1:0]                 result_valid_i,
    /// The result is taken.
    output logic [STAGES-1:0]                 result_ready_o,
    /// Head of the result, a token_head_t.
    input  logic [STAGES-1:0][TokenHeadW-1:0] result_head_i,
    /// The result without its head.
    input  logic [STAGES-1:0][BodyW-1:0]      result_body_i,

    /// By stage: an arrival to be copied may be there in the next cycle.
    input  logic [STAGES-1:0]                 copy_soon_i,
    /// An arrival to be copied is there.
    input  logic [STAGES-1:0]                 copy_valid_i,
    /// The arrival is taken.
    output logic [STAGES-1:0]                 copy_take_o,
    /// Head of the arrival, a token_head_t.
    input  logic [STAGES-1:0][TokenHeadW-1:0] copy_head_i,
    /// In the cycle after: the arrival without its head.
    input  logic [STAGES-1:0][BodyW-1:0]      copy_body_i,

    /// Communicator whose credits are looked up.
    output alcor_abi_pkg::row_t               look_row_o,
    /// By stage: there is a credit.
    input  logic [STAGES-1:0]                 look_credit_i,
    /// The credit is used.
    output logic [STAGES-1:0]                 look_take_o,
    /// Communicators that have copies for other boards in here or on their way.
    output logic [31:0]                       holds_o,
    /// A token is here.
    output logic                              busy_o,
    /// The communicator of the token that leaves next.
    output logic [31:0]                       sending_o,

    /// By stage: the token is offered to the stage, for its partner.
    output logic [STAGES-1:0]                 send_valid_o,
    /// The token is taken.
    input  logic [STAGES-1:0]                 send_ready_i,
    /// The token is offered to the members.
    output logic                              keep_valid_o,
    /// The token is taken.
    input  logic                              keep_ready_i,
    /// Parity of the token's collective.
    output logic                              out_parity_o,
    /// The token.
    output logic [TokenW-1:0]                 out_o
);

  localparam int unsigned Sources = 2 * STAGES + 1;
  localparam int unsigned Depth = 4;
  localparam int unsigned DepthW = $clog2(Depth + 1);

  `ALCOR_TOKEN_TYPES(PHIT_W)

  // ---------------------------------------------------------------- whose turn it is

  logic [Sources-1:0] soon, awake, turn_d, turn_q, nap_q;
  logic [1:0] time_q;
  logic failed;

  // A source whose phit could not go takes a nap, in which others come first: a turn that is not used is
  // lost to all of them.
  assign soon  = {reader_valid_i, result_valid_i, copy_soon_i};
  assign awake = soon & ~nap_q;

  rr_arbiter #(
      .N(Sources)
  ) u_turn (
      .clk_i    (clk_i),
      .rst_ni   (rst_ni),
      .req_i    ((awake != '0) ? awake : soon),
      .advance_i(1'b1),
      .valid_o  (),
      .grant_o  (turn_d),
      .index_o  ()
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      turn_q <= '0;
      nap_q  <= '0;
      time_q <= '0;
    end else begin
      turn_q <= turn_d;
      time_q <= time_q + 1'b1;
      if (time_q == '0 || awake == '0) nap_q <= '0;
      else if (failed) nap_q <= nap_q | turn_q;
    end
  end

  // ---------------------------------------------------------------- where it goes

  logic valid, is_arrival, is_reader, here, room, take;
  alcor_abi_pkg::token_head_t head;
  token_t reader;
  logic [STAGES-1:0] from, mask, spread, later;
  logic [DepthW-1:0] count_q;

  assign reader = reader_i;

  always_comb begin
    valid = turn_q[2*STAGES] & reader_valid_i;
    head  = {TokenHeadW{turn_q[2*STAGES]}} & reader.head;
    for (int unsigned s = 0; s < STAGES; s++) begin
      valid = valid | (turn_q[s] & copy_valid_i[s]) | (turn_q[STAGES+s] & result_valid_i[s]);
      head  = head | ({TokenHeadW{turn_q[s]}} & copy_head_i[s]) | ({TokenHeadW{turn_q[STAGES+s]}} & result_head_i[s]);
    end
  end

  assign from       = turn_q[STAGES-1:0];
  assign is_arrival = from != '0;
  assign is_reader  = turn_q[2*STAGES];
  assign look_row_o = head.row;

  // Stages after the one it came from; as a folded label is reached in stage 0, that comes after all others.
  always_comb begin
    for (int unsigned s = 0; s < STAGES; s++) begin
      spread[s] = spreads_i[s][head.row];
      later[s]  = 1'b1;
      for (int unsigned t = s; t < STAGES; t++) begin
        if (from[t]) later[s] = 1'b0;
      end
    end
    later[0] = !from[0] && lower_i[head.row];
  end

  always_comb begin
    here = 1'b1;
    mask = '0;
    if (is_reader) begin
      mask = spread & (reader_part_i.own ? ~(STAGES'(1)) : '1) & (reader_part_i.other ? STAGES'(1) : '1);
      here = here_i[head.row];
    end else if (is_arrival && !head.signature) begin
      mask = spread & later & {STAGES{!upper_i[head.row]}};
      here = here_i[head.row];
    end else begin
      // A result, or its signature, also goes to the label that is folded onto this one.
      mask[0] = lower_i[head.row] && !is_arrival;
    end
  end

  // Reader and stages took credits before their tokens set out; signatures need none.
  assign room = (!is_arrival || head.signature || (mask & ~look_credit_i) == '0) && count_q != DepthW'(Depth);
  assign take = valid && room;
  assign failed = !take && count_q != DepthW'(Depth);

  // A copy that goes on to other boards; results keep their order with their signature by themselves.
  logic passes;
  assign passes = is_arrival && mask != '0;

  assign copy_take_o    = {STAGES{take}} & turn_q[STAGES-1:0];
  assign result_ready_o = {STAGES{take}} & turn_q[2*STAGES-1:STAGES];
  assign reader_ready_o = take && is_reader;
  assign look_take_o    = {STAGES{take && is_arrival && !head.signature}} & mask;

  // ---------------------------------------------------------------- on its way

  logic taken_q, taken_parity_q, taken_here_q, taken_holds_q, taken_arrival_q;
  logic [STAGES-1:0] taken_mask_q, taken_from_q;
  token_t taken_token_q, taken;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) taken_q <= 1'b0;
    else taken_q <= take;
    if (take) begin
      taken_parity_q  <= parity_i[head.row];
      taken_here_q    <= here;
      taken_holds_q   <= is_reader || passes;
      taken_mask_q    <= mask;
      taken_from_q    <= from;
      taken_arrival_q <= is_arrival;
      taken_token_q.head <= head;
      if (is_reader) taken_token_q.body <= reader.body;
      for (int unsigned s = 0; s < STAGES; s++) begin
        if (turn_q[STAGES+s]) taken_token_q.body <= result_body_i[s];
      end
    end
  end

  always_comb begin
    taken = taken_token_q;
    if (taken_q && taken_arrival_q) begin
      for (int unsigned s = 0; s < STAGES; s++) begin
        if (taken_from_q[s]) taken.body = copy_body_i[s];
      end
    end
  end

  logic out_valid, out_here, out_holds, done;
  logic [STAGES-1:0] out_mask, sent_q;
  logic kept_q;
  token_t out;

  fifo #(
      .WIDTH(STAGES + 3 + TokenW),
      .DEPTH(Depth)
  ) u_out (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i(taken_q),
      .ready_o(),
      .data_i ({taken_mask_q, taken_here_q, taken_holds_q, taken_parity_q, taken}),
      .valid_o(out_valid),
      .ready_i(done),
      .data_o ({out_mask, out_here, out_holds, out_parity_o, out}),
      .empty_o(),
      .usage_o()
  );

  assign out_o        = out;
  assign send_valid_o = {STAGES{out_valid}} & out_mask & ~sent_q;
  assign keep_valid_o = out_valid && out_here && !kept_q;
  assign done         = out_valid && (out_mask & ~sent_q & ~send_ready_i) == '0
      && (!out_here || kept_q || keep_ready_i);

  // Copies for other boards that a communicator has in here, or at the reader on their way to here. What
  // comes is counted a cycle late, and known in between.
  localparam int unsigned HeldW = $clog2(READER_DEPTH + Depth + 1);
  logic [31:0][HeldW-1:0] held_q, held;
  logic [31:0] some_q, entered_q, asked_q;
  logic enters, leaves;

  assign enters  = take && passes;
  assign leaves  = done && out_holds;
  assign holds_o = some_q | entered_q | asked_q;
  assign busy_o    = count_q != '0;
  assign sending_o = 32'(out_valid) << out.head.row;

  always_comb begin
    held = held_q;
    if (`ALCOR_AWAKE(entered_q != '0 || asked_q != '0)) begin
      /* verilator unroll_disable */
      for (int unsigned c = 0; c < Contexts; c++) begin
        if (`ALCOR_AWAKE(entered_q[c] || asked_q[c])) held[c] = held_q[c] + HeldW'(entered_q[c]) + HeldW'(asked_q[c]);
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      count_q   <= '0;
      sent_q    <= '0;
      kept_q    <= 1'b0;
      held_q    <= '0;
      some_q    <= '0;
      entered_q <= '0;
      asked_q   <= '0;
    end else begin
      count_q <= count_q + DepthW'(take) - DepthW'(done);
      sent_q  <= done ? '0 : sent_q | (send_valid_o & send_ready_i);
      kept_q  <= !done && (kept_q || (keep_valid_o && keep_ready_i));
      entered_q <= 32'(enters) << head.row;
      asked_q   <= 32'(reader_hold_i.valid) << reader_hold_i.row;
      if (`ALCOR_AWAKE(entered_q != '0 || asked_q != '0 || leaves)) begin
        /* verilator unroll_disable */
        for (int unsigned c = 0; c < Contexts; c++) begin
          if (leaves && out.head.row == 5'(c)) begin
            held_q[c] <= held[c] - 1'b1;
            some_q[c] <= held[c] != HeldW'(1);
          end else if (`ALCOR_AWAKE(entered_q[c] || asked_q[c])) begin
            held_q[c] <= held[c];
            some_q[c] <= held[c] != '0;
          end
        end
      end
    end
  end

  // The count of copies of a context never wraps.
  logic [Contexts-1:0] some_held;

  for (genvar c = 0; c < Contexts; c++) begin : g_some_held
    assign some_held[c] = held[c] != '0;
  end
  `ALCOR_ASSERT(a_held, ((entered_q | asked_q) & ~some_held) == '0)

endmodule

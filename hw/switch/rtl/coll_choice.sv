`include "simulation.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// Choice of a stage: chooses a communicator in each cycle, and decides what the heads of the
/// communicator's windows become.
///
/// A head of the arrivals is copied, combined with the head of the own tokens, or dropped. A head
/// of the own tokens is combined, passes alone, or is dropped. A head that cannot go stays, and
/// other communicators come first in the cycles after.
module coll_choice (
    /// Clock.
    input  logic                        clk_i,
    /// Synchronous reset, active low.
    input  logic                        rst_ni,

    /// A row of the communicator table has been written or taken out of use.
    input  alcor_abi_pkg::row_pulse_t   written_i,
    /// A collective has ended.
    input  alcor_abi_pkg::row_pulse_t   end_i,
    /// Collectives under way.
    input  alcor_abi_pkg::collectives_t collectives_i,
    /// Communicators in which phits of the partner are taken as they are.
    input  logic [31:0]                 takes_i,
    /// Communicators without a partner here: own tokens go on alone.
    input  logic [31:0]                 alone_i,
    /// Communicators whose last stage this is.
    input  logic [31:0]                 final_i,
    /// Communicators whose data is dropped.
    input  logic [31:0]                 spoilt_i,

    /// Communicators with an arrived phit.
    input  logic [31:0]                 arrived_i,
    /// Communicators with an own token.
    input  logic [31:0]                 own_i,
    /// The chosen communicator. A register: the choice was made in the cycle before.
    output alcor_abi_pkg::row_pulse_t   pick_o,
    /// Heads of the windows in the chosen communicator.
    input  alcor_abi_pkg::stage_heads_t heads_i,
    /// The arrived phit leaves its window.
    output logic                        head_pop_o,
    /// The own token leaves its window.
    output logic                        own_pop_o,

    /// Conditions under which phits leave the windows.
    input  alcor_abi_pkg::stage_gates_t gates_i,
    /// The next stage has room.
    input  logic                        next_room_i,
    /// There is room for a result.
    input  logic                        result_room_i,
    /// Offer of the arrived phit to the copy unit.
    output alcor_abi_pkg::copy_offer_t  copy_o,
    /// The copy unit takes the phit.
    input  logic                        copy_take_i,
    /// The heads pass through the vector unit.
    output alcor_abi_pkg::stage_pass_t  pass_o
);

  alcor_abi_pkg::row_t pick;
  logic [31:0] candidates;
  logic ready, copies, is_copy, is_match, is_alone, is_final, combine, drop_head, drop_own, room;

  assign pick = pick_o.row;

  // ---------------------------------------------------------------- choice

  // A head that was looked at and is nothing to copy is no candidate for it again.
  logic [31:0] copyable, passed_q;

  assign copyable   = collectives_i.active & arrived_i & (collectives_i.copies | takes_i) & ~passed_q;
  assign candidates = copyable | (collectives_i.active & own_i & (arrived_i | alone_i))
      | (collectives_i.active & spoilt_i & (own_i | arrived_i));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      passed_q <= '0;
    end else begin
      if (written_i.valid) passed_q[written_i.row] <= 1'b0;
      if (`ALCOR_AWAKE(pick_o.valid || end_i.valid)) begin
        /* verilator unroll_disable */
        for (int unsigned c = 0; c < Contexts; c++) begin
          if (ready && arrived_i[pick] && !is_copy && pick == 5'(c)) passed_q[c] <= 1'b1;
          if ((head_pop_o && pick == 5'(c)) || (end_i.valid && end_i.row == 5'(c))) passed_q[c] <= 1'b0;
        end
      end
    end
  end

  coll_pick u_pick (
      .clk_i       (clk_i),
      .rst_ni      (rst_ni),
      .candidates_i(candidates & {32{!gates_i.pause}}),
      .failed_i    (pick_o.valid && !(head_pop_o || own_pop_o)),
      .valid_o     (pick_o.valid),
      .row_o       (pick_o.row)
  );

  // ---------------------------------------------------------------- decision

  assign ready    = pick_o.valid && collectives_i.active[pick];
  assign copies   = collectives_i.copies[pick];
  assign is_final = final_i[pick];

  always_comb begin
    is_copy   = 1'b0;
    is_match  = 1'b0;
    is_alone  = 1'b0;
    drop_head = 1'b0;
    drop_own  = 1'b0;
    if (ready && arrived_i[pick]) begin
      if (heads_i.arrival.parity == collectives_i.parity[pick]) begin
        if (spoilt_i[pick] && heads_i.arrival.kind != PK_SIGNATURE) begin
          drop_head = 1'b1;
        end else if (takes_i[pick]) begin
          is_copy   = heads_i.arrival.kind != PK_COMBINE;
          drop_head = heads_i.arrival.kind == PK_COMBINE;
        end else begin
          case (heads_i.arrival.kind)
            PK_COPY: begin
              is_copy   = copies;
              drop_head = !copies;
            end
            PK_COMBINE: begin
              // The members did not call the same collective where one has data and the other not. With copies, a
              // signature is the only own token.
              drop_head = copies || (own_i[pick] && heads_i.own_signature);
              is_match  = own_i[pick] && !heads_i.own_signature;
            end
            default: begin
              is_match = own_i[pick] && heads_i.own_signature;
              drop_own = own_i[pick] && !heads_i.own_signature;
            end
          endcase
        end
      end
    end else if (ready && own_i[pick]) begin
      is_alone = alone_i[pick];
    end
    if (ready && spoilt_i[pick] && own_i[pick] && !heads_i.own_signature) drop_own = 1'b1;
  end

  assign room    = is_final ? result_room_i && (gates_i.result_credit[pick] || heads_i.own_signature) : next_room_i;
  assign combine = (is_match || is_alone) && room && !(heads_i.own_signature && gates_i.copy_holds[pick]);

  assign copy_o.soon  = copyable != '0;
  assign copy_o.valid = is_copy;
  assign copy_o.head  = {pick, heads_i.arrival.kind == PK_SIGNATURE};

  assign pass_o.valid = combine;
  assign pass_o.alone = is_alone;
  assign pass_o.last  = is_final;

  assign head_pop_o = (is_copy && copy_take_i) || drop_head || (combine && is_match);
  assign own_pop_o  = combine || drop_own;

endmodule

`include "assertions.svh"
`include "simulation.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// Copy unit: brings phits to this board's members and on to other boards, as they are.
///
/// Its sources are the reader, the results of each stage, and what arrives at each stage to be
/// copied. It takes a phit a cycle from one of them, in turn, and gives it at once to all that it is
/// for, each of which takes it when it can. Copies spread over the stages in ascending order: what
/// came in stage s goes on to later stages only, so copies never wait for each other in a circle.
///
/// Where copies go is known for each communicator from when its collective begins: all that it has are
/// for the same label. Copies of members that disagree go the same way, or end here.
module coll_copy #(
    /// Stages.
    parameter int unsigned STAGES = 3,
    /// Bits of a phit's data.
    parameter int unsigned PHIT_W = 256,
    /// Copies that the reader may have on their way to here.
    parameter int unsigned READER_DEPTH = 32
) (
    /// Clock.
    input  logic                             clk_i,
    /// Synchronous reset, active low.
    input  logic                             rst_ni,

    /// Parity of each communicator's collective.
    input  logic [31:0]                      parity_i,
    /// This board's label is folded away.
    input  logic [31:0]                      upper_i,
    /// Another one is folded onto this board's.
    input  logic [31:0]                      lower_i,
    /// By stage: copies go to this stage's partner.
    input  logic [STAGES-1:0][31:0]          spreads_i,
    /// Copies are for this board too.
    input  logic [31:0]                      here_i,

    /// The reader has taken a phit that will come here.
    input  logic                             reader_hold_i,
    /// Its communicator.
    input  logic [4:0]                       reader_hold_row_i,
    /// Reader: a phit is on offer.
    input  logic                             reader_valid_i,
    /// It is taken.
    output logic                             reader_ready_o,
    /// Its communicator.
    input  logic [4:0]                       reader_row_i,
    /// It is for the other half of the boards, beyond stage 0, or for the own one.
    input  logic [1:0]                       reader_part_i,
    /// It is a signature.
    input  logic                             reader_signature_i,
    /// Its place.
    input  logic [PlaceW-1:0]                reader_word_i,
    /// Its words, less one.
    input  logic [3:0]                       reader_words_i,
    /// Its data.
    input  logic [PHIT_W-1:0]                reader_data_i,

    /// Results: one is on offer.
    input  logic [STAGES-1:0]                result_valid_i,
    /// It is taken.
    output logic [STAGES-1:0]                result_ready_o,
    /// Its communicator.
    input  logic [STAGES-1:0][4:0]           result_row_i,
    /// It is a signature.
    input  logic [STAGES-1:0]                result_signature_i,
    /// Its place.
    input  logic [STAGES-1:0][PlaceW-1:0]    result_word_i,
    /// Its words, less one.
    input  logic [STAGES-1:0][3:0]           result_words_i,
    /// Its data.
    input  logic [STAGES-1:0][PHIT_W-1:0]    result_data_i,

    /// Arrivals: one to copy may be there in the next cycle.
    input  logic [STAGES-1:0]                copy_soon_i,
    /// One is there.
    input  logic [STAGES-1:0]                copy_valid_i,
    /// It is taken.
    output logic [STAGES-1:0]                copy_take_o,
    /// Its communicator.
    input  logic [STAGES-1:0][4:0]           copy_row_i,
    /// It is a signature.
    input  logic [STAGES-1:0]                copy_signature_i,
    /// In the cycle after: its place.
    input  logic [STAGES-1:0][PlaceW-1:0]    copy_word_i,
    /// In the cycle after: its words, less one.
    input  logic [STAGES-1:0][3:0]           copy_words_i,
    /// In the cycle after: its data.
    input  logic [STAGES-1:0][PHIT_W-1:0]    copy_data_i,

    /// Credits are looked at for this communicator.
    output logic [4:0]                       look_row_o,
    /// By stage: there is one.
    input  logic [STAGES-1:0]                look_credit_i,
    /// It is used.
    output logic [STAGES-1:0]                look_take_o,
    /// Communicators of which copies for other boards are in here or on their way.
    output logic [31:0]                      holds_o,

    /// To the stages' partners: a phit.
    output logic [STAGES-1:0]                send_valid_o,
    /// It is taken.
    input  logic [STAGES-1:0]                send_ready_i,
    /// To the members: a phit.
    output logic                             keep_valid_o,
    /// It is taken.
    input  logic                             keep_ready_i,
    /// The phit's communicator.
    output logic [4:0]                       out_row_o,
    /// The parity of its collective.
    output logic                             out_parity_o,
    /// It is a signature.
    output logic                             out_signature_o,
    /// Its place.
    output logic [PlaceW-1:0]                out_word_o,
    /// Its words, less one.
    output logic [3:0]                       out_words_o,
    /// Its data.
    output logic [PHIT_W-1:0]                out_data_o
);

  localparam int unsigned Sources = 2 * STAGES + 1;
  localparam int unsigned Depth = 4;
  localparam int unsigned DepthW = $clog2(Depth + 1);

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

  logic valid, signature, is_arrival, is_reader, here, room, take;
  logic [4:0] row;
  logic [STAGES-1:0] from, mask, spread, later;
  logic [DepthW-1:0] count_q;

  always_comb begin
    valid     = 1'b0;
    signature = 1'b0;
    row       = '0;
    for (int unsigned s = 0; s < STAGES; s++) begin
      valid = valid | (turn_q[s] & copy_valid_i[s]) | (turn_q[STAGES+s] & result_valid_i[s]);
      signature = signature | (turn_q[s] & copy_signature_i[s]) | (turn_q[STAGES+s] & result_signature_i[s]);
      row = row | ({5{turn_q[s]}} & copy_row_i[s]) | ({5{turn_q[STAGES+s]}} & result_row_i[s]);
    end
    valid     = valid | (turn_q[2*STAGES] & reader_valid_i);
    signature = signature | (turn_q[2*STAGES] & reader_signature_i);
    row       = row | ({5{turn_q[2*STAGES]}} & reader_row_i);
  end

  assign from       = turn_q[STAGES-1:0];
  assign is_arrival = from != '0;
  assign is_reader  = turn_q[2*STAGES];
  assign look_row_o = row;

  // Stages after the one it came from; as a folded label is reached in stage 0, that comes after all others.
  always_comb begin
    for (int unsigned s = 0; s < STAGES; s++) begin
      spread[s] = spreads_i[s][row];
      later[s]  = 1'b1;
      for (int unsigned t = s; t < STAGES; t++) begin
        if (from[t]) later[s] = 1'b0;
      end
    end
    later[0] = !from[0] && lower_i[row];
  end

  always_comb begin
    here = 1'b1;
    mask = '0;
    if (is_reader) begin
      for (int unsigned s = 0; s < STAGES; s++) mask[s] = spread[s] && !reader_part_i[(s == 0) ? 1 : 0];
      here = here_i[row];
    end else if (is_arrival && !signature) begin
      mask = spread & later & {STAGES{!upper_i[row]}};
      here = here_i[row];
    end else begin
      // A result, or the end of one: the label folded onto this one has a right to it.
      mask[0] = lower_i[row] && !is_arrival;
    end
  end

  // The reader took its credits when it read; signatures need none.
  assign room = (is_reader || signature || (mask & ~look_credit_i) == '0) && count_q != DepthW'(Depth);
  assign take = valid && room;
  assign failed = !take && count_q != DepthW'(Depth);

  // A copy that goes on to other boards; results keep their order with their signature by themselves.
  logic passes;
  assign passes = is_arrival && mask != '0;

  assign copy_take_o    = {STAGES{take}} & turn_q[STAGES-1:0];
  assign result_ready_o = {STAGES{take}} & turn_q[2*STAGES-1:STAGES];
  assign reader_ready_o = take && is_reader;
  assign look_take_o    = {STAGES{take && !is_reader && !signature}} & mask;

  // ---------------------------------------------------------------- on its way

  logic taken_q, taken_parity_q, taken_here_q, taken_holds_q, taken_signature_q;
  logic [4:0] taken_row_q;
  logic [STAGES-1:0] taken_mask_q, taken_from_q;
  logic taken_arrival_q;
  logic [PlaceW-1:0] word, taken_word_q;
  logic [3:0] words, taken_words_q;
  logic [PHIT_W-1:0] data, taken_data_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) taken_q <= 1'b0;
    else taken_q <= take;
    if (take) begin
      taken_row_q       <= row;
      taken_parity_q    <= parity_i[row];
      taken_here_q      <= here;
      taken_holds_q     <= is_reader || passes;
      taken_signature_q <= signature;
      taken_mask_q      <= mask;
      taken_from_q      <= from;
      taken_arrival_q   <= is_arrival;
      if (is_reader) begin
        taken_word_q  <= reader_word_i;
        taken_words_q <= reader_words_i;
        taken_data_q  <= reader_data_i;
      end
      for (int unsigned s = 0; s < STAGES; s++) begin
        if (turn_q[STAGES+s]) begin
          taken_word_q  <= result_word_i[s];
          taken_words_q <= result_words_i[s];
          taken_data_q  <= result_data_i[s];
        end
      end
    end
  end

  always_comb begin
    word  = taken_word_q;
    words = taken_words_q;
    data  = taken_data_q;
    if (taken_q && taken_arrival_q) begin
      for (int unsigned s = 0; s < STAGES; s++) begin
        if (taken_from_q[s]) begin
          word  = copy_word_i[s];
          words = copy_words_i[s];
          data  = copy_data_i[s];
        end
      end
    end
  end

  logic out_valid, out_here, out_holds, done;
  logic [STAGES-1:0] out_mask, sent_q;
  logic kept_q;

  fifo #(
      .WIDTH(5 + 1 + 1 + STAGES + 2 + PlaceW + 4 + PHIT_W),
      .DEPTH(Depth)
  ) u_out (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i(taken_q),
      .ready_o(),
      .data_i ({taken_row_q, taken_parity_q, taken_signature_q, taken_mask_q, taken_here_q, taken_holds_q,
                word, words, data}),
      .valid_o(out_valid),
      .ready_i(done),
      .data_o ({out_row_o, out_parity_o, out_signature_o, out_mask, out_here, out_holds, out_word_o,
                out_words_o, out_data_o}),
      .empty_o(),
      .usage_o()
  );

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
      entered_q <= 32'(enters) << row;
      asked_q   <= 32'(reader_hold_i) << reader_hold_row_i;
      if (`ALCOR_AWAKE(entered_q != '0 || asked_q != '0 || leaves)) begin
        /* verilator unroll_disable */
        for (int unsigned c = 0; c < Contexts; c++) begin
          if (leaves && out_row_o == 5'(c)) begin
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

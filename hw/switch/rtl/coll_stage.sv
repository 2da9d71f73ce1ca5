`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;
import alcor_fp_pkg::*;

/// One stage of the collective unit: what this board and its partner of the stage exchange, and the
/// vector unit that combines both.
///
/// Two memories hold a window for each communicator: what the partner sent (arrivals), and what came
/// from the stage before (own). A communicator whose heads can go together is chosen each cycle; the
/// two phits are combined and go to the next stage, or to the results where this is the last stage.
/// What is only passed on goes to the copy unit. A phit of one communicator never waits for another
/// communicator's: whoever would have to wait is passed over.
///
/// Nothing is sent without room at the other end: a window's credits are returned in batches, and
/// the signature that ends a stream needs none (two places are kept for it).
module coll_stage #(
    /// Which stage.
    parameter int unsigned STAGE = 0,
    /// Stages of the unit.
    parameter int unsigned STAGES = 3,
    /// Bits of a phit's data.
    parameter int unsigned PHIT_W = 256,
    /// Operations that its vector unit has, bit by operation_e.
    parameter bit [8:0] OPS = '1,
    /// Types that it has, bit by datatype_e.
    parameter bit [5:0] TYPES = '1
) (
    /// Clock.
    input  logic                        clk_i,
    /// Synchronous reset, active low.
    input  logic                        rst_ni,

    /// A row of the communicator table was written: its credits start anew.
    input  logic                        row_written_i,
    /// Which.
    input  logic [4:0]                  row_i,
    /// The partner in each communicator.
    input  logic [31:0][15:0]           partner_i,
    /// A collective is under way.
    input  logic [31:0]                 active_i,
    /// Its parity.
    input  logic [31:0]                 parity_i,
    /// It only copies.
    input  logic [31:0]                 copies_i,
    /// What the partner sends here is taken as it is.
    input  logic [31:0]                 takes_i,
    /// There is no partner here: what comes from before goes on alone.
    input  logic [31:0]                 alone_i,
    /// This is the communicator's last stage.
    input  logic [31:0]                 final_i,
    /// Data from before is sent to the partner.
    input  logic [31:0]                 sends_i,
    /// Data from before is kept, to be combined.
    input  logic [31:0]                 keeps_i,
    /// Signatures from before are sent.
    input  logic [31:0]                 sends_signature_i,
    /// Signatures from before are kept.
    input  logic [31:0]                 keeps_signature_i,
    /// Data is kept by one of both: recursive halving.
    input  logic [31:0]                 halves_i,
    /// Then: the first word of the upper half.
    input  logic [31:0][PlaceW-1:0]     middle_i,
    /// Then: the upper half is kept here.
    input  logic [31:0]                 high_i,
    /// C_WHAT of each collective, the low half.
    input  logic [31:0][15:0]           what_i,
    /// A collective has ended.
    input  logic                        end_i,
    /// Its communicator.
    input  logic [4:0]                  end_row_i,
    /// Credits are due for the communicator: its next signature waits.
    output logic [31:0]                 owes_o,

    /// The stage before asks for room, for this communicator.
    input  logic [4:0]                  ask_row_i,
    /// There is room.
    output logic                        ask_room_o,
    /// It takes the room.
    input  logic                        ask_take_i,
    /// For a signature.
    input  logic                        ask_signature_i,
    /// From the stage before: a token, which has room.
    input  logic                        in_valid_i,
    /// Its communicator.
    input  logic [4:0]                  in_row_i,
    /// It is a signature.
    input  logic                        in_signature_i,
    /// Its place in the message.
    input  logic [PlaceW-1:0]           in_word_i,
    /// Its words, less one.
    input  logic [3:0]                  in_words_i,
    /// Its data.
    input  logic [PHIT_W-1:0]           in_data_i,

    /// The next stage is asked for room, for this communicator.
    output logic [4:0]                  next_row_o,
    /// It has room.
    input  logic                        next_room_i,
    /// The room is taken.
    output logic                        next_take_o,
    /// For a signature.
    output logic                        next_signature_o,
    /// A combined token; to the next stage unless it is a result.
    output logic                        out_valid_o,
    /// Its communicator.
    output logic [4:0]                  out_row_o,
    /// It is a signature.
    output logic                        out_signature_o,
    /// Its place in the message.
    output logic [PlaceW-1:0]           out_word_o,
    /// Its words, less one.
    output logic [3:0]                  out_words_o,
    /// Its data.
    output logic [PHIT_W-1:0]           out_data_o,

    /// Results: one is on offer.
    output logic                        result_valid_o,
    /// Results: it is taken.
    input  logic                        result_ready_i,
    /// Results: its communicator.
    output logic [4:0]                  result_row_o,
    /// Results: it is a signature.
    output logic                        result_signature_o,
    /// Results: its place.
    output logic [PlaceW-1:0]           result_word_o,
    /// Results: its words, less one.
    output logic [3:0]                  result_words_o,
    /// Results: its data.
    output logic [PHIT_W-1:0]           result_data_o,

    /// To the copy unit: there will be a phit to copy in the next cycle, unless it can't go yet.
    output logic                        copy_soon_o,
    /// Its communicator, in this and the next cycle.
    output logic [4:0]                  copy_row_o,
    /// The phit can be taken in this cycle.
    output logic                        copy_valid_o,
    /// The copy unit takes it.
    input  logic                        copy_take_i,
    /// It is a signature.
    output logic                        copy_signature_o,
    /// The label it is for.
    output logic [7:0]                  copy_label_o,
    /// In the cycle after: its place.
    output logic [PlaceW-1:0]           copy_word_o,
    /// In the cycle after: its words, less one.
    output logic [3:0]                  copy_words_o,
    /// In the cycle after: its data.
    output logic [PHIT_W-1:0]           copy_data_o,
    /// The copy unit holds phits of a communicator, past which no signature of it may go.
    input  logic [31:0]                 copy_holds_i,

    /// The copy unit asks for a credit towards this stage's partner.
    input  logic [4:0]                  look_row_i,
    /// There is one.
    output logic                        look_credit_o,
    /// It uses one.
    input  logic                        look_take_i,
    /// The reader asks, too.
    input  logic [4:0]                  read_row_i,
    /// There is a credit.
    output logic                        read_credit_o,
    /// It uses one.
    input  logic                        read_take_i,
    /// A copy to be sent.
    input  logic                        send_valid_i,
    /// It is taken.
    output logic                        send_ready_o,
    /// Its communicator.
    input  logic [4:0]                  send_row_i,
    /// It is a signature.
    input  logic                        send_signature_i,
    /// The parity of its collective.
    input  logic                        send_parity_i,
    /// The label it is for.
    input  logic [7:0]                  send_label_i,
    /// Its place.
    input  logic [PlaceW-1:0]           send_word_i,
    /// Its words, less one.
    input  logic [3:0]                  send_words_i,
    /// Its data.
    input  logic [PHIT_W-1:0]           send_data_i,

    /// From the router: a phit; always taken.
    input  logic                        rx_valid_i,
    /// The phit.
    input  logic [PHIT_W+HeaderW-1:0]  rx_phit_i,
    /// To the router: a phit.
    output logic                        tx_valid_o,
    /// It is taken.
    input  logic                        tx_ready_i,
    /// The phit.
    output logic [PHIT_W+HeaderW-1:0]  tx_phit_o
);

  // A token passes the vector unit in AGLU_LATENCY cycles, and comes there a cycle after it was
  // chosen; so many are on their way to where room was taken for them.
  localparam int unsigned TxDepth = 32;
  localparam int unsigned ResultDepth = 32;
  localparam int unsigned TokenW = PlaceW + 4 + PHIT_W;
  localparam int unsigned TagW = 5 + 1 + 1 + PlaceW + 4;

  // ---------------------------------------------------------------- arrivals

  logic rx_credit;
  logic [1:0] rx_kind;
  logic [4:0] rx_row;
  logic [PHIT_W-1:0] rx_data;
  logic [31:0] rx_low, rx_position;
  logic [15:0] rx_high;

  assign rx_data     = rx_phit_i[PHIT_W-1:0];
  assign rx_low      = rx_phit_i[PHIT_W+:32];
  assign rx_high     = rx_phit_i[PHIT_W+32+:16];
  assign rx_position = rx_phit_i[PHIT_W+48+:32];
  assign rx_kind     = rx_high[NET_HIGH_KIND_LSB+:2];
  assign rx_row      = rx_low[NET_LOW_CONTEXT_LSB+:5];
  assign rx_credit   = rx_valid_i && rx_kind == PK_CREDIT;

  logic [31:0] arrived, own;
  logic head_pop, own_pop;
  logic [1:0] head_kind;
  logic head_parity, own_signature;
  logic [7:0] head_label;
  logic [TokenW-1:0] head_token, own_token;
  logic pick_valid;
  logic [4:0] pick;

  coll_window #(
      .WIDTH (TokenW),
      .NOTE_W(11)
  ) u_arrivals (
      .clk_i      (clk_i),
      .rst_ni     (rst_ni),
      .push_i     (rx_valid_i && !rx_credit),
      .push_row_i (rx_row),
      .push_data_i({rx_position[NET_POSITION_WORD_LSB+:PlaceW], rx_position[NET_POSITION_WORDS_LSB+:4],
                    rx_data}),
      .push_note_i({rx_high[NET_HIGH_LABEL_LSB+:8], rx_high[NET_HIGH_PARITY_LSB], rx_kind}),
      .some_o     (arrived),
      .head_row_i (pick),
      .head_note_o({head_label, head_parity, head_kind}),
      .pop_i      (head_pop),
      .data_o     (head_token)
  );

  // A phit across the middle of recursive halving is for both.
  logic in_low, in_high, in_mine, in_theirs, in_keep, in_send;
  assign in_low    = in_word_i < middle_i[in_row_i];
  assign in_high   = in_word_i + PlaceW'(in_words_i) >= middle_i[in_row_i];
  assign in_mine   = !halves_i[in_row_i] || (high_i[in_row_i] ? in_high : in_low);
  assign in_theirs = !halves_i[in_row_i] || (high_i[in_row_i] ? in_low : in_high);
  assign in_keep   = in_signature_i ? keeps_signature_i[in_row_i] : keeps_i[in_row_i] && in_mine;
  assign in_send   = in_signature_i ? sends_signature_i[in_row_i] : sends_i[in_row_i] && in_theirs;

  coll_window #(
      .WIDTH (TokenW),
      .NOTE_W(1)
  ) u_own (
      .clk_i      (clk_i),
      .rst_ni     (rst_ni),
      .push_i     (in_valid_i && in_keep),
      .push_row_i (in_row_i),
      .push_data_i({in_word_i, in_words_i, in_data_i}),
      .push_note_i(in_signature_i),
      .some_o     (own),
      .head_row_i (pick),
      .head_note_o(own_signature),
      .pop_i      (own_pop),
      .data_o     (own_token)
  );

  // ---------------------------------------------------------------- who goes

  logic [31:0] candidates;
  logic ready, is_copy, is_match, is_alone, combine, combine_signature, drop_head, drop_own, room;
  logic result_room;

  // A head that was looked at and is nothing to copy is no candidate for it again.
  logic [31:0] copyable, passed_q;

  assign copyable   = active_i & arrived & (copies_i | takes_i) & ~passed_q;
  assign candidates = copyable | (active_i & own & (arrived | alone_i));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      passed_q <= '0;
    end else begin
      if (pick_valid && active_i[pick] && arrived[pick] && !is_copy) passed_q[pick] <= 1'b1;
      if (head_pop) passed_q[pick] <= 1'b0;
      if (end_i) passed_q[end_row_i] <= 1'b0;
    end
  end

  coll_pick u_pick (
      .clk_i       (clk_i),
      .rst_ni      (rst_ni),
      .candidates_i(candidates),
      .failed_i    (pick_valid && !(head_pop || own_pop)),
      .valid_o     (pick_valid),
      .row_o       (pick)
  );

  always_comb begin
    is_copy           = 1'b0;
    is_match          = 1'b0;
    is_alone          = 1'b0;
    drop_head         = 1'b0;
    drop_own          = 1'b0;
    combine_signature = own_signature;
    ready             = pick_valid && active_i[pick];
    if (ready && arrived[pick]) begin
      if (head_parity == parity_i[pick]) begin
        if (takes_i[pick]) begin
          is_copy   = head_kind != PK_COMBINE;
          drop_head = head_kind == PK_COMBINE;
        end else begin
          case (head_kind)
            PK_COPY: begin
              is_copy   = copies_i[pick];
              drop_head = !copies_i[pick];
            end
            PK_COMBINE: begin
              // The members did not call the same collective where one has data and the other not.
              drop_head = copies_i[pick] || (own[pick] && own_signature);
              is_match  = !copies_i[pick] && own[pick] && !own_signature;
            end
            default: begin
              is_match = own[pick] && own_signature;
              drop_own = own[pick] && !own_signature;
            end
          endcase
        end
      end
    end else if (ready && own[pick]) begin
      is_alone = alone_i[pick];
    end
    room    = final_i[pick] ? result_room : next_room_i;
    combine = (is_match || is_alone) && room
        && !(own_signature && copy_holds_i[pick]);
  end

  assign next_row_o       = pick;
  assign next_take_o      = combine && !final_i[pick];
  assign next_signature_o = own_signature;
  assign copy_row_o       = pick;
  assign copy_valid_o     = is_copy;
  assign copy_signature_o = head_kind == PK_SIGNATURE;
  assign copy_label_o     = head_label;
  assign copy_soon_o      = copyable != '0;
  assign {copy_word_o, copy_words_o, copy_data_o} = head_token;
  assign head_pop         = (is_copy && copy_take_i) || drop_head || (combine && is_match);
  assign own_pop          = combine || drop_own;

  // ---------------------------------------------------------------- combining

  logic fire_q, fire_alone_q, fire_signature_q;
  logic [4:0] fire_row_q;
  logic out_final;
  logic [3:0] operation;
  logic [2:0] datatype;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) fire_q <= 1'b0;
    else fire_q <= combine;
    if (combine) begin
      fire_alone_q     <= is_alone;
      fire_signature_q <= combine_signature;
      fire_row_q       <= pick;
    end
  end

  always_comb begin
    operation = what_i[fire_row_q][RANK_C_WHAT_OPERATION_LSB+:4];
    datatype  = what_i[fire_row_q][RANK_C_WHAT_DATATYPE_LSB+:3];
    if (fire_alone_q || fire_signature_q) begin
      operation = fire_alone_q ? RO_BOR : RO_BAND;
      datatype  = DT_U64;
    end
  end

  vector_aglu #(
      .PHIT_W(PHIT_W),
      .TAG_W (TagW),
      .OPS   (OPS),
      .TYPES (TYPES)
  ) u_aglu (
      .clk_i      (clk_i),
      .rst_ni     (rst_ni),
      .valid_i    (fire_q),
      .operation_i(operation),
      .datatype_i (datatype),
      .a_i        (own_token[PHIT_W-1:0]),
      .b_i        (fire_alone_q ? own_token[PHIT_W-1:0] : head_token[PHIT_W-1:0]),
      .tag_i      ({final_i[fire_row_q], fire_row_q, fire_signature_q, own_token[PHIT_W+:PlaceW+4]}),
      .valid_o    (out_valid_o),
      .result_o   (out_data_o),
      .tag_o      ({out_final, out_row_o, out_signature_o, out_word_o, out_words_o})
  );

  // ---------------------------------------------------------------- results

  logic [$clog2(ResultDepth+1)-1:0] results_q;

  assign result_room = results_q != ($clog2(ResultDepth + 1))'(ResultDepth);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      results_q <= '0;
    end else begin
      results_q <= results_q + ($clog2(ResultDepth + 1))'(combine && final_i[pick])
          - ($clog2(ResultDepth + 1))'(result_valid_o && result_ready_i);
    end
  end

  fifo #(
      .WIDTH(6 + TokenW),
      .DEPTH(ResultDepth)
  ) u_results (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i(out_valid_o && out_final),
      .ready_o(),
      .data_i ({out_row_o, out_signature_o, out_word_o, out_words_o, out_data_o}),
      .valid_o(result_valid_o),
      .ready_i(result_ready_i),
      .data_o ({result_row_o, result_signature_o, result_word_o, result_words_o, result_data_o}),
      .empty_o(),
      .usage_o()
  );

  // ---------------------------------------------------------------- credits

  // Each count has one writer; what is left is their difference.
  logic [31:0][PoolW-1:0] returned_q, tapped_q, copied_q, read_q;
  logic [31:0][PoolW-1:0] reserved_q, freed_q;
  logic [31:0][PoolW-1:0] unsent_q, unkept_q;
  logic unsent, unkept;
  logic [31:0][PoolW-1:0] popped_q, paid_q;
  logic [31:0] owes_q;

  // One each for the three that may use a credit in the same cycle.
  localparam int unsigned Users = 3;

  logic [PoolW-1:0] pick_mask, ask_mask, look_mask, read_mask;
  logic [PoolW-1:0] ask_left, look_left, read_left;

  coll_place u_pick_place (.row_i(pick), .count_i('0), .mask_o(pick_mask), .place_o());
  coll_place u_ask_place (.row_i(ask_row_i), .count_i('0), .mask_o(ask_mask), .place_o());
  coll_place u_look_place (.row_i(look_row_i), .count_i('0), .mask_o(look_mask), .place_o());
  coll_place u_read_place (.row_i(read_row_i), .count_i('0), .mask_o(read_mask), .place_o());

  // Two places of each window are kept for signatures.
  assign ask_left = ask_mask - 1'b1 + returned_q[ask_row_i] - tapped_q[ask_row_i] + unsent_q[ask_row_i]
      - copied_q[ask_row_i] - read_q[ask_row_i];
  assign look_left = look_mask - 1'b1 + returned_q[look_row_i] - tapped_q[look_row_i] + unsent_q[look_row_i]
      - copied_q[look_row_i] - read_q[look_row_i];
  assign read_left = read_mask - 1'b1 + returned_q[read_row_i] - tapped_q[read_row_i] + unsent_q[read_row_i]
      - copied_q[read_row_i] - read_q[read_row_i];

  logic tx_room, ask_sends, ask_keeps, ask_credit;

  assign ask_sends = ask_signature_i ? sends_signature_i[ask_row_i] : sends_i[ask_row_i];
  assign ask_keeps = ask_signature_i ? keeps_signature_i[ask_row_i] : keeps_i[ask_row_i];
  assign ask_credit = ask_left >= PoolW'(Users);
  assign ask_room_o = (ask_credit || ask_signature_i) && tx_room
      && PoolW'(reserved_q[ask_row_i] - freed_q[ask_row_i] - unkept_q[ask_row_i]) < ask_mask;
  assign look_credit_o = look_left >= PoolW'(Users);
  assign read_credit_o = read_left >= PoolW'(Users);

  // Room was taken for sending and for keeping, since a token's place is known only when it comes.
  assign unsent = in_valid_i && !in_signature_i && sends_i[in_row_i] && !in_theirs;
  assign unkept = in_valid_i && !in_signature_i && keeps_i[in_row_i] && !in_mine;

  logic pay_valid, pay_taken;
  logic [4:0] pay_row;
  logic [31:0] pay_one;
  logic [PoolW-1:0] popped_next, pay_batch;
  logic counts;

  // A credit phit is worth a quarter of its window.
  assign counts      = head_pop && head_kind != PK_SIGNATURE;
  assign popped_next = popped_q[pick] + 1'b1;
  assign pay_batch   = (pick_mask >> 2) + 1'b1;

  always_comb begin
    pay_one = owes_q & (~owes_q + 1'b1);
    pay_row = {|(pay_one & 32'hFFFF_0000), |(pay_one & 32'hFF00_FF00), |(pay_one & 32'hF0F0_F0F0),
               |(pay_one & 32'hCCCC_CCCC), |(pay_one & 32'hAAAA_AAAA)};
  end

  assign pay_valid = owes_q != '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      returned_q <= '0;
      tapped_q   <= '0;
      copied_q   <= '0;
      read_q     <= '0;
      reserved_q <= '0;
      freed_q    <= '0;
      unsent_q   <= '0;
      unkept_q   <= '0;
      popped_q   <= '0;
      paid_q     <= '0;
      owes_q     <= '0;
    end else begin
      if (rx_credit)
        returned_q[rx_row] <= returned_q[rx_row] + PoolW'(rx_position[NET_POSITION_WORD_LSB+:PoolW]);
      if (ask_take_i && ask_sends && !ask_signature_i) tapped_q[ask_row_i] <= tapped_q[ask_row_i] + 1'b1;
      if (look_take_i) copied_q[look_row_i] <= copied_q[look_row_i] + 1'b1;
      if (read_take_i) read_q[read_row_i] <= read_q[read_row_i] + 1'b1;
      if (ask_take_i && ask_keeps) reserved_q[ask_row_i] <= reserved_q[ask_row_i] + 1'b1;
      if (unsent) unsent_q[in_row_i] <= unsent_q[in_row_i] + 1'b1;
      if (unkept) unkept_q[in_row_i] <= unkept_q[in_row_i] + 1'b1;
      if (own_pop) freed_q[pick] <= freed_q[pick] + 1'b1;
      if (pay_taken) begin
        paid_q[pay_row] <= popped_q[pay_row];
        owes_q[pay_row] <= 1'b0;
      end
      if (counts) begin
        popped_q[pick] <= popped_next;
        // What is being paid now is owed no longer.
        if (PoolW'(popped_next - paid_q[pick]) >= pay_batch && !(pay_taken && pay_row == pick))
          owes_q[pick] <= 1'b1;
      end
      // At its end a collective returns what is left, so that the next one, and whoever gets the row
      // after it, finds windows whole.
      if (end_i && popped_q[end_row_i] != paid_q[end_row_i]) owes_q[end_row_i] <= 1'b1;
      if (row_written_i) begin
        returned_q[row_i] <= '0;
        tapped_q[row_i]   <= '0;
        unsent_q[row_i]   <= '0;
        copied_q[row_i]   <= '0;
        read_q[row_i]     <= '0;
        popped_q[row_i]   <= '0;
        paid_q[row_i]     <= '0;
        owes_q[row_i]     <= 1'b0;
      end
    end
  end

  assign owes_o = owes_q;

  // ---------------------------------------------------------------- to the partner

  logic tap_valid, tap_ready, tap_signature, turn_q;
  logic [4:0] tap_row, tx_row;
  logic [TokenW-1:0] tap_token, tx_token;
  logic [$clog2(TxDepth+1)-1:0] taps_q;
  logic [1:0] tx_kind;
  logic [7:0] tx_label;
  // A collective may have ended here, and the next one begun, before its last phits have left.
  logic tap_parity, tx_parity;
  logic from_copy, tx_free, tx_some;
  logic [31:0] tx_low, tx_position;
  logic [15:0] tx_high;

  assign tx_room = taps_q != ($clog2(TxDepth + 1))'(TxDepth);

  fifo #(
      .WIDTH(7 + TokenW),
      .DEPTH(TxDepth)
  ) u_taps (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i(in_valid_i && in_send),
      .ready_o(),
      .data_i ({parity_i[in_row_i], in_row_i, in_signature_i, in_word_i, in_words_i, in_data_i}),
      .valid_o(tap_valid),
      .ready_i(tap_ready),
      .data_o ({tap_parity, tap_row, tap_signature, tap_token}),
      .empty_o(),
      .usage_o()
  );

  // Credits first: they are few. Taps and copies take turns.
  assign tx_free      = !tx_valid_o || tx_ready_i;
  assign tx_some      = pay_valid || tap_valid || send_valid_i;
  assign from_copy    = !pay_valid && send_valid_i && (!tap_valid || turn_q);
  assign pay_taken    = pay_valid && tx_free;
  assign tap_ready    = !pay_valid && !from_copy && tx_free;
  assign send_ready_o = from_copy && tx_free;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      taps_q <= '0;
      turn_q <= 1'b0;
    end else begin
      taps_q <= taps_q + ($clog2(TxDepth + 1))'(ask_take_i && ask_sends)
          - ($clog2(TxDepth + 1))'(tap_valid && tap_ready) - ($clog2(TxDepth + 1))'(unsent);
      if (tx_some && tx_free && !pay_valid) turn_q <= !from_copy;
    end
  end

  always_comb begin
    tx_row   = tap_row;
    tx_kind  = tap_signature ? PK_SIGNATURE : PK_COMBINE;
    tx_label = '1;
    tx_token = tap_token;
    tx_parity = tap_parity;
    if (pay_valid) begin
      tx_row   = pay_row;
      tx_kind  = PK_CREDIT;
      tx_token = '0;
      tx_token[PHIT_W+4+:PoolW] = popped_q[pay_row] - paid_q[pay_row];
    end else if (from_copy) begin
      tx_row   = send_row_i;
      tx_kind  = send_signature_i ? PK_SIGNATURE : PK_COPY;
      tx_label  = send_label_i;
      tx_parity = send_parity_i;
      tx_token = {send_word_i, send_words_i, send_data_i};
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) tx_valid_o <= 1'b0;
    else if (tx_free) tx_valid_o <= tx_some;
    if (tx_free && tx_some) begin
      tx_phit_o[PHIT_W-1:0]     <= tx_token[PHIT_W-1:0];
      tx_phit_o[PHIT_W+:32]     <= tx_low;
      tx_phit_o[PHIT_W+32+:16]  <= tx_high;
      tx_phit_o[PHIT_W+48+:32]  <= tx_position;
    end
  end

  always_comb begin
    tx_low      = '0;
    tx_high     = '0;
    tx_position = '0;
    tx_low[NET_LOW_DEST_LSB+:16]             = partner_i[tx_row];
    tx_low[NET_LOW_CONTEXT_LSB+:5]           = tx_row;
    tx_low[NET_LOW_OPCODE_LSB+:4]            = what_i[tx_row][RANK_C_WHAT_OPCODE_LSB+:4];
    tx_low[NET_LOW_ALGORITHM_LSB+:2]         = what_i[tx_row][RANK_C_WHAT_ALGORITHM_LSB+:2];
    tx_low[NET_LOW_OPERATION_LSB+:4]         = what_i[tx_row][RANK_C_WHAT_OPERATION_LSB+:4];
    tx_low[NET_LOW_LAST_LSB]                 = 1'b1;
    tx_high[NET_HIGH_STAGE_LSB+:3]           = 3'(STAGE);
    tx_high[NET_HIGH_KIND_LSB+:2]            = tx_kind;
    tx_high[NET_HIGH_PARITY_LSB]             = tx_parity;
    tx_high[NET_HIGH_LABEL_LSB+:8]           = tx_label;
    tx_position[NET_POSITION_WORD_LSB+:PlaceW] = tx_token[PHIT_W+4+:PlaceW];
    tx_position[NET_POSITION_WORDS_LSB+:4]   = tx_token[PHIT_W+:4];
  end

  `ALCOR_CHECK_PARAM(g_check_phit, PHIT_W == 256 || PHIT_W == 512, "coll_stage: PHIT_W must be 256 or 512")
  `ALCOR_CHECK_PARAM(g_check_stage, STAGE < STAGES, "coll_stage: STAGE must be less than STAGES")
  // Room was taken before, so no token is ever lost.
  `ALCOR_ASSERT(a_taps, taps_q <= ($clog2(TxDepth + 1))'(TxDepth))
  // Two phits that meet are of the same place, unless the members disagree.
  `ALCOR_IMPLIES(a_same_kind, fire_q && !fire_alone_q && fire_signature_q,
                 own_token[PHIT_W+:PlaceW+4] == head_token[PHIT_W+:PlaceW+4])

endmodule

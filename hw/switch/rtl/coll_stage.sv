`include "assertions.svh"
`include "simulation.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;
import alcor_fp_pkg::*;

/// One stage of the collective unit: what this board and its partner of the stage exchange, and the
/// vector unit that combines both.
///
/// Two memories hold a window of WINDOW phits for each communicator: what the partner sent (arrivals), and what came
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
    /// Phits of each communicator's window in both memories, a power of two, 8 or more.
    parameter int unsigned WINDOW = alcor_switch_pkg::Window,
    /// Tokens on their way to the port to which room was given, a power of two: the cycles from there to
    /// here, and some in which the port cannot send.
    parameter int unsigned TX_DEPTH = 32,
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
    /// Its signature waits here for its turn to leave: its next collective waits.
    output logic [31:0]                 leaving_o,

    /// The stage before asks for room, for this communicator.
    input  logic [4:0]                  ask_row_i,
    /// There is room.
    output logic                        ask_room_o,
    /// It takes the room.
    input  logic                        ask_take_i,
    /// For a signature.
    input  logic                        ask_signature_i,
    /// Of which part, as `in_part_i`.
    input  logic [1:0]                  ask_part_i,
    /// From the stage before: a token, which has room.
    input  logic                        in_valid_i,
    /// Its communicator.
    input  logic [4:0]                  in_row_i,
    /// It is a signature.
    input  logic                        in_signature_i,
    /// Then: it is only sent, since what is sent ends before what is kept, or only kept.
    input  logic [1:0]                  in_part_i,
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

  // Bits of a count of a window's phits.
  localparam int unsigned CountW = $clog2(WINDOW);
  // A result is AGLU_LATENCY + 1 cycles on its way to the FIFO in which it has a place.
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
  logic [TokenW-1:0] head_token, own_token;
  logic pick_valid;
  logic [4:0] pick;

  coll_window #(
      .WINDOW(WINDOW),
      .WIDTH (TokenW),
      .NOTE_W(3)
  ) u_arrivals (
      .clk_i      (clk_i),
      .rst_ni     (rst_ni),
      .push_i     (rx_valid_i && !rx_credit),
      .push_row_i (rx_row),
      .push_data_i({rx_position[NET_POSITION_WORD_LSB+:PlaceW], rx_position[NET_POSITION_WORDS_LSB+:4],
                    rx_data}),
      .push_note_i({rx_high[NET_HIGH_PARITY_LSB], rx_kind}),
      .some_o     (arrived),
      .head_row_i (pick),
      .head_note_o({head_parity, head_kind}),
      .pop_i      (head_pop),
      .data_o     (head_token)
  );

  // A phit across the middle of recursive halving is for both.
  logic in_low, in_high, in_mine, in_theirs, in_keep, in_send;
  assign in_low    = in_word_i < middle_i[in_row_i];
  assign in_high   = in_word_i + PlaceW'(in_words_i) >= middle_i[in_row_i];
  assign in_mine   = !halves_i[in_row_i] || (high_i[in_row_i] ? in_high : in_low);
  assign in_theirs = !halves_i[in_row_i] || (high_i[in_row_i] ? in_low : in_high);
  assign in_keep   = in_signature_i ? keeps_signature_i[in_row_i] && !in_part_i[0] : keeps_i[in_row_i] && in_mine;
  assign in_send   = in_signature_i ? sends_signature_i[in_row_i] && !in_part_i[1] : sends_i[in_row_i] && in_theirs;

  coll_window #(
      .WINDOW(WINDOW),
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
      if (`ALCOR_AWAKE(pick_valid || end_i)) begin
        /* verilator unroll_disable */
        for (int unsigned c = 0; c < Contexts; c++) begin
          if (ready && arrived[pick] && !is_copy && pick == 5'(c)) passed_q[c] <= 1'b1;
          if ((head_pop && pick == 5'(c)) || (end_i && end_row_i == 5'(c))) passed_q[c] <= 1'b0;
        end
      end
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
  assign copy_soon_o      = copyable != '0;
  assign {copy_word_o, copy_words_o, copy_data_o} = head_token;
  assign head_pop         = (is_copy && copy_take_i) || drop_head || (combine && is_match);
  assign own_pop          = combine || drop_own;

  // ---------------------------------------------------------------- combining

  logic fire_q, fire_alone_q, fire_signature_q, fire_final_q;
  logic [4:0] fire_row_q;
  logic out_final;
  logic [3:0] operation_q;
  logic [2:0] datatype_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) fire_q <= 1'b0;
    else fire_q <= combine;
    if (combine) begin
      fire_alone_q     <= is_alone;
      fire_signature_q <= combine_signature;
      fire_final_q     <= final_i[pick];
      fire_row_q       <= pick;
      if (is_alone || combine_signature) begin
        operation_q <= is_alone ? RO_BOR : RO_BAND;
        datatype_q  <= DT_U32;
      end else begin
        operation_q <= what_i[pick][RANK_C_WHAT_OPERATION_LSB+:4];
        datatype_q  <= what_i[pick][RANK_C_WHAT_DATATYPE_LSB+:3];
      end
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
      .operation_i(operation_q),
      .datatype_i (datatype_q),
      .a_i        (own_token[PHIT_W-1:0]),
      .b_i        (fire_alone_q ? own_token[PHIT_W-1:0] : head_token[PHIT_W-1:0]),
      .tag_i      ({fire_final_q, fire_row_q, fire_signature_q, own_token[PHIT_W+:PlaceW+4]}),
      .valid_o    (out_valid_o),
      .result_o   (out_data_o),
      .tag_o      ({out_final, out_row_o, out_signature_o, out_word_o, out_words_o})
  );

  // ---------------------------------------------------------------- results

  logic [$clog2(ResultDepth+1)-1:0] results_q;

  // A power of two: full is the highest bit.
  assign result_room = !results_q[$clog2(ResultDepth)];

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

  // What changes a count is kept for a cycle and counted in the next. A look at a count must find enough
  // beside what is kept.
  logic tapped_q, copied_q, read_q, reserved_q, returned_q, unsent_q, unkept_q, freed_q, popped_q;
  logic [4:0] ask_row_q, look_row_q, read_row_q, returned_row_q, in_row_q, pick_row_q;
  logic [CountW-1:0] returned_count_q;
  logic tx_room, ask_sends, ask_keeps, unsent, unkept;

  assign ask_sends = ask_signature_i ? sends_signature_i[ask_row_i] && !ask_part_i[1] : sends_i[ask_row_i];
  assign ask_keeps = ask_signature_i ? keeps_signature_i[ask_row_i] && !ask_part_i[0] : keeps_i[ask_row_i];

  // Room was taken for sending and for keeping, since a token's place is known only when it comes.
  assign unsent = in_valid_i && !in_signature_i && sends_i[in_row_i] && !in_theirs;
  assign unkept = in_valid_i && !in_signature_i && keeps_i[in_row_i] && !in_mine;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      tapped_q   <= 1'b0;
      copied_q   <= 1'b0;
      read_q     <= 1'b0;
      reserved_q <= 1'b0;
      returned_q <= 1'b0;
      unsent_q   <= 1'b0;
      unkept_q   <= 1'b0;
      freed_q    <= 1'b0;
      popped_q   <= 1'b0;
    end else begin
      tapped_q   <= ask_take_i && ask_sends && !ask_signature_i;
      copied_q   <= look_take_i;
      read_q     <= read_take_i;
      reserved_q <= ask_take_i && ask_keeps;
      returned_q <= rx_credit;
      unsent_q   <= unsent;
      unkept_q   <= unkept;
      freed_q    <= own_pop;
      popped_q   <= head_pop && head_kind != PK_SIGNATURE;
    end
    ask_row_q  <= ask_row_i;
    look_row_q <= look_row_i;
    read_row_q <= read_row_i;
    in_row_q   <= in_row_i;
    pick_row_q <= pick;
    if (rx_credit) begin
      returned_row_q   <= rx_row;
      returned_count_q <= rx_position[NET_POSITION_WORD_LSB+:CountW];
    end
  end

  // One each for the three that may use a credit in the same cycle.
  localparam int unsigned Users = 3;

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
  logic pay_valid_q, pay_taken, pay_some;
  logic [4:0] pay_row_q, pay_next;

  assign left_moves   = (32'(tapped_q) << ask_row_q) | (32'(copied_q) << look_row_q) | (32'(read_q) << read_row_q)
      | (32'(returned_q) << returned_row_q) | (32'(unsent_q) << in_row_q) | (32'(row_written_i) << row_i);
  assign stored_moves = (32'(reserved_q) << ask_row_q) | (32'(unkept_q) << in_row_q) | (32'(freed_q) << pick_row_q);
  assign unpaid_moves = (32'(popped_q) << pick_row_q) | (32'(pay_taken) << pay_row_q) | (32'(end_i) << end_row_i)
      | (32'(row_written_i) << row_i);

  always_comb begin
    left  = left_q;
    once  = once_q;
    twice = twice_q;
    if (`ALCOR_AWAKE(left_moves != '0)) begin
      /* verilator unroll_disable */
      for (int unsigned c = 0; c < Contexts; c++) begin
        if (`ALCOR_AWAKE(left_moves[c])) begin
          left[c] = left_q[c] + ((returned_q && returned_row_q == 5'(c)) ? returned_count_q : CountW'(0))
              + (CountW'(unsent_q && in_row_q == 5'(c)) - CountW'(tapped_q && ask_row_q == 5'(c))
                 - CountW'(copied_q && look_row_q == 5'(c)) - CountW'(read_q && read_row_q == 5'(c)));
          // Two places of each window are kept for signatures.
          if (row_written_i && row_i == 5'(c)) left[c] = CountW'(WINDOW - 2);
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
          if (pay_taken && pay_row_q == 5'(c)) begin
            unpaid[c] = '0;
            owes[c]   = 1'b0;
          end
          if (popped_q && pick_row_q == 5'(c)) unpaid[c] = unpaid[c] + 1'b1;
          // A credit phit is worth a quarter of its window. At its end a collective returns what is left, so
          // that the next one, and whoever gets the row after it, finds windows whole.
          if (unpaid[c] >= CountW'(WINDOW / 4)) owes[c] = 1'b1;
          if (end_i && end_row_i == 5'(c) && unpaid[c] != '0) owes[c] = 1'b1;
          if (row_written_i && row_i == 5'(c)) begin
            unpaid[c] = '0;
            owes[c]   = 1'b0;
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

  // Whether any of what is kept is of the communicator that is looked at.
  logic ask_kept, look_kept, read_kept, ask_credit, ask_place;

  assign ask_kept  = (tapped_q && ask_row_q == ask_row_i) || (copied_q && look_row_q == ask_row_i)
      || (read_q && read_row_q == ask_row_i);
  assign look_kept = (tapped_q && ask_row_q == look_row_i) || (copied_q && look_row_q == look_row_i)
      || (read_q && read_row_q == look_row_i);
  assign read_kept = (tapped_q && ask_row_q == read_row_i) || (copied_q && look_row_q == read_row_i)
      || (read_q && read_row_q == read_row_i);

  assign ask_credit    = ask_kept ? twice_q[ask_row_i] : once_q[ask_row_i];
  assign look_credit_o = look_kept ? twice_q[look_row_i] : once_q[look_row_i];
  assign read_credit_o = read_kept ? twice_q[read_row_i] : once_q[read_row_i];
  assign ask_place     = (reserved_q && ask_row_q == ask_row_i) ? two_q[ask_row_i] : one_q[ask_row_i];
  assign ask_room_o    = (ask_credit || ask_signature_i) && tx_room && ask_place;

  // Who is paid next is known a cycle before.
  coll_first u_pay (.request_i(owes_q), .valid_o(pay_some), .row_o(pay_next));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      pay_valid_q <= 1'b0;
    end else if (!pay_valid_q) begin
      pay_valid_q <= pay_some && !(row_written_i && row_i == pay_next);
    end else if (pay_taken || (row_written_i && row_i == pay_row_q)) begin
      pay_valid_q <= 1'b0;
    end
    if (!pay_valid_q) pay_row_q <= pay_next;
  end

  assign owes_o = owes_q;

  // ---------------------------------------------------------------- to the partner

  logic tap_valid, tap_ready, tap_signature, turn_q;
  logic [4:0] tap_row, tx_row;
  logic [TokenW-1:0] tap_token, tx_token;
  logic [$clog2(TX_DEPTH+1)-1:0] taps_q;
  logic [1:0] tx_kind;
  logic tap_parity, tx_parity;
  logic from_copy, tx_free, tx_some;
  logic [31:0] tx_low, tx_position;
  logic [15:0] tx_high;

  // A power of two: full is the highest bit.
  assign tx_room = !taps_q[$clog2(TX_DEPTH)];

  fifo #(
      .WIDTH(7 + TokenW),
      .DEPTH(TX_DEPTH)
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

  // A signature is the last that leaves through the taps for its collective. The collective may have ended here
  // before, since that takes the partner's signature, not this one. Copies of the next one do not go through the
  // taps and would overtake it; at the partner it would lie behind them, and they wait for it.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      leaving_o <= '0;
    end else begin
      if (in_valid_i && in_send && in_signature_i) leaving_o[in_row_i] <= 1'b1;
      if (tap_valid && tap_ready && tap_signature) leaving_o[tap_row] <= 1'b0;
    end
  end

  // Credits first: they are few. Taps and copies take turns.
  assign tx_free      = !tx_valid_o || tx_ready_i;
  assign tx_some      = pay_valid_q || tap_valid || send_valid_i;
  assign from_copy    = !pay_valid_q && send_valid_i && (!tap_valid || turn_q);
  assign pay_taken    = pay_valid_q && tx_free;
  assign tap_ready    = !pay_valid_q && !from_copy && tx_free;
  assign send_ready_o = from_copy && tx_free;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      taps_q <= '0;
      turn_q <= 1'b0;
    end else begin
      taps_q <= taps_q + ($clog2(TX_DEPTH + 1))'(ask_take_i && ask_sends)
          - ($clog2(TX_DEPTH + 1))'(tap_valid && tap_ready) - ($clog2(TX_DEPTH + 1))'(unsent_q);
      if (tx_some && tx_free && !pay_valid_q) turn_q <= !from_copy;
    end
  end

  always_comb begin
    tx_row   = tap_row;
    tx_kind  = tap_signature ? PK_SIGNATURE : PK_COMBINE;
    tx_token = tap_token;
    tx_parity = tap_parity;
    if (pay_valid_q) begin
      tx_row   = pay_row_q;
      tx_kind  = PK_CREDIT;
      tx_parity = 1'b0;
      tx_token = '0;
      tx_token[PHIT_W+4+:CountW] = unpaid_q[pay_row_q];
    end else if (from_copy) begin
      tx_row   = send_row_i;
      tx_kind  = send_signature_i ? PK_SIGNATURE : PK_COPY;
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
    tx_position[NET_POSITION_WORD_LSB+:PlaceW] = tx_token[PHIT_W+4+:PlaceW];
    tx_position[NET_POSITION_WORDS_LSB+:4]   = tx_token[PHIT_W+:4];
  end

  `ALCOR_CHECK_PARAM(g_check_phit, PHIT_W == 256 || PHIT_W == 512, "coll_stage: PHIT_W must be 256 or 512")
  `ALCOR_CHECK_PARAM(g_check_stage, STAGE < STAGES, "coll_stage: STAGE must be less than STAGES")
  // A chunk of a message read in parts goes out while as much as a credit is worth, less one, has not been paid
  // back of the chunk before, and then the reader asks for what its own half's takes: hence 8.
  `ALCOR_CHECK_PARAM(g_check_window, WINDOW >= 8 && (WINDOW & (WINDOW - 1)) == 0,
                     "coll_stage: WINDOW must be a power of two, 8 or more")
  `ALCOR_CHECK_PARAM(g_check_depth, TX_DEPTH >= 2 && (TX_DEPTH & (TX_DEPTH - 1)) == 0,
                     "coll_stage: TX_DEPTH must be a power of two")

  // Room was taken before, so no token is ever lost.
  `ALCOR_ASSERT(a_taps, taps_q <= ($clog2(TX_DEPTH + 1))'(TX_DEPTH))
  // A look at a count says yes only where enough is left beside what is still to be counted.
  logic [CountW-1:0] ask_pending, look_pending, read_pending;
  assign ask_pending  = CountW'(tapped_q && ask_row_q == ask_row_i) + CountW'(copied_q && look_row_q == ask_row_i)
      + CountW'(read_q && read_row_q == ask_row_i);
  assign look_pending = CountW'(tapped_q && ask_row_q == look_row_i) + CountW'(copied_q && look_row_q == look_row_i)
      + CountW'(read_q && read_row_q == look_row_i);
  assign read_pending = CountW'(tapped_q && ask_row_q == read_row_i) + CountW'(copied_q && look_row_q == read_row_i)
      + CountW'(read_q && read_row_q == read_row_i);
  `ALCOR_IMPLIES(a_ask_credit, ask_take_i && ask_sends && !ask_signature_i,
                 left_q[ask_row_i] >= ask_pending + CountW'(Users))
  `ALCOR_IMPLIES(a_look_credit, look_take_i, left_q[look_row_i] >= look_pending + CountW'(Users))
  `ALCOR_IMPLIES(a_read_credit, read_take_i, left_q[read_row_i] >= read_pending + CountW'(Users))
  `ALCOR_IMPLIES(a_ask_place, ask_take_i && ask_keeps,
                 stored_q[ask_row_i] + CountW'(reserved_q && ask_row_q == ask_row_i)
                     < CountW'(WINDOW - 1))
  // Nothing is paid twice: no window has more room than it has places.
  `ALCOR_IMPLIES(a_paid_once, returned_q, left[returned_row_q] <= CountW'(WINDOW - 2))
  // What comes of a collective comes before anything of the next one: its signature is the last.
  logic [31:0] fresh_q, came_parity_q, came_signature_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      fresh_q <= '1;
    end else begin
      if (rx_valid_i && !rx_credit) begin
        fresh_q[rx_row]          <= 1'b0;
        came_parity_q[rx_row]    <= rx_high[NET_HIGH_PARITY_LSB];
        came_signature_q[rx_row] <= rx_kind == PK_SIGNATURE;
      end
      if (row_written_i) fresh_q[row_i] <= 1'b1;
    end
  end
  `ALCOR_IMPLIES(a_in_turn, rx_valid_i && !rx_credit && !fresh_q[rx_row],
                 came_signature_q[rx_row] == (came_parity_q[rx_row] != rx_high[NET_HIGH_PARITY_LSB]))
  `ALCOR_IMPLIES(a_one_leaves, in_valid_i && in_send && in_signature_i, !leaving_o[in_row_i])
  // Two phits that meet are of the same place, unless the members disagree.
  `ALCOR_IMPLIES(a_same_kind, fire_q && !fire_alone_q && fire_signature_q,
                 own_token[PHIT_W+:PlaceW+4] == head_token[PHIT_W+:PlaceW+4])

endmodule

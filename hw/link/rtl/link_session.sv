`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_link_pkg::*;

/// Agreement of two link ends on their epochs.
///
/// An epoch is the time from a reset of a board to the next one. It gets its key when the host
/// writes PLACE, which a host does once it has reset all boards of a run. Both ends then greet each
/// other until each knows that the other knows its epoch. Phits and credits pass only in frames
/// that carry both epochs. An end agrees once: if the other board is reset afterwards, the credits
/// of this board's switch fit no longer, so nothing passes until this board is reset too.
module link_session (
    /// Clock of the medium access controller.
    input  logic                         mac_clk_i,
    /// Synchronous reset of the controller's clock, active low: that of the board.
    input  logic                         mac_rst_ni,
    /// Resets of the board, modulo 256; changes in reset alone.
    input  logic [7:0]                   resets_i,
    /// PLACE.key in the core's clock; 0 before it is written.
    input  logic [7:0]                   key_i,
    /// Pulse: an undamaged frame of the same layout, ABI and SHAPE has arrived.
    input  logic                         heard_i,
    /// First word of the frame.
    input  alcor_abi_pkg::first_word_t   first_i,
    /// The frame belongs to the session.
    output logic                         belongs_o,
    /// Pulse: the other end is to be told of this end's session.
    output logic                         answer_o,
    /// The session.
    output alcor_abi_pkg::link_session_t session_o,
    /// The other board was reset after both ends had agreed.
    output logic                         stale_o
);

  typedef enum logic [1:0] {
    StIdle,   // no key yet
    StGreet,  // seeks agreement
    StOpen,   // both ends agree
    StStale   // the other board was reset
  } state_e;

  state_e state_d, state_q;
  logic [7:0] key, key_q, before_q, resets_q;
  logic known_d, known_q, answer, names_me, names_other;
  alcor_abi_pkg::link_epoch_t other_d, other_q, sender, own;

  // The bits of a key may come in two successive cycles.
  sync_2ff #(.WIDTH(8)) u_key (.clk_i(mac_clk_i), .rst_ni(mac_rst_ni), .d_i(key_i), .q_o(key));

  // `resets_i` is of the core's clock and stands still before the end of this reset; afterwards the copy stands still.
  always_ff @(posedge mac_clk_i) begin
    if (!mac_rst_ni) resets_q <= resets_i;
  end

  assign own    = {resets_q, key_q};
  assign sender = {first_i.epochs.resets, first_i.epochs.key};

  assign names_me    = first_i.frame.known && {first_i.epochs.other_resets, first_i.epochs.other_key} == own;
  assign names_other = sender == other_q;

  always_comb begin
    state_d   = state_q;
    known_d   = known_q;
    other_d   = other_q;
    answer    = 1'b0;
    belongs_o = 1'b0;
    unique case (state_q)
      StIdle: begin
        answer = key != '0 && key == before_q;
        if (answer) state_d = StGreet;
      end
      StGreet: begin
        if (heard_i && sender.key == own.key) begin
          known_d   = 1'b1;
          other_d   = sender;
          belongs_o = names_me;
          answer    = 1'b1;
          if (names_me) state_d = StOpen;
        end
      end
      StOpen: begin
        belongs_o = names_me && names_other;
        answer    = heard_i && belongs_o && !first_i.frame.open;
        if (heard_i && !belongs_o) state_d = StStale;
      end
      StStale: begin
      end
      default: state_d = StIdle;
    endcase
  end

  always_ff @(posedge mac_clk_i) begin
    if (!mac_rst_ni) begin
      state_q  <= StIdle;
      key_q    <= '0;
      before_q <= '0;
      known_q  <= 1'b0;
      other_q  <= '0;
      answer_o <= 1'b0;
    end else begin
      state_q  <= state_d;
      before_q <= key;
      if (state_q == StIdle) key_q <= key;
      known_q  <= known_d;
      other_q  <= other_d;
      answer_o <= answer;
    end
  end

  assign session_o = {state_q == StGreet, state_q == StOpen, known_q, own, other_q};
  assign stale_o   = state_q == StStale;

endmodule

`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_link_pkg::*;

/// Takes apart frames that have come whole and undamaged: credits of the first word, a slot a cycle.
///
/// A group takes as many cycles as it has slots, a frame's first word one or two; that is less than
/// they take on the wire.
module link_unpacker (
    /// Clock of the medium access controller.
    input  logic                       mac_clk_i,
    /// Synchronous reset of the controller's clock, active low.
    input  logic                       mac_rst_ni,
    /// There is room for the credits and phits of the longest frame.
    input  logic                       room_i,
    /// A word of a frame is offered; all words of the frame follow without a gap.
    input  logic                       valid_i,
    /// The word is taken.
    output logic                       ready_o,
    /// The word.
    input  alcor_abi_pkg::frame_word_t word_i,
    /// Pulse: the credits of a frame.
    output logic                       credits_valid_o,
    /// Number of credits, by channel.
    output logic [LinkChannels*LinkCreditW-1:0] credits_o,
    /// A slot; `full` is a pulse: there is a phit.
    output alcor_abi_pkg::slot_t       slot_o
);

  typedef enum logic [1:0] {
    StFirst,  // header word of a frame
    StLow,    // low half of a group
    StHigh    // high half of a group
  } state_e;

  state_e state_d, state_q;
  logic begins, loads;
  logic [MacW-1:0] low_q;
  logic [LinkSlots-1:0][LinkSlotW-1:0] slots_q;
  logic [LinkSlots-1:1] full;
  alcor_abi_pkg::first_word_t first;
  logic [LinkChannels*LinkCreditW-1:0] credits;

  assign first   = word_i.data;
  assign credits = 30'(first.credits);

  for (genvar s = 1; s < LinkSlots; s++) begin : g_full
    alcor_abi_pkg::slot_t slot;
    assign slot    = slots_q[s];
    assign full[s] = slot.tag.full;
  end

  always_comb begin
    state_d = state_q;
    ready_o = 1'b0;
    begins  = 1'b0;
    loads   = 1'b0;
    unique case (state_q)
      StFirst: begin
        // Credits of the frame before enter their FIFO in this cycle.
        ready_o = room_i && !credits_valid_o;
        begins  = valid_i && ready_o;
        if (begins && !word_i.last) state_d = StLow;
      end
      StLow: begin
        ready_o = 1'b1;
        if (valid_i) state_d = StHigh;
      end
      StHigh: begin
        // The slot that is left, if any, leaves in this cycle.
        ready_o = full == '0;
        loads   = valid_i && ready_o;
        if (loads) state_d = word_i.last ? StFirst : StLow;
      end
      default: state_d = StFirst;
    endcase
  end

  always_ff @(posedge mac_clk_i) begin
    if (!mac_rst_ni) begin
      state_q         <= StFirst;
      credits_valid_o <= 1'b0;
      slots_q         <= '0;
    end else begin
      state_q         <= state_d;
      credits_valid_o <= begins && credits != '0;
      if (loads) begin
        slots_q <= {word_i.data[LinkGroupW-MacW-1:0], low_q};
      end else begin
        // Phits of a group lie below its empty slots.
        slots_q <= {LinkSlotW'(0), slots_q[LinkSlots-1:1]};
      end
    end
  end

  always_ff @(posedge mac_clk_i) begin
    if (state_q == StLow) low_q <= word_i.data;
    credits_o <= credits;
    slot_o    <= slots_q[0];
    if (!mac_rst_ni) slot_o.tag.full <= 1'b0;
  end

  `ALCOR_ASSERT_CLK(a_whole, mac_clk_i, mac_rst_ni, state_q == StFirst || valid_i)

endmodule

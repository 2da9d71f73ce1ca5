`include "assertions.svh"

import alcor_link_pkg::*;

/// Packs phits and credits into frames.
///
/// A frame begins as soon as there is a phit or a credit, and goes on while there are phits, up to
/// GROUPS groups. A group that is not full by the time it has to leave travels with empty slots. Credits
/// gather in a count for each channel; the next frame's first word takes as many as its fields hold.
///
/// Words: `valid_o` stays high from a frame's first word to its last. A first word on offer may
/// change until it is taken, as credits and phits come.
module link_framer #(
    /// Groups of a frame at most.
    parameter int unsigned GROUPS = 8
) (
    /// Clock of the medium access controller.
    input  logic                       mac_clk_i,
    /// Synchronous reset of the controller's clock, active low.
    input  logic                       mac_rst_ni,
    /// A phit, a credit, or one of each is offered.
    input  logic                       valid_i,
    /// Phit and credit are taken.
    output logic                       ready_o,
    /// The phit and credit.
    input  alcor_abi_pkg::link_entry_t entry_i,
    /// A word of a frame is offered.
    output logic                       valid_o,
    /// The word is taken.
    input  logic                       ready_i,
    /// The word is its frame's first: the frame's credits, in the low bits.
    output logic                       first_o,
    /// The word.
    output alcor_abi_pkg::frame_word_t word_o
);

  localparam int unsigned QueueDepth = 16;
  localparam int unsigned UsageW = $clog2(QueueDepth + 1);
  localparam int unsigned CountW = (GROUPS > 1) ? $clog2(GROUPS) : 1;
  localparam logic [LinkCreditW-1:0] Most = '1;

  typedef enum logic [1:0] {
    StFirst,  // header word of a frame
    StLow,    // low half of a group
    StHigh    // high half of a group
  } state_e;

  // ---------------------------------------------------------------- slots to groups

  logic [1:0] held_q;
  logic [LinkSlots-1:0][LinkSlotW-1:0] group_q;
  logic take, phit, put, full, group_valid, group_taken, queue_ready;
  logic [LinkGroupW-1:0] group;
  logic [UsageW-1:0] usage;

  assign phit    = take && entry_i.slot.tag.full;
  assign full    = held_q == 2'(LinkSlots);
  // A group that is not full waits while the framer has others to send.
  assign put     = queue_ready && (full || (held_q != '0 && usage == '0 && !phit));

  always_ff @(posedge mac_clk_i) begin
    if (!mac_rst_ni) begin
      held_q  <= '0;
      group_q <= '0;
    end else begin
      if (put) begin
        held_q <= 2'(phit);
        for (int unsigned s = 1; s < LinkSlots; s++) group_q[s] <= '0;
        group_q[0] <= phit ? entry_i.slot : '0;
      end else if (phit) begin
        held_q <= held_q + 1'b1;
        for (int unsigned s = 0; s < LinkSlots; s++) begin
          if (held_q == 2'(s)) group_q[s] <= entry_i.slot;
        end
      end
    end
  end

  fifo #(
      .WIDTH(LinkGroupW),
      .DEPTH(QueueDepth)
  ) u_groups (
      .clk_i  (mac_clk_i),
      .rst_ni (mac_rst_ni),
      .valid_i(put),
      .ready_o(queue_ready),
      .data_i (group_q),
      .valid_o(group_valid),
      .ready_i(group_taken),
      .data_o (group),
      .empty_o(),
      .usage_o(usage)
  );

  // ---------------------------------------------------------------- credits

  logic [LinkChannels-1:0][LinkCreditW-1:0] credits_q;
  logic credits_some_q, credits_full_q, credits_sent;

  // An entry is taken whole, so it waits where a count is at its end.
  assign ready_o = (!full || queue_ready) && !credits_full_q;
  assign take    = valid_i && ready_o;

  always_ff @(posedge mac_clk_i) begin
    if (!mac_rst_ni) begin
      credits_q      <= '0;
      credits_some_q <= 1'b0;
      credits_full_q <= 1'b0;
    end else begin
      if (credits_sent) begin
        credits_some_q <= 1'b0;
        credits_full_q <= 1'b0;
      end
      for (int unsigned c = 0; c < LinkChannels; c++) begin
        if (credits_sent) credits_q[c] <= '0;
        if (take && entry_i.credit && entry_i.credit_vc == 3'(c)) begin
          credits_q[c]   <= credits_sent ? LinkCreditW'(1) : credits_q[c] + 1'b1;
          credits_some_q <= 1'b1;
          if (!credits_sent && credits_q[c] == Most - 1'b1) credits_full_q <= 1'b1;
        end
      end
    end
  end

  // ---------------------------------------------------------------- frames

  state_e state_d, state_q;
  logic [CountW-1:0] count_d, count_q;
  logic last;
  logic [MacW-1:0] word;
  logic more;

  // Another group is there behind the one that leaves.
  assign more    = usage > UsageW'(1);
  assign first_o = state_q == StFirst;
  assign word_o  = {last, word};

  always_comb begin
    state_d      = state_q;
    count_d      = count_q;
    valid_o      = 1'b1;
    last         = 1'b0;
    // Channel c's credits are the c-th field.
    word         = MacW'(credits_q);
    group_taken  = 1'b0;
    credits_sent = 1'b0;
    unique case (state_q)
      StFirst: begin
        valid_o = group_valid || credits_some_q;
        last    = !group_valid;
        count_d = '0;
        if (valid_o && ready_i) begin
          credits_sent = 1'b1;
          if (group_valid) state_d = StLow;
        end
      end
      StLow: begin
        word = group[MacW-1:0];
        if (ready_i) state_d = StHigh;
      end
      StHigh: begin
        word = MacW'(group[LinkGroupW-1:MacW]);
        last = !more || count_q == CountW'(GROUPS - 1);
        if (ready_i) begin
          group_taken = 1'b1;
          count_d     = count_q + 1'b1;
          state_d     = last ? StFirst : StLow;
        end
      end
      default: state_d = StFirst;
    endcase
  end

  always_ff @(posedge mac_clk_i) begin
    if (!mac_rst_ni) begin
      state_q <= StFirst;
      count_q <= '0;
    end else begin
      state_q <= state_d;
      count_q <= count_d;
    end
  end

  `ALCOR_CHECK_PARAM(g_check_groups, GROUPS >= 1 && GROUPS <= 11, "link_framer: GROUPS must be 1 to 11")
  `ALCOR_ASSERT_CLK(a_group_there, mac_clk_i, mac_rst_ni, state_q == StFirst || group_valid)

endmodule

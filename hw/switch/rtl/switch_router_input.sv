`include "assertions.svh"
`include "simulation.svh"

/// Input of the switch's router: the buffers of its channels, and the choice of the one that asks for
/// an output next.
///
/// Phits of all channels lie in one RAM, a ring of DEPTH places for each channel. What the choice needs
/// to know of a phit (output, channel there, last) lies beside it in LUT RAM, and of the first two phits
/// of each channel in registers, so that a channel can send a phit in every cycle.
///
/// Each cycle the input picks, round robin, a channel whose phit could leave, and offers it to the
/// allocator in the next cycle. An offer that is not granted gives way to another channel if there is one,
/// so a channel never waits because of a neighbour. The one exception, for a few cycles only: an offer
/// that is old or has a reservation stays as long as it can be granted, since an offer that comes and goes
/// could be overlooked for ever.
///
/// A phit pushed in cycle t is offered in t+2, if granted pops then, and is on `data_o` in t+3.
module switch_router_input #(
    /// Channels: 6 for a link, 1 for a local port.
    parameter int unsigned CHANNELS = 6,
    /// Class of the one channel of a local port: 0 request, 1 reply, 2 collective.
    parameter int unsigned CLASS = 0,
    /// Phits for each channel, a power of two, 2 or more.
    parameter int unsigned DEPTH = 256,
    /// Bits of a phit with header and position.
    parameter int unsigned WIDTH = 336,
    /// 1: phits in block RAM; 0: in LUT RAM.
    parameter bit BLOCK_RAM = 1'b1
) (
    /// Clock.
    input  logic                     clk_i,
    /// Synchronous reset, active low; empties the buffers.
    input  logic                     rst_ni,
    /// Pulse, every so many cycles: a phit that is first in its channel for two of them is old.
    input  logic                     tick_i,
    /// A phit comes; there is room for it, as whoever sends holds credits.
    input  logic                     push_i,
    /// Channel it comes on; 0 with one channel.
    input  logic [              2:0] push_vc_i,
    /// The phit.
    input  logic [        WIDTH-1:0] push_phit_i,
    /// Output it is for; 15: to be dropped.
    input  logic [              3:0] push_out_i,
    /// Dateline bit of its channel at the output.
    input  logic                     push_bit_i,
    /// It is its packet's last.
    input  logic                     push_last_i,
    /// Pulse: a phit left, its place is free.
    output logic                     credit_o,
    /// Channel of that phit.
    output logic [              2:0] credit_vc_o,
    /// By output (bits [6:3]) and channel (bits [2:0]): there is a credit.
    input  logic [            127:0] credits_i,
    /// By output and channel: no packet keeps it.
    input  logic [            127:0] unlocked_i,
    /// By output and channel: it is not reserved.
    input  logic [            127:0] unreserved_i,
    /// By output and channel: all three.
    input  logic [            127:0] open_i,
    /// By output: packets wait to begin there.
    input  logic [             15:0] awaited_i,
    /// By output: a packet waits here to begin there.
    output logic [             15:0] await_o,
    /// A phit is offered to the allocator.
    output logic                     try_o,
    /// Its output.
    output logic [              3:0] try_out_o,
    /// Its channel there.
    output logic [              2:0] try_vc_o,
    /// Dateline bit of the channel it came on.
    output logic                     try_bit_o,
    /// It is its packet's last.
    output logic                     try_last_o,
    /// The channel there is reserved for it.
    output logic                     try_next_o,
    /// It may go.
    input  logic                     grant_i,
    /// In the cycle after the grant: the phit.
    output logic [        WIDTH-1:0] data_o,
    /// By channel: a packet waits to begin, long or for what others keep, and nothing is reserved for it.
    output logic [     CHANNELS-1:0] want_o,
    /// By channel: where its first phit is for, {last, dateline bit of the channel there, output}.
    output logic [CHANNELS-1:0][5:0] first_o,
    /// By channel, pulse: what it wants is reserved for it.
    input  logic [     CHANNELS-1:0] reserve_i,
    /// By channel: has a reservation.
    output logic [     CHANNELS-1:0] next_o,
    /// Pulse: a packet was dropped.
    output logic                     drop_o,
    /// No phit is held.
    output logic                     empty_o
);

  `ALCOR_CHECK_PARAM(g_check_channels, CHANNELS == 6 || CHANNELS == 1,
                     "switch_router_input: CHANNELS must be 6 or 1")
  `ALCOR_CHECK_PARAM(g_check_depth, DEPTH >= 2 && (DEPTH & (DEPTH - 1)) == 0,
                     "switch_router_input: DEPTH must be a power of two, 2 or more")

  localparam int unsigned PtrW = $clog2(DEPTH);
  localparam int unsigned ChanW = (CHANNELS > 1) ? 3 : 1;
  localparam int unsigned AddrW = $clog2(CHANNELS * DEPTH);
  localparam int unsigned MetaW = 6;
  localparam logic [3:0] NoOutput = 4'd15;

  // ---------------------------------------------------------------------------------------------
  // Channels
  // ---------------------------------------------------------------------------------------------
  // `first` is the oldest phit of a channel, `second` the one behind it: {last, bit, out}. State of all
  // channels lies in vectors that change only with a phit: an idle input costs a simulation little.
  logic [CHANNELS-1:0] first_valid_q, second_valid_q;
  logic [CHANNELS-1:0][MetaW-1:0] first_q, second_q;
  logic [CHANNELS-1:0][PtrW-1:0] write_ptr_q, read_ptr_q;
  logic [CHANNELS-1:0][PtrW:0] count_q;
  logic [CHANNELS-1:0] seen_q, old_q, closed;
  // A packet is under way, which keeps its output's channel.
  logic [CHANNELS-1:0] mine_q;
  // The output's channel is reserved for the packet that is first.
  logic [CHANNELS-1:0] next_up_q;

  logic [CHANNELS-1:0] push, pop;
  logic [MetaW-1:0] push_meta;
  logic grant;

  assign push_meta = {push_last_i, push_bit_i, push_out_i};

  if (CHANNELS == 1) begin : g_push_one
    assign push = push_i;
  end else begin : g_push
    assign push = push_i ? CHANNELS'(8'd1 << push_vc_i) : '0;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      count_q <= '0;
      write_ptr_q <= '0;
      read_ptr_q <= '0;
      first_valid_q <= '0;
      second_valid_q <= '0;
    end else if (`ALCOR_AWAKE(push_i || grant)) begin
      for (int unsigned a = 0; a < CHANNELS; a++) begin
        if (push[a]) write_ptr_q[a] <= write_ptr_q[a] + 1'b1;
        if (pop[a]) read_ptr_q[a] <= read_ptr_q[a] + 1'b1;
        // The grant comes late in the cycle, so the sum does not depend on it.
        if (push[a] != pop[a]) begin
          count_q[a] <= count_q[a] + (push[a] ? (PtrW + 1)'(1) : '1);
          first_valid_q[a] <= push[a] || second_valid_q[a];
          second_valid_q[a] <= push[a] ? first_valid_q[a] : count_q[a] > (PtrW + 1)'(2);
        end
      end
    end
  end

  // One phit comes and one goes in a cycle, so one RAM does for all channels.
  (* ram_style = "distributed" *)
  logic [MetaW-1:0] meta_ram_q[CHANNELS*DEPTH];
  logic [AddrW-1:0] write_addr, read_addr, third_addr;
  logic [MetaW-1:0] third;

  always_ff @(posedge clk_i) begin
    if (push_i) meta_ram_q[write_addr] <= push_meta;
  end

  always_ff @(posedge clk_i) begin
    if (`ALCOR_AWAKE(push_i || grant)) begin
      for (int unsigned a = 0; a < CHANNELS; a++) begin
        if (pop[a]) begin
          first_q[a]  <= second_valid_q[a] ? second_q[a] : push_meta;
          second_q[a] <= (count_q[a] > (PtrW + 1)'(2)) ? third : push_meta;
        end else if (push[a]) begin
          if (!first_valid_q[a]) first_q[a] <= push_meta;
          if (!second_valid_q[a]) second_q[a] <= push_meta;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      seen_q <= '0;
      old_q  <= '0;
    end else if (`ALCOR_AWAKE(tick_i || grant)) begin
      seen_q <= (tick_i ? first_valid_q : seen_q) & ~pop;
      old_q  <= (tick_i ? first_valid_q & seen_q : old_q) & ~pop;
    end
  end

  always_comb begin
    want_o = '0;
    if (`ALCOR_AWAKE(first_valid_q != '0)) begin
      for (int unsigned a = 0; a < CHANNELS; a++) begin
        want_o[a] = first_valid_q[a] && !mine_q[a] && !next_up_q[a] && first_q[a][3:0] != NoOutput
            && (old_q[a] || closed[a]);
      end
    end
  end

  assign first_o = first_q;

  // ---------------------------------------------------------------------------------------------
  // Pick
  // ---------------------------------------------------------------------------------------------
  // The offer.
  logic offer_q, ok_q;
  logic [CHANNELS-1:0] chan_q;
  logic [ChanW-1:0] chan_index_q;
  logic [MetaW-1:0] meta_q;
  logic [1:0] class_q;

  logic [CHANNELS-1:0] able, other;
  logic still_ok, follows;
  // Output and channel of the offer, and of the first two phits of each channel.
  logic [6:0] place;
  logic [CHANNELS-1:0][6:0] first_place, second_place;

  assign grant = grant_i || (offer_q && meta_q[3:0] == NoOutput);
  assign place = {meta_q[3:0], class_q, meta_q[4]};

  // Of the channel on offer the phit behind is looked at, as if the offer were granted. It may follow
  // where the offer goes if the packet goes on, and where it begins one if nobody waits to be next.
  always_comb begin
    able = '0;
    closed = '0;
    still_ok = 1'b0;
    follows = 1'b0;
    first_place = '0;
    second_place = '0;
    if (`ALCOR_AWAKE(first_valid_q != '0)) begin
      follows = unreserved_i[place] && !awaited_i[meta_q[3:0]];
      for (int unsigned a = 0; a < CHANNELS; a++) begin
        if (`ALCOR_AWAKE(first_valid_q[a])) begin
          first_place[a] = {first_q[a][3:0], 2'((CHANNELS == 1) ? CLASS : a / 2), first_q[a][4]};
          closed[a] = !unlocked_i[first_place[a]] || !unreserved_i[first_place[a]];
          able[a] = first_valid_q[a] && credits_i[first_place[a]]
              && (!closed[a] || mine_q[a] || (next_up_q[a] && unlocked_i[first_place[a]]));
        end
        if (`ALCOR_AWAKE(offer_q && chan_q[a])) begin
          second_place[a] = {second_q[a][3:0], 2'((CHANNELS == 1) ? CLASS : a / 2), second_q[a][4]};
          if (offer_q && chan_q[a]) begin
            able[a] = second_valid_q[a] && (open_i[second_place[a]]
                || (credits_i[second_place[a]]
                    && (!meta_q[5] || (second_q[a][4:0] == meta_q[4:0] && follows))));
          end
        end
      end
      still_ok = credits_i[place] && ((unlocked_i[place] && unreserved_i[place])
          || (mine_q & chan_q) != '0 || ((next_up_q & chan_q) != '0 && unlocked_i[place]));
    end
  end

  // `other` is for the case that the offer is not granted.
  assign other = able & ~chan_q;

  always_comb begin
    await_o = '0;
    if (`ALCOR_AWAKE(first_valid_q != '0)) begin
      for (int unsigned a = 0; a < CHANNELS; a++) begin
        // What is on offer and may go is about to leave, and waits for none.
        if (first_valid_q[a] && !mine_q[a] && !(offer_q && ok_q && chan_q[a])) begin
          await_o[first_q[a][3:0]] = 1'b1;
        end
      end
    end
  end

  // The choice: with the offer granted, or none made, and with it not granted. Its index is the
  // channel's.
  logic [CHANNELS-1:0] next, next_other;
  logic [MetaW-1:0] next_meta, next_other_meta;
  logic take, load;

  if (CHANNELS == 6) begin : g_pairs
    // The two channels of a class can have the same aim, which is open to them at the same moments only:
    // they take turns of their own. So at most one of each pair is eligible.
    logic [2:0] odd_was_last_q, odd, other_odd;
    logic [2:0] ahead, other_ahead, any, other_any, win, other_win;
    logic [3*MetaW-1:0] pair_meta, other_meta;
    // Channels behind the last choice, and behind the next.
    logic [5:0] mask_q, next_mask, next_other_mask;

    for (genvar c = 0; c < 3; c++) begin : g_pair
      assign any[c] = able[2*c] || able[2*c+1];
      assign odd[c] = able[2*c+1] && !(able[2*c] && odd_was_last_q[c]);
      assign ahead[c] = odd[c] ? mask_q[2*c+1] : able[2*c] && mask_q[2*c];
      assign other_any[c] = other[2*c] || other[2*c+1];
      assign other_odd[c] = other[2*c+1] && !(other[2*c] && odd_was_last_q[c]);
      assign other_ahead[c] = other_odd[c] ? mask_q[2*c+1] : other[2*c] && mask_q[2*c];
    end

    // The first of those behind the pointer, or of all.
    always_comb begin
      win = '0;
      other_win = '0;
      pair_meta = '0;
      other_meta = '0;
      next = '0;
      next_other = '0;
      next_meta = '0;
      next_other_meta = '0;
      next_mask = '0;
      next_other_mask = '0;
      if (`ALCOR_AWAKE(able != '0)) begin
        win[0] = ahead[0] || (any[0] && ahead == '0);
        win[1] = !ahead[0] && (ahead[1] || (any[1] && !any[0] && !ahead[2]));
        win[2] = ahead[1:0] == '0 && (ahead[2] || (any[2] && any[1:0] == '0));
        other_win[0] = other_ahead[0] || (other_any[0] && other_ahead == '0);
        other_win[1] = !other_ahead[0]
            && (other_ahead[1] || (other_any[1] && !other_any[0] && !other_ahead[2]));
        other_win[2] = other_ahead[1:0] == '0
            && (other_ahead[2] || (other_any[2] && other_any[1:0] == '0));
        for (int unsigned c = 0; c < 3; c++) begin
          next[2*c] = win[c] && !odd[c];
          next[2*c+1] = win[c] && odd[c];
          next_other[2*c] = other_win[c] && !other_odd[c];
          next_other[2*c+1] = other_win[c] && other_odd[c];
          if (odd[c]) pair_meta[c*MetaW+:MetaW] = (offer_q && chan_q[2*c+1]) ? second_q[2*c+1] : first_q[2*c+1];
          else pair_meta[c*MetaW+:MetaW] = (offer_q && chan_q[2*c]) ? second_q[2*c] : first_q[2*c];
          other_meta[c*MetaW+:MetaW] = other_odd[c] ? first_q[2*c+1] : first_q[2*c];
          if (win[c]) next_meta |= pair_meta[c*MetaW+:MetaW];
          if (other_win[c]) next_other_meta |= other_meta[c*MetaW+:MetaW];
        end
        // Behind the choice.
        next_mask = {
          win != '0 && !(win[2] && odd[2]), win[1] || win[0],
          win[0] || (win[1] && !odd[1]), win[0], win[0] && !odd[0], 1'b0
        };
        next_other_mask = {
          other_win != '0 && !(other_win[2] && other_odd[2]), other_win[1] || other_win[0],
          other_win[0] || (other_win[1] && !other_odd[1]), other_win[0], other_win[0] && !other_odd[0], 1'b0
        };
      end
    end

    always_ff @(posedge clk_i) begin
      if (!rst_ni) odd_was_last_q <= '0;
      else if (grant) odd_was_last_q[class_q] <= chan_index_q[0];
    end

    always_ff @(posedge clk_i) begin
      if (!rst_ni) mask_q <= '0;
      else if (able != '0 && load) mask_q <= take ? next_mask : next_other_mask;
    end
  end else begin : g_no_pair
    assign next = able;
    assign next_other = other;
    assign next_meta = (offer_q && chan_q[0]) ? second_q[0] : first_q[0];
    assign next_other_meta = first_q[0];
  end

  // The grant comes late in the cycle: both cases are worked out before it.
  logic keep;
  logic [ChanW-1:0] next_index, next_other_index;
  logic [1:0] next_class, next_other_class;

  always_comb begin
    next_index = '0;
    next_other_index = '0;
    next_class = 2'(CLASS);
    next_other_class = 2'(CLASS);
    if (`ALCOR_AWAKE(able != '0)) begin
      for (int unsigned a = 0; a < CHANNELS; a++) begin
        if (next[a]) next_index |= ChanW'(a);
        if (next_other[a]) next_other_index |= ChanW'(a);
      end
      if (CHANNELS > 1) begin
        next_class = 2'(next_index >> 1);
        next_other_class = 2'(next_other_index >> 1);
      end
    end
  end

  assign take = !offer_q || grant;
  assign keep = other == '0 || (ok_q && still_ok && ((old_q | next_up_q) & chan_q) != '0);
  assign load = take || !keep;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      offer_q <= 1'b0;
      ok_q <= 1'b0;
    end else if (`ALCOR_AWAKE(offer_q || able != '0)) begin
      if (load) begin
        offer_q <= take ? able != '0 : 1'b1;
        ok_q <= take ? able != '0 : 1'b1;
      end else begin
        ok_q <= still_ok;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (able != '0 && load) begin
      chan_q <= take ? next : next_other;
      meta_q <= take ? next_meta : next_other_meta;
      chan_index_q <= take ? next_index : next_other_index;
      class_q <= take ? next_class : next_other_class;
    end
  end

  assign pop = grant ? chan_q : '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      mine_q <= '0;
      next_up_q <= '0;
    end else if (`ALCOR_AWAKE(grant || reserve_i != '0)) begin
      mine_q <= (mine_q & ~pop) | (meta_q[5] ? '0 : pop);
      // A packet that leaves in the cycle in which it gets the reservation does not need it.
      next_up_q <= (next_up_q | reserve_i) & ~pop;
    end
  end

  assign try_o = offer_q && ok_q && meta_q[3:0] != NoOutput;
  assign try_out_o = meta_q[3:0];
  assign try_vc_o = {class_q, meta_q[4]};
  assign try_bit_o = (CHANNELS > 1) && chan_index_q[0];
  assign try_last_o = meta_q[5];
  assign try_next_o = (next_up_q & chan_q) != '0;
  assign next_o = next_up_q;

  // ---------------------------------------------------------------------------------------------
  // Phits
  // ---------------------------------------------------------------------------------------------
  if (CHANNELS == 1) begin : g_one_ring
    assign write_addr = write_ptr_q[0];
    assign read_addr  = read_ptr_q[0];
    assign third_addr = read_ptr_q[0] + AddrW'(2);
  end else begin : g_rings
    logic [PtrW-1:0] third_ptr;

    always_comb begin
      write_addr = '0;
      if (`ALCOR_AWAKE(push_i)) write_addr = {push_vc_i, write_ptr_q[push_vc_i]};
    end

    always_comb begin
      read_addr  = '0;
      third_ptr  = '0;
      third_addr = '0;
      if (`ALCOR_AWAKE(offer_q)) begin
        read_addr  = {chan_index_q, read_ptr_q[chan_index_q]};
        third_ptr  = read_ptr_q[chan_index_q] + PtrW'(2);
        third_addr = {chan_index_q, third_ptr};
      end
    end
  end

  always_comb begin
    third = '0;
    if (`ALCOR_AWAKE(offer_q)) third = meta_ram_q[third_addr];
  end

  ram_sdp #(
      .WIDTH    (WIDTH),
      .DEPTH    (CHANNELS * DEPTH),
      .LANES    (1),
      .BLOCK_RAM(BLOCK_RAM)
  ) u_phits (
      .clk_i  (clk_i),
      .we_i   (push_i),
      .waddr_i(write_addr),
      .wdata_i(push_phit_i),
      .re_i   (offer_q),
      .raddr_i(read_addr),
      .rdata_o(data_o)
  );

  // ---------------------------------------------------------------------------------------------
  // Credits
  // ---------------------------------------------------------------------------------------------
  logic credit_q;
  logic [2:0] credit_vc_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) credit_q <= 1'b0;
    else credit_q <= grant;
  end

  always_ff @(posedge clk_i) begin
    if (grant) credit_vc_q <= 3'(chan_index_q);
  end

  assign credit_o = credit_q;
  assign credit_vc_o = credit_vc_q;
  assign drop_o = offer_q && meta_q[3:0] == NoOutput && meta_q[5];
  assign empty_o = first_valid_q == '0;

  // Of the channel that a phit comes to or leaves, not of all: that costs simulations less.
  logic [ChanW-1:0] push_index;
  assign push_index = ChanW'(push_vc_i);

  `ALCOR_IMPLIES(a_credit_kept, push_i, count_q[push_index] != (PtrW + 1)'(DEPTH))
  `ALCOR_IMPLIES(a_count_first, push_i, first_valid_q[push_index] == (count_q[push_index] != '0))
  `ALCOR_IMPLIES(a_pop_has_phit, grant, count_q[chan_index_q] != '0)
  `ALCOR_IMPLIES(a_count_second, grant,
                 second_valid_q[chan_index_q] == (count_q[chan_index_q] > (PtrW + 1)'(1)))
  `ALCOR_IMPLIES(a_channel_exists, push_i, int'(push_vc_i) < int'(CHANNELS))
  `ALCOR_IMPLIES(a_offer_onehot, offer_q, chan_q == CHANNELS'(1) << chan_index_q)
  `ALCOR_IMPLIES(a_offer_is_first, offer_q, (chan_q & first_valid_q) != '0)
  `ALCOR_IMPLIES(a_grant_if_tried, grant_i, try_o)
  `ALCOR_ASSERT(a_reserved_once, (reserve_i & next_up_q) == '0)
  `ALCOR_ASSERT(a_next_has_not_begun, (next_up_q & mine_q) == '0)
  `ALCOR_ASSERT(a_next_waits, (next_up_q & ~first_valid_q) == '0)

`ifdef ALCOR_COVERAGE
  if (CHANNELS == 6) begin : g_cover_link
    `ALCOR_COVER(c_full_link_requests, count_q[0][PtrW] || count_q[1][PtrW])
    `ALCOR_COVER(c_full_link_replies, count_q[2][PtrW] || count_q[3][PtrW])
    `ALCOR_COVER(c_full_link_collectives, count_q[4][PtrW] || count_q[5][PtrW])
  end else begin : g_cover_local
    `ALCOR_COVER(c_full_link_input_of_the_board, count_q[0][PtrW])
  end
`endif

endmodule

`include "assertions.svh"
`include "router_types.svh"
`include "simulation.svh"

/// Input of the switch's router: the buffers of its channels, and the choice of the one that asks for
/// an output next.
///
/// Phits of all channels lie in one RAM, a ring of DEPTH places for each channel. The ways of the phits
/// lie beside it in LUT RAM, and those of the first two phits of each channel in registers, so that a channel can send a phit in every cycle.
///
/// Each cycle the input picks, round robin, a channel whose phit could leave, and offers it to the
/// allocator in the next cycle. An offer that is not granted gives way to another channel if there is one,
/// so a channel never waits because of a neighbour. The one exception, for a few cycles only: an offer
/// that is old or has a reservation stays as long as it can be granted, since an offer that comes and goes
/// could be overlooked for ever.
///
/// A phit pushed in cycle t is offered in t+2, if granted pops then, and is on `data_o` in t+3.
module switch_router_input #(
    /// Link ports of the router.
    parameter int unsigned LINKS = 6,
    /// Stages of the collective unit.
    parameter int unsigned STAGES = 3,
    /// Channels: 6 for a link, 1 for a local port.
    parameter int unsigned CHANNELS = 6,
    /// Class of the one channel of a local port: 0 request, 1 reply, 2 collective.
    parameter int unsigned CLASS = 0,
    /// Phits for each channel, a power of two, 2 or more.
    parameter int unsigned DEPTH = 256,
    /// Bits of a phit with header and position.
    parameter int unsigned WIDTH = 336,
    /// 1: phits in block RAM; 0: in LUT RAM.
    parameter bit BLOCK_RAM = 1'b1,
    /// Outputs of the router: links, requests, replies, stages; derived, not to be set.
    localparam int unsigned Ports = LINKS + 2 + STAGES,
    /// Numbers of a class's outlets; derived, not to be set.
    localparam int unsigned Outlets = 2 * LINKS + STAGES + 1,
    /// Bits of such a number; derived, not to be set.
    localparam int unsigned OutletW = $clog2(Outlets)
) (
    /// Clock.
    input  logic                    clk_i,
    /// Synchronous reset, active low; empties the buffers.
    input  logic                    rst_ni,
    /// Periodic pulse: a phit that is first in its channel for two pulses is old.
    input  logic                    tick_i,
    /// A phit arrives. The sender's credits guarantee room for it.
    input  logic                    push_i,
    /// Channel of the phit; 0 with one channel.
    input  logic [2:0]              push_vc_i,
    /// The phit.
    input  logic [WIDTH-1:0]        push_phit_i,
    /// Way of the phit, a way_t.
    input  logic [OutletW:0] push_way_i,
    /// Pulse: a phit left, and its place is free.
    output logic                    credit_o,
    /// Channel of that phit.
    output logic [2:0]              credit_vc_o,
    /// By class: state of its outlets, an outlets_t.
    input  logic [2:0][4*Outlets-1:0] outlets_i,
    /// By class and outlet: packets wait to begin at the output.
    input  logic [2:0][Outlets-1:0] awaited_i,
    /// By output: a packet waits here to begin there.
    output logic [Ports-1:0] await_o,
    /// An offer to the allocator, an offer_t.
    output logic [OutletW+5:0] offer_o,
    /// The offer is granted.
    input  logic                    grant_i,
    /// In the cycle after the grant: the phit.
    output logic [WIDTH-1:0]        data_o,
    /// By channel: a packet waits to begin, long or for a channel that others keep, and nothing is reserved for it.
    output logic [5:0]              want_o,
    /// By channel: outlet of the first phit.
    output logic [5:0][OutletW-1:0] want_outlet_o,
    /// By channel, pulse: the outlet of the first phit is reserved for it.
    input  logic [5:0]              reserve_i,
    /// By channel: has a reservation.
    output logic [5:0]              next_o,
    /// Pulse: a packet was dropped.
    output logic                    drop_o,
    /// No phit is held.
    output logic                    empty_o
);

  `ALCOR_CHECK_PARAM(g_check_channels, CHANNELS == 6 || CHANNELS == 1,
                     "switch_router_input: CHANNELS must be 6 or 1")
  `ALCOR_CHECK_PARAM(g_check_depth, DEPTH >= 2 && (DEPTH & (DEPTH - 1)) == 0,
                     "switch_router_input: DEPTH must be a power of two, 2 or more")

  localparam int unsigned PtrW = $clog2(DEPTH);
  localparam int unsigned ChanW = (CHANNELS > 1) ? 3 : 1;
  localparam int unsigned AddrW = $clog2(CHANNELS * DEPTH);
  localparam int unsigned WayW = OutletW + 1;
  localparam int unsigned PortW = $clog2(Ports);
  localparam logic [OutletW-1:0] Nowhere = OutletW'(Outlets - 1);

  `ALCOR_ROUTER_TYPES(Outlets)

  // ---------------------------------------------------------------- channels
  // `first` is the way of the oldest phit of a channel, `second` of the one behind it. State of all channels lies in
  // vectors that change only with a phit: an idle input costs a simulation little.
  logic [CHANNELS-1:0] first_valid_q, second_valid_q;
  logic [CHANNELS-1:0][WayW-1:0] first_q, second_q;
  logic [CHANNELS-1:0][PtrW-1:0] write_ptr_q, read_ptr_q;
  logic [CHANNELS-1:0][PtrW:0] count_q;
  logic [CHANNELS-1:0] seen_q, old_q;
  // A packet is under way, which keeps its output's channel.
  logic [CHANNELS-1:0] mine_q;
  // The output's channel is reserved for the packet that is first.
  logic [CHANNELS-1:0] next_up_q;

  logic [CHANNELS-1:0] push, pop;
  logic grant;

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
  logic [WayW-1:0] way_ram_q[CHANNELS*DEPTH];
  logic [AddrW-1:0] write_addr, read_addr, third_addr;
  logic [WayW-1:0] third;

  always_ff @(posedge clk_i) begin
    if (push_i) way_ram_q[write_addr] <= push_way_i;
  end

  always_ff @(posedge clk_i) begin
    if (`ALCOR_AWAKE(push_i || grant)) begin
      for (int unsigned a = 0; a < CHANNELS; a++) begin
        if (pop[a]) begin
          first_q[a]  <= second_valid_q[a] ? second_q[a] : push_way_i;
          second_q[a] <= (count_q[a] > (PtrW + 1)'(2)) ? third : push_way_i;
        end else if (push[a]) begin
          if (!first_valid_q[a]) first_q[a] <= push_way_i;
          if (!second_valid_q[a]) second_q[a] <= push_way_i;
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

  // ---------------------------------------------------------------- first two phits of each channel
  // The first phit could leave. The phit behind could leave if the first one does in this cycle.
  logic [CHANNELS-1:0] first_able, second_able;
  // The outlet of the first phit is kept by a packet or reserved; the phit is to be dropped.
  logic [CHANNELS-1:0] closed, nowhere;
  logic [CHANNELS-1:0][PortW-1:0] first_port;
  logic [CHANNELS-1:0][OutletW-1:0] first_outlet;

  for (genvar a = 0; a < CHANNELS; a++) begin : g_first
    localparam int unsigned Class = (CHANNELS == 1) ? CLASS : a / 2;
    way_t first, second;
    outlets_t outlets;
    logic unlocked, unreserved;

    assign first = first_q[a];
    assign second = second_q[a];
    assign outlets = outlets_i[Class];
    assign first_outlet[a] = first.outlet;
    assign nowhere[a] = first.outlet == Nowhere;
    // Local outputs of a class are behind those of the classes below.
    assign first_port[a] = (first.outlet < OutletW'(2 * LINKS)) ? PortW'(first.outlet >> 1)
                                                                : PortW'(first.outlet) - PortW'(LINKS - Class);

    always_comb begin
      unlocked = 1'b0;
      unreserved = 1'b0;
      closed[a] = 1'b0;
      first_able[a] = 1'b0;
      second_able[a] = 1'b0;
      if (`ALCOR_AWAKE(first_valid_q[a])) begin
        unlocked = outlets.unlocked[first.outlet];
        unreserved = outlets.unreserved[first.outlet];
        closed[a] = !unlocked || !unreserved;
        first_able[a] = first_valid_q[a] && outlets.credits[first.outlet]
            && (!closed[a] || mine_q[a] || (next_up_q[a] && unlocked));
        // The phit may follow where the first one goes if the packet goes on, and where it begins one if no other
        // packet waits.
        second_able[a] = second_valid_q[a] && (outlets.open[second.outlet]
            || (outlets.credits[second.outlet]
                && (!first.last || (second.outlet == first.outlet && unreserved && !awaited_i[Class][first.outlet]))));
      end
    end
  end

  always_comb begin
    want_o = '0;
    if (`ALCOR_AWAKE(first_valid_q != '0)) begin
      for (int unsigned a = 0; a < CHANNELS; a++) begin
        want_o[a] = first_valid_q[a] && !mine_q[a] && !next_up_q[a] && !nowhere[a]
            && (old_q[a] || closed[a]);
      end
    end
  end

  assign want_outlet_o = (6 * OutletW)'(first_outlet);

  // ---------------------------------------------------------------- pick
  // The offer.
  logic offer_q, ok_q;
  logic [CHANNELS-1:0] chan;
  logic [ChanW-1:0] chan_index;
  // Way of the phit on offer, which is the first of its channel.
  way_t way_q;
  logic [1:0] offer_class;

  logic [CHANNELS-1:0] able, other;
  logic still_ok, drops;

  assign drops = offer_q && way_q.outlet == Nowhere;
  assign grant = grant_i || drops;
  assign offer_class = (CHANNELS == 1) ? 2'(CLASS) : 2'(chan_index >> 1);

  // Of the channel on offer the phit behind is looked at, as if the offer were granted.
  assign able = offer_q ? (first_able & ~chan) | (second_able & chan) : first_able;
  assign still_ok = (first_able & chan) != '0;

  // `other` is for the case that the offer is not granted.
  assign other = able & ~chan;

  always_comb begin
    await_o = '0;
    if (`ALCOR_AWAKE(first_valid_q != '0)) begin
      for (int unsigned a = 0; a < CHANNELS; a++) begin
        // A phit that is on offer and may go is about to leave, and waits for no other phit.
        if (first_valid_q[a] && !mine_q[a] && !nowhere[a] && !(offer_q && ok_q && chan[a])) begin
          await_o[first_port[a]] = 1'b1;
        end
      end
    end
  end

  // The choice: with the offer granted, or none made, and with it not granted.
  logic [WayW-1:0] next_way, next_other_way;
  logic take, load;
  // Of the channel on offer, the phit behind is the one to choose.
  logic [CHANNELS-1:0][WayW-1:0] ways;

  always_comb begin
    ways = first_q;
    if (offer_q) begin
      for (int unsigned a = 0; a < CHANNELS; a++) begin
        if (chan[a]) ways[a] = second_q[a];
      end
    end
  end

  if (CHANNELS == 6) begin : g_pairs
    // Of each class, the channel that was chosen last; channels behind the last choice.
    logic [2:0] odd_was_last_q;
    logic [5:0] next, next_other, chan_q;
    logic [2:0] next_index, next_other_index, chan_index_q;
    logic [5:0] mask_q, next_mask, next_other_mask;

    switch_router_choice #(
        .WAY_W(WayW)
    ) u_next (
        .able_i        (able),
        .way_i         (ways),
        .odd_was_last_i(odd_was_last_q),
        .mask_i        (mask_q),
        .next_o        (next),
        .way_o         (next_way),
        .mask_o        (next_mask)
    );

    switch_router_choice #(
        .WAY_W(WayW)
    ) u_next_other (
        .able_i        (other),
        .way_i         (first_q),
        .odd_was_last_i(odd_was_last_q),
        .mask_i        (mask_q),
        .next_o        (next_other),
        .way_o         (next_other_way),
        .mask_o        (next_other_mask)
    );

    always_ff @(posedge clk_i) begin
      if (!rst_ni) odd_was_last_q <= '0;
      else if (grant) odd_was_last_q[offer_class] <= chan_index_q[0];
    end

    always_comb begin
      next_index = '0;
      next_other_index = '0;
      if (`ALCOR_AWAKE(able != '0)) begin
        for (int unsigned a = 0; a < 6; a++) begin
          if (next[a]) next_index |= 3'(a);
          if (next_other[a]) next_other_index |= 3'(a);
        end
      end
    end

    always_ff @(posedge clk_i) begin
      if (able != '0 && load) begin
        chan_q <= take ? next : next_other;
        chan_index_q <= take ? next_index : next_other_index;
      end
    end

    assign chan = chan_q;
    assign chan_index = chan_index_q;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) mask_q <= '0;
      else if (able != '0 && load) mask_q <= take ? next_mask : next_other_mask;
    end
  end else begin : g_no_pair
    assign chan = 1'b1;
    assign chan_index = 1'b0;
    assign next_way = ways[0];
    assign next_other_way = first_q[0];
  end

  // The grant comes late in the cycle: both cases are worked out before it.
  logic keep;

  assign take = !offer_q || grant;
  assign keep = other == '0 || (ok_q && still_ok && ((old_q | next_up_q) & chan) != '0);
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
    if (able != '0 && load) way_q <= take ? next_way : next_other_way;
  end

  assign pop = grant ? chan : '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      mine_q <= '0;
      next_up_q <= '0;
    end else if (`ALCOR_AWAKE(grant || reserve_i != '0)) begin
      mine_q <= (mine_q & ~pop) | (way_q.last ? '0 : pop);
      // A packet that leaves in the cycle in which it gets the reservation does not need it.
      next_up_q <= (next_up_q | reserve_i[CHANNELS-1:0]) & ~pop;
    end
  end

  assign offer_o = {
    offer_q && ok_q && !drops, offer_class, (CHANNELS > 1) && chan_index[0], (next_up_q & chan) != '0, way_q
  };
  assign next_o = 6'(next_up_q);

  // ---------------------------------------------------------------- phits
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
        read_addr  = {chan_index, read_ptr_q[chan_index]};
        third_ptr  = read_ptr_q[chan_index] + PtrW'(2);
        third_addr = {chan_index, third_ptr};
      end
    end
  end

  always_comb begin
    third = '0;
    if (`ALCOR_AWAKE(offer_q)) third = way_ram_q[third_addr];
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

  // ---------------------------------------------------------------- credits
  logic credit_q;
  logic [2:0] credit_vc_q;

  always_ff @(posedge clk_i) credit_q <= rst_ni ? grant : 1'b0;

  always_ff @(posedge clk_i) begin
    if (grant) credit_vc_q <= 3'(chan_index);
  end

  assign credit_o = credit_q;
  assign credit_vc_o = credit_vc_q;
  assign drop_o = drops && way_q.last;
  assign empty_o = first_valid_q == '0;

  // Of the channel that a phit comes to or leaves, not of all: that costs simulations less.
  logic [ChanW-1:0] push_index;
  assign push_index = ChanW'(push_vc_i);

  `ALCOR_IMPLIES(a_credit_kept, push_i, count_q[push_index] != (PtrW + 1)'(DEPTH))
  `ALCOR_IMPLIES(a_count_first, push_i, first_valid_q[push_index] == (count_q[push_index] != '0))
  `ALCOR_IMPLIES(a_pop_has_phit, grant, count_q[chan_index] != '0)
  `ALCOR_IMPLIES(a_count_second, grant,
                 second_valid_q[chan_index] == (count_q[chan_index] > (PtrW + 1)'(1)))
  `ALCOR_IMPLIES(a_channel_exists, push_i, int'(push_vc_i) < int'(CHANNELS))
  `ALCOR_IMPLIES(a_offer_onehot, offer_q, chan == CHANNELS'(1) << chan_index)
  `ALCOR_IMPLIES(a_offer_is_first, offer_q, (chan & first_valid_q) != '0 && way_q == first_q[chan_index])
  `ALCOR_IMPLIES(a_grant_if_tried, grant_i, offer_q && ok_q && !drops)
  `ALCOR_ASSERT(a_reserved_once, (reserve_i[CHANNELS-1:0] & next_up_q) == '0)
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

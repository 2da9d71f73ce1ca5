`include "assertions.svh"
`include "router_types.svh"
`include "simulation.svh"

/// Allocation of the router's outputs: the phit that each output sends in this cycle, the packet
/// that keeps a channel of an output until it has passed, and the credits.
///
/// Each input offers a phit whose channel was open and had credit a cycle ago. This block checks
/// the offers against what has changed since (at most one phit went to each output); then each
/// output takes turns among the offers. A packet gets its channel with its first phit, in the same
/// cycle as the switch: the winner of the switch has the channel.
///
/// A local output has one channel, that of its class with dateline bit 0. State has a bit for each outlet: those of
/// class 0, then those of class 1 and 2, each class by the numbers of router_types.svh.
module switch_router_allocator #(
    /// Link ports.
    parameter int unsigned LINKS = 6,
    /// Stages of the collective unit.
    parameter int unsigned STAGES = 3,
    /// Credits of a link's channel.
    parameter int unsigned VC_DEPTH = 256,
    /// Credits of a local output.
    parameter int unsigned LOCAL_DEPTH = 4,
    /// Inputs, and as many outputs: links, requests, replies, stages; derived, not to be set.
    localparam int unsigned Ports = LINKS + 2 + STAGES,
    /// Bits of a port's number; derived, not to be set.
    localparam int unsigned PortW = $clog2(Ports),
    /// Numbers of a class's outlets; derived, not to be set.
    localparam int unsigned Outlets = 2 * LINKS + STAGES + 1,
    /// Bits of such a number; derived, not to be set.
    localparam int unsigned OutletW = $clog2(Outlets),
    /// Outlets of all classes; derived, not to be set.
    localparam int unsigned All = 6 * LINKS + 2 + STAGES
) (
    /// Clock.
    input  logic                        clk_i,
    /// Synchronous reset, active low; all channels are free, with all their credits.
    input  logic                        rst_ni,
    /// In this cycle no link output is given away.
    input  logic                        stall_links_i,
    /// By input: an offer, an offer_t.
    input  logic [Ports-1:0][OutletW+5:0] offer_i,
    /// By input: the offer is granted.
    output logic [Ports-1:0]            grant_o,
    /// Outputs, in the cycle after the grant: a phit passes.
    output logic [Ports-1:0]            pass_o,
    /// Outputs: the input that the phit comes from.
    output logic [Ports-1:0][PortW-1:0] pass_from_o,
    /// Link outputs: the channel of the phit.
    output logic [LINKS-1:0][2:0]       pass_vc_o,
    /// Outputs: a credit comes back.
    input  logic [Ports-1:0]            credit_i,
    /// Link outputs: the channel of the credit.
    input  logic [LINKS-1:0][2:0]       credit_vc_i,
    /// By class: state of its outlets, an outlets_t.
    output logic [2:0][4*Outlets-1:0]   outlets_o,
    /// By outlet: the outlet is reserved.
    output logic [All-1:0]              reserved_o,
    /// By outlet, pulse: the outlet is reserved for a packet.
    input  logic [All-1:0]              reserve_i,
    /// By outlet: the reservation, if there is one, ends.
    input  logic [All-1:0]              cancel_i
);

  `ALCOR_ROUTER_TYPES(Outlets)

  // By input: the offer.
  logic [Ports-1:0] try, try_bit, try_last, try_next;
  logic [Ports-1:0][1:0] try_class;
  logic [Ports-1:0][OutletW-1:0] try_outlet;
  // Channel, if the outlet is that of a link.
  logic [Ports-1:0][2:0] try_vc;

  for (genvar i = 0; i < Ports; i++) begin : g_offer
    offer_t offer;
    assign offer         = offer_i[i];
    assign try[i]        = offer.valid;
    assign try_class[i]  = offer.class_;
    assign try_outlet[i] = offer.way.outlet;
    assign try_vc[i]     = {offer.class_, offer.way.outlet[0]};
    assign try_bit[i]    = offer.dateline;
    assign try_last[i]   = offer.way.last;
    assign try_next[i]   = offer.next;
  end

  // Outlets of a class below the highest one.
  localparam int unsigned Numbers = 2 * LINKS + 1;
  localparam int unsigned CountW = $clog2(VC_DEPTH + LOCAL_DEPTH + 1);

  // State is in vectors over all outputs, or over all channels of an output, and is touched only when a
  // phit or a credit passes: an idle router costs a simulation little.
  logic [All-1:0] credits_q, locked_q, reserved_q;
  logic [Ports-1:0][Ports-1:0] request, given;
  // By channel and input: an offer is for it.
  logic [5:0][Ports-1:0] trys;

  // Phits to each output, in this cycle and in the cycle before.
  logic [Ports-1:0] taken, taken_bit, taken_last, taken_spends;
  logic [LINKS-1:0][2:0] taken_vc;
  logic [Ports-1:0][PortW-1:0] taken_from;
  logic [Ports-1:0] pass_q, pass_bit_q, pass_locked_q, pass_spent_q;
  logic [LINKS-1:0][2:0] pass_vc_q;
  logic [Ports-1:0][PortW-1:0] pass_from_q;
  logic [Ports-1:0][Ports-1:0] pass_given_q;

  // By outlet: a phit goes, and what of it; a credit comes; the last credit goes.
  logic [All-1:0] take, take_last, take_next, give, spent;

  always_comb begin
    trys = '0;
    if (`ALCOR_AWAKE(try != '0)) begin
      for (int unsigned i = 0; i < Ports; i++) begin
        for (int unsigned v = 0; v < 6; v++) trys[v][i] = try_vc[i] == 3'(v);
      end
    end
  end

  for (genvar x = 0; x < Ports; x++) begin : g_output
    // The class of a local output is fixed: 0 request, 1 reply, else collective.
    localparam int unsigned Local = (x < LINKS) ? 0 : x - LINKS;
    localparam int unsigned Class = (Local < 2) ? Local : 2;
    localparam int unsigned Depth = (x < LINKS) ? VC_DEPTH : LOCAL_DEPTH;
    localparam int unsigned Link = (x < LINKS) ? x : 0;
    // Of a local output: its number in the class, and its place among all outlets.
    localparam int unsigned Outlet = 2 * LINKS + Local - Class;
    localparam int unsigned Place = Class * Numbers + Outlet;

    // An offer is out of date if the phit before took its channel's last credit, or began a packet
    // of another input channel there.
    logic [Ports-1:0] goes, same_vc;

    always_comb begin
      goes = '0;
      same_vc = '0;
      request[x] = '0;
      if (`ALCOR_AWAKE(try != '0)) begin
        for (int unsigned i = 0; i < Ports; i++) begin
          goes[i] = (x < LINKS) ? try_outlet[i] >> 1 == OutletW'(x)
                                : try_outlet[i] == OutletW'(Outlet) && try_class[i] == 2'(Class);
          same_vc[i] = x >= LINKS || pass_vc_q[Link] == try_vc[i];
          request[x][i] = try[i] && goes[i] && !(pass_q[x] && same_vc[i]
              && (pass_spent_q[x] || (pass_locked_q[x] && !(pass_given_q[x][i] && pass_bit_q[x] == try_bit[i]))));
        end
      end
    end

    // ---------------------------------------------------------------- turns
    // They are taken among the channels of the output, and in each channel among the inputs: with one
    // pointer for all, what passes on one channel could decide over and over who is next on another.
    logic [Ports-1:0] next_asks, next_behind;
    logic [Ports-1:0] turn, urgent, upto, upto_turn, upto_urgent;
    logic [Ports-1:0] winner;
    logic [2:0] vc;
    logic [PortW-1:0] from;
    logic last, from_bit, ends_reservation;

    // Inputs that may request a link in this cycle.
    logic [Ports-1:0] asks;

    assign asks = (stall_links_i && x < LINKS) ? '0 : request[x];

    // The lowest of those behind the last of the channel whose turn it is, else of those of that channel,
    // else of all. What is known of the winner's phit comes from the offers, side by side with their choice.
    always_comb begin
      turn = '0;
      urgent = '0;
      upto = '0;
      upto_turn = '0;
      upto_urgent = '0;
      vc = '0;
      from = '0;
      last = 1'b0;
      from_bit = 1'b0;
      ends_reservation = 1'b0;
      winner = '0;
      if (`ALCOR_AWAKE(asks != '0)) begin
        turn = asks & next_asks;
        urgent = turn & next_behind;
        // Bit i: some bit up to i. In this form, without a carry, it takes two levels of LUTs.
        upto = asks | asks << 1;
        upto |= upto << 2;
        upto |= upto << 4;
        upto |= upto << 8;
        upto_turn = turn | turn << 1;
        upto_turn |= upto_turn << 2;
        upto_turn |= upto_turn << 4;
        upto_turn |= upto_turn << 8;
        upto_urgent = urgent | urgent << 1;
        upto_urgent |= upto_urgent << 2;
        upto_urgent |= upto_urgent << 4;
        upto_urgent |= upto_urgent << 8;
        winner = urgent & ~(upto_urgent << 1);
        if (!upto_urgent[Ports-1]) winner |= turn & ~(upto_turn << 1);
        if (!upto_turn[Ports-1]) winner |= asks & ~(upto << 1);
        for (int unsigned i = 0; i < Ports; i++) begin
          if (winner[i]) begin
            vc |= try_vc[i];
            from |= PortW'(i);
          end
        end
        last = (winner & try_last) != '0;
        from_bit = (winner & try_bit) != '0;
        ends_reservation = (winner & try_next) != '0;
      end
    end

    // Behind the winner.
    logic [Ports-1:0] behind_winner;

    always_comb begin
      behind_winner = '0;
      if (`ALCOR_AWAKE(asks != '0)) begin
        behind_winner = winner << 1;
        behind_winner |= behind_winner << 1;
        behind_winner |= behind_winner << 2;
        behind_winner |= behind_winner << 4;
        behind_winner |= behind_winner << 8;
      end
    end

    assign given[x] = winner;
    assign taken[x] = asks != '0;
    assign taken_from[x] = from;
    assign taken_last[x] = last;
    assign taken_bit[x] = from_bit;

    if (x < LINKS) begin : g_vc_turns
      assign taken_vc[x] = vc;

      logic [5:0] vc_asks, vc_mask_q;
      logic [5:0] vc_behind, vc_win;
      logic [2:0] vc_next_d, vc_next_q;
      // Inputs behind the last that had each channel.
      logic [6*Ports-1:0] mask_q;

      always_comb begin
        next_asks = '0;
        next_behind = '0;
        if (`ALCOR_AWAKE(request[x] != '0)) begin
          for (int unsigned i = 0; i < Ports; i++) next_asks[i] = try_vc[i] == vc_next_q;
          for (int unsigned v = 0; v < 6; v++) begin
            if (vc_next_q == 3'(v)) next_behind |= mask_q[v*Ports+:Ports];
          end
        end
      end

      // The channel whose turn it is next is that of a request of this cycle: most of those that are not
      // granted come again.
      always_comb begin
        vc_asks = '0;
        vc_behind = '0;
        vc_win = '0;
        vc_next_d = '0;
        if (`ALCOR_AWAKE(request[x] != '0)) begin
          for (int unsigned v = 0; v < 6; v++) vc_asks[v] = (request[x] & trys[v]) != '0;
          // The lowest of those behind the last, or of all.
          vc_behind = (vc_asks & vc_mask_q) != '0 ? vc_asks & vc_mask_q : vc_asks;
          vc_win = vc_behind;
          for (int unsigned v = 1; v < 6; v++) begin
            if ((vc_behind & 6'((1 << v) - 1)) != '0) vc_win[v] = 1'b0;
          end
          for (int unsigned v = 0; v < 6; v++) begin
            if (vc_win[v]) vc_next_d |= 3'(v);
          end
        end
      end

      always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
          vc_next_q <= '0;
          vc_mask_q <= '0;
          mask_q <= '0;
        end else if (request[x] != '0) begin
          vc_next_q <= vc_next_d;
          // Behind the one that is next.
          for (int unsigned v = 0; v < 6; v++) begin
            vc_mask_q[v] <= (vc_win & 6'((1 << v) - 1)) != '0;
          end
          for (int unsigned v = 0; v < 6; v++) begin
            if (take[v/2*Numbers+2*x+v%2]) mask_q[v*Ports+:Ports] <= behind_winner;
          end
        end
      end
    end else begin : g_one_vc
      logic [Ports-1:0] mask_q;

      assign next_asks = '1;
      assign next_behind = mask_q;

      always_ff @(posedge clk_i) begin
        if (!rst_ni) mask_q <= '0;
        else if (taken[x]) mask_q <= behind_winner;
      end
    end

    // ---------------------------------------------------------------- credits
    if (x < LINKS) begin : g_link_credits
      logic [6*CountW-1:0] count_q;
      // The count is 1.
      logic [5:0] one_q;

      // Channels that a phit takes, and that a credit is for.
      logic [5:0] vc_taken, vc_give;

      always_comb begin
        vc_taken = '0;
        if (`ALCOR_AWAKE(asks != '0)) begin
          for (int unsigned v = 0; v < 6; v++) vc_taken[v] = (winner & trys[v]) != '0;
        end
      end

      assign vc_give = credit_i[x] ? 6'd1 << credit_vc_i[x] : '0;

      for (genvar v = 0; v < 6; v++) begin : g_channel
        localparam int unsigned At = v / 2 * Numbers + 2 * x + v % 2;

        assign take[At] = vc_taken[v];
        assign give[At] = vc_give[v];
        assign spent[At] = vc_taken[v] && one_q[v] && !vc_give[v];
        assign take_last[At] = last;
        assign take_next[At] = ends_reservation;
      end

      // By input: its phit takes the last credit if it goes.
      logic [Ports-1:0] spends;

      always_comb begin
        spends = '0;
        if (`ALCOR_AWAKE(request[x] != '0)) begin
          for (int unsigned v = 0; v < 6; v++) begin
            if (one_q[v] && !vc_give[v]) spends |= trys[v];
          end
        end
      end
      assign taken_spends[x] = (winner & spends) != '0;

      always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
          count_q <= {6{CountW'(Depth)}};
          one_q   <= {6{Depth == 1}};
        end else if (`ALCOR_AWAKE(taken[x] || credit_i[x])) begin
          for (int unsigned v = 0; v < 6; v++) begin
            // The grant comes late in the cycle, so the sum does not depend on it.
            if (vc_taken[v] != vc_give[v]) begin
              count_q[v*CountW+:CountW] <= count_q[v*CountW+:CountW]
                  + (vc_give[v] ? CountW'(1) : '1);
              one_q[v] <= count_q[v*CountW+:CountW] == (vc_give[v] ? '0 : CountW'(2));
            end
          end
        end
      end

      // Of the channels that a phit or a credit is for, not of all: that costs simulations less.
      logic [CountW-1:0] take_count, give_count;
      assign take_count = count_q[32'(vc)*CountW+:CountW];
      assign give_count = count_q[32'(credit_vc_i[x])*CountW+:CountW];

      `ALCOR_IMPLIES(a_credit_not_overrun, taken[x], take_count != '0)
      `ALCOR_IMPLIES(a_credit_not_twice, credit_i[x],
                     give_count != CountW'(Depth) || vc_taken[credit_vc_i[x]])
      `ALCOR_IMPLIES(a_credits_exact, credit_i[x],
                     credits_q[32'(credit_vc_i[x][2:1])*Numbers+2*x+32'(credit_vc_i[x][0])] == (give_count != '0))
    end else begin : g_local_credits
      logic [CountW-1:0] count_q;
      logic one_q;

      assign take[Place] = taken[x];
      assign give[Place] = credit_i[x];
      assign spent[Place] = taken_spends[x];
      assign take_last[Place] = last;
      assign take_next[Place] = ends_reservation;
      assign taken_spends[x] = taken[x] && one_q && !credit_i[x];

      always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
          count_q <= CountW'(Depth);
          one_q   <= Depth == 1;
        end else if (taken[x] != credit_i[x]) begin
          count_q <= count_q + (credit_i[x] ? CountW'(1) : '1);
          one_q   <= count_q == (credit_i[x] ? '0 : CountW'(2));
        end
      end

      `ALCOR_IMPLIES(a_credit_not_overrun, taken[x], count_q != '0)
      `ALCOR_IMPLIES(a_credit_not_twice, credit_i[x], count_q != CountW'(Depth) || taken[x])
      `ALCOR_IMPLIES(a_credits_exact, taken[x] || credit_i[x],
                     credits_q[Place] == (count_q != '0))
    end
  end

  // ---------------------------------------------------------------- credits, packets, reservations
  always_ff @(posedge clk_i) begin
    if (!rst_ni) credits_q <= '1;
    else if (`ALCOR_AWAKE(taken != '0 || credit_i != '0)) credits_q <= (credits_q & ~spent) | give;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) locked_q <= '0;
    else if (`ALCOR_AWAKE(taken != '0)) locked_q <= (locked_q & ~take) | (take & ~take_last);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) reserved_q <= '0;
    else if (`ALCOR_AWAKE(taken != '0 || reserve_i != '0 || (cancel_i & reserved_q) != '0)) begin
      reserved_q <= (reserved_q & ~(take & take_next) & ~cancel_i) | reserve_i;
    end
  end

  always_ff @(posedge clk_i) pass_q <= rst_ni ? taken : '0;

  always_ff @(posedge clk_i) begin
    if (`ALCOR_AWAKE(taken != '0)) begin
      pass_vc_q <= taken_vc;
      pass_from_q <= taken_from;
      pass_given_q <= given;
      pass_bit_q <= taken_bit;
      pass_locked_q <= ~taken_last;
      pass_spent_q <= taken_spends;
    end
  end

  always_comb begin
    grant_o = '0;
    if (`ALCOR_AWAKE(try != '0)) begin
      for (int unsigned x = 0; x < Ports; x++) grant_o |= given[x];
    end
  end

  assign pass_o = pass_q;
  assign pass_from_o = pass_from_q;
  assign pass_vc_o = pass_vc_q;
  assign reserved_o = reserved_q;

  for (genvar c = 0; c < 3; c++) begin : g_class
    localparam int unsigned Count = (c < 2) ? Numbers : Outlets - 1;
    outlets_t state;

    // Packets that are dropped find their outlet open.
    assign state.credits = {{(Outlets - Count) {1'b1}}, credits_q[c*Numbers+:Count]};
    assign state.unlocked = {{(Outlets - Count) {1'b1}}, ~locked_q[c*Numbers+:Count]};
    assign state.unreserved = {{(Outlets - Count) {1'b1}}, ~reserved_q[c*Numbers+:Count]};
    assign state.open = state.credits & state.unlocked & state.unreserved;
    assign outlets_o[c] = state;
  end

  `ALCOR_ASSERT(a_reserve_once, (reserve_i & reserved_q) == '0)
  for (genvar x = 0; x < Ports; x++) begin : g_check
    `ALCOR_ASSERT(a_given_onehot, $onehot0(given[x]))
    `ALCOR_IMPLIES(a_given_requested, taken[x], (given[x] & ~try) == '0)
  end

`ifdef ALCOR_PROVE_ROUTER_CREDITS
  `include "switch_router_credits_properties.svh"
`endif

endmodule

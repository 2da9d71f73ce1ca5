`include "assertions.svh"

/// Allocation of the router's outputs: who sends on which output in this cycle, who keeps an output's
/// channel until its packet has passed, and the credits.
///
/// The inputs offer a phit each, of which they saw a cycle ago that its channel was open and had credit.
/// What changed since is looked at here (at most one phit went to each output), then each output
/// takes turns among the offers. Channels are allocated with the first phit of a packet, in the same
/// cycle as the switch: the winner of the switch has the channel.
///
/// Channels are numbered by output and channel in 7 bits; a local output has one channel, that of its
/// class with dateline bit 0.
module switch_router_allocator #(
    /// Inputs, and as many outputs.
    parameter int unsigned PORTS = 11,
    /// Those of them, the first, that are links.
    parameter int unsigned LINKS = 6,
    /// Credits of a link's channel.
    parameter int unsigned VC_DEPTH = 256,
    /// Credits of a local output.
    parameter int unsigned LOCAL_DEPTH = 4
) (
    /// Clock.
    input  logic                  clk_i,
    /// Synchronous reset, active low; all channels are free, with all their credits.
    input  logic                  rst_ni,
    /// In this cycle no link output is given away.
    input  logic                  stall_links_i,
    /// Inputs: a phit is offered.
    input  logic [PORTS-1:0]      try_i,
    /// Inputs: its output.
    input  logic [PORTS-1:0][3:0] try_out_i,
    /// Inputs: its channel there.
    input  logic [PORTS-1:0][2:0] try_vc_i,
    /// Inputs: dateline bit of the channel it came on.
    input  logic [PORTS-1:0]      try_bit_i,
    /// Inputs: it is its packet's last.
    input  logic [PORTS-1:0]      try_last_i,
    /// Inputs: its channel there is reserved for it.
    input  logic [PORTS-1:0]      try_next_i,
    /// Inputs: it goes.
    output logic [PORTS-1:0]      grant_o,
    /// Outputs, in the cycle after the grant: a phit passes.
    output logic [PORTS-1:0]      pass_o,
    /// Outputs: the input it comes from.
    output logic [PORTS-1:0][3:0] pass_from_o,
    /// Link outputs: the channel it goes on.
    output logic [LINKS-1:0][2:0] pass_vc_o,
    /// Outputs: a credit comes back.
    input  logic [PORTS-1:0]      credit_i,
    /// Outputs: the channel it is for.
    input  logic [PORTS-1:0][2:0] credit_vc_i,
    /// By output and channel: there is a credit.
    output logic [127:0]          credits_o,
    /// By output and channel: no packet keeps it.
    output logic [127:0]          unlocked_o,
    /// By output and channel: it is not reserved.
    output logic [127:0]          unreserved_o,
    /// The channel `reserve_place_i` is reserved.
    input  logic                  reserve_i,
    /// Output and channel.
    input  logic [6:0]            reserve_place_i,
    /// The reservation of the channel `cancel_place_i` ends.
    input  logic                  cancel_i,
    /// Output and channel.
    input  logic [6:0]            cancel_place_i
);

  // Output 15 is where phits go that are dropped: never short of credit.
  localparam logic [127:0] Nowhere = {8'hff, 120'd0};
  localparam int unsigned CountW = $clog2(VC_DEPTH + LOCAL_DEPTH + 1);

  logic [127:0] credits_q, locked_q, reserved_q;
  logic [PORTS-1:0][PORTS-1:0] request, given;
  logic [PORTS-1:0] taken;

  // What went to each output in the cycle before.
  logic [PORTS-1:0] pass_q;
  logic [PORTS-1:0][2:0] pass_vc_q;
  logic [PORTS-1:0][3:0] pass_from_q;
  logic [PORTS-1:0] pass_spent_q, pass_locked_q, pass_bit_q;
  logic [PORTS-1:0][PORTS-1:0] pass_given_q;

  // An offer is out of date if the phit before took its channel's last credit, or began a packet
  // of another input channel there.
  always_comb begin
    request = '0;
    if (try_i != '0) begin
      for (int unsigned i = 0; i < PORTS; i++) begin
        if (try_i[i]) begin
          for (int unsigned x = 0; x < PORTS; x++) begin
            if (try_out_i[i] == 4'(x)) begin
              request[x][i] = !(pass_q[x] && pass_vc_q[x] == try_vc_i[i]
                  && (pass_spent_q[x]
                      || (pass_locked_q[x]
                          && !(pass_given_q[x][i] && pass_bit_q[x] == try_bit_i[i]))));
            end
          end
        end
      end
    end
  end

  for (genvar x = 0; x < PORTS; x++) begin : g_output
    localparam int unsigned Channels = (x < LINKS) ? 6 : 1;
    // The class of a local output is fixed: 0 request, 1 reply, else collective.
    localparam int unsigned Local = (x < LINKS) ? 0 : x - LINKS;
    localparam int unsigned Class = (Local < 2) ? Local : 2;
    localparam int unsigned FirstVc = (x < LINKS) ? 0 : 2 * Class;
    localparam int unsigned Depth = (x < LINKS) ? VC_DEPTH : LOCAL_DEPTH;

    // Turns are taken among the channels of the output, and in each channel among the inputs: with one
    // pointer for all, what passes on one channel could decide over and over who is next on another.
    logic [Channels*PORTS-1:0] mask;
    logic [2:0] vc_next;
    logic [PORTS-1:0] next_asks, next_mask;
    logic [3*PORTS-1:0] turn;
    logic [PORTS-1:0] winner;
    logic [2:0] vc;
    logic [3:0] from;
    logic last, from_bit, ends_reservation;

    // The lowest bit of {all, those of the channel whose turn it is, those of them behind its last}.
    always_comb begin
      turn = '0;
      vc = '0;
      from = '0;
      last = 1'b0;
      from_bit = 1'b0;
      ends_reservation = 1'b0;
      winner = '0;
      next_asks = '0;
      next_mask = '0;
      if (request[x] != '0 && !(stall_links_i && x < LINKS)) begin
        for (int unsigned i = 0; i < PORTS; i++) next_asks[i] = try_vc_i[i] == vc_next;
        for (int unsigned v = 0; v < Channels; v++) begin
          if (vc_next == 3'(FirstVc + v)) next_mask |= mask[v*PORTS+:PORTS];
        end
        turn = {request[x], request[x] & next_asks, request[x] & next_asks & next_mask};
        turn = turn & -turn;
        winner = turn[PORTS-1:0] | turn[2*PORTS-1:PORTS] | turn[3*PORTS-1:2*PORTS];
        for (int unsigned i = 0; i < PORTS; i++) begin
          if (winner[i]) begin
            vc |= try_vc_i[i];
            from |= 4'(i);
            last |= try_last_i[i];
            from_bit |= try_bit_i[i];
            ends_reservation |= try_next_i[i];
          end
        end
      end
    end

    if (Channels > 1) begin : g_vc_turns
      logic [5:0] vc_asks, vc_mask_q;
      logic [11:0] vc_turn;
      logic [2:0] vc_next_d, vc_next_q;

      // The channel whose turn it is next is that of a request of this cycle: most of those that are not
      // granted come again.
      always_comb begin
        vc_asks = '0;
        vc_turn = '0;
        vc_next_d = vc_next_q;
        if (request[x] != '0) begin
          for (int unsigned i = 0; i < PORTS; i++) begin
            if (request[x][i]) vc_asks[try_vc_i[i]] = 1'b1;
          end
          vc_turn = {vc_asks, vc_asks & vc_mask_q};
          vc_turn = vc_turn & -vc_turn;
          vc_next_d = '0;
          for (int unsigned v = 0; v < 6; v++) begin
            if (vc_turn[v] || vc_turn[v+6]) vc_next_d |= 3'(v);
          end
        end
      end

      always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
          vc_next_q <= '0;
          vc_mask_q <= '0;
        end else if (request[x] != '0) begin
          vc_next_q <= vc_next_d;
          // Behind the one that is next.
          for (int unsigned v = 0; v < 6; v++) vc_mask_q[v] <= 3'(v) > vc_next_d;
        end
      end

      assign vc_next = vc_next_q;
    end else begin : g_one_vc
      assign vc_next = 3'(FirstVc);
    end

    assign given[x] = winner;
    assign taken[x] = winner != '0;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) pass_q[x] <= 1'b0;
      else pass_q[x] <= taken[x];
    end

    always_ff @(posedge clk_i) begin
      if (taken[x]) begin
        pass_vc_q[x] <= vc;
        pass_from_q[x] <= from;
        pass_given_q[x] <= winner;
        pass_bit_q[x] <= from_bit;
        pass_locked_q[x] <= !last;
      end
    end

    // -------------------------------------------------------------------------------------------
    // Channels: their credits, and whether a packet keeps them
    // -------------------------------------------------------------------------------------------
    logic [Channels-1:0] spent;

    for (genvar v = 0; v < Channels; v++) begin : g_channel
      localparam int unsigned Place = 8 * x + FirstVc + v;

      logic [PORTS-1:0] mask_q;
      logic [CountW-1:0] count_q;
      logic one_q;
      logic take, give;

      assign take = taken[x] && vc == 3'(FirstVc + v);
      assign give = credit_i[x] && credit_vc_i[x] == 3'(FirstVc + v);
      assign spent[v] = take && one_q && !give;

      always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
          count_q <= CountW'(Depth);
          one_q <= Depth == 1;
          credits_q[Place] <= 1'b1;
        end else if (take && !give) begin
          count_q <= count_q - 1'b1;
          one_q <= count_q == CountW'(2);
          credits_q[Place] <= !one_q;
        end else if (give && !take) begin
          count_q <= count_q + 1'b1;
          one_q <= count_q == '0;
          credits_q[Place] <= 1'b1;
        end
      end

      always_ff @(posedge clk_i) begin
        if (!rst_ni) mask_q <= '0;
        else if (take) mask_q <= ~(winner | (winner - 1'b1));
      end
      assign mask[v*PORTS+:PORTS] = mask_q;

      always_ff @(posedge clk_i) begin
        if (!rst_ni) locked_q[Place] <= 1'b0;
        else if (take) locked_q[Place] <= !last;
      end

      always_ff @(posedge clk_i) begin
        if (!rst_ni) reserved_q[Place] <= 1'b0;
        else if (reserve_i && reserve_place_i == 7'(Place)) reserved_q[Place] <= 1'b1;
        else if (cancel_i && cancel_place_i == 7'(Place)) reserved_q[Place] <= 1'b0;
        else if (take && ends_reservation) reserved_q[Place] <= 1'b0;
      end

      `ALCOR_IMPLIES(a_credit_not_overrun, take, count_q != '0)
      `ALCOR_IMPLIES(a_credit_not_twice, give, count_q != CountW'(Depth) || take)
      `ALCOR_ASSERT(a_credits_exact, credits_q[Place] == (count_q != '0))
    end

    always_ff @(posedge clk_i) begin
      if (taken[x]) pass_spent_q[x] <= spent != '0;
    end
  end

  // Places that are no channel.
  for (genvar p = 0; p < 128; p++) begin : g_place
    localparam int unsigned Out = p / 8;
    localparam int unsigned Class = (Out < LINKS + 2) ? Out - LINKS : 2;
    localparam bit IsChannel = (Out < LINKS) ? p % 8 < 6 : Out < PORTS && p % 8 == 2 * Class;

    if (!IsChannel) begin : g_none
      always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
          credits_q[p] <= 1'b0;
          locked_q[p] <= 1'b0;
          reserved_q[p] <= 1'b0;
        end
      end
    end
  end

  always_comb begin
    grant_o = '0;
    if (try_i != '0) begin
      for (int unsigned x = 0; x < PORTS; x++) grant_o |= given[x];
    end
  end

  assign pass_o = pass_q;
  assign pass_from_o = pass_from_q;
  assign pass_vc_o = pass_vc_q[LINKS-1:0];
  assign credits_o = credits_q | Nowhere;
  assign unlocked_o = ~locked_q;
  assign unreserved_o = ~reserved_q;

  `ALCOR_IMPLIES(a_reserve_once, reserve_i, !reserved_q[reserve_place_i])
  for (genvar x = 0; x < PORTS; x++) begin : g_check
    `ALCOR_ASSERT(a_given_onehot, $onehot0(given[x]))
    `ALCOR_IMPLIES(a_given_requested, taken[x], (given[x] & ~try_i) == '0)
  end

endmodule

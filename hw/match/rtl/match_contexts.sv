`include "assertions.svh"

/// Contexts of a match store: operations under way, in order by queue pair.
///
/// An operation takes a free context when it is taken, and keeps it until its result. It begins when all operations of
/// its pair that were taken before it have ended. So a pair is locked from the search to the append, and operations of
/// different pairs overlap in any way. A matrix holds, for each context, the older contexts of the same pair.
///
/// The ports take turns. A port waits while AHEAD operations of its pair are under way, so that no pair takes all
/// contexts. Other ports go on.
module match_contexts #(
    /// Ports.
    parameter int unsigned PORTS = 2,
    /// Contexts, 2 or more.
    parameter int unsigned CONTEXTS = 16,
    /// Queue pairs, 2 or more; a power of two.
    parameter int unsigned PAIRS = 8,
    /// Maximum number of operations of a pair under way.
    parameter int unsigned AHEAD = 2,
    /// Width of a pair's number; derived, not to be set.
    localparam int unsigned PairW = $clog2(PAIRS),
    /// Width of a context's number; derived, not to be set.
    localparam int unsigned ContextW = $clog2(CONTEXTS),
    /// Width of a port's number; derived, not to be set.
    localparam int unsigned PortW = (PORTS > 1) ? $clog2(PORTS) : 1
) (
    /// Clock.
    input  logic                           clk_i,
    /// Synchronous reset, active low; ends all operations.
    input  logic                           rst_ni,
    /// Operations may be taken.
    input  logic                           enable_i,

    /// By port: an operation is offered.
    input  logic [PORTS-1:0]               op_valid_i,
    /// By port: the operation is taken.
    output logic [PORTS-1:0]               op_ready_o,
    /// By port: the operation's queue pair.
    input  logic [PORTS-1:0][PairW-1:0]    op_pair_i,

    /// An operation is taken in this cycle.
    output logic                           take_o,
    /// Its port.
    output logic [PortW-1:0]               take_port_o,
    /// Its context.
    output logic [ContextW-1:0]            take_context_o,

    /// An operation begins in this cycle, one cycle after it is taken or later.
    output logic                           start_o,
    /// Its context.
    output logic [ContextW-1:0]            start_context_o,

    /// An operation ends in this cycle.
    input  logic                           release_i,
    /// Its context.
    input  logic [ContextW-1:0]            release_context_i,

    /// By context: the operation's queue pair.
    output logic [CONTEXTS-1:0][PairW-1:0] pair_o,
    /// No operation is under way.
    output logic                           idle_o
);

  localparam int unsigned AheadW = $clog2(CONTEXTS + 1);

  logic [PORTS-1:0][AheadW-1:0] ahead;
  logic [CONTEXTS-1:0] valid_q, started_q, ready, released, same;
  logic [CONTEXTS-1:0][CONTEXTS-1:0] older_q;
  logic [CONTEXTS-1:0][PairW-1:0] pair_q;
  logic [PORTS-1:0] eligible, take_grant;
  logic [PairW-1:0] take_pair;
  logic any_free, take;
  logic [ContextW-1:0] free;

  always_comb begin
    free     = '0;
    any_free = 1'b0;
    for (int unsigned c = 0; c < CONTEXTS; c++) begin
      if (!valid_q[CONTEXTS-1-c]) begin
        free     = ContextW'(CONTEXTS - 1 - c);
        any_free = 1'b1;
      end
    end
  end

  always_comb begin
    for (int unsigned p = 0; p < PORTS; p++) begin
      ahead[p] = '0;
      for (int unsigned c = 0; c < CONTEXTS; c++) ahead[p] += AheadW'(valid_q[c] && pair_q[c] == op_pair_i[p]);
      eligible[p] = op_valid_i[p] && ahead[p] < AheadW'(AHEAD);
    end
  end

  rr_arbiter #(
      .N(PORTS)
  ) u_take (
      .clk_i    (clk_i),
      .rst_ni   (rst_ni),
      .req_i    (eligible),
      .advance_i(any_free && enable_i),
      .valid_o  (take),
      .grant_o  (take_grant),
      .index_o  (take_port_o)
  );

  assign take_o         = take && any_free && enable_i;
  assign op_ready_o     = (any_free && enable_i) ? take_grant : '0;
  assign take_pair      = op_pair_i[take_port_o];
  assign take_context_o = free;

  // An operation is ready when no older one of its pair is under way.
  always_comb begin
    for (int unsigned c = 0; c < CONTEXTS; c++) begin
      ready[c]    = valid_q[c] && !started_q[c] && older_q[c] == '0;
      released[c] = release_i && release_context_i == ContextW'(c);
      same[c]     = valid_q[c] && pair_q[c] == take_pair;
    end
  end

  rr_arbiter #(
      .N(CONTEXTS)
  ) u_start (
      .clk_i    (clk_i),
      .rst_ni   (rst_ni),
      .req_i    (ready),
      .advance_i(1'b1),
      .valid_o  (start_o),
      .grant_o  (),
      .index_o  (start_context_o)
  );

  assign pair_o = pair_q;
  assign idle_o = valid_q == '0;

  always_ff @(posedge clk_i) begin
    for (int unsigned c = 0; c < CONTEXTS; c++) begin
      if (take_o && free == ContextW'(c)) begin
        pair_q[c]  <= take_pair;
        older_q[c] <= same & ~released;
      end else begin
        older_q[c] <= older_q[c] & ~released;
      end
    end
    if (!rst_ni) begin
      valid_q   <= '0;
      started_q <= '0;
    end else begin
      for (int unsigned c = 0; c < CONTEXTS; c++) begin
        if (take_o && free == ContextW'(c)) begin
          valid_q[c]   <= 1'b1;
          started_q[c] <= 1'b0;
        end else if (released[c]) begin
          valid_q[c] <= 1'b0;
        end
        if (start_o && start_context_o == ContextW'(c)) started_q[c] <= 1'b1;
      end
    end
  end

  `ALCOR_CHECK_PARAM(g_check_contexts, CONTEXTS >= 2, "match_contexts: CONTEXTS must be 2 or more")
  `ALCOR_CHECK_PARAM(g_check_ahead, AHEAD >= 1 && AHEAD <= CONTEXTS, "match_contexts: AHEAD must be 1 to CONTEXTS")

  `ALCOR_IMPLIES(a_release_started, release_i, valid_q[release_context_i] && started_q[release_context_i])

  // At most one operation of a pair has begun.
  logic [CONTEXTS-1:0] alone;
  always_comb begin
    for (int unsigned c = 0; c < CONTEXTS; c++) begin
      alone[c] = 1'b1;
      for (int unsigned d = 0; d < CONTEXTS; d++) begin
        if (d != c && valid_q[c] && started_q[c] && valid_q[d] && started_q[d] && pair_q[c] == pair_q[d]) begin
          alone[c] = 1'b0;
        end
      end
    end
  end
  `ALCOR_ASSERT(a_pair_locked, alone == '1)

endmodule

`include "assertions.svh"

/// Round-robin arbiter of one or two stages.
///
/// With one stage, the grant follows from the requests of the same cycle. With two stages, a register lies between: the
/// requests of a cycle select the requester that has the turn in the next cycle, and a grant is the turn and a request.
/// A requester that asks while another one has the turn is granted a cycle later than with one stage. Both give a
/// grant a cycle while one requester, or all requesters, ask in every cycle.
///
/// Requests stay until they are granted. A granted request is taken in a cycle with `ready_i`.
module turn_arbiter #(
    /// Number of requesters, 1 or more.
    parameter int unsigned N = 4,
    /// Stages: 1, or 2 with a register between requests and grants.
    parameter int unsigned STAGES = 1,
    /// Width of the index; derived, not to be set.
    localparam int unsigned IndexW = (N > 1) ? $clog2(N) : 1
) (
    /// Clock.
    input  logic              clk_i,
    /// Synchronous reset, active low; requester 0 then has the turn.
    input  logic              rst_ni,
    /// Requests.
    input  logic [     N-1:0] req_i,
    /// The granted request is taken in this cycle.
    input  logic              ready_i,
    /// A request is granted.
    output logic              valid_o,
    /// The grant, one-hot; all 0 without a grant.
    output logic [     N-1:0] grant_o,
    /// Index of the grant; any value without a grant.
    output logic [IndexW-1:0] index_o
);

  if (STAGES == 1) begin : g_one
    rr_arbiter #(.N(N)) u_choice (
        .clk_i(clk_i), .rst_ni(rst_ni), .req_i(req_i), .advance_i(ready_i),
        .valid_o(valid_o), .grant_o(grant_o), .index_o(index_o)
    );
  end else begin : g_two
    logic [N-1:0] turn_q, choice;
    logic [IndexW-1:0] index_q, choice_index;
    logic moves, others;

    // The turn stays while no other requester asks, and while its request waits.
    assign moves = ready_i || !valid_o;

    rr_arbiter #(.N(N)) u_choice (
        .clk_i(clk_i), .rst_ni(rst_ni), .req_i(req_i & ~turn_q), .advance_i(moves),
        .valid_o(others), .grant_o(choice), .index_o(choice_index)
    );

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        turn_q  <= N'(1);
        index_q <= '0;
      end else if (moves && others) begin
        turn_q  <= choice;
        index_q <= choice_index;
      end
    end

    assign grant_o = req_i & turn_q;
    assign valid_o = grant_o != '0;
    assign index_o = index_q;

    `ALCOR_ASSERT(a_same_turn, 32'(index_q) < N && turn_q == N'(1) << index_q)
  end

  `ALCOR_CHECK_PARAM(g_check_stages, STAGES == 1 || STAGES == 2, "turn_arbiter: STAGES must be 1 or 2")

endmodule

`include "assertions.svh"

/// Round-robin arbiter: combinational choice, registered pointer.
///
/// The grant goes to the first request at or after the pointer, cyclically. In a cycle with
/// `advance_i` high and a request present, the pointer moves to just behind the granted requester,
/// which then has the lowest priority; without `advance_i` the pointer stays. A requester that keeps
/// asking is granted after at most N-1 advances of others. Requests may come and go at will.
///
/// Depth is logarithmic: two "no lower request" trees side by side, of all requests and of those at
/// or after the pointer, which is kept as a thermometer mask.
module rr_arbiter #(
    /// Number of requesters, 1 or more.
    parameter int unsigned N = 4,
    /// Width of the index; derived, not to be set.
    localparam int unsigned IndexW = (N > 1) ? $clog2(N) : 1
) (
    /// Clock.
    input  logic              clk_i,
    /// Synchronous reset, active low; requester 0 then has the highest priority.
    input  logic              rst_ni,
    /// Requests.
    input  logic [     N-1:0] req_i,
    /// Moves the pointer to the requester after the one granted in this cycle.
    input  logic              advance_i,
    /// There is a request, and so a grant.
    output logic              valid_o,
    /// The grant, one-hot; all 0 without a request.
    output logic [     N-1:0] grant_o,
    /// Index of the grant; 0 without a request.
    output logic [IndexW-1:0] index_o
);

  `ALCOR_CHECK_PARAM(g_check_n, N >= 1, "rr_arbiter: N must be 1 or more")

  logic [N-1:0] mask_d, mask_q;
  logic [N-1:0] req_masked;
  logic [N-1:0] first_masked, first_any;
  logic any_masked;

  assign req_masked = req_i & mask_q;
  assign any_masked = |req_masked;

  assign first_masked[0] = req_masked[0];
  assign first_any[0]    = req_i[0];
  for (genvar g = 1; g < N; g++) begin : g_first
    assign first_masked[g] = req_masked[g] && !(|req_masked[g-1:0]);
    assign first_any[g]    = req_i[g] && !(|req_i[g-1:0]);
  end

  assign grant_o = any_masked ? first_masked : first_any;
  assign valid_o = |req_i;

  always_comb begin
    index_o = '0;
    for (int unsigned i = 0; i < N; i++) begin
      if (grant_o[i]) index_o |= IndexW'(i);
    end
  end

  assign mask_d[0] = 1'b0;
  for (genvar g = 1; g < N; g++) begin : g_mask
    assign mask_d[g] = |grant_o[g-1:0];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      mask_q <= '1;
    end else if (advance_i && valid_o) begin
      mask_q <= mask_d;
    end
  end

  `ALCOR_ASSERT(a_grant_onehot, $onehot0(grant_o))
  `ALCOR_ASSERT(a_grant_requested, (grant_o & ~req_i) == '0)
  `ALCOR_ASSERT(a_grant_if_any, (grant_o != '0) == (req_i != '0))

`ifdef ALCOR_PROVE_RR_ARBITER
  `include "rr_arbiter_properties.svh"
`endif

endmodule

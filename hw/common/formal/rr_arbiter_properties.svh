`include "formal.svh"

// Properties of `rr_arbiter`, included at its end: the grant goes to the first request after the last granted one,
// cyclically; a requester whose request stays active is granted after at most N-1 grants to others.

  `ALCOR_FORMAL_RESET

  logic [IndexW-1:0] first_q, expected;
  logic found;

  always_comb begin
    expected = '0;
    found    = 1'b0;
    for (int unsigned i = 0; i < N; i++) begin
      if (!found && req_i[(32'(first_q) + i) % N]) begin
        expected = IndexW'((32'(first_q) + i) % N);
        found    = 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) first_q <= '0;
    else if (advance_i && found) first_q <= (32'(expected) == N - 1) ? '0 : expected + 1'b1;
  end

  `ALCOR_ASSERT(p_valid, valid_o == found)
  `ALCOR_ASSERT(p_index, index_o == expected)
  `ALCOR_ASSERT(p_grant, grant_o == (found ? N'(1) << expected : '0))

  // An arbitrary requester, and the number of grants to others during its request.
  (* anyconst *) logic [IndexW-1:0] mine;
  logic [IndexW:0] passed_q;
  logic [31:0] distance;

  always @(posedge clk_i) assume (32'(mine) < N);
  assign distance = (32'(mine) + N - 32'(first_q)) % N;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || !req_i[mine] || (advance_i && grant_o[mine])) passed_q <= '0;
    else if (advance_i) passed_q <= passed_q + 1'b1;
  end

  `ALCOR_ASSERT(p_fair, 32'(passed_q) < N)

  // Invariants of the induction.
  logic same;
  always_comb begin
    same = 32'(first_q) < N;
    for (int unsigned i = 0; i < N; i++) if (mask_q[i] != (i >= 32'(first_q))) same = 1'b0;
    if (first_q == '0 && mask_q == '0) same = 1'b1;
  end
  `ALCOR_ASSERT(p_mask, same)
  `ALCOR_ASSERT(p_nearer, 32'(passed_q) + distance < N)

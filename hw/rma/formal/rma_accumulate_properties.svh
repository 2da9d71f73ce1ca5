`include "formal.svh"

// Properties of `rma_accumulate`, included at its end: a byte of memory that no offered beat covers is never written,
// whatever payload and memory give, and however long the memory takes.

  `ALCOR_FORMAL_RESET

  `ALCOR_ASSUME_STABLE(valid_i, ready_o, {address_i, data_i, strobe_i, reduction_i, first_i, last_i})

  // Any byte of memory.
  (* anyconst *) logic [31:0] mine;

  function automatic logic covers(logic [29:0] address, logic [Bytes-1:0] strobes);
    logic [31:0] lane;
    lane   = mine - {address, 2'b00};
    covers = lane < 32'(Bytes) && strobes[lane[$clog2(Bytes)-1:0]];
  endfunction

  // No offered beat covers the byte. The beats of a task follow each other.
  logic [29:0] next_q;
  logic begun_q;
  always_ff @(posedge clk_i) begin
    if (taken) next_q <= address_i + 30'(Words);
    begun_q <= rst_ni && (begun_q || taken);
  end
  `ALCOR_ASSUME(!valid_i || !covers(address_i, strobe_i))
  `ALCOR_ASSUME(!valid_i || !reduction_i.valid || first_i || (begun_q && address_i == next_q))
  // A result is that of a beat. The bench checks this by the assertion a_busy.
  `ALCOR_ASSUME(!out_valid || count_q != '0)

  `ALCOR_ASSERT(p_not_written, !write_valid_o || !covers(write_address_o, write_strobe_o))

  // Invariants of the induction: a strobe is queued for each beat under way, and none of them covers the byte.
  logic [DEPTH-1:0] covered;
  for (genvar i = 0; i < DEPTH; i++) begin : g_queued
    assign covered[i] = 32'(i) < 32'(strobe_count) &&
                        covers(address_q + 30'(i * Words), queued_strobes[i*Bytes+:Bytes]);
  end
  `ALCOR_ASSERT(p_queued, covered == '0)
  `ALCOR_ASSERT(p_count, strobe_count == count_q && count_q <= CountW'(DEPTH) && busy_q == (count_q != '0))
  `ALCOR_IMPLIES(p_begun, busy_q, begun_q)
  `ALCOR_IMPLIES(p_next, begun_q, next_q == address_q + 30'(count_q) * 30'(Words))

`include "assertions.svh"

import alcor_abi_pkg::*;

/// Copies of all ranks into host memory, one at a time in turns, with addresses of the DMA port.
///
/// A copy leaves from a register. Copies of one rank stay in order.
module host_copies #(
    /// Ranks of the board.
    parameter int unsigned RANKS = 2,
    /// Address bits of one node memory.
    parameter int unsigned NODE_W = 20
) (
    /// Clock.
    input  logic                            clk_i,
    /// Synchronous reset, active low.
    input  logic                            rst_ni,
    /// By rank: a copy, a host_copy_t with a source in the rank's node memory.
    input  logic [RANKS-1:0][HostCopyW-1:0] ranks_i,
    /// By rank: the copy is taken.
    output logic [RANKS-1:0]                ranks_ready_o,
    /// The copy; stable until it is taken.
    output alcor_abi_pkg::host_copy_t       copy_o,
    /// The copy is taken.
    input  logic                            copy_ready_i
);

  logic [RANKS-1:0] asks, grant;
  logic load;
  logic [HostCopyW-1:0] chosen_bits;
  logic [31:0] place;
  alcor_abi_pkg::host_copy_t chosen, copy_q;

  for (genvar r = 0; r < RANKS; r++) begin : g_rank
    // The highest bit of a host_copy_t is `valid`.
    assign asks[r] = ranks_i[r][HostCopyW-1];
  end

  assign load = !copy_q.valid || copy_ready_i;

  rr_arbiter #(
      .N(RANKS)
  ) u_arbiter (
      .clk_i    (clk_i),
      .rst_ni   (rst_ni),
      .req_i    (asks),
      .advance_i(load),
      .valid_o  (),
      .grant_o  (grant),
      .index_o  ()
  );

  always_comb begin
    chosen_bits = '0;
    place       = '0;
    for (int unsigned r = 0; r < RANKS; r++) begin
      if (grant[r]) begin
        chosen_bits |= ranks_i[r];
        place       |= 32'(r) << NODE_W;
      end
    end
    chosen        = chosen_bits;
    chosen.source = chosen.source | place;
  end

  assign ranks_ready_o = load ? grant : '0;

  always_ff @(posedge clk_i) begin
    if (load) begin
      copy_q.source      <= chosen.source;
      copy_q.destination <= chosen.destination;
      copy_q.bytes       <= chosen.bytes;
    end
    if (!rst_ni) copy_q.valid <= 1'b0;
    else if (load) copy_q.valid <= chosen.valid;
  end

  assign copy_o = copy_q;

  `ALCOR_STABLE(a_copy_stable, copy_o.valid, copy_ready_i, {copy_o.source, copy_o.destination, copy_o.bytes})

endmodule

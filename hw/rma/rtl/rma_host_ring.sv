`include "assertions.svh"

/// Copies of a rank's completion ring into host memory: asks for a copy of all entries that have been written since the
/// last copy, up to the ring's end.
///
/// Copies of one rank are carried out in order, so an entry is in host memory after all entries before it. The host
/// recognises a new entry by its lap bit, and so needs no access to the board. The host does not let the ring overtake its
/// tail, so no entry is overwritten before it is copied.
///
/// While the rank is being reset, no copy is asked for, and a copy that is not taken is withdrawn: the reset must end though
/// the host takes no copies.
module rma_host_ring #(
    /// Entries of a copy at most: no more than fit into `host_copy_t.bytes`.
    parameter int unsigned ENTRIES = 256
) (
    /// Clock.
    input  logic                          clk_i,
    /// Synchronous reset, active low.
    input  logic                          rst_ni,
    /// The rank is being reset.
    input  logic                          drain_i,
    /// Registers that the host has written.
    input  alcor_abi_pkg::ring_settings_t settings_i,
    /// State of the completion ring.
    input  alcor_abi_pkg::ring_state_t    state_i,
    /// No copy is asked for or due.
    output logic                          idle_o,
    /// A copy; stable until it is taken or the rank is reset.
    output alcor_abi_pkg::host_copy_t     copy_o,
    /// The copy is taken.
    input  logic                          copy_ready_i
);

  localparam int unsigned CountW = $clog2(ENTRIES + 1);

  alcor_abi_pkg::host_copy_t copy_q;
  // Entries for which a copy has been asked, modulo 2^16. No more than the 2^15 entries of a ring are due.
  logic [15:0] copied_q;
  logic [15:0] head, due;
  logic [14:0] index, left;
  logic [CountW-1:0] count, most_q;
  logic behind, all, asks;

  assign head   = state_i.head[15:0];
  assign index  = copied_q[14:0] & state_i.mask;
  // Entries from the index to the ring's end, less one: the mask less the index.
  assign left   = state_i.mask & ~copied_q[14:0];
  assign behind = head != copied_q;
  assign due    = head - copied_q;
  assign all    = due < 16'(most_q);
  assign count  = all ? CountW'(due) : most_q;
  // `most_q` is a cycle behind the index: no copy begins in the cycle after another, or after the ring was cleared.
  assign asks   = settings_i.copies && behind && !state_i.clearing && !copy_q.valid && !drain_i;

  always_ff @(posedge clk_i) begin
    most_q <= (32'(left) < ENTRIES) ? CountW'(left) + 1'b1 : CountW'(ENTRIES);
    if (asks) begin
      copy_q.source      <= settings_i.base + {13'd0, index, 4'd0};
      copy_q.destination <= settings_i.host + {45'd0, index, 4'd0};
      copy_q.bytes       <= 13'({count, 4'd0});
    end
    if (!rst_ni) begin
      copied_q     <= '0;
      copy_q.valid <= 1'b0;
    end else begin
      if (asks) copied_q <= all ? head : copied_q + 16'(most_q);
      if (!settings_i.copies) copied_q <= head;
      if (state_i.clearing) copied_q <= '0;
      copy_q.valid <= asks || (copy_q.valid && !copy_ready_i && !drain_i);
    end
  end

  assign copy_o = copy_q;
  assign idle_o = !copy_q.valid && (!settings_i.copies || !behind || drain_i);

  `ALCOR_CHECK_PARAM(g_check_entries, ENTRIES >= 1 && ENTRIES <= 511, "rma_host_ring: ENTRIES must be 1 to 511")
  `ALCOR_STABLE(a_copy_stable, copy_o.valid, copy_ready_i || drain_i, {copy_o.source, copy_o.destination, copy_o.bytes})

endmodule

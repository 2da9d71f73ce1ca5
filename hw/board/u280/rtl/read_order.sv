`include "assertions.svh"

/// Holds the reads of a master of XDMA behind the writes that it has shown before.
///
/// On PCIe no read passes a write. AXI has no order between its channels, so an address of a read may come
/// while an earlier write is still under way, and would find a register or memory as it was before. Here, it
/// waits until all writes that the master has shown have their responses. Later writes delay a read, too, by
/// LATER of them at most.
///
/// The block watches writes, which it does not delay. A read takes a cycle more.
module read_order #(
    /// Writes under way, at most.
    parameter int unsigned OPEN = 63,
    /// Responses for which a read waits at most.
    parameter int unsigned LATER = 64
) (
    /// Clock.
    input  logic clk_i,
    /// Synchronous reset, active low.
    input  logic rst_ni,

    /// Writes: an address is offered.
    input  logic aw_valid_i,
    /// Writes: the address is taken.
    input  logic aw_ready_i,
    /// Writes: a beat is offered.
    input  logic w_valid_i,
    /// Writes: the beat is taken.
    input  logic w_ready_i,
    /// Writes: the beat is its burst's last.
    input  logic w_last_i,
    /// Writes: a response is offered.
    input  logic b_valid_i,
    /// Writes: the response is taken.
    input  logic b_ready_i,

    /// Reads: the master offers an address.
    input  logic ar_valid_i,
    /// Reads: the address is taken from the master.
    output logic ar_ready_o,
    /// Reads: the address is offered to the slave, which has the master's other signals.
    output logic ar_valid_o,
    /// Reads: the slave takes the address.
    input  logic ar_ready_i
);

  localparam int unsigned OpenW = $clog2(OPEN + 1);
  localparam int unsigned LaterW = $clog2(LATER + 1);

  logic beat, answered, shown, held, ends;
  // Bursts without a response: by their addresses, and by their first beats, which may come before.
  logic [OpenW-1:0] addresses_d, addresses_q, bursts_d, bursts_q;
  // The next beat is not its burst's first.
  logic inside_q;
  logic go_q;
  logic [LaterW-1:0] later_q;

  assign beat        = w_valid_i && w_ready_i;
  assign answered    = b_valid_i && b_ready_i;
  assign addresses_d = addresses_q + OpenW'(aw_valid_i && aw_ready_i) - OpenW'(answered);
  assign bursts_d    = bursts_q + OpenW'(beat && !inside_q) - OpenW'(answered);

  // Writes of this cycle are shown before a read of this cycle.
  assign shown = aw_valid_i || w_valid_i || addresses_q != '0 || bursts_q != '0;
  assign held  = ar_valid_i && !go_q;
  assign ends  = held && (!shown || later_q == LaterW'(LATER));

  assign ar_valid_o = ar_valid_i && go_q;
  assign ar_ready_o = ar_ready_i && go_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      addresses_q <= '0;
      bursts_q    <= '0;
      inside_q    <= 1'b0;
      go_q        <= 1'b0;
      later_q     <= '0;
    end else begin
      addresses_q <= addresses_d;
      bursts_q    <= bursts_d;
      if (beat) inside_q <= !w_last_i;
      if (ends) go_q <= 1'b1;
      else if (ar_ready_i) go_q <= 1'b0;
      if (!held) later_q <= '0;
      else if (answered && later_q != LaterW'(LATER)) later_q <= later_q + 1'b1;
    end
  end

  `ALCOR_STABLE(a_ar_stable, ar_valid_o, ar_ready_i, 1'b0)
  `ALCOR_IMPLIES(a_address_room, aw_valid_i && aw_ready_i && !answered, addresses_q != OpenW'(OPEN))
  `ALCOR_IMPLIES(a_burst_room, beat && !inside_q && !answered, bursts_q != OpenW'(OPEN))
  `ALCOR_IMPLIES(a_answered, answered, addresses_q != '0 && bursts_q != '0)

  `ALCOR_CHECK_PARAM(g_check_open, OPEN >= 1, "read_order: OPEN must be 1 or more")
  `ALCOR_CHECK_PARAM(g_check_later, LATER >= 1, "read_order: LATER must be 1 or more")

endmodule

`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// Barriers and registrations over all boards of a cluster.
///
/// A board takes part in a round when all its ranks are at the command and it has no packet left. A
/// round is an allreduce of the switch over all boards. It adds the packets that each board has
/// sent to other boards and consumed from other boards. All traffic has landed when two successive
/// rounds have equal sums, and as many packets were consumed as sent: the second round would count
/// a packet that was under way in the first (Mattern's four-counter method).
///
/// Commands that pass a collective command send packets between two rounds. Those packets make the sums differ, and
/// do not have to land. So all boards take part in the second round at once, quiet or not: a board that waited to be
/// quiet could wait for a request that another board holds back. A round can be the first of two only if all boards
/// were quiet.
///
/// Boards get the result of the second round at different times. Ranks of the first board may then
/// send requests that only hold after the command, for example a put into the new window. So
/// requests of other boards wait while a round may be the second. A request that was under way
/// before delays the command by one round at most: it makes that round's sums differ.
///
/// The verdict goes the same way: the lowest status that is not OK on any board, the same for all.
///
/// A round counts only for the commands that it began with. If one of them ends without `fire_o`
/// (the run was ended), `present_i` falls. The result of the current round then ends no later
/// command.
///
/// After a reset of a rank (`lost_i`) the commands of all ranks end in `rma_collective`.
module cluster_sync #(
    /// Bits of a phit's data.
    parameter int unsigned PHIT_W = 256
) (
    /// Clock.
    input  logic              clk_i,
    /// Synchronous reset, active low.
    input  logic              rst_ni,

    /// Two cycles ago all ranks of this board were at a collective command, and all was quiet.
    input  logic              here_i,
    /// Two cycles ago all ranks of this board were at a collective command.
    input  logic              present_i,
    /// Status of the command on this board.
    input  logic [4:0]        verdict_i,
    /// The command: sync_kind_e.
    input  logic [1:0]        kind_i,
    /// The registration slot that the command names.
    input  logic [7:0]        slot_i,
    /// Pulses: a packet to another board was sent, by plane.
    input  logic [1:0]        sent_i,
    /// Pulses: a packet from another board was consumed, by plane.
    input  logic [1:0]        consumed_i,

    /// A round is requested.
    output logic              round_o,
    /// The switch can begin a round.
    input  logic              round_ready_i,
    /// Data of this board for the round, from the cycle after `round_o` on.
    output logic [PHIT_W-1:0] round_data_o,
    /// The round has ended.
    input  logic              result_i,
    /// Result of the round.
    input  logic [PHIT_W-1:0] result_data_i,

    /// Requests of other boards must wait: another board may have ended the command already.
    output logic              hold_o,
    /// A rank of the run was reset: no round has an effect.
    input  logic              lost_i,

    /// All ranks of all boards are at the command, and no packet is under way.
    output logic              fire_o,
    /// Status for all ranks.
    output logic [4:0]        verdict_o
);

  logic [63:0] sent_q, consumed_q, sent, consumed, last_sent_q, last_consumed_q;
  // The last round had equal sums, and all boards were quiet.
  logic balanced_q;
  logic busy_q, seen_q, stayed_q;
  logic [1:0] fired_q, consumed_late_q;
  logic agree, quiet;
  logic [21:0] low;
  logic [31:0] statuses;
  logic [4:0] verdict;

  // `here_i` is two cycles old: until then it is about the commands that `fire_o` has ended.
  // `here_i` is two cycles old, so packets consumed since are checked here. `stayed_q`: the board took part in the round
  // before, for the same commands.
  assign quiet   = here_i && consumed_late_q == '0;
  assign round_o = (quiet || (present_i && stayed_q && seen_q && balanced_q)) && !busy_q && round_ready_i &&
                   !fire_o && fired_q == '0;

  // From a register: the vector unit begins behind it.
  always_ff @(posedge clk_i) begin
    round_data_o           <= '1;
    round_data_o[63:0]     <= sent_q;
    round_data_o[127:64]   <= consumed_q;
    round_data_o[128+:22]  <= {~kind_i, kind_i, 1'b1, quiet, ~slot_i, slot_i};
    round_data_o[192+:32]  <= ~(32'd1 << verdict_i);
  end

  assign sent     = result_data_i[63:0];
  assign consumed = result_data_i[127:64];
  assign low      = result_data_i[128+:22];
  assign statuses = ~result_data_i[192+:32];
  assign agree    = seen_q && balanced_q && sent == consumed && sent == last_sent_q && consumed == last_consumed_q;

  assign hold_o   = busy_q && seen_q && balanced_q;

  always_comb begin
    verdict = ST_OK;
    // Where a rank has a reason of its own, its slot says nothing.
    if ((low[15:8] | low[7:0]) != 8'hFF) verdict = ST_MISMATCH;
    for (int unsigned i = 31; i > 0; i--) if (statuses[i]) verdict = 5'(i);
    if ((low[21:20] | low[19:18]) != 2'b11) verdict = ST_MISMATCH;
  end

  always_ff @(posedge clk_i) begin
    verdict_o <= verdict;
    stayed_q  <= present_i && (round_o || stayed_q);
    consumed_late_q <= {consumed_late_q[0], consumed_i != '0};
    if (result_i) begin
      last_sent_q     <= sent;
      last_consumed_q <= consumed;
      balanced_q      <= sent == consumed && low[16];
    end
    if (!rst_ni) begin
      sent_q     <= '0;
      consumed_q <= '0;
      busy_q     <= 1'b0;
      seen_q     <= 1'b0;
      fired_q    <= '0;
      fire_o     <= 1'b0;
    end else begin
      sent_q     <= sent_q + 64'(sent_i[0]) + 64'(sent_i[1]);
      consumed_q <= consumed_q + 64'(consumed_i[0]) + 64'(consumed_i[1]);
      fire_o     <= result_i && agree && stayed_q && !lost_i;
      fired_q    <= {fired_q[0], fire_o};
      if (round_o) busy_q <= 1'b1;
      if (result_i) begin
        busy_q <= 1'b0;
        seen_q <= !agree;
      end
      // No board waits for a second round that may never come.
      if (lost_i) seen_q <= 1'b0;
    end
  end

  `ALCOR_CHECK_PARAM(g_check_phit, PHIT_W >= 256, "cluster_sync: PHIT_W must be 256 or more")
  `ALCOR_IMPLIES(a_asked, result_i, busy_q)

endmodule

`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// Takes rows of the communicator table out of use: rows that are written while they are in use, and rows whose collective
/// would keep a rank's reset from ending.
///
/// A row that is written is closed first, so that no collective of it begins. If nothing of the row is under way a few cycles
/// later, the row is taken out of use at once. Otherwise, and for a reset, the unit pauses: no collective begins, and no
/// phit is read or taken out of a window. Queues and pipelines drain, as everything in them has room where it goes. Then all
/// that is left of a row lies in registers and windows, which are cleared in one cycle. All other rows go on where they were.
module coll_retire #(
    /// Minimum number of cycles between two pauses; the other communicators run meanwhile.
    parameter int unsigned REST = 64
) (
    /// Clock.
    input  logic                      clk_i,
    /// Synchronous reset, active low.
    input  logic                      rst_ni,

    /// Rows to be taken out of use, because a rank was reset.
    input  logic [31:0]               cancel_i,
    /// A row write waits until the row is out of use.
    input  alcor_abi_pkg::row_pulse_t write_i,
    /// By row: the row is closed, and the unit still has data of the row under way.
    input  logic [31:0]               under_way_i,
    /// The unit has data under way outside of the windows.
    input  logic                      busy_i,

    /// Rows are not written.
    output logic                      hold_o,
    /// No collective begins, and no phit is read or taken out of a window.
    output logic                      pause_o,
    /// Pulse: the row is closed.
    output alcor_abi_pkg::row_pulse_t close_o,
    /// Pulse: the row is taken out of use.
    output alcor_abi_pkg::row_pulse_t retire_o,
    /// With `retire_o`: the reason is `cancel_i`; the partner boards are notified.
    output logic                      revoke_o
);

  localparam int unsigned RestW = $clog2(REST + 1);
  // From the cycle in which a row is closed until all that was about to begin or to be posted has begun or is posted; and until
  // requests no longer name a row that has been taken out of use.
  localparam int unsigned Settling = 7;

  typedef enum logic [1:0] {
    Run,
    Close,   // the row that is written is closed, and may become idle
    Drain,   // the unit pauses until nothing is on its way
    Settle   // a row has been taken out of use
  } state_e;

  state_e state_d, state_q;
  logic [2:0] count_q;
  logic [RestW-1:0] rest_q;
  logic [31:0] cancel_q;
  logic cancels, write_q, settled, rested, retires;
  alcor_abi_pkg::row_t cancel_row, row_q;

  coll_first u_cancel (.request_i(cancel_q), .valid_o(cancels), .row_o(cancel_row));

  assign settled = count_q == 3'(Settling);
  assign rested  = rest_q == '0;

  always_comb begin
    state_d = state_q;
    retires = 1'b0;
    unique case (state_q)
      Run: begin
        if (write_i.valid) state_d = Close;
        else if (cancels && rested) state_d = Drain;
      end
      Close: begin
        if (settled && !under_way_i[row_q]) begin
          retires = 1'b1;
          state_d = Settle;
        end else if (settled && rested) begin
          state_d = Drain;
        end
      end
      Drain: begin
        // In the first cycle, a row whose write was taken in the last cycle of Run may still change.
        if (!busy_i && count_q != '0) begin
          retires = write_q || cancels;
          state_d = retires ? Settle : Run;
        end
      end
      Settle: if (settled) state_d = (pause_o && cancels) ? Drain : Run;
      default: state_d = Run;
    endcase
  end

  always_ff @(posedge clk_i) begin
    cancel_q <= rst_ni ? cancel_i : '0;
    count_q  <= (state_q != state_d) ? '0 : settled ? count_q : count_q + 1'b1;
    if (state_q == Run) row_q <= write_i.row;
    if (!rst_ni) begin
      state_q <= Run;
      pause_o <= 1'b0;
      write_q <= 1'b0;
      rest_q  <= '0;
    end else begin
      state_q <= state_d;
      pause_o <= state_d == Drain || (pause_o && state_d == Settle);
      if (state_q == Run) write_q <= write_i.valid;
      else if (retires) write_q <= 1'b0;
      if (pause_o) rest_q <= RestW'(REST);
      else if (!rested) rest_q <= rest_q - 1'b1;
    end
  end

  assign hold_o   = state_q != Run;
  assign close_o  = {state_q == Close && count_q == '0, row_q};
  assign retire_o = {retires, write_q ? row_q : cancel_row};
  assign revoke_o = !write_q;

  `ALCOR_IMPLIES(a_drained, retires && pause_o, !busy_i)
  // What was closed for a write is written or given up, one row at a time.
  `ALCOR_IMPLIES(a_one, state_q == Run, !write_q)

`ifdef ALCOR_PROVE_COLL_RETIRE
  `include "coll_retire_properties.svh"
`endif

endmodule

`include "formal.svh"

// Properties of `coll_retire`, included at its end: each written row and each cancelled row is taken out of use within
// a bound; no row is taken out of use twice; the other communicators continue between two pauses.
//
// Assumptions about the unit: the unit drains within `Busy` cycles of a pause; `Stale` cycles after a row is taken out
// of use, the row is not among the rows to be cancelled. All other inputs are free.

  `ALCOR_FORMAL_RESET

  localparam int unsigned Busy = 4;
  localparam int unsigned Stale = 5;
  // A written row is closed, waits for the end of the rest period, and is drained.
  localparam int unsigned Closing = (REST > Settling) ? REST : Settling;

  // An arbitrary row.
  (* anyconst *) logic [4:0] f_row;

  // Cycles in the current state; since the row was closed; of the wait of a cancelled row; since the last pause; since
  // the row was taken out of use.
  logic [7:0] f_state_q, f_write_q, f_cancel_q, f_rest_q, f_gone_q;
  // The row is closed for a write and in use; the row is out of use and still among the rows to be cancelled.
  logic f_closed_q, f_old_q, f_past_pause_q;
  logic f_retired, f_closes;

  assign f_retired = retire_o.valid && retire_o.row == f_row;
  assign f_closes  = close_o.valid && close_o.row == f_row;

  always_ff @(posedge clk_i) begin
    f_state_q      <= (state_q != state_d) ? '0 : f_state_q + 8'(f_state_q != '1);
    f_write_q      <= (state_q == Close || state_q == Drain) ? f_write_q + 1'b1 : '0;
    f_rest_q       <= pause_o ? '0 : f_rest_q + 8'(f_rest_q < 8'(REST));
    f_past_pause_q <= pause_o;
    f_gone_q       <= f_retired ? '0 : f_gone_q + 8'(f_gone_q != '1);
    if (retires || write_i.valid || write_q || cancel_q == '0) f_cancel_q <= '0;
    else f_cancel_q <= f_cancel_q + 1'b1;
    if (f_closes) f_closed_q <= 1'b1;
    if (f_retired) f_closed_q <= 1'b0;
    if (!cancel_q[f_row]) f_old_q <= 1'b0;
    if (f_retired) f_old_q <= 1'b1;
    if (!rst_ni) begin
      {f_state_q, f_write_q, f_cancel_q} <= '0;
      {f_closed_q, f_old_q, f_past_pause_q} <= '0;
      f_rest_q <= 8'(REST);
      f_gone_q <= '1;
    end
  end

  `ALCOR_ASSUME(!(state_q == Drain && f_state_q >= 8'(Busy)) || !busy_i)
  `ALCOR_ASSUME(f_gone_q != 8'(Stale) || !cancel_i[f_row])

  // A written row and a cancelled row are taken out of use within a bound.
  `ALCOR_ASSERT(p_write_ends, f_write_q <= 8'(Closing + Busy + 2))
  `ALCOR_ASSERT(p_cancel_ends, f_cancel_q <= 8'(Settling + REST + Busy + 4))
  `ALCOR_IMPLIES(p_write_asks, f_retired && write_q, f_closed_q)
  `ALCOR_IMPLIES(p_cancel_asks, f_retired && !write_q, cancel_q[f_row])
  // No row is taken out of use twice.
  `ALCOR_IMPLIES(p_closed_once, f_closes, !f_closed_q)
  `ALCOR_IMPLIES(p_cancelled_once, f_retired && !write_q, !f_old_q)
  // A row whose write was taken in the last cycle of Run changes in the cycle behind.
  logic f_ran_q;
  always_ff @(posedge clk_i) f_ran_q <= state_q == Run;
  `ALCOR_IMPLIES(p_behind_run, f_ran_q, !retire_o.valid)
  `ALCOR_IMPLIES(p_ran, f_ran_q && state_q != Run, count_q == '0)
  // The row has no phit under way.
  `ALCOR_IMPLIES(p_drained, f_retired, pause_o ? !busy_i : write_q && !under_way_i[f_row])
  // No row is written while a row is taken out of use; two pauses have a rest period between them.
  `ALCOR_IMPLIES(p_held, retire_o.valid || close_o.valid || pause_o, hold_o)
  `ALCOR_IMPLIES(p_rests, pause_o && !f_past_pause_q, f_rest_q == 8'(REST))

  // Invariants of the induction.
  logic f_settles;
  assign f_settles = f_state_q <= 8'(Settling) ? f_state_q == 8'(count_q) : settled;
  `ALCOR_IMPLIES(p_count, state_q != Run, f_settles)
  `ALCOR_ASSERT(p_pause, pause_o ? state_q == Drain || state_q == Settle : state_q != Drain)
  `ALCOR_ASSERT(p_rest, rest_q <= RestW'(REST) && (pause_o || f_rest_q + 8'(rest_q) >= 8'(REST)))
  `ALCOR_ASSERT(p_rested, f_rest_q <= 8'(REST) && (!pause_o || f_past_pause_q || f_rest_q == 8'(REST)))
  `ALCOR_IMPLIES(p_settle, state_q == Settle, f_state_q <= 8'(Settling) && !write_q)
  `ALCOR_IMPLIES(p_close, state_q == Close, write_q && f_state_q <= 8'(Closing) && f_write_q == f_state_q
                 && (rested || f_state_q + 8'(rest_q) <= 8'(REST)))
  `ALCOR_IMPLIES(p_drain, state_q == Drain, f_state_q <= 8'(Busy)
                 && (write_q ? f_write_q <= 8'(Closing) + 8'd1 + f_state_q : f_write_q == f_state_q))
  `ALCOR_IMPLIES(p_run, state_q == Run || state_q == Settle, f_write_q == '0 || f_state_q == '0)
  `ALCOR_IMPLIES(p_closed, f_closed_q, write_q && row_q == f_row)
  `ALCOR_IMPLIES(p_closed_now, write_q && row_q == f_row && (state_q == Drain || f_state_q != '0), f_closed_q)
  `ALCOR_IMPLIES(p_fresh, state_q == Close && f_state_q == '0, !f_closed_q)
  `ALCOR_IMPLIES(p_old, f_old_q, state_q == Settle && f_state_q == f_gone_q && f_gone_q <= 8'(Stale + 1))
  `ALCOR_IMPLIES(p_gone, f_gone_q == 8'(Stale + 1), !cancel_q[f_row])
  `ALCOR_IMPLIES(p_cancel_settles, state_q == Settle, f_cancel_q <= f_state_q)
  `ALCOR_IMPLIES(p_cancel_runs, state_q == Run, f_cancel_q + 8'(rest_q) <= 8'(Settling + REST + 1))
  `ALCOR_IMPLIES(p_cancel_drains, state_q == Drain, f_cancel_q <= 8'(Settling + REST + 2) + f_state_q)
  `ALCOR_IMPLIES(p_cancel_closes, state_q == Close, f_cancel_q == '0)

  // States that must be reachable.
  always @(posedge clk_i) begin
    if (rst_ni) begin
      cover (f_retired && write_q && !pause_o);
      cover (f_retired && write_q && pause_o && f_write_q > 8'(Closing));
      cover (f_retired && !write_q && f_gone_q < 8'd12);
      cover (p_twice_seen_q && f_retired);
    end
  end

  // A cancelled row was taken out of use before.
  logic p_twice_seen_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) p_twice_seen_q <= 1'b0;
    else if (f_retired && !write_q) p_twice_seen_q <= 1'b1;
  end

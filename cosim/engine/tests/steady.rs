//! Boards whose registers change while the host waits: which of them may be skipped, and what `skip=check` finds.

use std::sync::Arc;

use alcor::{Board, Causes, Cycle, Error, GlobalRank, LocalRank, RankWait, Wake};
use alcor_cosim::{CosimBackend, CosimError, SimCluster};
use alcor_test_repository::Repository;

use crate::fixture::cosim;

const CONFIGS: &str =
    "[tiny]\nsummary = 'The stand-in'\nparams = { RANKS = 1, NODE_BYTES = 8192, LOAD = 0 }\n";

/// Cycles between two changes of the slow register.
const WRAP: u64 = 1024;

/// A register that counts cycles, named as one of those that the engine knows, and another register, which changes as
/// `SLOW` says.
const TIMER: &str = "
module switch_router (
  input  logic clk_i,
  input  logic rst_ni,
  output logic phased_o
);
  logic [9:0]  age_q;
  logic [31:0] slow_q;
  always_ff @(posedge clk_i) begin
    age_q <= rst_ni ? age_q + 1'b1 : '0;
    if (!rst_ni) slow_q <= '0;
    else if (SLOW) slow_q <= slow_q + 1'b1;
  end
  assign phased_o = slow_q == '1 || PHASED;
endmodule
";

/// A stand-in with a [`TIMER`].
fn cluster(slow: &str, phased: &str, query: &str) -> Arc<SimCluster> {
    let copy = Repository::of_stand_in(CONFIGS);
    let timer = TIMER.replace("SLOW", slow).replace("PHASED", phased);
    let top = "hw/dpi/sim_top.sv";
    copy.replace(
        top,
        "output logic [31:0] peek_data_o\n);",
        "output logic [31:0] peek_data_o,\n  output logic phased_o\n);
         switch_router u_timer (.clk_i(clk_i), .rst_ni(rst_ni), .phased_o(phased_o));",
    );
    copy.change(top, |text| text.to_owned() + &timer);
    let backend = CosimBackend::new().root(copy.path());
    backend.open_sim(&format!("tiny?{query}")).unwrap()
}

/// The outcome of many idle cycles, and how many of the cycles were skipped.
fn idle(slow: &str, phased: &str, query: &str) -> (Result<(), Error>, u64) {
    let cluster = cluster(slow, phased, query);
    let idle = cluster.idle(20 * WRAP).map(drop);
    (idle, cluster.skipped_cycles())
}

#[test]
fn a_register_that_a_known_counter_changes_is_found() {
    let (result, _) = idle("age_q == '1", "1'b0", "skip=check");
    let error = result.unwrap_err();
    let CosimError::NotSteady { from, to } = cosim(&error) else {
        panic!("{error}");
    };
    assert!(from < to && to - from > WRAP / 2, "{from} to {to}");
    assert!(error.to_string().contains("phased_o"), "{error}");
    // Nothing else would have shown it.
    let (result, skipped) = idle("age_q == '1", "1'b0", "skip=on");
    result.unwrap();
    assert!(skipped > 19 * WRAP);
}

#[test]
fn a_register_that_counts_and_is_not_known_keeps_a_board_from_skipping() {
    for query in ["skip=on", "skip=check"] {
        let (result, skipped) = idle("1'b1", "1'b0", query);
        result.unwrap();
        assert_eq!(skipped, 0, "{query}");
    }
}

#[test]
fn cycles_are_skipped_unless_a_counter_may_decide_something() {
    for (phased, query, skips) in [
        ("1'b0", "skip=on", true),
        ("1'b0", "skip=check", false),
        ("1'b1", "skip=on", false),
        ("1'b0", "skip=off", false),
    ] {
        let (result, skipped) = idle("1'b0", phased, query);
        result.unwrap();
        assert_eq!(skipped > 19 * WRAP, skips, "{phased} {query}");
        assert_eq!(skipped == 0, !skips, "{phased} {query}");
    }
}

/// A run in which all ranks wait and nothing changes is a deadlock, but not if a rank has declared that its wait is over.
#[test]
fn a_wait_that_is_over_is_no_deadlock() {
    for is_over in [false, true] {
        let cluster = cluster("1'b0", "1'b0", "skip=on");
        let board = Arc::clone(&cluster.boards()[0]);
        board.expect(1).unwrap();
        let mut port = board.attach(LocalRank(0)).unwrap();
        let mut wait = RankWait::new(GlobalRank(0), "a word");
        wait.is_over = is_over;
        port.run_view().unwrap().tell_wait(Some(&wait)).unwrap();
        let end = port.wait(Causes::NONE, Cycle(20 * WRAP));
        match (is_over, &end) {
            (true, Ok(Wake::Deadline)) | (false, Err(Error::Deadlock { .. })) => {}
            _ => panic!("{is_over}: {end:?}"),
        }
        port.leave().unwrap_or_default();
    }
}

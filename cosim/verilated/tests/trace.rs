//! Traces started and stopped during a run, and coverage.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use crate::support::{build, model};
use fst_reader::{FstFilter, FstHierarchyEntry, FstReader, FstSignalValue};
use verimodel::{DEFAULT_PERIOD_PS, Error};

/// Times and values of a variable in a trace.
fn values(path: &Path, name: &str) -> Vec<(u64, u64)> {
    let mut reader = FstReader::open(BufReader::new(File::open(path).unwrap())).unwrap();
    let mut wanted = None;
    reader
        .read_hierarchy(|entry| {
            if let FstHierarchyEntry::Var {
                name: found,
                handle,
                ..
            } = entry
                && found.split_whitespace().next() == Some(name)
            {
                wanted = Some(handle);
            }
        })
        .unwrap();
    let mut changes = Vec::new();
    let filter = FstFilter::filter_signals(vec![wanted.expect("the variable is in the trace")]);
    reader
        .read_signals(&filter, |time, _, value| {
            if let FstSignalValue::String(digits) = value {
                changes.push((
                    time,
                    u64::from_str_radix(std::str::from_utf8(digits).unwrap(), 2).unwrap(),
                ));
            }
            Ok::<(), std::convert::Infallible>(())
        })
        .unwrap();
    changes
}

#[test]
fn a_trace_goes_on_and_off_and_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut counter = model(build("counter").trace(true))
        .instantiate("counter", ())
        .unwrap();
    let clk = counter.input("clk_i").unwrap();
    for port in ["rst_ni", "en_i"] {
        let signal = counter.input(port).unwrap();
        counter.set(&signal, 1).unwrap();
    }
    counter.run(&clk, 5).unwrap();
    let sizes = [20, 2000].map(|cycles| {
        let path = folder.path().join(format!("{cycles}.fst"));
        counter.trace_start(&path).unwrap();
        counter.run(&clk, cycles).unwrap();
        counter.trace_stop().unwrap();
        counter.run(&clk, 5).unwrap();
        fs::metadata(&path).unwrap().len()
    });
    assert!(sizes[0] > 300 && sizes[1] > sizes[0], "{sizes:?}");
    // Five cycles before the first trace and five between the traces are absent. The count changes
    // at rising edges.
    let changes = values(&folder.path().join("20.fst"), "count_o");
    assert_eq!(changes.len(), 20);
    assert_eq!(changes[0], (5 * DEFAULT_PERIOD_PS, 6));
    assert_eq!(changes[19], (24 * DEFAULT_PERIOD_PS, 25));
    let changes = values(&folder.path().join("2000.fst"), "count_o");
    assert_eq!(changes.len(), 2000);
    assert_eq!(changes[1999], (2029 * DEFAULT_PERIOD_PS, 2030 % 256));
    assert!(matches!(
        counter.trace_start(folder.path().join("none/x.fst")),
        Err(Error::Io { .. })
    ));
    counter.run(&clk, 5).unwrap();
}

#[test]
fn coverage_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("coverage.dat");
    let mut counter = model(build("counter").coverage(true))
        .instantiate("counter", ())
        .unwrap();
    let clk = counter.input("clk_i").unwrap();
    counter.run(&clk, 5).unwrap();
    counter.coverage_write(&path).unwrap();
    assert!(fs::read_to_string(&path).unwrap().contains("counter.sv"));
}

#[test]
fn what_was_not_built_in_is_refused() {
    let mut counter = model(build("counter")).instantiate("counter", ()).unwrap();
    assert!(matches!(
        counter.trace_start("x.fst"),
        Err(Error::NotBuilt {
            feature: "trace",
            ..
        })
    ));
    assert!(matches!(counter.trace_stop(), Err(Error::NotBuilt { .. })));
    assert!(matches!(
        counter.coverage_write("x.dat"),
        Err(Error::NotBuilt {
            feature: "coverage",
            ..
        })
    ));
}

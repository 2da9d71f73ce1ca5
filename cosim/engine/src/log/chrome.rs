//! A timeline as a Chrome trace, which Perfetto opens. A process of the trace is a board, a thread
//! is a track of the board. Overlapping slices of a track get further threads. A cycle is shown as
//! a microsecond. Arrows are pairs of flow events.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::story::{Slice, Story, Track};

/// Cycles between runs, rounded up to this.
const GAP: u64 = 1000;

/// An event of the trace.
#[derive(Serialize)]
struct Event<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    cat: &'a str,
    ph: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<u64>,
    pid: u32,
    tid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<&'a Map<String, Value>>,
}

impl Event<'_> {
    fn new(ph: &'static str, name: &'static str, pid: u32) -> Self {
        Event {
            name,
            cat: "",
            ph,
            ts: None,
            dur: None,
            pid,
            tid: 0,
            id: None,
            bp: None,
            args: None,
        }
    }
}

/// The properties of the log, for the file.
pub(crate) struct About<'a> {
    pub(crate) name: &'a str,
    /// For each board: its name, the number of dropped records, and the limit.
    pub(crate) boards: &'a [(String, u64, usize)],
    /// The begin of each run in the file.
    pub(crate) shifts: &'a BTreeMap<u32, u64>,
}

/// The begin of each run in a file, computed from the cycles at which activities end.
pub(crate) fn shifts(ends: impl Iterator<Item = (u32, u64)>) -> BTreeMap<u32, u64> {
    let mut last: BTreeMap<u32, u64> = BTreeMap::new();
    for (run, end) in ends {
        let known = last.entry(run).or_default();
        *known = end.max(*known);
    }
    let mut shift = 0;
    for value in last.values_mut() {
        let end = *value;
        *value = shift;
        shift += (end / GAP + 1) * GAP;
    }
    last
}

struct Writer<W> {
    out: W,
    is_first: bool,
}

impl<W: Write> Writer<W> {
    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        let separator: &[u8] = if self.is_first { b"\n" } else { b",\n" };
        self.is_first = false;
        self.out.write_all(separator)?;
        Ok(serde_json::to_writer(&mut self.out, event)?)
    }

    /// A metadata event; Perfetto requires this name of its argument.
    fn meta(&mut self, name: &'static str, place: (u32, u32), args: Value) -> io::Result<()> {
        let event = Event {
            tid: place.1,
            args: args.as_object(),
            ..Event::new("M", name, place.0)
        };
        self.event(&event)
    }
}

fn process(board: u32) -> u32 {
    board + 1
}

/// Writes the timeline.
pub(crate) fn write(story: &Story, about: &About<'_>, out: impl Write) -> io::Result<()> {
    let mut writer = Writer {
        out,
        is_first: true,
    };
    writer
        .out
        .write_all(b"{\"displayTimeUnit\":\"ns\",\"otherData\":")?;
    let other = json!({
        "format": "alcor timeline 1",
        "board": about.name,
        "time": "1 us is a cycle",
    });
    serde_json::to_writer(&mut writer.out, &other)?;
    writer.out.write_all(b",\"traceEvents\":[")?;
    let shifts = about.shifts;
    for (board, (name, dropped, limit)) in about.boards.iter().enumerate() {
        let pid = process(board as u32);
        writer.meta("process_name", (pid, 0), json!({ "name": name }))?;
        writer.meta(
            "process_sort_index",
            (pid, 0),
            json!({ "sort_index": board }),
        )?;
        let log = json!({ "dropped_records": dropped, "record_limit": limit });
        writer.meta("alcor_log", (pid, 0), log)?;
    }
    for (run, shift) in shifts {
        let args = json!({ "run": run, "cycle_0_at": shift });
        let event = Event {
            ts: Some(*shift),
            args: args.as_object(),
            cat: "run",
            ..Event::new("i", "reset", process(0))
        };
        writer.event(&event)?;
    }
    let threads = threads(&story.slices, shifts);
    for (&(board, track, lane), &tid) in &threads.numbers {
        let name = match lane {
            0 => track.name(),
            _ => format!("{} ({})", track.name(), lane + 1),
        };
        let place = (process(board), tid);
        writer.meta("thread_name", place, json!({ "name": name }))?;
        writer.meta("thread_sort_index", place, json!({ "sort_index": tid }))?;
    }
    for (slice, &tid) in story.slices.iter().zip(&threads.of_slice) {
        writer.event(&Event {
            name: &slice.name,
            cat: "alcor",
            ts: Some(slice.from + shifts[&slice.run]),
            dur: Some(slice.to - slice.from),
            tid,
            args: (!slice.args.is_empty()).then_some(&slice.args),
            ..Event::new("X", "", process(slice.board))
        })?;
    }
    for (id, arrow) in story.arrows.iter().enumerate() {
        let (from, to) = (&story.slices[arrow.from], &story.slices[arrow.to]);
        // Both ends have to lie within their slices.
        let begin = within(from, to.from);
        let end = within(to, begin);
        let shift = shifts[&from.run];
        writer.event(&Event {
            cat: "alcor",
            ts: Some(begin + shift),
            tid: threads.of_slice[arrow.from],
            id: Some(id),
            ..Event::new("s", "leads to", process(from.board))
        })?;
        writer.event(&Event {
            cat: "alcor",
            ts: Some(end + shift),
            tid: threads.of_slice[arrow.to],
            id: Some(id),
            bp: Some("e"),
            ..Event::new("f", "leads to", process(to.board))
        })?;
    }
    writer.out.write_all(b"\n]}\n")?;
    writer.out.flush()
}

fn within(slice: &Slice, cycle: u64) -> u64 {
    let last = slice.to.saturating_sub(1).max(slice.from);
    cycle.clamp(slice.from, last)
}

/// Threads, by board, track and the number of the track's busy threads when a slice began.
struct Threads {
    numbers: BTreeMap<(u32, Track, usize), u32>,
    of_slice: Vec<u32>,
}

fn threads(slices: &[Slice], shifts: &BTreeMap<u32, u64>) -> Threads {
    let mut order: Vec<usize> = (0..slices.len()).collect();
    order.sort_by_key(|&at| (slices[at].run, slices[at].from, slices[at].to));
    // The cycle until which each thread of a track is busy.
    let mut taken: HashMap<(u32, Track), Vec<u64>> = HashMap::new();
    let mut lanes = vec![0; slices.len()];
    for at in order {
        let slice = &slices[at];
        let shift = shifts[&slice.run];
        let (from, to) = (slice.from + shift, slice.to.max(slice.from + 1) + shift);
        let ends = taken.entry((slice.board, slice.track)).or_default();
        let lane = ends
            .iter()
            .position(|&end| end <= from)
            .unwrap_or(ends.len());
        match ends.get_mut(lane) {
            Some(end) => *end = to,
            None => ends.push(to),
        }
        lanes[at] = lane;
    }
    let mut numbers: BTreeMap<(u32, Track, usize), u32> = BTreeMap::new();
    for (&(board, track), ends) in &taken {
        for lane in 0..ends.len() {
            numbers.insert((board, track, lane), 0);
        }
    }
    for (number, tid) in (1..).zip(numbers.values_mut()) {
        *tid = number;
    }
    let of_slice = slices
        .iter()
        .zip(lanes)
        .map(|(slice, lane)| numbers[&(slice.board, slice.track, lane)])
        .collect();
    Threads { numbers, of_slice }
}

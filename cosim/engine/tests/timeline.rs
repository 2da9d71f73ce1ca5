//! Timelines and packet logs: of real boards, and of a stand-in where it is about how a run ends.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use alcor::{Board, Causes, Cycle, Error, GlobalRank, Job, Operation, Rank, Result, Rights};
use alcor_cosim::{CosimBackend, CosimError, Options, Place, SimCluster};
use serde_json::Value;
use tempfile::TempDir;

use crate::fixture::{alone, board_with, model, run};

/// Opens boards, with the files `t.json` and what `more` asks for in a folder.
fn open(config: &str, folder: &TempDir, more: &str) -> Arc<SimCluster> {
    let more = more.replace('@', folder.path().to_str().unwrap());
    let separator = if config.contains('?') { '&' } else { '?' };
    CosimBackend::new()
        .open_sim(&format!("{config}{separator}{more}"))
        .unwrap()
}

fn run_job(cluster: &SimCluster, program: impl Fn(&mut Rank) -> Result<()> + Send + Sync) {
    let job = Job::new(cluster.cluster().unwrap()).unwrap();
    job.run(job.ranks(), program).unwrap();
}

/// A slice of the timeline, as (first cycle, cycles, board, thread, name).
type Told = (u64, u64, u64, String, String);

/// A timeline that has been found to be well-formed.
struct Timeline {
    slices: Vec<Value>,
    /// By slice, the slices that it leads to.
    leads_to: HashMap<usize, Vec<usize>>,
    threads: HashMap<(u64, u64), String>,
    others: Vec<Value>,
}

impl Timeline {
    fn read(path: &Path) -> Self {
        let file: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let events = file["traceEvents"].as_array().unwrap();
        let number = |event: &Value, key: &str| event[key].as_u64().unwrap();
        let place = |event: &Value| (number(event, "pid"), number(event, "tid"));
        let (mut slices, mut others) = (Vec::new(), Vec::new());
        let mut threads = HashMap::new();
        let mut ends: HashMap<u64, [Option<Value>; 2]> = HashMap::new();
        for event in events {
            assert!(event["name"].is_string(), "{event}");
            match event["ph"].as_str().unwrap() {
                "X" => slices.push(event.clone()),
                "M" if event["name"] == "thread_name" => {
                    let name = event["args"]["name"].as_str().unwrap().to_owned();
                    assert!(threads.insert(place(event), name).is_none(), "{event}");
                }
                phase @ ("s" | "f") => {
                    let end = &mut ends.entry(number(event, "id")).or_default();
                    let end = &mut end[usize::from(phase == "f")];
                    assert!(end.replace(event.clone()).is_none(), "{event}");
                }
                "M" | "i" => others.push(event.clone()),
                other => panic!("phase {other}"),
            }
        }
        // Slices of a thread do not overlap, so that each flow's end is in one of them.
        let mut of_thread: HashMap<(u64, u64), Vec<usize>> = HashMap::new();
        slices.sort_by_key(|slice| (place(slice), number(slice, "ts"), number(slice, "dur")));
        for (index, slice) in slices.iter().enumerate() {
            assert!(threads.contains_key(&place(slice)), "{slice}");
            let line = of_thread.entry(place(slice)).or_default();
            if let Some(&before) = line.last() {
                let end = number(&slices[before], "ts") + number(&slices[before], "dur");
                assert!(
                    end <= number(slice, "ts"),
                    "{slice} overlaps {}",
                    slices[before]
                );
            }
            line.push(index);
        }
        let at = |event: &Value| {
            let ts = number(event, "ts");
            let line = &of_thread[&place(event)];
            let place = line.partition_point(|&index| number(&slices[index], "ts") <= ts);
            let index = line[place - 1];
            let end = number(&slices[index], "ts") + number(&slices[index], "dur").max(1);
            assert!(ts < end, "{event} is in no slice");
            index
        };
        let mut leads_to: HashMap<usize, Vec<usize>> = HashMap::new();
        for [start, finish] in ends.into_values() {
            let (start, finish) = (start.expect("a start"), finish.expect("a finish"));
            assert!(
                number(&start, "ts") <= number(&finish, "ts"),
                "{} leads back to {}",
                slices[at(&start)],
                slices[at(&finish)]
            );
            assert_eq!(finish["bp"], "e");
            leads_to.entry(at(&start)).or_default().push(at(&finish));
        }
        Self {
            slices,
            leads_to,
            threads,
            others,
        }
    }

    fn thread(&self, slice: usize) -> &str {
        let slice = &self.slices[slice];
        &self.threads[&(
            slice["pid"].as_u64().unwrap(),
            slice["tid"].as_u64().unwrap(),
        )]
    }

    fn told(&self, slice: usize) -> Told {
        let value = &self.slices[slice];
        let number = |key: &str| value[key].as_u64().unwrap();
        let name = value["name"].as_str().unwrap().to_owned();
        let thread = self.thread(slice).to_owned();
        (number("ts"), number("dur"), number("pid") - 1, thread, name)
    }

    fn find(&self, is_it: impl Fn(&str, &str) -> bool) -> Vec<usize> {
        let name = |slice: usize| self.slices[slice]["name"].as_str().unwrap();
        (0..self.slices.len())
            .filter(|&slice| is_it(self.thread(slice), name(slice)))
            .collect()
    }

    /// The one call of that name, what it led to, and so on one after the other back to the call.
    fn story(&self, call: &str) -> Vec<Told> {
        let calls = self.find(|thread, name| thread.contains("calls") && name == call);
        assert_eq!(calls.len(), 1, "{call}");
        let mut story = vec![self.told(calls[0])];
        let mut slice = calls[0];
        loop {
            let [next] = self.leads_to[&slice][..] else {
                panic!("{:?} leads to several", self.told(slice));
            };
            if next == calls[0] {
                return story;
            }
            story.push(self.told(next));
            slice = next;
        }
    }

    /// Slices that something leads to.
    fn caused(&self) -> HashSet<usize> {
        self.leads_to.values().flatten().copied().collect()
    }
}

fn told(story: &[(u64, u64, u64, &str, &str)]) -> Vec<Told> {
    let own = |&(from, cycles, board, thread, name): &(u64, u64, u64, &str, &str)| {
        (from, cycles, board, thread.to_owned(), name.to_owned())
    };
    story.iter().map(own).collect()
}

/// Rank 0 puts to rank 1, and gets from it.
fn put_and_get(rank: &mut Rank) -> Result<()> {
    let inbox = rank.alloc_from(&[1u32, 2, 3, 4])?;
    let window = rank.register(&inbox, Rights::ALL)?;
    if rank.pid() == GlobalRank(0) {
        let mut data = rank.alloc_from(&[7u32, 8])?;
        rank.put(&window, GlobalRank(1), 1, &data)?;
        rank.get(&window, GlobalRank(1), 0, &mut data)?;
        assert_eq!(rank.read_vec(&data)?, [1, 7]);
    }
    rank.barrier()
}

/// CRC-32 of what a board's streams carried, of beats of a word, as the traffic digest is described.
fn digest_of(cluster: &SimCluster) -> u32 {
    let mut beats = Vec::new();
    for packet in cluster.packets() {
        let (rank, stream) = match packet.place {
            Place::RequestSent { rank } => (rank, 0),
            Place::ReplySent { rank } => (rank, 1),
            Place::RequestReceived { rank } => (rank, 2),
            Place::ReplyReceived { rank } => (rank, 3),
            Place::Link { .. } => panic!("there are no links"),
        };
        // Without a gap, so that each word's cycle is known.
        assert_eq!(
            packet.end - packet.cycle,
            packet.words.len() as u64,
            "{packet}"
        );
        for (edge, (index, word)) in (packet.cycle + 1..).zip(packet.words.iter().enumerate()) {
            let is_last = index + 1 == packet.words.len();
            beats.push((edge, (4 * rank + stream) as u8, u8::from(is_last), *word));
        }
    }
    beats.sort_unstable();
    let mut hasher = crc32fast::Hasher::new();
    for (edge, stream, is_last, word) in beats {
        hasher.update(&edge.to_le_bytes());
        hasher.update(&[stream, is_last]);
        hasher.update(&word.to_le_bytes());
    }
    hasher.finalize()
}

#[test]
fn a_put_and_a_get_are_followed_cycle_by_cycle() {
    let folder = TempDir::new().unwrap();
    let cluster = open("rma2", &folder, "trace=@/t.json");
    run_job(&cluster, put_and_get);
    let digest = cluster.boards()[0].traffic_digest().unwrap();
    assert_eq!(digest_of(&cluster), digest);
    cluster.write_log().unwrap();
    let timeline = Timeline::read(&folder.path().join("t.json"));
    let put = told(&[
        (26, 41, 0, "rank 0 calls", "put"),
        (30, 1, 0, "rank 0 commands", "XPut"),
        (
            40,
            5,
            0,
            "rank 0 requests sent",
            "XPUT 0->1 id=256 slot=0 offset=4 bytes=8",
        ),
        (
            44,
            5,
            0,
            "rank 1 requests received",
            "XPUT 0->1 id=256 slot=0 offset=4 bytes=8",
        ),
        (49, 2, 0, "rank 1 memory, requests", "write at 0x1004"),
        (
            55,
            1,
            0,
            "rank 1 replies sent",
            "XACK 1->0 id=256 status=Ok",
        ),
        (
            59,
            1,
            0,
            "rank 0 replies received",
            "XACK ?->0 id=256 status=Ok",
        ),
        (63, 2, 0, "rank 0 completions", "completion 256"),
    ]);
    assert_eq!(timeline.story("put"), put);
    let get = told(&[
        (67, 44, 0, "rank 0 calls", "get"),
        (69, 1, 0, "rank 0 commands", "XGet"),
        (
            80,
            4,
            0,
            "rank 0 requests sent",
            "XGET 0->1 id=256 slot=0 offset=0 bytes=8",
        ),
        (
            84,
            4,
            0,
            "rank 1 requests received",
            "XGET 0->1 id=256 slot=0 offset=0 bytes=8",
        ),
        (
            95,
            5,
            0,
            "rank 1 replies sent",
            "XDATA 1->0 id=256 offset=4160 bytes=8",
        ),
        (
            99,
            5,
            0,
            "rank 0 replies received",
            "XDATA ?->0 id=256 offset=4160 bytes=8",
        ),
        (104, 2, 0, "rank 0 memory, replies", "write at 0x1040"),
        (107, 2, 0, "rank 0 completions", "completion 256"),
    ]);
    assert_eq!(timeline.story("get"), get);
}

#[test]
fn hops_over_links_are_followed() {
    let folder = TempDir::new().unwrap();
    let cluster = open("ring3-small", &folder, "trace=@/t.json");
    run_job(&cluster, |rank| {
        put_and_get(rank)?;
        let mut vector = rank.alloc_from(&[1.0f64; 8])?;
        let world = rank.world()?;
        let receipt = world.allreduce_in_place(rank, Operation::Sum, &mut vector)?;
        assert!(receipt.is_hardware());
        Ok(())
    });
    cluster.write_log().unwrap();
    let timeline = Timeline::read(&folder.path().join("t.json"));
    let story = timeline.story("put");
    let ways: Vec<(u64, &str)> = story
        .iter()
        .map(|(_, _, board, thread, _)| (*board, thread.as_str()))
        .collect();
    let expected = [
        (0, "rank 0 calls"),
        (0, "rank 0 commands"),
        (0, "rank 0 requests sent"),
        (0, "link 0 out, requests"),
        (1, "link 1 in, requests"),
        (1, "rank 0 requests received"),
        (1, "rank 0 memory, requests"),
        (1, "rank 0 replies sent"),
        (1, "link 1 out, replies"),
        (0, "link 0 in, replies"),
        (0, "rank 0 replies received"),
        (0, "rank 0 completions"),
    ];
    assert_eq!(ways, expected);
    // What is on a board's pins in cycle t is on its neighbour's in cycle t + 110.
    assert_eq!(story[4].0, story[3].0 + 110);
    assert_eq!(story[9].0, story[8].0 + 110);
    // For as long as it was on this board's.
    assert_eq!((story[4].1, story[9].1), (story[3].1, story[8].1));
    // The allreduce of each rank went over links, and ended with what came, in memory.
    let caused = timeline.caused();
    let writes = timeline.find(|thread, _| thread.contains("memory, collectives"));
    assert_eq!(writes.len(), 3);
    assert!(writes.iter().all(|write| caused.contains(write)));
    let calls = timeline.find(|thread, name| thread.contains("calls") && name == "allreduce");
    assert_eq!(calls.len(), 3);
    assert!(calls.iter().all(|call| caused.contains(call)));
    let phits = timeline.find(|thread, name| {
        thread.contains("in, collectives") && name.starts_with("allreduce data")
    });
    assert!(phits.len() >= 4 && phits.iter().all(|phit| caused.contains(phit)));
}

/// Every rank puts to, gets from and sends to every rank, in lengths around those of packets; and the paper's commands.
fn traffic(rank: &mut Rank) -> Result<()> {
    let (me, ranks) = (rank.pid().0, rank.nprocs());
    let inbox = rank.alloc::<u8>(2048 * ranks as usize)?;
    let window = rank.register(&inbox, Rights::ALL)?;
    let data = rank.alloc::<u8>(2048)?;
    let mut requests = Vec::new();
    for length in [1, 7, 64, 65, 300, 1000] {
        for target in (0..ranks).map(GlobalRank) {
            let place = u64::from(2048 * me) + length as u64 % 5;
            let piece = data.slice(0..length)?;
            requests.push(rank.iput_bytes(&window, target, place, piece.clone())?);
            requests.push(rank.iget_bytes(&window, target, place, piece.clone())?);
        }
    }
    rank.wait_all(requests)?;
    // One that is refused, in front of one that is not.
    let last = u64::from(2048 * ranks) - 2;
    let refused = rank.iput_bytes(&window, GlobalRank(0), last, data.slice(0..9)?)?;
    let good = rank.iput_bytes(&window, GlobalRank(0), last, data.slice(0..2)?)?;
    assert!(rank.wait(refused).is_err());
    rank.wait(good)?;
    rank.lab()
        .paper()
        .put_1(window.base(), GlobalRank(0), me, 5)?;
    rank.lab()
        .paper()
        .put_n(window.base(), window.base(), GlobalRank(0), 9, 2)?;
    rank.lab()
        .paper()
        .get(window.base(), window.base(), GlobalRank(ranks - 1), 4, 3)?;
    rank.fence()?;
    for length in [0, 8, 64, 700] {
        let to = GlobalRank((me + 1) % ranks);
        let from = GlobalRank((me + ranks - 1) % ranks);
        let (out, mut back) = (data.slice(0..length)?, data.slice(1000..1000 + length)?);
        let sent = rank.isend(to, length as u32, &out)?;
        let received = rank.irecv(from, length as u32, &mut back)?;
        rank.wait_all([sent, received])?;
    }
    rank.barrier()
}

#[test]
fn nothing_is_left_unjoined() {
    for config in [
        "rma2",
        "rma2-wide-small",
        "ring3-small",
        "u280",
        "rma2?profile=gen3x16",
    ] {
        let folder = TempDir::new().unwrap();
        let cluster = open(config, &folder, "trace=@/t.json");
        run_job(&cluster, traffic);
        cluster.write_log().unwrap();
        let timeline = Timeline::read(&folder.path().join("t.json"));
        let caused = timeline.caused();
        // Completions and all traffic come from something; and calls from the completion that ends them.
        let joined = [
            "requests sent",
            "replies sent",
            "requests received",
            "replies received",
            "out, requests",
            "out, replies",
            "in, requests",
            "in, replies",
            "memory, requests",
            "memory, replies",
            "completions",
        ];
        let ends = ["put", "get", "send", "receive"];
        let mut seen = HashSet::new();
        for slice in 0..timeline.slices.len() {
            let told = timeline.told(slice);
            let thread = joined.iter().find(|thread| told.3.contains(*thread));
            let call = ends
                .iter()
                .find(|call| told.3.contains("calls") && told.4 == **call);
            if let Some(kind) = thread.or(call) {
                seen.insert(*kind);
                assert!(caused.contains(&slice), "{config}: {told:?}");
                assert!(
                    timeline.slices[slice]["args"]["operation"].is_string(),
                    "{config}: {told:?}"
                );
            }
        }
        let links = if cluster.boards().len() > 1 { 0 } else { 4 };
        assert_eq!(
            seen.len(),
            joined.len() + ends.len() - links,
            "{config}: {seen:?}"
        );
        // Each request of a get leads to the data that answers it, and to no other.
        let operation = |slice: usize| &timeline.slices[slice]["args"]["operation"];
        let gets = timeline.find(|thread, name| thread.contains("calls") && name == "get");
        let gets: HashSet<&Value> = gets.into_iter().map(operation).collect();
        let is_data = |slice: usize| {
            let (_, _, _, thread, name) = timeline.told(slice);
            let is_get = gets.contains(operation(slice));
            is_get && thread.contains("replies sent") && name.starts_with("XDATA")
        };
        let answered: Vec<usize> = (0..timeline.slices.len())
            .filter(|&slice| timeline.thread(slice).contains("requests received"))
            .flat_map(|slice| {
                let data = timeline.leads_to.get(&slice).into_iter().flatten();
                let data: Vec<usize> = data.copied().filter(|&it| is_data(it)).collect();
                assert!(data.len() <= 1, "{config}: {:?}", timeline.told(slice));
                data
            })
            .collect();
        let all = (0..timeline.slices.len()).filter(|&slice| is_data(slice));
        assert!(!answered.is_empty());
        assert_eq!(answered.len(), all.count(), "{config}");
        // A packet that is written to memory is written whole.
        let unfinished = timeline
            .slices
            .iter()
            .filter(|slice| slice["args"]["unfinished"] == true);
        assert_eq!(unfinished.count(), 0, "{config}");
    }
}

#[test]
fn a_refused_put_is_written_nowhere() {
    let folder = TempDir::new().unwrap();
    let cluster = open("rma2", &folder, "trace=@/t.json");
    run_job(&cluster, |rank| {
        let inbox = rank.alloc_from(&[0u32; 4])?;
        let window = rank.register(&inbox, Rights::ALL)?;
        if rank.pid() == GlobalRank(0) {
            let data = rank.alloc_from(&[7u8; 32])?;
            let refused = rank.iput_bytes(&window, GlobalRank(1), 0, &data)?;
            let good = rank.iput_bytes(&window, GlobalRank(1), 0, data.slice(0..8)?)?;
            assert!(rank.wait(refused).is_err());
            rank.wait(good)?;
        }
        rank.barrier()
    });
    cluster.write_log().unwrap();
    let timeline = Timeline::read(&folder.path().join("t.json"));
    let writes = timeline.find(|thread, _| thread == "rank 1 memory, requests");
    let args = &timeline.slices[writes[0]]["args"];
    assert_eq!((writes.len(), &args["operation"]), (1, &"rank 0 #3".into()));
    let refused = timeline
        .find(|thread, name| thread.starts_with("rank 0 calls") && name == "put")
        .into_iter()
        .filter(|&put| timeline.slices[put]["args"]["status"] == "OutOfBounds");
    assert_eq!(refused.count(), 1);
}

#[test]
fn a_log_changes_nothing() {
    for config in ["rma2", "rma2?profile=gen3x16", "ring3-small"] {
        let folder = TempDir::new().unwrap();
        let told = ["away=60", "trace=@/t.json&packets=@/p.pcapng", "log=5"].map(|more| {
            let cluster = open(config, &folder, more);
            run_job(&cluster, traffic);
            (cluster.traffic_digest(), cluster.board_cycles())
        });
        assert_eq!(told[0], told[1], "{config}");
        assert_eq!(told[0], told[2], "{config}");
    }
}

#[test]
fn a_log_is_bounded_and_says_what_is_missing() {
    let folder = TempDir::new().unwrap();
    let more = "trace=@/t.json&packets=@/p.txt&log=200";
    let cluster = open("rma2", &folder, more);
    run_job(&cluster, traffic);
    let kept = cluster.packets();
    assert!(!kept.is_empty() && kept.len() <= 200);
    drop(cluster);
    // What is kept is as it would be among all the rest.
    let whole = open("rma2", &folder, "log=100000");
    run_job(&whole, traffic);
    let all = whole.packets();
    assert!(kept.iter().all(|packet| all.contains(packet)));
    assert_eq!(kept.last(), all.last());
    let timeline = Timeline::read(&folder.path().join("t.json"));
    assert!(timeline.slices.len() <= 200 + 8);
    let log = timeline
        .others
        .iter()
        .find(|event| event["name"] == "alcor_log");
    let log = &log.unwrap()["args"];
    assert_eq!(log["record_limit"], 200);
    assert!(log["dropped_records"].as_u64().unwrap() > 500);
    let text = fs::read_to_string(folder.path().join("p.txt")).unwrap();
    let first = text.lines().next().unwrap();
    assert!(first.contains("older records are gone"), "{first}");
}

#[test]
fn packets_are_read_back_by_another_reader() {
    let folder = TempDir::new().unwrap();
    let cluster = open("ring3-small", &folder, "packets=@/p.pcapng");
    run_job(&cluster, traffic);
    cluster.write_log().unwrap();
    let reader = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/read_pcapng.py");
    let output = Command::new("python3")
        .arg(reader)
        .arg(folder.path().join("p.pcapng"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let read = String::from_utf8(output.stdout).unwrap();
    let expected = cluster.packets().into_iter().map(|packet| {
        let (number, channel, flags) = match packet.place {
            Place::RequestSent { rank } => (rank, 0, 0),
            Place::ReplySent { rank } => (rank, 0, 2),
            Place::RequestReceived { rank } => (rank, 0, 1),
            Place::ReplyReceived { rank } => (rank, 0, 3),
            Place::Link { port, channel } => (port, channel, 4),
        };
        let (run, cycle, board) = (packet.run, packet.cycle, packet.board);
        let mut line = format!(
            "{run} {cycle} {} {board} {number} {channel} {flags}",
            packet.end - packet.cycle
        );
        packet
            .words
            .iter()
            .for_each(|word| line += &format!(" {word}"));
        line
    });
    let expected: Vec<String> = expected.collect();
    assert!(expected.len() > 500);
    assert_eq!(read.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_run_that_ends_badly_is_told_at_once() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("t.json");
    let board = board_with(2, &format!("trace={}", file.display()));
    let ends = run(&board, |rank, port| {
        port.wait(Causes::NONE, Cycle(100))?;
        match rank {
            1 => Err(Error::BadOption {
                option: "life",
                value: 0,
                rule: "it has to be more",
            }),
            _ => port.wait(Causes::NONE, Cycle(1000)).map(drop),
        }
    });
    assert!(ends.iter().all(std::result::Result::is_err));
    // The boards are still open.
    let timeline = Timeline::read(&file);
    let waits = timeline.find(|thread, _| thread == "rank 0 waits");
    assert_eq!(waits.len(), 2);
    let (from, cycles, ..) = timeline.told(waits[0]);
    assert_eq!((from, cycles), (0, 100));
    assert_eq!(timeline.slices[waits[1]]["args"]["unfinished"], true);
    drop(board);
}

#[test]
fn a_panic_is_told_of_too() {
    let folder = TempDir::new().unwrap();
    let cluster = open("rma2", &folder, "trace=@/t.json");
    let job = Job::new(cluster.cluster().unwrap()).unwrap();
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        job.run(2, |rank| {
            let inbox = rank.alloc::<u32>(4)?;
            let window = rank.register(&inbox, Rights::ALL)?;
            let data = rank.alloc_from(&[7u32, 8])?;
            rank.put(&window, GlobalRank(0), 1, &data)?;
            assert!(rank.pid() == GlobalRank(0), "planted");
            rank.barrier()
        })
    }));
    assert!(!matches!(failed, Ok(Ok(_))));
    drop((job, cluster));
    let timeline = Timeline::read(&folder.path().join("t.json"));
    let puts = timeline.find(|thread, name| thread.contains("calls") && name == "put");
    assert_eq!(puts.len(), 2);
    let barriers =
        timeline.find(|thread, name| thread.contains("calls") && name.contains("barrier"));
    assert_eq!(barriers.len(), 1);
    assert_eq!(timeline.slices[barriers[0]]["args"]["unfinished"], true);
}

#[test]
fn runs_follow_each_other() {
    let folder = TempDir::new().unwrap();
    let cluster = open("rma2", &folder, "trace=@/t.json");
    for _ in 0..3 {
        run_job(&cluster, put_and_get);
    }
    drop(cluster);
    let timeline = Timeline::read(&folder.path().join("t.json"));
    let puts = timeline.find(|thread, name| thread.contains("calls") && name == "put");
    let begun: Vec<u64> = puts.iter().map(|&put| timeline.told(put).0).collect();
    assert_eq!(begun, [26, 1026, 2026]);
    let resets = timeline
        .others
        .iter()
        .filter(|event| event["name"] == "reset");
    assert_eq!(resets.count(), 3);
}

#[test]
fn what_can_not_be_written_is_said_before_the_run() {
    let backend = CosimBackend::new();
    let says = |rest: &str| backend.open_sim(rest).map(drop).unwrap_err();
    assert!(matches!(
        says("rma2?trace=/nonexistent/t.json"),
        CosimError::Write { .. }
    ));
    assert!(
        says("rma2?packets=p.pcap")
            .to_string()
            .contains(".pcapng or .txt")
    );
    assert!(says("rma2?trace=").to_string().contains("a file"));
    assert!(says("rma2?log=0").to_string().contains("100000000"));
    let cluster = SimCluster::with_model(
        "stand-in",
        &model(alone(2), 0, &Options::new().unwrap()),
        alone(2),
        alcor::Topology::single(),
        alcor_cosim::Options::new().unwrap(),
    );
    let cluster = cluster.unwrap();
    assert!(matches!(cluster.write_log(), Err(CosimError::NoLog)));
    assert!(cluster.packets().is_empty());
}

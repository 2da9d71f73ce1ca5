//! Loads of up to 10,000 senders to one receiver. `ALCOR_FULL=1` adds other programs and a longer
//! way.

use std::env;

use alcor_nic_model::{Broken, Figures, Incast, Rules, Sizes, incast};

/// Numbers of senders, and of the messages of each: about 30,000 messages together.
const LOADS: [(u32, u32); 5] = [(1, 30_000), (31, 968), (100, 300), (1_000, 30), (10_000, 3)];

/// A load whose program takes a message in the time in which eight may arrive.
fn load(senders: u32, messages: u32) -> Incast {
    Incast {
        senders,
        messages,
        room: 64,
        latency: 200,
        interval: 8,
        service: 64,
        sizes: Sizes::RTL,
        rules: Rules::default(),
    }
}

/// The figures of a load: time as a multiple of the least time, and refusals of each message.
struct Row {
    time: f64,
    refusals: f64,
    line: u32,
}

/// Simulates a load and prints its row.
#[track_caller]
fn row(load: &Incast) -> Row {
    let figures = incast(load).unwrap_or_else(|broken| panic!("{broken}: {load:?}"));
    let Figures {
        cycles,
        messages,
        refusals,
        line,
        queue,
    } = figures;
    let all = u64::from(load.senders) * u64::from(load.messages);
    assert_eq!(messages, all, "{load:?}");
    let least = messages * load.interval.max(load.service);
    let row = Row {
        time: cycles as f64 / least as f64,
        refusals: refusals as f64 / messages as f64,
        line,
    };
    println!(
        "| {} | {} | {:.2} | {:.1} | {line} | {queue} |",
        load.senders, load.messages, row.time, row.refusals
    );
    row
}

/// Prints the header of a table.
fn header(load: &Incast) {
    let Incast {
        room,
        latency,
        interval,
        service,
        sizes,
        ..
    } = load;
    let longest = sizes.longest_pause;
    println!(
        "room {room}, latency {latency}, interval {interval}, service {service}, pauses up to \
         {longest}\n| senders | messages of each | time | refusals | line | queue |"
    );
}

/// All messages are received once and in order, in little more than the least time. Refusals need no
/// more than the time of the port that is left.
#[test]
fn many_to_one() {
    let is_full = env::var("ALCOR_FULL").is_ok_and(|value| value == "1");
    let paths: &[(u64, u64)] = if is_full {
        &[
            (200, 8),
            (200, 16),
            (200, 64),
            (200, 400),
            (2_000, 64),
            (2_000, 400),
        ]
    } else {
        &[(200, 64)]
    };
    for &(latency, service) in paths {
        for room in [64, 1_024] {
            let base = Incast {
                room,
                latency,
                service,
                ..load(0, 0)
            };
            header(&base);
            for (senders, messages) in LOADS {
                let load = Incast {
                    senders,
                    messages,
                    ..base
                };
                let row = row(&load);
                assert!(row.time < 1.25, "{load:?}");
                assert!(row.refusals < (service / base.interval) as f64, "{load:?}");
                assert!(row.line <= 31, "{load:?}");
            }
        }
    }
}

/// Longer pauses save refusals, but with little room the program waits for messages.
#[test]
fn longer_pauses() {
    for service in [64, 400] {
        let with = |longest_pause| {
            let load = Incast {
                service,
                sizes: Sizes {
                    longest_pause,
                    ..Sizes::RTL
                },
                ..load(10_000, 3)
            };
            header(&load);
            row(&load)
        };
        let (short, long, longest) = (with(1_024), with(4_096), with(16_384));
        assert!(short.refusals > long.refusals && long.refusals > longest.refusals);
        assert!(short.time < long.time && long.time < longest.time);
        assert_eq!(short.line, 31);
    }
}

/// The simulation sees messages out of order.
#[test]
fn no_marks() {
    let load = Incast {
        rules: Rules {
            marks: false,
            ..Rules::default()
        },
        ..load(100, 300)
    };
    assert_eq!(incast(&load).err(), Some(Broken::Early));
}

/// The simulation sees that the senders can't finish.
#[test]
fn no_way_back() {
    let load = Incast {
        rules: Rules {
            goes_back: false,
            ..Rules::default()
        },
        ..load(100, 300)
    };
    assert_eq!(incast(&load).err(), Some(Broken::Unfinished));
}

/// Loads take longer if the receiver stores the number of the latest refused message.
#[test]
fn the_first_number_saves_time() {
    let first = Incast {
        room: 1_024,
        ..load(1_000, 30)
    };
    let latest = Incast {
        rules: Rules {
            keeps_first: false,
            ..Rules::default()
        },
        ..first
    };
    header(&first);
    assert!(row(&latest).time > 1.2 * row(&first).time);
}

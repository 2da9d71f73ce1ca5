//! The model of the core against the product guide: statuses, counts, write-back, interrupts.

use alcor_vcard::xdma::{Core, ErrorReport, Shape, control, status};

use crate::bytes::{Bytes, COMPLETED, Descriptor, STOP};

/// Host memory above 4 GiB, so that truncated addresses fail.
const HOST: u64 = 0x12_3456_0000;
const H2C: u32 = 0;
const C2H: u32 = 0x1000;
const SGDMA: u32 = 0x4000;
/// All statuses are logged.
const LOG: u32 = status::ERRORS
    | status::DESCRIPTOR_STOPPED
    | status::DESCRIPTOR_COMPLETED
    | status::IDLE_STOPPED;
const DONE: u32 = status::DESCRIPTOR_STOPPED | status::DESCRIPTOR_COMPLETED;

struct Bench {
    core: Core,
    host: Bytes,
    card: Bytes,
}

impl Bench {
    fn new() -> Bench {
        Bench::with(Shape::default())
    }

    fn with(shape: Shape) -> Bench {
        let mut core = Core::new(shape);
        core.set_bus_master(true);
        Bench {
            core,
            host: Bytes::new(HOST, 0x1_0000),
            card: Bytes::new(0, 0x1_0000),
        }
    }

    /// Puts a descriptor into host memory.
    fn descriptor(&self, at: u64, descriptor: Descriptor) {
        self.host.put(HOST + at, &descriptor.to_bytes());
    }

    /// Sets the first descriptor of a channel.
    fn first(&mut self, channel: u32, at: u64, adjacent: u32) {
        let at = HOST + at;
        self.core.write(channel + SGDMA + 0x80, at as u32);
        self.core.write(channel + SGDMA + 0x84, (at >> 32) as u32);
        self.core.write(channel + SGDMA + 0x88, adjacent);
    }

    fn poll_at(&mut self, channel: u32, at: u64) {
        let at = HOST + at;
        self.core.write(channel + 0x88, at as u32);
        self.core.write(channel + 0x8c, (at >> 32) as u32);
    }

    fn start(&mut self, channel: u32, flags: u32) {
        self.core.write(channel + 0x04, control::RUN | flags);
    }

    fn run(&mut self) {
        let mut steps = 0;
        while self.core.step(&self.host, &self.card) {
            steps += 1;
            assert!(steps < 10_000, "the engine does not stop");
        }
    }

    /// Runs one descriptor, and returns the status.
    fn transfer(&mut self, channel: u32, descriptor: Descriptor) -> u32 {
        self.descriptor(0, descriptor);
        self.first(channel, 0, 0);
        self.core.write(channel + 0x0c, control::RUN);
        self.start(channel, LOG);
        self.run();
        self.core.read(channel + 0x40)
    }
}

#[test]
fn identifiers_are_those_of_the_guide() {
    let mut core = Core::new(Shape::default());
    for (at, expected) in [
        (0x0000, 0x1fc0_0006),
        (0x0100, 0x1fc0_0106),
        (0x0200, 0),
        (0x1000, 0x1fc1_0006),
        (0x1100, 0x1fc1_0106),
        (0x2000, 0x1fc2_0006),
        (0x3000, 0x1fc3_0006),
        (0x4000, 0x1fc4_0006),
        (0x4100, 0x1fc4_0106),
        (0x5000, 0x1fc5_0006),
        (0x6000, 0x1fc6_0006),
        (0x004c, 0x0001_0140),
        (0x3018, 3),
    ] {
        assert_eq!(core.read(at), expected, "{at:#x}");
        core.write(at, u32::MAX);
        assert_eq!(core.read(at), expected, "{at:#x} after a write");
    }
}

#[test]
fn transfers_of_any_length_and_alignment_move_the_bytes() {
    for (source, destination, length) in [
        (0, 0, 1),
        (1, 2, 3),
        (7, 4094, 5),
        (4095, 1, 4098),
        (64, 64, 8192),
        (3, 3, 0),
    ] {
        let data: Vec<u8> = (0..length).map(|at| (at * 7 + 1) as u8).collect();
        let mut bench = Bench::new();
        let from = HOST + 0x4000 + source;
        bench.host.put(from, &data);
        let flags = STOP | COMPLETED;
        let descriptor = Descriptor::new(flags, from, destination, length as u32);
        assert_eq!(bench.transfer(H2C, descriptor), DONE);
        assert_eq!(bench.card.get(destination, data.len()), data);
        let ones = bench.card.all().iter().filter(|&&byte| byte != 0).count();
        assert_eq!(
            ones,
            data.iter().filter(|&&byte| byte != 0).count(),
            "nothing else changed"
        );
        let to = HOST + 0xa000 + source;
        let descriptor = Descriptor::new(flags, destination, to, length as u32);
        assert_eq!(bench.transfer(C2H, descriptor), DONE);
        assert_eq!(bench.host.get(to, data.len()), data);
        assert_eq!(bench.host.get(to + data.len() as u64, 8), [0; 8]);
    }
}

#[test]
fn a_list_of_blocks_is_followed_and_counted() {
    let mut bench = Bench::new();
    // Two descriptors side by side, then one elsewhere. The pointer of the first is not used.
    let flags = |last: bool| if last { STOP | COMPLETED } else { 0 };
    let place = |index: u64| HOST + 0x4000 + 0x10 * index;
    for (index, at, next, adjacent) in [
        (0, 0, 0xdead_0000, 0),
        (1, 32, HOST + 0x800, 0),
        (2, 0x800, 0, 0),
    ] {
        bench.host.put(place(index), &[index as u8 + 1; 4]);
        let descriptor = Descriptor {
            next,
            adjacent,
            ..Descriptor::new(flags(index == 2), place(index), 4 * index, 4)
        };
        bench.descriptor(at, descriptor);
    }
    bench.first(H2C, 0, 1);
    bench.start(H2C, LOG);
    assert_eq!(bench.core.read(0x40), status::BUSY);
    bench.run();
    assert_eq!(bench.core.read(0x48), 3);
    assert_eq!(bench.card.get(0, 12), [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
    // The status register clears what is written to it, its second address clears all.
    assert_eq!(bench.core.read(0x40), DONE);
    bench.core.write(0x40, status::DESCRIPTOR_STOPPED);
    assert_eq!(bench.core.read(0x44), status::DESCRIPTOR_COMPLETED);
    assert_eq!(bench.core.read(0x40), 0);
    // The run bit stays, and only its rising edge starts the engine.
    assert_eq!(bench.core.read(0x04) & control::RUN, control::RUN);
    bench.core.write(0x08, control::RUN);
    assert!(!bench.core.is_busy());
    bench.core.write(0x0c, control::RUN);
    bench.core.write(0x08, control::RUN);
    assert!(bench.core.is_busy());
    assert_eq!(bench.core.read(0x48), 0, "a start clears the count");
}

#[test]
fn bad_descriptors_stop_the_engine_with_their_status() {
    let good = Descriptor::new(STOP | COMPLETED, HOST + 0x4000, 0, 16);
    let mut bench = Bench::new();
    bench.transfer(H2C, good);
    // No magic number.
    bench.host.put(HOST, &[0; 4]);
    bench.core.write(0x0c, control::RUN);
    bench.start(H2C, LOG);
    bench.run();
    assert_eq!(bench.core.read(0x40), status::MAGIC_STOPPED);
    // A descriptor that does not exist, and a block that crosses a page.
    for (at, adjacent) in [(0x1_0000, 0), (0xfe0, 1)] {
        bench.first(H2C, at, adjacent);
        bench.core.write(0x0c, control::RUN);
        bench.start(H2C, LOG);
        bench.run();
        assert_eq!(bench.core.read(0x40), status::DESCRIPTOR_ERROR, "{at:#x}");
        assert_eq!(bench.core.read(0x48), 0);
    }
    // The source does not exist in host memory: an unsupported request.
    let status = bench.transfer(
        H2C,
        Descriptor {
            source: HOST - 16,
            ..good
        },
    );
    assert_eq!(status, status::READ_ERROR);
    // The destination does not exist on the card, and then a slave refuses it.
    let status = bench.transfer(
        H2C,
        Descriptor {
            destination: 0x1_0000,
            ..good
        },
    );
    assert_eq!(status, status::WRITE_ERROR);
    bench.card.refused = 0x100..0x200;
    let status = bench.transfer(
        H2C,
        Descriptor {
            destination: 0x100,
            ..good
        },
    );
    assert_eq!(status, status::WRITE_ERROR << 1);
    // The same for reads of the card.
    let read = Descriptor::new(STOP | COMPLETED, 0xfff8, HOST + 0x4000, 16);
    assert_eq!(bench.transfer(C2H, Descriptor { length: 8, ..read }), DONE);
    assert_eq!(bench.transfer(C2H, read), status::READ_ERROR);
    assert_eq!(
        bench.transfer(
            C2H,
            Descriptor {
                source: 0x100,
                ..read
            }
        ),
        status::READ_ERROR << 1
    );
    // A write to host memory that does not exist is posted, and lost.
    assert_eq!(
        bench.transfer(
            C2H,
            Descriptor {
                source: 0,
                destination: 8,
                ..read
            }
        ),
        DONE
    );
    // The engine still works.
    assert_eq!(bench.transfer(H2C, good), DONE);
}

#[test]
fn statuses_that_are_not_enabled_are_not_logged() {
    let mut bench = Bench::new();
    let bad = Descriptor::new(STOP | COMPLETED, HOST - 16, 0, 16);
    bench.descriptor(0, bad);
    bench.first(H2C, 0, 0);
    bench.start(H2C, status::DESCRIPTOR_STOPPED);
    bench.run();
    assert_eq!(
        bench.core.read(0x40),
        status::DESCRIPTOR_STOPPED,
        "the error does not stop it"
    );
    // A failed fetch that is not enabled ends with the ones that it read: no magic number.
    bench.first(H2C, 0x1_0000, 0);
    bench.core.write(0x0c, control::RUN);
    bench.start(H2C, status::MAGIC_STOPPED);
    bench.run();
    assert_eq!(bench.core.read(0x40), status::MAGIC_STOPPED);
}

#[test]
fn a_core_with_an_alignment_reports_a_mismatch() {
    let mut bench = Bench::with(Shape {
        alignment: 64,
        ..Shape::default()
    });
    assert_eq!(bench.core.read(0x4c) >> 16, 64);
    let good = Descriptor::new(STOP | COMPLETED, HOST + 0x4004, 0x44, 16);
    assert_eq!(bench.transfer(H2C, good), DONE);
    let bad = Descriptor {
        destination: 0x48,
        ..good
    };
    assert_eq!(bench.transfer(H2C, bad), status::ALIGN_MISMATCH);
}

#[test]
fn the_count_is_written_back_after_counted_descriptors() {
    let mut bench = Bench::new();
    let at = |index: u64| HOST + 0x400 + 32 * index;
    for index in 0..3 {
        let flags = [COMPLETED, 0, STOP | COMPLETED][index as usize];
        let descriptor = Descriptor {
            next: at(index + 1),
            ..Descriptor::new(flags, HOST + 0x4000, 0, 4)
        };
        bench.descriptor(0x400 + 32 * index, descriptor);
    }
    bench.poll_at(H2C, 0x2000);
    bench.host.put(HOST + 0x2000, &[0xee; 8]);
    bench.first(H2C, 0x400, 0);
    bench.start(H2C, LOG | control::POLL_WRITE_BACK);
    let mut seen = Vec::new();
    while bench.core.step(&bench.host, &bench.card) {
        let found = bench.host.get(HOST + 0x2000, 8);
        if seen.last() != Some(&found) {
            seen.push(found);
        }
    }
    let count = |count: u8| vec![count, 0, 0, 0, 0xee, 0xee, 0xee, 0xee];
    assert_eq!(seen, [vec![0xee; 8], count(1), count(3)]);
    // Not without its enable bit.
    bench.host.put(HOST + 0x2000, &[0xee; 8]);
    bench.transfer(H2C, Descriptor::new(STOP | COMPLETED, HOST, 0, 4));
    assert_eq!(bench.host.get(HOST + 0x2000, 8), [0xee; 8]);
}

/// Each error with the word that the engine writes back, which stays 0xee.. without a write.
#[test]
fn errors_are_written_back() {
    let flags = STOP | COMPLETED;
    let good = Descriptor::new(COMPLETED, HOST + 0x4000, 0, 2000);
    let unwritten = 0xeeee_eeee;
    for report in [
        ErrorReport::WriteBack,
        ErrorReport::Status,
        ErrorReport::Late,
    ] {
        let with = |failed: u32, late: u32| match report {
            ErrorReport::WriteBack => failed,
            ErrorReport::Status => 1,
            ErrorReport::Late => late,
        };
        for (name, second, status, expected) in [
            ("none", good, DONE, 2),
            (
                "read of host memory",
                Descriptor { source: 0, ..good },
                status::READ_ERROR,
                with(1 << 31 | 1, 1),
            ),
            (
                "the first burst of a write",
                Descriptor {
                    destination: 0x100,
                    ..good
                },
                status::WRITE_ERROR << 1,
                with(1 << 31 | 1, 1),
            ),
            (
                "the last burst of a write",
                Descriptor {
                    destination: 0x100,
                    length: 16,
                    ..good
                },
                status::WRITE_ERROR << 1,
                with(1 << 31 | 1, 2),
            ),
            (
                "alignment",
                Descriptor {
                    destination: 1,
                    ..good
                },
                status::ALIGN_MISMATCH,
                with(1 << 31 | 1, 1),
            ),
        ] {
            let mut bench = Bench::with(Shape {
                alignment: 4,
                report,
                ..Shape::default()
            });
            bench.card.refused = 0x100..0x200;
            bench.poll_at(H2C, 0x2000);
            bench.host.put(HOST + 0x2000, &[0xee; 4]);
            let first = Descriptor {
                next: HOST + 32,
                ..good
            };
            bench.descriptor(0, first);
            bench.descriptor(32, Descriptor { flags, ..second });
            bench.first(H2C, 0, 0);
            bench.start(H2C, LOG | control::POLL_WRITE_BACK);
            bench.run();
            let word = bench.host.get(HOST + 0x2000, 4);
            let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            assert_eq!(word, expected, "{report:?}: {name}");
            let found = bench.core.read(0x40) & status::ERRORS;
            assert_eq!(found, status & status::ERRORS, "{report:?}: {name}");
        }
        // The first fetch fails: no descriptor is complete.
        let mut bench = Bench::with(Shape {
            report,
            ..Shape::default()
        });
        bench.poll_at(H2C, 0x2000);
        bench.host.put(HOST + 0x2000, &[0xee; 4]);
        bench.first(H2C, 0x1_0000, 0);
        bench.start(H2C, LOG | control::POLL_WRITE_BACK);
        bench.run();
        let expected = if report == ErrorReport::WriteBack {
            1 << 31
        } else {
            unwritten
        };
        assert_eq!(
            bench.host.get(HOST + 0x2000, 4),
            u32::to_le_bytes(expected),
            "{report:?}"
        );
    }
}

/// Of all errors, only the mismatch of alignments outlives the start of the next run.
#[test]
fn a_start_clears_all_errors_but_a_mismatch_of_alignments() {
    let mut bench = Bench::with(Shape {
        alignment: 4,
        ..Shape::default()
    });
    let good = Descriptor::new(STOP | COMPLETED, HOST + 0x4000, 0, 4);
    let read = Descriptor { source: 0, ..good };
    assert_eq!(bench.transfer(H2C, read), status::READ_ERROR);
    assert_eq!(bench.transfer(H2C, good), DONE);
    let misaligned = Descriptor {
        destination: 1,
        ..good
    };
    assert_eq!(bench.transfer(H2C, misaligned), status::ALIGN_MISMATCH);
    assert_eq!(bench.transfer(H2C, good), DONE | status::ALIGN_MISMATCH);
    bench.core.write(0x40, status::ALIGN_MISMATCH);
    assert_eq!(bench.transfer(H2C, good), DONE);
}

#[test]
fn a_fixed_address_gets_one_beat_after_the_other() {
    let mut bench = Bench::new();
    let data: Vec<u8> = (0..200).collect();
    bench.host.put(HOST + 0x4000, &data);
    let descriptor = Descriptor::new(STOP | COMPLETED, HOST + 0x4000, 0x80, 200);
    bench.descriptor(0, descriptor);
    bench.first(H2C, 0, 0);
    bench.start(H2C, LOG | control::NON_INCREMENTING);
    bench.run();
    let expected = [&data[192..200], &data[136..192]].concat();
    assert_eq!(bench.card.get(0x80, 64), expected);
    assert_eq!(bench.card.get(0xc0, 64), [0; 64]);
}

#[test]
fn a_cleared_run_bit_stops_after_the_descriptor() {
    let mut bench = Bench::new();
    // A list without an end.
    let descriptor = Descriptor {
        next: HOST,
        ..Descriptor::new(0, HOST + 0x4000, 0, 4096)
    };
    bench.descriptor(0, descriptor);
    bench.first(H2C, 0, 0);
    bench.start(H2C, LOG);
    for _ in 0..4 {
        assert!(bench.core.step(&bench.host, &bench.card));
    }
    assert_eq!(
        bench.core.read(0x48),
        0,
        "in the middle of the first descriptor"
    );
    bench.core.write(0x0c, control::RUN);
    assert_eq!(bench.core.read(0x40), status::BUSY);
    bench.run();
    assert_eq!(bench.core.read(0x40), status::IDLE_STOPPED);
    assert_eq!(bench.core.read(0x48), 1);
}

#[test]
fn a_reset_in_the_middle_of_a_transfer_ends_it() {
    let mut bench = Bench::new();
    bench.descriptor(0, Descriptor::new(STOP, HOST + 0x4000, 0, 4096));
    bench.host.put(HOST + 0x4000, &[5; 4096]);
    bench.first(H2C, 0, 0);
    bench.start(H2C, LOG);
    for _ in 0..3 {
        bench.core.step(&bench.host, &bench.card);
    }
    bench.core.reset();
    assert!(!bench.core.is_busy());
    assert_eq!(
        (
            bench.core.read(0x04),
            bench.core.read(0x40),
            bench.core.read(0x4080)
        ),
        (0, 0, 0)
    );
    bench.core.set_bus_master(true);
    bench.run();
    let moved = bench.card.all().iter().filter(|&&byte| byte == 5).count();
    assert_eq!(moved, 1024, "the burst before the reset");
    assert_eq!(
        bench.transfer(H2C, Descriptor::new(STOP | COMPLETED, HOST + 0x4000, 0, 4)),
        DONE
    );
}

#[test]
fn engines_stand_still_without_bus_master_halted_and_without_credits() {
    let mut bench = Bench::new();
    bench.core.set_bus_master(false);
    bench.descriptor(0, Descriptor::new(STOP | COMPLETED, HOST + 0x4000, 0, 4));
    bench.first(C2H + 0x100, 0, 0);
    bench.start(C2H + 0x100, LOG);
    bench.run();
    assert_eq!(bench.core.read(C2H + 0x140), status::BUSY);
    bench.core.set_bus_master(true);
    // Halt and credit mode of C2H channel 1: bit 17.
    bench.core.write(0x6014, 1 << 17);
    bench.core.write(0x6024, 1 << 17);
    bench.run();
    assert_eq!(bench.core.read(C2H + 0x140), status::BUSY);
    bench.core.write(0x6018, 1 << 17);
    bench.run();
    assert_eq!(bench.core.read(C2H + 0x140), status::BUSY);
    bench.core.write(C2H + 0x100 + SGDMA + 0x8c, 2);
    bench.run();
    assert_eq!(
        bench.core.read(C2H + 0x100 + SGDMA + 0x8c),
        1,
        "one credit is left"
    );
    assert_ne!(
        bench.core.read(C2H + 0x140) & status::ERRORS,
        0,
        "host address 0x12.. is not on the card"
    );
}

#[test]
fn interrupts_are_messages_of_enabled_rising_requests() {
    let mut bench = Bench::new();
    let all = u32::MAX;
    let core = &mut bench.core;
    // Vectors: H2C 0..1 and C2H 0..1 to 4..8, user interrupts to 8..
    core.write(0x20a0, 0x0706_0504);
    core.write(0x2080, 0x0b0a_0908);
    assert_eq!(
        (core.read(0x20a0), core.read(0x2080), core.read(0x2084)),
        (0x0706_0504, 0x0b0a_0908, 0)
    );
    // User interrupt 1: first disabled, so it is pending only.
    core.set_user_requests(0b10);
    assert_eq!(
        (
            core.read(0x2048),
            core.read(0x2040),
            core.take_messages(all)
        ),
        (0b10, 0, 0)
    );
    core.write(0x2008, 0b110);
    assert_eq!((core.read(0x2040), core.take_messages(all)), (0b10, 1 << 9));
    core.set_user_requests(0b10);
    assert_eq!(
        core.take_messages(all),
        0,
        "a level that stays makes one message"
    );
    core.set_user_requests(0b00);
    core.set_user_requests(0b110);
    // Vectors without a route stay pending.
    assert_eq!(core.take_messages(1 << 10), 1 << 10);
    assert_eq!(core.read(0x8fe0), 1 << 9);
    assert_eq!((core.take_messages(all), core.read(0x8fe0)), (1 << 9, 0));
    // A channel's interrupt, by its status and its own mask.
    bench.core.write(C2H + 0x94, status::DESCRIPTOR_STOPPED);
    let read = Descriptor::new(STOP | COMPLETED, 0, HOST + 0x4000, 4);
    bench.transfer(C2H, read);
    let core = &mut bench.core;
    assert_eq!(
        (
            core.read(0x204c),
            core.read(0x2044),
            core.take_messages(all)
        ),
        (0b100, 0, 0)
    );
    core.write(0x2014, 0b100);
    assert_eq!(core.take_messages(all), 1 << 6);
    // The service routine of a driver: disable, clear, enable.
    core.write(0x2018, 0b100);
    core.write(0x2014, 0b100);
    assert_eq!(core.take_messages(all), 1 << 6, "the cause was not cleared");
    assert_ne!(core.read(C2H + 0x44), 0);
    core.write(0x2018, 0b100);
    core.write(0x2014, 0b100);
    assert_eq!((core.read(0x204c), core.take_messages(all)), (0, 0));
}

#[test]
fn the_table_of_vectors_keeps_what_is_written() {
    let mut core = Core::new(Shape::default());
    assert_eq!(core.read(0x800c), u32::MAX, "masked after reset");
    for entry in 0..32 {
        core.write(0x8000 + 16 * entry, 0xfee0_0000 + entry);
    }
    assert_eq!(
        (core.read(0x8000), core.read(0x81f0)),
        (0xfee0_0000, 0xfee0_001f)
    );
    core.write(0x8fe0, u32::MAX);
    assert_eq!(core.read(0x8fe0), 0, "the pending bits are read-only");
}

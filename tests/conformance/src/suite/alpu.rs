//! The matching unit, driven by the host: each rank its own.

use alcor_abi::AlpuOp;
use alcor_abi::packets::alpu_command;
use alcor_abi::rank::{self as page, alpu_state};
use alcor::{Alpu, AlpuFinding, AlpuKind, Error, MATCH_BITS, Options, PageOffset, Pattern, Rank};
use alcor_test::{Context, Failure, Result, alcor_test, fails, holds, same};
use rand::Rng;
use rand_chacha::ChaCha8Rng;


/// Cycles that a wait may last which is in vain.
const PATIENCE: u64 = 2_000;

/// What matches everything, where its mask is looked at.
const ANY: Pattern = Pattern {
    bits: 0,
    mask: (1 << MATCH_BITS) - 1,
};

/// The first entry that matches wins, whichever of entry and request has the wildcard, and is
/// gone then.
#[alcor_test(ranks >= 1, needs = [Alpu])]
fn order(context: &Context) -> Result {
    each_unit(context, |unit| {
        // Any, one, any, two.
        unit.fill(&[(ANY, 1), (Pattern::exact(5), 2), (ANY, 3), (Pattern::exact(6), 4)])?;
        match unit.kind() {
            AlpuKind::Posted => {
                for (request, found) in [(6, Some(1)), (6, Some(3)), (6, Some(4)), (6, None), (5, Some(2))] {
                    unit.expect_match(Pattern::exact(request), found)?;
                }
            }
            AlpuKind::Unexpected => {
                for (request, found) in [
                    (Pattern::exact(6), Some(4)),
                    (ANY, Some(1)),
                    (Pattern::exact(6), None),
                    (ANY, Some(2)),
                    (ANY, Some(3)),
                    (ANY, None),
                ] {
                    unit.expect_match(request, found)?;
                }
            }
        }
        Ok(())
    })
}

/// Every match bit and every mask bit counts.
#[alcor_test(ranks >= 1, needs = [Alpu])]
fn bits(context: &Context) -> Result {
    each_unit(context, |unit| {
        for bit in 0..MATCH_BITS {
            let one = 1 << bit;
            unit.fill(&[(Pattern::exact(one), bit as u16)])?;
            unit.expect_match(Pattern::exact(0), None)?;
            match unit.kind() {
                AlpuKind::Posted => {
                    unit.fill(&[(Pattern { bits: 0, mask: one }, 100)])?;
                    unit.expect_match(Pattern::exact(one), Some(bit as u16))?;
                    unit.expect_match(Pattern::exact(one), Some(100))?;
                }
                AlpuKind::Unexpected => {
                    unit.expect_match(Pattern { bits: 0, mask: one }, Some(bit as u16))?;
                }
            }
            same("entries left", 0, unit.alpu.entries()?)?;
        }
        Ok(())
    })
}

/// A request that wants the same as the one right behind it gets an entry of its own, and the
/// tags come in the order of the list.
#[alcor_test(ranks >= 1, needs = [Alpu])]
fn same_kind(context: &Context) -> Result {
    each_unit(context, |unit| {
        let some = unit.alpu.shape().fifo.min(unit.alpu.shape().cells) as u16;
        let all: Vec<_> = (0..some).map(|tag| (Pattern::exact(9), tag)).collect();
        unit.fill(&all)?;
        unit.alpu.gate(false)?;
        for id in 0..some {
            unit.alpu.post_match(id as u8, Pattern::exact(9))?;
        }
        unit.nothing()?;
        unit.alpu.gate(true)?;
        for tag in 0..some {
            let answer = unit.alpu.answer()?;
            same("id of an answer", tag as u8, answer.id)?;
            same("tag", AlpuFinding::Matched { tag }, answer.finding)?;
        }
        unit.expect_match(Pattern::exact(9), None)
    })
}

/// The acknowledgement says how many entries there is room for; one more is discarded, and
/// counted; what left makes room again.
#[alcor_test(ranks >= 1, needs = [Alpu])]
fn full(context: &Context) -> Result {
    each_unit(context, |unit| {
        let cells = unit.alpu.shape().cells;
        let all: Vec<_> = (0..cells).map(|tag| (Pattern::exact(u64::from(tag)), tag as u16)).collect();
        unit.fill(&all)?;
        same("entries", cells, unit.alpu.entries()?)?;
        let before = unit.alpu.discarded()?;
        same("free cells", 0, unit.start()?)?;
        unit.alpu.insert(Pattern::exact(1 << 20), 9999)?;
        unit.stop()?;
        same("commands discarded", before + 1, unit.alpu.discarded()?)?;
        unit.expect_match(Pattern::exact(1 << 20), None)?;
        // From the middle, the end and the front.
        for gone in [cells / 2, cells - 1, 0] {
            unit.expect_match(Pattern::exact(u64::from(gone)), Some(gone as u16))?;
        }
        same("free cells", 3, unit.start()?)?;
        for number in 0..3 {
            unit.alpu.insert(Pattern::exact(1 << 21), 1000 + number)?;
        }
        unit.stop()?;
        for number in 0..3 {
            unit.expect_match(Pattern::exact(1 << 21), Some(1000 + number))?;
        }
        for left in (1..cells - 1).filter(|&left| left != cells / 2) {
            unit.expect_match(Pattern::exact(u64::from(left)), Some(left as u16))?;
        }
        same("entries", 0, unit.alpu.entries()?)
    })
}

/// In insert mode nothing fails: a match that finds nothing is held, with those behind it, until
/// an entry comes that it wants, or the mode ends.
#[alcor_test(ranks >= 1, needs = [Alpu])]
fn held(context: &Context) -> Result {
    each_unit(context, |unit| {
        unit.fill(&[(Pattern::exact(1), 1)])?;
        let cells = unit.alpu.shape().cells;
        same("free cells", cells - 1, unit.start()?)?;
        unit.alpu.post_match(10, Pattern::exact(2))?;
        unit.alpu.post_match(11, Pattern::exact(1))?;
        unit.nothing()?;
        unit.alpu.insert(Pattern::exact(3), 3)?;
        unit.nothing()?;
        unit.alpu.insert(Pattern::exact(2), 2)?;
        unit.expect(10, AlpuFinding::Matched { tag: 2 })?;
        unit.expect(11, AlpuFinding::Matched { tag: 1 })?;
        unit.alpu.post_match(12, Pattern::exact(2))?;
        unit.alpu.post_probe(13, Pattern::exact(3))?;
        unit.nothing()?;
        unit.alpu.stop_insert()?;
        unit.expect(12, AlpuFinding::Unmatched)?;
        unit.expect(13, AlpuFinding::Found { tag: 3 })?;
        unit.expect_match(Pattern::exact(3), Some(3))
    })
}

/// A command that is not valid in the unit's mode does nothing, and is counted.
#[alcor_test(ranks >= 1, needs = [Alpu])]
fn discards(context: &Context) -> Result {
    each_unit(context, |unit| {
        unit.alpu.insert(Pattern::exact(1), 1)?;
        unit.stop()?;
        same("discarded in match mode", 2, unit.alpu.discarded()?)?;
        same("entries", 0, unit.alpu.entries()?)?;
        unit.start()?;
        unit.alpu.start_insert(77)?;
        unit.alpu.settle()?;
        same("discarded in insert mode", 3, unit.alpu.discarded()?)?;
        unit.nothing()?;
        unit.alpu.insert(Pattern::exact(1), 1)?;
        unit.stop()?;
        same("discarded in all", 3, unit.alpu.discarded()?)?;
        unit.expect_match(Pattern::exact(1), Some(1))
    })
}

/// A probe deletes nothing; a cancel deletes by tag, the first that has it, in both modes.
#[alcor_test(ranks >= 1, needs = [Alpu])]
fn probe_and_cancel(context: &Context) -> Result {
    each_unit(context, |unit| {
        unit.fill(&[(Pattern::exact(1), 7), (Pattern::exact(1), 8), (Pattern::exact(2), 7)])?;
        for _ in 0..2 {
            unit.alpu.post_probe(1, Pattern::exact(1))?;
            unit.expect(1, AlpuFinding::Found { tag: 7 })?;
        }
        unit.alpu.post_probe(2, Pattern::exact(3))?;
        unit.expect(2, AlpuFinding::NotFound)?;
        unit.alpu.cancel(3, 7)?;
        unit.expect(3, AlpuFinding::Cancelled { tag: 7 })?;
        unit.alpu.cancel(4, 9)?;
        unit.expect(4, AlpuFinding::NotCancelled)?;
        unit.expect_match(Pattern::exact(1), Some(8))?;
        unit.start()?;
        unit.alpu.cancel(5, 7)?;
        unit.expect(5, AlpuFinding::Cancelled { tag: 7 })?;
        unit.stop()?;
        same("entries", 0, unit.alpu.entries()?)?;
        unit.expect_match(Pattern::exact(2), None)
    })
}

/// RESET empties the list in either mode, and what was held fails.
#[alcor_test(ranks >= 1, needs = [Alpu])]
fn reset(context: &Context) -> Result {
    each_unit(context, |unit| {
        unit.fill(&[(Pattern::exact(1), 1), (Pattern::exact(2), 2)])?;
        unit.alpu.reset()?;
        unit.alpu.settle()?;
        unit.expect_match(Pattern::exact(1), None)?;
        same("free cells", unit.alpu.shape().cells, unit.start()?)?;
        unit.alpu.insert(Pattern::exact(1), 1)?;
        unit.alpu.post_match(9, Pattern::exact(2))?;
        unit.nothing()?;
        unit.alpu.reset()?;
        unit.expect(9, AlpuFinding::Unmatched)?;
        same("insert mode", false, unit.alpu.is_inserting()?)?;
        same("entries", 0, unit.alpu.entries()?)?;
        unit.expect_match(Pattern::exact(1), None)
    })
}

/// The library posts what there is room for, waits with more, and goes on once there is room again.
#[alcor_test(ranks >= 1, needs = [Alpu])]
fn room(context: &Context) -> Result {
    let options = Options::default().watchdog_cycles(PATIENCE);
    context.run_with(options, context.ranks(), |rank| {
        let me = rank.pid();
        let number = me.0;
        let mut unit = Unit { number, alpu: rank.lab().alpu()? };
        let depth = unit.alpu.shape().fifo;
        let in_vain = |error: &Error| matches!(error, Error::Watchdog { rank, .. } if *rank == me);
        for round in 0..4 {
            let (finding, post): (_, fn(&mut Alpu<'_>, u8) -> alcor::Result<()>) = match round % 2 {
                0 => (AlpuFinding::NotFound, |alpu, id| alpu.post_probe(id, ANY)),
                _ => (AlpuFinding::NotCancelled, |alpu, id| alpu.cancel(id, 1)),
            };
            unit.alpu.gate(false)?;
            for id in 0..depth as u8 {
                post(&mut unit.alpu, id)?;
            }
            fails("one more than there is room for", "Watchdog", in_vain, post(&mut unit.alpu, 0xFF))?;
            unit.alpu.gate(true)?;
            for id in 0..depth as u8 {
                unit.expect(id, finding)?;
            }
        }
        Ok(())
    })?;
    Ok(())
}

/// Each FIFO takes as many as it says; one more is lost, and an answer that is waited for says so.
#[alcor_test(ranks >= 1, needs = [Alpu])]
fn lost(context: &Context) -> Result {
    context.run(|rank| {
        let me = rank.pid();
        let mut alpu = rank.lab().alpu()?;
        let depth = alpu.shape().fifo;
        alpu.gate(false)?;
        let go = |rank: &mut Rank, op: AlpuOp| {
            let word = alpu_command::OP.put(op as u32);
            rank.lab().port().write32(PageOffset(page::ALPU_GO), word)
        };
        for _ in 0..depth {
            go(rank, AlpuOp::Probe)?;
            go(rank, AlpuOp::Cancel)?;
        }
        let state = rank.lab().port().read32(PageOffset(page::ALPU_STATE))?;
        same("lost while there is room", 0, alpu_state::LOST.get(state))?;
        go(rank, if me.0 % 2 == 0 { AlpuOp::Probe } else { AlpuOp::Cancel })?;
        let is_lost = |error: &Error| matches!(error, Error::CommandLost { rank, .. } if *rank == me);
        fails("an answer once something was lost", "CommandLost", is_lost, rank.lab().alpu()?.answer())?;
        Ok(())
    })?;
    Ok(())
}

/// Patterns of more bits than there are are refused, and an answer that never comes ends in the
/// watchdog.
#[alcor_test(ranks >= 1, needs = [Alpu])]
fn bad_arguments(context: &Context) -> Result {
    let options = Options::default().watchdog_cycles(PATIENCE);
    context.run_with(options, context.ranks(), |rank| {
        let me = rank.pid();
        let mut alpu = rank.lab().alpu()?;
        let long = Pattern::exact(1 << MATCH_BITS);
        let is_long = |error: &Error| {
            matches!(error, Error::OutOfRange { what: "match bits", value, .. } if *value == 1 << MATCH_BITS)
        };
        fails("a long pattern", "OutOfRange", is_long, alpu.post_match(0, long))?;
        fails("a long pattern", "OutOfRange", is_long, alpu.insert(long, 0))?;
        let in_vain = |error: &Error| matches!(error, Error::Watchdog { rank, .. } if *rank == me);
        fails("an answer to nothing", "Watchdog", in_vain, alpu.answer())?;
        Ok(())
    })?;
    Ok(())
}

/// Random requests and commands get the answers of a plain list.
#[alcor_test(ranks >= 1, needs = [Alpu])]
fn random(context: &Context) -> Result {
    let steps = context.scale(400, 20_000);
    each_unit(context, |unit| {
        let mut rng = context.rng(&[u64::from(unit.number)]);
        let cells = unit.alpu.shape().cells as usize;
        let mut list: Vec<(Pattern, u16)> = Vec::new();
        let pattern = |rng: &mut ChaCha8Rng| Pattern {
            bits: rng.random_range(0..6) | rng.random_range(0..2) << (MATCH_BITS - 1),
            mask: if rng.random_bool(0.2) { 7 } else { 0 },
        };
        for step in 0..steps {
            match rng.random_range(0..10) {
                0..3 => {
                    same("free cells", (cells - list.len()) as u32, unit.start()?)?;
                    let most = (cells - list.len()).min(1 + rng.random_range(0..cells));
                    for _ in 0..rng.random_range(0..=most) {
                        let entry = (pattern(&mut rng), rng.random_range(0..200));
                        unit.alpu.insert(entry.0, entry.1)?;
                        list.push(entry);
                    }
                    unit.stop()?;
                }
                3 => {
                    let tag = rng.random_range(0..200);
                    unit.alpu.cancel(3, tag)?;
                    let place = list.iter().position(|entry| entry.1 == tag);
                    unit.expect(3, match place.map(|place| list.remove(place)) {
                        Some((_, tag)) => AlpuFinding::Cancelled { tag },
                        None => AlpuFinding::NotCancelled,
                    })?;
                }
                4 if step % 16 == 0 => {
                    unit.alpu.reset()?;
                    unit.alpu.settle()?;
                    list.clear();
                }
                _ => {
                    // As many as the FIFOs hold, at the unit's own pace.
                    let many = rng.random_range(1..=unit.alpu.shape().fifo.min(24));
                    let mut expected = Vec::new();
                    unit.alpu.gate(false)?;
                    for id in 0..many as u8 {
                        let request = pattern(&mut rng);
                        let is_probe = rng.random_bool(0.3);
                        let place = list.iter().position(|(entry, _)| unit.hits(*entry, request));
                        let tag = place.map(|place| list[place].1);
                        expected.push(match (tag, is_probe) {
                            (Some(tag), true) => AlpuFinding::Found { tag },
                            (Some(tag), false) => AlpuFinding::Matched { tag },
                            (None, true) => AlpuFinding::NotFound,
                            (None, false) => AlpuFinding::Unmatched,
                        });
                        if is_probe { unit.alpu.post_probe(id, request)? } else {
                                unit.alpu.post_match(id, request)?;
                                place.map(|place| list.remove(place));
                            }
                    }
                    unit.alpu.gate(true)?;
                    for (id, finding) in (0..).zip(expected) {
                        unit.expect(id, finding)?;
                    }
                }
            }
            same("entries", list.len() as u32, unit.alpu.entries()?)?;
        }
        Ok(())
    })
}

/// A rank's matching unit, and what is often done with it.
struct Unit<'a> {
    number: u32,
    alpu: Alpu<'a>,
}

/// Runs `what` on each rank with its unit.
fn each_unit(
    context: &Context,
    what: impl Fn(&mut Unit<'_>) -> Result + Sync,
) -> Result {
    context.run(|rank: &mut Rank| {
        let number = rank.pid().0;
        let alpu = rank.lab().alpu()?;
        what(&mut Unit { number, alpu })?;
        let state = rank.lab().alpu()?.try_answer()?;
        holds("answers left over", "none", state.is_none(), format_args!("{state:?}"))?;
        Ok(())
    })?;
    Ok(())
}

impl Unit<'_> {
    fn kind(&self) -> AlpuKind {
        self.alpu.shape().kind
    }

    /// Whether an entry satisfies a request.
    fn hits(&self, entry: Pattern, request: Pattern) -> bool {
        let mask = match self.kind() {
            AlpuKind::Posted => entry.mask,
            AlpuKind::Unexpected => request.mask,
        };
        (entry.bits ^ request.bits) & !mask == 0
    }

    /// Enters insert mode; free cells.
    fn start(&mut self) -> Result<u32, Failure> {
        self.alpu.start_insert(0xFE)?;
        let answer = self.alpu.answer()?;
        // Nothing else is under way.
        holds("cycles of START INSERT", "a few", answer.latency() < 64, answer.latency())?;
        match answer.finding {
            AlpuFinding::Inserting { free } if answer.id == 0xFE => Ok(free),
            _ => Err(Failure::new("START INSERT", "its acknowledgement", format_args!("{answer:?}"))),
        }
    }

    fn stop(&mut self) -> Result {
        self.alpu.stop_insert()?;
        Ok(self.alpu.settle()?)
    }

    fn fill(&mut self, entries: &[(Pattern, u16)]) -> Result {
        let before = self.alpu.entries()?;
        let free = self.start()?;
        same("free cells", self.alpu.shape().cells - before, free)?;
        for &(pattern, tag) in entries {
            self.alpu.insert(pattern, tag)?;
        }
        self.stop()
    }

    fn expect(&mut self, id: u8, finding: AlpuFinding) -> Result {
        let answer = self.alpu.answer()?;
        same(format_args!("unit {}: answer", self.number), (id, finding), (answer.id, answer.finding))
    }

    fn expect_match(&mut self, request: Pattern, tag: Option<u16>) -> Result {
        self.alpu.post_match(0xA5, request)?;
        self.expect(0xA5, match tag {
            Some(tag) => AlpuFinding::Matched { tag },
            None => AlpuFinding::Unmatched,
        })
    }

    /// For as long as an answer would take, none comes.
    fn nothing(&mut self) -> Result {
        for _ in 0..20 {
            let answer = self.alpu.try_answer()?;
            holds("an answer", "none yet", answer.is_none(), format_args!("{answer:?}"))?;
        }
        Ok(())
    }
}

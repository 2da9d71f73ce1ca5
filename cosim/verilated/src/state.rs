//! Detection of changes in a model's state.

use std::ptr::{self, NonNull};

use crate::layout::Kind;

/// Bytes compared at once.
const CHUNK: usize = 512;

/// Location and copy of a model's state.
#[derive(Default)]
pub(crate) struct State {
    /// Memory ranges that are compared.
    ranges: Vec<(NonNull<u8>, usize)>,
    counters: Vec<Counter>,
    copy: Vec<u8>,
    /// Range that differed in the last comparison, and a copy of that range.
    hot: Option<(NonNull<u8>, usize)>,
    glance: Vec<u8>,
    /// Cycle of the copy.
    cycle: u64,
}

/// A register that either advances by one in each cycle or keeps its value.
struct Counter {
    place: NonNull<u8>,
    bytes: usize,
    mask: u64,
    /// Value at the time of the copy.
    copied: u64,
}

impl Counter {
    fn value(&self) -> u64 {
        let mut bytes = [0; 8];
        // SAFETY: `place` is a variable of the model with `bytes` bytes, at most 8.
        unsafe { ptr::copy_nonoverlapping(self.place.as_ptr(), bytes.as_mut_ptr(), self.bytes) };
        u64::from_le_bytes(bytes)
    }

    fn set(&self, value: u64) {
        let bytes = (value & self.mask).to_le_bytes();
        // SAFETY: as in `value`; callers have exclusive access to the instance.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.place.as_ptr(), self.bytes) };
    }

    /// The value after `cycles` more cycles, from the present value. `None` if the register did not
    /// count the cycles since the copy.
    fn after(&self, since: u64, cycles: u64) -> Option<u64> {
        let now = self.value();
        if now == self.copied {
            Some(now)
        } else if now == self.copied.wrapping_add(since) & self.mask {
            Some(now.wrapping_add(cycles) & self.mask)
        } else {
            None
        }
    }
}

/// Description of a part of the state by the shim.
pub(crate) struct Part {
    pub(crate) place: NonNull<u8>,
    pub(crate) bytes: usize,
    pub(crate) width: u32,
    pub(crate) kind: u32,
}

impl State {
    /// The state with these parts.
    pub(crate) fn new(parts: &[Part]) -> Self {
        let is = |part: &&Part, kind: Kind| part.kind == kind as u32;
        let mut left_out: Vec<(usize, usize)> = parts
            .iter()
            .filter(|part| !is(part, Kind::Module))
            .map(|part| (part.place.as_ptr() as usize, part.bytes))
            .collect();
        left_out.sort_unstable();
        let mut state = Self::default();
        for part in parts.iter().filter(|part| is(part, Kind::Module)) {
            let start = part.place.as_ptr() as usize;
            let (mut at, end) = (start, start + part.bytes);
            let mut take = |from: usize, to: usize| {
                if to > from {
                    // SAFETY: both are in the module's object.
                    let place = unsafe { part.place.add(from - start) };
                    state.ranges.push((place, to - from));
                }
            };
            for &(out, bytes) in left_out
                .iter()
                .filter(|&&(out, _)| (start..end).contains(&out))
            {
                take(at, out);
                at = out + bytes;
            }
            take(at, end);
        }
        let counters = parts.iter().filter(|part| is(part, Kind::Counter));
        state.counters = counters
            .map(|part| Counter {
                place: part.place,
                bytes: part.bytes.min(8),
                mask: u64::MAX >> (64 - part.width.clamp(1, 64)),
                copied: 0,
            })
            .collect();
        let bytes = state.ranges.iter().map(|&(_, bytes)| bytes).sum();
        state.copy = vec![0; bytes];
        state
    }

    /// Number of compared bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.copy.len()
    }

    /// Checks the range that differed in the last comparison: returns whether the range is
    /// unchanged since the last glance. True if there was no comparison.
    pub(crate) fn glance(&mut self) -> bool {
        let Some((place, bytes)) = self.hot else {
            return true;
        };
        // SAFETY: the range is in the model, and callers have exclusive access to the instance.
        let now = unsafe { std::slice::from_raw_parts(place.as_ptr(), bytes) };
        let is_same = *now == self.glance[..];
        if !is_same {
            self.glance.clear();
            self.glance.extend_from_slice(now);
        }
        is_same
    }

    /// Copies the state of cycle `cycle`.
    pub(crate) fn save(&mut self, cycle: u64) {
        let mut copy = self.copy.as_mut_ptr();
        for &(place, bytes) in &self.ranges {
            // SAFETY: the ranges are in the model, the copy has room for all of them, and callers
            // have exclusive access to the instance.
            unsafe {
                ptr::copy_nonoverlapping(place.as_ptr(), copy, bytes);
                copy = copy.add(bytes);
            }
        }
        for counter in &mut self.counters {
            counter.copied = counter.value();
        }
        self.cycle = cycle;
    }

    /// Returns whether the state equals the copy, except for counters.
    pub(crate) fn is_saved(&mut self, cycle: u64) -> bool {
        let since = cycle - self.cycle;
        if self
            .counters
            .iter()
            .any(|counter| counter.after(since, 0).is_none())
        {
            return false;
        }
        let mut copy = &self.copy[..];
        for &(place, bytes) in &self.ranges {
            // SAFETY: as above.
            let now = unsafe { std::slice::from_raw_parts(place.as_ptr(), bytes) };
            let (saved, rest) = copy.split_at(bytes);
            let differs = now
                .chunks(CHUNK)
                .zip(saved.chunks(CHUNK))
                .position(|(now, saved)| now != saved);
            if let Some(chunk) = differs {
                let at = chunk * CHUNK;
                // SAFETY: the chunk is in the range.
                let hot = unsafe { place.add(at) };
                self.hot = Some((hot, CHUNK.min(bytes - at)));
                self.glance.clear();
                return false;
            }
            copy = rest;
        }
        true
    }

    /// Advances the counters by `cycles`.
    pub(crate) fn advance(&mut self, cycle: u64, cycles: u64) {
        for counter in &self.counters {
            if let Some(value) = counter.after(cycle - self.cycle, cycles) {
                counter.set(value);
            }
        }
    }

    /// Values of the counters after `cycles` more cycles.
    pub(crate) fn counters_after(&self, cycle: u64, cycles: u64) -> Vec<Option<u64>> {
        let counters = self.counters.iter();
        counters
            .map(|counter| counter.after(cycle - self.cycle, cycles))
            .collect()
    }
}

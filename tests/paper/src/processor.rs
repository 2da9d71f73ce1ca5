//! A cost model of the network card's processor in the matching unit's paper (Brightwell et al.
//! 2005, table III and section VI): time of a search through a list of MPI queue entries.
//!
//! The model is the paper's baseline. Nothing here is measured. A first pass of the model writes all
//! entries of the list into a data cache, as the posting of receives or the arrival of messages
//! does. Then the handling of the message uses other data of the processor. Then the search reads
//! the entries in order. An entry that is in the cache costs [`Processor::hit_ns`], any other entry
//! costs [`Processor::miss_ns`].
//!
//! | parameter of [`Processor::PAPER`] | value | source |
//! |---|---:|---|
//! | data cache, 64 ways, least recently used line replaced | 32 KiB | table III |
//! | second cache | none | table III |
//! | line of the cache | 32 bytes | the PowerPC 440, which the paper names as the model of its processor |
//! | entry in the cache | 15 ns | section VI-B: the average, 7.5 cycles of 500 MHz |
//! | entry not in the cache | 64 ns | section VI-B: the average; table III: 32 cycles of 500 MHz to main memory, during which the processor compares |
//! | bytes of an entry | 88 | fitted |
//! | bytes of an entry that a search reads | 32 | fitted |
//! | bytes of other data for each message | 2048 | fitted |
//!
//! The paper names two times of searches that exceed the cache. The fitted parameters give 12.9 µs
//! for a list of 400 entries (paper: 13 µs), and 25.6 µs for 80 % of a list of 500 (paper: 24 µs).
//!
//! The model charges the search alone. The instructions with which the processor polls for a message
//! and handles it are not part of it, because the paper gives no figure for them. So a comparison
//! with the model favours the processor.

/// Parameters of a processor that searches a list.
///
/// # Examples
/// ```
/// use alcor_paper::processor::Processor;
///
/// let short = Processor::PAPER.search_ns(100, 100);
/// assert_eq!(short, 1500, "100 entries in the cache");
/// let long = Processor::PAPER.search_ns(512, 100);
/// assert_eq!(long, 6400, "the list exceeds the cache");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Processor {
    /// Bytes of the data cache.
    pub cache_bytes: u32,
    /// Ways of the data cache.
    pub ways: u32,
    /// Bytes of a line of the data cache.
    pub line_bytes: u32,
    /// Nanoseconds for an entry that is in the cache.
    pub hit_ns: u32,
    /// Nanoseconds for an entry of which a line is not in the cache.
    pub miss_ns: u32,
    /// Bytes of an entry of the list.
    pub entry_bytes: u32,
    /// Bytes of an entry that a search reads, from the beginning of the entry on.
    pub read_bytes: u32,
    /// Bytes of other data that the processor uses before each search.
    pub other_bytes: u32,
}

impl Processor {
    /// The processor of the paper's baseline.
    pub const PAPER: Processor = Processor {
        cache_bytes: 32 * 1024,
        ways: 64,
        line_bytes: 32,
        hit_ns: 15,
        miss_ns: 64,
        entry_bytes: 88,
        read_bytes: 32,
        other_bytes: 2048,
    };

    /// Nanoseconds of a search that passes the first `passed` entries of a list of `length`.
    #[must_use]
    pub fn search_ns(&self, length: u32, passed: u32) -> u32 {
        let mut cache = Cache::new(self);
        let address = |entry: u32| u64::from(entry) * u64::from(self.entry_bytes);
        for entry in 0..length {
            cache.reads_all(address(entry), self.entry_bytes);
        }
        // The other data begins in the first set.
        let set_span = cache.sets.len() as u64 * cache.line_bytes;
        let other = address(length).next_multiple_of(set_span);
        cache.reads_all(other, self.other_bytes);
        (0..passed.min(length))
            .map(|entry| {
                if cache.reads_all(address(entry), self.read_bytes) {
                    self.hit_ns
                } else {
                    self.miss_ns
                }
            })
            .sum()
    }
}

/// A cache that replaces the least recently used line of a set.
struct Cache {
    /// The lines in each set, from the least recently used to the most recently used one.
    sets: Vec<Vec<u64>>,
    ways: usize,
    line_bytes: u64,
}

impl Cache {
    fn new(processor: &Processor) -> Cache {
        let lines = processor.cache_bytes / processor.line_bytes.max(1);
        let sets = (lines / processor.ways.max(1)).max(1);
        Cache {
            sets: vec![Vec::new(); sets as usize],
            ways: processor.ways.max(1) as usize,
            line_bytes: processor.line_bytes.max(1).into(),
        }
    }

    /// Reads or writes `bytes` at `address`. Returns whether all of them were in the cache.
    fn reads_all(&mut self, address: u64, bytes: u32) -> bool {
        let first = address / self.line_bytes;
        let end = (address + u64::from(bytes)).div_ceil(self.line_bytes);
        let mut all = true;
        for line in first..end {
            all &= self.reads(line);
        }
        all
    }

    fn reads(&mut self, line: u64) -> bool {
        let set = (line % self.sets.len() as u64) as usize;
        let set = &mut self.sets[set];
        let found = set.iter().position(|&known| known == line);
        match found {
            Some(place) => {
                set.remove(place);
            }
            None if set.len() == self.ways => {
                set.remove(0);
            }
            None => {}
        }
        set.push(line);
        found.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER: Processor = Processor::PAPER;

    fn is_near(found: u32, paper: u32, percent: u32) -> bool {
        found.abs_diff(paper) * 100 <= paper * percent
    }

    #[test]
    fn searches_of_the_paper_take_the_paper_s_time() {
        let whole = PAPER.search_ns(400, 400);
        assert!(is_near(whole, 13_000, 10), "400 of 400: {whole} ns");
        let part = PAPER.search_ns(500, 400);
        assert!(is_near(part, 24_000, 10), "400 of 500: {part} ns");
        // 80 ns for the use of the unit are as long as a search of about 5 entries.
        assert_eq!(PAPER.search_ns(5, 5), 75);
    }

    #[test]
    fn an_entry_costs_15_ns_within_the_cache_and_64_ns_beyond() {
        assert_eq!(PAPER.search_ns(0, 0), 0);
        for passed in [1, 64, 200] {
            assert_eq!(PAPER.search_ns(300, passed), 15 * passed);
            assert_eq!(PAPER.search_ns(512, passed), 64 * passed);
        }
    }

    #[test]
    fn the_length_of_the_list_counts_although_a_part_is_searched() {
        let times = [300, 380, 400, 420, 512].map(|length| PAPER.search_ns(length, 200));
        assert!(times.is_sorted(), "{times:?}");
        assert!(times[0] < times[2] && times[2] < times[4], "{times:?}");
    }

    #[test]
    fn a_larger_cache_holds_a_longer_list() {
        let large = Processor {
            cache_bytes: 64 * 1024,
            ..PAPER
        };
        assert_eq!(large.search_ns(512, 512), 15 * 512);
    }

    #[test]
    fn a_set_replaces_the_line_that_was_used_least_recently() {
        let small = Processor {
            cache_bytes: 64,
            ways: 2,
            ..PAPER
        };
        let mut cache = Cache::new(&small);
        assert_eq!(cache.sets.len(), 1);
        let reads = [0, 1, 0, 2, 0, 1].map(|line| cache.reads(line));
        assert_eq!(reads, [false, false, true, false, true, false]);
        // Lines 0 and 1 are there; bytes 31 to 64 are in lines 0 to 2.
        assert!(cache.reads_all(31, 2));
        assert!(!cache.reads_all(31, 34));
    }

    #[test]
    fn no_parameters_lead_to_a_panic() {
        let nothing = Processor {
            cache_bytes: 0,
            ways: 0,
            line_bytes: 0,
            ..PAPER
        };
        assert_eq!(nothing.search_ns(4, 9), 4 * 64);
    }
}

//! CRC-32 of a board's traffic.

use crc32fast::Hasher;

/// Bytes of a record of a beat of one word: cycle (8, little-endian), stream (1), last (1), word
/// (4, little-endian).
const RECORD: usize = 14;
/// Number of records that are hashed at once.
const RECORDS: usize = 4096;

/// Hashes the words of the streams, in the order of cycles and, within a cycle, of streams.
pub(crate) struct Digest {
    hasher: Hasher,
    buffer: Box<[u8]>,
    filled: usize,
}

impl Digest {
    pub(crate) fn new() -> Self {
        Self {
            hasher: Hasher::new(),
            buffer: vec![0; RECORDS * RECORD].into_boxed_slice(),
            filled: 0,
        }
    }

    pub(crate) fn restart(&mut self) {
        self.hasher = Hasher::new();
        self.filled = 0;
    }

    #[inline]
    pub(crate) fn push(&mut self, cycle: u64, stream: u8, last: bool, words: &[u32]) {
        let record = self.record(10 + 4 * words.len());
        record[..8].copy_from_slice(&cycle.to_le_bytes());
        record[8] = stream;
        record[9] = u8::from(last);
        for (bytes, word) in record[10..].chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// A phit: cycle (8, little-endian), port (1), channel (1), its words (4 each, little-endian).
    pub(crate) fn push_phit(&mut self, cycle: u64, port: u8, channel: u8, words: &[u32]) {
        let record = self.record(10 + 4 * words.len());
        record[..8].copy_from_slice(&cycle.to_le_bytes());
        record[8] = port;
        record[9] = channel;
        for (bytes, word) in record[10..].chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// Room for a record.
    #[inline]
    fn record(&mut self, bytes: usize) -> &mut [u8] {
        if self.filled + bytes > self.buffer.len() {
            self.hasher.update(&self.buffer[..self.filled]);
            self.filled = 0;
        }
        let at = self.filled;
        self.filled += bytes;
        &mut self.buffer[at..at + bytes]
    }

    /// The digest of all that was pushed since the start.
    pub(crate) fn value(&self) -> u32 {
        let mut hasher = self.hasher.clone();
        hasher.update(&self.buffer[..self.filled]);
        hasher.finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn does_not_depend_on_the_buffer() {
        let mut digest = Digest::new();
        let mut plain = Vec::new();
        for n in 0..(2 * RECORDS as u64 + 7) {
            digest.push(n, (n % 8) as u8, n % 3 == 0, &[n as u32 * 77]);
            plain.extend_from_slice(&n.to_le_bytes());
            plain.extend_from_slice(&[(n % 8) as u8, u8::from(n % 3 == 0)]);
            plain.extend_from_slice(&(n as u32 * 77).to_le_bytes());
        }
        assert_eq!(digest.value(), crc32fast::hash(&plain));
        for n in 0..2 * RECORDS as u64 {
            digest.push_phit(n, 3, 5, &[n as u32, 7, 9]);
            plain.extend_from_slice(&n.to_le_bytes());
            plain.extend_from_slice(&[3, 5]);
            for word in [n as u32, 7, 9] {
                plain.extend_from_slice(&word.to_le_bytes());
            }
        }
        assert_eq!(digest.value(), crc32fast::hash(&plain));
        digest.restart();
        assert_eq!(digest.value(), 0);
    }
}

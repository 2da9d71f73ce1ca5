//! A rank's node memory in the model: one array of words, or several banks that take turns.

use verimodel::{Dpi, Instance, Memory};

use crate::CosimError;
use crate::model::memory_path;

/// Bytes of an element of a bank.
const WORD: usize = 4;
/// Elements of a bank that are copied at once.
const CHUNK: usize = 64;

/// Word `w` is element `w / banks` of bank `w % banks`.
pub(crate) struct NodeMemory {
    banks: Vec<Memory>,
}

/// The share of consecutive whole words in one bank.
struct Share {
    /// First byte in the bank.
    at: usize,
    /// Place in the run of the first word.
    first: usize,
    /// Words.
    count: usize,
}

impl NodeMemory {
    /// The memory of a rank.
    pub(crate) fn find<D: Dpi>(
        instance: &Instance<D>,
        rank: usize,
        banks: usize,
    ) -> Result<Self, CosimError> {
        let banks = (0..banks)
            .map(|bank| instance.memory(&memory_path(rank, bank)))
            .collect::<Result<_, _>>()?;
        Ok(Self { banks })
    }

    /// Bytes.
    pub(crate) fn len(&self) -> usize {
        self.banks.iter().map(Memory::len).sum()
    }

    /// A bank's share in `words` words from word `from`.
    fn share(&self, bank: usize, from: usize, words: usize) -> Share {
        let banks = self.banks.len();
        let first = (bank + banks - from % banks) % banks;
        Share {
            at: (from + first) / banks * WORD,
            first,
            count: (words + banks - 1).saturating_sub(first) / banks,
        }
    }

    /// The bytes before the first whole word, the whole words, and the bytes after them.
    fn cut(at: usize, len: usize) -> (usize, usize) {
        let head = (at.next_multiple_of(WORD) - at).min(len);
        (head, (len - head) / WORD * WORD)
    }

    /// The place of a byte: its bank, and its offset in the bank.
    fn place(&self, at: usize) -> (&Memory, usize) {
        let (word, banks) = (at / WORD, self.banks.len());
        (&self.banks[word % banks], word / banks * WORD + at % WORD)
    }

    /// Copies out of the memory.
    pub(crate) fn read<D: Dpi>(
        &self,
        instance: &Instance<D>,
        at: usize,
        data: &mut [u8],
    ) -> Result<(), CosimError> {
        if let [memory] = &self.banks[..] {
            return Ok(instance.memory_read(memory, at, data)?);
        }
        let (head, body) = Self::cut(at, data.len());
        for (from, to) in [(0, head), (head + body, data.len())] {
            if from != to {
                let (memory, place) = self.place(at + from);
                instance.memory_read(memory, place, &mut data[from..to])?;
            }
        }
        let words = &mut data[head..head + body];
        for (bank, memory) in self.banks.iter().enumerate() {
            let share = self.share(bank, (at + head) / WORD, words.len() / WORD);
            let mut chunk = [0; CHUNK * WORD];
            for done in (0..share.count).step_by(CHUNK) {
                let chunk = &mut chunk[..CHUNK.min(share.count - done) * WORD];
                instance.memory_read(memory, share.at + done * WORD, chunk)?;
                for (n, word) in chunk.chunks_exact(WORD).enumerate() {
                    let to = (share.first + (done + n) * self.banks.len()) * WORD;
                    words[to..to + WORD].copy_from_slice(word);
                }
            }
        }
        Ok(())
    }

    /// Sets the memory to zero.
    pub(crate) fn clear<D: Dpi>(&self, instance: &mut Instance<D>) -> Result<(), CosimError> {
        let zeros = [0; 1 << 12];
        for bank in &self.banks {
            for at in (0..bank.len()).step_by(zeros.len()) {
                let part = zeros.len().min(bank.len() - at);
                instance.memory_write(bank, at, &zeros[..part])?;
            }
        }
        Ok(())
    }

    /// Copies into the memory.
    pub(crate) fn write<D: Dpi>(
        &self,
        instance: &mut Instance<D>,
        at: usize,
        data: &[u8],
    ) -> Result<(), CosimError> {
        if let [memory] = &self.banks[..] {
            return Ok(instance.memory_write(memory, at, data)?);
        }
        let (head, body) = Self::cut(at, data.len());
        for (from, to) in [(0, head), (head + body, data.len())] {
            if from != to {
                let (memory, place) = self.place(at + from);
                instance.memory_write(memory, place, &data[from..to])?;
            }
        }
        let words = &data[head..head + body];
        for (bank, memory) in self.banks.iter().enumerate() {
            let share = self.share(bank, (at + head) / WORD, words.len() / WORD);
            let mut chunk = [0; CHUNK * WORD];
            for done in (0..share.count).step_by(CHUNK) {
                let chunk = &mut chunk[..CHUNK.min(share.count - done) * WORD];
                for (n, word) in chunk.chunks_exact_mut(WORD).enumerate() {
                    let from = (share.first + (done + n) * self.banks.len()) * WORD;
                    word.copy_from_slice(&words[from..from + WORD]);
                }
                instance.memory_write(memory, share.at + done * WORD, chunk)?;
            }
        }
        Ok(())
    }
}

//! Contexts, which separate the messages of communicators.

use alcor_abi::packets::x_message;

/// Number of contexts.
const CONTEXTS: u32 = 1 + x_message::CONTEXT.max();
/// The context of the world.
pub(crate) const WORLD: u8 = 0;

/// The contexts of a rank's communicators, one bit each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Contexts([u32; Contexts::WORDS]);

impl Default for Contexts {
    fn default() -> Contexts {
        let mut contexts = Contexts([0; Contexts::WORDS]);
        contexts.take(WORLD);
        contexts
    }
}

impl Contexts {
    /// Number of words of the set.
    pub(crate) const WORDS: usize = CONTEXTS as usize / 32;

    pub(crate) fn to_words(self) -> [u32; Contexts::WORDS] {
        self.0
    }

    pub(crate) fn from_words(words: [u32; Contexts::WORDS]) -> Contexts {
        Contexts(words)
    }

    pub(crate) fn join(&mut self, other: &Contexts) {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word |= other;
        }
    }

    pub(crate) fn take(&mut self, context: u8) {
        self.0[usize::from(context) / 32] |= 1 << (context % 32);
    }

    pub(crate) fn give_back(&mut self, context: u8) {
        self.0[usize::from(context) / 32] &= !(1 << (context % 32));
    }

    /// Returns a free context for a communicator of this number. Contexts are used in turn, so a
    /// freed context is reused late.
    pub(crate) fn free(&self, id: u32) -> Option<u8> {
        let is_free = |context: &u32| self.0[*context as usize / 32] & 1 << (context % 32) == 0;
        let found = (0..CONTEXTS).map(|step| id.wrapping_add(step) % CONTEXTS);
        found.into_iter().find(is_free).map(|context| context as u8)
    }
}

//! Contexts, which separate the messages of communicators.

use alcor_abi::packets::x_message;

/// Number of contexts.
pub(super) const CONTEXTS: u32 = 1 + x_message::CONTEXT.max();
/// The context of the world.
pub(crate) const WORLD: u8 = 0;
/// The context of calls for deferred messages.
pub(super) const CALLS: u8 = 254;
/// The context of deferred messages that were called for.
pub(super) const DEFERRED: u8 = 255;

/// The contexts of a rank's communicators, one bit each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Contexts([u32; Contexts::WORDS]);

impl Default for Contexts {
    fn default() -> Contexts {
        let mut contexts = Contexts([0; Contexts::WORDS]);
        for own in [WORLD, CALLS, DEFERRED] {
            contexts.take(own);
        }
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

    /// Returns the contexts of the world and of communicators.
    pub(super) fn iter(self) -> impl Iterator<Item = u8> {
        (0..CALLS).filter(move |&context| self.has(context))
    }

    fn has(&self, context: u8) -> bool {
        self.0[usize::from(context) / 32] & 1 << (context % 32) != 0
    }

    /// Returns up to `count` free contexts for a communicator of this number. Contexts are used in
    /// turn, so a freed context is reused late, and those of one communicator follow one another.
    pub(crate) fn free(&self, id: u32, count: u32) -> Vec<u8> {
        let contexts = (0..CONTEXTS).map(|step| (id.wrapping_add(step) % CONTEXTS) as u8);
        let free = contexts.filter(|&context| !self.has(context));
        free.take(count as usize).collect()
    }
}

//! Model of go-back-n for messages: a receiver without room refuses a message, and the sender sends
//! it and the later ones again (`hw/nic/doc/nic.md`, section "Streams").
//!
//! The model follows the document and shares no code with the RTL and the library. A sender is one
//! automaton, and the receiver of many sources is another. [`Streams`] lets them take their steps in
//! any order, for an exhaustive check at small sizes and for random runs at those of the RTL.
//! [`incast`] gives each step its time, for loads of many senders.
//!
//! Each message also has a fact that the receiver does not know: its place among all messages of its
//! source. The properties are about this fact.
#![warn(missing_docs)]

mod incast;
mod receiver;
mod sender;
mod streams;

pub use incast::{Figures, Incast, incast};
pub use receiver::{Answer, Broken, Receiver};
pub use sender::{Message, Rules, Sender, Sizes};
pub use streams::{Action, Reply, State, Streams};

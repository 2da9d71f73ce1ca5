//! Model of the protocol between two link ends: numbered frames that are sent again, and sessions
//! between two epochs (`hw/link/doc/link.md`).
//!
//! The model follows the document and shares no code with the RTL. A frame carries one phit, a link
//! end is one automaton, and its timers may end at any time. The sizes of numbers and windows are
//! parameters: small ones for an exhaustive check, those of the RTL for long random runs.
//!
//! Each end and each phit also has facts that the protocol does not know: which start of an end
//! they belong to, and the phit's place. The properties are about these facts.
#![warn(missing_docs)]

mod end;
mod link;

pub use end::{Broken, End, Epoch, Frame, Rules, Session, Sizes};
pub use link::{Action, Budget, Link, Side, State};

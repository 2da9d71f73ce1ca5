//! Typed handles of ports and public variables.

use std::fmt;

/// Which way a signal goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// An input of the top module.
    Input,
    /// An output of the top module.
    Output,
    /// An inout of the top module.
    Inout,
    /// A public variable inside the model.
    Internal {
        /// Whether it may be written.
        writable: bool,
    },
}

impl Direction {
    pub(crate) fn is_writable(self) -> bool {
        !matches!(
            self,
            Direction::Output | Direction::Internal { writable: false }
        )
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Input => "an input",
            Direction::Output => "an output",
            Direction::Inout => "an inout",
            Direction::Internal { writable: true } => "a public variable",
            Direction::Internal { writable: false } => "a read-only public variable",
        })
    }
}

/// Tells models apart: the address of the model's table, which stays loaded for as long as the process lives.
pub(crate) type ModelId = usize;

/// A handle of a port or a public variable, good for every instance of its model.
#[derive(Debug, Clone)]
pub struct Signal {
    pub(crate) model: ModelId,
    /// Ports count first, then public variables.
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) direction: Direction,
    pub(crate) width: usize,
    pub(crate) bytes: usize,
}

impl Signal {
    /// Its name, or the path of a public variable.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Which way it goes.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Its width in bits.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Its width in 32-bit words, rounded up.
    pub fn words(&self) -> usize {
        self.width.div_ceil(32)
    }
}

/// A handle of a public unpacked array of vectors, good for every instance of its model.
///
/// Seen as bytes, its elements lie one after the other from the lowest index on, each little-endian in 1, 2, 4, 8, or a
/// multiple of 4 bytes, whichever is the first to hold it.
#[derive(Debug, Clone)]
pub struct Memory {
    pub(crate) model: ModelId,
    pub(crate) index: usize,
    pub(crate) path: String,
    pub(crate) elements: usize,
    pub(crate) element_bits: usize,
    pub(crate) element_bytes: usize,
    pub(crate) writable: bool,
}

impl Memory {
    /// Its path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// How many elements it has.
    pub fn elements(&self) -> usize {
        self.elements
    }

    /// How many bits an element has.
    pub fn element_bits(&self) -> usize {
        self.element_bits
    }

    /// How many bytes an element takes.
    pub fn element_bytes(&self) -> usize {
        self.element_bytes
    }

    /// How many bytes all elements take.
    pub fn len(&self) -> usize {
        self.elements * self.element_bytes
    }

    /// Whether there are no elements, which never is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

//! Typed handles of ports and public variables.

use std::fmt;

/// Direction of a signal.
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
        /// Whether the variable is writable.
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

/// Identity of a model: the address of the model's table, which stays loaded as long as the process
/// lives.
pub(crate) type ModelId = usize;

/// A handle of a port or a public variable, valid for every instance of its model.
#[derive(Debug, Clone)]
pub struct Signal {
    pub(crate) model: ModelId,
    /// Index of the signal: ports first, then public variables.
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) direction: Direction,
    pub(crate) width: usize,
    pub(crate) bytes: usize,
}

impl Signal {
    /// Name of the port, or path of the public variable.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Direction of the signal.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Width in bits.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Width in 32-bit words, rounded up.
    pub fn words(&self) -> usize {
        self.width.div_ceil(32)
    }
}

/// A handle of a public unpacked array of vectors, valid for every instance of its model.
///
/// Viewed as bytes, the elements are contiguous from the lowest index on. Each element is
/// little-endian and takes the smallest sufficient size of 1, 2, 4, 8, or a multiple of 4 bytes.
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
    /// Path of the array.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.elements
    }

    /// Width of an element in bits.
    pub fn element_bits(&self) -> usize {
        self.element_bits
    }

    /// Size of an element in bytes.
    pub fn element_bytes(&self) -> usize {
        self.element_bytes
    }

    /// Size of all elements in bytes.
    pub fn len(&self) -> usize {
        self.elements * self.element_bytes
    }

    /// Returns whether there are no elements. Always false.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

//! Ports with Rust types.

use std::any::type_name;
use std::marker::PhantomData;
use std::ops::Deref;

use crate::{Dpi, Error, Instance, Model, Signal};

/// A Rust type for a port: `bool` for one bit, an unsigned integer for a width up to its own,
/// `[u32; N]` for vectors of N words, least significant word first.
pub trait PortValue: Sized {
    /// Returns whether the type can hold all values of a port of this width.
    fn holds(width: usize) -> bool;

    /// Writes the value to the words of a port. Returns whether the words have room for all bits.
    fn put(self, words: &mut [u32]) -> bool;

    /// Reads the value from the words of a port.
    fn of(words: &[u32]) -> Self;
}

macro_rules! integers {
    ($($rust:ty),+) => {$(
        impl PortValue for $rust {
            fn holds(width: usize) -> bool {
                width <= Self::BITS as usize
            }

            fn put(self, words: &mut [u32]) -> bool {
                let mut left = u128::from(self);
                for word in words {
                    *word = left as u32;
                    left >>= 32;
                }
                left == 0
            }

            fn of(words: &[u32]) -> Self {
                let join = |value: u128, word: &u32| value << 32 | u128::from(*word);
                words.iter().rev().fold(0, join) as Self
            }
        }
    )+};
}

integers!(u8, u16, u32, u64, u128);

impl PortValue for bool {
    fn holds(width: usize) -> bool {
        width == 1
    }

    fn put(self, words: &mut [u32]) -> bool {
        u8::from(self).put(words)
    }

    fn of(words: &[u32]) -> Self {
        u8::of(words) != 0
    }
}

impl<const N: usize> PortValue for [u32; N] {
    fn holds(width: usize) -> bool {
        width.div_ceil(32) == N
    }

    fn put(self, words: &mut [u32]) -> bool {
        words.copy_from_slice(&self);
        true
    }

    fn of(words: &[u32]) -> Self {
        std::array::from_fn(|at| words[at])
    }
}

/// An input with a typed value. Dereferences to a [`Signal`].
#[derive(Debug, Clone)]
pub struct Input<T> {
    signal: Signal,
    value: PhantomData<fn(T)>,
}

/// An output with a typed value. Dereferences to a [`Signal`].
#[derive(Debug, Clone)]
pub struct Output<T> {
    signal: Signal,
    value: PhantomData<fn() -> T>,
}

fn checked<T: PortValue>(model: &Model, signal: Signal) -> Result<Signal, Error> {
    if T::holds(signal.width()) {
        return Ok(signal);
    }
    Err(Error::PortType {
        model: model.name().into(),
        port: signal.name().into(),
        width: signal.width(),
        rust: type_name::<T>(),
    })
}

impl<T: PortValue> Input<T> {
    /// The input `name` of a model.
    ///
    /// # Errors
    /// If there is no such input, or if the type cannot hold its values.
    pub fn find(model: &Model, name: &str) -> Result<Self, Error> {
        Ok(Self {
            signal: checked::<T>(model, model.input(name)?)?,
            value: PhantomData,
        })
    }
}

impl<T: PortValue> Output<T> {
    /// The output `name` of a model.
    ///
    /// # Errors
    /// If there is no such output, or if the type cannot hold its values.
    pub fn find(model: &Model, name: &str) -> Result<Self, Error> {
        Ok(Self {
            signal: checked::<T>(model, model.output(name)?)?,
            value: PhantomData,
        })
    }
}

impl<T> Deref for Input<T> {
    type Target = Signal;

    fn deref(&self) -> &Signal {
        &self.signal
    }
}

impl<T> Deref for Output<T> {
    type Target = Signal;

    fn deref(&self) -> &Signal {
        &self.signal
    }
}

/// Maximum number of words of a port that need no allocation.
const FEW: usize = 8;

fn with_words<R>(number: usize, body: impl FnOnce(&mut [u32]) -> R) -> R {
    if number <= FEW {
        body(&mut [0; FEW][..number])
    } else {
        body(&mut vec![0; number])
    }
}

impl<D: Dpi> Instance<D> {
    /// Drives a typed input. The value takes effect at the next evaluation.
    ///
    /// # Errors
    /// If the input belongs to another model, or has too few bits for the value.
    pub fn drive<T: PortValue>(&mut self, input: &Input<T>, value: T) -> Result<(), Error> {
        with_words(input.words(), |words| {
            if value.put(words) {
                return self.set_words(input, words);
            }
            Err(Error::Width {
                name: input.name().into(),
                width: input.width(),
                found: format!("a larger {}", type_name::<T>()),
            })
        })
    }

    /// The value of a typed output.
    ///
    /// # Errors
    /// If the output belongs to another model.
    pub fn sample<T: PortValue>(&self, output: &Output<T>) -> Result<T, Error> {
        with_words(output.words(), |words| {
            self.get_words(output, words)?;
            Ok(T::of(words))
        })
    }
}

/// Declares a struct of typed ports with a function `find` that looks up all ports in a model.
///
/// ```
/// verimodel::ports! {
///     /// Ports of `counter.sv`.
///     pub struct Counter {
///         input clk_i: bool,
///         input step_i: u8,
///         output count_o: u32,
///         output all_o: [u32; 4],
///     }
/// }
///
/// fn count(model: &verimodel::Model) -> Result<u32, verimodel::Error> {
///     let ports = Counter::find(model)?; // names, directions and widths are checked here
///     let mut counter = model.instantiate("counter", ())?;
///     counter.drive(&ports.step_i, 3)?;
///     counter.run(&ports.clk_i, 10)?;
///     counter.sample(&ports.count_o)
/// }
/// ```
#[macro_export]
macro_rules! ports {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident {
            $($way:ident $port:ident : $value:ty),* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone)]
        $visibility struct $name {
            $(
                #[doc = ::core::concat!("The ", ::core::stringify!($way), " `", ::core::stringify!($port), "`.")]
                $visibility $port: $crate::ports!(@type $way $value),
            )*
        }

        impl $name {
            /// Finds the ports in a model.
            ///
            /// # Errors
            /// If the model lacks one of the ports, or if a type cannot hold the values of its
            /// port.
            $visibility fn find(model: &$crate::Model) -> ::core::result::Result<Self, $crate::Error> {
                ::core::result::Result::Ok(Self {
                    $($port: <$crate::ports!(@type $way $value)>::find(model, ::core::stringify!($port))?,)*
                })
            }
        }
    };
    (@type input $value:ty) => { $crate::Input<$value> };
    (@type output $value:ty) => { $crate::Output<$value> };
}

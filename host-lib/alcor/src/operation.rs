//! Operations of reductions.

use std::fmt;

use alcor_abi::Operation as Code;

use crate::Datatype;

/// The operation of a reduction.
///
/// Integers wrap. Floating-point results are rounded to nearest, ties to even. A NaN result is the
/// canonical quiet NaN. Minimum and maximum follow IEEE 754-2019: a NaN operand gives NaN, and -0
/// is less than +0. So each operation is commutative bit for bit, and a result depends only on the
/// order of combination ([`crate::Tree`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Sum.
    Sum,
    /// Minimum.
    Min,
    /// Maximum.
    Max,
    /// Product.
    Prod,
    /// Bitwise and, for integers only.
    Band,
    /// Bitwise or, for integers only.
    Bor,
    /// Bitwise exclusive or, for integers only.
    Bxor,
}

impl Operation {
    /// Every operation.
    pub const ALL: &'static [Operation] = &[
        Operation::Sum,
        Operation::Min,
        Operation::Max,
        Operation::Prod,
        Operation::Band,
        Operation::Bor,
        Operation::Bxor,
    ];

    /// Returns whether the operation is bitwise, for integers only.
    ///
    /// # Examples
    /// ```
    /// assert!(alcor::Operation::Bxor.is_bitwise() && !alcor::Operation::Sum.is_bitwise());
    /// ```
    #[must_use]
    pub fn is_bitwise(self) -> bool {
        matches!(self, Operation::Band | Operation::Bor | Operation::Bxor)
    }

    /// The hardware's code.
    pub(crate) fn code(self) -> u32 {
        let code = match self {
            Operation::Sum => Code::Sum,
            Operation::Min => Code::Min,
            Operation::Max => Code::Max,
            Operation::Prod => Code::Prod,
            Operation::Band => Code::Band,
            Operation::Bor => Code::Bor,
            Operation::Bxor => Code::Bxor,
        };
        code as u32
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operation::Sum => "sum",
            Operation::Min => "minimum",
            Operation::Max => "maximum",
            Operation::Prod => "product",
            Operation::Band => "bitwise and",
            Operation::Bor => "bitwise or",
            Operation::Bxor => "bitwise exclusive or",
        })
    }
}

/// Numbers that reductions combine.
///
/// The collective unit combines `f64`, `f32`, `i64`, `i32`, `u64` and `u32`. The library combines
/// shorter types in software.
pub trait Reducible: Datatype {
    /// Whether the type is a floating-point type, which has no bitwise operations.
    const IS_FLOAT: bool;

    /// Combines `a` and `b` as [`Operation`] defines. Returns `a` for a bitwise operation of
    /// floating-point numbers.
    #[must_use]
    fn combine(operation: Operation, a: Self, b: Self) -> Self;
}

macro_rules! integers {
    ($($number:ty),*) => {$(
        impl Reducible for $number {
            const IS_FLOAT: bool = false;

            fn combine(operation: Operation, a: Self, b: Self) -> Self {
                match operation {
                    Operation::Sum => a.wrapping_add(b),
                    Operation::Min => a.min(b),
                    Operation::Max => a.max(b),
                    Operation::Prod => a.wrapping_mul(b),
                    Operation::Band => a & b,
                    Operation::Bor => a | b,
                    Operation::Bxor => a ^ b,
                }
            }
        }
    )*};
}

macro_rules! floats {
    ($($number:ty, $quiet_nan:literal);*) => {$(
        impl Reducible for $number {
            const IS_FLOAT: bool = true;

            fn combine(operation: Operation, a: Self, b: Self) -> Self {
                let nan = a.is_nan() || b.is_nan();
                // Zeros of different signs are equal, so the sign is compared too.
                let less = |a: Self, b: Self| a < b || (a == b && a.is_sign_negative());
                let result = match operation {
                    Operation::Sum => a + b,
                    Operation::Prod => a * b,
                    Operation::Min if !nan => if less(a, b) { a } else { b },
                    Operation::Max if !nan => if less(a, b) { b } else { a },
                    Operation::Min | Operation::Max => Self::NAN,
                    Operation::Band | Operation::Bor | Operation::Bxor => return a,
                };
                if result.is_nan() {
                    Self::from_bits($quiet_nan)
                } else {
                    result
                }
            }
        }
    )*};
}

integers!(u8, u16, u32, u64, i8, i16, i32, i64);
floats!(f32, 0x7FC0_0000; f64, 0x7FF8_0000_0000_0000);

/// Combines the elements in `bytes` into those in `into`, which has the same length.
pub(crate) type Combine = fn(Operation, &mut [u8], &[u8]);

pub(crate) fn combine_bytes<T: Reducible>(operation: Operation, into: &mut [u8], bytes: &[u8]) {
    let count = into.len() / T::BYTES as usize;
    let (mut mine, mut theirs) = (vec![T::default(); count], vec![T::default(); count]);
    T::bytes_mut(&mut mine).copy_from_slice(into);
    T::bytes_mut(&mut theirs).copy_from_slice(bytes);
    for (mine, theirs) in mine.iter_mut().zip(theirs) {
        *mine = T::combine(operation, *mine, theirs);
    }
    into.copy_from_slice(T::bytes(&mine));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minimum_and_maximum_know_signs_of_zero_and_numbers_that_are_none() {
        let bits = |operation, a: f64, b: f64| f64::combine(operation, a, b).to_bits();
        for (a, b) in [(0.0, -0.0), (-0.0, 0.0)] {
            assert_eq!(bits(Operation::Min, a, b), (-0.0f64).to_bits());
            assert_eq!(bits(Operation::Max, a, b), 0.0f64.to_bits());
        }
        let odd_nan = f64::from_bits(0xFFF0_0000_0000_0001);
        for &operation in &Operation::ALL[..4] {
            for (a, b) in [(odd_nan, 1.0), (1.0, odd_nan)] {
                assert_eq!(bits(operation, a, b), 0x7FF8_0000_0000_0000);
            }
        }
        let sum = f32::combine(Operation::Sum, f32::INFINITY, f32::NEG_INFINITY);
        assert_eq!(sum.to_bits(), 0x7FC0_0000);
    }

    #[test]
    fn integers_wrap() {
        assert_eq!(i8::combine(Operation::Sum, 127, 1), -128);
        assert_eq!(u32::combine(Operation::Prod, 1 << 31, 6), 0);
        assert_eq!(i64::combine(Operation::Min, -1, 1), -1);
        assert_eq!(u64::combine(Operation::Min, u64::MAX, 1), 1);
    }
}

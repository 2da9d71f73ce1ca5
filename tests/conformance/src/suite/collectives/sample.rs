//! Numbers of every type, and what reductions of them come to.
//!
//! What an operation does with two numbers is worked out here another way than the library's: in
//! wide integers, and by the order of bit patterns.

use std::fmt::Debug;

use alcor::{ElementType, GlobalRank, Operation, Reducible, Tree};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Which numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::suite) enum Flavour {
    /// Of different magnitudes, so that sums and products depend on the order of combination.
    Plain,
    /// Infinities, NaNs, subnormals, zeros of both signs and the largest among them.
    Special,
}

/// A type that collectives move.
pub(in crate::suite) trait Sample: Reducible + Debug {
    /// Numbers that are worth a look.
    const SPECIAL: &'static [Self];

    fn plain(rng: &mut ChaCha8Rng) -> Self;

    #[cfg(test)]
    fn bits(self) -> u64;

    /// What the operation comes to.
    fn expected(operation: Operation, a: Self, b: Self) -> Self;
}

/// So many numbers.
pub(in crate::suite) fn vector<T: Sample>(
    mut rng: ChaCha8Rng,
    flavour: Flavour,
    length: usize,
) -> Vec<T> {
    let mut number = || match flavour {
        Flavour::Special if rng.random_bool(0.5) => {
            T::SPECIAL[rng.random_range(0..T::SPECIAL.len())]
        }
        _ => T::plain(&mut rng),
    };
    (0..length).map(|_| number()).collect()
}

/// The members' vectors combined in the order of the tree.
pub(in crate::suite) fn reduced<T: Sample>(
    tree: &Tree,
    operation: Operation,
    vector: impl Fn(GlobalRank) -> Vec<T>,
) -> Vec<T> {
    let join = |a: &mut Vec<T>, b: &[T]| {
        for (a, &b) in a.iter_mut().zip(b) {
            *a = T::expected(operation, *a, b);
        }
    };
    let mut x: Vec<Vec<T>> = Vec::new();
    for board in tree.boards() {
        let mut whole = vector(board.members[0]);
        for &member in &board.members[1..] {
            join(&mut whole, &vector(member));
        }
        x.push(whole);
    }
    for stage in tree.stages() {
        for i in 0..stage.pairs as usize {
            let upper = std::mem::take(&mut x[i + stage.distance as usize]);
            join(&mut x[i], &upper);
        }
    }
    x.swap_remove(0)
}

macro_rules! integers {
    ($($number:ty),*) => {$(
        impl Sample for $number {
            const SPECIAL: &'static [Self] = &[0, 1, 2, 3, <$number>::MAX, <$number>::MIN, <$number>::MAX - 1,
                <$number>::MIN + 1, <$number>::MAX / 2, <$number>::MAX / 2 + 1];

            fn plain(rng: &mut ChaCha8Rng) -> Self {
                rng.random()
            }

            #[cfg(test)]
            fn bits(self) -> u64 {
                self as u64
            }

            fn expected(operation: Operation, a: Self, b: Self) -> Self {
                let (wide, other) = (i128::from(a), i128::from(b));
                (match operation {
                    Operation::Sum => wide + other,
                    Operation::Prod => wide.wrapping_mul(other),
                    Operation::Min => if wide <= other { wide } else { other },
                    Operation::Max => if wide >= other { wide } else { other },
                    Operation::Band => wide & other,
                    Operation::Bor => wide | other,
                    Operation::Bxor => (wide | other) & !(wide & other),
                    unknown => unreachable!("{unknown} has no reference here"),
                }) as Self
            }
        }
    )*};
}

macro_rules! floats {
    ($($number:ty, $bits:ty, $signed:ty, $nan:literal, $range:literal;)*) => {$(
        impl Sample for $number {
            const SPECIAL: &'static [Self] = &[
                0.0, -0.0, 1.0, -1.0, <$number>::INFINITY, <$number>::NEG_INFINITY, <$number>::MAX, <$number>::MIN,
                <$number>::MIN_POSITIVE, -<$number>::MIN_POSITIVE,
                // The smallest and the largest subnormal, and another.
                <$number>::from_bits(1), -<$number>::from_bits(1), <$number>::from_bits(12345),
                <$number>::from_bits(<$number>::MIN_POSITIVE.to_bits() - 1),
                // Quiet and signalling NaNs with payloads, of both signs.
                <$number>::from_bits($nan), <$number>::from_bits($nan | 3),
                -<$number>::from_bits($nan | 0x111),
                <$number>::from_bits(<$number>::INFINITY.to_bits() + 1),
                -<$number>::from_bits(<$number>::INFINITY.to_bits() + 0x1234),
                // One and a half units in the last place: ties.
                <$number>::EPSILON, <$number>::EPSILON / 2.0, <$number>::EPSILON * 1.5, 1.0 + <$number>::EPSILON,
            ];

            fn plain(rng: &mut ChaCha8Rng) -> Self {
                let mantissa: Self = rng.random_range(1.0..2.0);
                let sign: Self = if rng.random() { 1.0 } else { -1.0 };
                // Now and then a product reaches the subnormals.
                let reach = if rng.random_bool(0.1) { $range } else { 20 };
                let scaled: Self = mantissa * (2.0 as Self).powi(rng.random_range(-reach..20));
                sign * scaled
            }

            #[cfg(test)]
            fn bits(self) -> u64 {
                u64::from(self.to_bits())
            }

            fn expected(operation: Operation, a: Self, b: Self) -> Self {
                const QUIET: $bits = $nan;
                let is_nan = |bits: $bits| bits << 1 > <$number>::INFINITY.to_bits() << 1;
                if is_nan(a.to_bits()) || is_nan(b.to_bits()) {
                    return <$number>::from_bits(QUIET);
                }
                // The order of numbers is that of their patterns, of negative ones turned around.
                let place = |number: $number| {
                    let pattern = number.to_bits() as $signed;
                    if pattern < 0 { !(pattern & <$signed>::MAX) } else { pattern }
                };
                let result = match operation {
                    Operation::Sum => a + b,
                    Operation::Prod => a * b,
                    Operation::Min => if place(a) <= place(b) { a } else { b },
                    _ => if place(a) >= place(b) { a } else { b },
                };
                if is_nan(result.to_bits()) { <$number>::from_bits(QUIET) } else { result }
            }
        }
    )*};
}

integers!(u8, u16, u32, u64, i8, i16, i32, i64);
floats! {
    f32, u32, i32, 0x7FC0_0000, 80;
    f64, u64, i64, 0x7FF8_0000_0000_0000, 600;
}

/// The types that the collective unit knows.
pub(in crate::suite) const HARDWARE: [ElementType; 6] = [
    ElementType::F64,
    ElementType::F32,
    ElementType::I64,
    ElementType::I32,
    ElementType::U64,
    ElementType::U32,
];

/// The others.
pub(in crate::suite) const SHORT: [ElementType; 4] = [
    ElementType::U8,
    ElementType::U16,
    ElementType::I8,
    ElementType::I16,
];

pub(in crate::suite) fn is_float(element: ElementType) -> bool {
    matches!(element, ElementType::F64 | ElementType::F32)
}

/// Bytes of an element.
pub(in crate::suite) fn bytes_of(element: ElementType) -> usize {
    match element {
        ElementType::F64 | ElementType::I64 | ElementType::U64 => 8,
        ElementType::F32 | ElementType::I32 | ElementType::U32 => 4,
        ElementType::I16 | ElementType::U16 => 2,
        ElementType::I8 | ElementType::U8 => 1,
        other => unreachable!("{other} has no size here"),
    }
}

/// The operations that the type has.
pub(in crate::suite) fn operations(element: ElementType) -> impl Iterator<Item = Operation> {
    let all = Operation::ALL.iter().copied();
    all.filter(move |operation| !(is_float(element) && operation.is_bitwise()))
}

/// Evaluates an expression with a type's name standing for an [`ElementType`].
macro_rules! with_type {
    ($element:expr, $type:ident => $body:expr) => {{
        macro_rules! of {
            ($number:ty) => {{
                type $type = $number;
                $body
            }};
        }
        match $element {
            alcor::ElementType::F64 => of!(f64),
            alcor::ElementType::F32 => of!(f32),
            alcor::ElementType::I64 => of!(i64),
            alcor::ElementType::I32 => of!(i32),
            alcor::ElementType::U64 => of!(u64),
            alcor::ElementType::U32 => of!(u32),
            alcor::ElementType::I16 => of!(i16),
            alcor::ElementType::U16 => of!(u16),
            alcor::ElementType::I8 => of!(i8),
            alcor::ElementType::U8 => of!(u8),
            other => unreachable!("no Rust type stands for {other} here"),
        }
    }};
}
pub(in crate::suite) use with_type;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_the_same_of_two_numbers_as_the_library() {
        for element in HARDWARE.into_iter().chain(SHORT) {
            for operation in operations(element) {
                with_type!(element, T => {
                    let numbers = T::SPECIAL;
                    for &a in numbers {
                        for &b in numbers {
                            let found = T::combine(operation, a, b).bits();
                            let expected = T::expected(operation, a, b).bits();
                            assert_eq!(found, expected, "{operation} of {a:?} and {b:?}");
                        }
                    }
                });
            }
        }
    }
}

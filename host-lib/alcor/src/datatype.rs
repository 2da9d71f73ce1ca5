//! Element types of regions and windows.

use std::fmt;

use alcor_abi::Datatype as Code;

mod sealed {
    pub trait Sealed {}
}

/// The name of an element type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ElementType {
    /// `f64`
    F64,
    /// `f32`
    F32,
    /// `i64`
    I64,
    /// `i32`
    I32,
    /// `u64`
    U64,
    /// `u32`
    U32,
    /// `i16`
    I16,
    /// `u16`
    U16,
    /// `i8`
    I8,
    /// `u8`
    U8,
}

impl ElementType {
    /// Every type, in the order of the declaration.
    pub(crate) const ALL: [ElementType; 10] = [
        ElementType::F64,
        ElementType::F32,
        ElementType::I64,
        ElementType::I32,
        ElementType::U64,
        ElementType::U32,
        ElementType::I16,
        ElementType::U16,
        ElementType::I8,
        ElementType::U8,
    ];

    /// The collective unit's code, if the unit supports the type.
    pub(crate) fn hardware(self) -> Option<Code> {
        Code::from_bits(self as u32).filter(|&code| code != Code::Software)
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ElementType::F64 => "f64",
            ElementType::F32 => "f32",
            ElementType::I64 => "i64",
            ElementType::I32 => "i32",
            ElementType::U64 => "u64",
            ElementType::U32 => "u32",
            ElementType::I16 => "i16",
            ElementType::U16 => "u16",
            ElementType::I8 => "i8",
            ElementType::U8 => "u8",
        })
    }
}

/// Plain numbers that can be stored in node memory, in little-endian order.
pub trait Datatype: Copy + Default + Send + Sync + sealed::Sealed + 'static {
    /// Bytes per element.
    const BYTES: u32;
    /// The type's name.
    const TYPE: ElementType;

    /// Appends the elements of `values` to `bytes`.
    #[doc(hidden)]
    fn encode(values: &[Self], bytes: &mut Vec<u8>);

    /// Fills `values` from `bytes`, which holds the same number of elements.
    #[doc(hidden)]
    fn decode(bytes: &[u8], values: &mut [Self]);
}

macro_rules! datatype {
    ($($number:ty, $name:ident);*) => {$(
        impl sealed::Sealed for $number {}
        impl Datatype for $number {
            const BYTES: u32 = size_of::<$number>() as u32;
            const TYPE: ElementType = ElementType::$name;

            fn encode(values: &[Self], bytes: &mut Vec<u8>) {
                bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            }

            fn decode(bytes: &[u8], values: &mut [Self]) {
                let (elements, _) = bytes.as_chunks::<{ size_of::<$number>() }>();
                for (value, element) in values.iter_mut().zip(elements) {
                    *value = <$number>::from_le_bytes(*element);
                }
            }
        }
    )*};
}

datatype!(u8, U8; u16, U16; u32, U32; u64, U64; i8, I8; i16, I16; i32, I32; i64, I64; f32, F32; f64, F64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hardware_knows_the_types_of_four_bytes_and_more() {
        let knows = |bytes: u32, name: ElementType, code| {
            assert_eq!(name.hardware(), code);
            assert_eq!(code.is_some(), bytes >= 4);
        };
        knows(f64::BYTES, f64::TYPE, Some(Code::F64));
        knows(f32::BYTES, f32::TYPE, Some(Code::F32));
        knows(i64::BYTES, i64::TYPE, Some(Code::I64));
        knows(i32::BYTES, i32::TYPE, Some(Code::I32));
        knows(u64::BYTES, u64::TYPE, Some(Code::U64));
        knows(u32::BYTES, u32::TYPE, Some(Code::U32));
        knows(i16::BYTES, i16::TYPE, None);
        knows(u16::BYTES, u16::TYPE, None);
        knows(i8::BYTES, i8::TYPE, None);
        knows(u8::BYTES, u8::TYPE, None);
    }
}

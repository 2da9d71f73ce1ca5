//! Element types of regions and windows.

use std::fmt;

use alcor_abi::Datatype as Code;
use zerocopy::{FromBytes, IntoBytes};

#[cfg(target_endian = "big")]
compile_error!("alcor supports hosts of little-endian byte order, as node memory has");

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

    /// The bytes of elements, as they are in node memory.
    #[doc(hidden)]
    fn bytes(values: &[Self]) -> &[u8];

    /// The bytes of elements, to be written as they are in node memory.
    #[doc(hidden)]
    fn bytes_mut(values: &mut [Self]) -> &mut [u8];

    /// The elements in bytes at an address of the element's alignment; none at any other.
    #[doc(hidden)]
    fn elements(bytes: &[u8]) -> &[Self];

    /// As [`Datatype::elements`].
    #[doc(hidden)]
    fn elements_mut(bytes: &mut [u8]) -> &mut [Self];
}

macro_rules! datatype {
    ($($number:ty, $name:ident);*) => {$(
        impl sealed::Sealed for $number {}
        impl Datatype for $number {
            const BYTES: u32 = size_of::<$number>() as u32;
            const TYPE: ElementType = ElementType::$name;

            fn bytes(values: &[Self]) -> &[u8] {
                values.as_bytes()
            }

            fn bytes_mut(values: &mut [Self]) -> &mut [u8] {
                values.as_mut_bytes()
            }

            fn elements(bytes: &[u8]) -> &[Self] {
                <[Self]>::ref_from_bytes(bytes).unwrap_or_default()
            }

            fn elements_mut(bytes: &mut [u8]) -> &mut [Self] {
                <[Self]>::mut_from_bytes(bytes).unwrap_or_default()
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

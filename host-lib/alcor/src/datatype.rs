//! Element types of regions and windows.

mod sealed {
    pub trait Sealed {}
}

/// Plain numbers that have a place in node memory, where they lie in little-endian order.
pub trait Datatype: Copy + Default + Send + sealed::Sealed + 'static {
    /// Bytes of an element.
    const BYTES: u32;

    /// Appends the elements of `values` to `bytes`.
    #[doc(hidden)]
    fn encode(values: &[Self], bytes: &mut Vec<u8>);

    /// Fills `values` from `bytes`, which holds as many elements.
    #[doc(hidden)]
    fn decode(bytes: &[u8], values: &mut [Self]);
}

macro_rules! datatype {
    ($($number:ty),*) => {$(
        impl sealed::Sealed for $number {}
        impl Datatype for $number {
            const BYTES: u32 = size_of::<$number>() as u32;

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

datatype!(u8, u16, u32, u64, i8, i16, i32, i64, f32, f64);

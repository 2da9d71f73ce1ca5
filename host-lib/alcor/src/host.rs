//! Host memory that a board reaches.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use zerocopy::IntoBytes;

use crate::{Datatype, Error, GlobalRank, Result};

/// Bytes of host memory, zero at first, whose place never changes.
pub trait HostBytes: Send + Sync {
    /// The bytes. None once a board may still write them against the program's will.
    fn bytes(&self) -> &[u8];
    /// The bytes, as [`HostBytes::bytes`].
    fn bytes_mut(&mut self) -> &mut [u8];
}

/// Memory that no board reaches, aligned for every element.
impl HostBytes for Vec<u64> {
    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.as_mut_bytes()
    }
}

/// Host memory of [`Rank::alloc_host`](crate::Rank::alloc_host): `len` elements of type `T`, used like
/// a slice. An operation on the slice, or on a part of it, moves data between it and the board
/// without a copy by the processor, where the backend has DMA in this process.
///
/// The slice is empty once a DMA transfer to or from it has timed out and its engine did not stop.
///
/// # Examples
/// ```
/// # use alcor::{GlobalRank, Job, Rights, soft::SoftBoard};
/// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
/// let inbox = rank.alloc::<f64>(8)?;
/// let window = rank.register(&inbox, Rights::ALL)?;
/// let mut data = rank.alloc_host(8)?;
/// data.fill(1.5);
/// rank.put(&window, rank.pid(), 0, &data)?;
/// let mut found = rank.alloc_host(8)?;
/// rank.get(&window, rank.pid(), 4, &mut found[..4])?;
/// assert_eq!(found[..], [1.5, 1.5, 1.5, 1.5, 0.0, 0.0, 0.0, 0.0]);
/// # Ok(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct HostRegion<T: Datatype> {
    memory: Box<dyn HostBytes>,
    bytes: usize,
    element: PhantomData<fn() -> T>,
}

impl<T: Datatype> HostRegion<T> {
    /// Makes a region of `count` elements, in memory that `allocate` returns for their bytes, or else
    /// in ordinary memory.
    pub(crate) fn new(
        rank: GlobalRank,
        count: usize,
        allocate: impl FnOnce(usize) -> Result<Option<Box<dyn HostBytes>>>,
    ) -> Result<HostRegion<T>> {
        let no_memory = || Error::OutOfHostMemory {
            rank,
            bytes: (count as u64).saturating_mul(T::BYTES.into()),
        };
        let bytes = count.checked_mul(T::BYTES as usize).ok_or_else(no_memory)?;
        let memory = match allocate(bytes)? {
            Some(memory) => memory,
            None => {
                let words = bytes.div_ceil(size_of::<u64>());
                let mut memory: Vec<u64> = Vec::new();
                memory.try_reserve_exact(words).map_err(|_| no_memory())?;
                memory.resize(words, 0);
                Box::new(memory)
            }
        };
        Ok(HostRegion {
            memory,
            bytes,
            element: PhantomData,
        })
    }

    /// The elements.
    pub(crate) fn as_slice(&self) -> &[T] {
        let bytes = self.memory.bytes().get(..self.bytes);
        T::elements(bytes.unwrap_or_default())
    }

    /// The elements, to be written.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        let bytes = self.memory.bytes_mut().get_mut(..self.bytes);
        T::elements_mut(bytes.unwrap_or_default())
    }
}

impl<T: Datatype> Deref for HostRegion<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T: Datatype> DerefMut for HostRegion<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.as_mut_slice()
    }
}

impl<T: Datatype> fmt::Debug for HostRegion<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostRegion")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

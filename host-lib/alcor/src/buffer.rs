//! Buffers: the memory that operations read and write.

use std::fmt;
use std::ops::Deref;

use crate::{Datatype, HostRegion, Rank, Region, Result};

mod sealed {
    pub trait Sealed {}
}

/// Elements that an operation reads.
///
/// | buffer | memory | until the operation is complete |
/// |---|---|---|
/// | `&[T]`, `&[T; N]`, `&Vec<T>` | host memory; the call copies the elements to node memory | the request borrows the buffer |
/// | `&HostRegion<T>`, or a slice of it | the same, by DMA without a copy by the processor | the request borrows the buffer |
/// | `&Region<T>` | node memory, without a copy | the request borrows the region |
/// | `Region<T>` | node memory, without a copy | the request owns this handle, and borrows nothing |
///
/// The library allocates node memory for a copy and frees that memory at the end of the operation. A
/// collective in software leaves this memory unused, and works on a copy in host memory.
///
/// # Examples
/// One call for each kind of buffer:
/// ```
/// # use alcor::{GlobalRank, Job, Rights, soft::SoftBoard};
/// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
/// let region = rank.alloc_from(&[0u32; 3])?;
/// let window = rank.register(&region, Rights::ALL)?;
/// let me = rank.pid();
/// rank.put(&window, me, 0, &[1])?;
/// rank.put(&window, me, 1, &vec![2])?;
/// let staged = rank.alloc_from(&[3, 4])?;
/// rank.put(&window, me, 2, staged.slice(..1)?)?;
/// assert_eq!(rank.read_vec(&region)?, [1, 2, 3]);
/// # Ok(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Buffer: sealed::Sealed {
    /// The type of the elements.
    type Item: Datatype;

    /// The elements, if they are in host memory.
    #[doc(hidden)]
    fn host(&self) -> Option<&[Self::Item]> {
        None
    }

    /// The elements in node memory.
    #[doc(hidden)]
    fn source<'a>(self, rank: &mut Rank) -> Result<Place<'a, Self::Item>>
    where
        Self: 'a;

    /// The elements in node memory, or in a copy whose contents are staged.
    #[doc(hidden)]
    fn staged<'a>(self, rank: &mut Rank) -> Result<Place<'a, Self::Item>>
    where
        Self: 'a + Sized,
    {
        self.source(rank)
    }
}

/// Elements that an operation writes.
///
/// | buffer | memory | until the operation is complete |
/// |---|---|---|
/// | `&mut [T]`, `&mut [T; N]`, `&mut Vec<T>` | host memory; the call that completes the request copies the elements back | the request borrows the buffer |
/// | `&mut HostRegion<T>`, or a slice of it | the same, by DMA without a copy by the processor | the request borrows the buffer |
/// | `&mut Region<T>` | node memory, without a copy | the request borrows the region |
/// | `Region<T>` | node memory, without a copy | the request owns this handle, and borrows nothing |
///
/// A vector keeps its length. Only calls that complete the request, for example [`Rank::wait`],
/// write host memory. A dropped request leaves host memory unchanged.
///
/// An operation continues when its request is dropped or forgotten. The hardware may still write
/// the region. The region stays allocated until then, even without a handle. Host memory is never
/// at risk, because the hardware reaches node memory only.
pub trait BufferMut: sealed::Sealed {
    /// The type of the elements.
    type Item: Datatype;

    /// The elements, if they are in host memory.
    #[doc(hidden)]
    fn host(&mut self) -> Option<&mut [Self::Item]> {
        None
    }

    /// Returns a place in node memory, and the copy-back to host memory.
    #[doc(hidden)]
    fn destination<'a>(
        self,
        rank: &mut Rank,
        copy: Copied<'_, Self::Item>,
    ) -> Result<(Place<'a, Self::Item>, CopyBack<'a>)>
    where
        Self: 'a;
}

/// The place of the node-memory copy of a host buffer that an operation writes.
#[derive(Debug)]
pub enum Copied<'r, T: Datatype> {
    /// A new region with undefined contents.
    Fresh,
    /// A new region with the elements of the buffer.
    Loaded,
    /// A new region whose contents are staged: the elements of the buffer.
    Staged,
    /// This region, if it has as many elements as the buffer.
    At(&'r Region<T>),
}

/// The place of a buffer's elements in node memory.
#[derive(Debug)]
pub enum Place<'a, T: Datatype> {
    /// A region of the caller, borrowed.
    Region(&'a Region<T>),
    /// A region that was passed to the call.
    Given(Region<T>),
    /// In a copy of host memory.
    Copy(Region<T>),
}

impl<T: Datatype> Place<'_, T> {
    /// Returns whether the operation works on a copy and no longer needs the caller's buffer.
    pub(crate) fn is_copy(&self) -> bool {
        matches!(self, Place::Copy(_))
    }
}

impl<T: Datatype> Deref for Place<'_, T> {
    type Target = Region<T>;

    fn deref(&self) -> &Region<T> {
        match self {
            Place::Region(region) => region,
            Place::Given(region) | Place::Copy(region) => region,
        }
    }
}

/// Host memory that is filled from node memory when an operation completes.
pub trait HostMemory: Send + Sync {
    /// Fills the host memory with the elements that fit completely into the first `bytes` bytes.
    fn fill(self: Box<Self>, rank: &mut Rank, bytes: u32) -> Result<()>;
}

/// The optional copy-back of a request.
#[derive(Default)]
pub struct CopyBack<'a>(Option<Box<dyn HostMemory + 'a>>);

impl CopyBack<'_> {
    /// Returns whether there is a copy-back.
    pub(crate) fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Copies back on the first call; later calls do nothing.
    pub(crate) fn run(&mut self, rank: &mut Rank, bytes: u32) -> Result<()> {
        match self.0.take() {
            Some(copy_back) => copy_back.fill(rank, bytes),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for CopyBack<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_host = self.0.is_some();
        f.debug_tuple("CopyBack").field(&is_host).finish()
    }
}

struct Slice<'a, T: Datatype> {
    region: Region<T>,
    values: &'a mut [T],
}

impl<T: Datatype> HostMemory for Slice<'_, T> {
    fn fill(self: Box<Self>, rank: &mut Rank, bytes: u32) -> Result<()> {
        let whole = self.values.len().min((bytes / T::BYTES) as usize);
        let values = &mut self.values[..whole];
        match self.region.block().take_staged() {
            Some(contents) => {
                let values = T::bytes_mut(values);
                values.copy_from_slice(&contents[..values.len()]);
                Ok(())
            }
            None => rank.read(&self.region, 0, values),
        }
    }
}

impl<T: Datatype> sealed::Sealed for Region<T> {}

impl<T: Datatype> Buffer for Region<T> {
    type Item = T;

    fn source<'a>(self, _: &mut Rank) -> Result<Place<'a, T>>
    where
        Self: 'a,
    {
        Ok(Place::Given(self))
    }
}

impl<T: Datatype> BufferMut for Region<T> {
    type Item = T;

    fn destination<'a>(self, _: &mut Rank, _: Copied<'_, T>) -> Result<(Place<'a, T>, CopyBack<'a>)>
    where
        Self: 'a,
    {
        Ok((Place::Given(self), CopyBack::default()))
    }
}

impl<T: Datatype> sealed::Sealed for &Region<T> {}

impl<T: Datatype> Buffer for &Region<T> {
    type Item = T;

    fn source<'a>(self, _: &mut Rank) -> Result<Place<'a, T>>
    where
        Self: 'a,
    {
        Ok(Place::Region(self))
    }
}

impl<T: Datatype> sealed::Sealed for &mut Region<T> {}

impl<T: Datatype> BufferMut for &mut Region<T> {
    type Item = T;

    fn destination<'a>(self, _: &mut Rank, _: Copied<'_, T>) -> Result<(Place<'a, T>, CopyBack<'a>)>
    where
        Self: 'a,
    {
        Ok((Place::Region(self), CopyBack::default()))
    }
}

impl<T: Datatype> sealed::Sealed for &[T] {}

impl<T: Datatype> Buffer for &[T] {
    type Item = T;

    fn host(&self) -> Option<&[T]> {
        Some(self)
    }

    fn source<'a>(self, rank: &mut Rank) -> Result<Place<'a, T>>
    where
        Self: 'a,
    {
        Ok(Place::Copy(rank.alloc_ahead(self)?))
    }

    fn staged<'a>(self, rank: &mut Rank) -> Result<Place<'a, T>>
    where
        Self: 'a,
    {
        Ok(Place::Copy(stage(rank, self)?))
    }
}

/// Allocates a region whose contents `values` stay in host memory.
fn stage<T: Datatype>(rank: &mut Rank, values: &[T]) -> Result<Region<T>> {
    let region = rank.alloc(values.len())?;
    region.block().stage(T::bytes(values).to_vec());
    Ok(region)
}

impl<T: Datatype> sealed::Sealed for &mut [T] {}

impl<T: Datatype> BufferMut for &mut [T] {
    type Item = T;

    fn host(&mut self) -> Option<&mut [T]> {
        Some(self)
    }

    fn destination<'a>(
        self,
        rank: &mut Rank,
        copy: Copied<'_, T>,
    ) -> Result<(Place<'a, T>, CopyBack<'a>)>
    where
        Self: 'a,
    {
        let region = match copy {
            Copied::Loaded => rank.alloc_from(self)?,
            Copied::Staged => stage(rank, self)?,
            Copied::At(region) if region.len() == self.len() => region.clone(),
            Copied::At(_) | Copied::Fresh => rank.alloc(self.len())?,
        };
        let copy_back = Slice {
            region: region.clone(),
            values: self,
        };
        Ok((Place::Copy(region), CopyBack(Some(Box::new(copy_back)))))
    }
}

/// Buffers that convert to slices.
macro_rules! slices {
    ($([$($generics:tt)*] $buffer:ty);*) => {$(
        impl<$($generics)*> sealed::Sealed for &$buffer {}

        impl<$($generics)*> Buffer for &$buffer {
            type Item = T;

            fn host(&self) -> Option<&[T]> {
                Some(self.as_slice())
            }

            fn source<'a>(self, rank: &mut Rank) -> Result<Place<'a, T>>
            where
                Self: 'a,
            {
                self.as_slice().source(rank)
            }

            fn staged<'a>(self, rank: &mut Rank) -> Result<Place<'a, T>>
            where
                Self: 'a,
            {
                self.as_slice().staged(rank)
            }
        }

        impl<$($generics)*> sealed::Sealed for &mut $buffer {}

        impl<$($generics)*> BufferMut for &mut $buffer {
            type Item = T;

            fn host(&mut self) -> Option<&mut [T]> {
                Some(self.as_mut_slice())
            }

            fn destination<'a>(
                self,
                rank: &mut Rank,
                copy: Copied<'_, T>,
            ) -> Result<(Place<'a, T>, CopyBack<'a>)>
            where
                Self: 'a,
            {
                self.as_mut_slice().destination(rank, copy)
            }
        }
    )*};
}

slices!([T: Datatype] Vec<T>; [T: Datatype, const N: usize] [T; N]; [T: Datatype] HostRegion<T>);

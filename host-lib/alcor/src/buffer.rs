//! Buffers: the elements that operations read and write.

use std::fmt;
use std::ops::Deref;

use crate::{Datatype, Rank, Region, Result};

mod sealed {
    pub trait Sealed {}
}

/// Elements that an operation reads.
///
/// | buffer | memory | until the operation is complete |
/// |---|---|---|
/// | `&[T]`, `&[T; N]`, `&Vec<T>` | of the host; the call copies the elements to node memory | the request borrows it |
/// | `&Region<T>` | node memory, without a copy | the request borrows the region |
/// | `Region<T>` | the same | the request owns this handle, and borrows nothing |
///
/// A copy lies in node memory that the library takes for the operation and gives back at its end.
///
/// # Examples
/// One call for each of them:
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

    /// The elements in node memory.
    #[doc(hidden)]
    fn source<'a>(self, rank: &mut Rank) -> Result<Place<'a, Self::Item>>
    where
        Self: 'a;
}

/// Elements that an operation writes.
///
/// | buffer | memory | until the operation is complete |
/// |---|---|---|
/// | `&mut [T]`, `&mut [T; N]`, `&mut Vec<T>` | of the host; the call that completes the request copies the elements from node memory | the request borrows it |
/// | `&mut Region<T>` | node memory, without a copy | the request borrows the region |
/// | `Region<T>` | the same | the request owns this handle, and borrows nothing |
///
/// A vector keeps its length. Host memory is written by [`Rank::wait`] and its like alone, and by
/// nothing else: a request that is dropped leaves it as it is.
///
/// A request that is dropped, or forgotten, before it is complete does not end its operation. The
/// hardware may still write the region, which stays taken until then even when its last handle is
/// gone. No memory of the host is ever at risk, since the hardware reaches node memory only.
pub trait BufferMut: sealed::Sealed {
    /// The type of the elements.
    type Item: Datatype;

    /// A place for the elements in node memory, and what brings them back from there.
    #[doc(hidden)]
    fn destination<'a>(
        self,
        rank: &mut Rank,
        copy: Copied<'_, Self::Item>,
    ) -> Result<(Place<'a, Self::Item>, Landing<'a>)>
    where
        Self: 'a;
}

/// Where the copy of host memory that an operation writes lies.
#[derive(Debug)]
pub enum Copied<'r, T: Datatype> {
    /// In memory of its own, with any contents.
    Fresh,
    /// In memory of its own, with the elements of the buffer.
    Loaded,
    /// In this region, where it has as many elements as the buffer.
    At(&'r Region<T>),
}

/// Where in node memory the elements of a buffer lie.
#[derive(Debug)]
pub enum Place<'a, T: Datatype> {
    /// In a region of the caller's.
    Region(&'a Region<T>),
    /// In a region that the call was given.
    Given(Region<T>),
    /// In a copy of host memory.
    Copy(Region<T>),
}

impl<T: Datatype> Place<'_, T> {
    /// Whether the caller's own buffer is of no more use to the operation.
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

/// Host memory that is filled from node memory when an operation is complete.
pub trait Land: Send + Sync {
    /// Fills it with elements that lie in the first so many bytes as a whole.
    fn land(self: Box<Self>, rank: &mut Rank, bytes: u32) -> Result<()>;
}

/// Host memory to be filled, if there is any.
#[derive(Default)]
pub struct Landing<'a>(Option<Box<dyn Land + 'a>>);

impl Landing<'_> {
    /// Whether there is any.
    pub(crate) fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Fills it; once.
    pub(crate) fn land(&mut self, rank: &mut Rank, bytes: u32) -> Result<()> {
        match self.0.take() {
            Some(landing) => landing.land(rank, bytes),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Landing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_host = self.0.is_some();
        f.debug_tuple("Landing").field(&is_host).finish()
    }
}

struct Slice<'a, T: Datatype> {
    region: Region<T>,
    values: &'a mut [T],
}

impl<T: Datatype> Land for Slice<'_, T> {
    fn land(self: Box<Self>, rank: &mut Rank, bytes: u32) -> Result<()> {
        let whole = self.values.len().min((bytes / T::BYTES) as usize);
        rank.read(&self.region, 0, &mut self.values[..whole])
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

    fn destination<'a>(self, _: &mut Rank, _: Copied<'_, T>) -> Result<(Place<'a, T>, Landing<'a>)>
    where
        Self: 'a,
    {
        Ok((Place::Given(self), Landing::default()))
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

    fn destination<'a>(self, _: &mut Rank, _: Copied<'_, T>) -> Result<(Place<'a, T>, Landing<'a>)>
    where
        Self: 'a,
    {
        Ok((Place::Region(self), Landing::default()))
    }
}

impl<T: Datatype> sealed::Sealed for &[T] {}

impl<T: Datatype> Buffer for &[T] {
    type Item = T;

    fn source<'a>(self, rank: &mut Rank) -> Result<Place<'a, T>>
    where
        Self: 'a,
    {
        Ok(Place::Copy(rank.alloc_from(self)?))
    }
}

impl<T: Datatype> sealed::Sealed for &mut [T] {}

impl<T: Datatype> BufferMut for &mut [T] {
    type Item = T;

    fn destination<'a>(
        self,
        rank: &mut Rank,
        copy: Copied<'_, T>,
    ) -> Result<(Place<'a, T>, Landing<'a>)>
    where
        Self: 'a,
    {
        let region = match copy {
            Copied::Loaded => rank.alloc_from(self)?,
            Copied::At(region) if region.len() == self.len() => region.clone(),
            Copied::At(_) | Copied::Fresh => rank.alloc(self.len())?,
        };
        let landing = Slice {
            region: region.clone(),
            values: self,
        };
        Ok((Place::Copy(region), Landing(Some(Box::new(landing)))))
    }
}

/// Buffers that are slices by another name.
macro_rules! slices {
    ($([$($generics:tt)*] $buffer:ty);*) => {$(
        impl<$($generics)*> sealed::Sealed for &$buffer {}

        impl<$($generics)*> Buffer for &$buffer {
            type Item = T;

            fn source<'a>(self, rank: &mut Rank) -> Result<Place<'a, T>>
            where
                Self: 'a,
            {
                self.as_slice().source(rank)
            }
        }

        impl<$($generics)*> sealed::Sealed for &mut $buffer {}

        impl<$($generics)*> BufferMut for &mut $buffer {
            type Item = T;

            fn destination<'a>(
                self,
                rank: &mut Rank,
                copy: Copied<'_, T>,
            ) -> Result<(Place<'a, T>, Landing<'a>)>
            where
                Self: 'a,
            {
                self.as_mut_slice().destination(rank, copy)
            }
        }
    )*};
}

slices!([T: Datatype] Vec<T>; [T: Datatype, const N: usize] [T; N]);

//! Regions: parts of node memory.

use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use crate::allocator::Block;
use crate::{Datatype, Error, NodeAddr, Result};

/// A part of a rank's node memory: `len` elements of type `T`.
///
/// A region is a handle. Its clones and slices name the same memory. The memory is freed when the
/// last handle is gone, and no operation and no window uses the memory.
///
/// A request borrows its handle. So the program can't write the source, or read the destination, of
/// an operation through the same handle. A clone or slice is a separate handle that the compiler
/// does not connect with the first. The program must order accesses through separate handles. A
/// wrong order gives wrong contents only, because the memory belongs to the board.
///
/// # Examples
/// ```
/// # use alcor::{Job, soft::SoftBoard};
/// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
/// let mut region = rank.alloc::<u32>(8)?;
/// rank.write(&mut region, 0, &[1, 2, 3, 4, 5, 6, 7, 8])?;
/// assert_eq!(rank.read_vec(&region.slice(2..4)?)?, [3, 4]);
/// assert_eq!(rank.read_vec(&region.bytes().slice(4..6)?)?, [2, 0]);
/// # Ok(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Region<T: Datatype> {
    block: Arc<Block>,
    start: NodeAddr,
    count: usize,
    element: PhantomData<fn() -> T>,
}

impl<T: Datatype> Clone for Region<T> {
    fn clone(&self) -> Self {
        self.part(self.start, self.count)
    }
}

impl<T: Datatype> Region<T> {
    /// Makes a region of the first `count` elements of `block`. The block must be large enough.
    pub(crate) fn new(block: Block, count: usize) -> Region<T> {
        Region {
            start: block.start(),
            block: Arc::new(block),
            count,
            element: PhantomData,
        }
    }

    fn part<U: Datatype>(&self, start: NodeAddr, count: usize) -> Region<U> {
        Region {
            block: Arc::clone(&self.block),
            start,
            count,
            element: PhantomData,
        }
    }

    /// Address of the first element.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let region = rank.alloc::<u16>(5)?;
    /// assert_eq!(region.slice(2..)?.addr().0, region.addr().0 + 4);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn addr(&self) -> NodeAddr {
        self.start
    }

    /// Number of elements.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// assert_eq!(rank.alloc::<u16>(5)?.len(), 5);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether the region has no elements.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// assert!(rank.alloc::<u16>(0)?.is_empty());
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Number of bytes.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// assert_eq!(rank.alloc::<u16>(5)?.byte_len(), 10);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn byte_len(&self) -> u32 {
        // A region lies in node memory, whose addresses have 32 bits.
        self.count as u32 * T::BYTES
    }

    /// Returns the elements of `range` as a region.
    ///
    /// # Errors
    /// [`Error::RegionBounds`] if `range` is not in the region.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let region = rank.alloc_from(&[1u8, 2, 3])?;
    /// assert_eq!(rank.read_vec(&region.slice(1..)?)?, [2, 3]);
    /// assert!(region.slice(2..5).is_err());
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<Region<T>> {
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&start) => start.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&end) => end.saturating_add(1),
            Bound::Excluded(&end) => end,
            Bound::Unbounded => self.count,
        };
        let at = self.locate(start, end)?;
        Ok(self.part(at, end - start))
    }

    /// Returns the same memory as bytes.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let region = rank.alloc_from(&[0x0102u16])?;
    /// assert_eq!(rank.read_vec(&region.bytes())?, [2, 1]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn bytes(&self) -> Region<u8> {
        self.part(self.start, self.byte_len() as usize)
    }

    /// Returns the same memory as elements of another type.
    ///
    /// # Errors
    /// [`Error::BadOption`] if address or size is not a multiple of the size of the new element.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let bytes = rank.alloc::<u8>(24)?;
    /// let numbers = bytes.slice(8..)?.cast::<f64>()?;
    /// assert_eq!(numbers.len(), 2);
    /// assert!(bytes.slice(4..20)?.cast::<f64>().is_err());
    /// assert!(bytes.slice(8..20)?.cast::<f64>().is_err());
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cast<U: Datatype>(&self) -> Result<Region<U>> {
        let whole = |option, value: u32| {
            if value.is_multiple_of(U::BYTES) {
                Ok(())
            } else {
                Err(Error::BadOption {
                    option,
                    value: u64::from(value),
                    rule: "it must be a multiple of the element's size",
                })
            }
        };
        whole("address of a region", self.start.0)?;
        whole("bytes of a region", self.byte_len())?;
        Ok(self.part(self.start, (self.byte_len() / U::BYTES) as usize))
    }

    /// Returns the address of the elements `start..end` after a check of the bounds.
    pub(crate) fn locate(&self, start: usize, end: usize) -> Result<NodeAddr> {
        if start > end || end > self.count {
            return Err(Error::RegionBounds {
                base: self.start,
                start,
                end,
                count: self.count,
                unit: T::BYTES,
            });
        }
        Ok(NodeAddr(self.start.0 + start as u32 * T::BYTES))
    }

    /// Keeps the memory allocated.
    pub(crate) fn hold(&self) -> Arc<Block> {
        Arc::clone(&self.block)
    }

    /// The block that contains the region.
    pub(crate) fn block(&self) -> &Block {
        &self.block
    }
}

//! Memory that all ranks registered together.

use crate::{Datatype, NodeAddr, Region};

/// The accesses that a window permits to other ranks.
///
/// # Examples
/// ```
/// use alcor::Rights;
///
/// let mut rights = Rights::NONE;
/// rights.remote_read = true;
/// assert_eq!(rights, Rights::READ);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Rights {
    /// Whether other ranks may get.
    pub remote_read: bool,
    /// Whether other ranks may put.
    pub remote_write: bool,
}

impl Rights {
    /// Other ranks may put and get.
    pub const ALL: Rights = Rights {
        remote_read: true,
        remote_write: true,
    };
    /// Other ranks may only get.
    pub const READ: Rights = Rights {
        remote_read: true,
        remote_write: false,
    };
    /// Other ranks may only put.
    pub const WRITE: Rights = Rights {
        remote_read: false,
        remote_write: true,
    };
    /// Other ranks have no access.
    pub const NONE: Rights = Rights {
        remote_read: false,
        remote_write: false,
    };

    /// Returns the deny bits of a REGISTER command.
    pub(crate) fn deny_bits(self) -> u32 {
        u32::from(!self.remote_read) | u32::from(!self.remote_write) << 1
    }
}

/// The entry of a registration: the slot, which is the same at every rank, and this rank's part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegisteredRange {
    /// Slot of the window.
    pub slot: u8,
    /// Base of the window at this rank.
    pub base: NodeAddr,
    /// Size in bytes at this rank; `None` reaches to the end of node memory.
    pub bytes: Option<u32>,
    /// Rights of other ranks at this rank.
    pub rights: Rights,
}

/// A window: memory of every rank, which `put` and `get` name by one handle.
///
/// [`crate::Rank::register`] makes a window and [`crate::Rank::deregister`] ends it. A window that
/// is dropped stays registered, and its memory stays allocated, until the end of the run.
#[derive(Debug)]
#[must_use = "a window stays registered until `Rank::deregister` ends it"]
pub struct Window<T: Datatype> {
    pub(crate) slot: u8,
    pub(crate) rights: Rights,
    pub(crate) region: Region<T>,
}

impl<T: Datatype> Window<T> {
    /// Slot of the window in every rank's registration table.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let region = rank.alloc::<f32>(3)?;
    /// let window = rank.register(&region, Rights::READ)?;
    /// assert_eq!(window.slot(), 0);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn slot(&self) -> u8 {
        self.slot
    }

    /// Base of the window in this rank's node memory.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let region = rank.alloc::<f32>(3)?;
    /// let window = rank.register(&region, Rights::READ)?;
    /// assert_eq!(window.base(), region.addr());
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn base(&self) -> NodeAddr {
        self.region.addr()
    }

    /// Number of elements of this rank's part. Other ranks may have registered more or fewer.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let region = rank.alloc::<f32>(3)?;
    /// let window = rank.register(&region, Rights::READ)?;
    /// assert_eq!(window.len(), 3);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.region.len()
    }

    /// Returns whether this rank's part has no elements.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let region = rank.alloc::<f32>(3)?;
    /// let window = rank.register(&region, Rights::READ)?;
    /// assert!(!window.is_empty());
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.region.is_empty()
    }

    /// Size of this rank's part in bytes.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let region = rank.alloc::<f32>(3)?;
    /// let window = rank.register(&region, Rights::READ)?;
    /// assert_eq!(window.byte_len(), 12);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn byte_len(&self) -> u32 {
        self.region.byte_len()
    }

    /// The accesses that this rank permits to other ranks.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let region = rank.alloc::<f32>(3)?;
    /// let window = rank.register(&region, Rights::READ)?;
    /// assert_eq!(window.rights(), Rights::READ);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn rights(&self) -> Rights {
        self.rights
    }

    /// Returns this rank's part for writing: for [`crate::Rank::write`] and as a destination. Other
    /// ranks may put to the window at the same time.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{Job, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(1))?.run(1, |rank| {
    /// let region = rank.alloc::<u16>(2)?;
    /// let mut window = rank.register(&region, Rights::ALL)?;
    /// rank.write(window.region_mut(), 0, &[7, 8])?;
    /// assert_eq!(rank.read_vec(window.region())?, [7, 8]);
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn region_mut(&mut self) -> &mut Region<T> {
        &mut self.region
    }

    /// Returns this rank's part for reading.
    ///
    /// # Examples
    /// See [`Window::region_mut`].
    #[must_use]
    pub fn region(&self) -> &Region<T> {
        &self.region
    }
}

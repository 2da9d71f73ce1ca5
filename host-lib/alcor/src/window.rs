//! Memory that all ranks registered together.

use crate::{Datatype, NodeAddr, Region};

/// What other ranks may do with a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rights {
    /// Others may get from it.
    pub remote_read: bool,
    /// Others may put to it.
    pub remote_write: bool,
}

impl Rights {
    /// Others may put and get.
    pub const ALL: Rights = Rights {
        remote_read: true,
        remote_write: true,
    };
    /// Others may get only.
    pub const READ: Rights = Rights {
        remote_read: true,
        remote_write: false,
    };
    /// Others may put only.
    pub const WRITE: Rights = Rights {
        remote_read: false,
        remote_write: true,
    };
    /// Others may do nothing.
    pub const NONE: Rights = Rights {
        remote_read: false,
        remote_write: false,
    };

    /// The deny bits of a REGISTER command.
    pub(crate) fn deny_bits(self) -> u32 {
        u32::from(!self.remote_read) | u32::from(!self.remote_write) << 1
    }
}

/// What a registration put into the tables: the same slot at every rank, and this rank's base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegisteredRange {
    /// The slot.
    pub slot: u8,
    /// The base at this rank.
    pub base: NodeAddr,
    /// Its size at this rank; `None` reaches to the end of node memory.
    pub bytes: Option<u32>,
    /// Its rights at this rank.
    pub rights: Rights,
}

/// A window: memory of every rank that `put` and `get` name by one handle.
///
/// Made by [`crate::Rank::register`], ended by [`crate::Rank::deregister`]. A window that is
/// dropped stays registered, and its memory reserved, until the run ends.
#[derive(Debug)]
#[must_use = "a window stays registered until it is handed to `Rank::deregister`"]
pub struct Window<T: Datatype> {
    pub(crate) slot: u8,
    pub(crate) rights: Rights,
    pub(crate) region: Region<T>,
}

impl<T: Datatype> Window<T> {
    /// Its slot in every rank's registration table.
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

    /// Its base in this rank's node memory.
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

    /// Elements of this rank's part; other ranks may have registered more or less.
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

    /// Whether this rank's part has no element.
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

    /// Bytes of this rank's part.
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

    /// What others may do with this rank's part.
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

    /// This rank's part, for [`crate::Rank::write`] and as a destination. Other ranks may put to it
    /// meanwhile.
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

    /// This rank's part.
    ///
    /// # Examples
    /// See [`Window::region_mut`].
    #[must_use]
    pub fn region(&self) -> &Region<T> {
        &self.region
    }
}

//! Registration and deregistration of windows, collective over all ranks of the run.

use alcor_abi::rank::reg_result;
use alcor_abi::{Opcode, Status};

use crate::progress::Wanted;
use crate::watchdog::Awaited;
use crate::{
    Activity, Datatype, Error, NodeAddr, Rank, Region, RegisteredRange, Result, Rights, Window,
};

/// # Windows
///
/// All ranks of the run call these together, in the same order. The outcome is the same at every
/// rank: if one rank is refused, all are.
impl Rank {
    /// Registers `region` as this rank's part of a new window.
    ///
    /// # Errors
    /// [`Error::TableFull`], [`Error::DuplicateWindow`], [`Error::WindowOutOfRange`],
    /// [`Error::CollectiveMismatch`], and the errors of all waits.
    ///
    /// # Examples
    /// ```
    /// # use alcor::{GlobalRank, Job, Rights, soft::SoftBoard};
    /// # Job::new(SoftBoard::new(2))?.run(2, |rank| {
    /// let region = rank.alloc::<f64>(100)?;
    /// let window = rank.register(&region, Rights::READ)?;
    /// let mut found = [0.0; 10];
    /// rank.get(&window, GlobalRank(1), 0, &mut found)?;
    /// rank.barrier()?;
    /// rank.deregister(window)?;
    /// # Ok(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn register<T: Datatype>(
        &mut self,
        region: &Region<T>,
        rights: Rights,
    ) -> Result<Window<T>> {
        let registered = self.register_range(region.addr(), Some(region.byte_len()), rights)?;
        self.registered.insert(registered.slot, region.hold());
        Ok(Window {
            slot: registered.slot,
            rights,
            region: region.clone(),
        })
    }

    /// Deregisters a window. Its memory stays allocated with its region.
    ///
    /// # Errors
    /// [`Error::NotRegistered`], [`Error::CollectiveMismatch`], and the errors of all waits.
    ///
    /// # Examples
    /// See [`Rank::register`].
    pub fn deregister<T: Datatype>(&mut self, window: Window<T>) -> Result<()> {
        self.deregister_range(window.base())?;
        self.registered.remove(&window.slot);
        Ok(())
    }

    pub(crate) fn register_range(
        &mut self,
        base: NodeAddr,
        bytes: Option<u32>,
        rights: Rights,
    ) -> Result<RegisteredRange> {
        word_aligned(base)?;
        let awaited = Awaited::Registration { base };
        self.progress.check()?;
        self.progress.check_all(&awaited)?;
        let number = self.progress.begin_all(Activity::Register);
        self.progress.reserve(2)?;
        if let Some(bytes) = bytes {
            self.progress.post(Opcode::WindowSize, bytes)?;
        }
        self.progress.note_posting(number);
        self.progress
            .post(Opcode::Register, base.0 | rights.deny_bits())?;
        let ended = self.registration_ends(number, &awaited, base, bytes);
        let slot = ended.map_err(|error| self.progress.blame(error, None))?;
        Ok(RegisteredRange {
            slot,
            base,
            bytes,
            rights,
        })
    }

    pub(crate) fn deregister_range(&mut self, base: NodeAddr) -> Result<u8> {
        word_aligned(base)?;
        let awaited = Awaited::Deregistration { base };
        self.progress.check()?;
        self.progress.check_all(&awaited)?;
        let number = self.progress.begin_all(Activity::Deregister);
        self.progress.reserve(1)?;
        self.progress.note_posting(number);
        self.progress.post(Opcode::Deregister, base.0)?;
        let ended = self.registration_ends(number, &awaited, base, None);
        ended.map_err(|error| self.progress.blame(error, None))
    }

    fn registration_ends(
        &mut self,
        number: u64,
        awaited: &Awaited,
        base: NodeAddr,
        bytes: Option<u32>,
    ) -> Result<u8> {
        self.progress.wait_for(
            |_| awaited.clone(),
            |progress| {
                if progress.registration_pending() {
                    Wanted::Registration
                } else {
                    Wanted::Nothing
                }
            },
        )?;
        let found = self.progress.registered;
        let rank = self.pid();
        let status = Status::from_bits(reg_result::STATUS.get(found));
        if let Some(status) = status {
            self.progress.note_ended(number, status);
        }
        match status {
            Some(Status::Ok) => {}
            Some(Status::TableFull) => {
                let slots = self.progress.info().slots;
                return Err(Error::TableFull { rank, base, slots });
            }
            Some(Status::Duplicate) => return Err(Error::DuplicateWindow { rank, base }),
            Some(Status::BadRange) => return Err(Error::WindowOutOfRange { rank, base, bytes }),
            Some(Status::NotRegistered) => return Err(Error::NotRegistered { rank, base }),
            Some(Status::Mismatch) => {
                return Err(self.progress.mismatch(awaited.clone()));
            }
            Some(Status::RankReset) => {
                return Err(Error::PeerReset {
                    rank,
                    awaited: awaited.clone(),
                });
            }
            _ => {
                return Err(Error::RegistrationRefused {
                    rank,
                    awaited: awaited.clone(),
                    status,
                    found,
                });
            }
        }
        Ok(reg_result::SLOT.get(found) as u8)
    }
}

fn word_aligned(base: NodeAddr) -> Result<()> {
    if base.0.is_multiple_of(4) {
        return Ok(());
    }
    Err(Error::BadOption {
        option: "window base",
        value: u64::from(base.0),
        rule: "it must be a multiple of 4",
    })
}

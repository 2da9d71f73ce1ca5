//! The link ends of a board: their state, and counts of their events.

use std::fmt;

use alcor_abi::links::{self, link_status};

use crate::{Board, PageOffset, Result};

/// State of one end of a cable between two boards, from the links page of its board.
///
/// # Examples
/// ```
/// use alcor::{LinkState, PageOffset};
///
/// // A link that has sent frames again once.
/// let counts = [1, 0, 0, 0, 1, 0, 0, 0];
/// let link = LinkState::of_registers(0, 1, 0b1011, counts);
/// assert!(link.is_aligned() && link.is_open() && !link.is_stale() && !link.is_down());
/// assert_eq!(link.trouble(), None);
/// assert_eq!(link.counts.named()[4], ("replays", 1));
/// assert_eq!(link.of_one_board(), "link 1: open (1 damaged, 1 replays)");
///
/// // A board without link ends has no links page.
/// let none = LinkState::read(0, 0, |_: PageOffset| Ok::<_, alcor::Error>(None))?;
/// assert!(none.is_none());
/// # Ok::<(), alcor::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkState {
    /// Number of the board.
    pub board: u32,
    /// Link port of the board.
    pub port: u32,
    /// Value of LINK_STATUS.
    pub status: u32,
    /// Counts of events since the board's reset.
    pub counts: LinkCounts,
}

/// Counts of a link end's events since the board's reset. A count stays at 65,535.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkCounts {
    /// Frames with a wrong checksum, or cut off.
    pub damaged: u32,
    /// Frames that were dropped because an earlier one was missing.
    pub early: u32,
    /// Frames that were dropped because they had arrived before.
    pub repeated: u32,
    /// Frames of another layout, ABI, SHAPE or epoch.
    pub foreign: u32,
    /// Times that this end sent again because the other end asked.
    pub replays: u32,
    /// Times that this end sent again because no acknowledgement came.
    pub timeouts: u32,
    /// Times that the link went down after it had been up.
    pub falls: u32,
    /// Times that this end took the link down because the other end stayed silent.
    pub retrains: u32,
}

impl LinkCounts {
    /// The counts with their names, in the order of their registers.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u32); 8] {
        [
            ("damaged", self.damaged),
            ("early", self.early),
            ("repeated", self.repeated),
            ("foreign", self.foreign),
            ("replays", self.replays),
            ("timeouts", self.timeouts),
            ("falls", self.falls),
            ("retrains", self.retrains),
        ]
    }
}

impl LinkState {
    /// The state of link port `port` with the value of LINK_STATUS and of the counters, in the order
    /// of their registers.
    #[must_use]
    pub fn of_registers(board: u32, port: u32, status: u32, counts: [u32; 8]) -> LinkState {
        let [
            damaged,
            early,
            repeated,
            foreign,
            replays,
            timeouts,
            falls,
            retrains,
        ] = counts;
        LinkState {
            board,
            port,
            status,
            counts: LinkCounts {
                damaged,
                early,
                repeated,
                foreign,
                replays,
                timeouts,
                falls,
                retrains,
            },
        }
    }

    /// Reads the state of a link end through `read`, which returns `None` if the board has no links
    /// page.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn read<E>(
        board: u32,
        port: u32,
        mut read: impl FnMut(PageOffset) -> std::result::Result<Option<u32>, E>,
    ) -> std::result::Result<Option<LinkState>, E> {
        const COUNTERS: [u32; 8] = [
            links::LINK_DAMAGED,
            links::LINK_EARLY,
            links::LINK_REPEATED,
            links::LINK_FOREIGN,
            links::LINK_REPLAYS,
            links::LINK_TIMEOUTS,
            links::LINK_FALLS,
            links::LINK_RETRAINS,
        ];
        let mut register = |base: u32| read(PageOffset(base + 4 * port));
        let Some(status) = register(links::LINK_STATUS)? else {
            return Ok(None);
        };
        let mut counts = [0; 8];
        for (count, base) in counts.iter_mut().zip(COUNTERS) {
            *count = register(base)?.unwrap_or_default();
        }
        Ok(Some(LinkState::of_registers(board, port, status, counts)))
    }

    /// The states of the link ends of a board with this many links.
    pub(crate) fn of_board(number: u32, board: &dyn Board, ports: u32) -> Result<Vec<LinkState>> {
        let states = (0..ports.min(links::LINK_STATUS_COUNT)).map(|port| {
            LinkState::read(number, port, |offset| board.read_links32(offset)).transpose()
        });
        states.flatten().collect()
    }

    /// Whether light arrives, so that the receiver is aligned.
    #[must_use]
    pub fn is_aligned(&self) -> bool {
        link_status::ALIGNED.get(self.status) != 0
    }

    /// Whether both ends are aligned, and phits and credits pass.
    #[must_use]
    pub fn is_open(&self) -> bool {
        link_status::UP.get(self.status) != 0
            && link_status::OPEN.get(self.status) != 0
            && !self.is_stale()
    }

    /// Whether the link is down: no light arrives at one of its ends, or the ends are in training.
    #[must_use]
    pub fn is_down(&self) -> bool {
        link_status::UP.get(self.status) == 0
    }

    /// Whether the other board was reset in the middle of the run. Nothing passes until this board
    /// is reset too.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        link_status::STALE.get(self.status) != 0
    }

    /// The reason why nothing passes, or `None` if the link works.
    #[must_use]
    pub fn trouble(&self) -> Option<&'static str> {
        let is = |field: alcor_abi::Field| field.get(self.status) != 0;
        if is(link_status::OVERRUN) {
            Some("a buffer of the link end overflowed, which is a defect")
        } else if is(link_status::STALE) {
            Some("the other board was reset in the middle of the run; reset all boards of the run")
        } else if !is(link_status::ALIGNED) {
            Some("down: no light arrives; check the cable and the other board")
        } else if is(link_status::REMOTE_FAULT) {
            Some("down: the other end receives no light; check the cable")
        } else if !is(link_status::UP) {
            Some("down: in training")
        } else if is(link_status::FOREIGN) {
            Some(
                "the other board is built differently; load the same bitstream into both, or correct the cables",
            )
        } else if !is(link_status::OPEN) {
            Some(
                "up, and the other board has not joined the run; check that the cables match the topology",
            )
        } else {
            None
        }
    }

    /// The text without the number of the board.
    #[must_use]
    pub fn of_one_board(&self) -> String {
        let mut text = format!("link {}: {}", self.port, self.trouble().unwrap_or("open"));
        let counted = self.counts.named().into_iter();
        let counted: Vec<String> = counted
            .filter(|(_, count)| *count != 0)
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        if !counted.is_empty() {
            text += &format!(" ({})", counted.join(", "));
        }
        text
    }
}

impl fmt::Display for LinkState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "board {}, {}", self.board, self.of_one_board())
    }
}

/// Adds the links on which nothing passes to the text of a hang.
pub(crate) fn describe(links: &[LinkState]) -> String {
    let troubled = links.iter().filter(|link| link.trouble().is_some());
    troubled.map(|link| format!("; {link}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UP: u32 = 0b1011;

    #[test]
    fn each_trouble_is_told_with_the_counts() {
        let state = |status, counts| LinkState::of_registers(1, 0, status, counts);
        let says = |status| state(status, [0; 8]).to_string();
        assert_eq!(says(UP), "board 1, link 0: open");
        assert!(says(0).contains("no light arrives"));
        assert!(says(0b110).contains("the other end receives no light"));
        assert!(says(0b010).contains("in training"));
        assert!(says(0b011).contains("has not joined"));
        assert!(says(UP | 1 << 4).contains("reset all boards"));
        assert!(says(0b011 | 1 << 11).contains("built differently"));
        assert!(says(UP | 1 << 12).contains("defect"));
        let counted = state(UP, [3, 0, 0, 0, 2, 0, 0, 1]);
        assert_eq!(
            counted.to_string(),
            "board 1, link 0: open (3 damaged, 2 replays, 1 retrains)"
        );
        assert!(counted.is_open() && !state(UP | 1 << 4, [0; 8]).is_open());
        assert_eq!(describe(&[counted]), "");
        assert!(describe(&[counted, state(0, [0; 8])]).starts_with("; board 1, link 0: down"));
    }

    #[test]
    fn registers_of_a_port_are_read() {
        let read = |offset: PageOffset| Ok::<_, ()>(Some(offset.0));
        let found = LinkState::read(2, 1, read).unwrap().unwrap();
        assert_eq!((found.status, found.counts.damaged), (4, 0x24));
        assert_eq!((found.counts.early, found.counts.retrains), (0x44, 0x104));
        assert_eq!(LinkState::read(0, 0, |_| Ok::<_, ()>(None)), Ok(None));
    }
}

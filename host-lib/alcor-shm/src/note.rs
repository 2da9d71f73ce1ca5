//! Notes in a mailbox: three posts each. The first post differs from every register write.

use alcor::{Activity, Collective, GlobalRank, Note, Status};

/// Mark of a note, in the word that holds the offset of a register write.
const NOTE: u32 = 1 << 31;
const BEGAN: u32 = NOTE;
const POSTING: u32 = NOTE | 1;
const ENDED: u32 = NOTE | 2;

/// Number of posts of a note.
pub(crate) const POSTS: usize = 3;

/// The activities by their code.
const ACTIVITIES: [Activity; 24] = [
    Activity::Put,
    Activity::Get,
    Activity::Send,
    Activity::Receive,
    Activity::Probe,
    Activity::Herald,
    Activity::Barrier,
    Activity::Register,
    Activity::Deregister,
    Activity::Collective(Collective::Barrier),
    Activity::Collective(Collective::Reduce),
    Activity::Collective(Collective::Allreduce),
    Activity::Collective(Collective::ReduceScatter),
    Activity::Collective(Collective::Bcast),
    Activity::Collective(Collective::Scatter),
    Activity::Collective(Collective::Gather),
    Activity::Collective(Collective::Allgather),
    Activity::Collective(Collective::Split),
    Activity::Collective(Collective::Dup),
    Activity::Collective(Collective::Create),
    Activity::Collective(Collective::Free),
    Activity::Atomic,
    Activity::Collective(Collective::Alltoall),
    Activity::Accumulate,
];

/// Returns whether a post is the first one of a note.
pub(crate) fn begins(word: u32) -> bool {
    word & NOTE != 0
}

/// Encodes a note as posts. Returns `None` for a note that this version does not know.
pub(crate) fn encode(note: Note) -> Option<[(u32, u32); POSTS]> {
    let (kind, number, bytes, low, high) = match note {
        Note::Began {
            operation,
            activity,
            peer,
            bytes,
        } => {
            let code = ACTIVITIES.iter().position(|known| *known == activity)?;
            let peer = peer.map_or(0, |peer| peer.0 + 1);
            (BEGAN, operation, bytes, code as u32, peer)
        }
        Note::Posting { operation } => (POSTING, operation, 0, 0, 0),
        Note::Ended { operation, status } => (ENDED, operation, 0, status as u32, 0),
        _ => return None,
    };
    Some([
        (kind, number as u32),
        ((number >> 32) as u32, bytes as u32),
        // A length has 40 bits.
        (low | ((bytes >> 32) as u32 & 0xFF) << 16, high),
    ])
}

/// Decodes a note. Returns `None` if the posts are not a note.
pub(crate) fn decode(posts: [(u32, u32); POSTS]) -> Option<Note> {
    let [(kind, number), (above, bytes), (low, peer)] = posts;
    let operation = u64::from(above) << 32 | u64::from(number);
    Some(match kind {
        BEGAN => Note::Began {
            operation,
            activity: *ACTIVITIES.get(low as usize & 0xFFFF)?,
            peer: peer.checked_sub(1).map(GlobalRank),
            bytes: u64::from(low >> 16 & 0xFF) << 32 | u64::from(bytes),
        },
        POSTING => Note::Posting { operation },
        ENDED => Note::Ended {
            operation,
            status: Status::from_bits(low)?,
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_arrives_as_it_was() {
        let operation = 5 << 32 | 6;
        let began = ACTIVITIES
            .iter()
            .zip(0..)
            .map(|(&activity, peer)| Note::Began {
                operation,
                activity,
                peer: Some(GlobalRank(peer)).filter(|_| peer % 2 == 0),
                bytes: 3 << 32 | u64::from(peer),
            });
        let others = [
            Note::Posting { operation },
            Note::Ended {
                operation,
                status: Status::OutOfBounds,
            },
        ];
        for note in began.chain(others) {
            let posts = encode(note).unwrap();
            assert!(begins(posts[0].0));
            assert_eq!(decode(posts), Some(note));
        }
        assert_eq!(decode([(NOTE | 9, 0), (0, 0), (0, 0)]), None);
        assert_eq!(decode([(BEGAN, 0), (0, 0), (0xFFFF, 0)]), None);
        assert_eq!(decode([(ENDED, 0), (0, 0), (0xFFFF, 0)]), None);
    }
}

//! Many transfers side by side, with untouched bytes around each.
//!
//! A [`Sheet`] gives each transfer a place in a source and in a target area. [`drill`] moves sheets
//! between ranks and compares every byte of both areas: what was to be moved has to be there, and
//! nothing else may have changed.

use alcor::{GlobalRank, Rank, Region, Rights, TransferKind, Window};
use alcor_test::{At, Context, Result, after, before, same_bytes};

/// What a transfer looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub length: u32,
    /// Source address modulo 4.
    pub source: u32,
    /// Target address modulo 4.
    pub target: u32,
}

/// All 16 alignments of every length.
pub(crate) fn shapes(lengths: impl IntoIterator<Item = u32>) -> impl Iterator<Item = Shape> {
    let aligned = |length| {
        (0..16).map(move |alignment| Shape {
            length,
            source: alignment / 4,
            target: alignment % 4,
        })
    };
    lengths.into_iter().flat_map(aligned)
}

/// A transfer's place, as byte offsets into the two areas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cell {
    source: u32,
    target: u32,
    length: u32,
}

impl Cell {
    fn in_source(&self) -> std::ops::Range<usize> {
        self.source as usize..(self.source + self.length) as usize
    }

    fn in_target(&self) -> std::ops::Range<usize> {
        self.target as usize..(self.target + self.length) as usize
    }
}

/// Transfers that fit into the areas together.
#[derive(Debug, Default)]
struct Sheet {
    cells: Vec<Cell>,
    source_bytes: u32,
    target_bytes: u32,
}

/// Bytes around each transfer, at least: more than a memory word.
const GUARD: u32 = 8;

/// Distributes transfers over sheets of at most `limit` bytes, or one transfer each.
fn sheets(shapes: impl IntoIterator<Item = Shape>, limit: u32) -> Vec<Sheet> {
    let mut sheets = vec![Sheet::default()];
    for shape in shapes {
        let end = |used: u32, alignment: u32| {
            let start = (used + GUARD).next_multiple_of(4) + alignment;
            (start, start + shape.length)
        };
        let full = |sheet: &Sheet| {
            !sheet.cells.is_empty()
                && (end(sheet.source_bytes, shape.source).1 + GUARD > limit
                    || end(sheet.target_bytes, shape.target).1 + GUARD > limit)
        };
        if sheets.last().is_none_or(full) {
            sheets.push(Sheet::default());
        }
        if let Some(sheet) = sheets.last_mut() {
            let (source, source_end) = end(sheet.source_bytes, shape.source);
            let (target, target_end) = end(sheet.target_bytes, shape.target);
            sheet.cells.push(Cell {
                source,
                target,
                length: shape.length,
            });
            (sheet.source_bytes, sheet.target_bytes) = (source_end, target_end);
        }
    }
    for sheet in &mut sheets {
        sheet.source_bytes += GUARD;
        sheet.target_bytes += GUARD;
    }
    sheets
}

/// When a transfer is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Before the next begins.
    OneByOne,
    /// Once all are under way.
    AllAtOnce,
}

/// Bytes of an area: half of a small node's memory for both.
pub(crate) fn area(context: &Context) -> u32 {
    (context.info().node_bytes / 4).min(32 << 10)
}

/// Every rank moves transfers of these shapes to (or from) the rank `steps` after it.
pub(crate) fn drill(
    context: &Context,
    kind: TransferKind,
    steps: u32,
    pace: Pace,
    shapes: impl IntoIterator<Item = Shape>,
) -> Result {
    let sheets = sheets(shapes, area(context));
    let largest = |bytes: fn(&Sheet) -> u32| sheets.iter().map(bytes).max().unwrap_or(0) as usize;
    let (source_bytes, target_bytes) = (
        largest(|sheet| sheet.source_bytes),
        largest(|sheet| sheet.target_bytes),
    );
    context.run(|rank| {
        let mut source = rank.alloc::<u8>(source_bytes)?;
        let mut target = rank.alloc::<u8>(target_bytes)?;
        let window = match kind {
            TransferKind::Put => rank.register(&target, Rights::WRITE)?,
            TransferKind::Get => rank.register(&source, Rights::READ)?,
        };
        let peer = after(rank, steps);
        let giver = match kind {
            TransferKind::Put => before(rank, steps),
            TransferKind::Get => peer,
        };
        for (number, sheet) in (0..).zip(&sheets) {
            let page = Page {
                context,
                sheet,
                number,
            };
            rank.write(&mut source, 0, &page.data(rank.pid()))?;
            rank.write(&mut target, 0, &page.canary(rank.pid()))?;
            rank.barrier()?;
            page.transfer(rank, kind, pace, &window, peer, &source, &target)?;
            rank.barrier()?;
            page.check(rank, kind, giver, &source, &target)?;
        }
        Ok(())
    })?;
    Ok(())
}

/// A sheet with what its areas hold.
struct Page<'a> {
    context: &'a Context,
    sheet: &'a Sheet,
    number: u64,
}

impl Page<'_> {
    /// What `rank` has to give.
    fn data(&self, rank: GlobalRank) -> Vec<u8> {
        let purpose = [1, u64::from(rank.0), self.number];
        self.context
            .noise(&purpose, self.sheet.source_bytes as usize)
    }

    /// What stands at `rank` before.
    fn canary(&self, rank: GlobalRank) -> Vec<u8> {
        let purpose = [2, u64::from(rank.0), self.number];
        self.context
            .noise(&purpose, self.sheet.target_bytes as usize)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "what it is between, and how it goes"
    )]
    fn transfer(
        &self,
        rank: &mut Rank,
        kind: TransferKind,
        pace: Pace,
        window: &Window<u8>,
        peer: GlobalRank,
        source: &Region<u8>,
        target: &Region<u8>,
    ) -> Result {
        let mut requests = Vec::new();
        for cell in &self.sheet.cells {
            let request = match kind {
                TransferKind::Put => {
                    let local = source.slice(cell.in_source())?;
                    rank.iput_bytes(window, peer, u64::from(cell.target), local.clone())?
                }
                TransferKind::Get => {
                    let local = target.slice(cell.in_target())?;
                    rank.iget_bytes(window, peer, u64::from(cell.source), local.clone())?
                }
            };
            match pace {
                Pace::OneByOne => rank.wait(request)?,
                Pace::AllAtOnce => requests.push(request),
            }
        }
        rank.wait_all(requests)?;
        Ok(())
    }

    fn check(
        &self,
        rank: &mut Rank,
        kind: TransferKind,
        giver: GlobalRank,
        source: &Region<u8>,
        target: &Region<u8>,
    ) -> Result {
        let me = rank.pid();
        let (source_bytes, target_bytes) = (
            self.sheet.source_bytes as usize,
            self.sheet.target_bytes as usize,
        );
        let given = self.data(giver);
        let mut expected = self.canary(me);
        let found = rank
            .read_vec(&target.slice(..target_bytes)?)
            .at("reading")?;
        for cell in &self.sheet.cells {
            expected[cell.in_target()].copy_from_slice(&given[cell.in_source()]);
            let place = format_args!(
                "{kind:?} of {} bytes from {giver} to {me}, alignment {} at the source and {} at the \
                 target",
                cell.length,
                cell.source % 4,
                cell.target % 4
            );
            let range = cell.in_target();
            same_bytes(place, &expected[range.clone()], &found[range])?;
        }
        same_bytes(
            format_args!("{me}, bytes around the targets of {kind:?}s from {giver}"),
            &expected,
            &found,
        )?;
        let kept = rank
            .read_vec(&source.slice(..source_bytes)?)
            .at("reading")?;
        same_bytes(format_args!("{me}, sources"), &self.data(me), &kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_lie_apart_and_as_they_were_asked_for() {
        let asked: Vec<_> = shapes(0..40).collect();
        let sheets = sheets(asked.clone(), 1000);
        let cells: Vec<_> = sheets.iter().flat_map(|sheet| &sheet.cells).collect();
        assert_eq!(cells.len(), asked.len());
        for (cell, shape) in cells.iter().zip(&asked) {
            let found = (cell.length, cell.source % 4, cell.target % 4);
            assert_eq!(found, (shape.length, shape.source, shape.target));
        }
        for sheet in &sheets {
            assert!(sheet.source_bytes <= 1000 && sheet.target_bytes <= 1000);
            for pair in sheet.cells.windows(2) {
                assert!(pair[0].target + pair[0].length + GUARD <= pair[1].target);
                assert!(pair[0].source + pair[0].length + GUARD <= pair[1].source);
            }
        }
    }
}

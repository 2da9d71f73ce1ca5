//! `coll_table`: the derived fields of a row, for all numbers of boards and labels, against the
//! pairs of each stage; concurrent writes of rows by several ranks; and the owners of rows.

use std::collections::VecDeque;

use alcor_abi::rank;
use alcor_hw_bench::{Random, soak};
use rand::Rng;

use crate::coll_units::{RANKS, STAGES, block, pairs, shape};
use crate::collective_model::partners;
use crate::rma::Block;

/// Rows that belong to the first rank of the board.
const OF_THE_RUN: [usize; 2] = [0, 31];

/// Cycles from a write of COMM_SHAPE to the cycle in which the row is valid, without other writers.
const LATENCY: u64 = 2;

fn write(block: &mut Block, writes: &[Option<(u32, u32)>]) {
    for (by, write) in writes.iter().enumerate() {
        block.set_part("write_i", by, RANKS, write.is_some());
        let (offset, data) = write.unwrap_or((0xfff, u32::MAX));
        block.set_part("offset_i", by, RANKS, offset);
        block.set_part("data_i", by, RANKS, data);
    }
    block.settle();
    block.clock();
    block.settle();
}

/// Retires a row, as `coll_retire` does for a write.
fn retire(block: &mut Block, row: usize) {
    assert_eq!(retire_with(block, row, false), 0);
}

/// Retires a row. Returns the stages whose partners are notified.
fn retire_with(block: &mut Block, row: usize, revoke: bool) -> u64 {
    block.set("hold_i", true);
    write(block, &[None; RANKS]);
    block.set("retire_row_i", row as u64);
    block.set("close_i", true);
    write(block, &[None; RANKS]);
    block.set("close_i", false);
    assert_eq!(block.get("valid_o") >> row & 1, 0);
    assert_eq!(block.get("closed_o") >> row & 1, 1);
    (0..5).for_each(|_| write(block, &[None; RANKS]));
    assert!(!block.is("written_o"));
    block.set("retire_i", true);
    block.set("revoke_i", revoke);
    write(block, &[None; RANKS]);
    block.set("retire_i", false);
    block.set("revoke_i", !revoke);
    assert!(!block.is("written_o"));
    write(block, &[None; RANKS]);
    assert!(block.is("written_o") && block.is("flush_o"));
    let revokes = block.get("revokes_o");
    assert_eq!(block.get("row_o"), row as u64);
    assert_eq!(block.get("valid_o") >> row & 1, 0);
    assert_eq!(block.get("closed_o") >> row & 1, 1);
    write(block, &[None; RANKS]);
    block.set("hold_i", false);
    revokes
}

#[derive(Debug, Clone, PartialEq)]
struct Row {
    row: usize,
    key: u32,
    boards: usize,
    label: usize,
    members: u32,
    partners: Vec<u32>,
}

impl Row {
    fn random(row: usize, rng: &mut Random) -> Self {
        let boards = rng.random_range(1..=128);
        Self {
            row,
            key: rng.random_range(0..256),
            boards,
            label: rng.random_range(0..boards),
            members: rng.random_range(0..1 << RANKS),
            partners: (0..STAGES).map(|_| rng.random_range(0..1 << 16)).collect(),
        }
    }

    /// The row with one more member, which may then write the row.
    fn with(mut self, member: usize) -> Self {
        self.members |= 1 << member;
        self
    }

    fn writes(&self) -> Vec<(u32, u32)> {
        let mut writes = vec![(rank::COMM_ROW, self.row as u32 | self.key << 8)];
        for (stage, &partner) in (0..).zip(&self.partners) {
            writes.push((rank::COMM_PARTNER + 4 * stage, partner));
        }
        writes.push((
            rank::COMM_SHAPE,
            shape(self.boards, self.label, self.members),
        ));
        writes
    }

    fn check(&self, block: &mut Block) {
        let Row {
            row, boards, label, ..
        } = *self;
        let stages = pairs(boards);
        // If the number of boards is not a power of two, the first stage folds the upper labels.
        let folds = !boards.is_power_of_two();
        let upper = folds && stages[0].iter().any(|&(_, upper)| upper == label);
        let lower = folds && stages[0].iter().any(|&(lower, _)| lower == label);
        let fold = if folds { boards - stages[0].len() } else { 0 };
        let found = (
            block.get("valid_o") >> row & 1 == 1,
            block.get_part("label_o", row, 32) as usize,
            block.get_part("fold_o", row, 32) as usize,
            block.get_part("stages_o", row, 32) as usize,
            block.get("upper_o") >> row & 1 == 1,
            block.get("lower_o") >> row & 1 == 1,
        );
        assert_eq!(
            found,
            (true, label, fold, stages.len(), upper, lower),
            "{self:?}"
        );
        assert_eq!(block.get_part("key_o", row, 32), u64::from(self.key));
        assert_eq!(block.get("closed_o") >> row & 1, 0, "{self:?}");
        for by in 0..RANKS {
            let member = block.get_part("member_o", by, RANKS) >> row & 1;
            assert_eq!(member, u64::from(self.members >> by & 1), "{self:?}");
        }
        for (stage, &partner) in self.partners.iter().enumerate() {
            assert_eq!(
                block.get_part("partner_o", stage * 32 + row, STAGES * 32),
                u64::from(partner)
            );
        }
    }
}

#[test]
fn coll_table_derived() {
    let mut rng = Random::new("coll_table_derived");
    let mut block = block("table");
    for boards in 1..=128 {
        for label in 0..boards {
            let mut row = Row::random(rng.random_range(0..32), &mut rng);
            (row.boards, row.label) = (boards, label);
            let by = if OF_THE_RUN.contains(&row.row) {
                0
            } else {
                rng.random_range(0..RANKS)
            };
            row.members |= 1 << by;
            if block.get("valid_o") >> row.row & 1 == 1 {
                retire(&mut block, row.row);
            }
            let last_key = block.get_part("key_o", row.row, 32);
            // Checks a random subset of the partners: each check takes a cycle.
            let mut writes = row.writes();
            if label > 3 {
                writes = vec![writes[0], writes[STAGES + 1]];
                row.partners.clear();
            }
            for write_one in writes {
                let mut lanes = [None; RANKS];
                lanes[by] = Some(write_one);
                write(&mut block, &lanes);
            }
            for _ in 0..LATENCY {
                assert!(!block.is("written_o"));
                write(&mut block, &[None; RANKS]);
            }
            assert!(block.is("written_o"));
            assert_eq!(block.is("flush_o"), last_key != u64::from(row.key));
            assert_eq!(block.get("row_o"), row.row as u64);
            row.check(&mut block);
            // The partners of the row are those of its pairs in each stage.
            if rng.random_bool(0.2) {
                let partners = (0..).zip(partners(boards, label));
                let with = partners.filter(|(_, partner)| partner.is_some());
                let stages = with.fold(0, |set, (stage, _)| set | 1 << stage);
                assert_eq!(retire_with(&mut block, row.row, true), stages, "{row:?}");
            }
        }
    }
}

/// Ranks write rows concurrently. The table ignores other writes of the page.
#[test]
fn coll_table_together() {
    let mut rng = Random::new("coll_table_together");
    let mut block = block("table");
    for _ in 0..soak(150) {
        let mut numbers: Vec<usize> = (1..31).collect();
        let rows: Vec<Row> = (0..RANKS)
            .map(|by| {
                let number = numbers.swap_remove(rng.random_range(0..numbers.len()));
                Row::random(number, &mut rng).with(by)
            })
            .collect();
        let mut queues: Vec<VecDeque<_>> = rows.iter().map(|row| row.writes().into()).collect();
        for row in &rows {
            if block.get("valid_o") >> row.row & 1 == 1 {
                retire(&mut block, row.row);
            }
        }
        let pace = [1.0, 0.5][rng.random_range(0..2)];
        let mut written = Vec::new();
        for _ in 0..150 {
            let lanes: Vec<_> = queues
                .iter_mut()
                .map(|queue| {
                    if rng.random_bool(pace) {
                        return queue.pop_front();
                    }
                    // The operands of collectives are at the addresses just below.
                    rng.random_bool(0.5)
                        .then(|| (rank::C_SOURCE + 4 * rng.random_range(0..9), 77))
                })
                .collect();
            write(&mut block, &lanes);
            if block.is("written_o") {
                written.push(block.get("row_o") as usize);
            }
        }
        written.sort_unstable();
        let mut expected: Vec<usize> = rows.iter().map(|row| row.row).collect();
        expected.sort_unstable();
        assert_eq!(written, expected);
        rows.iter().for_each(|row| row.check(&mut block));
        // A row with no boards is free.
        let freed = rows[0].row;
        write(
            &mut block,
            &[Some((rank::COMM_ROW, freed as u32)), None, None],
        );
        write(&mut block, &[Some((rank::COMM_SHAPE, 0)), None, None]);
        write(&mut block, &[None; RANKS]);
        retire(&mut block, freed);
        (0..5).for_each(|_| write(&mut block, &[None; RANKS]));
        assert_eq!(block.get("valid_o") >> freed & 1, 0);
    }
}

/// A row in use is written only after the table has requested its retirement and no collective in
/// the row is outstanding. The row is unchanged until then. Writes of other ranks wait and take
/// effect in order.
#[test]
fn coll_table_in_use() {
    let mut rng = Random::new("coll_table_in_use");
    let mut block = block("table");
    let idle = |block: &mut Block, cycles| (0..cycles).for_each(|_| write(block, &[None; RANKS]));
    for _ in 0..soak(200) {
        let number = rng.random_range(1..30);
        let first = Row::random(number, &mut rng).with(0).with(1);
        let mut next = Row::random(number, &mut rng).with(1);
        let others = Row::random(number + 1, &mut rng).with(2);
        for row in [number, others.row] {
            if block.get("valid_o") >> row & 1 == 1 {
                retire(&mut block, row);
            }
        }
        for data in first.writes() {
            write(&mut block, &[Some(data), None, None]);
        }
        idle(&mut block, LATENCY);
        first.check(&mut block);
        // No row is written in the meantime.
        block.set("hold_i", rng.random_bool(0.5));
        let mut writes = next.writes();
        if rng.random_bool(0.3) {
            // The row is freed, or is written without partners.
            (writes, next.partners) = (vec![writes[0], writes[STAGES + 1]], first.partners.clone());
        }
        let mut queues = [VecDeque::new(), writes.into(), others.writes().into()];
        while queues.iter().any(|queue| !queue.is_empty()) {
            let lanes = queues.each_mut().map(VecDeque::pop_front);
            write(&mut block, &lanes);
        }
        idle(&mut block, 10);
        assert!(block.is("wait_o"));
        assert_eq!(block.get("waiting_o"), 0b110, "two ranks wait");
        assert_eq!(block.get("wait_row_o"), number as u64);
        first.check(&mut block);
        assert_eq!(block.get("valid_o") >> others.row & 1, 0);
        let posted = rng.random_bool(0.5);
        block.set("posted_i", u64::from(posted) << number);
        retire(&mut block, number);
        assert!(!block.is("wait_o"));
        for by in 0..RANKS {
            let member = block.get_part("member_o", by, RANKS) >> number & 1;
            assert_eq!(
                member,
                u64::from(first.members >> by & 1),
                "members are kept"
            );
        }
        if posted {
            idle(&mut block, 30);
            assert_eq!(
                block.get("closed_o") >> number & 1,
                1,
                "written before collectives ended"
            );
            assert_eq!(block.get("valid_o") >> others.row & 1, 0);
            block.set("posted_i", 0u64);
        }
        idle(&mut block, 40);
        assert_eq!(block.get("waiting_o"), 0);
        next.check(&mut block);
        others.check(&mut block);
    }
}

/// A rank may write a row in use only as a member, another row only with itself as a member, and
/// the rows of the run only as the first rank. Each other write is refused and changes nothing.
#[test]
fn coll_table_owners() {
    let mut rng = Random::new("coll_table_owners");
    let mut block = block("table");
    let mut used: [Option<Row>; 32] = [const { None }; 32];
    let mut outcomes = [0; 4];
    for _ in 0..soak(600) {
        // Few rows, so that most writes go to rows in use.
        let number = [0, 5, 6, 31][rng.random_range(0..4)];
        let by = rng.random_range(0..RANKS);
        let row = Row::random(number, &mut rng);
        let frees = rng.random_bool(0.2);
        let mut writes = row.writes();
        if frees {
            writes = vec![writes[0], (rank::COMM_SHAPE, 0)];
        }
        let is_first = OF_THE_RUN.contains(&number);
        let may = match &used[number] {
            _ if is_first => by == 0,
            Some(old) => old.members >> by & 1 == 1,
            None => frees || row.members >> by & 1 == 1,
        };
        let (mut denied, mut waited) = (0, false);
        for data in writes.iter().map(|&data| Some(data)).chain([None; 12]) {
            let mut lanes = [None; RANKS];
            lanes[by] = data;
            write(&mut block, &lanes);
            denied += u32::from(block.get("denied_o") == 1 << by);
            assert!([0, 1 << by].contains(&block.get("denied_o")));
            waited |= block.is("wait_o");
        }
        let what = format!("rank {by} writes {row:?} over {:?}", used[number]);
        outcomes[usize::from(may) * 2 + usize::from(used[number].is_some())] += 1;
        if !may {
            // COMM_ROW names the row and is never refused. Partners of a row that is out of use
            // have no owner.
            let partners = used[number].is_none() && !is_first;
            let expected = if partners { 1 } else { writes.len() as u32 - 1 };
            assert_eq!(denied, expected, "{what}");
            assert!(!waited && block.get("waiting_o") == 0, "{what}");
            match &used[number] {
                Some(old) => old.check(&mut block),
                None => assert_eq!(block.get("valid_o") >> number & 1, 0, "{what}"),
            }
            continue;
        }
        assert_eq!(waited, used[number].is_some(), "{what}");
        if used[number].take().is_some() {
            // Out of use, the row is still written only with the writer as a member.
            retire(&mut block, number);
            for _ in 0..12 {
                write(&mut block, &[None; RANKS]);
                denied += u32::from(block.get("denied_o") == 1 << by);
            }
        }
        assert_eq!(block.get("waiting_o"), 0, "{what}");
        let with_itself = is_first || frees || row.members >> by & 1 == 1;
        assert_eq!(denied, u32::from(!with_itself), "{what}");
        let is_used = with_itself && !frees;
        assert_eq!(
            block.get("valid_o") >> number & 1,
            u64::from(is_used),
            "{what}"
        );
        if is_used {
            row.check(&mut block);
            used[number] = Some(row);
        }
    }
    assert!(outcomes.iter().all(|&count| count > 20), "{outcomes:?}");
}

/// Each row with numbers of boards that are powers of two, keys that stay and keys that change: a
/// write changes its row alone, waits for collectives of its row alone, and only members may write
/// a row in use.
#[test]
fn coll_table_every_row() {
    let mut rng = Random::new("coll_table_every_row");
    let mut block = block("table");
    assert_eq!(block.get("denied_o"), 0, "right behind a reset");
    let mut rows: [Option<Row>; 32] = [const { None }; 32];
    for (power, key) in (0..).zip([0, 0, 255, 255, 0x55, 0x55, 0xaa, 0xaa]) {
        for number in 0..32 {
            let is_first = OF_THE_RUN.contains(&number);
            let old = rows[number].take();
            let may = |by: usize| match &old {
                _ if is_first => by == 0,
                Some(old) => old.members >> by & 1 == 1,
                None => true,
            };
            for by in (0..RANKS).filter(|&by| !may(by)) {
                let mut denied = 0;
                for data in [
                    Some((rank::COMM_ROW, number as u32)),
                    Some((rank::COMM_SHAPE, shape(1, 0, 7))),
                    None,
                    None,
                ] {
                    let mut lanes = [None; RANKS];
                    lanes[by] = data;
                    write(&mut block, &lanes);
                    denied += block.get("denied_o");
                }
                assert_eq!(denied, 1 << by, "rank {by} over {old:?}");
                assert_eq!(block.get("waiting_o"), 0);
            }
            let writers: Vec<usize> = (0..RANKS).filter(|&by| may(by)).collect();
            if writers.is_empty() {
                retire(&mut block, number);
            }
            let by = *writers.first().unwrap_or(&0);
            let boards = 1 << power;
            let mut row = Row {
                key,
                boards,
                label: rng.random_range(0..boards),
                ..Row::random(number, &mut rng)
            };
            // The owner of a row of the run need not be a member.
            row.members |= u32::from(!is_first) << by;
            let last_key = block.get_part("key_o", number, 32);
            // Collectives of all other rows are under way.
            block.set("posted_i", !(1u64 << number) & 0xffff_ffff);
            let mut writes = row.writes();
            if old.is_none() {
                // Addresses of no register, while the row is out of use.
                let none = [0x8, 0xc, 0x2c, 0x30, 0x34, 0x38, 0x3c]
                    .map(|offset| (rank::COMM_ROW + offset, 0xa5a5));
                writes.splice(1 + STAGES..1 + STAGES, none);
            }
            for data in writes {
                let mut lanes = [None; RANKS];
                lanes[by] = Some(data);
                write(&mut block, &lanes);
            }
            if old.is_some() && !writers.is_empty() {
                assert!(block.is("wait_o"), "{old:?}");
                assert_eq!(block.get("wait_row_o"), number as u64);
                retire(&mut block, number);
                let members = old.as_ref().map_or(0, |old| old.members);
                for by in 0..RANKS {
                    let member = block.get_part("member_o", by, RANKS) >> number & 1;
                    assert_eq!(member, u64::from(members >> by & 1), "{old:?}");
                }
            }
            let mut cycles = 0;
            while !block.is("written_o") {
                write(&mut block, &[None; RANKS]);
                cycles += 1;
                assert!(cycles < 40, "{row:?} is not written");
            }
            assert_eq!(block.is("flush_o"), last_key != u64::from(key), "{row:?}");
            assert_eq!(block.get("row_o"), number as u64);
            block.set("posted_i", 0u64);
            row.check(&mut block);
            rows[number] = Some(row);
            let used = (0..32).filter(|&row| rows[row].is_some());
            let used = used.fold(0, |set, row| set | 1 << row);
            assert_eq!(block.get("valid_o"), used);
            assert_eq!(block.get("closed_o"), !used & 0x7fff_fffe);
        }
        rows.iter().flatten().for_each(|row| row.check(&mut block));
    }
    // The addresses of other pages.
    for bit in 6..12 {
        for offset in [rank::COMM_ROW, rank::COMM_SHAPE] {
            write(&mut block, &[Some((offset ^ 1 << bit, 0)); RANKS]);
            for _ in 0..4 {
                assert_eq!(block.get("waiting_o"), 0, "address bit {bit}");
                assert_eq!(block.get("denied_o"), 0, "address bit {bit}");
                write(&mut block, &[None; RANKS]);
            }
        }
    }
    // A row without boards stays closed.
    for (number, row) in rows.iter().flatten().enumerate() {
        let is_first = OF_THE_RUN.contains(&number);
        let Some(by) = (0..RANKS).find(|&by| is_first || row.members >> by & 1 == 1) else {
            continue;
        };
        for data in [
            (rank::COMM_ROW, number as u32 | row.key << 8),
            (rank::COMM_SHAPE, 0),
        ] {
            let mut lanes = [None; RANKS];
            lanes[by] = Some(data);
            write(&mut block, &lanes);
        }
        write(&mut block, &[None; RANKS]);
        retire(&mut block, number);
        (0..10).for_each(|_| write(&mut block, &[None; RANKS]));
        assert_eq!(block.get("waiting_o"), 0);
        assert_eq!(block.get("closed_o") >> number & 1, 1, "{row:?}");
        assert_eq!(block.get("valid_o") >> number & 1, 0, "{row:?}");
    }
}

/// A write right behind COMM_SHAPE waits until the row, which is then in use, is out of use again.
#[test]
fn coll_table_write_behind_a_write() {
    let mut rng = Random::new("coll_table_write_behind_a_write");
    let mut block = block("table");
    for number in 1..31 {
        let row = Row::random(number, &mut rng).with(0);
        let partner = row.partners[0] ^ 0xffff;
        let behind = (rank::COMM_PARTNER, partner);
        for data in row.writes().into_iter().chain([behind]) {
            write(&mut block, &[Some(data), None, None]);
        }
        (0..6).for_each(|_| write(&mut block, &[None; RANKS]));
        assert!(block.is("wait_o"), "{row:?}");
        row.check(&mut block);
        retire(&mut block, number);
        (0..6).for_each(|_| write(&mut block, &[None; RANKS]));
        assert_eq!(block.get("waiting_o"), 0);
        assert_eq!(
            block.get_part("partner_o", number, STAGES * 32),
            u64::from(partner)
        );
    }
}

/// Sixteen writes of a rank wait for the table. Each further one is lost and reported.
#[test]
fn coll_table_flood() {
    let mut rng = Random::new("coll_table_flood");
    let mut block = block("table");
    for _ in 0..soak(20) {
        let by = rng.random_range(0..RANKS);
        let row = Row::random(5, &mut rng).with(by);
        if block.get("valid_o") >> row.row & 1 == 1 {
            retire(&mut block, row.row);
        }
        let mut lanes = [None; RANKS];
        for data in row.writes() {
            lanes[by] = Some(data);
            write(&mut block, &lanes);
        }
        (0..10).for_each(|_| write(&mut block, &[None; RANKS]));
        row.check(&mut block);
        // The row is in use, so its next shape waits, with 15 writes behind it.
        let more = rng.random_range(0..8);
        let (mut denied, mut late) = (0, 0);
        for at in 0..16 + more {
            lanes[by] = Some(match at {
                0 => (rank::COMM_ROW, row.row as u32),
                1 => (rank::COMM_SHAPE, shape(2, 0, 1 << by)),
                _ => (rank::COMM_ROW, rng.random_range(0..32)),
            });
            write(&mut block, &lanes);
            denied += block.get("denied_o");
            late = at;
        }
        // COMM_ROW waits for nothing.
        (0..3).for_each(|_| {
            write(&mut block, &[None; RANKS]);
            denied += block.get("denied_o");
        });
        assert_eq!(denied, (late.max(16) - 16) << by, "{more} more");
        retire(&mut block, row.row);
        (0..40).for_each(|_| write(&mut block, &[None; RANKS]));
        assert_eq!(block.get("waiting_o"), 0);
    }
}

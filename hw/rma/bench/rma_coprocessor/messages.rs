//! Messages: their packets, their effects in the message engine, and a reset of the rank between runs.

use super::*;

/// A receive that waits.
#[derive(Debug, Clone)]
struct Posted {
    id: u32,
    /// Any source, or any tag, if there is none.
    source: Option<u32>,
    context: u32,
    tag: Option<u32>,
    address: u32,
    capacity: u32,
}

/// A message that has arrived.
#[derive(Debug, Clone)]
struct Arrived {
    source: u32,
    context: u32,
    tag: u32,
    /// Id of the sender's command.
    id: u32,
    data: Vec<u8>,
}

impl Posted {
    fn takes(&self, message: &Arrived) -> bool {
        self.context == message.context
            && self.source.is_none_or(|source| source == message.source)
            && self.tag.is_none_or(|tag| tag == message.tag)
    }
}

/// Id, status, source, tag and length of a completion.
pub(super) type Entry = [u32; 5];

/// A model of the rank's messages.
#[derive(Debug, Default)]
struct Mail {
    /// Oldest first.
    posted: Vec<Posted>,
    unexpected: Vec<Arrived>,
    /// Address, length and id of announced messages.
    announced: BTreeMap<u32, (u32, u32)>,
    /// Operands that the coprocessor keeps: address, length and tag.
    kept: [u32; 3],
    /// Expected packets, acknowledgements and completions.
    packets: Vec<Vec<u32>>,
    acks: Vec<Vec<u32>>,
    entries: Vec<Entry>,
    /// Commands that other ranks have to answer.
    asked: Vec<u32>,
}

impl Mail {
    /// A receive and a message have met.
    fn meet(&mut self, bench: &mut [u8], receive: &Posted, message: &Arrived) {
        let whole = message.data.len();
        let kept = whole.min(receive.capacity as usize);
        let start = receive.address as usize;
        bench[start..start + kept].copy_from_slice(&message.data[..kept]);
        let status = if kept < whole {
            Status::Truncated
        } else {
            Status::Ok
        };
        let Arrived {
            source, tag, id, ..
        } = *message;
        self.entries
            .push([receive.id, status as u32, source, tag, whole as u32]);
        self.acks.push(vec![x_ack(source, Status::Ok, id)]);
    }

    /// A completion that says no more than a status.
    fn end(&mut self, id: u32, status: Status) {
        self.entries.push([id, status as u32, 0, 0, 0]);
    }
}

/// Number of ranks of the runs, and their contexts and tags. A receive's buffer is in the area of its id.
const CONTEXTS: [u32; 3] = [0, 1, 200];
const TAGS: [u32; 4] = [0, 1, 0x155_5555, (1 << 26) - 1];
const AREA: u32 = 0x600;

impl Bench {
    /// Queues the operands of a command that are not kept, and some that are.
    fn operands(&mut self, mail: &mut Mail, wanted: [u32; 3]) {
        let opcodes = [Opcode::XLaddr, Opcode::XLength, Opcode::XTag];
        let first = self.rng.random_range(0..3);
        for turn in 0..3 {
            let at = (first + turn) % 3;
            if wanted[at] != mail.kept[at] || self.rng.random_bool(0.2) {
                self.command(opcodes[at], wanted[at]);
            }
        }
        mail.kept = wanted;
    }

    /// Queues a random command of messages, and adds what must come of it.
    fn message_command(&mut self, mail: &mut Mail, memory: &mut [u8]) {
        let messages = self.config.messages;
        let rng = &mut self.rng;
        let opcode = [
            Opcode::XSend,
            Opcode::XAnnounce,
            Opcode::XReceive,
            Opcode::XReceive,
            Opcode::XProbe,
            Opcode::XCancel,
        ][rng.random_range(0..6)];
        let sends = matches!(opcode, Opcode::XSend | Opcode::XAnnounce);
        // A receive's id is in use up to its completion.
        let in_use = |id: u32| {
            let mut ids = mail.posted.iter().map(|receive| receive.id);
            ids.any(|of| of == id) || mail.entries.iter().any(|entry| entry[0] == id)
        };
        let mut id = rng.random_range(0..messages);
        while opcode == Opcode::XReceive && in_use(id) {
            id = rng.random_range(0..messages);
        }
        if rng.random_bool(0.1) {
            // One bit is wrong.
            let bits = if sends { 10 } else { 16 };
            id |= 1 << rng.random_range(messages.ilog2()..bits);
        }
        let context = if rng.random_bool(0.2) {
            rng.random_range(0..256)
        } else {
            CONTEXTS[rng.random_range(0..3)]
        };
        let mut tag = TAGS[rng.random_range(0..4)];
        let (any_source, any_tag): (bool, bool) = (rng.random_bool(0.3), rng.random_bool(0.3));
        tag |= x_tag::ANY_SOURCE.put(any_source.into()) | x_tag::ANY_TAG.put(any_tag.into());
        // Packets to this rank do not come back.
        let mut peer = (self.me + rng.random_range(1..self.nprocs)) % self.nprocs;
        if rng.random_bool(0.1) {
            peer = rng.random_range(self.nprocs..256);
        }
        let mut length = match rng.random_range(0..5) {
            0 => FRAGMENT,
            1 => FRAGMENT + 1,
            2 => 4 * rng.random_range(0..=FRAGMENT / 4),
            _ => rng.random_range(0..=FRAGMENT),
        };
        let mut address = match opcode {
            Opcode::XReceive => AREA * (id % messages) + rng.random_range(0..8),
            _ => rng.random_range(AREA * messages..RING - FRAGMENT),
        };
        if opcode == Opcode::XAnnounce && rng.random() {
            address = rng.random_range(0..RING);
            length = rng.random_range(0..=RING - address);
        }
        if rng.random_bool(0.1) {
            // Beyond node memory, by a byte or by a bit.
            match rng.random_range(0..4) {
                0 => length = NODE_BYTES + 1 - address,
                1 => length |= NODE_BYTES << rng.random_range(0..16),
                2 => address |= NODE_BYTES << rng.random_range(0..16),
                _ => address = NODE_BYTES + 1 - length.clamp(1, FRAGMENT),
            }
        }
        self.operands(mail, [address, length, tag]);
        self.stray();
        // An id of a receive that is too large reaches into the bits of the serial number.
        let commit = x_message::RANK.put(peer) | x_message::CONTEXT.put(context) | id;
        let serial = if sends {
            self.rng.random_range(0..1 << 6)
        } else {
            0
        };
        self.command(opcode, commit | x_message::SERIAL.put(serial));

        let is_beyond = u64::from(address) + u64::from(length) > u64::from(NODE_BYTES);
        let status = if peer >= self.nprocs && (sends || !any_source) {
            Status::BadRank
        } else if id >= messages {
            Status::BadId
        } else if opcode == Opcode::XSend && length > FRAGMENT {
            Status::BadLength
        } else if opcode != Opcode::XProbe && is_beyond {
            Status::BadLocal
        } else {
            Status::Ok
        };
        if opcode == Opcode::XCancel {
            if let Some(at) = mail.posted.iter().position(|receive| receive.id == id) {
                mail.posted.remove(at);
                mail.end(id, Status::Cancelled);
            }
            return;
        }
        if status != Status::Ok {
            mail.end(id, status);
            return;
        }
        if sends {
            let head = message::DPID.put(peer)
                | message::PTYPE.put(PacketType::Message as u32)
                | message::ANNOUNCE.put((opcode == Opcode::XAnnounce).into())
                | message::SRC.put(self.me)
                | message::CONTEXT.put(context);
            let last = message_id::SERIAL.put(serial) | message_id::ID.put(id);
            let mut packet = vec![head, x_tag::TAG.get(tag), length, last];
            if opcode == Opcode::XSend {
                packet.extend((0..length.div_ceil(4)).map(|at| self.word(address + 4 * at)));
            } else {
                mail.announced.insert(id, (address, length));
            }
            mail.packets.push(packet);
            mail.asked.push(id);
            return;
        }
        let receive = Posted {
            id,
            source: (!any_source).then_some(peer),
            context,
            tag: (!any_tag).then_some(x_tag::TAG.get(tag)),
            address,
            capacity: length,
        };
        let found = mail.unexpected.iter().position(|m| receive.takes(m));
        match (opcode, found) {
            (Opcode::XReceive, Some(at)) => {
                let message = mail.unexpected.remove(at);
                mail.meet(memory, &receive, &message);
            }
            (Opcode::XReceive, None) => mail.posted.push(receive),
            (_, Some(at)) => {
                let Arrived {
                    source, tag, data, ..
                } = &mail.unexpected[at];
                mail.entries.push([id, 0, *source, *tag, data.len() as u32]);
            }
            (_, None) => mail.end(id, Status::NotFound),
        }
    }

    /// A random message arrives.
    fn message_arrives(&mut self, mail: &mut Mail, memory: &mut [u8]) {
        let rng = &mut self.rng;
        let length = [0, FRAGMENT, rng.random_range(0..=FRAGMENT)][rng.random_range(0..3)];
        let mut arrived = Arrived {
            source: (self.me + rng.random_range(1..self.nprocs)) % self.nprocs,
            context: CONTEXTS[rng.random_range(0..3)],
            tag: TAGS[rng.random_range(0..4)],
            id: rng.random_range(0..1 << 16),
            data: (0..length).map(|_| rng.random()).collect(),
        };
        if !mail.posted.is_empty() && rng.random_bool(0.7) {
            // For some receive.
            let receive = &mail.posted[rng.random_range(0..mail.posted.len())];
            arrived.source = receive.source.unwrap_or(arrived.source);
            arrived.context = receive.context;
            arrived.tag = receive.tag.unwrap_or(arrived.tag);
        }
        let Arrived {
            source,
            context,
            tag,
            id,
            ref data,
        } = arrived;
        let head = message::DPID.put(self.me) | message::SRC.put(source);
        // No message is refused, so all serial numbers are in order.
        let serial = message_id::SERIAL.put(self.rng.random_range(0..1 << 6));
        let head = head | message::CONTEXT.put(context);
        let mut packet = vec![head, tag, length, serial | id];
        packet.extend(data.chunks(4).map(|bytes| {
            let byte = |at: usize| bytes.get(at).copied().unwrap_or(0x5a);
            u32::from_le_bytes(std::array::from_fn(byte))
        }));
        self.receive(REQUEST, &packet);
        match mail
            .posted
            .iter()
            .position(|receive| receive.takes(&arrived))
        {
            Some(at) => {
                let receive = mail.posted.remove(at);
                mail.meet(memory, &receive, &arrived);
            }
            None => mail.unexpected.push(arrived),
        }
    }

    /// Another rank refuses commands of this rank.
    fn answer(&mut self, ids: Vec<u32>, mail: &mut Mail) {
        for id in ids {
            let statuses = [Status::NoRoom, Status::RankReset, Status::OutOfBounds];
            let status = statuses[self.rng.random_range(0..3)];
            let me = self.me;
            self.receive(REPLY, &[x_ack(me, status, id)]);
            mail.end(id, status);
        }
    }

    /// Waits for what is under way, and compares it with what is expected.
    fn compare_mail(&mut self, mail: &mut Mail, memory: &[u8], what: &str) {
        self.drain();
        let place = format!("{what}, cycle {}, {:?}", self.block.cycle(), self.config);
        let packets = std::mem::take(&mut mail.packets);
        let sent = self.take_sent(REQUEST);
        assert_eq!(sent.len(), packets.len(), "{place}: packets");
        for (sent, expected) in sent.iter().zip(&packets) {
            // The last word of a payload may have bytes behind the message.
            let bytes = |packet: &[u32]| -> Vec<u8> {
                let length = if is_set(message::ANNOUNCE, packet[0]) {
                    0
                } else {
                    packet[2] as usize
                };
                let bytes = packet.iter().flat_map(|word| word.to_le_bytes());
                bytes.take(16 + length).collect()
            };
            assert_eq!(sent.len(), expected.len(), "{place}: {sent:x?}");
            assert_eq!(bytes(sent), bytes(expected), "{place}: {sent:x?}");
        }
        // Copies of this rank to itself are no answers.
        let me = self.me;
        let mut answers = self.take_sent(REPLY);
        answers.retain(|packet| packet[0] >> 24 != me);
        answers.sort_unstable();
        let mut expected = std::mem::take(&mut mail.acks);
        expected.sort_unstable();
        assert_eq!(answers, expected, "{place}: acknowledgements");
        let mut entries = self.entries();
        for entry in &mut entries {
            // Other completions have no source, tag and length.
            if ![Status::Ok, Status::Truncated]
                .map(|status| status as u32)
                .contains(&entry[1])
            {
                entry[2..].fill(0);
            }
        }
        entries.sort_unstable();
        mail.entries.sort_unstable();
        assert_eq!(entries, mail.entries, "{place}: completions");
        mail.entries.clear();
        let wrong = (0..RING as usize).find(|&at| self.memory[at] != memory[at]);
        assert_eq!(wrong, None, "{place}: a byte of memory");
        let queues = rank::message_queues::POSTED.put(mail.posted.len() as u32)
            | rank::message_queues::UNEXPECTED.put(mail.unexpected.len() as u32);
        assert_eq!(self.read(rank::MESSAGE_QUEUES), queues, "{place}: queues");
    }

    /// Another rank fetches parts of the announced messages, and more than there is.
    fn fetch_announced(&mut self, mail: &mut Mail) {
        for (&id, &(address, size)) in &mail.announced {
            if size == 0 {
                continue;
            }
            let rng = &mut self.rng;
            let length = rng.random_range(1..=size.min(self.config.payload - 4));
            let offset =
                [0, size - length, rng.random_range(0..=size - length)][rng.random_range(0..3)];
            let laddr: u32 = rng.random_range(0..NODE_BYTES);
            let (peer, receive) = (
                rng.random_range(0..self.nprocs),
                rng.random_range(0..1 << 10),
            );
            let peer = if peer == self.me {
                (peer + 1) % self.nprocs
            } else {
                peer
            };
            let head = x_header::DPID.put(self.me)
                | x_header::PTYPE.put(PacketType::Xget as u32)
                | x_header::LAST.put(1)
                | x_header::MESSAGE.put(1)
                | x_header::SRC.put(peer)
                | x_header::SLOT.put(id);
            let more = rng.random_range(1..size.max(2)).min(0x100);
            for (length, is_beyond) in [(length, false), (size - offset + more, true)] {
                if length >= 1 << 16 {
                    continue;
                }
                let word = x_length::ID.put(receive) | x_length::LENGTH.put(length);
                self.receive(REQUEST, &[head, offset, word, laddr]);
                self.drain();
                let answers = self.take_sent(REPLY);
                let place = format!("{offset:#x} of {address:#x}, {size:#x} bytes: {answers:x?}");
                assert_eq!(answers.len(), 1, "{place}");
                let answer = &answers[0];
                assert_eq!(x_data::DPID.get(answer[0]), peer, "{place}");
                if is_beyond {
                    let status = x_data::STATUS.get(answer[0]);
                    assert_eq!(status, Status::OutOfBounds as u32, "{place}");
                    continue;
                }
                assert_eq!(answer[1], laddr, "{place}");
                let lane = (laddr % 4) as usize;
                let bytes: Vec<u8> = answer[3..]
                    .iter()
                    .flat_map(|word| word.to_le_bytes())
                    .skip(lane)
                    .take(length as usize)
                    .collect();
                let from = (address + offset) as usize;
                assert!(
                    bytes == self.memory[from..from + length as usize],
                    "{place}"
                );
            }
        }
    }

    /// The rank is reset while other ranks owe it answers. The reset ends with the last answer, and leaves nothing behind.
    fn reset_rank(&mut self, mail: &mut Mail) {
        use rank::reset_state::{ANSWERS, BUSY};
        let resets = rank::reset_state::COUNT.get(self.read(rank::RESET_STATE));
        // Commands of all kinds, each of which is answered once.
        let count = self.rng.random_range(1..=6);
        for id in 100..100 + count {
            let opcode = [
                Opcode::XPut,
                Opcode::XGet,
                Opcode::XAdd64,
                Opcode::XAccumulate,
                Opcode::XFetchAccumulate,
                Opcode::XSend,
                Opcode::XAnnounce,
            ][self.rng.random_range(0..7)];
            let peer = (self.me + 1) % self.nprocs;
            let length = match opcode {
                Opcode::XSend => 12,
                _ => 8 * self.rng.random_range(0..2 * self.config.payload / 8),
            };
            let id = match opcode {
                Opcode::XSend | Opcode::XAnnounce => id % self.config.messages,
                _ => id,
            };
            self.command(Opcode::XOperand, 0);
            self.command(Opcode::XOperandHigh, 0x100);
            self.command(Opcode::XCompare, 0xffff_ffff);
            self.command(Opcode::XCompareHigh, 0xffff_ffff);
            self.extended(opcode, peer, 3, id, [8, 0x108, length]);
            mail.asked.push(id);
        }
        for opcode in [
            Opcode::XOffset,
            Opcode::XLaddr,
            Opcode::XTag,
            Opcode::XOperand,
        ] {
            self.command(opcode, 0xffff_ffff);
        }
        self.command(Opcode::XOperandHigh, 0xffff_ffff);
        let length = [0, 0xffff_ffff][self.rng.random_range(0..2)];
        self.command(Opcode::XLength, length);
        self.command(Opcode::XWindow, 0x5554);
        if self.rng.random() {
            // A packet of the paper is the last one ahead of the recalls.
            self.command(Opcode::Put1, 0x400);
            self.command(Opcode::Put1, 0);
            self.data8(0, 1, 0);
        }
        self.drain();
        self.take_sent(REQUEST);
        self.entries();
        self.run_until("the ring's tail", |bench| bench.host.is_empty());
        self.register_write(rank::RANK_RESET, 1);
        let nprocs = self.nprocs as usize;
        self.run_until("the recalls", |bench| {
            bench.host.is_empty() && bench.sent[REQUEST].len() == nprocs
        });
        let recall = |dpid: u32| {
            message::DPID.put(dpid)
                | message::ANNOUNCE.put(1)
                | message::RECALL.put(1)
                | message::SRC.put(self.me)
        };
        let recalls: Vec<_> = (0..self.nprocs)
            .map(|at| vec![recall(at), 0, 0, 0])
            .collect();
        assert_eq!(self.take_sent(REQUEST), recalls, "{:?}", self.config);
        let mut ids = std::mem::take(&mut mail.asked);
        ids.extend(vec![0; nprocs]);
        let last = ids.split_off(ids.len() - 1);
        self.answer(ids, mail);
        self.run_until("the answers", |bench| bench.sources[REPLY].is_empty());
        self.cycles(300);
        let state = self.read(rank::RESET_STATE);
        let waits = (BUSY.get(state), ANSWERS.get(state));
        assert_eq!(waits, (1, 1), "an answer is missing, {:?}", self.config);
        self.answer(last, mail);
        self.run_until("the end of the reset", |bench| {
            BUSY.get(bench.read(rank::RESET_STATE)) == 0
        });
        // Messages that waited are returned.
        let mut acks: Vec<_> = mail
            .unexpected
            .iter()
            .map(|message| vec![x_ack(message.source, Status::RankReset, message.id)])
            .collect();
        acks.sort_unstable();
        let mut answers = self.take_sent(REPLY);
        answers.sort_unstable();
        assert_eq!(answers, acks, "messages that waited, {:?}", self.config);
        *mail = Mail::default();
        self.commands = 0;
        let state = rank::reset_state::LARGEST.put(self.nprocs)
            | rank::reset_state::COUNT.put((resets + 1) & 0xff);
        assert_eq!(self.read(rank::RESET_STATE), state);
        let identity = rank::identity::PID.put(self.me) | rank::identity::NPROCS.put(1);
        assert_eq!(self.read(rank::IDENTITY), identity);
        for register in [
            rank::RETIRED,
            rank::CQ_HEAD,
            rank::MESSAGE_QUEUES,
            rank::EVENTS,
        ] {
            assert_eq!(self.read(register), 0, "{register:#x}, {:?}", self.config);
        }
    }

    /// After a reset, all operands are zero, and no window is named. Opcodes of no command change none of them.
    fn check_operands(&mut self, mail: &mut Mail) {
        let is_known = |opcode: u32| Opcode::ALL.iter().any(|&known| known as u32 == opcode);
        for opcode in (0..256).filter(|&opcode| !is_known(opcode)) {
            let data = self.rng.random();
            self.host.push((4 * opcode, data));
        }
        self.strayed = true;
        let peer = (self.me + 1) % self.nprocs;
        let put = x_commit::DPID.put(peer) | x_commit::SLOT.put(7) | x_commit::ID.put(99);
        self.command(Opcode::XPut, put);
        self.command(Opcode::XCompareSwap64, put);
        self.command(Opcode::XFetchAccumulate, put);
        self.command(
            Opcode::XSend,
            x_message::RANK.put(peer) | x_message::ID.put(9),
        );
        self.drain();
        let mut expected = vec![
            extended_packets(self, false, peer, 7, 99, [0; 3])[0]
                .0
                .clone(),
        ];
        let code = Opcode::XCompareSwap64 as u32;
        let operands = Operands::default();
        expected.push(atomic_packet(self, code, [peer, 7, 99], operands));
        expected.extend(accumulate_packets(self, true, [peer, 7, 99], operands));
        expected.push(vec![
            message::DPID.put(peer) | message::SRC.put(self.me),
            0,
            0,
            9,
        ]);
        assert_eq!(self.take_sent(REQUEST), expected, "{:?}", self.config);
        mail.asked.extend([99, 99, 99, 9]);
    }
}

/// Commands of messages become exactly their packets, take effect in the message engine, or are refused. Between runs
/// the rank is reset.
pub(super) fn messages(config: Config) {
    let mut bench = Bench::new(config, "rma_coprocessor_messages");
    bench.returns = true;
    let mut mail = Mail::default();
    let [mut met, mut announced] = [0; 2];
    for round in 0..soak(16) {
        bench.begin();
        bench.drain();
        if round > 0 {
            bench.set_paces();
        }
        bench.check_operands(&mut mail);
        assert_eq!(bench.register(0x400, None, 0), (0, 0));
        for _ in 0..6 {
            let mut memory = bench.memory.clone();
            for _ in 0..8 {
                bench.message_command(&mut mail, &mut memory);
                bench.stray();
            }
            bench.compare_mail(&mut mail, &memory, "commands");
            bench.fetch_announced(&mut mail);
            announced += mail.announced.len();
            let asked = std::mem::take(&mut mail.asked);
            bench.answer(asked, &mut mail);
            for _ in 0..bench.rng.random_range(0..8) {
                if mail.unexpected.len() < 12 {
                    bench.message_arrives(&mut mail, &mut memory);
                }
            }
            met += mail.acks.len();
            bench.compare_mail(&mut mail, &memory, "arrivals");
            mail.announced.clear();
        }
        bench.check_strays();
        bench.reset_rank(&mut mail);
    }
    assert!(
        met > 40 && announced > 20,
        "{met} met, {announced} announced"
    );
}

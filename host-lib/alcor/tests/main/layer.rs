//! A layer passes on every call that it does not define.

use std::sync::{Arc, Mutex};

use alcor::{
    Board, BoardLayer, BusAddr, Causes, Cluster, Cycle, GlobalRank, HostRing, LocalRank, NodeAddr,
    Note, PageOffset, Port, PortLayer, RankWait, Result, RunView, Sight, Topology, Wake,
};

/// The calls in words, in order.
type Log = Arc<Mutex<Vec<String>>>;

/// A board that logs each call. Its answers differ from those of the default methods.
struct Base(Log);

struct BasePort(Log);

fn log(log: &Log, call: impl Into<String>) {
    log.lock().unwrap().push(call.into());
}

impl Board for Base {
    fn name(&self) -> &str {
        log(&self.0, "name");
        "base"
    }
    fn read32(&self, offset: PageOffset) -> Result<u32> {
        log(&self.0, format!("board read {}", offset.0));
        Ok(71)
    }
    fn write32(&self, offset: PageOffset, value: u32) -> Result<()> {
        log(&self.0, format!("board write {} {value}", offset.0));
        Ok(())
    }
    fn reset(&self) -> Result<()> {
        log(&self.0, "reset");
        Ok(())
    }
    fn expect(&self, ports: u32) -> Result<()> {
        log(&self.0, format!("expect {ports}"));
        Ok(())
    }
    fn attach(self: Arc<Self>, rank: LocalRank) -> Result<Box<dyn Port>> {
        log(&self.0, format!("attach {}", rank.0));
        Ok(Box::new(BasePort(Arc::clone(&self.0))))
    }
    fn traffic_digest(&self) -> Option<u32> {
        log(&self.0, "digest");
        Some(72)
    }
    fn time_stands_still(&self) -> bool {
        log(&self.0, "time stands still");
        true
    }
    fn reset_clears_memory(&self) -> bool {
        log(&self.0, "reset clears memory");
        true
    }
}

impl Port for BasePort {
    fn write32(&mut self, offset: PageOffset, value: u32) -> Result<()> {
        log(&self.0, format!("write {} {value}", offset.0));
        Ok(())
    }
    fn read32(&mut self, offset: PageOffset) -> Result<u32> {
        log(&self.0, format!("read {}", offset.0));
        Ok(73)
    }
    fn read_board32(&mut self, offset: PageOffset) -> Result<u32> {
        log(&self.0, format!("read of the board {}", offset.0));
        Ok(74)
    }
    fn write_memory(&mut self, at: NodeAddr, data: &[u8]) -> Result<()> {
        log(&self.0, format!("write memory {} {data:?}", at.0));
        Ok(())
    }
    fn read_memory(&mut self, at: NodeAddr, data: &mut [u8]) -> Result<()> {
        log(&self.0, format!("read memory {}", at.0));
        data.fill(75);
        Ok(())
    }
    fn wait(&mut self, awaited: Causes, deadline: Cycle) -> Result<Wake> {
        log(&self.0, format!("wait {awaited:?} {}", deadline.0));
        Ok(Wake::Raised(Causes(77)))
    }
    fn now(&mut self) -> Result<Cycle> {
        log(&self.0, "now");
        Ok(Cycle(76))
    }
    fn leave(&mut self) -> Result<()> {
        log(&self.0, "leave");
        Ok(())
    }
    fn host_ring(&mut self) -> Option<&mut dyn HostRing> {
        Some(self)
    }
    fn run_view(&mut self) -> Option<&mut dyn RunView> {
        Some(self)
    }
    fn deaths(&mut self) -> Result<Option<Vec<GlobalRank>>> {
        log(&self.0, "deaths");
        Ok(Some(vec![GlobalRank(79)]))
    }
}

impl HostRing for BasePort {
    fn pin(&mut self, entries: u32) -> Result<Option<BusAddr>> {
        log(&self.0, format!("pin {entries}"));
        Ok(Some(BusAddr(80)))
    }
    fn entry(&mut self, index: u32) -> Result<[u32; 4]> {
        log(&self.0, format!("entry {index}"));
        Ok([81; 4])
    }
}

impl RunView for BasePort {
    fn wants_notes(&mut self) -> bool {
        log(&self.0, "wants notes");
        true
    }
    fn note(&mut self, note: Note) {
        log(&self.0, format!("{note:?}"));
    }
    fn tell_wait(&mut self, wait: Option<&RankWait>) -> Result<()> {
        log(&self.0, format!("{wait:?}"));
        Ok(())
    }
    fn sight(&mut self) -> Result<Option<Sight>> {
        log(&self.0, "sight");
        Ok(Some(Sight::default()))
    }
}

/// A layer without methods of its own.
struct Plain(Arc<dyn Board>);

struct PlainPort(Box<dyn Port>);

impl BoardLayer for Plain {
    fn below(&self) -> &Arc<dyn Board> {
        &self.0
    }
    fn attach(self: Arc<Self>, rank: LocalRank) -> Result<Box<dyn Port>> {
        let port = Arc::clone(self.below()).attach(rank)?;
        Ok(Box::new(PlainPort(port)))
    }
}

impl PortLayer for PlainPort {
    fn below(&mut self) -> &mut dyn Port {
        &mut *self.0
    }
}

/// Calls every method of a board and of its port. Returns the answers.
fn call_all(board: &Arc<dyn Board>) -> Result<Vec<String>> {
    board.write32(PageOffset(4), 5)?;
    board.reset()?;
    board.expect(6)?;
    let mut port = Arc::clone(board).attach(LocalRank(7))?;
    port.write32(PageOffset(8), 9)?;
    port.write_memory(NodeAddr(12), &[1, 2])?;
    let ring = port.host_ring().expect("a ring");
    let pinned = format!("{:?} {:?}", ring.pin(82)?, ring.entry(83)?);
    let view = port.run_view().expect("a view");
    view.note(Note::Posting { operation: 10 });
    view.tell_wait(None)?;
    let seen = format!("{} {:?}", view.wants_notes(), view.sight()?);
    let mut read = [0; 2];
    port.read_memory(NodeAddr(16), &mut read)?;
    let answers = vec![
        board.name().to_owned(),
        board.read32(PageOffset(20))?.to_string(),
        format!("{:?}", board.traffic_digest()),
        board.time_stands_still().to_string(),
        board.reset_clears_memory().to_string(),
        port.read32(PageOffset(24))?.to_string(),
        port.read_board32(PageOffset(28))?.to_string(),
        format!("{read:?} {:?}", port.wait(Causes(78), Cycle(11))?),
        port.now()?.to_string(),
        format!("{:?}", port.deaths()?),
        pinned,
        seen,
    ];
    port.leave()?;
    Ok(answers)
}

#[test]
fn a_layer_passes_on_every_call() {
    let calls = Log::default();
    let below: Arc<dyn Board> = Arc::new(Base(Arc::clone(&calls)));
    let expected = (call_all(&below).unwrap(), calls.lock().unwrap().clone());
    assert_eq!(expected.1.len(), 24, "each method of both traits");

    let names = Cluster::new(vec![below], Topology::single()).unwrap();
    let layered = names.with_name("the name").layered(|number, board| {
        assert_eq!(number, 0);
        Plain(Arc::new(Plain(board)))
    });
    assert_eq!(layered.name(), "the name");
    calls.lock().unwrap().clear();
    let answers = call_all(&layered.boards()[0]).unwrap();
    assert_eq!((answers, calls.lock().unwrap().clone()), expected);
}

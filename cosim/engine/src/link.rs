//! The PCIe link of a profile with latencies. Host accesses travel through it to the AXI pins.

use crate::axi::{Access, Answer, LiteIn, LiteMaster, LiteOut};
use crate::dma::{DmaIn, DmaMaster, DmaOut, Done};
use crate::profile::Figures;

/// The answers that came back over the link.
#[derive(Debug)]
pub(crate) enum Arrival {
    Answer(Answer),
    Done(Done),
}

/// A link with an XDMA at its board end.
pub(crate) struct Link {
    pub(crate) figures: &'static Figures,
    node_bytes: u32,
    lite: LiteMaster,
    dma: DmaMaster,
}

impl Link {
    pub(crate) fn new(figures: &'static Figures, node_bytes: u32) -> Self {
        Self {
            figures,
            node_bytes,
            lite: LiteMaster::new(),
            dma: DmaMaster::default(),
        }
    }

    /// Drops all accesses under way.
    pub(crate) fn reset(&mut self) {
        *self = Self::new(self.figures, self.node_bytes);
    }

    /// Sends a register access off at `now`; accesses arrive in the order of these calls.
    pub(crate) fn access(&mut self, now: u64, rank: usize, address: u32, write: Option<u32>) {
        self.lite.push(Access {
            due: now + self.figures.downstream,
            rank,
            address,
            write,
        });
    }

    /// Calls for a transfer to node memory.
    pub(crate) fn store(&mut self, now: u64, rank: usize, at: u32, data: &[u8]) {
        self.dma.store(
            now + self.figures.dma_setup,
            rank,
            rank as u32 * self.node_bytes + at,
            data,
        );
    }

    /// Calls for a transfer from node memory.
    pub(crate) fn load(&mut self, now: u64, rank: usize, at: u32, len: usize) {
        self.dma.load(
            now + self.figures.dma_setup,
            rank,
            rank as u32 * self.node_bytes + at,
            len,
        );
    }

    /// The next edge at which it may act; the next one while a transfer is at the pins.
    pub(crate) fn due(&self, now: u64) -> u64 {
        self.lite.due(now).min(self.dma.due(now))
    }

    /// An edge: takes the AXI pins of the cycle that ends. Returns those of the cycle that begins,
    /// and the answers.
    pub(crate) fn tick(
        &mut self,
        now: u64,
        input: &[u32],
        output: &mut [u32],
    ) -> [Option<Arrival>; 3] {
        let bit = |at: u32| input[0] >> at & 1 != 0;
        let lite = lite_pins(input);
        let dma = DmaIn {
            awready: bit(8),
            wready: bit(9),
            bvalid: bit(10),
            arready: bit(11),
            rvalid: bit(12),
            rdata: input[2],
        };
        let (lite, answer) = self.lite.tick(now, lite);
        let (dma, [stored, loaded]) = self.dma.tick(now, dma);
        drive(lite, dma, output);
        [
            answer.map(Arrival::Answer),
            stored.map(Arrival::Done),
            loaded.map(Arrival::Done),
        ]
    }
}

/// A register write over the same pins without link latency, before time begins.
pub(crate) struct Setting {
    lite: LiteMaster,
}

impl Setting {
    pub(crate) fn new(address: u32, value: u32) -> Self {
        let mut lite = LiteMaster::new();
        lite.push(Access {
            due: 0,
            rank: 0,
            address,
            write: Some(value),
        });
        Self { lite }
    }

    /// An edge; whether the board has answered, which leaves the pins idle.
    pub(crate) fn tick(&mut self, input: &[u32], output: &mut [u32]) -> bool {
        let (lite, answer) = self.lite.tick(0, lite_pins(input));
        drive(lite, DmaOut::default(), output);
        answer.is_some()
    }
}

fn lite_pins(input: &[u32]) -> LiteIn {
    let bit = |at: u32| input[0] >> at & 1 != 0;
    LiteIn {
        awready: bit(0),
        wready: bit(1),
        bvalid: bit(2),
        arready: bit(3),
        rvalid: bit(4),
        rdata: input[1],
    }
}

fn drive(lite: LiteOut, dma: DmaOut, output: &mut [u32]) {
    let bits = [
        (lite.awvalid, 0),
        (lite.wvalid, 1),
        (lite.bready, 2),
        (lite.arvalid, 3),
        (lite.rready, 4),
        (dma.awvalid, 8),
        (dma.wvalid, 9),
        (dma.wlast, 10),
        (dma.bready, 11),
        (dma.arvalid, 12),
        (dma.rready, 13),
    ];
    output[0] = bits
        .iter()
        .fold(0, |word, &(on, at)| word | u32::from(on) << at);
    output[1] = lite.awaddr;
    output[2] = lite.wdata;
    output[3] = lite.araddr;
    output[4] = dma.awaddr;
    output[5] = dma.awlen;
    output[6] = dma.wdata;
    output[7] = dma.wstrb;
    output[8] = dma.araddr;
    output[9] = dma.arlen;
}

//! Boards over boards: a layer changes or observes some calls, and passes the others on.

use std::sync::Arc;

use crate::{
    Board, Causes, Cycle, GlobalRank, HostBytes, HostRing, LocalRank, NodeAddr, PageOffset, Port,
    Result, RunView, Wake,
};

/// A board over another board. Every method that the layer does not define passes its call on.
///
/// A layer is a [`Board`] itself, so layers stack, on every backend.
///
/// # Examples
/// ```
/// use std::sync::Arc;
///
/// use alcor::{Board, BoardLayer, Cluster, soft::SoftBoard};
///
/// /// A board that hides its traffic.
/// struct Silent(Arc<dyn Board>);
///
/// impl BoardLayer for Silent {
///     fn below(&self) -> &Arc<dyn Board> {
///         &self.0
///     }
///     fn traffic_digest(&self) -> Option<u32> {
///         None
///     }
/// }
///
/// let cluster = Cluster::from(Arc::new(Silent(SoftBoard::new(2))));
/// assert_eq!(cluster.ranks()?, 2);
/// # Ok::<(), alcor::Error>(())
/// ```
#[allow(missing_docs, clippy::missing_errors_doc)] // `Board` documents the methods.
pub trait BoardLayer: Send + Sync {
    /// The board below this layer.
    fn below(&self) -> &Arc<dyn Board>;

    fn name(&self) -> &str {
        self.below().name()
    }

    fn read32(&self, offset: PageOffset) -> Result<u32> {
        self.below().read32(offset)
    }

    fn read_links32(&self, offset: PageOffset) -> Result<Option<u32>> {
        self.below().read_links32(offset)
    }

    fn write32(&self, offset: PageOffset, value: u32) -> Result<()> {
        self.below().write32(offset, value)
    }

    fn reset(&self) -> Result<()> {
        self.below().reset()
    }

    fn expect(&self, ports: u32) -> Result<()> {
        self.below().expect(ports)
    }

    fn attach(self: Arc<Self>, rank: LocalRank) -> Result<Box<dyn Port>> {
        Arc::clone(self.below()).attach(rank)
    }

    fn traffic_digest(&self) -> Option<u32> {
        self.below().traffic_digest()
    }

    fn time_stands_still(&self) -> bool {
        self.below().time_stands_still()
    }

    fn reset_clears_memory(&self) -> bool {
        self.below().reset_clears_memory()
    }
}

// The lint finds a method of `Board` that is missing here although it has a default.
#[deny(clippy::missing_trait_methods)]
impl<L: BoardLayer> Board for L {
    fn name(&self) -> &str {
        BoardLayer::name(self)
    }

    fn read32(&self, offset: PageOffset) -> Result<u32> {
        BoardLayer::read32(self, offset)
    }

    fn read_links32(&self, offset: PageOffset) -> Result<Option<u32>> {
        BoardLayer::read_links32(self, offset)
    }

    fn write32(&self, offset: PageOffset, value: u32) -> Result<()> {
        BoardLayer::write32(self, offset, value)
    }

    fn reset(&self) -> Result<()> {
        BoardLayer::reset(self)
    }

    fn expect(&self, ports: u32) -> Result<()> {
        BoardLayer::expect(self, ports)
    }

    fn attach(self: Arc<Self>, rank: LocalRank) -> Result<Box<dyn Port>> {
        BoardLayer::attach(self, rank)
    }

    fn traffic_digest(&self) -> Option<u32> {
        BoardLayer::traffic_digest(self)
    }

    fn time_stands_still(&self) -> bool {
        BoardLayer::time_stands_still(self)
    }

    fn reset_clears_memory(&self) -> bool {
        BoardLayer::reset_clears_memory(self)
    }
}

/// A port over another port. Every method that the layer does not define passes its call on.
#[allow(missing_docs, clippy::missing_errors_doc)] // `Port` documents the methods.
pub trait PortLayer: Send {
    /// The port below this layer.
    fn below(&mut self) -> &mut dyn Port;

    fn write32(&mut self, offset: PageOffset, value: u32) -> Result<()> {
        self.below().write32(offset, value)
    }

    fn read32(&mut self, offset: PageOffset) -> Result<u32> {
        self.below().read32(offset)
    }

    fn read_board32(&mut self, offset: PageOffset) -> Result<u32> {
        self.below().read_board32(offset)
    }

    fn write_memory(&mut self, at: NodeAddr, data: &[u8]) -> Result<()> {
        self.below().write_memory(at, data)
    }

    fn write_ahead(&mut self, at: NodeAddr, data: &[u8]) -> Result<()> {
        self.below().write_ahead(at, data)
    }

    fn read_memory(&mut self, at: NodeAddr, data: &mut [u8]) -> Result<()> {
        self.below().read_memory(at, data)
    }

    fn host_memory(&mut self, bytes: usize) -> Result<Option<Box<dyn HostBytes>>> {
        self.below().host_memory(bytes)
    }

    fn wait(&mut self, awaited: Causes, deadline: Cycle) -> Result<Wake> {
        self.below().wait(awaited, deadline)
    }

    fn spin(&mut self, awaited: Causes) -> Result<Option<Wake>> {
        self.below().spin(awaited)
    }

    fn now(&mut self) -> Result<Cycle> {
        self.below().now()
    }

    fn leave(&mut self) -> Result<()> {
        self.below().leave()
    }

    fn host_ring(&mut self) -> Option<&mut dyn HostRing> {
        self.below().host_ring()
    }

    fn run_view(&mut self) -> Option<&mut dyn RunView> {
        self.below().run_view()
    }

    fn deaths(&mut self) -> Result<Option<Vec<GlobalRank>>> {
        self.below().deaths()
    }
}

#[deny(clippy::missing_trait_methods)]
impl<L: PortLayer> Port for L {
    fn write32(&mut self, offset: PageOffset, value: u32) -> Result<()> {
        PortLayer::write32(self, offset, value)
    }

    fn read32(&mut self, offset: PageOffset) -> Result<u32> {
        PortLayer::read32(self, offset)
    }

    fn read_board32(&mut self, offset: PageOffset) -> Result<u32> {
        PortLayer::read_board32(self, offset)
    }

    fn write_memory(&mut self, at: NodeAddr, data: &[u8]) -> Result<()> {
        PortLayer::write_memory(self, at, data)
    }

    fn write_ahead(&mut self, at: NodeAddr, data: &[u8]) -> Result<()> {
        PortLayer::write_ahead(self, at, data)
    }

    fn read_memory(&mut self, at: NodeAddr, data: &mut [u8]) -> Result<()> {
        PortLayer::read_memory(self, at, data)
    }

    fn host_memory(&mut self, bytes: usize) -> Result<Option<Box<dyn HostBytes>>> {
        PortLayer::host_memory(self, bytes)
    }

    fn wait(&mut self, awaited: Causes, deadline: Cycle) -> Result<Wake> {
        PortLayer::wait(self, awaited, deadline)
    }

    fn spin(&mut self, awaited: Causes) -> Result<Option<Wake>> {
        PortLayer::spin(self, awaited)
    }

    fn now(&mut self) -> Result<Cycle> {
        PortLayer::now(self)
    }

    fn leave(&mut self) -> Result<()> {
        PortLayer::leave(self)
    }

    fn host_ring(&mut self) -> Option<&mut dyn HostRing> {
        PortLayer::host_ring(self)
    }

    fn run_view(&mut self) -> Option<&mut dyn RunView> {
        PortLayer::run_view(self)
    }

    fn deaths(&mut self) -> Result<Option<Vec<GlobalRank>>> {
        PortLayer::deaths(self)
    }
}

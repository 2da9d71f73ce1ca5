//! Host port profiles: the cost of host accesses.

use std::fmt;

/// The cost of host accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// One register write per cycle and rank; no other access takes time.
    #[default]
    Ideal,
    /// A PCIe Gen3 x16 link and an XDMA in memory-mapped mode, with the [`GEN3X16`] figures.
    Gen3x16,
}

impl Profile {
    /// All profiles.
    pub const ALL: &'static [Profile] = &[Profile::Ideal, Profile::Gen3x16];

    /// Name of the profile, as in `cosim:rma4?profile=gen3x16`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Profile::Ideal => "ideal",
            Profile::Gen3x16 => "gen3x16",
        }
    }

    /// The profile of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Profile> {
        Self::ALL
            .iter()
            .copied()
            .find(|profile| profile.name() == name)
    }

    /// Figures of the profile; none if host accesses cost no time.
    #[must_use]
    pub const fn figures(self) -> Option<&'static Figures> {
        match self {
            Profile::Ideal => None,
            Profile::Gen3x16 => Some(&GEN3X16),
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Latencies of a host port, in cycles at 250 MHz (4 ns).
///
/// A Gen3 x16 link carries a payload of about 12.8 GB/s, which is the limit of transfers. The DMA
/// port of a board with beats of 256 bits carries 8 GB/s at 250 MHz.
///
/// The host has the vector registers of AVX-512: a load or store of node memory moves up to 64 bytes,
/// aligned ([`MEMORY_BAR_LINE`](alcor_abi::MEMORY_BAR_LINE)). The next load begins when the load has
/// returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    /// From a store, or a read request, that leaves the host to its first cycle on the AXI pins.
    pub downstream: u64,
    /// From a read's data on the AXI pins to the load that returns.
    pub upstream: u64,
    /// From a copy that the board hands over to the first cycle of the burst that reads its data.
    pub copy: u64,
    /// From the last data of a copy on the AXI pins to host memory.
    pub posted: u64,
    /// From a call of a transfer to the first cycle of its first burst.
    pub dma_setup: u64,
    /// From an interrupt's pin to the host code that waits for it.
    pub interrupt: u64,
}

/// The figures of profile `gen3x16`, defined here alone.
///
/// | figure | ns | cycles | where it comes from |
/// |---|---|---|---|
/// | `downstream` | 300 | 75 | about a third of the round trip; posted writes do not wait for an answer |
/// | `upstream` | 600 | 150 | with `downstream`: a register read of 900 ns. Neugebauer et al., "Understanding PCIe performance for end host networking" (SIGCOMM 2018, doi 10.1145/3230543.3230560) find that PCIe makes up around 900 ns of a NIC's 1 us; a Virtex-7 on Gen3 x8 was measured at 850 ns (hackingnasdaq.blogspot.com/2014/05/pcie-latency.html) |
/// | `copy` | 160 | 40 | an estimate: a descriptor that the board gives to XDMA needs no fetch; arbitration and the read request remain |
/// | `posted` | 300 | 75 | as `downstream`: one way |
/// | `dma_setup` | 2500 | 625 | an estimate of what the hardware takes: a doorbell write (300 ns), the descriptor fetched from host memory (900 ns), the first data fetched (900 ns), the completion written back and polled (300 ns and more). The stock driver's system call and interrupt come on top on a real host: tens of microseconds a transfer (github.com/Xilinx/dma_ip_drivers issue 321: 30 us for 32 bytes) |
/// | `interrupt` | 1750 | 437 | an estimate: an MSI-X write upstream (300 ns) and the kernel's handler that wakes a poller on an idle core (1.5 us) |
pub const GEN3X16: Figures = Figures {
    downstream: 75,
    upstream: 150,
    copy: 40,
    posted: 75,
    dma_setup: 625,
    interrupt: 437,
};

//! Register map of the XDMA core, as AMD's product guide PG195 gives it.
//!
//! An offset in the BAR of the core has a target (bits 15:12), a channel (bits 11:8) and the offset
//! of a register in its target (bits 7:0).

/// Targets.
pub(crate) mod target {
    pub(crate) const H2C: u32 = 0;
    pub(crate) const C2H: u32 = 1;
    pub(crate) const IRQ: u32 = 2;
    pub(crate) const CONFIG: u32 = 3;
    pub(crate) const H2C_SGDMA: u32 = 4;
    pub(crate) const C2H_SGDMA: u32 = 5;
    pub(crate) const SGDMA_COMMON: u32 = 6;
    pub(crate) const MSIX: u32 = 8;
}

/// Identifier of a target: the bits above its target, channel and version.
pub(crate) const IDENTIFIER: u32 = 0x1fc0_0000;
/// Version of the core in the identifiers: that of Vivado 2020.1 and later.
pub(crate) const VERSION: u32 = 0x06;

/// Registers of a channel.
pub(crate) mod channel {
    pub(crate) const IDENTIFIER: u32 = 0x00;
    pub(crate) const CONTROL: u32 = 0x04;
    pub(crate) const CONTROL_W1S: u32 = 0x08;
    pub(crate) const CONTROL_W1C: u32 = 0x0c;
    pub(crate) const STATUS: u32 = 0x40;
    pub(crate) const STATUS_RC: u32 = 0x44;
    pub(crate) const COMPLETED: u32 = 0x48;
    pub(crate) const ALIGNMENTS: u32 = 0x4c;
    pub(crate) const POLL_LO: u32 = 0x88;
    pub(crate) const POLL_HI: u32 = 0x8c;
    pub(crate) const IRQ_ENABLE: u32 = 0x90;
    pub(crate) const IRQ_ENABLE_W1S: u32 = 0x94;
    pub(crate) const IRQ_ENABLE_W1C: u32 = 0x98;
}

/// Bits of the control register of a channel. The enable bits of statuses have the positions of
/// these statuses.
pub mod control {
    /// Starts the engine on its rising edge; stops the engine after its descriptor when cleared.
    pub const RUN: u32 = 1;
    /// Fixed address on the AXI side.
    pub const NON_INCREMENTING: u32 = 1 << 25;
    /// Writes the count of completed descriptors to host memory.
    pub const POLL_WRITE_BACK: u32 = 1 << 26;
    /// All bits that exist.
    pub(crate) const ALL: u32 =
        super::status::LOGGED | RUN | NON_INCREMENTING | POLL_WRITE_BACK | 1 << 27;
}

/// Bits of the status register of a channel.
pub mod status {
    /// The engine runs.
    pub const BUSY: u32 = 1;
    /// A descriptor with the stop bit is complete.
    pub const DESCRIPTOR_STOPPED: u32 = 1 << 1;
    /// A descriptor with the completed bit is complete.
    pub const DESCRIPTOR_COMPLETED: u32 = 1 << 2;
    /// Source and destination have different low address bits.
    pub const ALIGN_MISMATCH: u32 = 1 << 3;
    /// A descriptor lacks its magic number.
    pub const MAGIC_STOPPED: u32 = 1 << 4;
    /// Streams only.
    pub const INVALID_LENGTH: u32 = 1 << 5;
    /// The engine has stopped because its run bit was cleared.
    pub const IDLE_STOPPED: u32 = 1 << 6;
    /// First bit of the read errors. From host memory: unsupported request, completer abort, parity
    /// error, header poisoned, unexpected completion. From the card: decode error, slave error.
    pub const READ_ERROR: u32 = 1 << 9;
    /// First bit of the write errors of host-to-card channels: decode error, slave error.
    pub const WRITE_ERROR: u32 = 1 << 14;
    /// First bit of the errors of a descriptor's fetch, as for reads from host memory.
    pub const DESCRIPTOR_ERROR: u32 = 1 << 19;
    /// All read errors.
    pub const READ_ERRORS: u32 = 0x1f << 9;
    /// All write errors.
    pub const WRITE_ERRORS: u32 = 0x1f << 14;
    /// All errors of a descriptor's fetch.
    pub const DESCRIPTOR_ERRORS: u32 = 0x1f << 19;
    /// All errors.
    pub const ERRORS: u32 = ALIGN_MISMATCH
        | MAGIC_STOPPED
        | INVALID_LENGTH
        | READ_ERRORS
        | WRITE_ERRORS
        | DESCRIPTOR_ERRORS;
    /// All statuses that are logged.
    pub(crate) const LOGGED: u32 =
        ERRORS | DESCRIPTOR_STOPPED | DESCRIPTOR_COMPLETED | IDLE_STOPPED;
}

/// Registers of a channel's descriptor fetch.
pub(crate) mod sgdma {
    pub(crate) const IDENTIFIER: u32 = 0x00;
    pub(crate) const FIRST_LO: u32 = 0x80;
    pub(crate) const FIRST_HI: u32 = 0x84;
    pub(crate) const FIRST_ADJACENT: u32 = 0x88;
    pub(crate) const CREDITS: u32 = 0x8c;
}

/// Registers of all channels' descriptor fetch: a bit for each H2C channel from bit 0, and for each
/// C2H channel from bit 16.
pub(crate) mod common {
    pub(crate) const IDENTIFIER: u32 = 0x00;
    pub(crate) const HALT: u32 = 0x10;
    pub(crate) const HALT_W1S: u32 = 0x14;
    pub(crate) const HALT_W1C: u32 = 0x18;
    pub(crate) const CREDIT_MODE: u32 = 0x20;
    pub(crate) const CREDIT_MODE_W1S: u32 = 0x24;
    pub(crate) const CREDIT_MODE_W1C: u32 = 0x28;
}

/// Registers of the IRQ block.
pub(crate) mod irq {
    pub(crate) const IDENTIFIER: u32 = 0x00;
    pub(crate) const USER_ENABLE: u32 = 0x04;
    pub(crate) const USER_ENABLE_W1S: u32 = 0x08;
    pub(crate) const USER_ENABLE_W1C: u32 = 0x0c;
    pub(crate) const CHANNEL_ENABLE: u32 = 0x10;
    pub(crate) const CHANNEL_ENABLE_W1S: u32 = 0x14;
    pub(crate) const CHANNEL_ENABLE_W1C: u32 = 0x18;
    pub(crate) const USER_REQUEST: u32 = 0x40;
    pub(crate) const CHANNEL_REQUEST: u32 = 0x44;
    pub(crate) const USER_PENDING: u32 = 0x48;
    pub(crate) const CHANNEL_PENDING: u32 = 0x4c;
    /// Four registers of four vectors each.
    pub(crate) const USER_VECTORS: u32 = 0x80;
    /// Two registers of four vectors each.
    pub(crate) const CHANNEL_VECTORS: u32 = 0xa0;
}

/// Registers of the configuration block.
pub(crate) mod config {
    pub(crate) const IDENTIFIER: u32 = 0x00;
    pub(crate) const MAX_PAYLOAD: u32 = 0x08;
    pub(crate) const MAX_READ_REQUEST: u32 = 0x0c;
    pub(crate) const SYSTEM_ID: u32 = 0x10;
    pub(crate) const MSI_ENABLE: u32 = 0x14;
    pub(crate) const DATA_WIDTH: u32 = 0x18;
    pub(crate) const CONTROL: u32 = 0x1c;
    pub(crate) const USER_MAX_PAYLOAD: u32 = 0x40;
    pub(crate) const USER_MAX_READ_REQUEST: u32 = 0x44;
    pub(crate) const WRITE_FLUSH_TIMEOUT: u32 = 0x60;
}

/// Offset of the MSI-X table in the BAR of the core.
pub const MSIX_TABLE: u32 = 0x8000;
/// Offset of the pending bits of the MSI-X vectors in the BAR of the core.
pub const MSIX_PENDING: u32 = 0x8fe0;

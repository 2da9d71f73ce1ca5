//! Address types, one for each address space.

use std::fmt;
use std::str::FromStr;

/// Byte offset in a BAR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BarOffset(pub u64);

/// Byte address in the memory-mapped address space of the card's DMA engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CardAddr(pub u64);

impl fmt::Display for BarOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset {:#x}", self.0)
    }
}

impl fmt::Display for CardAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "card address {:#x}", self.0)
    }
}

/// Address of a PCI function: domain, bus, device and function.
///
/// # Examples
/// ```
/// use xdma::PciAddress;
///
/// let address: PciAddress = "0000:3b:00.0".parse()?;
/// assert_eq!("3b:00.0".parse(), Ok(address)); // the domain is optional
/// assert_eq!(address.to_string(), "0000:3b:00.0");
/// # Ok::<(), xdma::BadAddress>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PciAddress {
    /// The domain. Its text has four hexadecimal digits, or more for a virtual domain behind a host
    /// bridge.
    pub domain: u32,
    /// Bus number.
    pub bus: u8,
    /// Device number, below 32.
    pub device: u8,
    /// Function number, below 8.
    pub function: u8,
}

/// A text is not a PCI address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a PCI address; write it as 0000:3b:00.0, the form of lspci -D")]
pub struct BadAddress {
    /// The rejected text.
    pub text: String,
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PciAddress {
            domain,
            bus,
            device,
            function,
        } = self;
        write!(f, "{domain:04x}:{bus:02x}:{device:02x}.{function:x}")
    }
}

impl FromStr for PciAddress {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        parse(text).ok_or_else(|| BadAddress {
            text: text.to_owned(),
        })
    }
}

fn parse(text: &str) -> Option<PciAddress> {
    let (rest, function) = text.rsplit_once('.')?;
    let (rest, device) = rest.rsplit_once(':')?;
    let (domain, bus) = rest.split_once(':').unwrap_or(("0000", rest));
    let address = PciAddress {
        domain: hex(domain, 4..=8)?,
        bus: hex(bus, 2..=2)?.try_into().ok()?,
        device: hex(device, 2..=2)?.try_into().ok()?,
        function: hex(function, 1..=1)?.try_into().ok()?,
    };
    (address.device < 32 && address.function < 8).then_some(address)
}

/// Parses hexadecimal digits. `from_str_radix` alone would accept a sign.
fn hex(text: &str, digits: std::ops::RangeInclusive<usize>) -> Option<u32> {
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hex && digits.contains(&text.len()))
        .then(|| u32::from_str_radix(text, 16).ok())
        .flatten()
}

//! The slot of a card: its functions, their drivers, and the bridge above them.

use std::fs;

use crate::machine::list;
use crate::{Error, Machine, PciAddress, Result};

impl Machine {
    /// All functions of the card at `address`, by number.
    ///
    /// # Errors
    /// [`Error::NoCard`] when there is no function, [`Error::Node`].
    ///
    /// # Examples
    /// ```no_run
    /// use xdma::Machine;
    ///
    /// let (machine, card) = (Machine::local(), "0000:3b:00.0".parse()?);
    /// let bridge = machine.bridge(card)?;
    /// for function in machine.functions(card)? {
    ///     if machine.driver_of(function).is_some() {
    ///         machine.unbind(function)?;
    ///     }
    ///     machine.remove(function)?;
    /// }
    /// // Another program loads another design into the card.
    /// machine.rescan_behind(bridge)?;
    /// if machine.has_driver("xdma") && machine.driver_of(card).is_none() {
    ///     machine.bind(card, "xdma")?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn functions(&self, address: PciAddress) -> Result<Vec<PciAddress>> {
        let is_of_card = |other: &PciAddress| {
            let PciAddress {
                domain,
                bus,
                device,
                function: _,
            } = *other;
            (domain, bus, device) == (address.domain, address.bus, address.device)
        };
        let mut functions: Vec<PciAddress> = list(&self.devices())?
            .iter()
            .filter_map(|name| name.parse().ok())
            .filter(is_of_card)
            .collect();
        functions.sort_unstable();
        if functions.is_empty() {
            self.card(address)?;
        }
        Ok(functions)
    }

    /// The bridge above a function.
    ///
    /// # Errors
    /// [`Error::NoBridge`], [`Error::NoCard`].
    pub fn bridge(&self, address: PciAddress) -> Result<PciAddress> {
        let folder = self.folder(address);
        if !folder.exists() {
            self.card(address)?;
        }
        // Entries of the list of devices are links. The folders behind the links nest as the
        // devices do.
        let real = fs::canonicalize(&folder).ok();
        let parent = real
            .as_deref()
            .and_then(|path| path.parent()?.file_name()?.to_str());
        let bridge = parent.and_then(|name| name.parse().ok());
        bridge.ok_or_else(|| Error::NoBridge {
            address,
            folder: real.clone().unwrap_or(folder),
        })
    }

    /// Makes the kernel search for new functions behind a bridge.
    ///
    /// # Errors
    /// [`Error::Node`].
    pub fn rescan_behind(&self, bridge: PciAddress) -> Result<()> {
        self.write(&self.folder(bridge).join("rescan"), "1")
    }

    /// Name of the driver bound to a function, or `None`.
    #[must_use]
    pub fn driver_of(&self, address: PciAddress) -> Option<String> {
        let link = fs::read_link(self.folder(address).join("driver")).ok()?;
        Some(link.file_name()?.to_string_lossy().into_owned())
    }

    /// Returns whether a PCI driver of that name is loaded.
    #[must_use]
    pub fn has_driver(&self, driver: &str) -> bool {
        self.sys().join("bus/pci/drivers").join(driver).exists()
    }

    /// Unbinds a function from its driver. Open nodes of the function fail afterwards.
    ///
    /// # Errors
    /// [`Error::Node`].
    pub fn unbind(&self, address: PciAddress) -> Result<()> {
        let path = self.folder(address).join("driver/unbind");
        self.write(&path, &address.to_string())
    }

    /// Binds a function to the driver of that name.
    ///
    /// # Errors
    /// [`Error::Node`] when the driver is not loaded or rejects the function.
    pub fn bind(&self, address: PciAddress, driver: &str) -> Result<()> {
        let drivers = self.sys().join("bus/pci/drivers");
        self.write(&drivers.join(driver).join("bind"), &address.to_string())
    }
}

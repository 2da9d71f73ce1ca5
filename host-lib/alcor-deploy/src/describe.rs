//! What the steps do, in words.

use std::path::Path;

use alcor_bitstreams::Manifest;
use xdma::PciAddress;

use crate::facts::Facts;
use crate::{Deploy, Step};

impl Deploy {
    /// What a step does, so far as it is known.
    pub(crate) fn describe(
        &self,
        step: Step,
        manifest: Option<&Manifest>,
        facts: Option<&Facts>,
    ) -> String {
        let address = self.address;
        let list = |addresses: Option<Vec<PciAddress>>| match addresses {
            Some(list) => list
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", "),
            None => address.to_string(),
        };
        let functions = list(facts.map(|facts| facts.addresses().collect()));
        let bridge = list(facts.map(|facts| vec![facts.bridge]));
        match step {
            Step::Verify => match manifest {
                None => format!(
                    "is the bitstream of {} the one that was packed",
                    self.build.display()
                ),
                Some(manifest) => format!(
                    "{} is as packed: {}, configuration {}, revision {}, ABI {}",
                    manifest.bitstream.file,
                    manifest.board,
                    manifest.configuration,
                    manifest.revision,
                    manifest.abi_hash
                ),
            },
            Step::Programmer => format!("is {} there", self.programmer.name),
            Step::Find => match facts {
                None => format!("look for {address} and its bridge"),
                Some(facts) => {
                    let first = facts
                        .functions
                        .first()
                        .map(|function| function.identity.to_string());
                    format!(
                        "{functions}, {}, behind bridge {bridge}",
                        first.unwrap_or_default()
                    )
                }
            },
            Step::Lock => format!("keep all others from deploying to {address}"),
            Step::Ranks => format!("take the locks of all ranks of {address}"),
            Step::Users => format!("nobody may have device nodes of {address} open"),
            Step::Unbind => format!("take {functions} from the driver"),
            Step::Mask => format!("clear SERR and fatal reporting of bridge {bridge}"),
            Step::Remove => format!("take {functions} off the bus"),
            Step::Program => {
                let job = manifest.map(|manifest| self.job(manifest));
                let words = job
                    .and_then(|job| self.programmer.command(&job, Path::new("program.tcl")).ok());
                words.unwrap_or_default().join(" ")
            }
            Step::RescanBridge => format!("rescan behind bridge {bridge}"),
            Step::RescanBus => format!("rescan all buses, and wait for {functions}"),
            Step::Compare => format!("are vendor, device and BARs of {functions} as before"),
            Step::Unmask => format!("restore SERR and fatal reporting of bridge {bridge}"),
            Step::Enable => format!("enable memory accesses of {functions}"),
            Step::Bind => format!("give {functions} back to the driver"),
            Step::Identify => format!("is the ID block of {address} that of the manifest"),
        }
    }
}

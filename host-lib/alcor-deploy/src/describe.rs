//! Descriptions of the steps.

use std::path::Path;

use alcor_bitstreams::Manifest;
use xdma::PciAddress;

use crate::facts::Facts;
use crate::{Deploy, Step};

impl Deploy {
    /// The description of a step, with the facts known so far.
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
                    "check that the bitstream of {} is the packed one",
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
            Step::Programmer => format!(
                "check that programmer {} is installed",
                self.programmer.name
            ),
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
            Step::Lock => format!("lock {address} against other deployments"),
            Step::Ranks => format!("take the locks of all ranks of {address}"),
            Step::Users => format!("check that no process has device nodes of {address} open"),
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
            Step::Compare => {
                format!("check that vendor, device and BARs of {functions} are unchanged")
            }
            Step::Unmask => format!("restore SERR and fatal reporting of bridge {bridge}"),
            Step::Enable => format!("enable memory accesses of {functions}"),
            Step::Bind => format!("give {functions} back to the driver"),
            Step::Identify => format!("compare the ID block of {address} with the manifest"),
        }
    }
}

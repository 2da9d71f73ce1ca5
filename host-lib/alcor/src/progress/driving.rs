//! Advances collectives in software and waiting messages while a rank waits.

use std::sync::Arc;

use super::Progress;
use crate::call::Path;
use crate::hardware::Operands;
use crate::request::{CollectiveDescriptor, Descriptor, NOTHING, Request};
use crate::software::{Software, Task};
use crate::{Cycle, Error, Result};

impl Progress {
    /// Advances collectives in software and waiting messages, and sends this rank's calls of
    /// collectives whose members' calls differ. Returns whether a collective or message made
    /// progress.
    pub(crate) fn drive(&mut self) -> Result<bool> {
        let mut posted = self.look_for_deaths()?;
        posted |= self.post_messages()?;
        // Posting may wait. That wait must not drive collectives.
        let Some(mut software) = self.software.take() else {
            return Ok(posted);
        };
        self.send_calls(&mut software);
        let moved = if software.is_active()
            || software.sends_calls()
            || software.agreements.is_active()
            || self.deaths.mail_is_due()
        {
            match self.port.now() {
                Ok(now) => software.advance(self, now),
                Err(error) => Err(error),
            }
        } else {
            Ok(false)
        };
        self.software = Some(software);
        Ok(moved? | posted)
    }

    /// Queues this rank's calls of collectives whose members' calls differ.
    pub(super) fn send_calls(&mut self, software: &mut Software) {
        for descriptor in self.outstanding.take_differing() {
            if let Descriptor::Collective(collective) = &*descriptor {
                software.send_call(collective);
            }
        }
    }

    /// Time of the next poll of the mail or of messages.
    pub(super) fn next_look(&mut self) -> Result<Cycle> {
        let messages = self.messages.next_look().min(self.deaths.next_look());
        match &self.software {
            Some(software) if software.is_active() => {
                let now = self.port.now()?;
                let mail = Cycle(now.0.saturating_add(software.pause(now)));
                Ok(mail.min(messages))
            }
            _ => Ok(messages),
        }
    }

    /// Returns whether no collective is under way.
    pub(crate) fn collectives_are_over(&self) -> bool {
        self.unit.is_idle() && !self.has_software()
    }

    /// Returns whether no collective of a communicator is under way.
    pub(crate) fn is_over(&self, communicator: u32, row: Option<u32>) -> bool {
        let software = self.software.as_ref();
        row.is_none_or(|row| self.unit.is_idle_in(row))
            && !software.is_some_and(|software| software.is_active_in(communicator))
    }

    pub(super) fn has_software(&self) -> bool {
        self.software.as_ref().is_some_and(Software::is_active)
    }

    /// Begins a collective in software. Returns its request, and its number among the collectives
    /// of the communicator. If the communicator has a row, a herald is posted there. The herald
    /// finds members that have called a collective in hardware.
    pub(crate) fn begin_software(
        &mut self,
        task: Task,
        path: Path,
        herald: Option<(u32, Operands)>,
    ) -> Result<(Request<'static>, u32)> {
        let now = self.port.now()?;
        let herald = match herald {
            Some((context, operands)) => {
                let descriptor = Descriptor::Herald { context };
                Some(self.post_collective(context, operands, descriptor, NOTHING)?)
            }
            None => None,
        };
        let communicator = task.call.communicator.0;
        let software = self.software.as_ref();
        let sequence = software.map_or(0, |software| software.next_in(communicator));
        let (outcome, request) = self.begin(Descriptor::Collective(CollectiveDescriptor {
            call: task.call,
            path,
            members: Arc::clone(&task.members),
            sequence,
            context: None,
            bytes: 0,
        }));
        let Some(software) = &mut self.software else {
            // Communicators are made from the world, which has set up the collectives in software.
            return Err(Error::BadCommunicator {
                rank: self.me,
                communicator: task.call.communicator,
                rule: "the communicator belongs to no run",
            });
        };
        software.begin(task, outcome, herald, now);
        while self.drive()? {}
        Ok((request, sequence))
    }
}

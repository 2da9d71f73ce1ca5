//! What DPI calls gave back, to be played to a model without Rust.

use std::time::Duration;

use crate::abi::RawRecording;
use crate::signal::ModelId;

/// The outputs of DPI calls, in the order of the calls; calls whose outputs were all zero take no room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    pub(crate) model: ModelId,
    seen: u64,
    calls: Vec<u64>,
    functions: Vec<u32>,
    offsets: Vec<u64>,
    words: Vec<u32>,
}

/// A recorded call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedCall<'a> {
    /// How many calls came before it.
    pub call: u64,
    /// The function's index.
    pub function: usize,
    /// The words it put out.
    pub output: &'a [u32],
}

impl Recording {
    pub(crate) fn new(model: ModelId) -> Self {
        Self {
            model,
            seen: 0,
            calls: Vec::new(),
            functions: Vec::new(),
            offsets: vec![0],
            words: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, function: u32, output: &[u32]) {
        if output.iter().any(|&word| word != 0) {
            self.calls.push(self.seen);
            self.functions.push(function);
            self.words.extend_from_slice(output);
            self.offsets.push(self.words.len() as u64);
        }
        self.seen += 1;
    }

    /// How many calls there were, those with outputs of zero included.
    pub fn calls(&self) -> u64 {
        self.seen
    }

    /// The calls whose outputs were not zero.
    pub fn iter(&self) -> impl Iterator<Item = RecordedCall<'_>> {
        self.calls
            .iter()
            .zip(&self.functions)
            .zip(self.offsets.windows(2))
            .map(|((&call, &function), range)| {
                let output = &self.words[range[0] as usize..range[1] as usize];
                RecordedCall {
                    call,
                    function: function as usize,
                    output,
                }
            })
    }

    /// The recording as the shim reads it; good for as long as `self` is neither changed nor dropped.
    pub(crate) fn raw(&self) -> RawRecording {
        RawRecording {
            calls: self.calls.as_ptr(),
            functions: self.functions.as_ptr(),
            offsets: self.offsets.as_ptr(),
            words: self.words.as_ptr(),
            entries: self.calls.len() as u64,
        }
    }
}

/// What a bare run did, see [`Instance::run_bare`](crate::Instance::run_bare).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BareRun {
    /// Clock cycles that it ran.
    pub cycles: u64,
    /// DPI calls that the model made.
    pub calls: u64,
    /// How long the loop took.
    pub elapsed: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_outputs_are_only_counted() {
        let mut recording = Recording::new(1);
        recording.push(0, &[0, 0]);
        recording.push(1, &[0, 7, 0]);
        recording.push(0, &[0, 0]);
        recording.push(0, &[1, 2]);
        assert_eq!(recording.calls(), 4);
        let calls: Vec<_> = recording
            .iter()
            .map(|call| (call.call, call.function, call.output.to_vec()))
            .collect();
        assert_eq!(calls, [(1, 1, vec![0, 7, 0]), (3, 0, vec![1, 2])]);
    }
}

//! Recorded results of DPI calls, for replay without Rust.

use std::time::Duration;

use crate::abi::RawRecording;
use crate::signal::ModelId;

/// Outputs of DPI calls, in order of the calls. Calls with all-zero outputs need no space.
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
    /// Number of earlier calls.
    pub call: u64,
    /// Index of the function.
    pub function: usize,
    /// Output words of the call.
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

    /// Number of calls, including calls with all-zero outputs.
    pub fn calls(&self) -> u64 {
        self.seen
    }

    /// Calls with outputs other than zero.
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

    /// The recording in the format of the shim, valid until `self` is changed or dropped.
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

/// Result of a bare run, see [`Instance::run_bare`](crate::Instance::run_bare).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BareRun {
    /// Number of clock cycles.
    pub cycles: u64,
    /// Number of DPI calls of the model.
    pub calls: u64,
    /// Duration of the loop.
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

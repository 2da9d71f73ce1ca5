//! The host side of a model: DPI calls, printed text and failures.

use std::any::Any;
use std::ffi::{CStr, c_char, c_void};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

use crate::abi::Callbacks;
use crate::recording::Recording;
use crate::{Failure, FailureKind};

/// Result of a DPI call for [`Instance::run`](crate::Instance::run).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Continue.
    Continue,
    /// Return after this clock cycle.
    Stop,
}

/// The host side of a model's DPI imports.
///
/// All imports have one form, so that no declaration can be wrong:
///
/// ```systemverilog
/// import "DPI-C" function void alcor_tick(
///     input longint unsigned handle, input bit [IW-1:0] in_bits, output bit [OW-1:0] out_bits);
/// ```
///
/// `IW` and `OW` are any widths, equal in all modules that import the function. The top module has
/// an input `input logic [63:0] dpi_handle_i`. The instance drives this input, and the model passes
/// it on as `handle`. A call with another value ends the instance.
///
/// `()` is a host without functions, for models without DPI imports.
pub trait Dpi: Send {
    /// A call of the function with index `function` in the build's list.
    ///
    /// `input` and `output` contain the packed vectors, least significant word first. `output` is
    /// zero at first. Bits above the vector's width are ignored. A panic ends the instance, and the
    /// evaluating call returns the panic as an error.
    fn call(&mut self, function: usize, input: &[u32], output: &mut [u32]) -> Flow;

    /// Prints text of the model (`$display`, `$warning`, ...). The default prints to standard
    /// error.
    fn print(&mut self, text: &str) {
        eprint!("{text}");
    }
}

impl Dpi for () {
    fn call(&mut self, _: usize, _: &[u32], _: &mut [u32]) -> Flow {
        Flow::Continue
    }
}

impl<T: Dpi + ?Sized> Dpi for Box<T> {
    fn call(&mut self, function: usize, input: &[u32], output: &mut [u32]) -> Flow {
        (**self).call(function, input, output)
    }

    fn print(&mut self, text: &str) {
        (**self).print(text);
    }
}

const FLOW_CONTINUE: u8 = 0;
const FLOW_STOP: u8 = 1;
const FLOW_FAILED: u8 = 2;

/// Data of an instance on the host side. The shim has its address.
pub(crate) struct Host<D> {
    pub(crate) dpi: D,
    pub(crate) name: String,
    pub(crate) failure: Option<Box<Failure>>,
    pub(crate) recording: Option<Recording>,
    /// A printed report whose failure has not arrived yet.
    report: String,
    panic: Option<String>,
}

impl<D: Dpi> Host<D> {
    pub(crate) fn new(name: String, dpi: D) -> Self {
        Self {
            dpi,
            name,
            failure: None,
            recording: None,
            report: String::new(),
            panic: None,
        }
    }

    pub(crate) const CALLBACKS: Callbacks = Callbacks {
        dpi: call::<D>,
        print: print::<D>,
        failure: failure::<D>,
    };

    /// Prints a pending report that no failure has used.
    pub(crate) fn flush(&mut self) {
        if !self.report.is_empty() {
            let text = mem::take(&mut self.report);
            self.print(&text);
        }
    }

    fn print(&mut self, text: &str) {
        if self.panic.is_none()
            && let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.dpi.print(text)))
        {
            let message = format!("Dpi::print: {}", panic_text(&*panic));
            self.fail(FailureKind::DpiPanic, String::new(), 0, message.clone(), 0);
            self.panic = Some(message);
        }
    }

    fn fail(&mut self, kind: FailureKind, file: String, line: u32, message: String, cycle: u64) {
        if self.failure.is_none() {
            let (instance, hier) = (self.name.clone(), String::new());
            self.failure = Some(Box::new(Failure {
                instance,
                kind,
                file,
                line,
                hier,
                message,
                cycle,
            }));
        }
    }

    fn record_failure(&mut self, code: u32, file: &str, line: u32, message: &str, cycle: u64) {
        if self.failure.is_some() {
            self.flush();
            return;
        }
        let report = mem::take(&mut self.report);
        let parsed = Report::parse(&report);
        let (kind, message) = match code {
            0 => (FailureKind::Finish, message.to_string()),
            1 => match &parsed {
                Some(report) if report.is_fatal => (FailureKind::Fatal, report.message.to_string()),
                Some(report) => (FailureKind::Error, report.message.to_string()),
                None => (FailureKind::Stop, message.to_string()),
            },
            4 => (FailureKind::Misdirected, format!("call of `{message}`")),
            5 => (FailureKind::Diverged, message.to_string()),
            6 => {
                let text = self.panic.as_deref().unwrap_or_default();
                (FailureKind::DpiPanic, format!("`{message}`: {text}"))
            }
            _ => (FailureKind::Runtime, message.to_string()),
        };
        self.fail(kind, file.to_string(), line, message, cycle);
        if let (Some(failure), Some(report)) = (&mut self.failure, parsed) {
            failure.hier = report.hier.to_string();
        }
    }
}

/// Text that a model prints before it stops for an error:
/// `[time] %Error: file:line: Assertion failed in scope: message`.
struct Report<'a> {
    is_fatal: bool,
    hier: &'a str,
    message: &'a str,
}

impl<'a> Report<'a> {
    fn is_one(text: &str) -> bool {
        text.contains("%Error: ") || text.contains("%Fatal: ")
    }

    fn parse(text: &'a str) -> Option<Self> {
        let (at, is_fatal) = match (text.find("%Error: "), text.find("%Fatal: ")) {
            (Some(at), _) => (at, false),
            (None, Some(at)) => (at, true),
            (None, None) => return None,
        };
        let rest = text[at + "%Error: ".len()..].trim_end();
        const INTRODUCTION: &str = "Assertion failed in ";
        let (hier, message) = match rest.find(INTRODUCTION) {
            Some(start) => {
                let rest = &rest[start + INTRODUCTION.len()..];
                rest.split_once(": ")
                    .unwrap_or((rest.trim_end_matches(':'), ""))
            }
            None => ("", rest),
        };
        Some(Self {
            is_fatal,
            hier,
            message,
        })
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| text.to_string())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panic without a text".into())
}

unsafe extern "C" fn call<D: Dpi>(
    user: *mut c_void,
    function: u32,
    input: *const u32,
    input_words: usize,
    output: *mut u32,
    output_words: usize,
) -> u8 {
    // SAFETY: `user` is the host given to `create`. The host lives as long as the instance, and the
    // present evaluation has exclusive access to both.
    let host = unsafe { &mut *user.cast::<Host<D>>() };
    // SAFETY: the shim passes its caller's arrays with their lengths; the output is filled with
    // zeros.
    let (input, output) = unsafe {
        (
            slice::from_raw_parts(input, input_words),
            slice::from_raw_parts_mut(output, output_words),
        )
    };
    if host.panic.is_some() {
        return FLOW_STOP;
    }
    let flow = match catch_unwind(AssertUnwindSafe(|| {
        host.dpi.call(function as usize, input, output)
    })) {
        Ok(Flow::Continue) => FLOW_CONTINUE,
        Ok(Flow::Stop) => FLOW_STOP,
        Err(panic) => {
            host.panic = Some(panic_text(&*panic));
            FLOW_FAILED
        }
    };
    if let Some(recording) = &mut host.recording {
        recording.push(function, output);
    }
    flow
}

unsafe extern "C" fn print<D: Dpi>(user: *mut c_void, text: *const c_char, length: usize) {
    // SAFETY: as in `call`.
    let host = unsafe { &mut *user.cast::<Host<D>>() };
    // SAFETY: the shim passes a text with its length.
    let bytes = unsafe { slice::from_raw_parts(text.cast::<u8>(), length) };
    let text = String::from_utf8_lossy(bytes);
    host.flush();
    if Report::is_one(&text) {
        host.report = text.into_owned();
    } else {
        host.print(&text);
    }
}

unsafe extern "C" fn failure<D: Dpi>(
    user: *mut c_void,
    kind: u32,
    file: *const c_char,
    line: u32,
    message: *const c_char,
    cycle: u64,
) {
    // SAFETY: as in `call`.
    let host = unsafe { &mut *user.cast::<Host<D>>() };
    // SAFETY: the shim passes C strings, never null.
    let (file, message) = unsafe { (CStr::from_ptr(file), CStr::from_ptr(message)) };
    host.record_failure(
        kind,
        &file.to_string_lossy(),
        line,
        &message.to_string_lossy(),
        cycle,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_parsed() {
        let report =
            Report::parse("[12] %Error: t.sv:7: Assertion failed in top.u_a.a_x: count is 5\n")
                .unwrap();
        assert_eq!(
            (report.is_fatal, report.hier, report.message),
            (false, "top.u_a.a_x", "count is 5")
        );
        let report = Report::parse("[0] %Fatal: t.sv:7: Assertion failed in top: a: b\n").unwrap();
        assert_eq!(
            (report.is_fatal, report.hier, report.message),
            (true, "top", "a: b")
        );
        assert!(Report::parse("hello\n").is_none());
    }
}

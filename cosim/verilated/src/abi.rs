//! Structs shared with the shim; `shim/shim.cpp` has the same structs in C++.

use std::ffi::{c_char, c_int, c_void};

/// Version of the structs below. Change the version with each change of a struct.
pub(crate) const SHIM_VERSION: u32 = 2;

/// The symbol that a model's library exports: `extern "C" fn() -> *const Api`.
pub(crate) const ENTRY: &[u8] = b"alcor_model_api\0";

/// An instance, as the shim keeps it.
#[repr(C)]
pub(crate) struct RawInstance {
    _opaque: [u8; 0],
}

/// Functions that the shim calls.
#[repr(C)]
pub(crate) struct Callbacks {
    pub(crate) dpi:
        unsafe extern "C" fn(*mut c_void, u32, *const u32, usize, *mut u32, usize) -> u8,
    pub(crate) print: unsafe extern "C" fn(*mut c_void, *const c_char, usize),
    pub(crate) failure:
        unsafe extern "C" fn(*mut c_void, u32, *const c_char, u32, *const c_char, u64),
}

/// A port of the model.
#[repr(C)]
pub(crate) struct RawSignal {
    pub(crate) name: *const c_char,
    pub(crate) direction: u32,
    pub(crate) width: u32,
    pub(crate) bytes: u32,
}

/// A public variable of an instance.
#[repr(C)]
pub(crate) struct RawVariable {
    pub(crate) scope: *const c_char,
    pub(crate) name: *const c_char,
    pub(crate) data: *mut c_void,
    pub(crate) elements: u64,
    pub(crate) dimensions: u32,
    pub(crate) element_bits: u32,
    pub(crate) element_bytes: u32,
    pub(crate) writable: u8,
}

/// A part of an instance's state.
#[repr(C)]
pub(crate) struct RawPart {
    pub(crate) data: *mut c_void,
    pub(crate) bytes: u64,
    pub(crate) width: u32,
    pub(crate) kind: u32,
}

/// A recording for replay.
#[repr(C)]
pub(crate) struct RawRecording {
    pub(crate) calls: *const u64,
    pub(crate) functions: *const u32,
    pub(crate) offsets: *const u64,
    pub(crate) words: *const u32,
    pub(crate) entries: u64,
}

/// Result of a bare run.
#[repr(C)]
#[derive(Default)]
pub(crate) struct RawBare {
    pub(crate) cycles: u64,
    pub(crate) calls: u64,
    pub(crate) nanoseconds: u64,
}

/// Functions of the shim. A path is a C string; `user` is the argument of `create`.
#[repr(C)]
pub(crate) struct Api {
    pub(crate) version: u32,
    pub(crate) has_trace: u32,
    pub(crate) has_coverage: u32,
    pub(crate) signal_count: u32,
    pub(crate) signals: *const RawSignal,
    pub(crate) create:
        unsafe extern "C" fn(*const Callbacks, *mut c_void, c_int) -> *mut RawInstance,
    pub(crate) destroy: unsafe extern "C" fn(*mut RawInstance),
    pub(crate) signal: unsafe extern "C" fn(*mut RawInstance, usize) -> *mut c_void,
    pub(crate) variables: unsafe extern "C" fn(
        *mut RawInstance,
        *mut c_void,
        unsafe extern "C" fn(*mut c_void, *const RawVariable),
    ),
    pub(crate) eval: unsafe extern "C" fn(*mut RawInstance),
    pub(crate) run: unsafe extern "C" fn(*mut RawInstance, *mut u8, u64) -> u64,
    pub(crate) run_bare:
        unsafe extern "C" fn(*mut RawInstance, *mut u8, u64, *const RawRecording, *mut RawBare),
    pub(crate) finish: unsafe extern "C" fn(*mut RawInstance),
    pub(crate) set_half_period: unsafe extern "C" fn(*mut RawInstance, u64),
    pub(crate) time: unsafe extern "C" fn(*mut RawInstance) -> u64,
    pub(crate) trace_start: unsafe extern "C" fn(*mut RawInstance, *const c_char),
    pub(crate) trace_stop: unsafe extern "C" fn(*mut RawInstance),
    pub(crate) coverage_write: unsafe extern "C" fn(*mut RawInstance, *const c_char),
    pub(crate) state: unsafe extern "C" fn(
        *mut RawInstance,
        *mut c_void,
        unsafe extern "C" fn(*mut c_void, *const RawPart),
    ),
    pub(crate) skip: unsafe extern "C" fn(*mut RawInstance, u64),
}

// SAFETY: the table is constant data of a library that is never unloaded.
unsafe impl Sync for Api {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::size_of;

    #[test]
    fn sizes_are_those_of_the_shim() {
        assert_eq!(size_of::<Callbacks>(), 24);
        assert_eq!(size_of::<RawSignal>(), 24);
        assert_eq!(size_of::<RawVariable>(), 48);
        assert_eq!(size_of::<RawPart>(), 24);
        assert_eq!(size_of::<RawRecording>(), 40);
        assert_eq!(size_of::<RawBare>(), 24);
        assert_eq!(size_of::<Api>(), 144);
    }
}

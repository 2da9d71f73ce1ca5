//! Loads and stores of up to 64 bytes, each one access on the bus.
//!
//! A load from uncached or write-combining memory fetches as many bytes as its instruction names
//! (Intel, "Copying Accelerated Video Decode Frame Buffers", on USWC memory). So the widest vector
//! registers need the fewest round trips to the card.

/// Bytes of the widest access of any processor.
pub(crate) const WIDEST: usize = 64;

/// Returns the width of the widest access in bytes: 8, 16, 32 or 64.
///
/// A guest of a hypervisor uses 16 bytes at most. A hypervisor that serves the card itself emulates
/// each access, and KVM emulates no instruction of AVX.
#[cfg(target_arch = "x86_64")]
pub(crate) fn widest() -> usize {
    /// Bit of ECX of leaf 1 that hypervisors set.
    const HYPERVISOR: u32 = 1 << 31;
    if std::arch::x86_64::__cpuid(1).ecx & HYPERVISOR != 0 {
        16
    } else {
        of_processor()
    }
}

/// Returns the width of the processor's vector registers in bytes.
#[cfg(target_arch = "x86_64")]
fn of_processor() -> usize {
    if std::is_x86_feature_detected!("avx512f") {
        64
    } else if std::is_x86_feature_detected!("avx") {
        32
    } else {
        16
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn widest() -> usize {
    8
}

/// Sends the stores that the processor combines, and orders them before all later stores.
#[cfg(target_arch = "x86_64")]
pub(crate) fn flush() {
    // SAFETY: every x86-64 processor has this instruction, which accesses nothing.
    unsafe { std::arch::x86_64::_mm_sfence() }
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn flush() {
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

/// Copies nothing: no unit is wider than 8 bytes here.
///
/// # Safety
/// As on x86-64.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) unsafe fn copy(_from: *const u8, _to: *mut u8, _width: usize) {}

/// Copies `width` bytes by one load and one store: 16, 32 or 64 bytes. Any other width copies nothing.
///
/// # Safety
/// Both places are valid for `width` bytes. The one that is memory of a device is a multiple of
/// `width`. The processor has vector registers of this width.
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, width: usize) {
    use std::arch::asm;
    match width {
        // SAFETY: the caller vouches for the places. Every x86-64 processor has these instructions.
        // `asm!` reads and writes memory, so the compiler neither moves nor drops an access.
        16 => unsafe {
            asm!(
                "movdqu xmm0, [{from}]", "movdqu [{to}], xmm0",
                from = in(reg) from, to = in(reg) to, out("xmm0") _, options(nostack, preserves_flags)
            );
        },
        // SAFETY: as above; the caller vouches for the instructions too. All vector registers are
        // declared as changed.
        32 => unsafe {
            asm!(
                "vmovdqu ymm0, [{from}]", "vmovdqu [{to}], ymm0", "vzeroupper",
                from = in(reg) from, to = in(reg) to, clobber_abi("sysv64"), options(nostack)
            );
        },
        // SAFETY: as above.
        64 => unsafe {
            asm!(
                "vmovdqu64 zmm0, [{from}]", "vmovdqu64 [{to}], zmm0", "vzeroupper",
                from = in(reg) from, to = in(reg) to, clobber_abi("sysv64"), options(nostack)
            );
        },
        _ => {}
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn every_width_copies_its_bytes_and_no_more() {
        for width in [16, 32, 64] {
            if width > of_processor() {
                continue;
            }
            let from: Vec<u8> = (1..=200).collect();
            let mut to = vec![0; 200];
            // SAFETY: both places have 64 bytes and more, and the processor has this width.
            unsafe {
                copy(
                    from.as_ptr().wrapping_add(3),
                    to.as_mut_ptr().wrapping_add(5),
                    width,
                )
            };
            assert_eq!(to[5..5 + width], from[3..3 + width]);
            assert!(
                to[..5]
                    .iter()
                    .chain(&to[5 + width..])
                    .all(|&byte| byte == 0)
            );
        }
        assert!(widest() <= of_processor());
    }
}

//! Members of the structs of `hw/common/rtl/host_types.svh`, the highest first, for
//! [`Recipe::bundle`](crate::Recipe::bundle).

/// Members of `lite_request_t`.
pub const LITE_REQUEST: [(&str, usize); 8] = [
    ("awvalid", 1),
    ("awaddr", 18),
    ("wvalid", 1),
    ("wdata", 32),
    ("bready", 1),
    ("arvalid", 1),
    ("araddr", 18),
    ("rready", 1),
];
/// Members of `lite_answer_t`.
pub const LITE_ANSWER: [(&str, usize); 6] = [
    ("awready", 1),
    ("wready", 1),
    ("bvalid", 1),
    ("arready", 1),
    ("rvalid", 1),
    ("rdata", 32),
];
/// Members of `dma_request_t`.
pub const DMA_REQUEST: [(&str, usize); 9] = [
    ("awvalid", 1),
    ("awaddr", 32),
    ("wvalid", 1),
    ("wlast", 1),
    ("bready", 1),
    ("arvalid", 1),
    ("araddr", 32),
    ("arlen", 8),
    ("rready", 1),
];
/// Members of `dma_answer_t`.
pub const DMA_ANSWER: [(&str, usize); 6] = [
    ("awready", 1),
    ("wready", 1),
    ("bvalid", 1),
    ("arready", 1),
    ("rvalid", 1),
    ("rlast", 1),
];

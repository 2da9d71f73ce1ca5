//! The benches of all hardware blocks, each of which lives beside its block.

#[path = "../../common/bench/fifo.rs"]
mod fifo;
#[path = "../../common/bench/fifo_async.rs"]
mod fifo_async;
#[path = "../../common/bench/ram_sdp.rs"]
mod ram_sdp;
#[path = "../../rma/bench/rma.rs"]
mod rma;
#[path = "../../rma/bench/rma_command_queue.rs"]
mod rma_command_queue;
#[path = "../../rma/bench/rma_registration_table.rs"]
mod rma_registration_table;
#[path = "../../router/bench/router.rs"]
mod router;
#[path = "../../common/bench/rr_arbiter.rs"]
mod rr_arbiter;
#[path = "../../rma/bench/rma_mm_read.rs"]
mod rma_mm_read;
#[path = "../../rma/bench/rma_mm_write.rs"]
mod rma_mm_write;

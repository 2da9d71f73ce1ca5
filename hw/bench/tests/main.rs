//! The benches of all hardware blocks. Each bench is in the folder of its block.

#[path = "../../alpu/bench/alpu.rs"]
mod alpu;
#[path = "../../alpu/bench/alpu_model.rs"]
mod alpu_model;
#[path = "../../alpu/bench/alpu_waves.rs"]
mod alpu_waves;
#[path = "../../core/bench/axi_dma_port.rs"]
mod axi_dma_port;
#[path = "../../core/bench/axi_lite_port.rs"]
mod axi_lite_port;
#[path = "../../core/bench/board_control.rs"]
mod board_control;
#[path = "../../switch/bench/cluster_sync.rs"]
mod cluster_sync;
#[path = "../../switch/bench/coll_lost.rs"]
mod coll_lost;
#[path = "../../switch/bench/coll_pick.rs"]
mod coll_pick;
#[path = "../../switch/bench/coll_stage.rs"]
mod coll_stage;
#[path = "../../switch/bench/coll_stage_model.rs"]
mod coll_stage_model;
#[path = "../../switch/bench/coll_table.rs"]
mod coll_table;
#[path = "../../switch/bench/coll_units.rs"]
mod coll_units;
#[path = "../../switch/bench/coll_window.rs"]
mod coll_window;
#[path = "../../switch/bench/collective.rs"]
mod collective;
#[path = "../../switch/bench/collective_boards.rs"]
mod collective_boards;
#[path = "../../switch/bench/collective_model.rs"]
mod collective_model;
#[path = "../../common/bench/common_waves.rs"]
mod common_waves;
#[path = "../../core/bench/core.rs"]
mod core;
#[path = "../../core/bench/core_waves.rs"]
mod core_waves;
#[path = "../../common/bench/fifo.rs"]
mod fifo;
#[path = "../../common/bench/fifo_async.rs"]
mod fifo_async;
#[path = "../../core/bench/host_side.rs"]
mod host_side;
#[path = "../../core/bench/kernel_memory.rs"]
mod kernel_memory;
#[path = "../../core/bench/kernel_port.rs"]
mod kernel_port;
#[path = "../../link/bench/link_end.rs"]
mod link_end;
#[path = "../../link/bench/link_pair.rs"]
mod link_pair;
#[path = "../../link/bench/link_units.rs"]
mod link_units;
#[path = "../../link/bench/link_waves.rs"]
mod link_waves;
#[path = "../../nic/bench/match_queue.rs"]
mod match_queue;
#[path = "../../match/bench/match_store.rs"]
mod match_store;
#[path = "../../match/bench/match_waves.rs"]
mod match_waves;
#[path = "../../nic/bench/message_engine.rs"]
mod message_engine;
#[path = "../../nic/bench/nic_waves.rs"]
mod nic_waves;
#[path = "../../core/bench/node_memory.rs"]
mod node_memory;
#[path = "../../common/bench/ram_sdp.rs"]
mod ram_sdp;
#[path = "../../common/bench/reset_pipe.rs"]
mod reset_pipe;
#[path = "../../rma/bench/rma.rs"]
mod rma;
#[path = "../../rma/bench/rma_atomic.rs"]
mod rma_atomic;
#[path = "../../rma/bench/rma_command_queue.rs"]
mod rma_command_queue;
#[path = "../../rma/bench/rma_completion_queue.rs"]
mod rma_completion_queue;
#[path = "../../rma/bench/rma_coprocessor.rs"]
mod rma_coprocessor;
#[path = "../../rma/bench/rma_messages.rs"]
mod rma_messages;
#[path = "../../rma/bench/rma_mm_read.rs"]
mod rma_mm_read;
#[path = "../../rma/bench/rma_mm_write.rs"]
mod rma_mm_write;
#[path = "../../rma/bench/rma_packet_controller.rs"]
mod rma_packet_controller;
#[path = "../../rma/bench/rma_registration_table.rs"]
mod rma_registration_table;
#[path = "../../rma/bench/rma_sync.rs"]
mod rma_sync;
#[path = "../../rma/bench/rma_waves.rs"]
mod rma_waves;
#[path = "../../router/bench/router.rs"]
mod router;
#[path = "../../router/bench/router_model.rs"]
mod router_model;
#[path = "../../router/bench/router_waves.rs"]
mod router_waves;
#[path = "../../common/bench/rr_arbiter.rs"]
mod rr_arbiter;
#[path = "../../common/bench/segmenter.rs"]
mod segmenter;
#[path = "../../common/bench/slr_stream.rs"]
mod slr_stream;
#[path = "../../common/bench/stream_pick.rs"]
mod stream_pick;
#[path = "../../switch/bench/router.rs"]
mod switch_router;
#[path = "../../switch/bench/router_network.rs"]
mod switch_router_network;
#[path = "../../switch/bench/switch_waves.rs"]
mod switch_waves;
#[path = "../../board/u280/bench/u280.rs"]
mod u280;
#[path = "../../switch/bench/uplink.rs"]
mod uplink;
#[path = "../../fp/bench/vector_aglu.rs"]
mod vector_aglu;

common/rtl/ram_sdp.sv
common/rtl/fifo.sv
common/rtl/sync_2ff.sv
common/rtl/fifo_async.sv
common/rtl/rr_arbiter.sv
common/rtl/skid_buffer.sv
common/rtl/stream_pick.sv
common/rtl/segmenter.sv

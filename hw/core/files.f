core/rtl/node_memory.sv
core/rtl/axi_lite_port.sv
core/rtl/axi_dma_port.sv
core/rtl/board_registers.sv
core/rtl/cluster_sync.sv
core/rtl/core.sv

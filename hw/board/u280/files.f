board/u280/rtl/dma_join.sv
board/u280/rtl/slr_axi.sv
board/u280/rtl/lite_split.sv
board/u280/rtl/links_registers.sv
board/u280/rtl/user_irq.sv
board/u280/rtl/u280_pcie.sv
board/u280/rtl/u280_cage.sv
board/u280/rtl/u280_top.sv

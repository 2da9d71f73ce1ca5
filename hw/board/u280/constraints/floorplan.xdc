# Which super logic region (SLR) of the die each block belongs to, and the registers at the borders between them. Read after
# synth_design, as cells have names only then.
#
# The die has three regions. PCIe's block and its transceivers (quads 224 to 227) are in SLR0, the cages' transceivers (quads 134
# and 135) and controllers in SLR2: as in the pblocks of github.com/Xilinx/open-nic-shell and github.com/corundum/corundum for
# this card. `core` is in SLR1, so that each bus crosses one border at a time.

create_pblock slr0
resize_pblock [get_pblocks slr0] -add {SLR0}
add_cells_to_pblock [get_pblocks slr0] [get_cells {u_pcie/u_xdma u_pcie/g_master[*].u_dma_width u_pcie/u_dma_join u_pcie/u_*_order}]
add_cells_to_pblock [get_pblocks slr0] [get_cells {u_pcie/u_reset_host u_pcie/u_irq_host u_pcie/g_irq[*].u_irq}]
add_cells_to_pblock [get_pblocks slr0] [get_cells {u_pcie/u_lite_slr/u_aw/u_source_* u_pcie/u_lite_slr/u_w/u_source_* u_pcie/u_lite_slr/u_ar/u_source_*}]
add_cells_to_pblock [get_pblocks slr0] [get_cells {u_pcie/u_lite_slr/u_b/u_sink_* u_pcie/u_lite_slr/u_r/u_sink_*}]
add_cells_to_pblock [get_pblocks slr0] [get_cells {u_pcie/u_dma_slr/u_aw/u_source_* u_pcie/u_dma_slr/u_w/u_source_* u_pcie/u_dma_slr/u_ar/u_source_*}]
add_cells_to_pblock [get_pblocks slr0] [get_cells {u_pcie/u_dma_slr/u_b/u_sink_* u_pcie/u_dma_slr/u_r/u_sink_* u_pcie/u_copy_slr/u_sink_*}]

create_pblock slr1
resize_pblock [get_pblocks slr1] -add {SLR1}
add_cells_to_pblock [get_pblocks slr1] [get_cells {u_core u_lite_split u_links_registers u_pcie/u_reset_core u_pcie/u_irq_core}]
add_cells_to_pblock [get_pblocks slr1] [get_cells {u_pcie/u_lite_slr/u_aw/u_sink_* u_pcie/u_lite_slr/u_w/u_sink_* u_pcie/u_lite_slr/u_ar/u_sink_*}]
add_cells_to_pblock [get_pblocks slr1] [get_cells {u_pcie/u_lite_slr/u_b/u_source_* u_pcie/u_lite_slr/u_r/u_source_*}]
add_cells_to_pblock [get_pblocks slr1] [get_cells {u_pcie/u_dma_slr/u_aw/u_sink_* u_pcie/u_dma_slr/u_w/u_sink_* u_pcie/u_dma_slr/u_ar/u_sink_*}]
add_cells_to_pblock [get_pblocks slr1] [get_cells {u_pcie/u_dma_slr/u_b/u_source_* u_pcie/u_dma_slr/u_r/u_source_* u_pcie/u_copy_slr/u_source_*}]
add_cells_to_pblock [get_pblocks slr1] [get_cells {g_link[*].u_cage/u_out_core g_link[*].u_cage/u_in_core}]

create_pblock slr2
resize_pblock [get_pblocks slr2] -add {SLR2}
add_cells_to_pblock [get_pblocks slr2] [get_cells {g_link[*].u_cage/u_out_cage g_link[*].u_cage/u_in_cage g_link[*].u_cage/u_link_end}]
add_cells_to_pblock [get_pblocks slr2] [get_cells {g_link[0].u_cage/g_cage0.u_cmac g_link[1].u_cage/g_cage1.u_cmac}]

# The registers of a border may be those of the crossing itself. Vivado ignores the property where no border is.
set_property USER_SLL_REG TRUE [get_cells -hierarchical -filter {NAME =~ */pipe_q_reg* || NAME =~ u_pcie/u_reset_*/rst_q_reg*}]

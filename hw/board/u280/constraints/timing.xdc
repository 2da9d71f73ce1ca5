# Clocks and exceptions of u280_top. Clocks that the IP makes are constrained by the IP's own files.

create_clock -name pcie_refclk -period 10.000 [get_ports {pcie_refclk_p_i}]
create_clock -name clk100 -period 10.000 [get_ports {clk100_p_i}]
create_clock -name qsfp0_refclk -period 6.206 [get_ports {qsfp_refclk_p_i[0]}]
create_clock -name qsfp1_refclk -period 6.206 [get_ports {qsfp_refclk_p_i[1]}]

# The core's clock and each link's cross in fifo_async, sync_2ff and their like. A Gray-coded pointer needs its bits to arrive
# within a period of each other, and a word of a FIFO's RAM before its pointer: so the ways are bounded by less than a period of
# the faster clock, not left out.
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {u_xdma/axi_aclk}]] -to [get_clocks -of_objects [get_pins {g_link[0].g_cage0.u_cmac/gt_txusrclk2}]] 3.000
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {g_link[0].g_cage0.u_cmac/gt_txusrclk2}]] -to [get_clocks -of_objects [get_pins {u_xdma/axi_aclk}]] 3.000
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {u_xdma/axi_aclk}]] -to [get_clocks -of_objects [get_pins {g_link[1].g_cage1.u_cmac/gt_txusrclk2}]] 3.000
set_max_delay -datapath_only -from [get_clocks -of_objects [get_pins {g_link[1].g_cage1.u_cmac/gt_txusrclk2}]] -to [get_clocks -of_objects [get_pins {u_xdma/axi_aclk}]] 3.000

# Levels that a person or a cable sets; what hears them has synchronisers, or does not mind when.
set_false_path -from [get_ports {pcie_perst_ni}]
set_false_path -to [get_ports {hbm_cattrip_o qsfp_refclk_oe_no[*] qsfp_refclk_fs_o[*]}]

# Clocks of the pins, and what is asynchronous at them: for synthesis and implementation. Clocks that the IP make are constrained
# by the IP's own files; crossings between clocks by hw/common/constraints and hw/link/constraints, after synthesis.

create_clock -name pcie_refclk -period 10.000 [get_ports {pcie_refclk_p_i}]
create_clock -name clk100 -period 10.000 [get_ports {clk100_p_i}]
create_clock -name qsfp0_refclk -period 6.206 [get_ports {qsfp_refclk_p_i[0]}]
create_clock -name qsfp1_refclk -period 6.206 [get_ports {qsfp_refclk_p_i[1]}]

# Levels that a person or a cable sets; what hears them has synchronisers, or does not mind when. The delays of 0 ns say that the
# pins are not forgotten: `check_timing` reports a pin without a delay.
set_false_path -from [get_ports {pcie_perst_ni}]
set_input_delay 0 [get_ports {pcie_perst_ni}]
set_false_path -to [get_ports {hbm_cattrip_o qsfp_refclk_oe_no[*] qsfp_refclk_fs_o[*]}]
set_output_delay 0 [get_ports {hbm_cattrip_o qsfp_refclk_oe_no[*] qsfp_refclk_fs_o[*]}]

dpi/host_bfm.sv
dpi/sim_links.sv
dpi/sim_top.sv

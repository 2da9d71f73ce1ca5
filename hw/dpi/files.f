dpi/host_bfm.sv
dpi/sim_top.sv

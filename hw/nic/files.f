nic/rtl/alcor_nic_pkg.sv
nic/rtl/match_queue.sv

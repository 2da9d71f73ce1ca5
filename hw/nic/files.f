nic/rtl/alcor_nic_pkg.sv
nic/rtl/match_queue.sv
nic/rtl/message_matcher.sv
nic/rtl/message_delivery.sv
nic/rtl/message_engine.sv

nic/rtl/match_queue.sv
nic/rtl/message_entries.sv
nic/rtl/message_verdict.sv
nic/rtl/message_arrivals.sv
nic/rtl/message_matcher.sv
nic/rtl/message_delivery.sv
nic/rtl/message_engine.sv

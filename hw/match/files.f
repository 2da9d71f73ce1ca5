match/rtl/alcor_match_pkg.sv
match/rtl/match_contexts.sv
match/rtl/match_pairs.sv
match/rtl/match_outcome.sv
match/rtl/match_best.sv
match/rtl/match_lane.sv
match/rtl/match_store.sv

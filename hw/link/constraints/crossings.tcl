# Bounds of the two buses of a link end that cross between clocks without a synchroniser, because they stand still while they
# are read. Read after hw/common/constraints/crossings.tcl, likewise.
foreach end [get_cells -hierarchical -filter {ORIG_REF_NAME == link_end || REF_NAME == link_end}] {
  # Counts: from the controller's clock, held until the core's side has taken them.
  # Resets: from the core's clock, taken in reset.
  foreach {from to} {u_counts/held_q u_counts/counts_o resets_q u_rx/u_session/resets_q} {
    set from [get_cells "$end/${from}_reg\[*\]"]
    set to [get_cells "$end/${to}_reg\[*\]"]
    set source_clock [get_clocks -of_objects $from]
    set sink_clock [get_clocks -of_objects $to]
    if {[llength $source_clock] != 1 || [llength $sink_clock] != 1} { error "crossings.tcl: $end has not one clock on each side" }
    set bound [expr {min([get_property PERIOD $source_clock], [get_property PERIOD $sink_clock])}]
    set_max_delay -datapath_only -from $from -to $to $bound
    set_bus_skew -from $from -to $to $bound
  }
}

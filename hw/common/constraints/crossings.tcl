# Bounds of each sync_2ff and fifo_async between two clocks. Tcl, not XDC: read by `read_xdc -unmanaged` after synth_design,
# as only then are there clocks of IP.
#
# Vivado relates all clocks to each other. A crossing that no bound covers is timed as if its clocks had a known phase, fails,
# and stops the build: what is forgotten here is noticed.

# Pointers, levels and keys into a synchroniser. The bits of a Gray-coded pointer, or of a key that is compared with itself a
# cycle later, must arrive within a period of each other.
foreach sync [get_cells -hierarchical -filter {ORIG_REF_NAME == sync_2ff || REF_NAME == sync_2ff}] {
  set to [get_cells "$sync/meta_q_reg\[*\]"]
  set sink_clock [get_clocks -of_objects $to]
  if {[llength $sink_clock] != 1} { error "crossings.tcl: $sync has [llength $sink_clock] clocks" }
  set from [all_fanin -flat -startpoints_only -only_cells [get_pins -of_objects $to -filter {REF_PIN_NAME == D}]]
  set source_clock [get_clocks -quiet -of_objects $from]
  # A pin of the package has no clock; the board's constraints say what it is.
  if {[llength $source_clock] == 0} { continue }
  if {[llength $source_clock] != 1} { error "crossings.tcl: $sync hears [llength $source_clock] clocks" }
  set bound [expr {min([get_property PERIOD $source_clock], [get_property PERIOD $sink_clock])}]
  set_max_delay -datapath_only -from $from -to $to $bound
  if {[llength $to] > 1} { set_bus_skew -from $from -to $to $bound }
}

# A word of a FIFO's RAM, which must be there before its pointer: the pointer takes two periods of the reader's clock.
foreach fifo [get_cells -hierarchical -filter {ORIG_REF_NAME == fifo_async || REF_NAME == fifo_async}] {
  set write_clock [get_clocks -of_objects [get_cells "$fifo/wgray_q_reg\[*\]"]]
  set to [get_cells "$fifo/data_q_reg\[*\]"]
  set read_clock [get_clocks -of_objects $to]
  if {[llength $write_clock] != 1 || [llength $read_clock] != 1} { error "crossings.tcl: $fifo has not one clock on each side" }
  set bound [expr {min([get_property PERIOD $write_clock], [get_property PERIOD $read_clock])}]
  set_max_delay -datapath_only -from $write_clock -to $to $bound
}

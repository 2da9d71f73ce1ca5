# Builds the bitstream of a configuration for the Alveo U280, without a project:
#
#   vivado -mode batch -source hw/board/u280/build.tcl -tclargs ?-configuration NAME? ?-out FOLDER? ?-jobs N? ?-dirty?
#
# NAME is one of hw/core/configs.toml with two links (u280 unless said otherwise). FOLDER (target/u280/NAME) gets NAME.bit,
# timing.rpt, utilisation.rpt and build.toml, which `alcor bitstream pack` reads, NAME.mcs for the card's flash, and more reports.
# A tree with changes that are not committed has no revision, so it is refused, but for -dirty, which writes revision 0.
#
# `check` beside this file runs this script in tclsh, with stubs in place of Vivado's commands.

set tool_version 2023.1
set part xcu280-fsvh2892-2L-e
set here [file dirname [file normalize [info script]]]
set root [file normalize [file join $here .. .. ..]]

# ---------------------------------------------------------------- what is to be built

set options [dict create -configuration u280 -out "" -jobs 4 -dirty 0]
for {set i 0} {$i < [llength $argv]} {incr i} {
  set option [lindex $argv $i]
  if {$option eq "-dirty"} {
    dict set options -dirty 1
  } elseif {[dict exists $options $option] && $i + 1 < [llength $argv]} {
    dict set options $option [lindex $argv [incr i]]
  } else {
    error "build.tcl: what is $option? Options: -configuration NAME, -out FOLDER, -jobs N, -dirty"
  }
}
set configuration [dict get $options -configuration]
set out [dict get $options -out]
if {$out eq ""} { set out [file join $root target u280 $configuration] }
set out [file normalize $out]

proc contents {path} {
  set file [open $path r]
  set text [read $file]
  close $file
  return $text
}

# What `configs.toml` says of a configuration, its bases' first: `params = { NAME = NUMBER, ... }`, `base = "NAME"` and
# `kernel = { module = "NAME", sources = ["FILE", ...] }` below `[NAME]`, each in a line of its own. A dictionary of params,
# and where there is a kernel of kernel (its module) and sources.
proc described {path root configuration} {
  set inside 0
  set known 0
  set found [dict create params {}]
  foreach line [split [contents $path] \n] {
    if {[regexp {^\[([^\]]+)\]} $line -> name]} {
      set inside [expr {$name eq $configuration}]
      if {$inside} { set known 1 }
    }
    if {!$inside} { continue }
    if {[regexp {^base *= *"([^"]+)"} $line -> base]} {
      set found [described $path $root $base]
    }
    if {[regexp {^params *= *\{(.*)\}} $line -> list]} {
      foreach item [split $list ,] {
        if {![regexp {^ *([A-Z_]+) *= *([0-9]+) *$} $item -> key value]} {
          error "build.tcl: $path, \[$configuration\]: cannot read \"$item\""
        }
        dict set found params $key $value
      }
    }
    if {[regexp {^kernel *= *\{ *module *= *"([^"]+)" *, *sources *= *\[(.*)\] *\}} $line -> module list]} {
      dict set found kernel $module
      set sources {}
      foreach item [split $list ,] { lappend sources [file join $root [string trim $item " \""]] }
      dict set found sources $sources
      if {![dict exists $found params KERNEL]} { dict set found params KERNEL 32 }
    }
  }
  if {!$known} { error "build.tcl: $path has no configuration $configuration" }
  return $found
}

set description [described [file join $root hw core configs.toml] $root $configuration]
set params [dict get $description params]
if {![dict exists $params LINKS] || [dict get $params LINKS] != 2} {
  error "build.tcl: $configuration is not for this board, which has two link ports: LINKS must be 2"
}

# What the ID block will say. The hash comes from the package that the sources import; u280_top compares.
set abi_package [file join $root hw abi generated alcor_abi_pkg.sv]
if {![regexp {ABI_HASH = 32'h([0-9A-F]{8})} [contents $abi_package] -> abi_hash]} {
  error "build.tcl: no ABI_HASH in $abi_package: run hw/abi/generate"
}
if {[dict get $options -dirty]} {
  set revision 00000000
} else {
  if {[exec git -C $root status --porcelain] ne ""} {
    error "build.tcl: the tree has changes that are not committed; commit them, or say -dirty for a build without a revision"
  }
  set revision [string range [exec git -C $root rev-parse HEAD] 0 7]
}

if {[string first $tool_version [version -short]] != 0} {
  error "build.tcl: this is Vivado [version -short]; the IP's versions are those of Vivado $tool_version"
}

file mkdir $out
set_param general.maxThreads [dict get $options -jobs]
create_project -in_memory -part $part
set_property target_language Verilog [current_project]
set_property default_lib work [current_project]

# ---------------------------------------------------------------- sources: the blocks' own lists

foreach block [concat [contents [file join $root hw core blocks]] link board/u280] {
  foreach path [contents [file join $root hw $block files.f]] {
    read_verilog -sv [file join $root hw $path]
  }
}
# The kernel beside each coprocessor: its sources, and the macro that names its module.
set defines {}
if {[dict exists $description kernel]} {
  foreach path [dict get $description sources] { read_verilog -sv $path }
  set defines [list ALCOR_KERNEL=[dict get $description kernel]]
}

# ---------------------------------------------------------------- IP

set ip_folder [file join $out ip]
file delete -force $ip_folder
file mkdir $ip_folder

# Creates an IP with these properties, and synthesises it by itself.
proc ip {name version module properties} {
  global ip_folder
  create_ip -name $name -vendor xilinx.com -library ip -version $version -module_name $module -dir $ip_folder
  set given {}
  dict for {key value} $properties { lappend given CONFIG.$key $value }
  set_property -dict $given [get_ips $module]
  generate_target all [get_ips $module]
  synth_ip [get_ips $module]
}

# MiB of the memory BAR: the pages lie behind all node memories, at a power of two.
set memory_bar [expr {2 * max(1, [dict get $params RANKS] * [dict get $params NODE_BYTES] / 1048576)}]

# DMA in memory-mapped mode, registers and memory behind BARs of their own, an interrupt a rank. The second channel to the host
# takes its descriptors from the core: copies of completions.
ip xdma 4.1 xdma_u280 [dict create \
  functional_mode DMA \
  mode_selection Advanced \
  pcie_blk_locn PCIE4C_X1Y0 \
  en_gt_selection true \
  select_quad GTY_Quad_227 \
  pl_link_cap_max_link_width X16 \
  pl_link_cap_max_link_speed 8.0_GT/s \
  ref_clk_freq 100_MHz \
  axi_data_width 512_bit \
  axisten_freq 250 \
  axi_addr_width 64 \
  axi_id_width 4 \
  xdma_axi_intf_mm AXI_Memory_Mapped \
  xdma_rnum_chnl 2 \
  xdma_wnum_chnl 2 \
  xdma_num_usr_irq [dict get $params RANKS] \
  axilite_master_en true \
  axilite_master_scale Kilobytes \
  axilite_master_size 256 \
  pciebar2axibar_axil_master 0x00000000 \
  axist_bypass_en true \
  axist_bypass_scale Megabytes \
  axist_bypass_size $memory_bar \
  axi_bypass_64bit_en true \
  axi_bypass_prefetchable true \
  pciebar2axibar_axist_bypass 0x0000000000000000 \
  dsc_bypass_wr 0010 \
  pf0_device_id 903F \
  pf0_msi_enabled false \
  pf0_msix_enabled true \
  pf0_msix_cap_table_size 01F \
  pf0_msix_cap_table_bir BAR_1 \
  pf0_msix_cap_table_offset 00008000 \
  pf0_msix_cap_pba_bir BAR_1 \
  pf0_msix_cap_pba_offset 00008FE0 \
  pf0_interrupt_pin NONE \
  cfg_mgmt_if false]

# Bits of the core's memory port: those of PHIT_W.
ip axi_dwidth_converter 2.1 dma_width_u280 [dict create \
  PROTOCOL AXI4 \
  READ_WRITE_MODE READ_WRITE \
  ADDR_WIDTH 64 \
  SI_DATA_WIDTH 512 \
  MI_DATA_WIDTH [dict get $params PHIT_W] \
  SI_ID_WIDTH 4]

# A medium access controller for each cage, with the error correction that copper needs.
foreach {link site quad} {0 CMACE4_X0Y6 X0Y40~X0Y43 1 CMACE4_X0Y7 X0Y44~X0Y47} {
  set first [string range $quad 3 4]
  ip cmac_usplus 3.1 cmac_u280_$link [dict create \
    CMAC_CAUI4_MODE 1 \
    NUM_LANES 4x25 \
    GT_REF_CLK_FREQ 161.1328125 \
    GT_DRP_CLK 100 \
    USER_INTERFACE AXIS \
    ENABLE_AXI_INTERFACE 0 \
    INCLUDE_STATISTICS_COUNTERS 0 \
    INCLUDE_RS_FEC 1 \
    ENABLE_PIPELINE_REG 1 \
    TX_FLOW_CONTROL 0 \
    RX_FLOW_CONTROL 0 \
    RX_MIN_PACKET_LEN 64 \
    RX_MAX_PACKET_LEN 1518 \
    CMAC_CORE_SELECT $site \
    GT_GROUP_SELECT $quad \
    LANE1_GT_LOC X0Y$first \
    LANE2_GT_LOC X0Y[expr {$first + 1}] \
    LANE3_GT_LOC X0Y[expr {$first + 2}] \
    LANE4_GT_LOC X0Y[expr {$first + 3}]]
}

# ---------------------------------------------------------------- synthesis to bitstream
#
# Until all constraints are read, a critical warning is an error: a constraint that names nothing is one. IP are made before, as
# their own warnings are the vendor's. Later ones are counted, so that there are reports. A critical warning that is known and
# harmless gets a line of its own here, with the reason.
set_msg_config -severity {CRITICAL WARNING} -new_severity ERROR
# The router's timing is not the last: phys_opt_design comes behind it, and then the gates.
set_msg_config -id {Route 35-39} -severity {CRITICAL WARNING} -new_severity WARNING
foreach severity {ERROR {CRITICAL WARNING}} { dict set messages $severity [get_msg_config -severity $severity -count] }

# Pins and their clocks, for synthesis and after it.
read_xdc [file join $here constraints pins.xdc]
read_xdc [file join $here constraints clocks.xdc]

set generics {}
dict for {key value} $params { lappend generics -generic $key=$value }
foreach define $defines { lappend generics -verilog_define $define }
lappend generics -generic REVISION=32'h$revision -generic BUILT_ABI_HASH=32'h$abi_hash

synth_design -top u280_top -part $part -include_dirs [file join $root hw common rtl] -verilog_define SYNTHESIS \
  -flatten_hierarchy rebuilt {*}$generics

# What names cells and clocks of IP: IP are black boxes in synthesis, so it is read now.
set boxes [get_cells -quiet -hierarchical -filter {IS_BLACKBOX == 1}]
if {[llength $boxes] > 0} { error "build.tcl: no netlist for $boxes: is the IP synthesised?" }
read_xdc [file join $here constraints floorplan.xdc]
read_xdc -unmanaged [file join $root hw common constraints crossings.tcl]
read_xdc -unmanaged [file join $root hw link constraints crossings.tcl]
reset_msg_config -severity {CRITICAL WARNING} -default_severity
write_checkpoint -force [file join $out synth.dcp]

opt_design
place_design
phys_opt_design
route_design
phys_opt_design
write_checkpoint -force [file join $out route.dcp]

# ---------------------------------------------------------------- reports, and what they must say

report_utilization -file [file join $out utilisation.rpt]
report_timing_summary -file [file join $out timing.rpt]
check_timing -verbose -file [file join $out check_timing.rpt]
report_bus_skew -warn_on_violation -file [file join $out bus_skew.rpt]
report_cdc -details -file [file join $out cdc.rpt]
report_drc -file [file join $out drc.rpt]
report_methodology -file [file join $out methodology.rpt]

# The reasons why there is no bitstream: all of them, not the first one only.
set reasons {}

# Constraints: each register has a clock, each path and pin a requirement. constant_clock is not asked, as the controllers' unused
# DRP ports have a constant clock; nor is pulse_width_clock, which the summary of the timing has.
set checks {no_clock unconstrained_internal_endpoints no_input_delay no_output_delay multiple_clock generated_clocks loops \
  partial_input_delay partial_output_delay latch_loops}
set found [check_timing -no_header -return_string]
foreach check $checks {
  if {![regexp "checking $check \\((\\d+)\\)" $found -> count]} {
    lappend reasons "check_timing says nothing of $check"
  } elseif {$count != 0} {
    lappend reasons "check_timing: $count times $check: see check_timing.rpt"
  }
}

# Timing: setup and hold by their worst paths, and all that the summary counts, pulse width with it.
foreach delay {max min} name {setup hold} {
  set paths [get_timing_paths -delay_type $delay -max_paths 1]
  if {$paths eq ""} {
    lappend reasons "no path has a $name constraint: is there a clock?"
    continue
  }
  set slack [get_property SLACK $paths]
  if {$slack < 0} { lappend reasons "worst $name slack is $slack ns: see timing.rpt" }
}
if {![string match "*All user specified timing constraints are met.*" [report_timing_summary -return_string]]} {
  lappend reasons "the summary does not say that all timing constraints are met: see timing.rpt"
}

# Crossings between clocks that are critical, and design rules that are broken.
foreach {report violations severities} [list \
    cdc.rpt [get_cdc_violations -quiet] {critical} \
    drc.rpt [get_drc_violations -quiet] {fatal error {critical warning}}] {
  set bad {}
  foreach violation $violations {
    if {[string tolower [get_property SEVERITY $violation]] in $severities} { lappend bad $violation }
  }
  if {[llength $bad] > 0} { lappend reasons "[llength $bad] in $report, the first is [lindex $bad 0]" }
}

# A critical warning that a command has reported without ending.
dict for {severity before} $messages {
  set count [expr {[get_msg_config -severity $severity -count] - $before}]
  if {$count > 0} { lappend reasons "$count messages of severity $severity: see vivado.log" }
}

if {[llength $reasons] > 0} {
  error "build.tcl: there is no bitstream:\n  [join $reasons "\n  "]\nreports are in $out; hw/board/u280/README.md says what to do"
}

# The bitstream, and the image for the card's flash: it begins behind the golden image of the card.
set bit [file join $out $configuration.bit]
write_bitstream -force $bit
write_cfgmem -force -format mcs -size 128 -interface SPIx4 -loadbit "up 0x01002000 $bit" -checksum -file [file join $out $configuration.mcs]

set file [open [file join $out build.toml] w]
puts $file "# Written by hw/board/u280/build.tcl."
foreach {key value} [list board u280 part $part configuration $configuration abi_hash 0x[string tolower $abi_hash] \
    revision 0x$revision tool "Vivado [version -short]"] {
  puts $file "$key = \"$value\""
}
close $file

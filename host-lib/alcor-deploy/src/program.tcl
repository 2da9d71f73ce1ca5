# Loads a bitstream into the FPGA behind one JTAG cable, through a hardware server.
# usage: vivado -mode batch -source program.tcl -tclargs <serial> <bitstream> [<host:port>]
if {$argc < 2} { error "usage: program.tcl <serial> <bitstream> \[<host:port>\]" }
lassign $argv serial bitstream server
if {$server eq ""} { set server localhost:3121 }

open_hw_manager
connect_hw_server -url $server
# A target is called <server>/xilinx_tcf/<cable>/<serial>; cables of four channels have a letter behind the serial.
set targets {}
foreach target [get_hw_targets] {
    set name [lindex [split $target /] end]
    if {$name eq $serial || $name eq "${serial}A"} { lappend targets $target }
}
if {[llength $targets] != 1} {
    error "there are [llength $targets] cables with serial $serial at $server; all there are: [get_hw_targets]"
}
current_hw_target [lindex $targets 0]
open_hw_target
set devices [get_hw_devices]
if {[llength $devices] != 1} {
    error "expected one device behind cable $serial, and there are: $devices"
}
set device [lindex $devices 0]
current_hw_device $device
set_property PROGRAM.FILE $bitstream $device
# Fails by itself when the FPGA's DONE stays low.
program_hw_devices $device
close_hw_target
disconnect_hw_server
close_hw_manager

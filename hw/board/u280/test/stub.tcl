# Stands in for Vivado in tclsh: runs a script, records every command of Vivado's that it calls, and knows no other.
#
#   tclsh stub.tcl COMMANDS RECORD SLACK SCRIPT ?ARGUMENT ...?
#
# COMMANDS is a Tcl dict, made by `check` from vivado.toml: command -> {options dict, fewest, most}. RECORD gets a line for each
# call: its name, its options with their values, its positional values, as Tcl lists. Objects are {kind name} lists.

lassign $argv commands_file record_file slack script
set argv [lrange $argv 4 end]
set argv0 $script

namespace eval stub {
  variable commands
  variable record
  variable slack
  variable ips {}

  proc quote {text} { return \"[string map {\\ \\\\ \" \\\" \n \\n \t \\t} $text]\" }

  proc array_of {values} {
    set quoted {}
    foreach value $values { lappend quoted [quote $value] }
    return "\[[join $quoted ,]\]"
  }

  # A call, checked against the table; returns {options positional}.
  proc call {name arguments} {
    variable commands
    variable record
    lassign [dict get $commands $name] known fewest most
    set options {}
    set positional {}
    for {set i 0} {$i < [llength $arguments]} {incr i} {
      set word [lindex $arguments $i]
      if {[regexp {^-[a-z]} $word]} {
        if {![dict exists $known $word]} { error "$name has no option $word" }
        set value ""
        if {[dict get $known $word] == 1} {
          if {$i + 1 >= [llength $arguments]} { error "$name: $word wants a value" }
          set value [lindex $arguments [incr i]]
        }
        lappend options $word $value
      } else {
        lappend positional $word
      }
    }
    set count [llength $positional]
    if {$count < $fewest || $count > $most} { error "$name takes $fewest to $most values, and got $count: $positional" }
    puts $record "\[[quote $name],[array_of $options],[array_of $positional]\]"
    flush $record
    return [list $options $positional]
  }

  proc option {options name} {
    foreach {key value} $options { if {$key eq $name} { return $value } }
    return ""
  }

  proc touch {path} {
    if {![file isdirectory [file dirname $path]]} { error "there is no folder for $path" }
    close [open $path w]
  }

  # What a call gives back, and does.
  proc answer {name options positional} {
    variable ips
    variable slack
    switch $name {
      version { return 2023.1 }
      current_project { return {project current} }
      current_design { return {design current} }
      create_ip { lappend ips [option $options -module_name]; return {} }
      get_ips {
        set module [lindex $positional 0]
        if {$module ni $ips} { error "get_ips: no IP $module" }
        return [list ip $module]
      }
      get_files { return [list file [lindex $positional 0]] }
      get_ports { return [list port [lindex $positional 0]] }
      get_pins { return [list pin [lindex $positional 0]] }
      get_clocks { return [list clock [concat $positional [option $options -of_objects]]] }
      get_timing_paths { return [list path [option $options -delay_type]] }
      get_property {
        lassign $positional property object
        if {$property ne "SLACK" || [lindex $object 0] ne "path"} { error "get_property: no $property of $object" }
        return [dict get $slack [lindex $object 1]]
      }
      read_verilog - read_xdc {
        foreach path $positional { if {![file isfile $path]} { error "$name: no file $path" } }
      }
      report_utilization - report_timing_summary - report_cdc - report_drc { touch [option $options -file] }
      write_checkpoint - write_bitstream { touch [lindex $positional 0] }
    }
    return {}
  }
}

set file [open $commands_file r]
set stub::commands [read $file]
close $file
set stub::record [open $record_file w]
set stub::slack $slack
foreach command [dict keys $stub::commands] {
  proc $command {args} [string map [list %name $command] {
    lassign [stub::call %name $args] options positional
    return [stub::answer %name $options $positional]
  }]
}
proc unknown {args} { error "Vivado's table (test/vivado.toml) has no command [lindex $args 0]" }

if {[catch {source $script} message]} {
  puts stderr $message
  exit 1
}

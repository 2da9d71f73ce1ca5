# Stands in for Vivado in tclsh: runs a script, records every command of Vivado's that it calls, and knows no other.
#
#   tclsh stub.tcl COMMANDS RECORD RESULT DESIGN SCRIPT ?ARGUMENT ...?
#
# COMMANDS is a Tcl dict, made by `check` from vivado.toml: command -> {options dict, fewest, most}. RECORD gets a line for each
# call: its name, its options with their values, its positional values, as Tcl lists. RESULT is a dict: what the build comes to.
# DESIGN is a file with a dict: the instances, registers and clocks of the design (netlist.py). Objects are {kind name} lists,
# but cells, their pins, clocks and violations, of which there are many: kind:name.

lassign $argv commands_file record_file result design_file script
set argv [lrange $argv 5 end]
set argv0 $script

namespace eval stub {
  variable commands
  variable record
  variable result
  variable design
  variable ips {}
  variable pblocks {}
  variable routed 0

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

  # A pattern in which only * is special: names of cells have brackets.
  proc matches {pattern name} {
    return [string match [string map {\\ \\\\ [ \\[ ] \\] ? \\?} $pattern] $name]
  }

  # The bits of a register.
  proc bits {register} {
    variable design
    set found {}
    foreach bit [lindex [dict get $design registers $register] 1] { lappend found "cell:$register\[$bit\]" }
    return $found
  }

  # The register that a cell, or a pin of it, is a bit of.
  proc register {object} {
    regsub {^(cell|pin):} $object {} name
    regsub {/D$} $name {} name
    regsub {\[\d+\]$} $name {} name
    return $name
  }

  # Cells by filter: instances of a module, black boxes, registers by name.
  proc filtered {filter} {
    variable design
    variable result
    set found {}
    if {[regexp {IS_BLACKBOX} $filter]} { return [dict get $result boxes] }
    if {[regexp {^ORIG_REF_NAME == (\w+) \|\| REF_NAME == (\w+)$} $filter -> one two] && $one eq $two} {
      dict for {path module} [dict get $design instances] { if {$module eq $one} { lappend found cell:$path } }
      return $found
    }
    foreach term [split [string map {|| |} $filter] |] {
      if {![regexp {^ *NAME =~ (\S+) *$} $term -> pattern]} { error "get_cells: cannot read the filter $filter" }
      set before [llength $found]
      dict for {name _} [dict get $design registers] { if {[matches $pattern $name]} { lappend found {*}[bits $name] } }
      if {[llength $found] == $before} { error "get_cells: no cell is called $pattern" }
    }
    return $found
  }

  # Cells by patterns, none of which may match nothing; * does not match the border of an instance.
  proc named {patterns} {
    variable design
    set found {}
    foreach pattern $patterns {
      regsub {^cell:} $pattern {} pattern
      set before [llength $found]
      if {[regexp {^(.*)\[\*\]$} $pattern -> base]} {
        if {[dict exists $design registers $base]} { lappend found {*}[bits $base] }
      } else {
        foreach path [dict keys [dict get $design instances]] {
          if {[matches $pattern $path] && [regexp -all / $pattern] == [regexp -all / $path]} { lappend found cell:$path }
        }
      }
      if {[llength $found] == $before} { error "get_cells: no cell is called $pattern" }
    }
    return $found
  }

  proc clocks_of {objects} {
    variable design
    set found {}
    foreach object $objects { lappend found clock:[lindex [dict get $design registers [register $object]] 0] }
    return [lsort -unique $found]
  }

  proc fanin_of {pins} {
    variable design
    set found {}
    foreach name [lsort -unique [lmap pin $pins { register $pin }]] {
      if {![dict exists $design fanin $name]} { continue }
      foreach source [dict get $design fanin $name] { lappend found {*}[bits $source] }
    }
    return $found
  }

  # A report that a script reads.
  proc timing_checks {} {
    variable result
    set text ""
    set number 0
    dict for {check count} [dict get $result checks] { append text "[incr number]. checking $check ($count)\n" }
    return $text
  }

  # What a call gives back, and does.
  proc answer {name options positional} {
    variable ips
    variable result
    variable design
    variable pblocks
    variable routed
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
      get_pins {
        set cells [option $options -of_objects]
        if {$cells eq ""} { return [list pin [lindex $positional 0]] }
        return [lmap cell $cells { string cat pin: [string range $cell 5 end] /D }]
      }
      get_cells {
        set filter [option $options -filter]
        return [expr {$filter ne "" ? [filtered $filter] : [named [lindex $positional 0]]}]
      }
      all_fanin { return [fanin_of [lindex $positional 0]] }
      get_clocks { return [clocks_of [option $options -of_objects]] }
      create_pblock { lappend pblocks [lindex $positional 0] }
      get_pblocks {
        if {[lindex $positional 0] ni $pblocks} { error "get_pblocks: no pblock [lindex $positional 0]" }
        return [list pblock [lindex $positional 0]]
      }
      get_timing_paths { return [list path [option $options -delay_type]] }
      get_cdc_violations { return [dict get $result cdc] }
      get_drc_violations { return [dict get $result drc] }
      get_msg_config {
        if {!$routed} { return 2 }
        return [expr {2 + [dict get $result [option $options -severity]]}]
      }
      get_property {
        lassign $positional property object
        # A list of one object is the object.
        if {[llength $object] == 1} { set object [lindex $object 0] }
        if {$property eq "SLACK" && [lindex $object 0] eq "path"} { return [dict get $result [lindex $object 1]] }
        if {$property eq "PERIOD" && [regexp {^clock:(.*)} $object -> clock]} { return [dict get $design periods $clock] }
        if {$property eq "SEVERITY" && [regexp {^violation:[^:]*:(.*)} $object -> severity]} { return $severity }
        error "get_property: no $property of $object"
      }
      route_design { set routed 1 }
      check_timing {
        if {[option $options -file] ne ""} { touch [option $options -file] }
        return [timing_checks]
      }
      report_timing_summary {
        if {[option $options -file] ne ""} { touch [option $options -file] }
        return [expr {[dict get $result met] ? "All user specified timing constraints are met." : "Timing constraints are not met."}]
      }
      read_verilog - read_xdc {
        foreach path $positional { if {![file isfile $path]} { error "$name: no file $path" } }
      }
      report_utilization - report_cdc - report_drc - report_bus_skew - report_methodology - write_cfgmem {
        touch [option $options -file]
      }
      write_checkpoint - write_bitstream { touch [lindex $positional 0] }
    }
    return {}
  }
}

set file [open $commands_file r]
set stub::commands [read $file]
close $file
set stub::record [open $record_file w]
set stub::result $result
set file [open $design_file r]
set stub::design [read $file]
close $file
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

step.sv

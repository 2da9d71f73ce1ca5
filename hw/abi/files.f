abi/generated/alcor_abi_pkg.sv

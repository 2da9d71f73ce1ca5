alpu/rtl/alpu_all.sv
alpu/rtl/alpu_upto.sv
alpu/rtl/alpu_cell.sv
alpu/rtl/alpu_block.sv
alpu/rtl/alpu_array.sv
alpu/rtl/alpu.sv
alpu/rtl/alpu_port.sv

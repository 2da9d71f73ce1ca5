fp/rtl/alcor_fp_pkg.sv
fp/rtl/fp_add.sv
fp/rtl/fp_mul.sv
fp/rtl/aglu_single.sv
fp/rtl/aglu_product.sv
fp/rtl/aglu.sv
fp/rtl/vector_aglu.sv

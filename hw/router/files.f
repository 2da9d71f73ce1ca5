router/rtl/router_input.sv
router/rtl/router_crosspoint.sv
router/rtl/router_output.sv
router/rtl/router.sv

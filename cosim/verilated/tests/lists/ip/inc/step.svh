localparam int STEPS = `STEP;

/// Bench top for the vector unit: several sizes side by side in one model, so that the model is compiled once.
module fp_bench (
    /// Clock of all units.
    input  logic         clk_i,
    /// Reset of all units.
    input  logic         rst_ni,
    /// Job of all units.
    input  logic [3:0]   operation_i,
    input  logic [2:0]   datatype_i,
    input  logic [511:0] a_i,
    input  logic [511:0] b_i,
    input  logic [15:0]  tag_i,

    /// 256 bits, all operations and types.
    input  logic         full_valid_i,
    output logic         full_valid_o,
    output logic [255:0] full_result_o,
    output logic [15:0]  full_tag_o,

    /// 512 bits, all operations and types.
    input  logic         wide_valid_i,
    output logic         wide_valid_o,
    output logic [511:0] wide_result_o,
    output logic [15:0]  wide_tag_o,

    /// 256 bits, sums of binary64 and RO_SYNC.
    input  logic         sums_valid_i,
    output logic         sums_valid_o,
    output logic [255:0] sums_result_o,
    output logic [15:0]  sums_tag_o,

    /// 128 bits, no maximum, no exclusive or; 32-bit types but u32; registers at the inputs.
    input  logic         half_valid_i,
    output logic         half_valid_o,
    output logic [127:0] half_result_o,
    output logic [15:0]  half_tag_o
);

  vector_aglu #(
      .PHIT_W(256),
      .TAG_W (16)
  ) u_full (
      .clk_i      (clk_i),
      .rst_ni     (rst_ni),
      .valid_i    (full_valid_i),
      .operation_i(operation_i),
      .datatype_i (datatype_i),
      .a_i        (a_i[255:0]),
      .b_i        (b_i[255:0]),
      .tag_i      (tag_i),
      .valid_o    (full_valid_o),
      .result_o   (full_result_o),
      .tag_o      (full_tag_o)
  );

  vector_aglu #(
      .PHIT_W(512),
      .TAG_W (16)
  ) u_wide (
      .clk_i      (clk_i),
      .rst_ni     (rst_ni),
      .valid_i    (wide_valid_i),
      .operation_i(operation_i),
      .datatype_i (datatype_i),
      .a_i        (a_i),
      .b_i        (b_i),
      .tag_i      (tag_i),
      .valid_o    (wide_valid_o),
      .result_o   (wide_result_o),
      .tag_o      (wide_tag_o)
  );

  vector_aglu #(
      .PHIT_W(256),
      .TAG_W (16),
      .OPS   (9'h101),
      .TYPES (6'h01)
  ) u_sums (
      .clk_i      (clk_i),
      .rst_ni     (rst_ni),
      .valid_i    (sums_valid_i),
      .operation_i(operation_i),
      .datatype_i (datatype_i),
      .a_i        (a_i[255:0]),
      .b_i        (b_i[255:0]),
      .tag_i      (tag_i),
      .valid_o    (sums_valid_o),
      .result_o   (sums_result_o),
      .tag_o      (sums_tag_o)
  );

  vector_aglu #(
      .PHIT_W(128),
      .TAG_W (16),
      .OPS   (9'h13B),
      .TYPES (6'h0A),
      .SLICE (1'b1)
  ) u_half (
      .clk_i      (clk_i),
      .rst_ni     (rst_ni),
      .valid_i    (half_valid_i),
      .operation_i(operation_i),
      .datatype_i (datatype_i),
      .a_i        (a_i[127:0]),
      .b_i        (b_i[127:0]),
      .tag_i      (tag_i),
      .valid_o    (half_valid_o),
      .result_o   (half_result_o),
      .tag_o      (half_tag_o)
  );

endmodule

/// Stands for `vector_aglu` in the proof of `rma_accumulate`: any result, at any time.
module vector_aglu #(
    /// Bits of a phit.
    parameter int unsigned PHIT_W = 256,
    /// Bits of a pair's tag.
    parameter int unsigned TAG_W = 8,
    /// Not used.
    parameter bit [8:0] OPS = '1,
    /// Not used.
    parameter bit [5:0] TYPES = '1
) (
    /// Not used.
    input  logic              clk_i,
    /// Not used.
    input  logic              rst_ni,
    /// Not used.
    input  logic              valid_i,
    /// Not used.
    input  logic [3:0]        operation_i,
    /// Not used.
    input  logic [2:0]        datatype_i,
    /// Not used.
    input  logic [PHIT_W-1:0] a_i,
    /// Not used.
    input  logic [PHIT_W-1:0] b_i,
    /// Not used.
    input  logic [TAG_W-1:0]  tag_i,
    /// A result.
    output logic              valid_o,
    /// The result.
    output logic [PHIT_W-1:0] result_o,
    /// Tag of the result's pair.
    output logic [TAG_W-1:0]  tag_o
);

  (* anyseq *) logic any_valid;
  (* anyseq *) logic [PHIT_W-1:0] any_result;
  (* anyseq *) logic [TAG_W-1:0] any_tag;

  assign valid_o  = any_valid;
  assign result_o = any_result;
  assign tag_o    = any_tag;

endmodule

/// Model of `match_queue` with free answers, for proofs of the blocks around the queue.
module match_queue #(
    /// Maximum number of entries.
    parameter int unsigned DEPTH = 1024,
    /// Not used.
    parameter int unsigned CELLS = 128,
    /// Not used.
    parameter int unsigned BLOCK = 16,
    /// Not used.
    parameter bit POSTED = 1'b1,
    /// Width of an entry's number; derived, do not set.
    localparam int unsigned EntryW = $clog2(DEPTH),
    /// Width of a number of entries; derived, do not set.
    localparam int unsigned CountW = $clog2(DEPTH + 1)
) (
    /// Clock.
    input  logic                     clk_i,
    /// Synchronous reset, active low.
    input  logic                     rst_ni,
    /// Threshold, operation and result as of `match_queue`.
    input  logic [15:0]              threshold_i,
    input  logic                     op_valid_i,
    output logic                     op_ready_o,
    input  alcor_abi_pkg::match_op_e op_i,
    input  alcor_abi_pkg::match_t    op_match_i,
    input  alcor_abi_pkg::match_t    append_match_i,
    input  alcor_abi_pkg::match_t    op_mask_i,
    input  logic [EntryW-1:0]        op_entry_i,
    input  logic [EntryW-1:0]        op_tag_i,
    output logic                     result_valid_o,
    input  logic                     result_ready_i,
    output logic                     result_found_o,
    output logic [EntryW-1:0]        result_entry_o,
    output logic                     result_unit_o,
    output logic [EntryW-1:0]        result_tag_o,
    output logic [CountW-1:0]        count_o
);

  (* anyseq *) logic ready, valid, found, unit;
  (* anyseq *) logic [EntryW-1:0] entry, tag;
  (* anyseq *) logic [CountW-1:0] count;

  assign op_ready_o     = ready;
  assign result_valid_o = valid;
  assign result_found_o = found;
  assign result_entry_o = entry;
  assign result_unit_o  = unit;
  assign result_tag_o   = tag;
  assign count_o        = count;

endmodule

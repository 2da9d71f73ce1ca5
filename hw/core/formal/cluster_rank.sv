`include "formal.svh"

/// Model of a rank for proofs of several boards: the model begins a collective command at any time, and takes
/// announcements like `rma_pipeline`.
module cluster_rank (
    /// Clock.
    input  logic clk_i,
    /// Synchronous reset, active low.
    input  logic rst_ni,
    /// Free: the next command is a collective command.
    input  logic comes_i,
    /// Announcement that all ranks are at a collective command.
    input  logic fire_i,
    /// The rank is at a collective command.
    output logic valid_o,
    /// The announcement ends this command.
    output logic ended_o
);

  logic valid_q;
  logic [1:0] offered_q;

  assign valid_o = valid_q;
  assign ended_o = valid_q && offered_q[1] && fire_i;

  always_ff @(posedge clk_i) begin
    // Commands may follow each other without a pause.
    valid_q   <= (valid_q && !ended_o) || comes_i;
    offered_q <= (valid_q && !ended_o) ? {offered_q[0], 1'b1} : '0;
    if (!rst_ni) begin
      valid_q   <= 1'b0;
      offered_q <= '0;
    end
  end

endmodule

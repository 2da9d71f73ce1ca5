import alcor_abi_pkg::*;

/// Check of an access against bounds and rights of its window, or of a fetch against the announced message.
/// Combinational.
module rma_access_check #(
    /// Low bits of `end_i` that may be set; the others are 0.
    parameter int unsigned END_W = 34
) (
    /// The window.
    input  alcor_abi_pkg::window_t window_i,
    /// The access reads.
    input  logic                   read_i,
    /// The access writes.
    input  logic                   write_i,
    /// The access is out of bounds, wherever the window ends.
    input  logic                   beyond_i,
    /// End of the access in the window, in bytes: of a paper packet its own, else that of the whole command.
    input  logic [33:0]            end_i,
    /// The board has no unit for the access.
    input  logic                   unable_i,
    /// The access fetches a message that this rank has announced.
    input  logic                   fetch_i,
    /// Bytes of that message.
    input  logic [31:0]            fetch_size_i,
    /// The access is refused.
    output logic                   refused_o,
    /// Result: the reason of `refused_o`, else ST_OK.
    output alcor_abi_pkg::status_e status_o
);

  logic denied, greater, outside;
  logic [31:0] size;

  assign denied        = (read_i && window_i.deny_read) || (write_i && window_i.deny_write);
  // Only the rank that announced a message could have made it smaller since.
  assign size          = fetch_i ? fetch_size_i : window_i.size;
  assign outside       = greater || beyond_i;
  // Beside the choice of the status, which takes longer.
  assign refused_o     = outside || (!fetch_i && (denied || unable_i || !window_i.registered));

  if (END_W > 32) begin : g_wide
    assign greater = end_i > 34'(size);
  end else begin : g_narrow
    assign greater = size[31:END_W] == '0 && end_i[END_W-1:0] > size[END_W-1:0];

    logic unused_end;
    assign unused_end = ^end_i[33:END_W];
  end

  always_comb begin
    status_o = ST_OK;
    if (unable_i) status_o = ST_BAD_OPERATION;
    if (denied) status_o = ST_DENIED;
    if (outside) status_o = ST_OUT_OF_BOUNDS;
    if (!window_i.registered) status_o = ST_BAD_SLOT;
    if (fetch_i) status_o = outside ? ST_OUT_OF_BOUNDS : ST_OK;
  end

endmodule

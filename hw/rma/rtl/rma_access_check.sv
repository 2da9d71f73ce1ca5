import alcor_abi_pkg::*;

/// Check of an access against bounds and rights of its window, or of a fetch against the announced message.
/// Combinational.
module rma_access_check (
    /// The window.
    input  alcor_abi_pkg::window_t window_i,
    /// The access is a read.
    input  logic                   read_i,
    /// The access begins beyond any window.
    input  logic                   beyond_i,
    /// End of the access in the window, in bytes: of a paper packet its own, else that of the whole command.
    input  logic [33:0]            end_i,
    /// The access fetches a message that this rank has announced.
    input  logic                   fetch_i,
    /// Bytes of that message.
    input  logic [31:0]            fetch_size_i,
    /// Outcome.
    output alcor_abi_pkg::status_e status_o
);

  always_comb begin
    status_o = ST_OK;
    if (read_i ? window_i.deny_read : window_i.deny_write) status_o = ST_DENIED;
    if (end_i > 34'(window_i.size) || beyond_i) status_o = ST_OUT_OF_BOUNDS;
    if (!window_i.registered) status_o = ST_BAD_SLOT;
    // Only the rank that announced the message could have made it smaller since.
    if (fetch_i) status_o = (end_i > 34'(fetch_size_i)) ? ST_OUT_OF_BOUNDS : ST_OK;
  end

endmodule

`include "assertions.svh"

/// Content-addressable memory of decoded rows in block RAM.
///
/// The 32-bit key is cut into four bytes; each byte addresses a RAM of 256 rows of ENTRIES bits.
/// Bit e of row b says that entry e has the value b in that byte, so an entry matches where all
/// four rows have its bit (Ziavras et al. 2006, section 2.1). A write stores whole rows: setting or
/// clearing one entry is reading its four rows, changing a bit, writing them back.
module rma_cam #(
    /// Entries, 2 to 256.
    parameter int unsigned ENTRIES = 32
) (
    /// Clock.
    input  logic                     clk_i,
    /// Read the rows of `key_i`; without it the rows read last stay at the output.
    input  logic                     lookup_i,
    /// Key to be looked up.
    input  logic [31:0]              key_i,
    /// Entries that match, one cycle after the lookup.
    output logic [ENTRIES-1:0]       match_o,
    /// The four rows, one cycle after the lookup.
    output logic [3:0][ENTRIES-1:0]  rows_o,
    /// Write the rows of `write_key_i`.
    input  logic                     write_i,
    /// Key whose rows are written.
    input  logic [31:0]              write_key_i,
    /// Rows to be written.
    input  logic [3:0][ENTRIES-1:0]  rows_i
);

  `ALCOR_CHECK_PARAM(g_check_entries, ENTRIES >= 2 && ENTRIES <= 256,
                     "rma_cam: ENTRIES must be 2 to 256")

  for (genvar b = 0; b < 4; b++) begin : g_byte
    ram_sdp #(
        .WIDTH    (ENTRIES),
        .DEPTH    (256),
        .BLOCK_RAM(1'b1)
    ) u_rows (
        .clk_i  (clk_i),
        .we_i   (write_i),
        .waddr_i(write_key_i[8*b+:8]),
        .wdata_i(rows_i[b]),
        .re_i   (lookup_i),
        .raddr_i(key_i[8*b+:8]),
        .rdata_o(rows_o[b])
    );
  end

  assign match_o = rows_o[0] & rows_o[1] & rows_o[2] & rows_o[3];

endmodule

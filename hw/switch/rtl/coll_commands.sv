`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// Collective commands of one rank: its operands, which stay until they are written again, and what
/// it has posted, a collective for each communicator.
module coll_commands #(
    /// Bytes of the rank's node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Width of a word address in node memory; derived, not to be set.
    localparam int unsigned AddrW = $clog2(NODE_BYTES / 4)
) (
    /// Clock.
    input  logic              clk_i,
    /// Synchronous reset, active low.
    input  logic              rst_ni,

    /// A write into the rank's page, the part of collectives.
    input  logic              write_i,
    /// Offset in the page.
    input  logic [11:0]       offset_i,
    /// Data.
    input  logic [31:0]       data_i,
    /// Communicators that the rank is a member of.
    input  logic [31:0]       member_i,
    /// Communicators with a collective under way.
    input  logic [31:0]       active_i,
    /// What waits for other members is to end, and what is posted is refused.
    input  logic              cancel_i,

    /// Communicators in which the rank's collective has not ended.
    output logic [31:0]       posted_o,
    /// A collective of the rank has ended: its completion is taken.
    input  logic              end_i,
    /// Its communicator.
    input  logic [4:0]        end_row_i,

    /// A command was refused: its completion is on offer.
    output logic              refused_valid_o,
    /// It is taken.
    input  logic              refused_ready_i,
    /// Its status.
    output logic [4:0]        refused_status_o,
    /// Its id.
    output logic [15:0]       refused_id_o,

    /// Source side: communicator.
    input  logic [4:0]        source_row_i,
    /// Source side: word address of what is given.
    output logic [AddrW-1:0]  source_address_o,
    /// Source side: place of its first word in the message.
    output logic [PlaceW-1:0] source_first_o,
    /// Source side: words given.
    output logic [PlaceW-1:0] source_words_o,
    /// Signature: communicator.
    input  logic [4:0]        sign_row_i,
    /// Signature: C_WHAT and C_COUNT.
    output logic [63:0]       sign_o,
    /// What: communicator.
    input  logic [4:0]        what_row_i,
    /// What: C_WHAT.
    output logic [31:0]       what_o,
    /// What: words given.
    output logic [PlaceW-1:0] what_words_o,
    /// Destination side: communicator.
    input  logic [4:0]        keep_row_i,
    /// Destination side: word address of the first word kept.
    output logic [AddrW-1:0]  keep_address_o,
    /// Destination side: its place in the message.
    output logic [PlaceW-1:0] keep_low_o,
    /// Destination side: end of the words kept.
    output logic [PlaceW-1:0] keep_high_o,
    /// Destination side: command id.
    output logic [15:0]       keep_id_o
);

  // A window or length as bytes fits into node memory, whose size is a power of two.
  localparam int unsigned MemW = AddrW + 1;

  logic [31:0] source_q, first_q, words_q, destination_q, low_q, high_q, count_q, what_q;
  logic go_q, go_ok_q;
  logic [4:0] go_row_q, go_status;
  logic [15:0] go_id_q;
  logic source_fits_q, keep_fits_q;
  logic [31:0] kept;
  logic post, refuse, cancels, refused_empty;
  logic [3:0] cancel_q;
  logic [31:0] waits, first_waits;
  logic [4:0] cancel_row;

  logic [AddrW-1:0] source_address_q[Contexts];
  logic [PlaceW-1:0] source_first_q[Contexts];
  logic [PlaceW-1:0] source_words_q[Contexts];
  logic [63:0] sign_q[Contexts];
  logic [AddrW-1:0] keep_address_q[Contexts];
  logic [PlaceW-1:0] keep_low_q[Contexts];
  logic [PlaceW-1:0] keep_high_q[Contexts];
  logic [15:0] keep_id_q[Contexts];

  assign kept = high_q - low_q;

  always_ff @(posedge clk_i) begin
    if (write_i) begin
      case (offset_i)
        RANK_C_SOURCE_OFFSET:      source_q <= data_i;
        RANK_C_FIRST_OFFSET:       first_q <= data_i;
        RANK_C_WORDS_OFFSET:       words_q <= data_i;
        RANK_C_DESTINATION_OFFSET: destination_q <= data_i;
        RANK_C_LOW_OFFSET:         low_q <= data_i;
        RANK_C_HIGH_OFFSET:        high_q <= data_i;
        RANK_C_COUNT_OFFSET:       count_q <= data_i;
        RANK_C_WHAT_OFFSET:        what_q <= data_i;
        default: ;
      endcase
      go_row_q <= data_i[RANK_C_GO_CONTEXT_LSB+:5];
      go_id_q  <= data_i[RANK_C_GO_ID_LSB+:16];
      go_ok_q  <= member_i[data_i[RANK_C_GO_CONTEXT_LSB+:5]];
      // The operands were written before.
      source_fits_q <= source_q[31:AddrW+2] == '0 && words_q[31:MemW] == '0
          && MemW'(source_q[AddrW+1:2]) + MemW'(words_q) <= MemW'(NODE_BYTES / 4);
      keep_fits_q <= destination_q[31:AddrW+2] == '0 && kept[31:MemW] == '0
          && MemW'(destination_q[AddrW+1:2]) + MemW'(kept) <= MemW'(NODE_BYTES / 4);
    end
    if (!rst_ni) go_q <= 1'b0;
    else go_q <= write_i && offset_i == RANK_C_GO_OFFSET;
  end

  always_comb begin
    go_status = ST_OK;
    if (!source_fits_q || !keep_fits_q) go_status = ST_BAD_LOCAL;
    if (!go_ok_q || posted_o[go_row_q]) go_status = ST_BAD_COMMUNICATOR;
    if (cancel_i) go_status = ST_RANK_RESET;
  end

  assign post   = go_q && go_status == ST_OK;
  assign refuse = go_q && !post;

  // One at a time, and not before a collective that was about to begin when `cancel_i` rose is among those under way.
  assign waits       = posted_o & ~active_i;
  assign first_waits = waits & (~waits + 1'b1);
  assign cancel_row  = {|(first_waits & 32'hFFFF_0000), |(first_waits & 32'hFF00_FF00), |(first_waits & 32'hF0F0_F0F0),
                        |(first_waits & 32'hCCCC_CCCC), |(first_waits & 32'hAAAA_AAAA)};
  assign cancels     = cancel_i && (&cancel_q) && waits != '0 && refused_empty && !refuse;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) cancel_q <= '0;
    else cancel_q <= {cancel_q[2:0], cancel_i};
  end

  always_ff @(posedge clk_i) begin
    if (post) begin
      source_address_q[go_row_q] <= source_q[AddrW+1:2];
      source_first_q[go_row_q]   <= first_q[PlaceW-1:0];
      source_words_q[go_row_q]   <= words_q[PlaceW-1:0];
      sign_q[go_row_q]           <= {count_q, what_q};
      keep_address_q[go_row_q]   <= destination_q[AddrW+1:2];
      keep_low_q[go_row_q]       <= low_q[PlaceW-1:0];
      keep_high_q[go_row_q]      <= high_q[PlaceW-1:0];
      keep_id_q[go_row_q]        <= go_id_q;
    end
    if (!rst_ni) begin
      posted_o <= '0;
    end else begin
      if (end_i) posted_o[end_row_i] <= 1'b0;
      if (cancels) posted_o[cancel_row] <= 1'b0;
      if (post) posted_o[go_row_q] <= 1'b1;
    end
  end

  fifo #(
      .WIDTH(21),
      .DEPTH(16)
  ) u_refused (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i(refuse || cancels),
      .ready_o(),
      .data_i (refuse ? {go_status, go_id_q} : {ST_RANK_RESET, keep_id_q[cancel_row]}),
      .valid_o(refused_valid_o),
      .ready_i(refused_ready_i),
      .data_o ({refused_status_o, refused_id_o}),
      .empty_o(refused_empty),
      .usage_o()
  );

  assign source_address_o = source_address_q[source_row_i];
  assign source_first_o   = source_first_q[source_row_i];
  assign source_words_o   = source_words_q[source_row_i];
  assign sign_o           = sign_q[sign_row_i];
  assign what_o           = sign_q[what_row_i][31:0];
  assign what_words_o     = source_words_q[what_row_i];
  assign keep_address_o   = keep_address_q[keep_row_i];
  assign keep_low_o       = keep_low_q[keep_row_i];
  assign keep_high_o      = keep_high_q[keep_row_i];
  assign keep_id_o        = keep_id_q[keep_row_i];

endmodule

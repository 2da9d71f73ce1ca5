`include "assertions.svh"
`include "phit_types.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// Brings what comes out of a collective into its members' memories, and ends it.
///
/// Each member keeps a range of the message's words; of a phit it takes those that lie in it. The
/// memory takes PHIT_W bits from any word on, so nothing has to be aligned. The signature comes last:
/// it tells whether all members called the same, and ends the collective once all before is written.
module coll_writer #(
    /// Ranks of the board.
    parameter  int unsigned RANKS  = 1,
    /// Bits of a phit's data.
    parameter  int unsigned PHIT_W = 256,
    /// Width of a word address in node memory.
    parameter  int unsigned ADDR_W = 18,
    /// Bits of a token; derived, not to be set.
    localparam int unsigned TokenW = TokenHeadW + SpanW + PHIT_W
) (
    /// Clock.
    input  logic                               clk_i,
    /// Synchronous reset, active low.
    input  logic                               rst_ni,
    /// By rank: communicators that the rank is a member of.
    input  logic [RANKS-1:0][31:0]             member_i,
    /// A token is here.
    output logic                               busy_o,

    /// A token is offered.
    input  logic                               valid_i,
    /// The token is taken.
    output logic                               ready_o,
    /// The token.
    input  logic [TokenW-1:0]                  token_i,

    /// Communicator whose destinations are looked up.
    output alcor_abi_pkg::row_t                destination_row_o,
    /// By rank: words that the rank keeps; a destination_t.
    input  logic [RANKS-1:0][DestinationW-1:0] destination_i,

    /// Memory write, by rank: a write is offered.
    output logic [RANKS-1:0]                   write_valid_o,
    /// The write is done.
    input  logic [RANKS-1:0]                   write_ready_i,
    /// Word address of the phit's first word, also where that word is not written.
    output logic [RANKS-1:0][ADDR_W-1:0]       write_address_o,
    /// Data.
    output logic [PHIT_W-1:0]                  write_data_o,
    /// Words to be written.
    output logic [RANKS-1:0][PHIT_W/32-1:0]    write_strobe_o,

    /// By rank: a completion is offered.
    output logic [RANKS-1:0]                   complete_valid_o,
    /// The completion is taken.
    input  logic [RANKS-1:0]                   complete_ready_i,
    /// The completion, a completion_t.
    output logic [RANKS-1:0][CompletionW-1:0]  complete_o,
    /// A collective has ended.
    output alcor_abi_pkg::row_pulse_t          end_o,
    /// The result of the barrier over all boards has come.
    output logic                               sync_valid_o,
    /// The result.
    output logic [PHIT_W-1:0]                  sync_o
);

  localparam int unsigned Words = PHIT_W / 32;

  `ALCOR_TOKEN_TYPES(PHIT_W)

  // First the operands of the token's communicator, then what of the phit each member keeps, then the
  // write.
  token_t first_q;
  logic first_valid_q, second_q, second_signature_q;
  logic first_moves, second_moves;
  logic [RANKS-1:0] done_q, waits;

  assign busy_o            = first_valid_q || second_q;
  assign ready_o           = !first_valid_q || first_moves;
  assign first_moves       = first_valid_q && (!second_q || second_moves);
  assign destination_row_o = first_q.head.row;

  logic [RANKS-1:0][Words-1:0] strobe;
  logic [RANKS-1:0][ADDR_W-1:0] address;
  logic [RANKS-1:0] members;
  alcor_abi_pkg::status_e status, status_q;

  for (genvar r = 0; r < RANKS; r++) begin : g_rank
    alcor_abi_pkg::destination_t destination;
    logic [28:0] behind_low, before_high;
    logic [15:0] id_q;

    assign destination = destination_i[r];
    assign behind_low  = {1'b0, first_q.body.span.word} - {1'b0, destination.low};
    assign before_high = {1'b0, destination.high} - {1'b0, first_q.body.span.word};
    assign members[r]  = member_i[r][first_q.head.row];
    assign address[r]  = destination.address[ADDR_W-1:0] + behind_low[ADDR_W-1:0];

    always_comb begin
      strobe[r] = '0;
      if (first_valid_q && !first_q.head.signature && members[r] && !before_high[28]) begin
        for (int unsigned k = 0; k < Words; k++) begin
          strobe[r][k] = 4'(k) <= first_q.body.span.words
              && (before_high[27:4] != '0 || before_high[3:0] > 4'(k))
              && (!behind_low[28] || (&behind_low[27:4] && {1'b0, behind_low[3:0]} + 5'(k) >= 5'd16));
        end
      end
    end

    always_ff @(posedge clk_i) if (first_moves) id_q <= destination.id;
    assign complete_o[r] = {status_q, id_q};
  end

  // A signature and its complement were anded over all members: where both are clear, they differ.
  alcor_abi_pkg::signature_t differs;
  assign differs = ~(first_q.body.data[63:0] | first_q.body.data[127:64]);

  always_comb begin
    status = ST_OK;
    // The algorithm follows from what is called: where that differs too, that is what to tell.
    if (differs.what.algorithm != '0) status = ST_MISMATCH;
    if (differs.count != '0) status = ST_OTHER_COUNT;
    if (differs.what.operation != '0) status = ST_OTHER_OPERATION;
    if (differs.what.datatype != '0) status = ST_OTHER_TYPE;
    if (differs.what.label != '0 || differs.what.root != '0) status = ST_OTHER_ROOT;
    if (differs.what.opcode != '0) status = ST_MISMATCH;
  end

  alcor_abi_pkg::row_t second_row_q;
  logic [RANKS-1:0] second_members_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      first_valid_q <= 1'b0;
      second_q      <= 1'b0;
      done_q        <= '0;
    end else begin
      if (ready_o) first_valid_q <= valid_i;
      if (first_moves) second_q <= 1'b1;
      else if (second_moves) second_q <= 1'b0;
      done_q <= (second_moves || !second_q) ? '0 : done_q | ~waits;
    end
    if (ready_o && valid_i) first_q <= token_i;
    if (first_moves) begin
      second_signature_q <= first_q.head.signature;
      second_row_q       <= first_q.head.row;
      second_members_q   <= members;
      status_q           <= status;
      write_data_o       <= first_q.body.data;
      write_strobe_o     <= strobe;
      write_address_o    <= address;
    end
  end

  always_comb begin
    for (int unsigned r = 0; r < RANKS; r++) begin
      write_valid_o[r]    = second_q && !second_signature_q && !done_q[r] && write_strobe_o[r] != '0;
      complete_valid_o[r] = second_q && second_signature_q && !done_q[r] && second_members_q[r];
      waits[r] = (write_valid_o[r] && !write_ready_i[r]) || (complete_valid_o[r] && !complete_ready_i[r]);
    end
  end

  assign second_moves = second_q && waits == '0;
  assign end_o        = {second_moves && second_signature_q, second_row_q};
  assign sync_valid_o = second_moves && !second_signature_q && second_row_q == 5'(SyncContext);
  assign sync_o       = write_data_o;

endmodule

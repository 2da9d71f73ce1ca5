`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// Brings what comes out of a collective into its members' memories, and ends it.
///
/// Each member keeps a range of the message's words; of a phit it takes those that lie in it. The
/// memory takes PHIT_W bits from any word on, so nothing has to be aligned. The signature comes last:
/// it tells whether all members called the same, and ends the collective once all before is written.
module coll_writer #(
    /// Ranks of the board.
    parameter int unsigned RANKS = 1,
    /// Bits of a phit's data.
    parameter int unsigned PHIT_W = 256,
    /// Width of a word address in node memory.
    parameter int unsigned ADDR_W = 18
) (
    /// Clock.
    input  logic                                clk_i,
    /// Synchronous reset, active low.
    input  logic                                rst_ni,
    /// By rank: communicators that it is a member of.
    input  logic [RANKS-1:0][31:0]              member_i,

    /// A phit is on offer.
    input  logic                                valid_i,
    /// It is taken.
    output logic                                ready_o,
    /// Its communicator.
    input  logic [4:0]                          row_i,
    /// It is a signature.
    input  logic                                signature_i,
    /// Its place.
    input  logic [PlaceW-1:0]                   word_i,
    /// Its words, less one.
    input  logic [3:0]                          words_i,
    /// Its data.
    input  logic [PHIT_W-1:0]                   data_i,

    /// The communicator whose operands are wanted.
    output logic [4:0]                          keep_row_o,
    /// By rank: word address of the first word kept.
    input  logic [RANKS-1:0][ADDR_W-1:0]        keep_address_i,
    /// By rank: its place.
    input  logic [RANKS-1:0][PlaceW-1:0]        keep_low_i,
    /// By rank: end of the words kept.
    input  logic [RANKS-1:0][PlaceW-1:0]        keep_high_i,
    /// By rank: command id.
    input  logic [RANKS-1:0][15:0]              keep_id_i,

    /// Memory write, by rank.
    output logic [RANKS-1:0]                    write_valid_o,
    /// It is done.
    input  logic [RANKS-1:0]                    write_ready_i,
    /// Word address of the phit's first word, also where that word is not written.
    output logic [RANKS-1:0][ADDR_W-1:0]        write_address_o,
    /// Data.
    output logic [PHIT_W-1:0]                   write_data_o,
    /// Words to be written.
    output logic [RANKS-1:0][PHIT_W/32-1:0]     write_strobe_o,

    /// Completion, by rank: one is on offer.
    output logic [RANKS-1:0]                    complete_valid_o,
    /// It is taken.
    input  logic [RANKS-1:0]                    complete_ready_i,
    /// Its status.
    output logic [4:0]                          complete_status_o,
    /// Its id.
    output logic [RANKS-1:0][15:0]              complete_id_o,
    /// A collective has ended.
    output logic                                end_o,
    /// Its communicator.
    output logic [4:0]                          end_row_o,
    /// The barrier's result came.
    output logic                                sync_valid_o,
    /// The result.
    output logic [PHIT_W-1:0]                   sync_o
);

  localparam int unsigned Words = PHIT_W / 32;

  // First the operands of the phit's communicator, then what of the phit each member keeps, then the
  // write.
  logic first_q, first_signature_q, second_q, second_signature_q;
  logic [4:0] first_row_q;
  logic [PlaceW-1:0] first_word_q;
  logic [3:0] first_words_q;
  logic [PHIT_W-1:0] first_data_q;
  logic first_moves, second_moves;
  logic [RANKS-1:0] done_q, waits;

  assign ready_o      = !first_q || first_moves;
  assign first_moves  = first_q && (!second_q || second_moves);
  assign keep_row_o   = first_row_q;

  logic [RANKS-1:0][Words-1:0] strobe;
  logic [RANKS-1:0][PlaceW:0] behind_low, before_high;

  for (genvar r = 0; r < RANKS; r++) begin : g_rank
    assign behind_low[r]  = {1'b0, first_word_q} - {1'b0, keep_low_i[r]};
    assign before_high[r] = {1'b0, keep_high_i[r]} - {1'b0, first_word_q};

    always_comb begin
      strobe[r] = '0;
      if (first_q && !first_signature_q && member_i[r][first_row_q] && !before_high[r][PlaceW]) begin
        for (int unsigned k = 0; k < Words; k++) begin
          strobe[r][k] = 4'(k) <= first_words_q
              && (before_high[r][PlaceW-1:4] != '0 || before_high[r][3:0] > 4'(k))
              && (!behind_low[r][PlaceW]
                  || (&behind_low[r][PlaceW-1:4] && {1'b0, behind_low[r][3:0]} + 5'(k) >= 5'd16));
        end
      end
    end
  end

  // A signature and its complement were anded over all members: where both are clear, they differ.
  logic [63:0] differs;
  logic [31:0] what_differs;
  logic [4:0] status;

  assign differs      = ~(first_data_q[63:0] | first_data_q[127:64]);
  assign what_differs = differs[31:0];

  always_comb begin
    status = ST_OK;
    // The algorithm follows from what is called: where that differs too, that is what to tell.
    if (what_differs[RANK_C_WHAT_ALGORITHM_LSB+:2] != '0) status = ST_MISMATCH;
    if (differs[63:32] != '0) status = ST_OTHER_COUNT;
    if (what_differs[RANK_C_WHAT_OPERATION_LSB+:4] != '0) status = ST_OTHER_OPERATION;
    if (what_differs[RANK_C_WHAT_DATATYPE_LSB+:3] != '0) status = ST_OTHER_TYPE;
    if (what_differs[RANK_C_WHAT_LABEL_LSB+:8] != '0 || what_differs[RANK_C_WHAT_ROOT_LSB+:8] != '0)
      status = ST_OTHER_ROOT;
    if (what_differs[RANK_C_WHAT_OPCODE_LSB+:4] != '0) status = ST_MISMATCH;
  end

  logic [4:0] second_row_q;
  logic [RANKS-1:0] second_members_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      first_q  <= 1'b0;
      second_q <= 1'b0;
      done_q   <= '0;
    end else begin
      if (ready_o) first_q <= valid_i;
      if (first_moves) second_q <= 1'b1;
      else if (second_moves) second_q <= 1'b0;
      done_q <= (second_moves || !second_q) ? '0 : done_q | ~waits;
    end
    if (ready_o && valid_i) begin
      first_row_q       <= row_i;
      first_signature_q <= signature_i;
      first_word_q      <= word_i;
      first_words_q     <= words_i;
      first_data_q      <= data_i;
    end
    if (first_moves) begin
      second_signature_q <= first_signature_q;
      second_row_q       <= first_row_q;
      write_data_o       <= first_data_q;
      write_strobe_o     <= strobe;
      complete_status_o  <= status;
      complete_id_o      <= keep_id_i;
      for (int unsigned r = 0; r < RANKS; r++) begin
        write_address_o[r]  <= keep_address_i[r] + behind_low[r][ADDR_W-1:0];
        second_members_q[r] <= member_i[r][first_row_q];
      end
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
  assign end_o        = second_moves && second_signature_q;
  assign end_row_o    = second_row_q;
  assign sync_valid_o = second_moves && !second_signature_q && second_row_q == 5'(SyncContext);
  assign sync_o       = write_data_o;

endmodule

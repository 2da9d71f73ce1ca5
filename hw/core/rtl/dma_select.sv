`include "assertions.svh"

import alcor_abi_pkg::*;

/// Gives each access of the host's DMA to the memory of its rank. Combinational.
///
/// The rank is the upper part of the access's address. Reads of one rank are under way at a time.
module dma_select #(
    /// Ranks of the board, a power of two.
    parameter int unsigned RANKS = 2,
    /// Bits of a byte address in all node memories.
    parameter int unsigned ADDR_W = 21,
    /// Bits of data that a node memory reads at once: those of a beat.
    parameter int unsigned DATA_W = 32
) (
    /// Clock, of the assertion.
    input  logic                                 clk_i,
    /// Synchronous reset, active low, of the assertion.
    input  logic                                 rst_ni,

    /// DMA port: a read of a beat.
    input  alcor_abi_pkg::memory_request_t       read_i,
    /// Answer to the read.
    output alcor_abi_pkg::memory_answer_t        read_o,
    /// Data of the read.
    output logic [DATA_W-1:0]                    read_data_o,
    /// DMA port: a write of a beat. Data goes to all ranks, beside this block.
    input  alcor_abi_pkg::memory_request_t       write_i,
    /// The write is granted.
    output logic                                 write_gnt_o,

    /// By rank: a read, a memory_request_t.
    output logic [RANKS-1:0][MemoryRequestW-1:0] rank_read_o,
    /// By rank: answer to the read, a memory_answer_t.
    input  logic [RANKS-1:0][MemoryAnswerW-1:0]  rank_read_i,
    /// By rank: data of the read that the memory answers.
    input  logic [RANKS-1:0][DATA_W-1:0]         rank_data_i,
    /// By rank: a write, a memory_request_t.
    output logic [RANKS-1:0][MemoryRequestW-1:0] rank_write_o,
    /// By rank: the write is granted.
    input  logic [RANKS-1:0]                     rank_write_gnt_i
);

  localparam int unsigned RankW = (RANKS > 1) ? $clog2(RANKS) : 1;

  logic [RankW-1:0] read_rank, write_rank;
  logic [RANKS-1:0] gnt, rvalid;

  if (RANKS > 1) begin : g_ranks
    assign read_rank  = read_i.address[ADDR_W-3-:RankW];
    assign write_rank = write_i.address[ADDR_W-3-:RankW];
  end else begin : g_one_rank
    assign read_rank  = '0;
    assign write_rank = '0;
  end

  for (genvar r = 0; r < RANKS; r++) begin : g_rank
    assign rank_read_o[r]      = {read_i.req && read_rank == RankW'(r), read_i.address};
    assign rank_write_o[r]     = {write_i.req && write_rank == RankW'(r), write_i.address};
    assign {gnt[r], rvalid[r]} = rank_read_i[r];
  end

  assign read_o      = {gnt != '0, rvalid != '0};
  assign write_gnt_o = rank_write_gnt_i != '0;

  always_comb begin
    read_data_o = '0;
    for (int unsigned r = 0; r < RANKS; r++) if (rvalid[r]) read_data_o = read_data_o | rank_data_i[r];
  end

  `ALCOR_ASSERT(a_one_answer, $onehot0(rvalid))

endmodule

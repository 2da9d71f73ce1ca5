`include "assertions.svh"
`include "phit_types.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// The collective unit of a board with its node memories. The bench joins several boards: it carries phits from board
/// to board.
module collective_bench #(
    /// Ranks of the board.
    parameter int unsigned RANKS = 1,
    /// Stages.
    parameter int unsigned STAGES = 2,
    /// Data bits of a phit.
    parameter int unsigned PHIT_W = 256,
    /// Bytes of each node memory.
    parameter int unsigned NODE_BYTES = 65536,
    /// Cycles from a memory read's grant to its data.
    parameter int unsigned MEM_LATENCY = 1,
    /// Maximum number of additional cycles, at random.
    parameter int unsigned MEM_JITTER = 0,
    /// Phits of a communicator's window.
    parameter int unsigned WINDOW = alcor_switch_pkg::Window,
    /// Operations of the unit, by bit of operation_e.
    parameter int unsigned OPS = 511,
    /// Types of the vector unit, by bit of datatype_e.
    parameter int unsigned TYPES = 63,
    /// 1: registers in front of the vector units.
    parameter int unsigned SLICES = 0,
    /// Width of a word address; derived, do not set.
    localparam int unsigned AddrW = $clog2(NODE_BYTES / 4),
    /// Words of 64 bits of a phit; derived, do not set.
    localparam int unsigned PhitWords = (PHIT_W + PhitHeadW + 63) / 64
) (
    /// Clock.
    input  logic                                   clk_i,
    /// Synchronous reset, active low.
    input  logic                                   rst_ni,
    /// By rank: a write into the page of the rank.
    input  logic                       [RANKS-1:0] write_i,
    /// Offset of the write.
    input  logic                 [RANKS-1:0][11:0] offset_i,
    /// Data of the write.
    input  logic                 [RANKS-1:0][31:0] data_i,
    /// By rank: pulse, the rank had begun and is reset.
    input  logic                       [RANKS-1:0] lost_i,
    /// By rank: a cancel_t.
    input  logic                  [RANKS-1:0][1:0] cancel_i,
    /// COLLECTIVES.
    output logic                            [31:0] active_o,
    /// Phits that were dropped in the cycle before.
    output logic                             [2:0] stale_o,
    /// By rank: the rank has a write of a row that has not been carried out.
    output logic                       [RANKS-1:0] writes_o,
    /// By rank: pulse, a write of a row was refused, or a collective without room for its completion.
    output logic                       [RANKS-1:0] denied_o,
    /// By rank: a completion is offered.
    output logic                       [RANKS-1:0] complete_valid_o,
    /// The completion is taken.
    input  logic                       [RANKS-1:0] complete_ready_i,
    /// Status of the completion.
    output logic                  [RANKS-1:0][4:0] complete_status_o,
    /// Id of the completion.
    output logic                 [RANKS-1:0][15:0] complete_id_o,
    /// The barrier requests a round.
    input  logic                                   sync_begin_i,
    /// The round is accepted.
    output logic                                   sync_ready_o,
    /// Low 64 bits of the board's value.
    input  logic                            [63:0] sync_i,
    /// The result of the round is valid.
    output logic                                   sync_valid_o,
    /// Low 64 bits of the result.
    output logic                            [63:0] sync_o,
    /// By rank: an access by the host.
    input  logic                       [RANKS-1:0] host_valid_i,
    /// The access is granted.
    output logic                       [RANKS-1:0] host_ready_o,
    /// The access is a write.
    input  logic                       [RANKS-1:0] host_write_i,
    /// Word address of the access.
    input  logic            [RANKS-1:0][AddrW-1:0] host_address_i,
    /// Data of the access.
    input  logic                 [RANKS-1:0][31:0] host_data_i,
    /// The oldest read is answered.
    output logic                       [RANKS-1:0] host_answer_o,
    /// Word of the answer.
    output logic                 [RANKS-1:0][31:0] host_data_o,
    /// By rank: the coprocessor reads a word and ignores it.
    input  logic                       [RANKS-1:0] noise_i,
    /// By rank: the coprocessor writes, without a byte.
    input  logic                       [RANKS-1:0] noise_write_i,
    /// By stage: a phit arrives.
    input  logic                      [STAGES-1:0] rx_valid_i,
    /// The phit.
    input  logic [STAGES-1:0][PhitWords-1:0][63:0] rx_phit_i,
    /// By stage: a phit is offered.
    output logic                      [STAGES-1:0] tx_valid_o,
    /// The offered phit is taken.
    input  logic                      [STAGES-1:0] tx_ready_i,
    /// The offered phit.
    output logic [STAGES-1:0][PhitWords-1:0][63:0] tx_phit_o,
    /// Destination rank of the offered phit.
    output logic                [STAGES-1:0][15:0] tx_dest_o
);

  localparam int unsigned W = PHIT_W + PhitHeadW;

  `ALCOR_PHIT_TYPE(PHIT_W)

  logic [STAGES-1:0][W-1:0] tx_phit, rx_phit;

  for (genvar s = 0; s < STAGES; s++) begin : g_stage
    phit_t phit;
    assign phit         = tx_phit[s];
    assign tx_dest_o[s] = phit.head.low.dest;
    assign tx_phit_o[s] = (64 * PhitWords)'(tx_phit[s]);
    assign rx_phit[s]   = W'(rx_phit_i[s]);

    `ALCOR_IMPLIES(collective_bench_stage, tx_valid_o[s], phit.head.high.stage == 3'(s))
  end

  logic [RANKS-1:0] read_req, read_gnt, read_rvalid, write_valid, write_ready;
  logic [RANKS-1:0][AddrW-1:0] address, write_address;
  logic [RANKS-1:0][PHIT_W-1:0] data;
  logic [PHIT_W-1:0] write_data, sync;
  logic [RANKS-1:0][31:0] unused_posted;
  logic [RANKS-1:0][PHIT_W/32-1:0] write_strobe;
  logic [RANKS-1:0][PageWriteW-1:0] page;
  logic [RANKS-1:0][CompletionW-1:0] complete;

  collective_unit #(
      .RANKS      (RANKS),
      .STAGES     (STAGES),
      .PHIT_W     (PHIT_W),
      .NODE_BYTES (NODE_BYTES),
      .MEM_LATENCY(MEM_LATENCY),
      .WINDOW     (WINDOW),
      .OPS        (9'(OPS)),
      .TYPES      (6'(TYPES)),
      .SLICES     (1'(SLICES))
  ) u_unit (
      .clk_i           (clk_i),
      .rst_ni          (rst_ni),
      .write_i         (page),
      .kernel_i        ('0),
      .kernel_ready_o  (),
      .lost_i          (lost_i),
      .cancel_i        (cancel_i),
      .posted_o        (unused_posted),
      .active_o        (active_o),
      .stale_o         (stale_o),
      .writes_o        (writes_o),
      .denied_o        (denied_o),
      .complete_valid_o(complete_valid_o),
      .complete_ready_i(complete_ready_i),
      .complete_o      (complete),
      .sync_begin_i    (sync_begin_i),
      .sync_ready_o    (sync_ready_o),
      .sync_i          (PHIT_W'(sync_i)),
      .sync_valid_o    (sync_valid_o),
      .sync_o          (sync),
      .sync_lost_o     (),
      .read_req_o      (read_req),
      .read_gnt_i      (read_gnt),
      .read_address_o  (address),
      .read_rvalid_i   (read_rvalid),
      .read_data_i     (data),
      .write_valid_o   (write_valid),
      .write_ready_i   (write_ready),
      .write_address_o (write_address),
      .write_data_o    (write_data),
      .write_strobe_o  (write_strobe),
      .rx_valid_i      (rx_valid_i),
      .rx_phit_i       (rx_phit),
      .tx_valid_o      (tx_valid_o),
      .tx_ready_i      (tx_ready_i),
      .tx_phit_o       (tx_phit)
  );

  assign sync_o = sync[63:0];

  for (genvar r = 0; r < RANKS; r++) begin : g_rank
    assign page[r] = {write_i[r], offset_i[r], data_i[r]};
    assign {complete_status_o[r], complete_id_o[r]} = complete[r];
    alcor_abi_pkg::memory_request_t memory_read, memory_write;
    alcor_abi_pkg::memory_answer_t answer;
    logic [PHIT_W-1:0] memory_data;
    logic [PHIT_W/8-1:0] memory_strobe, phit_strobe;
    logic memory_gnt, host_read_gnt, host_write_gnt, unused_read, unused_rvalid, unused_write;

    for (genvar w = 0; w < PHIT_W / 32; w++) begin : g_strobe
      assign phit_strobe[4*w+:4] = {4{write_strobe[r][w]}};
    end

    memory_arbiter #(
        .READERS(3),
        .WRITERS(3),
        .WIDTH  (PHIT_W),
        .READS  (MEM_LATENCY + MEM_JITTER + 1),
        .STAGES ((MEM_JITTER != 0) ? 2 : 1)
    ) u_arbiter (
        .clk_i          (clk_i),
        .rst_ni         (rst_ni),
        .read_req_i     ({host_valid_i[r] && !host_write_i[r], read_req[r], noise_i[r]}),
        .read_gnt_o     ({host_read_gnt, read_gnt[r], unused_read}),
        .read_address_i ({30'(host_address_i[r]), 30'(address[r]), 30'd0}),
        .read_rvalid_o  ({host_answer_o[r], read_rvalid[r], unused_rvalid}),
        .write_req_i    ({host_valid_i[r] && host_write_i[r], write_valid[r], noise_write_i[r]}),
        .write_gnt_o    ({host_write_gnt, write_ready[r], unused_write}),
        .write_address_i({30'(host_address_i[r]), 30'(write_address[r]), 30'd0}),
        .write_data_i   ({PHIT_W'(host_data_i[r]), write_data, PHIT_W'(0)}),
        .write_strobe_i ({(PHIT_W / 8)'(4'hF), phit_strobe, (PHIT_W / 8)'(0)}),
        .read_o         (memory_read),
        .read_i         (answer),
        .write_o        (memory_write),
        .write_data_o   (memory_data),
        .write_strobe_o (memory_strobe),
        .write_gnt_i    (memory_gnt)
    );

    node_memory #(
        .NODE_BYTES(NODE_BYTES),
        .BANKS     (PHIT_W / 32),
        .LATENCY   (MEM_LATENCY),
        .JITTER    (MEM_JITTER)
    ) u_memory (
        .clk_i         (clk_i),
        .rst_ni        (rst_ni),
        .read_i        (memory_read),
        .read_o        (answer),
        .data_o        (data[r]),
        .write_i       (memory_write),
        .write_gnt_o   (memory_gnt),
        .write_data_i  (memory_data),
        .write_strobe_i(memory_strobe)
    );

    assign host_ready_o[r] = host_read_gnt || host_write_gnt;
    assign host_data_o[r] = data[r][31:0];
  end

endmodule

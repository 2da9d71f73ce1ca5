`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// One whole board without its vendor parts: coprocessors, crossbar routers, node memory, host port,
/// and with links the switch that joins it to other boards and computes collectives.
///
/// The simulator and the U280 build instantiate this same module. The host reaches it as a stock
/// XDMA in memory-mapped mode does: AXI4-Lite for registers, AXI4 for node memory, an interrupt a
/// rank. With RIG there is a second way to write registers, a write a rank and cycle, which reproduces the
/// papers' test rigs in simulation.
module core #(
    /// Bits of a beat of the coprocessors and the crossbar: 32 as in the paper, 256 or 512.
    parameter int unsigned DATA_W = 32,
    /// Ranks of the board, a power of two up to 16; 1 only with links.
    parameter int unsigned RANKS = 2,
    /// Slots of each registration table.
    parameter int unsigned SLOTS = 32,
    /// Bytes of each node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Payload words of an extended packet.
    parameter int unsigned PAYLOAD_WORDS = 128,
    /// Entries of the command FIFOs.
    parameter int unsigned COMMAND_DEPTH = 64,
    /// Beats of each In FIFO.
    parameter int unsigned IN_DEPTH = 512,
    /// Beats of each Out FIFO.
    parameter int unsigned OUT_DEPTH = 512,
    /// Words of each Head FIFO.
    parameter int unsigned HEAD_DEPTH = 16,
    /// Tasks of each MM Interface FIFO.
    parameter int unsigned MM_DEPTH = 16,
    /// Words of each router input memory.
    parameter int unsigned ROUTER_INPUT_DEPTH = 512,
    /// Words of each virtual output queue, crosspoint and output memory.
    parameter int unsigned ROUTER_QUEUE_DEPTH = 16,
    /// Cycles from a memory read's grant to its data. From 2 on, requests are granted in two stages.
    parameter int unsigned MEM_LATENCY = 1,
    /// Simulation: maximum number of additional cycles of node memory, at random.
    parameter int unsigned MEM_JITTER = 0,
    /// Link ports: 0, or 2 for each dimension of the cluster.
    parameter int unsigned LINKS = 0,
    /// Stages of the collective unit: log2 of the number of boards, rounded up.
    parameter int unsigned STAGES = 1,
    /// Data bits of a phit.
    parameter int unsigned PHIT_W = 256,
    /// Phits of each input channel of a link.
    parameter int unsigned VC_DEPTH = 256,
    /// Posted receives, and as many unexpected messages, that a rank's message engine has room for.
    parameter int unsigned MESSAGES = 256,
    /// Bytes of a fragment of its unexpected message buffer: an eager message at most.
    parameter int unsigned FRAGMENT = 256,
    /// Cells of each of its matching units.
    parameter int unsigned MATCH_CELLS = 16,
    /// Cells of a block of the matching units.
    parameter int unsigned MATCH_BLOCK = 8,
    /// Matchers of each rank's match store; 0: queues with matching units.
    parameter int unsigned MATCHERS = 0,
    /// Queue pairs of the match store, a power of two from 2 to 128.
    parameter int unsigned PAIRS = 16,
    /// 1: each rank has a unit for accumulates; 0: accumulates are refused.
    parameter bit ACCUMULATE = 1'b1,
    /// Cells of the matching unit in each rank's page, 0 for none: of posted receives at even ranks, of
    /// unexpected messages at odd ones.
    parameter int unsigned ALPU_CELLS = 0,
    /// Cells of a block of the matching unit.
    parameter int unsigned ALPU_BLOCK = 16,
    /// Bits of a beat of the memory port of each rank's kernel; 0 for no kernel. The macro ALCOR_KERNEL names its module.
    parameter int unsigned KERNEL = 0,
    /// Clock in kHz.
    parameter int unsigned CLOCK_KHZ = 250000,
    /// First 32 bits of the source revision, 0 in simulation.
    parameter logic [31:0] REVISION = 32'h0,
    /// 1: register slices at the AXI ports and in front of the collective unit's vector units.
    parameter bit SLICES = 1'b0,
    /// 1: pages are also written by `u_host_port.g_rig.move_*`, which simulation drives by hierarchy.
    parameter bit RIG = 1'b0,
    /// Bits of a beat of the host's DMA; derived, not to be set.
    localparam int unsigned DmaDataW = (LINKS == 0) ? DATA_W : PHIT_W,
    /// Link ports that there are wires for; derived, not to be set.
    localparam int unsigned LinkN = (LINKS == 0) ? 1 : LINKS,
    /// Bits of a phit with its header; derived, not to be set.
    localparam int unsigned LinkW = PHIT_W + PhitHeadW
) (
    /// Clock.
    input  logic                            clk_i,
    /// Synchronous reset, active low.
    input  logic                            rst_ni,

    /// Register BAR, AXI4-Lite: signals of the host.
    input  alcor_abi_pkg::lite_request_t    lite_i,
    /// Register BAR: signals to the host.
    output alcor_abi_pkg::lite_answer_t     lite_o,

    /// Node memory, AXI4: signals of the host's DMA. Addresses are rank × NODE_BYTES + byte; the register BAR is behind
    /// them, at the next power of two that is at least 128 KiB.
    input  alcor_abi_pkg::dma_request_t     dma_i,
    /// Node memory: write data.
    input  logic [DmaDataW-1:0]             dma_wdata_i,
    /// Node memory: byte strobes of the write data.
    input  logic [DmaDataW/8-1:0]           dma_wstrb_i,
    /// Node memory: signals to the host's DMA.
    output alcor_abi_pkg::dma_answer_t      dma_o,
    /// Node memory: read data.
    output logic [DmaDataW-1:0]             dma_rdata_o,

    /// Interrupt of each rank, a level.
    output logic [RANKS-1:0]                irq_o,
    /// A copy of node memory into host memory; the source is an address of the DMA port.
    output alcor_abi_pkg::host_copy_t       copy_o,
    /// The copy is taken.
    input  logic                            copy_ready_i,

    /// Links: phits and credits that arrive, a link_flow_t for each.
    input  logic [LinkN-1:0][LinkFlowW-1:0] link_i,
    /// Links: the phit that arrives.
    input  logic [LinkN-1:0][LinkW-1:0]     link_phit_i,
    /// Links: phits and credits that leave, a link_flow_t for each.
    output logic [LinkN-1:0][LinkFlowW-1:0] link_o,
    /// Links: the phit that leaves.
    output logic [LinkN-1:0][LinkW-1:0]     link_phit_o,
    /// Links: reset of the link ends, active low: that of the board.
    output logic                            link_rst_no,
    /// Links: key of the run, PLACE.key; 0 from the board's reset until the host writes it.
    output logic [7:0]                      link_key_o
);

  // The crossbar's ports: the ranks, and with links one that leads to the other boards.
  localparam int unsigned Ports = RANKS + ((LINKS == 0) ? 0 : 1);
  localparam int unsigned Dests = (LINKS == 0) ? RANKS : 256;
  // Latency that queues are made for, as in rank_tile.
  localparam int unsigned Typical = MEM_LATENCY + MEM_JITTER / 4;
  localparam int unsigned Banks = DmaDataW / 32;
  // Registers between the reset's counter and the blocks.
  localparam int unsigned ResetStages = 2;

  // ---------------------------------------------------------------- reset: from outside or CONTROL

  logic reset_command, running, board_rst_n, fabric_rst_n;
  logic [RANKS-1:0] reading, tile_rst_n;

  board_reset #(
      .RANKS (RANKS),
      .STAGES(ResetStages)
  ) u_reset (
      .clk_i        (clk_i),
      .rst_ni       (rst_ni),
      .command_i    (reset_command),
      .reading_i    (reading),
      .running_o    (running),
      .board_rst_no (board_rst_n),
      .fabric_rst_no(fabric_rst_n),
      .link_rst_no  (link_rst_no),
      .tile_rst_no  (tile_rst_n)
  );

  // ---------------------------------------------------------------- register BAR

  alcor_abi_pkg::page_write_t board_write;
  logic [RANKS-1:0] page_write;
  logic [RANKS-1:0][11:0] page_offset;
  logic [RANKS-1:0][31:0] page_data, rank_read_data;
  logic [11:0] read_offset;
  logic [31:0] board_read_data, dma_page_data;
  alcor_abi_pkg::bus_write_t dma_page_write;
  logic dma_page_ready, dma_page_read;
  logic [16:0] dma_page_address;

  host_port #(
      .RANKS (RANKS),
      .RIG   (RIG),
      .SLICES(SLICES)
  ) u_host_port (
      .clk_i        (clk_i),
      .rst_ni       (rst_ni),
      .bus_i        (lite_i),
      .bus_o        (lite_o),
      .dma_write_i  (dma_page_write),
      .dma_write_ready_o(dma_page_ready),
      .dma_read_i   (dma_page_read),
      .dma_address_i(dma_page_address),
      .dma_data_o   (dma_page_data),
      .board_o      (board_write),
      .page_write_o (page_write),
      .page_offset_o(page_offset),
      .page_data_o  (page_data),
      .read_offset_o(read_offset),
      .board_read_i (board_read_data),
      .rank_read_i  (rank_read_data)
  );

  // ---------------------------------------------------------------- control: the board's page, its ranks together

  logic [7:0] board;
  logic crossbar_empty;
  alcor_abi_pkg::network_settings_t settings;
  alcor_abi_pkg::network_state_t network;
  alcor_abi_pkg::abort_t abort_in, abort_out;
  alcor_abi_pkg::board_sync_t here;
  logic [RANKS-1:0][RankToBoardW-1:0] from_ranks;
  logic [RANKS-1:0][BoardToRankW-1:0] to_ranks;
  logic [RANKS-1:0][SyncRequestW-1:0] sync_requests;
  logic [RANKS-1:0][RankResetW-1:0] rank_resets;
  logic [RANKS-1:0][31:0] kernel_id, posted;

  board_control #(
      .DATA_W       (DATA_W),
      .RANKS        (RANKS),
      .LINKS        (LINKS),
      .STAGES       ((LINKS == 0) ? 0 : STAGES),
      .PHIT_W       (PHIT_W),
      .VC_DEPTH     (VC_DEPTH),
      .ALPU_CELLS   (ALPU_CELLS),
      .KERNEL       (KERNEL != 0),
      .MESSAGES     (MESSAGES),
      .FRAGMENT     (FRAGMENT),
      .MATCH_CELLS  (MATCH_CELLS),
      .MATCH_BLOCK  (MATCH_BLOCK),
      .MATCHERS     (MATCHERS),
      .PAIRS        (PAIRS),
      .ACCUMULATE   (ACCUMULATE),
      .SLOTS        (SLOTS),
      .NODE_BYTES   (NODE_BYTES),
      .PAYLOAD_WORDS(PAYLOAD_WORDS),
      .COMMAND_DEPTH(COMMAND_DEPTH),
      .CLOCK_KHZ    (CLOCK_KHZ),
      .REVISION     (REVISION)
  ) u_control (
      .clk_i        (clk_i),
      .rst_ni       (board_rst_n),
      .running_i    (running),
      .write_i      (board_write),
      .read_offset_i(read_offset),
      .read_data_o  (board_read_data),
      .board_o      (board),
      .ranks_i      (from_ranks),
      .ranks_o      (to_ranks),
      .resets_o     (rank_resets),
      .sync_i       (sync_requests),
      .kernel_id_i  (kernel_id),
      .posted_i     (posted),
      .empty_i      (crossbar_empty),
      .sync_o       (here),
      .settings_o   (settings),
      .network_i    (network),
      .abort_i      (abort_in),
      .abort_o      (abort_out),
      .reset_o      (reset_command)
  );

  assign link_key_o = settings.key;

  // ---------------------------------------------------------------- ranks

  alcor_abi_pkg::sync_answer_t sync_answer;

  // By plane, for the routers.
  logic [1:0][Ports-1:0] tx_valid, tx_ready, tx_last, tx_cut, rx_valid, rx_ready, rx_last, rx_cut;
  logic [1:0][Ports-1:0][DATA_W-1:0] tx_data, rx_data;

  // The host's DMA.
  logic [RANKS-1:0][MemoryRequestW-1:0] dma_reads, dma_writes;
  logic [RANKS-1:0][MemoryAnswerW-1:0] dma_answers;
  logic [RANKS-1:0] dma_write_gnt;
  logic [DmaDataW-1:0] dma_write_data;
  logic [DmaDataW/8-1:0] dma_write_strobe;
  logic [RANKS-1:0][HostCopyW-1:0] copies;
  logic [RANKS-1:0] copies_ready;

  // Collectives: completions, and phits of node memory.
  logic [RANKS-1:0] complete_valid, complete_ready;
  logic [RANKS-1:0][CompletionW-1:0] complete;
  logic [RANKS-1:0][PageWriteW-1:0] collective_write;
  logic [RANKS-1:0][KernelPostW-1:0] kernel_post;
  logic [RANKS-1:0] kernel_post_ready;
  logic [RANKS-1:0][MemoryRequestW-1:0] phit_read;
  logic [RANKS-1:0][MemoryAnswerW-1:0] phit_answer;
  logic [RANKS-1:0][PhitWriteW-1:0] phit_write;
  logic [RANKS-1:0] phit_write_ready;
  logic [Banks*32-1:0] phit_write_data;
  // Of the read that each memory answers.
  logic [RANKS-1:0][Banks*32-1:0] mem_data;

  for (genvar r = 0; r < RANKS; r++) begin : g_rank
    // A rank ends its own packets.
    assign tx_cut[0][r] = 1'b0;
    assign tx_cut[1][r] = 1'b0;

    rank_tile #(
        .DATA_W       (DATA_W),
        .SLOTS        (SLOTS),
        .NODE_BYTES   (NODE_BYTES),
        .PAYLOAD_WORDS(PAYLOAD_WORDS),
        .COMMAND_DEPTH(COMMAND_DEPTH),
        .IN_DEPTH     (IN_DEPTH),
        .OUT_DEPTH    (OUT_DEPTH),
        .HEAD_DEPTH   (HEAD_DEPTH),
        .MM_DEPTH     (MM_DEPTH),
        .DESTS        (Dests),
        .BANKS        (Banks),
        .MEM_LATENCY  (MEM_LATENCY),
        .MEM_JITTER   (MEM_JITTER),
        .MESSAGES     (MESSAGES),
        .FRAGMENT     (FRAGMENT),
        .MATCH_CELLS  (MATCH_CELLS),
        .MATCH_BLOCK  (MATCH_BLOCK),
        .MATCHERS     (MATCHERS),
        .PAIRS        (PAIRS),
        .ACCUMULATE   (ACCUMULATE),
        .ALPU_CELLS   (ALPU_CELLS),
        .ALPU_BLOCK   (ALPU_BLOCK),
        .ALPU_POSTED  (r % 2 == 0),
        .KERNEL       (KERNEL),
        .SWITCH       (LINKS != 0)
    ) u_tile (
        .clk_i               (clk_i),
        .rst_ni              (tile_rst_n[r]),
        .memory_rst_ni       (rst_ni),
        .reading_o           (reading[r]),
        .rank_i              (8'(32'(board) * RANKS + r)),
        .board_i             (to_ranks[r]),
        .board_o             (from_ranks[r]),
        .page_i              ({page_write[r], page_offset[r], page_data[r]}),
        .read_offset_i       (read_offset),
        .read_data_o         (rank_read_data[r]),
        .irq_o               (irq_o[r]),
        .copy_o              (copies[r]),
        .copy_ready_i        (copies_ready[r]),
        .collective_valid_i  (complete_valid[r]),
        .collective_ready_o  (complete_ready[r]),
        .collective_i        (complete[r]),
        .collectives_i       (posted[r] != '0),
        .post_o              (kernel_post[r]),
        .post_ready_i        (kernel_post_ready[r]),
        .kernel_id_o         (kernel_id[r]),
        .sync_o              (sync_requests[r]),
        .sync_i              (sync_answer),
        .tx_valid_o          ({tx_valid[1][r], tx_valid[0][r]}),
        .tx_ready_i          ({tx_ready[1][r], tx_ready[0][r]}),
        .tx_data_o           ({tx_data[1][r], tx_data[0][r]}),
        .tx_last_o           ({tx_last[1][r], tx_last[0][r]}),
        .rx_valid_i          ({rx_valid[1][r], rx_valid[0][r]}),
        .rx_ready_o          ({rx_ready[1][r], rx_ready[0][r]}),
        .rx_data_i           ({rx_data[1][r], rx_data[0][r]}),
        .rx_last_i           ({rx_last[1][r], rx_last[0][r]}),
        .rx_cut_i            ({rx_cut[1][r], rx_cut[0][r]}),
        .phit_read_i         (phit_read[r]),
        .phit_read_o         (phit_answer[r]),
        .phit_write_i        (phit_write[r]),
        .phit_write_ready_o  (phit_write_ready[r]),
        .phit_write_data_i   (phit_write_data),
        .dma_read_i          (dma_reads[r]),
        .dma_read_o          (dma_answers[r]),
        .dma_write_i         (dma_writes[r]),
        .dma_write_gnt_o     (dma_write_gnt[r]),
        .dma_write_data_i    (dma_write_data),
        .dma_write_strobe_i  (dma_write_strobe),
        .data_o              (mem_data[r])
    );

    // Writes to the registers of collectives. They stand outside of `g_links`, since Yosys finds no width for them there.
    assign collective_write[r] = {page_write[r] && page_offset[r][11:9] == 3'b100, page_offset[r], page_data[r]};
  end

  // ---------------------------------------------------------------- crossbar

  fabric #(
      .DATA_W     (DATA_W),
      .RANKS      (RANKS),
      .PORTS      (Ports),
      .INPUT_DEPTH(ROUTER_INPUT_DEPTH),
      .QUEUE_DEPTH(ROUTER_QUEUE_DEPTH)
  ) u_fabric (
      .clk_i     (clk_i),
      .rst_ni    (fabric_rst_n),
      .board_i   (board),
      .tx_valid_i(tx_valid),
      .tx_ready_o(tx_ready),
      .tx_data_i (tx_data),
      .tx_last_i (tx_last),
      .tx_cut_i  (tx_cut),
      .rx_valid_o(rx_valid),
      .rx_ready_i(rx_ready),
      .rx_data_o (rx_data),
      .rx_last_o (rx_last),
      .rx_cut_o  (rx_cut),
      .empty_o   (crossbar_empty)
  );

  // ---------------------------------------------------------------- other boards

  if (LINKS == 0) begin : g_no_links
    assign sync_answer = {here.fire, here.status};

    assign {network, abort_in, posted, kernel_post_ready}                     = '0;
    assign {complete_valid, complete, phit_read, phit_write, phit_write_data} = '0;
    assign {link_o, link_phit_o}                                              = '0;

    logic unused_network;
    assign unused_network = ^{settings, abort_out, here, rank_resets, complete_ready, collective_write, kernel_post,
                             phit_answer, phit_write_ready};
  end else begin : g_links
    board_network #(
        .RANKS       (RANKS),
        .DATA_W      (DATA_W),
        .LINKS       (LINKS),
        .STAGES      (STAGES),
        .PHIT_W      (PHIT_W),
        .VC_DEPTH    (VC_DEPTH),
        .DESTS       (Dests),
        .NODE_BYTES  (NODE_BYTES),
        .MEM_LATENCY (Typical),
        .KERNEL      (KERNEL != 0),
        .SLICES      (SLICES),
        .RESET_STAGES(ResetStages)
    ) u_network (
        .clk_i           (clk_i),
        .rst_ni          (running),
        .settings_i      (settings),
        .state_o         (network),
        .abort_i         (abort_out),
        .abort_o         (abort_in),
        .sync_i          (here),
        .sync_o          (sync_answer),
        .rx_valid_i      ({rx_valid[1][RANKS], rx_valid[0][RANKS]}),
        .rx_ready_o      ({rx_ready[1][RANKS], rx_ready[0][RANKS]}),
        .rx_data_i       ({rx_data[1][RANKS], rx_data[0][RANKS]}),
        .rx_last_i       ({rx_last[1][RANKS], rx_last[0][RANKS]}),
        .tx_valid_o      ({tx_valid[1][RANKS], tx_valid[0][RANKS]}),
        .tx_ready_i      ({tx_ready[1][RANKS], tx_ready[0][RANKS]}),
        .tx_data_o       ({tx_data[1][RANKS], tx_data[0][RANKS]}),
        .tx_last_o       ({tx_last[1][RANKS], tx_last[0][RANKS]}),
        .tx_cut_o        ({tx_cut[1][RANKS], tx_cut[0][RANKS]}),
        .write_i         (collective_write),
        .kernel_i        (kernel_post),
        .kernel_ready_o  (kernel_post_ready),
        .resets_i        (rank_resets),
        .posted_o        (posted),
        .complete_valid_o(complete_valid),
        .complete_ready_i(complete_ready),
        .complete_o      (complete),
        .read_o          (phit_read),
        .read_i          (phit_answer),
        .read_data_i     (mem_data),
        .write_o         (phit_write),
        .write_ready_i   (phit_write_ready),
        .write_data_o    (phit_write_data),
        .link_i          (link_i),
        .link_phit_i     (link_phit_i),
        .link_o          (link_o),
        .link_phit_o     (link_phit_o)
    );
  end

  // ---------------------------------------------------------------- the host's DMA

  host_dma #(
      .RANKS     (RANKS),
      .NODE_BYTES(NODE_BYTES),
      .DATA_W    (DmaDataW),
      .LATENCY   (Typical),
      .SLICES    (SLICES)
  ) u_host_dma (
      .clk_i              (clk_i),
      .rst_ni             (rst_ni),
      .bus_i              (dma_i),
      .wdata_i            (dma_wdata_i),
      .wstrb_i            (dma_wstrb_i),
      .bus_o              (dma_o),
      .rdata_o            (dma_rdata_o),
      .page_o             (dma_page_write),
      .page_ready_i       (dma_page_ready),
      .page_read_o        (dma_page_read),
      .page_address_o     (dma_page_address),
      .page_data_i        (dma_page_data),
      .rank_read_o        (dma_reads),
      .rank_read_i        (dma_answers),
      .rank_data_i        (mem_data),
      .rank_write_o       (dma_writes),
      .rank_write_gnt_i   (dma_write_gnt),
      .rank_write_data_o  (dma_write_data),
      .rank_write_strobe_o(dma_write_strobe),
      .copies_i           (copies),
      .copies_ready_o     (copies_ready),
      .copy_o             (copy_o),
      .copy_ready_i       (copy_ready_i)
  );

  `ALCOR_CHECK_PARAM(g_check_ranks, RANKS >= 1 && RANKS <= 16 && (RANKS & (RANKS - 1)) == 0 && (RANKS > 1 || LINKS > 0),
                     "core: RANKS must be 2, 4, 8 or 16, or 1 with links")
  `ALCOR_CHECK_PARAM(g_check_links, LINKS == 0 || LINKS == 2 || LINKS == 4 || LINKS == 6,
                     "core: LINKS must be 0, 2, 4 or 6")

endmodule

`include "assertions.svh"
`include "shape.svh"

import alcor_abi_pkg::*;
import alcor_link_pkg::*;

/// The board on an Alveo U280: `core` between PCIe (`u280_pcie`) and two QSFP28 cages (`u280_cage`).
///
/// Clocks: the core's is XDMA's, 250 MHz, made from PCIe's reference; each link's is made by its medium
/// access controller from the cage's reference, 322 MHz; 100 MHz of the board start the transceivers.
/// They cross in link ends alone.
///
/// Places: PCIe with XDMA is in the lowest of the die's three super logic regions, SLR0, the cages' controllers in SLR2, and `core`
/// in SLR1 between them. Each bus that leaves a region crosses the border from a register to a register. The instances that
/// end in `_host`, `_core` and `_cage` are the registers in SLR0, SLR1 and SLR2 (constraints/floorplan.xdc).
module u280_top #(
    /// Bits of a beat of the coprocessors and the crossbar.
    parameter int unsigned DATA_W = 256,
    /// Ranks of the board.
    parameter int unsigned RANKS = 2,
    /// LinkSlots of each registration table.
    parameter int unsigned SLOTS = 32,
    /// Bytes of each node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Payload words of an extended packet.
    parameter int unsigned PAYLOAD_WORDS = 512,
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
    /// Cycles from a memory read's grant to its data.
    parameter int unsigned MEM_LATENCY = 6,
    /// Link ports: the cages.
    parameter int unsigned LINKS = 2,
    /// Stages of the collective unit.
    parameter int unsigned STAGES = 1,
    /// Data bits of a phit.
    parameter int unsigned PHIT_W = 256,
    /// Phits of each input channel of a link.
    parameter int unsigned VC_DEPTH = 256,
    /// Posted receives, and as many unexpected messages, that a rank's message engine has room for.
    parameter int unsigned MESSAGES = 256,
    /// Bytes of a fragment of its unexpected message buffer.
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
    /// Cells of the matching unit in each rank's page, 0 for none.
    parameter int unsigned ALPU_CELLS = 0,
    /// Cells of a block of the matching unit.
    parameter int unsigned ALPU_BLOCK = 16,
    /// Bits of a beat of the memory port of each rank's kernel; 0 for no kernel. The macro ALCOR_KERNEL names its module.
    parameter int unsigned KERNEL = 0,
    /// 1: register slices at the core's AXI ports and in front of the collective unit's vector units.
    parameter bit SLICES = 1'b1,
    /// First 32 bits of the source revision.
    parameter logic [31:0] REVISION = 32'h0,
    /// Hash of hw/abi/alcor.rdl that the build script has read; another than the sources' stops the build.
    parameter logic [31:0] BUILT_ABI_HASH = ABI_HASH
) (
    /// PCIe reference clock, 100 MHz.
    input  logic        pcie_refclk_p_i,
    /// PCIe reference clock.
    input  logic        pcie_refclk_n_i,
    /// PCIe reset, active low.
    input  logic        pcie_perst_ni,
    /// PCIe lanes, received.
    input  logic [15:0] pcie_rxp_i,
    /// PCIe lanes, received.
    input  logic [15:0] pcie_rxn_i,
    /// PCIe lanes, sent.
    output logic [15:0] pcie_txp_o,
    /// PCIe lanes, sent.
    output logic [15:0] pcie_txn_o,

    /// 100 MHz of the board.
    input  logic        clk100_p_i,
    /// 100 MHz of the board.
    input  logic        clk100_n_i,

    /// Reference clocks of the cages, 161.1328125 MHz.
    input  logic [1:0]  qsfp_refclk_p_i,
    /// Reference clocks of the cages.
    input  logic [1:0]  qsfp_refclk_n_i,
    /// Enables of the cages' oscillators, active low.
    output logic [1:0]  qsfp_refclk_oe_no,
    /// Frequency of the cages' oscillators: 1 is 161.1328125 MHz, 0 is 156.25 MHz.
    output logic [1:0]  qsfp_refclk_fs_o,
    /// Lanes of cage 0 in [3:0], of cage 1 in [7:4], received.
    input  logic [7:0]  qsfp_rxp_i,
    /// Lanes of the cages, received.
    input  logic [7:0]  qsfp_rxn_i,
    /// Lanes of the cages, sent.
    output logic [7:0]  qsfp_txp_o,
    /// Lanes of the cages, sent.
    output logic [7:0]  qsfp_txn_o,

    /// High switches the board's power off: the HBM is too hot. It is not used.
    output logic        hbm_cattrip_o
);

  // Registers on each side of a border between regions. A phit that left before a reset must not come after it: the core's reset
  // lasts 13 cycles at least, and four ways of registers pass before the last phit.
  localparam int unsigned SlrStages = 1;

  assign hbm_cattrip_o     = 1'b0;
  assign qsfp_refclk_oe_no = '0;
  assign qsfp_refclk_fs_o  = '1;

  // ---------------------------------------------------------------- clocks

  logic clk100_pin, clk100;

  IBUFDS u_clk100_pin (
      .I (clk100_p_i),
      .IB(clk100_n_i),
      .O (clk100_pin)
  );

  BUFG u_clk100 (
      .I(clk100_pin),
      .O(clk100)
  );

  // The transceivers of the cages start anew with PCIe.
  logic perst_n, mac_reset_q;

  sync_2ff #(.WIDTH(1)) u_perst (.clk_i(clk100), .rst_ni(1'b1), .d_i(pcie_perst_ni), .q_o(perst_n));

  always_ff @(posedge clk100) mac_reset_q <= !perst_n;

  // ---------------------------------------------------------------- PCIe

  logic clk, rst_n, copy_ready;
  logic [RANKS-1:0] irq;
  alcor_abi_pkg::lite_request_t lite_request;
  alcor_abi_pkg::lite_answer_t lite_answer;
  alcor_abi_pkg::dma_request_t dma_request;
  alcor_abi_pkg::dma_answer_t dma_answer;
  alcor_abi_pkg::host_copy_t copy;
  logic [PHIT_W-1:0] dma_wdata, dma_rdata;
  logic [PHIT_W/8-1:0] dma_wstrb;

  u280_pcie #(
      .RANKS (RANKS),
      .DATA_W(PHIT_W),
      .STAGES(SlrStages)
  ) u_pcie (
      .refclk_p_i  (pcie_refclk_p_i),
      .refclk_n_i  (pcie_refclk_n_i),
      .perst_ni    (pcie_perst_ni),
      .rxp_i       (pcie_rxp_i),
      .rxn_i       (pcie_rxn_i),
      .txp_o       (pcie_txp_o),
      .txn_o       (pcie_txn_o),
      .clk_o       (clk),
      .rst_no      (rst_n),
      .lite_o      (lite_request),
      .lite_i      (lite_answer),
      .dma_o       (dma_request),
      .dma_wdata_o (dma_wdata),
      .dma_wstrb_o (dma_wstrb),
      .dma_i       (dma_answer),
      .dma_rdata_i (dma_rdata),
      .irq_i       (irq),
      .copy_i      (copy),
      .copy_ready_o(copy_ready)
  );

  // ---------------------------------------------------------------- registers: the core's and the links'

  logic [1:0][LiteRequestW-1:0] slave_requests;
  logic [1:0][LiteAnswerW-1:0] slave_answers;

  lite_split u_lite_split (
      .clk_i   (clk),
      .rst_ni  (rst_n),
      .bus_i   (lite_request),
      .bus_o   (lite_answer),
      .slaves_o(slave_requests),
      .slaves_i(slave_answers)
  );

  logic [LINKS-1:0][31:0] status;
  logic [LINKS-1:0][LinkCountsW-1:0] counts;

  links_registers #(
      .LINKS(LINKS)
  ) u_links_registers (
      .clk_i   (clk),
      .rst_ni  (rst_n),
      .bus_i   (slave_requests[1]),
      .bus_o   (slave_answers[1]),
      .status_i(status),
      .counts_i(counts)
  );

  // ---------------------------------------------------------------- the core

  logic [LINKS-1:0][LinkFlowW-1:0] rx, tx;
  logic [LINKS-1:0][LinkPhitW-1:0] rx_phit, tx_phit;
  logic link_rst_n;
  logic [7:0] link_key;

  core #(
      .DATA_W            (DATA_W),
      .RANKS             (RANKS),
      .SLOTS             (SLOTS),
      .NODE_BYTES        (NODE_BYTES),
      .PAYLOAD_WORDS     (PAYLOAD_WORDS),
      .COMMAND_DEPTH     (COMMAND_DEPTH),
      .IN_DEPTH          (IN_DEPTH),
      .OUT_DEPTH         (OUT_DEPTH),
      .HEAD_DEPTH        (HEAD_DEPTH),
      .MM_DEPTH          (MM_DEPTH),
      .ROUTER_INPUT_DEPTH(ROUTER_INPUT_DEPTH),
      .ROUTER_QUEUE_DEPTH(ROUTER_QUEUE_DEPTH),
      .MEM_LATENCY       (MEM_LATENCY),
      .LINKS             (LINKS),
      .STAGES            (STAGES),
      .PHIT_W            (PHIT_W),
      .VC_DEPTH          (VC_DEPTH),
      .MESSAGES          (MESSAGES),
      .FRAGMENT          (FRAGMENT),
      .MATCH_CELLS       (MATCH_CELLS),
      .MATCH_BLOCK       (MATCH_BLOCK),
      .MATCHERS          (MATCHERS),
      .PAIRS             (PAIRS),
      .ACCUMULATE        (ACCUMULATE),
      .ALPU_CELLS        (ALPU_CELLS),
      .ALPU_BLOCK        (ALPU_BLOCK),
      .KERNEL            (KERNEL),
      .SLICES            (SLICES),
      .CLOCK_KHZ         (250000),
      .REVISION          (REVISION)
  ) u_core (
      .clk_i      (clk),
      .rst_ni     (rst_n),
      .lite_i     (slave_requests[0]),
      .lite_o     (slave_answers[0]),
      .dma_i      (dma_request),
      .dma_wdata_i(dma_wdata),
      .dma_wstrb_i(dma_wstrb),
      .dma_o      (dma_answer),
      .dma_rdata_o(dma_rdata),
      .irq_o      (irq),
      .copy_o      (copy),
      .copy_ready_i(copy_ready),
      .link_i     (rx),
      .link_phit_i(rx_phit),
      .link_o     (tx),
      .link_phit_o(tx_phit),
      .link_rst_no(link_rst_n),
      .link_key_o (link_key)
  );

  // ---------------------------------------------------------------- links

  for (genvar l = 0; l < LINKS; l++) begin : g_link
    u280_cage #(
        .CAGE  (l),
        .SHAPE (`ALCOR_SHAPE),
        .PHITS (8 * VC_DEPTH),
        .STAGES(SlrStages)
    ) u_cage (
        .clk_i      (clk),
        .link_rst_ni(link_rst_n),
        .link_key_i (link_key),
        .link_i     (tx[l]),
        .phit_i     (tx_phit[l]),
        .link_o     (rx[l]),
        .phit_o     (rx_phit[l]),
        .status_o   (status[l]),
        .counts_o   (counts[l]),
        .clk100_i   (clk100),
        .mac_reset_i(mac_reset_q),
        .refclk_p_i (qsfp_refclk_p_i[l]),
        .refclk_n_i (qsfp_refclk_n_i[l]),
        .rxp_i      (qsfp_rxp_i[4*l+:4]),
        .rxn_i      (qsfp_rxn_i[4*l+:4]),
        .txp_o      (qsfp_txp_o[4*l+:4]),
        .txn_o      (qsfp_txn_o[4*l+:4])
    );
  end

  `ALCOR_CHECK_PARAM(g_check_links, LINKS == 2, "u280_top: the board has two cages, so LINKS must be 2")
  `ALCOR_CHECK_PARAM(g_check_phit, PHIT_W == LinkDataW, "u280_top: a link's frame has phits of 256 bits, so PHIT_W must be 256")
  `ALCOR_CHECK_PARAM(g_check_slr, SlrStages <= 2, "u280_top: SlrStages must be 2 or less, as the core's reset lasts 13 cycles")
  `ALCOR_CHECK_PARAM(g_check_abi, BUILT_ABI_HASH == ABI_HASH, "u280_top: the build script has read another ABI than this one")

endmodule

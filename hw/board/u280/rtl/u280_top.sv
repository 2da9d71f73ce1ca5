`include "assertions.svh"
`include "shape.svh"

import alcor_abi_pkg::*;
import alcor_link_pkg::*;

/// The board on an Alveo U280: `core` between PCIe and two QSFP28 cages, with the vendor's parts.
///
/// Clocks: the core's is XDMA's, 250 MHz, made from PCIe's reference; each link's is made by its medium
/// access controller from the cage's reference, 322 MHz; 100 MHz of the board start the transceivers.
/// They cross in link ends alone. What is here beside instances is wires.
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
    parameter int unsigned MEM_LATENCY = 5,
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
    /// 1: each rank has a unit for accumulates; 0: accumulates are refused.
    parameter bit ACCUMULATE = 1'b1,
    /// Cells of the matching unit in each rank's page, 0 for none.
    parameter int unsigned ALPU_CELLS = 0,
    /// Cells of a block of the matching unit.
    parameter int unsigned ALPU_BLOCK = 16,
    /// Bits of a beat of the memory port of each rank's kernel; 0 for no kernel. The macro ALCOR_KERNEL names its module.
    parameter int unsigned KERNEL = 0,
    /// 1: register slices at the core's AXI ports.
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

  // Bits of the core's memory port; the width converters' other side is XDMA's.
  localparam int unsigned DmaDataW = PHIT_W;
  localparam int unsigned XdmaDataW = 512;

  // Registers on each side of a border between regions. A phit that left before a reset must not come after it: the core's reset
  // lasts 13 cycles at least, and four ways of registers pass before the last phit.
  localparam int unsigned SlrStages = 1;

  assign hbm_cattrip_o     = 1'b0;
  assign qsfp_refclk_oe_no = '0;
  assign qsfp_refclk_fs_o  = '1;

  // ---------------------------------------------------------------- clocks

  logic pcie_refclk, pcie_refclk_half, clk100_pin, clk100;
  logic clk, rst_n, rst_n_host, core_rst_n;

  IBUFDS_GTE4 u_pcie_refclk (
      .I    (pcie_refclk_p_i),
      .IB   (pcie_refclk_n_i),
      .CEB  (1'b0),
      .O    (pcie_refclk),
      .ODIV2(pcie_refclk_half)
  );

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

  // XDMA's reset on its way to the core.
  reset_pipe #(.STAGES(SlrStages)) u_reset_host (.clk_i(clk), .rst_ni(rst_n), .rst_no(rst_n_host));
  reset_pipe #(.STAGES(SlrStages)) u_reset_core (.clk_i(clk), .rst_ni(rst_n_host), .rst_no(core_rst_n));

  // ---------------------------------------------------------------- PCIe

  logic [RANKS-1:0] irq, irq_core, irq_host, irq_request, irq_sent;

  // Registers, as XDMA offers them and as they arrive in the core's region.
  alcor_abi_pkg::lite_request_t lite_host_request, lite_request;
  alcor_abi_pkg::lite_answer_t lite_host_answer, lite_answer;
  logic [31:0] lite_awaddr, lite_araddr;

  assign lite_host_request.awaddr = lite_awaddr[17:0];
  assign lite_host_request.araddr = lite_araddr[17:0];

  // Masters of XDMA: the memory BAR, the DMA.
  logic [1:0][3:0] x_awid, x_bid, x_arid, x_rid, x_awcache, x_arcache;
  logic [1:0][63:0] x_awaddr, x_araddr;
  logic [1:0][7:0] x_awlen, x_arlen;
  logic [1:0][2:0] x_awsize, x_arsize, x_awprot, x_arprot;
  logic [1:0][1:0] x_awburst, x_arburst, x_bresp, x_rresp;
  logic [1:0] x_awlock, x_arlock, x_awvalid, x_awready, x_wvalid, x_wready, x_wlast, x_bvalid, x_bready;
  logic [1:0] x_arvalid, x_arready, x_rvalid, x_rready, x_rlast;
  logic [1:0][XdmaDataW-1:0] x_wdata, x_rdata;
  logic [1:0][XdmaDataW/8-1:0] x_wstrb;

  // Copies into host memory: descriptors of the second channel to the host.
  alcor_abi_pkg::host_copy_t core_copy, copy;
  logic core_copy_ready, copy_ready;

  xdma_u280 u_xdma (
      .sys_clk      (pcie_refclk_half),
      .sys_clk_gt   (pcie_refclk),
      .sys_rst_n    (pcie_perst_ni),
      .pci_exp_rxp  (pcie_rxp_i),
      .pci_exp_rxn  (pcie_rxn_i),
      .pci_exp_txp  (pcie_txp_o),
      .pci_exp_txn  (pcie_txn_o),
      .user_lnk_up  (),
      .axi_aclk     (clk),
      .axi_aresetn  (rst_n),
      .usr_irq_req  (irq_request),
      .usr_irq_ack  (irq_sent),
      .msix_enable  (),
      .m_axi_awid   (x_awid[1]),
      .m_axi_awaddr (x_awaddr[1]),
      .m_axi_awlen  (x_awlen[1]),
      .m_axi_awsize (x_awsize[1]),
      .m_axi_awburst(x_awburst[1]),
      .m_axi_awprot (x_awprot[1]),
      .m_axi_awlock (x_awlock[1]),
      .m_axi_awcache(x_awcache[1]),
      .m_axi_awvalid(x_awvalid[1]),
      .m_axi_awready(x_awready[1]),
      .m_axi_wdata  (x_wdata[1]),
      .m_axi_wstrb  (x_wstrb[1]),
      .m_axi_wlast  (x_wlast[1]),
      .m_axi_wvalid (x_wvalid[1]),
      .m_axi_wready (x_wready[1]),
      .m_axi_bid    (x_bid[1]),
      .m_axi_bresp  (x_bresp[1]),
      .m_axi_bvalid (x_bvalid[1]),
      .m_axi_bready (x_bready[1]),
      .m_axi_arid   (x_arid[1]),
      .m_axi_araddr (x_araddr[1]),
      .m_axi_arlen  (x_arlen[1]),
      .m_axi_arsize (x_arsize[1]),
      .m_axi_arburst(x_arburst[1]),
      .m_axi_arprot (x_arprot[1]),
      .m_axi_arlock (x_arlock[1]),
      .m_axi_arcache(x_arcache[1]),
      .m_axi_arvalid(x_arvalid[1]),
      .m_axi_arready(x_arready[1]),
      .m_axi_rid    (x_rid[1]),
      .m_axi_rdata  (x_rdata[1]),
      .m_axi_rresp  (x_rresp[1]),
      .m_axi_rlast  (x_rlast[1]),
      .m_axi_rvalid (x_rvalid[1]),
      .m_axi_rready (x_rready[1]),
      .m_axib_awid   (x_awid[0]),
      .m_axib_awaddr (x_awaddr[0]),
      .m_axib_awlen  (x_awlen[0]),
      .m_axib_awsize (x_awsize[0]),
      .m_axib_awburst(x_awburst[0]),
      .m_axib_awprot (x_awprot[0]),
      .m_axib_awlock (x_awlock[0]),
      .m_axib_awcache(x_awcache[0]),
      .m_axib_awvalid(x_awvalid[0]),
      .m_axib_awready(x_awready[0]),
      .m_axib_wdata  (x_wdata[0]),
      .m_axib_wstrb  (x_wstrb[0]),
      .m_axib_wlast  (x_wlast[0]),
      .m_axib_wvalid (x_wvalid[0]),
      .m_axib_wready (x_wready[0]),
      .m_axib_bid    (x_bid[0]),
      .m_axib_bresp  (x_bresp[0]),
      .m_axib_bvalid (x_bvalid[0]),
      .m_axib_bready (x_bready[0]),
      .m_axib_arid   (x_arid[0]),
      .m_axib_araddr (x_araddr[0]),
      .m_axib_arlen  (x_arlen[0]),
      .m_axib_arsize (x_arsize[0]),
      .m_axib_arburst(x_arburst[0]),
      .m_axib_arprot (x_arprot[0]),
      .m_axib_arlock (x_arlock[0]),
      .m_axib_arcache(x_arcache[0]),
      .m_axib_arvalid(x_arvalid[0]),
      .m_axib_arready(x_arready[0]),
      .m_axib_rid    (x_rid[0]),
      .m_axib_rdata  (x_rdata[0]),
      .m_axib_rresp  (x_rresp[0]),
      .m_axib_rlast  (x_rlast[0]),
      .m_axib_rvalid (x_rvalid[0]),
      .m_axib_rready (x_rready[0]),
      .c2h_dsc_byp_ready_1   (copy_ready),
      .c2h_dsc_byp_load_1    (copy.valid && copy_ready),
      .c2h_dsc_byp_src_addr_1(64'(copy.source)),
      .c2h_dsc_byp_dst_addr_1(copy.destination),
      .c2h_dsc_byp_len_1     (28'(copy.bytes)),
      // Neither stops the channel nor interrupts.
      .c2h_dsc_byp_ctl_1     (16'h0000),
      .m_axil_awaddr (lite_awaddr),
      .m_axil_awprot (),
      .m_axil_awvalid(lite_host_request.awvalid),
      .m_axil_awready(lite_host_answer.awready),
      .m_axil_wdata  (lite_host_request.wdata),
      // The ABI has whole words only.
      .m_axil_wstrb  (),
      .m_axil_wvalid (lite_host_request.wvalid),
      .m_axil_wready (lite_host_answer.wready),
      .m_axil_bresp  (2'b00),
      .m_axil_bvalid (lite_host_answer.bvalid),
      .m_axil_bready (lite_host_request.bready),
      .m_axil_araddr (lite_araddr),
      .m_axil_arprot (),
      .m_axil_arvalid(lite_host_request.arvalid),
      .m_axil_arready(lite_host_answer.arready),
      .m_axil_rdata  (lite_host_answer.rdata),
      .m_axil_rresp  (2'b00),
      .m_axil_rvalid (lite_host_answer.rvalid),
      .m_axil_rready (lite_host_request.rready)
  );

  slr_axi #(
      .AW_W  (18),
      .W_W   (32),
      .AR_W  (18),
      .R_W   (32),
      .STAGES(SlrStages)
  ) u_lite_slr (
      .clk_i         (clk),
      .host_rst_ni   (rst_n),
      .core_rst_ni   (core_rst_n),
      .host_awvalid_i(lite_host_request.awvalid),
      .host_awready_o(lite_host_answer.awready),
      .host_aw_i     (lite_host_request.awaddr),
      .host_wvalid_i (lite_host_request.wvalid),
      .host_wready_o (lite_host_answer.wready),
      .host_w_i      (lite_host_request.wdata),
      .host_bvalid_o (lite_host_answer.bvalid),
      .host_bready_i (lite_host_request.bready),
      .host_arvalid_i(lite_host_request.arvalid),
      .host_arready_o(lite_host_answer.arready),
      .host_ar_i     (lite_host_request.araddr),
      .host_rvalid_o (lite_host_answer.rvalid),
      .host_rready_i (lite_host_request.rready),
      .host_r_o      (lite_host_answer.rdata),
      .core_awvalid_o(lite_request.awvalid),
      .core_awready_i(lite_answer.awready),
      .core_aw_o     (lite_request.awaddr),
      .core_wvalid_o (lite_request.wvalid),
      .core_wready_i (lite_answer.wready),
      .core_w_o      (lite_request.wdata),
      .core_bvalid_i (lite_answer.bvalid),
      .core_bready_o (lite_request.bready),
      .core_arvalid_o(lite_request.arvalid),
      .core_arready_i(lite_answer.arready),
      .core_ar_o     (lite_request.araddr),
      .core_rvalid_i (lite_answer.rvalid),
      .core_rready_o (lite_request.rready),
      .core_r_i      (lite_answer.rdata)
  );

  // Copies: from the core to XDMA.
  slr_stream #(.WIDTH(HostCopyW - 1), .STAGES(SlrStages)) u_copy_slr (
      .clk_i(clk), .rst_ni(rst_n), .valid_i(core_copy.valid), .ready_o(core_copy_ready),
      .data_i({core_copy.source, core_copy.destination, core_copy.bytes}),
      .valid_o(copy.valid), .ready_i(copy_ready), .data_o({copy.source, copy.destination, copy.bytes})
  );

  register_pipe #(.WIDTH(RANKS), .STAGES(SlrStages)) u_irq_core (.clk_i(clk), .d_i(irq), .q_o(irq_core));
  register_pipe #(.WIDTH(RANKS), .STAGES(SlrStages)) u_irq_host (.clk_i(clk), .d_i(irq_core), .q_o(irq_host));

  for (genvar r = 0; r < RANKS; r++) begin : g_irq
    user_irq u_irq (
        .clk_i    (clk),
        .rst_ni   (rst_n),
        .level_i  (irq_host[r]),
        .request_o(irq_request[r]),
        .sent_i   (irq_sent[r])
    );
  end

  // ---------------------------------------------------------------- memory: XDMA's width to the core's, and both masters

  alcor_abi_pkg::dma_request_t dma_host_request, dma_request;
  alcor_abi_pkg::dma_answer_t dma_host_answer, dma_answer;
  logic [1:0][DmaRequestW-1:0] dma_requests;
  logic [1:0][DmaAnswerW-1:0] dma_answers;
  logic [1:0][63:0] dma_awaddr, dma_araddr;
  logic [1:0][DmaDataW-1:0] dma_wdata;
  logic [1:0][DmaDataW/8-1:0] dma_wstrb;
  logic [DmaDataW-1:0] host_wdata, core_wdata, dma_rdata, core_rdata;
  logic [DmaDataW/8-1:0] host_wstrb, core_wstrb;

  for (genvar m = 0; m < 2; m++) begin : g_master
    alcor_abi_pkg::dma_request_t request;
    alcor_abi_pkg::dma_answer_t answer;

    assign request.awaddr  = dma_awaddr[m][31:0];
    assign request.araddr  = dma_araddr[m][31:0];
    assign dma_requests[m] = request;
    assign answer          = dma_answers[m];

    dma_width_u280 u_dma_width (
        .s_axi_aclk    (clk),
        .s_axi_aresetn (rst_n),
        .s_axi_awid    (x_awid[m]),
        .s_axi_awaddr  (x_awaddr[m]),
        .s_axi_awlen   (x_awlen[m]),
        .s_axi_awsize  (x_awsize[m]),
        .s_axi_awburst (x_awburst[m]),
        .s_axi_awlock  (x_awlock[m]),
        .s_axi_awcache (x_awcache[m]),
        .s_axi_awprot  (x_awprot[m]),
        .s_axi_awregion(4'd0),
        .s_axi_awqos   (4'd0),
        .s_axi_awvalid (x_awvalid[m]),
        .s_axi_awready (x_awready[m]),
        .s_axi_wdata   (x_wdata[m]),
        .s_axi_wstrb   (x_wstrb[m]),
        .s_axi_wlast   (x_wlast[m]),
        .s_axi_wvalid  (x_wvalid[m]),
        .s_axi_wready  (x_wready[m]),
        .s_axi_bid     (x_bid[m]),
        .s_axi_bresp   (x_bresp[m]),
        .s_axi_bvalid  (x_bvalid[m]),
        .s_axi_bready  (x_bready[m]),
        .s_axi_arid    (x_arid[m]),
        .s_axi_araddr  (x_araddr[m]),
        .s_axi_arlen   (x_arlen[m]),
        .s_axi_arsize  (x_arsize[m]),
        .s_axi_arburst (x_arburst[m]),
        .s_axi_arlock  (x_arlock[m]),
        .s_axi_arcache (x_arcache[m]),
        .s_axi_arprot  (x_arprot[m]),
        .s_axi_arregion(4'd0),
        .s_axi_arqos   (4'd0),
        .s_axi_arvalid (x_arvalid[m]),
        .s_axi_arready (x_arready[m]),
        .s_axi_rid     (x_rid[m]),
        .s_axi_rdata   (x_rdata[m]),
        .s_axi_rresp   (x_rresp[m]),
        .s_axi_rlast   (x_rlast[m]),
        .s_axi_rvalid  (x_rvalid[m]),
        .s_axi_rready  (x_rready[m]),
        .m_axi_awaddr  (dma_awaddr[m]),
        // The core sees a burst's end, and all bursts are INCR.
        .m_axi_awlen   (),
        .m_axi_awsize  (),
        .m_axi_awburst (),
        .m_axi_awlock  (),
        .m_axi_awcache (),
        .m_axi_awprot  (),
        .m_axi_awregion(),
        .m_axi_awqos   (),
        .m_axi_awvalid (request.awvalid),
        .m_axi_awready (answer.awready),
        .m_axi_wdata   (dma_wdata[m]),
        .m_axi_wstrb   (dma_wstrb[m]),
        .m_axi_wlast   (request.wlast),
        .m_axi_wvalid  (request.wvalid),
        .m_axi_wready  (answer.wready),
        .m_axi_bresp   (2'b00),
        .m_axi_bvalid  (answer.bvalid),
        .m_axi_bready  (request.bready),
        .m_axi_araddr  (dma_araddr[m]),
        .m_axi_arlen   (request.arlen),
        .m_axi_arsize  (),
        .m_axi_arburst (),
        .m_axi_arlock  (),
        .m_axi_arcache (),
        .m_axi_arprot  (),
        .m_axi_arregion(),
        .m_axi_arqos   (),
        .m_axi_arvalid (request.arvalid),
        .m_axi_arready (answer.arready),
        .m_axi_rdata   (dma_rdata),
        .m_axi_rresp   (2'b00),
        .m_axi_rlast   (answer.rlast),
        .m_axi_rvalid  (answer.rvalid),
        .m_axi_rready  (request.rready)
    );
  end

  dma_join #(
      .DATA_W(DmaDataW)
  ) u_dma_join (
      .clk_i    (clk),
      .rst_ni   (rst_n),
      .masters_i(dma_requests),
      .wdata_i  (dma_wdata),
      .wstrb_i  (dma_wstrb),
      .masters_o(dma_answers),
      .bus_o    (dma_host_request),
      .wdata_o  (host_wdata),
      .wstrb_o  (host_wstrb),
      .bus_i    (dma_host_answer)
  );

  slr_axi #(
      .AW_W  (32),
      .W_W   (1 + DmaDataW / 8 + DmaDataW),
      .AR_W  (40),
      .R_W   (1 + DmaDataW),
      .STAGES(SlrStages)
  ) u_dma_slr (
      .clk_i         (clk),
      .host_rst_ni   (rst_n),
      .core_rst_ni   (core_rst_n),
      .host_awvalid_i(dma_host_request.awvalid),
      .host_awready_o(dma_host_answer.awready),
      .host_aw_i     (dma_host_request.awaddr),
      .host_wvalid_i (dma_host_request.wvalid),
      .host_wready_o (dma_host_answer.wready),
      .host_w_i      ({dma_host_request.wlast, host_wstrb, host_wdata}),
      .host_bvalid_o (dma_host_answer.bvalid),
      .host_bready_i (dma_host_request.bready),
      .host_arvalid_i(dma_host_request.arvalid),
      .host_arready_o(dma_host_answer.arready),
      .host_ar_i     ({dma_host_request.arlen, dma_host_request.araddr}),
      .host_rvalid_o (dma_host_answer.rvalid),
      .host_rready_i (dma_host_request.rready),
      .host_r_o      ({dma_host_answer.rlast, dma_rdata}),
      .core_awvalid_o(dma_request.awvalid),
      .core_awready_i(dma_answer.awready),
      .core_aw_o     (dma_request.awaddr),
      .core_wvalid_o (dma_request.wvalid),
      .core_wready_i (dma_answer.wready),
      .core_w_o      ({dma_request.wlast, core_wstrb, core_wdata}),
      .core_bvalid_i (dma_answer.bvalid),
      .core_bready_o (dma_request.bready),
      .core_arvalid_o(dma_request.arvalid),
      .core_arready_i(dma_answer.arready),
      .core_ar_o     ({dma_request.arlen, dma_request.araddr}),
      .core_rvalid_i (dma_answer.rvalid),
      .core_rready_o (dma_request.rready),
      .core_r_i      ({dma_answer.rlast, core_rdata})
  );

  // ---------------------------------------------------------------- registers: the core's and the links'

  logic [1:0][LiteRequestW-1:0] slave_requests;
  logic [1:0][LiteAnswerW-1:0] slave_answers;

  lite_split u_lite_split (
      .clk_i   (clk),
      .rst_ni  (core_rst_n),
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
      .rst_ni  (core_rst_n),
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
      .ACCUMULATE        (ACCUMULATE),
      .ALPU_CELLS        (ALPU_CELLS),
      .ALPU_BLOCK        (ALPU_BLOCK),
      .KERNEL            (KERNEL),
      .SLICES            (SLICES),
      .CLOCK_KHZ         (250000),
      .REVISION          (REVISION)
  ) u_core (
      .clk_i      (clk),
      .rst_ni     (core_rst_n),
      .lite_i     (slave_requests[0]),
      .lite_o     (slave_answers[0]),
      .dma_i      (dma_request),
      .dma_wdata_i(core_wdata),
      .dma_wstrb_i(core_wstrb),
      .dma_o      (dma_answer),
      .dma_rdata_o(core_rdata),
      .irq_o      (irq),
      .copy_o      (core_copy),
      .copy_ready_i(core_copy_ready),
      .link_i     (rx),
      .link_phit_i(rx_phit),
      .link_o     (tx),
      .link_phit_o(tx_phit),
      .link_rst_no(link_rst_n),
      .link_key_o (link_key)
  );

  // ---------------------------------------------------------------- links

  for (genvar l = 0; l < LINKS; l++) begin : g_link
    logic mac_clk, mac_ready_q, mac_rx_reset, mac_tx_reset;
    logic mac_aligned, mac_fault, mac_enable, mac_send_fault;
    logic mac_tx_valid, mac_tx_taken, mac_tx_last, mac_tx_error;
    logic mac_rx_valid, mac_rx_last, mac_rx_error;
    logic [MacW-1:0] mac_tx_data, mac_rx_data;
    logic [3:0] rxp, rxn, txp, txn;

    // Between the core's region and the cages': reset, key, flow and phit one way, flow, phit, status and counts the other.
    localparam int unsigned OutW = 9 + LinkFlowW + LinkPhitW;
    localparam int unsigned InW = LinkFlowW + LinkPhitW + 32 + LinkCountsW;

    logic [OutW-1:0] out_core, out_cage;
    logic [InW-1:0] in_cage, in_core;
    logic cage_rst_n;
    logic [7:0] cage_key;
    logic [LinkFlowW-1:0] cage_tx, cage_rx;
    logic [LinkPhitW-1:0] cage_tx_phit, cage_rx_phit;
    logic [31:0] cage_status;
    logic [LinkCountsW-1:0] cage_counts;

    register_pipe #(.WIDTH(OutW), .STAGES(SlrStages)) u_out_core (
        .clk_i(clk), .d_i({link_rst_n, link_key, tx[l], tx_phit[l]}), .q_o(out_core)
    );
    register_pipe #(.WIDTH(OutW), .STAGES(SlrStages)) u_out_cage (.clk_i(clk), .d_i(out_core), .q_o(out_cage));

    assign {cage_rst_n, cage_key, cage_tx, cage_tx_phit} = out_cage;

    register_pipe #(.WIDTH(InW), .STAGES(SlrStages)) u_in_cage (
        .clk_i(clk), .d_i({cage_rx, cage_rx_phit, cage_status, cage_counts}), .q_o(in_cage)
    );
    register_pipe #(.WIDTH(InW), .STAGES(SlrStages)) u_in_core (.clk_i(clk), .d_i(in_cage), .q_o(in_core));

    assign {rx[l], rx_phit[l], status[l], counts[l]} = in_core;

    assign rxp                  = qsfp_rxp_i[4*l+:4];
    assign rxn                  = qsfp_rxn_i[4*l+:4];
    assign qsfp_txp_o[4*l+:4] = txp;
    assign qsfp_txn_o[4*l+:4] = txn;

    always_ff @(posedge mac_clk) mac_ready_q <= !mac_rx_reset && !mac_tx_reset;

    link_end #(
        .SHAPE(`ALCOR_SHAPE),
        .PHITS(8 * VC_DEPTH)
    ) u_link_end (
        .clk_i             (clk),
        .rst_ni            (cage_rst_n),
        .key_i             (cage_key),
        .link_i            (cage_tx),
        .phit_i            (cage_tx_phit),
        .link_o            (cage_rx),
        .phit_o            (cage_rx_phit),
        .status_o          (cage_status),
        .counts_o          (cage_counts),
        .mac_clk_i         (mac_clk),
        .mac_ready_i       (mac_ready_q),
        .mac_aligned_i     (mac_aligned),
        .mac_remote_fault_i(mac_fault),
        .mac_tx_enable_o   (mac_enable),
        .mac_send_fault_o  (mac_send_fault),
        .mac_valid_o       (mac_tx_valid),
        .mac_taken_i       (mac_tx_taken),
        .mac_word_o        ({mac_tx_last, mac_tx_data}),
        .mac_error_o       (mac_tx_error),
        .mac_valid_i       (mac_rx_valid),
        .mac_word_i        ({mac_rx_last, mac_rx_data}),
        .mac_error_i       (mac_rx_error)
    );

    // Each cage has an IP of its own, as an IP is bound to its place. The ports are the same.
    // verilog_format: off
    `define ALCOR_CMAC(module_) \
    module_ u_cmac ( \
        .gt_rxp_in                           (rxp), \
        .gt_rxn_in                           (rxn), \
        .gt_txp_out                          (txp), \
        .gt_txn_out                          (txn), \
        .gt_ref_clk_p                        (qsfp_refclk_p_i[l]), \
        .gt_ref_clk_n                        (qsfp_refclk_n_i[l]), \
        .gt_loopback_in                      (12'd0), \
        .gtwiz_reset_tx_datapath             (1'b0), \
        .gtwiz_reset_rx_datapath             (1'b0), \
        .sys_reset                           (mac_reset_q), \
        .init_clk                            (clk100), \
        .gt_txusrclk2                        (mac_clk), \
        .rx_clk                              (mac_clk), \
        .core_rx_reset                       (1'b0), \
        .core_tx_reset                       (1'b0), \
        .usr_rx_reset                        (mac_rx_reset), \
        .usr_tx_reset                        (mac_tx_reset), \
        .ctl_rx_enable                       (1'b1), \
        .ctl_rx_force_resync                 (1'b0), \
        .ctl_rx_test_pattern                 (1'b0), \
        .ctl_tx_enable                       (mac_enable), \
        .ctl_tx_test_pattern                 (1'b0), \
        .ctl_tx_send_idle                    (1'b0), \
        .ctl_tx_send_rfi                     (mac_send_fault), \
        .ctl_tx_send_lfi                     (1'b0), \
        .ctl_tx_rsfec_enable                 (1'b1), \
        .ctl_rx_rsfec_enable                 (1'b1), \
        .ctl_rsfec_ieee_error_indication_mode(1'b1), \
        .ctl_rx_rsfec_enable_correction      (1'b1), \
        .ctl_rx_rsfec_enable_indication      (1'b1), \
        .stat_rx_aligned                     (mac_aligned), \
        .stat_rx_remote_fault                (mac_fault), \
        .tx_axis_tvalid                      (mac_tx_valid), \
        .tx_axis_tready                      (mac_tx_taken), \
        .tx_axis_tdata                       (mac_tx_data), \
        .tx_axis_tkeep                       (64'hFFFF_FFFF_FFFF_FFFF), \
        .tx_axis_tlast                       (mac_tx_last), \
        .tx_axis_tuser                       (mac_tx_error), \
        .tx_preamblein                       (56'd0), \
        .rx_axis_tvalid                      (mac_rx_valid), \
        .rx_axis_tdata                       (mac_rx_data), \
        .rx_axis_tkeep                       (), \
        .rx_axis_tlast                       (mac_rx_last), \
        .rx_axis_tuser                       (mac_rx_error), \
        .core_drp_reset                      (1'b0), \
        .drp_clk                             (1'b0), \
        .drp_addr                            (10'd0), \
        .drp_di                              (16'd0), \
        .drp_en                              (1'b0), \
        .drp_we                              (1'b0) \
    );
    // verilog_format: on

    if (l == 0) begin : g_cage0
      `ALCOR_CMAC(cmac_u280_0)
    end else begin : g_cage1
      `ALCOR_CMAC(cmac_u280_1)
    end
  end

  `ALCOR_CHECK_PARAM(g_check_links, LINKS == 2, "u280_top: the board has two cages, so LINKS must be 2")
  `ALCOR_CHECK_PARAM(g_check_phit, PHIT_W == LinkDataW, "u280_top: a link's frame has phits of 256 bits, so PHIT_W must be 256")
  `ALCOR_CHECK_PARAM(g_check_slr, SlrStages <= 2, "u280_top: SlrStages must be 2 or less, as the core's reset lasts 13 cycles")
  `ALCOR_CHECK_PARAM(g_check_abi, BUILT_ABI_HASH == ABI_HASH, "u280_top: the build script has read another ABI than this one")

endmodule

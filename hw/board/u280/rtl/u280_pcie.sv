import alcor_abi_pkg::*;

/// The host's side of the board: PCIe with XDMA in SLR0, and the way of its ports to the core's region, SLR1.
///
/// XDMA gives the core's clock and reset. `dma_width_u280` makes beats of the core's width from those of XDMA's two masters, the
/// DMA and the memory BAR, and `dma_join` gives one of them the core's memory port at a time. `user_irq` makes messages from the
/// core's interrupts. All ports but the pins are those of the core's region.
module u280_pcie #(
    /// Ranks of the board.
    parameter int unsigned RANKS = 2,
    /// Bits of a beat of the core's memory port.
    parameter int unsigned DATA_W = 256,
    /// Registers on each side of the border between the regions.
    parameter int unsigned STAGES = 1
) (
    /// PCIe reference clock, 100 MHz.
    input  logic                         refclk_p_i,
    /// PCIe reference clock.
    input  logic                         refclk_n_i,
    /// PCIe reset, active low.
    input  logic                         perst_ni,
    /// PCIe lanes, received.
    input  logic [15:0]                  rxp_i,
    /// PCIe lanes, received.
    input  logic [15:0]                  rxn_i,
    /// PCIe lanes, sent.
    output logic [15:0]                  txp_o,
    /// PCIe lanes, sent.
    output logic [15:0]                  txn_o,

    /// XDMA's clock, 250 MHz.
    output logic                         clk_o,
    /// XDMA's reset, synchronous, active low.
    output logic                         rst_no,

    /// Registers: AXI4-Lite from the host.
    output alcor_abi_pkg::lite_request_t lite_o,
    /// Registers: AXI4-Lite to the host.
    input  alcor_abi_pkg::lite_answer_t  lite_i,
    /// Node memory: AXI4 from the host.
    output alcor_abi_pkg::dma_request_t  dma_o,
    /// Write data.
    output logic [DATA_W-1:0]            dma_wdata_o,
    /// Byte strobes of the write data.
    output logic [DATA_W/8-1:0]          dma_wstrb_o,
    /// Node memory: AXI4 to the host.
    input  alcor_abi_pkg::dma_answer_t   dma_i,
    /// Read data.
    input  logic [DATA_W-1:0]            dma_rdata_i,

    /// Interrupts of the ranks, levels.
    input  logic [RANKS-1:0]             irq_i,
    /// A copy of node memory into host memory is asked for.
    input  alcor_abi_pkg::host_copy_t    copy_i,
    /// The copy is taken.
    output logic                         copy_ready_o
);

  // The width converters' other side is XDMA's.
  localparam int unsigned XdmaDataW = 512;

  // ---------------------------------------------------------------- clock and reset

  logic refclk, refclk_half, rst_n, rst_n_host;

  IBUFDS_GTE4 u_refclk (
      .I    (refclk_p_i),
      .IB   (refclk_n_i),
      .CEB  (1'b0),
      .O    (refclk),
      .ODIV2(refclk_half)
  );

  // XDMA's reset on its way to the core.
  reset_pipe #(.STAGES(STAGES)) u_reset_host (.clk_i(clk_o), .rst_ni(rst_n), .rst_no(rst_n_host));
  reset_pipe #(.STAGES(STAGES)) u_reset_core (.clk_i(clk_o), .rst_ni(rst_n_host), .rst_no(rst_no));

  // ---------------------------------------------------------------- XDMA

  logic [RANKS-1:0] irq_core, irq_host, irq_request, irq_sent;

  // Registers, as XDMA offers them.
  alcor_abi_pkg::lite_request_t lite_host_request;
  alcor_abi_pkg::lite_answer_t lite_host_answer;
  logic [31:0] lite_awaddr, lite_araddr;
  logic x_lite_arvalid, x_lite_arready;

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
  logic x_bar_arvalid, x_bar_arready;

  // Copies into host memory: descriptors of the second channel to the host.
  alcor_abi_pkg::host_copy_t copy;
  logic copy_ready;

  xdma_u280 u_xdma (
      .sys_clk      (refclk_half),
      .sys_clk_gt   (refclk),
      .sys_rst_n    (perst_ni),
      .pci_exp_rxp  (rxp_i),
      .pci_exp_rxn  (rxn_i),
      .pci_exp_txp  (txp_o),
      .pci_exp_txn  (txn_o),
      .user_lnk_up  (),
      .axi_aclk     (clk_o),
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
      .m_axib_arvalid(x_bar_arvalid),
      .m_axib_arready(x_bar_arready),
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
      .m_axil_arvalid(x_lite_arvalid),
      .m_axil_arready(x_lite_arready),
      .m_axil_rdata  (lite_host_answer.rdata),
      .m_axil_rresp  (2'b00),
      .m_axil_rvalid (lite_host_answer.rvalid),
      .m_axil_rready (lite_host_request.rready)
  );

  // Reads of a BAR behind its writes, as on PCIe. The DMA's reads and writes have no order.
  read_order u_lite_order (
      .clk_i     (clk_o),
      .rst_ni    (rst_n),
      .aw_valid_i(lite_host_request.awvalid),
      .aw_ready_i(lite_host_answer.awready),
      .w_valid_i (lite_host_request.wvalid),
      .w_ready_i (lite_host_answer.wready),
      .w_last_i  (1'b1),
      .b_valid_i (lite_host_answer.bvalid),
      .b_ready_i (lite_host_request.bready),
      .ar_valid_i(x_lite_arvalid),
      .ar_ready_o(x_lite_arready),
      .ar_valid_o(lite_host_request.arvalid),
      .ar_ready_i(lite_host_answer.arready)
  );

  read_order u_bar_order (
      .clk_i     (clk_o),
      .rst_ni    (rst_n),
      .aw_valid_i(x_awvalid[0]),
      .aw_ready_i(x_awready[0]),
      .w_valid_i (x_wvalid[0]),
      .w_ready_i (x_wready[0]),
      .w_last_i  (x_wlast[0]),
      .b_valid_i (x_bvalid[0]),
      .b_ready_i (x_bready[0]),
      .ar_valid_i(x_bar_arvalid),
      .ar_ready_o(x_bar_arready),
      .ar_valid_o(x_arvalid[0]),
      .ar_ready_i(x_arready[0])
  );

  slr_axi #(
      .AW_W  (18),
      .W_W   (32),
      .AR_W  (18),
      .R_W   (32),
      .STAGES(STAGES)
  ) u_lite_slr (
      .clk_i         (clk_o),
      .host_rst_ni   (rst_n),
      .core_rst_ni   (rst_no),
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
      .core_awvalid_o(lite_o.awvalid),
      .core_awready_i(lite_i.awready),
      .core_aw_o     (lite_o.awaddr),
      .core_wvalid_o (lite_o.wvalid),
      .core_wready_i (lite_i.wready),
      .core_w_o      (lite_o.wdata),
      .core_bvalid_i (lite_i.bvalid),
      .core_bready_o (lite_o.bready),
      .core_arvalid_o(lite_o.arvalid),
      .core_arready_i(lite_i.arready),
      .core_ar_o     (lite_o.araddr),
      .core_rvalid_i (lite_i.rvalid),
      .core_rready_o (lite_o.rready),
      .core_r_i      (lite_i.rdata)
  );

  // Copies: from the core to XDMA.
  slr_stream #(.WIDTH(HostCopyW - 1), .STAGES(STAGES)) u_copy_slr (
      .clk_i(clk_o), .rst_ni(rst_n), .valid_i(copy_i.valid), .ready_o(copy_ready_o),
      .data_i({copy_i.source, copy_i.destination, copy_i.bytes}),
      .valid_o(copy.valid), .ready_i(copy_ready), .data_o({copy.source, copy.destination, copy.bytes})
  );

  register_pipe #(.WIDTH(RANKS), .STAGES(STAGES)) u_irq_core (.clk_i(clk_o), .d_i(irq_i), .q_o(irq_core));
  register_pipe #(.WIDTH(RANKS), .STAGES(STAGES)) u_irq_host (.clk_i(clk_o), .d_i(irq_core), .q_o(irq_host));

  for (genvar r = 0; r < RANKS; r++) begin : g_irq
    user_irq u_irq (
        .clk_i    (clk_o),
        .rst_ni   (rst_n),
        .level_i  (irq_host[r]),
        .request_o(irq_request[r]),
        .sent_i   (irq_sent[r])
    );
  end

  // ---------------------------------------------------------------- memory: XDMA's width to the core's, and both masters

  alcor_abi_pkg::dma_request_t dma_host_request;
  alcor_abi_pkg::dma_answer_t dma_host_answer;
  logic [1:0][DmaRequestW-1:0] dma_requests;
  logic [1:0][DmaAnswerW-1:0] dma_answers;
  logic [1:0][63:0] dma_awaddr, dma_araddr;
  logic [1:0][DATA_W-1:0] dma_wdata;
  logic [1:0][DATA_W/8-1:0] dma_wstrb;
  logic [DATA_W-1:0] host_wdata, dma_rdata;
  logic [DATA_W/8-1:0] host_wstrb;

  for (genvar m = 0; m < 2; m++) begin : g_master
    alcor_abi_pkg::dma_request_t request;
    alcor_abi_pkg::dma_answer_t answer;

    assign request.awaddr  = dma_awaddr[m][31:0];
    assign request.araddr  = dma_araddr[m][31:0];
    assign dma_requests[m] = request;
    assign answer          = dma_answers[m];

    dma_width_u280 u_dma_width (
        .s_axi_aclk    (clk_o),
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
      .DATA_W(DATA_W)
  ) u_dma_join (
      .clk_i    (clk_o),
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
      .W_W   (1 + DATA_W / 8 + DATA_W),
      .AR_W  (40),
      .R_W   (1 + DATA_W),
      .STAGES(STAGES)
  ) u_dma_slr (
      .clk_i         (clk_o),
      .host_rst_ni   (rst_n),
      .core_rst_ni   (rst_no),
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
      .core_awvalid_o(dma_o.awvalid),
      .core_awready_i(dma_i.awready),
      .core_aw_o     (dma_o.awaddr),
      .core_wvalid_o (dma_o.wvalid),
      .core_wready_i (dma_i.wready),
      .core_w_o      ({dma_o.wlast, dma_wstrb_o, dma_wdata_o}),
      .core_bvalid_i (dma_i.bvalid),
      .core_bready_o (dma_o.bready),
      .core_arvalid_o(dma_o.arvalid),
      .core_arready_i(dma_i.arready),
      .core_ar_o     ({dma_o.arlen, dma_o.araddr}),
      .core_rvalid_i (dma_i.rvalid),
      .core_rready_o (dma_o.rready),
      .core_r_i      ({dma_i.rlast, dma_rdata_i})
  );

endmodule

/// `core` for cocotb: its AXI ports under the names that cocotbext-axi looks for; the test rig's port and the links are tied off.
module rival_top #(
    /// Bits of a beat of the coprocessors and the crossbar.
    parameter int unsigned DATA_W = 32,
    /// Ranks of the board.
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
    /// Cycles from a granted memory read to its data.
    parameter int unsigned MEM_LATENCY = 1,
    /// Posted receives, and as many unexpected messages, that a rank's message engine has room for.
    parameter int unsigned MESSAGES = 256,
    /// Bytes of a fragment of its unexpected message buffer.
    parameter int unsigned FRAGMENT = 256,
    /// Cells of each of its matching units.
    parameter int unsigned MATCH_CELLS = 16,
    /// Cells of a block of them.
    parameter int unsigned MATCH_BLOCK = 8,
    /// Matchers of each rank's match store; 0: queues with matching units.
    parameter int unsigned MATCHERS = 0,
    /// Queue pairs of the match store, a power of two from 2 to 128.
    parameter int unsigned PAIRS = 16,
    /// Cells of the matching unit in each rank's page, 0 for none.
    parameter int unsigned ALPU_CELLS = 0,
    /// Cells of a block of it.
    parameter int unsigned ALPU_BLOCK = 16,
    /// 1: register slices at the AXI ports.
    parameter bit SLICES = 1'b0,
    /// Address bits of the register BAR; derived, not to be set.
    localparam int unsigned BarW = 17,
    /// Address bits of the board's node memory; derived, not to be set.
    localparam int unsigned DmaW = $clog2(RANKS) + $clog2(NODE_BYTES)
) (
    /// Clock.
    input  logic             clk_i,
    /// Synchronous reset, active low.
    input  logic             rst_ni,
    /// Interrupt of each rank, a level.
    output logic [RANKS-1:0] irq_o,

    /// Register BAR, AXI4-Lite.
    input  logic             lite_awvalid,
    /// Register BAR.
    output logic             lite_awready,
    /// Register BAR.
    input  logic [BarW-1:0]  lite_awaddr,
    /// Register BAR.
    input  logic             lite_wvalid,
    /// Register BAR.
    output logic             lite_wready,
    /// Register BAR.
    input  logic [31:0]      lite_wdata,
    /// Register BAR.
    output logic             lite_bvalid,
    /// Register BAR.
    input  logic             lite_bready,
    /// Register BAR.
    input  logic             lite_arvalid,
    /// Register BAR.
    output logic             lite_arready,
    /// Register BAR.
    input  logic [BarW-1:0]  lite_araddr,
    /// Register BAR.
    output logic             lite_rvalid,
    /// Register BAR.
    input  logic             lite_rready,
    /// Register BAR.
    output logic [31:0]      lite_rdata,

    /// Node memory, AXI4; one id.
    input  logic             dma_awvalid,
    /// Node memory.
    output logic             dma_awready,
    /// Node memory: one id.
    input  logic             dma_awid,
    /// Node memory: rank × NODE_BYTES + byte.
    input  logic [DmaW-1:0]  dma_awaddr,
    /// Node memory: told by dma_wlast.
    input  logic [7:0]       dma_awlen,
    /// Node memory: whole words.
    input  logic [2:0]       dma_awsize,
    /// Node memory: ascending.
    input  logic [1:0]       dma_awburst,
    /// Node memory.
    input  logic             dma_wvalid,
    /// Node memory.
    output logic             dma_wready,
    /// Node memory.
    input  logic [31:0]      dma_wdata,
    /// Node memory.
    input  logic [3:0]       dma_wstrb,
    /// Node memory.
    input  logic             dma_wlast,
    /// Node memory.
    output logic             dma_bvalid,
    /// Node memory.
    input  logic             dma_bready,
    /// Node memory.
    output logic             dma_bid,
    /// Node memory.
    input  logic             dma_arvalid,
    /// Node memory.
    output logic             dma_arready,
    /// Node memory: one id.
    input  logic             dma_arid,
    /// Node memory: rank × NODE_BYTES + byte.
    input  logic [DmaW-1:0]  dma_araddr,
    /// Node memory.
    input  logic [7:0]       dma_arlen,
    /// Node memory: whole words.
    input  logic [2:0]       dma_arsize,
    /// Node memory: ascending.
    input  logic [1:0]       dma_arburst,
    /// Node memory.
    output logic             dma_rvalid,
    /// Node memory.
    input  logic             dma_rready,
    /// Node memory.
    output logic [31:0]      dma_rdata,
    /// Node memory.
    output logic             dma_rid,
    /// Node memory.
    output logic             dma_rlast
);

  assign dma_bid = 1'b0;
  assign dma_rid = 1'b0;

  logic unused;
  assign unused = &{1'b0, dma_awid, dma_awlen, dma_awsize, dma_awburst, dma_arid, dma_arsize, dma_arburst};

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
      .MESSAGES          (MESSAGES),
      .FRAGMENT          (FRAGMENT),
      .MATCH_CELLS       (MATCH_CELLS),
      .MATCH_BLOCK       (MATCH_BLOCK),
      .MATCHERS          (MATCHERS),
      .PAIRS             (PAIRS),
      .ALPU_CELLS        (ALPU_CELLS),
      .ALPU_BLOCK        (ALPU_BLOCK),
      .SLICES            (SLICES)
  ) u_core (
      .clk_i      (clk_i),
      .rst_ni     (rst_ni),
      .lite_i     ({lite_awvalid, 18'(lite_awaddr), lite_wvalid, lite_wdata, lite_bready,
                    lite_arvalid, 18'(lite_araddr), lite_rready}),
      .lite_o     ({lite_awready, lite_wready, lite_bvalid, lite_arready, lite_rvalid, lite_rdata}),
      .dma_i      ({dma_awvalid, 32'(dma_awaddr), dma_wvalid, dma_wlast, dma_bready,
                    dma_arvalid, 32'(dma_araddr), dma_arlen, dma_rready}),
      .dma_wdata_i(dma_wdata),
      .dma_wstrb_i(dma_wstrb),
      .dma_o      ({dma_awready, dma_wready, dma_bvalid, dma_arready, dma_rvalid, dma_rlast}),
      .dma_rdata_o(dma_rdata),
      .irq_o      (irq_o),
      .copy_o           (),
      .copy_ready_i     (1'b1),
      .link_i     ('0),
      .link_phit_i('0),
      .link_o     (),
      .link_phit_o(),
      .link_rst_no(),
      .link_key_o ()
  );

endmodule

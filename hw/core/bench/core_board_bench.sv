/// Bench top for a board of two ranks without links: `core` with its test rig, and a monitor of the beats of its
/// coprocessors.
module core_board_bench #(
    /// Ranks of the board.
    parameter int unsigned RANKS = 2,
    /// Slots of each registration table.
    parameter int unsigned SLOTS = 32,
    /// Bytes of each node memory.
    parameter int unsigned NODE_BYTES = 65536,
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
    /// Maximum number of posted receives, and of unexpected messages, of each rank.
    parameter int unsigned MESSAGES = 16,
    /// Bytes of a fragment.
    parameter int unsigned FRAGMENT = 64,
    /// Cycles from a memory read's grant to its data.
    parameter int unsigned MEM_LATENCY = 1,
    /// Maximum number of additional cycles, at random.
    parameter int unsigned MEM_JITTER = 0,
    /// Address bits of the board's node memory and pages; derived, do not set.
    localparam int unsigned DmaW = 1 + (($clog2(RANKS) + $clog2(NODE_BYTES) < 18) ? 18 : $clog2(RANKS) + $clog2(NODE_BYTES))
) (
    /// Clock.
    input  logic                   clk_i,
    /// Reset.
    input  logic                   rst_ni,

    /// Test rig.
    input  logic [RANKS-1:0]       move_valid_i,
    input  logic [RANKS-1:0][11:0] move_offset_i,
    input  logic [RANKS-1:0][31:0] move_data_i,
    /// A register, in the same cycle.
    input  logic [16:0]            lite_araddr_i,
    output logic [31:0]            peek_o,
    /// A beat passes; per rank request out, reply out, request in, reply in.
    output logic [RANKS-1:0][3:0]  monitor_valid_o,

    /// CONTROL.reset is written.
    input  logic                   control_reset_i,

    /// Node memory.
    input  logic                   dma_awvalid_i,
    output logic                   dma_awready_o,
    input  logic [DmaW-1:0]        dma_awaddr_i,
    input  logic                   dma_wvalid_i,
    output logic                   dma_wready_o,
    input  logic [31:0]            dma_wdata_i,
    input  logic [3:0]             dma_wstrb_i,
    input  logic                   dma_wlast_i,
    output logic                   dma_bvalid_o,
    input  logic                   dma_bready_i,
    input  logic                   dma_arvalid_i,
    output logic                   dma_arready_o,
    input  logic [DmaW-1:0]        dma_araddr_i,
    input  logic [7:0]             dma_arlen_i,
    output logic                   dma_rvalid_o,
    input  logic                   dma_rready_i,
    output logic [31:0]            dma_rdata_o,
    output logic                   dma_rlast_o,

    /// Copies into host memory.
    output logic                   copy_valid_o,
    input  logic                   copy_ready_i,
    output logic [31:0]            copy_source_o,
    output logic [63:0]            copy_destination_o,
    output logic [12:0]            copy_bytes_o
);

  assign u_core.u_host_port.g_rig.move_valid  = move_valid_i;
  assign u_core.u_host_port.g_rig.move_offset = move_offset_i;
  assign u_core.u_host_port.g_rig.move_data   = move_data_i;

  assign u_core.u_host_port.g_rig.peek         = 1'b1;
  assign u_core.u_host_port.g_rig.peek_address = lite_araddr_i;
  assign peek_o                                = u_core.u_host_port.read_data;

  for (genvar r = 0; r < RANKS; r++) begin : g_monitor
    for (genvar p = 0; p < 2; p++) begin : g_plane
      assign monitor_valid_o[r][p]   = u_core.tx_valid[p][r] && u_core.tx_ready[p][r];
      assign monitor_valid_o[r][2+p] = u_core.rx_valid[p][r] && u_core.rx_ready[p][r];
    end
  end

  core #(
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
      .MESSAGES          (MESSAGES),
      .FRAGMENT          (FRAGMENT),
      .MEM_LATENCY       (MEM_LATENCY),
      .MEM_JITTER        (MEM_JITTER),
      .RIG               (1'b1)
  ) u_core (
      .clk_i      (clk_i),
      .rst_ni     (rst_ni),
      .lite_i     ({control_reset_i, 18'(alcor_abi_pkg::BOARD_CONTROL_OFFSET), control_reset_i, 32'd1, 1'b1, 20'd0}),
      .lite_o     (),
      .dma_i      ({dma_awvalid_i, 32'(dma_awaddr_i), dma_wvalid_i, dma_wlast_i, dma_bready_i,
                    dma_arvalid_i, 32'(dma_araddr_i), dma_arlen_i, dma_rready_i}),
      .dma_wdata_i(dma_wdata_i),
      .dma_wstrb_i(dma_wstrb_i),
      .dma_o      ({dma_awready_o, dma_wready_o, dma_bvalid_o, dma_arready_o, dma_rvalid_o, dma_rlast_o}),
      .dma_rdata_o(dma_rdata_o),
      .irq_o      (),
      .copy_o      ({copy_valid_o, copy_source_o, copy_destination_o, copy_bytes_o}),
      .copy_ready_i(copy_ready_i),
      .link_i     ('0),
      .link_phit_i('0),
      .link_o     (),
      .link_phit_o(),
      .link_rst_no(),
      .link_key_o ()
  );

endmodule

`include "assertions.svh"
`include "shape.svh"

import alcor_abi_pkg::*;
import alcor_link_pkg::*;


// No part of a board: nothing of it counts as covered or not.
// verilator coverage_off

/// A board in simulation: `core` with the bus functional model of XDMA at its host port.
module sim_top #(
    /// Bits of a beat of the coprocessors and the crossbar: 32, 256 or 512, with links PHIT_W at most.
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
    /// Cycles from a memory read's grant to its data. From 2 on, requests are granted in two stages.
    parameter int unsigned MEM_LATENCY = 1,
    /// Maximum number of additional cycles of node memory, at random.
    parameter int unsigned MEM_JITTER = 0,
    /// Link ports: 0, or 2 for each dimension of the ring or torus.
    parameter int unsigned LINKS = 0,
    /// Stages of the collective unit, as many as the boards need to meet pairwise; only with links.
    parameter int unsigned STAGES = 1,
    /// Data bits of a phit.
    parameter int unsigned PHIT_W = 256,
    /// Phits that a link port holds for each virtual channel.
    parameter int unsigned VC_DEPTH = 256,
    /// Posted receives, and as many unexpected messages, that a rank's message engine has room for.
    parameter int unsigned MESSAGES = 256,
    /// Bytes of a fragment of its unexpected message buffer: an eager message at most.
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
    /// Bits of a beat of the memory port of each rank's kernel; 0 for no kernel.
    parameter int unsigned KERNEL = 0,
    /// 1: register slices at the AXI ports.
    parameter bit SLICES = 1'b0,
    /// 1: link ends between the switch and the links, which then carry frames; only with links.
    parameter bit FRAMES = 1'b0
) (
    /// Clock.
    input  logic            clk_i,
    /// Synchronous reset, active low.
    input  logic            rst_ni,
    /// Handle of the board in the simulator.
    input  longint unsigned dpi_handle_i,
    /// Serve the AXI mailbox.
    input  logic            axi_enable_i,
    /// Tell of writes to node memory.
    input  logic            trace_i,
    /// Show the register at `peek_addr_i`; only while the clock stands, as the bus reads through the
    /// same multiplexer.
    input  logic            peek_i,
    /// Byte address in the BAR of the register shown on `peek_data_o`.
    input  logic [17:0]     peek_addr_i,
    /// Its value, in the same cycle.
    output logic [31:0]     peek_data_o,
    /// Asserted while a counter that always runs may decide something: a choice that could not be used waits for its next
    /// turn, or phits that wait in the switch grow older.
    output logic            phased_o
);

  localparam int unsigned LinkN = LINKS == 0 ? 1 : LINKS;
  localparam int unsigned LinkW = PHIT_W + PhitHeadW;
  // With link ends, the simulator sees words of frames in the places of phits.
  localparam int unsigned WireDataW = FRAMES ? MacW : PHIT_W;
  localparam int unsigned WireW = WireDataW + PhitHeadW;
  localparam int unsigned DmaW = $clog2(RANKS) + $clog2(NODE_BYTES);

  logic [RANKS-1:0] irq, move_valid;
  logic [RANKS-1:0][11:0] move_offset;
  logic [RANKS-1:0][31:0] move_data;
  logic [RANKS-1:0][3:0] monitor_valid, monitor_last;
  logic [RANKS-1:0][3:0][DATA_W-1:0] monitor_data;
  bit [95:0] to_host;
  bit [319:0] from_host;
  // By the direction as the board sees it.
  logic [LinkN-1:0] valid_in, credit_in, valid_out, credit_out;
  logic [LinkN-1:0][2:0] vc_in, credit_vc_in, vc_out, credit_vc_out;
  logic [LinkN-1:0][LinkW-1:0] phit_in, phit_out;
  // The same at the simulator.
  logic [LinkN-1:0] wire_valid_in, wire_credit_in, wire_valid_out, wire_credit_out;
  logic [LinkN-1:0][2:0] wire_vc_in, wire_credit_vc_in, wire_vc_out, wire_credit_vc_out;
  logic [LinkN-1:0][WireW-1:0] wire_in, wire_out;
  logic link_rst_n;
  logic [7:0] link_key;
  logic [31:0] links_data;

  // Node memories, for who traces: seen from outside, so that `core` carries nothing for it.
  logic [RANKS-1:0] write_valid, phit_valid;
  logic [RANKS-1:0][1:0] write_index;
  logic [RANKS-1:0][29:0] write_address, phit_address;
  logic [RANKS-1:0][31:0] write_data;
  logic [RANKS-1:0][DATA_W/8-1:0] write_strobe;
  logic [RANKS-1:0][15:0] phit_words;

  // The rig's writes, and the beats that pass the coprocessors: request out, reply out, request in, reply in.
  assign u_core.u_host_port.g_rig.move_valid  = move_valid;
  assign u_core.u_host_port.g_rig.move_offset = move_offset;
  assign u_core.u_host_port.g_rig.move_data   = move_data;

  assign u_core.u_host_port.g_rig.peek         = peek_i;
  assign u_core.u_host_port.g_rig.peek_address = peek_addr_i[16:0];
  assign peek_data_o                           = peek_addr_i[17] ? links_data : u_core.u_host_port.read_data;

  for (genvar r = 0; r < RANKS; r++) begin : g_monitor
    for (genvar p = 0; p < 2; p++) begin : g_plane
      assign monitor_valid[r][p]   = u_core.tx_valid[p][r] && u_core.tx_ready[p][r];
      assign monitor_last[r][p]    = u_core.tx_last[p][r];
      assign monitor_data[r][p]    = u_core.tx_data[p][r];
      assign monitor_valid[r][2+p] = u_core.rx_valid[p][r] && u_core.rx_ready[p][r];
      assign monitor_last[r][2+p]  = u_core.rx_last[p][r];
      assign monitor_data[r][2+p]  = u_core.rx_data[p][r];
    end
  end

  for (genvar r = 0; r < RANKS; r++) begin : g_memory
    alcor_abi_pkg::phit_write_t phit_write;
    assign write_valid[r]   = u_core.g_rank[r].u_tile.write_gnt[2:0] != '0;
    assign write_index[r]   = u_core.g_rank[r].u_tile.write_gnt[2] ? 2'd2 : {1'b0, u_core.g_rank[r].u_tile.write_gnt[1]};
    assign write_address[r] = u_core.g_rank[r].u_tile.memory_write.address;
    assign write_data[r]    = u_core.g_rank[r].u_tile.memory_data[31:0];
    assign write_strobe[r]  = u_core.g_rank[r].u_tile.memory_strobe[DATA_W/8-1:0];
    assign phit_write       = u_core.phit_write[r];
    assign phit_valid[r]    = phit_write.valid && u_core.phit_write_ready[r];
    assign phit_address[r]  = phit_write.address;
    assign phit_words[r]    = phit_write.strobe;
  end

  if (LINKS == 0) begin : g_unphased
    assign phased_o = 1'b0;
  end else begin : g_phased
    logic [STAGES-1:0] stage_naps;
    for (genvar s = 0; s < STAGES; s++) begin : g_stage
      assign stage_naps[s] = u_core.g_links.u_network.u_collectives.g_stage[s].u_stage.u_choice.u_pick.nap_q != '0;
    end
    assign phased_o = stage_naps != '0 || u_core.g_links.u_network.u_collectives.u_reader.u_pick.nap_q != '0
                      || u_core.g_links.u_network.u_collectives.u_copy.nap_q != '0
                      || u_core.g_links.u_network.u_switch_router.input_empty != '1;
  end

  host_bfm #(
      .RANKS (RANKS),
      .LINKS (LINKS),
      .PHIT_W(WireDataW),
      .DATA_W(DATA_W)
  ) u_host_bfm (
      .clk_i           (clk_i),
      .rst_ni          (rst_ni),
      .dpi_handle_i    (dpi_handle_i),
      .axi_enable_i    (axi_enable_i),
      .irq_i           (irq),
      .move_valid_o    (move_valid),
      .move_offset_o   (move_offset),
      .move_data_o     (move_data),
      .monitor_valid_i (monitor_valid),
      .monitor_last_i  (monitor_last),
      .monitor_data_i  (monitor_data),
      .trace_i         (trace_i),
      .write_valid_i   (write_valid),
      .write_index_i   (write_index),
      .write_address_i (write_address),
      .write_data_i    (write_data),
      .write_strobe_i  (write_strobe),
      .phit_valid_i    (phit_valid),
      .phit_address_i  (phit_address),
      .phit_words_i    (phit_words),
      .axi_i           (to_host),
      .axi_o           (from_host),
      .link_valid_i    (wire_valid_out),
      .link_vc_i       (wire_vc_out),
      .link_phit_i     (wire_out),
      .link_credit_i   (wire_credit_out),
      .link_credit_vc_i(wire_credit_vc_out),
      .link_valid_o    (wire_valid_in),
      .link_vc_o       (wire_vc_in),
      .link_phit_o     (wire_in),
      .link_credit_o   (wire_credit_in),
      .link_credit_vc_o(wire_credit_vc_in)
  );

  if (FRAMES) begin : g_frames
    logic [LinkN-1:0] fault_out;

    assign wire_vc_out = '0;
    for (genvar l = 0; l < LinkN; l++) begin : g_fault
      assign wire_credit_vc_out[l] = {2'b00, fault_out[l]};
    end

    sim_links #(
        .LINKS   (LinkN),
        .SHAPE   (`ALCOR_SHAPE),
        .VC_DEPTH(VC_DEPTH)
    ) u_links (
        .clk_i             (clk_i),
        .rst_ni            (rst_ni),
        .link_rst_ni       (link_rst_n),
        .key_i             (link_key),
        .valid_i           (valid_out),
        .vc_i              (vc_out),
        .phit_i            (phit_out),
        .credit_i          (credit_out),
        .credit_vc_i       (credit_vc_out),
        .valid_o           (valid_in),
        .vc_o              (vc_in),
        .phit_o            (phit_in),
        .credit_o          (credit_in),
        .credit_vc_o       (credit_vc_in),
        .wire_valid_o      (wire_valid_out),
        .wire_word_o       (wire_out),
        .wire_fault_valid_o(wire_credit_out),
        .wire_fault_o      (fault_out),
        .wire_valid_i      (wire_valid_in),
        .wire_word_i       (wire_in),
        .wire_state_valid_i(wire_credit_in),
        .wire_state_i      (wire_credit_vc_in),
        .peek_addr_i       (peek_addr_i[11:0]),
        .peek_data_o       (links_data)
    );
  end else begin : g_phits
    assign links_data         = '0;
    assign wire_valid_out     = valid_out;
    assign wire_vc_out        = vc_out;
    assign wire_out           = phit_out;
    assign wire_credit_out    = credit_out;
    assign wire_credit_vc_out = credit_vc_out;
    assign valid_in           = wire_valid_in;
    assign vc_in              = wire_vc_in;
    assign phit_in            = wire_in;
    assign credit_in          = wire_credit_in;
    assign credit_vc_in       = wire_credit_vc_in;
  end

  logic lite_awready, lite_wready, lite_bvalid, lite_arready, lite_rvalid;
  logic dma_awready, dma_wready, dma_bvalid, dma_arready, dma_rvalid, dma_rlast;
  logic [31:0] lite_rdata, dma_rdata;

  assign to_host = {
    dma_rdata,
    lite_rdata,
    18'd0, dma_rlast, dma_rvalid, dma_arready, dma_bvalid, dma_wready, dma_awready,
    3'd0, lite_rvalid, lite_arready, lite_bvalid, lite_wready, lite_awready
  };

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
      .MEM_JITTER        (MEM_JITTER),
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
      .RIG               (1'b1)
  ) u_core (
      .clk_i           (clk_i),
      .rst_ni          (rst_ni),
      .lite_awvalid_i  (from_host[0]),
      .lite_awready_o  (lite_awready),
      .lite_awaddr_i   (from_host[32+:17]),
      .lite_wvalid_i   (from_host[1]),
      .lite_wready_o   (lite_wready),
      .lite_wdata_i    (from_host[64+:32]),
      .lite_bvalid_o   (lite_bvalid),
      .lite_bready_i   (from_host[2]),
      .lite_arvalid_i  (from_host[3]),
      .lite_arready_o  (lite_arready),
      .lite_araddr_i   (from_host[96+:17]),
      .lite_rvalid_o   (lite_rvalid),
      .lite_rready_i   (from_host[4]),
      .lite_rdata_o    (lite_rdata),
      .dma_awvalid_i   (from_host[8]),
      .dma_awready_o   (dma_awready),
      .dma_awaddr_i    (from_host[128+:DmaW]),
      .dma_wvalid_i    (from_host[9]),
      .dma_wready_o    (dma_wready),
      .dma_wdata_i     (from_host[192+:32]),
      .dma_wstrb_i     (from_host[224+:4]),
      .dma_wlast_i     (from_host[10]),
      .dma_bvalid_o    (dma_bvalid),
      .dma_bready_i    (from_host[11]),
      .dma_arvalid_i   (from_host[12]),
      .dma_arready_o   (dma_arready),
      .dma_araddr_i    (from_host[256+:DmaW]),
      .dma_arlen_i     (from_host[288+:8]),
      .dma_rvalid_o    (dma_rvalid),
      .dma_rready_i    (from_host[13]),
      .dma_rdata_o     (dma_rdata),
      .dma_rlast_o     (dma_rlast),
      .irq_o           (irq),
      .link_valid_i    (valid_in),
      .link_vc_i       (vc_in),
      .link_phit_i     (phit_in),
      .link_credit_i   (credit_in),
      .link_credit_vc_i(credit_vc_in),
      .link_valid_o    (valid_out),
      .link_vc_o       (vc_out),
      .link_phit_o     (phit_out),
      .link_credit_o   (credit_out),
      .link_credit_vc_o(credit_vc_out),
      .link_rst_no     (link_rst_n),
      .link_key_o      (link_key)
  );

  `ALCOR_CHECK_PARAM(g_check_frames, !FRAMES || (LINKS != 0 && PHIT_W == LinkDataW),
                     "sim_top: link ends need links, and phits of 256 bits")

endmodule

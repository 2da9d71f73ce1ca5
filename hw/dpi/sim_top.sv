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
    /// Bits of a beat of the memory port of each rank's kernel; 0 for no kernel.
    parameter int unsigned KERNEL = 0,
    /// 1: register slices at the AXI ports and in front of the collective unit's vector units.
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
  // Bits of a beat of the DMA port, as in core.
  localparam int unsigned DmaDataW = LINKS == 0 ? DATA_W : PHIT_W;
  // With link ends, the simulator sees words of frames in the places of phits.
  localparam int unsigned WireDataW = FRAMES ? MacW : PHIT_W;
  localparam int unsigned WireW = WireDataW + PhitHeadW;

  logic [RANKS-1:0] irq, move_valid;
  logic [RANKS-1:0][11:0] move_offset;
  logic [RANKS-1:0][31:0] move_data;
  logic [RANKS-1:0][3:0] monitor_valid, monitor_last;
  logic [RANKS-1:0][3:0][DATA_W-1:0] monitor_data;
  bit [191+DmaDataW:0] to_host;
  bit [319+DmaDataW:0] from_host;
  // By the direction as the board sees it.
  logic [LinkN-1:0][LinkFlowW-1:0] link_in, link_out;
  logic [LinkN-1:0][LinkW-1:0] phit_in, phit_out;
  // The same at the simulator.
  logic [LinkN-1:0][LinkFlowW-1:0] wire_in, wire_out;
  logic [LinkN-1:0][WireW-1:0] wire_word_in, wire_word_out;
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
      .DATA_W(DATA_W),
      .DMA_W (DmaDataW)
  ) u_host_bfm (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .dpi_handle_i   (dpi_handle_i),
      .axi_enable_i   (axi_enable_i),
      .irq_i          (irq),
      .move_valid_o   (move_valid),
      .move_offset_o  (move_offset),
      .move_data_o    (move_data),
      .monitor_valid_i(monitor_valid),
      .monitor_last_i (monitor_last),
      .monitor_data_i (monitor_data),
      .trace_i        (trace_i),
      .write_valid_i  (write_valid),
      .write_index_i  (write_index),
      .write_address_i(write_address),
      .write_data_i   (write_data),
      .write_strobe_i (write_strobe),
      .phit_valid_i   (phit_valid),
      .phit_address_i (phit_address),
      .phit_words_i   (phit_words),
      .axi_i          (to_host),
      .axi_o          (from_host),
      .link_i         (wire_out),
      .link_phit_i    (wire_word_out),
      .link_o         (wire_in),
      .link_phit_o    (wire_word_in)
  );

  if (FRAMES) begin : g_frames
    sim_links #(
        .LINKS   (LinkN),
        .SHAPE   (`ALCOR_SHAPE),
        .VC_DEPTH(VC_DEPTH)
    ) u_links (
        .clk_i      (clk_i),
        .rst_ni     (rst_ni),
        .link_rst_ni(link_rst_n),
        .key_i      (link_key),
        .link_i     (link_out),
        .phit_i     (phit_out),
        .link_o     (link_in),
        .phit_o     (phit_in),
        .wire_o     (wire_out),
        .wire_word_o(wire_word_out),
        .wire_i     (wire_in),
        .wire_word_i(wire_word_in),
        .peek_addr_i(peek_addr_i[11:0]),
        .peek_data_o(links_data)
    );
  end else begin : g_phits
    assign links_data    = '0;
    assign wire_out      = link_out;
    assign wire_word_out = phit_out;
    assign link_in       = wire_in;
    assign phit_in       = wire_word_in;
  end

  alcor_abi_pkg::lite_request_t lite_request;
  alcor_abi_pkg::lite_answer_t lite_answer;
  alcor_abi_pkg::dma_request_t dma_request;
  alcor_abi_pkg::dma_answer_t dma_answer;
  alcor_abi_pkg::host_copy_t copy;
  logic [DmaDataW-1:0] dma_rdata;

  // The words of `alcor_axi_tick`. The links page, the highest bit of an address, is read by `peek_addr_i` alone.
  assign lite_request = {
    from_host[0], 1'b0, from_host[32+:17], from_host[1], from_host[64+:32], from_host[2],
    from_host[3], 1'b0, from_host[96+:17], from_host[4]
  };
  assign dma_request = {
    from_host[8], from_host[128+:32], from_host[9], from_host[10], from_host[11],
    from_host[12], from_host[160+:32], from_host[192+:8], from_host[13]
  };
  assign to_host = {
    dma_rdata,
    19'd0, copy.bytes, copy.destination, copy.source,
    lite_answer.rdata,
    17'd0, copy.valid, dma_answer.rlast, dma_answer.rvalid, dma_answer.arready, dma_answer.bvalid, dma_answer.wready,
    dma_answer.awready,
    3'd0, lite_answer.rvalid, lite_answer.arready, lite_answer.bvalid, lite_answer.wready, lite_answer.awready
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
      .MATCHERS          (MATCHERS),
      .PAIRS             (PAIRS),
      .ACCUMULATE        (ACCUMULATE),
      .ALPU_CELLS        (ALPU_CELLS),
      .ALPU_BLOCK        (ALPU_BLOCK),
      .KERNEL            (KERNEL),
      .SLICES            (SLICES),
      .RIG               (1'b1)
  ) u_core (
      .clk_i      (clk_i),
      .rst_ni     (rst_ni),
      .lite_i     (lite_request),
      .lite_o     (lite_answer),
      .dma_i      (dma_request),
      .dma_wdata_i(from_host[320+:DmaDataW]),
      .dma_wstrb_i(from_host[256+:DmaDataW/8]),
      .dma_o      (dma_answer),
      .dma_rdata_o(dma_rdata),
      .irq_o      (irq),
      .copy_o      (copy),
      .copy_ready_i(from_host[14]),
      .link_i     (link_in),
      .link_phit_i(phit_in),
      .link_o     (link_out),
      .link_phit_o(phit_out),
      .link_rst_no(link_rst_n),
      .link_key_o (link_key)
  );

  `ALCOR_CHECK_PARAM(g_check_frames, !FRAMES || (LINKS != 0 && PHIT_W == LinkDataW),
                     "sim_top: link ends need links, and phits of 256 bits")

endmodule

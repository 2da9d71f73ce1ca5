`include "assertions.svh"

import alcor_abi_pkg::*;

// No part of a board: nothing of it counts as covered or not.
// verilator coverage_off

/// Bus functional model of XDMA: the mailboxes between the host's side and the core, on DPI.
///
/// One call per clock, and one more in a cycle with traffic. A call sees the values before the
/// edge; its answer is offered in the next cycle. `alcor_host_tick` carries interrupts and page
/// writes, `alcor_monitor` the beats of the coprocessors' streams, and `alcor_axi_tick` the pins of
/// both AXI ports, for profiles that use them. `alcor_link_recv` and `alcor_link_send` carry the
/// pins of the links. `alcor_memory` carries writes to node memory, for traces.
module host_bfm #(
    /// Ranks of the board.
    parameter int unsigned RANKS = 2,
    /// Link ports.
    parameter int unsigned LINKS = 0,
    /// Data bits of a phit.
    parameter int unsigned PHIT_W = 256,
    /// Bits of a beat of the coprocessors' streams.
    parameter int unsigned DATA_W = 32,
    /// Bits of a beat of the DMA port.
    parameter int unsigned DMA_W = 32,
    /// Bits of the AXI pins that the board drives: 6 words, and read data; derived, not to be set.
    localparam int unsigned AxiInW = 192 + DMA_W,
    /// Bits of the AXI pins that the host drives: 10 words, and write data; derived, not to be set.
    localparam int unsigned AxiOutW = 320 + DMA_W,
    /// Link ports that the pins have room for; derived, not to be set.
    localparam int unsigned LinkN = LINKS == 0 ? 1 : LINKS,
    /// Bits of a phit with its header and position; derived, not to be set.
    localparam int unsigned LinkW = PHIT_W + PhitHeadW
) (
    /// Clock.
    input  logic                        clk_i,
    /// Synchronous reset, active low.
    input  logic                        rst_ni,
    /// Handle of the board in the simulator.
    input  longint unsigned             dpi_handle_i,
    /// Serve the AXI mailbox.
    input  logic                        axi_enable_i,

    /// Interrupts.
    input  logic [RANKS-1:0]            irq_i,
    /// Page writes: valid.
    output logic [RANKS-1:0]            move_valid_o,
    /// Page writes: offset.
    output logic [RANKS-1:0][11:0]      move_offset_o,
    /// Page writes: data.
    output logic [RANKS-1:0][31:0]      move_data_o,

    /// Streams: a beat passes.
    input  logic [RANKS-1:0][3:0]       monitor_valid_i,
    /// Streams: the word is its packet's last.
    input  logic [RANKS-1:0][3:0]       monitor_last_i,
    /// Streams: the beat.
    input  logic [RANKS-1:0][3:0][DATA_W-1:0] monitor_data_i,

    /// Tell of writes to node memory.
    input  logic                        trace_i,
    /// Node memories: a coprocessor's write is done.
    input  logic [RANKS-1:0]            write_valid_i,
    /// Whose: 0 its request plane's, 1 its reply plane's, 2 its completion ring's.
    input  logic [RANKS-1:0][1:0]       write_index_i,
    /// Address of its first word.
    input  logic [RANKS-1:0][29:0]      write_address_i,
    /// Its first word.
    input  logic [RANKS-1:0][31:0]      write_data_i,
    /// Byte strobes.
    input  logic [RANKS-1:0][DATA_W/8-1:0] write_strobe_i,
    /// Node memories: the collective unit's write is done.
    input  logic [RANKS-1:0]            phit_valid_i,
    /// Address of its first word.
    input  logic [RANKS-1:0][29:0]      phit_address_i,
    /// Its words.
    input  logic [RANKS-1:0][15:0]      phit_words_i,

    /// AXI pins, in the layout of `alcor_axi_tick`'s argument.
    input  bit   [AxiInW-1:0]           axi_i,
    /// AXI pins, in the layout of its answer.
    output bit   [AxiOutW-1:0]          axi_o,

    /// Phits and credits that the board sends, a link_flow_t for each link.
    input  logic [LinkN-1:0][LinkFlowW-1:0] link_i,
    /// The phits.
    input  logic [LinkN-1:0][LinkW-1:0] link_phit_i,
    /// Phits and credits that the board receives, a link_flow_t for each link.
    output logic [LinkN-1:0][LinkFlowW-1:0] link_o,
    /// The phits.
    output logic [LinkN-1:0][LinkW-1:0] link_phit_o
);

  // A board with links is told above its page writes whether something arrives.
  localparam int unsigned MoveW = RANKS * 64 + (LINKS == 0 ? 0 : 64);
  localparam int unsigned StreamsW = 4 * DATA_W;
  localparam int unsigned MonitorW = 128 + RANKS * StreamsW;
  localparam int unsigned PortW = PHIT_W + 96;
  localparam int unsigned CallW = 128 + LinkN * PortW;
  // Of each rank: words of both writes, both addresses, and the coprocessor's first word.
  localparam int unsigned MemoryW = 64 + RANKS * 128;

  import "DPI-C" function void alcor_host_tick(
    input longint unsigned handle, input bit [63:0] in_bits, output bit [MoveW-1:0] out_bits);
  import "DPI-C" function void alcor_monitor(
    input longint unsigned handle, input bit [MonitorW-1:0] in_bits, output bit [63:0] out_bits);
  import "DPI-C" function void alcor_axi_tick(
    input longint unsigned handle, input bit [AxiInW-1:0] in_bits, output bit [AxiOutW-1:0] out_bits);

  import "DPI-C" function void alcor_memory(
    input longint unsigned handle, input bit [MemoryW-1:0] in_bits, output bit [63:0] out_bits);

  // What is called for seldom is packed only then.
  function automatic void tell();
    bit [MemoryW-1:0] call;
    bit [63:0] unused;
    call       = '0;
    call[31:0] = {16'(phit_valid_i), 16'(write_valid_i)};
    for (int unsigned r = 0; r < RANKS; r++) begin
      call[32+2*r+:2] = write_index_i[r];
      for (int unsigned w = 0; w < DATA_W / 32; w++) call[64+128*r+w] = write_strobe_i[r][4*w+:4] != '0;
      call[64+128*r+16+:16] = phit_words_i[r];
      call[64+128*r+32+:30] = write_address_i[r];
      call[64+128*r+64+:30] = phit_address_i[r];
      call[64+128*r+96+:32] = write_data_i[r];
    end
    alcor_memory(dpi_handle_i, call, unused);
  endfunction

  // Members of the links' bundles.
  logic [LinkN-1:0] valid_in, credit_in, valid_out, credit_out;
  logic [LinkN-1:0][2:0] vc_in, credit_vc_in, vc_out, credit_vc_out;

  for (genvar l = 0; l < LinkN; l++) begin : g_link
    assign {valid_in[l], vc_in[l], credit_in[l], credit_vc_in[l]} = link_i[l];
    assign link_o[l] = {valid_out[l], vc_out[l], credit_out[l], credit_vc_out[l]};
  end

  // A model of a board without links has no link calls at all.
  if (LINKS != 0) begin : g_links
    import "DPI-C" function void alcor_link_send(
      input longint unsigned handle, input bit [CallW-1:0] in_bits, output bit [63:0] out_bits);
    import "DPI-C" function void alcor_link_recv(
      input longint unsigned handle, input bit [63:0] in_bits, output bit [CallW-1:0] out_bits);

    function automatic void send();
      bit [CallW-1:0] call;
      bit [63:0] unused;
      call       = '0;
      call[31:0] = {16'(credit_in), 16'(valid_in)};
      for (int unsigned l = 0; l < LinkN; l++) begin
        call[32+4*l+:3] = vc_in[l];
        call[64+4*l+:3] = credit_vc_in[l];
        if (valid_in[l]) call[128+PortW*l+:LinkW] = link_phit_i[l];
      end
      alcor_link_send(dpi_handle_i, call, unused);
    endfunction

    function automatic void receive(output bit [CallW-1:0] call);
      alcor_link_recv(dpi_handle_i, '0, call);
    endfunction
  end else begin : g_links
    function automatic void send();
    endfunction

    function automatic void receive(output bit [CallW-1:0] call);
      call = '0;
    endfunction

    `ALCOR_ASSERT(a_alone, {link_i, link_phit_i} == '0)
  end

  bit [MoveW-1:0] moves;
  bit [MonitorW-1:0] monitor;
  bit [63:0] unused;
  bit [AxiOutW-1:0] pins;
  bit [CallW-1:0] inward;

  always_comb begin
    monitor = '0;
    for (int unsigned r = 0; r < RANKS; r++) begin
      monitor[4*r+:4]      = monitor_valid_i[r];
      monitor[64+4*r+:4]   = monitor_last_i[r];
      monitor[128+StreamsW*r+:StreamsW] = monitor_data_i[r];
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      move_valid_o  <= '0;
      axi_o         <= '0;
      valid_out     <= '0;
      vc_out        <= '0;
      link_phit_o   <= '0;
      credit_out    <= '0;
      credit_vc_out <= '0;
    end else begin
      alcor_host_tick(dpi_handle_i, 64'(irq_i), moves);
      for (int unsigned r = 0; r < RANKS; r++) begin
        move_valid_o[r]  <= moves[64*r+31];
        move_offset_o[r] <= moves[64*r+:12];
        move_data_o[r]   <= moves[64*r+32+:32];
      end
      if (monitor_valid_i != '0) alcor_monitor(dpi_handle_i, monitor, unused);
      if (axi_enable_i) begin
        alcor_axi_tick(dpi_handle_i, axi_i, pins);
        axi_o <= pins;
      end
      if (trace_i && {write_valid_i, phit_valid_i} != '0) tell();
      if (LINKS != 0) begin
        valid_out  <= '0;
        credit_out <= '0;
        if (moves[MoveW-64]) begin
          g_links.receive(inward);
          valid_out  <= inward[LinkN-1:0];
          credit_out <= inward[16+:LinkN];
          for (int unsigned l = 0; l < LinkN; l++) begin
            vc_out[l]        <= inward[32+4*l+:3];
            credit_vc_out[l] <= inward[64+4*l+:3];
            link_phit_o[l]   <= inward[128+PortW*l+:LinkW];
          end
        end
        if ({valid_in, credit_in} != '0) g_links.send();
      end
    end
  end

endmodule

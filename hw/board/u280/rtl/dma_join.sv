`include "assertions.svh"

import alcor_abi_pkg::*;

/// Joins the two AXI4 masters of XDMA, the memory BAR and the DMA, to the one port of the core.
///
/// The core serves one write burst and one read burst at a time, so each direction belongs to one master from a burst's
/// address to its response. A choice takes a cycle. If both ask, the master of the last burst waits: an access through
/// the BAR, master 0, is behind one burst of the DMA at most.
module dma_join #(
    /// Bits of a beat.
    parameter int unsigned DATA_W = 256
) (
    /// Clock.
    input  logic                          clk_i,
    /// Synchronous reset, active low.
    input  logic                          rst_ni,
    /// Masters: signals, a dma_request_t each.
    input  logic [1:0][DmaRequestW-1:0]   masters_i,
    /// Masters: write data.
    input  logic [1:0][DATA_W-1:0]        wdata_i,
    /// Masters: byte strobes.
    input  logic [1:0][DATA_W/8-1:0]      wstrb_i,
    /// Masters: answers, a dma_answer_t each. Read data goes to both beside this block.
    output logic [1:0][DmaAnswerW-1:0]    masters_o,
    /// Core: signals of the chosen masters.
    output alcor_abi_pkg::dma_request_t   bus_o,
    /// Core: write data.
    output logic [DATA_W-1:0]             wdata_o,
    /// Core: byte strobes.
    output logic [DATA_W/8-1:0]           wstrb_o,
    /// Core: answers.
    input  alcor_abi_pkg::dma_answer_t    bus_i
);

  alcor_abi_pkg::dma_request_t first, second, writer, reader;
  alcor_abi_pkg::dma_answer_t to_writer, to_reader;
  // By direction: a burst is under way; its master; its address, and its last beat, have been taken.
  logic writing_q, reading_q, writer_q, reader_q, aw_done_q, ar_done_q, w_done_q;

  assign first  = masters_i[0];
  assign second = masters_i[1];
  assign writer = masters_i[writer_q];
  assign reader = masters_i[reader_q];

  always_comb begin
    bus_o         = '0;
    bus_o.awvalid = writing_q && writer.awvalid && !aw_done_q;
    bus_o.awaddr  = writer.awaddr;
    bus_o.wvalid  = writing_q && writer.wvalid && !w_done_q;
    bus_o.wlast   = writer.wlast;
    bus_o.bready  = writing_q && writer.bready;
    bus_o.arvalid = reading_q && reader.arvalid && !ar_done_q;
    bus_o.araddr  = reader.araddr;
    bus_o.arlen   = reader.arlen;
    bus_o.rready  = reading_q && reader.rready;
  end

  assign wdata_o = wdata_i[writer_q];
  assign wstrb_o = wstrb_i[writer_q];

  always_comb begin
    to_writer         = '0;
    to_writer.awready = writing_q && bus_i.awready && !aw_done_q;
    to_writer.wready  = writing_q && bus_i.wready && !w_done_q;
    to_writer.bvalid  = writing_q && bus_i.bvalid;
    to_reader         = '0;
    to_reader.arready = reading_q && bus_i.arready && !ar_done_q;
    to_reader.rvalid  = reading_q && bus_i.rvalid;
    to_reader.rlast   = bus_i.rlast;
  end

  for (genvar m = 0; m < 2; m++) begin : g_master
    assign masters_o[m] = ((writer_q == 1'(m)) ? to_writer : '0) | ((reader_q == 1'(m)) ? to_reader : '0);
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      writing_q <= 1'b0;
      reading_q <= 1'b0;
      writer_q  <= 1'b0;
      reader_q  <= 1'b0;
      aw_done_q <= 1'b0;
      ar_done_q <= 1'b0;
      w_done_q  <= 1'b0;
    end else begin
      if (!writing_q) begin
        writing_q <= first.awvalid || second.awvalid;
        // The other master than that of the last burst, if it asks.
        writer_q  <= writer_q ? !first.awvalid : second.awvalid;
        aw_done_q <= 1'b0;
        w_done_q  <= 1'b0;
      end else begin
        if (bus_o.awvalid && bus_i.awready) aw_done_q <= 1'b1;
        if (bus_o.wvalid && bus_i.wready && bus_o.wlast) w_done_q <= 1'b1;
        if (bus_i.bvalid && bus_o.bready) writing_q <= 1'b0;
      end
      if (!reading_q) begin
        reading_q <= first.arvalid || second.arvalid;
        reader_q  <= reader_q ? !first.arvalid : second.arvalid;
        ar_done_q <= 1'b0;
      end else begin
        if (bus_o.arvalid && bus_i.arready) ar_done_q <= 1'b1;
        if (bus_i.rvalid && bus_i.rlast && bus_o.rready) reading_q <= 1'b0;
      end
    end
  end

  `ALCOR_STABLE(a_aw_stable, bus_o.awvalid, bus_i.awready, bus_o.awaddr)
  `ALCOR_STABLE(a_w_stable, bus_o.wvalid, bus_i.wready, {bus_o.wlast, wdata_o, wstrb_o})
  `ALCOR_STABLE(a_ar_stable, bus_o.arvalid, bus_i.arready, {bus_o.araddr, bus_o.arlen})

endmodule

/// The stand-in's top: ports and DPI imports are those of hw/dpi/sim_top.sv.
module sim_top #(
  parameter int unsigned RANKS      = 2,
  parameter int unsigned SLOTS      = 32,
  parameter int unsigned NODE_BYTES = 4096,
  // Address of the board's page on the AXI4 port, a power of two.
  parameter int unsigned PAGES      = 262144,
  parameter int unsigned LINKS      = 0,
  parameter int unsigned PHIT_W     = 256,
  parameter int          LOAD       = 0
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [63:0] dpi_handle_i,
  input  logic        axi_enable_i,
  input  logic        trace_i,
  input  logic        peek_i, // the stand-in's registers have a mux of their own
  input  logic [16:0] peek_addr_i,
  output logic [31:0] peek_data_o
);
  localparam int unsigned OUT_BITS = 64 * RANKS + (LINKS == 0 ? 0 : 64);
  localparam int unsigned LINK_N   = LINKS == 0 ? 1 : LINKS;
  localparam int unsigned LINK_W   = PHIT_W + 80;
  localparam int unsigned PORT_W   = PHIT_W + 96;
  localparam int unsigned CALL_W   = 128 + LINK_N * PORT_W;
  localparam int unsigned MON_BITS = 32 * (4 + 4 * RANKS);
  localparam int unsigned MEM_BITS = 32 * (2 + 4 * RANKS);
  // Words of a beat of the DMA port, and bits of its pins: six words and read data, ten words and write data.
  localparam int unsigned BANKS    = LINKS == 0 ? 1 : PHIT_W / 32;
  localparam int unsigned PINS_IN  = 192 + 32 * BANKS;
  localparam int unsigned PINS_OUT = 320 + 32 * BANKS;

  import "DPI-C" function void alcor_host_tick(
    input longint unsigned handle, input bit [63:0] in_bits, output bit [OUT_BITS-1:0] out_bits);
  import "DPI-C" function void alcor_monitor(
    input longint unsigned handle, input bit [MON_BITS-1:0] in_bits, output bit [63:0] out_bits);
  import "DPI-C" function void alcor_axi_tick(
    input longint unsigned handle, input bit [PINS_IN-1:0] in_bits, output bit [PINS_OUT-1:0] out_bits);
  import "DPI-C" function void alcor_memory(
    input longint unsigned handle, input bit [MEM_BITS-1:0] in_bits, output bit [63:0] out_bits);

  logic [RANKS-1:0]         irq;
  logic [4*RANKS-1:0]       stream_valid;
  logic [4*RANKS-1:0][31:0] stream_data;
  bit   [OUT_BITS-1:0]      offered_q;
  bit   [PINS_OUT-1:0]      axi_q;

  logic [LINK_N-1:0]             sent, returned, arrived_q, credit_q;
  logic [LINK_N-1:0][2:0]        sent_vc, returned_vc, arrived_vc_q, credit_vc_q;
  logic [LINK_N-1:0][LINK_W-1:0] sent_phit, arrived_phit_q;

  if (LINKS != 0) begin : g_links
    import "DPI-C" function void alcor_link_send(
      input longint unsigned handle, input bit [CALL_W-1:0] in_bits, output bit [63:0] out_bits);
    import "DPI-C" function void alcor_link_recv(
      input longint unsigned handle, input bit [63:0] in_bits, output bit [CALL_W-1:0] out_bits);
    function automatic void send();
      bit [CALL_W-1:0] call;
      bit [63:0]       ignored;
      call       = '0;
      call[31:0] = {16'(returned), 16'(sent)};
      for (int l = 0; l < LINK_N; l++) begin
        call[32 + 4*l +: 3]           = sent_vc[l];
        call[64 + 4*l +: 3]           = returned_vc[l];
        call[128 + PORT_W*l +: LINK_W] = sent_phit[l];
      end
      alcor_link_send(dpi_handle_i, call, ignored);
    endfunction
    function automatic void receive(output bit [CALL_W-1:0] call);
      alcor_link_recv(dpi_handle_i, '0, call);
    endfunction
  end else begin : g_links
    function automatic void send();
    endfunction
    function automatic void receive(output bit [CALL_W-1:0] call);
      call = '0;
    endfunction
  end

  // One block, one order: the tick opens the cycle, so that the others know its number.
  always_ff @(posedge clk_i) begin : p_dpi
    bit [OUT_BITS-1:0] offered;
    bit [63:0]         ignored;
    bit [PINS_OUT-1:0] axi;
    bit [CALL_W-1:0]   arrived;
    alcor_host_tick(dpi_handle_i, {48'b0, 16'(irq)}, offered);
    offered_q <= offered;
    if (|stream_valid) begin
      alcor_monitor(dpi_handle_i, {stream_data, 64'b0, 64'(stream_valid)}, ignored);
    end
    if (axi_enable_i) begin
      alcor_axi_tick(dpi_handle_i, {dma_rdata, 128'b0, lite_rdata_q, 18'b0, dma_rlast, dma_rvalid_q, dma_arready, dma_bvalid_q,
                                    dma_wready, dma_awready, 3'b0, lite_rvalid_q, lite_arready, lite_bvalid_q,
                                    lite_wready, lite_awready}, axi);
      axi_q <= axi;
    end
    // Nothing is written here: what is written to node memory is for `core` to tell of.
    if (trace_i && |stream_valid) alcor_memory(dpi_handle_i, '0, ignored);
    arrived_q <= '0;
    credit_q  <= '0;
    if (LINKS != 0) begin
      if (offered[OUT_BITS-64]) begin
        g_links.receive(arrived);
        arrived_q <= arrived[LINK_N-1:0];
        credit_q  <= arrived[16 +: LINK_N];
        for (int l = 0; l < LINK_N; l++) begin
          arrived_vc_q[l]   <= arrived[32 + 4*l +: 3];
          credit_vc_q[l]    <= arrived[64 + 4*l +: 3];
          arrived_phit_q[l] <= arrived[128 + PORT_W*l +: LINK_W];
        end
      end
      if (rst_ni && {sent, returned} != '0) g_links.send();
    end
  end

  // ---------------------------------------------------------------- AXI4-Lite
  logic        aw_held_q, w_held_q, lite_bvalid_q, lite_rvalid_q;
  logic [31:0] aw_q, w_q, lite_rdata_q, read_data;
  logic        lite_awready, lite_wready, lite_arready, lite_write;
  assign lite_awready = !aw_held_q;
  assign lite_wready  = !w_held_q;
  assign lite_arready = !lite_rvalid_q;
  assign lite_write   = aw_held_q && w_held_q && !lite_bvalid_q;
  always_ff @(posedge clk_i) begin
    if (axi_q[0] && lite_awready) begin
      aw_held_q <= 1'b1;
      aw_q      <= axi_q[63:32];
    end
    if (axi_q[1] && lite_wready) begin
      w_held_q <= 1'b1;
      w_q      <= axi_q[95:64];
    end
    if (lite_write) lite_bvalid_q <= 1'b1;
    if (lite_bvalid_q && axi_q[2]) begin
      lite_bvalid_q <= 1'b0;
      aw_held_q     <= 1'b0;
      w_held_q      <= 1'b0;
    end
    if (axi_q[3] && lite_arready) begin
      lite_rvalid_q <= 1'b1;
      lite_rdata_q  <= read_data;
    end
    if (lite_rvalid_q && axi_q[4]) lite_rvalid_q <= 1'b0;
    if (!rst_ni) begin
      aw_held_q     <= 1'b0;
      w_held_q      <= 1'b0;
      lite_bvalid_q <= 1'b0;
      lite_rvalid_q <= 1'b0;
    end
  end

  // ---------------------------------------------------------------- AXI4: one transfer at a time, writes first; from
  // PAGES on, registers: a word of a beat in each cycle
  logic        dma_writing_q, dma_reading_q, dma_bvalid_q, dma_rvalid_q, dma_fetched_q;
  logic [31:0] dma_addr_q, dma_next, page_data_q, page_word_q;
  logic [BANKS-1:0][31:0] dma_memory, dma_rdata, dma_wdata;
  logic [8:0]  dma_left_q;
  logic        dma_awready, dma_wready, dma_arready, dma_rlast, dma_page, page_write;
  assign dma_awready  = !dma_writing_q && !dma_bvalid_q && !dma_reading_q;
  assign dma_arready  = dma_awready && !axi_q[8];
  assign dma_page     = (dma_addr_q & PAGES) != 0;
  assign dma_wready   = dma_writing_q && (!dma_page || page_word_q == BANKS - 1);
  assign dma_rlast    = dma_left_q == 1;
  assign dma_next     = (dma_addr_q | (4 * BANKS - 1)) + 1;
  assign dma_wdata    = axi_q[320 +: 32 * BANKS];
  assign dma_rdata    = dma_page ? {BANKS{page_data_q}} : dma_memory;
  assign page_write   = dma_writing_q && dma_page && axi_q[9] && axi_q[256 + 4 * page_word_q];
  always_ff @(posedge clk_i) begin
    dma_fetched_q <= dma_reading_q;
    page_data_q   <= read_data;
    page_word_q   <= (dma_writing_q && axi_q[9] && !dma_wready) ? page_word_q + 1 : 0;
    if (axi_q[8] && dma_awready) begin
      dma_writing_q <= 1'b1;
      dma_addr_q    <= axi_q[159:128];
    end
    if (dma_wready && axi_q[9]) begin
      dma_addr_q <= dma_next;
      if (axi_q[10]) begin
        dma_writing_q <= 1'b0;
        dma_bvalid_q  <= 1'b1;
        a_write_stays_in_its_page: assert (dma_addr_q >> 12 == (dma_next - 1) >> 12) else $error("a burst crosses 4 KiB");
      end
    end
    if (dma_bvalid_q && axi_q[11]) dma_bvalid_q <= 1'b0;
    if (axi_q[12] && dma_arready) begin
      dma_reading_q <= 1'b1;
      dma_fetched_q <= 1'b0;
      dma_addr_q    <= axi_q[191:160];
      dma_left_q    <= {1'b0, axi_q[199:192]} + 1;
    end
    if (dma_fetched_q && dma_reading_q && !dma_rvalid_q) dma_rvalid_q <= 1'b1;
    if (dma_rvalid_q && axi_q[13]) begin
      dma_rvalid_q  <= 1'b0;
      dma_fetched_q <= 1'b0;
      dma_addr_q    <= dma_next;
      dma_left_q    <= dma_left_q - 1;
      if (dma_rlast) dma_reading_q <= 1'b0;
    end
    if (!rst_ni) begin
      dma_writing_q <= 1'b0;
      dma_reading_q <= 1'b0;
      dma_bvalid_q  <= 1'b0;
      dma_rvalid_q  <= 1'b0;
    end
  end

  // ---------------------------------------------------------------- the ranks
  logic [RANKS-1:0] write_valid;
  logic [11:0]      write_offset [RANKS];
  logic [31:0]      write_data [RANKS];
  always_comb begin
    for (int r = 0; r < RANKS; r++) begin
      write_valid[r]  = offered_q[64*r + 31];
      write_offset[r] = offered_q[64*r +: 12];
      write_data[r]   = offered_q[64*r + 32 +: 32];
      if (lite_write && 32'(aw_q[16:12]) == r + 1) begin
        write_valid[r]  = 1'b1;
        write_offset[r] = aw_q[11:0];
        write_data[r]   = w_q;
      end
      if (page_write && 32'(dma_addr_q[16:12]) == r + 1) begin
        write_valid[r]  = 1'b1;
        write_offset[r] = (dma_addr_q[11:0] & ~12'(4 * BANKS - 1)) + 12'(4 * page_word_q);
        write_data[r]   = dma_wdata[page_word_q];
      end
    end
  end

  core_stand_in #(
    .RANKS(RANKS), .NODE_BYTES(NODE_BYTES), .LINKS(LINKS), .PHIT_W(PHIT_W), .LOAD(LOAD)
  ) u_core (
    .clk_i         (clk_i),
    .rst_ni        (rst_ni),
    .write_valid_i (write_valid),
    .write_offset_i(write_offset),
    .write_data_i  (write_data),
    .read_addr_i   (dma_reading_q ? dma_addr_q[16:0] : axi_q[112:96]),
    .read_data_o   (read_data),
    .peek_addr_i   (peek_addr_i),
    .peek_data_o   (peek_data_o),
    .irq_o         (irq),
    .board_write_i (lite_write && aw_q[16:12] == 0),
    .board_offset_i(aw_q[11:0]),
    .board_data_i  (w_q),
    .sent_o        (sent),
    .sent_vc_o     (sent_vc),
    .sent_phit_o   (sent_phit),
    .returned_o    (returned),
    .returned_vc_o (returned_vc),
    .arrived_i     (arrived_q),
    .arrived_vc_i  (arrived_vc_q),
    .arrived_phit_i(arrived_phit_q),
    .credit_i      (credit_q),
    .credit_vc_i   (credit_vc_q),
    .dma_write_i   (dma_wready && axi_q[9] && !dma_page),
    .dma_strobe_i  (axi_q[256 +: 4 * BANKS]),
    .dma_addr_i    (dma_addr_q),
    .dma_data_i    (dma_wdata),
    .dma_data_o    (dma_memory),
    .stream_valid_o(stream_valid),
    .stream_data_o (stream_data)
  );
endmodule

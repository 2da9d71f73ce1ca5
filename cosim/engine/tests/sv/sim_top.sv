/// The stand-in's top: ports and DPI imports are those of hw/dpi/sim_top.sv.
module sim_top #(
  parameter int unsigned RANKS      = 2,
  parameter int unsigned SLOTS      = 32,
  parameter int unsigned NODE_BYTES = 4096,
  parameter int          LOAD       = 0
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [63:0] dpi_handle_i,
  input  logic        axi_enable_i,
  input  logic        peek_i, // the stand-in's registers have a mux of their own
  input  logic [16:0] peek_addr_i,
  output logic [31:0] peek_data_o
);
  localparam int unsigned OUT_BITS = 64 * RANKS;
  localparam int unsigned MON_BITS = 32 * (4 + 4 * RANKS);

  import "DPI-C" function void alcor_host_tick(
    input longint unsigned handle, input bit [63:0] in_bits, output bit [OUT_BITS-1:0] out_bits);
  import "DPI-C" function void alcor_monitor(
    input longint unsigned handle, input bit [MON_BITS-1:0] in_bits, output bit [63:0] out_bits);
  import "DPI-C" function void alcor_axi_tick(
    input longint unsigned handle, input bit [95:0] in_bits, output bit [319:0] out_bits);

  logic [RANKS-1:0]         irq;
  logic [4*RANKS-1:0]       stream_valid;
  logic [4*RANKS-1:0][31:0] stream_data;
  bit   [OUT_BITS-1:0]      offered_q;
  bit   [319:0]             axi_q;

  // One block, one order: the tick opens the cycle, so that the others know its number.
  always_ff @(posedge clk_i) begin : p_dpi
    bit [OUT_BITS-1:0] offered;
    bit [63:0]         ignored;
    bit [319:0]        axi;
    alcor_host_tick(dpi_handle_i, {48'b0, 16'(irq)}, offered);
    offered_q <= offered;
    if (|stream_valid) begin
      alcor_monitor(dpi_handle_i, {stream_data, 64'b0, 64'(stream_valid)}, ignored);
    end
    if (axi_enable_i) begin
      alcor_axi_tick(dpi_handle_i, {dma_rdata, lite_rdata_q, 18'b0, dma_rlast, dma_rvalid_q, dma_arready, dma_bvalid_q,
                                    dma_wready, dma_awready, 3'b0, lite_rvalid_q, lite_arready, lite_bvalid_q,
                                    lite_wready, lite_awready}, axi);
      axi_q <= axi;
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

  // ---------------------------------------------------------------- AXI4: one transfer at a time, writes first
  logic        dma_writing_q, dma_reading_q, dma_bvalid_q, dma_rvalid_q, dma_fetched_q;
  logic [31:0] dma_addr_q, dma_rdata;
  logic [8:0]  dma_left_q;
  logic        dma_awready, dma_wready, dma_arready, dma_rlast;
  assign dma_awready  = !dma_writing_q && !dma_bvalid_q && !dma_reading_q;
  assign dma_arready  = dma_awready && !axi_q[8];
  assign dma_wready   = dma_writing_q;
  assign dma_rlast    = dma_left_q == 1;
  always_ff @(posedge clk_i) begin
    dma_fetched_q <= dma_reading_q;
    if (axi_q[8] && dma_awready) begin
      dma_writing_q <= 1'b1;
      dma_addr_q    <= axi_q[159:128];
      a_write_stays_in_its_page: assert (axi_q[139:128] + {2'b0, axi_q[167:160], 2'b0} <= 12'hFFC)
        else $error("a burst crosses 4 KiB");
    end
    if (dma_wready && axi_q[9]) begin
      dma_addr_q <= dma_addr_q + 4;
      if (axi_q[10]) begin
        dma_writing_q <= 1'b0;
        dma_bvalid_q  <= 1'b1;
      end
    end
    if (dma_bvalid_q && axi_q[11]) dma_bvalid_q <= 1'b0;
    if (axi_q[12] && dma_arready) begin
      dma_reading_q <= 1'b1;
      dma_fetched_q <= 1'b0;
      dma_addr_q    <= axi_q[287:256];
      dma_left_q    <= {1'b0, axi_q[295:288]} + 1;
    end
    if (dma_fetched_q && dma_reading_q && !dma_rvalid_q) dma_rvalid_q <= 1'b1;
    if (dma_rvalid_q && axi_q[13]) begin
      dma_rvalid_q  <= 1'b0;
      dma_fetched_q <= 1'b0;
      dma_addr_q    <= dma_addr_q + 4;
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
    end
  end

  core_stand_in #(.RANKS(RANKS), .NODE_BYTES(NODE_BYTES), .LOAD(LOAD)) u_core (
    .clk_i         (clk_i),
    .rst_ni        (rst_ni),
    .write_valid_i (write_valid),
    .write_offset_i(write_offset),
    .write_data_i  (write_data),
    .read_addr_i   (axi_q[112:96]),
    .read_data_o   (read_data),
    .peek_addr_i   (peek_addr_i),
    .peek_data_o   (peek_data_o),
    .irq_o         (irq),
    .dma_write_i   (dma_wready && axi_q[9]),
    .dma_strobe_i  (axi_q[227:224]),
    .dma_addr_i    (dma_addr_q),
    .dma_data_i    (axi_q[223:192]),
    .dma_data_o    (dma_rdata),
    .stream_valid_o(stream_valid),
    .stream_data_o (stream_data)
  );
endmodule

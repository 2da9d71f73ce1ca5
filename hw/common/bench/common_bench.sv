/// Bench top for hw/common: several sizes of each block side by side in one model, so that the model
/// is compiled once. Lane g of a packed port belongs to instance g; the sizes are listed here and
/// in the Rust files beside this one.
module common_bench (
    /// Clock of all blocks with one clock.
    input  logic             clk_i,
    /// Reset of all blocks with one clock.
    input  logic             rst_ni,
    /// FIFOs.
    input  logic [6:0]       fifo_valid_i,
    output logic [6:0]       fifo_ready_o,
    input  logic [6:0][63:0] fifo_data_i,
    output logic [6:0]       fifo_valid_o,
    input  logic [6:0]       fifo_ready_i,
    output logic [6:0][63:0] fifo_data_o,
    output logic [6:0]       fifo_empty_o,
    output logic [6:0][15:0] fifo_usage_o,
    /// Skid buffers.
    input  logic [1:0]       skid_valid_i,
    output logic [1:0]       skid_ready_o,
    input  logic [1:0][63:0] skid_data_i,
    output logic [1:0]       skid_valid_o,
    input  logic [1:0]       skid_ready_i,
    output logic [1:0][63:0] skid_data_o,
    output logic [1:0]       skid_empty_o,
    /// Slices across a border between regions, of one and two registers on each side.
    input  logic [1:0]       slr_valid_i,
    output logic [1:0]       slr_ready_o,
    input  logic [1:0][31:0] slr_data_i,
    output logic [1:0]       slr_valid_o,
    input  logic [1:0]       slr_ready_i,
    output logic [1:0][31:0] slr_data_o,
    /// A pick of two streams.
    input  logic [1:0]       pick_valid_i,
    output logic [1:0]       pick_ready_o,
    input  logic [1:0][31:0] pick_data_i,
    output logic             pick_valid_o,
    input  logic             pick_ready_i,
    output logic [31:0]      pick_data_o,

    /// Segmenters of 16 and 128 words.
    input  logic [1:0][31:0] segment_left_i,
    input  logic [1:0][1:0]  segment_align_i,
    input  logic [1:0]       segment_last_i,
    output logic [1:0]       segment_fits_o,
    output logic [1:0][9:0]  segment_bytes_o,
    output logic [1:0][7:0]  segment_words_o,
    output logic [1:0][1:0]  segment_end_lane_o,
    /// Arbiters.
    input  logic [5:0][15:0] arb_req_i,
    input  logic [5:0]       arb_advance_i,
    output logic [5:0]       arb_valid_o,
    output logic [5:0][15:0] arb_grant_o,
    output logic [5:0][ 7:0] arb_index_o,
    /// RAMs.
    input  logic [2:0][ 3:0] ram_we_i,
    input  logic [2:0][15:0] ram_waddr_i,
    input  logic [2:0][63:0] ram_wdata_i,
    input  logic [2:0]       ram_re_i,
    input  logic [2:0][15:0] ram_raddr_i,
    output logic [2:0][63:0] ram_rdata_o,
    /// Dual-clock FIFOs.
    input  logic             async_wclk_i,
    input  logic             async_wrst_ni,
    input  logic [2:0]       async_valid_i,
    output logic [2:0]       async_ready_o,
    input  logic [2:0][31:0] async_data_i,
    input  logic             async_rclk_i,
    input  logic             async_rrst_ni,
    output logic [2:0]       async_valid_o,
    input  logic [2:0]       async_ready_i,
    output logic [2:0][31:0] async_data_o
);

  // A lane has the width of its widest instance: the spare bits of the narrower instances are not read.
  // verilator lint_off UNUSEDSIGNAL

  stream_pick #(
      .WIDTH(32)
  ) u_pick (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i(pick_valid_i),
      .ready_o(pick_ready_o),
      .data_i (pick_data_i),
      .valid_o(pick_valid_o),
      .ready_i(pick_ready_i),
      .data_o (pick_data_o)
  );

  // Sizes, 32 bits each, the last instance first: Yosys accepts no arrays of parameters.
  localparam bit [7*32-1:0] FifoWidth = {32'd40, 32'd33, 32'd32, 32'd64, 32'd1, 32'd32, 32'd32};
  localparam bit [7*32-1:0] FifoDepth = {32'd512, 32'd130, 32'd2, 32'd16, 32'd5, 32'd3, 32'd2};
  localparam bit [6:0] FifoBlock = {1'd1, 1'd1, 1'd1, 1'd0, 1'd0, 1'd0, 1'd0};

  for (genvar g = 0; g < 7; g++) begin : g_fifo
    logic [FifoWidth[32*g+:32]-1:0] data;
    logic [$clog2(FifoDepth[32*g+:32]+1)-1:0] usage;
    fifo #(
        .WIDTH    (FifoWidth[32*g+:32]),
        .DEPTH    (FifoDepth[32*g+:32]),
        .BLOCK_RAM(FifoBlock[g])
    ) u_fifo (
        .clk_i  (clk_i),
        .rst_ni (rst_ni),
        .valid_i(fifo_valid_i[g]),
        .ready_o(fifo_ready_o[g]),
        .data_i (fifo_data_i[g][FifoWidth[32*g+:32]-1:0]),
        .valid_o(fifo_valid_o[g]),
        .ready_i(fifo_ready_i[g]),
        .data_o (data),
        .empty_o(fifo_empty_o[g]),
        .usage_o(usage)
    );
    assign fifo_data_o[g]  = 64'(data);
    assign fifo_usage_o[g] = 16'(usage);
  end

  localparam bit [2*32-1:0] SkidWidth = {32'd64, 32'd1};

  for (genvar g = 0; g < 2; g++) begin : g_skid
    logic [SkidWidth[32*g+:32]-1:0] data;
    skid_buffer #(
        .WIDTH(SkidWidth[32*g+:32])
    ) u_skid (
        .clk_i  (clk_i),
        .rst_ni (rst_ni),
        .valid_i(skid_valid_i[g]),
        .ready_o(skid_ready_o[g]),
        .data_i (skid_data_i[g][SkidWidth[32*g+:32]-1:0]),
        .valid_o(skid_valid_o[g]),
        .ready_i(skid_ready_i[g]),
        .data_o (data),
        .empty_o(skid_empty_o[g])
    );
    assign skid_data_o[g] = 64'(data);
  end

  for (genvar g = 0; g < 2; g++) begin : g_slr
    slr_stream #(
        .WIDTH (32),
        .STAGES(g + 1)
    ) u_slr (
        .clk_i  (clk_i),
        .rst_ni (rst_ni),
        .valid_i(slr_valid_i[g]),
        .ready_o(slr_ready_o[g]),
        .data_i (slr_data_i[g]),
        .valid_o(slr_valid_o[g]),
        .ready_i(slr_ready_i[g]),
        .data_o (slr_data_o[g])
    );
  end

  localparam bit [6*32-1:0] ArbN = {32'd16, 32'd8, 32'd5, 32'd3, 32'd2, 32'd1};

  for (genvar g = 0; g < 6; g++) begin : g_arb
    logic [ArbN[32*g+:32]-1:0] grant;
    logic [((ArbN[32*g+:32] > 1) ? $clog2(ArbN[32*g+:32]) : 1)-1:0] index;
    rr_arbiter #(
        .N(ArbN[32*g+:32])
    ) u_arb (
        .clk_i    (clk_i),
        .rst_ni   (rst_ni),
        .req_i    (arb_req_i[g][ArbN[32*g+:32]-1:0]),
        .advance_i(arb_advance_i[g]),
        .valid_o  (arb_valid_o[g]),
        .grant_o  (grant),
        .index_o  (index)
    );
    assign arb_grant_o[g] = 16'(grant);
    assign arb_index_o[g] = 8'(index);
  end

  localparam bit [3*32-1:0] RamWidth = {32'd9, 32'd64, 32'd32};
  localparam bit [3*32-1:0] RamDepth = {32'd6, 32'd512, 32'd13};
  localparam bit [3*32-1:0] RamLanes = {32'd1, 32'd2, 32'd4};
  localparam bit [2:0] RamBlock = {1'd0, 1'd1, 1'd1};

  for (genvar g = 0; g < 3; g++) begin : g_ram
    logic [RamWidth[32*g+:32]-1:0] rdata;
    ram_sdp #(
        .WIDTH    (RamWidth[32*g+:32]),
        .DEPTH    (RamDepth[32*g+:32]),
        .LANES    (RamLanes[32*g+:32]),
        .BLOCK_RAM(RamBlock[g])
    ) u_ram (
        .clk_i  (clk_i),
        .we_i   (ram_we_i[g][RamLanes[32*g+:32]-1:0]),
        .waddr_i(ram_waddr_i[g][$clog2(RamDepth[32*g+:32])-1:0]),
        .wdata_i(ram_wdata_i[g][RamWidth[32*g+:32]-1:0]),
        .re_i   (ram_re_i[g]),
        .raddr_i(ram_raddr_i[g][$clog2(RamDepth[32*g+:32])-1:0]),
        .rdata_o(rdata)
    );
    assign ram_rdata_o[g] = 64'(rdata);
  end

  localparam bit [3*32-1:0] AsyncDepth = {32'd16, 32'd8, 32'd4};

  for (genvar g = 0; g < 3; g++) begin : g_async
    fifo_async #(
        .WIDTH(32),
        .DEPTH(AsyncDepth[32*g+:32])
    ) u_async (
        .wclk_i (async_wclk_i),
        .wrst_ni(async_wrst_ni),
        .valid_i(async_valid_i[g]),
        .ready_o(async_ready_o[g]),
        .data_i (async_data_i[g]),
        .rclk_i (async_rclk_i),
        .rrst_ni(async_rrst_ni),
        .valid_o(async_valid_o[g]),
        .ready_i(async_ready_i[g]),
        .data_o (async_data_o[g])
    );
  end

  localparam bit [2*32-1:0] SegmentWords = {32'd128, 32'd16};

  for (genvar g = 0; g < 2; g++) begin : g_segmenter
    logic [$clog2(SegmentWords[32*g+:32]+1)-1:0] words;
    logic [$clog2(4*SegmentWords[32*g+:32]+1)-1:0] bytes;

    segmenter #(
        .PAYLOAD_WORDS(SegmentWords[32*g+:32])
    ) u_segmenter (
        .left_i    (segment_left_i[g]),
        .align_i   (segment_align_i[g]),
        .last_i    (segment_last_i[g]),
        .fits_o    (segment_fits_o[g]),
        .bytes_o   (bytes),
        .words_o   (words),
        .end_lane_o(segment_end_lane_o[g])
    );
    assign segment_bytes_o[g] = 10'(bytes);
    assign segment_words_o[g] = 8'(words);
  end

endmodule

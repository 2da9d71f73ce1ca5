/// Bench top for the host's side of `core`: its AXI4 and AXI4-Lite ports, the pages behind both, and two node memories.
module host_side_bench #(
    /// Bits of a beat of the AXI4 port.
    parameter int unsigned DATA_W = 32,
    /// Cycles from a memory read's grant to its data.
    parameter int unsigned MEM_LATENCY = 1,
    /// Maximum number of additional cycles, at random.
    parameter int unsigned MEM_JITTER = 0,
    /// Register slices at both ports.
    parameter bit SLICES = 1'b0,
    /// Bytes of each node memory; derived, do not set.
    localparam int unsigned NodeBytes = 4096
) (
    /// Clock.
    input  logic                         clk_i,
    /// Reset.
    input  logic                         rst_ni,

    /// AXI4-Lite.
    input  alcor_abi_pkg::lite_request_t lite_i,
    output alcor_abi_pkg::lite_answer_t  lite_o,

    /// AXI4.
    input  alcor_abi_pkg::dma_request_t  dma_i,
    input  logic [DATA_W-1:0]            wdata_i,
    input  logic [DATA_W/8-1:0]          wstrb_i,
    output alcor_abi_pkg::dma_answer_t   dma_o,
    output logic [DATA_W-1:0]            rdata_o,

    /// Page writes: the board's, and two ranks'.
    output alcor_abi_pkg::page_write_t   board_o,
    output logic [1:0]                   page_write_o,
    output logic [1:0][11:0]             page_offset_o,
    output logic [1:0][31:0]             page_data_o,
    /// Register writes of the AXI4 port wait.
    input  logic                         hold_i,

    /// By rank: a copy into host memory.
    input  logic [1:0]                   copies_valid_i,
    input  logic [1:0][31:0]             copies_source_i,
    input  logic [1:0][63:0]             copies_destination_i,
    input  logic [1:0][12:0]             copies_bytes_i,
    output logic [1:0]                   copies_ready_o,
    /// The copy that leaves.
    output logic                         copy_valid_o,
    output logic [31:0]                  copy_source_o,
    output logic [63:0]                  copy_destination_o,
    output logic [12:0]                  copy_bytes_o,
    input  logic                         copy_ready_i
);

  alcor_abi_pkg::bus_write_t page, page_now;
  // Register writes so far; reads of registers show them.
  logic [11:0] writes_q;
  logic [1:0][alcor_abi_pkg::MemoryRequestW-1:0] reads, writes;
  logic [1:0][alcor_abi_pkg::MemoryAnswerW-1:0] answers;
  logic [1:0] write_gnt, grants, answered, write_grants;
  logic page_ready, page_read;
  logic [16:0] page_address;
  logic [31:0] page_value;
  logic [11:0] read_offset;
  logic [1:0][DATA_W-1:0] data;
  logic [DATA_W-1:0] write_data;
  logic [DATA_W/8-1:0] write_strobe;
  logic [1:0][alcor_abi_pkg::HostCopyW-1:0] copies;
  alcor_abi_pkg::host_copy_t copy;

  assign {copy_valid_o, copy_source_o, copy_destination_o, copy_bytes_o} = copy;

  host_dma #(
      .RANKS     (2),
      .NODE_BYTES(NodeBytes),
      .DATA_W    (DATA_W),
      .LATENCY   (MEM_LATENCY),
      .SLICES    (SLICES)
  ) u_dma (
      .clk_i              (clk_i),
      .rst_ni             (rst_ni),
      .bus_i              (dma_i),
      .wdata_i            (wdata_i),
      .wstrb_i            (wstrb_i),
      .bus_o              (dma_o),
      .rdata_o            (rdata_o),
      .page_o             (page),
      .page_ready_i       (page_ready && !hold_i),
      .page_read_o        (page_read),
      .page_address_o     (page_address),
      .page_data_i        (page_value),
      .rank_read_o        (reads),
      .rank_read_i        (answers),
      .rank_data_i        (data),
      .rank_write_o       (writes),
      .rank_write_gnt_i   (write_gnt),
      .rank_write_data_o  (write_data),
      .rank_write_strobe_o(write_strobe),
      .copies_i           (copies),
      .copies_ready_o     (copies_ready_o),
      .copy_o             (copy),
      .copy_ready_i       (copy_ready_i)
  );

  for (genvar r = 0; r < 2; r++) begin : g_rank
    assign copies[r] = {copies_valid_i[r], copies_source_i[r], copies_destination_i[r], copies_bytes_i[r]};

    // A memory may grant without a request, which is the highest bit of a memory_request_t.
    assign answers[r]   = {reads[r][alcor_abi_pkg::MemoryRequestW-1] && grants[r], answered[r]};
    assign write_gnt[r] = writes[r][alcor_abi_pkg::MemoryRequestW-1] && write_grants[r];

    node_memory #(
        .NODE_BYTES(NodeBytes),
        .BANKS     (DATA_W / 32),
        .LATENCY   (MEM_LATENCY),
        .JITTER    (MEM_JITTER)
    ) u_memory (
        .clk_i         (clk_i),
        .rst_ni        (rst_ni),
        .read_i        (reads[r]),
        .read_o        ({grants[r], answered[r]}),
        .data_o        (data[r]),
        .write_i       (writes[r]),
        .write_gnt_o   (write_grants[r]),
        .write_data_i  (write_data),
        .write_strobe_i(write_strobe)
    );
  end

  assign page_now = {page.valid && !hold_i, page.address, page.data};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) writes_q <= '0;
    else if (board_o.valid || page_write_o != '0) writes_q <= writes_q + 1'b1;
  end

  host_port #(
      .RANKS (2),
      .SLICES(SLICES)
  ) u_host (
      .clk_i            (clk_i),
      .rst_ni           (rst_ni),
      .bus_i            (lite_i),
      .bus_o            (lite_o),
      .dma_write_i      (page_now),
      .dma_write_ready_o(page_ready),
      .dma_read_i       (page_read),
      .dma_address_i    (page_address),
      .dma_data_o       (page_value),
      .board_o          (board_o),
      .page_write_o     (page_write_o),
      .page_offset_o    (page_offset_o),
      .page_data_o      (page_data_o),
      .read_offset_o    (read_offset),
      .board_read_i     ({8'hb0, writes_q, read_offset}),
      .rank_read_i      ({8'h02, writes_q, read_offset, 8'h01, writes_q, read_offset})
  );

endmodule

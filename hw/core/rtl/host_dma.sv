import alcor_abi_pkg::*;

/// Memory side of the host: AXI4 to the node memories of all ranks and to the pages behind them, and copies into host
/// memory.
///
/// Addresses are rank × NODE_BYTES + byte. The pages are at the next power of two that is at least 256 KiB. With beats of 256
/// bits and more, the port has command lines, 128 KiB behind the pages.
module host_dma #(
    /// Ranks of the board, a power of two.
    parameter int unsigned RANKS = 2,
    /// Bytes of each node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Bits of a beat.
    parameter int unsigned DATA_W = 32,
    /// Cycles from grant to data up to which reads go on at one per cycle. Any latency works.
    parameter int unsigned LATENCY = 1,
    /// 1: register slices at the AXI4 port, and between it and the pages.
    parameter bit SLICES = 1'b0
) (
    /// Clock.
    input  logic                                 clk_i,
    /// Synchronous reset, active low.
    input  logic                                 rst_ni,

    /// AXI4: signals of the host.
    input  alcor_abi_pkg::dma_request_t          bus_i,
    /// AXI4: write data.
    input  logic [DATA_W-1:0]                    wdata_i,
    /// AXI4: byte strobes of the write data.
    input  logic [DATA_W/8-1:0]                  wstrb_i,
    /// AXI4: signals to the host.
    output alcor_abi_pkg::dma_answer_t           bus_o,
    /// AXI4: read data.
    output logic [DATA_W-1:0]                    rdata_o,

    /// Pages: a register write.
    output alcor_abi_pkg::bus_write_t            page_o,
    /// Pages: the write is taken.
    input  logic                                 page_ready_i,
    /// Pages: a register is read.
    output logic                                 page_read_o,
    /// Pages: byte address of the register.
    output logic [16:0]                          page_address_o,
    /// Pages: the register's value, in the same cycle.
    input  logic [31:0]                          page_data_i,

    /// By rank: a read of node memory, a memory_request_t.
    output logic [RANKS-1:0][MemoryRequestW-1:0] rank_read_o,
    /// By rank: answer to the read, a memory_answer_t.
    input  logic [RANKS-1:0][MemoryAnswerW-1:0]  rank_read_i,
    /// By rank: data of the read that the memory answers.
    input  logic [RANKS-1:0][DATA_W-1:0]         rank_data_i,
    /// By rank: a write, a memory_request_t.
    output logic [RANKS-1:0][MemoryRequestW-1:0] rank_write_o,
    /// By rank: the write is granted.
    input  logic [RANKS-1:0]                     rank_write_gnt_i,
    /// Data of the write, for all ranks.
    output logic [DATA_W-1:0]                    rank_write_data_o,
    /// Byte strobes of the write, for all ranks.
    output logic [DATA_W/8-1:0]                  rank_write_strobe_o,

    /// By rank: a copy, a host_copy_t with a source in the rank's node memory.
    input  logic [RANKS-1:0][HostCopyW-1:0]      copies_i,
    /// By rank: the copy is taken.
    output logic [RANKS-1:0]                     copies_ready_o,
    /// A copy of node memory into host memory; the source is an address of the AXI4 port.
    output alcor_abi_pkg::host_copy_t            copy_o,
    /// The copy is taken.
    input  logic                                 copy_ready_i
);

  localparam int unsigned NodeW = $clog2(NODE_BYTES);
  // Address bits of the board's node memory, and of the port, whose highest bit selects the pages.
  localparam int unsigned AllW = $clog2(RANKS) + NodeW;
  localparam int unsigned PortW = ((AllW < 18) ? 18 : AllW) + 1;

  alcor_abi_pkg::memory_request_t port_read, port_write, held_read, line_write, memory_read, memory_write;
  alcor_abi_pkg::memory_answer_t port_answer, held_answer, memory_answer;
  logic port_write_gnt, line_write_gnt, memory_write_gnt, line_busy;
  logic [DATA_W-1:0] port_data, port_write_data, memory_data;
  logic [DATA_W/8-1:0] port_write_strobe;

  axi_dma_port #(
      .DATA_W (DATA_W),
      .ADDR_W (PortW),
      .NODE_W (NodeW),
      .LATENCY(LATENCY),
      .SLICES (SLICES)
  ) u_port (
      .clk_i         (clk_i),
      .rst_ni        (rst_ni),
      .bus_i         (bus_i),
      .wdata_i       (wdata_i),
      .wstrb_i       (wstrb_i),
      .bus_o         (bus_o),
      .rdata_o       (rdata_o),
      .read_o        (port_read),
      .read_i        (port_answer),
      .read_data_i   (port_data),
      .write_o       (port_write),
      .write_gnt_i   (port_write_gnt),
      .write_data_o  (port_write_data),
      .write_strobe_o(port_write_strobe)
  );

  if (DATA_W >= 256) begin : g_lines
    command_lines #(
        .RANKS (RANKS),
        .DATA_W(DATA_W),
        .ADDR_W(PortW),
        .NODE_W(NodeW)
    ) u_lines (
        .clk_i         (clk_i),
        .rst_ni        (rst_ni),
        .write_i       (port_write),
        .write_gnt_o   (port_write_gnt),
        .write_data_i  (port_write_data),
        .write_strobe_i(port_write_strobe),
        .write_o       (line_write),
        .write_gnt_i   (line_write_gnt),
        .write_data_o  (rank_write_data_o),
        .write_strobe_o(rank_write_strobe_o),
        .busy_o        (line_busy)
    );
  end else begin : g_no_lines
    assign line_write          = port_write;
    assign port_write_gnt      = line_write_gnt;
    assign rank_write_data_o   = port_write_data;
    assign rank_write_strobe_o = port_write_strobe;
    assign line_busy           = 1'b0;
  end

  // A read waits for the writes before it.
  assign held_read   = {port_read.req && !line_busy, port_read.address};
  assign port_answer = {held_answer.gnt && !line_busy, held_answer.rvalid};

  dma_pages #(
      .DATA_W(DATA_W),
      .ADDR_W(PortW),
      .SLICES(SLICES)
  ) u_pages (
      .clk_i             (clk_i),
      .rst_ni            (rst_ni),
      .read_i            (held_read),
      .read_o            (held_answer),
      .read_data_o       (port_data),
      .write_i           (line_write),
      .write_gnt_o       (line_write_gnt),
      .write_data_i      (rank_write_data_o),
      .write_strobe_i    (rank_write_strobe_o),
      .memory_read_o     (memory_read),
      .memory_read_i     (memory_answer),
      .memory_data_i     (memory_data),
      .memory_write_o    (memory_write),
      .memory_write_gnt_i(memory_write_gnt),
      .page_o            (page_o),
      .page_ready_i      (page_ready_i),
      .page_read_o       (page_read_o),
      .page_address_o    (page_address_o),
      .page_data_i       (page_data_i)
  );

  dma_select #(
      .RANKS (RANKS),
      .ADDR_W(AllW),
      .DATA_W(DATA_W)
  ) u_select (
      .clk_i           (clk_i),
      .rst_ni          (rst_ni),
      .read_i          (memory_read),
      .read_o          (memory_answer),
      .read_data_o     (memory_data),
      .write_i         (memory_write),
      .write_gnt_o     (memory_write_gnt),
      .rank_read_o     (rank_read_o),
      .rank_read_i     (rank_read_i),
      .rank_data_i     (rank_data_i),
      .rank_write_o    (rank_write_o),
      .rank_write_gnt_i(rank_write_gnt_i)
  );

  host_copies #(
      .RANKS (RANKS),
      .NODE_W(NodeW)
  ) u_copies (
      .clk_i        (clk_i),
      .rst_ni       (rst_ni),
      .ranks_i      (copies_i),
      .ranks_ready_o(copies_ready_o),
      .copy_o       (copy_o),
      .copy_ready_i (copy_ready_i)
  );

endmodule

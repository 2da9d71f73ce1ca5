`include "assertions.svh"

/// AXI4 slave of the host's DMA and of its memory BAR: bursts into and out of node memory and the pages behind it.
///
/// INCR bursts of whole beats, one write and one read burst at a time, a beat a cycle each. Only the first beat may begin
/// in its middle. Every burst is answered OKAY: addresses wrap within the board's memory, which the DMA engine's aperture
/// covers.
///
/// Data of reads comes from one node memory in the order of the grants. Two memories keep no order, so a read of
/// another memory waits until no read is under way.
///
/// Addresses go to registers, responses come from registers. With SLICES, write data and read data pass a register slice
/// each, so that all paths of the bus end and begin at registers; a burst then takes a cycle more.
module axi_dma_port #(
    /// Bits of a beat.
    parameter int unsigned DATA_W = 32,
    /// Address bits: those of all node memories of the board and of the pages.
    parameter int unsigned ADDR_W = 21,
    /// Address bits of one node memory.
    parameter int unsigned NODE_W = 20,
    /// Cycles from grant to data up to which reads go on at one per cycle. Any latency works.
    parameter int unsigned LATENCY = 1,
    /// 1: register slices behind write data and before read data.
    parameter bit SLICES = 1'b0
) (
    /// Clock.
    input  logic                           clk_i,
    /// Synchronous reset, active low.
    input  logic                           rst_ni,

    /// AXI4: signals of the master.
    input  alcor_abi_pkg::dma_request_t    bus_i,
    /// AXI4: write data.
    input  logic [DATA_W-1:0]              wdata_i,
    /// AXI4: byte strobes of the write data.
    input  logic [DATA_W/8-1:0]            wstrb_i,
    /// AXI4: signals of this slave.
    output alcor_abi_pkg::dma_answer_t     bus_o,
    /// AXI4: read data.
    output logic [DATA_W-1:0]              rdata_o,

    /// Memory: a read of the beat that has the word.
    output alcor_abi_pkg::memory_request_t read_o,
    /// Memory: the answer.
    input  alcor_abi_pkg::memory_answer_t  read_i,
    /// Memory: data, with `read_i.rvalid`.
    input  logic [DATA_W-1:0]              read_data_i,
    /// Memory: a write of the beat that has the word.
    output alcor_abi_pkg::memory_request_t write_o,
    /// Memory: the write is granted.
    input  logic                           write_gnt_i,
    /// Data to be written.
    output logic [DATA_W-1:0]              write_data_o,
    /// Byte strobes.
    output logic [DATA_W/8-1:0]            write_strobe_o
);

  localparam int unsigned WordW = ADDR_W - 2;
  localparam int unsigned Strobes = DATA_W / 8;
  // Bits of a word address below the beat, all ones.
  localparam logic [WordW-1:0] Low = WordW'(DATA_W / 32 - 1);
  // Read data in flight and waiting: enough for a beat a cycle.
  localparam int unsigned BufferDepth = LATENCY + 3;
  localparam int unsigned RoomW = $clog2(BufferDepth + 1);

  logic writing_q, bvalid_q, reading_q;
  logic [WordW-1:0] write_address_q, read_address_q, last_address_q;
  logic [7:0] reads_left_q;
  logic [RoomW-1:0] room_d, room_q;
  logic w_valid, w_last, r_valid, r_ready;
  logic [DATA_W:0] r_data;
  logic write_done, read_done, last_read, read_taken, same_node;
  logic buffer_ready, way_room, way_empty, way_valid, way_last;

  assign bus_o.awready = !writing_q && !bvalid_q;
  assign bus_o.bvalid  = bvalid_q;
  assign bus_o.arready = !reading_q;

  skid_buffer #(.WIDTH(1 + Strobes + DATA_W), .SLICE(SLICES)) u_w (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(bus_i.wvalid), .ready_o(bus_o.wready), .data_i({bus_i.wlast, wstrb_i, wdata_i}),
      .valid_o(w_valid), .ready_i(write_done), .data_o({w_last, write_strobe_o, write_data_o}), .empty_o()
  );

  assign write_o.req     = writing_q && w_valid;
  assign write_o.address = 30'(write_address_q);
  assign write_done      = write_o.req && write_gnt_i;

  assign same_node      = (read_address_q ^ last_address_q) >> (NODE_W - 2) == '0;
  assign read_o.req     = reading_q && room_q != '0 && (way_empty || same_node);
  assign read_o.address = 30'(read_address_q);
  assign read_done      = read_o.req && read_i.gnt;
  assign last_read      = reads_left_q == '0;
  assign read_taken     = r_valid && r_ready;
  assign room_d         = room_q - RoomW'(read_done) + RoomW'(read_taken);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      writing_q <= 1'b0;
      bvalid_q  <= 1'b0;
      reading_q <= 1'b0;
      room_q    <= RoomW'(BufferDepth);
    end else begin
      if (bus_i.awvalid && bus_o.awready) writing_q <= 1'b1;
      if (write_done && w_last) begin
        writing_q <= 1'b0;
        bvalid_q  <= 1'b1;
      end
      if (bvalid_q && bus_i.bready) bvalid_q <= 1'b0;
      if (bus_i.arvalid && bus_o.arready) reading_q <= 1'b1;
      if (read_done && last_read) reading_q <= 1'b0;
      room_q <= room_d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (bus_i.awvalid && bus_o.awready) write_address_q <= bus_i.awaddr[ADDR_W-1:2];
    else if (write_done) write_address_q <= (write_address_q | Low) + 1'b1;
    if (read_done) last_address_q <= read_address_q;
    if (bus_i.arvalid && bus_o.arready) begin
      read_address_q <= bus_i.araddr[ADDR_W-1:2];
      reads_left_q   <= bus_i.arlen;
    end else if (read_done) begin
      read_address_q <= (read_address_q | Low) + 1'b1;
      reads_left_q   <= reads_left_q - 1'b1;
    end
  end

  // Reads under way: which is its burst's last.
  fifo #(.WIDTH(1), .DEPTH(BufferDepth)) u_way (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(read_done), .ready_o(way_room), .data_i(last_read),
      .valid_o(way_valid), .ready_i(read_i.rvalid), .data_o(way_last), .empty_o(way_empty), .usage_o()
  );

  fifo #(.WIDTH(1 + DATA_W), .DEPTH(BufferDepth)) u_read_buffer (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(read_i.rvalid), .ready_o(buffer_ready),
      .data_i({way_last, read_data_i}), .valid_o(r_valid), .ready_i(r_ready),
      .data_o(r_data), .empty_o(), .usage_o()
  );

  skid_buffer #(.WIDTH(1 + DATA_W), .SLICE(SLICES)) u_r (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(r_valid), .ready_o(r_ready), .data_i(r_data),
      .valid_o(bus_o.rvalid), .ready_i(bus_i.rready), .data_o({bus_o.rlast, rdata_o}), .empty_o()
  );

  `ALCOR_STABLE(a_read_stable, read_o.req, read_i.gnt, read_o.address)
  `ALCOR_IMPLIES(a_way_room, read_done, way_room)
  `ALCOR_IMPLIES(a_buffer_room, read_i.rvalid, way_valid && buffer_ready)

endmodule

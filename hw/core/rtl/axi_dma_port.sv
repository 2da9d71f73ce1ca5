`include "assertions.svh"

/// AXI4 slave of the DMA: bursts of 32-bit words into and out of node memory.
///
/// INCR bursts, one write and one read burst at a time, a beat a cycle; reads and writes take turns
/// at the memory. Every burst is answered OKAY: addresses wrap within the board's memory, which the
/// DMA engine's aperture covers.
module axi_dma_port #(
    /// Address bits: those of all node memories of the board.
    parameter int unsigned ADDR_W = 21,
    /// Cycles from a granted memory read to its data.
    parameter int unsigned LATENCY = 1
) (
    /// Clock.
    input  logic              clk_i,
    /// Synchronous reset, active low.
    input  logic              rst_ni,

    /// AXI write address.
    input  logic              awvalid_i,
    /// AXI write address.
    output logic              awready_o,
    /// AXI write address.
    input  logic [ADDR_W-1:0] awaddr_i,
    /// AXI write data.
    input  logic              wvalid_i,
    /// AXI write data.
    output logic              wready_o,
    /// AXI write data.
    input  logic [31:0]       wdata_i,
    /// AXI write data.
    input  logic [3:0]        wstrb_i,
    /// AXI write data.
    input  logic              wlast_i,
    /// AXI write response.
    output logic              bvalid_o,
    /// AXI write response.
    input  logic              bready_i,
    /// AXI read address.
    input  logic              arvalid_i,
    /// AXI read address.
    output logic              arready_o,
    /// AXI read address.
    input  logic [ADDR_W-1:0] araddr_i,
    /// AXI read address: beats - 1.
    input  logic [7:0]        arlen_i,
    /// AXI read data.
    output logic              rvalid_o,
    /// AXI read data.
    input  logic              rready_i,
    /// AXI read data.
    output logic [31:0]       rdata_o,
    /// AXI read data.
    output logic              rlast_o,

    /// Memory access.
    output logic              mem_valid_o,
    /// It is granted or done.
    input  logic              mem_ready_i,
    /// It is a write.
    output logic              mem_write_o,
    /// Word address.
    output logic [ADDR_W-3:0] mem_address_o,
    /// Data to be written.
    output logic [31:0]       mem_data_o,
    /// Byte strobes.
    output logic [3:0]        mem_strobe_o,
    /// Data of the read granted LATENCY cycles ago.
    input  logic [31:0]       mem_data_i
);

  localparam int unsigned WordW = ADDR_W - 2;
  // Read data in flight and waiting: enough for a beat a cycle.
  localparam int unsigned BufferDepth = LATENCY + 3;
  localparam int unsigned RoomW = $clog2(BufferDepth + 1);

  logic writing_q, bvalid_q, reading_q;
  logic [WordW-1:0] write_address_q, read_address_q;
  logic [7:0] reads_left_q;
  logic [RoomW-1:0] room_d, room_q;
  logic wants_write, wants_read, turn_q, write_done, read_done, last_read, read_taken;
  logic [LATENCY-1:0] flight_q, flight_last_q;
  logic buffer_ready;

  assign awready_o = !writing_q && !bvalid_q;
  assign bvalid_o  = bvalid_q;
  assign arready_o = !reading_q;

  // Where both directions want the memory they take turns; an access that waits stays in front.
  assign wants_write = writing_q && wvalid_i;
  assign wants_read  = reading_q && room_q != '0;
  assign mem_write_o = wants_write && !(wants_read && turn_q);
  assign mem_valid_o = wants_write || wants_read;
  assign mem_address_o = mem_write_o ? write_address_q : read_address_q;
  assign mem_data_o    = wdata_i;
  assign mem_strobe_o  = wstrb_i;
  assign write_done    = mem_write_o && mem_ready_i;
  assign read_done     = mem_valid_o && !mem_write_o && mem_ready_i;
  assign last_read     = reads_left_q == '0;
  assign wready_o      = write_done;
  assign read_taken    = rvalid_o && rready_i;
  assign room_d        = room_q - RoomW'(read_done) + RoomW'(read_taken);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      writing_q <= 1'b0;
      bvalid_q  <= 1'b0;
      reading_q <= 1'b0;
      turn_q    <= 1'b0;
      room_q    <= RoomW'(BufferDepth);
      flight_q  <= '0;
    end else begin
      if (awvalid_i && awready_o) writing_q <= 1'b1;
      if (write_done && wlast_i) begin
        writing_q <= 1'b0;
        bvalid_q  <= 1'b1;
      end
      if (bvalid_q && bready_i) bvalid_q <= 1'b0;
      if (arvalid_i && arready_o) reading_q <= 1'b1;
      if (read_done && last_read) reading_q <= 1'b0;
      if (mem_valid_o) turn_q <= mem_write_o == mem_ready_i;
      room_q   <= room_d;
      flight_q <= LATENCY'({flight_q, read_done});
    end
  end

  always_ff @(posedge clk_i) begin
    flight_last_q <= LATENCY'({flight_last_q, last_read});
    if (awvalid_i && awready_o) write_address_q <= awaddr_i[ADDR_W-1:2];
    else if (write_done) write_address_q <= write_address_q + 1'b1;
    if (arvalid_i && arready_o) begin
      read_address_q <= araddr_i[ADDR_W-1:2];
      reads_left_q   <= arlen_i;
    end else if (read_done) begin
      read_address_q <= read_address_q + 1'b1;
      reads_left_q   <= reads_left_q - 1'b1;
    end
  end

  fifo #(.WIDTH(33), .DEPTH(BufferDepth)) u_read_buffer (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(flight_q[LATENCY-1]), .ready_o(buffer_ready),
      .data_i({flight_last_q[LATENCY-1], mem_data_i}), .valid_o(rvalid_o), .ready_i(rready_i),
      .data_o({rlast_o, rdata_o}), .empty_o(), .usage_o()
  );

  `ALCOR_STABLE(a_access_stable, mem_valid_o, mem_ready_i, ({mem_write_o, mem_address_o}))
  `ALCOR_IMPLIES(a_buffer_room, flight_q[LATENCY-1], buffer_ready)

endmodule

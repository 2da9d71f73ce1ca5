`include "assertions.svh"

/// Memory port of a rank's kernel: AXI4 to a reader and a writer of node memory.
///
/// The port supports INCR bursts of whole beats; AxSIZE and AxBURST do not exist. An address is rounded down to a beat. A
/// burst beyond node memory gets DECERR and accesses no memory. One read burst and one write burst are served at a time, each
/// at one beat per cycle with memory that answers within LATENCY cycles.
///
/// A write response follows the write of the last beat, so a later read or command reads the written data.
///
/// `stop_i` ends both bursts: the port requests no further beat and drops the data of granted reads. A beat that the port
/// has offered to memory is still written.
module kernel_memory #(
    /// Bits of a beat: 32, 64, 128, ..., no wider than memory.
    parameter int unsigned WIDTH = 32,
    /// Bytes of node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Cycles from the grant of a memory read to its data at which reads reach one beat per cycle.
    parameter int unsigned LATENCY = 1
) (
    /// Clock.
    input  logic                           clk_i,
    /// Synchronous reset, active low.
    input  logic                           rst_ni,
    /// The kernel is in reset: bursts end.
    input  logic                           stop_i,
    /// Asserted when the port has no burst and no outstanding access.
    output logic                           idle_o,

    /// Kernel: write address.
    input  logic                           awvalid_i,
    /// Kernel: the write address is taken.
    output logic                           awready_o,
    /// Kernel: byte address of the burst.
    input  logic [31:0]                    awaddr_i,
    /// Kernel: beats of the burst - 1.
    input  logic [7:0]                     awlen_i,
    /// Kernel: write data.
    input  logic                           wvalid_i,
    /// Kernel: the beat is taken.
    output logic                           wready_o,
    /// Kernel: the beat.
    input  logic [WIDTH-1:0]               wdata_i,
    /// Kernel: byte strobes of the beat.
    input  logic [WIDTH/8-1:0]             wstrb_i,
    /// Kernel: write response.
    output logic                           bvalid_o,
    /// Kernel: the response is taken.
    input  logic                           bready_i,
    /// Kernel: OKAY or DECERR.
    output logic [1:0]                     bresp_o,
    /// Kernel: read address.
    input  logic                           arvalid_i,
    /// Kernel: the read address is taken.
    output logic                           arready_o,
    /// Kernel: byte address of the burst.
    input  logic [31:0]                    araddr_i,
    /// Kernel: beats of the burst - 1.
    input  logic [7:0]                     arlen_i,
    /// Kernel: read data.
    output logic                           rvalid_o,
    /// Kernel: the beat is taken.
    input  logic                           rready_i,
    /// Kernel: the beat.
    output logic [WIDTH-1:0]               rdata_o,
    /// Kernel: OKAY or DECERR.
    output logic [1:0]                     rresp_o,
    /// Kernel: the beat is its burst's last.
    output logic                           rlast_o,

    /// Node memory: a read.
    output alcor_abi_pkg::memory_request_t read_o,
    /// Node memory: answer to the read.
    input  alcor_abi_pkg::memory_answer_t  read_i,
    /// Node memory: data of the read.
    input  logic [WIDTH-1:0]               read_data_i,
    /// Node memory: a write.
    output alcor_abi_pkg::memory_request_t write_o,
    /// Node memory: the write is granted.
    input  logic                           write_gnt_i,
    /// Node memory: data of the write.
    output logic [WIDTH-1:0]               write_data_o,
    /// Node memory: byte strobes of the write.
    output logic [WIDTH/8-1:0]             write_strobe_o
);

  localparam int unsigned Bytes = WIDTH / 8;
  localparam int unsigned BeatW = $clog2(Bytes);
  localparam int unsigned NodeW = $clog2(NODE_BYTES);
  localparam int unsigned Depth = LATENCY + 3;
  localparam int unsigned CountW = $clog2(Depth + 1);
  localparam int unsigned IndexW = $clog2(Depth);
  // Width of the number of a beat in node memory.
  localparam int unsigned PlaceW = NodeW - BeatW;
  localparam logic [1:0] Okay = 2'b00;
  localparam logic [1:0] DecodeError = 2'b11;

  // ---------------------------------------------------------------- reads

  logic read_active_q, read_error_q, room, read_gnt, push, pop, fifo_rst_n, read_step;
  logic [PlaceW-1:0] read_place_q;
  logic [7:0] read_left_q;
  logic [CountW-1:0] under_way_q, held_q;
  logic [Depth-1:0] lasts_q;
  logic arrived_last, read_refused;
  logic [PlaceW:0] read_end, write_end;

  // Last beat of the burst, with a carry.
  assign read_end  = {1'b0, araddr_i[NodeW-1:BeatW]} + (PlaceW + 1)'(arlen_i);
  assign arready_o = !read_active_q && !stop_i;
  // Outstanding beats and beats in the FIFO need room.
  assign room      = held_q != CountW'(Depth);
  assign read_gnt  = read_o.req && read_i.gnt;
  // A refused burst starts its answer after the data of earlier bursts.
  assign read_step = read_gnt || (read_active_q && read_error_q && room && under_way_q == '0);

  assign read_o.req     = read_active_q && !read_error_q && room;
  assign read_o.address = 30'(read_place_q) << (BeatW - 2);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_active_q <= 1'b0;
      under_way_q   <= '0;
      held_q        <= '0;
    end else begin
      if (arvalid_i && arready_o) read_active_q <= 1'b1;
      else if (read_step && read_left_q == '0) read_active_q <= 1'b0;
      // A request to memory stays stable until its grant.
      else if (stop_i && (!read_o.req || read_gnt)) read_active_q <= 1'b0;
      under_way_q <= under_way_q + CountW'(read_gnt) - CountW'(read_i.rvalid);
      if (stop_i) held_q <= under_way_q + CountW'(read_gnt) - CountW'(read_i.rvalid);
      else held_q <= held_q + CountW'(read_step) - CountW'(pop);
    end
    if (arvalid_i && arready_o) begin
      read_error_q <= read_end[PlaceW] || araddr_i[31:NodeW] != '0;
      read_place_q <= araddr_i[NodeW-1:BeatW];
      read_left_q  <= arlen_i;
    end else if (read_step) begin
      read_place_q <= read_place_q + 1'b1;
      read_left_q  <= read_left_q - 1'b1;
    end
    // Outstanding reads that end a burst, the newest first.
    if (read_gnt) lasts_q <= {lasts_q[Depth-2:0], read_left_q == '0};
  end

  assign arrived_last = lasts_q[IndexW'(under_way_q-1'b1)];
  assign push         = read_i.rvalid || (read_step && read_error_q);
  assign pop          = rvalid_o && rready_i;
  assign fifo_rst_n   = rst_ni && !stop_i;

  fifo #(
      .WIDTH(WIDTH + 2),
      .DEPTH(Depth)
  ) u_data (
      .clk_i  (clk_i),
      .rst_ni (fifo_rst_n),
      .valid_i(push),
      .ready_o(),
      .data_i (read_i.rvalid ? {arrived_last, 1'b0, read_data_i} : {read_left_q == '0, 1'b1, WIDTH'(0)}),
      .valid_o(rvalid_o),
      .ready_i(rready_i),
      .data_o ({rlast_o, read_refused, rdata_o}),
      .empty_o(),
      .usage_o()
  );

  assign rresp_o = read_refused ? DecodeError : Okay;

  // ---------------------------------------------------------------- writes

  logic write_active_q, write_error_q, beat_q, answer_q, write_taken;
  logic [PlaceW-1:0] write_place_q, beat_place_q;
  logic [8:0] write_left_q;
  logic [WIDTH-1:0] beat_data_q;
  logic [Bytes-1:0] beat_strobe_q;

  assign write_end   = {1'b0, awaddr_i[NodeW-1:BeatW]} + (PlaceW + 1)'(awlen_i);
  assign awready_o   = !write_active_q && !stop_i;
  assign wready_o    = write_active_q && write_left_q != '0 && (!beat_q || write_gnt_i) && !stop_i;
  assign write_taken = wvalid_i && wready_o;

  assign write_o.req     = beat_q;
  assign write_o.address = 30'(beat_place_q) << (BeatW - 2);
  assign write_data_o    = beat_data_q;
  assign write_strobe_o  = beat_strobe_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_active_q <= 1'b0;
      beat_q         <= 1'b0;
      answer_q       <= 1'b0;
    end else begin
      if (awvalid_i && awready_o) write_active_q <= 1'b1;
      else if (stop_i || (bvalid_o && bready_i)) write_active_q <= 1'b0;
      if (write_taken && !write_error_q) beat_q <= 1'b1;
      else if (write_gnt_i) beat_q <= 1'b0;
      if (stop_i || (bvalid_o && bready_i)) answer_q <= 1'b0;
      else if (write_active_q && write_left_q == '0 && (!beat_q || write_gnt_i)) answer_q <= 1'b1;
    end
    if (awvalid_i && awready_o) begin
      write_error_q <= write_end[PlaceW] || awaddr_i[31:NodeW] != '0;
      write_place_q <= awaddr_i[NodeW-1:BeatW];
      write_left_q  <= {1'b0, awlen_i} + 1'b1;
    end else if (write_taken) begin
      write_place_q <= write_place_q + 1'b1;
      write_left_q  <= write_left_q - 1'b1;
    end
    if (write_taken) begin
      beat_place_q  <= write_place_q;
      beat_data_q   <= wdata_i;
      beat_strobe_q <= wstrb_i;
    end
  end

  assign bvalid_o = answer_q;
  assign bresp_o  = write_error_q ? DecodeError : Okay;

  // ----------------------------------------------------------------

  assign idle_o = !read_active_q && under_way_q == '0 && !write_active_q && !beat_q;

  logic unused_address;
  assign unused_address = ^{araddr_i[BeatW-1:0], awaddr_i[BeatW-1:0]};

  `ALCOR_CHECK_PARAM(g_check_width, WIDTH >= 32 && (WIDTH & (WIDTH - 1)) == 0,
                     "kernel_memory: WIDTH must be a power of two, 32 or more")
  `ALCOR_STABLE(a_read_stable, read_o.req, read_i.gnt, read_o.address)
  `ALCOR_STABLE(a_write_stable, write_o.req, write_gnt_i, {write_o.address, write_data_o, write_strobe_o})
  `ALCOR_IMPLIES(a_data_of_a_read, read_i.rvalid, under_way_q != '0)
  `ALCOR_ASSERT(a_room, held_q <= CountW'(Depth))

endmodule

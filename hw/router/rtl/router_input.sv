`include "assertions.svh"

/// Input port of the router: Input Memory, Header Q, virtual output queues (VOQ) and
/// the round-robin scheduler that sends their words into this port's row of crosspoints.
///
/// Handshake of the input stream: a word moves when valid and ready are both high at a clock edge.
/// Valid does not wait for ready, and stays, with the payload, until the word moves. `ready_o`
/// comes from registers only.
///
/// Towards the row there is no handshake but a strobe: the scheduler writes a crosspoint only where
/// `room_i` (a register of that crosspoint) says that it is not full, so a write is never refused.
///
/// Header Q holds the route of each packet: one bit per output, or none for a packet that is to be dropped.
/// Each word spends a cycle in Input Memory and a cycle in its VOQ at least.
module router_input #(
    /// Outputs of the router, 2 to 16.
    parameter int unsigned PORTS = 4,
    /// Bits per word.
    parameter int unsigned WIDTH = 32,
    /// Words in Input Memory; block RAM from 128 up.
    parameter int unsigned INPUT_DEPTH = 512,
    /// Packets in Header Q.
    parameter int unsigned HEADER_DEPTH = 16,
    /// Words in each VOQ.
    parameter int unsigned VOQ_DEPTH = 16
) (
    /// Clock.
    input  logic                        clk_i,
    /// Synchronous reset, active low; empties all queues.
    input  logic                        rst_ni,
    /// Output of the packet whose first word is offered, one-hot; 0: the packet is to be dropped.
    input  logic [PORTS-1:0]            route_i,
    /// Input stream: a word is offered.
    input  logic                        valid_i,
    /// Input stream: there is room.
    output logic                        ready_o,
    /// Input stream: the word.
    input  logic [WIDTH-1:0]            data_i,
    /// Input stream: the word is its packet's last.
    input  logic                        last_i,
    /// Crosspoint buffers of this row that are not full.
    input  logic [PORTS-1:0]            room_i,
    /// Crosspoint buffer that is written in this cycle; one-hot or none.
    output logic [PORTS-1:0]            write_o,
    /// Word for the crosspoint; 0 without a write.
    output logic [WIDTH-1:0]            data_o,
    /// The word for the crosspoint is its packet's last.
    output logic                        last_o,
    /// No word is held in this port.
    output logic                        empty_o,
    /// Pulse: a packet has been dropped (its last word left Input Memory).
    output logic                        drop_o
);

  `ALCOR_CHECK_PARAM(g_check_ports, PORTS >= 2 && PORTS <= 16,
                     "router_input: PORTS must be 2 to 16")

  // Size from which block RAM is used, as the paper chooses for its FIFOs.
  localparam int unsigned BlockRamDepth = 128;

  // ---------------------------------------------------------------------------------------------
  // Entry: every word into Input Memory, and the route of a first word into Header Q
  // ---------------------------------------------------------------------------------------------
  logic first_q;
  logic accept;
  logic mem_ready, header_ready;

  assign ready_o = mem_ready && (header_ready || !first_q);
  assign accept  = valid_i && ready_o;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      first_q <= 1'b1;
    end else if (accept) begin
      first_q <= last_i;
    end
  end

  logic mem_valid, mem_take, mem_last, mem_empty;
  logic [WIDTH-1:0] mem_data;
  logic header_valid;
  logic [PORTS-1:0] target;

  fifo #(
      .WIDTH    (WIDTH + 1),
      .DEPTH    (INPUT_DEPTH),
      .BLOCK_RAM(INPUT_DEPTH >= BlockRamDepth)
  ) u_input_memory (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i(valid_i && (header_ready || !first_q)),
      .ready_o(mem_ready),
      .data_i ({last_i, data_i}),
      .valid_o(mem_valid),
      .ready_i(mem_take),
      .data_o ({mem_last, mem_data}),
      .empty_o(mem_empty),
      .usage_o()
  );

  fifo #(
      .WIDTH    (PORTS),
      .DEPTH    (HEADER_DEPTH),
      .BLOCK_RAM(1'b0)
  ) u_header_q (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i(valid_i && mem_ready && first_q),
      .ready_o(header_ready),
      .data_i (route_i),
      .valid_o(header_valid),
      .ready_i(mem_take && mem_last),
      .data_o (target),
      .empty_o(),
      .usage_o()
  );

  // ---------------------------------------------------------------------------------------------
  // VOQ controller: a word per cycle from Input Memory to the VOQ that the current packet's route
  // names, or to nowhere
  // ---------------------------------------------------------------------------------------------
  logic [PORTS-1:0] voq_in_ready;
  logic target_none;

  assign target_none = target == '0;
  assign mem_take = mem_valid && (target_none || (target & voq_in_ready) != '0);
  assign drop_o = mem_valid && target_none && mem_last;

  logic [PORTS-1:0] voq_valid, voq_take, voq_last, voq_empty;
  logic [PORTS-1:0][WIDTH-1:0] voq_data;

  for (genvar p = 0; p < PORTS; p++) begin : g_voq
    fifo #(
        .WIDTH    (WIDTH + 1),
        .DEPTH    (VOQ_DEPTH),
        .BLOCK_RAM(VOQ_DEPTH >= BlockRamDepth)
    ) u_voq (
        .clk_i  (clk_i),
        .rst_ni (rst_ni),
        .valid_i(mem_valid && target[p]),
        .ready_o(voq_in_ready[p]),
        .data_i ({mem_last, mem_data}),
        .valid_o(voq_valid[p]),
        .ready_i(voq_take[p]),
        .data_o ({voq_last[p], voq_data[p]}),
        .empty_o(voq_empty[p]),
        .usage_o()
    );
  end

  // ---------------------------------------------------------------------------------------------
  // Scheduler: stay with the VOQ whose packet is under way while it is eligible; else take turns
  // ---------------------------------------------------------------------------------------------
  logic [PORTS-1:0] eligible;
  logic [PORTS-1:0] turn;
  logic [PORTS-1:0] grant;
  logic [PORTS-1:0] under_way_d, under_way_q;
  logic stay;

  assign eligible = voq_valid & room_i;
  assign stay     = (eligible & under_way_q) != '0;

  rr_arbiter #(
      .N(PORTS)
  ) u_arbiter (
      .clk_i    (clk_i),
      .rst_ni   (rst_ni),
      .req_i    (eligible),
      .advance_i(!stay),
      .valid_o  (),
      .grant_o  (turn),
      .index_o  ()
  );

  assign grant    = stay ? under_way_q : turn;
  assign voq_take = grant;
  assign write_o  = grant;
  assign last_o   = (grant & voq_last) != '0;

  always_comb begin
    data_o = '0;
    for (int unsigned p = 0; p < PORTS; p++) begin
      data_o |= grant[p] ? voq_data[p] : '0;
    end
  end

  always_comb begin
    under_way_d = under_way_q;
    if (grant != '0) under_way_d = last_o ? '0 : grant;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      under_way_q <= '0;
    end else begin
      under_way_q <= under_way_d;
    end
  end

  assign empty_o = mem_empty && (&voq_empty);

  `ALCOR_STABLE(a_in_stable, valid_i, ready_o, ({last_i, data_i}))
  `ALCOR_IMPLIES(a_word_has_route, mem_valid, header_valid)
  `ALCOR_IMPLIES(a_one_output, valid_i && first_q, (route_i & (route_i - 1'b1)) == '0)
  `ALCOR_IMPLIES(a_target_onehot, header_valid, $onehot0(target))
  `ALCOR_ASSERT(a_write_onehot, $onehot0(write_o))
  `ALCOR_ASSERT(a_write_has_room, (write_o & ~room_i) == '0)
  `ALCOR_ASSERT(a_write_has_word, (write_o & ~voq_valid) == '0)
  `ALCOR_ASSERT(a_work_conserving, (eligible == '0) == (write_o == '0))

  `ALCOR_COVER(c_full_router_input, !mem_ready)
  `ALCOR_COVER(c_full_router_headers, !header_ready)
  `ALCOR_COVER(c_full_virtual_output_queue, voq_in_ready != '1)

endmodule

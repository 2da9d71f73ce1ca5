// A stand-in for a board's core, with the ports of hw/dpi/sim_top.sv: small enough to be built in seconds, and simple
// enough that a test can say what happens in which cycle. It shares nothing with the RTL but register offsets.
//
// A rank's queued commands, of which one is served when the cycle count modulo RANKS is the rank's number:
//   0x040  send data[15:0] to word data[27:16] of rank data[31:28]; it is there FLIGHT cycles later
//   0x028  barrier: retires when every rank has one at its head
//   0x1FC  fails an assertion
// Registers: IRQ_ENABLE, RETIRED_WAKE, ACK (barrier); CAUSES (credit, barrier), RETIRED, RX_REQUEST_WORDS, BARRIERS.
// A register write acts at the edge that ends the cycle in which it is offered; the interrupt is registered once more.

/// A node memory with two write ports and two read ports.
module ram_stand_in #(
  parameter int unsigned WORDS = 1024
) (
  input  logic                     clk_i,
  input  logic                     a_valid_i,
  input  logic [$clog2(WORDS)-1:0] a_addr_i,
  input  logic [31:0]              a_data_i,
  input  logic [3:0]               b_strobe_i,
  input  logic [$clog2(WORDS)-1:0] b_addr_i,
  input  logic [31:0]              b_data_i,
  output logic [31:0]              b_data_o
);
  logic [31:0] mem [WORDS] /*verilator public_flat_rw*/;

  always_ff @(posedge clk_i) begin
    if (a_valid_i) mem[a_addr_i] <= a_data_i;
    for (int i = 0; i < 4; i++) begin
      if (b_strobe_i[i]) mem[b_addr_i][8*i +: 8] <= b_data_i[8*i +: 8];
    end
    b_data_o <= mem[b_addr_i];
  end
endmodule

/// All ranks.
module core_stand_in #(
  parameter int unsigned RANKS      = 2,
  parameter int unsigned NODE_BYTES = 4096,
  parameter int unsigned FLIGHT     = 6,
  parameter int          LOAD       = 0
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic [RANKS-1:0]      write_valid_i,
  input  logic [11:0]           write_offset_i [RANKS],
  input  logic [31:0]           write_data_i [RANKS],
  input  logic [16:0]           read_addr_i,
  output logic [31:0]           read_data_o,
  input  logic [16:0]           peek_addr_i,
  output logic [31:0]           peek_data_o,
  output logic [RANKS-1:0]      irq_o,
  input  logic                  dma_write_i,
  input  logic [3:0]            dma_strobe_i,
  input  logic [31:0]           dma_addr_i,
  input  logic [31:0]           dma_data_i,
  output logic [31:0]           dma_data_o,
  output logic [4*RANKS-1:0]    stream_valid_o,
  output logic [4*RANKS-1:0][31:0] stream_data_o
);
  localparam int unsigned WORDS = NODE_BYTES / 4;
  localparam int unsigned AW    = $clog2(WORDS);
  localparam int unsigned DEPTH = 1024;

  typedef struct packed {
    logic [11:0] offset;
    logic [31:0] data;
  } command_t;
  typedef struct packed {
    logic        valid;
    logic [3:0]  target;
    logic [11:0] word;
    logic [15:0] data;
  } packet_t;

  logic [5:0]  ready_q;
  logic [31:0] slot_q;
  logic        ready;
  assign ready = ready_q == 6'd20;

  packet_t     flight_q [FLIGHT];
  packet_t     sent [RANKS];
  packet_t     launched;
  logic [RANKS-1:0] at_barrier, retire, crash;
  logic [31:0] retired_q [RANKS], barriers_q [RANKS], received_q [RANKS];
  logic [5:0]  causes [RANKS];
  logic [31:0] dma_rank;
  logic [31:0] memory_data [RANKS];
  assign dma_rank = dma_addr_i / NODE_BYTES;
  assign dma_data_o = memory_data[dma_rank_q];
  logic [$clog2(RANKS > 1 ? RANKS : 2)-1:0] dma_rank_q;
  always_ff @(posedge clk_i) dma_rank_q <= dma_rank[$bits(dma_rank_q)-1:0];

  for (genvar r = 0; r < RANKS; r++) begin : g_rank
    command_t    queue_q [DEPTH];
    logic [10:0] head_q, tail_q;
    command_t    head;
    logic        has_head, barrier_done_q, wake_armed_q, irq_q;
    logic [5:0]  enable_q;
    logic [31:0] wake_q;
    logic [31:0] wake_left;

    assign head      = queue_q[head_q[9:0]];
    assign has_head  = head_q != tail_q;
    assign at_barrier[r] = has_head && head.offset == 12'h028;
    assign crash[r]  = has_head && head.offset == 12'h1FC;
    assign sent[r]   = '{valid: has_head && head.offset == 12'h040 && slot_q == r, target: head.data[31:28],
                         word: head.data[27:16], data: head.data[15:0]};
    assign retire[r] = at_barrier[r] ? &at_barrier : has_head && slot_q == r;
    assign wake_left = wake_q - retired_q[r];
    assign causes[r] = {wake_armed_q && $signed(wake_left) <= 0, 3'b0, barrier_done_q, 1'b0};
    assign irq_o[r]  = irq_q;

    always_ff @(posedge clk_i) begin
      irq_q <= |(causes[r] & enable_q);
      if (write_valid_i[r]) begin
        unique case (write_offset_i[r])
          12'h480: if (write_data_i[r][1]) barrier_done_q <= 1'b0;
          12'h488: enable_q <= write_data_i[r][5:0];
          12'h49C: begin
            wake_q       <= write_data_i[r];
            wake_armed_q <= 1'b1;
          end
          default: if (write_offset_i[r] < 12'h400) begin
            queue_q[tail_q[9:0]] <= '{offset: write_offset_i[r], data: write_data_i[r]};
            tail_q <= tail_q + 1;
          end
        endcase
      end
      if (retire[r]) begin
        head_q       <= head_q + 1;
        retired_q[r] <= retired_q[r] + 1;
        if (at_barrier[r]) begin
          barrier_done_q <= 1'b1;
          barriers_q[r]  <= barriers_q[r] + 1;
        end
      end
      if (flight_q[FLIGHT-1].valid && flight_q[FLIGHT-1].target == r) received_q[r] <= received_q[r] + 1;
      if (!rst_ni) begin
        head_q         <= '0;
        tail_q         <= '0;
        barrier_done_q <= 1'b0;
        wake_armed_q   <= 1'b0;
        irq_q          <= 1'b0;
        enable_q       <= '0;
        retired_q[r]   <= '0;
        barriers_q[r]  <= '0;
        received_q[r]  <= '0;
      end
    end

    ram_stand_in #(.WORDS(WORDS)) u_memory (
      .clk_i     (clk_i),
      .a_valid_i (flight_q[FLIGHT-1].valid && flight_q[FLIGHT-1].target == r),
      .a_addr_i  (AW'(flight_q[FLIGHT-1].word)),
      .a_data_i  ({16'b0, flight_q[FLIGHT-1].data}),
      .b_strobe_i(dma_write_i && dma_rank == r ? dma_strobe_i : 4'b0),
      .b_addr_i  (AW'(dma_addr_i >> 2)),
      .b_data_i  (dma_data_i),
      .b_data_o  (memory_data[r])
    );

    assign stream_valid_o[4*r]   = sent[r].valid;
    assign stream_data_o[4*r]    = head.data;
    assign stream_valid_o[4*r+1] = 1'b0;
    assign stream_data_o[4*r+1]  = '0;
    assign stream_valid_o[4*r+2] = flight_q[FLIGHT-1].valid && flight_q[FLIGHT-1].target == r;
    assign stream_data_o[4*r+2]  = {16'b0, flight_q[FLIGHT-1].data};
    assign stream_valid_o[4*r+3] = 1'b0;
    assign stream_data_o[4*r+3]  = '0;

    a_no_crash: assert property (@(posedge clk_i) disable iff (!rst_ni) !crash[r])
      else $error("rank %0d was told to fail", r);
  end

  always_comb begin
    launched = '0;
    for (int r = 0; r < RANKS; r++) if (sent[r].valid) launched = sent[r];
  end

  // Work without a purpose, so that a cycle costs what one of a board does.
  logic [31:0] load_q [LOAD + 1];
  always_ff @(posedge clk_i) begin
    for (int i = 0; i < LOAD; i++) load_q[i] <= {load_q[i][30:0], ^load_q[i+1]} + slot_q;
    load_q[LOAD] <= load_q[0] ^ slot_q;
  end

  always_ff @(posedge clk_i) begin
    if (!ready) ready_q <= ready_q + 1;
    slot_q <= slot_q == RANKS - 1 ? '0 : slot_q + 1;
    flight_q[0] <= launched;
    for (int i = 1; i < FLIGHT; i++) flight_q[i] <= flight_q[i-1];
    if (!rst_ni) begin
      ready_q  <= '0;
      slot_q   <= '0;
      for (int i = 0; i < FLIGHT; i++) flight_q[i] <= '0;
    end
  end

  function automatic logic [31:0] register(logic [16:0] addr);
    logic [31:0] rank;
    rank = 32'(addr[16:12]) - 1;
    if (addr[16:12] == 0) begin
      unique case (addr[11:0])
        12'h000: return 32'h414C434F;
        12'h024: return 32'(ready);
        default: return '0;
      endcase
    end
    if (rank >= RANKS) return '1;
    unique case (addr[11:0])
      12'h404: return 32'(causes[rank]);
      12'h408: return retired_q[rank];
      12'h430: return received_q[rank];
      12'h438: return barriers_q[rank];
      12'h7FC: return load_q[0];
      default: return '0;
    endcase
  endfunction
  assign read_data_o = register(read_addr_i);
  assign peek_data_o = register(peek_addr_i);
endmodule

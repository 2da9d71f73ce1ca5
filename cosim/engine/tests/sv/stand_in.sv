// A stand-in for a board's core, with the ports of hw/dpi/sim_top.sv: small enough to be built in seconds, and simple
// enough that a test can say what happens in which cycle. It shares nothing with the RTL but register offsets.
//
// A rank's queued commands, of which one is served when the cycle count modulo RANKS is the rank's number:
//   0x040  send data[15:0] to word data[27:16] of rank data[31:28]; it is there FLIGHT cycles later
//   0x028  barrier: retires when every rank has one at its head
//   0x050  send data[31:16] + 1 phits, one a cycle, on link data[3:0] and channel data[6:4]
//   0x1FC  fails an assertion
// Registers: IRQ_ENABLE, RETIRED_WAKE, ACK (barrier); CAUSES (credit, barrier), RETIRED, RX_REQUEST_WORDS, BARRIERS.
// A phit carries the cycle in which it was sent, scrambled into all of its bits, which the receiver checks. The receiver
// gives its credit back in the next cycle, adds its age in cycles to a log in the memory of rank 0 (64 words for each
// link from word 0x100, the number of phits modulo 64 first), and raises cause 3 of all ranks, which ACK takes back.
// Board registers: STATUS; PLACE, which can be written; LINK_TX, LINK_RX, and 0x1C0 + 4 x link, the credits that came
// back. If register 0x7F8 of the board's page is not 0, all links carry, from 200 cycles after reset on, a traffic that
// it seeds and that depends on all that arrives.
// A register write acts at the edge that ends the cycle in which it is offered; the interrupt is registered once more.

/// A node memory with a port for the ranks, one for the DMA and one for each link, in banks.
module ram_stand_in #(
  parameter int unsigned WORDS = 1024,
  parameter int unsigned BANKS = 1,
  parameter int unsigned LOGS  = 1
) (
  input  logic                                clk_i,
  input  logic                                a_valid_i,
  input  logic [$clog2(WORDS)-1:0]            a_addr_i,
  input  logic [31:0]                         a_data_i,
  input  logic [4*BANKS-1:0]                  b_strobe_i,
  input  logic [$clog2(WORDS)-1:0]            b_addr_i,
  input  logic [BANKS-1:0][31:0]              b_data_i,
  output logic [BANKS-1:0][31:0]              b_data_o,
  input  logic [LOGS-1:0]                     log_valid_i,
  input  logic [LOGS-1:0][$clog2(WORDS)-1:0]  log_addr_i,
  input  logic [LOGS-1:0][31:0]               log_data_i
);
  logic [BANKS-1:0][31:0] data_q;
  assign b_data_o = data_q;

  for (genvar b = 0; b < BANKS; b++) begin : g_bank
    logic [31:0] mem [WORDS / BANKS] /*verilator public_flat_rw*/;

    always_ff @(posedge clk_i) begin
      if (a_valid_i && 32'(a_addr_i) % BANKS == b) mem[32'(a_addr_i) / BANKS] <= a_data_i;
      for (int i = 0; i < 4; i++) begin
        if (b_strobe_i[4*b + i]) mem[32'(b_addr_i) / BANKS][8*i +: 8] <= b_data_i[b][8*i +: 8];
      end
      for (int l = 0; l < LOGS; l++) begin
        if (log_valid_i[l] && 32'(log_addr_i[l]) % BANKS == b) mem[32'(log_addr_i[l]) / BANKS] <= log_data_i[l];
      end
      data_q[b] <= mem[32'(b_addr_i) / BANKS];
    end
  end
endmodule

/// All ranks.
module core_stand_in #(
  parameter int unsigned RANKS      = 2,
  parameter int unsigned NODE_BYTES = 4096,
  parameter int unsigned FLIGHT     = 6,
  parameter int unsigned LINKS      = 0,
  parameter int unsigned PHIT_W     = 256,
  parameter int          LOAD       = 0,
  localparam int unsigned LINK_N    = LINKS == 0 ? 1 : LINKS,
  localparam int unsigned LINK_W    = PHIT_W + 80,
  localparam int unsigned BANKS     = LINKS == 0 ? 1 : PHIT_W / 32
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
  input  logic                  board_write_i,
  input  logic [11:0]           board_offset_i,
  input  logic [31:0]           board_data_i,
  output logic [LINK_N-1:0]             sent_o,
  output logic [LINK_N-1:0][2:0]        sent_vc_o,
  output logic [LINK_N-1:0][LINK_W-1:0] sent_phit_o,
  output logic [LINK_N-1:0]             returned_o,
  output logic [LINK_N-1:0][2:0]        returned_vc_o,
  input  logic [LINK_N-1:0]             arrived_i,
  input  logic [LINK_N-1:0][2:0]        arrived_vc_i,
  input  logic [LINK_N-1:0][LINK_W-1:0] arrived_phit_i,
  input  logic [LINK_N-1:0]             credit_i,
  input  logic [LINK_N-1:0][2:0]        credit_vc_i,
  input  logic                  dma_write_i,
  input  logic [4*BANKS-1:0]    dma_strobe_i,
  input  logic [31:0]           dma_addr_i,
  input  logic [BANKS-1:0][31:0] dma_data_i,
  output logic [BANKS-1:0][31:0] dma_data_o,
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
  logic [BANKS-1:0][31:0] memory_data [RANKS];
  assign dma_rank = dma_addr_i / NODE_BYTES;
  assign dma_data_o = memory_data[dma_rank_q];
  logic [$clog2(RANKS > 1 ? RANKS : 2)-1:0] dma_rank_q;
  always_ff @(posedge clk_i) dma_rank_q <= dma_rank[$bits(dma_rank_q)-1:0];

  // ---------------------------------------------------------------- links
  logic [31:0]             time_q, place_q, seed_q;
  logic [LINK_N-1:0]       log_valid;
  logic [LINK_N-1:0][AW-1:0] log_addr;
  logic [LINK_N-1:0][31:0] log_data;
  logic [31:0]             tx_q [LINK_N], rx_q [LINK_N], back_q [LINK_N];
  logic [RANKS-1:0]        launch;
  logic [31:0]             launch_data [RANKS];

  function automatic logic [LINK_W-1:0] scrambled(logic [31:0] stamp);
    for (int k = 0; k <= LINK_W / 32; k++) begin
      for (int i = 0; i < 32; i++) begin
        if (32*k + i < LINK_W) scrambled[32*k + i] = 1'((stamp * (k == 0 ? 32'd1 : 32'h9E3779B1 * k)) >> i);
      end
    end
  endfunction

  for (genvar l = 0; l < LINK_N; l++) begin : g_link
    logic [16:0] left_q;
    logic [2:0]  vc_q;
    logic [31:0] random_q;
    logic        is_random;
    assign is_random     = seed_q != 0 && time_q >= 200 && random_q[1:0] != 0;
    assign sent_o[l]     = LINKS != 0 && (left_q != 0 || is_random);
    assign sent_vc_o[l]  = left_q != 0 ? vc_q : random_q[6:4];
    assign sent_phit_o[l] = scrambled(time_q);
    assign log_valid[l]  = LINKS != 0 && arrived_i[l];
    assign log_addr[l]   = AW'(32'h100 + 64*l + (rx_q[l] % 64));
    assign log_data[l]   = time_q - arrived_phit_i[l][31:0];
    always_ff @(posedge clk_i) begin
      if (left_q != 0) left_q <= left_q - 1;
      if (sent_o[l]) tx_q[l] <= tx_q[l] + 1;
      for (int r = 0; r < RANKS; r++) begin
        if (launch[r] && launch_data[r][3:0] == l) begin
          left_q <= {1'b0, launch_data[r][31:16]} + 1;
          vc_q   <= launch_data[r][6:4];
        end
      end
      returned_o[l]    <= arrived_i[l];
      returned_vc_o[l] <= arrived_vc_i[l];
      if (arrived_i[l]) begin
        rx_q[l] <= rx_q[l] + 1;
        a_phit_is_whole: assert (arrived_phit_i[l] == scrambled(arrived_phit_i[l][31:0]))
          else $error("link %0d: a phit has changed on its way", l);
      end
      if (credit_i[l]) back_q[l] <= back_q[l] + 1;
      random_q <= (random_q ^ (arrived_i[l] ? arrived_phit_i[l][63:32] + 32'(arrived_vc_i[l]) : 0)
                   ^ (credit_i[l] ? 32'h1000 << credit_vc_i[l] : 0)) * 32'd1664525 + seed_q + 32'(random_q[31:8]);
      if (seed_q == 0) random_q <= 32'(l);
      if (!rst_ni) begin
        left_q        <= '0;
        tx_q[l]       <= '0;
        rx_q[l]       <= '0;
        back_q[l]     <= '0;
        returned_o[l] <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    time_q <= time_q + 1;
    if (board_write_i && board_offset_i == 12'h034) place_q <= board_data_i;
    if (board_write_i && board_offset_i == 12'h7F8) seed_q <= board_data_i;
    if (!rst_ni) begin
      time_q  <= '0;
      place_q <= '0;
      seed_q  <= '0;
    end
  end

  // ---------------------------------------------------------------- ranks
  for (genvar r = 0; r < RANKS; r++) begin : g_rank
    command_t    queue_q [DEPTH];
    logic [10:0] head_q, tail_q;
    command_t    head;
    logic        has_head, barrier_done_q, wake_armed_q, irq_q, heard_q;
    logic [5:0]  enable_q;
    logic [31:0] wake_q;
    logic [31:0] wake_left;

    assign head      = queue_q[head_q[9:0]];
    assign has_head  = head_q != tail_q;
    assign at_barrier[r] = has_head && head.offset == 12'h028;
    assign launch[r] = retire[r] && head.offset == 12'h050;
    assign launch_data[r] = head.data;
    assign crash[r]  = has_head && head.offset == 12'h1FC;
    assign sent[r]   = '{valid: has_head && head.offset == 12'h040 && slot_q == r, target: head.data[31:28],
                         word: head.data[27:16], data: head.data[15:0]};
    assign retire[r] = at_barrier[r] ? &at_barrier : has_head && slot_q == r;
    assign wake_left = wake_q - retired_q[r];
    assign causes[r] = {wake_armed_q && $signed(wake_left) <= 0, 1'b0, heard_q, 1'b0, barrier_done_q, 1'b0};
    assign irq_o[r]  = irq_q;

    always_ff @(posedge clk_i) begin
      irq_q <= |(causes[r] & enable_q);
      if (log_valid != '0) heard_q <= 1'b1;
      if (write_valid_i[r]) begin
        unique case (write_offset_i[r])
          12'h480: begin
            if (write_data_i[r][1]) barrier_done_q <= 1'b0;
            if (write_data_i[r][3]) heard_q <= 1'b0;
          end
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
        heard_q        <= 1'b0;
        irq_q          <= 1'b0;
        enable_q       <= '0;
        retired_q[r]   <= '0;
        barriers_q[r]  <= '0;
        received_q[r]  <= '0;
      end
    end

    // The memory has the same path as in `core`.
    if (1) begin : u_tile
      ram_stand_in #(.WORDS(WORDS), .BANKS(BANKS), .LOGS(LINK_N)) u_memory (
        .log_valid_i(r == 0 ? log_valid : '0),
        .log_addr_i (log_addr),
        .log_data_i (log_data),
        .clk_i     (clk_i),
        .a_valid_i (flight_q[FLIGHT-1].valid && flight_q[FLIGHT-1].target == r),
        .a_addr_i  (AW'(flight_q[FLIGHT-1].word)),
        .a_data_i  ({16'b0, flight_q[FLIGHT-1].data}),
        .b_strobe_i(dma_write_i && dma_rank == r ? dma_strobe_i : '0),
        .b_addr_i  (AW'(dma_addr_i >> 2)),
        .b_data_i  (dma_data_i),
        .b_data_o  (memory_data[r])
      );
    end

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

  // Once each time that all meet.
  c_barriers_met: cover property (@(posedge clk_i) disable iff (!rst_ni) &at_barrier);

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
        12'h034: return place_q;
        default: begin
          for (int l = 0; l < LINK_N; l++) begin
            if (addr[11:0] == 12'h180 + 12'(4 * l)) return tx_q[l];
            if (addr[11:0] == 12'h1A0 + 12'(4 * l)) return rx_q[l];
            if (addr[11:0] == 12'h1C0 + 12'(4 * l)) return back_q[l];
          end
          return '0;
        end
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

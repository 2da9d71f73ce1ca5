`include "phit_types.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// Several collective units with their node memories, and a network between them that keeps order
/// between two stages and nothing else: it delays phits, and may let those from one board to another
/// wait, while others overtake them.
module collective_bench #(
    /// Boards.
    parameter int unsigned BOARDS = 4,
    /// Ranks of a board.
    parameter int unsigned RANKS = 1,
    /// Stages.
    parameter int unsigned STAGES = 2,
    /// Bits of a phit's data.
    parameter int unsigned PHIT_W = 256,
    /// Bytes of each node memory.
    parameter int unsigned NODE_BYTES = 65536,
    /// Cycles from a memory read's grant to its data.
    parameter int unsigned MEM_LATENCY = 1,
    /// Up to so many cycles more, at random.
    parameter int unsigned MEM_JITTER = 0,
    /// Phits of a communicator's window.
    parameter int unsigned WINDOW = alcor_switch_pkg::Window,
    /// Operations that the units have, bit by operation_e.
    parameter int unsigned OPS = 511,
    /// Types that they have, bit by datatype_e.
    parameter int unsigned TYPES = 63,
    /// All ranks; derived, not to be set.
    localparam int unsigned All = BOARDS * RANKS,
    /// Width of a word address; derived, not to be set.
    localparam int unsigned AddrW = $clog2(NODE_BYTES / 4)
) (
    /// Clock.
    input  logic                              clk_i,
    /// Synchronous reset, active low.
    input  logic                              rst_ni,
    /// By rank: a write into its page.
    input  logic [All-1:0]                    write_i,
    /// Its offset.
    input  logic [All-1:0][11:0]              offset_i,
    /// Its data.
    input  logic [All-1:0][31:0]              data_i,
    /// By rank: what waits is to be cancelled.
    input  logic [All-1:0]                    cancel_i,
    /// By rank: POSTED.
    output logic [All-1:0][31:0]              posted_o,
    /// By board: COLLECTIVES.
    output logic [BOARDS-1:0][31:0]           active_o,
    /// By rank: a completion is on offer.
    output logic [All-1:0]                    complete_valid_o,
    /// It is taken.
    input  logic [All-1:0]                    complete_ready_i,
    /// Its status.
    output logic [All-1:0][4:0]               complete_status_o,
    /// Its id.
    output logic [All-1:0][15:0]              complete_id_o,
    /// By board: the barrier asks for a round.
    input  logic [BOARDS-1:0]                 sync_begin_i,
    /// It can have one.
    output logic [BOARDS-1:0]                 sync_ready_o,
    /// Low 64 bits of what it gives.
    input  logic [BOARDS-1:0][63:0]           sync_i,
    /// The result is there.
    output logic [BOARDS-1:0]                 sync_valid_o,
    /// Low 64 bits of it.
    output logic [BOARDS-1:0][63:0]           sync_o,
    /// By board: its stages can't send in this cycle.
    input  logic [BOARDS-1:0][STAGES-1:0]     stall_i,
    /// By rank: an access from the host's side.
    input  logic [All-1:0]                    host_valid_i,
    /// It is done.
    output logic [All-1:0]                    host_ready_o,
    /// It is a write.
    input  logic [All-1:0]                    host_write_i,
    /// Its word address.
    input  logic [All-1:0][AddrW-1:0]         host_address_i,
    /// Its data.
    input  logic [All-1:0][31:0]              host_data_i,
    /// The oldest read is answered.
    output logic [All-1:0]                    host_answer_o,
    /// With this word.
    output logic [All-1:0][31:0]              host_data_o,
    /// By rank: the coprocessor reads something, to no end.
    input  logic [All-1:0]                    noise_i,
    /// By rank: the coprocessor writes, but no byte.
    input  logic [All-1:0]                    noise_write_i,
    /// Cycles that a phit is under way, at least, 1 or more.
    input  logic [15:0]                       delay_i,
    /// By sending and receiving board: what is under way has to wait.
    input  logic [BOARDS-1:0][BOARDS-1:0]     hold_i,
    /// By board and stage: phits that it has sent.
    output logic [BOARDS-1:0][STAGES-1:0][31:0] sent_o,
    /// No phit is under way.
    output logic                              quiet_o
);

  localparam int unsigned W = PHIT_W + PhitHeadW;

  `ALCOR_PHIT_TYPE(PHIT_W)

  // Phits from a board to another of a stage; more than come in the longest time that one waits.
  localparam int unsigned Depth = 2048;

  logic [BOARDS-1:0][STAGES-1:0] tx_valid, tx_ready, rx_valid;
  logic [BOARDS-1:0][STAGES-1:0][W-1:0] tx_phit, rx_phit;
  logic [STAGES-1:0][BOARDS-1:0][BOARDS-1:0] waits;
  logic [31:0] now_q;

  assign tx_ready = ~stall_i;
  assign quiet_o  = tx_valid == '0 && waits == '0;

  for (genvar s = 0; s < STAGES; s++) begin : g_stage
    logic [BOARDS-1:0][BOARDS-1:0] some, took;
    logic [BOARDS-1:0][BOARDS-1:0][W-1:0] front;

    for (genvar b = 0; b < BOARDS; b++) begin : g_from
      phit_t phit;
      logic [15:0] dest;
      assign phit = tx_phit[b][s];
      assign dest = phit.head.low.dest / 16'(RANKS);

      always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
          sent_o[b][s] <= '0;
        end else if (tx_valid[b][s] && tx_ready[b][s]) begin
          sent_o[b][s] <= sent_o[b][s] + 1;
          if (dest >= 16'(BOARDS)) $error("a phit for a board that is not there");
          if (phit.head.high.stage != 3'(s)) $error("a phit of another stage");
        end
      end

      // What is under way from one board to another, each with the time from which on it may arrive.
      for (genvar d = 0; d < BOARDS; d++) begin : g_to
        logic [W-1:0] phits[Depth];
        logic [31:0] dues[Depth];
        logic [31:0] head_q, tail_q;

        assign some[d][b]  = head_q != tail_q && dues[head_q%Depth] <= now_q && !hold_i[b][d];
        assign front[d][b] = phits[head_q%Depth];

        always_ff @(posedge clk_i) begin
          if (!rst_ni) begin
            head_q <= '0;
            tail_q <= '0;
          end else begin
            if (tx_valid[b][s] && tx_ready[b][s] && dest == 16'(d)) begin
              phits[tail_q%Depth] <= tx_phit[b][s];
              dues[tail_q%Depth]  <= now_q + 32'(delay_i);
              tail_q              <= tail_q + 1;
              if (tail_q - head_q == Depth) $error("the bench's network has no room");
            end
            if (took[d][b]) head_q <= head_q + 1;
          end
        end

        assign waits[s][b][d] = head_q != tail_q;
      end
    end

    // To a board: who has something for it takes turns.
    for (genvar d = 0; d < BOARDS; d++) begin : g_arrive
      logic [((BOARDS > 1) ? $clog2(BOARDS) : 1)-1:0] from;

      rr_arbiter #(
          .N(BOARDS)
      ) u_turn (
          .clk_i    (clk_i),
          .rst_ni   (rst_ni),
          .req_i    (some[d]),
          .advance_i(1'b1),
          .valid_o  (rx_valid[d][s]),
          .grant_o  (took[d]),
          .index_o  (from)
      );

      assign rx_phit[d][s] = front[d][from];
    end
  end

  always_ff @(posedge clk_i) now_q <= rst_ni ? now_q + 1 : '0;

  for (genvar b = 0; b < BOARDS; b++) begin : g_board
    logic [RANKS-1:0] read_req, read_gnt, read_rvalid, write_valid, write_ready;
    logic [RANKS-1:0][AddrW-1:0] address, write_address;
    logic [RANKS-1:0][PHIT_W-1:0] data;
    logic [PHIT_W-1:0] write_data, sync;
    logic [RANKS-1:0][PHIT_W/32-1:0] write_strobe;
    logic [RANKS-1:0][PageWriteW-1:0] page;
    logic [RANKS-1:0][CompletionW-1:0] complete;

    collective_unit #(
        .RANKS      (RANKS),
        .STAGES     (STAGES),
        .PHIT_W     (PHIT_W),
        .NODE_BYTES (NODE_BYTES),
        .MEM_LATENCY(MEM_LATENCY),
        .WINDOW     (WINDOW),
        .OPS        (9'(OPS)),
        .TYPES      (6'(TYPES))
    ) u_unit (
        .clk_i           (clk_i),
        .rst_ni          (rst_ni),
        .write_i         (page),
        .cancel_i        (cancel_i[b*RANKS+:RANKS]),
        .posted_o        (posted_o[b*RANKS+:RANKS]),
        .active_o        (active_o[b]),
        .complete_valid_o(complete_valid_o[b*RANKS+:RANKS]),
        .complete_ready_i(complete_ready_i[b*RANKS+:RANKS]),
        .complete_o      (complete),
        .sync_begin_i    (sync_begin_i[b]),
        .sync_ready_o    (sync_ready_o[b]),
        .sync_i          (PHIT_W'(sync_i[b])),
        .sync_valid_o    (sync_valid_o[b]),
        .sync_o          (sync),
        .read_req_o      (read_req),
        .read_gnt_i      (read_gnt),
        .read_address_o  (address),
        .read_rvalid_i   (read_rvalid),
        .read_data_i     (data),
        .write_valid_o   (write_valid),
        .write_ready_i   (write_ready),
        .write_address_o (write_address),
        .write_data_o    (write_data),
        .write_strobe_o  (write_strobe),
        .rx_valid_i      (rx_valid[b]),
        .rx_phit_i       (rx_phit[b]),
        .tx_valid_o      (tx_valid[b]),
        .tx_ready_i      (tx_ready[b]),
        .tx_phit_o       (tx_phit[b])
    );

    assign sync_o[b] = sync[63:0];

    for (genvar r = 0; r < RANKS; r++) begin : g_rank
      assign page[r] = {write_i[b*RANKS+r], offset_i[b*RANKS+r], data_i[b*RANKS+r]};
      assign {complete_status_o[b*RANKS+r], complete_id_o[b*RANKS+r]} = complete[r];
      localparam int unsigned N = b * RANKS + r;
      alcor_abi_pkg::memory_request_t memory_read, memory_write;
      alcor_abi_pkg::memory_answer_t answer;
      logic [PHIT_W-1:0] memory_data;
      logic [PHIT_W/8-1:0] memory_strobe, phit_strobe;
      logic memory_gnt, host_read_gnt, host_write_gnt, unused_read, unused_rvalid, unused_write;

      for (genvar w = 0; w < PHIT_W / 32; w++) begin : g_strobe
        assign phit_strobe[4*w+:4] = {4{write_strobe[r][w]}};
      end

      memory_arbiter #(
          .READERS(3),
          .WRITERS(3),
          .WIDTH  (PHIT_W),
          .READS  (MEM_LATENCY + MEM_JITTER + 1),
          .STAGES ((MEM_JITTER != 0) ? 2 : 1)
      ) u_arbiter (
          .clk_i          (clk_i),
          .rst_ni         (rst_ni),
          .read_req_i     ({host_valid_i[N] && !host_write_i[N], read_req[r], noise_i[N]}),
          .read_gnt_o     ({host_read_gnt, read_gnt[r], unused_read}),
          .read_address_i ({30'(host_address_i[N]), 30'(address[r]), 30'd0}),
          .read_rvalid_o  ({host_answer_o[N], read_rvalid[r], unused_rvalid}),
          .write_req_i    ({host_valid_i[N] && host_write_i[N], write_valid[r], noise_write_i[N]}),
          .write_gnt_o    ({host_write_gnt, write_ready[r], unused_write}),
          .write_address_i({30'(host_address_i[N]), 30'(write_address[r]), 30'd0}),
          .write_data_i   ({PHIT_W'(host_data_i[N]), write_data, PHIT_W'(0)}),
          .write_strobe_i ({(PHIT_W / 8)'(4'hF), phit_strobe, (PHIT_W / 8)'(0)}),
          .read_o         (memory_read),
          .read_i         (answer),
          .write_o        (memory_write),
          .write_data_o   (memory_data),
          .write_strobe_o (memory_strobe),
          .write_gnt_i    (memory_gnt)
      );

      node_memory #(
          .NODE_BYTES(NODE_BYTES),
          .BANKS     (PHIT_W / 32),
          .LATENCY   (MEM_LATENCY),
          .JITTER    (MEM_JITTER)
      ) u_memory (
          .clk_i         (clk_i),
          .rst_ni        (rst_ni),
          .read_i        (memory_read),
          .read_o        (answer),
          .data_o        (data[r]),
          .write_i       (memory_write),
          .write_gnt_o   (memory_gnt),
          .write_data_i  (memory_data),
          .write_strobe_i(memory_strobe)
      );

      assign host_ready_o[N] = host_read_gnt || host_write_gnt;
      assign host_data_o[N] = data[r][31:0];
    end
  end

endmodule

`include "assertions.svh"


/// Memory interface controller, read side, of one plane: makes packets.
///
/// A task is a burst read: how many header words go first, then how many payload words from which
/// byte address. Headers and tasks wait in FIFOs, and the packet goes into the Out FIFO a beat of
/// DATA_W bits a cycle, without a gap between packets. Payload is shifted to the alignment within a
/// word that it will have at its destination, so the receiver only writes words; a shifted burst
/// reads one beat more than it sends.
///
/// In words of 32 bits, the paper's width, header words are beats of their own, and wait in the Head
/// FIFO, tasks in the MM Interface FIFO. Wider, a packet's header words share its first beat, and are
/// gathered before both wait in the MM Interface FIFO. Payload begins with the second beat, its first
/// word in lane 0, whatever its address: memory is read from any word on. What the last beat holds
/// behind the payload's end means nothing.
///
/// Requests and replies have one of these each: a read that waits for room in one plane's Out FIFO
/// holds up nothing of the other plane, and no write.
///
/// Beats of headers and reads wait in one queue, in the order of the packets; a read leaves the queue with its data. So a
/// packet waits for the memory only where it has payload, or is behind a packet with payload. Data that comes while
/// header beats before it leave the queue is held.
///
/// Latency: the first beat is in the Out FIFO 2 cycles, and at its output 3 cycles, after task and header were
/// offered, while no read is under way. The first beat of payload is at the output two cycles after its data came from
/// the memory, in the next cycle after the header's last at the earliest.
module rma_mm_read #(
    /// Bits of a beat: 32, 256 or 512.
    parameter  int unsigned DATA_W      = 32,
    /// Header words that a beat of several words has at most: 4 or 8.
    parameter  int unsigned HEADS       = 4,
    /// Words of the Head FIFO, with beats of a word.
    parameter  int unsigned HEAD_DEPTH  = 16,
    /// Tasks of the MM Interface FIFO.
    parameter  int unsigned MM_DEPTH    = 16,
    /// Beats of the Out FIFO.
    parameter  int unsigned OUT_DEPTH   = 512,
    /// Width of a task's word count.
    parameter  int unsigned COUNT_W     = 8,
    /// Cycles from grant to data up to which reads go on at one per cycle, 1 or more. Any works.
    parameter  int unsigned MEM_LATENCY = 1
) (
    /// Clock.
    input  logic                      clk_i,
    /// Synchronous reset, active low.
    input  logic                      rst_ni,

    /// A header word is offered.
    input  logic                      head_valid_i,
    /// There is room.
    output logic                      head_ready_o,
    /// The word.
    input  logic [31:0]               head_i,
    /// A task is offered, no earlier than its packet's first header word. With beats of several words, the packet's last
    /// header word comes with it.
    input  logic                      task_valid_i,
    /// There is room.
    output logic                      task_ready_o,
    /// The task.
    input  alcor_abi_pkg::read_task_t task_i,

    /// Memory: a read of a beat.
    output alcor_abi_pkg::memory_request_t read_o,
    /// Memory: the answer.
    input  alcor_abi_pkg::memory_answer_t  read_i,
    /// Memory: data, with `read_i.rvalid`.
    input  logic [DATA_W-1:0]         read_data_i,

    /// To the router: a beat is offered.
    output logic                      out_valid_o,
    /// The beat is taken.
    input  logic                      out_ready_i,
    /// The beat.
    output logic [DATA_W-1:0]         out_data_o,
    /// The beat is its packet's last.
    output logic                      out_last_o,
    /// Nothing is queued or under way.
    output logic                      idle_o
);

  localparam int unsigned Words = DATA_W / 32;
  localparam int unsigned LogWords = $clog2(Words);
  localparam int unsigned HeadW = (Words == 1) ? 32 : 32 * HEADS;
  localparam int unsigned CreditW = $clog2(OUT_DEPTH + 1);

  // ---------------------------------------------------------------- queues

  // The packet that is being made: a beat of its header, and its task.
  logic task_valid, task_ready;
  logic head_valid, head_last, issue_head;
  logic [HeadW-1:0] head;
  logic [COUNT_W-1:0] words;
  logic [31:0] address;
  logic [1:0] lane;
  logic queues_empty, out_empty;

  if (Words == 1) begin : g_words
    logic [2:0] heads, sent_q;
    logic head_empty, task_empty;

    fifo #(.WIDTH(32), .DEPTH(HEAD_DEPTH)) u_head_fifo (
        .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(head_valid_i), .ready_o(head_ready_o),
        .data_i(head_i), .valid_o(head_valid), .ready_i(issue_head), .data_o(head),
        .empty_o(head_empty), .usage_o()
    );

    fifo #(.WIDTH(3 + COUNT_W + 34), .DEPTH(MM_DEPTH)) u_mm_interface_fifo (
        .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(task_valid_i), .ready_o(task_ready_o),
        .data_i({task_i.heads, task_i.words[COUNT_W-1:0], task_i.address, task_i.lane}), .valid_o(task_valid),
        .ready_i(task_ready), .data_o({heads, words, address, lane}), .empty_o(task_empty), .usage_o()
    );

    always_ff @(posedge clk_i) begin
      if (!rst_ni || task_ready) sent_q <= '0;
      else if (issue_head) sent_q <= sent_q + 1'b1;
    end

    assign head_last    = sent_q == heads - 1'b1;
    assign queues_empty = head_empty && task_empty;

    `ALCOR_IMPLIES(a_has_heads, task_valid, heads != '0)
  end else begin : g_beats
    logic [2:0] count_d, count_q;
    logic [HeadW-1:0] heads_d, heads_q;
    logic task_empty;

    always_comb begin
      heads_d = heads_q;
      count_d = count_q;
      if (head_valid_i && head_ready_o) begin
        for (int unsigned w = 0; w < HEADS; w++) begin
          if (count_q == 3'(w)) heads_d[32*w+:32] = head_i;
          else if (count_q == '0) heads_d[32*w+:32] = '0;
        end
        count_d = count_q + 1'b1;
      end
    end

    always_ff @(posedge clk_i) begin
      heads_q <= heads_d;
      if (!rst_ni || (task_valid_i && task_ready_o)) count_q <= '0;
      else count_q <= count_d;
    end

    fifo #(.WIDTH(HeadW + COUNT_W + 34), .DEPTH(MM_DEPTH)) u_mm_interface_fifo (
        .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(task_valid_i), .ready_o(task_ready_o),
        .data_i({heads_d, task_i.words[COUNT_W-1:0], task_i.address, task_i.lane}), .valid_o(task_valid),
        .ready_i(task_ready), .data_o({head, words, address, lane}), .empty_o(task_empty), .usage_o()
    );

    assign head_ready_o = task_ready_o;
    assign head_valid   = task_valid;
    assign head_last    = 1'b1;
    assign queues_empty = count_q == '0 && task_empty;

    `ALCOR_IMPLIES(a_whole_header, task_valid_i && task_ready_o, count_d == task_i.heads)
    `ALCOR_IMPLIES(a_room_in_header, head_valid_i, 32'(count_q) < HEADS)
  end

  // ---------------------------------------------------------------- issue: a beat of header or a read

  // There is room in the queue of beats and reads under way.
  logic way_room;

  // A place in the Out FIFO is taken when a beat is issued and given back when it leaves.
  logic [CreditW-1:0] credit_d, credit_q;
  logic has_credit_q;
  logic heads_done_d, heads_done_q, first_read_d, first_read_q;
  // Beats of payload, and reads that follow the next one.
  logic [COUNT_W:0] beats, left_d, left_q;
  logic last_read_d, last_read_q;
  logic [29:0] address_q, step;
  // Bytes between the words of memory and those of the payload.
  logic [1:0] shift;
  logic shifted, issue_read, issue_prime, issue_beat;
  logic out_taken;

  assign beats   = ((COUNT_W + 1)'(words) + (COUNT_W + 1)'(Words - 1)) >> LogWords;
  assign shift   = address[1:0] - lane;
  assign shifted = shift != 2'd0;
  // A shifted burst's first read only primes the shifter; so it is never the last.
  assign issue_prime = issue_read && shifted && first_read_q;

  assign issue_head     = task_valid && !heads_done_q && head_valid && has_credit_q && way_room;
  assign read_o.req     = task_valid && heads_done_q && has_credit_q && way_room;
  assign read_o.address = address_q;
  assign issue_read     = read_o.req && read_i.gnt;
  assign issue_beat     = issue_head || (issue_read && !issue_prime);
  assign task_ready     = (issue_head && head_last && words == '0) || (issue_read && last_read_q);

  always_comb begin
    heads_done_d = heads_done_q;
    first_read_d = first_read_q;
    if (issue_head) heads_done_d = head_last;
    // While the header goes, address and count are made ready for the payload. To subtract 1 is to add ones, an operand that
    // needs no logic.
    left_d = (heads_done_q ? left_q : beats) + {COUNT_W + 1{heads_done_q ? issue_read : !shifted}};
    if (issue_read) first_read_d = 1'b0;
    last_read_d = left_d == '0;
    // Of the read that primes the shifter the last word is needed. Byte 0 of the payload's first word may lie in the word
    // before.
    step = 30'(Words);
    if (!heads_done_q) step = !shifted ? '0 : (address[1:0] < lane) ? 30'd0 - 30'(Words) : 30'd1 - 30'(Words);
    if (task_ready) begin
      heads_done_d = 1'b0;
      first_read_d = 1'b1;
    end
    credit_d = credit_q;
    if (issue_beat != out_taken) credit_d = credit_q + (out_taken ? CreditW'(1) : '1);
  end

  always_ff @(posedge clk_i) begin
    left_q      <= left_d;
    last_read_q <= last_read_d;
    if (!heads_done_q || issue_read) address_q <= (heads_done_q ? address_q : address[31:2]) + step;
    if (!rst_ni) begin
      heads_done_q <= 1'b0;
      first_read_q <= 1'b1;
      credit_q     <= CreditW'(OUT_DEPTH);
      has_credit_q <= 1'b1;
    end else begin
      heads_done_q <= heads_done_d;
      first_read_q <= first_read_d;
      credit_q     <= credit_d;
      has_credit_q <= credit_d != '0;
    end
  end

  // ---------------------------------------------------------------- under way: beats of headers, and reads

  localparam int unsigned HeldW = 1 + 1 + 1 + 2 + HeadW;

  logic way_valid, data_valid, land_valid, land_is_head, land_prime, land_last;
  logic [1:0] land_shift;
  logic [HeadW-1:0] land_head;
  // The upper three bytes of the word before the first word of the data.
  logic [23:0] previous_q;
  logic [DATA_W-1:0] data, payload;

  fifo #(.WIDTH(HeldW), .DEPTH(MEM_LATENCY + 1)) u_way (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(issue_head || issue_read), .ready_o(way_room),
      .data_i({issue_head, issue_prime, task_ready, shift, head}), .valid_o(way_valid), .ready_i(land_valid),
      .data_o({land_is_head, land_prime, land_last, land_shift, land_head}), .empty_o(), .usage_o()
  );

  if (MEM_LATENCY == 1) begin : g_at_once
    // With two places in the queue, no read is issued while a header waits behind another read. So each read has reached the
    // end of the queue when its data comes.
    assign data_valid = read_i.rvalid;
    assign data       = read_data_i;

    `ALCOR_IMPLIES(a_at_once, read_i.rvalid, way_valid && !land_is_head)
  end else begin : g_held
    answer_buffer #(.WIDTH(DATA_W), .DEPTH(MEM_LATENCY + 1)) u_data (
        .clk_i(clk_i), .rst_ni(rst_ni), .rvalid_i(read_i.rvalid), .data_i(read_data_i),
        .valid_o(data_valid), .ready_i(way_valid && !land_is_head), .data_o(data)
    );
  end

  assign land_valid = way_valid && (land_is_head || data_valid);

  always_ff @(posedge clk_i) begin
    if (land_valid && !land_is_head) previous_q <= data[DATA_W-1-:24];
  end

  always_comb begin
    unique case (land_shift)
      2'd1:    payload = DATA_W'({data, previous_q});
      2'd2:    payload = DATA_W'({data, previous_q[23:8]});
      2'd3:    payload = DATA_W'({data, previous_q[23:16]});
      default: payload = data;
    endcase
  end

  // ---------------------------------------------------------------- Out FIFO

  logic out_room;

  fifo #(.WIDTH(DATA_W + 1), .DEPTH(OUT_DEPTH), .BLOCK_RAM(OUT_DEPTH >= 128)) u_out_fifo (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(land_valid && !land_prime), .ready_o(out_room),
      .data_i({land_last, land_is_head ? DATA_W'(land_head) : payload}), .valid_o(out_valid_o),
      .ready_i(out_ready_i), .data_o({out_last_o, out_data_o}), .empty_o(out_empty), .usage_o()
  );

  assign out_taken = out_valid_o && out_ready_i;
  assign idle_o    = queues_empty && out_empty && !way_valid;

  `ALCOR_CHECK_PARAM(g_check_width, DATA_W == 32 || DATA_W == 256 || DATA_W == 512,
                     "rma_mm_read: DATA_W must be 32, 256 or 512")
  `ALCOR_CHECK_PARAM(g_check_latency, MEM_LATENCY >= 1, "rma_mm_read: MEM_LATENCY must be 1 or more")
  `ALCOR_IMPLIES(a_out_room, land_valid && !land_prime, out_room)
  `ALCOR_IMPLIES(a_answer_of_a_read, read_i.rvalid, way_valid)
  `ALCOR_STABLE(a_read_stable, read_o.req, read_i.gnt, read_o.address)
  `ALCOR_STABLE(a_out_stable, out_valid_o, out_ready_i, {out_last_o, out_data_o})

  `ALCOR_COVER(c_full_out, credit_q == '0)
  `ALCOR_COVER(c_full_read_tasks, !task_ready_o)
`ifdef ALCOR_COVERAGE
  // Wider beats have headers beside their tasks.
  if (DATA_W == 32) begin : g_cover_heads
    `ALCOR_COVER(c_full_read_heads, !head_ready_o)
  end
`endif

endmodule

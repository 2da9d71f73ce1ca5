`include "assertions.svh"

/// Memory interface controller, read side, of one plane: makes packets.
///
/// A task is a burst read: how many header words go first, then how many payload words from which
/// byte address. Headers wait in the Head FIFO, tasks in the MM Interface FIFO, and the packet goes
/// into the Out FIFO a word a cycle, without a gap between packets. Payload is shifted to the
/// alignment it will have at its destination, so the receiver only writes words; a shifted burst
/// reads one word more than it sends.
///
/// Requests and replies have one of these each: a read that waits for room in one plane's Out FIFO
/// holds up nothing of the other plane, and no write.
///
/// Latency: a header word is in the Out FIFO 2 cycles, and at its output 3 cycles, after task and
/// header were offered; the first payload word follows in the next cycle.
module rma_mm_read #(
    /// Words of the Head FIFO.
    parameter int unsigned HEAD_DEPTH = 16,
    /// Tasks of the MM Interface FIFO.
    parameter int unsigned MM_DEPTH = 16,
    /// Words of the Out FIFO.
    parameter int unsigned OUT_DEPTH = 512,
    /// Width of a task's word count.
    parameter int unsigned COUNT_W = 8,
    /// Cycles from a read's grant to its data, 1 or more.
    parameter int unsigned MEM_LATENCY = 1
) (
    /// Clock.
    input  logic               clk_i,
    /// Synchronous reset, active low.
    input  logic               rst_ni,

    /// Head FIFO: a header word is offered.
    input  logic               head_valid_i,
    /// There is room.
    output logic               head_ready_o,
    /// The word.
    input  logic [31:0]        head_i,
    /// MM Interface FIFO: a task is offered; its last header word comes with it or came before.
    input  logic               task_valid_i,
    /// There is room.
    output logic               task_ready_o,
    /// Header words of the packet, 1 or more.
    input  logic [2:0]         task_heads_i,
    /// Payload words.
    input  logic [COUNT_W-1:0] task_words_i,
    /// Byte address of byte 0 of the first payload word.
    input  logic [31:0]        task_address_i,

    /// Memory read.
    output logic               read_valid_o,
    /// The read is granted; its data comes MEM_LATENCY cycles later.
    input  logic               read_ready_i,
    /// Word address.
    output logic [29:0]        read_address_o,
    /// Data of the read granted MEM_LATENCY cycles ago.
    input  logic [31:0]        read_data_i,

    /// To the router: a word is offered.
    output logic               out_valid_o,
    /// The word is taken.
    input  logic               out_ready_i,
    /// The word.
    output logic [31:0]        out_data_o,
    /// It is its packet's last.
    output logic               out_last_o,
    /// Nothing is queued or under way.
    output logic               idle_o
);

  localparam int unsigned TaskW = 3 + COUNT_W + 32;
  localparam int unsigned CreditW = $clog2(OUT_DEPTH + 1);

  // ---------------------------------------------------------------- queues

  logic head_valid, head_ready;
  logic [31:0] head;
  logic task_valid, task_ready;
  logic [2:0] heads;
  logic [COUNT_W-1:0] words;
  logic [31:0] address;
  logic head_empty, task_empty, out_empty;

  fifo #(.WIDTH(32), .DEPTH(HEAD_DEPTH)) u_head_fifo (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(head_valid_i), .ready_o(head_ready_o),
      .data_i(head_i), .valid_o(head_valid), .ready_i(head_ready), .data_o(head),
      .empty_o(head_empty), .usage_o()
  );

  fifo #(.WIDTH(TaskW), .DEPTH(MM_DEPTH)) u_mm_interface_fifo (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(task_valid_i), .ready_o(task_ready_o),
      .data_i({task_heads_i, task_words_i, task_address_i}), .valid_o(task_valid),
      .ready_i(task_ready), .data_o({heads, words, address}), .empty_o(task_empty), .usage_o()
  );

  // ---------------------------------------------------------------- issue: a header word or a read

  // A place in the Out FIFO is taken when a word is issued and given back when it leaves.
  logic [CreditW-1:0] credit_d, credit_q;
  logic has_credit_q;
  logic [2:0] heads_sent_d, heads_sent_q;
  logic heads_done_d, heads_done_q, first_read_d, first_read_q;
  // Reads that follow the next one.
  logic [COUNT_W:0] left_d, left_q;
  logic last_read_d, last_read_q;
  logic [29:0] address_q;
  logic shifted, issue_head, issue_read, issue_prime, last_head, issue_word;
  logic out_taken;

  assign shifted   = address[1:0] != 2'b00;
  assign last_head = heads_sent_q == heads - 1'b1;
  // A shifted burst's first read only primes the shifter; so it is never the last.
  assign issue_prime = issue_read && shifted && first_read_q;

  assign issue_head     = task_valid && !heads_done_q && head_valid && has_credit_q;
  assign read_valid_o   = task_valid && heads_done_q && has_credit_q;
  assign read_address_o = address_q;
  assign issue_read     = read_valid_o && read_ready_i;
  assign issue_word     = issue_head || (issue_read && !issue_prime);
  assign head_ready     = issue_head;
  assign task_ready     = (issue_head && last_head && words == '0) || (issue_read && last_read_q);

  always_comb begin
    heads_sent_d = heads_sent_q;
    heads_done_d = heads_done_q;
    first_read_d = first_read_q;
    left_d       = left_q;
    if (issue_head) begin
      heads_sent_d = heads_sent_q + 1'b1;
      heads_done_d = last_head;
    end
    // While the header goes, address and count are made ready for the payload.
    if (!heads_done_q) left_d = (COUNT_W + 1)'(words) - (COUNT_W + 1)'(!shifted);
    if (issue_read) begin
      first_read_d = 1'b0;
      left_d       = left_q - 1'b1;
    end
    last_read_d = left_d == '0;
    if (task_ready) begin
      heads_sent_d = '0;
      heads_done_d = 1'b0;
      first_read_d = 1'b1;
    end
    credit_d = credit_q - CreditW'(issue_word) + CreditW'(out_taken);
  end

  always_ff @(posedge clk_i) begin
    left_q      <= left_d;
    last_read_q <= last_read_d;
    if (!heads_done_q) address_q <= address[31:2];
    else if (issue_read) address_q <= address_q + 1'b1;
    if (!rst_ni) begin
      heads_sent_q <= '0;
      heads_done_q <= 1'b0;
      first_read_q <= 1'b1;
      credit_q     <= CreditW'(OUT_DEPTH);
      has_credit_q <= 1'b1;
    end else begin
      heads_sent_q <= heads_sent_d;
      heads_done_q <= heads_done_d;
      first_read_q <= first_read_d;
      credit_q     <= credit_d;
      has_credit_q <= credit_d != '0;
    end
  end

  // ---------------------------------------------------------------- a word's way beside its read

  localparam int unsigned FlightW = 1 + 1 + 1 + 2 + 32;

  logic [MEM_LATENCY-1:0] flying_q;
  logic [MEM_LATENCY-1:0][FlightW-1:0] flight_q;
  logic land_valid, land_is_head, land_prime, land_last;
  logic [1:0] land_shift;
  logic [31:0] land_head;
  logic [31:0] previous_q;
  logic [31:0] payload;

  always_ff @(posedge clk_i) begin
    flight_q[0] <= {issue_head, issue_prime, task_ready, address[1:0], head};
    for (int unsigned i = 1; i < MEM_LATENCY; i++) flight_q[i] <= flight_q[i-1];
    if (land_valid && !land_is_head) previous_q <= read_data_i;
    if (!rst_ni) flying_q <= '0;
    else flying_q <= MEM_LATENCY'({flying_q, issue_head || issue_read});
  end

  assign land_valid = flying_q[MEM_LATENCY-1];
  assign {land_is_head, land_prime, land_last, land_shift, land_head} = flight_q[MEM_LATENCY-1];

  always_comb begin
    unique case (land_shift)
      2'd0: payload = read_data_i;
      2'd1: payload = {read_data_i[7:0], previous_q[31:8]};
      2'd2: payload = {read_data_i[15:0], previous_q[31:16]};
      2'd3: payload = {read_data_i[23:0], previous_q[31:24]};
      default: payload = read_data_i;
    endcase
  end

  // ---------------------------------------------------------------- Out FIFO

  logic out_room;

  fifo #(.WIDTH(33), .DEPTH(OUT_DEPTH), .BLOCK_RAM(OUT_DEPTH >= 128)) u_out_fifo (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(land_valid && !land_prime), .ready_o(out_room),
      .data_i({land_last, land_is_head ? land_head : payload}), .valid_o(out_valid_o),
      .ready_i(out_ready_i), .data_o({out_last_o, out_data_o}), .empty_o(out_empty), .usage_o()
  );

  assign out_taken = out_valid_o && out_ready_i;
  assign idle_o    = head_empty && task_empty && out_empty && flying_q == '0;

  `ALCOR_CHECK_PARAM(g_check_latency, MEM_LATENCY >= 1, "rma_mm_read: MEM_LATENCY must be 1 or more")
  `ALCOR_IMPLIES(a_out_room, land_valid && !land_prime, out_room)
  `ALCOR_IMPLIES(a_has_heads, task_valid, heads != '0)
  `ALCOR_STABLE(a_read_stable, read_valid_o, read_ready_i, read_address_o)
  `ALCOR_STABLE(a_out_stable, out_valid_o, out_ready_i, {out_last_o, out_data_o})

endmodule

`include "assertions.svh"

import alcor_abi_pkg::*;

/// Combines the payload of accumulates with node memory: between the write side of the memory interface controller and the
/// memory's write port.
///
/// A beat of an accumulate is taken when the read of its old elements is granted. When these come, the vector unit of
/// the collective switch combines both, and the result is written. Up to DEPTH beats of one task are under way. The
/// first beat of a task waits until all writes of the task before are done, and so does a beat that is written as it
/// is: the reads of a task see all earlier writes.
///
/// Beats of 32 bits are combined in pairs where elements have 64 bits. A task ends with `last_i`, also in the middle of a
/// pair. Without an accumulate under way, beats pass in the cycle in which they come.
///
/// Latency, with a memory of one cycle: 9 cycles from the read's grant to the write, of a pair from its second read. A
/// result is offered in the cycle in which the vector unit has it.
module rma_accumulate #(
    /// Bits of a beat: 32, 256 or 512.
    parameter int unsigned DATA_W = 32,
    /// Beats under way at most.
    parameter int unsigned DEPTH = 16,
    /// Bytes of a beat; derived, not to be set.
    localparam int unsigned Bytes = DATA_W / 8
) (
    /// Clock.
    input  logic                           clk_i,
    /// Synchronous reset, active low.
    input  logic                           rst_ni,

    /// A beat is offered.
    input  logic                           valid_i,
    /// The beat is taken.
    output logic                           ready_o,
    /// Address of the beat's first word.
    input  logic [29:0]                    address_i,
    /// The beat.
    input  logic [DATA_W-1:0]              data_i,
    /// Byte strobes.
    input  logic [Bytes-1:0]               strobe_i,
    /// How the beat is combined with memory; the same for all beats of a task.
    input  alcor_abi_pkg::reduction_t      reduction_i,
    /// The beat is its task's first.
    input  logic                           first_i,
    /// The beat is its task's last.
    input  logic                           last_i,

    /// Memory: a read.
    output alcor_abi_pkg::memory_request_t read_o,
    /// Memory: the answer.
    input  alcor_abi_pkg::memory_answer_t  read_i,
    /// Memory: data, with `read_i.rvalid`.
    input  logic [DATA_W-1:0]              read_data_i,

    /// A memory write is offered.
    output logic                           write_valid_o,
    /// The write is done.
    input  logic                           write_ready_i,
    /// Address of the write's first word.
    output logic [29:0]                    write_address_o,
    /// Data.
    output logic [DATA_W-1:0]              write_data_o,
    /// Byte strobes.
    output logic [Bytes-1:0]               write_strobe_o,

    /// Beats of an accumulate are under way.
    output logic                           busy_o
);

  // The vector unit works on 64 bits and more.
  localparam bit Pairs = DATA_W == 32;
  localparam int unsigned Width = Pairs ? 64 : DATA_W;
  localparam int unsigned Words = DATA_W / 32;
  localparam int unsigned CountW = $clog2(DEPTH + 1);

  // ---------------------------------------------------------------- beats in

  logic [CountW-1:0] count_d, count_q;
  logic busy_q, may, taken, written;
  alcor_abi_pkg::accumulate_operation_e operation_q;
  alcor_abi_pkg::datatype_e datatype_q;
  logic none, replaces;

  assign may            = reduction_i.valid && (first_i ? !busy_q : count_q != CountW'(DEPTH));
  assign read_o.req     = valid_i && may;
  assign read_o.address = address_i;
  assign taken          = read_o.req && read_i.gnt;
  assign ready_o        = reduction_i.valid ? taken : write_ready_i && !busy_q;
  assign count_d        = count_q + CountW'(taken) - CountW'(written);
  assign busy_o         = busy_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      count_q <= '0;
      busy_q  <= 1'b0;
    end else begin
      count_q <= count_d;
      busy_q  <= count_d != '0;
    end
    if (taken) begin
      operation_q <= reduction_i.operation;
      datatype_q  <= reduction_i.datatype;
    end
  end

  assign none     = operation_q == AC_NONE;
  assign replaces = operation_q == AC_REPLACE;

  logic operand_valid, operand_last;
  logic [DATA_W-1:0] operand;

  fifo #(.WIDTH(1 + DATA_W), .DEPTH(DEPTH)) u_operands (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(taken), .ready_o(), .data_i({last_i, data_i}),
      .valid_o(operand_valid), .ready_i(read_i.rvalid), .data_o({operand_last, operand}), .empty_o(), .usage_o()
  );

  // ---------------------------------------------------------------- old elements meet the beats

  logic [Width-1:0] a, b, fresh, old;
  logic feeds, pair;

  if (Pairs) begin : g_pairs
    // The first word of a pair is here.
    logic half_q, wide;
    logic [31:0] fresh_q, old_q;

    assign wide  = datatype_q == DT_F64 || datatype_q == DT_I64 || datatype_q == DT_U64;
    assign feeds = read_i.rvalid && (!wide || half_q || operand_last);
    assign pair  = half_q;
    assign fresh = half_q ? {operand, fresh_q} : {32'd0, operand};
    assign old   = half_q ? {read_data_i, old_q} : {32'd0, read_data_i};

    always_ff @(posedge clk_i) begin
      if (!rst_ni) half_q <= 1'b0;
      else if (read_i.rvalid) half_q <= !feeds;
      if (read_i.rvalid) begin
        fresh_q <= operand;
        old_q   <= read_data_i;
      end
    end
  end else begin : g_beats
    assign feeds = read_i.rvalid;
    assign pair  = 1'b0;
    assign fresh = operand;
    assign old   = read_data_i;

    logic unused_last;
    assign unused_last = operand_last;
  end

  // An element that is replaced, or stays, is the bitwise and of twice the same number.
  assign a = none ? old : fresh;
  assign b = replaces ? fresh : old;

  // Operands of the vector unit. A register, as the memory's data comes late in the cycle.
  logic feeds_q, pair_q;
  logic [Width-1:0] a_q, b_q;
  logic [3:0] unit_operation_q;
  logic [2:0] unit_datatype_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) feeds_q <= 1'b0;
    else feeds_q <= feeds;
    if (feeds) begin
      a_q              <= a;
      b_q              <= b;
      pair_q           <= pair;
      unit_operation_q <= (none || replaces) ? 4'(RO_BAND) : 4'(operation_q);
      unit_datatype_q  <= (none || replaces) ? 3'(DT_U64) : 3'(datatype_q);
    end
  end

  logic result_valid, result_pair;
  logic [Width-1:0] result;

  vector_aglu #(
      .PHIT_W(Width),
      .TAG_W (1),
      .OPS   (9'h07F)
  ) u_vector (
      .clk_i      (clk_i),
      .rst_ni     (rst_ni),
      .valid_i    (feeds_q),
      .operation_i(unit_operation_q),
      .datatype_i (unit_datatype_q),
      .a_i        (a_q),
      .b_i        (b_q),
      .tag_i      (pair_q),
      .valid_o    (result_valid),
      .result_o   (result),
      .tag_o      (result_pair)
  );

  // ---------------------------------------------------------------- results out

  logic out_valid, out_pair, out_half_q, out_last;
  logic [Width-1:0] out;
  logic [29:0] address_q;
  logic [Bytes-1:0] strobe;

  answer_buffer #(.WIDTH(1 + Width), .DEPTH(DEPTH)) u_results (
      .clk_i(clk_i), .rst_ni(rst_ni), .rvalid_i(result_valid), .data_i({result_pair, result}),
      .valid_o(out_valid), .ready_i(written && out_last), .data_o({out_pair, out})
  );

`ifdef ALCOR_PROVE_ACCUMULATE
  logic [DEPTH*Bytes-1:0] queued_strobes;
  logic [CountW-1:0] strobe_count;
`endif

  // An element that stays is not written: a host may have written it since.
  fifo #(.WIDTH(Bytes), .DEPTH(DEPTH)) u_strobes (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(taken), .ready_o(),
      .data_i(strobe_i & {Bytes{reduction_i.operation != AC_NONE}}),
      .valid_o(), .ready_i(written), .data_o(strobe), .empty_o(),
`ifdef ALCOR_PROVE_ACCUMULATE
      .words_o(queued_strobes), .usage_o(strobe_count)
`else
      .usage_o()
`endif
  );

  assign written  = out_valid && write_ready_i;
  assign out_last = !out_pair || out_half_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) out_half_q <= 1'b0;
    else if (written) out_half_q <= !out_last;
    if (taken && first_i) address_q <= address_i;
    else if (written) address_q <= address_q + 30'(Words);
  end

  always_comb begin
    write_valid_o   = valid_i && !reduction_i.valid;
    write_address_o = address_i;
    write_data_o    = data_i;
    write_strobe_o  = strobe_i;
    if (busy_q) begin
      write_valid_o   = out_valid;
      write_address_o = address_q;
      write_data_o    = (Pairs && out_half_q) ? DATA_W'(out >> (Width - DATA_W)) : out[DATA_W-1:0];
      write_strobe_o  = strobe;
    end
  end

  `ALCOR_CHECK_PARAM(g_check_width, DATA_W == 32 || DATA_W == 256 || DATA_W == 512,
                     "rma_accumulate: DATA_W must be 32, 256 or 512")
  `ALCOR_IMPLIES(a_busy, out_valid || operand_valid, busy_q)
  `ALCOR_IMPLIES(a_operand_of_a_read, read_i.rvalid, operand_valid)
  `ALCOR_STABLE(a_read_stable, read_o.req, read_i.gnt, read_o.address)
  `ALCOR_STABLE(a_write_stable, write_valid_o, write_ready_i, {write_address_o, write_data_o, write_strobe_o})
  `ALCOR_COVER(c_accumulate_waits, valid_i && reduction_i.valid && first_i && busy_q)
  `ALCOR_COVER(c_accumulate_full, count_q == CountW'(DEPTH))

`ifdef ALCOR_PROVE_ACCUMULATE
  `include "rma_accumulate_properties.svh"
`endif

endmodule

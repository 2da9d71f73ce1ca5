`include "assertions.svh"

import alcor_abi_pkg::*;

/// Atomic unit of a rank: reads a word of node memory, writes the result of the operation back, and sends the old value.
///
/// The packet controller keeps `active_i` asserted, and header, operation and address stable, until `done_o`, and takes
/// no other packet meanwhile. So no other atomic operation to this rank comes between the read and the write, whatever
/// rank it is from. The read waits until all writes of earlier packets are done (`settled_i`); so an atomic operation
/// sees, and follows, the puts before it, and the write has the port of the plane's writes for itself.
///
/// The read begins with the third header word, before the check of the access is known; a refused operation drops its
/// data. The answer's header goes with the write, and the old value behind the write's grant: who gets the old value reads the
/// new one. A packet that ends within its header changes nothing and is not answered.
///
/// Latency, with a memory of one cycle: the write 2 cycles, the old value 3 cycles after the third header word, of a word
/// of 32 bits. A memory port of 32 bits takes a cycle more for the read and for the write of 64 bits each.
module rma_atomic #(
    /// Bits of a beat: 32, 256 or 512.
    parameter int unsigned DATA_W = 32,
    /// Bytes of a beat; derived, not to be set.
    localparam int unsigned Bytes = DATA_W / 8
) (
    /// Clock.
    input  logic                           clk_i,
    /// Synchronous reset, active low.
    input  logic                           rst_ni,

    /// The first two header words of an atomic operation have been taken.
    input  logic                           active_i,
    /// The third has been taken, too.
    input  logic                           named_i,
    /// First header word.
    input  alcor_abi_pkg::x_atomic_t       header_i,
    /// Third header word, with `named_i`.
    input  alcor_abi_pkg::x_operation_t    operation_i,
    /// Byte address of the word.
    input  logic [31:0]                    address_i,
    /// The access is refused.
    input  logic                           refused_i,
    /// All writes of earlier packets are done.
    input  logic                           settled_i,
    /// The packet has ended within its header, in this cycle.
    input  logic                           cut_i,
    /// The operation is done, or refused, or the packet was cut.
    output logic                           done_o,
    /// With `done_o`: the packet was cut.
    output logic                           dropped_o,

    /// With `named_i`: a header word is offered.
    input  logic                           head_valid_i,
    /// The header word is taken.
    output logic                           head_ready_o,
    /// The header word.
    input  logic [31:0]                    head_i,

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

    /// Header words and read task of the answer.
    output alcor_abi_pkg::outgoing_t       reply_o,
    /// Header words and read task that are taken.
    input  alcor_abi_pkg::outgoing_taken_t reply_i
);

  // A port of a word takes two accesses for a word of 64 bits.
  localparam bit Narrow = DATA_W == 32;

  logic wide, halves;

  assign wide   = header_i.wide;
  assign halves = Narrow && wide;

  // ---------------------------------------------------------------- values of the packet

  // Bit 1 chooses the value, bit 0 its half.
  logic [1:0] place_q;
  logic last_word, taken, taken_q, cut_q;
  logic [63:0] value_q, compare_q;

  assign head_ready_o = active_i && named_i && !taken_q && !cut_q;
  assign last_word    = place_q == {header_i.compare, wide};
  assign taken        = head_valid_i && head_ready_o;

  always_ff @(posedge clk_i) begin
    if (taken) begin
      unique case (place_q)
        2'd0:    value_q[31:0] <= head_i;
        2'd1:    value_q[63:32] <= head_i;
        2'd2:    compare_q[31:0] <= head_i;
        default: compare_q[63:32] <= head_i;
      endcase
    end
    if (!rst_ni || done_o) begin
      place_q <= '0;
      taken_q <= 1'b0;
      cut_q   <= 1'b0;
    end else begin
      // A word of 32 bits has no upper half.
      if (taken) place_q <= wide ? place_q + 2'd1 : 2'd2;
      if (taken && last_word) taken_q <= 1'b1;
      if (cut_i) cut_q <= 1'b1;
    end
  end

  // ---------------------------------------------------------------- read

  // Reads that are granted, and those whose data is there.
  logic [1:0] asked_q, came_q, reads;
  logic came_all;
  logic [63:0] old_q;

  assign reads          = halves ? 2'd2 : 2'd1;
  assign read_o.req     = active_i && settled_i && asked_q != reads;
  assign read_o.address = address_i[31:2] + 30'(asked_q[0]);
  assign came_all       = came_q == reads;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || done_o) begin
      asked_q <= '0;
      came_q  <= '0;
    end else begin
      if (read_o.req && read_i.gnt) asked_q <= asked_q + 2'd1;
      if (read_i.rvalid) came_q <= came_q + 2'd1;
    end
  end

  if (Narrow) begin : g_word
    always_ff @(posedge clk_i) begin
      if (read_i.rvalid && came_q == 2'd0) old_q[31:0] <= read_data_i;
      if (read_i.rvalid && came_q == 2'd1) old_q[63:32] <= read_data_i;
    end
  end else begin : g_beat
    always_ff @(posedge clk_i) begin
      if (read_i.rvalid) old_q <= read_data_i[63:0];
    end
  end

  // ---------------------------------------------------------------- write

  logic carried_out, writes;
  logic [1:0] written_q;
  logic [63:0] result;
  logic settled;

  assign carried_out = taken_q && came_all && !refused_i;

  rma_atomic_operation u_operation (
      .clk_i      (clk_i),
      .operation_i(operation_i.operation),
      .wide_i     (wide),
      .old_i      (old_q),
      .value_i    (value_q),
      .compare_i  (compare_q),
      .writes_o   (writes),
      .new_o      (result)
  );

  assign settled         = !writes || written_q == reads;
  assign write_valid_o   = carried_out && !settled;
  assign write_address_o = address_i[31:2] + 30'(written_q[0]);

  if (Narrow) begin : g_write_word
    assign write_data_o   = written_q[0] ? result[63:32] : result[31:0];
    assign write_strobe_o = '1;
  end else begin : g_write_beat
    assign write_data_o   = DATA_W'(result);
    assign write_strobe_o = Bytes'({{4{wide}}, 4'b1111});
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || done_o) written_q <= '0;
    else if (write_valid_o && write_ready_i) written_q <= written_q + 2'd1;
  end

  // ---------------------------------------------------------------- answer

  // Header words that are sent.
  logic [1:0] sent_q;
  logic last_sent, with_task, sent;
  logic [31:0] head;
  alcor_abi_pkg::x_old_t header;

  always_comb begin
    header        = '0;
    header.dpid   = header_i.src;
    header.ptype  = PT_XDATA;
    header.last   = 1'b1;
    header.atomic = 1'b1;
    header.wide   = wide;
    header.id     = operation_i.id;
  end

  assign last_sent          = sent_q == {wide, !wide};
  // A header in beats of several words needs all its words with its task.
  assign with_task          = Narrow ? sent_q == 2'd0 : last_sent;
  assign reply_o.head_valid = carried_out && (sent_q == 2'd0 || settled) && (!with_task || reply_i.read);
  assign reply_o.task_valid = carried_out && (sent_q == 2'd0 || settled) && with_task && reply_i.head;
  assign sent               = reply_o.head_valid && reply_i.head;

  always_comb begin
    unique case (sent_q)
      2'd0:    head = header;
      2'd1:    head = old_q[31:0];
      default: head = old_q[63:32];
    endcase
  end

  assign reply_o.head         = head;
  assign reply_o.read.heads   = wide ? 3'd3 : 3'd2;
  assign reply_o.read.words   = '0;
  assign reply_o.read.address = '0;
  assign reply_o.read.lane    = '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || done_o) sent_q <= '0;
    else if (sent) sent_q <= sent_q + 2'd1;
  end

  assign dropped_o = cut_q;
  assign done_o    = (sent && last_sent) || (came_all && (cut_q || (taken_q && refused_i)));

  `ALCOR_STABLE(a_read_stable, read_o.req, read_i.gnt, read_o.address)
  `ALCOR_STABLE(a_write_stable, write_valid_o, write_ready_i, {write_address_o, write_data_o, write_strobe_o})
  `ALCOR_IMPLIES(a_answer_of_a_read, read_i.rvalid, came_q != asked_q)
  `ALCOR_IMPLIES(a_alone, write_valid_o, settled_i)
  `ALCOR_CHECK_PARAM(g_check_width, DATA_W == 32 || DATA_W >= 256, "rma_atomic: DATA_W must be 32, 256 or 512")

  `ALCOR_COVER(c_atomic_compare_failed, carried_out && !writes && done_o)
  `ALCOR_COVER(c_atomic_behind_writes, active_i && !settled_i)

endmodule

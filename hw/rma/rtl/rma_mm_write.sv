`include "assertions.svh"

import alcor_abi_pkg::*;

/// Memory interface controller, write side, of one plane: payload goes from the In FIFO into node
/// memory, a beat of DATA_W bits a cycle, with byte strobes.
///
/// A task takes a packet's payload from the In FIFO, to the packet's last beat, and writes it, from any word of memory
/// on, or drops it if its access was refused. Beats beyond those that the task keeps are dropped. A task may carry a note
/// (an acknowledgement to be sent, a completion to be entered), which leaves in the cycle after the packet's last beat was
/// taken: then the data is visible. Writes wait for nothing but the memory port and the room for notes.
///
/// Beats of an accumulate carry how they are combined with memory; `rma_accumulate` behind this block does so. Its task
/// is done when its last write is (`busy_i`).
///
/// A packet with more or fewer beats than its header says raises `malformed_o`, and its note's status becomes
/// ST_BAD_LENGTH, or ST_DAMAGED if the packet was damaged on its way. The beat that cuts a damaged packet off goes to memory
/// without strobes, so that `rma_accumulate` sees the end of the task.
module rma_mm_write #(
    /// Bits of a beat: a power of two, 32 or more.
    parameter int unsigned DATA_W = 32,
    /// Tasks of the MM Interface FIFO.
    parameter int unsigned MM_DEPTH = 16,
    /// Width of a task's word count.
    parameter int unsigned COUNT_W = 8,
    /// 1: tasks may be those of accumulates.
    parameter bit ACCUMULATE = 1'b0,
    /// Bytes of a beat; derived, not to be set.
    localparam int unsigned Bytes = DATA_W / 8
) (
    /// Clock.
    input  logic                       clk_i,
    /// Synchronous reset, active low.
    input  logic                       rst_ni,

    /// MM Interface FIFO: a task is offered.
    input  logic                       task_valid_i,
    /// There is room.
    output logic                       task_ready_o,
    /// The task.
    input  alcor_abi_pkg::write_task_t task_i,

    /// In FIFO: a beat of payload is offered.
    input  logic                       in_valid_i,
    /// In FIFO: the beat is taken.
    output logic                       in_ready_o,
    /// The beat.
    input  logic [DATA_W-1:0]          in_data_i,
    /// The beat is its packet's last.
    input  logic                       in_last_i,
    /// With `in_last_i`: the beat ends a damaged packet, and holds no data.
    input  logic                       in_cut_i,

    /// Memory write.
    output logic                       write_valid_o,
    /// The write is done.
    input  logic                       write_ready_i,
    /// Address of the beat's first word.
    output logic [29:0]                write_address_o,
    /// Data.
    output logic [DATA_W-1:0]          write_data_o,
    /// Byte strobes.
    output logic [Bytes-1:0]           write_strobe_o,
    /// How the data is combined with memory.
    output alcor_abi_pkg::reduction_t  write_reduction_o,
    /// The beat is its task's first.
    output logic                       write_first_o,
    /// The beat is its task's last.
    output logic                       write_last_o,
    /// Beats that were taken are not in memory yet.
    input  logic                       busy_i,

    /// A task with a note is done.
    output logic                       note_valid_o,
    /// The note is taken.
    input  logic                       note_ready_i,
    /// The note.
    output alcor_abi_pkg::note_t       note_o,
    /// Pulse: the packet that ends has more or fewer beats than its header says.
    output logic                       malformed_o,
    /// No task is queued or under way.
    output logic                       idle_o
);

  localparam int unsigned Words = DATA_W / 32;
  localparam int unsigned LogWords = $clog2(Words);
  localparam int unsigned ByteW = $clog2(Bytes);
  localparam int unsigned ReducedW = ACCUMULATE ? ReductionW : 1;
  localparam int unsigned TaskW = ReducedW + 2 + 2 * COUNT_W + 32 + ByteW + 1 + 31;

  logic task_valid, task_ready, empty;
  logic drop, bare, noted, drops;
  // Beats that the packet has by its header, and those that are written.
  logic [COUNT_W-1:0] task_beats, task_kept, beats, kept, done_next, done_q;
  logic [31:0] address;
  logic [29:0] next_address_q;
  logic first, last, in_taken, payload_done, was_wrong, wrong;
  // The packet's last beat was taken; its last beat that is written was; it has more or fewer beats than its header says; it
  // is damaged.
  logic ended_q, kept_q, wrong_q, cut_q;
  alcor_abi_pkg::note_t note;
  logic [Bytes-1:0] from_first, to_last;
  // The last byte's place in the last beat.
  logic [ByteW-1:0] task_end_byte, end_byte;

  // Beats are counted in front of the queue, where there is time for it.
  if (Words == 1) begin : g_words
    assign task_beats    = task_i.words[COUNT_W-1:0];
    assign task_kept     = task_i.kept[COUNT_W-1:0];
    assign task_end_byte = task_i.end_lane;
  end else begin : g_beats
    logic [COUNT_W:0] whole, whole_kept;
    logic [LogWords-1:0] end_word;
    assign whole         = (COUNT_W + 1)'(task_i.words) + (COUNT_W + 1)'(Words - 1);
    assign whole_kept    = (COUNT_W + 1)'(task_i.kept) + (COUNT_W + 1)'(Words - 1);
    assign task_beats    = COUNT_W'(whole >> LogWords);
    assign task_kept     = COUNT_W'(whole_kept >> LogWords);
    assign end_word      = task_i.kept[LogWords-1:0] - 1'b1;
    assign task_end_byte = {end_word, task_i.end_lane};
  end

`ifdef ALCOR_PROVE_MM_WRITE
  logic [MM_DEPTH*TaskW-1:0] queued;
  logic [$clog2(MM_DEPTH+1)-1:0] count;
`endif

  logic [ReducedW-1:0] reduction_in, reduction;

  fifo #(.WIDTH(TaskW), .DEPTH(MM_DEPTH)) u_mm_interface_fifo (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(task_valid_i), .ready_o(task_ready_o),
      .data_i({reduction_in, task_i.drop, task_i.bare, task_beats, task_kept, task_i.address, task_end_byte, task_i.noted, task_i.note}),
      .valid_o(task_valid), .ready_i(task_ready),
      .data_o({reduction, drop, bare, beats, kept, address, end_byte, noted, note}), .empty_o(empty),
`ifdef ALCOR_PROVE_MM_WRITE
      .words_o(queued), .usage_o(count)
`else
      .usage_o()
`endif
  );

  if (ACCUMULATE) begin : g_accumulate
    assign reduction_in      = task_i.reduction;
    assign write_reduction_o = reduction;
  end else begin : g_no_accumulate
    assign reduction_in      = '0;
    assign write_reduction_o = '0;

    logic unused_reduction;
    assign unused_reduction = ^{task_i.reduction, reduction};
  end

  // The adder works on a register, in parallel with the queue's output, so that it does not lengthen that path.
  assign done_next    = done_q + 1'b1;
  assign first        = done_q == '0;
  assign last         = done_next == kept;
  assign payload_done = ended_q || bare;
  assign drops        = drop || kept_q || kept == '0;

  assign write_valid_o   = task_valid && !payload_done && in_valid_i && !drops;
  assign in_ready_o      = task_valid && !payload_done && (drops || write_ready_i);
  assign in_taken        = in_valid_i && in_ready_o;
  assign write_address_o = first ? address[31:2] : next_address_q;
  assign write_data_o    = in_data_i;
  assign write_first_o   = first;
  assign write_last_o    = last || in_last_i;

  always_comb begin
    from_first = '1;
    to_last    = '1;
    if (first) from_first = {Bytes{1'b1}} << address[1:0];
    if (last) to_last = {Bytes{1'b1}} >> (ByteW'(Bytes - 1) - end_byte);
    write_strobe_o = in_cut_i ? '0 : from_first & to_last;
  end

  // Either the last beat by the header or the packet's own comes first, or they are the same beat.
  assign was_wrong = wrong_q || bare != (beats == '0);
  assign wrong     = was_wrong || (in_taken && (in_cut_i || in_last_i != (done_next == beats)));

  assign note_valid_o = task_valid && payload_done && noted && !busy_i;
  assign task_ready   = noted ? (payload_done && note_ready_i && !busy_i) :
                                (payload_done || (in_taken && in_last_i));
  assign malformed_o  = task_valid && task_ready && wrong;

  always_comb begin
    note_o = note;
    if (was_wrong && note.told.status == ST_OK) note_o.told.status = cut_q ? ST_DAMAGED : ST_BAD_LENGTH;
  end

  always_ff @(posedge clk_i) begin
    if (in_taken) next_address_q <= write_address_o + 30'(Words);
    if (!rst_ni || !task_valid || task_ready) begin
      done_q  <= '0;
      ended_q <= 1'b0;
      kept_q  <= 1'b0;
      wrong_q <= 1'b0;
      cut_q   <= 1'b0;
    end else if (in_taken) begin
      done_q  <= done_next;
      ended_q <= in_last_i;
      kept_q  <= kept_q || last;
      wrong_q <= wrong;
      cut_q   <= in_cut_i;
    end
  end

  assign idle_o = empty;

  `ALCOR_STABLE(a_write_stable, write_valid_o, write_ready_i,
                {write_address_o, write_data_o, write_strobe_o})
  `ALCOR_STABLE(a_note_stable, note_valid_o, note_ready_i, note_o)

  `ALCOR_COVER(c_full_write_tasks, !task_ready_o)

`ifdef ALCOR_PROVE_MM_WRITE
  `include "rma_mm_write_properties.svh"
`endif

endmodule

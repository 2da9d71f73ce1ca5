import alcor_abi_pkg::*;

/// Receiving side of the reply plane: from the router's output into node memory.
///
/// `rma_parser` takes packets apart; the packet controller works on headers, the write side of the memory interface
/// controller on payload, so a packet's header is checked while the payload before it is still being written. A note
/// leaves when its write is done: it becomes a completion, or goes to the message engine.
module rma_receive_replies #(
    /// Bits of a beat: 32, 256 or 512.
    parameter int unsigned DATA_W = 32,
    /// Payload words of an extended packet, a power of two.
    parameter int unsigned PAYLOAD_WORDS = 128,
    /// Words of the Head FIFO, or headers where a beat has several words.
    parameter int unsigned HEAD_DEPTH = 16,
    /// Tasks of the MM Interface FIFO.
    parameter int unsigned MM_DEPTH = 16,
    /// Beats of the In FIFO.
    parameter int unsigned IN_DEPTH = 512,
    /// Bytes of a beat; derived, not to be set.
    localparam int unsigned Bytes = DATA_W / 8
) (
    /// Clock.
    input  logic                        clk_i,
    /// Synchronous reset, active low.
    input  logic                        rst_ni,

    /// From the router: a beat is offered.
    input  logic                        in_valid_i,
    /// The beat is taken.
    output logic                        in_ready_o,
    /// The beat.
    input  logic [DATA_W-1:0]           in_data_i,
    /// The beat is its packet's last.
    input  logic                        in_last_i,
    /// With `in_last_i`: the beat ends a damaged packet, and holds no data.
    input  logic                        in_cut_i,

    /// Registration table: look a window up.
    output alcor_abi_pkg::slot_lookup_t lookup_o,
    /// The window that was looked up.
    input  alcor_abi_pkg::window_t      window_i,

    /// A memory write is offered.
    output logic                        write_valid_o,
    /// The write is done.
    input  logic                        write_ready_i,
    /// Address of the beat's first word.
    output logic [29:0]                 write_address_o,
    /// Data.
    output logic [DATA_W-1:0]           write_data_o,
    /// Byte strobes.
    output logic [Bytes-1:0]            write_strobe_o,

    /// To the message engine: a payload is in a receive buffer. The engine always has room for it.
    output alcor_abi_pkg::delivered_t   delivered_o,

    /// The completion of an extended command of this rank is offered.
    output logic                        completion_valid_o,
    /// The completion is entered.
    input  logic                        completion_ready_i,
    /// The completion.
    output alcor_abi_pkg::answered_t    completion_o,

    /// Packets that were refused.
    output alcor_abi_pkg::refusal_t     refusal_o,
    /// Nothing is queued or under way.
    output logic                        idle_o
);

  localparam int unsigned CountW = $clog2(PAYLOAD_WORDS + 1);

  // ---------------------------------------------------------------- headers apart from payload

  logic head_valid, head_ready, head_cut, head_bare, payload_valid, payload_ready, payload_last, payload_cut, parser_idle;
  logic [31:0] head;
  logic [DATA_W-1:0] payload;

  rma_parser #(
      .DATA_W    (DATA_W),
      .HEADS     (4),
      .HEAD_DEPTH(HEAD_DEPTH),
      .IN_DEPTH  (IN_DEPTH)
  ) u_parser (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .hold_i         (1'b0),
      .in_valid_i     (in_valid_i),
      .in_ready_o     (in_ready_o),
      .in_data_i      (in_data_i),
      .in_last_i      (in_last_i),
      .in_cut_i       (in_cut_i),
      .head_valid_o   (head_valid),
      .head_ready_i   (head_ready),
      .head_o         (head),
      .head_cut_o     (head_cut),
      .head_bare_o    (head_bare),
      .payload_valid_o(payload_valid),
      .payload_ready_i(payload_ready),
      .payload_o      (payload),
      .payload_last_o (payload_last),
      .payload_cut_o  (payload_cut),
      .malformed_o    (surplus),
      .idle_o         (parser_idle)
  );

  // ---------------------------------------------------------------- memory writes

  logic task_valid, task_ready, note_valid, writes_idle, controller_idle;
  // A packet has more or fewer beats than its type or its header says.
  logic surplus, wrong_length;
  alcor_abi_pkg::refusal_t refusal;
  alcor_abi_pkg::write_task_t write_task;
  alcor_abi_pkg::note_t note;

  rma_mm_write #(
      .DATA_W    (DATA_W),
      .MM_DEPTH  (MM_DEPTH),
      .COUNT_W   (CountW),
      .ACCUMULATE(1'b0)
  ) u_mm_write (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .task_valid_i   (task_valid),
      .task_ready_o   (task_ready),
      .task_i         (write_task),
      .in_valid_i     (payload_valid),
      .in_ready_o     (payload_ready),
      .in_data_i      (payload),
      .in_last_i      (payload_last),
      .in_cut_i       (payload_cut),
      .write_valid_o  (write_valid_o),
      .write_ready_i  (write_ready_i),
      .write_address_o(write_address_o),
      .write_data_o   (write_data_o),
      .write_strobe_o (write_strobe_o),
      .write_reduction_o(),
      .write_first_o  (),
      .write_last_o   (),
      .busy_i         (1'b0),
      .note_valid_o   (note_valid),
      .note_ready_i   (note.kind != NkCommand || completion_ready_i),
      .note_o         (note),
      .malformed_o    (wrong_length),
      .idle_o         (writes_idle)
  );

  always_comb begin
    refusal_o = refusal;
    refusal_o.malformed |= surplus || wrong_length;
  end

  // ---------------------------------------------------------------- packet controller, and completions

  logic noted, answered_valid, answered_ready;
  alcor_abi_pkg::answered_t answered;

  rma_reply_controller #(
      .PAYLOAD_WORDS(PAYLOAD_WORDS)
  ) u_controller (
      .clk_i           (clk_i),
      .rst_ni          (rst_ni),
      .head_valid_i    (head_valid),
      .head_ready_o    (head_ready),
      .head_i          (head),
      .head_cut_i      (head_cut),
      .head_bare_i     (head_bare),
      .lookup_o        (lookup_o),
      .window_i        (window_i),
      .answered_valid_o(answered_valid),
      .answered_ready_i(answered_ready),
      .answered_o      (answered),
      .write_valid_o   (task_valid),
      .write_ready_i   (task_ready),
      .write_o         (write_task),
      .refusal_o       (refusal),
      .idle_o          (controller_idle)
  );

  assign noted              = note_valid && note.kind == NkCommand;
  assign answered_ready     = completion_ready_i && !noted;
  assign completion_valid_o = noted || answered_valid;

  always_comb begin
    completion_o = answered;
    if (noted) begin
      completion_o       = '0;
      completion_o.ended = {note.told.status, note.told.id};
    end
  end

  assign delivered_o.valid   = note_valid && note.kind == NkDelivered;
  assign delivered_o.status  = note.told.status;
  assign delivered_o.receive = note.told.id;

  assign idle_o = parser_idle && controller_idle && writes_idle;

endmodule

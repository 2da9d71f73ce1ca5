import alcor_abi_pkg::*;

/// Takes a message in: its header words, the message engine's verdict, and the write tasks that follow from it.
///
/// The packet controller takes the header, and keeps `active_i` asserted until `done_o`. Tag, length and id come one a
/// cycle, then the message waits for its verdict, then comes a write task, which drops payload beyond the end of the
/// receive buffer.
module rma_message_port #(
    /// Payload words of an extended packet, a power of two.
    parameter int unsigned PAYLOAD_WORDS = 128
) (
    /// Clock.
    input  logic                       clk_i,
    /// Synchronous reset, active low.
    input  logic                       rst_ni,
    /// The rank is being reset, which is why messages are refused.
    input  logic                       closed_i,

    /// The header of a message has been taken.
    input  logic                       active_i,
    /// The header.
    input  alcor_abi_pkg::message_t    header_i,
    /// The message is dealt with.
    output logic                       done_o,

    /// A header word is offered.
    input  logic                       head_valid_i,
    /// The header word is taken.
    output logic                       head_ready_o,
    /// The header word.
    input  logic [31:0]                head_i,
    /// The packet ends with the header word, which is not its header's last.
    input  logic                       head_cut_i,
    /// With the header's last word: the packet has no payload.
    input  logic                       head_bare_i,
    /// A beat waits after the payload of the message.
    input  logic                       behind_i,

    /// A message arrives, with its header's last word.
    output logic                       arrival_valid_o,
    /// The message is taken.
    input  logic                       arrival_ready_i,
    /// The message is refused.
    input  logic                       arrival_refused_i,
    /// With `arrival_refused_i`: sources whose messages are refused; 0 if the message has no serial number.
    input  logic [4:0]                 arrival_line_i,
    /// The message.
    output alcor_abi_pkg::arrival_t    arrival_o,
    /// The payload must leave now, without waiting for its verdict.
    output logic                       late_o,
    /// There is a verdict.
    input  logic                       verdict_valid_i,
    /// The verdict is taken.
    output logic                       verdict_ready_o,
    /// The verdict.
    input  alcor_abi_pkg::verdict_t    verdict_i,

    /// A write task is offered.
    output logic                       task_valid_o,
    /// The task is taken.
    input  logic                       task_ready_i,
    /// The task.
    output alcor_abi_pkg::write_task_t task_o
);

  localparam int unsigned CountW = $clog2(PAYLOAD_WORDS + 1);
  localparam int unsigned BytesW = CountW + 2;

  typedef enum logic [2:0] {
    Tag,      // header word with the tag
    Length,   // header word with the length
    Id,       // header word with the id; the message arrives
    Verdict,  // match result is awaited, by a payload or a recall
    Task      // write task of the payload
  } state_e;

  // Cycles that a payload waits for its match result while something waits behind it: enough for a search in a matching
  // unit, with a batch of insertions before it.
  localparam int unsigned Patience = 31;

  state_e state_d, state_q;
  logic arrives, refused, waits, bare_q, closed_q;
  logic [15:0] refused_id;
  logic [$clog2(Patience+1)-1:0] waited_q;
  logic [25:0] tag_q;
  alcor_abi_pkg::message_id_t message_id;
  logic [31:0] length_q, address_q;
  // The id of the note: the sender's command, or, with MvDirect, the receive.
  logic [15:0] id_q;
  alcor_abi_pkg::message_verdict_e kind_q;
  logic [BytesW-1:0] kept_q, whole_round, kept_round;
  logic [CountW-1:0] whole_words_q, kept_words;

  // ---------------------------------------------------------------- states

  always_comb begin
    state_d         = state_q;
    head_ready_o    = 1'b0;
    done_o          = 1'b0;
    if (active_i) begin
      unique case (state_q)
        Tag: begin
          head_ready_o = 1'b1;
          if (head_valid_i) state_d = Length;
        end
        Length: begin
          head_ready_o = 1'b1;
          if (head_valid_i) state_d = Id;
        end
        Id: begin
          head_ready_o = arrival_ready_i;
          if (arrives) begin
            if (refused) begin
              state_d = Task;
            end else if (waits) begin
              state_d = Verdict;
            end else begin
              // No payload, unless the packet has one all the same.
              done_o  = head_bare_i;
              state_d = head_bare_i ? Tag : Task;
            end
          end
        end
        Verdict: if (verdict_valid_i) state_d = Task;
        Task: begin
          done_o = task_ready_i || !task_valid_o;
          if (done_o) state_d = Tag;
        end
        default: state_d = Tag;
      endcase
      if (head_valid_i && head_ready_o && head_cut_i) state_d = Tag;
    end
  end

  always_ff @(posedge clk_i) begin
    if (head_valid_i && state_q == Tag) tag_q <= head_i[25:0];
    if (head_valid_i && state_q == Length) length_q <= head_i;
    if (head_valid_i && state_q == Id) begin
      id_q     <= refused ? refused_id : message_id.id;
      bare_q   <= head_bare_i;
      // The reset may end before the refusal is sent.
      closed_q <= closed_i;
      kind_q   <= refused ? MvRefuse : MvNone;
    end
    // Of no meaning before the message has arrived.
    whole_words_q <= header_i.announce ? '0 : whole_round[BytesW-1:2];
    waited_q      <= (state_q == Verdict) ? waited_q + $bits(waited_q)'(waited_q != '1) : '0;
    if (verdict_ready_o) begin
      kind_q    <= verdict_i.kind;
      kept_q    <= verdict_i.bytes[BytesW-1:0];
      address_q <= verdict_i.address;
      if (verdict_i.kind == MvDirect) id_q <= verdict_i.receive;
    end
    if (!rst_ni) state_q <= Tag;
    else state_q <= state_d;
  end

  assign message_id         = head_i;
  assign arrival_valid_o    = active_i && state_q == Id && head_valid_i;
  assign arrives            = arrival_valid_o && arrival_ready_i;
  assign refused            = arrival_refused_i && !header_i.recall;
  // As in x_refusal.
  assign refused_id         = {message_id.id[15], arrival_line_i | message_id.id[14:10], message_id.id[9:0]};
  assign waits              = header_i.recall || (!header_i.announce && length_q != '0);
  assign late_o             = state_q == Verdict && !header_i.recall && behind_i && waited_q == '1;
  assign verdict_ready_o    = state_q == Verdict && verdict_valid_i;
  assign arrival_o.announce = header_i.announce;
  assign arrival_o.recall   = header_i.recall;
  assign arrival_o.match    = {header_i.src, header_i.context_, tag_q};
  assign arrival_o.serial   = message_id.serial;
  assign arrival_o.length   = length_q;
  assign arrival_o.id       = message_id.id;

  logic unused_zero;
  assign unused_zero = ^message_id.unused_25_16;

  // ---------------------------------------------------------------- write tasks

  assign whole_round = length_q[BytesW-1:0] + BytesW'(3);
  assign kept_round  = kept_q + BytesW'(3);
  assign kept_words  = kept_round[BytesW-1:2];

  always_comb begin
    task_valid_o            = state_q == Task;
    task_o.reduction        = '0;
    task_o.drop             = 1'b0;
    task_o.noted            = 1'b1;
    task_o.bare             = bare_q;
    task_o.end_lane         = kept_q[1:0] - 2'd1;
    task_o.words            = 13'(whole_words_q);
    task_o.kept             = 13'(kept_words);
    task_o.address          = address_q;
    task_o.note.kind        = NkCommand;
    task_o.note.told.rank   = header_i.src;
    task_o.note.told.status = ST_OK;
    task_o.note.told.id     = id_q;
    unique case (kind_q)
      MvNone: begin
        task_valid_o = state_q == Task && (whole_words_q != '0 || !bare_q);
        task_o.drop  = 1'b1;
        task_o.noted = 1'b0;
      end
      MvStore: task_o.note.kind = NkStored;
      MvDirect: task_o.note.kind = NkDelivered;
      default: begin
        task_o.drop             = 1'b1;
        task_o.note.told.status = closed_q ? ST_RANK_RESET : ST_NO_ROOM;
      end
    endcase
  end

endmodule

`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_nic_pkg::*;

/// Packet controller of one plane: turns the header words of received packets into memory tasks.
///
/// Each packet's window is looked up by slot and the access checked against bounds and rights before
/// anything touches memory. A PUT becomes a write task; a refused one becomes a task that drops its
/// payload. A GET becomes the header and read task of its answer on the reply plane. The last packet
/// of an extended command is always answered, by XDATA or by XACK; acknowledgements of finished
/// writes come back in on `ack_*` and leave here, so the reply plane has a single author.
///
/// A message waits here for the message engine's verdict, which says where its payload goes. What the
/// engine wants copied from one place in memory to another becomes an XDATA packet to this rank itself,
/// as if it had asked for it.
///
/// Header words arrive one a cycle: a PUT packet takes 2 cycles, XPUT 4, XACK 2, XDATA 4, GET 3,
/// XGET 8, a message 5 and the time to its verdict.
module rma_packet_controller #(
    /// Bits of a beat of payload: a power of two, 32 or more.
    parameter int unsigned DATA_W = 32,
    /// 1: request plane, which answers; 0: reply plane.
    parameter bit REQUESTS = 1'b1,
    /// Payload words of an extended packet, a power of two.
    parameter int unsigned PAYLOAD_WORDS = 128,
    /// Width of a task's word count; derived, not to be set.
    localparam int unsigned CountW = $clog2(PAYLOAD_WORDS + 1)
) (
    /// Clock.
    input  logic              clk_i,
    /// Synchronous reset, active low.
    input  logic              rst_ni,
    /// This rank's number on the network.
    input  logic [7:0]        rank_i,

    /// Head FIFO: a header word is offered.
    input  logic              head_valid_i,
    /// It is taken.
    output logic              head_ready_o,
    /// The word.
    input  logic [31:0]       head_i,

    /// Registration table: look `slot_o` up.
    output logic              lookup_o,
    /// The slot.
    output logic [7:0]        slot_o,
    /// A cycle later, until the next lookup: it is registered.
    input  logic              registered_i,
    /// Its base address.
    input  logic [31:0]       base_i,
    /// Its size in bytes.
    input  logic [31:0]       size_i,
    /// Denied rights: bit 0 remote reads, bit 1 remote writes.
    input  logic [1:0]        deny_i,

    /// Request plane: the message that an XGET fetches; look it up.
    output logic              fetch_lookup_o,
    /// Its id.
    output logic [9:0]        fetch_id_o,
    /// A cycle later, until the next lookup: its byte address.
    input  logic [31:0]       fetch_base_i,
    /// Its bytes.
    input  logic [31:0]       fetch_size_i,

    /// The rank is being reset, which is why messages are refused.
    input  logic              closed_i,
    /// Request plane: a message is here, and waits for a verdict.
    output logic              arrival_valid_o,
    /// It is an announcement.
    output logic              arrival_announce_o,
    /// It is a recall.
    output logic              arrival_recall_o,
    /// Its source.
    output logic [7:0]        arrival_source_o,
    /// Its context.
    output logic [7:0]        arrival_context_o,
    /// Its tag.
    output logic [25:0]       arrival_tag_o,
    /// Its length in bytes.
    output logic [31:0]       arrival_length_o,
    /// Its sender's command id.
    output logic [15:0]       arrival_id_o,
    /// The verdict is there.
    input  logic              verdict_valid_i,
    /// It is taken.
    output logic              verdict_ready_o,
    /// One of message_verdict_e.
    input  logic [1:0]        verdict_i,
    /// Byte address that the payload goes to.
    input  logic [31:0]       verdict_address_i,
    /// Bytes of the payload that go there.
    input  logic [31:0]       verdict_bytes_i,
    /// Id of the receive, of MvDirect.
    input  logic [15:0]       verdict_receive_i,

    /// Request plane: the payload of a message is to be copied to its receive buffer.
    input  logic              copy_valid_i,
    /// It is taken.
    output logic              copy_ready_o,
    /// From this byte address.
    input  logic [31:0]       copy_from_i,
    /// To this byte address.
    input  logic [31:0]       copy_to_i,
    /// Bytes.
    input  logic [15:0]       copy_bytes_i,
    /// Id of the receive.
    input  logic [15:0]       copy_receive_i,

    /// Write task.
    output logic              write_valid_o,
    /// It is taken.
    input  logic              write_ready_i,
    /// Drop its payload.
    output logic              write_drop_o,
    /// Payload words.
    output logic [CountW-1:0] write_words_o,
    /// Byte address of the first payload byte.
    output logic [31:0]       write_address_o,
    /// Byte lane of the last payload byte.
    output logic [1:0]        write_end_lane_o,
    /// It carries a note.
    output logic              write_noted_o,
    /// Note: one of note_kind_e.
    output logic [1:0]        note_kind_o,
    /// Note: whom to answer (request plane).
    output logic [7:0]        note_rank_o,
    /// Note: status.
    output logic [4:0]        note_status_o,
    /// Note: id of the command, or of the receive.
    output logic [15:0]       note_id_o,

    /// Request plane: an acknowledgement is to be sent.
    input  logic              ack_valid_i,
    /// It is taken.
    output logic              ack_ready_o,
    /// To whom.
    input  logic [7:0]        ack_rank_i,
    /// Status.
    input  logic [4:0]        ack_status_i,
    /// Command id.
    input  logic [15:0]       ack_id_i,

    /// Request plane: header word of an answer.
    output logic              reply_head_valid_o,
    /// It is taken.
    input  logic              reply_head_ready_i,
    /// The word.
    output logic [31:0]       reply_head_o,
    /// Request plane: read task of an answer, with its last header word.
    output logic              reply_task_valid_o,
    /// It is taken.
    input  logic              reply_task_ready_i,
    /// Header words.
    output logic [2:0]        reply_task_heads_o,
    /// Payload words.
    output logic [CountW-1:0] reply_task_words_o,
    /// Byte address of byte 0 of the first payload word.
    output logic [31:0]       reply_task_address_o,

    /// Pulse: an access failed its check.
    output logic              refused_o,
    /// Pulse, with `refused_o`: it was a paper packet, so nobody is told.
    output logic              dropped_o,
    /// Why.
    output logic [4:0]        refused_status_o,
    /// The packet's type.
    output logic [2:0]        refused_type_o,
    /// Pulse: a packet's type does not belong on this plane.
    output logic              malformed_o,
    /// Nothing is under way here.
    output logic              idle_o
);

  localparam int unsigned PayloadBytes = 4 * PAYLOAD_WORDS;
  localparam int unsigned ByteW = CountW + 2;

  typedef enum logic [4:0] {
    Idle,
    PaperCheck,
    GetHeader2,
    GetCheck,
    XOffset,
    XLength,
    XLaddr,
    XCheck,
    DataAddress,
    DataLength,
    DataTask,
    AckTask,
    ReplyHead,
    ReplyLaddr,
    ReplyLength,
    MessageTag,
    MessageLength,
    MessageId,
    MessageVerdict,
    MessageTask,
    MessageRest
  } state_e;

  state_e state_d, state_q;
  logic [31:0] header_q;
  logic [31:0] offset_q, laddr_q, left_q, address_q;
  logic [33:0] end_d, end_q;
  logic [31:0] answer_q;
  logic take, take_header;
  logic [2:0] header_type, incoming_type;
  logic is_get, header_last, beyond;

  assign incoming_type = head_i[X_HEADER_PTYPE_LSB+:X_HEADER_PTYPE_W];
  assign header_type   = header_q[X_HEADER_PTYPE_LSB+:X_HEADER_PTYPE_W];
  assign header_last   = header_q[X_HEADER_LAST_LSB];
  assign slot_o        = head_i[PUT_HEADER_SLOT_LSB+:PUT_HEADER_SLOT_W];
  assign lookup_o      = take_header;
  assign is_get        = header_type == PT_GET || header_type == PT_XGET;
  assign beyond        = (header_type == PT_XPUT || header_type == PT_XGET) &&
                         header_q[X_HEADER_BEYOND_LSB];

  // An XGET of the message engine, and in answer to it, or a copy, XDATA.
  logic is_fetch, is_moved;

  assign is_fetch       = REQUESTS && header_type == PT_XGET && header_q[X_HEADER_MESSAGE_LSB];
  assign is_moved       = !REQUESTS && header_type == PT_XDATA && header_q[X_DATA_MESSAGE_LSB];
  assign fetch_lookup_o = take_header && REQUESTS;
  assign fetch_id_o     = {head_i[X_HEADER_HIGH_LSB+:X_HEADER_HIGH_W], head_i[X_HEADER_SLOT_LSB+:X_HEADER_SLOT_W]};

  // ---------------------------------------------------------------- the check, for every access

  // First and last byte as offsets in the window: what the packet itself says for a paper packet,
  // the whole command's end for an extended one.
  logic [4:0] status, moved_status_q;

  always_comb begin
    status = ST_OK;
    if (is_get ? deny_i[0] : deny_i[1]) status = ST_DENIED;
    if (end_q > 34'(size_i) || beyond) status = ST_OUT_OF_BOUNDS;
    if (!registered_i) status = ST_BAD_SLOT;
    // What a fetch names is its sender's, who alone could have made it smaller since.
    if (is_fetch) status = (end_q > 34'(fetch_size_i)) ? ST_OUT_OF_BOUNDS : ST_OK;
  end

  // The paper's units are words.
  logic [31:0] paper_offset;
  logic [4:0] paper_words;
  logic [31:0] paper_field;

  always_comb begin
    paper_offset = 32'({head_i[PUT_HEADER_OFFSET_LSB+:PUT_HEADER_OFFSET_W], 2'b00});
    // A GET's second header says how many words are asked for; a PUT's own length counts its header.
    paper_field  = (state_q == GetHeader2) ? head_i : header_q;
    paper_words  = paper_field[PUT_HEADER_LENGTH_LSB+:PUT_HEADER_LENGTH_W];
    if (state_q == PaperCheck) paper_words = paper_words - 5'd1;
  end

  // ---------------------------------------------------------------- payload of an extended packet

  logic [ByteW-1:0] piece;
  logic [1:0] piece_align;
  logic [2:0] piece_lanes;
  logic [CountW-1:0] piece_words;
  logic [1:0] piece_end_lane;

  always_comb begin
    piece_align = offset_q[1:0];
    if (header_type == PT_XGET || header_type == PT_XDATA) piece_align = laddr_q[1:0];
    // Beyond whole words, what is left over of the length and the alignment touch up to two more.
    piece_lanes = 3'(left_q[1:0]) + 3'(piece_align);
    if (header_last || header_type == PT_XDATA) begin
      piece          = left_q[ByteW-1:0];
      piece_words    = piece[ByteW-1:2] + ((piece_lanes > 3'd4) ? CountW'(2) : CountW'(piece_lanes != '0));
      piece_end_lane = piece_lanes[1:0] - 2'd1;
      if (piece == '0) piece_words = '0;
    end else begin
      // Others come behind this packet, so it is full, up to a word's end.
      piece          = ByteW'(PayloadBytes) - ByteW'(piece_align);
      piece_words    = CountW'(PAYLOAD_WORDS);
      piece_end_lane = 2'd3;
    end
  end

  // ---------------------------------------------------------------- payload of a message

  logic [1:0] verdict_q;
  logic [ByteW-1:0] kept_q;
  logic [ByteW-1:0] whole_round, kept_round;
  logic [CountW-1:0] whole_words, kept_words, rest_words;

  assign whole_round = left_q[ByteW-1:0] + ByteW'(3);
  assign whole_words = header_q[MESSAGE_ANNOUNCE_LSB] ? '0 : whole_round[ByteW-1:2];
  assign kept_round  = kept_q + ByteW'(3);
  assign kept_words  = kept_round[ByteW-1:2];

  // A beat goes one way, so what is dropped of a payload begins with a beat.
  if (DATA_W == 32) begin : g_words
    assign rest_words = whole_words - kept_words;
  end else begin : g_beats
    localparam int unsigned LogWords = $clog2(DATA_W / 32);
    logic [CountW:0] kept_beats;
    assign kept_beats = ((CountW + 1)'(kept_words) + (CountW + 1)'(DATA_W / 32 - 1)) >> LogWords;
    assign rest_words = ((CountW + 1)'(whole_words) > (kept_beats << LogWords))
                      ? whole_words - CountW'(kept_beats << LogWords) : '0;
  end

  assign arrival_valid_o    = state_q == MessageVerdict;
  assign verdict_ready_o    = state_q == MessageVerdict && verdict_valid_i;
  assign arrival_announce_o = header_q[MESSAGE_ANNOUNCE_LSB];
  assign arrival_recall_o   = header_q[MESSAGE_RECALL_LSB];
  assign arrival_source_o   = header_q[MESSAGE_SRC_LSB+:MESSAGE_SRC_W];
  assign arrival_context_o  = header_q[MESSAGE_CONTEXT_LSB+:MESSAGE_CONTEXT_W];
  assign arrival_tag_o      = offset_q[X_TAG_TAG_LSB+:X_TAG_TAG_W];
  assign arrival_length_o   = left_q;
  assign arrival_id_o       = laddr_q[15:0];

  // ---------------------------------------------------------------- states

  logic answers_ready;
  assign answers_ready = reply_head_ready_i && reply_task_ready_i;

  always_comb begin
    state_d     = state_q;
    take        = 1'b0;
    take_header = 1'b0;
    end_d       = end_q;

    write_valid_o    = 1'b0;
    write_drop_o     = status != ST_OK;
    write_words_o    = piece_words;
    write_address_o  = address_q;
    write_end_lane_o = piece_end_lane;
    write_noted_o    = header_last;
    note_kind_o      = NkCommand;
    note_rank_o      = header_q[X_HEADER_SRC_LSB+:X_HEADER_SRC_W];
    note_status_o    = status;
    note_id_o        = left_q[X_LENGTH_ID_LSB+:X_LENGTH_ID_W];

    ack_ready_o          = 1'b0;
    copy_ready_o         = 1'b0;
    reply_head_valid_o   = 1'b0;
    reply_head_o         = '0;
    reply_task_valid_o   = 1'b0;
    reply_task_heads_o   = 3'd1;
    reply_task_words_o   = '0;
    reply_task_address_o = address_q;

    refused_o        = 1'b0;
    dropped_o        = 1'b0;
    refused_status_o = status;
    refused_type_o   = header_type;
    malformed_o      = 1'b0;

    unique case (state_q)
      Idle: begin
        if (REQUESTS && ack_valid_i) begin
          // Acknowledgements first: there are never more of them than write tasks, and the room for
          // them must not run out while a header waits for a task's place.
          reply_head_o[X_ACK_DPID_LSB+:X_ACK_DPID_W]     = ack_rank_i;
          reply_head_o[X_ACK_PTYPE_LSB+:X_ACK_PTYPE_W]   = PT_XACK;
          reply_head_o[X_ACK_STATUS_LSB+:X_ACK_STATUS_W] = ack_status_i;
          reply_head_o[X_ACK_ID_LSB+:X_ACK_ID_W]         = ack_id_i;
          reply_head_valid_o = reply_task_ready_i;
          reply_task_valid_o = reply_head_ready_i;
          ack_ready_o        = answers_ready;
        end else if (REQUESTS && copy_valid_i) begin
          copy_ready_o = 1'b1;
          state_d      = ReplyHead;
        end else if (head_valid_i) begin
          take_header = 1'b1;
          // Only the header is at hand: enough for a paper PUT's bounds.
          end_d       = 34'(paper_offset) + 34'({head_i[PUT_HEADER_LENGTH_LSB+:5] - 5'd1, 2'b00});
          unique case (incoming_type)
            PT_PUT_1, PT_PUT_N: state_d = PaperCheck;
            PT_GET:  if (REQUESTS) state_d = GetHeader2; else malformed_o = 1'b1;
            PT_XPUT: if (REQUESTS) state_d = XOffset; else malformed_o = 1'b1;
            PT_XGET: if (REQUESTS) state_d = XOffset; else malformed_o = 1'b1;
            PT_MESSAGE: if (REQUESTS) state_d = MessageTag; else malformed_o = 1'b1;
            PT_XDATA: if (!REQUESTS) state_d = DataAddress; else malformed_o = 1'b1;
            PT_XACK: if (!REQUESTS) state_d = AckTask; else malformed_o = 1'b1;
            default: ;
          endcase
        end
      end

      PaperCheck: begin
        write_valid_o    = 1'b1;
        write_words_o    = CountW'(paper_words);
        write_address_o  = base_i + offset_q;
        write_end_lane_o = 2'd3;
        write_noted_o    = 1'b0;
        if (write_ready_i) begin
          refused_o = status != ST_OK;
          dropped_o = refused_o;
          state_d   = Idle;
        end
      end

      GetHeader2: begin
        take  = 1'b1;
        end_d = 34'(offset_q) + 34'({paper_words, 2'b00});
        if (head_valid_i) state_d = GetCheck;
      end

      GetCheck: begin
        // The second header word, its length counting itself, is the header of the answer.
        reply_head_o = answer_q;
        reply_head_o[PUT_HEADER_LENGTH_LSB+:PUT_HEADER_LENGTH_W] =
            answer_q[GET_HEADER2_LENGTH_LSB+:GET_HEADER2_LENGTH_W] + 5'd1;
        reply_task_words_o = CountW'(answer_q[GET_HEADER2_LENGTH_LSB+:GET_HEADER2_LENGTH_W]);
        if (status != ST_OK) begin
          refused_o = 1'b1;
          dropped_o = 1'b1;
          state_d   = Idle;
        end else begin
          reply_head_valid_o = reply_task_ready_i;
          reply_task_valid_o = reply_head_ready_i;
          if (answers_ready) state_d = Idle;
        end
      end

      XOffset: begin
        take = 1'b1;
        if (head_valid_i) state_d = XLength;
      end

      XLength: begin
        take  = 1'b1;
        end_d = 34'(offset_q) + (header_last ? 34'(head_i[X_LENGTH_LENGTH_LSB+:X_LENGTH_LENGTH_W]) :
                                 34'(head_i));
        if (head_valid_i) state_d = (header_type == PT_XGET) ? XLaddr : XCheck;
      end

      XLaddr: begin
        take = 1'b1;
        if (head_valid_i) state_d = XCheck;
      end

      XCheck: begin
        if (header_type == PT_XPUT) begin
          write_valid_o = 1'b1;
          if (write_ready_i) begin
            refused_o = status != ST_OK;
            state_d   = Idle;
          end
        end else if (status == ST_OK || (is_fetch && header_last)) begin
          state_d = ReplyHead;
        end else if (!header_last) begin
          refused_o = 1'b1;
          state_d   = Idle;
        end else begin
          reply_head_o[X_ACK_DPID_LSB+:X_ACK_DPID_W] = header_q[X_HEADER_SRC_LSB+:X_HEADER_SRC_W];
          reply_head_o[X_ACK_PTYPE_LSB+:X_ACK_PTYPE_W]   = PT_XACK;
          reply_head_o[X_ACK_STATUS_LSB+:X_ACK_STATUS_W] = status;
          reply_head_o[X_ACK_ID_LSB+:X_ACK_ID_W] = left_q[X_LENGTH_ID_LSB+:X_LENGTH_ID_W];
          reply_head_valid_o = reply_task_ready_i;
          reply_task_valid_o = reply_head_ready_i;
          if (answers_ready) begin
            refused_o = 1'b1;
            state_d   = Idle;
          end
        end
      end

      ReplyHead: begin
        reply_head_o[X_DATA_DPID_LSB+:X_DATA_DPID_W] = header_q[X_HEADER_SRC_LSB+:X_HEADER_SRC_W];
        reply_head_o[X_DATA_PTYPE_LSB+:X_DATA_PTYPE_W] = PT_XDATA;
        reply_head_o[X_DATA_LAST_LSB] = header_last;
        reply_head_o[X_DATA_MESSAGE_LSB] = is_fetch;
        reply_head_o[X_DATA_STATUS_LSB+:X_DATA_STATUS_W] = moved_status_q;
        reply_head_valid_o = 1'b1;
        if (reply_head_ready_i) state_d = ReplyLaddr;
      end

      ReplyLaddr: begin
        reply_head_o       = laddr_q;
        reply_head_valid_o = 1'b1;
        if (reply_head_ready_i) state_d = ReplyLength;
      end

      ReplyLength: begin
        if (header_last) begin
          reply_head_o[X_LENGTH_ID_LSB+:X_LENGTH_ID_W] = left_q[X_LENGTH_ID_LSB+:X_LENGTH_ID_W];
        end
        // A fetch that asks for more than there is gets nothing.
        reply_head_o[X_LENGTH_LENGTH_LSB+:X_LENGTH_LENGTH_W] = (moved_status_q == ST_OK) ? 16'(piece) : '0;
        reply_head_valid_o   = reply_task_ready_i;
        reply_task_valid_o   = reply_head_ready_i;
        reply_task_heads_o   = 3'd3;
        reply_task_words_o   = (moved_status_q == ST_OK) ? piece_words : '0;
        reply_task_address_o = address_q - 32'(laddr_q[1:0]);
        if (answers_ready) state_d = Idle;
      end

      DataAddress: begin
        take = 1'b1;
        if (head_valid_i) state_d = DataLength;
      end

      DataLength: begin
        take = 1'b1;
        if (head_valid_i) state_d = DataTask;
      end

      DataTask: begin
        // The address comes from this rank's own command, checked when it was issued.
        write_valid_o   = 1'b1;
        write_drop_o    = 1'b0;
        write_address_o = laddr_q;
        note_kind_o     = is_moved ? NkDelivered : NkCommand;
        note_status_o   = is_moved ? header_q[X_DATA_STATUS_LSB+:X_DATA_STATUS_W] : ST_OK;
        if (write_ready_i) state_d = Idle;
      end

      AckTask: begin
        write_valid_o = 1'b1;
        write_drop_o  = 1'b1;
        write_words_o = '0;
        write_noted_o = 1'b1;
        note_status_o = header_q[X_ACK_STATUS_LSB+:X_ACK_STATUS_W];
        note_id_o     = header_q[X_ACK_ID_LSB+:X_ACK_ID_W];
        if (write_ready_i) state_d = Idle;
      end

      MessageTag: begin
        take = 1'b1;
        if (head_valid_i) state_d = MessageLength;
      end

      MessageLength: begin
        take = 1'b1;
        if (head_valid_i) state_d = MessageId;
      end

      MessageId: begin
        take = 1'b1;
        if (head_valid_i) state_d = MessageVerdict;
      end

      MessageVerdict: if (verdict_valid_i) state_d = MessageTask;

      MessageTask: begin
        write_valid_o    = 1'b1;
        write_drop_o     = 1'b0;
        write_words_o    = kept_words;
        write_end_lane_o = kept_q[1:0] - 2'd1;
        write_noted_o    = 1'b1;
        note_id_o        = laddr_q[15:0];
        state_d          = Idle;
        unique case (verdict_q)
          MvNone: begin
            write_valid_o = whole_words != '0;
            write_drop_o  = 1'b1;
            write_words_o = whole_words;
            write_noted_o = 1'b0;
          end
          MvStore: note_kind_o = NkStored;
          MvDirect: begin
            note_kind_o   = NkDelivered;
            write_noted_o = rest_words == '0;
            if (!write_noted_o) state_d = MessageRest;
          end
          default: begin
            write_drop_o  = 1'b1;
            write_words_o = whole_words;
            note_status_o = closed_i ? ST_RANK_RESET : ST_NO_ROOM;
          end
        endcase
        if (write_valid_o && !write_ready_i) state_d = MessageTask;
      end

      MessageRest: begin
        // Beyond the receive buffer's end.
        write_valid_o = 1'b1;
        write_drop_o  = 1'b1;
        write_words_o = rest_words;
        write_noted_o = 1'b1;
        note_kind_o   = NkDelivered;
        note_id_o     = laddr_q[15:0];
        if (write_ready_i) state_d = Idle;
      end

      default: state_d = Idle;
    endcase
  end

  assign head_ready_o = take || take_header;
  assign idle_o       = state_q == Idle;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= Idle;
    else state_q <= state_d;
  end

  always_ff @(posedge clk_i) begin
    end_q <= end_d;
    if (take_header) begin
      header_q <= head_i;
      offset_q <= paper_offset;
    end
    if (head_valid_i) begin
      unique case (state_q)
        XOffset, MessageTag:  offset_q <= head_i;
        XLength, DataLength, MessageLength: left_q <= head_i;
        XLaddr, DataAddress, MessageId: laddr_q <= head_i;
        GetHeader2:           answer_q <= head_i;
        default: ;
      endcase
    end
    if (state_q == XLength || state_q == GetHeader2) address_q <= (is_fetch ? fetch_base_i : base_i) + offset_q;
    if (state_q == XCheck) moved_status_q <= is_fetch ? status : ST_OK;
    if (state_q == MessageVerdict && verdict_valid_i) begin
      verdict_q <= verdict_i;
      kept_q    <= verdict_bytes_i[ByteW-1:0];
      address_q <= verdict_address_i;
      // Who is told: the receive, where the payload goes to it; else the sender's command.
      if (verdict_i == MvDirect) laddr_q <= 32'(verdict_receive_i);
    end
    if (copy_ready_o) begin
      // As an XGET of a message that this rank has sent to itself.
      header_q                                         <= '0;
      header_q[X_HEADER_PTYPE_LSB+:X_HEADER_PTYPE_W]   <= PT_XGET;
      header_q[X_HEADER_LAST_LSB]                      <= 1'b1;
      header_q[X_HEADER_MESSAGE_LSB]                   <= 1'b1;
      header_q[X_HEADER_SRC_LSB+:X_HEADER_SRC_W]       <= rank_i;
      left_q                                           <= {copy_receive_i, copy_bytes_i};
      laddr_q                                          <= copy_to_i;
      address_q                                        <= copy_from_i;
      moved_status_q                                   <= ST_OK;
    end
  end

  `ALCOR_STABLE(a_write_stable, write_valid_o, write_ready_i,
                {write_drop_o, write_words_o, write_address_o, write_noted_o, note_id_o})
  `ALCOR_IMPLIES(a_replies_together, reply_task_valid_o && reply_task_ready_i,
                 reply_head_valid_o && reply_head_ready_i)
  `ALCOR_ASSERT(a_well_formed, !malformed_o)

endmodule

// Types that the blocks of the RMA coprocessor pass to each other.
// They are not part of the ABI. alcor_abi_pkg includes this file: the types contain types of the ABI, and Yosys
// resolves no type of one package inside another.
//
// A stream has `valid` and `ready` beside its struct; a struct with a member `valid` is a pulse or a level.

  /// Words of a packet's payload: wide enough for PAYLOAD_WORDS of 4096, the largest.
  typedef logic [12:0] words_t;

  // ---------------------------------------------------------------------------------- node memory

  /// A request to read or write node memory; stable until granted.
  typedef struct packed {
    /// The access is requested.
    logic        req;
    /// Word address of the first word.
    logic [29:0] address;
  } memory_request_t;

  /// Bits of memory_request_t.
  localparam int unsigned MemoryRequestW = 31;

  /// Answer to a reader of node memory. Data comes in the order of grants; the reader must take it in its cycle.
  typedef struct packed {
    /// The requested read is granted.
    logic gnt;
    /// Data of the reader's oldest granted read is valid.
    logic rvalid;
  } memory_answer_t;

  /// Bits of memory_answer_t.
  localparam int unsigned MemoryAnswerW = 2;

  // ----------------------------------------------------------------------------------------- host

  /// A write into a rank's page.
  typedef struct packed {
    /// Pulse: the write.
    logic        valid;
    /// Offset in the page.
    logic [11:0] offset;
    /// Data.
    logic [31:0] data;
  } page_write_t;

  /// Bits of page_write_t.
  localparam int unsigned PageWriteW = 45;

  /// A command: a write into the command window, or a command of the rank's kernel.
  typedef struct packed {
    /// The command comes from the kernel.
    logic        kernel;
    /// Opcode, from the address; any value.
    logic [7:0]  opcode;
    /// Operand.
    logic [31:0] data;
  } command_t;

  /// The three DATA8 operands of a paper command.
  typedef struct packed {
    /// Target rank.
    logic [7:0] dpid;
    /// Words.
    logic [7:0] length;
    /// Offset in words from the window's base.
    logic [7:0] offset;
  } data8_t;

  /// Completion of an extended command or collective.
  typedef struct packed {
    /// Outcome.
    status_e status;
    /// Command id.
    logic [15:0]            id;
  } completion_t;

  /// Bits of completion_t.
  localparam int unsigned CompletionW = 21;

  /// Completion of an extended command that came back from its target.
  typedef struct packed {
    /// The command was an atomic operation, and was carried out.
    logic        atomic;
    /// With `atomic`: the word as it was before, zero-extended.
    logic [63:0] old;
    /// Outcome and command id.
    completion_t ended;
  } answered_t;

  /// An entry of the completion ring that waits to be written.
  typedef struct packed {
    /// Words 2 and 3 of the entry are written, too.
    logic        whole;
    /// The end of a barrier.
    logic        barrier;
    /// Of a receive or probe: source of the message.
    logic [7:0]  source;
    /// Word 3.
    logic [31:0] high;
    /// Word 2.
    logic [31:0] low;
    /// Outcome and command id.
    completion_t ended;
  } ring_entry_t;

  /// Bits of ring_entry_t.
  localparam int unsigned RingEntryW = 95;

  // ---------------------------------------------------------------------------- registration table

  /// A window in the registration table.
  typedef struct packed {
    /// The slot is registered.
    logic        registered;
    /// Remote writes are denied.
    logic        deny_write;
    /// Remote reads are denied.
    logic        deny_read;
    /// Base address.
    logic [31:0] base;
    /// Bytes.
    logic [31:0] size;
  } window_t;

  /// Lookup of a window by its slot; the answer comes a cycle later and stays until the next lookup.
  typedef struct packed {
    /// Request of the lookup.
    logic       valid;
    /// Slot.
    logic [7:0] slot;
  } slot_lookup_t;

  /// From the pipeline to the registration table.
  typedef struct packed {
    /// Lookup of a slot by its base address.
    logic        lookup;
    /// Base address of the lookup.
    logic [31:0] key;
    /// A registration or deregistration is under way.
    logic        op_valid;
    /// 1: deregistration, 0: registration.
    logic        op_deregister;
    /// Commits the registration or deregistration.
    logic        op_commit;
    /// Registration: remote writes are denied.
    logic        op_deny_write;
    /// Registration: remote reads are denied.
    logic        op_deny_read;
    /// Base address of the window.
    logic [31:0] op_base;
    /// Registration: bytes of the window.
    logic [31:0] op_size;
  } table_request_t;

  /// From the registration table to the pipeline.
  typedef struct packed {
    /// A cycle after the lookup: a slot has this base address.
    logic       match;
    /// With `match`: the slot.
    logic [7:0] match_slot;
    /// No slot is vacant.
    logic       full;
    /// The next vacant slot.
    logic [7:0] next_slot;
  } table_answer_t;

  // --------------------------------------------------------------------------------------- packets

  /// A packet to send: header words come beside it, payload is read from node memory.
  typedef struct packed {
    /// Header words, 1 to 7.
    logic [2:0]  heads;
    /// Payload words.
    words_t      words;
    /// Byte address of the first byte of payload.
    logic [31:0] address;
    /// Byte lane of it in the first payload word.
    logic [1:0]  lane;
  } read_task_t;

  /// Task of a packet of four header words without payload.
  localparam logic [49:0] HeaderTask = {3'd4, 47'd0};

  /// Packets to send: a stream of header words and a stream of tasks. A packet's task goes with its last header word, unless
  /// the source says otherwise.
  typedef struct packed {
    /// A header word is offered.
    logic        head_valid;
    /// The header word.
    logic [31:0] head;
    /// A task is offered.
    logic        task_valid;
    /// The task.
    read_task_t  read;
  } outgoing_t;

  /// Answer to a source of packets.
  typedef struct packed {
    /// The header word is taken.
    logic head;
    /// The task is taken.
    logic read;
  } outgoing_taken_t;

  /// Write-done token of a write task: sent to its receiver when the task's last word is in memory.
  typedef struct packed {
    /// Receiver of the token.
    note_kind_e       kind;
    /// Rank to answer, status, and id of the command or receive.
    acknowledgement_t told;
  } note_t;

  /// Combination of a payload with the elements in memory.
  typedef struct packed {
    /// The payload is combined; otherwise it is written as it is.
    logic                  valid;
    /// Type of the elements.
    datatype_e             datatype;
    /// The operation.
    accumulate_operation_e operation;
  } reduction_t;

  /// Bits of reduction_t.
  localparam int unsigned ReductionW = 8;

  /// Write task: an arrived payload, to be written to node memory or dropped.
  typedef struct packed {
    /// Of an accumulate: how the payload is combined with memory.
    reduction_t  reduction;
    /// Drop the payload.
    logic        drop;
    /// The task has a write-done token.
    logic        noted;
    /// The packet has no beat of payload.
    logic        bare;
    /// Payload words that the packet has by its header.
    words_t      words;
    /// Payload words that are written: fewer than `words` where a message is longer than its receive buffer.
    words_t      kept;
    /// Byte lane of the last byte that is written.
    logic [1:0]  end_lane;
    /// Byte address of the first payload byte.
    logic [31:0] address;
    /// The write-done token.
    note_t       note;
  } write_task_t;

  /// Place of a header word in a packet of the request plane.
  typedef enum logic [2:0] {
    RwHeader    = 3'd0,  // the first word
    RwGet       = 3'd1,  // GET: second word
    RwOffset    = 3'd2,  // extended packet: offset in the window
    RwLength    = 3'd3,  // extended packet: length; of an atomic operation its id and operation
    RwReduction = 3'd4,  // accumulate: operation and type
    RwAddress   = 3'd5,  // XGET, accumulate that fetches: local address of the requester
    RwOther     = 3'd6   // a word of a message, or a value of an atomic operation
  } request_word_e;

  /// A packet of the request plane whose header words have been taken.
  typedef struct packed {
    /// The access is refused.
    logic         refused;
    /// Reason of `refused`, otherwise ST_OK.
    status_e      status;
    /// An XGET that fetches a message, or a copy of the message engine.
    logic         fetch;
    /// An atomic operation.
    logic         atomic;
    /// An accumulate.
    logic         accumulate;
    /// An accumulate that fetches the old elements.
    logic         fetches;
    /// The first header word.
    x_header_t    header;
    /// Length and id of the last packet of an extended command; of an atomic operation its id and operation.
    x_length_t    length;
    /// GET: the second header word.
    get_header2_t answer;
    /// Local address of the requester.
    logic [31:0]  laddr;
    /// Byte address of the access in node memory.
    logic [31:0]  address;
    /// Bytes of payload of an extended packet, or of its answer.
    logic [14:0]  bytes;
    /// Write task of the payload. `words` are also the words of an answer.
    write_task_t  payload;
  } request_packet_t;

  /// Packets of the reply plane that `rma_reply_sender` sends.
  typedef enum logic [1:0] {
    AkNone = 2'd0,  // none
    AkAck  = 2'd1,  // XACK
    AkGet  = 2'd2,  // answer to a GET
    AkData = 2'd3   // XDATA: the answer to an XGET, old elements of an accumulate, or a copy inside the rank
  } answer_kind_e;

  /// Pulses: refusals of a packet controller.
  typedef struct packed {
    /// An access failed its check.
    logic                        refused;
    /// The access was that of a paper packet, so no rank gets a status.
    logic                        dropped;
    /// The packet's type does not belong on this plane, or the packet has more or fewer beats than its header says.
    logic                        malformed;
    /// Reason of `refused`.
    status_e      status;
    /// Type of the packet.
    packet_type_e ptype;
  } refusal_t;

  // -------------------------------------------------------------------------- collective commands

  /// A rank at a collective command.
  typedef struct packed {
    /// The rank is at a collective command.
    logic                      valid;
    /// The collective command.
    sync_kind_e kind;
    /// Status of this rank for the command.
    status_e    status;
    /// Slot of the registration or deregistration.
    logic [7:0]                slot;
  } sync_request_t;
  localparam int unsigned SyncRequestW = 16;  // bits of sync_request_t

  /// The end of a collective command, sent to all ranks.
  typedef struct packed {
    /// All ranks of the run were at a collective command two cycles ago.
    logic                   fire;
    /// The status for all ranks.
    status_e status;
  } sync_answer_t;

  // ------------------------------------------------------------------------------- board and rank

  /// Signals from a board to one of its ranks.
  typedef struct packed {
    /// Ranks of the run: a rank that declares more is refused.
    logic [7:0] ranks;
    /// The run is aborted, by any rank.
    logic       aborted;
    /// Another rank that had begun is reset: a pulse for a rank of this board, a level for one of another board.
    logic       peer_lost;
    /// Pulse: the switch dropped a packet, as no link leads to its destination.
    logic       unrouted;
    /// Pulse: a packet of another run was dropped.
    logic       foreign;
    /// Pulse: a phit of a collective was dropped for its row's key, or as its row was taken out of use.
    logic       stale;
    /// Pulse: a packet from another board was damaged on its way.
    logic       damaged;
    /// Pulse: a write of a communicator row was refused, as the rank does not own the row.
    logic       denied;
  } board_to_rank_t;
  localparam int unsigned BoardToRankW = 15;  // bits of board_to_rank_t

  /// Reason to cancel collectives of a rank that wait for other members.
  typedef struct packed {
    logic drain;     // the rank is being reset: all its collectives
    logic orphaned;  // another rank of the board was reset: collectives with that rank as a member
  } cancel_t;
  localparam int unsigned CancelW = 2;  // bits of cancel_t

  /// Effects of resets on the collectives of a rank.
  typedef struct packed {
    logic    lost;    // pulse: the rank had begun, and is reset
    cancel_t cancel;  // the reason to cancel collectives that wait for other members, and to refuse new ones
  } rank_reset_t;
  localparam int unsigned RankResetW = 3;  // bits of rank_reset_t

  /// Signals from a rank to its board.
  typedef struct packed {
    /// RANK_STATE.
    board_rank_state_t state;
    /// Pulse: the rank aborts the run.
    logic              aborts;
    /// Reason of the abort.
    logic [7:0]        abort_reason;
    /// The registration table and the message engine are cleared.
    logic              ready;
    /// Pulse: the rank had begun, and is reset.
    logic              lost;
    /// The reason to cancel collectives that wait for other ranks, and to refuse new ones.
    cancel_t           cancel;
  } rank_to_board_t;
  localparam int unsigned RankToBoardW = 45;  // bits of rank_to_board_t

  // ------------------------------------------------------------------------------------- pipeline

  /// Pulses: results of commands that have no completion.
  typedef struct packed {
    /// A command left the Instruction FIFO.
    logic                   retired;
    /// An opcode does not exist, or a paper command's second write is missing.
    logic                   bad_opcode;
    /// A barrier has ended.
    logic                   barrier_done;
    /// The ranks were in different collective commands; with `barrier_done`.
    logic                   mismatch;
    /// A command was refused.
    logic                   refused;
    /// Reason of `refused`.
    status_e refused_status;
    /// Opcode of the refused command.
    logic [7:0]             refused_opcode;
    /// A registration or deregistration has ended.
    logic                   result_valid;
    /// Outcome of the registration.
    status_e result_status;
    /// Slot of the registration.
    logic [7:0]             result_slot;
    /// A barrier of the kernel has ended, or is refused; it raises no other event.
    logic                   kernel_barrier;
    /// Outcome of the kernel's barrier.
    status_e                kernel_status;
    /// A command of the kernel needs its operands no longer.
    logic                   kernel_done;
  } pipeline_events_t;

  /// State of a rank's command queue and pipeline.
  typedef struct packed {
    /// Between BEGIN and END.
    logic       begun;
    /// Ranks of the run.
    logic [7:0] nprocs;
    /// A rank was reset since BEGIN of this rank: collective commands end at once.
    logic       orphaned;
    /// Pulse: a request with one answer has been sent.
    logic       asked;
    /// A packet's second word and memory task are still to be sent.
    logic       sending;
    /// Commands are queued or in the pipeline.
    logic       commands;
    /// Operands of paper commands are queued.
    logic       operands;
    /// Pulse: a command was written.
    logic       written;
    /// Pulse: a command write met a full FIFO and was lost.
    logic       overflow;
    /// Pulse: ABORT was written.
    logic       aborts;
    /// Reason of the abort.
    logic [7:0] abort_reason;
  } issue_state_t;

  /// Operands of the extended command in EX1: the host's, or the kernel's.
  typedef struct packed {
    /// X_WINDOW names the window of the command.
    logic        window;
    /// With `window`: a slot has the base address that X_WINDOW names.
    logic        window_match;
    /// With `window_match`: the slot.
    logic [7:0]  window_slot;
    /// The buffer at X_LADDR ends beyond node memory.
    logic        beyond;
    /// X_LENGTH is longer than an eager message.
    logic        too_long;
    /// The buffer of an accumulate's old elements ends beyond node memory.
    logic        old_beyond;
    /// X_OFFSET.
    logic [31:0] offset;
    /// X_LADDR.
    logic [31:0] laddr;
    /// X_LENGTH.
    logic [31:0] length;
    /// X_TAG.
    x_tag_t      tag;
    /// X_COMPARE_HIGH and X_COMPARE.
    logic [63:0] compare;
    /// X_OPERAND_HIGH and X_OPERAND.
    logic [63:0] value;
  } x_operands_t;

  /// A decoded command in EX1.
  typedef struct packed {
    /// The second write of a paper command.
    logic        second;
    /// The opcode is known.
    logic        known;
    /// A collective command: a barrier, a registration or a deregistration.
    logic        collective;
    /// With `collective`: a barrier.
    logic        barrier;
    /// A command of the paper: PUT-1, PUT-n or GET.
    logic        paper;
    /// The command of an extended operation.
    logic        extended;
    /// An operand of an extended operation.
    logic        operand;
    /// The command is X_SEND or X_ANNOUNCE.
    logic        message;
    /// The command is X_SEND.
    logic        eager;
    /// The command is X_GET.
    logic        x_get;
    /// The command is X_PUT, X_GET or an accumulate.
    logic        x_transfer;
    /// The command is an accumulate.
    logic        accumulate;
    /// With `accumulate`: the old elements are fetched.
    logic        fetch;
    /// The command is an atomic operation.
    logic        atomic;
    /// A slot has the base address that the operand names.
    logic        match;
    /// With `match`: the slot.
    logic [7:0]  slot;
    /// Of a PUT-n: its source ends beyond node memory.
    logic        beyond;
    /// DATA8 operands of a paper command's second write.
    data8_t      data8;
    /// Opcode and operand.
    command_t    command;
  } decoded_t;

  /// Registers of the completion ring, as the host has written them.
  typedef struct packed {
    /// CQ_BASE is being written; resets the count of entries.
    logic        clear;
    /// log2 of the ring's entries.
    logic [3:0]  log2_entries;
    /// Base address.
    logic [31:0] base;
    /// Entries that the host has taken.
    logic [31:0] tail;
    /// Commands retired.
    logic [31:0] retired;
    /// Entries are copied into host memory.
    logic        copies;
    /// Bus address of the ring in host memory.
    logic [63:0] host;
  } ring_settings_t;

  /// State of the completion ring.
  typedef struct packed {
    /// CQ_HEAD: entries written.
    logic [31:0] head;
    /// Bits of the head that are an entry's place in the ring, of 2^15 entries at most.
    logic [14:0] mask;
    /// Pulse: the ring was full and a completion is lost.
    logic        overflow;
    /// CQ_BASE has been written; the head is reset in the last cycle.
    logic        clearing;
  } ring_state_t;

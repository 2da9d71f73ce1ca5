// Types of the switch: heads of phits, and bundles between the blocks of the router, the collective unit and the links.
// They are not part of the ABI. alcor_abi_pkg includes this file: the types contain types of the ABI, and Yosys
// resolves no type of one package inside another. Structs with a phit's data are in phit_types.svh, those
// of the router in router_types.svh.
//
// A stream has `valid` and `ready` beside its struct; a struct with a member `valid` is a pulse or a level. Arrays and
// memories of these structs are declared with vectors of the widths below, because Yosys misreads arrays of structs.

  /// Communicator: a row of the communicator table.
  typedef logic [4:0] row_t;

  /// Set of communicators, a bit for each.
  typedef logic [31:0] rows_t;

  /// Place in a message, in words.
  typedef logic [27:0] place_t;

  /// Word address in a node memory: wide enough for the largest.
  typedef logic [29:0] word_address_t;

  /// Pulse with a communicator.
  typedef struct packed {
    logic valid;  // the pulse
    row_t row;    // communicator
  } row_pulse_t;
  localparam int unsigned RowPulseW = 6;  // bits of row_pulse_t

  // ----------------------------------------------------------------------------------------- phits

  /// Head of a phit on the network: the bits above the phit's data.
  typedef struct packed {
    net_position_t position;  // which words of a message the phit holds
    net_high_t     high;      // network header, high half-word
    net_low_t      low;       // network header, low word
  } phit_head_t;
  localparam int unsigned PhitHeadW = 80;  // bits of phit_head_t

  /// Words of a message that a phit of a collective holds.
  typedef struct packed {
    place_t     word;   // place of the first word
    logic [3:0] words;  // words, less one
  } span_t;
  localparam int unsigned SpanW = 32;  // bits of span_t

  /// Head of a token: a token is a phit of a collective inside a board.
  typedef struct packed {
    row_t row;        // communicator
    logic signature;  // the token is a signature
  } token_head_t;
  localparam int unsigned TokenHeadW = 6;  // bits of token_head_t

  /// Half of a message that is divided between two halves of the boards; no bit is set if the message is undivided.
  typedef struct packed {
    logic own;    // the half that this board is in
    logic other;  // the other half, beyond stage 0
  } part_t;

  /// Tag of a read of the members' memories, returned with the data.
  typedef struct packed {
    part_t       part;  // part that the phit is of
    logic        copy;  // the phit goes to the copy unit, in place of stage 0
    token_head_t head;  // head of the token that the phit becomes
    span_t       span;  // words of the phit
  } read_note_t;
  localparam int unsigned ReadNoteW = 41;  // bits of read_note_t

  /// Part of an arrived phit that the receiver reads before it takes the phit out of its window.
  typedef struct packed {
    logic       parity;  // parity of the phit's collective
    phit_kind_e kind;    // kind of the phit
  } arrival_note_t;

  /// Credits that the partner has given back.
  typedef struct packed {
    logic        valid;  // credits arrive
    row_t        row;    // communicator
    logic [15:0] phits;  // number of credits, in phits
  } returned_t;

  /// A request for room in a stage; the answer comes in the same cycle.
  typedef struct packed {
    token_head_t head;  // communicator and kind of the token that needs room
    part_t       part;  // part that the token is of
  } ask_t;
  localparam int unsigned AskW = 8;  // bits of ask_t

  // ------------------------------------------------------------------------- operands of commands

  /// Arguments on which the members of a collective must agree.
  typedef struct packed {
    logic [31:0]  count;  // Register C_COUNT
    rank_c_what_t what;   // Register C_WHAT
  } signature_t;
  localparam int unsigned SignatureW = 64;  // bits of signature_t

  /// Words that a member gives to a collective.
  typedef struct packed {
    word_address_t address;  // word address of the first word
    place_t        first;    // place of the first word in the message
    place_t        words;    // number of words
  } source_t;
  localparam int unsigned SourceW = 86;  // bits of source_t

  /// Words that a member keeps of a collective.
  typedef struct packed {
    word_address_t address;  // word address of the first word
    place_t        low;      // place of the first word in the message
    place_t        high;     // place after the last word
    logic [15:0]   id;       // command id
  } destination_t;
  localparam int unsigned DestinationW = 102;  // bits of destination_t

  /// A member's request for a collective.
  typedef struct packed {
    rank_c_what_t what;   // Register C_WHAT
    place_t       words;  // number of words that the member gives
  } coll_request_t;
  localparam int unsigned CollRequestW = 60;  // bits of coll_request_t

  // ------------------------------------------------------------------------- communicators' state

  /// Communicator table.
  typedef struct packed {
    logic [31:0][7:0] label;  // this board's label
    /// Lowest label that folds onto a lower label; 0 if the number of boards is a power of two.
    logic [31:0][7:0] fold;
    logic [31:0][2:0] stages;  // stages that the communicator has
    rows_t            valid;   // rows in use
    /// This board's label is folded: the board gives its data to its partner in stage 0.
    rows_t            upper;
    rows_t            lower;  // another label is folded onto this board's
    /// Keys: a phit of another key is dropped.
    logic [31:0][7:0] key;
    /// Rows not written since reset or since they were taken out of use: phits are dropped, collectives are refused.
    rows_t            closed;
  } comm_table_t;

  /// Pulse: a row of the communicator table has been written or taken out of use.
  typedef struct packed {
    logic       valid;   // the pulse
    row_t       row;     // communicator
    logic       flush;   // phits in the row's windows are dropped
    logic [6:0] revokes; // by stage: the partner is notified that the row is out of use
    logic [2:0] stages;  // stages that the communicator has
    logic       folds;   // the number of boards is no power of two
    logic       upper;   // this board's label is folded
    logic       lower;   // another label is folded onto this board's
  } shape_t;

  /// Computation of a collective: its function and its algorithm.
  typedef struct packed {
    datatype_e   datatype;   // type of the elements
    operation_e  operation;  // operation
    algorithm_e  algorithm;  // algorithm
    collective_e opcode;     // collective
  } coll_call_t;
  localparam int unsigned CollCallW = 13;  // bits of coll_call_t

  /// Collectives of all communicators.
  typedef struct packed {
    logic [31:0][12:0] calls;   // computation of the collective, a coll_call_t for each communicator
    rows_t             active;  // a collective is under way
    rows_t             parity;  // parity of the collective
    rows_t             copies;  // the collective only copies
  } collectives_t;

  /// Arguments of a collective on which depends which boards send data to each other, and which keep it.
  typedef struct packed {
    logic [7:0]  label;   // label of the root's board
    collective_e opcode;  // collective
  } flow_t;
  localparam int unsigned FlowW = 12;  // bits of flow_t

  /// Announcement of a collective to the partners of this board.
  typedef struct packed {
    logic  tells;  // this board gives so many words that it announces the collective
    flow_t flow;   // arguments that determine the streams of data
  } announce_t;

  /// Role of this board in a collective.
  typedef struct packed {
    coll_call_t call;      // computation of the collective
    logic       copies;    // the collective only copies
    logic       here;      // copies are for this board, too
    logic       parts;     // data is read in parts
    logic       high;      // with `parts`: this board's half is the upper one
    logic [3:0] giver;     // the first member that gives words to be copied
    announce_t  announce;  // announcement to the partners
  } plan_t;

  /// Role of a stage of this board in a collective.
  typedef struct packed {
    logic   sends;   // data of the stage before is sent to the partner
    logic   keeps;   // data of the stage before is kept and combined
    logic   halves;  // one of both boards keeps the data: recursive halving
    logic   high;    // with `halves`: the upper half is kept here
    place_t middle;  // with `halves`: place of the first word of the upper half
  } stage_plan_t;
  localparam int unsigned StagePlanW = 32;  // bits of stage_plan_t

  /// Treatment by a stage of a token from the stage before.
  typedef struct packed {
    logic keep;    // the token is kept
    logic send;    // the token is sent to the partner
    logic unkept;  // the token is not kept, though room was reserved
    logic unsent;  // the token is not sent, though room was reserved
  } division_t;

  /// Rows of the communicator table, as a stage uses them.
  typedef struct packed {
    logic [31:0][15:0] partner;  // global rank of a rank on the partner board
    logic [31:0][7:0]  key;      // keys: a phit of another key is dropped
    rows_t             closed;   // rows out of use: their phits are dropped
  } stage_rows_t;

  /// Begin and end of collectives, for a stage.
  typedef struct packed {
    row_pulse_t  begins;    // a collective begins
    stage_plan_t plan;      // with `begins`: role of the stage in the collective
    announce_t   announce;  // with `begins`: announcement to the partner
    row_pulse_t  ends;      // a collective has ended
  } stage_events_t;

  /// Conditions under which phits leave the windows of a stage.
  typedef struct packed {
    logic  pause;          // no phit leaves a window
    rows_t copy_holds;     // communicators with phits in the copy unit: their signatures wait
    rows_t result_credit;  // communicators that have a credit for a result, or need none
  } stage_gates_t;

  /// State of a stage.
  typedef struct packed {
    logic  busy;         // a token is on its way from the stage
    rows_t owes;         // communicators with credits that are due: their next signature waits
    rows_t leaving;      // communicators with a signature that is to be sent: their next collective waits
    rows_t fold_credit;  // in stage 0: communicators with a credit towards the partner that is left for a result
  } stage_state_t;

  /// Pulses: phits that a stage receives and that belong to no collective.
  typedef struct packed {
    logic       stale;    // a phit of another key, or for a row out of use, is dropped
    row_pulse_t revoked;  // the partner board has taken the row out of use
  } stage_report_t;

  /// Offer of an arrived phit to the copy unit.
  typedef struct packed {
    logic        soon;   // there will be a phit to copy in the next cycle, unless the phit cannot go yet
    logic        valid;  // the phit can be taken in this cycle
    token_head_t head;   // communicator and kind of the phit
  } copy_offer_t;

  /// Heads of a stage's windows in one communicator.
  typedef struct packed {
    arrival_note_t arrival;        // note of the arrived phit
    logic          own_signature;  // the own token is a signature
  } stage_heads_t;

  /// A pass through the vector unit of a stage.
  typedef struct packed {
    logic valid;  // a token passes
    logic alone;  // the own token passes without an arrived phit
    logic last;   // the stage is the communicator's last: the token is a result
  } stage_pass_t;

  // ----------------------------------------------------------------------------- board and network

  /// Settings of a board's network, from the registers of the board.
  typedef struct packed {
    logic [7:0] key;            // key of the run
    logic [5:0] dateline;       // link ports whose links close a ring
    logic       forward_write;  // pulse: a write to the forwarding table
    logic [7:0] forward_rank;   // with `forward_write`: destination rank
    logic [3:0] forward_port;   // with `forward_write`: port that leads to the rank
  } network_settings_t;

  /// State of a board's network, for the registers of the board.
  typedef struct packed {
    logic        drop;         // pulse: a packet is dropped, as no link leads to its destination
    logic        foreign;      // pulse: a packet of another run is dropped
    logic        damaged;      // pulse: a packet from another board was damaged on its way
    logic        lost;         // a rank of the run was reset on some board
    logic [2:0]  stale;        // phits that the collective unit dropped in the cycle before
    logic [5:0]  link_tx;      // pulse, by link port: a phit is sent
    logic [5:0]  link_rx;      // pulse, by link port: a phit is received
    rows_t       collectives;  // communicators with a collective under way
    logic [15:0] row_writes;   // ranks with a write of a row that has not been carried out
    logic [15:0] row_denied;   // pulse, by rank: a write of a row is refused, or a collective whose completion has no room
  } network_state_t;

  /// Pulse: an abort of the run, which all boards forward.
  typedef struct packed {
    logic        valid;  // the pulse
    logic [15:0] data;   // the rank that aborted, and its reason
  } abort_t;

  /// Collective command of a board: a barrier, a registration or a deregistration.
  typedef struct packed {
    logic       present;  // two cycles ago all ranks of the board were at the command
    logic       fire;     // `present`, and all was quiet
    status_e    status;   // status of the command on the board
    sync_kind_e kind;     // the command
    logic [7:0] slot;     // the registration slot that the command names
  } board_sync_t;

  /// A write of a phit to a node memory: stays, unchanged, until it is done. Data is beside it.
  typedef struct packed {
    logic          valid;    // the write
    word_address_t address;  // word address of the first word
    logic [15:0]   strobe;   // words to be written
  } phit_write_t;
  localparam int unsigned PhitWriteW = 47;  // bits of phit_write_t

  // ----------------------------------------------------------------------------------------- links

  /// Virtual channel of a link.
  typedef struct packed {
    logic [1:0] class_;    // class: 0 requests, 1 replies, 2 collectives, 3 control
    logic       dateline;  // the dateline of the ring has been crossed
  } channel_t;

  /// One direction of a link port: a phit, which is beside the struct, and a credit for a phit of the other direction.
  typedef struct packed {
    logic     valid;      // pulse: there is a phit
    channel_t vc;         // channel of the phit
    logic     credit;     // pulse: a credit is given back
    channel_t credit_vc;  // channel of the credit
  } link_flow_t;
  localparam int unsigned LinkFlowW = 8;  // bits of link_flow_t

  /// A word of a frame.
  typedef struct packed {
    logic         last;  // the word is the frame's last
    logic [511:0] data;  // the word
  } frame_word_t;

  /// First word of a frame.
  typedef struct packed {
    logic [191:0]   padding;    // zero
    link_rounds_t   rounds;     // rounds of sending again
    link_epochs_t   epochs;     // epochs of sender and receiver
    link_sequence_t sequence_;  // number of the frame, and acknowledgement
    logic [31:0]    shape;      // Register SHAPE of the sender's board
    link_credits_t  credits;    // credits given back
    logic [31:0]    abi;        // ABI hash of the sender
    link_frame_t    frame;      // type, layout and kind of the frame
    logic [95:0]    addresses;  // destination and source
  } first_word_t;

  /// A slot of a frame: a phit of 256 bits of data, if there is one, and its channel.
  typedef struct packed {
    link_slot_t   tag;   // whether there is a phit, and its channel
    logic [335:0] phit;  // the phit
  } slot_t;

  /// A phit, a credit, or one of each, on the way to a frame.
  typedef struct packed {
    logic       credit;     // there is a credit
    logic [2:0] credit_vc;  // channel of the credit
    slot_t      slot;       // the phit
  } link_entry_t;

  /// Epoch of a link end: the time between two resets of its board.
  typedef struct packed {
    logic [7:0] resets;  // resets of the board, modulo 256
    logic [7:0] key;     // PLACE.key of the board
  } link_epoch_t;

  /// State of a link end's session, which each frame carries.
  typedef struct packed {
    logic        greets;  // this end has an epoch, and seeks the other end's agreement
    logic        open;    // both ends have agreed on their epochs
    logic        known;   // the other end's epoch is known
    link_epoch_t own;     // epoch of this end
    link_epoch_t other;   // with `known`: epoch of the other end
  } link_session_t;

  /// News of the receiving half of a link end for the sending half.
  typedef struct packed {
    logic        arrived;       // pulse: a numbered frame has arrived, and is to be acknowledged
    logic        lost;          // pulse: a frame is missing or damaged, and is to be asked for
    logic        answer;        // pulse: the other end is to be told of this end's session
    logic [15:0] expected;      // number of the word that is expected next
    logic [7:0]  round;         // round of the other end, as last seen
    logic        heard;         // pulse: the three members below are valid
    logic [15:0] acknowledged;  // number of the word that the other end expects next
    logic        again;         // the other end asks for what it expects
    logic [7:0]  again_round;   // with `again`: this end's round in which a frame was lost
  } link_news_t;

  /// Faults of the receiving half of a link end.
  typedef struct packed {
    logic stale;    // the other board was reset after both ends had agreed
    logic foreign;  // a frame had another layout, ABI or SHAPE
    logic overrun;  // a buffer ran over; does not happen
  } link_faults_t;

  /// Pulses: frames that the receiving half of a link end drops.
  typedef struct packed {
    logic foreign;   // a frame of another layout, ABI, SHAPE or epoch
    logic repeated;  // a frame that had arrived before
    logic early;     // a frame without the one before it
    logic damaged;   // a frame that was damaged or cut off
  } link_drops_t;

  /// Pulses: events of a link end, each with a counter.
  typedef struct packed {
    logic        retrain;  // the other end stayed silent
    logic        fall;     // the link went down
    logic        timeout;  // frames are sent again because no acknowledgement came
    logic        replay;   // frames are sent again because the other end asked
    link_drops_t drops;    // frames are dropped
  } link_events_t;

  /// Counts of a link end's events, in the order of their registers.
  typedef struct packed {
    logic [15:0] retrains;
    logic [15:0] falls;
    logic [15:0] timeouts;
    logic [15:0] replays;
    logic [15:0] foreign;
    logic [15:0] repeated;
    logic [15:0] early;
    logic [15:0] damaged;
  } link_counts_t;

// Types of two-sided messages: between the coprocessor and its message engine, and inside the engine.
// They are not part of the ABI. alcor_abi_pkg includes this file: the types contain types of the ABI, and Yosys
// resolves no type of one package inside another.
//
// A stream has `valid` and `ready` beside its struct; a struct with a member `valid` is a pulse or a level.

  /// Operations of a match queue.
  typedef enum logic [1:0] {
    MoSearch = 2'd0,  // find the first matching entry, and remove it
    MoProbe  = 2'd1,  // find the first matching entry
    MoAppend = 2'd2,  // append an entry
    MoRemove = 2'd3   // remove an entry by its number
  } match_op_e;

  /// Operations of a command for the message engine.
  typedef enum logic [1:0] {
    McReceive = 2'd0,  // post a receive
    McProbe   = 2'd1,  // look for an unexpected message
    McCancel  = 2'd2,  // cancel a posted receive
    McFlush   = 2'd3   // drop all unexpected messages, during a reset of the rank
  } message_command_e;

  /// Destination of the payload of an arriving message.
  typedef enum logic [1:0] {
    MvNone   = 2'd0,  // dropped: the receive takes no byte
    MvStore  = 2'd1,  // into its fragment of the unexpected message buffer
    MvDirect = 2'd2,  // into the receive buffer
    MvRefuse = 2'd3   // dropped for lack of room; the sender gets a status
  } message_verdict_e;

  /// Receiver of a write-done token.
  typedef enum logic [1:0] {
    NkCommand   = 2'd0,  // the rank of the command: by an acknowledgement, or in the completion ring
    NkStored    = 2'd1,  // the message engine: a payload is in its fragment
    NkDelivered = 2'd2   // the message engine: a payload is in the receive buffer
  } note_kind_e;

  /// Match bits of a message or receive, and mask bits of a receive.
  typedef struct packed {
    /// Source rank.
    logic [7:0]  source;
    /// Context.
    logic [7:0]  context_;
    /// Tag.
    logic [25:0] tag;
  } match_t;

  /// Bits of match_t.
  localparam int unsigned MatchW = 42;

  /// Number of a receive or message inside an engine: wide enough for the largest engine.
  typedef logic [9:0] entry_t;

  /// A buffer in node memory.
  typedef struct packed {
    /// Byte address.
    logic [31:0] address;
    /// Bytes.
    logic [31:0] length;
  } buffer_t;

  // ------------------------------------------------------------------ pipeline and message engine

  /// A command for the message engine.
  typedef struct packed {
    /// Operation.
    message_command_e     command;
    /// Source; not used by McCancel.
    logic [7:0]           rank;
    /// Context.
    logic [7:0]           context_;
    /// Command id.
    logic [15:0]          id;
    /// Tag, and wildcards of source and tag.
    x_tag_t tag;
    /// Receive buffer; of an announcement, the message.
    buffer_t              buffer;
  } engine_command_t;

  /// Bits of an engine_command_t.
  localparam int unsigned EngineCommandW = 130;

  /// A message of this rank that others may fetch.
  typedef struct packed {
    /// Command id.
    logic [15:0] id;
    /// The message.
    buffer_t     buffer;
  } announced_t;

  /// Completion of a receive or probe.
  typedef struct packed {
    /// Outcome.
    status_e status;
    /// Command id.
    logic [15:0]            id;
    /// Source of the message.
    logic [7:0]             source;
    /// Tag of the message; of a probe also whether a kernel has announced it.
    cq_message_t            message;
    /// Length of the message in bytes.
    logic [31:0]            length;
  } received_t;

  // ------------------------------------------------- request plane's receive side and message engine

  /// Contents of a message's header.
  typedef struct packed {
    /// An announcement, without payload.
    logic        announce;
    /// A recall: the engine drops messages of this source that no receive has taken.
    logic        recall;
    /// Source, context and tag.
    match_t      match;
    /// Serial number among the messages of its source to this rank, as in message_id.
    logic [5:0]  serial;
    /// Command id of the sender.
    logic [15:0] id;
    /// Length in bytes.
    logic [31:0] length;
  } arrival_t;

  /// Match result of the engine for a message.
  typedef struct packed {
    /// Destination of the payload.
    message_verdict_e kind;
    /// With MvDirect: id of the receive.
    logic [15:0]      receive;
    /// Byte address that the payload goes to.
    logic [31:0]      address;
    /// Bytes of the payload that are written.
    logic [31:0]      bytes;
  } verdict_t;

  /// A copy of a payload from its fragment to a receive buffer.
  typedef struct packed {
    /// Byte address of the fragment.
    logic [31:0] from;
    /// Byte address of the receive buffer.
    logic [31:0] to;
    /// Id of the receive.
    logic [15:0] receive;
    /// Bytes.
    logic [15:0] bytes;
  } copy_t;

  /// An acknowledgement of a command.
  typedef struct packed {
    /// Rank of the command.
    logic [7:0]             rank;
    /// Outcome.
    status_e status;
    /// Command id.
    logic [15:0]            id;
  } acknowledgement_t;

  /// Pulse: a payload is in a receive buffer.
  typedef struct packed {
    /// The pulse.
    logic                   valid;
    /// Outcome.
    status_e status;
    /// Id of the receive.
    logic [15:0]            receive;
  } delivered_t;

  /// From the request plane's receive side to the message engine.
  typedef struct packed {
    /// A message arrives; its source is valid a cycle before.
    logic       arrival_valid;
    /// The message.
    arrival_t   arrival;
    /// The payload of the last taken message must not wait longer for its match result.
    logic       late;
    /// The match result is taken.
    logic       verdict_ready;
    /// Pulse: an XGET asks for an announced message.
    logic       fetch_valid;
    /// Id of the announced message.
    entry_t     fetch_id;
    /// The copy is taken.
    logic       copy_ready;
    /// The acknowledgement is taken.
    logic       ack_ready;
    /// Pulse: a payload is in its fragment.
    logic       stored;
    /// A payload without a fragment is in the receive buffer.
    delivered_t delivered;
  } to_engine_t;

  /// From the message engine to the request plane's receive side.
  typedef struct packed {
    /// The arriving message is taken.
    logic             arrival_ready;
    /// With `arrival_ready`: the message is refused.
    logic             arrival_refused;
    /// With `arrival_refused`: sources whose messages are refused; 0 if the message has no serial number.
    logic [4:0]       arrival_line;
    /// Match result of the last taken message is valid; only for a message with a payload, and for a recall.
    logic             verdict_valid;
    /// The match result.
    verdict_t         verdict;
    /// Buffer of the announced message `fetch_id`, valid a cycle after `fetch_valid`.
    buffer_t          fetch;
    /// A copy is offered.
    logic             copy_valid;
    /// The copy.
    copy_t            copy;
    /// An acknowledgement is offered.
    logic             ack_valid;
    /// The acknowledgement.
    acknowledgement_t ack;
  } from_engine_t;

  // --------------------------------------------------------------------------- matcher and delivery

  /// Pulse: a matched pair of a receive and a message.
  typedef struct packed {
    /// The pulse.
    logic        valid;
    /// There is no receive: the message is dropped.
    logic        dropped;
    /// With `dropped`: the message is refused for lack of room. Otherwise it is recalled.
    logic        refused;
    /// The payload goes to the receive buffer without a fragment.
    logic        direct;
    /// The receive.
    entry_t      receive;
    /// The message.
    entry_t      message;
    /// Payloads sent to fragments up to and including this one, modulo 4096.
    logic [11:0] stored;
  } pair_t;

  /// A pair whose entries become free.
  typedef struct packed {
    /// There is no receive.
    logic       dropped;
    /// The receive.
    entry_t     receive;
    /// The message.
    entry_t     message;
    /// Source of the message.
    logic [7:0] source;
  } retire_t;

  /// Pulse: a receive takes its entry.
  typedef struct packed {
    /// The pulse.
    logic    valid;
    /// The receive.
    entry_t  entry;
    /// The payload of an announced message stays at its sender.
    logic    defer;
    /// The receive's buffer.
    buffer_t buffer;
  } enter_receive_t;

  /// Pulse: the arriving message takes its entry.
  typedef struct packed {
    /// The pulse.
    logic   valid;
    /// The message.
    entry_t entry;
  } enter_message_t;

  /// A message that waits for its search, or a recall.
  typedef struct packed {
    /// A recall.
    logic   recall;
    /// Entry of the message.
    entry_t entry;
    /// Match bits of the message; of a recall, its source.
    match_t match;
  } waiting_message_t;

  /// Pulses: outcomes of searches.
  typedef struct packed {
    /// A message has found its receive.
    logic   matched;
    /// A message has found no receive, and is appended to the unexpected messages.
    logic   kept;
    /// A recall has dropped all waiting messages of its source.
    logic   recalled;
    /// With `matched`: the receive.
    entry_t receive;
    /// With `matched` and `kept`: the message.
    entry_t message;
  } search_outcome_t;

  /// Settings of the matcher, written by the host.
  typedef struct packed {
    /// Minimum length of the posted queue at which its matching unit is used.
    logic [15:0] posted_threshold;
    /// Minimum length of the unexpected queue at which its matching unit is used.
    logic [15:0] unexpected_threshold;
    /// Maximum number of unexpected messages of a source.
    logic [15:0] quota;
  } matcher_settings_t;

  /// Counts of the matcher.
  typedef struct packed {
    /// Posted receives that wait.
    logic [15:0] posted;
    /// Unexpected messages that wait.
    logic [15:0] unexpected;
    /// Pulses: found by the unit, found by the walk; [1:0] posted receives, [3:2] unexpected messages.
    logic [3:0]  found;
    /// Pulse: a message is refused.
    logic        refused;
    /// With `refused`: the message has no serial number, so its sender does not send it again.
    logic        lost;
  } matcher_counts_t;

// Types between a kernel, its port, and the blocks that carry out its commands.
// alcor_abi_pkg includes this file: the types contain types of the ABI, and Yosys resolves no type of another package.

  /// A command of a kernel: a beat of its command stream, 36 bytes.
  typedef struct packed {
    /// C_WHAT.
    logic [31:0]  what;
    /// C_COUNT.
    logic [31:0]  count;
    /// C_HIGH.
    logic [31:0]  high;
    /// C_LOW.
    logic [31:0]  low;
    /// C_DESTINATION.
    logic [31:0]  destination;
    /// Byte offset in the window, x_tag of a message, or C_FIRST.
    logic [31:0]  offset;
    /// Bytes, or C_WORDS.
    logic [31:0]  length;
    /// Byte address in local node memory.
    logic [31:0]  address;
    /// Opcode, tag, rank and slot.
    kernel_head_t head;
  } kernel_command_t;

  /// Bits of kernel_command_t.
  localparam int unsigned KernelCommandW = 288;

  /// Completion of a kernel's command: a beat of its completion stream, 12 bytes.
  typedef struct packed {
    /// Of a receive or probe: bytes of the message. Of an atomic operation: bits 63 to 32 of the old value.
    logic [31:0]    length;
    /// Of a receive or probe: tag of the message. Of an atomic operation: bits 31 to 0 of the old value.
    logic [31:0]    message_tag;
    /// Tag of the command, outcome, source.
    kernel_result_t result;
  } kernel_completion_t;

  /// Bits of kernel_completion_t.
  localparam int unsigned KernelCompletionW = 96;

  /// Maximum number of outstanding commands of a kernel, a power of two. The kernel has as many ids of messages.
  localparam int unsigned KernelCommands = 8;
  /// log2 of KernelCommands.
  localparam int unsigned KernelSlotW = 3;

  /// From a kernel's port to the rank's coprocessor.
  typedef struct packed {
    /// A command is offered.
    logic        valid;
    /// Opcode of the coprocessor.
    logic [7:0]  opcode;
    /// Operand of the opcode.
    logic [31:0] data;
    /// X_OFFSET. This field and the next four stay stable until the command is done.
    logic [31:0] offset;
    /// X_LADDR, of an atomic operation X_OPERAND.
    logic [31:0] address;
    /// X_LENGTH, of an atomic operation X_OPERAND_HIGH.
    logic [31:0] length;
    /// X_COMPARE_HIGH and X_COMPARE.
    logic [63:0] compare;
    /// X_TAG.
    x_tag_t      tag;
    /// The port or the memory port is busy; a reset of the rank waits.
    logic        busy;
    /// KERNEL_STATUS.done.
    logic        done;
  } kernel_to_rank_t;

  /// A completion for the kernel's port, which is always ready.
  typedef struct packed {
    /// The completion.
    logic                   valid;
    /// Outcome.
    status_e                status;
    /// Slot of the command in the port.
    logic [KernelSlotW-1:0] slot;
  } kernel_end_t;

  /// From the rank's coprocessor to its kernel's port.
  typedef struct packed {
    /// The offered command is taken.
    logic        ready;
    /// Pulse: the taken command needs its operands no longer.
    logic        done;
    /// The rank is being reset.
    logic        drain;
    /// Between BEGIN and END.
    logic        begun;
    /// Ranks of the run.
    logic [7:0]  nprocs;
    /// Completion of a put, get or send.
    kernel_end_t reply;
    /// Completion of a command that was refused before its first packet.
    kernel_end_t refused;
    /// Completion of a collective.
    kernel_end_t collective;
    /// Completion of a receive or probe.
    kernel_end_t message;
    /// With `message`: source of the message.
    logic [7:0]  source;
    /// With `message`: tag of the message.
    logic [25:0] tag;
    /// With `message`: bytes of the message.
    logic [31:0] length;
    /// With `reply`: the command was an atomic operation.
    logic        atomic;
    /// With `atomic`: the word as it was before.
    logic [63:0] old;
    /// Pulse: the barrier has ended.
    logic        barrier;
    /// With `barrier`: outcome.
    status_e     barrier_status;
  } rank_to_kernel_t;

  /// Operands of a collective, registers C_SOURCE to C_WHAT. The words of kernel_command_t after the head have the same
  /// order.
  typedef struct packed {
    /// C_WHAT.
    logic [31:0] what;
    /// C_COUNT.
    logic [31:0] count;
    /// C_HIGH.
    logic [31:0] high;
    /// C_LOW.
    logic [31:0] low;
    /// C_DESTINATION.
    logic [31:0] destination;
    /// C_FIRST.
    logic [31:0] first;
    /// C_WORDS.
    logic [31:0] words;
    /// C_SOURCE.
    logic [31:0] source;
  } coll_operands_t;

  /// A collective that a kernel posts. All fields stay stable until the collective is taken.
  typedef struct packed {
    /// The collective is offered.
    logic           valid;
    /// Operands of the collective.
    coll_operands_t operands;
    /// C_GO.
    rank_c_go_t     go;
  } kernel_post_t;

  /// Bits of kernel_post_t.
  localparam int unsigned KernelPostW = 289;

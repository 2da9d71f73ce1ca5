// Types between a kernel, its port, and the blocks that carry out its commands.
// alcor_abi_pkg includes them, since they hold types of the ABI and Yosys resolves no type of one package inside another.

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
    /// Of a receive or probe: bytes of the message.
    logic [31:0]    length;
    /// Of a receive or probe: tag of the message.
    logic [31:0]    message_tag;
    /// Tag of the command, outcome, source.
    kernel_result_t result;
  } kernel_completion_t;

  /// Bits of kernel_completion_t.
  localparam int unsigned KernelCompletionW = 96;

  /// Commands of a kernel under way at most, a power of two. As many ids of messages are the kernel's.
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
    /// X_OFFSET; stays, as the next three do, until the command is done.
    logic [31:0] offset;
    /// X_LADDR.
    logic [31:0] address;
    /// X_LENGTH.
    logic [31:0] length;
    /// X_TAG.
    x_tag_t      tag;
    /// The port or its memory port has work under way that a reset of the rank waits for.
    logic        busy;
    /// KERNEL_STATUS.done.
    logic        done;
  } kernel_to_rank_t;

  /// A completion that goes to the kernel's port, which takes it at once.
  typedef struct packed {
    /// The completion.
    logic                   valid;
    /// Outcome.
    status_e                status;
    /// The port's number of the command.
    logic [KernelSlotW-1:0] slot;
  } kernel_end_t;

  /// From the rank's coprocessor to its kernel's port.
  typedef struct packed {
    /// The command that is offered is taken.
    logic        ready;
    /// Pulse: the command that was taken is done with its operands.
    logic        done;
    /// The rank is being reset.
    logic        drain;
    /// Between BEGIN and END.
    logic        begun;
    /// Ranks of the run.
    logic [7:0]  nprocs;
    /// Completion of a put, get or send.
    kernel_end_t reply;
    /// Completion of a command that was refused before anything was sent.
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
    /// Pulse: the barrier has ended.
    logic        barrier;
    /// With `barrier`: outcome.
    status_e     barrier_status;
  } rank_to_kernel_t;

  /// A collective that a kernel posts. It stays, unchanged, until it is taken.
  typedef struct packed {
    /// The collective is offered.
    logic        valid;
    /// C_SOURCE.
    logic [31:0] source;
    /// C_FIRST.
    logic [31:0] first;
    /// C_WORDS.
    logic [31:0] words;
    /// C_DESTINATION.
    logic [31:0] destination;
    /// C_LOW.
    logic [31:0] low;
    /// C_HIGH.
    logic [31:0] high;
    /// C_COUNT.
    logic [31:0] count;
    /// C_WHAT.
    logic [31:0] what;
    /// C_GO.
    rank_c_go_t  go;
  } kernel_post_t;

  /// Bits of kernel_post_t.
  localparam int unsigned KernelPostW = 289;

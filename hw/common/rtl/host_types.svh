// Types of the host's AXI ports. The members of a request are the signals that the master drives, those of an answer
// the signals that the slave drives. They are not part of the ABI. alcor_abi_pkg includes this file, as Yosys resolves
// no type of one package inside another. Arrays of these structs are declared with vectors of the widths below.

  /// AXI4-Lite from the host: registers. Only whole words are written, so there are no strobes.
  typedef struct packed {
    logic        awvalid;  // write address is offered
    logic [17:0] awaddr;   // byte address in the BAR; the highest bit selects the links page, outside of `core`
    logic        wvalid;   // write data is offered
    logic [31:0] wdata;    // write data
    logic        bready;   // write response is taken
    logic        arvalid;  // read address is offered
    logic [17:0] araddr;   // byte address in the BAR, as awaddr
    logic        rready;   // read data is taken
  } lite_request_t;
  localparam int unsigned LiteRequestW = 73;  // bits of lite_request_t

  /// AXI4-Lite to the host.
  typedef struct packed {
    logic        awready;  // write address is taken
    logic        wready;   // write data is taken
    logic        bvalid;   // write response is offered
    logic        arready;  // read address is taken
    logic        rvalid;   // read data is offered
    logic [31:0] rdata;    // read data
  } lite_answer_t;
  localparam int unsigned LiteAnswerW = 37;  // bits of lite_answer_t

  /// AXI4 from the host's DMA: node memory. Write data and strobes are beside the struct, as their width is the port's.
  typedef struct packed {
    logic        awvalid;  // write address is offered
    logic [31:0] awaddr;   // byte address of the first beat: rank × NODE_BYTES + byte
    logic        wvalid;   // a beat of write data is offered
    logic        wlast;    // the beat is its burst's last
    logic        bready;   // write response is taken
    logic        arvalid;  // read address is offered
    logic [31:0] araddr;   // byte address of the first beat, as awaddr
    logic [7:0]  arlen;    // beats to be read, less one
    logic        rready;   // a beat of read data is taken
  } dma_request_t;
  localparam int unsigned DmaRequestW = 78;  // bits of dma_request_t

  /// AXI4 to the host's DMA. Read data is beside the struct.
  typedef struct packed {
    logic awready;  // write address is taken
    logic wready;   // the beat of write data is taken
    logic bvalid;   // write response is offered
    logic arready;  // read address is taken
    logic rvalid;   // a beat of read data is offered
    logic rlast;    // the beat is its burst's last
  } dma_answer_t;
  localparam int unsigned DmaAnswerW = 6;  // bits of dma_answer_t

  /// A register write of the host, over either of its ports.
  typedef struct packed {
    logic        valid;    // the write is offered
    logic [16:0] address;  // byte address in the BAR
    logic [31:0] data;     // data of the write
  } bus_write_t;

  /// A copy of bytes of node memory into host memory.
  typedef struct packed {
    logic        valid;        // the copy is asked for
    logic [31:0] source;       // byte address on the DMA port; from a rank: in its node memory
    logic [63:0] destination;  // bus address
    logic [12:0] bytes;        // length
  } host_copy_t;
  localparam int unsigned HostCopyW = 110;  // bits of host_copy_t

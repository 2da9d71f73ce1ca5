`include "assertions.svh"

/// Joins the readers and the writers of a memory to the memory's read port and write port.
///
/// A request stays, with its address and data, until it is granted. Readers take turns, and so do writers; a read and a
/// write may be granted in the same cycle. The data of reads comes in the order of the grants, any number of cycles
/// later, and cannot be held up: a reader asks only for data that it has room for.
///
/// The order of grants is the order of the memory: a read sees all writes granted in earlier cycles. So a write has no
/// answer but its grant. A write granted between a read's grant and the read's data may or may not be seen by the read.
///
/// Data of reads goes from the memory to all readers; `read_rvalid_o` selects the reader.
module memory_arbiter #(
    /// Readers.
    parameter int unsigned READERS = 4,
    /// Writers.
    parameter int unsigned WRITERS = 5,
    /// Bits of a write's data.
    parameter int unsigned WIDTH = 32,
    /// Maximum number of reads under way, 2 or more; latency + 1 allows one read per cycle.
    parameter int unsigned READS = 2,
    /// Stages of each arbitration: 1, or 2 with a register between requests and grants.
    parameter int unsigned STAGES = 1
) (
    /// Clock.
    input  logic                             clk_i,
    /// Synchronous reset, active low; the memory's, too, as it forgets the reads under way.
    input  logic                             rst_ni,

    /// By reader: a read is asked for.
    input  logic [READERS-1:0]               read_req_i,
    /// The read is granted.
    output logic [READERS-1:0]               read_gnt_o,
    /// Word address of the read's first word.
    input  logic [READERS-1:0][29:0]         read_address_i,
    /// Data of the reader's oldest granted read is there.
    output logic [READERS-1:0]               read_rvalid_o,

    /// By writer: a write is asked for.
    input  logic [WRITERS-1:0]               write_req_i,
    /// The write is granted.
    output logic [WRITERS-1:0]               write_gnt_o,
    /// Word address of the write's first word.
    input  logic [WRITERS-1:0][29:0]         write_address_i,
    /// Data of the write.
    input  logic [WRITERS-1:0][WIDTH-1:0]    write_data_i,
    /// Byte strobes of the write.
    input  logic [WRITERS-1:0][WIDTH/8-1:0]  write_strobe_i,

    /// Memory: a read; may change until it is granted.
    output alcor_abi_pkg::memory_request_t   read_o,
    /// Memory: the answer.
    input  alcor_abi_pkg::memory_answer_t    read_i,
    /// Memory: a write; may change until it is granted.
    output alcor_abi_pkg::memory_request_t   write_o,
    /// Memory: data of the write.
    output logic [WIDTH-1:0]                 write_data_o,
    /// Memory: byte strobes of the write.
    output logic [WIDTH/8-1:0]               write_strobe_o,
    /// Memory: the write is granted.
    input  logic                             write_gnt_i
);

  localparam int unsigned ReaderW = (READERS > 1) ? $clog2(READERS) : 1;
  localparam int unsigned WriterW = (WRITERS > 1) ? $clog2(WRITERS) : 1;

  // ---------------------------------------------------------------- reads

  logic [READERS-1:0] read_turn;
  logic [ReaderW-1:0] reader, answered;
  logic read_valid, read_taken, room, under_way;

  turn_arbiter #(.N(READERS), .STAGES(STAGES)) u_reads (
      .clk_i(clk_i), .rst_ni(rst_ni), .req_i(read_req_i), .ready_i(room && read_i.gnt),
      .valid_o(read_valid), .grant_o(read_turn), .index_o(reader)
  );

  assign read_o.req     = read_valid && room;
  assign read_o.address = read_address_i[reader];
  assign read_gnt_o     = read_turn & {READERS{room && read_i.gnt}};
  assign read_taken     = read_o.req && read_i.gnt;

`ifdef ALCOR_PROVE_MEMORY_ARBITER
  logic [READS*ReaderW-1:0] queued;
  logic [$clog2(READS+1)-1:0] count;
`endif

  // Readers of the reads under way, oldest first.
  fifo #(.WIDTH(ReaderW), .DEPTH(READS)) u_under_way (
      .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(read_taken), .ready_o(room), .data_i(reader),
      .valid_o(under_way), .ready_i(read_i.rvalid), .data_o(answered), .empty_o(),
`ifdef ALCOR_PROVE_MEMORY_ARBITER
      .words_o(queued), .usage_o(count)
`else
      .usage_o()
`endif
  );

  always_comb begin
    for (int unsigned r = 0; r < READERS; r++) read_rvalid_o[r] = read_i.rvalid && answered == ReaderW'(r);
  end

  // ---------------------------------------------------------------- writes

  logic [WRITERS-1:0] write_turn;
  logic [WriterW-1:0] writer;

  turn_arbiter #(.N(WRITERS), .STAGES(STAGES)) u_writes (
      .clk_i(clk_i), .rst_ni(rst_ni), .req_i(write_req_i), .ready_i(write_gnt_i),
      .valid_o(write_o.req), .grant_o(write_turn), .index_o(writer)
  );

  assign write_o.address = write_address_i[writer];
  assign write_data_o    = write_data_i[writer];
  assign write_strobe_o  = write_strobe_i[writer];
  assign write_gnt_o     = write_turn & {WRITERS{write_gnt_i}};

  `ALCOR_IMPLIES(a_answer_of_a_read, read_i.rvalid, under_way)

`ifdef ALCOR_PROVE_MEMORY_ARBITER
  `include "memory_arbiter_properties.svh"
`endif

endmodule

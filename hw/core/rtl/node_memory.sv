`include "assertions.svh"

/// Node memory of one rank: beats for the coprocessor, words for the host's DMA, whole phits for the
/// collective unit; a read and a write in each cycle.
///
/// Who asks in the same cycle takes turns, reads and writes each for themselves. A beat or phit begins at
/// any word: its words lie in as many banks, each with an address of its own.
module node_memory #(
    /// Bytes, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Banks, and words of a phit: a power of two; word w is element w / BANKS of bank w % BANKS.
    parameter int unsigned BANKS = 1,
    /// Words of the coprocessor's beat: a power of two up to BANKS.
    parameter int unsigned WORDS = 1,
    /// Cycles from a granted read to its data, 1 or more.
    parameter int unsigned LATENCY = 1,
    /// Width of a word address; derived, not to be set.
    localparam int unsigned AddrW = $clog2(NODE_BYTES / 4)
) (
    /// Clock.
    input  logic                   clk_i,
    /// Synchronous reset, active low; contents stay.
    input  logic                   rst_ni,

    /// Coprocessor: read.
    input  logic                   read_valid_i,
    /// It is granted.
    output logic                   read_ready_o,
    /// Address of its first word.
    input  logic [AddrW-1:0]       read_address_i,
    /// Coprocessor: write.
    input  logic                   write_valid_i,
    /// It is done.
    output logic                   write_ready_o,
    /// Address of its first word.
    input  logic [AddrW-1:0]       write_address_i,
    /// Data.
    input  logic [WORDS-1:0][31:0] write_data_i,
    /// Byte strobes.
    input  logic [WORDS-1:0][3:0]  write_strobe_i,

    /// Phit: a read is wanted.
    input  logic                   phit_want_i,
    /// It can take place; depends on `phit_want_i`, not on `phit_read_i`.
    output logic                   phit_ready_o,
    /// It takes place: wanted, and ready here and wherever else it is wanted.
    input  logic                   phit_read_i,
    /// Address of its first word.
    input  logic [AddrW-1:0]       phit_address_i,
    /// Phit: write.
    input  logic                   phit_write_valid_i,
    /// It is done.
    output logic                   phit_write_ready_o,
    /// Address of its first word.
    input  logic [AddrW-1:0]       phit_write_address_i,
    /// Data.
    input  logic [BANKS-1:0][31:0] phit_write_data_i,
    /// Words to be written.
    input  logic [BANKS-1:0]       phit_write_strobe_i,

    /// Host: an access.
    input  logic                   host_valid_i,
    /// It is granted or done.
    output logic                   host_ready_o,
    /// It is a write.
    input  logic                   host_write_i,
    /// Word address.
    input  logic [AddrW-1:0]       host_address_i,
    /// Data to be written.
    input  logic [31:0]            host_data_i,
    /// Byte strobes.
    input  logic [3:0]             host_strobe_i,

    /// Data of the read granted LATENCY cycles ago, to whomever it was granted: its first word is element 0.
    output logic [BANKS-1:0][31:0] data_o
);

  localparam int unsigned BankW = (BANKS > 1) ? $clog2(BANKS) : 1;
  localparam int unsigned Shift = $clog2(BANKS);
  localparam int unsigned RowW = AddrW - Shift;

  // Who asks: the coprocessor, a phit, the host.
  logic [2:0] read_asks, read_grant, write_asks, write_grant;
  logic host_reads, host_writes;

  assign read_asks  = {host_valid_i && !host_write_i, phit_want_i, read_valid_i};
  assign write_asks = {host_valid_i && host_write_i, phit_write_valid_i, write_valid_i};

  rr_arbiter #(
      .N(3)
  ) u_reads (
      .clk_i    (clk_i),
      .rst_ni   (rst_ni),
      .req_i    (read_asks),
      // A phit keeps its turn until it can be read everywhere.
      .advance_i(!read_grant[1] || phit_read_i),
      .valid_o  (),
      .grant_o  (read_grant),
      .index_o  ()
  );

  rr_arbiter #(
      .N(3)
  ) u_writes (
      .clk_i    (clk_i),
      .rst_ni   (rst_ni),
      .req_i    (write_asks),
      .advance_i(1'b1),
      .valid_o  (),
      .grant_o  (write_grant),
      .index_o  ()
  );

  assign read_ready_o       = read_grant[0];
  assign phit_ready_o       = read_grant[1];
  assign host_reads         = read_grant[2];
  assign write_ready_o      = write_grant[0];
  assign phit_write_ready_o = write_grant[1];
  assign host_writes        = write_grant[2];
  assign host_ready_o       = host_reads || host_writes;

  // The read and the write of this cycle: from which word on, and of that and those behind it which.
  logic [AddrW-1:0] read_address, write_address;
  logic [BANKS-1:0] read_words;
  logic [BANKS-1:0][31:0] write_data;
  logic [BANKS-1:0][3:0] write_strobe;

  always_comb begin
    read_address = read_address_i;
    read_words   = read_grant[0] ? BANKS'({WORDS{1'b1}}) : '0;
    if (host_reads) begin
      read_address = host_address_i;
      read_words   = BANKS'(1'b1);
    end
    if (phit_read_i) begin
      read_address = phit_address_i;
      read_words   = '1;
    end

    write_address = write_address_i;
    write_data    = (32 * BANKS)'(write_data_i);
    write_strobe  = write_grant[0] ? (4 * BANKS)'(write_strobe_i) : '0;
    if (host_writes) begin
      write_address   = host_address_i;
      write_data[0]   = host_data_i;
      write_strobe[0] = host_strobe_i;
    end
    if (write_grant[1]) begin
      write_address = phit_write_address_i;
      write_data    = phit_write_data_i;
      for (int unsigned w = 0; w < BANKS; w++) write_strobe[w] = {4{phit_write_strobe_i[w]}};
    end
  end

  // The banks of their first words.
  logic [BankW-1:0] read_bank, write_bank;

  if (BANKS > 1) begin : g_number
    assign read_bank  = read_address[BankW-1:0];
    assign write_bank = write_address[BankW-1:0];
  end else begin : g_one
    assign read_bank  = '0;
    assign write_bank = '0;
  end

  logic [BANKS-1:0][31:0] bank_data;
  logic [LATENCY-1:0][BankW-1:0] read_bank_q;

  for (genvar b = 0; b < BANKS; b++) begin : g_bank
    (* ram_style = "ultra" *)
    logic [31:0] mem[NODE_BYTES/4/BANKS]  /*verilator public_flat_rw*/;

    // A word for each cycle of latency.
    logic [32*LATENCY-1:0] data_q;
    logic [RowW-1:0] row, write_row;
    logic [BankW-1:0] read_part, write_part;
    logic [31:0] data;
    logic [3:0] strobe;

    // Which of the words this bank has. A bank below the first one's holds a word of the next row.
    assign read_part  = BankW'(b) - read_bank;
    assign write_part = BankW'(b) - write_bank;
    assign data       = write_data[write_part];
    assign strobe     = write_strobe[write_part];
    assign row        = read_address[AddrW-1:Shift] + RowW'({1'b0, read_bank} > (BankW + 1)'(b));
    assign write_row  = write_address[AddrW-1:Shift] + RowW'({1'b0, write_bank} > (BankW + 1)'(b));

    always_ff @(posedge clk_i) begin
      for (int unsigned i = 0; i < 4; i++) begin
        if (strobe[i]) mem[write_row][8*i+:8] <= data[8*i+:8];
      end
    end

    always_ff @(posedge clk_i) begin
      if (read_words[read_part]) data_q[31:0] <= mem[row];
      for (int unsigned i = 1; i < LATENCY; i++) data_q[32*i+:32] <= data_q[32*(i-1)+:32];
    end

    assign bank_data[b] = data_q[32*(LATENCY-1)+:32];
  end

  always_ff @(posedge clk_i) begin
    if (read_words != '0) read_bank_q[0] <= read_bank;
    for (int unsigned i = 1; i < LATENCY; i++) read_bank_q[i] <= read_bank_q[i-1];
  end

  if (BANKS > 1) begin : g_turn
    for (genvar k = 0; k < BANKS; k++) begin : g_word
      assign data_o[k] = bank_data[BankW'(k) + read_bank_q[LATENCY-1]];
    end
  end else begin : g_straight
    assign data_o = bank_data;
  end

  `ALCOR_CHECK_PARAM(g_check_bytes, NODE_BYTES >= 16 && (NODE_BYTES & (NODE_BYTES - 1)) == 0,
                     "node_memory: NODE_BYTES must be a power of two, 16 or more")
  `ALCOR_CHECK_PARAM(g_check_banks, BANKS >= 1 && (BANKS & (BANKS - 1)) == 0,
                     "node_memory: BANKS must be a power of two")
  `ALCOR_CHECK_PARAM(g_check_words, WORDS >= 1 && WORDS <= BANKS && (WORDS & (WORDS - 1)) == 0,
                     "node_memory: WORDS must be a power of two up to BANKS")
  `ALCOR_CHECK_PARAM(g_check_latency, LATENCY >= 1, "node_memory: LATENCY must be 1 or more")
  `ALCOR_IMPLIES(a_read_granted, phit_read_i, phit_want_i && phit_ready_o)

endmodule

`include "assertions.svh"

/// Node memory of one rank: a read and a write of BANKS words in each cycle.
///
/// An access begins at any word: its words lie in as many banks, each with an address of its own. Grants are given in every
/// cycle, and data comes LATENCY cycles after the grant: the RAM's own cycle, and a register for each further one. The
/// second register is behind the multiplexers that put the banks in order, so that users get data from a register. The
/// third one is in front of the banks, for reads and writes, so that no path leads from a user to the RAM. Vivado packs
/// the others, which are behind the array, into the UltraRAMs and their cascade. A write is in the RAM when its
/// cycle ends, or with the register in front a cycle later; all reads granted behind the write see it.
///
/// With JITTER, for simulations only, data comes as late as that of a memory behind a bus, and the memory is not always
/// ready. A read then returns the contents of the RAM at some time between its grant and its data.
module node_memory #(
    /// Bytes, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Banks, a power of two; word w is element w / BANKS of bank w % BANKS.
    parameter int unsigned BANKS = 1,
    /// Cycles from a read's grant to its data, 1 or more; 2 or more with JITTER.
    parameter int unsigned LATENCY = 1,
    /// Simulation: maximum number of additional cycles, at random; grants in three cycles of four.
    parameter int unsigned JITTER = 0
) (
    /// Clock.
    input  logic                           clk_i,
    /// Synchronous reset, active low; contents stay.
    input  logic                           rst_ni,

    /// Read.
    input  alcor_abi_pkg::memory_request_t read_i,
    /// Answer to the read.
    output alcor_abi_pkg::memory_answer_t  read_o,
    /// Data of the read: its first word is element 0.
    output logic [BANKS-1:0][31:0]         data_o,

    /// Write.
    input  alcor_abi_pkg::memory_request_t write_i,
    /// The write is granted.
    output logic                           write_gnt_o,
    /// Data of the write.
    input  logic [BANKS-1:0][31:0]         write_data_i,
    /// Byte strobes of the write.
    input  logic [BANKS-1:0][3:0]          write_strobe_i
);

  localparam int unsigned AddrW = $clog2(NODE_BYTES / 4);
  localparam int unsigned BankW = (BANKS > 1) ? $clog2(BANKS) : 1;
  localparam int unsigned Shift = $clog2(BANKS);
  localparam int unsigned RowW = AddrW - Shift;
  // A register is in front of the banks.
  localparam bit InFront = LATENCY >= 3 && JITTER == 0;
  // Registers from the RAM's address to `data_o`; with JITTER, reads wait for a cycle or more before them.
  localparam int unsigned Registers = (InFront || JITTER != 0) ? LATENCY - 1 : LATENCY;
  // Those of them that each bank has.
  localparam int unsigned BankRegisters = (Registers > 1) ? Registers - 1 : 1;

  logic read, write;
  logic [AddrW-1:0] read_address, write_address;
  logic [BANKS-1:0][31:0] write_data;
  logic [BANKS-1:0][3:0] write_strobe;

  if (InFront) begin : g_in_front
    always_ff @(posedge clk_i) begin
      write <= rst_ni && write_i.req;
      if (write_i.req) begin
        write_address <= write_i.address[AddrW-1:0];
        write_data    <= write_data_i;
        write_strobe  <= write_strobe_i;
      end
    end
  end else begin : g_straight_in
    assign write         = write_i.req && write_gnt_o;
    assign write_address = write_i.address[AddrW-1:0];
    assign write_data    = write_data_i;
    assign write_strobe  = write_strobe_i;
  end

  // Addresses wrap.
  logic unused_address;
  assign unused_address = ^{read_i.address, write_i.address};

  // ---------------------------------------------------------------- when a read takes place

  if (InFront) begin : g_next_cycle
    assign read_o.gnt  = 1'b1;
    assign write_gnt_o = 1'b1;

    always_ff @(posedge clk_i) begin
      read <= rst_ni && read_i.req;
      if (read_i.req) read_address <= read_i.address[AddrW-1:0];
    end
  end else if (JITTER == 0) begin : g_at_once
    assign read_o.gnt   = 1'b1;
    assign write_gnt_o  = 1'b1;
    assign read         = read_i.req;
    assign read_address = read_i.address[AddrW-1:0];
  end else begin : g_late
    // Differences of times, from the longest that a read is late to the longest that it waits.
    localparam int unsigned TimeW = $clog2(JITTER + 3) + 1;
    logic [15:0] random_q;
    logic [7:0] delay;
    logic [TimeW-1:0] now_q, due_new, due, late;
    logic room, waits;

    // Mostly short, now and then up to JITTER.
    always_comb begin
      delay = 8'(16'(random_q[15:8]) * 16'(JITTER + 1) >> 8);
      if (random_q[5:4] != '0 && delay > 8'd7) delay = {5'd0, delay[2:0]};
    end

    // In a connection, Yosys ignores the cast.
    assign due_new = now_q + TimeW'(delay);

    fifo #(.WIDTH(AddrW + TimeW), .DEPTH(JITTER + 2)) u_waiting (
        .clk_i(clk_i), .rst_ni(rst_ni), .valid_i(read_i.req && read_o.gnt), .ready_o(room),
        .data_i({read_i.address[AddrW-1:0], due_new}), .valid_o(waits), .ready_i(read),
        .data_o({read_address, due}), .empty_o(), .usage_o()
    );

    assign late        = now_q - due - 1'b1;
    assign read        = waits && !late[TimeW-1];
    assign read_o.gnt  = room && random_q[1:0] != '0;
    assign write_gnt_o = random_q[3:2] != '0;

    // No register changes while there is no request and no read under way.
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        random_q <= 16'hACE1;
        now_q    <= '0;
      end else begin
        if (read_i.req || write_i.req)
          random_q <= {random_q[14:0], random_q[15] ^ random_q[13] ^ random_q[12] ^ random_q[10]};
        if (waits || read_i.req) now_q <= now_q + 1'b1;
      end
    end

    `ALCOR_CHECK_PARAM(g_check_jitter, JITTER <= 254 && LATENCY >= 2,
                       "node_memory: JITTER must be 254 at most, with a LATENCY of 2 or more")
  end

  // ---------------------------------------------------------------- banks

  // The banks of the first words.
  logic [BankW-1:0] read_bank, write_bank;

  if (BANKS > 1) begin : g_number
    assign read_bank  = read_address[BankW-1:0];
    assign write_bank = write_address[BankW-1:0];
  end else begin : g_one
    assign read_bank  = '0;
    assign write_bank = '0;
  end

  logic [BANKS-1:0][31:0] bank_data, words;
  logic [Registers-1:0] valid_q;
  logic [BankRegisters-1:0][BankW-1:0] read_bank_q;

  for (genvar b = 0; b < BANKS; b++) begin : g_bank
    (* ram_style = "ultra" *)
    logic [31:0] mem[NODE_BYTES/4/BANKS]  /*verilator public_flat_rw*/;

    logic [32*BankRegisters-1:0] data_q;
    logic [RowW-1:0] row, write_row;
    logic [BankW-1:0] write_part;
    logic [31:0] data;
    logic [3:0] strobe;

    // The word of the access that this bank holds. A bank below the first one's holds a word of the next row.
    assign write_part = BankW'(b) - write_bank;
    assign data       = write_data[write_part];
    assign strobe     = write ? write_strobe[write_part] : '0;
    assign row        = read_address[AddrW-1:Shift] + RowW'({1'b0, read_bank} > (BankW + 1)'(b));
    assign write_row  = write_address[AddrW-1:Shift] + RowW'({1'b0, write_bank} > (BankW + 1)'(b));

    always_ff @(posedge clk_i) begin
      for (int unsigned i = 0; i < 4; i++) begin
        if (strobe[i]) mem[write_row][8*i+:8] <= data[8*i+:8];
      end
    end

    always_ff @(posedge clk_i) begin
      if (read) data_q[31:0] <= mem[row];
      for (int unsigned i = 1; i < BankRegisters; i++) data_q[32*i+:32] <= data_q[32*(i-1)+:32];
    end

    assign bank_data[b] = data_q[32*(BankRegisters-1)+:32];
  end

  always_ff @(posedge clk_i) begin
    if (read) read_bank_q[0] <= read_bank;
    for (int unsigned i = 1; i < BankRegisters; i++) read_bank_q[i] <= read_bank_q[i-1];
    if (!rst_ni) valid_q <= '0;
    else valid_q <= Registers'({valid_q, read});
  end

  assign read_o.rvalid = valid_q[Registers-1];

  if (BANKS > 1) begin : g_turn
    for (genvar k = 0; k < BANKS; k++) begin : g_word
      assign words[k] = bank_data[BankW'(k) + read_bank_q[BankRegisters-1]];
    end
  end else begin : g_straight
    assign words = bank_data;
  end

  if (Registers > 1) begin : g_last_register
    always_ff @(posedge clk_i) data_o <= words;
  end else begin : g_no_register
    assign data_o = words;
  end

  `ALCOR_CHECK_PARAM(g_check_bytes, NODE_BYTES >= 16 && (NODE_BYTES & (NODE_BYTES - 1)) == 0,
                     "node_memory: NODE_BYTES must be a power of two, 16 or more")
  `ALCOR_CHECK_PARAM(g_check_banks, BANKS >= 1 && (BANKS & (BANKS - 1)) == 0,
                     "node_memory: BANKS must be a power of two")
  `ALCOR_CHECK_PARAM(g_check_latency, LATENCY >= 1, "node_memory: LATENCY must be 1 or more")

endmodule

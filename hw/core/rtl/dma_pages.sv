`include "assertions.svh"

import alcor_abi_pkg::*;

/// Registers behind node memory on the host's AXI4 port.
///
/// Accesses whose highest address bit is set are not for node memory but for the pages of the register BAR. A host that
/// writes data and then a command through this port relies on their order. Each whole word of a beat is a register write;
/// the words are written one per cycle in the order of their addresses. A read gives the addressed register in each word of
/// its beat, as no register has a read side effect. Accesses to node memory pass unchanged in the same cycle. With SLICES,
/// register writes and the addresses of register reads leave from registers, a cycle later. A read waits for the writes
/// before it.
module dma_pages #(
    /// Bits of a beat.
    parameter int unsigned DATA_W = 32,
    /// Address bits of the port, the highest of which selects the pages; 18 or more.
    parameter int unsigned ADDR_W = 22,
    /// 1: registers between the port and the pages.
    parameter bit SLICES = 1'b0
) (
    /// Clock.
    input  logic                           clk_i,
    /// Synchronous reset, active low.
    input  logic                           rst_ni,

    /// Port: a read.
    input  alcor_abi_pkg::memory_request_t read_i,
    /// Port: the answer.
    output alcor_abi_pkg::memory_answer_t  read_o,
    /// Port: data of the answer.
    output logic [DATA_W-1:0]              read_data_o,
    /// Port: a write. Data goes to node memory beside this block.
    input  alcor_abi_pkg::memory_request_t write_i,
    /// Port: the write is done, or, with SLICES, its last register write is in the slice.
    output logic                           write_gnt_o,
    /// Port: data of the write.
    input  logic [DATA_W-1:0]              write_data_i,
    /// Port: byte strobes of the write.
    input  logic [DATA_W/8-1:0]            write_strobe_i,

    /// Node memory: the read.
    output alcor_abi_pkg::memory_request_t memory_read_o,
    /// Node memory: the answer.
    input  alcor_abi_pkg::memory_answer_t  memory_read_i,
    /// Node memory: data of the answer.
    input  logic [DATA_W-1:0]              memory_data_i,
    /// Node memory: the write.
    output alcor_abi_pkg::memory_request_t memory_write_o,
    /// Node memory: the write is granted.
    input  logic                           memory_write_gnt_i,

    /// Pages: a register write.
    output alcor_abi_pkg::bus_write_t      page_o,
    /// Pages: the write is taken.
    input  logic                           page_ready_i,
    /// Pages: a register is read.
    output logic                           page_read_o,
    /// Pages: byte address of the register.
    output logic [16:0]                    page_address_o,
    /// Pages: the register's value, in the same cycle.
    input  logic [31:0]                    page_data_i
);

  localparam int unsigned Words = DATA_W / 32;
  localparam int unsigned IndexW = (Words == 1) ? 1 : $clog2(Words);
  // Bits of a word address below the beat.
  localparam int unsigned LowW = $clog2(Words);

  logic reads_page, writes_page, page_read, answer_q;
  logic [31:0] value_q;
  logic [Words-1:0] words, left, done_q, first;
  logic [IndexW-1:0] index;
  logic [29:0] beat_mask;
  // A register write on its way into the slice.
  logic word_valid, word_ready, pages_quiet;
  logic [16:0] word_address;

  assign reads_page  = read_i.address[ADDR_W-3];
  assign writes_page = write_i.address[ADDR_W-3];
  // Node memory is read and written in whole beats.
  assign beat_mask   = ~(30'(Words - 1));

  // ---------------------------------------------------------------- node memory

  assign memory_read_o.req      = read_i.req && !reads_page;
  assign memory_read_o.address  = read_i.address & beat_mask;
  assign memory_write_o.req     = write_i.req && !writes_page;
  assign memory_write_o.address = write_i.address & beat_mask;

  // ---------------------------------------------------------------- reads of registers

  assign page_read      = read_i.req && reads_page && pages_quiet;
  assign read_o.gnt     = reads_page ? page_read : memory_read_i.gnt;
  assign read_o.rvalid  = answer_q || memory_read_i.rvalid;
  assign read_data_o    = answer_q ? {Words{value_q}} : memory_data_i;

  if (SLICES) begin : g_read_slice
    logic read_q;
    logic [14:0] address_q;

    assign page_read_o    = read_q;
    assign page_address_o = {address_q, 2'b00};

    always_ff @(posedge clk_i) begin
      address_q <= read_i.address[14:0];
      if (!rst_ni) read_q <= 1'b0;
      else read_q <= page_read;
    end
  end else begin : g_read_wires
    assign page_read_o    = page_read;
    assign page_address_o = {read_i.address[14:0], 2'b00};
  end

  always_ff @(posedge clk_i) begin
    value_q <= page_data_i;
    if (!rst_ni) answer_q <= 1'b0;
    else answer_q <= page_read_o;
  end

  // ---------------------------------------------------------------- writes of registers

  for (genvar w = 0; w < Words; w++) begin : g_word
    assign words[w] = write_strobe_i[4*w+:4] == '1;
  end

  assign left  = words & ~done_q;
  assign first = left & ~(left - 1'b1);

  always_comb begin
    index = '0;
    for (int unsigned w = 0; w < Words; w++) if (first[w]) index |= IndexW'(w);
  end

  if (Words == 1) begin : g_narrow
    assign word_address = {write_i.address[14:0], 2'b00};
  end else begin : g_wide
    assign word_address = {write_i.address[14:LowW], index, 2'b00};
  end

  assign word_valid = write_i.req && writes_page && left != '0;

  // The last word, or none.
  assign write_gnt_o = writes_page ? write_i.req && (left == '0 || (left == first && word_ready)) : memory_write_gnt_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || write_gnt_o) done_q <= '0;
    else if (word_valid && word_ready) done_q <= done_q | first;
  end

  skid_buffer #(
      .WIDTH(17 + 32),
      .SLICE(SLICES)
  ) u_slice (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i(word_valid),
      .ready_o(word_ready),
      .data_i ({word_address, write_data_i[32*index+:32]}),
      .valid_o(page_o.valid),
      .ready_i(page_ready_i),
      .data_o ({page_o.address, page_o.data}),
      .empty_o(pages_quiet)
  );

  `ALCOR_CHECK_PARAM(g_check_address, ADDR_W >= 18 && ADDR_W <= 32, "dma_pages: ADDR_W must be 18 to 32")
  // The port keeps reads of two memories apart.
  `ALCOR_ASSERT(a_one_answer, !(answer_q && memory_read_i.rvalid))

endmodule

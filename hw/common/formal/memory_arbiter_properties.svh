`include "formal.svh"

// Properties of `memory_arbiter`, included at its end: for each reader, answers match grants, for a memory that grants
// at any time and answers each granted read. A grant has a request, and no grant is lost.

  `ALCOR_FORMAL_RESET

  // Granted reads of the memory without an answer.
  localparam int unsigned CountW = $clog2(READS + 1);
  logic [CountW-1:0] owed_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) owed_q <= '0;
    else owed_q <= owed_q + CountW'(read_o.req && read_i.gnt) - CountW'(read_i.rvalid);
  end

  `ALCOR_ASSUME(!read_i.rvalid || owed_q != '0)

  // A request stays until it is granted.
  always @(posedge clk_i)
    if (rst_ni && $past(rst_ni))
      assume (($past(read_req_i & ~read_gnt_o) & ~read_req_i) == '0 && ($past(write_req_i & ~write_gnt_o) & ~write_req_i) == '0);

  // An arbitrary reader, and its granted reads without an answer.
  (* anyconst *) logic [ReaderW-1:0] mine;
  logic [CountW-1:0] mine_q;

  always @(posedge clk_i) assume (32'(mine) < READERS);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) mine_q <= '0;
    else mine_q <= mine_q + CountW'(read_gnt_o[mine]) - CountW'(read_rvalid_o[mine]);
  end

  `ALCOR_IMPLIES(p_answer_to_its_reader, read_rvalid_o[mine], mine_q != '0)
  `ALCOR_ASSERT(p_few, owed_q <= CountW'(READS))
  `ALCOR_ASSERT(p_one_answer, $onehot0(read_rvalid_o) && (read_rvalid_o != '0) == read_i.rvalid)
  `ALCOR_ASSERT(p_one_read, $onehot0(read_gnt_o) && (read_gnt_o & ~read_req_i) == '0)
  `ALCOR_ASSERT(p_one_write, $onehot0(write_gnt_o) && (write_gnt_o & ~write_req_i) == '0)
  `ALCOR_ASSERT(p_no_lost_read, (read_gnt_o != '0) == (read_o.req && read_i.gnt))
  `ALCOR_ASSERT(p_no_lost_write, (write_gnt_o != '0) == (write_o.req && write_gnt_i))
  // With two stages the turn stays with a request until the memory is ready.
  `ALCOR_STABLE(p_read_turn_stays, STAGES == 2 && read_valid, room && read_i.gnt, reader)
  `ALCOR_STABLE(p_write_turn_stays, STAGES == 2 && write_o.req, write_gnt_i, writer)
  `ALCOR_IMPLIES(p_address, read_gnt_o[mine], read_o.address == read_address_i[mine])

  // Invariant of the induction: the queue holds a place for each outstanding read of the reader.
  logic [CountW-1:0] held;
  logic readers;
  always_comb begin
    held    = '0;
    readers = 1'b1;
    for (int unsigned i = 0; i < READS; i++) begin
      if (i < 32'(count) && queued[i*ReaderW+:ReaderW] == mine) held = held + 1'b1;
      if (i < 32'(count) && 32'(queued[i*ReaderW+:ReaderW]) >= READERS) readers = 1'b0;
    end
  end
  `ALCOR_ASSERT(p_count, owed_q == count && mine_q == held && readers)

`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// Control of collectives (CCM). Begins the collective of a communicator when all its members on this board
/// have posted it, at most one per cycle. Holds the state of the collectives under way for the other blocks.
///
/// A collective is chosen in cycle t, begins by `begin_o` in t+1, and is among those under way from t+2 on.
module coll_control #(
    /// Ranks of the board.
    parameter int unsigned RANKS  = 1,
    /// Stages.
    parameter int unsigned STAGES = 3,
    /// A reduction of 2 to the power of this many words, or more, is announced.
    parameter int unsigned TELL_W = 10,
    /// Operations that the unit has, bit by operation_e; of cover points.
    parameter bit [8:0]    OPS    = '1,
    /// Types that the unit has, bit by datatype_e; of cover points.
    parameter bit [5:0]    TYPES  = '1
) (
    /// Clock.
    input  logic                              clk_i,
    /// Synchronous reset, active low.
    input  logic                              rst_ni,

    /// A row of the communicator table has been written or taken out of use: its collective is under way no more.
    input  alcor_abi_pkg::shape_t             shape_i,
    /// No collective begins.
    input  logic                              pause_i,
    /// The communicator table.
    input  alcor_abi_pkg::comm_table_t        table_i,
    /// By rank: communicators that the rank is a member of.
    input  logic [RANKS-1:0][31:0]            member_i,

    /// By rank: communicators in which the rank's collective has not ended.
    input  logic [RANKS-1:0][31:0]            posted_i,
    /// By rank: communicators in which collectives that wait for other members do not begin.
    input  logic [RANKS-1:0][31:0]            cancel_i,
    /// By stage: communicators whose last signature has not left.
    input  logic [STAGES-1:0][31:0]           leaving_i,
    /// A collective has ended.
    input  alcor_abi_pkg::row_pulse_t         end_i,
    /// Writes of rows wait to be carried out.
    input  logic                              writes_i,
    /// The barrier over all boards asks for a round.
    input  logic                              sync_begin_i,
    /// The barrier can have a round: all rows that were written before are there.
    output logic                              sync_ready_o,

    /// A collective begins.
    output alcor_abi_pkg::row_pulse_t         begin_o,
    /// By rank: request of the rank in the communicator `begin_o.row`; a coll_request_t.
    input  logic [RANKS-1:0][CollRequestW-1:0]    request_i,
    /// With `begin_o`: role of this board.
    output alcor_abi_pkg::plan_t              plan_o,
    /// With `begin_o`, by stage: role of the stage, a stage_plan_t.
    output logic [STAGES-1:0][StagePlanW-1:0] stage_plan_o,
    /// Collectives under way.
    output alcor_abi_pkg::collectives_t       collectives_o,
    /// Communicators whose copies are for this board, too.
    output logic [31:0]                       here_o,
    /// By stage: communicators whose copies go to this stage's partner.
    output logic [STAGES-1:0][31:0]           spreads_o
);

  logic [31:0] all_here, begin_one, begin_one_q, leaving, leaving_q;
  alcor_abi_pkg::row_pulse_t begin_q;
  logic sync_wanted_q;

  always_comb begin
    leaving  = '0;
    all_here = table_i.valid & ~collectives_o.active & ~begin_one_q;
    for (int unsigned s = 0; s < STAGES; s++) leaving = leaving | leaving_i[s];
    for (int unsigned r = 0; r < RANKS; r++) all_here = all_here & ((posted_i[r] & ~cancel_i[r]) | ~member_i[r]);
    // The barrier's row has no members; its board asks for it.
    all_here[SyncContext] = table_i.valid[SyncContext] && sync_wanted_q
        && !collectives_o.active[SyncContext] && !begin_one_q[SyncContext];
    // Nothing of a collective may overtake the last phits of the one before.
    all_here  = all_here & ~leaving_q & {32{!pause_i}};
    begin_one = all_here & (~all_here + 1'b1);
  end

  assign sync_ready_o = table_i.valid[SyncContext] && !sync_wanted_q && !collectives_o.active[SyncContext]
      && !begin_one_q[SyncContext] && !writes_i;

  always_ff @(posedge clk_i) begin
    leaving_q   <= rst_ni ? leaving : '0;
    begin_q.row <= {|(begin_one & 32'hFFFF_0000), |(begin_one & 32'hFF00_FF00), |(begin_one & 32'hF0F0_F0F0),
                    |(begin_one & 32'hCCCC_CCCC), |(begin_one & 32'hAAAA_AAAA)};
    if (!rst_ni) begin
      begin_q.valid <= 1'b0;
      begin_one_q   <= '0;
      sync_wanted_q <= 1'b0;
    end else begin
      begin_q.valid <= begin_one != '0;
      begin_one_q   <= begin_one;
      // A round that was under way when its row was taken out of use begins anew.
      if (sync_begin_i || (shape_i.valid && shape_i.row == 5'(SyncContext) && collectives_o.active[SyncContext]))
        sync_wanted_q <= 1'b1;
      else if (begin_one[SyncContext]) sync_wanted_q <= 1'b0;
    end
  end

  assign begin_o = begin_q;

  logic [RANKS-1:0] members;
  logic [STAGES-1:0] spreads;
  alcor_abi_pkg::place_t total;
  alcor_abi_pkg::plan_t plan;

  for (genvar r = 0; r < RANKS; r++) begin : g_rank
    assign members[r] = member_i[r][begin_q.row];
  end

  coll_plan #(
      .RANKS (RANKS),
      .STAGES(STAGES),
      .TELL_W(TELL_W)
  ) u_plan (
      .row_i    (begin_q.row),
      .request_i(request_i),
      .members_i(members),
      .table_i  (table_i),
      .total_o  (total),
      .plan_o   (plan),
      .spreads_o(spreads),
      .stage_o  (stage_plan_o)
  );

  assign plan_o = plan;

  always_ff @(posedge clk_i) begin
    if (begin_q.valid) begin
      /* verilator unroll_disable */
      for (int unsigned c = 0; c < Contexts; c++) begin
        if (begin_q.row == 5'(c)) begin
          collectives_o.calls[c]  <= plan.call;
          collectives_o.copies[c] <= plan.copies;
          here_o[c]               <= plan.here;
          for (int unsigned s = 0; s < STAGES; s++) spreads_o[s][c] <= spreads[s];
        end
      end
    end
    if (!rst_ni) begin
      collectives_o.active <= '0;
      collectives_o.parity <= '0;
    end else begin
      if (end_i.valid) collectives_o.active[end_i.row] <= 1'b0;
      if (begin_q.valid) begin
        collectives_o.active[begin_q.row] <= 1'b1;
        collectives_o.parity[begin_q.row] <= !collectives_o.parity[begin_q.row];
      end
      if (shape_i.valid) begin
        collectives_o.active[shape_i.row] <= 1'b0;
        collectives_o.parity[shape_i.row] <= 1'b0;
      end
    end
  end

  `ALCOR_IMPLIES(a_end_active, end_i.valid, collectives_o.active[end_i.row])

`ifdef ALCOR_COVERAGE
  // What begins, on this board: reductions by type and operation, where there is a unit for them; what is copied by
  // type. Of a collective in software only the signature comes here.
  logic begins;
  assign begins = begin_q.valid && begin_q.row != 5'(SyncContext);
`define ALCOR_COVER_REDUCTION(collective_, type_, operation_) \
  if (TYPES[DT_``type_] && OPS[RO_``operation_]) begin : g_``collective_``_``type_``_``operation_ \
    `ALCOR_COVER(c_collectives_``collective_``_``type_``_``operation_, \
                 begins && plan.call.opcode == CO_``collective_ && plan.call.datatype == DT_``type_ && \
                 plan.call.operation == RO_``operation_ && total != '0) \
  end
`define ALCOR_COVER_ARITHMETIC(collective_, type_) \
  `ALCOR_COVER_REDUCTION(collective_, type_, SUM) \
  `ALCOR_COVER_REDUCTION(collective_, type_, MIN) \
  `ALCOR_COVER_REDUCTION(collective_, type_, MAX) \
  `ALCOR_COVER_REDUCTION(collective_, type_, PROD)
`define ALCOR_COVER_BITWISE(collective_, type_) \
  `ALCOR_COVER_REDUCTION(collective_, type_, BAND) \
  `ALCOR_COVER_REDUCTION(collective_, type_, BOR) \
  `ALCOR_COVER_REDUCTION(collective_, type_, BXOR)
`define ALCOR_COVER_REDUCTIONS(collective_) \
  `ALCOR_COVER_ARITHMETIC(collective_, F64) \
  `ALCOR_COVER_ARITHMETIC(collective_, F32) \
  `ALCOR_COVER_ARITHMETIC(collective_, I64) \
  `ALCOR_COVER_ARITHMETIC(collective_, I32) \
  `ALCOR_COVER_ARITHMETIC(collective_, U64) \
  `ALCOR_COVER_ARITHMETIC(collective_, U32) \
  `ALCOR_COVER_BITWISE(collective_, I64) \
  `ALCOR_COVER_BITWISE(collective_, I32) \
  `ALCOR_COVER_BITWISE(collective_, U64) \
  `ALCOR_COVER_BITWISE(collective_, U32)
`define ALCOR_COVER_COPY(collective_, type_) \
  `ALCOR_COVER(c_collectives_``collective_``_``type_, \
               begins && plan.call.opcode == CO_``collective_ && plan.call.datatype == DT_``type_)
`define ALCOR_COVER_COPIES(collective_) \
  `ALCOR_COVER_COPY(collective_, F64) \
  `ALCOR_COVER_COPY(collective_, F32) \
  `ALCOR_COVER_COPY(collective_, I64) \
  `ALCOR_COVER_COPY(collective_, I32) \
  `ALCOR_COVER_COPY(collective_, U64) \
  `ALCOR_COVER_COPY(collective_, U32)
  `ALCOR_COVER_REDUCTIONS(REDUCE)
  `ALCOR_COVER_REDUCTIONS(ALLREDUCE)
  `ALCOR_COVER_REDUCTIONS(REDUCE_SCATTER)
  `ALCOR_COVER_COPIES(BCAST)
  `ALCOR_COVER_COPIES(SCATTER)
  `ALCOR_COVER_COPIES(GATHER)
  `ALCOR_COVER_COPIES(ALLGATHER)
  `ALCOR_COVER(c_collectives_BARRIER, begins && plan.call.opcode == CO_BARRIER)
  `ALCOR_COVER(c_collectives_SOFTWARE, begins && (plan.call.opcode == CO_SOFTWARE || plan.call.datatype == DT_SOFTWARE))
  `ALCOR_COVER(c_collectives_barrier_of_all_boards, begin_q.valid && begin_q.row == 5'(SyncContext))
`define ALCOR_COVER_ALGORITHM(algorithm_) \
  `ALCOR_COVER(c_algorithm_``algorithm_, begins && plan.call.algorithm == AL_``algorithm_)
  `ALCOR_COVER_ALGORITHM(TREE)
  `ALCOR_COVER_ALGORITHM(DOUBLING)
  `ALCOR_COVER_ALGORITHM(HALVING)
  `ALCOR_COVER_ALGORITHM(GRAY)
  `ALCOR_COVER(c_algorithm_folded, begins && table_i.fold[begin_q.row] != '0)
  `ALCOR_COVER(c_algorithm_one_board, begins && table_i.stages[begin_q.row] == '0)
`undef ALCOR_COVER_REDUCTION
`undef ALCOR_COVER_ARITHMETIC
`undef ALCOR_COVER_BITWISE
`undef ALCOR_COVER_REDUCTIONS
`undef ALCOR_COVER_COPY
`undef ALCOR_COVER_COPIES
`undef ALCOR_COVER_ALGORITHM
`endif

endmodule

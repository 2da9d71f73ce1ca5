`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// Collective unit of a board: the control of collectives (CCM), the communicator table and the
/// units that gather and reduce (CGR), behind the stage ports of the router (Haghi et al. 2022,
/// sections 3 and 4).
///
/// `coll_admission` begins a collective of a communicator when all of its members on this board have posted it.
/// The reader gives its data to stage 0 (reductions) or to the copy unit (others). The results are
/// written to the members' memories. The unit serves all communicators concurrently, phit by phit,
/// so a rank that posts late delays its own communicator only.
module collective_unit #(
    /// Ranks of the board.
    parameter int unsigned RANKS = 1,
    /// Stages: log2 of the number of boards, rounded up.
    parameter int unsigned STAGES = 3,
    /// Bits of a phit's data.
    parameter int unsigned PHIT_W = 256,
    /// Bytes of each node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Cycles from grant to data up to which phits go on at one per cycle. Any latency works.
    parameter int unsigned MEM_LATENCY = 1,
    /// 1: each rank has a kernel, which posts collectives, too.
    parameter bit KERNEL = 1'b0,
    /// Phits of a communicator's window, the same on all boards: a power of two, 8 or more.
    parameter int unsigned WINDOW = alcor_switch_pkg::Window,
    /// Operations that its vector units have, bit by operation_e: those of the programs that it is for, and
    /// RO_BAND, RO_BOR for signatures, RO_SYNC for barriers.
    parameter bit [8:0] OPS = '1,
    /// Types of the vector units, by bit of datatype_e; DT_U32 for signatures.
    parameter bit [5:0] TYPES = '1,
    /// 1: registers in front of the vector units.
    parameter bit SLICES = 1'b0,
    /// Width of a word address in node memory; derived, not to be set.
    localparam int unsigned AddrW = $clog2(NODE_BYTES / 4),
    /// Bits of a phit; derived, not to be set.
    localparam int unsigned W = PhitHeadW + PHIT_W
) (
    /// Clock.
    input  logic                              clk_i,
    /// Synchronous reset, active low.
    input  logic                              rst_ni,

    /// By rank: a write into the rank's page, the part of collectives; a page_write_t.
    input  logic [RANKS-1:0][PageWriteW-1:0]  write_i,
    /// Of each rank: a collective that its kernel posts, kernel_post_t.
    input  logic [RANKS-1:0][KernelPostW-1:0] kernel_i,
    /// Of each rank: the kernel's collective is taken.
    output logic [RANKS-1:0]                  kernel_ready_o,
    /// By rank: pulse, the rank had begun and is reset.
    input  logic [RANKS-1:0]                  lost_i,
    /// By rank: the reason to cancel collectives that wait for other members, and to refuse new ones; a cancel_t.
    input  logic [RANKS-1:0][CancelW-1:0]     cancel_i,
    /// By rank: communicators in which the rank's collective has not ended.
    output logic [RANKS-1:0][31:0]            posted_o,
    /// Communicators with a collective under way.
    output logic [31:0]                       active_o,
    /// Phits that were dropped in the cycle before, as their row is out of use or has another key.
    output logic [2:0]                        stale_o,
    /// Ranks with a write of a row that has not been carried out.
    output logic [RANKS-1:0]                  writes_o,
    /// By rank: pulse, a write of a row was refused in the cycle before, as the rank does not own the row.
    output logic [RANKS-1:0]                  denied_o,

    /// By rank: a completion is offered.
    output logic [RANKS-1:0]                  complete_valid_o,
    /// The completion is taken.
    input  logic [RANKS-1:0]                  complete_ready_i,
    /// The completion, a completion_t.
    output logic [RANKS-1:0][CompletionW-1:0] complete_o,

    /// The barrier over all boards asks for a round.
    input  logic                              sync_begin_i,
    /// The barrier can have a round: the row is there and no round is under way.
    output logic                              sync_ready_o,
    /// Phit of this board for the round.
    input  logic [PHIT_W-1:0]                 sync_i,
    /// The result of the round has come.
    output logic                              sync_valid_o,
    /// The result.
    output logic [PHIT_W-1:0]                 sync_o,
    /// A rank of the run was reset, on any board: the barrier over all boards ends no more.
    output logic                              sync_lost_o,

    /// Memory read, by rank: a read is requested.
    output logic [RANKS-1:0]                  read_req_o,
    /// The read is granted.
    input  logic [RANKS-1:0]                  read_gnt_i,
    /// Word address.
    output logic [RANKS-1:0][AddrW-1:0]       read_address_o,
    /// Data of the rank's oldest granted read comes.
    input  logic [RANKS-1:0]                  read_rvalid_i,
    /// The data.
    input  logic [RANKS-1:0][PHIT_W-1:0]      read_data_i,
    /// Memory write, by rank: a write is offered.
    output logic [RANKS-1:0]                  write_valid_o,
    /// The write is done.
    input  logic [RANKS-1:0]                  write_ready_i,
    /// Word address.
    output logic [RANKS-1:0][AddrW-1:0]       write_address_o,
    /// Data.
    output logic [PHIT_W-1:0]                 write_data_o,
    /// Words to be written.
    output logic [RANKS-1:0][PHIT_W/32-1:0]   write_strobe_o,

    /// From the router: a phit comes for a stage; it is always taken.
    input  logic [STAGES-1:0]                 rx_valid_i,
    /// The phit.
    input  logic [STAGES-1:0][W-1:0]          rx_phit_i,
    /// To the router: a phit of a stage is offered.
    output logic [STAGES-1:0]                 tx_valid_o,
    /// The phit is taken.
    input  logic [STAGES-1:0]                 tx_ready_i,
    /// The phit.
    output logic [STAGES-1:0][W-1:0]          tx_phit_o
);

  localparam int unsigned BodyW = SpanW + PHIT_W;
  localparam int unsigned TokenW = TokenHeadW + BodyW;

  // Cycles from the choice of a phit to its token, out of node memory and the members' vector units, and out
  // of a stage's vector unit.
  localparam int unsigned VectorLatency = AGLU_LATENCY + 32'(SLICES);
  localparam int unsigned ReadLatency = 1 + MEM_LATENCY + (RANKS - 1) * VectorLatency;
  localparam int unsigned StageLatency = 1 + VectorLatency;
  // A queue's place is taken when a phit is chosen, and is free again 2 cycles after its token has left. So
  // many more places keep a phit per cycle going where the token cannot leave at once.
  localparam int unsigned Spare = 2 + 16;
  localparam int unsigned ReadDepth = 2 ** $clog2(ReadLatency + Spare);
  localparam int unsigned StageDepth = 2 ** $clog2(StageLatency + Spare);

  // Data of different calls finds room in the windows if a board gives no more phits than may be unpaid. A quarter of a
  // window is less.
  localparam int unsigned TellW = $clog2(WINDOW / 4) + $clog2(PHIT_W / 32);

  // ---------------------------------------------------------------- which collectives are under way

  alcor_abi_pkg::shape_t shape;
  alcor_abi_pkg::comm_table_t rows;
  alcor_abi_pkg::collectives_t collectives;
  alcor_abi_pkg::row_pulse_t begins, ended;
  alcor_abi_pkg::row_t source_row, signature_row, destination_row;
  alcor_abi_pkg::plan_t plan;
  logic [STAGES-1:0][StagePlanW-1:0] stage_plan;
  logic [RANKS-1:0][31:0] member;
  logic [STAGES-1:0][31:0][15:0] partner;
  logic [RANKS-1:0] ended_valid, ended_ready;
  logic [RANKS-1:0][CompletionW-1:0] ended_completion;
  logic [RANKS-1:0][SourceW-1:0] source;
  logic [RANKS-1:0][SignatureW-1:0] signature;
  logic [RANKS-1:0][DestinationW-1:0] destination;
  logic [STAGES-1:0][RowPulseW-1:0] revocations, result_take;
  logic [STAGES-1:0][31:0] spreads, leaving, owes;
  logic [31:0] fold_credit, here, holds, sending, fold_takes, owes_any;
  logic [STAGES-1:0] stage_busy, stale;
  logic reader_busy, copy_busy, writer_busy, pause;

  coll_admission #(
      .RANKS     (RANKS),
      .STAGES    (STAGES),
      .TELL_W    (TellW),
      .NODE_BYTES(NODE_BYTES),
      .KERNEL    (KERNEL),
      .OPS       (OPS),
      .TYPES     (TYPES)
  ) u_admission (
      .clk_i            (clk_i),
      .rst_ni           (rst_ni),
      .write_i          (write_i),
      .kernel_i         (kernel_i),
      .kernel_ready_o   (kernel_ready_o),
      .lost_i           (lost_i),
      .cancel_i         (cancel_i),
      .posted_o         (posted_o),
      .writes_o         (writes_o),
      .denied_o         (denied_o),
      .complete_valid_o (complete_valid_o),
      .complete_ready_i (complete_ready_i),
      .complete_o       (complete_o),
      .sync_begin_i     (sync_begin_i),
      .sync_ready_o     (sync_ready_o),
      .sync_lost_o      (sync_lost_o),
      .revoked_i        (revocations),
      .leaving_i        (leaving),
      .sending_i        (sending),
      .owes_i           (owes_any),
      .busy_i           (reader_busy || stage_busy != '0 || copy_busy || writer_busy),
      .pause_o          (pause),
      .shape_o          (shape),
      .table_o          (rows),
      .member_o         (member),
      .partner_o        (partner),
      .begin_o          (begins),
      .plan_o           (plan),
      .stage_plan_o     (stage_plan),
      .collectives_o    (collectives),
      .here_o           (here),
      .spreads_o        (spreads),
      .source_row_i     (source_row),
      .source_o         (source),
      .signature_row_i  (signature_row),
      .signature_o      (signature),
      .destination_row_i(destination_row),
      .destination_o    (destination),
      .ended_valid_i    (ended_valid),
      .ended_ready_o    (ended_ready),
      .ended_i          (ended_completion),
      .end_i            (ended)
  );

  assign active_o = collectives.active;

  always_comb begin
    owes_any = '0;
    for (int unsigned s = 0; s < STAGES; s++) owes_any = owes_any | owes[s];
  end

  always_ff @(posedge clk_i) stale_o <= rst_ni ? 3'($countones(stale)) : '0;

  // A result of a stage is for a folded label, too: its credit is one of stage 0's, and is taken before the result sets out.
  // So results never wait for another board, whose members may be gone.
  logic [STAGES-1:0][31:0] fold_take;
  for (genvar s = 0; s < STAGES; s++) begin : g_fold
    alcor_abi_pkg::row_pulse_t taken;
    assign taken        = result_take[s];
    assign fold_take[s] = (32'(taken.valid) << taken.row) & rows.lower;
  end

  always_comb begin
    fold_takes = '0;
    for (int unsigned s = 0; s < STAGES; s++) fold_takes = fold_takes | fold_take[s];
  end

  // ---------------------------------------------------------------- reader, stages, copy unit, writer

  // Element s is before stage s.
  logic [STAGES:0] in_valid, ask_room, ask_take;
  logic [STAGES:0][TokenHeadW-1:0] in_head;
  logic [STAGES:0][BodyW-1:0] in_body;
  logic [STAGES:0][AskW-1:0] ask;
  alcor_abi_pkg::ask_t reader_ask;
  alcor_abi_pkg::part_t in_part, reader_part;
  alcor_abi_pkg::row_t look_row;
  logic [STAGES-1:0] read_credit, read_take, look_credit, look_take, send_valid, send_ready;
  logic [STAGES-1:0] result_valid, result_ready, copy_soon, copy_valid, copy_take;
  logic [STAGES-1:0][TokenHeadW-1:0] result_head, copy_head;
  logic [STAGES-1:0][BodyW-1:0] result_body, copy_body;
  alcor_abi_pkg::row_pulse_t copying;
  logic reader_valid, reader_ready, keep_valid, keep_ready, out_parity;
  logic [TokenW-1:0] reader, out;

  alcor_abi_pkg::stage_gates_t gates;

  assign ask[0]              = reader_ask;
  assign gates.pause         = pause;
  assign gates.copy_holds    = holds;
  assign gates.result_credit = fold_credit | ~rows.lower;

  coll_reader #(
      .RANKS      (RANKS),
      .STAGES     (STAGES),
      .PHIT_W     (PHIT_W),
      .ADDR_W     (AddrW),
      .MEM_LATENCY(MEM_LATENCY),
      .WINDOW     (WINDOW),
      .COPY_DEPTH (ReadDepth),
      .OPS        (OPS),
      .TYPES      (TYPES),
      .SLICE      (SLICES)
  ) u_reader (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .shape_i        (shape),
      .pause_i        (pause),
      .busy_o         (reader_busy),
      .member_i       (member),
      .begin_i        (begins),
      .plan_i         (plan),
      .collectives_i  (collectives),
      .spreads_i      (spreads),
      .owes_i         (owes_any),
      .copy_holds_i   (holds),
      .source_row_o   (source_row),
      .source_i       (source),
      .signature_row_o(signature_row),
      .signature_i    (signature),
      .sync_i         (sync_i),
      .read_req_o     (read_req_o),
      .read_gnt_i     (read_gnt_i),
      .read_address_o (read_address_o),
      .read_rvalid_i  (read_rvalid_i),
      .read_data_i    (read_data_i),
      .ask_o          (reader_ask),
      .ask_room_i     (ask_room[0]),
      .ask_take_o     (ask_take[0]),
      .credit_i       (read_credit),
      .credit_take_o  (read_take),
      .copying_o      (copying),
      .out_valid_o    (in_valid[0]),
      .out_part_o     (in_part),
      .out_o          ({in_head[0], in_body[0]}),
      .copy_valid_o   (reader_valid),
      .copy_ready_i   (reader_ready),
      .copy_part_o    (reader_part),
      .copy_o         (reader)
  );

  for (genvar s = 0; s < STAGES; s++) begin : g_stage
    alcor_abi_pkg::stage_rows_t stage_rows;
    alcor_abi_pkg::stage_events_t events;
    alcor_abi_pkg::stage_state_t state;
    alcor_abi_pkg::stage_report_t report;
    alcor_abi_pkg::copy_offer_t offer;

    assign stage_rows.partner = partner[s];
    assign stage_rows.key     = rows.key;
    assign stage_rows.closed  = rows.closed;
    assign events.begins      = begins;
    assign events.plan        = stage_plan[s];
    assign events.announce    = plan.announce;
    assign events.ends        = ended;
    assign stage_busy[s]      = state.busy;
    assign owes[s]            = state.owes;
    assign leaving[s]         = state.leaving;
    assign stale[s]           = report.stale;
    assign revocations[s]     = report.revoked;
    assign copy_soon[s]       = offer.soon;
    assign copy_valid[s]      = offer.valid;
    assign copy_head[s]       = offer.head;

    if (s == 0) begin : g_folds
      assign fold_credit = state.fold_credit;
    end else begin : g_no_fold
      logic unused_fold_credit;
      assign unused_fold_credit = ^state.fold_credit;
    end

    coll_stage #(
        .STAGE   (s),
        .STAGES  (STAGES),
        .PHIT_W  (PHIT_W),
        .WINDOW  (WINDOW),
        .TX_DEPTH((s == 0) ? ReadDepth : StageDepth),
        .OPS     (OPS),
        .TYPES   (TYPES),
        .SLICE   (SLICES)
    ) u_stage (
        .clk_i         (clk_i),
        .rst_ni        (rst_ni),
        .shape_i       (shape),
        .rows_i        (stage_rows),
        .collectives_i (collectives),
        .events_i      (events),
        .gates_i       (gates),
        .state_o       (state),
        .report_o      (report),
        .ask_i         (ask[s]),
        .ask_room_o    (ask_room[s]),
        .ask_take_i    (ask_take[s]),
        .in_valid_i    (in_valid[s]),
        // The reader's parts are told apart in stage 0 only.
        .in_part_i     ((s == 0) ? in_part : '0),
        .in_i          ({in_head[s], in_body[s]}),
        .next_o        (ask[s+1]),
        .next_room_i   (ask_room[s+1]),
        .next_take_o   (ask_take[s+1]),
        .out_valid_o   (in_valid[s+1]),
        .out_o         ({in_head[s+1], in_body[s+1]}),
        .result_valid_o(result_valid[s]),
        .result_ready_i(result_ready[s]),
        .result_o      ({result_head[s], result_body[s]}),
        .copy_o        (offer),
        .copy_take_i   (copy_take[s]),
        .copy_body_o   (copy_body[s]),
        .result_take_o (result_take[s]),
        .fold_take_i   ((s == 0) ? fold_takes : '0),
        .look_row_i    ({reader_ask.head.row, look_row}),
        .look_credit_o ({read_credit[s], look_credit[s]}),
        .look_take_i   ({read_take[s], look_take[s]}),
        .send_valid_i  (send_valid[s]),
        .send_ready_o  (send_ready[s]),
        .send_parity_i (out_parity),
        .send_i        (out),
        .rx_valid_i    (rx_valid_i[s]),
        .rx_phit_i     (rx_phit_i[s]),
        .tx_valid_o    (tx_valid_o[s]),
        .tx_ready_i    (tx_ready_i[s]),
        .tx_phit_o     (tx_phit_o[s])
    );
  end

  assign ask_room[STAGES] = 1'b0;

  coll_copy #(
      .STAGES      (STAGES),
      .PHIT_W      (PHIT_W),
      .READER_DEPTH(ReadDepth)
  ) u_copy (
      .clk_i         (clk_i),
      .rst_ni        (rst_ni),
      .parity_i      (collectives.parity),
      .upper_i       (rows.upper),
      .lower_i       (rows.lower),
      .spreads_i     (spreads),
      .here_i        (here),
      .reader_hold_i (copying),
      .reader_valid_i(reader_valid),
      .reader_ready_o(reader_ready),
      .reader_part_i (reader_part),
      .reader_i      (reader),
      .result_valid_i(result_valid),
      .result_ready_o(result_ready),
      .result_head_i (result_head),
      .result_body_i (result_body),
      .copy_soon_i   (copy_soon),
      .copy_valid_i  (copy_valid),
      .copy_take_o   (copy_take),
      .copy_head_i   (copy_head),
      .copy_body_i   (copy_body),
      .look_row_o    (look_row),
      .look_credit_i (look_credit),
      .look_take_o   (look_take),
      .holds_o       (holds),
      .busy_o        (copy_busy),
      .sending_o     (sending),
      .send_valid_o  (send_valid),
      .send_ready_i  (send_ready),
      .keep_valid_o  (keep_valid),
      .keep_ready_i  (keep_ready),
      .out_parity_o  (out_parity),
      .out_o         (out)
  );

  coll_writer #(
      .RANKS (RANKS),
      .PHIT_W(PHIT_W),
      .ADDR_W(AddrW)
  ) u_writer (
      .clk_i            (clk_i),
      .rst_ni           (rst_ni),
      .member_i         (member),
      .busy_o           (writer_busy),
      .valid_i          (keep_valid),
      .ready_o          (keep_ready),
      .token_i          (out),
      .destination_row_o(destination_row),
      .destination_i    (destination),
      .write_valid_o    (write_valid_o),
      .write_ready_i    (write_ready_i),
      .write_address_o  (write_address_o),
      .write_data_o     (write_data_o),
      .write_strobe_o   (write_strobe_o),
      .complete_valid_o (ended_valid),
      .complete_ready_i (ended_ready),
      .complete_o       (ended_completion),
      .end_o            (ended),
      .sync_valid_o     (sync_valid_o),
      .sync_o           (sync_o)
  );

  `ALCOR_CHECK_PARAM(g_check_stages, STAGES >= 1 && STAGES <= 5, "collective_unit: STAGES must be 1 to 5")
  `ALCOR_CHECK_PARAM(g_check_phit, PHIT_W == 256 || PHIT_W == 512, "collective_unit: PHIT_W must be 256 or 512")

endmodule

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// Works out the role of this board in a collective that begins. Combinational.
///
/// Recursive halving: the words that this board answers for are halved from stage to stage. The boards' blocks lie in
/// the order of their labels, or of numbers whose Gray codes are the labels. A scatter's copies are divided in stage 0
/// only.
module coll_plan #(
    /// Ranks of the board.
    parameter int unsigned RANKS  = 1,
    /// Stages.
    parameter int unsigned STAGES = 3,
    /// A reduction of 2 to the power of this many words, or more, is announced.
    parameter int unsigned TELL_W = 10
) (
    /// Communicator of the collective.
    input  alcor_abi_pkg::row_t               row_i,
    /// Requests of the members; for the barrier's communicator they are not used.
    input  logic [RANKS-1:0][CollRequestW-1:0]    request_i,
    /// Ranks that are members.
    input  logic [RANKS-1:0]                  members_i,
    /// The communicator table.
    input  alcor_abi_pkg::comm_table_t        table_i,
    /// Words that a member gives, of the lowest member.
    output alcor_abi_pkg::place_t             total_o,
    /// Role of this board.
    output alcor_abi_pkg::plan_t              plan_o,
    /// By stage: copies go to the partner.
    output logic [STAGES-1:0]                 spreads_o,
    /// By stage: role of the stage, a stage_plan_t.
    output logic [STAGES-1:0][StagePlanW-1:0] stage_o
);

  alcor_abi_pkg::rank_c_what_t what;
  alcor_abi_pkg::coll_call_t call;
  alcor_abi_pkg::place_t total;
  alcor_abi_pkg::announce_t announce;
  logic [RANKS-1:0] gives;
  logic [RANKS-1:0][31:0] whats;
  logic [RANKS-1:0][27:0] words;
  logic [3:0] giver;

  for (genvar r = 0; r < RANKS; r++) begin : g_rank
    alcor_abi_pkg::coll_request_t request;
    assign request  = request_i[r];
    assign whats[r] = request.what;
    assign words[r] = request.words;
    assign gives[r] = members_i[r] && request.words != '0;
  end

  always_comb begin
    what  = '0;
    total = '0;
    giver = '0;
    for (int unsigned r = RANKS; r > 0; r--) begin
      if (members_i[r-1]) begin
        what  = whats[r-1];
        total = words[r-1];
      end
      // The root is the member that gives something.
      if (gives[r-1]) giver = 4'(r - 1);
    end
    if (row_i == 5'(SyncContext)) begin
      what           = '0;
      what.opcode    = CO_ALLREDUCE;
      what.algorithm = AL_DOUBLING;
      what.operation = RO_SYNC;
      what.datatype  = DT_U64;
    end
  end

  assign call    = {what.datatype, what.operation, what.algorithm, what.opcode};
  assign total_o = total;

  logic [7:0] label, fold, root, away;
  logic [2:0] stages;
  logic upper, lower, copies, rooted, gathers;

  assign label  = table_i.label[row_i];
  assign fold   = table_i.fold[row_i];
  assign stages = table_i.stages[row_i];
  assign upper  = table_i.upper[row_i];
  assign lower  = table_i.lower[row_i];

  assign copies = what.opcode == CO_BCAST || what.opcode == CO_SCATTER || what.opcode == CO_GATHER
      || what.opcode == CO_ALLGATHER;
  // Copies are always taken or dropped, so only reductions are announced.
  assign announce = {!copies && total >> TELL_W != '0, what.label, what.opcode};
  assign rooted  = what.opcode == CO_REDUCE;
  assign gathers = what.opcode == CO_GATHER;
  // A folded root gets its data through the label it is folded onto.
  assign root = (fold != '0 && what.label >= fold) ? what.label - fold : what.label;
  assign away = root ^ label;

  logic [STAGES-1:0] mine, sends, keeps, high;
  logic [STAGES-1:0][27:0] middle;

  always_comb begin
    for (int unsigned s = 0; s < STAGES; s++) begin
      mine[s] = !away[3'(stages - 3'(s + 1))];
      if (s == 0 && fold != '0) begin
        sends[s] = upper;
        keeps[s] = !upper;
      end else begin
        sends[s] = !upper && (!rooted || !mine[s]);
        keeps[s] = !rooted || mine[s];
      end
    end
  end

  logic gray, halving, halves, parts;
  alcor_abi_pkg::place_t block, half, start;

  assign gray    = what.algorithm == AL_GRAY;
  assign halving = (what.algorithm == AL_HALVING || gray) && fold == '0;
  assign halves  = halving && what.opcode == CO_REDUCE_SCATTER;
  assign parts   = (halves || (halving && what.opcode == CO_SCATTER)) && stages != '0;
  assign block   = total >> stages;

  always_comb begin
    start = '0;
    half  = '0;
    for (int unsigned s = 0; s < STAGES; s++) begin
      half      = block << 3'(stages - 3'(s + 1));
      middle[s] = start + half;
      high[s]   = label[3'(stages - 3'(s + 1))];
      // A bit of a Gray code is the sum of the number's bit and the one above it.
      if (s > 0) high[s] = high[s] ^ (gray && high[s-1]);
      if (high[s]) start = middle[s];
    end
  end

  // Where copies go from here: to all partners, or towards the root.
  always_comb begin
    spreads_o = '0;
    if (upper) begin
      spreads_o[0] = 1'b1;
    end else if (!gathers) begin
      for (int unsigned s = 0; s < STAGES; s++) begin
        spreads_o[s] = 3'(s) < stages && (s != 0 || fold == '0 || lower);
      end
    end else if (away == '0) begin
      spreads_o[0] = 1'b1;
    end else begin
      for (int unsigned s = STAGES; s > 0; s--) begin
        if (3'(s - 1) < stages && !mine[s-1] && !(s == 1 && fold != '0)) spreads_o = STAGES'(1) << (s - 1);
      end
    end
    // The root itself keeps its copies.
    if (gathers && what.label == label) spreads_o = '0;
  end

  // Where copies are for one label, this board keeps them if that is its own.
  assign plan_o = {call, copies, !gathers || what.label == label, parts, high[0], parts ? giver : 4'd0, announce};

  for (genvar s = 0; s < STAGES; s++) begin : g_stage
    assign stage_o[s] = {sends[s], keeps[s], halves, high[s], middle[s]};
  end

endmodule

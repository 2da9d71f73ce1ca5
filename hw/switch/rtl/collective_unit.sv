`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// Collective unit of a board: the control of collectives (CCM), the communicator table and the
/// units that gather and reduce (CGR), behind the stage ports of the router (Haghi et al. 2022,
/// sections 3 and 4).
///
/// A collective of a communicator begins here when all of its members on this board have posted it.
/// The reader gives its data to stage 0 (reductions) or to the copy unit (the others); what comes out
/// at the end is written to the members' memories. All communicators are served side by side, phit by
/// phit: a rank that posts late holds up its own communicator only.
module collective_unit #(
    /// Ranks of the board.
    parameter int unsigned RANKS = 1,
    /// Stages: log2 of the number of boards, rounded up.
    parameter int unsigned STAGES = 3,
    /// Bits of a phit's data.
    parameter int unsigned PHIT_W = 256,
    /// Bytes of each node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Cycles from a granted memory read to its data.
    parameter int unsigned MEM_LATENCY = 1,
    /// Phits of a communicator's window, the same on all boards: a power of two, 8 or more.
    parameter int unsigned WINDOW = alcor_switch_pkg::Window,
    /// Operations that its vector units have, bit by operation_e: those of the programs that it is for, and
    /// RO_BAND, RO_BOR for signatures, RO_SYNC for barriers.
    parameter bit [8:0] OPS = '1,
    /// Types that they have, bit by datatype_e; DT_U32 for signatures.
    parameter bit [5:0] TYPES = '1,
    /// Width of a word address in node memory; derived, not to be set.
    localparam int unsigned AddrW = $clog2(NODE_BYTES / 4)
) (
    /// Clock.
    input  logic                                      clk_i,
    /// Synchronous reset, active low.
    input  logic                                      rst_ni,

    /// A write into a rank's page, the part of collectives.
    input  logic [RANKS-1:0]                          write_i,
    /// Offset in the page.
    input  logic [RANKS-1:0][11:0]                    offset_i,
    /// Data.
    input  logic [RANKS-1:0][31:0]                    data_i,
    /// By rank: what waits for other members is to end, and what is posted is refused.
    input  logic [RANKS-1:0]                          cancel_i,
    /// By rank: communicators in which its collective has not ended.
    output logic [RANKS-1:0][31:0]                    posted_o,
    /// Communicators with a collective under way.
    output logic [31:0]                               active_o,

    /// Completion, by rank: one is on offer.
    output logic [RANKS-1:0]                          complete_valid_o,
    /// It is taken.
    input  logic [RANKS-1:0]                          complete_ready_i,
    /// Its status.
    output logic [RANKS-1:0][4:0]                     complete_status_o,
    /// Its id.
    output logic [RANKS-1:0][15:0]                    complete_id_o,

    /// The barrier over all boards asks for a round.
    input  logic                                      sync_begin_i,
    /// It can: the row is there and no round is under way.
    output logic                                      sync_ready_o,
    /// What this board gives to it.
    input  logic [PHIT_W-1:0]                         sync_i,
    /// The round's result.
    output logic                                      sync_valid_o,
    /// The result.
    output logic [PHIT_W-1:0]                         sync_o,

    /// Memory read wanted, by rank.
    output logic [RANKS-1:0]                          read_want_o,
    /// It takes place: all that is wanted is granted.
    output logic [RANKS-1:0]                          read_valid_o,
    /// It is granted; may depend on `read_want_o`, not on `read_valid_o`.
    input  logic [RANKS-1:0]                          read_ready_i,
    /// Its word address.
    output logic [RANKS-1:0][AddrW-1:0]               read_address_o,
    /// Its data, MEM_LATENCY cycles later.
    input  logic [RANKS-1:0][PHIT_W-1:0]              read_data_i,
    /// Memory write, by rank.
    output logic [RANKS-1:0]                          write_valid_o,
    /// It is done.
    input  logic [RANKS-1:0]                          write_ready_i,
    /// Its word address.
    output logic [RANKS-1:0][AddrW-1:0]               write_address_o,
    /// Its data.
    output logic [PHIT_W-1:0]                         write_data_o,
    /// Words to be written.
    output logic [RANKS-1:0][PHIT_W/32-1:0]           write_strobe_o,

    /// From the router: a phit for a stage; always taken.
    input  logic [STAGES-1:0]                         rx_valid_i,
    /// The phit.
    input  logic [STAGES-1:0][PHIT_W+HeaderW-1:0]    rx_phit_i,
    /// To the router: a phit of a stage.
    output logic [STAGES-1:0]                         tx_valid_o,
    /// It is taken.
    input  logic [STAGES-1:0]                         tx_ready_i,
    /// The phit.
    output logic [STAGES-1:0][PHIT_W+HeaderW-1:0]    tx_phit_o
);

  localparam int unsigned RankW = (RANKS > 1) ? $clog2(RANKS) : 1;
  // Cycles from the choice of a phit to its token, out of node memory and the members' vector units, and out
  // of a stage's vector unit.
  localparam int unsigned ReadLatency = 1 + MEM_LATENCY + (RANKS - 1) * AGLU_LATENCY;
  localparam int unsigned StageLatency = 1 + AGLU_LATENCY;
  // A queue's place is taken when a phit is chosen, and is free again 2 cycles after its token has left. So
  // many more places keep a phit per cycle going where the token cannot leave at once.
  localparam int unsigned Spare = 2 + 16;
  localparam int unsigned ReadDepth = 2 ** $clog2(ReadLatency + Spare);
  localparam int unsigned StageDepth = 2 ** $clog2(StageLatency + Spare);

  // ---------------------------------------------------------------- communicators

  logic row_written;
  logic [4:0] row;
  logic [31:0] rows, upper, lower;
  logic [RANKS-1:0][31:0] member;
  logic [31:0][7:0] label, fold;
  logic [31:0][2:0] stages;
  logic [STAGES-1:0][31:0][15:0] partner;

  coll_table #(
      .RANKS (RANKS),
      .STAGES(STAGES)
  ) u_table (
      .clk_i    (clk_i),
      .rst_ni   (rst_ni),
      .write_i  (write_i),
      .offset_i (offset_i),
      .data_i   (data_i),
      .written_o(row_written),
      .row_o    (row),
      .valid_o  (rows),
      .member_o (member),
      .label_o  (label),
      .fold_o   (fold),
      .stages_o (stages),
      .upper_o  (upper),
      .lower_o  (lower),
      .partner_o(partner)
  );

  // ---------------------------------------------------------------- commands

  logic end_valid;
  logic [4:0] end_row, begin_row_q, source_row, sign_row, keep_row;
  logic [RANKS-1:0] refused_valid, refused_ready, ended_valid, ended_ready;
  logic [RANKS-1:0][4:0] refused_status;
  logic [4:0] ended_status;
  logic [RANKS-1:0][15:0] refused_id, ended_id;
  logic [RANKS-1:0][AddrW-1:0] source_address, keep_address;
  logic [RANKS-1:0][PlaceW-1:0] source_first, source_words, keep_low, keep_high;
  logic [RANKS-1:0][63:0] sign;
  logic [RANKS-1:0][31:0] whats;
  logic [RANKS-1:0][PlaceW-1:0] what_words;

  for (genvar r = 0; r < RANKS; r++) begin : g_rank
    coll_commands #(
        .NODE_BYTES(NODE_BYTES)
    ) u_commands (
        .clk_i           (clk_i),
        .rst_ni          (rst_ni),
        .write_i         (write_i[r]),
        .offset_i        (offset_i[r]),
        .data_i          (data_i[r]),
        .member_i        (member[r] & rows),
        .active_i        (active_q),
        .cancel_i        (cancel_i[r]),
        .posted_o        (posted_o[r]),
        .end_i           (ended_valid[r] && ended_ready[r]),
        .end_row_i       (end_row),
        .refused_valid_o (refused_valid[r]),
        .refused_ready_i (refused_ready[r]),
        .refused_status_o(refused_status[r]),
        .refused_id_o    (refused_id[r]),
        .source_row_i    (source_row),
        .source_address_o(source_address[r]),
        .source_first_o  (source_first[r]),
        .source_words_o  (source_words[r]),
        .sign_row_i      (sign_row),
        .sign_o          (sign[r]),
        .what_row_i      (begin_row_q),
        .what_o          (whats[r]),
        .what_words_o    (what_words[r]),
        .keep_row_i      (keep_row),
        .keep_address_o  (keep_address[r]),
        .keep_low_o      (keep_low[r]),
        .keep_high_o     (keep_high[r]),
        .keep_id_o       (ended_id[r])
    );

    // For a rank its collective has ended once it has its completion: what it posts then must not be
    // refused because a neighbour has yet to take its own.
    // What has ended goes first; a completion on offer stays, since a refusal waits for a gap.
    assign complete_valid_o[r]  = ended_valid[r] || refused_valid[r];
    assign complete_status_o[r] = ended_valid[r] ? ended_status : refused_status[r];
    assign complete_id_o[r]     = ended_valid[r] ? ended_id_q[r] : refused_id[r];
    assign ended_ready[r]       = complete_ready_i[r];
    assign refused_ready[r]     = complete_ready_i[r] && !ended_valid[r];
  end

  // ---------------------------------------------------------------- control

  logic [31:0] active_q, parity_q, copies_q, here_q, lonely_q, alone_q, all_here;
  logic [STAGES-1:0][31:0] final_q, takes, sends_q, keeps_q, sends_signature_q, keeps_signature_q, spreads_q;
  logic [31:0][15:0] what_q;
  logic [31:0] halves_q, parts_q;
  logic [STAGES-1:0][31:0] high_q;
  logic [STAGES-1:0][31:0][PlaceW-1:0] middle_q;
  logic begin_q, sync_wanted_q;
  logic [STAGES-1:0][31:0] leaving;
  logic [31:0] leaving_any, leaving_q;
  logic [31:0] begin_one, begin_one_q;

  always_comb begin
    all_here = rows & ~active_q & ~begin_one_q;
    for (int unsigned r = 0; r < RANKS; r++) all_here = all_here & ((posted_o[r] & {32{!cancel_i[r]}}) | ~member[r]);
    // The barrier's row has no members; its board asks for it.
    all_here[SyncContext] = rows[SyncContext] && sync_wanted_q && !active_q[SyncContext] && !begin_one_q[SyncContext];
    // Nothing of a collective may overtake the last phits of the one before.
    all_here  = all_here & ~leaving_q;
    begin_one = all_here & (~all_here + 1'b1);
  end

  always_comb begin
    leaving_any = '0;
    for (int unsigned s = 0; s < STAGES; s++) leaving_any = leaving_any | leaving[s];
  end

  always_ff @(posedge clk_i) leaving_q <= rst_ni ? leaving_any : '0;

  assign sync_ready_o = rows[SyncContext] && !sync_wanted_q && !active_q[SyncContext] && !begin_one_q[SyncContext];

  always_ff @(posedge clk_i) begin
    begin_row_q <= {|(begin_one & 32'hFFFF_0000), |(begin_one & 32'hFF00_FF00), |(begin_one & 32'hF0F0_F0F0),
                    |(begin_one & 32'hCCCC_CCCC), |(begin_one & 32'hAAAA_AAAA)};
    if (!rst_ni) begin
      begin_q       <= 1'b0;
      begin_one_q   <= '0;
      sync_wanted_q <= 1'b0;
    end else begin
      begin_q     <= begin_one != '0;
      begin_one_q <= begin_one;
      if (sync_begin_i) sync_wanted_q <= 1'b1;
      else if (begin_one[SyncContext]) sync_wanted_q <= 1'b0;
    end
  end

  logic [31:0] what;
  logic [7:0] begin_label, begin_fold, root, away;
  logic [2:0] begin_stages;
  logic begin_upper, begin_lower, copies, rooted;
  logic [STAGES-1:0] mine, begin_sends, begin_keeps, begin_spreads;

  always_comb begin
    what = '0;
    for (int unsigned r = RANKS; r > 0; r--) if (member[r-1][begin_row_q]) what = whats[r-1];
    if (begin_row_q == 5'(SyncContext)) begin
      what = '0;
      what[RANK_C_WHAT_OPCODE_LSB+:4]    = CO_ALLREDUCE;
      what[RANK_C_WHAT_ALGORITHM_LSB+:2] = AL_DOUBLING;
      what[RANK_C_WHAT_OPERATION_LSB+:4] = RO_SYNC;
      what[RANK_C_WHAT_DATATYPE_LSB+:3]  = DT_U64;
    end
    begin_label  = label[begin_row_q];
    begin_fold   = fold[begin_row_q];
    begin_stages = stages[begin_row_q];
    begin_upper  = upper[begin_row_q];
    begin_lower  = lower[begin_row_q];
    case (what[RANK_C_WHAT_OPCODE_LSB+:4])
      CO_BCAST, CO_SCATTER, CO_GATHER, CO_ALLGATHER: copies = 1'b1;
      default: copies = 1'b0;
    endcase
    rooted = what[RANK_C_WHAT_OPCODE_LSB+:4] == CO_REDUCE;
    root   = what[RANK_C_WHAT_LABEL_LSB+:8];
    // A folded root gets its data through the label it is folded onto.
    if (begin_fold != '0 && root >= begin_fold) root = root - begin_fold;
    away = root ^ begin_label;
    for (int unsigned s = 0; s < STAGES; s++) begin
      mine[s] = !away[3'(begin_stages - 3'(s + 1))];
      if (s == 0 && begin_fold != '0) begin
        begin_sends[s] = begin_upper;
        begin_keeps[s] = !begin_upper;
      end else begin
        begin_sends[s] = !begin_upper && (!rooted || !mine[s]);
        begin_keeps[s] = !rooted || mine[s];
      end
    end
  end

  // Recursive halving: the words that this board answers for are halved from stage to stage; the
  // boards' blocks lie in the order of their labels, or of numbers whose Gray codes are the labels. A
  // scatter's copies are divided in stage 0 only.
  logic begin_gray, begin_halving, begin_halves, begin_parts;
  logic [RankW-1:0] begin_who;
  logic [PlaceW-1:0] total, block, half, start;
  logic [STAGES-1:0][PlaceW-1:0] begin_middle;
  logic [STAGES-1:0] begin_high;

  always_comb begin
    total = '0;
    for (int unsigned r = RANKS; r > 0; r--) if (member[r-1][begin_row_q]) total = what_words[r-1];
    begin_gray    = what[RANK_C_WHAT_ALGORITHM_LSB+:2] == AL_GRAY;
    begin_halving = (what[RANK_C_WHAT_ALGORITHM_LSB+:2] == AL_HALVING || begin_gray) && begin_fold == '0;
    begin_halves  = begin_halving && what[RANK_C_WHAT_OPCODE_LSB+:4] == CO_REDUCE_SCATTER;
    begin_parts   = (begin_halves || (begin_halving && what[RANK_C_WHAT_OPCODE_LSB+:4] == CO_SCATTER))
        && begin_stages != '0;
    // The root is the member that gives something.
    begin_who = '0;
    for (int unsigned r = RANKS; r > 0; r--) begin
      if (begin_parts && member[r-1][begin_row_q] && what_words[r-1] != '0) begin_who = RankW'(r - 1);
    end
    block = total >> begin_stages;
    start = '0;
    half  = '0;
    for (int unsigned s = 0; s < STAGES; s++) begin
      half            = block << 3'(begin_stages - 3'(s + 1));
      begin_middle[s] = start + half;
      begin_high[s]   = begin_label[3'(begin_stages - 3'(s + 1))];
      // A bit of a Gray code is the sum of the number's bit and the one above it.
      if (s > 0) begin_high[s] = begin_high[s] ^ (begin_gray && begin_high[s-1]);
      if (begin_high[s]) start = begin_middle[s];
    end
  end

  // Where copies go from here: to all partners, or towards the root.
  always_comb begin
    begin_spreads = '0;
    if (begin_upper) begin
      begin_spreads[0] = 1'b1;
    end else if (what[RANK_C_WHAT_OPCODE_LSB+:4] != CO_GATHER) begin
      for (int unsigned s = 0; s < STAGES; s++) begin
        begin_spreads[s] = 3'(s) < begin_stages && (s != 0 || begin_fold == '0 || begin_lower);
      end
    end else if (away == '0) begin
      begin_spreads[0] = 1'b1;
    end else begin
      for (int unsigned s = STAGES; s > 0; s--) begin
        if (3'(s - 1) < begin_stages && !mine[s-1] && !(s == 1 && begin_fold != '0))
          begin_spreads = STAGES'(1) << (s - 1);
      end
    end
    // The root itself keeps its copies.
    if (what[RANK_C_WHAT_OPCODE_LSB+:4] == CO_GATHER && what[RANK_C_WHAT_LABEL_LSB+:8] == begin_label)
      begin_spreads = '0;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q <= '0;
      parity_q <= '0;
      lonely_q <= '0;
      alone_q  <= '0;
    end else begin
      if (end_valid) active_q[end_row] <= 1'b0;
      if (begin_q) begin
        active_q[begin_row_q] <= 1'b1;
        parity_q[begin_row_q] <= !parity_q[begin_row_q];
      end
      if (row_written) begin
        parity_q[row] <= 1'b0;
        lonely_q[row] <= stages[row] == '0;
        alone_q[row]  <= fold[row] != '0 && !upper[row] && !lower[row];
      end
    end
    if (begin_q) begin
      /* verilator unroll_disable */
      for (int unsigned c = 0; c < Contexts; c++) begin
        if (begin_row_q == 5'(c)) begin
          copies_q[c] <= copies;
          halves_q[c] <= begin_halves;
          parts_q[c]  <= begin_parts;
          what_q[c]   <= what[15:0];
          // Where copies are for one label, this board keeps them if that is its own.
          here_q[c]   <= what[RANK_C_WHAT_OPCODE_LSB+:4] != CO_GATHER
              || what[RANK_C_WHAT_LABEL_LSB+:8] == begin_label;
          for (int unsigned s = 0; s < STAGES; s++) begin
            sends_q[s][c]   <= begin_sends[s];
            keeps_q[s][c]   <= begin_keeps[s];
            spreads_q[s][c] <= begin_spreads[s];
            middle_q[s][c]  <= begin_middle[s];
            high_q[s][c]    <= begin_high[s];
          end
        end
      end
    end
    if (row_written) begin
      for (int unsigned s = 0; s < STAGES; s++) begin
        final_q[s][row]           <= stages[row] == 3'(s + 1);
        sends_signature_q[s][row] <= (s == 0 && fold[row] != '0) ? upper[row] : !upper[row];
        keeps_signature_q[s][row] <= !(s == 0 && upper[row]);
      end
    end
  end

  always_comb begin
    takes    = '0;
    takes[0] = upper;
  end

  // ---------------------------------------------------------------- reader, stages, copy unit, writer

  logic [STAGES-1:0][31:0] owes;
  logic [31:0] owes_any, holds;
  logic [STAGES:0] in_valid, in_signature, ask_room, ask_take, ask_signature;
  logic [STAGES:0][4:0] in_row, ask_row;
  logic [STAGES:0][1:0] in_part, ask_part;
  logic [STAGES:0][PlaceW-1:0] in_word;
  logic [STAGES:0][3:0] in_words;
  logic [STAGES:0][PHIT_W-1:0] in_data;
  logic [STAGES-1:0] read_credit, read_take, look_credit, look_take, send_valid, send_ready;
  logic [STAGES-1:0] result_valid, result_ready, result_signature, copy_soon, copy_valid, copy_take, copy_signature;
  logic [STAGES-1:0][4:0] result_row, copy_row;
  logic [STAGES-1:0][PlaceW-1:0] result_word, copy_word;
  logic [STAGES-1:0][3:0] result_words, copy_words;
  logic [STAGES-1:0][PHIT_W-1:0] result_data, copy_data;
  logic copying, reader_valid, reader_ready, reader_signature, keep_valid, keep_ready, out_parity, out_signature;
  logic [4:0] copying_row, reader_row, look_row, out_row;
  logic [1:0] reader_part;
  logic [PlaceW-1:0] reader_word, out_word;
  logic [3:0] reader_words, out_words;
  logic [PHIT_W-1:0] reader_data, out_data;
  logic [RANKS-1:0][15:0] ended_id_q;

  always_comb begin
    owes_any = '0;
    for (int unsigned s = 0; s < STAGES; s++) owes_any = owes_any | owes[s];
  end

  coll_reader #(
      .RANKS      (RANKS),
      .STAGES     (STAGES),
      .PHIT_W     (PHIT_W),
      .ADDR_W     (AddrW),
      .MEM_LATENCY(MEM_LATENCY),
      .WINDOW     (WINDOW),
      .COPY_DEPTH (ReadDepth),
      .OPS        (OPS),
      .TYPES      (TYPES)
  ) u_reader (
      .clk_i           (clk_i),
      .rst_ni          (rst_ni),
      .begin_i         (begin_q),
      .begin_row_i     (begin_row_q),
      .begin_who_i     (begin_who),
      .member_i        (member),
      .copies_i        (copies_q),
      .lonely_i        (lonely_q),
      .spreads_i       (spreads_q),
      .parts_i         (parts_q),
      .high_i          (high_q[0]),
      .owes_i          (owes_any),
      .copy_holds_i    (holds),
      .source_row_o    (source_row),
      .source_address_i(source_address),
      .source_first_i  (source_first),
      .source_words_i  (source_words),
      .sign_row_o      (sign_row),
      .sign_i          (sign),
      .what_i          (what_q),
      .sync_i          (sync_i),
      .read_want_o     (read_want_o),
      .read_valid_o    (read_valid_o),
      .read_ready_i    (read_ready_i),
      .read_address_o  (read_address_o),
      .read_data_i     (read_data_i),
      .ask_row_o       (ask_row[0]),
      .ask_room_i      (ask_room[0]),
      .ask_take_o      (ask_take[0]),
      .ask_signature_o (ask_signature[0]),
      .ask_part_o      (ask_part[0]),
      .credit_i        (read_credit),
      .credit_take_o   (read_take),
      .copying_o       (copying),
      .copying_row_o   (copying_row),
      .out_valid_o     (in_valid[0]),
      .copy_valid_o    (reader_valid),
      .copy_ready_i    (reader_ready),
      .out_row_o       (in_row[0]),
      .out_part_o      (in_part[0]),
      .out_signature_o (in_signature[0]),
      .out_word_o      (in_word[0]),
      .out_words_o     (in_words[0]),
      .out_data_o      (in_data[0]),
      .copy_row_o      (reader_row),
      .copy_part_o     (reader_part),
      .copy_signature_o(reader_signature),
      .copy_word_o     (reader_word),
      .copy_words_o    (reader_words),
      .copy_data_o     (reader_data)
  );

  logic [STAGES-1:0] out_valid;

  for (genvar s = 0; s < STAGES; s++) begin : g_stage
    coll_stage #(
        .STAGE   (s),
        .STAGES  (STAGES),
        .PHIT_W  (PHIT_W),
        .WINDOW  (WINDOW),
        .TX_DEPTH((s == 0) ? ReadDepth : StageDepth),
        .OPS     (OPS),
        .TYPES   (TYPES)
    ) u_stage (
        .clk_i             (clk_i),
        .rst_ni            (rst_ni),
        .row_written_i     (row_written),
        .row_i             (row),
        .partner_i         (partner[s]),
        .active_i          (active_q),
        .parity_i          (parity_q),
        .copies_i          (copies_q),
        .takes_i           (takes[s]),
        .alone_i           (s == 0 ? alone_q : '0),
        .final_i           (final_q[s]),
        .sends_i           (sends_q[s]),
        .keeps_i           (keeps_q[s]),
        .sends_signature_i (sends_signature_q[s]),
        .keeps_signature_i (keeps_signature_q[s]),
        .halves_i          (halves_q),
        .middle_i          (middle_q[s]),
        .high_i            (high_q[s]),
        .what_i            (what_q),
        .end_i             (end_valid),
        .end_row_i         (end_row),
        .owes_o            (owes[s]),
        .leaving_o         (leaving[s]),
        .ask_row_i         (ask_row[s]),
        .ask_room_o        (ask_room[s]),
        .ask_take_i        (ask_take[s]),
        .ask_signature_i   (ask_signature[s]),
        .ask_part_i        (ask_part[s]),
        .in_valid_i        (in_valid[s]),
        .in_row_i          (in_row[s]),
        .in_signature_i    (in_signature[s]),
        .in_part_i         (in_part[s]),
        .in_word_i         (in_word[s]),
        .in_words_i        (in_words[s]),
        .in_data_i         (in_data[s]),
        .next_row_o        (ask_row[s+1]),
        .next_room_i       (ask_room[s+1]),
        .next_take_o       (ask_take[s+1]),
        .next_signature_o  (ask_signature[s+1]),
        .out_valid_o       (out_valid[s]),
        .out_row_o         (in_row[s+1]),
        .out_signature_o   (in_signature[s+1]),
        .out_word_o        (in_word[s+1]),
        .out_words_o       (in_words[s+1]),
        .out_data_o        (in_data[s+1]),
        .result_valid_o    (result_valid[s]),
        .result_ready_i    (result_ready[s]),
        .result_row_o      (result_row[s]),
        .result_signature_o(result_signature[s]),
        .result_word_o     (result_word[s]),
        .result_words_o    (result_words[s]),
        .result_data_o     (result_data[s]),
        .copy_soon_o       (copy_soon[s]),
        .copy_row_o        (copy_row[s]),
        .copy_valid_o      (copy_valid[s]),
        .copy_take_i       (copy_take[s]),
        .copy_signature_o  (copy_signature[s]),
        .copy_word_o       (copy_word[s]),
        .copy_words_o      (copy_words[s]),
        .copy_data_o       (copy_data[s]),
        .copy_holds_i      (holds),
        .look_row_i        (look_row),
        .look_credit_o     (look_credit[s]),
        .look_take_i       (look_take[s]),
        .read_row_i        (ask_row[0]),
        .read_credit_o     (read_credit[s]),
        .read_take_i       (read_take[s]),
        .send_valid_i      (send_valid[s]),
        .send_ready_o      (send_ready[s]),
        .send_row_i        (out_row),
        .send_signature_i  (out_signature),
        .send_parity_i     (out_parity),
        .send_word_i       (out_word),
        .send_words_i      (out_words),
        .send_data_i       (out_data),
        .rx_valid_i        (rx_valid_i[s]),
        .rx_phit_i         (rx_phit_i[s]),
        .tx_valid_o        (tx_valid_o[s]),
        .tx_ready_i        (tx_ready_i[s]),
        .tx_phit_o         (tx_phit_o[s])
    );

    // Results leave through the stage's own FIFO.
    assign in_valid[s+1] = out_valid[s] && !final_q[s][in_row[s+1]];
    // The reader's parts are told apart in stage 0 only.
    assign in_part[s+1]  = '0;
    assign ask_part[s+1] = '0;
  end

  assign ask_room[STAGES] = 1'b0;

  coll_copy #(
      .STAGES      (STAGES),
      .PHIT_W      (PHIT_W),
      .READER_DEPTH(ReadDepth)
  ) u_copy (
      .clk_i             (clk_i),
      .rst_ni            (rst_ni),
      .parity_i          (parity_q),
      .upper_i           (upper),
      .lower_i           (lower),
      .spreads_i         (spreads_q),
      .here_i            (here_q),
      .reader_hold_i     (copying),
      .reader_hold_row_i (copying_row),
      .reader_valid_i    (reader_valid),
      .reader_ready_o    (reader_ready),
      .reader_row_i      (reader_row),
      .reader_part_i     (reader_part),
      .reader_signature_i(reader_signature),
      .reader_word_i     (reader_word),
      .reader_words_i    (reader_words),
      .reader_data_i     (reader_data),
      .result_valid_i    (result_valid),
      .result_ready_o    (result_ready),
      .result_row_i      (result_row),
      .result_signature_i(result_signature),
      .result_word_i     (result_word),
      .result_words_i    (result_words),
      .result_data_i     (result_data),
      .copy_soon_i       (copy_soon),
      .copy_valid_i      (copy_valid),
      .copy_take_o       (copy_take),
      .copy_row_i        (copy_row),
      .copy_signature_i  (copy_signature),
      .copy_word_i       (copy_word),
      .copy_words_i      (copy_words),
      .copy_data_i       (copy_data),
      .look_row_o        (look_row),
      .look_credit_i     (look_credit),
      .look_take_o       (look_take),
      .holds_o           (holds),
      .send_valid_o      (send_valid),
      .send_ready_i      (send_ready),
      .keep_valid_o      (keep_valid),
      .keep_ready_i      (keep_ready),
      .out_row_o         (out_row),
      .out_parity_o      (out_parity),
      .out_signature_o   (out_signature),
      .out_word_o        (out_word),
      .out_words_o       (out_words),
      .out_data_o        (out_data)
  );

  coll_writer #(
      .RANKS (RANKS),
      .PHIT_W(PHIT_W),
      .ADDR_W(AddrW)
  ) u_writer (
      .clk_i            (clk_i),
      .rst_ni           (rst_ni),
      .member_i         (member),
      .valid_i          (keep_valid),
      .ready_o          (keep_ready),
      .row_i            (out_row),
      .signature_i      (out_signature),
      .word_i           (out_word),
      .words_i          (out_words),
      .data_i           (out_data),
      .keep_row_o       (keep_row),
      .keep_address_i   (keep_address),
      .keep_low_i       (keep_low),
      .keep_high_i      (keep_high),
      .keep_id_i        (ended_id),
      .write_valid_o    (write_valid_o),
      .write_ready_i    (write_ready_i),
      .write_address_o  (write_address_o),
      .write_data_o     (write_data_o),
      .write_strobe_o   (write_strobe_o),
      .complete_valid_o (ended_valid),
      .complete_ready_i (ended_ready),
      .complete_status_o(ended_status),
      .complete_id_o    (ended_id_q),
      .end_o            (end_valid),
      .end_row_o        (end_row),
      .sync_valid_o     (sync_valid_o),
      .sync_o           (sync_o)
  );

  assign active_o = active_q;

  `ALCOR_CHECK_PARAM(g_check_stages, STAGES >= 1 && STAGES <= 5, "collective_unit: STAGES must be 1 to 5")
  `ALCOR_CHECK_PARAM(g_check_phit, PHIT_W == 256 || PHIT_W == 512, "collective_unit: PHIT_W must be 256 or 512")
  `ALCOR_IMPLIES(a_end_active, end_valid, active_q[end_row])

`ifdef ALCOR_COVERAGE
  // What begins, on this board: reductions by type and operation, where there is a unit for them; what is copied by
  // type. Of a collective in software only the signature comes here.
  logic begins;
  logic [3:0] begin_opcode, begin_operation;
  logic [2:0] begin_type;
  assign begins          = begin_q && begin_row_q != 5'(SyncContext);
  assign begin_opcode    = what[RANK_C_WHAT_OPCODE_LSB+:4];
  assign begin_operation = what[RANK_C_WHAT_OPERATION_LSB+:4];
  assign begin_type      = what[RANK_C_WHAT_DATATYPE_LSB+:3];
`define ALCOR_COVER_REDUCTION(collective_, type_, operation_) \
  if (TYPES[DT_``type_] && OPS[RO_``operation_]) begin : g_``collective_``_``type_``_``operation_ \
    `ALCOR_COVER(c_collectives_``collective_``_``type_``_``operation_, \
                 begins && begin_opcode == CO_``collective_ && begin_type == DT_``type_ && \
                 begin_operation == RO_``operation_ && total != '0) \
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
               begins && begin_opcode == CO_``collective_ && begin_type == DT_``type_)
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
  `ALCOR_COVER(c_collectives_BARRIER, begins && begin_opcode == CO_BARRIER)
  `ALCOR_COVER(c_collectives_SOFTWARE, begins && (begin_opcode == CO_SOFTWARE || begin_type == DT_SOFTWARE))
  `ALCOR_COVER(c_collectives_barrier_of_all_boards, begin_q && begin_row_q == 5'(SyncContext))
`define ALCOR_COVER_ALGORITHM(algorithm_) \
  `ALCOR_COVER(c_algorithm_``algorithm_, begins && what[RANK_C_WHAT_ALGORITHM_LSB+:2] == AL_``algorithm_)
  `ALCOR_COVER_ALGORITHM(TREE)
  `ALCOR_COVER_ALGORITHM(DOUBLING)
  `ALCOR_COVER_ALGORITHM(HALVING)
  `ALCOR_COVER_ALGORITHM(GRAY)
  `ALCOR_COVER(c_algorithm_folded, begins && begin_fold != '0)
  `ALCOR_COVER(c_algorithm_one_board, begins && begin_stages == '0)
`undef ALCOR_COVER_REDUCTION
`undef ALCOR_COVER_ARITHMETIC
`undef ALCOR_COVER_BITWISE
`undef ALCOR_COVER_REDUCTIONS
`undef ALCOR_COVER_COPY
`undef ALCOR_COVER_COPIES
`undef ALCOR_COVER_ALGORITHM
`define ALCOR_COVER_ANSWER(status_) \
  `ALCOR_COVER(c_answers_collective_``status_, \
               complete_valid_o[r] && complete_ready_i[r] && complete_status_o[r] == ST_``status_)
  for (genvar r = 0; r < RANKS; r++) begin : g_cover
    `ALCOR_COVER_ANSWER(OK)
    `ALCOR_COVER_ANSWER(BAD_LOCAL)
    `ALCOR_COVER_ANSWER(BAD_COMMUNICATOR)
    `ALCOR_COVER_ANSWER(MISMATCH)
    `ALCOR_COVER_ANSWER(OTHER_COUNT)
    `ALCOR_COVER_ANSWER(OTHER_TYPE)
    `ALCOR_COVER_ANSWER(OTHER_OPERATION)
    `ALCOR_COVER_ANSWER(OTHER_ROOT)
    `ALCOR_COVER_ANSWER(RANK_RESET)
  end
`undef ALCOR_COVER_ANSWER
`endif

endmodule

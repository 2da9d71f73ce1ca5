`include "assertions.svh"
`include "simulation.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;
import alcor_fp_pkg::*;

/// Reads what this board's members give to their collectives, a phit of every member at a time.
///
/// In a reduction the members' phits of the same place are combined in ascending local rank before
/// anything leaves the board. Copies are read member by member. Each communicator's data is followed
/// by its signature. What is read has room where it goes: a communicator without room is passed over.
///
/// Where data is divided between this board's half of the boards and the other half, it is read in parts:
/// a chunk for the other half, a chunk for the own one, in turn, and each half's last phit is followed by
/// a signature. So the partner of stage 0 has all that is for it, and the signature, as early as can be;
/// and what both keep meets there, since partners read the same chunks at about the same time.
module coll_reader #(
    /// Ranks of the board.
    parameter int unsigned RANKS = 1,
    /// Stages.
    parameter int unsigned STAGES = 3,
    /// Bits of a phit's data.
    parameter int unsigned PHIT_W = 256,
    /// Width of a word address in node memory.
    parameter int unsigned ADDR_W = 18,
    /// Cycles from a granted memory read to its data.
    parameter int unsigned MEM_LATENCY = 1,
    /// Phits of a communicator's window.
    parameter int unsigned WINDOW = alcor_switch_pkg::Window,
    /// Copies on their way from a memory, and waiting for the copy unit, a power of two.
    parameter int unsigned COPY_DEPTH = 32,
    /// Operations that its vector units have, bit by operation_e.
    parameter bit [8:0] OPS = '1,
    /// Types that they have, bit by datatype_e.
    parameter bit [5:0] TYPES = '1,
    /// Bits of a rank's number on the board; derived, not to be set.
    localparam int unsigned RankW = (RANKS > 1) ? $clog2(RANKS) : 1
) (
    /// Clock.
    input  logic                          clk_i,
    /// Synchronous reset, active low.
    input  logic                          rst_ni,

    /// A collective begins.
    input  logic                          begin_i,
    /// Its communicator.
    input  logic [4:0]                    begin_row_i,
    /// The member whose words are copied first.
    input  logic [RankW-1:0]              begin_who_i,
    /// By rank: communicators that it is a member of.
    input  logic [RANKS-1:0][31:0]        member_i,
    /// The collective only copies.
    input  logic [31:0]                   copies_i,
    /// There is no other board in it.
    input  logic [31:0]                   lonely_i,
    /// By stage: copies from here go to this stage's partner.
    input  logic [STAGES-1:0][31:0]       spreads_i,
    /// Data is read in parts.
    input  logic [31:0]                   parts_i,
    /// Then: this board's half is the upper one.
    input  logic [31:0]                   high_i,
    /// Credits are owed in the communicator.
    input  logic [31:0]                   owes_i,
    /// The copy unit holds phits of the communicator.
    input  logic [31:0]                   copy_holds_i,

    /// The communicator whose operands are wanted.
    output logic [4:0]                    source_row_o,
    /// By rank: word address of what is given.
    input  logic [RANKS-1:0][ADDR_W-1:0]  source_address_i,
    /// By rank: its place in the message.
    input  logic [RANKS-1:0][PlaceW-1:0]  source_first_i,
    /// By rank: words given.
    input  logic [RANKS-1:0][PlaceW-1:0]  source_words_i,
    /// The communicator whose signatures are wanted.
    output logic [4:0]                    sign_row_o,
    /// By rank: signature.
    input  logic [RANKS-1:0][63:0]        sign_i,
    /// C_WHAT of each collective, the low half.
    input  logic [31:0][15:0]             what_i,
    /// The barrier's phit.
    input  logic [PHIT_W-1:0]             sync_i,

    /// Memory read wanted, by rank.
    output logic [RANKS-1:0]              read_want_o,
    /// It takes place: all that is wanted is granted.
    output logic [RANKS-1:0]              read_valid_o,
    /// It is granted; may depend on `read_want_o`, not on `read_valid_o`.
    input  logic [RANKS-1:0]              read_ready_i,
    /// Its word address.
    output logic [RANKS-1:0][ADDR_W-1:0]  read_address_o,
    /// Its data, MEM_LATENCY cycles later.
    input  logic [RANKS-1:0][PHIT_W-1:0]  read_data_i,

    /// Stage 0 is asked for room, for this communicator.
    output logic [4:0]                    ask_row_o,
    /// It has room.
    input  logic                          ask_room_i,
    /// The room is taken.
    output logic                          ask_take_o,
    /// For a signature.
    output logic                          ask_signature_o,
    /// Of which part, as `out_part_o`.
    output logic [1:0]                    ask_part_o,
    /// By stage: a credit is left for a copy.
    input  logic [STAGES-1:0]             credit_i,
    /// It is used.
    output logic [STAGES-1:0]             credit_take_o,

    /// A phit is on its way to the copy unit, of this communicator.
    output logic                          copying_o,
    /// Which.
    output logic [4:0]                    copying_row_o,

    /// To stage 0: a token.
    output logic                          out_valid_o,
    /// To the copy unit: a token is on offer.
    output logic                          copy_valid_o,
    /// It is taken.
    input  logic                          copy_ready_i,
    /// Its communicator, and that of the token to stage 0.
    output logic [4:0]                    out_row_o,
    /// It is for the other half of the boards, or for the own one; neither where nothing is divided.
    output logic [1:0]                    out_part_o,
    /// It is a signature.
    output logic                          out_signature_o,
    /// Its place.
    output logic [PlaceW-1:0]             out_word_o,
    /// Its words, less one.
    output logic [3:0]                    out_words_o,
    /// Its data.
    output logic [PHIT_W-1:0]             out_data_o,
    /// Of the copy on offer: its communicator.
    output logic [4:0]                    copy_row_o,
    /// Its part.
    output logic [1:0]                    copy_part_o,
    /// It is a signature.
    output logic                          copy_signature_o,
    /// Its place.
    output logic [PlaceW-1:0]             copy_word_o,
    /// Its words, less one.
    output logic [3:0]                    copy_words_o,
    /// Its data.
    output logic [PHIT_W-1:0]             copy_data_o
);

  localparam int unsigned Words = PHIT_W / 32;
  localparam int unsigned CopyW = $clog2(COPY_DEPTH + 1);
  // A message in parts is read in chunks of a quarter of a window: the bits of a place that number the
  // phits of a chunk.
  localparam logic [PlaceW-1:0] ChunkMask = PlaceW'((WINDOW / 4 - 1) * Words);
  localparam int unsigned TagW = 9 + PlaceW + 4;

  // ---------------------------------------------------------------- who is next

  logic [31:0] reading_q, signing_q, own_q;
  logic [31:0][PlaceW-1:0] place_q;
  logic [31:0][RankW-1:0] who_q;
  logic pick_valid;
  logic [4:0] pick;
  logic is_sync, fire, moved, step;

  coll_pick u_pick (
      .clk_i       (clk_i),
      .rst_ni      (rst_ni),
      .candidates_i(reading_q),
      .failed_i    (pick_valid && !moved),
      .valid_o     (pick_valid),
      .row_o       (pick)
  );

  assign source_row_o = pick;
  assign is_sync      = pick == 5'(SyncContext);

  // The member whose words count: in a reduction the lowest, in copies one after the other.
  logic [RANKS-1:0] members, given;
  logic [RankW-1:0] first_member, next_member, who;
  logic more_members;
  logic [PlaceW-1:0] words, total, place, beyond, next_place, first, base;
  logic signs, ends, empty, done, another, to_copy, room, credits;
  logic parts, own, chunk_ends;
  logic [1:0] part;
  logic [CopyW-1:0] copies_q;
  logic request_ready;

  always_comb begin
    members      = '0;
    first_member = '0;
    next_member  = '0;
    more_members = 1'b0;
    for (int unsigned r = 0; r < RANKS; r++) members[r] = member_i[r][pick];
    for (int unsigned r = RANKS; r > 0; r--) begin
      if (members[r-1]) begin
        first_member = RankW'(r - 1);
        if (r - 1 > 32'(who_q[pick])) begin
          next_member  = RankW'(r - 1);
          more_members = 1'b1;
        end
      end
    end
  end

  assign who = copies_i[pick] ? who_q[pick] : first_member;

  always_comb begin
    words = source_words_i[0];
    first = source_first_i[0];
    for (int unsigned r = 1; r < RANKS; r++) begin
      if (who == RankW'(r)) begin
        words = source_words_i[r];
        first = source_first_i[r];
      end
    end
    if (is_sync) begin
      words = PlaceW'(Words);
      first = '0;
    end
  end

  // Both halves are as long, and so are their chunks. So what the partner sends of a chunk has room there
  // until this board has sent its own and comes to read what it keeps of it: neither waits for the other.
  // Places are within the half.
  assign parts = parts_i[pick];
  assign own   = own_q[pick];
  assign part  = {parts && own, parts && !own};
  assign total = parts ? words >> 1 : words;
  assign base  = (parts && own == high_i[pick]) ? words >> 1 : '0;

  assign place   = place_q[pick];
  assign chunk_ends = parts && (place & ChunkMask) == ChunkMask;
  assign signs   = signing_q[pick];
  assign beyond  = place + PlaceW'(Words);
  // Written as strict comparisons, which are a carry chain and no more.
  assign empty   = !(place < total) || (copies_i[pick] && !members[who] && !is_sync);
  assign ends    = !(beyond < total);
  // With this phit, or as there is none.
  assign done       = empty || ends;
  // In parts, one member's words are copied.
  assign another    = done && copies_i[pick] && more_members && !parts;
  // From the other half's chunk back to the beginning of the own half's.
  assign next_place = another ? '0
      : (part[0] && (done || chunk_ends)) ? place & ~ChunkMask : beyond;
  assign to_copy = lonely_i[pick] || (copies_i[pick] && !signs);

  logic [STAGES-1:0] spread;
  always_comb begin
    // The other half is beyond stage 0, the own one beyond the stages after it.
    for (int unsigned s = 0; s < STAGES; s++) spread[s] = spreads_i[s][pick] && !part[(s == 0) ? 1 : 0];
  end

  always_comb begin
    credits = 1'b1;
    for (int unsigned s = 0; s < STAGES; s++) begin
      if (spread[s] && !credit_i[s]) credits = 1'b0;
    end
  end

  // A signature closes its streams: it waits until the copies before it are on their way, and until
  // nothing is owed for the collective before.
  assign room = to_copy ? (copies_q != CopyW'(COPY_DEPTH)) && (signs || lonely_i[pick] || credits)
                        : ask_room_i && !(signs && (copy_holds_i[pick] || owes_i[pick]));
  assign step = pick_valid && reading_q[pick] && !signs && empty;
  assign fire = pick_valid && reading_q[pick] && !step && room && request_ready;
  assign moved = step || fire;

  assign copying_o       = fire && to_copy;
  assign copying_row_o   = pick;
  assign ask_row_o       = pick;
  assign ask_take_o      = fire && !to_copy;
  assign ask_signature_o = signs;
  assign ask_part_o      = part;
  assign credit_take_o   = {STAGES{fire && to_copy && !signs && !lonely_i[pick]}} & spread;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reading_q <= '0;
      signing_q <= '0;
    end else begin
      if (`ALCOR_AWAKE(moved || begin_i)) begin
        /* verilator unroll_disable */
        for (int unsigned c = 0; c < Contexts; c++) begin
          if (moved && pick == 5'(c)) begin
            if (signs) begin
              if (part[0]) begin
                own_q[c]     <= 1'b1;
                signing_q[c] <= 1'b0;
              end else begin
                reading_q[c] <= 1'b0;
              end
            end else begin
              place_q[c] <= next_place;
              // Data that ends here, or was none: the next member, or the signature.
              if (another) who_q[c] <= next_member;
              if (done && !another) signing_q[c] <= 1'b1;
              else if (chunk_ends) own_q[c] <= !own;
            end
          end
          if (begin_i && begin_row_i == 5'(c)) begin
            reading_q[c] <= 1'b1;
            signing_q[c] <= 1'b0;
            place_q[c]   <= '0;
            who_q[c]     <= begin_who_i;
            own_q[c]     <= 1'b0;
          end
        end
      end
    end
  end

  // ---------------------------------------------------------------- memory

  // A signature is of all members.
  assign given = (signs || !copies_i[pick]) ? members : members & (RANKS'(1) << who);

  logic request_q;
  logic [RANKS-1:0] wanted_q, given_q;
  logic [TagW-1:0] request_tag_q;
  logic granted;

  // All members are read in the same cycle, or none.
  assign granted       = request_q && (wanted_q & ~read_ready_i) == '0;
  assign request_ready = !request_q || granted;
  assign read_want_o   = request_q ? wanted_q : '0;
  assign read_valid_o  = granted ? wanted_q : '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) request_q <= 1'b0;
    else if (request_ready) request_q <= fire;
    if (fire) begin
      wanted_q      <= (signs || is_sync) ? '0 : given;
      given_q       <= is_sync ? RANKS'(1) : given;
      request_tag_q <= {part, to_copy, pick, signs, signs ? PlaceW'(0) : first + base + place,
                        signs ? 4'd0 : ends ? 4'(total) - 4'(place) - 4'd1 : 4'(Words - 1)};
      for (int unsigned r = 0; r < RANKS; r++)
        read_address_o[r] <= source_address_i[r] + ADDR_W'(base + place);
    end
  end

  // ---------------------------------------------------------------- data

  logic [MEM_LATENCY-1:0] came_q;
  logic [MEM_LATENCY-1:0][RANKS-1:0] came_given_q;
  logic [MEM_LATENCY-1:0][TagW-1:0] came_tag_q;

  always_ff @(posedge clk_i) begin
    came_q[0]       <= granted;
    came_given_q[0] <= given_q;
    came_tag_q[0]   <= request_tag_q;
    for (int unsigned i = 1; i < MEM_LATENCY; i++) begin
      came_q[i]       <= came_q[i-1];
      came_given_q[i] <= came_given_q[i-1];
      came_tag_q[i]   <= came_tag_q[i-1];
    end
    if (!rst_ni) came_q <= '0;
  end

  logic data_valid, data_signs;
  logic [RANKS-1:0] data_given;
  logic [TagW-1:0] data_tag;
  logic [RANKS-1:0][PHIT_W-1:0] data;

  assign data_valid = came_q[MEM_LATENCY-1];
  assign data_given = came_given_q[MEM_LATENCY-1];
  assign data_tag   = came_tag_q[MEM_LATENCY-1];
  assign data_signs = data_tag[PlaceW+4];
  assign sign_row_o = data_tag[PlaceW+5+:5];

  for (genvar r = 0; r < RANKS; r++) begin : g_data
    always_comb begin
      data[r] = '0;
      if (data_valid && data_given[r]) begin
        data[r] = read_data_i[r];
        if (data_signs) data[r] = {{(PHIT_W / 128 - 1) {128'd0}}, ~sign_i[r], sign_i[r]};
      end
      if (data_valid && r == 0 && sign_row_o == 5'(SyncContext)) data[r] = data_signs ? '1 : sync_i;
    end
  end

  // ---------------------------------------------------------------- members of this board

  logic [RANKS-1:0] sum_valid;
  logic [RANKS-1:0][TagW-1:0] sum_tag;
  logic [RANKS-1:0][PHIT_W-1:0] sum;

  assign sum_valid[0] = data_valid;
  assign sum_tag[0]   = data_tag;
  assign sum[0]       = data[0];

  for (genvar r = 1; r < RANKS; r++) begin : g_sum
    // The member's phit waits for the sum of those before it.
    localparam int unsigned Delay = (r - 1) * AGLU_LATENCY;
    logic [PHIT_W-1:0] mine;
    logic [RANKS-1:0] mask;
    logic both;
    logic [3:0] operation;
    logic [2:0] datatype;
    logic [4:0] row;

    if (Delay == 0) begin : g_now
      assign mine = data[r];
      assign mask = data_given;
    end else begin : g_late
      logic [Delay-1:0][PHIT_W-1:0] mine_q;
      logic [Delay-1:0][RANKS-1:0] mask_q;
      always_ff @(posedge clk_i) begin
        mine_q <= {mine_q[Delay-2:0], data[r]};
        mask_q <= {mask_q[Delay-2:0], data_given};
      end
      assign mine = mine_q[Delay-1];
      assign mask = mask_q[Delay-1];
    end

    assign both = mask[r] && (mask & ((RANKS'(1) << r) - 1'b1)) != '0;
    assign row  = sum_tag[r-1][PlaceW+5+:5];

    always_comb begin
      operation = RO_BOR;
      datatype  = DT_U32;
      if (both && sum_tag[r-1][PlaceW+4]) begin
        operation = RO_BAND;
      end else if (both) begin
        operation = what_i[row][RANK_C_WHAT_OPERATION_LSB+:4];
        datatype  = what_i[row][RANK_C_WHAT_DATATYPE_LSB+:3];
      end
    end

    vector_aglu #(
        .PHIT_W(PHIT_W),
        .TAG_W (TagW),
        .OPS   (OPS),
        .TYPES (TYPES)
    ) u_aglu (
        .clk_i      (clk_i),
        .rst_ni     (rst_ni),
        .valid_i    (sum_valid[r-1]),
        .operation_i(operation),
        .datatype_i (datatype),
        .a_i        (sum[r-1]),
        .b_i        (mine),
        .tag_i      (sum_tag[r-1]),
        .valid_o    (sum_valid[r]),
        .result_o   (sum[r]),
        .tag_o      (sum_tag[r])
    );
  end

  logic out_copies;

  assign {out_part_o, out_copies, out_row_o, out_signature_o, out_word_o, out_words_o} = sum_tag[RANKS-1];
  assign out_data_o  = sum[RANKS-1];
  assign out_valid_o = sum_valid[RANKS-1] && !out_copies;

  fifo #(
      .WIDTH(TagW - 1 + PHIT_W),
      .DEPTH(COPY_DEPTH)
  ) u_copies (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i(sum_valid[RANKS-1] && out_copies),
      .ready_o(),
      .data_i ({out_part_o, out_row_o, out_signature_o, out_word_o, out_words_o, out_data_o}),
      .valid_o(copy_valid_o),
      .ready_i(copy_ready_i),
      .data_o ({copy_part_o, copy_row_o, copy_signature_o, copy_word_o, copy_words_o, copy_data_o}),
      .empty_o(),
      .usage_o()
  );

  // Places taken in the FIFO, or to be taken.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) copies_q <= '0;
    else copies_q <= copies_q + CopyW'(fire && to_copy) - CopyW'(copy_valid_o && copy_ready_i);
  end

  `ALCOR_ASSERT(a_copies, copies_q <= CopyW'(COPY_DEPTH))

endmodule

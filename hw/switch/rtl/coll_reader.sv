`include "assertions.svh"
`include "phit_types.svh"
`include "simulation.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;
import alcor_fp_pkg::*;

/// Reads the data that members of this board give to their collectives, a phit of each member at a
/// time.
///
/// In a reduction, the members' phits of the same place are combined in ascending local rank before
/// a phit leaves the board. Copies are read member by member. The signature of a communicator
/// follows its data. A phit is read only if its destination has room; a communicator without room
/// is skipped.
///
/// If data is divided between this board's half of the boards and the other half, it is read in
/// parts: a chunk for the other half and a chunk for the own half, in turn. A signature follows the
/// last phit of each half. So the partner of stage 0 gets its data and the signature as early as
/// possible. Data that both keep arrives at about the same time, since partners read the same
/// chunks in the same order.
module coll_reader #(
    /// Ranks of the board.
    parameter  int unsigned RANKS       = 1,
    /// Stages.
    parameter  int unsigned STAGES      = 3,
    /// Bits of a phit's data.
    parameter  int unsigned PHIT_W      = 256,
    /// Width of a word address in node memory.
    parameter  int unsigned ADDR_W      = 18,
    /// Cycles from grant to data up to which phits go on at one per cycle. Any latency works.
    parameter  int unsigned MEM_LATENCY = 1,
    /// Phits of a communicator's window.
    parameter  int unsigned WINDOW      = alcor_switch_pkg::Window,
    /// Copies on their way from a memory, and waiting for the copy unit, a power of two.
    parameter  int unsigned COPY_DEPTH  = 32,
    /// Operations of the vector units, by bit of operation_e.
    parameter  bit [8:0]    OPS         = '1,
    /// Types of the vector units, by bit of datatype_e.
    parameter  bit [5:0]    TYPES       = '1,
    /// 1: registers in front of the vector units.
    parameter  bit          SLICE       = 1'b0,
    /// Bits of a token; derived, not to be set.
    localparam int unsigned TokenW      = TokenHeadW + SpanW + PHIT_W
) (
    /// Clock.
    input  logic                             clk_i,
    /// Synchronous reset, active low.
    input  logic                             rst_ni,

    /// A row of the communicator table has been written or taken out of use: nothing more is read for it.
    input  alcor_abi_pkg::shape_t            shape_i,
    /// Nothing is read.
    input  logic                             pause_i,
    /// A phit is on its way from here.
    output logic                             busy_o,
    /// By rank: communicators that the rank is a member of.
    input  logic [RANKS-1:0][31:0]           member_i,
    /// A collective begins.
    input  alcor_abi_pkg::row_pulse_t        begin_i,
    /// With `begin_i`: role of this board.
    input  alcor_abi_pkg::plan_t             plan_i,
    /// Collectives under way.
    input  alcor_abi_pkg::collectives_t      collectives_i,
    /// By stage: communicators whose copies go to this stage's partner.
    input  logic [STAGES-1:0][31:0]          spreads_i,
    /// Communicators in which credits are due to a partner.
    input  logic [31:0]                      owes_i,
    /// Communicators whose phits the copy unit holds.
    input  logic [31:0]                      copy_holds_i,

    /// Communicator whose sources are looked up.
    output alcor_abi_pkg::row_t              source_row_o,
    /// By rank: words that the rank gives, a source_t.
    input  logic [RANKS-1:0][SourceW-1:0]    source_i,
    /// Communicator whose signatures are looked up.
    output alcor_abi_pkg::row_t              signature_row_o,
    /// By rank: signature, a signature_t.
    input  logic [RANKS-1:0][SignatureW-1:0] signature_i,
    /// Phit of the barrier over all boards.
    input  logic [PHIT_W-1:0]                sync_i,

    /// Memory read, by rank: a read is requested.
    output logic [RANKS-1:0]                 read_req_o,
    /// The read is granted.
    input  logic [RANKS-1:0]                 read_gnt_i,
    /// Word address.
    output logic [RANKS-1:0][ADDR_W-1:0]     read_address_o,
    /// Data of the rank's oldest granted read comes.
    input  logic [RANKS-1:0]                 read_rvalid_i,
    /// The data.
    input  logic [RANKS-1:0][PHIT_W-1:0]     read_data_i,

    /// Stage 0 is asked for room, for this token.
    output alcor_abi_pkg::ask_t              ask_o,
    /// There is room.
    input  logic                             ask_room_i,
    /// The room is taken.
    output logic                             ask_take_o,
    /// By stage: there is a credit for a copy of the communicator `ask_o.head.row`.
    input  logic [STAGES-1:0]                credit_i,
    /// The credit is used.
    output logic [STAGES-1:0]                credit_take_o,

    /// A phit is on its way to the copy unit.
    output alcor_abi_pkg::row_pulse_t        copying_o,
    /// A token goes to stage 0.
    output logic                             out_valid_o,
    /// Part that the token is of.
    output alcor_abi_pkg::part_t             out_part_o,
    /// The token.
    output logic [TokenW-1:0]                out_o,
    /// A token is offered to the copy unit.
    output logic                             copy_valid_o,
    /// The token is taken.
    input  logic                             copy_ready_i,
    /// Part that the token is of.
    output alcor_abi_pkg::part_t             copy_part_o,
    /// The token.
    output logic [TokenW-1:0]                copy_o
);

  localparam int unsigned RankW = (RANKS > 1) ? $clog2(RANKS) : 1;
  localparam int unsigned Words = PHIT_W / 32;
  localparam int unsigned CopyW = $clog2(COPY_DEPTH + 1);
  // The request, phits that wait for data, and those in the members' vector units.
  localparam int unsigned FlyingW = $clog2(MEM_LATENCY + 3 + RANKS * (AGLU_LATENCY + 32'(SLICE)));
  // A message in parts is read in chunks of a quarter of a window: the bits of a place that number the
  // phits of a chunk.
  localparam logic [27:0] ChunkMask = 28'((WINDOW / 4 - 1) * Words);

  `ALCOR_TOKEN_TYPES(PHIT_W)

  // ---------------------------------------------------------------- the next communicator

  logic [31:0] reading_q, signing_q, own_q, lonely_q, parts_q, high_q;
  logic [31:0][27:0] place_q;
  logic [31:0][RankW-1:0] giver_q;
  logic pick_valid;
  alcor_abi_pkg::row_t pick;
  logic is_sync, fire, moved, step;

  coll_pick u_pick (
      .clk_i       (clk_i),
      .rst_ni      (rst_ni),
      .candidates_i(reading_q & {32{!pause_i}}),
      .failed_i    (pick_valid && !moved),
      .valid_o     (pick_valid),
      .row_o       (pick)
  );

  assign source_row_o = pick;
  assign is_sync      = pick == 5'(SyncContext);

  // The member that gives the words: in a reduction the lowest, in copies one after the other.
  logic [RANKS-1:0] members, given;
  logic [RankW-1:0] first_member, next_member, giver;
  logic more_members;
  logic [RANKS-1:0][27:0] source_words, source_first;
  logic [RANKS-1:0][ADDR_W-1:0] address;
  alcor_abi_pkg::place_t words, total, place, beyond, next_place, first, base;
  logic copies, lonely, signs, ends, empty, done, another, to_copy, room, credits;
  logic parts, own, chunk_ends;
  alcor_abi_pkg::part_t part;
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
        if (r - 1 > 32'(giver_q[pick])) begin
          next_member  = RankW'(r - 1);
          more_members = 1'b1;
        end
      end
    end
  end

  for (genvar r = 0; r < RANKS; r++) begin : g_source
    alcor_abi_pkg::source_t source;
    assign source          = source_i[r];
    assign source_words[r] = source.words;
    assign source_first[r] = source.first;
    assign address[r]      = source.address[ADDR_W-1:0] + ADDR_W'(base + place);
  end

  assign copies = collectives_i.copies[pick];
  assign lonely = lonely_q[pick];
  assign giver  = (RANKS == 1) ? '0 : copies ? giver_q[pick] : first_member;

  always_comb begin
    words = source_words[giver];
    first = source_first[giver];
    if (is_sync) begin
      words = 28'(Words);
      first = '0;
    end
  end

  // Both halves are as long, and so are their chunks. So what the partner sends of a chunk has room there
  // until this board has sent its own and comes to read what it keeps of it: neither waits for the other.
  // Places are within the half.
  assign parts = parts_q[pick];
  assign own   = own_q[pick];
  assign part  = {parts && own, parts && !own};
  assign total = parts ? words >> 1 : words;
  assign base  = (parts && own == high_q[pick]) ? words >> 1 : '0;

  assign place   = place_q[pick];
  assign chunk_ends = parts && (place & ChunkMask) == ChunkMask;
  assign signs   = signing_q[pick];
  assign beyond  = place + 28'(Words);
  // Written as strict comparisons, which are a carry chain and no more.
  assign empty   = !(place < total) || (copies && !members[giver] && !is_sync);
  assign ends    = !(beyond < total);
  // With this phit, or as there is none.
  assign done       = empty || ends;
  // In parts, one member's words are copied.
  assign another    = done && copies && more_members && !parts;
  // From the other half's chunk back to the beginning of the own half's.
  assign next_place = another ? '0
      : (part.other && (done || chunk_ends)) ? place & ~ChunkMask : beyond;
  assign to_copy = lonely || (copies && !signs);

  logic [STAGES-1:0] spread;
  always_comb begin
    // The other half is beyond stage 0, the own one beyond the stages after it.
    for (int unsigned s = 0; s < STAGES; s++) spread[s] = spreads_i[s][pick] && !((s == 0) ? part.own : part.other);
  end

  assign credits = (spread & ~credit_i) == '0;

  // A signature closes its streams: it waits until the copies before it are on their way, and until
  // nothing is owed for the collective before.
  assign room = to_copy ? (copies_q != CopyW'(COPY_DEPTH)) && (signs || lonely || credits)
                        : ask_room_i && !(signs && (copy_holds_i[pick] || owes_i[pick]));
  assign step = pick_valid && reading_q[pick] && !signs && empty;
  assign fire = pick_valid && reading_q[pick] && !step && room && request_ready;
  assign moved = step || fire;

  assign copying_o     = {fire && to_copy, pick};
  assign ask_o         = {pick, signs, part};
  assign ask_take_o    = fire && !to_copy;
  assign credit_take_o = {STAGES{fire && to_copy && !signs && !lonely}} & spread;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reading_q <= '0;
      signing_q <= '0;
      lonely_q  <= '0;
    end else begin
      if (shape_i.valid) begin
        lonely_q[shape_i.row]  <= shape_i.stages == '0;
        reading_q[shape_i.row] <= 1'b0;
      end
      if (`ALCOR_AWAKE(moved || begin_i.valid)) begin
        /* verilator unroll_disable */
        for (int unsigned c = 0; c < Contexts; c++) begin
          if (moved && pick == 5'(c)) begin
            if (signs) begin
              if (part.other) begin
                own_q[c]     <= 1'b1;
                signing_q[c] <= 1'b0;
              end else begin
                reading_q[c] <= 1'b0;
              end
            end else begin
              place_q[c] <= next_place;
              // Data that ends here, or was none: the next member, or the signature.
              if (another) giver_q[c] <= next_member;
              if (done && !another) signing_q[c] <= 1'b1;
              else if (chunk_ends) own_q[c] <= !own;
            end
          end
          if (begin_i.valid && begin_i.row == 5'(c)) begin
            reading_q[c] <= 1'b1;
            signing_q[c] <= 1'b0;
            place_q[c]   <= '0;
            giver_q[c]   <= plan_i.giver[RankW-1:0];
            own_q[c]     <= 1'b0;
            parts_q[c]   <= plan_i.parts;
            high_q[c]    <= plan_i.high;
          end
        end
      end
    end
  end

  // ---------------------------------------------------------------- memory

  // A signature is of all members.
  assign given = (signs || !copies) ? members : members & (RANKS'(1) << giver);

  // Last word of the phit. Not in the concatenation: there, Yosys gives a cast in an expression the width of its operand.
  logic [3:0] last_word;
  assign last_word = signs ? 4'd0 : ends ? 4'(total) - 4'(place) - 4'd1 : 4'(Words - 1);

  logic request_q, granted, way_room, way_valid;
  logic [RANKS-1:0] wanted_q, given_q, done_q, missing;
  alcor_abi_pkg::read_note_t request_note_q;

  // Each member's memory grants its read by itself.
  assign read_req_o    = (request_q && way_room) ? wanted_q & ~done_q : '0;
  assign missing       = read_req_o & ~read_gnt_i;
  assign granted       = request_q && way_room && missing == '0;
  assign request_ready = !request_q || granted;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) request_q <= 1'b0;
    else if (request_ready) request_q <= fire;
    done_q <= (!rst_ni || request_ready) ? '0 : done_q | (read_req_o & read_gnt_i);
    if (fire) begin
      wanted_q       <= (signs || is_sync) ? '0 : given;
      given_q        <= is_sync ? RANKS'(1) : given;
      request_note_q <= {part, to_copy, pick, signs, signs ? 28'd0 : first + base + place, last_word};
      read_address_o <= address;
    end
  end

  // ---------------------------------------------------------------- data

  // A granted phit waits for the data of its members. A phit without data leaves when it is the oldest.
  logic [RANKS-1:0] way_wanted, way_given, answer;
  logic [RANKS-1:0][PHIT_W-1:0] answer_data;
  alcor_abi_pkg::read_note_t way_note;
  logic data_valid;

  fifo #(
      .WIDTH(ReadNoteW + 2 * RANKS),
      .DEPTH(MEM_LATENCY + 1)
  ) u_way (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i(granted),
      .ready_o(way_room),
      .data_i ({request_note_q, given_q, wanted_q}),
      .valid_o(way_valid),
      .ready_i(data_valid),
      .data_o ({way_note, way_given, way_wanted}),
      .empty_o(),
      .usage_o()
  );

  // Data waits for the data of the other members, and for earlier phits.
  for (genvar r = 0; r < RANKS; r++) begin : g_answer
    answer_buffer #(
        .WIDTH(PHIT_W),
        .DEPTH(MEM_LATENCY + 2)
    ) u_answer (
        .clk_i   (clk_i),
        .rst_ni  (rst_ni),
        .rvalid_i(read_rvalid_i[r]),
        .data_i  (read_data_i[r]),
        .valid_o (answer[r]),
        .ready_i (data_valid && way_wanted[r]),
        .data_o  (answer_data[r])
    );
  end

  assign data_valid = way_valid && (way_wanted & ~answer) == '0;

  logic sum_valid;
  alcor_abi_pkg::read_note_t sum_note;
  token_t sum;

  coll_sum #(
      .RANKS (RANKS),
      .PHIT_W(PHIT_W),
      .OPS   (OPS),
      .TYPES (TYPES),
      .SLICE (SLICE)
  ) u_sum (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .valid_i        (data_valid),
      .given_i        (way_given),
      .note_i         (way_note),
      .data_i         (answer_data),
      .signature_row_o(signature_row_o),
      .signature_i    (signature_i),
      .calls_i        (collectives_i.calls),
      .sync_i         (sync_i),
      .valid_o        (sum_valid),
      .note_o         (sum_note),
      .data_o         (sum.body.data)
  );

  assign sum.head      = sum_note.head;
  assign sum.body.span = sum_note.span;
  assign out_valid_o   = sum_valid && !sum_note.copy;
  assign out_part_o    = sum_note.part;
  assign out_o         = sum;

  fifo #(
      .WIDTH(2 + TokenW),
      .DEPTH(COPY_DEPTH)
  ) u_copies (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i(sum_valid && sum_note.copy),
      .ready_o(),
      .data_i ({sum_note.part, sum}),
      .valid_o(copy_valid_o),
      .ready_i(copy_ready_i),
      .data_o ({copy_part_o, copy_o}),
      .empty_o(),
      .usage_o()
  );

  // Places taken in the FIFO, or to be taken.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) copies_q <= '0;
    else copies_q <= copies_q + CopyW'(fire && to_copy) - CopyW'(copy_valid_o && copy_ready_i);
  end

  // Phits chosen to be read that have not come out.
  logic [FlyingW-1:0] flying_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) flying_q <= '0;
    else flying_q <= flying_q + FlyingW'(fire) - FlyingW'(sum_valid);
  end

  assign busy_o = pick_valid || flying_q != '0 || copies_q != '0;

  for (genvar r = 0; r < RANKS; r++) begin : g_stable
    `ALCOR_STABLE(a_read_stable, read_req_o[r], read_gnt_i[r], read_address_o[r])
  end
  `ALCOR_ASSERT(a_copies, copies_q <= CopyW'(COPY_DEPTH))

endmodule

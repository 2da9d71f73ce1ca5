`include "assertions.svh"

import alcor_abi_pkg::*;

/// Offers commands of the host, recalls and flushes to the match store of a rank.
///
/// A receive, probe or cancel is one operation of the store. The table of receives is read in the cycle before. A
/// receive whose entry is not free is refused, and its completion is offered. A cancelled receive is searched in the pair
/// in which it was posted.
///
/// A recall or a flush takes messages out of one pair after the other: it searches a pair until nothing is found there.
/// Commands wait meanwhile, and so must messages.
module message_store_commands #(
    /// Number of posted receives; a power of two.
    parameter int unsigned DEPTH = 256,
    /// Queue pairs, a power of two from 2 to 128.
    parameter int unsigned PAIRS = 16,
    /// Width of a pair's number; derived, not to be set.
    localparam int unsigned PairW = $clog2(PAIRS),
    /// Width of an entry; derived, not to be set.
    localparam int unsigned EntryW = $clog2(DEPTH)
) (
    /// Clock.
    input  logic                             clk_i,
    /// Synchronous reset, active low.
    input  logic                             rst_ni,
    /// The tables are cleared: commands and recalls may begin.
    input  logic                             ready_i,

    /// A command of the host is offered.
    input  logic                             command_valid_i,
    /// The command is taken.
    output logic                             command_ready_o,
    /// The command; the id of a receive is its entry.
    input  alcor_abi_pkg::engine_command_t   command_i,
    /// The entry of the command was free in the cycle before.
    input  logic                             free_i,
    /// An entry is to be freed, which may be that of the command.
    input  logic                             freeing_i,
    /// Pulse: the receive on offer is taken by the store.
    output logic                             enters_o,

    /// A message or a recall waits for its search.
    input  logic                             waiting_valid_i,
    /// With `waiting_valid_i`: a recall.
    input  logic                             waiting_recall_i,
    /// With `waiting_recall_i`: the source whose messages are dropped.
    input  logic [7:0]                       waiting_source_i,
    /// Pulse: the recall is taken.
    output logic                             recall_taken_o,
    /// A recall or a flush is under way: no message may be offered to the store.
    output logic                             dropping_o,
    /// Pulse: the recall ends.
    output logic                             recalled_o,

    /// Operation of the store: an operation is offered.
    output logic                             search_valid_o,
    /// Operation: the operation is taken.
    input  logic                             search_ready_i,
    /// Operation: its kind.
    output alcor_match_pkg::match_kind_t     search_kind_o,
    /// Operation: its pair.
    output logic [PairW-1:0]                 search_pair_o,
    /// Operation: match bits.
    output alcor_abi_pkg::match_t            search_match_o,
    /// Operation: mask bits; a bit that is set matches either value.
    output logic [MatchW-1:0]                search_mask_o,

    /// The result of a search of a recall or flush is there.
    input  logic                             drop_result_i,
    /// With `drop_result_i`: a message is found.
    input  logic                             drop_found_i,
    /// Pulse: a cancellation ends.
    input  logic                             cancel_ends_i,

    /// The completion of a command that the store has taken is to be offered.
    input  logic                             completes_i,
    /// A refused receive is complete; its completion comes before that of `completes_i`.
    output logic                             bad_valid_o,
    /// The completion is entered.
    input  logic                             bad_ready_i,
    /// Entry of the refused receive.
    output logic [EntryW-1:0]                bad_entry_o
);

  typedef enum logic [1:0] {
    DropNone,   // messages and commands are offered
    DropOffer,  // search for a message of the pair
    DropWait    // its result
  } drop_e;

  drop_e drop_d, drop_q;
  logic drops, flush_q, drop_next, drop_done, recalls, flushes;
  logic [PairW-1:0] drop_pair_q, cancel_pair;
  logic [7:0] drop_source_q;
  logic is_receive, is_flush, looked_q, bad, refuses, begins, offers, offers_q, accepts, canceling_q;
  logic [EntryW-1:0] command_entry;

  assign dropping_o    = drop_q != DropNone;
  assign recalls       = waiting_valid_i && waiting_recall_i && ready_i;
  assign is_receive    = command_i.command == McReceive;
  assign is_flush      = command_i.command == McFlush;
  assign command_entry = command_i.id[EntryW-1:0];
  assign bad           = is_receive && !free_i;

  // A command waits for a cycle in which its entry is read, while no entry is freed: it may be that of the command. A
  // recall waits for the command on offer, a flush for all messages that have arrived. The completion on offer stays: a
  // receive is refused while no other completion is on offer.
  assign begins          = looked_q && !dropping_o;
  assign offers          = offers_q || (begins && !is_flush && !bad);
  assign flushes         = begins && is_flush && !waiting_valid_i;
  assign refuses         = begins && bad && !freeing_i && !bad_valid_o && !completes_i;
  assign drops           = flushes || (recalls && !dropping_o && !offers);
  assign accepts         = offers && search_ready_i;
  assign enters_o        = accepts && is_receive;
  assign recall_taken_o  = recalls && drops;
  assign command_ready_o = accepts || flushes || refuses;

  always_comb begin
    search_valid_o = offers;
    search_kind_o  = 4'b0001;
    search_pair_o  = command_i.context_[PairW-1:0];
    search_match_o = {command_i.rank, command_i.context_, command_i.tag.tag};
    search_mask_o  = {{8{command_i.tag.any_source}}, 8'd0, {26{command_i.tag.any_tag}}};
    if (command_i.command == McProbe) search_kind_o = 4'b0010;
    if (command_i.command == McCancel) begin
      search_kind_o = 4'b1100;
      search_pair_o = cancel_pair;
    end
    if (dropping_o) begin
      search_valid_o = drop_q == DropOffer;
      search_kind_o  = 4'b0000;
      search_pair_o  = drop_pair_q;
      search_match_o = {drop_source_q, 8'd0, 26'd0};
      search_mask_o  = {{8{flush_q}}, 8'hFF, 26'h3FF_FFFF};
    end
  end

  // Pair of each receive, for its cancellation.
  ram_sdp #(
      .WIDTH    (PairW),
      .DEPTH    (DEPTH),
      .BLOCK_RAM(1'b0)
  ) u_pair_of (
      .clk_i  (clk_i),
      .we_i   (enters_o),
      .waddr_i(command_entry),
      .wdata_i(search_pair_o),
      .re_i   (1'b1),
      .raddr_i(command_entry),
      .rdata_o(cancel_pair)
  );

  assign drop_next  = drop_q == DropWait && drop_result_i && !drop_found_i;
  assign drop_done  = drop_next && drop_pair_q == PairW'(PAIRS - 1);
  assign recalled_o = drop_done && !flush_q;

  always_comb begin
    drop_d = drop_q;
    unique case (drop_q)
      DropNone:  if (drops) drop_d = DropOffer;
      DropOffer: if (search_ready_i) drop_d = DropWait;
      DropWait: begin
        if (drop_result_i) drop_d = DropOffer;
        if (drop_done) drop_d = DropNone;
      end
      default: drop_d = DropNone;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (refuses) bad_entry_o <= command_entry;
    if (drops) begin
      flush_q       <= !recalls;
      drop_source_q <= waiting_source_i;
      drop_pair_q   <= '0;
    end
    if (drop_next) drop_pair_q <= drop_pair_q + 1'b1;
    if (!rst_ni) begin
      looked_q    <= 1'b0;
      offers_q    <= 1'b0;
      canceling_q <= 1'b0;
      bad_valid_o <= 1'b0;
      drop_q      <= DropNone;
    end else begin
      looked_q    <= command_valid_i && !command_ready_o && ready_i && !freeing_i && !canceling_q;
      offers_q    <= offers && !accepts;
      canceling_q <= (accepts && command_i.command == McCancel) || (canceling_q && !cancel_ends_i);
      bad_valid_o <= refuses || (bad_valid_o && !bad_ready_i);
      drop_q      <= drop_d;
    end
  end

  `ALCOR_CHECK_PARAM(g_check_pairs, (PAIRS & (PAIRS - 1)) == 0 && PAIRS >= 2,
                     "message_store_commands: PAIRS must be a power of two, 2 or more")

endmodule

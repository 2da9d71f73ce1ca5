`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// Collective commands of one rank: its operands, which stay until they are written again, and what
/// it has posted, a collective for each communicator.
module coll_commands #(
    /// Bytes of the rank's node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// 1: the rank has a kernel, which also posts collectives. Bit 15 of an id then marks a collective of the kernel.
    parameter bit KERNEL = 1'b0,
    /// Width of a word address in node memory; derived, not to be set.
    localparam int unsigned AddrW = $clog2(NODE_BYTES / 4)
) (
    /// Clock.
    input  logic                        clk_i,
    /// Synchronous reset, active low.
    input  logic                        rst_ni,

    /// A write into the rank's page, the part of collectives.
    input  alcor_abi_pkg::page_write_t  write_i,
    /// A collective that the rank's kernel posts.
    input  alcor_abi_pkg::kernel_post_t kernel_i,
    /// The kernel's collective is taken.
    output logic                        kernel_ready_o,
    /// Communicators that the rank is a member of.
    input  logic [31:0]                 member_i,
    /// Communicators with a collective under way.
    input  logic [31:0]                 active_i,
    /// Communicators in which waiting collectives end with ST_RANK_RESET, and new ones are refused with it.
    input  logic [31:0]                 cancel_i,

    /// Communicators in which the rank's collective has not ended.
    output logic [31:0]                 posted_o,
    /// A collective of the rank has ended: its completion is taken.
    input  alcor_abi_pkg::row_pulse_t   end_i,

    /// A command was refused: its completion is offered.
    output logic                        refused_valid_o,
    /// The completion is taken.
    input  logic                        refused_ready_i,
    /// The completion.
    output alcor_abi_pkg::completion_t  refused_o,
    /// Pulse: a command was refused, and lost, as there was no room for its completion.
    output logic                        lost_o,

    /// Communicator whose source is looked up.
    input  alcor_abi_pkg::row_t         source_row_i,
    /// Words that the rank gives.
    output alcor_abi_pkg::source_t      source_o,
    /// Communicator whose signature is looked up.
    input  alcor_abi_pkg::row_t         signature_row_i,
    /// Signature of the rank's collective.
    output alcor_abi_pkg::signature_t   signature_o,
    /// Communicator whose request is looked up.
    input  alcor_abi_pkg::row_t         request_row_i,
    /// Request of the rank.
    output alcor_abi_pkg::coll_request_t     request_o,
    /// Communicator whose destination is looked up.
    input  alcor_abi_pkg::row_t         destination_row_i,
    /// Words that the rank keeps.
    output alcor_abi_pkg::destination_t destination_o
);

  // A window or length as bytes fits into node memory, whose size is a power of two.
  localparam int unsigned MemW = AddrW + 1;

  alcor_abi_pkg::coll_operands_t operands_q, operands, checked;
  logic go_q, go_ok_q;
  alcor_abi_pkg::rank_c_go_t go;
  alcor_abi_pkg::row_t go_row_q;
  alcor_abi_pkg::status_e go_status;
  logic [15:0] go_id_q;
  logic source_fits_q, keep_fits_q;
  logic [31:0] kept;
  logic post, refuse, cancels, refused_empty, refused_room;
  logic [31:0] cancel_q;
  logic [31:0] waits, first_waits;
  logic cancel_found_q;
  alcor_abi_pkg::row_t cancel_row_q;

  // By communicator: the collective that is posted.
  logic [AddrW-1:0] source_address_q[Contexts];
  alcor_abi_pkg::place_t source_first_q[Contexts];
  alcor_abi_pkg::place_t source_words_q[Contexts];
  logic [SignatureW-1:0] signature_q[Contexts];
  logic [AddrW-1:0] keep_address_q[Contexts];
  alcor_abi_pkg::place_t keep_low_q[Contexts];
  alcor_abi_pkg::place_t keep_high_q[Contexts];
  logic [15:0] keep_id_q[Contexts];

  // A write of C_GO goes before a collective of the kernel. Operands are checked in the cycle of C_GO or of the kernel's
  // turn, and posted in the next cycle; the kernel's operands stay stable meanwhile.
  logic host_go, kernel_go, kernel_q;

  assign host_go   = write_i.valid && write_i.offset == RANK_C_GO_OFFSET;
  assign kernel_go = KERNEL && kernel_i.valid && !kernel_q && !host_go && refused_empty;
  assign go        = kernel_go ? kernel_i.go : write_i.data;
  assign checked   = kernel_go ? kernel_i.operands : operands_q;
  assign operands  = kernel_q ? kernel_i.operands : operands_q;
  assign kept      = checked.high - checked.low;

  assign kernel_ready_o = kernel_q;

  always_ff @(posedge clk_i) begin
    kernel_q <= rst_ni && kernel_go;
    if (write_i.valid) begin
      case (write_i.offset)
        RANK_C_SOURCE_OFFSET:      operands_q.source <= write_i.data;
        RANK_C_FIRST_OFFSET:       operands_q.first <= write_i.data;
        RANK_C_WORDS_OFFSET:       operands_q.words <= write_i.data;
        RANK_C_DESTINATION_OFFSET: operands_q.destination <= write_i.data;
        RANK_C_LOW_OFFSET:         operands_q.low <= write_i.data;
        RANK_C_HIGH_OFFSET:        operands_q.high <= write_i.data;
        RANK_C_COUNT_OFFSET:       operands_q.count <= write_i.data;
        RANK_C_WHAT_OFFSET:        operands_q.what <= write_i.data;
        default: ;
      endcase
    end
    if (write_i.valid || kernel_go) begin
      go_row_q <= go.context_;
      go_id_q  <= KERNEL ? {kernel_go, go.id[14:0]} : go.id;
      go_ok_q  <= member_i[go.context_];
      source_fits_q <= checked.source[31:AddrW+2] == '0 && checked.words[31:MemW] == '0
          && MemW'(checked.source[AddrW+1:2]) + MemW'(checked.words) <= MemW'(NODE_BYTES / 4);
      keep_fits_q <= checked.destination[31:AddrW+2] == '0 && kept[31:MemW] == '0
          && MemW'(checked.destination[AddrW+1:2]) + MemW'(kept) <= MemW'(NODE_BYTES / 4);
    end
    if (!rst_ni) go_q <= 1'b0;
    else go_q <= host_go || kernel_go;
  end

  always_comb begin
    go_status = ST_OK;
    if (!source_fits_q || !keep_fits_q) go_status = ST_BAD_LOCAL;
    if (!go_ok_q || posted_o[go_row_q]) go_status = ST_BAD_COMMUNICATOR;
    // A collective that is posted at the end of a reset would not be cancelled.
    if (cancel_i[go_row_q]) go_status = ST_RANK_RESET;
  end

  assign post   = go_q && go_status == ST_OK;
  assign refuse = go_q && !post;

  // One at a time. A collective begins at the latest in the cycle before its bit of `cancel_i` rises, and is among those under
  // way two cycles later, when the bit of `cancel_q` has risen. From then on, only `cancels` ends a collective that waits, and
  // the bit does not fall before. So the collective found in a cycle still waits in the next.
  assign waits       = posted_o & ~active_i & cancel_q;
  assign first_waits = waits & (~waits + 1'b1);
  assign cancels     = cancel_found_q && refused_empty && !refuse;

  always_ff @(posedge clk_i) begin
    cancel_q       <= rst_ni ? cancel_i : '0;
    cancel_found_q <= rst_ni && waits != '0 && !cancels;
    cancel_row_q   <= {|(first_waits & 32'hFFFF_0000), |(first_waits & 32'hFF00_FF00), |(first_waits & 32'hF0F0_F0F0),
                       |(first_waits & 32'hCCCC_CCCC), |(first_waits & 32'hAAAA_AAAA)};
  end

  always_ff @(posedge clk_i) begin
    if (post) begin
      source_address_q[go_row_q] <= operands.source[AddrW+1:2];
      source_first_q[go_row_q]   <= operands.first[27:0];
      source_words_q[go_row_q]   <= operands.words[27:0];
      signature_q[go_row_q]      <= {operands.count, operands.what};
      keep_address_q[go_row_q]   <= operands.destination[AddrW+1:2];
      keep_low_q[go_row_q]       <= operands.low[27:0];
      keep_high_q[go_row_q]      <= operands.high[27:0];
      keep_id_q[go_row_q]        <= go_id_q;
    end
    if (!rst_ni) begin
      posted_o <= '0;
    end else begin
      if (end_i.valid) posted_o[end_i.row] <= 1'b0;
      if (cancels) posted_o[cancel_row_q] <= 1'b0;
      if (post) posted_o[go_row_q] <= 1'b1;
    end
  end

  fifo #(
      .WIDTH(CompletionW),
      .DEPTH(16)
  ) u_refused (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i((refuse || cancels) && refused_room),
      .ready_o(refused_room),
      .data_i (refuse ? {go_status, go_id_q} : {ST_RANK_RESET, keep_id_q[cancel_row_q]}),
      .valid_o(refused_valid_o),
      .ready_i(refused_ready_i),
      .data_o (refused_o),
      .empty_o(refused_empty),
      .usage_o()
  );

  always_ff @(posedge clk_i) lost_o <= rst_ni && refuse && !refused_room;

  alcor_abi_pkg::signature_t requested;

  assign source_o      = {30'(source_address_q[source_row_i]), source_first_q[source_row_i], source_words_q[source_row_i]};
  assign signature_o   = signature_q[signature_row_i];
  assign requested     = signature_q[request_row_i];
  assign request_o     = {requested.what, source_words_q[request_row_i]};
  assign destination_o = {30'(keep_address_q[destination_row_i]), keep_low_q[destination_row_i],
                          keep_high_q[destination_row_i], keep_id_q[destination_row_i]};

  `ALCOR_IMPLIES(a_cancelled_waits, cancels,
                 posted_o[cancel_row_q] && !active_i[cancel_row_q] && cancel_i[cancel_row_q])

endmodule

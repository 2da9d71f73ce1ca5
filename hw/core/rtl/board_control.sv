import alcor_abi_pkg::*;

/// Control of a board: the board's page, aborts, and what the ranks do together.
///
/// Each rank reports its state in one struct and gets the board's in another. Collective commands of the ranks end together
/// (`rma_sync`); with links the network extends them to all boards.
module board_control #(
    /// Bits of a beat of the coprocessors and the crossbar.
    parameter int unsigned DATA_W = 32,
    /// Ranks of the board.
    parameter int unsigned RANKS = 2,
    /// Link ports.
    parameter int unsigned LINKS = 0,
    /// Stages of the collective unit, 0 without one.
    parameter int unsigned STAGES = 0,
    /// Data bits of a phit.
    parameter int unsigned PHIT_W = 256,
    /// Phits of each input channel of a link.
    parameter int unsigned VC_DEPTH = 256,
    /// Cells of each rank's matching unit, 0 without one.
    parameter int unsigned ALPU_CELLS = 0,
    /// 1: each rank has a kernel.
    parameter bit KERNEL = 1'b0,
    /// Posted receives of each rank's message engine.
    parameter int unsigned MESSAGES = 256,
    /// Bytes of a fragment of its unexpected message buffer.
    parameter int unsigned FRAGMENT = 256,
    /// Cells of each of its matching units.
    parameter int unsigned MATCH_CELLS = 16,
    /// Cells of a block of the matching units.
    parameter int unsigned MATCH_BLOCK = 8,
    /// Matchers of each rank's match store; 0: queues with matching units.
    parameter int unsigned MATCHERS = 0,
    /// Queue pairs of the match store, a power of two from 2 to 128.
    parameter int unsigned PAIRS = 16,
    /// 1: each rank has a unit for accumulates.
    parameter bit ACCUMULATE = 1'b1,
    /// Slots of each registration table.
    parameter int unsigned SLOTS = 32,
    /// Bytes of each node memory.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Payload words of an extended packet.
    parameter int unsigned PAYLOAD_WORDS = 128,
    /// Entries of the command FIFOs.
    parameter int unsigned COMMAND_DEPTH = 64,
    /// Clock in kHz.
    parameter int unsigned CLOCK_KHZ = 250000,
    /// First 32 bits of the source revision, 0 in simulation.
    parameter logic [31:0] REVISION = 32'h0,
    /// Bits of the counters of packets and phits, and half the bits of that of cycles: 32, or fewer in a bench.
    parameter int unsigned COUNT_W = 32
) (
    /// Clock.
    input  logic                               clk_i,
    /// Synchronous reset, active low.
    input  logic                               rst_ni,
    /// No reset is starting.
    input  logic                               running_i,

    /// A write into the board's page.
    input  alcor_abi_pkg::page_write_t         write_i,
    /// Register to be read.
    input  logic [11:0]                        read_offset_i,
    /// Value of the register, in the same cycle.
    output logic [31:0]                        read_data_o,
    /// This board's number in its cluster.
    output logic [7:0]                         board_o,

    /// By rank: from the rank, a rank_to_board_t.
    input  logic [RANKS-1:0][RankToBoardW-1:0] ranks_i,
    /// By rank: to the rank, a board_to_rank_t.
    output logic [RANKS-1:0][BoardToRankW-1:0] ranks_o,
    /// By rank: effects of resets on collectives, a rank_reset_t.
    output logic [RANKS-1:0][RankResetW-1:0]   resets_o,
    /// By rank: the rank's collective command, a sync_request_t.
    input  logic [RANKS-1:0][SyncRequestW-1:0] sync_i,
    /// By rank: four characters that name the kernel, 0 without one. All ranks have the same kernel.
    input  logic [RANKS-1:0][31:0]             kernel_id_i,
    /// By rank: communicators in which the rank's collective has not ended.
    input  logic [RANKS-1:0][31:0]             posted_i,

    /// No packet is in the crossbar.
    input  logic                               empty_i,
    /// Collective command of the board's ranks.
    output alcor_abi_pkg::board_sync_t         sync_o,
    /// Settings of the network.
    output alcor_abi_pkg::network_settings_t   settings_o,
    /// State of the network.
    input  alcor_abi_pkg::network_state_t      network_i,
    /// Another board reports an abort.
    input  alcor_abi_pkg::abort_t              abort_i,
    /// The run was aborted on this board: the other boards are notified.
    output alcor_abi_pkg::abort_t              abort_o,
    /// CONTROL.reset is written.
    output logic                               reset_o
);

  localparam int unsigned LinkN = (LINKS == 0) ? 1 : LINKS;

  // ---------------------------------------------------------------- from and to the ranks

  logic aborted;
  logic [7:0] run_ranks;
  logic [RANKS-1:0] ready, abort, lost, quiet, begun, sync_valid;
  logic [RANKS-1:0][1:0] sync_kind;
  logic [RANKS-1:0][4:0] sync_status;
  logic [RANKS-1:0][7:0] abort_reason, nprocs, sync_slot;
  logic [RANKS-1:0][31:0] state;

  for (genvar r = 0; r < RANKS; r++) begin : g_rank
    alcor_abi_pkg::board_to_rank_t to_rank;
    alcor_abi_pkg::rank_to_board_t from_rank;
    alcor_abi_pkg::sync_request_t sync;

    assign from_rank = ranks_i[r];
    assign sync      = sync_i[r];

    assign to_rank.ranks     = run_ranks;
    assign to_rank.aborted   = aborted;
    assign to_rank.peer_lost = (lost & ~(RANKS'(1) << r)) != '0 || network_i.lost;
    assign to_rank.unrouted  = network_i.drop;
    assign to_rank.foreign   = network_i.foreign;
    assign to_rank.stale     = network_i.stale != '0;
    assign to_rank.damaged   = network_i.damaged;
    assign to_rank.denied    = network_i.row_denied[r];

    assign ranks_o[r]      = to_rank;
    assign resets_o[r]     = {from_rank.lost, from_rank.cancel};
    assign state[r]        = from_rank.state;
    assign quiet[r]        = from_rank.state.quiet;
    assign begun[r]        = from_rank.state.begun;
    assign nprocs[r]       = from_rank.state.nprocs;
    assign abort[r]        = from_rank.aborts;
    assign abort_reason[r] = from_rank.abort_reason;
    assign ready[r]        = from_rank.ready;
    assign lost[r]         = from_rank.lost;
    assign sync_valid[r]   = sync.valid;
    assign sync_kind[r]    = sync.kind;
    assign sync_status[r]  = sync.status;
    assign sync_slot[r]    = sync.slot;
  end

  // ---------------------------------------------------------------- the board's page

  logic [LinkN-1:0] dateline;
  logic [31:0] kernel_id;

  always_comb begin
    kernel_id = '0;
    for (int unsigned r = 0; r < RANKS; r++) kernel_id = kernel_id | kernel_id_i[r];
  end

  board_registers #(
      .DATA_W       (DATA_W),
      .RANKS        (RANKS),
      .LINKS        (LINKS),
      .STAGES       (STAGES),
      .PHIT_W       (PHIT_W),
      .VC_DEPTH     (VC_DEPTH),
      .ALPU_CELLS   (ALPU_CELLS),
      .KERNEL       (KERNEL),
      .MESSAGES     (MESSAGES),
      .FRAGMENT     (FRAGMENT),
      .MATCH_CELLS  (MATCH_CELLS),
      .MATCH_BLOCK  (MATCH_BLOCK),
      .MATCHERS     (MATCHERS),
      .PAIRS        (PAIRS),
      .ACCUMULATE   (ACCUMULATE),
      .SLOTS        (SLOTS),
      .NODE_BYTES   (NODE_BYTES),
      .PAYLOAD_WORDS(PAYLOAD_WORDS),
      .COMMAND_DEPTH(COMMAND_DEPTH),
      .CLOCK_KHZ    (CLOCK_KHZ),
      .REVISION     (REVISION),
      .COUNT_W      (COUNT_W)
  ) u_board_registers (
      .clk_i         (clk_i),
      .rst_ni        (rst_ni),
      .read_offset_i (read_offset_i),
      .read_data_o   (read_data_o),
      .write_i       (write_i.valid),
      .write_offset_i(write_i.offset),
      .write_data_i  (write_i.data),
      .ready_i       (running_i && rst_ni && (&ready)),
      .state_i       (state),
      .abort_i       (abort),
      .abort_reason_i(abort_reason),
      .aborted_o     (aborted),
      .abort_in_i    (abort_i.valid),
      .abort_in_data_i(abort_i.data),
      .abort_out_o   (abort_o.valid),
      .abort_out_data_o(abort_o.data),
      .board_o       (board_o),
      .run_ranks_o   (run_ranks),
      .key_o         (settings_o.key),
      .forward_write_o(settings_o.forward_write),
      .forward_rank_o(settings_o.forward_rank),
      .forward_port_o(settings_o.forward_port),
      .dateline_o    (dateline),
      .drop_i        (network_i.drop),
      .foreign_i     (network_i.foreign),
      .damaged_i     (network_i.damaged),
      .kernel_id_i   (kernel_id),
      .stale_i       (network_i.stale),
      .row_writes_i  (network_i.row_writes),
      .posted_i      (posted_i),
      .collectives_i (network_i.collectives),
      .link_tx_i     (network_i.link_tx[LinkN-1:0]),
      .link_rx_i     (network_i.link_rx[LinkN-1:0]),
      .reset_o       (reset_o)
  );

  assign settings_o.dateline = 6'(dateline);

  // ---------------------------------------------------------------- collective commands

  rma_sync #(
      .RANKS(RANKS)
  ) u_sync (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .first_rank_i   (8'(32'(board_o) * RANKS)),
      .valid_i        (sync_valid),
      .quiet_i        (quiet),
      .kind_i         (sync_kind),
      .status_i       (sync_status),
      .slot_i         (sync_slot),
      .begun_i        (begun),
      .nprocs_i       (nprocs),
      .network_empty_i(empty_i),
      .present_o      (sync_o.present),
      .fire_o         (sync_o.fire),
      .verdict_o      (sync_o.status),
      .kind_o         (sync_o.kind),
      .slot_o         (sync_o.slot)
  );

endmodule

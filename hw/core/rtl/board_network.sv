import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// Network of a board with links: joins the board to other boards, and computes collectives.
///
/// The crossbar's packets for other boards leave through `uplink_tx`, packets of other boards come
/// back through `uplink_rx`. `switch_router` forwards phits between uplinks, stages of the
/// collective unit and links. `cluster_sync` extends collective commands of the board's ranks to
/// all boards, by rounds of the collective unit.
module board_network #(
    /// Ranks of the board.
    parameter int unsigned RANKS = 1,
    /// Bits of a beat of the crossbar.
    parameter int unsigned DATA_W = 32,
    /// Link ports: 2 for each dimension of the cluster, up to 6.
    parameter int unsigned LINKS = 2,
    /// Stages of the collective unit: log2 of the number of boards, rounded up.
    parameter int unsigned STAGES = 1,
    /// Data bits of a phit.
    parameter int unsigned PHIT_W = 256,
    /// Phits of each input channel of a link.
    parameter int unsigned VC_DEPTH = 256,
    /// Ranks that the network reaches.
    parameter int unsigned DESTS = 256,
    /// Bytes of each node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Cycles from grant to data of node memory up to which phits go on at one per cycle.
    parameter int unsigned MEM_LATENCY = 1,
    /// 1: each rank has a kernel, which posts collectives, too.
    parameter bit KERNEL = 1'b0,
    /// 1: registers in front of the vector units.
    parameter bit SLICES = 1'b0,
    /// Registers between `rst_ni` and the blocks.
    parameter int unsigned RESET_STAGES = 2,
    /// Bits of a phit with its header; derived, not to be set.
    localparam int unsigned LinkW = PHIT_W + PhitHeadW
) (
    /// Clock.
    input  logic                                 clk_i,
    /// Synchronous reset, active low. The blocks are in reset RESET_STAGES cycles later.
    input  logic                                 rst_ni,

    /// Settings.
    input  alcor_abi_pkg::network_settings_t     settings_i,
    /// State.
    output alcor_abi_pkg::network_state_t        state_o,
    /// The run was aborted on this board: the other boards are notified.
    input  alcor_abi_pkg::abort_t                abort_i,
    /// Another board reports an abort.
    output alcor_abi_pkg::abort_t                abort_o,
    /// Collective command of the board's ranks.
    input  alcor_abi_pkg::board_sync_t           sync_i,
    /// All ranks of all boards are at the collective command, and no packet is under way.
    output alcor_abi_pkg::sync_answer_t          sync_o,

    /// From the crossbar, by plane: a beat for another board is offered.
    input  logic [1:0]                           rx_valid_i,
    /// The beat is taken.
    output logic [1:0]                           rx_ready_o,
    /// The beat.
    input  logic [1:0][DATA_W-1:0]               rx_data_i,
    /// The beat is its packet's last.
    input  logic [1:0]                           rx_last_i,
    /// To the crossbar, by plane: a beat from another board is offered.
    output logic [1:0]                           tx_valid_o,
    /// The beat is taken.
    input  logic [1:0]                           tx_ready_i,
    /// The beat.
    output logic [1:0][DATA_W-1:0]               tx_data_o,
    /// The beat is its packet's last.
    output logic [1:0]                           tx_last_o,
    /// With `tx_last_o`: the beat ends a damaged packet, and holds no data; see uplink_rx.
    output logic [1:0]                           tx_cut_o,

    /// By rank: a write into the rank's page, the part of collectives; a page_write_t.
    input  logic [RANKS-1:0][PageWriteW-1:0]     write_i,
    /// By rank: a collective that the rank's kernel posts, a kernel_post_t.
    input  logic [RANKS-1:0][KernelPostW-1:0]    kernel_i,
    /// By rank: the kernel's collective is taken.
    output logic [RANKS-1:0]                     kernel_ready_o,
    /// By rank: effects of resets on collectives, a rank_reset_t.
    input  logic [RANKS-1:0][RankResetW-1:0]     resets_i,
    /// By rank: communicators in which the rank's collective has not ended.
    output logic [RANKS-1:0][31:0]               posted_o,
    /// By rank: the completion of a collective is offered.
    output logic [RANKS-1:0]                     complete_valid_o,
    /// The completion is taken.
    input  logic [RANKS-1:0]                     complete_ready_i,
    /// The completion, a completion_t.
    output logic [RANKS-1:0][CompletionW-1:0]    complete_o,

    /// By rank: read of a phit from node memory, a memory_request_t.
    output logic [RANKS-1:0][MemoryRequestW-1:0] read_o,
    /// Answer to the read, a memory_answer_t.
    input  logic [RANKS-1:0][MemoryAnswerW-1:0]  read_i,
    /// Data of the read.
    input  logic [RANKS-1:0][PHIT_W-1:0]         read_data_i,
    /// By rank: write of a phit to node memory, a phit_write_t.
    output logic [RANKS-1:0][PhitWriteW-1:0]     write_o,
    /// The write is done.
    input  logic [RANKS-1:0]                     write_ready_i,
    /// Data of the write, the same for all ranks.
    output logic [PHIT_W-1:0]                    write_data_o,

    /// Links: phits and credits that arrive, a link_flow_t for each.
    input  logic [LINKS-1:0][LinkFlowW-1:0]      link_i,
    /// Links: the phit that arrives.
    input  logic [LINKS-1:0][LinkW-1:0]          link_phit_i,
    /// Links: phits and credits that leave, a link_flow_t for each.
    output logic [LINKS-1:0][LinkFlowW-1:0]      link_o,
    /// Links: the phit that leaves.
    output logic [LINKS-1:0][LinkW-1:0]          link_phit_o
);

  localparam int unsigned AddrW = $clog2(NODE_BYTES / 4);
  // Local ports of the router: the uplinks of both planes, and the stages of the collective unit.
  localparam int unsigned Locals = 2 + STAGES;

  logic switch_rst_n, collectives_rst_n;

  reset_pipe #(.STAGES(RESET_STAGES)) u_switch_reset (.clk_i(clk_i), .rst_ni(rst_ni), .rst_no(switch_rst_n));
  reset_pipe #(.STAGES(RESET_STAGES)) u_collectives_reset (.clk_i(clk_i), .rst_ni(rst_ni), .rst_no(collectives_rst_n));

  logic [Locals-1:0] in_valid, in_ready, out_valid, out_ready;
  logic [Locals-1:0][LinkW-1:0] in_phit, out_phit;

  // ---------------------------------------------------------------- uplinks

  logic [1:0] sent, consumed, foreign, damaged;
  logic hold;

  // A plane's packets to other boards leave as phits, those from other boards come back as words.
  for (genvar p = 0; p < 2; p++) begin : g_uplink
    uplink_tx #(
        .PHIT_W(PHIT_W),
        .DATA_W(DATA_W)
    ) u_tx (
        .clk_i  (clk_i),
        .rst_ni (switch_rst_n),
        .key_i  (settings_i.key),
        .valid_i(rx_valid_i[p]),
        .ready_o(rx_ready_o[p]),
        .data_i (rx_data_i[p]),
        .last_i (rx_last_i[p]),
        .valid_o(in_valid[p]),
        .ready_i(in_ready[p]),
        .phit_o (in_phit[p]),
        .sent_o (sent[p]),
        .empty_o()
    );

    uplink_rx #(
        .PHIT_W(PHIT_W),
        .DATA_W(DATA_W)
    ) u_rx (
        .clk_i     (clk_i),
        .rst_ni    (switch_rst_n),
        .key_i     (settings_i.key),
        .hold_i    (hold && p == 0),
        .valid_i   (out_valid[p]),
        .ready_o   (out_ready[p]),
        .phit_i    (out_phit[p]),
        .valid_o   (tx_valid_o[p]),
        .ready_i   (tx_ready_i[p]),
        .data_o    (tx_data_o[p]),
        .last_o    (tx_last_o[p]),
        .cut_o     (tx_cut_o[p]),
        .consumed_o(consumed[p]),
        .damaged_o (damaged[p]),
        .foreign_o (foreign[p]),
        .empty_o   ()
    );
  end

  assign state_o.foreign = foreign != '0;
  assign state_o.damaged = damaged != '0;

  // ---------------------------------------------------------------- router

  logic [LINKS-1:0] link_tx, link_rx;

  switch_router #(
      .LINKS   (LINKS),
      .STAGES  (STAGES),
      .PHIT_W  (PHIT_W),
      .VC_DEPTH(VC_DEPTH),
      .DESTS   (DESTS)
  ) u_switch_router (
      .clk_i          (clk_i),
      .rst_ni         (switch_rst_n),
      .key_i          (settings_i.key),
      .forward_write_i(settings_i.forward_write),
      .forward_rank_i (settings_i.forward_rank),
      .forward_port_i (settings_i.forward_port),
      .dateline_i     (settings_i.dateline[LINKS-1:0]),
      .link_i         (link_i),
      .link_phit_i    (link_phit_i),
      .link_o         (link_o),
      .link_phit_o    (link_phit_o),
      .local_valid_i  (in_valid),
      .local_ready_o  (in_ready),
      .local_phit_i   (in_phit),
      .local_valid_o  (out_valid),
      .local_ready_i  (out_ready),
      .local_phit_o   (out_phit),
      .control_i      (abort_i.valid),
      .control_data_i (abort_i.data),
      .control_o      (abort_o.valid),
      .control_data_o (abort_o.data),
      .drop_o         (state_o.drop),
      .link_tx_o      (link_tx),
      .link_rx_o      (link_rx),
      .idle_o         ()
  );

  assign state_o.link_tx = 6'(link_tx);
  assign state_o.link_rx = 6'(link_rx);

  // The windows of the stages have room for what comes.
  assign out_ready[Locals-1:2] = '1;

  // ---------------------------------------------------------------- collectives

  logic round, round_ready, result;
  logic [PHIT_W-1:0] round_data, result_data;
  logic [RANKS-1:0] lost, row_writes, row_denied;
  logic [RANKS-1:0][CancelW-1:0] cancel;
  logic [RANKS-1:0] read_req, read_gnt, read_rvalid, write_valid;
  logic [RANKS-1:0][AddrW-1:0] read_address, write_address;
  logic [RANKS-1:0][PHIT_W/32-1:0] write_strobe;

  for (genvar r = 0; r < RANKS; r++) begin : g_rank
    assign {lost[r], cancel[r]}          = resets_i[r];
    assign {read_gnt[r], read_rvalid[r]} = read_i[r];

    assign read_o[r]  = {read_req[r], 30'(read_address[r])};
    assign write_o[r] = {write_valid[r], 30'(write_address[r]), 16'(write_strobe[r])};
  end

  assign state_o.row_writes = 16'(row_writes);
  assign state_o.row_denied = 16'(row_denied);

  collective_unit #(
      .RANKS      (RANKS),
      .STAGES     (STAGES),
      .PHIT_W     (PHIT_W),
      .NODE_BYTES (NODE_BYTES),
      .MEM_LATENCY(MEM_LATENCY),
      .KERNEL     (KERNEL),
      .SLICES     (SLICES)
  ) u_collectives (
      .clk_i           (clk_i),
      .rst_ni          (collectives_rst_n),
      .write_i         (write_i),
      .kernel_i        (kernel_i),
      .kernel_ready_o  (kernel_ready_o),
      .lost_i          (lost),
      .cancel_i        (cancel),
      .posted_o        (posted_o),
      .active_o        (state_o.collectives),
      .stale_o         (state_o.stale),
      .writes_o        (row_writes),
      .denied_o        (row_denied),
      .complete_valid_o(complete_valid_o),
      .complete_ready_i(complete_ready_i),
      .complete_o      (complete_o),
      .sync_begin_i    (round),
      .sync_ready_o    (round_ready),
      .sync_i          (round_data),
      .sync_valid_o    (result),
      .sync_o          (result_data),
      .sync_lost_o     (state_o.lost),
      .read_req_o      (read_req),
      .read_gnt_i      (read_gnt),
      .read_address_o  (read_address),
      .read_rvalid_i   (read_rvalid),
      .read_data_i     (read_data_i),
      .write_valid_o   (write_valid),
      .write_ready_i   (write_ready_i),
      .write_address_o (write_address),
      .write_data_o    (write_data_o),
      .write_strobe_o  (write_strobe),
      .rx_valid_i      (out_valid[Locals-1:2]),
      .rx_phit_i       (out_phit[Locals-1:2]),
      .tx_valid_o      (in_valid[Locals-1:2]),
      .tx_ready_i      (in_ready[Locals-1:2]),
      .tx_phit_o       (in_phit[Locals-1:2])
  );

  // ---------------------------------------------------------------- collective commands of all boards

  logic fire;
  logic [4:0] status;

  cluster_sync #(
      .PHIT_W(PHIT_W)
  ) u_cluster_sync (
      .clk_i        (clk_i),
      .rst_ni       (collectives_rst_n),
      .here_i       (sync_i.fire),
      .present_i    (sync_i.present),
      .verdict_i    (sync_i.status),
      .kind_i       (sync_i.kind),
      .slot_i       (sync_i.slot),
      .sent_i       (sent),
      .consumed_i   (consumed),
      .round_o      (round),
      .round_ready_i(round_ready),
      .round_data_o (round_data),
      .result_i     (result),
      .result_data_i(result_data),
      .hold_o       (hold),
      .lost_i       (state_o.lost),
      .fire_o       (fire),
      .verdict_o    (status)
  );

  assign sync_o = {fire, status};

endmodule

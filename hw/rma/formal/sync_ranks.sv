/// The ranks of a board (`sync_rank`) and their `rma_sync`, for the proofs of collective commands.
module sync_ranks #(
    /// Ranks of the board.
    parameter int unsigned RANKS = 2,
    /// Ranks of the run.
    parameter int unsigned NPROCS = 2
) (
    /// Clock.
    input  logic             clk_i,
    /// Synchronous reset, active low.
    input  logic             rst_ni,
    /// No traffic of a rank is queued or under way.
    input  logic [RANKS-1:0] quiet_i,
    /// No packet is in the network.
    input  logic             network_empty_i,
    /// Pulse: the collective commands end.
    input  logic             fire_i,
    /// Status of the ended commands.
    input  logic [4:0]       verdict_i,
    /// The rank is at a collective command.
    output logic [RANKS-1:0] valid_o,
    /// Pulse: the rank's collective command ends.
    output logic [RANKS-1:0] ended_o,
    /// `present_o` of `rma_sync`.
    output logic             present_o,
    /// `fire_o` of `rma_sync`.
    output logic             here_o,
    /// `verdict_o` of `rma_sync`.
    output logic [4:0]       verdict_o,
    /// `kind_o` of `rma_sync`.
    output logic [1:0]       kind_o,
    /// `slot_o` of `rma_sync`.
    output logic [7:0]       slot_o
);

  logic [RANKS-1:0] begun, lost;
  logic [RANKS-1:0][1:0] kind;
  logic [RANKS-1:0][4:0] status;
  logic [RANKS-1:0][7:0] slot, nprocs;

  for (genvar r = 0; r < RANKS; r++) begin : g_rank
    alcor_abi_pkg::sync_request_t sync;

    assign valid_o[r] = sync.valid;
    assign kind[r]    = sync.kind;
    assign status[r]  = sync.status;
    assign slot[r]    = sync.slot;

    sync_rank #(
        .NPROCS(NPROCS)
    ) u_rank (
        .clk_i      (clk_i),
        .rst_ni     (rst_ni),
        .peer_lost_i((lost & ~(RANKS'(1) << r)) != '0),
        .fire_i     (fire_i),
        .verdict_i  (verdict_i),
        .lost_o     (lost[r]),
        .sync_o     (sync),
        .ended_o    (ended_o[r]),
        .begun_o    (begun[r]),
        .nprocs_o   (nprocs[r])
    );
  end

  rma_sync #(
      .RANKS(RANKS)
  ) u_sync (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .first_rank_i   ('0),
      .valid_i        (valid_o),
      .quiet_i        (quiet_i),
      .kind_i         (kind),
      .status_i       (status),
      .slot_i         (slot),
      .begun_i        (begun),
      .nprocs_i       (nprocs),
      .network_empty_i(network_empty_i),
      .present_o      (present_o),
      .fire_o         (here_o),
      .verdict_o      (verdict_o),
      .kind_o         (kind_o),
      .slot_o         (slot_o)
  );

endmodule

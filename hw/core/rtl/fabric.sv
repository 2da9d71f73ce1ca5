`include "assertions.svh"

/// The crossbar of a board: a router for requests and one for replies, and the routes of the packets.
///
/// The first word of a packet has the destination, a global rank, in bits [31:24]. The rank's board is the upper part
/// of that number, so a comparison with the number of this board gives the route. No table has to be written.
module fabric #(
    /// Bits of a beat.
    parameter int unsigned DATA_W = 32,
    /// Ranks of the board, a power of two.
    parameter int unsigned RANKS = 2,
    /// Ports of each router: the ranks, and with links one that leads to the other boards.
    parameter int unsigned PORTS = 2,
    /// Words of each router input memory.
    parameter int unsigned INPUT_DEPTH = 512,
    /// Words of each virtual output queue, crosspoint and output memory.
    parameter int unsigned QUEUE_DEPTH = 16
) (
    /// Clock.
    input  logic                                   clk_i,
    /// Synchronous reset, active low.
    input  logic                                   rst_ni,
    /// Number of this board among the boards; static while packets are inside.
    input  logic [7:0]                             board_i,

    /// From the ports, by plane: a beat is offered.
    input  logic [1:0][PORTS-1:0]                  tx_valid_i,
    /// The beat is taken.
    output logic [1:0][PORTS-1:0]                  tx_ready_o,
    /// The beat.
    input  logic [1:0][PORTS-1:0][DATA_W-1:0]      tx_data_i,
    /// The beat is its packet's last.
    input  logic [1:0][PORTS-1:0]                  tx_last_i,
    /// With `tx_last_i`: the beat ends a damaged packet, and holds no data.
    input  logic [1:0][PORTS-1:0]                  tx_cut_i,
    /// To the ports, by plane: a beat is offered.
    output logic [1:0][PORTS-1:0]                  rx_valid_o,
    /// The beat is taken.
    input  logic [1:0][PORTS-1:0]                  rx_ready_i,
    /// The beat.
    output logic [1:0][PORTS-1:0][DATA_W-1:0]      rx_data_o,
    /// The beat is its packet's last.
    output logic [1:0][PORTS-1:0]                  rx_last_o,
    /// With `rx_last_o`: the beat ends a damaged packet, and holds no data.
    output logic [1:0][PORTS-1:0]                  rx_cut_o,

    /// No packet is in either router.
    output logic                                   empty_o
);

  localparam int unsigned RankBits = $clog2(RANKS);

  logic [1:0] plane_empty;
  logic [1:0][PORTS-1:0] plane_drop;
  logic [1:0][PORTS-1:0][PORTS-1:0] route;
  // A beat, and above it whether it cuts its packet off.
  logic [1:0][PORTS-1:0][DATA_W:0] tx_word, rx_word;

  for (genvar p = 0; p < 2; p++) begin : g_plane
    for (genvar i = 0; i < PORTS; i++) begin : g_input
      logic [7:0] rank;
      logic here;

      assign tx_word[p][i]   = {tx_cut_i[p][i], tx_data_i[p][i]};
      assign rx_cut_o[p][i]  = rx_word[p][i][DATA_W];
      assign rx_data_o[p][i] = rx_word[p][i][DATA_W-1:0];

      assign rank = tx_data_i[p][i][31:24];
      // A board without links is board 0.
      assign here = (rank >> RankBits) == ((PORTS == RANKS) ? 8'd0 : board_i);

      always_comb begin
        for (int unsigned r = 0; r < RANKS; r++) route[p][i][r] = here && (rank & 8'(RANKS - 1)) == 8'(r);
        // Ranks of other boards are reached over the links.
        if (PORTS != RANKS) route[p][i][PORTS-1] = !here;
      end
    end

    router #(
        .PORTS           (PORTS),
        .WIDTH           (DATA_W + 1),
        .INPUT_DEPTH     (INPUT_DEPTH),
        .VOQ_DEPTH       (QUEUE_DEPTH),
        .CROSSPOINT_DEPTH(QUEUE_DEPTH),
        .OUTPUT_DEPTH    (QUEUE_DEPTH)
    ) u_router (
        .clk_i  (clk_i),
        .rst_ni (rst_ni),
        .route_i(route[p]),
        .valid_i(tx_valid_i[p]),
        .ready_o(tx_ready_o[p]),
        .data_i (tx_word[p]),
        .last_i (tx_last_i[p]),
        .valid_o(rx_valid_o[p]),
        .ready_i(rx_ready_i[p]),
        .data_o (rx_word[p]),
        .last_o (rx_last_o[p]),
        .drop_o (plane_drop[p]),
        .empty_o(plane_empty[p])
    );
  end

  assign empty_o = &plane_empty;

  // Every destination has a way through the crossbar: to a rank of this board or to the links. A packet that no link
  // leads on from there is dropped by the switch, and counted.
  `ALCOR_ASSERT(a_no_drop, plane_drop == '0)

endmodule

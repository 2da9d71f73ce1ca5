`include "assertions.svh"

/// The crossbar of a board: a router for requests and one for replies, and the table that both route by.
module fabric #(
    /// Bits of a beat.
    parameter int unsigned DATA_W = 32,
    /// Ranks of the board, a power of two.
    parameter int unsigned RANKS = 2,
    /// Ports of each router: the ranks, and with links one that leads to the other boards.
    parameter int unsigned PORTS = 2,
    /// Destinations: the ranks of the board, or 256 with links.
    parameter int unsigned DESTS = 2,
    /// Words of each router input memory.
    parameter int unsigned INPUT_DEPTH = 512,
    /// Words of each virtual output queue, crosspoint and output memory.
    parameter int unsigned QUEUE_DEPTH = 16
) (
    /// Clock.
    input  logic                                   clk_i,
    /// Synchronous reset, active low.
    input  logic                                   rst_ni,
    /// Number of this board among the boards.
    input  logic [7:0]                             board_i,
    /// Pulse: the number has been written.
    input  logic                                   placed_i,

    /// From the ports, by plane: a beat is offered.
    input  logic [1:0][PORTS-1:0]                  tx_valid_i,
    /// The beat is taken.
    output logic [1:0][PORTS-1:0]                  tx_ready_o,
    /// The beat.
    input  logic [1:0][PORTS-1:0][DATA_W-1:0]      tx_data_i,
    /// The beat is its packet's last.
    input  logic [1:0][PORTS-1:0]                  tx_last_i,
    /// To the ports, by plane: a beat is offered.
    output logic [1:0][PORTS-1:0]                  rx_valid_o,
    /// The beat is taken.
    input  logic [1:0][PORTS-1:0]                  rx_ready_i,
    /// The beat.
    output logic [1:0][PORTS-1:0][DATA_W-1:0]      rx_data_o,
    /// The beat is its packet's last.
    output logic [1:0][PORTS-1:0]                  rx_last_o,

    /// No packet is in either router.
    output logic                                   empty_o
);

  localparam int unsigned PortW = $clog2(PORTS);
  localparam int unsigned RankBits = $clog2(RANKS);

  logic [1:0] plane_empty;
  logic [1:0][PORTS-1:0] plane_drop;
  logic [DESTS-1:0][PortW-1:0] route;

  if (PORTS == RANKS) begin : g_alone
    // On one board the destination's number is its port.
    for (genvar r = 0; r < RANKS; r++) begin : g_route
      assign route[r] = PortW'(r);
    end

    logic unused_place;
    assign unused_place = ^{board_i, placed_i};
  end else begin : g_placed
    // Ranks of other boards are reached over the links. The table follows the board's number, which is written once.
    always_ff @(posedge clk_i) begin
      if (!rst_ni || placed_i) begin
        for (int unsigned d = 0; d < DESTS; d++) begin
          route[d] <= (8'(d >> RankBits) == board_i) ? PortW'(d % RANKS) : PortW'(RANKS);
        end
      end
    end
  end

  for (genvar p = 0; p < 2; p++) begin : g_plane
    router #(
        .PORTS           (PORTS),
        .WIDTH           (DATA_W),
        .DESTS           (DESTS),
        .INPUT_DEPTH     (INPUT_DEPTH),
        .VOQ_DEPTH       (QUEUE_DEPTH),
        .CROSSPOINT_DEPTH(QUEUE_DEPTH),
        .OUTPUT_DEPTH    (QUEUE_DEPTH)
    ) u_router (
        .clk_i  (clk_i),
        .rst_ni (rst_ni),
        .route_i(route),
        .valid_i(tx_valid_i[p]),
        .ready_o(tx_ready_o[p]),
        .data_i (tx_data_i[p]),
        .last_i (tx_last_i[p]),
        .valid_o(rx_valid_o[p]),
        .ready_i(rx_ready_i[p]),
        .data_o (rx_data_o[p]),
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

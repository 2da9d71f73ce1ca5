`include "formal.svh"

/// Proof of the collective commands of two boards: `rma_sync` and `cluster_sync` of each, with a network of any
/// latency, and rounds whose results arrive at any time. No command ends before all earlier packets have been consumed;
/// both boards end the same command; no packet of a board that has ended a command reaches a board that has not. Ranks
/// may send later packets while they are at a command; these may be under way when the command ends.
module cluster_rounds (
    /// Clock.
    input logic       clk_i,
    /// Synchronous reset, active low.
    input logic       rst_ni,
    /// By board: the rank's next command is a collective command; free.
    input logic [1:0] comes_i,
    /// By board: the rank, at a command, begins to send later packets; free.
    input logic [1:0] passes_i,
    /// By board: a packet to the other board leaves; free while the rank's board is active.
    input logic [1:0] sent_i,
    /// By board: a packet of the other board arrives; free.
    input logic [1:0] consumed_i,
    /// By board: the arriving packet is a later one; free if a later packet is under way.
    input logic [1:0] later_i,
    /// By board: no arrived packet causes further packets; free.
    input logic [1:0] rests_i,
    /// By board: the switch takes a round; free.
    input logic [1:0] round_ready_i,
    /// By board: the result of a round has arrived; free.
    input logic [1:0] result_i
);

  localparam int unsigned FlightW = 3;
  localparam int unsigned CountW = 3;

  `ALCOR_FORMAL_RESET

  logic [1:0] valid, ended, round, round_q, hold, fire, quiet, given_q, pending_q;
  // By board: the board may send packets from before the command; it may send later packets.
  logic [1:0] active_q, passing_q;
  // The first board ends a command: its later packets become earlier packets of the next command.
  logic first;
  logic [1:0] sends_later;
  logic [1:0][255:0] data, given_data_q;
  logic [255:0] result_data_q;
  // Packets under way to a board: sent before the command; sent later.
  logic [1:0][FlightW-1:0] flight_q, later_q;
  logic [1:0][CountW-1:0] count_q;

  for (genvar b = 0; b < 2; b++) begin : g_board
    logic here, present;

    cluster_rank u_rank (
        .clk_i  (clk_i),
        .rst_ni (rst_ni),
        .comes_i(comes_i[b]),
        .fire_i (fire[b]),
        .valid_o(valid[b]),
        .ended_o(ended[b])
    );

    rma_sync #(
        .RANKS(1)
    ) u_sync (
        .clk_i          (clk_i),
        .rst_ni         (rst_ni),
        .first_rank_i   (8'(b)),
        .valid_i        (valid[b]),
        .quiet_i        (quiet[b]),
        .kind_i         ('0),
        .status_i       ('0),
        .slot_i         ('0),
        .begun_i        (1'b1),
        .nprocs_i       (8'd2),
        .network_empty_i(1'b1),
        .present_o      (present),
        .fire_o         (here),
        .verdict_o      (),
        .kind_o         (),
        .slot_o         ()
    );

    cluster_sync #(
        .PHIT_W(256)
    ) u_cluster (
        .clk_i        (clk_i),
        .rst_ni       (rst_ni),
        .here_i       (here),
        .present_i    (present),
        .verdict_i    ('0),
        .kind_i       ('0),
        .slot_i       ('0),
        .sent_i       ({1'b0, sent_i[b]}),
        .consumed_i   ({1'b0, consumed_i[b]}),
        .round_o      (round[b]),
        .round_ready_i(round_ready_i[b]),
        .round_data_o (data[b]),
        .result_i     (result_i[b]),
        .result_data_i(result_data_q),
        .hold_o       (hold[b]),
        .lost_i       (1'b0),
        .fire_o       (fire[b]),
        .verdict_o    ()
    );

    // A rank that is not at a command may be active. A rank at a command becomes active by a packet, or by a command
    // that passes, and becomes inactive at some time.
    assign quiet[b]       = !active_q[b] && !passing_q[b] && !consumed_i[b];
    // While only the other board has ended the command, this board's packets count as sent before the next command.
    assign sends_later[b] = sent_i[b] && valid[b] && !active_q[b] && count_q[1-b] != count_q[b] + 1'b1;

    always_ff @(posedge clk_i) begin
      active_q[b]  <= rst_ni && ((consumed_i[b] && !later_i[b]) || (active_q[b] && !rests_i[b]) ||
                                 (first && passing_q[b]));
      passing_q[b] <= rst_ni && !first && ((consumed_i[b] && later_i[b]) || (valid[b] && passes_i[b]) ||
                                           (passing_q[b] && !rests_i[b]));
      flight_q[b]  <= flight_q[b] + FlightW'(sent_i[1-b] && !sends_later[1-b]) - FlightW'(consumed_i[b] && !later_i[b])
                    + (first ? later_q[b] + FlightW'(sends_later[1-b]) - FlightW'(consumed_i[b] && later_i[b]) : '0);
      later_q[b]   <= first ? '0 : later_q[b] + FlightW'(sends_later[1-b]) - FlightW'(consumed_i[b] && later_i[b]);
      count_q[b]   <= count_q[b] + CountW'(ended[b]);
      if (!rst_ni) begin
        flight_q[b] <= '0;
        later_q[b]  <= '0;
        count_q[b]  <= '0;
      end
    end

    `ALCOR_ASSUME(!sent_i[b] || ((!valid[b] || active_q[b] || passing_q[b]) && 4'(flight_q[1-b]) + 4'(later_q[1-b]) < 4'd7))
    `ALCOR_ASSUME(!consumed_i[b] || ((later_i[b] ? later_q[b] : flight_q[b]) != '0 && !hold[b]))
    `ALCOR_ASSUME(!round_ready_i[b] || (!round_q[b] && !given_q[b] && !pending_q[b]))
    `ALCOR_ASSUME(!result_i[b] || pending_q[b])
  end

  assign first = (ended[0] && count_q[1] == count_q[0]) || (ended[1] && count_q[0] == count_q[1]);

  logic [1:0] same_command, landed, held;
  always_comb begin
    for (int b = 0; b < 2; b++) begin
      // The other board is at the same command, or has ended the command.
      same_command[b] = count_q[1-b] == count_q[b] + 1'b1 || (count_q[1-b] == count_q[b] && valid[1-b]);
      landed[b]       = count_q[1-b] != count_q[b] || (flight_q == '0 && active_q == '0 && (consumed_i & ~later_i) == '0);
      held[b]         = count_q[1-b] != count_q[b] + 1'b1;
    end
  end
  // Both boards are at the same command when it ends on the first board.
  `ALCOR_ASSERT(p_same_command, (ended & ~same_command) == '0)
  // All earlier packets have arrived by then.
  `ALCOR_ASSERT(p_landed, (ended & ~landed) == '0)
  // No packet of a later command arrives before the cycle in which the command ends on this board.
  `ALCOR_ASSERT(p_held, (consumed_i & ~held & ~ended) == '0)

  // A round: both boards contribute, in the cycle after `round`, the values are combined, and each board gets the result.
  logic both;
  assign both = (given_q | round_q) == '1 && pending_q == '0;

  always_ff @(posedge clk_i) begin
    for (int b = 0; b < 2; b++) if (round_q[b]) given_data_q[b] <= data[b];
    given_q   <= both ? '0 : given_q | round_q;
    round_q   <= rst_ni ? round : '0;
    pending_q <= both ? '1 : pending_q & ~result_i;
    if (both) begin
      result_data_q[63:0]    <= (round_q[0] ? data[0][63:0] : given_data_q[0][63:0])
                              + (round_q[1] ? data[1][63:0] : given_data_q[1][63:0]);
      result_data_q[127:64]  <= (round_q[0] ? data[0][127:64] : given_data_q[0][127:64])
                              + (round_q[1] ? data[1][127:64] : given_data_q[1][127:64]);
      result_data_q[255:128] <= (round_q[0] ? data[0][255:128] : given_data_q[0][255:128])
                              & (round_q[1] ? data[1][255:128] : given_data_q[1][255:128]);
    end
    if (!rst_ni) begin
      given_q   <= '0;
      pending_q <= '0;
    end
  end

endmodule

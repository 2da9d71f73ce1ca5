`include "assertions.svh"

/// Output port of the router: the column's round-robin scheduler and Output Memory.
///
/// The scheduler takes turns among the column's non-empty crosspoints. Once it has chosen one it
/// keeps to it until that packet's last word has passed, so packets never interleave on an output.
///
/// Handshake, of the column's crosspoints and of the output stream: a word moves when valid and
/// ready are both high at a clock edge. Valid does not wait for ready, and stays, with the payload,
/// until the word moves. A word taken in cycle t is on the output in cycle t+1.
module router_output #(
    /// Crosspoints in the column, 2 to 16.
    parameter int unsigned PORTS = 4,
    /// Bits per word.
    parameter int unsigned WIDTH = 32,
    /// Words in Output Memory, 2 or more.
    parameter int unsigned OUTPUT_DEPTH = 16
) (
    /// Clock.
    input  logic                        clk_i,
    /// Synchronous reset, active low; empties Output Memory.
    input  logic                        rst_ni,
    /// Crosspoints: a word is offered.
    input  logic [PORTS-1:0]            valid_i,
    /// Crosspoints: the word is taken; one-hot or none.
    output logic [PORTS-1:0]            ready_o,
    /// Crosspoints: the words.
    input  logic [PORTS-1:0][WIDTH-1:0] data_i,
    /// Crosspoints: the word is its packet's last.
    input  logic [PORTS-1:0]            last_i,
    /// Output stream: a word is offered.
    output logic                        valid_o,
    /// Output stream: the word is taken.
    input  logic                        ready_i,
    /// Output stream: the word.
    output logic [WIDTH-1:0]            data_o,
    /// Output stream: the word is its packet's last.
    output logic                        last_o,
    /// No word is held in this port.
    output logic                        empty_o
);

  `ALCOR_CHECK_PARAM(g_check_ports, PORTS >= 2 && PORTS <= 16,
                     "router_output: PORTS must be 2 to 16")

  // Size from which block RAM is used, as the paper chooses for its FIFOs.
  localparam int unsigned BlockRamDepth = 128;

  logic [PORTS-1:0] turn;
  logic [PORTS-1:0] grant;
  logic held_d, held_q;
  logic [PORTS-1:0] holder_d, holder_q;
  logic offer, room;
  logic last;
  logic [WIDTH-1:0] data;

  rr_arbiter #(
      .N(PORTS)
  ) u_arbiter (
      .clk_i    (clk_i),
      .rst_ni   (rst_ni),
      .req_i    (valid_i),
      .advance_i(!held_q),
      .valid_o  (),
      .grant_o  (turn),
      .index_o  ()
  );

  assign grant   = held_q ? holder_q : turn;
  assign offer   = (grant & valid_i) != '0;
  assign ready_o = room ? grant & valid_i : '0;
  assign last    = (grant & last_i) != '0;

  always_comb begin
    data = '0;
    for (int unsigned p = 0; p < PORTS; p++) begin
      data |= grant[p] ? data_i[p] : '0;
    end
  end

  // A choice is held from the cycle in which it is first offered, taken or not: an offer must not
  // change.
  always_comb begin
    held_d   = held_q;
    holder_d = holder_q;
    if (offer) begin
      held_d   = !(room && last);
      holder_d = grant;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      held_q   <= 1'b0;
      holder_q <= '0;
    end else begin
      held_q   <= held_d;
      holder_q <= holder_d;
    end
  end

  fifo #(
      .WIDTH    (WIDTH + 1),
      .DEPTH    (OUTPUT_DEPTH),
      .BLOCK_RAM(OUTPUT_DEPTH >= BlockRamDepth)
  ) u_output_memory (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i(offer),
      .ready_o(room),
      .data_i ({last, data}),
      .valid_o(valid_o),
      .ready_i(ready_i),
      .data_o ({last_o, data_o}),
      .empty_o(empty_o),
      .usage_o()
  );

  `ALCOR_ASSERT(a_take_onehot, $onehot0(ready_o))
  `ALCOR_IMPLIES(a_holder_onehot, held_q, $onehot(holder_q))
  `ALCOR_STABLE(a_holder_stays, held_q, offer && room && last, holder_q)

  `ALCOR_COVER(c_full_router_output, !room)

endmodule

`include "assertions.svh"

/// Crossbar router with combined input, crosspoint and output buffers.
///
/// Streams carry packets of one or more words; `last` marks the last. The user computes the output of a
/// packet and gives it beside the packet's first word. The router looks at no word itself.
///
/// Handshake of all streams: a word moves when valid and ready are both high at a clock edge. Valid
/// does not wait for ready, and stays, with the payload, until the word moves. All `ready_o` and
/// `valid_o` come from registers.
///
/// A word accepted in cycle t by an idle router is on its output in cycle t+4. Each port moves a
/// word in every cycle, without gaps between packets. Packets from one input to one output keep their
/// order, and packets never interleave on an output.
module router #(
    /// Inputs, and as many outputs: 2 to 16.
    parameter int unsigned PORTS = 4,
    /// Bits per word.
    parameter int unsigned WIDTH = 32,
    /// Words in each Input Memory; block RAM from 128 up.
    parameter int unsigned INPUT_DEPTH = 512,
    /// Packets in each Header Q.
    parameter int unsigned HEADER_DEPTH = 16,
    /// Words in each VOQ.
    parameter int unsigned VOQ_DEPTH = 16,
    /// Words in each crosspoint buffer.
    parameter int unsigned CROSSPOINT_DEPTH = 16,
    /// Words in each Output Memory.
    parameter int unsigned OUTPUT_DEPTH = 16
) (
    /// Clock.
    input  logic                        clk_i,
    /// Synchronous reset, active low; empties all queues.
    input  logic                        rst_ni,
    /// Inputs: output of the packet whose first word is offered, one-hot; 0: the packet is to be dropped.
    input  logic [PORTS-1:0][PORTS-1:0] route_i,
    /// Inputs: a word is offered.
    input  logic [PORTS-1:0]            valid_i,
    /// Inputs: there is room.
    output logic [PORTS-1:0]            ready_o,
    /// Inputs: the words.
    input  logic [PORTS-1:0][WIDTH-1:0] data_i,
    /// Inputs: the word is its packet's last.
    input  logic [PORTS-1:0]            last_i,
    /// Outputs: a word is offered.
    output logic [PORTS-1:0]            valid_o,
    /// Outputs: the word is taken.
    input  logic [PORTS-1:0]            ready_i,
    /// Outputs: the words.
    output logic [PORTS-1:0][WIDTH-1:0] data_o,
    /// Outputs: the word is its packet's last.
    output logic [PORTS-1:0]            last_o,
    /// ALL_FIFOs_EMPTY: no word is anywhere inside, in this very cycle; combinational.
    output logic                        empty_o,
    /// Pulse per input: a packet without a route has been dropped.
    output logic [PORTS-1:0]            drop_o
);

  // Row i, column j: from input i to output j.
  logic [PORTS-1:0][PORTS-1:0] room, write;
  logic [PORTS-1:0][WIDTH-1:0] row_data;
  logic [PORTS-1:0] row_last;

  // Column j, row i: the same crosspoints as an output sees them.
  logic [PORTS-1:0][PORTS-1:0] col_valid, col_ready, col_last;
  logic [PORTS-1:0][PORTS-1:0][WIDTH-1:0] col_data;

  logic [PORTS-1:0] input_empty, output_empty;
  logic [PORTS-1:0][PORTS-1:0] crosspoint_empty;

  for (genvar i = 0; i < PORTS; i++) begin : g_input
    router_input #(
        .PORTS       (PORTS),
        .WIDTH       (WIDTH),
        .INPUT_DEPTH (INPUT_DEPTH),
        .HEADER_DEPTH(HEADER_DEPTH),
        .VOQ_DEPTH   (VOQ_DEPTH)
    ) u_input (
        .clk_i  (clk_i),
        .rst_ni (rst_ni),
        .route_i(route_i[i]),
        .valid_i(valid_i[i]),
        .ready_o(ready_o[i]),
        .data_i (data_i[i]),
        .last_i (last_i[i]),
        .room_i (room[i]),
        .write_o(write[i]),
        .data_o (row_data[i]),
        .last_o (row_last[i]),
        .empty_o(input_empty[i]),
        .drop_o (drop_o[i])
    );
  end

  for (genvar i = 0; i < PORTS; i++) begin : g_row
    for (genvar j = 0; j < PORTS; j++) begin : g_column
      router_crosspoint #(
          .WIDTH(WIDTH),
          .DEPTH(CROSSPOINT_DEPTH)
      ) u_crosspoint (
          .clk_i  (clk_i),
          .rst_ni (rst_ni),
          .write_i(write[i][j]),
          .data_i (row_data[i]),
          .last_i (row_last[i]),
          .room_o (room[i][j]),
          .valid_o(col_valid[j][i]),
          .ready_i(col_ready[j][i]),
          .data_o (col_data[j][i]),
          .last_o (col_last[j][i]),
          .empty_o(crosspoint_empty[i][j])
      );
    end
  end

  for (genvar j = 0; j < PORTS; j++) begin : g_output
    router_output #(
        .PORTS       (PORTS),
        .WIDTH       (WIDTH),
        .OUTPUT_DEPTH(OUTPUT_DEPTH)
    ) u_output (
        .clk_i  (clk_i),
        .rst_ni (rst_ni),
        .valid_i(col_valid[j]),
        .ready_o(col_ready[j]),
        .data_i (col_data[j]),
        .last_i (col_last[j]),
        .valid_o(valid_o[j]),
        .ready_i(ready_i[j]),
        .data_o (data_o[j]),
        .last_o (last_o[j]),
        .empty_o(output_empty[j])
    );
  end

  // Words move from FIFO to FIFO at clock edges with nothing between, so each is counted in exactly
  // one FIFO in every cycle.
  assign empty_o = (&input_empty) && (&crosspoint_empty) && (&output_empty);

  `ALCOR_IMPLIES(a_not_empty, valid_o != '0, !empty_o)

`ifdef ALCOR_PROVE_ROUTER
  `include "router_properties.svh"
`endif

endmodule

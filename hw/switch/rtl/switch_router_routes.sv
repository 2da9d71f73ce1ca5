`include "simulation.svh"

import alcor_abi_pkg::*;

/// Forwarding table of the router, and the outputs that follow from it for the phits that come in. Lookups are
/// combinational.
module switch_router_routes #(
    /// Link ports: inputs 0 to LINKS - 1.
    parameter  int unsigned LINKS  = 6,
    /// Local ports: the inputs after the links.
    parameter  int unsigned LOCALS = 5,
    /// Destinations that have an entry: 0 to DESTS - 1; at most 256.
    parameter  int unsigned DESTS  = 256,
    /// Inputs; derived, not to be set.
    localparam int unsigned Ports  = LINKS + LOCALS
) (
    /// Clock.
    input  logic                   clk_i,
    /// Synchronous reset, active low; no entry is valid.
    input  logic                   rst_ni,
    /// Writes an entry.
    input  logic                   forward_write_i,
    /// Destination: a global rank.
    input  logic [7:0]             forward_rank_i,
    /// Link port that leads there; 15: this board.
    input  logic [3:0]             forward_port_i,
    /// Link ports that cross the dateline of their ring; static.
    input  logic [LINKS-1:0]       dateline_i,
    /// By input: a phit comes.
    input  logic [Ports-1:0]       valid_i,
    /// By input: destination of the phit.
    input  logic [Ports-1:0][15:0] dest_i,
    /// By input: stage that the phit is for, of a collective's phit.
    input  logic [Ports-1:0][2:0]  stage_i,
    /// By input: class of the phit.
    input  logic [Ports-1:0][1:0]  class_i,
    /// By input: channel that the phit comes on.
    input  logic [Ports-1:0][2:0]  vc_i,
    /// By input: output of the phit.
    output logic [Ports-1:0][3:0]  port_o,
    /// By input: dateline bit of the phit's channel at the output.
    output logic [Ports-1:0]       dateline_o
);

  localparam int unsigned DestW = (DESTS > 1) ? $clog2(DESTS) : 1;
  localparam int unsigned LinkIndexW = $clog2(LINKS);
  localparam logic [3:0] Here = 4'd15;
  localparam logic [15:0] LinkPorts = 16'((1 << LINKS) - 1);

  // Entries are not reset, whether they are valid is.
  (* ram_style = "distributed" *)
  logic [3:0] forward_q[DESTS];
  logic [DESTS-1:0] forward_valid_q;
  logic forward_exists;

  if (DESTS < 256) begin : g_some_exist
    assign forward_exists = forward_rank_i < 8'(DESTS);
  end else begin : g_all_exist
    assign forward_exists = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) forward_valid_q <= '0;
    else if (forward_write_i && forward_exists) forward_valid_q[forward_rank_i[DestW-1:0]] <= 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (forward_write_i && forward_exists) forward_q[forward_rank_i[DestW-1:0]] <= forward_port_i;
  end

  for (genvar i = 0; i < Ports; i++) begin : g_input
    localparam bit IsLink = i < LINKS;
    logic known;
    logic [3:0] port;

    always_comb begin
      known = 1'b0;
      port = '0;
      port_o[i] = RouterNowhere;
      dateline_o[i] = 1'b0;
      if (`ALCOR_AWAKE(valid_i[i])) begin
        known = 32'(dest_i[i]) < DESTS && forward_valid_q[dest_i[i][DestW-1:0]];
        port = forward_q[dest_i[i][DestW-1:0]];
        if (known && port == Here) begin
          for (int unsigned k = 0; k < LOCALS; k++) begin
            if (k < 2 ? class_i[i] == 2'(k) : class_i[i] == 2'd2 && stage_i[i] == 3'(k - 2)) port_o[i] = 4'(LINKS + k);
          end
        end else if (known && LinkPorts[port]) begin
          port_o[i] = port;
          // The bit lives in one ring: another dimension begins with 0.
          dateline_o[i] = dateline_i[port[LinkIndexW-1:0]]
              || (IsLink && port[3:1] == 3'(i / 2) && vc_i[i][0]);
        end
      end
    end
  end

endmodule

`include "simulation.svh"

/// Forwarding table of the router, and the outlets that follow from it for the phits that come in. Lookups are
/// combinational.
module switch_router_routes #(
    /// Link ports: inputs 0 to LINKS - 1.
    parameter  int unsigned LINKS  = 6,
    /// Stages of the collective unit.
    parameter  int unsigned STAGES = 3,
    /// Destinations that have an entry: 0 to DESTS - 1; at most 256.
    parameter  int unsigned DESTS  = 256,
    /// Inputs: links, requests, replies, stages; derived, not to be set.
    localparam int unsigned Ports = LINKS + 2 + STAGES,
    /// Numbers of a class's outlets; derived, not to be set.
    localparam int unsigned Outlets = 2 * LINKS + STAGES + 1,
    /// Bits of such a number; derived, not to be set.
    localparam int unsigned OutletW = $clog2(Outlets)
) (
    /// Clock.
    input  logic                          clk_i,
    /// Synchronous reset, active low; no entry is valid.
    input  logic                          rst_ni,
    /// Writes an entry.
    input  logic                          forward_write_i,
    /// Destination: a global rank.
    input  logic [7:0]                    forward_rank_i,
    /// Link port that leads there; 15: this board.
    input  logic [3:0]                    forward_port_i,
    /// Link ports that cross the dateline of their ring; static.
    input  logic [LINKS-1:0]              dateline_i,
    /// By input: a phit comes.
    input  logic [Ports-1:0]              valid_i,
    /// By input: destination of the phit.
    input  logic [Ports-1:0][15:0]        dest_i,
    /// By input: stage that the phit is for, of a collective's phit.
    input  logic [Ports-1:0][2:0]         stage_i,
    /// By input: class of the phit.
    input  logic [Ports-1:0][1:0]         class_i,
    /// By input: channel that the phit comes on.
    input  logic [Ports-1:0][2:0]         vc_i,
    /// By input: outlet of the phit, by its number in the class.
    output logic [Ports-1:0][OutletW-1:0] outlet_o
);

  localparam int unsigned DestW = (DESTS > 1) ? $clog2(DESTS) : 1;
  localparam int unsigned LinkIndexW = $clog2(LINKS);
  localparam logic [3:0] Here = 4'd15;
  localparam logic [OutletW-1:0] FirstLocal = OutletW'(2 * LINKS);
  localparam logic [OutletW-1:0] Nowhere = OutletW'(Outlets - 1);
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
    logic known, dateline;
    logic [3:0] port;

    always_comb begin
      known = 1'b0;
      port = '0;
      dateline = 1'b0;
      outlet_o[i] = Nowhere;
      if (`ALCOR_AWAKE(valid_i[i])) begin
        known = 32'(dest_i[i]) < DESTS && forward_valid_q[dest_i[i][DestW-1:0]];
        port = forward_q[dest_i[i][DestW-1:0]];
        // The bit lives in one ring: another dimension begins with 0.
        dateline = dateline_i[port[LinkIndexW-1:0]] || (IsLink && port[3:1] == 3'(i / 2) && vc_i[i][0]);
        if (known && port == Here) begin
          if (class_i[i] != 2'd2) outlet_o[i] = FirstLocal;
          else if (32'(stage_i[i]) < STAGES) outlet_o[i] = FirstLocal + OutletW'(stage_i[i]);
        end else if (known && LinkPorts[port]) begin
          outlet_o[i] = OutletW'({port, dateline});
        end
      end
    end
  end

endmodule

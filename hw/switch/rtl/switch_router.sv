`include "assertions.svh"
`include "phit_types.svh"
`include "simulation.svh"

import alcor_abi_pkg::*;

/// Virtual-channel router of the MPI-FPGA switch, for rings and tori of up to three dimensions.
///
/// Links have no handshake: a phit comes with its channel, and there is room for it, as the sender holds
/// credits, which travel the other way, at most one a cycle. Channels 0 to 5 are class * 2 + dateline bit;
/// channel 7 is control, is never stored and needs no credit. All link outputs come from registers.
///
/// Local ports are valid/ready streams: a phit moves when both are high at a clock edge. Valid
/// does not wait for ready, and stays, with the phit, until ready. Local port 0 is for
/// requests, 1 for replies, 2 + s for stage s of the collective unit.
///
/// A packet is one or more phits with the same header, the last of them marked. Packets of one
/// channel of a link do not interleave there, nor at local outputs; a packet leaves before its tail
/// has come. Route: the forwarding table gives a link or this board. On this board, the class and,
/// for collectives, the header's stage select the local port. A phit from a local port to its own
/// board leaves at a local port.
///
/// Through an idle router: 4 cycles from `link_i` to `link_o`, from a link to a local port,
/// and from a local port to a link.
///
/// Buffer of a channel. The paper's equation (2) is (m + (d + q) * L / Tclk) * Ph: margin m, depth
/// d of the collective tree, slack q = 2, link latency L. In the paper, the buffers hold the data
/// of the tree; here the collective unit's windows do. So a channel covers the credit loop alone:
/// the equation with d + q = 2. The loop is 110 cycles of link, 4 in the router (write, offer,
/// grant, credit register), 110 back, and 2 until the credit counts: 226 phits, and a margin of 30
/// for waiting phits. 256 phits of 256 bits are 8 KiB, and six channels 48 KiB: the paper's size.
module switch_router #(
    /// Link ports: 2, 4, or 6.
    parameter int unsigned LINKS = 6,
    /// Stages of the collective unit, 1 to 5: local ports 2 to STAGES + 1.
    parameter int unsigned STAGES = 3,
    /// Bits of data in a phit.
    parameter int unsigned PHIT_W = 256,
    /// Phits that each channel of a link input holds, a power of two.
    parameter int unsigned VC_DEPTH = 256,
    /// Destinations that have an entry in the forwarding table: 0 to DESTS-1; at most 256.
    parameter int unsigned DESTS = 256,
    /// Local ports; derived, not to be set.
    localparam int unsigned Locals = 2 + STAGES,
    /// Bits of a phit: data, header, position; derived, not to be set.
    localparam int unsigned W = PHIT_W + PhitHeadW
) (
    /// Clock.
    input  logic                            clk_i,
    /// Synchronous reset, active low; empties the router and the forwarding table.
    input  logic                            rst_ni,
    /// Key of the run, which control phits carry above their data. A control phit with another key is dropped.
    input  logic [7:0]                      key_i,
    /// Writes an entry of the forwarding table.
    input  logic                            forward_write_i,
    /// The destination: a global rank.
    input  logic [7:0]                      forward_rank_i,
    /// The link port that leads there; 15: this board.
    input  logic [3:0]                      forward_port_i,
    /// Link ports that cross the dateline of their ring; static.
    input  logic [LINKS-1:0]                dateline_i,
    /// Links: phits and credits that arrive, a link_flow_t for each.
    input  logic [LINKS-1:0][LinkFlowW-1:0] link_i,
    /// Links: the phit that arrives.
    input  logic [LINKS-1:0][W-1:0]  link_phit_i,
    /// Links: phits and credits that leave, a link_flow_t for each.
    output logic [LINKS-1:0][LinkFlowW-1:0] link_o,
    /// Links: the phit that leaves.
    output logic [LINKS-1:0][W-1:0]  link_phit_o,
    /// Into the network: a phit is offered.
    input  logic [Locals-1:0]               local_valid_i,
    /// Into the network: there is room.
    output logic [Locals-1:0]               local_ready_o,
    /// Into the network: the phit.
    input  logic [Locals-1:0][W-1:0] local_phit_i,
    /// Out of the network: a phit is offered.
    output logic [Locals-1:0]               local_valid_o,
    /// Out of the network: the phit is taken.
    input  logic [Locals-1:0]               local_ready_i,
    /// Out of the network: the phit.
    output logic [Locals-1:0][W-1:0] local_phit_o,
    /// Pulse: a control phit is to go out on every link.
    input  logic                            control_i,
    /// Low bits of that phit.
    input  logic [15:0]                     control_data_i,
    /// Pulse: a control phit came.
    output logic                            control_o,
    /// Low bits of that phit; of several at once, of the lowest link's.
    output logic [15:0]                     control_data_o,
    /// Pulse for each packet dropped, without a way or for a stage that does not exist.
    output logic                            drop_o,
    /// Pulse by link: a phit was sent.
    output logic [LINKS-1:0]                link_tx_o,
    /// Pulse by link: a phit was received.
    output logic [LINKS-1:0]                link_rx_o,
    /// No phit is stored.
    output logic                            idle_o
);

  `ALCOR_CHECK_PARAM(g_check_links, LINKS == 2 || LINKS == 4 || LINKS == 6,
                     "switch_router: LINKS must be 2, 4 or 6")
  `ALCOR_CHECK_PARAM(g_check_stages, STAGES >= 1 && STAGES <= 5,
                     "switch_router: STAGES must be 1 to 5")
  `ALCOR_CHECK_PARAM(g_check_dests, DESTS >= 1 && DESTS <= 256,
                     "switch_router: DESTS must be 1 to 256")

  localparam int unsigned Ports = LINKS + Locals;
  // Numbers of a class's outlets, see router_types.svh.
  localparam int unsigned Outlets = 2 * LINKS + STAGES + 1;
  localparam int unsigned OutletW = $clog2(Outlets);
  // A local input's queue covers the six cycles from a phit's acceptance to its credit's return.
  localparam int unsigned InjectDepth = 8;
  localparam int unsigned EjectDepth = 4;
  // A phit that has been first in its channel for two of these is old.
  localparam int unsigned TickW = 5;

  // ---------------------------------------------------------------- between the parts
  `ALCOR_PHIT_TYPE(PHIT_W)

  logic [Ports-1:0][OutletW+5:0] offer;
  logic [Ports-1:0] grant, pass;
  logic [Ports-1:0][$clog2(Ports)-1:0] pass_from;
  logic [LINKS-1:0][2:0] pass_vc;
  logic [Ports-1:0] credit;
  // By class: state of its outlets.
  logic [2:0][4*Outlets-1:0] outlets;
  logic [2:0][Outlets-1:0] awaited;
  logic [Ports-1:0] input_empty, output_empty, input_drop;
  // Members of the links' bundles.
  logic [LINKS-1:0] arrives, leaves, returns;
  logic [LINKS-1:0][2:0] arrives_vc, leaves_vc, returns_vc;
  logic [LINKS-1:0][23:0] link_data;
  logic stall, control_idle;
  logic [Ports-1:0][Ports-1:0] await;
  logic [Ports-1:0] awaited_d, awaited_q;
  // Phits that cross in this cycle; the places of ports that do not exist stay 0.
  logic [12:0][W-1:0] crossing  /*verilator split_var*/;

  always_comb begin
    awaited_d = '0;
    if (`ALCOR_AWAKE(input_empty != '1)) begin
      for (int unsigned i = 0; i < Ports; i++) awaited_d |= await[i];
    end
  end

  always_ff @(posedge clk_i) awaited_q <= rst_ni ? awaited_d : '0;

  for (genvar c = 0; c < 3; c++) begin : g_class
    for (genvar k = 0; k < Outlets; k++) begin : g_outlet
      if (k < 2 * LINKS) begin : g_link
        assign awaited[c][k] = awaited_q[k/2];
      end else if (k == 2 * LINKS || (c == 2 && k + 1 < Outlets)) begin : g_local
        assign awaited[c][k] = awaited_q[k-LINKS+c];
      end else begin : g_nowhere
        assign awaited[c][k] = 1'b0;
      end
    end
  end

  logic [TickW-1:0] age_q;
  logic tick;

  always_ff @(posedge clk_i) age_q <= rst_ni ? age_q + 1'b1 : '0;
  assign tick = age_q == '0;

  logic [Ports-1:0][5:0] want, next, reserve_for;
  logic [Ports-1:0][5:0][OutletW-1:0] want_outlet;

  // ---------------------------------------------------------------- route computation
  logic [Ports-1:0] push;
  logic [Ports-1:0][2:0] push_vc;
  logic [Ports-1:0][1:0] push_class;
  logic [Ports-1:0][15:0] push_dest;
  logic [Ports-1:0][2:0] push_stage;
  logic [Ports-1:0][OutletW-1:0] push_outlet;

  switch_router_routes #(
      .LINKS (LINKS),
      .STAGES(STAGES),
      .DESTS (DESTS)
  ) u_routes (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .forward_write_i(forward_write_i),
      .forward_rank_i (forward_rank_i),
      .forward_port_i (forward_port_i),
      .dateline_i     (dateline_i),
      .valid_i        (push),
      .dest_i         (push_dest),
      .stage_i        (push_stage),
      .class_i        (push_class),
      .vc_i           (push_vc),
      .outlet_o       (push_outlet)
  );

  // ---------------------------------------------------------------- inputs
  for (genvar i = 0; i < Ports; i++) begin : g_in
    localparam bit IsLink = i < LINKS;
    localparam int unsigned Local = IsLink ? 0 : i - LINKS;
    localparam int unsigned Class = (Local < 2) ? Local : 2;

    phit_t phit;
    logic gives;
    logic [2:0] gives_vc;

    assign push_dest[i] = phit.head.low.dest;
    assign push_stage[i] = phit.head.high.stage;

    switch_router_input #(
        .LINKS    (LINKS),
        .STAGES   (STAGES),
        .CHANNELS (IsLink ? 6 : 1),
        .CLASS    (Class),
        .DEPTH    (IsLink ? VC_DEPTH : InjectDepth),
        .WIDTH    (W),
        .BLOCK_RAM(IsLink)
    ) u_input (
        .clk_i        (clk_i),
        .rst_ni       (rst_ni),
        .tick_i       (tick),
        .push_i       (push[i]),
        .push_vc_i    (push_vc[i]),
        .push_phit_i  (phit),
        .push_way_i   ({phit.head.low.last, push_outlet[i]}),
        .credit_o     (gives),
        .credit_vc_o  (gives_vc),
        .outlets_i    (outlets),
        .awaited_i    (awaited),
        .await_o      (await[i]),
        .offer_o      (offer[i]),
        .grant_i      (grant[i]),
        .data_o       (crossing[i]),
        .want_o       (want[i]),
        .want_outlet_o(want_outlet[i]),
        .reserve_i    (reserve_for[i]),
        .next_o       (next[i]),
        .drop_o       (input_drop[i]),
        .empty_o      (input_empty[i])
    );

    if (IsLink) begin : g_link
      assign phit = link_phit_i[i];
      alcor_abi_pkg::link_flow_t flow;

      assign flow = link_i[i];
      assign arrives[i] = flow.valid;
      assign arrives_vc[i] = flow.vc;
      assign returns[i] = flow.credit;
      assign returns_vc[i] = flow.credit_vc;
      assign push_vc[i] = flow.vc;
      assign push_class[i] = flow.vc.class_;
      assign push[i] = flow.valid && push_class[i] != 2'd3;
      assign link_o[i] = {leaves[i], leaves_vc[i], gives, gives_vc};
      assign link_data[i] = phit.data[23:0];
    end else begin : g_local
      localparam int unsigned RoomW = $clog2(InjectDepth + 1);
      logic [RoomW-1:0] room_q;
      logic ready_q;

      assign phit = local_phit_i[Local];
      assign push_vc[i] = '0;
      assign push_class[i] = 2'(Class);
      assign push[i] = local_valid_i[Local] && local_ready_o[Local];
      assign local_ready_o[Local] = ready_q;

      always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
          room_q  <= RoomW'(InjectDepth);
          ready_q <= 1'b1;
        end else if (push[i] && !gives) begin
          room_q  <= room_q - 1'b1;
          ready_q <= room_q != RoomW'(1);
        end else if (gives && !push[i]) begin
          room_q  <= room_q + 1'b1;
          ready_q <= 1'b1;
        end
      end

      // Of the data whoever offers them makes sure: to look at all costs simulations much.
      `ALCOR_STABLE(a_local_in_stable, local_valid_i[Local], local_ready_o[Local], phit.head)
      `ALCOR_ASSERT(a_one_channel, gives_vc == '0 || !gives)
    end
  end

  for (genvar i = Ports; i < 13; i++) begin : g_no_port
    assign crossing[i] = '0;
  end

  // ---------------------------------------------------------------- channel and switch allocation
  logic [6*LINKS+Locals-1:0] reserved, reserve, cancel;

  for (genvar x = 0; x < LINKS; x++) begin : g_credit
    assign credit[x] = returns[x];
  end

  switch_router_allocator #(
      .LINKS      (LINKS),
      .STAGES     (STAGES),
      .VC_DEPTH   (VC_DEPTH),
      .LOCAL_DEPTH(EjectDepth)
  ) u_allocator (
      .clk_i        (clk_i),
      .rst_ni       (rst_ni),
      .stall_links_i(stall),
      .offer_i      (offer),
      .grant_o      (grant),
      .pass_o       (pass),
      .pass_from_o  (pass_from),
      .pass_vc_o    (pass_vc),
      .credit_i     (credit),
      .credit_vc_i  (returns_vc),
      .outlets_o    (outlets),
      .reserved_o   (reserved),
      .reserve_i    (reserve),
      .cancel_i     (cancel)
  );

  switch_router_reserve #(
      .LINKS (LINKS),
      .STAGES(STAGES)
  ) u_reserve (
      .clk_i        (clk_i),
      .rst_ni       (rst_ni),
      .want_i       (want),
      .outlet_i     (want_outlet),
      .next_i       (next),
      .reserved_i   (reserved),
      .reserve_o    (reserve),
      .reserve_for_o(reserve_for),
      .cancel_o     (cancel)
  );

  // ---------------------------------------------------------------- switch traversal
  logic [Ports-1:0][W-1:0] crossed;

  for (genvar x = 0; x < Ports; x++) begin : g_cross
    always_comb begin
      crossed[x] = '0;
      if (`ALCOR_AWAKE(pass[x])) begin
        unique case (4'(pass_from[x]))
          4'd0: crossed[x] = crossing[0];
          4'd1: crossed[x] = crossing[1];
          4'd2: crossed[x] = crossing[2];
          4'd3: crossed[x] = crossing[3];
          4'd4: crossed[x] = crossing[4];
          4'd5: crossed[x] = crossing[5];
          4'd6: crossed[x] = crossing[6];
          4'd7: crossed[x] = crossing[7];
          4'd8: crossed[x] = crossing[8];
          4'd9: crossed[x] = crossing[9];
          4'd10: crossed[x] = crossing[10];
          4'd11: crossed[x] = crossing[11];
          default: crossed[x] = crossing[12];
        endcase
      end
    end
  end

  // ---------------------------------------------------------------- outputs
  switch_router_links #(
      .LINKS(LINKS),
      .WIDTH(W)
  ) u_links (
      .clk_i         (clk_i),
      .rst_ni        (rst_ni),
      .pass_i        (pass[LINKS-1:0]),
      .pass_vc_i     (pass_vc),
      .pass_phit_i   (crossed[LINKS-1:0]),
      .link_valid_o  (leaves),
      .link_vc_o     (leaves_vc),
      .link_phit_o   (link_phit_o),
      .link_valid_i  (arrives),
      .link_vc_i     (arrives_vc),
      .link_data_i   (link_data),
      .key_i         (key_i),
      .control_i     (control_i),
      .control_data_i(control_data_i),
      .stall_o       (stall),
      .control_o     (control_o),
      .control_data_o(control_data_o),
      .idle_o        (control_idle)
  );

  assign output_empty[LINKS-1:0] = ~leaves;

  for (genvar k = 0; k < Locals; k++) begin : g_local_out
    switch_router_eject #(
        .WIDTH(W),
        .DEPTH(EjectDepth)
    ) u_eject (
        .clk_i   (clk_i),
        .rst_ni  (rst_ni),
        .push_i  (pass[LINKS+k]),
        .phit_i  (crossed[LINKS+k]),
        .valid_o (local_valid_o[k]),
        .ready_i (local_ready_i[k]),
        .phit_o  (local_phit_o[k]),
        .credit_o(credit[LINKS+k])
    );

    assign output_empty[LINKS+k] = !local_valid_o[k];
  end

  // ---------------------------------------------------------------- counters, state
  localparam int unsigned DropW = 12;
  // Several inputs can drop in one cycle: their pulses come one after the other.
  logic [DropW-1:0] drops_d, drops_q;
  logic [LINKS-1:0] received_q;

  always_comb begin
    drops_d = drops_q;
    if (drops_q != '0) drops_d -= 1'b1;
    // The counter saturates.
    if (input_drop != '0 && !drops_q[DropW-1]) begin
      for (int unsigned i = 0; i < Ports; i++) drops_d += DropW'(input_drop[i]);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      drops_q <= '0;
      received_q <= '0;
    end else begin
      if (input_drop != '0 || drops_q != '0) drops_q <= drops_d;
      received_q <= arrives;
    end
  end

  assign drop_o = drops_q != '0;
  assign link_tx_o = leaves;
  assign link_rx_o = received_q;
  assign idle_o = (&input_empty) && (&output_empty) && pass == '0 && control_idle;

  for (genvar i = 0; i < LINKS; i++) begin : g_check
    `ALCOR_IMPLIES(a_channel_exists, arrives[i], arrives_vc[i] != 3'd6)
    `ALCOR_IMPLIES(a_credit_channel, returns[i], returns_vc[i] < 3'd6)
  end

endmodule

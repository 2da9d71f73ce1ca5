`include "assertions.svh"
`include "simulation.svh"

import alcor_abi_pkg::*;

/// Virtual-channel router of the MPI-FPGA switch, for rings and tori of up to three dimensions.
///
/// Links have no handshake: a phit comes with its channel, and there is room for it, as the sender holds
/// credits, which travel the other way, at most one a cycle. Channels 0 to 5 are class * 2 + dateline bit;
/// channel 7 is control, is never stored and needs no credit. All link outputs come from registers.
///
/// Local ports are valid/ready streams: a phit moves when both are high at a clock edge. Valid never
/// waits for ready, and what is offered stays on offer, unchanged, until it is taken. Local port 0 is for
/// requests, 1 for replies, 2 + s for stage s of the collective unit.
///
/// A packet is one or more phits with the same header, the last of them marked. Packets of one
/// channel of a link do not interleave there, nor at local outputs; a packet leaves before its tail has
/// come. The way: the forwarding table gives a link, or this board, where the class and, for
/// collectives, the header's stage choose the local port; a phit that a local port sends to its own board
/// comes back out there.
///
/// Through an idle router: 4 cycles from `link_valid_i` to `link_valid_o`, from a link to a local port,
/// and from a local port to a link.
///
/// Buffer of a channel. The paper's equation (2) is (m + (d + q) * L / Tclk) * Ph: margin m, depth d
/// of the collective tree, slack q = 2, link latency L. There the buffers stand in for the tree; here
/// windows of the collective unit do, and a channel has to cover the credit loop alone, which is the
/// equation with d + q = 2: from a phit's leaving to the return of its credit are 110 cycles of link, 4 in
/// the router (write, offer, grant, credit register), 110 back, 2 until it counts: 226 phits, and a margin
/// of 30 for phits that wait. 256 phits of 256 bits are 8 KiB, and six channels 48 KiB: the paper's size.
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
    localparam int unsigned W = PHIT_W + 80
) (
    /// Clock.
    input  logic                     clk_i,
    /// Synchronous reset, active low; empties the router and the forwarding table.
    input  logic                     rst_ni,
    /// Writes an entry of the forwarding table.
    input  logic                     forward_write_i,
    /// The destination: a global rank.
    input  logic [7:0]               forward_rank_i,
    /// The link port that leads there; 15: this board.
    input  logic [3:0]               forward_port_i,
    /// Link ports that cross the dateline of their ring; static.
    input  logic [LINKS-1:0]         dateline_i,
    /// Links: a phit comes.
    input  logic [LINKS-1:0]         link_valid_i,
    /// Links: its channel.
    input  logic [LINKS-1:0][2:0]    link_vc_i,
    /// Links: the phit.
    input  logic [LINKS-1:0][W-1:0]  link_phit_i,
    /// Links: a credit comes back for what was sent.
    input  logic [LINKS-1:0]         link_credit_i,
    /// Links: its channel.
    input  logic [LINKS-1:0][2:0]    link_credit_vc_i,
    /// Links: a phit goes.
    output logic [LINKS-1:0]         link_valid_o,
    /// Links: its channel.
    output logic [LINKS-1:0][2:0]    link_vc_o,
    /// Links: the phit.
    output logic [LINKS-1:0][W-1:0]  link_phit_o,
    /// Links: a credit goes back for what was received.
    output logic [LINKS-1:0]         link_credit_o,
    /// Links: its channel.
    output logic [LINKS-1:0][2:0]    link_credit_vc_o,
    /// Into the network: a phit is offered.
    input  logic [Locals-1:0]        local_valid_i,
    /// Into the network: there is room.
    output logic [Locals-1:0]        local_ready_o,
    /// Into the network: the phit.
    input  logic [Locals-1:0][W-1:0] local_phit_i,
    /// Out of the network: a phit is offered.
    output logic [Locals-1:0]        local_valid_o,
    /// Out of the network: it is taken.
    input  logic [Locals-1:0]        local_ready_i,
    /// Out of the network: the phit.
    output logic [Locals-1:0][W-1:0] local_phit_o,
    /// Pulse: a control phit is to go out on every link.
    input  logic                     control_i,
    /// Low bits of that phit.
    input  logic [15:0]              control_data_i,
    /// Pulse: a control phit came.
    output logic                     control_o,
    /// Low bits of that phit; of several at once, of the lowest link's.
    output logic [15:0]              control_data_o,
    /// Pulse for each packet dropped, without a way or for a stage that does not exist.
    output logic                     drop_o,
    /// Pulse by link: a phit was sent.
    output logic [LINKS-1:0]         link_tx_o,
    /// Pulse by link: a phit was received.
    output logic [LINKS-1:0]         link_rx_o,
    /// No phit is stored.
    output logic                     idle_o
);

  `ALCOR_CHECK_PARAM(g_check_links, LINKS == 2 || LINKS == 4 || LINKS == 6,
                     "switch_router: LINKS must be 2, 4 or 6")
  `ALCOR_CHECK_PARAM(g_check_stages, STAGES >= 1 && STAGES <= 5,
                     "switch_router: STAGES must be 1 to 5")
  `ALCOR_CHECK_PARAM(g_check_dests, DESTS >= 1 && DESTS <= 256,
                     "switch_router: DESTS must be 1 to 256")

  localparam int unsigned Ports = LINKS + Locals;
  localparam int unsigned DestW = (DESTS > 1) ? $clog2(DESTS) : 1;
  localparam int unsigned LinkIndexW = $clog2(LINKS);
  localparam int unsigned High = PHIT_W + 32;
  localparam logic [3:0] Here = 4'd15;
  localparam logic [15:0] LinkPorts = 16'((1 << LINKS) - 1);
  localparam logic [3:0] NoOutput = 4'd15;
  // A local input's queue covers the six cycles from a phit's acceptance to its credit's return.
  localparam int unsigned InjectDepth = 8;
  localparam int unsigned EjectDepth = 4;
  // A phit that has been first in its channel for two of these is old.
  localparam int unsigned TickW = 5;

  // ---------------------------------------------------------------------------------------------
  // Forwarding table. Entries are not reset, whether they are valid is.
  // ---------------------------------------------------------------------------------------------
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

  // ---------------------------------------------------------------------------------------------
  // Between the parts
  // ---------------------------------------------------------------------------------------------
  logic [Ports-1:0] try, try_bit, try_last, try_next, grant;
  logic [Ports-1:0][3:0] try_out;
  logic [Ports-1:0][2:0] try_vc;
  logic [Ports-1:0] pass;
  logic [Ports-1:0][3:0] pass_from;
  logic [LINKS-1:0][2:0] pass_vc;
  logic [Ports-1:0] credit;
  logic [127:0] credits, unlocked, unreserved, open;
  logic [Ports-1:0] input_empty, output_empty, input_drop;
  logic [Ports-1:0][15:0] await;
  logic [15:0] awaited_d, awaited_q;
  // Phits that cross in this cycle; the places of ports that do not exist stay 0.
  logic [12:0][W-1:0] crossing  /*verilator split_var*/;

  always_comb begin
    awaited_d = '0;
    if (`ALCOR_AWAKE(input_empty != '1)) begin
      for (int unsigned i = 0; i < Ports; i++) awaited_d |= await[i];
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) awaited_q <= '0;
    else awaited_q <= awaited_d;
  end

  logic [TickW-1:0] age_q;
  logic tick;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) age_q <= '0;
    else age_q <= age_q + 1'b1;
  end
  assign tick = age_q == '0;

  logic [Ports-1:0][5:0] want, next, reserve_for;
  logic [Ports-1:0][5:0][5:0] first;

  // ---------------------------------------------------------------------------------------------
  // Inputs, with route computation
  // ---------------------------------------------------------------------------------------------
  logic [LINKS-1:0] link_control;

  for (genvar i = 0; i < Ports; i++) begin : g_in
    localparam bit IsLink = i < LINKS;
    localparam int unsigned Local = IsLink ? 0 : i - LINKS;
    localparam int unsigned Class = (Local < 2) ? Local : 2;

    logic push;
    logic [2:0] vc;
    logic [1:0] class_of;
    logic [W-1:0] phit;
    logic last;
    logic [15:0] dest;
    logic [2:0] stage;
    logic known;
    logic [3:0] port;
    logic [3:0] out;
    logic bit_next;

    if (IsLink) begin : g_link
      assign phit = link_phit_i[i];
      assign vc = link_vc_i[i];
      assign class_of = vc[2:1];
      assign push = link_valid_i[i] && class_of != 2'd3;
    end else begin : g_local
      assign phit = local_phit_i[Local];
      assign vc = '0;
      assign class_of = 2'(Class);
      assign push = local_valid_i[Local] && local_ready_o[Local];
    end

    assign last = phit[PHIT_W+NET_LOW_LAST_LSB];
    assign dest = phit[PHIT_W+NET_LOW_DEST_LSB+:NET_LOW_DEST_W];
    assign stage = phit[High+NET_HIGH_STAGE_LSB+:NET_HIGH_STAGE_W];

    always_comb begin
      known = 1'b0;
      port = '0;
      out = NoOutput;
      bit_next = 1'b0;
      if (`ALCOR_AWAKE(push)) begin
        known = 32'(dest) < DESTS && forward_valid_q[dest[DestW-1:0]];
        port = forward_q[dest[DestW-1:0]];
        if (known && port == Here) begin
          for (int unsigned k = 0; k < Locals; k++) begin
            if (k < 2 ? class_of == 2'(k) : class_of == 2'd2 && stage == 3'(k - 2)) out = 4'(LINKS + k);
          end
        end else if (known && LinkPorts[port]) begin
          out = port;
          // The bit lives in one ring: another dimension begins with 0.
          bit_next = dateline_i[port[LinkIndexW-1:0]]
              || (IsLink && port[3:1] == 3'(i / 2) && vc[0]);
        end
      end
    end

    if (IsLink) begin : g_link_input
      logic empty;

      switch_router_input #(
          .CHANNELS (6),
          .CLASS    (0),
          .DEPTH    (VC_DEPTH),
          .WIDTH    (W),
          .BLOCK_RAM(1'b1)
      ) u_input (
          .clk_i       (clk_i),
          .rst_ni      (rst_ni),
          .tick_i      (tick),
          .push_i      (push),
          .push_vc_i   (vc),
          .push_phit_i (phit),
          .push_out_i  (out),
          .push_bit_i  (bit_next),
          .push_last_i (last),
          .credit_o    (link_credit_o[i]),
          .credit_vc_o (link_credit_vc_o[i]),
          .credits_i   (credits),
          .unlocked_i  (unlocked),
          .unreserved_i(unreserved),
          .open_i      (open),
          .awaited_i   (awaited_q),
          .await_o     (await[i]),
          .try_o       (try[i]),
          .try_out_o   (try_out[i]),
          .try_vc_o    (try_vc[i]),
          .try_bit_o   (try_bit[i]),
          .try_last_o  (try_last[i]),
          .try_next_o  (try_next[i]),
          .grant_i     (grant[i]),
          .data_o      (crossing[i]),
          .want_o      (want[i]),
          .first_o     (first[i]),
          .reserve_i   (reserve_for[i]),
          .next_o      (next[i]),
          .drop_o      (input_drop[i]),
          .empty_o     (empty)
      );

      assign input_empty[i] = empty;
      assign link_control[i] = link_valid_i[i] && link_vc_i[i] == 3'(VC_CONTROL);
    end else begin : g_local_input
      localparam int unsigned RoomW = $clog2(InjectDepth + 1);
      logic gave;
      logic [2:0] gave_vc;
      logic [RoomW-1:0] room_q;
      logic ready_q;

      switch_router_input #(
          .CHANNELS (1),
          .CLASS    (Class),
          .DEPTH    (InjectDepth),
          .WIDTH    (W),
          .BLOCK_RAM(1'b0)
      ) u_input (
          .clk_i       (clk_i),
          .rst_ni      (rst_ni),
          .tick_i      (tick),
          .push_i      (push),
          .push_vc_i   (vc),
          .push_phit_i (phit),
          .push_out_i  (out),
          .push_bit_i  (bit_next),
          .push_last_i (last),
          .credit_o    (gave),
          .credit_vc_o (gave_vc),
          .credits_i   (credits),
          .unlocked_i  (unlocked),
          .unreserved_i(unreserved),
          .open_i      (open),
          .awaited_i   (awaited_q),
          .await_o     (await[i]),
          .try_o       (try[i]),
          .try_out_o   (try_out[i]),
          .try_vc_o    (try_vc[i]),
          .try_bit_o   (try_bit[i]),
          .try_last_o  (try_last[i]),
          .try_next_o  (try_next[i]),
          .grant_i     (grant[i]),
          .data_o      (crossing[i]),
          .want_o      (want[i][0]),
          .first_o     (first[i][0]),
          .reserve_i   (reserve_for[i][0]),
          .next_o      (next[i][0]),
          .drop_o      (input_drop[i]),
          .empty_o     (input_empty[i])
      );

      assign want[i][5:1] = '0;
      assign first[i][5:1] = '0;
      assign next[i][5:1] = '0;

      always_ff @(posedge clk_i) begin
        if (!rst_ni) begin
          room_q  <= RoomW'(InjectDepth);
          ready_q <= 1'b1;
        end else if (push && !gave) begin
          room_q  <= room_q - 1'b1;
          ready_q <= room_q != RoomW'(1);
        end else if (gave && !push) begin
          room_q  <= room_q + 1'b1;
          ready_q <= 1'b1;
        end
      end

      assign local_ready_o[Local] = ready_q;

      // Of the data whoever offers them makes sure: to look at all costs simulations much.
      `ALCOR_STABLE(a_local_in_stable, local_valid_i[Local], local_ready_o[Local],
                    local_phit_i[Local][W-1:PHIT_W])
      `ALCOR_ASSERT(a_one_channel, gave_vc == '0 || !gave)
    end
  end

  for (genvar i = Ports; i < 13; i++) begin : g_no_port
    assign crossing[i] = '0;
  end

  // ---------------------------------------------------------------------------------------------
  // Channel and switch allocation
  // ---------------------------------------------------------------------------------------------
  logic [1:0] control_q;
  logic [1:0][15:0] control_data_q;
  logic reserve, cancel;
  logic [6:0] reserve_place, cancel_place;

  for (genvar x = 0; x < LINKS; x++) begin : g_credit
    assign credit[x] = link_credit_i[x];
  end

  switch_router_allocator #(
      .PORTS      (Ports),
      .LINKS      (LINKS),
      .VC_DEPTH   (VC_DEPTH),
      .LOCAL_DEPTH(EjectDepth)
  ) u_allocator (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .stall_links_i  (control_q[0]),
      .try_i          (try),
      .try_out_i      (try_out),
      .try_vc_i       (try_vc),
      .try_bit_i      (try_bit),
      .try_last_i     (try_last),
      .try_next_i     (try_next),
      .grant_o        (grant),
      .pass_o         (pass),
      .pass_from_o    (pass_from),
      .pass_vc_o      (pass_vc),
      .credit_i       (credit),
      .credit_vc_i    (link_credit_vc_i),
      .credits_o      (credits),
      .unlocked_o     (unlocked),
      .unreserved_o   (unreserved),
      .open_o         (open),
      .reserve_i      (reserve),
      .reserve_place_i(reserve_place),
      .cancel_i       (cancel),
      .cancel_place_i (cancel_place)
  );

  switch_router_reserve #(
      .PORTS(Ports),
      .LINKS(LINKS)
  ) u_reserve (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .want_i         (want),
      .first_i        (first),
      .next_i         (next),
      .unreserved_i   (unreserved),
      .reserve_o      (reserve),
      .reserve_place_o(reserve_place),
      .reserve_for_o  (reserve_for),
      .cancel_o       (cancel),
      .cancel_place_o (cancel_place)
  );

  // ---------------------------------------------------------------------------------------------
  // Switch traversal
  // ---------------------------------------------------------------------------------------------
  logic [Ports-1:0][W-1:0] crossed;

  for (genvar x = 0; x < Ports; x++) begin : g_cross
    always_comb begin
      crossed[x] = '0;
      if (`ALCOR_AWAKE(pass[x])) begin
        unique case (pass_from[x])
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

  // ---------------------------------------------------------------------------------------------
  // Outputs. A control phit goes where the allocator left a gap for it.
  // ---------------------------------------------------------------------------------------------
  always_ff @(posedge clk_i) begin
    if (!rst_ni) control_q <= '0;
    else control_q <= {control_q[0], control_i};
  end

  always_ff @(posedge clk_i) begin
    if (control_i) control_data_q[0] <= control_data_i;
    if (control_q[0]) control_data_q[1] <= control_data_q[0];
  end

  logic [LINKS-1:0] link_valid_q;
  logic [LINKS-1:0][2:0] link_vc_q;
  logic [LINKS-1:0][W-1:0] link_phit_d, link_phit_q;

  always_comb begin
    link_phit_d = '0;
    if (control_q[1]) link_phit_d = {LINKS{W'(control_data_q[1])}};
    else if (`ALCOR_AWAKE(pass[LINKS-1:0] != '0)) link_phit_d = crossed[LINKS-1:0];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) link_valid_q <= '0;
    else link_valid_q <= control_q[1] ? '1 : pass[LINKS-1:0];
  end

  // All at once: a link that sends nothing need not keep what it sent.
  always_ff @(posedge clk_i) begin
    if (`ALCOR_AWAKE(control_q[1] || pass[LINKS-1:0] != '0)) begin
      link_vc_q   <= control_q[1] ? {LINKS{3'(VC_CONTROL)}} : pass_vc;
      link_phit_q <= link_phit_d;
    end
  end

  assign link_valid_o = link_valid_q;
  assign link_vc_o = link_vc_q;
  assign link_phit_o = link_phit_q;
  assign output_empty[LINKS-1:0] = ~link_valid_q;

  `ALCOR_IMPLIES(a_control_in_gap, control_q[1], pass[LINKS-1:0] == '0)

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

  // ---------------------------------------------------------------------------------------------
  // Control phits in, counters, state
  // ---------------------------------------------------------------------------------------------
  localparam int unsigned DropW = 12;
  logic control_in_q;
  // Several inputs can drop in one cycle: their pulses come one after the other.
  logic [DropW-1:0] drops_d, drops_q;
  logic [15:0] control_in_data_q, control_in_data;
  logic [LINKS-1:0] received_q;

  always_comb begin
    control_in_data = '0;
    if (`ALCOR_AWAKE(link_control != '0)) begin
      for (int unsigned i = LINKS; i > 0; i--) begin
        if (link_control[i-1]) control_in_data = link_phit_i[i-1][15:0];
      end
    end
  end

  always_comb begin
    drops_d = drops_q;
    if (drops_q != '0) drops_d -= 1'b1;
    // What is too much to count is lost.
    if (input_drop != '0 && !drops_q[DropW-1]) begin
      for (int unsigned i = 0; i < Ports; i++) drops_d += DropW'(input_drop[i]);
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      control_in_q <= 1'b0;
      drops_q <= '0;
      received_q <= '0;
    end else begin
      control_in_q <= link_control != '0;
      if (input_drop != '0 || drops_q != '0) drops_q <= drops_d;
      received_q <= link_valid_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (link_control != '0) control_in_data_q <= control_in_data;
  end

  assign control_o = control_in_q;
  assign control_data_o = control_in_data_q;
  assign drop_o = drops_q != '0;
  assign link_tx_o = link_valid_o;
  assign link_rx_o = received_q;
  assign idle_o = (&input_empty) && (&output_empty) && pass == '0 && control_q == '0;

  for (genvar i = 0; i < LINKS; i++) begin : g_check
    `ALCOR_IMPLIES(a_channel_exists, link_valid_i[i], link_vc_i[i] != 3'd6)
    `ALCOR_IMPLIES(a_credit_channel, link_credit_i[i], link_credit_vc_i[i] < 3'd6)
  end

endmodule

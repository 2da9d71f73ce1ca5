`include "assertions.svh"
`include "simulation.svh"

/// Reservation of output channels for packets that wait. Reservations make the router free of
/// starvation.
///
/// The allocator gives a channel to one of the inputs that request it in the cycle in which it is
/// free and has credit. A packet can miss every such cycle. So this unit visits the input channels,
/// one a cycle. If a packet waits long, or waits for a channel that another packet keeps, the unit
/// reserves the channel for one of the packets that wait for it, round robin. No other packet
/// begins on the channel until the reserved packet has left.
///
/// A reservation follows its visit by two cycles, and is void if its packet has left in between.
module switch_router_reserve #(
    /// Link ports.
    parameter int unsigned LINKS = 6,
    /// Stages of the collective unit.
    parameter int unsigned STAGES = 3,
    /// Inputs: links, requests, replies, stages; derived, not to be set.
    localparam int unsigned Ports = LINKS + 2 + STAGES,
    /// Numbers of a class's outlets; derived, not to be set.
    localparam int unsigned Outlets = 2 * LINKS + STAGES + 1,
    /// Bits of such a number; derived, not to be set.
    localparam int unsigned OutletW = $clog2(Outlets),
    /// Outlets of all classes; derived, not to be set.
    localparam int unsigned All = 6 * LINKS + 2 + STAGES
) (
    /// Clock.
    input  logic                               clk_i,
    /// Synchronous reset, active low.
    input  logic                               rst_ni,
    /// By input and its channel: a packet waits to begin. A local input has channel 0 alone.
    input  logic [Ports-1:0][5:0]              want_i,
    /// By input and its channel: outlet of its first phit, by its number in the class.
    input  logic [Ports-1:0][5:0][OutletW-1:0] outlet_i,
    /// By input and its channel: has a reservation.
    input  logic [Ports-1:0][5:0]              next_i,
    /// By outlet: the outlet is reserved.
    input  logic [All-1:0]                     reserved_i,
    /// By outlet, pulse: the outlet is reserved for a packet.
    output logic [All-1:0]                     reserve_o,
    /// By input and its channel, pulse: the reservation is for this channel.
    output logic [Ports-1:0][5:0]              reserve_for_o,
    /// By outlet: the outlet has no reservation, or a void one.
    output logic [All-1:0]                     cancel_o
);

  // Input channels of a class: {input, dateline bit}.
  localparam int unsigned Channels = 2 * Ports;
  localparam int unsigned IdW = $clog2(Channels);
  // Outlets of a class below the highest one.
  localparam int unsigned Numbers = 2 * LINKS + 1;

  // ---------------------------------------------------------------- walk
  logic [3:0] port_q;
  logic [2:0] channel_q;
  logic some;
  logic visit_d, visit_q;
  // The outlet that is wanted: its class, and its number in the class.
  logic [1:0] class_d, class_q;
  logic [OutletW-1:0] outlet_d, outlet_q;

  assign some = want_i != '0;

  // Whom the walk is at, and what is wanted there.
  always_comb begin
    visit_d = 1'b0;
    outlet_d = '0;
    if (`ALCOR_AWAKE(some)) begin
      for (int unsigned i = 0; i < Ports; i++) begin
        for (int unsigned a = 0; a < ((i < LINKS) ? 6 : 1); a++) begin
          if (port_q == 4'(i) && channel_q == 3'(a)) begin
            visit_d |= want_i[i][a];
            outlet_d |= outlet_i[i][a];
          end
        end
      end
    end
  end

  always_comb begin
    if (32'(port_q) < LINKS) class_d = channel_q[2:1];
    else class_d = (32'(port_q) < LINKS + 2) ? 2'(32'(port_q) - LINKS) : 2'd2;
  end

  // The bit of an outlet.
  function automatic logic bit_of(input logic [All-1:0] outlets, input logic [1:0] class_, input logic [OutletW-1:0] outlet);
    logic [Outlets-1:0] state;
    unique case (class_)
      2'd0: state = Outlets'(outlets[0+:Numbers]);
      2'd1: state = Outlets'(outlets[Numbers+:Numbers]);
      default: state = Outlets'(outlets[2*Numbers+:Outlets-1]);
    endcase
    bit_of = state[outlet];
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      port_q <= '0;
      channel_q <= '0;
      visit_q <= 1'b0;
    end else begin
      visit_q <= visit_d;
      if (some) begin
        if (32'(port_q) < LINKS && channel_q != 3'd5) begin
          channel_q <= channel_q + 1'b1;
        end else begin
          channel_q <= '0;
          port_q <= (port_q == 4'(Ports - 1)) ? '0 : port_q + 1'b1;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (`ALCOR_AWAKE(some)) begin
      class_q  <= class_d;
      outlet_q <= outlet_d;
    end
  end

  // ---------------------------------------------------------------- choice among the inputs that wait for that channel
  // The input that each outlet was last reserved for; the next turn begins behind it. The memory has no reset, so
  // `written_q` has a bit for each outlet whose entry was written since reset. The entries of the others read as 0.
  (* ram_style = "distributed" *)
  logic [IdW-1:0] last_q[4<<OutletW];
  logic [All-1:0] written_d, written_q;
  logic last_written_q;
  logic [IdW-1:0] last;

  logic reserve;

  assign written_d = written_q | reserve_o;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      written_q <= '0;
      last_written_q <= 1'b0;
    end else if (`ALCOR_AWAKE(some || reserve)) begin
      written_q <= written_d;
      last_written_q <= bit_of(written_d, class_d, outlet_d);
    end
  end

  assign last = last_written_q ? last_q[{class_q, outlet_q}] : '0;

  logic [Channels-1:0] wants, chosen, behind;
  logic [Channels-1:0] urgent, upto, upto_urgent;
  logic [IdW-1:0] chosen_id;

  always_comb begin
    wants = '0;
    if (`ALCOR_AWAKE(visit_q)) begin
      for (int unsigned i = 0; i < Ports; i++) begin
        for (int unsigned a = 0; a < ((i < LINKS) ? 6 : 1); a++) begin
          if (want_i[i][a] && outlet_i[i][a] == outlet_q && class_q == 2'((i < LINKS) ? a / 2 : (i < LINKS + 2) ? i - LINKS : 2)) begin
            wants[2*i+a%2] = 1'b1;
          end
        end
      end
    end
  end

  // The lowest of those behind the last, else of all.
  always_comb begin
    behind = '0;
    urgent = '0;
    upto = '0;
    upto_urgent = '0;
    chosen = '0;
    chosen_id = '0;
    if (`ALCOR_AWAKE(wants != '0)) begin
      behind = ({Channels{1'b1}} << last) << 1;
      urgent = wants & behind;
      // Bit r: some bit up to r; without a carry, to be few levels of LUTs.
      upto = wants | wants << 1;
      upto |= upto << 2;
      upto |= upto << 4;
      upto |= upto << 8;
      upto |= upto << 16;
      upto_urgent = urgent | urgent << 1;
      upto_urgent |= upto_urgent << 2;
      upto_urgent |= upto_urgent << 4;
      upto_urgent |= upto_urgent << 8;
      upto_urgent |= upto_urgent << 16;
      chosen = urgent & ~(upto_urgent << 1);
      if (!upto_urgent[Channels-1]) chosen |= wants & ~(upto << 1);
      for (int unsigned r = 0; r < Channels; r++) begin
        if (chosen[r]) chosen_id |= IdW'(r);
      end
    end
  end

  assign reserve = visit_q && wants != '0 && !bit_of(reserved_i, class_q, outlet_q);

  for (genvar c = 0; c < 3; c++) begin : g_class
    for (genvar k = 0; k < ((c < 2) ? Numbers : Outlets - 1); k++) begin : g_outlet
      assign reserve_o[c*Numbers+k] = reserve && class_q == 2'(c) && outlet_q == OutletW'(k);
    end
  end

  always_comb begin
    reserve_for_o = '0;
    if (reserve) begin
      for (int unsigned i = 0; i < Ports; i++) begin
        for (int unsigned a = 0; a < 6; a++) begin
          if (i < LINKS) reserve_for_o[i][a] = chosen[2*i+a%2] && 2'(a / 2) == class_q;
          else if (a == 0) reserve_for_o[i][a] = chosen[2*i];
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (reserve) last_q[{class_q, outlet_q}] <= chosen_id;
  end

  // ---------------------------------------------------------------- was it still there?
  // The reservation that was made last. It is void if its packet has no reservation a cycle later. Once the packet has left,
  // the outlet is not reserved, and a pulse changes nothing.
  logic [All-1:0] check_q;
  logic [Ports-1:0][5:0] check_for_q;

  always_ff @(posedge clk_i) begin
    if (reserve) begin
      check_q     <= reserve_o;
      check_for_q <= reserve_for_o;
    end
  end

  assign cancel_o = ((next_i & check_for_q) == '0) ? check_q : '0;

  `ALCOR_IMPLIES(a_reserved_for_one, reserve, $onehot(reserve_for_o))

endmodule

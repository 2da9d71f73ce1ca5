`include "assertions.svh"
`include "simulation.svh"

import alcor_abi_pkg::*;

/// Link outputs of the router, and control phits: a control phit leaves on all links at once, in a gap that the
/// allocator leaves for it, and one that comes is not stored.
///
/// A control phit leaves three cycles after `control_i`; one that arrives is reported in the next cycle.
module switch_router_links #(
    /// Link ports.
    parameter int unsigned LINKS = 6,
    /// Bits of a phit with its head.
    parameter int unsigned WIDTH = 336
) (
    /// Clock.
    input  logic                        clk_i,
    /// Synchronous reset, active low.
    input  logic                        rst_ni,
    /// By link: a phit has crossed the switch.
    input  logic [LINKS-1:0]            pass_i,
    /// By link: channel of the phit.
    input  logic [LINKS-1:0][2:0]       pass_vc_i,
    /// By link: the phit.
    input  logic [LINKS-1:0][WIDTH-1:0] pass_phit_i,
    /// By link: a phit is sent.
    output logic [LINKS-1:0]            link_valid_o,
    /// By link: channel of the phit.
    output logic [LINKS-1:0][2:0]       link_vc_o,
    /// By link: the phit.
    output logic [LINKS-1:0][WIDTH-1:0] link_phit_o,
    /// By link: a phit comes.
    input  logic [LINKS-1:0]            link_valid_i,
    /// By link: channel of the phit.
    input  logic [LINKS-1:0][2:0]       link_vc_i,
    /// By link: low bits of the phit.
    input  logic [LINKS-1:0][23:0]      link_data_i,
    /// Key of the run, which control phits carry above their data. A control phit with another key is dropped.
    input  logic [7:0]                  key_i,
    /// Pulse: a control phit is to go out on every link.
    input  logic                        control_i,
    /// Low bits of that phit.
    input  logic [15:0]                 control_data_i,
    /// In this cycle nothing may be granted a link.
    output logic                        stall_o,
    /// Pulse: a control phit came.
    output logic                        control_o,
    /// Low bits of that phit; of several at once, of the lowest link's.
    output logic [15:0]                 control_data_o,
    /// No control phit is under way.
    output logic                        idle_o
);

  // ---------------------------------------------------------------- out
  logic [1:0] control_q;
  logic [1:0][15:0] control_data_q;
  logic [LINKS-1:0][WIDTH-1:0] link_phit_d;

  assign stall_o = control_q[0];
  assign idle_o = control_q == '0;

  always_ff @(posedge clk_i) control_q <= rst_ni ? {control_q[0], control_i} : '0;

  always_ff @(posedge clk_i) begin
    if (control_i) control_data_q[0] <= control_data_i;
    if (control_q[0]) control_data_q[1] <= control_data_q[0];
  end

  always_comb begin
    link_phit_d = '0;
    if (control_q[1]) link_phit_d = {LINKS{WIDTH'({key_i, control_data_q[1]})}};
    else if (`ALCOR_AWAKE(pass_i != '0)) link_phit_d = pass_phit_i;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) link_valid_o <= '0;
    else link_valid_o <= control_q[1] ? '1 : pass_i;
  end

  // All registers at once: a link that sends nothing need not keep its last phit.
  always_ff @(posedge clk_i) begin
    if (`ALCOR_AWAKE(control_q[1] || pass_i != '0)) begin
      link_vc_o   <= control_q[1] ? {LINKS{3'(VC_CONTROL)}} : pass_vc_i;
      link_phit_o <= link_phit_d;
    end
  end

  // ---------------------------------------------------------------- in
  logic [LINKS-1:0] comes;
  logic [15:0] data;

  for (genvar i = 0; i < LINKS; i++) begin : g_comes
    assign comes[i] = link_valid_i[i] && link_vc_i[i] == 3'(VC_CONTROL) && link_data_i[i][23:16] == key_i;
  end

  always_comb begin
    data = '0;
    if (`ALCOR_AWAKE(comes != '0)) begin
      for (int unsigned i = LINKS; i > 0; i--) begin
        if (comes[i-1]) data = link_data_i[i-1][15:0];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) control_o <= 1'b0;
    else control_o <= comes != '0;
    control_data_o <= data;
  end

  `ALCOR_IMPLIES(a_control_in_gap, control_q[1], pass_i == '0)

endmodule

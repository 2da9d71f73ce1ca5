import alcor_link_pkg::*;

/// Counters of a link end's events, in the clock of the medium access controller, and their copy in
/// the core's clock. The copy is all counters at one moment, a few cycles of both clocks ago.
module link_counts (
    /// Clock of the medium access controller.
    input  logic                        mac_clk_i,
    /// Synchronous reset of the controller's clock, active low.
    input  logic                        mac_rst_ni,
    /// Pulses: the events.
    input  alcor_abi_pkg::link_events_t events_i,
    /// Clock of the core.
    input  logic                        clk_i,
    /// Synchronous reset of the core's clock, active low.
    input  logic                        rst_ni,
    /// The counts.
    output alcor_abi_pkg::link_counts_t counts_o
);

  localparam int unsigned Kinds = 8;

  logic [Kinds-1:0] events;
  logic [Kinds-1:0][15:0] counts_q, held_q;
  logic changed_q, sent_q, taken_q, sent, taken;

  assign events = events_i;

  // Counts that have changed are held until the core's side has taken them.
  always_ff @(posedge mac_clk_i) begin
    if (!mac_rst_ni) begin
      counts_q  <= '0;
      changed_q <= 1'b0;
      sent_q    <= 1'b0;
    end else begin
      for (int unsigned k = 0; k < Kinds; k++) begin
        if (events[k] && counts_q[k] != '1) counts_q[k] <= counts_q[k] + 1'b1;
      end
      if (changed_q && sent_q == taken) begin
        sent_q    <= !sent_q;
        changed_q <= 1'b0;
      end
      if (events != '0) changed_q <= 1'b1;
    end
    if (changed_q && sent_q == taken) held_q <= counts_q;
  end

  sync_2ff #(.WIDTH(1)) u_sent (.clk_i(clk_i), .rst_ni(rst_ni), .d_i(sent_q), .q_o(sent));
  sync_2ff #(.WIDTH(1)) u_taken (.clk_i(mac_clk_i), .rst_ni(mac_rst_ni), .d_i(taken_q), .q_o(taken));

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      taken_q  <= 1'b0;
      counts_o <= '0;
    end else if (sent != taken_q) begin
      taken_q  <= sent;
      counts_o <= held_q;
    end
  end

endmodule

/// A rank's interrupt, which is a level, to XDMA's user interrupts, which are messages.
///
/// XDMA sends a message when a request rises. The request must stay until the host has handled the
/// cause, as the level does. A second cause under the same level would send no message. So the
/// request falls for GAP cycles and rises again when the level has stayed for AGAIN cycles after a
/// message.
module user_irq #(
    /// Cycles after a message until the next one for the same level.
    parameter int unsigned AGAIN = 65536,
    /// Cycles for which the request then falls.
    parameter int unsigned GAP = 8
) (
    /// Clock.
    input  logic clk_i,
    /// Synchronous reset, active low.
    input  logic rst_ni,
    /// The interrupt, a level.
    input  logic level_i,
    /// Request to XDMA.
    output logic request_o,
    /// Pulse: its message was sent.
    input  logic sent_i
);

  localparam int unsigned CountW = $clog2(AGAIN + 1);

  logic sent_q;
  logic [CountW-1:0] count_q;

  // Before its message was sent, a request stays whatever the level does.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      request_o <= 1'b0;
      sent_q    <= 1'b0;
      count_q   <= '0;
    end else if (!request_o) begin
      sent_q <= 1'b0;
      if (count_q != '0) count_q <= count_q - 1'b1;
      else request_o <= level_i;
    end else begin
      if (sent_i) begin
        sent_q  <= 1'b1;
        count_q <= CountW'(AGAIN);
      end else if (sent_q) begin
        count_q <= count_q - 1'b1;
        if (!level_i || count_q == CountW'(GAP)) begin
          request_o <= 1'b0;
          count_q   <= CountW'(GAP);
        end
      end
    end
  end

endmodule

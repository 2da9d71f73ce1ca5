`include "assertions.svh"

/// Local output of the router: a register with a short queue before it, and the credits that tell the
/// allocator of its room.
///
/// Output handshake: a phit moves when valid and ready are both high at a clock edge. Valid does
/// not wait for ready, and stays, with the payload, until the word moves. A phit pushed in cycle t
/// is offered in t+1.
module switch_router_eject #(
    /// Bits of a phit with header and position.
    parameter int unsigned WIDTH = 336,
    /// Depth in phits, a power of two.
    parameter int unsigned DEPTH = 4
) (
    /// Clock.
    input  logic             clk_i,
    /// Synchronous reset, active low; empties the queue.
    input  logic             rst_ni,
    /// A phit comes; there is room, as the allocator holds credits.
    input  logic             push_i,
    /// The phit.
    input  logic [WIDTH-1:0] phit_i,
    /// A phit is offered.
    output logic             valid_o,
    /// The phit is taken.
    input  logic             ready_i,
    /// The phit.
    output logic [WIDTH-1:0] phit_o,
    /// Pulse: a phit was taken, and its place is free.
    output logic             credit_o
);

  `ALCOR_CHECK_PARAM(g_check_depth, DEPTH >= 2 && (DEPTH & (DEPTH - 1)) == 0,
                     "switch_router_eject: DEPTH must be a power of two, 2 or more")

  localparam int unsigned PtrW = $clog2(DEPTH);

  (* ram_style = "distributed" *)
  logic [WIDTH-1:0] queue_q[DEPTH];
  // The register holds one of the phits that there is room for, so the queue is never full.
  logic [PtrW-1:0] write_ptr_q, read_ptr_q, count_q;
  logic valid_q, credit_q;
  logic [WIDTH-1:0] phit_q;
  logic take, through, some;

  assign take = valid_q && ready_i;
  assign some = count_q != '0;
  // A phit goes by the queue if nothing waits there.
  assign through = push_i && !some && (take || !valid_q);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      credit_q <= 1'b0;
      count_q <= '0;
      write_ptr_q <= '0;
      read_ptr_q <= '0;
    end else begin
      credit_q <= take;
      if (push_i || take) begin
        valid_q <= some || push_i || (valid_q && !take);
        if (push_i && !through) write_ptr_q <= write_ptr_q + 1'b1;
        if (some && take) read_ptr_q <= read_ptr_q + 1'b1;
        if (push_i && !through && !(some && take)) count_q <= count_q + 1'b1;
        else if (some && take && !push_i) count_q <= count_q - 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (push_i && !through) queue_q[write_ptr_q] <= phit_i;
  end

  always_ff @(posedge clk_i) begin
    if (take && some) phit_q <= queue_q[read_ptr_q];
    else if (through) phit_q <= phit_i;
  end

  assign valid_o = valid_q;
  assign phit_o = phit_q;
  assign credit_o = credit_q;

  `ALCOR_STABLE(a_out_stable, valid_o, ready_i, phit_o)
  `ALCOR_IMPLIES(a_room, push_i, !(valid_q && count_q == PtrW'(DEPTH - 1)) || take)
  `ALCOR_IMPLIES(a_queue_behind_register, some, valid_q)

endmodule

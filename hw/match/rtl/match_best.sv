`include "assertions.svh"

/// The oldest entry that the lanes have found, by context.
///
/// Lanes report hits, one of all lanes a cycle. An older hit replaces a younger one. Lanes read the age of the best
/// hit, and end a search at entries that are younger.
module match_best #(
    /// Lanes.
    parameter int unsigned LANES = 8,
    /// Contexts, 2 or more.
    parameter int unsigned CONTEXTS = 16,
    /// Bits of an age.
    parameter int unsigned AGE_W = 56,
    /// Width of a context's number; derived, not to be set.
    localparam int unsigned ContextW = $clog2(CONTEXTS),
    /// Width of a lane's number; derived, not to be set.
    localparam int unsigned LaneW = (LANES > 1) ? $clog2(LANES) : 1
) (
    /// Clock.
    input  logic                           clk_i,
    /// Synchronous reset, active low.
    input  logic                           rst_ni,

    /// A search begins: its context has no hit.
    input  logic                           clear_i,
    /// Its context.
    input  logic [ContextW-1:0]            clear_context_i,

    /// By lane: a hit is reported.
    input  logic [LANES-1:0]               hit_valid_i,
    /// By lane: the hit is taken.
    output logic [LANES-1:0]               hit_ready_o,
    /// By lane: context of the hit.
    input  logic [LANES-1:0][ContextW-1:0] hit_context_i,
    /// By lane: age of the entry.
    input  logic [LANES-1:0][AGE_W-1:0]    hit_age_i,

    /// A context has a new best hit.
    output logic                           write_o,
    /// The context.
    output logic [ContextW-1:0]            write_context_o,
    /// Age of the entry.
    output logic [AGE_W-1:0]               write_age_o,

    /// By context: there is a hit.
    output logic [CONTEXTS-1:0]            found_o,
    /// By context: lane of the best hit.
    output logic [CONTEXTS-1:0][LaneW-1:0] lane_o
);

  logic [CONTEXTS-1:0] found_q;
  logic [CONTEXTS-1:0][LaneW-1:0] lane_q;
  logic [CONTEXTS-1:0][AGE_W-1:0] age_q;
  logic valid;
  logic [LaneW-1:0] lane;
  logic [ContextW-1:0] context_;
  logic [AGE_W-1:0] age, ahead;

  rr_arbiter #(
      .N(LANES)
  ) u_hits (
      .clk_i    (clk_i),
      .rst_ni   (rst_ni),
      .req_i    (hit_valid_i),
      .advance_i(1'b1),
      .valid_o  (valid),
      .grant_o  (hit_ready_o),
      .index_o  (lane)
  );

  assign context_        = hit_context_i[lane];
  assign age             = hit_age_i[lane];
  assign ahead           = age - age_q[context_];
  assign write_o         = valid && (!found_q[context_] || ahead[AGE_W-1]);
  assign write_context_o = context_;
  assign write_age_o     = age;
  assign found_o         = found_q;
  assign lane_o          = lane_q;

  always_ff @(posedge clk_i) begin
    if (write_o) begin
      age_q[context_]  <= age;
      lane_q[context_] <= lane;
    end
    if (!rst_ni) begin
      found_q <= '0;
    end else begin
      if (clear_i) found_q[clear_context_i] <= 1'b0;
      if (write_o) found_q[context_] <= 1'b1;
    end
  end

  `ALCOR_IMPLIES(a_no_hit_of_a_new_search, clear_i && valid, clear_context_i != context_)

endmodule

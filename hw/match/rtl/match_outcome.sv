import alcor_match_pkg::*;

/// Outcome of an operation whose search has ended, and the changes to the counts of its pair. Combinational.
module match_outcome #(
    /// Lanes.
    parameter int unsigned LANES = 8,
    /// Bits of a number of headers.
    parameter int unsigned COUNT_W = 11,
    /// Width of a lane's number; derived, not to be set.
    localparam int unsigned LaneW = (LANES > 1) ? $clog2(LANES) : 1
) (
    /// The operation.
    input  alcor_match_pkg::match_kind_t   kind_i,
    /// The pair has another key.
    input  logic                           denied_i,
    /// The pair refuses messages.
    input  logic                           stopped_i,
    /// The search has found an entry.
    input  logic                           found_i,
    /// Limits of unexpected messages and of posted receives.
    input  logic [1:0][COUNT_W-1:0]        limits_i,
    /// Numbers of unexpected messages and of posted receives.
    input  logic [1:0][COUNT_W-1:0]        counts_i,
    /// Lanes of the last appends to the unexpected messages and to the posted receives.
    input  logic [1:0][LaneW-1:0]          lanes_i,
    /// By lane: there is room for a header.
    input  logic [LANES-1:0]               room_i,

    /// Status of the result.
    output alcor_match_pkg::match_status_e status_o,
    /// The entry found is removed.
    output logic                           remove_o,
    /// The header is appended to the queue that was not searched.
    output logic                           append_o,
    /// Lane of the append.
    output logic [LaneW-1:0]               append_lane_o,
    /// The pair refuses messages from now on.
    output logic                           stop_o,
    /// New numbers of unexpected messages and of posted receives.
    output logic [1:0][COUNT_W-1:0]        counts_o,
    /// New lanes of the last appends.
    output logic [1:0][LaneW-1:0]          lanes_o
);

  logic is_message, other, has_room;

  assign is_message = kind_i.posted && kind_i.append;
  assign other      = !kind_i.posted;
  assign has_room   = counts_i[other] < limits_i[other] && room_i != '0;

  always_comb begin
    status_o = MsNone;
    stop_o   = 1'b0;
    if (denied_i) begin
      status_o = MsKey;
    end else if (is_message && stopped_i) begin
      status_o = MsRefused;
    end else if (found_i) begin
      status_o = MsFound;
    end else if (kind_i.append) begin
      status_o = has_room ? MsAppended : MsRefused;
      stop_o   = is_message && !has_room;
    end
  end

  assign remove_o = status_o == MsFound && !kind_i.keep;
  assign append_o = status_o == MsAppended;

  // The lane after that of the queue's last append, among those that have room.
  always_comb begin
    append_lane_o = '0;
    for (int unsigned l = 0; l < LANES; l++) begin
      if (room_i[LANES-1-l]) append_lane_o = LaneW'(LANES - 1 - l);
    end
    for (int unsigned l = 0; l < LANES; l++) begin
      if (room_i[LANES-1-l] && LANES - 1 - l > 32'(lanes_i[other])) append_lane_o = LaneW'(LANES - 1 - l);
    end
  end

  always_comb begin
    counts_o = counts_i;
    lanes_o  = lanes_i;
    if (remove_o) counts_o[kind_i.posted] = counts_i[kind_i.posted] - 1'b1;
    if (append_o) begin
      counts_o[other] = counts_i[other] + 1'b1;
      lanes_o[other]  = append_lane_o;
    end
  end

endmodule

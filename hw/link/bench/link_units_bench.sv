import alcor_link_pkg::*;

/// Bench top for small blocks of a link end: resets, counters of events, start-up, and the closer of frames. The bench
/// drives both clocks.
module link_units_bench #(
    /// Cycles without a fault after which the link is up.
    parameter int unsigned QUIET = 20,
    /// Cycles for which both sides are reset together.
    parameter int unsigned HOLD = 8
) (
    input  logic core_clk_i, rst_ni, mac_clk_i, mac_rst_ni,

    /// Resets of both sides.
    input  logic board_rst_ni,
    output logic core_rst_no, works_o, mac_rst_no,

    /// Counters: events, and counts by event.
    input  logic [7:0] events_i,
    output logic [7:0][15:0] counts_o,

    /// Start-up.
    input  logic aligned_i, remote_fault_i, retrain_i,
    output logic tx_enable_o, send_fault_o, up_o, fall_o,

    /// Closer: words of the link end, and of the medium access controller.
    input  logic closer_rst_ni, mac_ready_i, valid_i, last_i,
    input  logic [MacW-1:0] data_i,
    output logic ready_o,
    output logic mac_valid_o, mac_last_o, mac_error_o,
    output logic [MacW-1:0] mac_data_o,
    input  logic mac_taken_i
);

  alcor_abi_pkg::link_counts_t counts;

  assign counts_o = counts;

  link_reset #(
      .HOLD(HOLD)
  ) u_reset (
      .clk_i(core_clk_i), .rst_ni(board_rst_ni), .mac_clk_i(mac_clk_i), .rst_no(core_rst_no), .works_o(works_o),
      .mac_rst_no(mac_rst_no)
  );

  link_counts u_counts (
      .mac_clk_i(mac_clk_i), .mac_rst_ni(mac_rst_ni), .events_i(events_i), .clk_i(core_clk_i), .rst_ni(rst_ni),
      .counts_o(counts)
  );

  link_bringup #(
      .QUIET(QUIET)
  ) u_bringup (
      .mac_clk_i(mac_clk_i), .mac_rst_ni(mac_rst_ni), .aligned_i(aligned_i), .remote_fault_i(remote_fault_i),
      .retrain_i(retrain_i), .tx_enable_o(tx_enable_o), .send_fault_o(send_fault_o), .up_o(up_o), .fall_o(fall_o)
  );

  link_closer u_closer (
      .mac_clk_i(mac_clk_i), .mac_ready_i(mac_ready_i), .mac_rst_ni(closer_rst_ni), .valid_i(valid_i),
      .ready_o(ready_o), .word_i({last_i, data_i}), .mac_valid_o(mac_valid_o), .mac_taken_i(mac_taken_i),
      .mac_word_o({mac_last_o, mac_data_o}), .mac_error_o(mac_error_o)
  );

endmodule

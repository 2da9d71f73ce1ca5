import alcor_link_pkg::*;

/// A link end with clocks that the bench drives.
module link_bench #(
    /// The board's register SHAPE.
    parameter logic [31:0] SHAPE = 32'h0123_4567,
    /// Cycles without a fault after which the link is up.
    parameter int unsigned QUIET = 64,
    /// Maximum number of phits in each direction.
    parameter int unsigned PHITS = 2048
) (
    input  logic core_clk_i, rst_ni, valid_i, credit_i,
    input  logic [7:0] key_i,
    input  logic [2:0] vc_i, credit_vc_i,
    input  logic [LinkPhitW-1:0] phit_i,
    output logic valid_o, credit_o,
    output logic [2:0] vc_o, credit_vc_o,
    output logic [LinkPhitW-1:0] phit_o,
    output logic up_o, aligned_o, remote_fault_o, open_o, stale_o, fell_o, foreign_o, overrun_o,
    output logic [15:0] damaged_o, early_o, repeated_o, strange_o, replays_o, timeouts_o, falls_o, retrains_o,
    input  logic mac_clk_i, mac_ready_i, mac_aligned_i, mac_remote_fault_i,
    output logic mac_tx_enable_o, mac_send_fault_o, mac_valid_o, mac_last_o, mac_error_o,
    input  logic mac_taken_i, mac_valid_i, mac_last_i, mac_error_i,
    output logic [MacW-1:0] mac_data_o,
    input  logic [MacW-1:0] mac_data_i
);

  alcor_abi_pkg::links_link_status_t status;
  alcor_abi_pkg::link_counts_t counts;

  assign {up_o, aligned_o, remote_fault_o} = {status.up, status.aligned, status.remote_fault};
  assign {open_o, stale_o, fell_o} = {status.open, status.stale, status.fell};
  assign {foreign_o, overrun_o} = {status.foreign, status.overrun};
  assign {damaged_o, early_o, repeated_o, strange_o} = {counts.damaged, counts.early, counts.repeated, counts.foreign};
  assign {replays_o, timeouts_o, falls_o, retrains_o} = {counts.replays, counts.timeouts, counts.falls, counts.retrains};

  link_end #(
      .SHAPE(SHAPE),
      .QUIET(QUIET),
      .PHITS(PHITS)
  ) u_link_end (
      .clk_i(core_clk_i), .rst_ni(rst_ni), .key_i(key_i),
      .link_i({valid_i, vc_i, credit_i, credit_vc_i}), .phit_i(phit_i),
      .link_o({valid_o, vc_o, credit_o, credit_vc_o}), .phit_o(phit_o),
      .status_o(status), .counts_o(counts), .mac_clk_i(mac_clk_i), .mac_ready_i(mac_ready_i),
      .mac_aligned_i(mac_aligned_i), .mac_remote_fault_i(mac_remote_fault_i),
      .mac_tx_enable_o(mac_tx_enable_o), .mac_send_fault_o(mac_send_fault_o),
      .mac_valid_o(mac_valid_o), .mac_taken_i(mac_taken_i),
      .mac_word_o({mac_last_o, mac_data_o}), .mac_error_o(mac_error_o),
      .mac_valid_i(mac_valid_i), .mac_word_i({mac_last_i, mac_data_i}),
      .mac_error_i(mac_error_i)
  );

endmodule

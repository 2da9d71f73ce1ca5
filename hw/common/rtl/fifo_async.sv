`include "assertions.svh"

/// First-word fall-through FIFO between two unrelated clocks: Gray-coded pointers, two-flop
/// synchronisers, distributed RAM, output register.
///
/// Handshake, on each side in its own clock: a word moves when valid and ready are both high at a
/// clock edge. Valid does not wait for ready, and stays, with the payload, until the word moves.
/// Both resets are to be active at the same time, for at least three cycles of the slower clock;
/// reset of one side alone loses words.
///
/// A word is at the output after three edges of `rclk_i` (two synchroniser flops, output register)
/// that follow the edge of `wclk_i` that took it, or after four if the first flop resolves late. In
/// the same way the writer sees a freed place three edges of `wclk_i` later. One word per cycle of
/// the slower clock needs DEPTH of 8 or more.
module fifo_async #(
    /// Bits per word.
    parameter int unsigned WIDTH = 32,
    /// Number of words in the RAM, a power of two, 4 or more; the output register holds one more.
    parameter int unsigned DEPTH = 16
) (
    /// Write clock.
    input  logic             wclk_i,
    /// Synchronous reset of the write side, active low.
    input  logic             wrst_ni,
    /// Input: a word is offered.
    input  logic             valid_i,
    /// Input: there is room.
    output logic             ready_o,
    /// Input: the word.
    input  logic [WIDTH-1:0] data_i,
    /// Read clock.
    input  logic             rclk_i,
    /// Synchronous reset of the read side, active low.
    input  logic             rrst_ni,
    /// Output: a word is offered.
    output logic             valid_o,
    /// Output: the word is taken.
    input  logic             ready_i,
    /// Output: the oldest word; undefined while `valid_o` is low.
    output logic [WIDTH-1:0] data_o
);

  `ALCOR_CHECK_PARAM(g_check_depth, DEPTH >= 4 && (DEPTH & (DEPTH - 1)) == 0,
                     "fifo_async: DEPTH must be a power of two, 4 or more")

  localparam int unsigned AddrW = $clog2(DEPTH);
  // One bit more than an address tells full from empty.
  localparam int unsigned PtrW = AddrW + 1;

  (* ram_style = "distributed" *)
  logic [WIDTH-1:0] mem_q[DEPTH];

  // Write side.
  logic push;
  logic full_d, full_q;
  logic [PtrW-1:0] wbin_d, wbin_q;
  logic [PtrW-1:0] wgray_d, wgray_q;
  logic [PtrW-1:0] rgray_wclk;

  assign push    = valid_i && !full_q;
  assign wbin_d  = wbin_q + PtrW'(push);
  assign wgray_d = wbin_d ^ (wbin_d >> 1);
  // Full: the Gray pointers differ in exactly their two top bits.
  assign full_d  = wgray_d == {~rgray_wclk[PtrW-1:PtrW-2], rgray_wclk[PtrW-3:0]};

  always_ff @(posedge wclk_i) begin
    if (!wrst_ni) begin
      wbin_q  <= '0;
      wgray_q <= '0;
      full_q  <= 1'b0;
    end else begin
      wbin_q  <= wbin_d;
      wgray_q <= wgray_d;
      full_q  <= full_d;
    end
  end

  always_ff @(posedge wclk_i) begin
    if (push) mem_q[wbin_q[AddrW-1:0]] <= data_i;
  end

  assign ready_o = !full_q;

  // Read side.
  logic load;
  logic some;
  logic valid_q;
  logic [PtrW-1:0] rbin_d, rbin_q;
  logic [PtrW-1:0] rgray_d, rgray_q;
  logic [ PtrW-1:0] wgray_rclk;
  logic [WIDTH-1:0] data_q;

  assign some    = rgray_q != wgray_rclk;
  assign load    = some && (!valid_q || ready_i);
  assign rbin_d  = rbin_q + PtrW'(load);
  assign rgray_d = rbin_d ^ (rbin_d >> 1);

  always_ff @(posedge rclk_i) begin
    if (!rrst_ni) begin
      rbin_q  <= '0;
      rgray_q <= '0;
      valid_q <= 1'b0;
    end else begin
      rbin_q  <= rbin_d;
      rgray_q <= rgray_d;
      valid_q <= load || (valid_q && !ready_i);
    end
  end

  always_ff @(posedge rclk_i) begin
    if (load) data_q <= mem_q[rbin_q[AddrW-1:0]];
  end

  assign valid_o = valid_q;
  assign data_o  = data_q;

  sync_2ff #(
      .WIDTH(PtrW)
  ) u_sync_rgray (
      .clk_i (wclk_i),
      .rst_ni(wrst_ni),
      .d_i   (rgray_q),
      .q_o   (rgray_wclk)
  );

  sync_2ff #(
      .WIDTH(PtrW)
  ) u_sync_wgray (
      .clk_i (rclk_i),
      .rst_ni(rrst_ni),
      .d_i   (wgray_q),
      .q_o   (wgray_rclk)
  );

  `ALCOR_STABLE_CLK(a_in_stable, wclk_i, wrst_ni, valid_i, ready_o, data_i)
  `ALCOR_STABLE_CLK(a_out_stable, rclk_i, rrst_ni, valid_o, ready_i, data_o)
  `ALCOR_NEXT_CLK(a_wgray_one_bit, wclk_i, wrst_ni, 1'b1, $onehot0(wgray_q ^ $past(wgray_q)))
  `ALCOR_NEXT_CLK(a_rgray_one_bit, rclk_i, rrst_ni, 1'b1, $onehot0(rgray_q ^ $past(rgray_q)))

endmodule

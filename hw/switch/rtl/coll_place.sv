import alcor_switch_pkg::*;

/// Where a communicator's window lies in the pool of a stage.
///
/// Where a stream is to run at a phit a cycle, a window covers the round trip of a link and the
/// pipelines at its ends (2 x 110 + 40 cycles), and what is kept back until credits are worth a phit:
/// that takes 512, which the world has. The next three communicators get 256, enough for three
/// quarters of that rate, and later ones less, so that there is a window for each of 32.
module coll_place (
    /// The communicator.
    input  logic [       4:0] row_i,
    /// A count of phits.
    input  logic [PoolW-1:0] count_i,
    /// The window's phits, less one.
    output logic [PoolW-1:0] mask_o,
    /// Place of the phit with this count: the window is a ring.
    output logic [PoolW-1:0] place_o
);

  assign mask_o = alcor_switch_pkg::WindowMasks[row_i*PoolW+:PoolW];

  always_comb begin
    if (row_i == 5'd0) place_o = '0;
    else if (row_i < 5'd4) place_o = PoolW'(512) + (PoolW'(row_i - 5'd1) << 8);
    else if (row_i < 5'd12) place_o = PoolW'(1280) + (PoolW'(row_i - 5'd4) << 6);
    else place_o = PoolW'(1792) + (PoolW'(row_i - 5'd12) << 3);
    place_o = place_o | (count_i & mask_o);
  end

endmodule

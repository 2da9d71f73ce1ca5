`include "assertions.svh"

import alcor_link_pkg::*;

/// Store of received frames: a frame is offered once all of its words have come and it was kept.
///
/// A word written with `last_i` and `keep_i` in cycle t is offered, with the words of its frame
/// before it, from cycle t+2 on. Words of a frame that is not kept are removed.
module link_frames #(
    /// Words that there is room for, a power of two.
    parameter int unsigned DEPTH = 64
) (
    /// Clock of the medium access controller.
    input  logic                       mac_clk_i,
    /// Synchronous reset of the controller's clock, active low.
    input  logic                       mac_rst_ni,
    /// A word comes.
    input  logic                       valid_i,
    /// There is room for a word.
    output logic                       ready_o,
    /// The word.
    input  alcor_abi_pkg::frame_word_t word_i,
    /// With the last word: the frame is kept.
    input  logic                       keep_i,
    /// Pulse: the words of the present frame are removed, unless the frame is kept in this cycle.
    input  logic                       drop_i,
    /// A word of a whole frame is offered.
    output logic                       valid_o,
    /// The word is taken.
    input  logic                       ready_i,
    /// The word.
    output alcor_abi_pkg::frame_word_t word_o
);

  localparam int unsigned AddrW = $clog2(DEPTH);

  // One bit more than an address tells full from empty.
  logic [AddrW:0] write_q, begin_q, end_q, read_d, read_q;
  logic push;

  assign ready_o = {~write_q[AddrW], write_q[AddrW-1:0]} != read_q;
  assign push    = valid_i && ready_o;
  assign valid_o = read_q != end_q;
  assign read_d  = (valid_o && ready_i) ? read_q + 1'b1 : read_q;

`ifdef FORMAL
  logic [DEPTH*(MacW+1)-1:0] f_contents;
`endif

  ram_sdp #(
      .WIDTH(MacW + 1),
      .DEPTH(DEPTH)
  ) u_ram (
      .clk_i  (mac_clk_i),
      .we_i   (push),
      .waddr_i(write_q[AddrW-1:0]),
      .wdata_i(word_i),
      .re_i   (1'b1),
      .raddr_i(read_d[AddrW-1:0]),
`ifdef FORMAL
      .contents_o(f_contents),
`endif
      .rdata_o(word_o)
  );

  always_ff @(posedge mac_clk_i) begin
    if (!mac_rst_ni) begin
      write_q <= '0;
      begin_q <= '0;
      end_q   <= '0;
      read_q  <= '0;
    end else begin
      end_q  <= begin_q;
      read_q <= read_d;
      if (push && word_i.last && keep_i) begin
        write_q <= write_q + 1'b1;
        begin_q <= write_q + 1'b1;
      end else if (drop_i || (valid_i && word_i.last)) begin
        write_q <= begin_q;
      end else if (push) begin
        write_q <= write_q + 1'b1;
      end
    end
  end

  `ALCOR_CHECK_PARAM(g_check_depth, DEPTH >= 4 && (DEPTH & (DEPTH - 1)) == 0,
                     "link_frames: DEPTH must be a power of two, 4 or more")

`ifdef ALCOR_PROVE_LINK_FRAMES
  `include "link_frames_properties.svh"
`endif

endmodule

`include "assertions.svh"

/// Full-throughput register slice: cuts every path between its two sides.
///
/// Handshake: a word moves when valid and ready are both high at a clock edge. Valid does not wait
/// for ready, and stays, with the payload, until the word moves. `valid_o`, `data_o` and `ready_o`
/// come from registers. One cycle of latency, a word in every cycle, room for two words. Without SLICE it is wires, so that
/// a parameter of the user chooses where paths are cut.
module skid_buffer #(
    /// Bits per word.
    parameter int unsigned WIDTH = 32,
    /// 1: registers; 0: wires.
    parameter bit SLICE = 1'b1
) (
    /// Clock.
    input  logic             clk_i,
    /// Synchronous reset, active low; empties the buffer.
    input  logic             rst_ni,
    /// Input: a word is offered.
    input  logic             valid_i,
    /// Input: there is room.
    output logic             ready_o,
    /// Input: the word.
    input  logic [WIDTH-1:0] data_i,
    /// Output: a word is offered.
    output logic             valid_o,
    /// Output: the word is taken.
    input  logic             ready_i,
    /// Output: the oldest word; undefined while `valid_o` is low.
    output logic [WIDTH-1:0] data_o,
    /// No word is held.
    output logic             empty_o
);

  `ALCOR_CHECK_PARAM(g_check_width, WIDTH >= 1, "skid_buffer: WIDTH must be 1 or more")

  if (SLICE) begin : g_slice
    // `out` is the output's word; `skid` holds the one word that arrived while `out` was stalled.
    logic out_valid_d, out_valid_q;
    logic skid_valid_d, skid_valid_q;
    logic [WIDTH-1:0] out_data_q, skid_data_q;
    logic load_out, load_skid;

    assign load_out  = !out_valid_q || ready_i;
    assign load_skid = !load_out && valid_i && !skid_valid_q;

    always_comb begin
      out_valid_d  = out_valid_q;
      skid_valid_d = skid_valid_q;
      if (load_out) begin
        out_valid_d  = skid_valid_q || valid_i;
        skid_valid_d = 1'b0;
      end else if (load_skid) begin
        skid_valid_d = 1'b1;
      end
    end

    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        out_valid_q  <= 1'b0;
        skid_valid_q <= 1'b0;
      end else begin
        out_valid_q  <= out_valid_d;
        skid_valid_q <= skid_valid_d;
      end
    end

    always_ff @(posedge clk_i) begin
      if (load_out) out_data_q <= skid_valid_q ? skid_data_q : data_i;
      if (load_skid) skid_data_q <= data_i;
    end

    assign ready_o = !skid_valid_q;
    assign valid_o = out_valid_q;
    assign data_o  = out_data_q;
    assign empty_o = !out_valid_q;

    `ALCOR_ASSERT(a_skid_behind_out, out_valid_q || !skid_valid_q)

`ifdef ALCOR_PROVE_SKID_BUFFER
  `include "skid_buffer_properties.svh"
`endif
  end else begin : g_wires
    assign valid_o = valid_i;
    assign ready_o = ready_i;
    assign data_o  = data_i;
    assign empty_o = 1'b1;

    logic unused_clock;
    assign unused_clock = clk_i ^ rst_ni;
  end

  `ALCOR_STABLE(a_in_stable, valid_i, ready_o, data_i)
  `ALCOR_STABLE(a_out_stable, valid_o, ready_i, data_o)

endmodule

/// Ends a frame that a reset of the link end has cut off, and marks it as damaged. Otherwise the
/// medium access controller would need a reset in the middle of the frame, and its link would fall.
module link_closer (
    /// Clock of the medium access controller.
    input  logic                       mac_clk_i,
    /// The medium access controller is out of reset.
    input  logic                       mac_ready_i,
    /// The link end's reset, active low: while it is on, there are no words.
    input  logic                       mac_rst_ni,
    /// A word of a frame is offered.
    input  logic                       valid_i,
    /// The word is taken.
    output logic                       ready_o,
    /// The word.
    input  alcor_abi_pkg::frame_word_t word_i,
    /// To the medium access controller: a word is offered.
    output logic                       mac_valid_o,
    /// The word is taken.
    input  logic                       mac_taken_i,
    /// The word.
    output alcor_abi_pkg::frame_word_t mac_word_o,
    /// With the last word: the frame is damaged.
    output logic                       mac_error_o
);

  logic inside_q, closing;

  assign closing     = inside_q && !mac_rst_ni;
  assign mac_valid_o = valid_i || closing;
  assign mac_word_o  = {word_i.last || closing, word_i.data};
  assign mac_error_o = closing;
  assign ready_o     = mac_taken_i && !closing;

  always_ff @(posedge mac_clk_i) begin
    if (!mac_ready_i) inside_q <= 1'b0;
    else if (mac_valid_o && mac_taken_i) inside_q <= !mac_word_o.last;
  end

endmodule

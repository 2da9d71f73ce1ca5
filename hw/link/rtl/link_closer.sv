/// Keeps frames whole at the medium access controller. A frame that a reset of the link end has cut
/// off is ended and marked as damaged; otherwise the controller would need a reset in the middle of
/// the frame, and its link would fall. The rest of a frame that a reset of the controller has cut off
/// is dropped.
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

  // Inside a frame of the link end, and inside one of the controller.
  logic within_q, inside_q, dropping, dropping_q, closing;

  assign closing     = inside_q && !mac_rst_ni;
  assign dropping    = dropping_q || !mac_ready_i;
  assign mac_valid_o = (valid_i && !dropping) || closing;
  assign mac_word_o  = {word_i.last || closing, word_i.data};
  assign mac_error_o = closing;
  assign ready_o     = (mac_taken_i || dropping) && !closing;

  always_ff @(posedge mac_clk_i) begin
    if (!mac_rst_ni) within_q <= 1'b0;
    else if (valid_i && ready_o) within_q <= !word_i.last;
    if (!mac_ready_i) inside_q <= 1'b0;
    else if (mac_valid_o && mac_taken_i) inside_q <= !mac_word_o.last;
    // Until the end of the frame that the controller's reset has cut off.
    if (!mac_rst_ni) dropping_q <= 1'b0;
    else if (valid_i && ready_o && word_i.last) dropping_q <= 1'b0;
    else if (!mac_ready_i) dropping_q <= within_q || (valid_i && ready_o);
  end

endmodule

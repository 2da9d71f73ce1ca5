import alcor_link_pkg::*;

/// Ends a frame that a reset of the link end has cut off, marked as damaged: a medium access controller
/// that is left in the middle of a frame would need a reset too, and its link would fall.
module link_closer (
    /// Clock of the medium access controller.
    input  logic             mac_clk_i,
    /// The medium access controller is out of reset.
    input  logic             mac_ready_i,
    /// The link end's reset, active low: while it is on, there are no words.
    input  logic             mac_rst_ni,
    /// A word of a frame is offered.
    input  logic             valid_i,
    /// It is taken.
    output logic             ready_o,
    /// The word.
    input  logic [MacW-1:0] data_i,
    /// It is the frame's last.
    input  logic             last_i,
    /// To the medium access controller: a word is offered.
    output logic             mac_valid_o,
    /// It is taken.
    input  logic             mac_taken_i,
    /// The word.
    output logic [MacW-1:0] mac_data_o,
    /// It is the frame's last.
    output logic             mac_last_o,
    /// With the last word: the frame is damaged.
    output logic             mac_error_o
);

  logic inside_q, closing;

  assign closing     = inside_q && !mac_rst_ni;
  assign mac_valid_o = valid_i || closing;
  assign mac_data_o  = data_i;
  assign mac_last_o  = last_i || closing;
  assign mac_error_o = closing;
  assign ready_o     = mac_taken_i && !closing;

  always_ff @(posedge mac_clk_i) begin
    if (!mac_ready_i) inside_q <= 1'b0;
    else if (mac_valid_o && mac_taken_i) inside_q <= !mac_last_o;
  end

endmodule

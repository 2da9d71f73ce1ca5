import alcor_abi_pkg::*;
import alcor_switch_pkg::*;

/// Announcements of a stage: sends the call of a long reduction to the partner, and compares the partner's call.
///
/// The signatures, which reveal different calls, come after the data. If two reductions differ in opcode or root, their data
/// may fill a window and stay there. So a board announces a long reduction when it begins. The partner compares the
/// announcement with its own call, at once or when its own collective begins. If they differ, the communicator is spoilt
/// in this stage until the collective ends: the stage drops all data. A short reduction is not announced, as its data and its
/// signature find room.
module coll_announce (
    /// Clock.
    input  logic                        clk_i,
    /// Synchronous reset, active low.
    input  logic                        rst_ni,

    /// A row of the communicator table has been written or taken out of use.
    input  alcor_abi_pkg::shape_t       shape_i,
    /// A collective begins.
    input  alcor_abi_pkg::row_pulse_t   begin_i,
    /// With `begin_i`: the announcement of this board.
    input  alcor_abi_pkg::announce_t    announce_i,
    /// Communicators whose data is sent to the partner.
    input  logic [31:0]                 sends_i,
    /// Communicators with a collective under way.
    input  logic [31:0]                 active_i,
    /// Parity of the collective under way, or of the last one.
    input  logic [31:0]                 parity_i,

    /// The partner announces a collective.
    input  alcor_abi_pkg::row_pulse_t   heard_i,
    /// With `heard_i`: parity of the partner's collective.
    input  logic                        heard_parity_i,
    /// With `heard_i`: the partner's call.
    input  alcor_abi_pkg::flow_t        heard_flow_i,
    /// Communicators whose partner called the collective under way, if there is one, with other arguments.
    output logic [31:0]                 spoilt_o,

    /// An announcement for the partner is offered.
    output logic                        tell_valid_o,
    /// The announcement is taken.
    input  logic                        tell_ready_i,
    /// Communicator of the announcement.
    output alcor_abi_pkg::row_t         tell_row_o,
    /// This board's call.
    output alcor_abi_pkg::flow_t        tell_flow_o
);

  // By communicator: the collective under way here, and the next one as the partner announced it.
  logic [FlowW-1:0] own_q[Contexts];
  logic [FlowW-1:0] heard_q[Contexts];
  // An announcement was heard before the collective began here, and its parity.
  logic [31:0] ahead_q, ahead_parity_q;
  // Announcements that have not left.
  logic [31:0] due_q;

  // ---------------------------------------------------------------- to the partner

  logic some;
  alcor_abi_pkg::row_t first;

  coll_first u_first (.request_i(due_q), .valid_o(some), .row_o(first));

  assign tell_flow_o = own_q[tell_row_o];

  always_ff @(posedge clk_i) begin
    if (begin_i.valid) own_q[begin_i.row] <= announce_i.flow;
    if (!tell_valid_o) tell_row_o <= first;
    if (!rst_ni) begin
      tell_valid_o <= 1'b0;
      due_q        <= '0;
    end else begin
      if (!tell_valid_o) tell_valid_o <= some && !(shape_i.valid && shape_i.row == first);
      else if (tell_ready_i || (shape_i.valid && shape_i.row == tell_row_o)) tell_valid_o <= 1'b0;
      if (tell_valid_o && tell_ready_i) due_q[tell_row_o] <= 1'b0;
      if (begin_i.valid && announce_i.tells && sends_i[begin_i.row]) due_q[begin_i.row] <= 1'b1;
      if (shape_i.valid) due_q[shape_i.row] <= 1'b0;
    end
  end

  // ---------------------------------------------------------------- from the partner

  logic heard_now, meets, ahead, differs_now, differs_before;

  // Of the collective under way, of the one that begins in this cycle, or of the next one.
  assign heard_now      = heard_i.valid && active_i[heard_i.row] && heard_parity_i == parity_i[heard_i.row];
  assign differs_now    = heard_flow_i != own_q[heard_i.row];
  assign meets          = heard_i.valid && begin_i.valid && heard_i.row == begin_i.row;
  assign ahead          = ahead_q[begin_i.row] && ahead_parity_q[begin_i.row] != parity_i[begin_i.row];
  assign differs_before = meets ? heard_flow_i != announce_i.flow
                                : ahead && heard_q[begin_i.row] != announce_i.flow;

  always_ff @(posedge clk_i) begin
    if (heard_i.valid) heard_q[heard_i.row] <= heard_flow_i;
    if (heard_i.valid) ahead_parity_q[heard_i.row] <= heard_parity_i;
    if (!rst_ni) begin
      spoilt_o <= '0;
      ahead_q  <= '0;
    end else begin
      if (heard_now && differs_now) spoilt_o[heard_i.row] <= 1'b1;
      if (heard_i.valid && !heard_now) ahead_q[heard_i.row] <= 1'b1;
      if (begin_i.valid) begin
        ahead_q[begin_i.row]  <= 1'b0;
        spoilt_o[begin_i.row] <= differs_before;
      end
      if (shape_i.valid && shape_i.flush) ahead_q[shape_i.row] <= 1'b0;
    end
  end

endmodule

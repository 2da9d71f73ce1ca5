import alcor_abi_pkg::*;

/// A kernel that puts a block to a window of another rank.
///
/// Arguments: 0, slot of the window; 1, target; 2, byte offset in the window; 3, address of the block; 4, bytes of the
/// block. The code is the status of the put.
module ring_put #(
    /// Bits of a beat of the memory port.
    parameter int unsigned WIDTH = 32
) (
`include "kernel_ports.svh"
);

  typedef enum logic [1:0] {
    Give,  // gives the command
    Wait,  // waits for the completion
    Done
  } state_e;

  state_e state_q;
  logic [7:0] code_q;
  alcor_abi_pkg::kernel_command_t command;
  alcor_abi_pkg::kernel_completion_t completion;

  always_comb begin
    command             = '0;
    command.head.opcode = KO_PUT;
    command.head.slot   = arguments_i[0][7:0];
    command.head.rank   = arguments_i[1][7:0];
    command.offset      = arguments_i[2];
    command.address     = arguments_i[3];
    command.length      = arguments_i[4];
  end

  assign command_tvalid_o    = state_q == Give;
  assign command_tdata_o     = command;
  assign completion          = completion_tdata_i;
  assign completion_tready_o = state_q == Wait;

  always_ff @(posedge clk_i) begin
    if (state_q == Give && command_tready_i) state_q <= Wait;
    if (state_q == Wait && completion_tvalid_i) begin
      code_q  <= 8'(completion.result.status);
      state_q <= Done;
    end
    if (!rst_ni) state_q <= Give;
  end

  // The first character of the name is the lowest byte: rput.
  assign id_o      = "tupr";
  assign done_o    = state_q == Done;
  assign code_o    = code_q;
  assign results_o = '0;

  // This kernel does not use its memory port.
  assign {memory_awvalid_o, memory_awaddr_o, memory_awlen_o, memory_bready_o} = '0;
  assign {memory_wvalid_o, memory_wdata_o, memory_wstrb_o, memory_wlast_o}    = '0;
  assign {memory_arvalid_o, memory_araddr_o, memory_arlen_o, memory_rready_o} = '0;

endmodule

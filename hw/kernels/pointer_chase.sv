`include "assertions.svh"

import alcor_abi_pkg::*;

/// A kernel that follows a linked list through the windows of all ranks.
///
/// A node has two words. The first is the place of the next node, rank in bits 31:24 and byte offset in the window below,
/// or all ones at the end of the list. The second is a value. The kernel gets each node from its rank and adds the values.
/// Arguments: 0, slot of the window; 1, place of the first node; 2, address of 8 bytes for a fetched node; 3, maximum
/// number of nodes. Results: 0, nodes; 1, sum of the values. The code is the status of the get that failed, or 255 if the
/// list has more nodes than argument 3.
module pointer_chase #(
    /// Bits of a beat of the memory port.
    parameter int unsigned WIDTH = 32
) (
`include "kernel_ports.svh"
);

  typedef enum logic [2:0] {
    Get,     // gives the get
    Fetch,   // waits for the completion
    Read,    // requests the node from memory
    Next,    // place of the next node
    Value,   // value of the node
    Done
  } state_e;

  state_e state_q;
  logic [31:0] node_q, nodes_q, sum_q;
  logic [7:0] code_q;
  alcor_abi_pkg::kernel_command_t command;
  alcor_abi_pkg::kernel_completion_t completion;

  always_comb begin
    command             = '0;
    command.head.opcode = KO_GET;
    command.head.rank   = node_q[31:24];
    command.head.slot   = arguments_i[0][7:0];
    command.offset      = 32'(node_q[23:0]);
    command.address     = arguments_i[2];
    command.length      = 32'd8;
  end

  assign completion          = completion_tdata_i;
  assign command_tvalid_o    = state_q == Get && node_q != '1 && nodes_q != arguments_i[3];
  assign command_tdata_o     = command;
  assign completion_tready_o = state_q == Fetch;
  assign memory_arvalid_o    = state_q == Read;
  assign memory_araddr_o     = arguments_i[2];
  assign memory_arlen_o      = 8'd1;
  assign memory_rready_o     = state_q == Next || state_q == Value;

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      Get: begin
        if (node_q == '1) begin
          state_q <= Done;
        end else if (nodes_q == arguments_i[3]) begin
          code_q  <= 8'hFF;
          state_q <= Done;
        end else if (command_tready_i) begin
          state_q <= Fetch;
        end
      end
      Fetch:
      if (completion_tvalid_i) begin
        code_q  <= 8'(completion.result.status);
        state_q <= (completion.result.status == ST_OK) ? Read : Done;
      end
      Read: if (memory_arready_i) state_q <= Next;
      Next:
      if (memory_rvalid_i) begin
        node_q  <= memory_rdata_i[31:0];
        state_q <= Value;
      end
      Value:
      if (memory_rvalid_i) begin
        sum_q   <= sum_q + memory_rdata_i[31:0];
        nodes_q <= nodes_q + 1'b1;
        state_q <= Get;
      end
      default: ;
    endcase
    if (!rst_ni) begin
      state_q <= Get;
      node_q  <= arguments_i[1];
      nodes_q <= '0;
      sum_q   <= '0;
      code_q  <= '0;
    end
  end

  // The first character is the lowest byte.
  assign id_o      = "sahc";
  assign done_o    = state_q == Done;
  assign code_o    = code_q;
  assign results_o = {192'd0, sum_q, nodes_q};

  // The kernel writes nothing.
  assign {memory_awvalid_o, memory_awaddr_o, memory_awlen_o} = '0;
  assign {memory_wvalid_o, memory_wdata_o, memory_wstrb_o, memory_wlast_o, memory_bready_o} = '0;

  logic unused;
  assign unused = ^{
    rank_i, nprocs_i, arguments_i[15:4], completion, memory_rdata_i, memory_rresp_i, memory_rlast_i,
    memory_awready_i, memory_wready_i, memory_bvalid_i, memory_bresp_i
  };

  `ALCOR_CHECK_PARAM(g_check_width, WIDTH == 32, "pointer_chase: the memory port must have 32 bits")

endmodule

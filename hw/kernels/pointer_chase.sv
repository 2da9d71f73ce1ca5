`include "assertions.svh"

import alcor_abi_pkg::*;

/// A kernel that follows a list whose nodes lie in the windows of all ranks.
///
/// A node is two words: where the next node lies, rank in bits 31:24 and byte offset in the window below, all ones at the
/// end of the list; and a value. The kernel gets each node from its rank and adds up the values. Arguments: 0, slot of the
/// window; 1, where the first node lies; 2, address of 8 bytes that the nodes are fetched to; 3, nodes at most. Results: 0,
/// nodes; 1, sum of their values. The code is the status of the get that failed, or 255 if the list is longer than it may
/// be.
module pointer_chase #(
    /// Bits of a beat of the memory port.
    parameter int unsigned WIDTH = 32
) (
    /// Clock.
    input  logic                clk_i,
    /// Synchronous reset, active low; its end starts the kernel.
    input  logic                rst_ni,
    /// This rank's number.
    input  logic [7:0]          rank_i,
    /// Ranks of the run.
    input  logic [7:0]          nprocs_i,
    /// Four characters that name the kernel; constant.
    output logic [31:0]         id_o,
    /// Arguments, constant while the kernel runs.
    input  logic [15:0][31:0]   arguments_i,
    /// The kernel is done.
    output logic                done_o,
    /// With `done_o`: a code for the host.
    output logic [7:0]          code_o,
    /// Words that the host can read at any time.
    output logic [7:0][31:0]    results_o,

    /// Commands, AXI4-Stream.
    output logic                command_tvalid_o,
    /// The command is taken.
    input  logic                command_tready_i,
    /// The command, kernel_command_t.
    output logic [287:0]        command_tdata_o,
    /// Completions, AXI4-Stream.
    input  logic                completion_tvalid_i,
    /// The completion is taken.
    output logic                completion_tready_o,
    /// The completion, kernel_completion_t.
    input  logic [95:0]         completion_tdata_i,

    /// Node memory, AXI4: write address.
    output logic                memory_awvalid_o,
    /// The write address is taken.
    input  logic                memory_awready_i,
    /// Byte address of the burst.
    output logic [31:0]         memory_awaddr_o,
    /// Beats of the burst - 1.
    output logic [7:0]          memory_awlen_o,
    /// Write data.
    output logic                memory_wvalid_o,
    /// The beat is taken.
    input  logic                memory_wready_i,
    /// The beat.
    output logic [WIDTH-1:0]    memory_wdata_o,
    /// Byte strobes of the beat.
    output logic [WIDTH/8-1:0]  memory_wstrb_o,
    /// The beat is its burst's last.
    output logic                memory_wlast_o,
    /// Write response.
    input  logic                memory_bvalid_i,
    /// The response is taken.
    output logic                memory_bready_o,
    /// OKAY or DECERR.
    input  logic [1:0]          memory_bresp_i,
    /// Read address.
    output logic                memory_arvalid_o,
    /// The read address is taken.
    input  logic                memory_arready_i,
    /// Byte address of the burst.
    output logic [31:0]         memory_araddr_o,
    /// Beats of the burst - 1.
    output logic [7:0]          memory_arlen_o,
    /// Read data.
    input  logic                memory_rvalid_i,
    /// The beat is taken.
    output logic                memory_rready_o,
    /// The beat.
    input  logic [WIDTH-1:0]    memory_rdata_i,
    /// OKAY or DECERR.
    input  logic [1:0]          memory_rresp_i,
    /// The beat is its burst's last.
    input  logic                memory_rlast_i
);

  typedef enum logic [2:0] {
    Get,     // asks for the node
    Fetch,   // waits for it
    Read,    // asks memory for it
    Next,    // where the next one lies
    Value,   // its value
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

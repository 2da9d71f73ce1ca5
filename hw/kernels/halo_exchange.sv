`include "assertions.svh"

import alcor_abi_pkg::*;

/// A kernel that smooths a ring of cells over all ranks.
///
/// Each step sends the cells at both edges of the rank's part to the neighbours, by messages, and then computes a quarter of
/// `left + 2 cell + right` for each cell. Cells are unsigned 32-bit integers. Arguments: 0 and 1, addresses of two fields,
/// each with one cell before and one cell after the rank's cells for the edges of the neighbours; 2, cells per rank, 1 to
/// 254; 3, steps; 4, context of the messages. Even steps read the first field and write the second; odd steps the reverse.
/// Result 0: completed steps. The code is the status of the first message that failed.
module halo_exchange #(
    /// Bits of a beat of the memory port.
    parameter int unsigned WIDTH = 32
) (
`include "kernel_ports.svh"
);

  typedef enum logic [2:0] {
    Exchange,  // gives the commands
    Settle,    // waits for the completions
    Read,      // requests the field
    Smooth,    // reads and writes cells
    Answer,    // waits for the write response
    Done
  } state_e;

  // Tags of messages to the left and to the right neighbour.
  localparam logic [31:0] Leftward = 32'd1;
  localparam logic [31:0] Rightward = 32'd2;

  state_e state_q;
  logic [1:0] command_q;
  logic [2:0] ends_q;
  logic [4:0] status_q;
  logic [31:0] step_q, from, to, cells;
  logic [7:0] left, right, seen_q;
  logic read_q, write_q, last_step;
  logic [31:0] before_q, cell_q;
  logic [33:0] sum;
  alcor_abi_pkg::kernel_command_t command;
  alcor_abi_pkg::kernel_completion_t completion;

  assign from  = arguments_i[step_q[0] ? 1 : 0];
  assign to    = arguments_i[step_q[0] ? 0 : 1];
  assign cells = arguments_i[2];
  assign left  = ((rank_i == '0) ? nprocs_i : rank_i) - 1'b1;
  assign right = (rank_i == nprocs_i - 1'b1) ? '0 : rank_i + 1'b1;

  // Both receives come before the sends, because one send is outstanding at a time.
  always_comb begin
    command           = '0;
    command.head.slot = arguments_i[4][7:0];
    command.head.tag  = 8'(command_q);
    command.length    = 32'd4;
    unique case (command_q)
      2'd0: begin
        command.head.opcode = KO_RECEIVE;
        command.head.rank   = left;
        command.offset      = Rightward;
        command.address     = from;
      end
      2'd1: begin
        command.head.opcode = KO_RECEIVE;
        command.head.rank   = right;
        command.offset      = Leftward;
        command.address     = from + 4 * (cells + 1);
      end
      2'd2: begin
        command.head.opcode = KO_SEND;
        command.head.rank   = left;
        command.offset      = Leftward;
        command.address     = from + 4;
      end
      default: begin
        command.head.opcode = KO_SEND;
        command.head.rank   = right;
        command.offset      = Rightward;
        command.address     = from + 4 * cells;
      end
    endcase
  end

  assign completion          = completion_tdata_i;
  assign command_tvalid_o    = state_q == Exchange;
  assign command_tdata_o     = command;
  assign completion_tready_o = state_q == Exchange || state_q == Settle;

  // A cell is complete once its right neighbour has arrived.
  assign sum              = 34'(before_q) + 34'({cell_q, 1'b0}) + 34'(memory_rdata_i[31:0]);
  assign memory_arvalid_o = state_q == Read && !read_q;
  assign memory_araddr_o  = from;
  assign memory_arlen_o   = 8'(cells) + 1'b1;
  assign memory_rready_o  = state_q == Smooth && (seen_q < 8'd2 || memory_wready_i);
  assign memory_awvalid_o = state_q == Read && !write_q;
  assign memory_awaddr_o  = to + 4;
  assign memory_awlen_o   = 8'(cells) - 1'b1;
  assign memory_wvalid_o  = state_q == Smooth && seen_q >= 8'd2 && memory_rvalid_i;
  assign memory_wdata_o   = WIDTH'(sum[33:2]);
  assign memory_wstrb_o   = '1;
  assign memory_wlast_o   = memory_rlast_i;
  assign memory_bready_o  = state_q == Answer;
  assign last_step        = step_q + 1 == arguments_i[3];

  always_ff @(posedge clk_i) begin
    if (completion_tvalid_i && completion_tready_o) begin
      ends_q <= ends_q + 1'b1;
      if (status_q == ST_OK) status_q <= completion.result.status;
    end
    unique case (state_q)
      Exchange:
      if (command_tready_i) begin
        command_q <= command_q + 1'b1;
        if (command_q == 2'd3) state_q <= Settle;
      end
      Settle:
      if (ends_q == 3'd4) begin
        ends_q  <= '0;
        state_q <= (status_q == ST_OK) ? Read : Done;
      end
      Read: begin
        if (memory_arready_i) read_q <= 1'b1;
        if (memory_awready_i) write_q <= 1'b1;
        if ((read_q || memory_arready_i) && (write_q || memory_awready_i)) state_q <= Smooth;
      end
      Smooth:
      if (memory_rvalid_i && memory_rready_o) begin
        before_q <= cell_q;
        cell_q   <= memory_rdata_i[31:0];
        if (seen_q < 8'd2) seen_q <= seen_q + 1'b1;
        if (memory_rlast_i) state_q <= Answer;
      end
      Answer:
      if (memory_bvalid_i) begin
        seen_q  <= '0;
        read_q  <= 1'b0;
        write_q <= 1'b0;
        step_q  <= step_q + 1'b1;
        state_q <= last_step ? Done : Exchange;
      end
      default: ;
    endcase
    if (!rst_ni) begin
      state_q   <= Exchange;
      command_q <= '0;
      ends_q    <= '0;
      status_q  <= '0;
      step_q    <= '0;
      seen_q    <= '0;
      read_q    <= 1'b0;
      write_q   <= 1'b0;
    end
  end

  // The first character is the lowest byte.
  assign id_o      = "olah";
  assign done_o    = state_q == Done;
  assign code_o    = 8'(status_q);
  assign results_o = {224'd0, step_q};

  logic unused;
  assign unused = ^{arguments_i[15:5], completion, memory_bresp_i, memory_rresp_i, memory_rdata_i, sum[1:0]};

  `ALCOR_CHECK_PARAM(g_check_width, WIDTH == 32, "halo_exchange: the memory port must have 32 bits")

endmodule

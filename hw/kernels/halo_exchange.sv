`include "assertions.svh"

import alcor_abi_pkg::*;

/// A kernel that smooths a ring of cells that is spread over all ranks.
///
/// A step takes the cells at both edges of a rank to its neighbours, by messages that the kernel sends and receives, and
/// then makes of each cell a quarter of `left + 2 cell + right`. Cells are 32-bit integers without sign. Arguments: 0 and
/// 1, addresses of two fields of cells, each with a cell for a neighbour's edge before and behind the rank's own; 2, cells
/// of a rank, 1 to 254; 3, steps; 4, context of the messages. Step 0 reads the first field and writes the second one, step
/// 1 the other way round, and so on. Result 0: steps that are done. The code is the status of the first message that
/// failed.
module halo_exchange #(
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
    Exchange,  // commands
    Settle,    // waits for their ends
    Read,      // asks for the field
    Smooth,    // cells come and go
    Answer,    // of memory
    Done
  } state_e;

  // Messages to the left neighbour have this tag, those to the right one the other.
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

  // Both receives are posted before the sends, as one send is under way at a time.
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

  // A cell leaves with the neighbour behind it.
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

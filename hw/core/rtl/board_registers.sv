import alcor_abi_pkg::*;

/// The board's page: identity, state, and what each rank is doing.
module board_registers #(
    /// Ranks of the board.
    parameter int unsigned RANKS = 2,
    /// Link ports.
    parameter int unsigned LINKS = 0,
    /// Slots of each registration table.
    parameter int unsigned SLOTS = 32,
    /// Bytes of each node memory.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Payload words of an extended packet.
    parameter int unsigned PAYLOAD_WORDS = 128,
    /// Entries of the command FIFOs.
    parameter int unsigned COMMAND_DEPTH = 64,
    /// Clock in kHz.
    parameter int unsigned CLOCK_KHZ = 250000,
    /// First 32 bits of the source revision, 0 in simulation.
    parameter logic [31:0] REVISION = 32'h0
) (
    /// Clock.
    input  logic                   clk_i,
    /// Synchronous reset, active low.
    input  logic                   rst_ni,

    /// Register to be read.
    input  logic [11:0]            read_offset_i,
    /// Its value, in the same cycle.
    output logic [31:0]            read_data_o,
    /// A register is written.
    input  logic                   write_i,
    /// Its offset.
    input  logic [11:0]            write_offset_i,
    /// Its data.
    input  logic [31:0]            write_data_i,

    /// All registration tables are cleared.
    input  logic                   ready_i,
    /// RANK_STATE of each rank.
    input  logic [RANKS-1:0][31:0] state_i,
    /// A rank aborts the run.
    input  logic [RANKS-1:0]       abort_i,
    /// Its reason.
    input  logic [RANKS-1:0][7:0]  abort_reason_i,
    /// The run is aborted.
    output logic                   aborted_o,
    /// CONTROL.reset is written.
    output logic                   reset_o
);

  logic [63:0] cycle_q;
  logic aborted_q;
  logic [7:0] abort_rank_d, abort_rank_q, abort_reason_d, abort_reason_q;

  assign reset_o   = write_i && write_offset_i == BOARD_CONTROL_OFFSET && write_data_i[0];
  assign aborted_o = aborted_q;

  // The first to abort is remembered; of several at once the lowest.
  always_comb begin
    abort_rank_d   = abort_rank_q;
    abort_reason_d = abort_reason_q;
    for (int unsigned r = RANKS; r > 0; r--) begin
      if (abort_i[r-1]) begin
        abort_rank_d   = 8'(r - 1);
        abort_reason_d = abort_reason_i[r-1];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      cycle_q        <= '0;
      aborted_q      <= 1'b0;
      abort_rank_q   <= '0;
      abort_reason_q <= '0;
    end else begin
      cycle_q <= cycle_q + 1'b1;
      if (!aborted_q) begin
        aborted_q      <= |abort_i;
        abort_rank_q   <= abort_rank_d;
        abort_reason_q <= abort_reason_d;
      end
    end
  end

  always_comb begin
    read_data_o = '0;
    unique case (read_offset_i)
      BOARD_MAGIC_OFFSET:       read_data_o = BOARD_MAGIC_VALUE;
      BOARD_ABI_VERSION_OFFSET: begin
        read_data_o = {BOARD_ABI_VERSION_MAJOR_VALUE, BOARD_ABI_VERSION_MINOR_VALUE};
      end
      BOARD_ABI_HASH_OFFSET:    read_data_o = ABI_HASH;
      BOARD_REVISION_OFFSET:    read_data_o = REVISION;
      BOARD_CAPABILITIES_OFFSET: read_data_o[BOARD_CAPABILITIES_RMA_LSB] = 1'b1;
      BOARD_GEOMETRY_OFFSET: begin
        read_data_o[BOARD_GEOMETRY_RANKS_LSB+:BOARD_GEOMETRY_RANKS_W] = 8'(RANKS);
        read_data_o[BOARD_GEOMETRY_LINKS_LSB+:BOARD_GEOMETRY_LINKS_W] = 8'(LINKS);
        read_data_o[BOARD_GEOMETRY_SLOTS_LSB+:BOARD_GEOMETRY_SLOTS_W] = 9'(SLOTS);
      end
      BOARD_NODE_MEMORY_OFFSET: read_data_o = 32'(NODE_BYTES);
      BOARD_QUEUES_OFFSET: begin
        read_data_o[BOARD_QUEUES_COMMANDS_LSB+:16] = 16'(COMMAND_DEPTH);
        read_data_o[BOARD_QUEUES_PAYLOAD_LSB+:16]  = 16'(PAYLOAD_WORDS);
      end
      BOARD_CLOCK_OFFSET:       read_data_o = 32'(CLOCK_KHZ);
      BOARD_STATUS_OFFSET: begin
        read_data_o[BOARD_STATUS_READY_LSB]           = ready_i;
        read_data_o[BOARD_STATUS_ABORTED_LSB]         = aborted_q;
        read_data_o[BOARD_STATUS_ABORT_RANK_LSB+:8]   = abort_rank_q;
        read_data_o[BOARD_STATUS_ABORT_REASON_LSB+:8] = abort_reason_q;
      end
      BOARD_CYCLE_LO_OFFSET:    read_data_o = cycle_q[31:0];
      BOARD_CYCLE_HI_OFFSET:    read_data_o = cycle_q[63:32];
      default: begin
        for (int unsigned r = 0; r < RANKS; r++) begin
          if (read_offset_i == BOARD_RANK_STATE_OFFSET + 12'(4 * r)) read_data_o = state_i[r];
        end
      end
    endcase
  end

endmodule

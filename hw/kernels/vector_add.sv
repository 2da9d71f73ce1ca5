`include "assertions.svh"

import alcor_abi_pkg::*;

/// A kernel that adds two vectors and sums the result over all ranks: `c = a + b`, then `d = allreduce(c)`.
///
/// Elements are 32-bit integers. Arguments: 0 to 3, addresses of a, b, c and d, multiples of a beat; 4, number of elements,
/// a multiple of the elements of a beat; 5, communicator; 6, C_WHAT of the allreduce; 7, 1 for the allreduce of c alone.
/// Result 0: cycles from the allreduce's command to its completion. The code is the status of the allreduce.
module vector_add #(
    /// Bits of a beat of the memory port.
    parameter int unsigned WIDTH = 32
) (
`include "kernel_ports.svh"
);

  localparam int unsigned Lanes = WIDTH / 32;
  localparam int unsigned Burst = 16;
  localparam int unsigned BurstW = $clog2(Burst);

  typedef enum logic [2:0] {
    First,    // reads a burst of a
    Hold,     // stores the burst
    Second,   // requests the bursts of b and c
    Add,      // adds and writes
    Answer,   // waits for the write response
    Command,  // gives the allreduce
    Finish,   // waits for the completion
    Done
  } state_e;

  state_e state_q;
  logic [WIDTH-1:0] held_q[Burst];
  logic [WIDTH-1:0] sum;
  logic [BurstW-1:0] beat_q;
  logic [31:0] place_q, left, beats, timer_q;
  logic [7:0] length;
  logic read_q, write_q;
  logic [4:0] status_q;
  alcor_abi_pkg::kernel_command_t command;
  alcor_abi_pkg::kernel_completion_t completion;

  // Remaining beats, and beats of the next burst.
  assign left   = arguments_i[4] / Lanes - place_q;
  assign beats  = (left < Burst) ? left : Burst;
  assign length = 8'(beats) - 1'b1;

  assign memory_arvalid_o = state_q == First || (state_q == Second && !read_q);
  assign memory_araddr_o  = arguments_i[state_q == Second ? 1 : 0] + place_q * (WIDTH / 8);
  assign memory_arlen_o   = length;
  assign memory_rready_o  = state_q == Hold || (state_q == Add && memory_wready_i);
  assign memory_awvalid_o = state_q == Second && !write_q;
  assign memory_awaddr_o  = arguments_i[2] + place_q * (WIDTH / 8);
  assign memory_awlen_o   = length;
  assign memory_wvalid_o  = state_q == Add && memory_rvalid_i;
  assign memory_wdata_o   = sum;
  assign memory_wstrb_o   = '1;
  assign memory_wlast_o   = memory_rlast_i;
  assign memory_bready_o  = state_q == Answer;

  always_comb begin
    for (int unsigned i = 0; i < Lanes; i++) sum[32*i+:32] = held_q[beat_q][32*i+:32] + memory_rdata_i[32*i+:32];
  end

  always_comb begin
    command             = '0;
    command.head.opcode = KO_COLLECTIVE;
    command.head.slot   = arguments_i[5][7:0];
    command.address     = arguments_i[2];
    command.destination = arguments_i[3];
    command.length      = arguments_i[4];
    command.high        = arguments_i[4];
    command.count       = arguments_i[4];
    command.what        = arguments_i[6];
  end

  assign completion          = completion_tdata_i;
  assign command_tvalid_o    = state_q == Command;
  assign command_tdata_o     = command;
  assign completion_tready_o = state_q == Finish;

  always_ff @(posedge clk_i) begin
    timer_q <= (state_q == Command || state_q == Finish) ? timer_q + 1'b1 : timer_q;
    unique case (state_q)
      First: begin
        if (arguments_i[7][0]) state_q <= Command;
        else if (memory_arready_i) state_q <= Hold;
      end
      Hold:
      if (memory_rvalid_i) begin
        held_q[beat_q] <= memory_rdata_i;
        beat_q         <= beat_q + 1'b1;
        if (memory_rlast_i) begin
          state_q <= Second;
          beat_q  <= '0;
        end
      end
      Second: begin
        if (memory_arready_i) read_q <= 1'b1;
        if (memory_awready_i) write_q <= 1'b1;
        if ((read_q || memory_arready_i) && (write_q || memory_awready_i)) state_q <= Add;
      end
      Add:
      if (memory_rvalid_i && memory_wready_i) begin
        beat_q <= beat_q + 1'b1;
        if (memory_rlast_i) state_q <= Answer;
      end
      Answer:
      if (memory_bvalid_i) begin
        beat_q  <= '0;
        read_q  <= 1'b0;
        write_q <= 1'b0;
        place_q <= place_q + beats;
        state_q <= (left == beats) ? Command : First;
      end
      Command: if (command_tready_i) state_q <= Finish;
      Finish:
      if (completion_tvalid_i) begin
        status_q <= completion.result.status;
        state_q  <= Done;
      end
      default: ;
    endcase
    if (!rst_ni) begin
      state_q  <= First;
      beat_q   <= '0;
      place_q  <= '0;
      timer_q  <= '0;
      read_q   <= 1'b0;
      write_q  <= 1'b0;
      status_q <= '0;
    end
  end

  // The first character is the lowest byte.
  assign id_o      = "sdda";
  assign done_o    = state_q == Done;
  assign code_o    = 8'(status_q);
  assign results_o = {224'd0, timer_q};

  logic unused;
  assign unused = ^{rank_i, nprocs_i, arguments_i[15:8], completion, memory_bresp_i, memory_rresp_i};

endmodule

import alcor_abi_pkg::*;

/// Operands of extended commands: registers that the host writes before a command, or the operands of a kernel's command.
///
/// The host's operands are kept until they are written again, but X_WINDOW, which one command uses up. Comparisons with
/// the size of node memory and with the length of an eager message are in registers, so that a command finds their
/// results.
module rma_operands #(
    /// Bytes of node memory, a power of two.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Bytes of an eager message at most.
    parameter int unsigned FRAGMENT = 256,
    /// 1: commands of a kernel come beside those of the host.
    parameter bit KERNEL = 1'b0
) (
    /// Clock.
    input  logic                           clk_i,
    /// Synchronous reset, active low.
    input  logic                           rst_ni,
    /// The command in EX1 is not an extended command, and is done; it may be an operand.
    input  logic                           operand_i,
    /// The command in EX1.
    input  alcor_abi_pkg::decoded_t        ex1_i,
    /// Operands of a command of the kernel; they stay until it is done.
    input  alcor_abi_pkg::kernel_to_rank_t kernel_i,
    /// Pulse: a command of the host has used the window that X_WINDOW names.
    input  logic                           window_taken_i,
    /// Operands of the command in EX1.
    output alcor_abi_pkg::x_operands_t     operands_o
);

  localparam int unsigned NodeW = $clog2(NODE_BYTES);

  logic [7:0] opcode;
  logic [31:0] data;

  assign opcode = ex1_i.command.opcode;
  assign data   = ex1_i.command.data;

  // The end of a buffer is behind node memory. A comparison of single bits is smaller than a subtraction.
  function automatic logic is_beyond(input logic [32:0] last);
    is_beyond = last[32:NodeW+1] != '0 || (last[NodeW] && last[NodeW-1:0] != '0);
  endfunction

  // ---------------------------------------------------------------- operands of the host

  alcor_abi_pkg::x_operands_t host_q;

  // The buffer is compared when one of its operands is written. The operand that is not written:
  logic [31:0] other, old_other;

  assign other     = (opcode == OP_X_LENGTH) ? host_q.laddr : host_q.length;
  assign old_other = (opcode == OP_X_LENGTH) ? host_q.value[63:32] : host_q.length;

  always_ff @(posedge clk_i) begin
    if (operand_i) begin
      unique case (opcode)
        OP_X_OFFSET:       host_q.offset <= data;
        OP_X_LADDR:        host_q.laddr <= data;
        OP_X_LENGTH:       host_q.length <= data;
        OP_X_TAG:          host_q.tag <= data;
        OP_X_OPERAND:      host_q.value[31:0] <= data;
        OP_X_OPERAND_HIGH: host_q.value[63:32] <= data;
        OP_X_COMPARE:      host_q.compare[31:0] <= data;
        OP_X_COMPARE_HIGH: host_q.compare[63:32] <= data;
        OP_X_WINDOW: begin
          host_q.window_match <= ex1_i.match;
          host_q.window_slot  <= ex1_i.slot;
        end
        default: ;
      endcase
      if (opcode == OP_X_LADDR || opcode == OP_X_LENGTH) begin
        host_q.beyond <= is_beyond({1'b0, data} + {1'b0, other});
      end
      if (opcode == OP_X_LENGTH) host_q.too_long <= data > 32'(FRAGMENT);
      if (opcode == OP_X_OPERAND_HIGH || opcode == OP_X_LENGTH) begin
        host_q.old_beyond <= is_beyond({1'b0, data} + {1'b0, old_other});
      end
    end
    // Operands of the rank's last holder are none of the next one's.
    if (!rst_ni) host_q <= '0;
    else if (window_taken_i) host_q.window <= 1'b0;
    else if (operand_i && opcode == OP_X_WINDOW) host_q.window <= 1'b1;
  end

  // ---------------------------------------------------------------- operands of the kernel

  if (KERNEL) begin : g_kernel
    logic beyond_q, too_long_q;

    // The kernel's operands are valid cycles before its command is in EX1.
    always_ff @(posedge clk_i) begin
      beyond_q   <= is_beyond({1'b0, kernel_i.address} + {1'b0, kernel_i.length});
      too_long_q <= kernel_i.length > 32'(FRAGMENT);
    end

    always_comb begin
      operands_o = host_q;
      if (ex1_i.command.kernel) begin
        operands_o.window   = 1'b0;
        operands_o.beyond   = beyond_q;
        operands_o.too_long = too_long_q;
        operands_o.offset   = kernel_i.offset;
        operands_o.laddr    = kernel_i.address;
        operands_o.length   = kernel_i.length;
        operands_o.tag      = kernel_i.tag;
        operands_o.compare  = kernel_i.compare;
        operands_o.value    = {kernel_i.length, kernel_i.address};
      end
    end
  end else begin : g_no_kernel
    assign operands_o = host_q;

    logic unused_kernel;
    assign unused_kernel = ^kernel_i;
  end

endmodule

import alcor_abi_pkg::*;

/// Header words of a packet behind the first, by its first. Combinational.
module rma_header_length (
    /// First header word of the packet.
    input  logic [31:0] header_i,
    /// Number of header words after the first.
    output logic [2:0]  behind_o
);

  alcor_abi_pkg::x_header_t header;
  alcor_abi_pkg::x_atomic_t atomic;
  alcor_abi_pkg::x_old_t old;
  alcor_abi_pkg::x_accumulate_t accumulate;

  assign header = header_i;
  assign atomic = header_i;
  assign old    = header_i;
  assign accumulate = header_i;

  always_comb begin
    unique case (header.ptype)
      PT_MESSAGE: behind_o = 3'd3;
      PT_GET:     behind_o = 3'd1;
      // Offset and length; of an accumulate x_reduction, and the address of the old elements.
      PT_XPUT:    behind_o = 3'd2 + 3'(accumulate.accumulate) + 3'(accumulate.accumulate && accumulate.fetch);
      PT_XGET: begin
        behind_o = 3'd3;
        // Offset and x_operation, then one or two values of one or two words.
        if (atomic.atomic && !atomic.message) begin
          behind_o = 3'd2 + (atomic.compare ? 3'd2 : 3'd1) + (atomic.wide ? (atomic.compare ? 3'd2 : 3'd1) : 3'd0);
        end
      end
      PT_XDATA:   behind_o = (old.atomic && !old.wide) ? 3'd1 : 3'd2;
      default:    behind_o = 3'd0;
    endcase
  end

endmodule

import alcor_abi_pkg::*;

/// Header words of a packet behind the first, by its type. Combinational.
module rma_header_length (
    /// Type of the packet.
    input  alcor_abi_pkg::packet_type_e ptype_i,
    /// Header words behind the first.
    output logic [2:0]                  behind_o
);

  always_comb begin
    unique case (ptype_i)
      PT_MESSAGE: behind_o = 3'd3;
      PT_GET:     behind_o = 3'd1;
      PT_XPUT:    behind_o = 3'd2;
      PT_XGET:    behind_o = 3'd3;
      PT_XDATA:   behind_o = 3'd2;
      default:    behind_o = 3'd0;
    endcase
  end

endmodule

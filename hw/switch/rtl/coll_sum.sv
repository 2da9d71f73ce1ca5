import alcor_abi_pkg::*;
import alcor_switch_pkg::*;
import alcor_fp_pkg::*;

/// Combines the phits that this board's members give, in ascending local rank, and replaces the data of signatures and
/// of the barrier.
///
/// A read passes in (RANKS - 1) * AGLU_LATENCY cycles, and with SLICE in RANKS - 1 cycles more. A phit of a single member passes unchanged.
module coll_sum #(
    /// Ranks of the board.
    parameter int unsigned RANKS  = 1,
    /// Bits of a phit's data.
    parameter int unsigned PHIT_W = 256,
    /// Operations that the vector units have, bit by operation_e.
    parameter bit [8:0]    OPS    = '1,
    /// Types that the vector units have, bit by datatype_e.
    parameter bit [5:0]    TYPES  = '1,
    /// 1: registers in front of the vector units.
    parameter bit          SLICE  = 1'b0
) (
    /// Clock.
    input  logic                             clk_i,
    /// Synchronous reset, active low.
    input  logic                             rst_ni,

    /// The data of a read comes.
    input  logic                             valid_i,
    /// Ranks that give a phit.
    input  logic [RANKS-1:0]                 given_i,
    /// Note of the read.
    input  alcor_abi_pkg::read_note_t        note_i,
    /// By rank: data from node memory.
    input  logic [RANKS-1:0][PHIT_W-1:0]     data_i,

    /// Communicator whose signatures are looked up.
    output alcor_abi_pkg::row_t              signature_row_o,
    /// By rank: signature, a signature_t.
    input  logic [RANKS-1:0][SignatureW-1:0] signature_i,
    /// By communicator: computation of the collective, a coll_call_t.
    input  logic [31:0][CollCallW-1:0]           calls_i,
    /// Phit of the barrier over all boards.
    input  logic [PHIT_W-1:0]                sync_i,

    /// A combined phit leaves.
    output logic                             valid_o,
    /// Note of the part's read.
    output alcor_abi_pkg::read_note_t        note_o,
    /// Data of the phit.
    output logic [PHIT_W-1:0]                data_o
);

  // By rank: what it gives; any value without `valid_i`.
  logic [RANKS-1:0][PHIT_W-1:0] data;

  assign signature_row_o = note_i.head.row;

  for (genvar r = 0; r < RANKS; r++) begin : g_data
    always_comb begin
      data[r] = '0;
      if (given_i[r]) begin
        data[r] = data_i[r];
        if (note_i.head.signature) data[r] = {{(PHIT_W / 128 - 1) {128'd0}}, ~signature_i[r], signature_i[r]};
      end
      if (r == 0 && note_i.head.row == 5'(SyncContext)) data[r] = note_i.head.signature ? '1 : sync_i;
    end
  end

  logic [RANKS-1:0] sum_valid;
  logic [RANKS-1:0][ReadNoteW-1:0] sum_note;
  logic [RANKS-1:0][PHIT_W-1:0] sum;

  assign sum_valid[0] = valid_i;
  assign sum_note[0]  = note_i;
  assign sum[0]       = data[0];

  for (genvar r = 1; r < RANKS; r++) begin : g_sum
    // The member's phit waits for the sum of those before it.
    localparam int unsigned Delay = (r - 1) * (AGLU_LATENCY + 32'(SLICE));
    logic [PHIT_W-1:0] mine;
    logic [RANKS-1:0] given;
    logic both;
    alcor_abi_pkg::read_note_t note;
    alcor_abi_pkg::coll_call_t call;
    alcor_abi_pkg::operation_e operation;
    alcor_abi_pkg::datatype_e datatype;

    if (Delay == 0) begin : g_now
      assign mine  = data[r];
      assign given = given_i;
    end else begin : g_late
      logic [Delay-1:0][PHIT_W-1:0] mine_q;
      logic [Delay-1:0][RANKS-1:0] given_q;
      always_ff @(posedge clk_i) begin
        mine_q  <= {mine_q[Delay-2:0], data[r]};
        given_q <= {given_q[Delay-2:0], given_i};
      end
      assign mine  = mine_q[Delay-1];
      assign given = given_q[Delay-1];
    end

    assign both = given[r] && (given & ((RANKS'(1) << r) - 1'b1)) != '0;
    assign note = sum_note[r-1];
    assign call = calls_i[note.head.row];

    always_comb begin
      operation = RO_BOR;
      datatype  = DT_U32;
      if (both && note.head.signature) begin
        operation = RO_BAND;
      end else if (both) begin
        operation = call.operation;
        datatype  = call.datatype;
      end
    end

    vector_aglu #(
        .PHIT_W(PHIT_W),
        .TAG_W (ReadNoteW),
        .OPS   (OPS),
        .TYPES (TYPES),
        .SLICE (SLICE)
    ) u_aglu (
        .clk_i      (clk_i),
        .rst_ni     (rst_ni),
        .valid_i    (sum_valid[r-1]),
        .operation_i(operation),
        .datatype_i (datatype),
        .a_i        (sum[r-1]),
        .b_i        (mine),
        .tag_i      (note),
        .valid_o    (sum_valid[r]),
        .result_o   (sum[r]),
        .tag_o      (sum_note[r])
    );
  end

  assign valid_o = sum_valid[RANKS-1];
  assign note_o  = sum_note[RANKS-1];
  assign data_o  = sum[RANKS-1];

endmodule

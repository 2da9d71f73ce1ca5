`include "assertions.svh"

/// Registration table: which windows this rank has, by slot (RAM) and by base address (CAM).
///
/// CAM lookup and RAM lookups run in the same single cycle; the answers come in the next.
/// A registration takes 2 cycles (read the rows, write them with the entry's bit set), a
/// deregistration 3 (read, encode the match, write with the bit cleared). Both wait, ready, for
/// `commit_i`, since a registration is collective: every rank's table changes in the same cycle or
/// none does. The next vacant slot comes from a priority encoder over STATUS.
///
/// After reset the CAM's rows are cleared, 256 cycles, before `ready_o` rises; nothing may be asked
/// of the table before.
module rma_registration_table #(
    /// Slots, 2 to 256.
    parameter int unsigned SLOTS = 32,
    /// RAM lookup ports.
    parameter int unsigned LOOKUPS = 2,
    /// Width of a slot number; derived, not to be set.
    localparam int unsigned SlotW = $clog2(SLOTS)
) (
    /// Clock.
    input  logic                     clk_i,
    /// Synchronous reset, active low.
    input  logic                     rst_ni,
    /// The table is cleared and answers.
    output logic                     ready_o,

    /// CAM lookup of `key_i`; not while `op_valid_i`.
    input  logic                     lookup_i,
    /// Base address looked up.
    input  logic [31:0]              key_i,
    /// A cycle after the lookup, and until the next: a slot has this base.
    output logic                     match_o,
    /// The slot.
    output logic [SlotW-1:0]         match_slot_o,

    /// RAM lookups of `slot_i`, one bit a port.
    input  logic [LOOKUPS-1:0]       slot_lookup_i,
    /// Slots looked up; a number of SLOTS or more is not registered.
    input  logic [LOOKUPS-1:0][7:0]  slot_i,
    /// A cycle after the lookup, and until the next: the slot is registered.
    output logic [LOOKUPS-1:0]       registered_o,
    /// Base address of the window, a multiple of 4.
    output logic [LOOKUPS-1:0][31:0] base_o,
    /// Size of the window in bytes.
    output logic [LOOKUPS-1:0][31:0] size_o,
    /// Denied rights: bit 0 remote reads, bit 1 remote writes.
    output logic [LOOKUPS-1:0][1:0]  deny_o,

    /// No slot is vacant.
    output logic                     full_o,
    /// The next vacant slot.
    output logic [SlotW-1:0]         next_slot_o,

    /// A registration or deregistration; held until it is committed or given up.
    input  logic                     op_valid_i,
    /// 1: deregister.
    input  logic                     op_deregister_i,
    /// Base address, a multiple of 4.
    input  logic [31:0]              op_base_i,
    /// Registration: size in bytes.
    input  logic [31:0]              op_size_i,
    /// Registration: denied rights.
    input  logic [1:0]               op_deny_i,
    /// The operation may be committed in this cycle.
    output logic                     op_ready_o,
    /// Commit; only with `op_valid_i` and `op_ready_o`.
    input  logic                     commit_i
);

  localparam int unsigned InfoW = 30 + 32 + 2;

  typedef enum logic [1:0] {
    OpIdle,   // no operation
    OpRows,   // deregistration: rows are read
    OpReady   // prepared, waits for the commit
  } op_state_e;

  op_state_e op_state_d, op_state_q;
  logic [SLOTS-1:0] status_d, status_q;
  logic [8:0] clear_d, clear_q;
  logic [SLOTS-1:0] match, match_q;
  logic [3:0][SLOTS-1:0] rows, rows_w;
  logic [SLOTS-1:0] entry;
  logic cam_lookup, cam_write;
  logic [31:0] cam_key;
  logic full_q;
  logic [SlotW-1:0] next_slot_d, next_slot_q;
  logic [SLOTS-1:0] lowest_vacant, vacant_q;
  logic register_write;

  assign ready_o = clear_q[8];

  // ---------------------------------------------------------------- CAM

  assign cam_lookup = lookup_i || (op_valid_i && op_state_q == OpIdle);
  // One address for reads and writes: the port has one task at a time.
  assign cam_key = op_valid_i ? op_base_i : ready_o ? key_i : {4{clear_q[7:0]}};

  rma_cam #(
      .ENTRIES(SLOTS)
  ) u_cam (
      .clk_i      (clk_i),
      .lookup_i   (cam_lookup),
      .key_i      (cam_key),
      .match_o    (match),
      .rows_o     (rows),
      .write_i    (cam_write),
      .write_key_i(cam_key),
      .rows_i     (rows_w)
  );

  // One-hot to binary: bit b of the number is the OR over the slots whose number has it.
  for (genvar b = 0; b < SlotW; b++) begin : g_encode
    logic [SLOTS-1:0] match_with, vacant_with;
    for (genvar s = 0; s < SLOTS; s++) begin : g_slot
      assign match_with[s]  = match[s] && (((s >> b) & 1) != 0);
      assign vacant_with[s] = lowest_vacant[s] && (((s >> b) & 1) != 0);
    end
    assign match_slot_o[b] = |match_with;
    assign next_slot_d[b]  = |vacant_with;
  end

  assign match_o = |match;

  // ---------------------------------------------------------------- STATUS and priority encoder

  // The lowest zero of STATUS, one-hot, by a carry chain.
  assign lowest_vacant = ~status_q & (status_q + 1'b1);

  assign full_o = full_q;
  assign next_slot_o = next_slot_q;

  always_ff @(posedge clk_i) begin
    full_q      <= &status_q;
    next_slot_q <= next_slot_d;
    vacant_q    <= lowest_vacant;
  end

  // ---------------------------------------------------------------- operations

  always_comb begin
    op_state_d = op_state_q;
    unique case (op_state_q)
      OpIdle:  if (op_valid_i) op_state_d = op_deregister_i ? OpRows : OpReady;
      OpRows:  op_state_d = OpReady;
      OpReady: op_state_d = OpReady;
      default: op_state_d = OpIdle;
    endcase
    if (!op_valid_i || commit_i) op_state_d = OpIdle;
  end

  assign op_ready_o = op_state_q == OpReady;
  assign register_write = commit_i && !op_deregister_i;

  // One bit: the entry to be set, or the one to be cleared.
  assign entry = op_deregister_i ? match_q : vacant_q;

  always_comb begin
    cam_write = commit_i || !ready_o;
    for (int unsigned b = 0; b < 4; b++) begin
      rows_w[b] = op_deregister_i ? (rows[b] & ~entry) : (rows[b] | entry);
      if (!ready_o) rows_w[b] = '0;
    end
  end

  always_comb begin
    status_d = status_q;
    if (commit_i) status_d = op_deregister_i ? (status_q & ~entry) : (status_q | entry);
    clear_d = ready_o ? clear_q : clear_q + 1'b1;
  end

  always_ff @(posedge clk_i) begin
    match_q <= match;
    if (!rst_ni) begin
      op_state_q <= OpIdle;
      status_q   <= '0;
      clear_q    <= '0;
    end else begin
      op_state_q <= op_state_d;
      status_q   <= status_d;
      clear_q    <= clear_d;
    end
  end

  // ---------------------------------------------------------------- RAM, a copy per port

  for (genvar p = 0; p < LOOKUPS; p++) begin : g_lookup
    logic [InfoW-1:0] info;
    logic registered_d, registered_q;

    ram_sdp #(
        .WIDTH    (InfoW),
        .DEPTH    (SLOTS),
        .BLOCK_RAM(1'b0)
    ) u_info (
        .clk_i  (clk_i),
        .we_i   (register_write),
        .waddr_i(next_slot_q),
        .wdata_i({op_deny_i, op_size_i, op_base_i[31:2]}),
        .re_i   (slot_lookup_i[p]),
        .raddr_i(slot_i[p][SlotW-1:0]),
        .rdata_o(info)
    );

    always_comb begin
      registered_d = registered_q;
      if (slot_lookup_i[p]) begin
        registered_d = 9'(slot_i[p]) < 9'(SLOTS) && status_q[slot_i[p][SlotW-1:0]];
      end
    end

    always_ff @(posedge clk_i) registered_q <= registered_d;

    assign registered_o[p] = registered_q;
    assign base_o[p]       = {info[29:0], 2'b00};
    assign size_o[p]       = info[61:30];
    assign deny_o[p]       = info[63:62];
  end

  `ALCOR_CHECK_PARAM(g_check_slots, SLOTS >= 2 && SLOTS <= 256,
                     "rma_registration_table: SLOTS must be 2 to 256")
  `ALCOR_IMPLIES(a_commit_ready, commit_i, op_valid_i && op_ready_o)
  `ALCOR_IMPLIES(a_port_free, lookup_i, !op_valid_i)
  `ALCOR_IMPLIES(a_cleared_first, lookup_i || op_valid_i, ready_o)
  `ALCOR_IMPLIES(a_room, register_write, !full_q && !status_q[next_slot_q])
  `ALCOR_IMPLIES(a_one_entry, commit_i, $onehot(entry))

endmodule

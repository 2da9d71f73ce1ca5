/// Bench top for the request plane's receive side, with its atomic unit: three sizes side by side: narrow beats, wide
/// beats, and narrow beats without a unit for accumulates. Lane g of a packed port belongs to instance g. The bench models
/// registration table, node memory, message engine and replies.
module rma_atomic_bench (
    /// Clock.
    input  logic             clk_i,
    /// Reset.
    input  logic             rst_ni,

    input  logic [2:0]       target_hold_i,
    input  logic [2:0]       target_closed_i,
    input  logic [2:0]       target_in_valid_i,
    output logic [2:0]       target_in_ready_o,
    input  logic [2:0][255:0] target_in_data_i,
    input  logic [2:0]       target_in_last_i,
    input  logic [2:0]       target_in_cut_i,
    output logic [2:0]       target_lookup_o,
    output logic [2:0][7:0]  target_slot_o,
    input  logic [2:0]       target_registered_i,
    input  logic [2:0][1:0]  target_deny_i,
    input  logic [2:0][31:0] target_base_i,
    input  logic [2:0][31:0] target_size_i,
    output logic [2:0]       target_read_o,
    output logic [2:0][29:0] target_read_address_o,
    input  logic [2:0]       target_read_gnt_i,
    input  logic [2:0]       target_read_rvalid_i,
    input  logic [2:0][255:0] target_read_data_i,
    output logic [2:0]       target_write_o,
    input  logic [2:0]       target_write_gnt_i,
    output logic [2:0][29:0] target_write_address_o,
    output logic [2:0][255:0] target_write_data_o,
    output logic [2:0][31:0] target_write_strobe_o,
    output logic [2:0]       target_head_valid_o,
    input  logic [2:0]       target_head_ready_i,
    output logic [2:0][31:0] target_head_o,
    output logic [2:0]       target_task_valid_o,
    input  logic [2:0]       target_task_ready_i,
    output logic [2:0][2:0]  target_task_heads_o,
    output logic [2:0][12:0] target_task_words_o,
    output logic [2:0][31:0] target_task_address_o,
    input  logic [2:0]       target_replied_i,
    output logic [2:0]       target_arrival_valid_o,
    input  logic [2:0]       target_arrival_ready_i,
    input  logic [2:0]       target_arrival_refused_i,
    input  logic [2:0][4:0]  target_arrival_line_i,
    output logic [2:0][1:0]  target_arrival_kind_o,
    output logic [2:0][41:0] target_arrival_match_o,
    output logic [2:0][5:0]  target_arrival_serial_o,
    output logic [2:0][15:0] target_arrival_id_o,
    output logic [2:0][31:0] target_arrival_length_o,
    input  logic [2:0]       target_verdict_valid_i,
    output logic [2:0]       target_verdict_ready_o,
    input  logic [2:0][1:0]  target_verdict_i,
    input  logic [2:0][15:0] target_verdict_receive_i,
    input  logic [2:0][31:0] target_verdict_address_i,
    input  logic [2:0][31:0] target_verdict_bytes_i,
    output logic [2:0]       target_stored_o,
    output logic [2:0]       target_delivered_o,
    output logic [2:0][4:0]  target_delivered_status_o,
    output logic [2:0][15:0] target_delivered_receive_o,
    input  logic [2:0]       target_ack_valid_i,
    output logic [2:0]       target_ack_ready_o,
    input  logic [2:0][28:0] target_ack_i,
    output logic [2:0]       target_refused_o,
    output logic [2:0]       target_malformed_o,
    output logic [2:0]       target_idle_o
);

  for (genvar g = 0; g < 3; g++) begin : g_target
    localparam int unsigned DataW = g == 0 ? 32 : g == 1 ? 256 : 32;
    localparam int unsigned Depth = g == 0 ? 2 : g == 1 ? 16 : 2;
    alcor_abi_pkg::memory_request_t read;
    alcor_abi_pkg::slot_lookup_t lookup;
    alcor_abi_pkg::outgoing_t reply;
    alcor_abi_pkg::refusal_t refusal;
    alcor_abi_pkg::from_engine_t engine;
    logic [DataW-1:0] write_data;
    logic [DataW/8-1:0] write_strobe;

    alcor_abi_pkg::to_engine_t to_engine;

    always_comb begin
      engine                 = '0;
      engine.arrival_ready   = target_arrival_ready_i[g];
      engine.arrival_refused = target_arrival_refused_i[g];
      engine.arrival_line    = target_arrival_line_i[g];
      engine.verdict_valid   = target_verdict_valid_i[g];
      engine.verdict         = {target_verdict_i[g], target_verdict_receive_i[g], target_verdict_address_i[g],
                                target_verdict_bytes_i[g]};
      engine.ack_valid       = target_ack_valid_i[g];
      engine.ack             = target_ack_i[g];
    end

    assign target_arrival_valid_o[g]     = to_engine.arrival_valid;
    assign target_arrival_kind_o[g]      = {to_engine.arrival.recall, to_engine.arrival.announce};
    assign target_arrival_match_o[g]     = to_engine.arrival.match;
    assign target_arrival_serial_o[g]    = to_engine.arrival.serial;
    assign target_arrival_id_o[g]        = to_engine.arrival.id;
    assign target_arrival_length_o[g]    = to_engine.arrival.length;
    assign target_verdict_ready_o[g]     = to_engine.verdict_ready;
    assign target_stored_o[g]            = to_engine.stored;
    assign target_delivered_o[g]         = to_engine.delivered.valid;
    assign target_delivered_status_o[g]  = to_engine.delivered.status;
    assign target_delivered_receive_o[g] = to_engine.delivered.receive;
    assign target_ack_ready_o[g]         = to_engine.ack_ready;

    rma_receive_requests #(
        .DATA_W       (DataW),
        .PAYLOAD_WORDS(16),
        .HEAD_DEPTH   (5),
        .MM_DEPTH     (Depth),
        .IN_DEPTH     (2 * Depth),
        .ACCUMULATE   (g != 2),
        .MEM_LATENCY  (1 + 4 * g)
    ) u_receive (
        .clk_i             (clk_i),
        .rst_ni            (rst_ni),
        .rank_i            (8'd5),
        .closed_i          (target_closed_i[g]),
        .hold_i            (target_hold_i[g]),
        .in_valid_i        (target_in_valid_i[g]),
        .in_ready_o        (target_in_ready_o[g]),
        .in_data_i         (target_in_data_i[g][DataW-1:0]),
        .in_last_i         (target_in_last_i[g]),
        .in_cut_i          (target_in_cut_i[g]),
        .lookup_o          (lookup),
        .window_i          ({target_registered_i[g], target_deny_i[g], target_base_i[g], target_size_i[g]}),
        .read_o            (read),
        .read_i            ({target_read_gnt_i[g], target_read_rvalid_i[g]}),
        .read_data_i       (target_read_data_i[g][DataW-1:0]),
        .write_valid_o     (target_write_o[g]),
        .write_ready_i     (target_write_gnt_i[g]),
        .write_address_o   (target_write_address_o[g]),
        .write_data_o      (write_data),
        .write_strobe_o    (write_strobe),
        .replied_i         (target_replied_i[g]),
        .reply_o           (reply),
        .reply_i           ({target_head_ready_i[g], target_task_ready_i[g]}),
        .engine_o          (to_engine),
        .engine_i          (engine),
        .refusal_o         (refusal),
        .idle_o            (target_idle_o[g])
    );

    assign target_lookup_o[g]       = lookup.valid;
    assign target_slot_o[g]         = lookup.slot;
    assign target_read_o[g]         = read.req;
    assign target_read_address_o[g] = read.address;
    assign target_write_data_o[g]   = 256'(write_data);
    assign target_write_strobe_o[g] = 32'(write_strobe);
    assign target_head_valid_o[g]   = reply.head_valid;
    assign target_head_o[g]         = reply.head;
    assign target_task_valid_o[g]   = reply.task_valid;
    assign target_task_heads_o[g]   = reply.read.heads;
    assign target_task_words_o[g]   = reply.read.words;
    assign target_task_address_o[g] = reply.read.address - 32'(reply.read.lane);
    assign target_refused_o[g]      = refusal.refused;
    assign target_malformed_o[g]    = refusal.malformed;

    logic unused;
    assign unused = ^{refusal.dropped, refusal.status, refusal.ptype, to_engine.late, to_engine.fetch_valid, to_engine.fetch_id,
                      to_engine.copy_ready};
  end

  // A lane has the width of its widest instance: the spare bits of the narrower instance are not read.
  logic unused_data;
  assign unused_data = ^{target_in_data_i, target_read_data_i};

endmodule

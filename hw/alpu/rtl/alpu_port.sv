`include "assertions.svh"

import alcor_abi_pkg::*;

/// A matching unit in a rank's page, for study and reuse: the host writes requests and commands
/// into their FIFOs, as the paper's processor does, and takes results out of the result FIFO.
///
/// The host counts what it has written, and the port counts what has left the FIFOs. A write that
/// finds its FIFO full is lost and reported. With the gate shut, a FIFO can be filled and then
/// drained at the unit's own pace. Each result carries two times: the cycle in which its request or
/// command was taken, and the cycle in which the result was on offer. So intervals and latencies do
/// not depend on the host's access to the page.
module alpu_port #(
    /// Cells of the unit.
    parameter int unsigned CELLS = 128,
    /// Cells of a block.
    parameter int unsigned BLOCK = 16,
    /// 1: a unit for posted receives; 0: for unexpected messages.
    parameter bit POSTED = 1'b1,
    /// Requests, commands and results that there is room for.
    parameter int unsigned DEPTH = 64
) (
    /// Clock.
    input  logic        clk_i,
    /// Synchronous reset, active low.
    input  logic        rst_ni,
    /// A register is written.
    input  logic        write_i,
    /// Register write: offset in the page.
    input  logic [11:0] write_offset_i,
    /// Register write: data.
    input  logic [31:0] write_data_i,
    /// Register to be read.
    input  logic [11:0] read_offset_i,
    /// Value of the register that `read_offset_i` names, in the same cycle; 0 for other offsets.
    output logic [31:0] read_data_o
);

  localparam int unsigned TagW = 16;
  localparam int unsigned IdW = 8;
  localparam int unsigned CountW = $clog2(CELLS + 1);
  localparam int unsigned RequestW = 1 + IdW + 2 * MatchW;
  localparam int unsigned CommandW = 4 + IdW + TagW + 2 * MatchW;

  // ------------------------------------------------------------------------------- written by the host
  logic [31:0] match_q, mask_q;
  logic [9:0] match_high_q, mask_high_q;
  logic [MatchW-1:0] match, mask;
  alcor_abi_pkg::alpu_command_t command_word;
  alcor_abi_pkg::alpu_high_t high_word;
  alcor_abi_pkg::rank_alpu_gate_t gate_word;
  logic go, is_request, put_request, put_command, room_request, room_command, gate_q, lost_q, pop;

  assign command_word = write_data_i;
  assign high_word    = write_data_i;
  assign gate_word    = write_data_i;

  assign match = {match_high_q, match_q};
  assign mask  = {mask_high_q, mask_q};

  assign go          = write_i && write_offset_i == RANK_ALPU_GO_OFFSET;
  assign is_request  = command_word.op == AO_MATCH || command_word.op == AO_PROBE;
  assign put_request = go && is_request;
  assign put_command = go && !is_request;
  assign pop         = write_i && write_offset_i == RANK_ALPU_POP_OFFSET;

  always_ff @(posedge clk_i) begin
    if (write_i && write_offset_i == RANK_ALPU_MATCH_OFFSET) match_q <= write_data_i;
    if (write_i && write_offset_i == RANK_ALPU_MASK_OFFSET) mask_q <= write_data_i;
    if (write_i && write_offset_i == RANK_ALPU_HIGH_OFFSET) begin
      match_high_q <= high_word.match_high;
      mask_high_q  <= high_word.mask_high;
    end
    if (!rst_ni) begin
      gate_q <= 1'b1;
      lost_q <= 1'b0;
    end else begin
      if (write_i && write_offset_i == RANK_ALPU_GATE_OFFSET) gate_q <= gate_word.open;
      if ((put_request && !room_request) || (put_command && !room_command)) lost_q <= 1'b1;
    end
  end

  // ----------------------------------------------------------------------------------------- the FIFOs
  logic request_held, command_held, request_valid, request_ready, command_valid, command_ready;
  logic request_probe, request_open, command_open, request_offered_q, command_offered_q;
  logic [IdW-1:0] request_id, command_id;
  logic [MatchW-1:0] request_match, request_mask, command_match, command_mask;
  logic [3:0] command_op;
  logic [TagW-1:0] command_tag;

  fifo #(
      .WIDTH    (RequestW),
      .DEPTH    (DEPTH),
      .BLOCK_RAM(1'b1)
  ) u_requests (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i(put_request && room_request),
      .ready_o(room_request),
      .data_i ({command_word.op == AO_PROBE, command_word.id, match, mask}),
      .valid_o(request_held),
      .ready_i(request_open && request_ready),
      .data_o ({request_probe, request_id, request_match, request_mask}),
      .empty_o(),
      .usage_o()
  );

  fifo #(
      .WIDTH    (CommandW),
      .DEPTH    (DEPTH),
      .BLOCK_RAM(1'b1)
  ) u_commands (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i(put_command && room_command),
      .ready_o(room_command),
      .data_i ({command_word.op, command_word.id, command_word.tag, match, mask}),
      .valid_o(command_held),
      .ready_i(command_open && command_ready),
      .data_o ({command_op, command_id, command_tag, command_match, command_mask}),
      .empty_o(),
      .usage_o()
  );

  // An offer stays until it is taken, also if the gate is shut meanwhile.

  assign request_open  = gate_q || request_offered_q;
  assign command_open  = gate_q || command_offered_q;
  assign request_valid = request_held && request_open;
  assign command_valid = command_held && command_open;

  always_ff @(posedge clk_i) begin
    request_offered_q <= request_valid && !request_ready;
    command_offered_q <= command_valid && !command_ready;
    if (!rst_ni) begin
      request_offered_q <= 1'b0;
      command_offered_q <= 1'b0;
    end
  end

  logic result_valid, result_ready, has_result, inserting;
  logic [2:0] result_kind;
  logic [IdW-1:0] result_id;
  logic [TagW-1:0] result_value;
  alcor_abi_pkg::alpu_result_t result;
  logic [31:0] shown, discarded;
  logic [15:0] result_taken, now_q;
  logic [31:0] times;
  logic [CountW-1:0] entries;

  alpu #(
      .CELLS  (CELLS),
      .BLOCK  (BLOCK),
      .POSTED (POSTED),
      .MATCH_W(MatchW),
      .TAG_W  (TagW),
      .ID_W   (IdW)
  ) u_alpu (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .request_valid_i(request_valid),
      .request_ready_o(request_ready),
      .request_probe_i(request_probe),
      .request_id_i   (request_id),
      .request_match_i(request_match),
      .request_mask_i (request_mask),
      .command_valid_i(command_valid),
      .command_ready_o(command_ready),
      .command_op_i   (command_op),
      .command_id_i   (command_id),
      .command_tag_i  (command_tag),
      .command_match_i(command_match),
      .command_mask_i (command_mask),
      .result_valid_o (result_valid),
      .result_ready_i (result_ready),
      .result_kind_o  (result_kind),
      .result_id_o    (result_id),
      .result_value_o (result_value),
      .count_o        (entries),
      .inserting_o    (inserting),
      .discarded_o    (discarded)
  );

  always_comb begin
    result = {5'd0, result_kind, result_id, result_value};
  end

  fifo #(
      .WIDTH    (64),
      .DEPTH    (DEPTH),
      .BLOCK_RAM(1'b1)
  ) u_results (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i(result_valid),
      .ready_o(result_ready),
      .data_i ({now_q, result_taken, result}),
      .valid_o(has_result),
      .ready_i(pop),
      .data_o ({times, shown}),
      .empty_o(),
      .usage_o()
  );

  // ----------------------------------------------------------------------------- what happened, and when
  // By the id that comes back with the result; requests and commands have ids of their own. A command has
  // been carried out when the unit can take another one.
  logic [15:0] request_time[2**IdW];
  logic [15:0] command_time[2**IdW];
  logic [31:0] requests_q, commands_q;
  logic [15:0] first_q, last_q;
  logic fresh_q, busy_q, request_take, command_take, of_command;

  assign request_take = request_valid && request_ready;
  assign command_take = command_valid && command_ready;
  assign of_command   = result_kind == AR_START_ACKNOWLEDGE || result_kind == AR_CANCEL_SUCCESS
                     || result_kind == AR_CANCEL_FAILURE;
  assign result_taken = of_command ? command_time[result_id] : request_time[result_id];

  always_ff @(posedge clk_i) begin
    if (request_take) request_time[request_id] <= now_q;
    if (command_take) command_time[command_id] <= now_q;
    if (command_take && fresh_q) first_q <= now_q;
    if (command_take) last_q <= now_q;
    if (!rst_ni) begin
      now_q      <= '0;
      requests_q <= '0;
      commands_q <= '0;
      busy_q     <= 1'b0;
      fresh_q    <= 1'b1;
    end else begin
      now_q      <= now_q + 1'b1;
      requests_q <= requests_q + 32'(request_take);
      commands_q <= commands_q + 32'(busy_q && command_ready);
      busy_q     <= command_take || (busy_q && !command_ready);
      fresh_q    <= !gate_q || (fresh_q && !command_take);
    end
  end

  alcor_abi_pkg::rank_alpu_shape_t alpu_shape_word;
  alcor_abi_pkg::rank_alpu_state_t alpu_state_word;
  alcor_abi_pkg::rank_alpu_command_times_t alpu_command_times_word;

  always_comb begin
    alpu_shape_word        = '0;
    alpu_shape_word.cells  = 16'(CELLS);
    alpu_shape_word.block  = 8'(BLOCK);
    alpu_shape_word.posted = POSTED;

    alpu_state_word           = '0;
    alpu_state_word.entries   = 16'(entries);
    alpu_state_word.inserting = inserting;
    alpu_state_word.result    = has_result;
    alpu_state_word.lost      = lost_q;

    alpu_command_times_word       = '0;
    alpu_command_times_word.first = first_q;
    alpu_command_times_word.last  = last_q;
  end

  always_comb begin
    read_data_o = '0;
    unique case (read_offset_i)
      RANK_ALPU_SHAPE_OFFSET:         read_data_o = alpu_shape_word;
      RANK_ALPU_STATE_OFFSET:         read_data_o = alpu_state_word;
      RANK_ALPU_DISCARDED_OFFSET:     read_data_o = discarded;
      RANK_ALPU_RESULT_OFFSET:        read_data_o = shown;
      RANK_ALPU_TIMES_OFFSET:         read_data_o = times;
      RANK_ALPU_REQUESTS_DONE_OFFSET: read_data_o = requests_q;
      RANK_ALPU_COMMANDS_DONE_OFFSET: read_data_o = commands_q;
      RANK_ALPU_COMMAND_TIMES_OFFSET: read_data_o = alpu_command_times_word;
      RANK_ALPU_FIFOS_OFFSET:         read_data_o = 32'(DEPTH);
      default: ;
    endcase
  end

  `ALCOR_CHECK_PARAM(g_check_block, BLOCK < 256, "alpu_port: BLOCK must fit ALPU_SHAPE.block")
  `ALCOR_CHECK_PARAM(g_check_cells, CELLS < 65536, "alpu_port: CELLS must fit ALPU_SHAPE.cells")

endmodule

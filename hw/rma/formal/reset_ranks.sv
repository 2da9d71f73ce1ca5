`include "formal.svh"

import alcor_abi_pkg::*;

/// Proof of `rma_rank_reset`: two ranks send requests to each other and to themselves through a model of a network.
/// Each rank is reset at any time, also both at once. When a rank is cleared, no request of the rank is left, and none
/// is being answered.
module reset_ranks (
    /// Clock.
    input logic            clk_i,
    /// Synchronous reset, active low.
    input logic            rst_ni,
    /// By rank, free: RANK_RESET is written.
    input logic [1:0]      start_i,
    /// By rank, free: the rank has begun a run.
    input logic [1:0]      begun_i,
    /// By rank, free: a command is under way; a request is sent; target of the request.
    input logic [1:0]      commands_i,
    input logic [1:0]      asked_i,
    input logic [1:0]      to_i,
    /// By rank, free: messages, and collectives, have not ended.
    input logic [1:0]      messages_i,
    input logic [1:0]      collectives_i,
    /// By rank, free: the network takes the rank's packet; the rank's tables are cleared.
    input logic [1:0]      flush_ready_i,
    input logic [1:0]      head_ready_i,
    input logic [1:0]      task_ready_i,
    input logic [1:0]      ready_i,
    /// By rank, free: the rank begins to serve a request, and the request's source; the rank has answered; an answer
    /// arrives.
    input logic [1:0]      serves_i,
    input logic [1:0]      whose_i,
    input logic [1:0]      serve_ends_i,
    input logic [1:0]      answered_i
);

  `ALCOR_FORMAL_RESET

  localparam int unsigned W = 6;

  // Waiting requests of rank s to rank d; source of the request that a rank serves; answers under way to a rank.
  logic [3:0][W-1:0] requests_q;
  logic [1:0] serving_q, whose_q;
  logic [1:0][W-1:0] answers_q;
  logic [1:0] ever_begun, asked, quiet, drain, hold, recall, head_valid, task_valid, recalled, aim_q, aim;
  logic [1:0][1:0] word_q, word, clear;
  logic [1:0][W-1:0] open;
  logic [1:0][23:0] owed;
  logic [1:0][7:0] dest, reach;
  // 0: idle; 1: commands end; then recalls are sent and answers arrive; from 5 on no packet arrives.
  logic [1:0][2:0] state;

  for (genvar r = 0; r < 2; r++) begin : g_rank
    alcor_abi_pkg::message_t head;

    rma_rank_reset u_reset (
        .clk_i        (clk_i),
        .rst_ni       (rst_ni),
        .rank_i       (8'(r)),
        .start_i      (start_i[r]),
        .written_i    (1'b0),
        .begun_i      (begun_i[r]),
        .nprocs_i     (8'd2),
        .asked_i      (asked_i[r]),
        .answered_i   (answered_i[r]),
        .commands_i   (commands_i[r]),
        .messages_i   (messages_i[r]),
        .collectives_i(collectives_i[r]),
        .packets_i    (serving_q[r]),
        .ready_i      (ready_i[r]),
        .orphaned_i   (1'b0),
        .drain_o      (drain[r]),
        .hold_o       (hold[r]),
        .clear_o      (),
        .clear_next_o (),
        .lost_o       (),
        .flush_o      (),
        .flush_ready_i(flush_ready_i[r]),
        .recall_o     (recall[r]),
        .head_o       (head),
        .head_valid_o (head_valid[r]),
        .head_ready_i (head_ready_i[r]),
        .task_valid_o (task_valid[r]),
        .task_ready_i (task_ready_i[r]),
        .state_o      (),
        .ever_begun_q (ever_begun[r]),
        .asked_q      (asked[r]),
        .quiet_q      (quiet[r]),
        .owed_q       (owed[r]),
        .dest_q       (dest[r]),
        .reach_q      (reach[r]),
        .word_q       (word[r]),
        .clear_q      (clear[r]),
        .state_q      (state[r])
    );

    // A recall has four words; the first word names the destination.
    assign recalled[r] = task_valid[r] && task_ready_i[r];
    assign aim[r]      = recall[r] ? aim_q[r] : to_i[r];
    always_ff @(posedge clk_i) begin
      if (!rst_ni || !recall[r]) word_q[r] <= '0;
      else if (head_valid[r] && head_ready_i[r]) word_q[r] <= word_q[r] + 1'b1;
      if (word_q[r] == '0 && head_valid[r]) aim_q[r] <= head.dpid[0];
    end

    always_ff @(posedge clk_i) begin
      serving_q[r] <= (serving_q[r] && !serve_ends_i[r]) || serves_i[r];
      if (serves_i[r]) whose_q[r] <= whose_i[r];
      answers_q[r] <= answers_q[r] - W'(answered_i[r]) + W'(serve_ends_i[0] && whose_q[0] == 1'(r))
          + W'(serve_ends_i[1] && whose_q[1] == 1'(r));
      for (int d = 0; d < 2; d++) begin
        requests_q[2*r+d] <= requests_q[2*r+d] + W'((asked_i[r] || recalled[r]) && aim[r] == 1'(d))
            - W'(serves_i[d] && whose_i[d] == 1'(r));
      end
      if (!rst_ni) begin
        serving_q[r] <= 1'b0;
        answers_q[r] <= '0;
        for (int d = 0; d < 2; d++) requests_q[2*r+d] <= '0;
      end
    end

    assign open[r] = requests_q[2*r] + requests_q[2*r+1] + W'(serving_q[0] && whose_q[0] == 1'(r))
        + W'(serving_q[1] && whose_q[1] == 1'(r)) + answers_q[r];

    // Commands send requests, a few at a time. A rank that holds takes none.
    `ALCOR_ASSUME(!asked_i[r] || (commands_i[r] && !recall[r] && open[r] < W'(8)))
    `ALCOR_ASSUME(!serves_i[r] || (!serving_q[r] && !hold[r] && requests_q[2*whose_i[r]+r] != '0))
    `ALCOR_ASSUME(!serve_ends_i[r] || serving_q[r])
    `ALCOR_ASSUME(!answered_i[r] || answers_q[r] != '0)
    // After its commands have ended, a rank that is being reset has no command.
    `ALCOR_ASSUME(!commands_i[r] || state[r] <= 3'd1)
  end

  logic [1:0] left;
  assign left = {owed[1] + 24'(asked[1]) != 24'(open[1]), owed[0] + 24'(asked[0]) != 24'(open[0])};
  // The rank's count of answers equals that of the network.
  `ALCOR_ASSERT(p_count, left == '0)
  // Each rank is recalled once: makes the count inductive.
  logic [1:0] few;
  always_comb begin
    for (int r = 0; r < 2; r++) begin
      few[r] = requests_q[2*r] <= W'(10) && requests_q[2*r+1] <= W'(10) && answers_q[r] <= W'(10);
      few[r] = few[r] && (!asked[r] || state[r] <= 3'd1) && (!quiet[r] || (!serving_q[r] && (state[r] == 3'd5 || state[r] == 3'd6)));
      few[r] = few[r] && (reach[r] == 8'd0 || reach[r] == 8'd2) && (reach[r] == 8'd2 || (!ever_begun[r] && !recall[r]));
      few[r] = few[r] && open[r] <= W'(10) && (state[r] > 3'd1 || open[r] <= W'(8)) && (!recall[r] || (dest[r] < 8'd2 && open[r] <= W'(8) + W'(dest[r])));
    end
  end
  `ALCOR_ASSERT(p_few, few == '1)
  // No request of a cleared rank is left, from the state in which no packet arrives to the end of the reset.
  `ALCOR_ASSERT(p_clean, (state[0] < 3'd5 || open[0] == '0) && (state[1] < 3'd5 || open[1] == '0))

  // A reset ends: in each cycle it waits for one of the events below, or progresses. At most 18 cycles progress when
  // two ranks are recalled.
  logic [1:0] goes_on, ends;
  logic [1:0][4:0] steps_q, most;
  always_comb begin
    for (int r = 0; r < 2; r++) begin
      goes_on[r] = 1'b0;
      most[r]    = 5'd0;
      unique case (state[r])
        // Commands end.
        3'd1: goes_on[r] = !commands_i[r];
        // The network takes the words of recalls.
        3'd2: goes_on[r] = head_ready_i[r] && (word[r] != 2'd3 || task_ready_i[r]);
        // The message engine takes the flush.
        3'd3: goes_on[r] = flush_ready_i[r];
        // Answers arrive, messages and collectives end.
        3'd4: goes_on[r] = open[r] == '0 && !commands_i[r] && !messages_i[r] && !collectives_i[r];
        // Served packets end: the rank waits for no other rank.
        3'd5: goes_on[r] = !serving_q[r] && !commands_i[r] && !messages_i[r] && !collectives_i[r];
        3'd6: goes_on[r] = 1'b1;
        // Tables are cleared.
        3'd7: goes_on[r] = ready_i[r];
        default: ;
      endcase
      unique case (state[r])
        // The reset has ended, or has not begun.
        3'd0: most[r] = 5'd18;
        3'd2: most[r] = 5'd1 + {dest[r][2:0], word[r]};
        3'd3: most[r] = 5'd9;
        3'd4: most[r] = 5'd10;
        // It is seen a cycle later that nothing is served.
        3'd5: most[r] = 5'd11 + 5'(quiet[r]);
        3'd6: most[r] = 5'd13 + 5'(clear[r]);
        3'd7: most[r] = 5'd17;
        default: ;
      endcase
      ends[r] = steps_q[r] <= most[r] && (state[r] == 3'd2 || word[r] == 2'd0) && (state[r] == 3'd6 || clear[r] == 2'd0);
    end
  end
  always_ff @(posedge clk_i) begin
    for (int r = 0; r < 2; r++) steps_q[r] <= (state[r] == 3'd0) ? '0 : steps_q[r] + 5'(goes_on[r]);
    if (!rst_ni) steps_q <= '0;
  end
  `ALCOR_ASSERT(p_ends, ends == '1)

endmodule

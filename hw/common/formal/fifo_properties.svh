`include "formal.svh"

// Properties of `fifo`, included at its end: at its ports `fifo` equals `fifo_model`, and the RAM holds the words of
// the model from the read address on.

  `ALCOR_FORMAL_RESET
  `ALCOR_ASSUME_STABLE(valid_i, ready_o, data_i)

  logic m_ready, m_valid, m_empty;
  logic [WIDTH-1:0] m_data;
  logic [UsageW-1:0] m_usage;
  logic [DEPTH*WIDTH-1:0] m_words;

  fifo_model #(
      .WIDTH(WIDTH),
      .DEPTH(DEPTH)
  ) u_model (
      .clk_i  (clk_i),
      .rst_ni (rst_ni),
      .valid_i(valid_i),
      .ready_o(m_ready),
      .data_i (data_i),
      .valid_o(m_valid),
      .ready_i(ready_i),
      .data_o (m_data),
      .empty_o(m_empty),
      .words_o(m_words),
      .usage_o(m_usage)
  );

  `ALCOR_ASSERT(p_same, ready_o == m_ready && valid_o == m_valid && empty_o == m_empty && usage_o == m_usage)
  `ALCOR_IMPLIES(p_same_word, valid_o, data_o == m_data)

  // Invariants of the induction.
  logic same;
  always_comb begin
    same = 32'(raddr_q) < DEPTH && 32'(waddr_q) < DEPTH && 32'(waddr_q) == (32'(raddr_q) + 32'(m_usage)) % DEPTH;
    for (int unsigned i = 0; i < DEPTH; i++) begin
      if (i < 32'(m_usage)
          && WIDTH'(contents >> ((32'(raddr_q) + i) % DEPTH * WIDTH)) != m_words[i*WIDTH+:WIDTH]) same = 1'b0;
    end
  end
  `ALCOR_ASSERT(p_contents, same)

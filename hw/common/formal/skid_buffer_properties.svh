`include "formal.svh"

// Properties of `skid_buffer`, included at its end: at its ports `skid_buffer` equals a FIFO of two words.

  `ALCOR_FORMAL_RESET
  `ALCOR_ASSUME_STABLE(valid_i, ready_o, data_i)

  logic m_ready, m_valid, m_empty;
  logic [WIDTH-1:0] m_data;
  logic [1:0] m_usage;
  logic [2*WIDTH-1:0] m_words;

  fifo_model #(
      .WIDTH(WIDTH),
      .DEPTH(2)
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

  `ALCOR_ASSERT(p_same, ready_o == m_ready && valid_o == m_valid && empty_o == m_empty)
  `ALCOR_IMPLIES(p_same_word, valid_o, data_o == m_data)

  // Invariants of the induction.
  `ALCOR_IMPLIES(p_second_word, m_usage == 2'd2, skid_data_q == m_words[2*WIDTH-1:WIDTH])

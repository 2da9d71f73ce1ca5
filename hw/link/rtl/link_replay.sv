`include "assertions.svh"

import alcor_abi_pkg::*;
import alcor_link_pkg::*;

/// Sends frames until the other end has acknowledged them, and frames without a number between them.
///
/// Words of numbered frames are numbered one by one, modulo 65536, and are kept in a ring of WORDS
/// words until they are acknowledged. A frame leaves while it is stored. When the other end asks, or
/// no acknowledgement comes for REPLAY cycles, or the link comes up, this end goes back to the first
/// word without acknowledgement (go-back-n), and a new round begins. Requests of earlier rounds are
/// ignored, so one loss causes one replay. Each frame carries the latest acknowledgement; a frame
/// without a number carries it if no other frame leaves for ACK cycles.
///
/// Frames: `mac_valid_o` stays high from a frame's first word to its last, and a word stays on
/// offer, unchanged, until it is taken.
module link_replay #(
    /// The board's register SHAPE, which each frame carries.
    parameter logic [31:0] SHAPE = 32'h0,
    /// Words of the longest frame.
    parameter int unsigned LONGEST = 17,
    /// Words of the ring, a power of two.
    parameter int unsigned WORDS = 512,
    /// Cycles without an acknowledgement after which frames are sent again.
    parameter int unsigned REPLAY = 2048,
    /// Number of such times in succession after which the link is trained again.
    parameter int unsigned TRIES = 4,
    /// Cycles that an acknowledgement waits for a frame.
    parameter int unsigned ACK = 32,
    /// Cycles between greetings, until both ends agree.
    parameter int unsigned GREET = 1024
) (
    /// Clock of the medium access controller.
    input  logic                         mac_clk_i,
    /// Synchronous reset of the controller's clock, active low.
    input  logic                         mac_rst_ni,
    /// The link is up.
    input  logic                         up_i,
    /// The session.
    input  alcor_abi_pkg::link_session_t session_i,
    /// News of the receiving half.
    input  alcor_abi_pkg::link_news_t    news_i,
    /// A word of a new frame is offered.
    input  logic                         valid_i,
    /// The word is taken.
    output logic                         ready_o,
    /// The word is its frame's first.
    input  logic                         first_i,
    /// The word.
    input  alcor_abi_pkg::frame_word_t   word_i,
    /// A word of a frame is offered.
    output logic                         mac_valid_o,
    /// The word is taken.
    input  logic                         mac_ready_i,
    /// The word.
    output alcor_abi_pkg::frame_word_t   mac_word_o,
    /// Pulse: frames are sent again because the other end asked.
    output logic                         replay_o,
    /// Pulse: frames are sent again because no acknowledgement came.
    output logic                         timeout_o,
    /// Pulse: the other end stays silent, so the link is to be trained again.
    output logic                         retrain_o
);

  localparam int unsigned AddrW = $clog2(WORDS);
  localparam int unsigned TimerW = $clog2(REPLAY + 1);
  localparam int unsigned TriesW = $clog2(TRIES + 1);
  localparam int unsigned AckW = $clog2(ACK + 1);
  localparam int unsigned GreetW = $clog2(GREET + 1);

  typedef enum logic [1:0] {
    StBetween,  // between two frames
    StNew,      // inside a frame of the framer
    StAgain     // inside a frame of the ring
  } state_e;

  state_e state_d, state_q;
  // The next word that is stored, that is sent, and the first one without acknowledgement.
  logic [15:0] head_d, head_q, next_d, next_q, tail_d, tail_q;
  logic [7:0] round_q;
  logic load, sends, first, stored, again, control, rewind_q, wanted;
  logic between, goes_back, goes_on, chooses, begins_again, begins_new, begins_alone;
  logic room_q, outstanding, progress, expired;
  logic [15:0] behind;
  alcor_abi_pkg::frame_word_t kept, word;
  alcor_abi_pkg::first_word_t header;

  // ---------------------------------------------------------------- acknowledgements

  logic [15:0] acknowledged;

  // A request has no effect while a replay is due, as the replay serves it.
  assign acknowledged = news_i.acknowledged - tail_q;
  assign outstanding  = head_q != tail_q;
  assign progress     = news_i.heard && acknowledged != '0 && acknowledged <= head_q - tail_q;
  assign tail_d       = progress ? news_i.acknowledged : tail_q;
  assign wanted       = news_i.heard && news_i.again && news_i.again_round == round_q && tail_d != head_q
      && !rewind_q;

  // ---------------------------------------------------------------- the timer

  logic [TimerW-1:0] timer_q;
  logic [TriesW-1:0] tries_q;
  logic ready;

  assign ready   = up_i && session_i.open;
  assign expired = timer_q == TimerW'(REPLAY);

  always_ff @(posedge mac_clk_i) begin
    if (!mac_rst_ni) begin
      timer_q   <= '0;
      tries_q   <= '0;
      timeout_o <= 1'b0;
      retrain_o <= 1'b0;
      replay_o  <= 1'b0;
    end else begin
      // Time counts from the last word that was sent.
      if (!ready || !outstanding || progress || next_q != head_q || expired || rewind_q) timer_q <= '0;
      else timer_q <= timer_q + 1'b1;
      if (!ready || progress) tries_q <= '0;
      else if (expired) tries_q <= tries_q + 1'b1;
      timeout_o <= expired;
      retrain_o <= expired && tries_q == TriesW'(TRIES - 1);
      replay_o  <= wanted;
    end
  end

  // ---------------------------------------------------------------- frames without a number

  logic [AckW-1:0] ack_q;
  logic [GreetW-1:0] greet_q;
  logic ack_wait_q, lost_q, answer_q;

  assign control = lost_q || answer_q || ack_q == AckW'(ACK) || greet_q == GreetW'(GREET);

  always_ff @(posedge mac_clk_i) begin
    if (!mac_rst_ni) begin
      ack_wait_q <= 1'b0;
      ack_q      <= '0;
      lost_q     <= 1'b0;
      answer_q   <= 1'b0;
      greet_q    <= '0;
    end else begin
      if (sends && first) begin
        ack_wait_q <= 1'b0;
        ack_q      <= '0;
        lost_q     <= 1'b0;
        answer_q   <= 1'b0;
        greet_q    <= '0;
      end else begin
        if (ack_wait_q && ack_q != AckW'(ACK)) ack_q <= ack_q + 1'b1;
        if (!session_i.greets) greet_q <= '0;
        else if (greet_q != GreetW'(GREET)) greet_q <= greet_q + 1'b1;
      end
      if (news_i.arrived) ack_wait_q <= 1'b1;
      if (news_i.lost) lost_q <= 1'b1;
      if (news_i.answer) answer_q <= 1'b1;
    end
  end

  // ---------------------------------------------------------------- the ring

`ifdef FORMAL
  logic [WORDS*(MacW+1)-1:0] f_contents;
`endif

  ram_sdp #(
      .WIDTH(MacW + 1),
      .DEPTH(WORDS)
  ) u_ring (
      .clk_i  (mac_clk_i),
      .we_i   (stored),
      .waddr_i(head_q[AddrW-1:0]),
      .wdata_i(word_i),
      .re_i   (1'b1),
      .raddr_i(next_d[AddrW-1:0]),
`ifdef FORMAL
      .contents_o(f_contents),
`endif
      .rdata_o(kept)
  );

  always_comb begin
    header                        = '0;
    header.addresses              = LinkAddresses;
    header.frame.ethertype        = LinkEtherType;
    header.frame.layout           = LinkLayout;
    header.frame.numbered         = stored || again;
    header.frame.known            = session_i.known;
    header.frame.open             = session_i.open;
    header.frame.again            = lost_q;
    header.abi                    = ABI_HASH;
    header.shape                  = SHAPE;
    header.credits                = again ? kept.data[31:0] : stored ? word_i.data[31:0] : '0;
    header.sequence_.word         = next_q;
    header.sequence_.acknowledged = news_i.expected;
    header.epochs                 = {session_i.other, session_i.own};
    header.rounds.round           = round_q;
    header.rounds.again           = news_i.round;
  end

  assign load    = !mac_valid_o || mac_ready_i;
  assign ready_o = stored;
  assign head_d  = stored ? head_q + 1'b1 : head_q;
  assign behind  = next_q - tail_q;

  // Between two frames: the next one to send, if any.
  assign between      = state_q == StBetween;
  assign goes_back    = between && ready && rewind_q;
  // Words that were to be sent again have been acknowledged.
  assign goes_on      = between && ready && next_q != head_q && behind[15];
  assign chooses      = between && load && !goes_back && !goes_on;
  assign begins_again = chooses && ready && next_q != head_q;
  assign begins_new   = chooses && ready && next_q == head_q && room_q && valid_i;
  assign begins_alone = chooses && !begins_again && !begins_new && up_i && control;

  assign first  = between;
  assign again  = begins_again || (state_q == StAgain && load);
  assign stored = begins_new || (state_q == StNew && load && valid_i);
  assign sends  = again || stored || begins_alone;

  always_comb begin
    word   = again ? kept : word_i;
    next_d = next_q;
    if (goes_back || goes_on) next_d = tail_q;
    else if (again || stored) next_d = next_q + 1'b1;
    if (begins_alone) word.last = 1'b1;
  end

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StBetween: begin
        if (begins_again && !kept.last) state_d = StAgain;
        if (begins_new && !word_i.last) state_d = StNew;
      end
      StNew: begin
        if (stored && word_i.last) state_d = StBetween;
      end
      StAgain: begin
        if (again && kept.last) state_d = StBetween;
      end
      default: state_d = StBetween;
    endcase
  end

  always_ff @(posedge mac_clk_i) begin
    if (!mac_rst_ni) begin
      state_q     <= StBetween;
      head_q      <= '0;
      next_q      <= '0;
      tail_q      <= '0;
      round_q     <= '0;
      rewind_q    <= 1'b0;
      room_q      <= 1'b0;
      mac_valid_o <= 1'b0;
    end else begin
      state_q <= state_d;
      head_q  <= head_d;
      next_q  <= next_d;
      tail_q  <= tail_d;
      // At most two words have been stored since.
      room_q  <= 16'(head_q - tail_q) <= 16'(WORDS - LONGEST - 2);
      if (goes_back) begin
        rewind_q <= 1'b0;
        if (next_q != tail_q) round_q <= round_q + 1'b1;
      end
      if (wanted || expired || !up_i) rewind_q <= 1'b1;
      if (load) mac_valid_o <= sends;
    end
  end

  always_ff @(posedge mac_clk_i) begin
    if (load) mac_word_o <= {word.last, first ? header : word.data};
  end

  `ALCOR_CHECK_PARAM(g_check_words, WORDS >= 2 * LONGEST + 4 && WORDS <= 16384 && (WORDS & (WORDS - 1)) == 0,
                     "link_replay: WORDS must be a power of two, from two of the longest frames to 16384")
  `ALCOR_STABLE_CLK(a_word_stable, mac_clk_i, mac_rst_ni, mac_valid_o, mac_ready_i, mac_word_o)
  `ALCOR_NEXT_CLK(a_no_gap, mac_clk_i, mac_rst_ni, mac_valid_o && mac_ready_i && !mac_word_o.last, mac_valid_o)
  `ALCOR_ASSERT_CLK(a_ring, mac_clk_i, mac_rst_ni, 16'(head_q - tail_q) <= 16'(WORDS))
  `ALCOR_ASSERT_CLK(a_first, mac_clk_i, mac_rst_ni, !valid_i || (state_q == StNew) == !first_i)

`ifdef ALCOR_PROVE_LINK_REPLAY
  `include "link_replay_properties.svh"
`endif

endmodule

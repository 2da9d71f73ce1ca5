import alcor_abi_pkg::*;

/// Table of the posted receives of a rank: whether each entry is free, queued or matched, and the buffer of its receive.
///
/// An entry is queued while its receive is in the queue of posted receives, and matched from its match until the message is
/// delivered. One entry at most changes its state in a cycle; an entry is freed in a cycle in which no other entry changes.
module message_receives #(
    /// Number of entries, a power of two.
    parameter int unsigned DEPTH = 256,
    /// Width of an entry; derived, not to be set.
    localparam int unsigned EntryW = $clog2(DEPTH)
) (
    /// Clock.
    input  logic                   clk_i,
    /// An entry is cleared.
    input  logic                   sweep_i,
    /// With `sweep_i`: the entry.
    input  logic [EntryW-1:0]      sweep_entry_i,

    /// The state of an entry is read.
    input  logic                   look_i,
    /// With `look_i`: the entry.
    input  logic [EntryW-1:0]      look_entry_i,
    /// In the cycle after, until the next read: the entry is free.
    output logic                   free_o,
    /// In the cycle after, until the next read: the entry is queued.
    output logic                   queued_o,

    /// Entry of the command under way.
    input  logic [EntryW-1:0]      entry_i,
    /// A receive takes the entry of the command.
    input  logic                   enter_i,
    /// With `enter_i`: the buffer of the receive.
    input  alcor_abi_pkg::buffer_t buffer_i,
    /// Pulse: the receive of the command is queued.
    input  logic                   queue_i,
    /// Pulse: the receive of the command is cancelled.
    input  logic                   cancel_i,
    /// Pulse: a receive is matched.
    input  logic                   match_i,
    /// With `match_i`: the receive.
    input  logic [EntryW-1:0]      match_entry_i,

    /// A delivered pair is offered, whose receive is to be freed.
    input  logic                   retire_valid_i,
    /// The pair is taken.
    output logic                   retire_ready_o,
    /// The pair; a dropped pair has no receive.
    input  alcor_abi_pkg::retire_t retire_i,

    /// The buffer of a receive is read.
    input  logic                   find_i,
    /// With `find_i`: the receive.
    input  logic [EntryW-1:0]      find_entry_i,
    /// In the cycle after, until the next read: the buffer.
    output alcor_abi_pkg::buffer_t buffer_o
);

  // Neither: the entry is free.
  typedef struct packed {
    logic matched;  // has a message
    logic queued;   // waits for a message
  } entry_state_t;

  entry_state_t state, state_next;
  logic change, write;
  logic [EntryW-1:0] at;

  ram_sdp #(
      .WIDTH    (2),
      .DEPTH    (DEPTH),
      .BLOCK_RAM(1'b0)
  ) u_states (
      .clk_i  (clk_i),
      .we_i   (write || sweep_i),
      .waddr_i(sweep_i ? sweep_entry_i : at),
      .wdata_i(sweep_i ? '0 : state_next),
      .re_i   (look_i),
      .raddr_i(look_entry_i),
      .rdata_o(state)
  );

  assign free_o         = state == '0;
  assign queued_o       = state.queued;
  assign retire_ready_o = !change;

  always_comb begin
    change     = 1'b0;
    at         = entry_i;
    state_next = '0;
    if (match_i) begin
      change             = 1'b1;
      state_next.matched = 1'b1;
      at                 = match_entry_i;
    end
    if (queue_i) begin
      change            = 1'b1;
      state_next.queued = 1'b1;
    end
    if (cancel_i) change = 1'b1;
    write = change || (retire_valid_i && !retire_i.dropped);
    if (!change) at = retire_i.receive[EntryW-1:0];
  end

  ram_sdp #(
      .WIDTH(64),
      .DEPTH(DEPTH)
  ) u_buffers (
      .clk_i  (clk_i),
      .we_i   (enter_i),
      .waddr_i(entry_i),
      .wdata_i(buffer_i),
      .re_i   (find_i),
      .raddr_i(find_entry_i),
      .rdata_o(buffer_o)
  );

endmodule

`include "shape.svh"

import alcor_abi_pkg::*;

/// The board's page: identity, state, and what each rank is doing.
module board_registers #(
    /// Bits of a beat of the coprocessors and the crossbar.
    parameter int unsigned DATA_W = 32,
    /// Ranks of the board.
    parameter int unsigned RANKS = 2,
    /// Link ports.
    parameter int unsigned LINKS = 0,
    /// Stages of the collective unit, 0 without one.
    parameter int unsigned STAGES = 0,
    /// Data bits of a phit.
    parameter int unsigned PHIT_W = 256,
    /// Phits of each input channel of a link.
    parameter int unsigned VC_DEPTH = 256,
    /// Cells of each rank's matching unit, 0 without one.
    parameter int unsigned ALPU_CELLS = 0,
    /// 1: each rank has a kernel.
    parameter bit KERNEL = 1'b0,
    /// Posted receives of each rank's message engine.
    parameter int unsigned MESSAGES = 256,
    /// Bytes of a fragment of its unexpected message buffer.
    parameter int unsigned FRAGMENT = 256,
    /// Cells of each of its matching units.
    parameter int unsigned MATCH_CELLS = 16,
    /// Cells of a block of the matching units.
    parameter int unsigned MATCH_BLOCK = 8,
    /// Matchers of each rank's match store; 0: queues with matching units.
    parameter int unsigned MATCHERS = 0,
    /// Queue pairs of the match store, a power of two from 2 to 128.
    parameter int unsigned PAIRS = 16,
    /// 1: each rank has a unit for accumulates.
    parameter bit ACCUMULATE = 1'b1,
    /// Slots of each registration table.
    parameter int unsigned SLOTS = 32,
    /// Bytes of each node memory.
    parameter int unsigned NODE_BYTES = 1048576,
    /// Payload words of an extended packet.
    parameter int unsigned PAYLOAD_WORDS = 128,
    /// Entries of the command FIFOs.
    parameter int unsigned COMMAND_DEPTH = 64,
    /// Clock in kHz.
    parameter int unsigned CLOCK_KHZ = 250000,
    /// First 32 bits of the source revision, 0 in simulation.
    parameter logic [31:0] REVISION = 32'h0,
    /// Bits of the counters of packets and phits, and half the bits of that of cycles: 32, or fewer in a bench, which then
    /// sees their last values.
    parameter int unsigned COUNT_W = 32,
    /// Link ports that there are wires for; derived, not to be set.
    localparam int unsigned LinkN = (LINKS == 0) ? 1 : LINKS
) (
    /// Clock.
    input  logic                   clk_i,
    /// Synchronous reset, active low.
    input  logic                   rst_ni,

    /// Register to be read.
    input  logic [11:0]            read_offset_i,
    /// Value of the register, in the same cycle.
    output logic [31:0]            read_data_o,
    /// A register is written.
    input  logic                   write_i,
    /// Register write: offset in the page.
    input  logic [11:0]            write_offset_i,
    /// Register write: data.
    input  logic [31:0]            write_data_i,

    /// All registration tables are cleared.
    input  logic                   ready_i,
    /// RANK_STATE of each rank.
    input  logic [RANKS-1:0][31:0] state_i,
    /// A rank aborts the run.
    input  logic [RANKS-1:0]       abort_i,
    /// By rank: reason of the abort.
    input  logic [RANKS-1:0][7:0]  abort_reason_i,
    /// The run is aborted.
    output logic                   aborted_o,
    /// Pulse: another board reports an abort.
    input  logic                   abort_in_i,
    /// Rank and reason of the other board's abort.
    input  logic [15:0]            abort_in_data_i,
    /// Pulse: the run was aborted here; other boards must be notified.
    output logic                   abort_out_o,
    /// The rank that aborted, and its reason.
    output logic [15:0]            abort_out_data_o,

    /// This board's number in its cluster.
    output logic [7:0]             board_o,
    /// Ranks of the run, on all boards, up to the first one that the forwarding table has no way to.
    output logic [7:0]             run_ranks_o,
    /// Key of the run.
    output logic [7:0]             key_o,
    /// A write to the forwarding table.
    output logic                   forward_write_o,
    /// Of this rank.
    output logic [7:0]             forward_rank_o,
    /// This port leads there.
    output logic [3:0]             forward_port_o,
    /// Link ports whose links close a ring.
    output logic [LinkN-1:0]       dateline_o,
    /// Pulse: the switch drops a packet.
    input  logic                   drop_i,
    /// Pulse: a packet of another run was dropped.
    input  logic                   foreign_i,
    /// Pulse: a packet from another board was damaged on its way.
    input  logic                   damaged_i,
    /// Four characters that name the kernel; 0 without one.
    input  logic [31:0]            kernel_id_i,
    /// Phits that the collective unit dropped in the cycle before.
    input  logic [2:0]             stale_i,
    /// By rank: a write of a row of the communicator table has not been carried out.
    input  logic [15:0]            row_writes_i,
    /// POSTED of each rank.
    input  logic [RANKS-1:0][31:0] posted_i,
    /// COLLECTIVES.
    input  logic [31:0]            collectives_i,
    /// A phit was sent, by link port.
    input  logic [LinkN-1:0]       link_tx_i,
    /// A phit was received.
    input  logic [LinkN-1:0]       link_rx_i,
    /// CONTROL.reset is written.
    output logic                   reset_o
);

  logic [2*COUNT_W-1:0] cycle_q;
  alcor_abi_pkg::board_control_t control;
  alcor_abi_pkg::board_forward_t forward;
  alcor_abi_pkg::board_place_t place;
  logic aborted_q;
  logic [7:0] abort_rank_d, abort_rank_q, abort_reason_d, abort_reason_q;

  assign control   = write_data_i;
  assign forward   = write_data_i;
  assign place     = write_data_i;
  assign reset_o   = write_i && write_offset_i == BOARD_CONTROL_OFFSET && control.reset;
  assign aborted_o = aborted_q;

  // The first to abort is remembered; of several at once the lowest.
  always_comb begin
    abort_rank_d   = abort_rank_q;
    abort_reason_d = abort_reason_q;
    if (abort_in_i) {abort_rank_d, abort_reason_d} = abort_in_data_i;
    for (int unsigned r = RANKS; r > 0; r--) begin
      if (abort_i[r-1]) begin
        abort_rank_d   = 8'(32'(board_o) * RANKS + r - 1);
        abort_reason_d = abort_reason_i[r-1];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      cycle_q        <= '0;
      aborted_q      <= 1'b0;
      abort_rank_q   <= '0;
      abort_reason_q <= '0;
      abort_out_o    <= 1'b0;
    end else begin
      cycle_q     <= cycle_q + 1'b1;
      abort_out_o <= !aborted_q && (abort_i != '0 || abort_in_i);
      if (!aborted_q) begin
        aborted_q      <= abort_i != '0 || abort_in_i;
        abort_rank_q   <= abort_rank_d;
        abort_reason_q <= abort_reason_d;
      end
    end
  end

  assign abort_out_data_o = {abort_rank_q, abort_reason_q};

  assign forward_write_o = write_i && write_offset_i == BOARD_FORWARD_OFFSET;
  assign forward_rank_o  = forward.rank;
  assign forward_port_o  = forward.port;

  logic [7:0] ranks_q;

  if (LINKS == 0) begin : g_alone
    assign run_ranks_o = ranks_q;
  end else begin : g_ways
    // A run has no rank without a way: the pipeline refuses a run of more ranks than `run_ranks_o`, and packets to others.
    // Ranks with a way are counted as their entries are written, from rank 0 on. An entry without a way ends the count there.
    localparam logic [3:0] Here = 4'd15;
    logic [8:0] ways_q;
    logic placed_q, is_way, is_next, is_known;

    assign is_way   = forward_port_o == Here || 32'(forward_port_o) < LINKS;
    assign is_next  = {1'b0, forward_rank_o} == ways_q;
    assign is_known = {1'b0, forward_rank_o} < ways_q;

    always_ff @(posedge clk_i) begin
      if (!rst_ni) ways_q <= '0;
      else if (forward_write_o && is_way && is_next) ways_q <= ways_q + 1'b1;
      else if (forward_write_o && !is_way && is_known) ways_q <= {1'b0, forward_rank_o};
      // Before a place is written, the run is of this board's ranks, which the crossbar reaches.
      placed_q    <= rst_ni && (placed_q || (write_i && write_offset_i == BOARD_PLACE_OFFSET));
      run_ranks_o <= (rst_ni && placed_q && {1'b0, ranks_q} > ways_q) ? ways_q[7:0] : ranks_q;
    end
  end

  logic [COUNT_W-1:0] dropped_q, foreign_q, damaged_q, stale_q;
  logic [LinkN-1:0][COUNT_W-1:0] link_tx_q, link_rx_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      board_o     <= '0;
      ranks_q     <= 8'(RANKS);
      dateline_o  <= '0;
      key_o       <= '0;
      dropped_q   <= '0;
      foreign_q   <= '0;
      damaged_q   <= '0;
      stale_q     <= '0;
      link_tx_q   <= '0;
      link_rx_q   <= '0;
    end else begin
      if (write_i && write_offset_i == BOARD_PLACE_OFFSET) begin
        board_o     <= place.board;
        ranks_q     <= place.ranks;
        key_o       <= place.key;
      end
      if (foreign_i && foreign_q != '1) foreign_q <= foreign_q + 1'b1;
      if (damaged_i && damaged_q != '1) damaged_q <= damaged_q + 1'b1;
      if (drop_i && dropped_q != '1) dropped_q <= dropped_q + 1'b1;
      if (stale_i != '0) stale_q <= (stale_q > ~(COUNT_W'(stale_i))) ? '1 : stale_q + COUNT_W'(stale_i);
      if (write_i && write_offset_i == BOARD_DATELINES_OFFSET) dateline_o <= write_data_i[LinkN-1:0];
      for (int unsigned p = 0; p < LinkN; p++) begin
        if (link_tx_i[p]) link_tx_q[p] <= link_tx_q[p] + 1'b1;
        if (link_rx_i[p]) link_rx_q[p] <= link_rx_q[p] + 1'b1;
      end
    end
  end

  alcor_abi_pkg::board_capabilities_t capabilities_word;
  alcor_abi_pkg::board_geometry_t geometry_word;
  alcor_abi_pkg::board_queues_t queues_word;
  alcor_abi_pkg::board_status_t status_word;
  alcor_abi_pkg::board_messages_t messages_word;
  alcor_abi_pkg::board_matching_t matching_word;
  alcor_abi_pkg::board_match_store_t store_word;
  localparam int unsigned Lanes = (MATCHERS == 0) ? 1 : MATCHERS;
  alcor_abi_pkg::board_switch_t switch_word;
  alcor_abi_pkg::board_place_t place_word;

  always_comb begin
    capabilities_word          = '0;
    capabilities_word.rma      = 1'b1;
    capabilities_word.alpu     = ALPU_CELLS != 0;
    capabilities_word.messages = MESSAGES != 0;
    capabilities_word.kernel   = KERNEL;
    capabilities_word.accumulate = ACCUMULATE;
    // The AXI4 port has beats of this width; see host_dma.
    capabilities_word.lines    = ((LINKS == 0) ? DATA_W : PHIT_W) >= 256;
    capabilities_word.switch_  = STAGES != 0;

    geometry_word       = '0;
    geometry_word.ranks = 8'(RANKS);
    geometry_word.links = 8'(LINKS);
    geometry_word.slots = 9'(SLOTS);
    geometry_word.beat  = 7'(DATA_W / 8);

    queues_word          = '0;
    queues_word.commands = 16'(COMMAND_DEPTH);
    queues_word.payload  = 16'(PAYLOAD_WORDS);

    status_word              = '0;
    status_word.ready        = ready_i;
    status_word.aborted      = aborted_q;
    status_word.abort_rank   = abort_rank_q;
    status_word.abort_reason = abort_reason_q;

    messages_word          = '0;
    messages_word.depth    = 16'(MESSAGES);
    messages_word.fragment = 16'(FRAGMENT);

    matching_word       = '0;
    matching_word.cells = (MATCHERS == 0) ? 16'(MATCH_CELLS) : 16'd0;
    matching_word.block = (MATCHERS == 0) ? 8'(MATCH_BLOCK) : 8'd0;

    store_word = '0;
    if (MATCHERS != 0) begin
      store_word.matchers = 7'(MATCHERS);
      store_word.pairs    = 8'(PAIRS);
      store_word.headers  = 16'(Lanes * ((2 * MESSAGES + Lanes - 1) / Lanes));
    end

    place_word       = '0;
    place_word.board = board_o;
    place_word.ranks = run_ranks_o;
    place_word.key   = key_o;

    switch_word = '0;
    if (STAGES != 0) begin
      switch_word.stages        = 4'(STAGES);
      switch_word.communicators = 6'd32;
      switch_word.phit          = 8'(PHIT_W / 8);
    end
  end

  always_comb begin
    read_data_o = '0;
    unique case (read_offset_i)
      BOARD_MAGIC_OFFSET:        read_data_o = BOARD_MAGIC_VALUE;
      BOARD_ABI_VERSION_OFFSET: begin
        read_data_o = {BOARD_ABI_VERSION_MAJOR_VALUE, BOARD_ABI_VERSION_MINOR_VALUE};
      end
      BOARD_ABI_HASH_OFFSET:     read_data_o = ABI_HASH;
      BOARD_REVISION_OFFSET:     read_data_o = REVISION;
      BOARD_CAPABILITIES_OFFSET: read_data_o = capabilities_word;
      BOARD_KERNEL_OFFSET:       read_data_o = kernel_id_i;
      BOARD_GEOMETRY_OFFSET:     read_data_o = geometry_word;
      BOARD_NODE_MEMORY_OFFSET:  read_data_o = 32'(NODE_BYTES);
      BOARD_QUEUES_OFFSET:       read_data_o = queues_word;
      BOARD_CLOCK_OFFSET:        read_data_o = 32'(CLOCK_KHZ);
      BOARD_STATUS_OFFSET:       read_data_o = status_word;
      BOARD_CYCLE_LO_OFFSET:     read_data_o = 32'(cycle_q[COUNT_W-1:0]);
      BOARD_CYCLE_HI_OFFSET:     read_data_o = 32'(cycle_q[2*COUNT_W-1:COUNT_W]);
      BOARD_PLACE_OFFSET:        read_data_o = place_word;
      BOARD_DROPPED_OFFSET:      read_data_o = 32'(dropped_q);
      BOARD_FOREIGN_OFFSET:      read_data_o = 32'(foreign_q);
      BOARD_DAMAGED_OFFSET:      read_data_o = 32'(damaged_q);
      BOARD_STALE_OFFSET:        read_data_o = 32'(stale_q);
      BOARD_ROW_WRITES_OFFSET:   read_data_o = 32'(row_writes_i);
      BOARD_MESSAGES_OFFSET:     read_data_o = messages_word;
      BOARD_MATCHING_OFFSET:     read_data_o = matching_word;
      BOARD_MATCH_STORE_OFFSET:  read_data_o = store_word;
      BOARD_SWITCH_OFFSET:       read_data_o = switch_word;
      BOARD_SHAPE_OFFSET:        read_data_o = `ALCOR_SHAPE;
      BOARD_COLLECTIVES_OFFSET:  read_data_o = collectives_i;
      default: begin
        for (int unsigned r = 0; r < RANKS; r++) begin
          if (read_offset_i == BOARD_RANK_STATE_OFFSET + 12'(4 * r)) read_data_o = state_i[r];
          if (read_offset_i == BOARD_POSTED_OFFSET + 12'(4 * r)) read_data_o = posted_i[r];
        end
        for (int unsigned p = 0; p < LinkN; p++) begin
          if (read_offset_i == BOARD_LINK_TX_OFFSET + 12'(4 * p)) read_data_o = 32'(link_tx_q[p]);
          if (read_offset_i == BOARD_LINK_RX_OFFSET + 12'(4 * p)) read_data_o = 32'(link_rx_q[p]);
        end
      end
    endcase
  end

endmodule

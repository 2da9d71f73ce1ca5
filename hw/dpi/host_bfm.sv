/// Bus functional model of XDMA: the mailboxes between the host's side and the core, on DPI.
///
/// One call a clock, and one more in a cycle where traffic passes. A call sees the values before the
/// edge; what it answers is offered in the cycle after it. `alcor_host_tick` carries interrupts and
/// page writes, `alcor_monitor` the words that pass the coprocessors' streams, `alcor_axi_tick` the
/// pins of both AXI ports, for the profiles that use them.
module host_bfm #(
    /// Ranks of the board.
    parameter int unsigned RANKS = 2
) (
    /// Clock.
    input  logic                        clk_i,
    /// Synchronous reset, active low.
    input  logic                        rst_ni,
    /// Handle of the board in the simulator.
    input  longint unsigned             dpi_handle_i,
    /// Serve the AXI mailbox.
    input  logic                        axi_enable_i,

    /// Interrupts.
    input  logic [RANKS-1:0]            irq_i,
    /// Page writes: valid.
    output logic [RANKS-1:0]            move_valid_o,
    /// Page writes: offset.
    output logic [RANKS-1:0][11:0]      move_offset_o,
    /// Page writes: data.
    output logic [RANKS-1:0][31:0]      move_data_o,

    /// Streams: a word passes.
    input  logic [RANKS-1:0][3:0]       monitor_valid_i,
    /// Streams: it is its packet's last.
    input  logic [RANKS-1:0][3:0]       monitor_last_i,
    /// Streams: the word.
    input  logic [RANKS-1:0][3:0][31:0] monitor_data_i,

    /// AXI pins, in the layout of `alcor_axi_tick`'s argument.
    input  bit   [95:0]                 axi_i,
    /// AXI pins, in the layout of its answer.
    output bit   [319:0]                axi_o
);

  localparam int unsigned MoveW = RANKS * 64;
  localparam int unsigned MonitorW = 128 + RANKS * 128;

  import "DPI-C" function void alcor_host_tick(
    input longint unsigned handle, input bit [63:0] in_bits, output bit [MoveW-1:0] out_bits);
  import "DPI-C" function void alcor_monitor(
    input longint unsigned handle, input bit [MonitorW-1:0] in_bits, output bit [63:0] out_bits);
  import "DPI-C" function void alcor_axi_tick(
    input longint unsigned handle, input bit [95:0] in_bits, output bit [319:0] out_bits);

  bit [MoveW-1:0] moves;
  bit [MonitorW-1:0] monitor;
  bit [63:0] unused;
  bit [319:0] pins;

  always_comb begin
    monitor = '0;
    for (int unsigned r = 0; r < RANKS; r++) begin
      monitor[4*r+:4]      = monitor_valid_i[r];
      monitor[64+4*r+:4]   = monitor_last_i[r];
      monitor[128+128*r+:128] = monitor_data_i[r];
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      move_valid_o <= '0;
      axi_o        <= '0;
    end else begin
      alcor_host_tick(dpi_handle_i, 64'(irq_i), moves);
      for (int unsigned r = 0; r < RANKS; r++) begin
        move_valid_o[r]  <= moves[64*r+31];
        move_offset_o[r] <= moves[64*r+:12];
        move_data_o[r]   <= moves[64*r+32+:32];
      end
      if (monitor_valid_i != '0) alcor_monitor(dpi_handle_i, monitor, unused);
      if (axi_enable_i) begin
        alcor_axi_tick(dpi_handle_i, axi_i, pins);
        axi_o <= pins;
      end
    end
  end

endmodule

/// Register side of the host: AXI4-Lite and the pages of the AXI4 port, and the pages that their addresses name.
///
/// Page 0 is the board's, page 1 + r is rank r's. A write leaves in the cycle in which address and data are both there;
/// all pages offer the register at `read_offset_o` in the same cycle. Accesses of the AXI4 port go first.
module host_port #(
    /// Ranks of the board.
    parameter int unsigned RANKS = 2,
    /// 1: pages are also written by `g_rig.move_*`, and registers read by `g_rig.peek`, which simulation drives by
    /// hierarchy.
    parameter bit RIG = 1'b0,
    /// 1: register slices at the AXI4-Lite port.
    parameter bit SLICES = 1'b0
) (
    /// Clock.
    input  logic                         clk_i,
    /// Synchronous reset, active low.
    input  logic                         rst_ni,

    /// AXI4-Lite: signals of the host.
    input  alcor_abi_pkg::lite_request_t bus_i,
    /// AXI4-Lite: signals of this slave.
    output alcor_abi_pkg::lite_answer_t  bus_o,

    /// AXI4 port: a register write.
    input  alcor_abi_pkg::bus_write_t    dma_write_i,
    /// AXI4 port: the write is taken.
    output logic                         dma_write_ready_o,
    /// AXI4 port: a register is read.
    input  logic                         dma_read_i,
    /// AXI4 port: byte address of the register.
    input  logic [16:0]                  dma_address_i,
    /// AXI4 port: its value, in the same cycle.
    output logic [31:0]                  dma_data_o,

    /// A write into the board's page.
    output alcor_abi_pkg::page_write_t   board_o,
    /// Ranks' pages: a write.
    output logic [RANKS-1:0]             page_write_o,
    /// Ranks' pages: offset of the write.
    output logic [RANKS-1:0][11:0]     page_offset_o,
    /// Ranks' pages: data of the write.
    output logic [RANKS-1:0][31:0]     page_data_o,
    /// Register to be read, of every page.
    output logic [11:0]                  read_offset_o,
    /// Value of the register in the board's page.
    input  logic [31:0]                  board_read_i,
    /// By rank: value of the register in the rank's page.
    input  logic [RANKS-1:0][31:0]     rank_read_i
);

  // Address bits of the board's pages.
  localparam int unsigned AddrW = 17;

  logic lite_write, write, write_ready;
  logic [AddrW-1:0] lite_address, write_address, lite_read_address, bus_address, read_address;
  logic [31:0] lite_data, write_data, read_data;

  axi_lite_port #(
      .ADDR_W(AddrW),
      .SLICES(SLICES)
  ) u_axi_lite_port (
      .clk_i          (clk_i),
      .rst_ni         (rst_ni),
      .bus_i          (bus_i),
      .bus_o          (bus_o),
      .write_valid_o  (lite_write),
      .write_ready_i  (write_ready && !dma_write_i.valid),
      .write_address_o(lite_address),
      .write_data_o   (lite_data),
      .read_address_o (lite_read_address),
      .read_ready_i   (!dma_read_i),
      .read_data_i    (read_data)
  );

  assign write         = dma_write_i.valid || lite_write;
  assign write_address = dma_write_i.valid ? dma_write_i.address : lite_address;
  assign write_data    = dma_write_i.valid ? dma_write_i.data : lite_data;
  assign bus_address   = dma_read_i ? dma_address_i : lite_read_address;

  assign dma_write_ready_o = write_ready;
  assign dma_data_o        = read_data;

  assign read_offset_o = read_address[11:0];

  always_comb begin
    read_data = (read_address[AddrW-1:12] == '0) ? board_read_i : '0;
    for (int unsigned r = 0; r < RANKS; r++) begin
      if (read_address[AddrW-1:12] == 5'(r + 1)) read_data = rank_read_i[r];
    end
  end

  assign board_o.valid  = write && write_ready && write_address[AddrW-1:12] == '0;
  assign board_o.offset = write_address[11:0];
  assign board_o.data   = write_data;

  if (RIG) begin : g_rig
    // The register at `peek_address` is `read_data` in the same cycle, while time stands.
    logic peek;
    logic [AddrW-1:0] peek_address;

    assign read_address = peek ? peek_address : bus_address;

    // A page has one write a cycle; the rig's goes first.
    logic [RANKS-1:0] move_valid;
    logic [RANKS-1:0][11:0] move_offset;
    logic [RANKS-1:0][31:0] move_data;

    always_comb begin
      write_ready = 1'b1;
      for (int unsigned r = 0; r < RANKS; r++) begin
        page_write_o[r]  = move_valid[r];
        page_offset_o[r] = move_offset[r];
        page_data_o[r]   = move_data[r];
        if (write_address[AddrW-1:12] == 5'(r + 1)) begin
          if (move_valid[r]) begin
            write_ready = 1'b0;
          end else begin
            page_write_o[r]  = write;
            page_offset_o[r] = write_address[11:0];
            page_data_o[r]   = write_data;
          end
        end
      end
    end
  end else begin : g_bus
    assign read_address = bus_address;
    assign write_ready  = 1'b1;
    for (genvar r = 0; r < RANKS; r++) begin : g_page
      assign page_write_o[r]  = write && write_address[AddrW-1:12] == 5'(r + 1);
      assign page_offset_o[r] = write_address[11:0];
      assign page_data_o[r]   = write_data;
    end
  end

endmodule

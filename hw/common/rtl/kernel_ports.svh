// Ports of a kernel (hw/core/doc/kernel.md). A kernel includes this file as its port list. Its parameter WIDTH is the
// number of bits of a beat of the memory port.

    /// Clock.
    input  logic                clk_i,
    /// Synchronous reset, active low. The end of the reset starts the kernel.
    input  logic                rst_ni,
    /// Number of the rank.
    input  logic [7:0]          rank_i,
    /// Ranks of the run.
    input  logic [7:0]          nprocs_i,
    /// Four characters that name the kernel; constant.
    output logic [31:0]         id_o,
    /// Arguments, constant while the kernel runs.
    input  logic [15:0][31:0]   arguments_i,
    /// Asserted when the kernel is done.
    output logic                done_o,
    /// Valid with `done_o`: KERNEL_STATUS.code.
    output logic [7:0]          code_o,
    /// Results that the host can read at any time.
    output logic [7:0][31:0]    results_o,

    /// Commands, AXI4-Stream.
    output logic                command_tvalid_o,
    /// The command is taken.
    input  logic                command_tready_i,
    /// The command, kernel_command_t.
    output logic [287:0]        command_tdata_o,
    /// Completions, AXI4-Stream.
    input  logic                completion_tvalid_i,
    /// The completion is taken.
    output logic                completion_tready_o,
    /// The completion, kernel_completion_t.
    input  logic [95:0]         completion_tdata_i,

    /// Node memory, AXI4: write address.
    output logic                memory_awvalid_o,
    /// The write address is taken.
    input  logic                memory_awready_i,
    /// Byte address of the burst.
    output logic [31:0]         memory_awaddr_o,
    /// Beats of the burst - 1.
    output logic [7:0]          memory_awlen_o,
    /// Write data.
    output logic                memory_wvalid_o,
    /// The beat is taken.
    input  logic                memory_wready_i,
    /// The beat.
    output logic [WIDTH-1:0]    memory_wdata_o,
    /// Byte strobes of the beat.
    output logic [WIDTH/8-1:0]  memory_wstrb_o,
    /// The beat is its burst's last.
    output logic                memory_wlast_o,
    /// Write response.
    input  logic                memory_bvalid_i,
    /// The response is taken.
    output logic                memory_bready_o,
    /// OKAY or DECERR.
    input  logic [1:0]          memory_bresp_i,
    /// Read address.
    output logic                memory_arvalid_o,
    /// The read address is taken.
    input  logic                memory_arready_i,
    /// Byte address of the burst.
    output logic [31:0]         memory_araddr_o,
    /// Beats of the burst - 1.
    output logic [7:0]          memory_arlen_o,
    /// Read data.
    input  logic                memory_rvalid_i,
    /// The beat is taken.
    output logic                memory_rready_o,
    /// The beat.
    input  logic [WIDTH-1:0]    memory_rdata_i,
    /// OKAY or DECERR.
    input  logic [1:0]          memory_rresp_i,
    /// The beat is its burst's last.
    input  logic                memory_rlast_i

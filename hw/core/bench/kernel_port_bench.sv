import alcor_abi_pkg::*;

/// Bench top for `kernel_port` with a port for each field of its bundles.
module kernel_port_bench (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic               page_write_i,
    input  logic [11:0]        page_offset_i,
    input  logic [31:0]        page_data_i,
    input  logic [11:0]        read_offset_i,
    output logic [31:0]        read_data_o,
    // Towards the coprocessor.
    output logic               valid_o,
    output logic [7:0]         opcode_o,
    output logic [31:0]        data_o,
    output logic [31:0]        offset_o,
    output logic [31:0]        address_o,
    output logic [31:0]        length_o,
    output logic [63:0]        compare_o,
    output logic [31:0]        tag_o,
    output logic               busy_o,
    output logic               done_o,
    input  logic               ready_i,
    input  logic               done_i,
    input  logic               drain_i,
    input  logic               begun_i,
    // Lanes: reply, refused, collective, message.
    input  logic [3:0]         end_valid_i,
    input  logic [3:0][4:0]    end_status_i,
    input  logic [3:0][2:0]    end_slot_i,
    input  logic [7:0]         source_i,
    input  logic [25:0]        message_tag_i,
    input  logic [31:0]        message_length_i,
    input  logic               barrier_i,
    input  logic [4:0]         barrier_status_i,
    // Towards the collective unit: kernel_post_t.
    output logic [288:0]       post_o,
    input  logic               post_ready_i,
    input  logic               memory_idle_i,
    // The kernel.
    output logic               kernel_rst_no,
    output logic [15:0][31:0]  arguments_o,
    input  logic               kernel_done_i,
    input  logic [7:0]         code_i,
    input  logic [7:0][31:0]   results_i,
    input  logic               command_valid_i,
    output logic               command_ready_o,
    input  logic [8:0][31:0]   command_i,
    output logic               completion_valid_o,
    input  logic               completion_ready_i,
    output logic [2:0][31:0]   completion_o
);

  alcor_abi_pkg::page_write_t page;
  alcor_abi_pkg::kernel_to_rank_t to_rank;
  alcor_abi_pkg::rank_to_kernel_t from_rank;

  assign page = {page_write_i, page_offset_i, page_data_i};

  assign valid_o   = to_rank.valid;
  assign opcode_o  = to_rank.opcode;
  assign data_o    = to_rank.data;
  assign offset_o  = to_rank.offset;
  assign address_o = to_rank.address;
  assign length_o  = to_rank.length;
  assign compare_o = to_rank.compare;
  assign tag_o     = to_rank.tag;
  assign busy_o    = to_rank.busy;
  assign done_o    = to_rank.done;

  assign from_rank = {
    ready_i, done_i, drain_i, begun_i, 8'd4,
    end_valid_i[0], end_status_i[0], end_slot_i[0],
    end_valid_i[1], end_status_i[1], end_slot_i[1],
    end_valid_i[2], end_status_i[2], end_slot_i[2],
    end_valid_i[3], end_status_i[3], end_slot_i[3],
    source_i, message_tag_i, message_length_i, 65'd0, barrier_i, barrier_status_i
  };

  kernel_port #(
      .WIDTH   (32),
      .MESSAGES(64),
      .FRAGMENT(256),
      .SWITCH  (1'b1)
  ) u_port (
      .clk_i              (clk_i),
      .rst_ni             (rst_ni),
      .page_i             (page),
      .read_offset_i      (read_offset_i),
      .read_data_o        (read_data_o),
      .rank_o             (to_rank),
      .rank_i             (from_rank),
      .post_o             (post_o),
      .post_ready_i       (post_ready_i),
      .memory_idle_i      (memory_idle_i),
      .kernel_rst_no      (kernel_rst_no),
      .arguments_o        (arguments_o),
      .done_i             (kernel_done_i),
      .code_i             (code_i),
      .results_i          (results_i),
      .command_tvalid_i   (command_valid_i),
      .command_tready_o   (command_ready_o),
      .command_tdata_i    (command_i),
      .completion_tvalid_o(completion_valid_o),
      .completion_tready_i(completion_ready_i),
      .completion_tdata_o (completion_o)
  );

endmodule

`include "assertions.svh"

import alcor_abi_pkg::*;

/// A kernel that carries out a list of commands from node memory.
///
/// Arguments: 0, address of the list, a kernel_command_t of 36 bytes per command; 1, number of commands; 2, address of the
/// completions, a kernel_completion_t of 12 bytes each, in order of arrival; 3, maximum number of outstanding commands, 0
/// for the limit of the port; 4, seed of random idle and back-pressure, 0 for none. Results: 0, commands given; 1,
/// completions written; 2, tag and status of the last completion. The code is the number of completions with another
/// status than ST_OK, modulo 256.
module command_list #(
    /// Bits of a beat of the memory port.
    parameter int unsigned WIDTH = 32
) (
`include "kernel_ports.svh"
);

  typedef enum logic [1:0] {
    Ask,     // reads the next command
    Take,    // words of the command come
    Give     // offers the command
  } fetch_e;

  typedef enum logic [1:0] {
    Wait,    // for a completion
    Write,   // words of the completion
    Answer   // of memory
  } report_e;

  fetch_e fetch_q;
  report_e report_q;
  logic [31:0] given_q, reported_q, last_q, list_q, place_q, lfsr_q;
  logic [8:0][31:0] words_q;
  logic [3:0] got_q;
  logic [1:0] word_q;
  logic [2:0][31:0] completion_q;
  logic [7:0] failed_q;
  logic more, may_give, idles, written;
  logic offered_q, waits_q;
  alcor_abi_pkg::kernel_result_t result;

  assign more     = given_q != arguments_i[1];
  assign idles    = arguments_i[4] != '0 && lfsr_q[1:0] != '0;
  assign may_give = arguments_i[3] == '0 || given_q - reported_q < arguments_i[3];
  assign result   = completion_tdata_i[31:0];

  assign memory_arvalid_o = fetch_q == Ask && more;
  assign memory_araddr_o  = list_q;
  assign memory_arlen_o   = 8'd8;
  assign memory_rready_o  = fetch_q == Take;
  assign command_tvalid_o = fetch_q == Give && (offered_q || (may_give && !idles));
  assign command_tdata_o  = words_q;

  // The kernel is ready at random, and stays ready until a completion has come.
  assign completion_tready_o = report_q == Wait && (waits_q || !idles);
  assign memory_awvalid_o    = report_q == Write && word_q == 2'd0 && !written;
  assign memory_awaddr_o     = place_q;
  assign memory_awlen_o      = 8'd2;
  assign memory_wvalid_o     = report_q == Write && written;
  assign memory_wdata_o      = WIDTH'(completion_q[word_q]);
  assign memory_wstrb_o      = '1;
  assign memory_wlast_o      = word_q == 2'd2;
  assign memory_bready_o     = report_q == Answer;

  always_ff @(posedge clk_i) begin
    lfsr_q <= {lfsr_q[30:0], lfsr_q[31] ^ lfsr_q[21] ^ lfsr_q[1] ^ lfsr_q[0]};
    offered_q <= command_tvalid_o && !command_tready_i;
    waits_q   <= completion_tready_o && !completion_tvalid_i;
    unique case (fetch_q)
      Ask: if (memory_arvalid_o && memory_arready_i) fetch_q <= Take;
      Take:
      if (memory_rvalid_i) begin
        words_q[got_q] <= memory_rdata_i[31:0];
        got_q          <= got_q + 1'b1;
        if (memory_rlast_i) begin
          fetch_q <= Give;
          got_q   <= '0;
        end
      end
      default:
      if (command_tvalid_o && command_tready_i) begin
        fetch_q <= Ask;
        given_q <= given_q + 1'b1;
        list_q  <= list_q + 32'd36;
      end
    endcase
    unique case (report_q)
      Wait:
      if (completion_tvalid_i && completion_tready_o) begin
        report_q     <= Write;
        completion_q <= completion_tdata_i;
        last_q       <= result;
        if (result.status != ST_OK) failed_q <= failed_q + 1'b1;
      end
      Write: begin
        if (memory_awvalid_o && memory_awready_i) written <= 1'b1;
        if (memory_wvalid_o && memory_wready_i) begin
          word_q <= word_q + 1'b1;
          if (memory_wlast_o) report_q <= Answer;
        end
      end
      default:
      if (memory_bvalid_i) begin
        report_q   <= Wait;
        word_q     <= '0;
        written    <= 1'b0;
        reported_q <= reported_q + 1'b1;
        place_q    <= place_q + 32'd12;
      end
    endcase
    if (!rst_ni) begin
      fetch_q    <= Ask;
      report_q   <= Wait;
      given_q    <= '0;
      reported_q <= '0;
      last_q     <= '0;
      got_q      <= '0;
      word_q     <= '0;
      written    <= 1'b0;
      failed_q   <= '0;
      offered_q  <= 1'b0;
      waits_q    <= 1'b0;
      list_q     <= arguments_i[0];
      place_q    <= arguments_i[2];
      lfsr_q     <= arguments_i[4] ^ 32'(rank_i) ^ 32'h1;
    end
  end

  // The first character is the lowest byte.
  assign id_o      = "tsil";
  assign done_o    = rst_ni && reported_q == arguments_i[1];
  assign code_o    = failed_q;
  assign results_o = {160'd0, last_q, reported_q, given_q};

  logic unused;
  assign unused = ^{nprocs_i, arguments_i[15:5], memory_bresp_i, memory_rresp_i, memory_rdata_i, completion_tdata_i};

  `ALCOR_CHECK_PARAM(g_check_width, WIDTH == 32, "command_list: the memory port must have 32 bits")

endmodule

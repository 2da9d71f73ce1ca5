/// Sending side of both planes: makes packets from header words and read tasks, reading node memory for their payload.
///
/// Requests come from the pipeline, the message engine and recalls, which take turns; replies come from the request
/// plane's receive side. The two planes share nothing: each reads node memory by itself.
module rma_send #(
    /// Bits of a beat: 32, 256 or 512.
    parameter int unsigned DATA_W = 32,
    /// Payload words of an extended packet, a power of two.
    parameter int unsigned PAYLOAD_WORDS = 128,
    /// Words of each Head FIFO.
    parameter int unsigned HEAD_DEPTH = 16,
    /// Tasks of each MM Interface FIFO.
    parameter int unsigned MM_DEPTH = 16,
    /// Beats of each Out FIFO.
    parameter int unsigned OUT_DEPTH = 512,
    /// Cycles from grant to data up to which reads go on at one per cycle.
    parameter int unsigned MEM_LATENCY = 1
) (
    /// Clock.
    input  logic                           clk_i,
    /// Synchronous reset, active low.
    input  logic                           rst_ni,

    /// Pipeline: header words and tasks.
    input  alcor_abi_pkg::outgoing_t       pipeline_i,
    /// Pipeline: the header word, and the task, are taken.
    output alcor_abi_pkg::outgoing_taken_t pipeline_o,
    /// Pipeline: the packet's task goes with its first header word, and the packet ends with `pipeline_last_i`.
    input  logic                           pipeline_split_i,
    /// Pipeline, with `pipeline_split_i`: the header word that is offered is its packet's last.
    input  logic                           pipeline_last_i,
    /// Message engine: header words, and tasks of packets without payload.
    input  alcor_abi_pkg::outgoing_t       engine_i,
    /// Message engine: the header word, and the task, are taken.
    output alcor_abi_pkg::outgoing_taken_t engine_o,
    /// Recalls are being sent.
    input  logic                           recalls_i,
    /// Recalls: header words, and tasks of packets without payload.
    input  alcor_abi_pkg::outgoing_t       recall_i,
    /// Recalls: the header word, and the task, are taken.
    output alcor_abi_pkg::outgoing_taken_t recall_o,
    /// Reply plane: header words and tasks.
    input  alcor_abi_pkg::outgoing_t       reply_i,
    /// Reply plane: the header word, and the task, are taken.
    output alcor_abi_pkg::outgoing_taken_t reply_o,

    /// To the router, plane 0 requests, plane 1 replies: a beat is offered.
    output logic [1:0]                     tx_valid_o,
    /// The beat is taken.
    input  logic [1:0]                     tx_ready_i,
    /// The beat.
    output logic [1:0][DATA_W-1:0]         tx_data_o,
    /// The beat is its packet's last.
    output logic [1:0]                     tx_last_o,

    /// Node memory, by plane: a read is asked for.
    output logic [1:0]                     read_req_o,
    /// By plane: the read is granted.
    input  logic [1:0]                     read_gnt_i,
    /// By plane: address of the beat's first word, which may be any.
    output logic [1:0][29:0]               read_address_o,
    /// By plane: data of the oldest granted read is there.
    input  logic [1:0]                     read_rvalid_i,
    /// Data, of either plane.
    input  logic [DATA_W-1:0]              read_data_i,

    /// By plane: nothing is queued or under way.
    output logic [1:0]                     idle_o
);

  localparam int unsigned CountW = $clog2(PAYLOAD_WORDS + 1);
  // A beat holds the header of an atomic operation, of up to 7 words; replies have shorter headers.
  localparam int unsigned RequestHeads = (DATA_W < 256) ? 4 : 8;
  localparam int unsigned Request = 0;

  alcor_abi_pkg::outgoing_t request;
  alcor_abi_pkg::outgoing_taken_t request_taken;

  // ---------------------------------------------------------------- turns on the request plane

  // A packet is open from its first header word to its task, or, where the task came early, to its last word. The
  // pipeline is idle while recalls are sent, and gives them its turns.
  logic engine_turn_d, engine_turn_q, recall_turn_d, recall_turn_q, open_d, open_q, pipeline_turn;

  assign pipeline_turn = !engine_turn_q && !recall_turn_q;

  // The pipeline's offer is known late in the cycle, so it is only gated.
  assign request.head_valid = (pipeline_turn && pipeline_i.head_valid) || (engine_turn_q && engine_i.head_valid) ||
                              (recall_turn_q && recall_i.head_valid);
  assign request.task_valid = (pipeline_turn && pipeline_i.task_valid) || (engine_turn_q && engine_i.task_valid) ||
                              (recall_turn_q && recall_i.task_valid);
  assign request.head       = pipeline_turn ? pipeline_i.head : recall_turn_q ? recall_i.head : engine_i.head;
  // Packets of the engine and recalls have four header words and no payload.
  assign request.read       = pipeline_turn ? pipeline_i.read : alcor_abi_pkg::HeaderTask;

  assign pipeline_o = request_taken & {2{pipeline_turn}};
  assign engine_o   = request_taken & {2{engine_turn_q}};
  assign recall_o   = request_taken & {2{recall_turn_q}};

  // The turn may change where no packet is open and neither a header word nor a task waits: with a packet's end, or
  // between packets.
  logic head_taken, task_taken, packet_ends, changes;

  assign head_taken  = request.head_valid && request_taken.head;
  assign task_taken  = request.task_valid && request_taken.read;
  assign packet_ends = (pipeline_turn && pipeline_split_i) ? head_taken && pipeline_last_i : task_taken;
  assign changes     = request.head_valid ? (request_taken.head && packet_ends) :
                                            (packet_ends || (!open_q && !request.task_valid));
  assign open_d      = !packet_ends && (open_q || head_taken);

  assign engine_turn_d = changes ? (engine_i.head_valid && !engine_turn_q) : engine_turn_q;
  assign recall_turn_d = changes ? (recalls_i && !(engine_i.head_valid && !engine_turn_q)) : recall_turn_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      open_q        <= 1'b0;
      engine_turn_q <= 1'b0;
      recall_turn_q <= 1'b0;
    end else begin
      open_q        <= open_d;
      engine_turn_q <= engine_turn_d;
      recall_turn_q <= recall_turn_d;
    end
  end

  // ---------------------------------------------------------------- packets, a plane each

  for (genvar p = 0; p < 2; p++) begin : g_plane
    alcor_abi_pkg::outgoing_t packet;
    alcor_abi_pkg::outgoing_taken_t taken;
    alcor_abi_pkg::memory_request_t read;

    if (p == Request) begin : g_requests
      assign packet        = request;
      assign request_taken = taken;
    end else begin : g_replies
      assign packet  = reply_i;
      assign reply_o = taken;
    end

    rma_mm_read #(
        .DATA_W     (DATA_W),
        .HEADS      ((p == Request) ? RequestHeads : 4),
        .HEAD_DEPTH (HEAD_DEPTH),
        .MM_DEPTH   (MM_DEPTH),
        .OUT_DEPTH  (OUT_DEPTH),
        .COUNT_W    (CountW),
        .MEM_LATENCY(MEM_LATENCY)
    ) u_mm_read (
        .clk_i         (clk_i),
        .rst_ni        (rst_ni),
        .head_valid_i  (packet.head_valid),
        .head_ready_o  (taken.head),
        .head_i        (packet.head),
        .task_valid_i  (packet.task_valid),
        .task_ready_o  (taken.read),
        .task_i        (packet.read),
        .read_o        (read),
        .read_i        ({read_gnt_i[p], read_rvalid_i[p]}),
        .read_data_i   (read_data_i),
        .out_valid_o   (tx_valid_o[p]),
        .out_ready_i   (tx_ready_i[p]),
        .out_data_o    (tx_data_o[p]),
        .out_last_o    (tx_last_o[p]),
        .idle_o        (idle_o[p])
    );

    assign read_req_o[p]     = read.req;
    assign read_address_o[p] = read.address;
  end

endmodule

// For the proofs of ci/mutate: a memory whose idle ports have address and data 0. An idle port reads or writes
// nothing, so faults in its address or data change nothing.
(* techmap_celltype = "$mem_v2" *)
module idle_ports (RD_CLK, RD_EN, RD_ARST, RD_SRST, RD_ADDR, RD_DATA, WR_CLK, WR_EN, WR_ADDR, WR_DATA);
  parameter MEMID = "";
  parameter SIZE = 4;
  parameter OFFSET = 0;
  parameter ABITS = 2;
  parameter WIDTH = 8;
  parameter INIT = 0;
  parameter RD_PORTS = 1;
  parameter RD_CLK_ENABLE = 0;
  parameter RD_CLK_POLARITY = 0;
  parameter RD_TRANSPARENCY_MASK = 0;
  parameter RD_COLLISION_X_MASK = 0;
  parameter RD_WIDE_CONTINUATION = 0;
  parameter RD_CE_OVER_SRST = 0;
  parameter RD_ARST_VALUE = 0;
  parameter RD_SRST_VALUE = 0;
  parameter RD_INIT_VALUE = 0;
  parameter WR_PORTS = 1;
  parameter WR_CLK_ENABLE = 0;
  parameter WR_CLK_POLARITY = 0;
  parameter WR_PRIORITY_MASK = 0;
  parameter WR_WIDE_CONTINUATION = 0;
  input [RD_PORTS-1:0] RD_CLK, RD_EN, RD_ARST, RD_SRST;
  input [RD_PORTS*ABITS-1:0] RD_ADDR;
  output [RD_PORTS*WIDTH-1:0] RD_DATA;
  input [WR_PORTS-1:0] WR_CLK;
  input [WR_PORTS*WIDTH-1:0] WR_EN, WR_DATA;
  input [WR_PORTS*ABITS-1:0] WR_ADDR;
  wire [RD_PORTS*ABITS-1:0] read;
  wire [WR_PORTS*ABITS-1:0] write;
  genvar p;
  generate
    for (p = 0; p < RD_PORTS; p = p + 1) begin : r
      assign read[p*ABITS +: ABITS] = RD_ADDR[p*ABITS +: ABITS] & {ABITS{RD_EN[p]}};
    end
    for (p = 0; p < WR_PORTS; p = p + 1) begin : w
      assign write[p*ABITS +: ABITS] = WR_ADDR[p*ABITS +: ABITS] & {ABITS{|WR_EN[p*WIDTH +: WIDTH]}};
    end
  endgenerate
  \$mem_v2 #(.MEMID(MEMID), .SIZE(SIZE), .OFFSET(OFFSET), .ABITS(ABITS), .WIDTH(WIDTH), .INIT(INIT), .RD_PORTS(RD_PORTS),
    .RD_CLK_ENABLE(RD_CLK_ENABLE), .RD_CLK_POLARITY(RD_CLK_POLARITY), .RD_TRANSPARENCY_MASK(RD_TRANSPARENCY_MASK),
    .RD_COLLISION_X_MASK(RD_COLLISION_X_MASK), .RD_WIDE_CONTINUATION(RD_WIDE_CONTINUATION), .RD_CE_OVER_SRST(RD_CE_OVER_SRST),
    .RD_ARST_VALUE(RD_ARST_VALUE), .RD_SRST_VALUE(RD_SRST_VALUE), .RD_INIT_VALUE(RD_INIT_VALUE), .WR_PORTS(WR_PORTS),
    .WR_CLK_ENABLE(WR_CLK_ENABLE), .WR_CLK_POLARITY(WR_CLK_POLARITY), .WR_PRIORITY_MASK(WR_PRIORITY_MASK),
    .WR_WIDE_CONTINUATION(WR_WIDE_CONTINUATION)) _TECHMAP_REPLACE_ (
    .RD_CLK(RD_CLK), .RD_EN(RD_EN), .RD_ARST(RD_ARST), .RD_SRST(RD_SRST), .RD_ADDR(read), .RD_DATA(RD_DATA),
    .WR_CLK(WR_CLK), .WR_EN(WR_EN), .WR_ADDR(write), .WR_DATA(WR_DATA & WR_EN));
endmodule

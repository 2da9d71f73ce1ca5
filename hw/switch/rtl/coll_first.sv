/// The lowest of 32 requests, as a number.
///
/// A tree instead of a carry chain: a number comes out as early as a one-hot choice would.
module coll_first (
    /// Requests.
    input  logic [31:0] request_i,
    /// There is one.
    output logic        valid_o,
    /// The lowest.
    output logic [ 4:0] row_o
);

  // Groups of four: whether there is one, and the lowest of them.
  logic [7:0] any, lowest;
  logic [7:0][1:0] inner;

  always_comb begin
    for (int unsigned g = 0; g < 8; g++) begin
      any[g]      = request_i[4*g+:4] != '0;
      inner[g][1] = request_i[4*g+:2] == '0;
      inner[g][0] = !request_i[4*g] && (request_i[4*g+1] || !request_i[4*g+2]);
    end
    lowest[0] = any[0];
    for (int unsigned g = 1; g < 8; g++) lowest[g] = any[g] && (any & 8'((1 << g) - 1)) == '0;
    row_o = '0;
    for (int unsigned g = 0; g < 8; g++) begin
      if (lowest[g]) row_o = row_o | {3'(g), inner[g]};
    end
  end

  assign valid_o = any != '0;

endmodule

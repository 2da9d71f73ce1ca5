`include "assertions.svh"

/// For each place of a vector: whether a bit is set there or anywhere above it.
///
/// Two questions about the list have this form: which hit is the first one (no bit set above), and
/// which entries may move (an empty cell at or above). Bits are combined in groups of four.
/// `above_i` joins in the last level, since it arrives last.
module alpu_upto #(
    /// Bits, 1 or more.
    parameter int unsigned WIDTH = 16
) (
    /// The vector; its highest bit is the list's head.
    input  logic [WIDTH-1:0] bits_i,
    /// A bit is set in a part of the list above this one.
    input  logic             above_i,
    /// A bit is set here or above.
    output logic [WIDTH-1:0] upto_o,
    /// A bit is set in this vector.
    output logic             any_o
);

  `ALCOR_CHECK_PARAM(g_check_width, WIDTH >= 1, "alpu_upto: WIDTH must be 1 or more")

  localparam int unsigned Groups = (WIDTH + 3) / 4;
  localparam int unsigned Padded = 4 * Groups;
  localparam int unsigned Triples = (WIDTH + 2) / 3;

  // Within the group; then of all higher groups.
  logic [Padded-1:0] bits, local_upto, higher;
  logic [Groups-1:0] group;

  assign bits = Padded'(bits_i);
  assign local_upto = bits | ((bits >> 1) & {Groups{4'b0111}}) | ((bits >> 2) & {Groups{4'b0011}})
      | ((bits >> 3) & {Groups{4'b0001}});

  for (genvar g = 0; g < Groups; g++) begin : g_group
    assign group[g] = local_upto[4*g];
    if (g + 1 < Groups) begin : g_higher
      assign higher[4*g+:4] = {4{|group[Groups-1:g+1]}};
    end else begin : g_highest
      assign higher[4*g+:4] = '0;
    end
  end

  assign upto_o = local_upto[WIDTH-1:0] | higher[WIDTH-1:0] | {WIDTH{above_i}};

  // Whether any is set at all: a LUT looks at three.
  logic [Triples-1:0] clear;
  logic none;
  for (genvar t = 0; t < Triples; t++) begin : g_triple
    if (3 * t + 3 <= WIDTH) begin : g_whole
      assign clear[t] = bits_i[3*t+:3] == '0;
    end else begin : g_rest
      assign clear[t] = bits_i[WIDTH-1:3*t] == '0;
    end
  end
  alpu_all #(
      .WIDTH(Triples)
  ) u_none (
      .bits_i(clear),
      .all_o (none)
  );
  assign any_o = !none;

endmodule

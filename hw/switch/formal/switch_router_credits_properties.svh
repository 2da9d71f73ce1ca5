// Proof of the router's credits, included at the end of `switch_router_allocator`. All inputs are free but for two rules:
// an input offers a phit only to an outlet that had a credit a cycle ago, and a credit comes back only for a phit that
// has passed before. Credits come back in any order and at any time.
//
// For each outlet, the credits here, the phits that pass, and the phits that have passed and whose credits have not
// come back, are the places of the buffer behind: no credit is lost or doubled, and no phit goes without one.

`include "formal.svh"

  `ALCOR_FORMAL_RESET

// Without a label: Yosys takes the label of a property in a loop once only.
`define F_HOLDS(expression_) always @(posedge clk_i) if (rst_ni) assert (expression_);

  // By outlet: a credit was there a cycle ago; a phit passes; phits that have passed, without those that pass.
  logic [All-1:0] f_shown_q, f_passes, f_spent;
  logic [All-1:0][CountW-1:0] f_away_q, f_count, f_depth;
  logic [All-1:0] f_one;

  always_ff @(posedge clk_i) f_shown_q <= rst_ni ? credits_q : '0;

  for (genvar x = 0; x < Ports; x++) begin : g_f_output
    if (x < LINKS) begin : g_f_link
      for (genvar v = 0; v < 6; v++) begin : g_f_channel
        localparam int unsigned At = v / 2 * Numbers + 2 * x + v % 2;

        assign f_depth[At]  = CountW'(VC_DEPTH);
        assign f_count[At]  = g_output[x].g_link_credits.count_q[v*CountW+:CountW];
        assign f_one[At]    = g_output[x].g_link_credits.one_q[v];
        assign f_passes[At] = pass_q[x] && pass_vc_q[x] == 3'(v);
        assign f_spent[At]  = f_passes[At] && pass_spent_q[x];
      end
      `F_HOLDS(!pass_q[x] || pass_vc_q[x] < 3'd6)
      `ALCOR_ASSUME(!credit_i[x] || credit_vc_i[x] < 3'd6)
    end else begin : g_f_local
      localparam int unsigned Number = x - LINKS;
      localparam int unsigned Kind = (Number < 2) ? Number : 2;
      localparam int unsigned At = Kind * Numbers + 2 * LINKS + Number - Kind;

      assign f_depth[At]  = CountW'(LOCAL_DEPTH);
      assign f_count[At]  = g_output[x].g_local_credits.count_q;
      assign f_one[At]    = g_output[x].g_local_credits.one_q;
      assign f_passes[At] = pass_q[x];
      assign f_spent[At]  = pass_q[x] && pass_spent_q[x];
    end
  end

  for (genvar i = 0; i < Ports; i++) begin : g_f_input
    logic f_is_outlet;
    logic [$clog2(4*Outlets)-1:0] f_place;

    assign f_is_outlet = try_class[i] < 2'd2 ? 32'(try_outlet[i]) < Numbers :
                         try_class[i] == 2'd2 && 32'(try_outlet[i]) < Outlets - 1;
    assign f_place     = ($clog2(4*Outlets))'(32'(try_class[i]) * Numbers + 32'(try_outlet[i]));
    `ALCOR_ASSUME(!try[i] || (f_is_outlet && f_shown_q[f_place]))
  end

  for (genvar o = 0; o < All; o++) begin : g_f_outlet
    `ALCOR_ASSUME(!give[o] || f_away_q[o] != '0)

    always_ff @(posedge clk_i) begin
      if (!rst_ni) f_away_q[o] <= '0;
      else f_away_q[o] <= f_away_q[o] + CountW'(f_passes[o]) - CountW'(give[o]);
    end

    // No credit is lost or doubled.
    `F_HOLDS((CountW+2)'(f_count[o]) + (CountW+2)'(f_away_q[o]) + (CountW+2)'(f_passes[o]) == (CountW+2)'(f_depth[o]))
    // No phit goes without a credit.
    `F_HOLDS(!take[o] || f_count[o] != '0)
    // The bits beside the count say the same.
    `F_HOLDS(credits_q[o] == (f_count[o] != '0))
    `F_HOLDS(f_one[o] == (f_count[o] == CountW'(1)))
    // A credit that was there a cycle ago is gone only with a phit of that cycle.
    `F_HOLDS(!f_shown_q[o] || f_count[o] != '0 || f_spent[o])
  end

  // All credits of a channel and of a local outlet are away at once, and come back.
  for (genvar o = 0; o < All; o++) begin : g_f_reached
    logic f_was_empty_q;

    always_ff @(posedge clk_i) f_was_empty_q <= rst_ni && (f_was_empty_q || f_away_q[o] == f_depth[o]);

    always @(posedge clk_i) if (rst_ni) cover (f_was_empty_q && f_count[o] == f_depth[o]);
  end

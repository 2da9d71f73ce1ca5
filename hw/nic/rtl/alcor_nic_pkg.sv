/// What the blocks of two-sided messages share.
package alcor_nic_pkg;
  /// Operations of a match queue.
  typedef enum logic [1:0] {
    MoSearch = 2'd0,  // find the first entry that matches, and take it out
    MoProbe  = 2'd1,  // find the first entry that matches
    MoAppend = 2'd2,  // put an entry at the end
    MoRemove = 2'd3   // take out an entry by its number
  } match_op_e;
endpackage

/// Operations and outcomes of the match store.
package alcor_match_pkg;

  /// An operation: the queue of the pair that it searches, and the treatment of the entry found.
  ///
  /// | operation | posted | by_id | keep | append |
  /// |---|---|---|---|---|
  /// | a message arrives | 1 | 0 | 0 | 1 |
  /// | a receive is posted | 0 | 0 | 0 | 1 |
  /// | probe | 0 | 0 | 1 | 0 |
  /// | matched probe, or a message is taken over | 0 | 0 | 0 | 0 |
  /// | a posted receive is cancelled | 1 | 1 | 0 | 0 |
  /// | the oldest posted receive is taken over (all mask bits set) | 1 | 0 | 0 | 0 |
  typedef struct packed {
    /// 1: searches the posted receives; 0: the unexpected messages.
    logic posted;
    /// Looks for the entry with the operation's id; else for the first entry that matches.
    logic by_id;
    /// Leaves the entry that it finds where it is.
    logic keep;
    /// Appends its own header to the pair's other queue if it finds nothing.
    logic append;
  } match_kind_t;

  /// Outcome of an operation.
  typedef enum logic [2:0] {
    MsNone     = 3'd0,  // nothing found, and nothing appended
    MsFound    = 3'd1,  // an entry found
    MsAppended = 3'd2,  // nothing found, and the header appended to the other queue
    MsRefused  = 3'd3,  // nothing changed, for lack of room, or because the pair is stopped
    MsKey      = 3'd4   // nothing searched: the pair has another key
  } match_status_e;

endpackage

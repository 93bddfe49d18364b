/** What a command ends with; one that has waited for a thread with that thread's own return code. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  /** An eval missed `--min-score` or `--min-pass`. */
  belowThreshold: 3,
  missing: 4,
  /** The thread was stopped, for it has as many steps as it may have: nobody says that it is done. */
  outOfRounds: 5,
  /** The thread waits for an answer: it is neither done nor failed. */
  waiting: 6,
  interrupted: 130,
  /** As a shell reports a program that SIGPIPE has ended. */
  readerGone: 141,
} as const;

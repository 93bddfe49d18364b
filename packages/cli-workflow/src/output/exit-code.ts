/** Exit codes of commands. A command that waited for a thread exits with that thread's return code. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  /** An eval missed `--min-score` or `--min-pass`. */
  belowThreshold: 3,
  missing: 4,
  /** The thread was stopped at its limit of steps; nothing says that its work is done. */
  outOfRounds: 5,
  /** The thread waits for an answer: it is neither completed nor failed. */
  waiting: 6,
  interrupted: 130,
  /** The shell's code for a program that SIGPIPE has ended. */
  readerGone: 141,
} as const;

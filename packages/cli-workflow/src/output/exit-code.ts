/** Exit codes of commands. A command that waited for a thread exits with that thread's return code. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  /** An eval missed `--min-score` or `--min-pass`. */
  belowThreshold: 3,
  missing: 4,
  /** The thread was stopped at its limit of steps, so its work may be unfinished. */
  outOfRounds: 5,
  /** The thread waits for an answer, so it is neither completed nor failed. */
  waiting: 6,
  interrupted: 130,
  /** The shell's exit code for a program ended by SIGPIPE. */
  readerGone: 141,
} as const;

/** How far constructs are, as a checkpoint tells it: the finished children, the finished iterations. */
export type Marks = {
  completedBranches: Record<string, string[]>;
  loopProgress: Record<string, number>;
};

/** Changes of marks as a commit records them; `null` clears one. */
export type MarkChanges = {
  completedBranches: Record<string, string[] | null>;
  loopProgress: Record<string, number | null>;
};

/** No change. */
export const noChanges = (): MarkChanges => ({ completedBranches: {}, loopProgress: {} });

/** With what a new thread goes on, as texts; empty where it stays as it was. */
export type Limits = {
  /** Another version. */
  on: string;
  maxRounds: string;
};

/** What is wrong with them, by their parts. */
export function problemsInLimits({ maxRounds }: Limits): { maxRounds?: string } {
  const rounds = Number(maxRounds);
  const isFine = maxRounds.trim() === "" || (Number.isInteger(rounds) && rounds > 0);
  return isFine ? {} : { maxRounds: "This must be a whole number from 1 on." };
}

/** Those that were changed, for a request. */
export const limitsOf = ({ on, maxRounds }: Limits): { on?: string; maxRounds?: number } => ({
  ...(on !== "" && { on }),
  ...(maxRounds.trim() !== "" && { maxRounds: Number(maxRounds) }),
});

import type { ThreadSpending } from "./thread.ts";

/** Calls, spending and failures of a role or a model. A role's call is one attempt, a model's call is one request. */
export type NamedFigures = {
  name: string;
  calls: number;
  tokens: number;
  cost: number;
  failed: number;
};

/** The work of a thread: its roles, spending and failures, without the work that a fork copied. */
export type ThreadWork = {
  /** Role of the last step that is not a question or an answer. */
  role: string | null;
  /** Role that asks the open question, if known. */
  asker: string | null;
  spent: ThreadSpending;
  hasError: boolean;
  roles: NamedFigures[];
  models: NamedFigures[];
};

/** Figures of a thread for the figures of its version. */
export type WorkFigures = Pick<ThreadWork, "roles" | "models">;

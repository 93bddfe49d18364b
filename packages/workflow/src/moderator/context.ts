import type { Attempts, OpenAttempt } from "../contract/attempt.ts";
import type { Journal } from "../contract/journal.ts";
import type { Questions } from "../contract/question.ts";
import type { SharedValues } from "../contract/shared-values.ts";
import type { Blobs, END, START, Step } from "../contract/contract.ts";

/** Maps role names to their meta types: the only type parameter, from which all types are inferred. */
export type RoleMeta = Record<string, Record<string, unknown>>;

/** The content and meta that a role returns for its step. */
export type RoleResult<Meta> = { content: string; meta: Meta };

/** Prompt and identity of a thread, before its first step. */
export type StartStep = {
  role: START;
  content: string;
  meta: { maxRounds: number; threadId: string };
  timestamp: number;
};

/** A finished step of a role. */
export type RoleStep<M extends RoleMeta> = {
  [K in keyof M & string]: { role: K; meta: M[K]; content: string; timestamp: number };
}[keyof M & string];

/**
 * The whole thread, for roles and moderators. Read-only.
 *
 * `steps` has the roles' steps. The step of a role that asked with `waitFor` appears after the answer, under the role's
 * name; the `__wait__` and `__input__` steps are in `allSteps`, which is the unmodified log. `role` is the name of the
 * current role, and `key` its idempotency key, which is the same after a resume, in a retry and in a fork. The other
 * fields are the input of `run`: see `WorkflowOptions`; `options` has further options of the start, and `forkFrom`.
 * `attempt` is set for a role that runs in the attempt of its caller (`usesAttempt`). A role that runs agents
 * concurrently opens an attempt for each with `attempts`. A role asks questions during its work with `questions`.
 */
export type ThreadContext<M extends RoleMeta = RoleMeta> = {
  threadId: string;
  start: StartStep;
  steps: RoleStep<M>[];
  allSteps?: readonly Step[];
  role?: string;
  key?: string;
  signal?: AbortSignal;
  cwd: string;
  env?: Readonly<Record<string, string>>;
  attempts?: Attempts;
  attempt?: OpenAttempt;
  blobs?: Blobs;
  journal?: Journal;
  questions?: Questions;
  worktrees?: string;
  shared?: SharedValues;
  params?: unknown;
  options?: Readonly<Record<string, unknown>>;
};

/** A role: an agent, a model call, a script. */
export type Role<Meta> = (ctx: ThreadContext) => Promise<RoleResult<Meta>>;

/** The interface of adapters to models and agents: text in, text out. */
export type AgentFn = (ctx: ThreadContext, systemPrompt: string) => Promise<string>;

/**
 * The routing function: returns the name of the next role, or `END`. It is synchronous and depends only on the context,
 * so a thread continues correctly from any of its steps.
 */
export type Moderator<M extends RoleMeta> = (ctx: ThreadContext<M>) => (keyof M & string) | END;

/** A workflow of roles: its name, its roles and the moderator that chooses the next role. */
export type WorkflowDefinition<M extends RoleMeta> = {
  name: string;
  roles: { [K in keyof M & string]: Role<M[K]> };
  moderator: Moderator<M>;
};

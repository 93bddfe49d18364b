import type { Attempts, OpenAttempt } from "../contract/attempt.ts";
import type { Journal } from "../contract/journal.ts";
import type { Questions } from "../contract/question.ts";
import type { SharedValues } from "../contract/shared-values.ts";
import type { Blobs, END, START, Step } from "../contract/contract.ts";

/** Maps role names to their meta types: the one generic that drives all inference. */
export type RoleMeta = Record<string, Record<string, unknown>>;

/** The content and meta that a role returns for its step. */
export type RoleResult<Meta> = { content: string; meta: Meta };

/** What precedes a thread's first step: the prompt and who the thread is. */
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
 * What a role and a moderator see: the whole thread. They read it and don't change it.
 *
 * `steps` are the roles' steps. A role that asked with `waitFor` is there once it is answered,
 * under its own name; the `__wait__` and `__input__` steps that brought the answer stand in
 * `allSteps`, which is the log as it is. A role also sees its own name as `role`, and as `key` an idempotency key,
 * which is the same after a resume, in a retry and in a fork. The rest is what
 * `run` was given: see `WorkflowOptions`; `options` holds what else the starter gave, and `forkFrom`.
 * `attempt` is the one that was opened for this role, when the role uses it as its own (`usesAttempt`); a
 * role that runs several agents concurrently opens one for each in `attempts`. `questions` is what it asks by while it works.
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
 * The routing function: the name of the role that is next, or `END`. It is synchronous and
 * depends on the context alone, so a thread continues correctly from any of its steps.
 */
export type Moderator<M extends RoleMeta> = (ctx: ThreadContext<M>) => (keyof M & string) | END;

/** A workflow of roles: its name, its roles and the moderator that chooses the next one. */
export type WorkflowDefinition<M extends RoleMeta> = {
  name: string;
  roles: { [K in keyof M & string]: Role<M[K]> };
  moderator: Moderator<M>;
};

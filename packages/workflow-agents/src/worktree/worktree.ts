import { dirname, join, resolve } from "node:path";
import { mkdir } from "node:fs/promises";
import { type Journal, usesAttempt, worktreeIn } from "@uncaged/workflow/interpreter";
import type {
  JsonSchema,
  Role,
  RoleResult,
  Step,
  ThreadContext,
  WorktreeMeta,
} from "@uncaged/workflow";
import { isObject } from "../run/error.ts";
import { cwdOf, digest, publish, withRun } from "../run/run.ts";
import { checkGit, type GitContext } from "./git.ts";
import { pathOf, type TreePlace } from "./note.ts";
import {
  commitNamed,
  hasChanges,
  hasObject,
  identityOf,
  type Repository,
  repositoryAt,
} from "./repository.ts";
import { type Begun, begunIn, Tree } from "./tree.ts";
import {
  commitMissing,
  invalidTreeName,
  noTreesFolder,
  worktreeBusy,
  worktreeField,
} from "./errors.ts";

/** Options of {@link worktree}. The defaults are in parentheses. */
export type WorktreeOptions = {
  /**
   * The starting point: a branch, tag or commit of the repository (`HEAD`). A function is called before each step. If
   * it returns undefined, the worktree continues with its last commit.
   */
  from?: string | ((ctx: ThreadContext) => string | undefined);
  /**
   * The scope of a worktree: the `thread` (the default), in whose worktree the roles work in sequence, or the `role`.
   * Concurrent members of a group in one role have their own worktrees.
   */
  of?: "thread" | "role";
  /** The name of the thread's worktree (`thread`), to distinguish several worktrees of the thread. */
  name?: string;
  /** A folder in the repository to use instead of the thread's directory. */
  repository?: string;
};

/** A role that works in a worktree. The meta of its steps has the commit. */
export type WorktreeRole<R> =
  R extends Role<infer Meta>
    ? Role<Meta & { worktree: WorktreeMeta }> &
        (R extends { readonly descriptor: infer Entry } ? { readonly descriptor: Entry } : unknown)
    : never;

/** The result of a merge: the names of the merged worktrees, and the files with conflicts. */
export type MergeMeta = { merged: string[]; conflicts: string[] };

/** A role that merges worktrees, from {@link Worktree.merge}, with its descriptor entry. */
export type MergeRole = Role<MergeMeta & { worktree: WorktreeMeta }> & {
  readonly descriptor: { description: string; schema: JsonSchema };
};

/** The function that {@link worktree} returns, which places roles in worktrees. */
export type Worktree = {
  /** Returns the role, placed in the worktree. */
  <R extends Role<object>>(role: R): WorktreeRole<R>;
  /**
   * Returns a role that merges the commits of other roles in their own worktrees. Conflicts do not fail the role. Files
   * with conflicts then have git's conflict markers, and `meta.conflicts` lists the files for the role that resolves
   * the conflicts in this worktree.
   */
  merge(...roles: string[]): MergeRole;
};

/**
 * Returns a function that places roles in a git worktree under the storage root: one worktree for each thread, or for
 * each role. For the roles and their commands and tools, the worktree is the working directory. Each step is committed
 * in the worktree, and `meta.worktree.commit` has the commit. A repeated step begins with the files of its last
 * execution if that execution recorded anything, and a fork with the files of its last step.
 *
 *     const own = worktree({ from: "main", of: "role" });
 *     const run = createRoleModerator({ roles: { coder: own(coder), tester: own(tester) }, moderator });
 *
 * @throws WorkflowError `BAD_WORKTREE` and `RESERVED_FIELD` at definition; when the role runs `NO_WORKTREES`, `NO_CWD`,
 *   `NO_REPOSITORY`, `NO_COMMIT_YET`, `NO_SUCH_COMMIT`, `COMMIT_MISSING`, `WORKTREE_BUSY`, `GIT_MISSING`,
 *   `GIT_TOO_OLD`, `GIT_FAILED`.
 */
export function worktree(options: WorktreeOptions = {}): Worktree {
  const { name = "thread" } = options;
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) throw invalidTreeName(name);
  const inTree = (role: Role<Record<string, unknown>>) => {
    const play: Role<Record<string, unknown>> = (given) =>
      withTree({ ...options, name }, given, async (tree, ctx) => {
        const { attempt, ...rest } = ctx;
        const result = await role(usesAttempt in role ? { ...rest, attempt } : rest);
        return { result, ...(await committed(tree, ctx)) };
      });
    return Object.assign(play, { [usesAttempt]: true, ...descriptorOf(role) });
  };
  const merge = (...roles: string[]): MergeRole => {
    const play: Role<Record<string, unknown>> = (given) =>
      withTree({ ...options, name }, given, (tree, ctx) => mergeIn(tree, ctx, roles));
    const description = `Merges the commits of ${roles.join(", ")}`;
    const entry = { description, schema: withWorktree(mergeSchema) };
    return Object.assign(play, { [usesAttempt]: true, descriptor: entry }) as unknown as MergeRole;
  };
  return Object.assign(inTree, { merge }) as unknown as Worktree;
}

/** Returns the commit of a role's last step in a worktree, or undefined. */
export function commitOf(
  { steps }: Pick<ThreadContext, "steps">,
  role: string,
): string | undefined {
  const step = steps.findLast((one) => one.role === role && worktreeIn(one));
  return step && worktreeIn(step)?.commit;
}

const mergeSchema = {
  type: "object",
  properties: {
    merged: { type: "array", items: { type: "string" } },
    conflicts: { type: "array", items: { type: "string" } },
  },
  required: ["merged", "conflicts"],
};

/**
 * Adds the worktree's fields to a schema.
 * @throws WorkflowError `RESERVED_FIELD` if the role has its own field with that name.
 */
function withWorktree(schema: JsonSchema): JsonSchema {
  if (!isObject(schema) || !isObject(schema.properties)) return schema;
  if ("worktree" in schema.properties) throw worktreeField();
  const properties = { ...schema.properties, worktree: { type: "object" } };
  const required = Array.isArray(schema.required) ? (schema.required as unknown[]) : [];
  return { ...schema, properties, required: [...required, "worktree"] };
}

function descriptorOf(role: object): { descriptor?: { description: string; schema: JsonSchema } } {
  if (!("descriptor" in role)) return {};
  const { description, schema } = role.descriptor as { description: string; schema: JsonSchema };
  return { descriptor: { description, schema: withWorktree(schema) } };
}

type Done = { result: RoleResult<Record<string, unknown>>; meta: WorktreeMeta; left: string[] };

async function committed(tree: Tree, ctx: ThreadContext, merged: readonly string[] = []) {
  const { role = "role", threadId } = ctx;
  const title = role.replace(/[\s\p{Cc}]+/gu, " ").slice(0, 60);
  return await tree.commit(`${title}\n\nThread: ${threadId}\n`, merged);
}

async function mergeIn(tree: Tree, ctx: ThreadContext, roles: readonly string[]): Promise<Done> {
  const merged: string[] = [];
  const conflicts = new Set<string>();
  let done: Omit<Done, "result"> | null = null;
  for (const { name, commit } of lastOf(ctx, roles)) {
    if (await tree.has(commit)) continue;
    for (const path of await tree.merge(commit)) conflicts.add(path);
    merged.push(name);
    done = await committed(tree, ctx, [commit]);
  }
  done ??= await committed(tree, ctx);
  const what = merged.length > 0 ? `merged ${merged.join(", ")}` : "nothing to merge";
  const where = [...conflicts].map((path) => `- ${path}`);
  const lines = conflicts.size > 0 ? [`${what}; they conflict in`, ...where] : [what];
  const meta = { merged, conflicts: [...conflicts] };
  return { ...done, result: { content: lines.join("\n"), meta } };
}

/** Returns the last commit of each worktree in which these roles worked. */
function lastOf({ steps }: ThreadContext, roles: readonly string[]): WorktreeMeta[] {
  const found = new Map<string, WorktreeMeta>();
  for (const step of steps) {
    const made = roles.includes(step.role) ? worktreeIn(step) : null;
    if (made) found.set(made.name, made);
  }
  return [...found.values()];
}

type Named = WorktreeOptions & { name: string };

/** Runs a role in its worktree, and adds the commit to the step's meta. */
async function withTree(
  options: Named,
  ctx: ThreadContext,
  work: (tree: Tree, ctx: ThreadContext) => Promise<Done>,
): Promise<RoleResult<Record<string, unknown>>> {
  const { env = {}, signal = new AbortController().signal, worktrees: folder } = ctx;
  if (folder === undefined) throw noTreesFolder();
  const at = { folder, name: nameOf(options, ctx) };
  return await alone(pathOf(at), signal, async () => {
    const { tree, repository } = await begin({ folder, env, signal }, at, options, ctx);
    const cwd = resolve(tree.path, repository.prefix);
    await mkdir(cwd, { recursive: true });
    // If the `.git` file is missing, git must not use a repository around the storage root instead.
    const own = { ...env, GIT_CEILING_DIRECTORIES: dirname(tree.path) };
    const journal = ctx.journal && journalOf(tree, ctx.journal);
    const { result, meta, left } = await work(tree, { ...ctx, cwd, env: own, journal });
    if (left.length > 0) warn(ctx, `the commit of the worktree leaves out: ${left.join("; ")}`);
    return { ...result, meta: { ...result.meta, worktree: meta } };
  });
}

/** Returns a journal for one worktree, in which the id of the worktree's files is part of each key. */
const journalOf = (tree: Tree, journal: Journal): Journal => ({
  ...journal,
  read: (key) => journal.read(journalKey(key, tree.id)),
  record: (key, entry, taken) => journal.record(journalKey(key, tree.id), entry, taken),
});

const journalKey = (key: string, id: string): string => `${key}@${id}`;

async function begin(
  given: GitContext,
  at: TreePlace,
  { from = "HEAD", repository: folder }: Named,
  ctx: ThreadContext,
): Promise<{ tree: Tree; repository: Repository }> {
  const here = folder ?? cwdOf(ctx, "a worktree is made in its repository");
  await checkGit(given, "/");
  const repository = await repositoryAt(given, here);
  const context = { ...given, identity: await identityOf(given, repository) };
  const last = lastIn(ctx, at.name);
  const asked = typeof from === "string" ? undefined : from(ctx);
  const fixed = asked === undefined ? last?.commit : await commitNamed(context, repository, asked);
  if (last && fixed === last.commit) await checkCommit(context, repository, last, ctx);
  const begun = begunBefore(at, repository, ctx).filter(
    ({ note }) => fixed === undefined || note.base === fixed || note.commit === fixed,
  );
  const goesOn = await recordedIn(begun, ctx);
  const start = typeof from === "string" ? from : "HEAD";
  const base = fixed ?? begun[0]?.note.base ?? (await commitNamed(context, repository, start));
  if (!last && !begun[0]) await warnOfRepository(context, repository, start, base, ctx);
  const owner = { ...at, threadId: ctx.threadId, repository };
  const key = ctx.key ?? null;
  const tree = await Tree.begin(owner, context, { base, key, from: goesOn });
  return { tree, repository };
}

/** Returns the commit of the last step in the worktree, including a question of the role. */
function lastIn({ allSteps, steps }: ThreadContext, name: string): WorktreeMeta | null {
  const all: readonly Pick<Step, "meta">[] = allSteps ?? steps;
  return all.reduce<WorktreeMeta | null>((last, step) => {
    const made = worktreeIn(step);
    return made?.name === name ? made : last;
  }, null);
}

/**
 * Returns the worktrees in which the same step was started before, in this thread or in the threads from which it was
 * forked.
 */
function begunBefore(at: TreePlace, { gitDir }: Repository, ctx: ThreadContext): Begun[] {
  const { key, options = {} } = ctx;
  if (key === undefined) return [];
  const { threadId, origin } = (options.forkFrom ?? {}) as { threadId?: string; origin?: string };
  const sources = [...new Set([threadId, origin])].flatMap((id) => {
    return typeof id === "string" ? { ...at, folder: join(dirname(at.folder), id) } : [];
  });
  return begunIn([at, ...sources], gitDir, key);
}

/**
 * Returns the first worktree whose execution has records in the journal, so that the next execution can continue with
 * its files.
 */
async function recordedIn(begun: readonly Begun[], ctx: ThreadContext): Promise<Begun | null> {
  const { key, journal } = ctx;
  if (key === undefined || !journal) return null;
  for (const one of begun) {
    if ((await journal.read(journalKey(key, one.note.id))).length > 0) return one;
  }
  return null;
}

async function checkCommit(
  context: GitContext,
  repository: Repository,
  { commit, repository: made }: WorktreeMeta,
  { threadId }: ThreadContext,
): Promise<void> {
  if (await hasObject(context, repository, `${commit}^{commit}`)) return;
  const { gitDir } = repository;
  throw commitMissing(threadId, commit, { gitDir, made: made === gitDir ? null : made });
}

async function warnOfRepository(
  context: GitContext,
  repository: Repository,
  start: string,
  base: string,
  ctx: ThreadContext,
): Promise<void> {
  if (start === "HEAD" && (await hasChanges(context, repository))) {
    warn(ctx, `uncommitted changes in ${repository.folder} are not in the worktree`);
  }
  if (await hasObject(context, repository, `${base}:.gitmodules`)) {
    warn(
      ctx,
      "the folders of submodules are empty in the worktree, and stay as they are in its commits",
    );
  }
}

function warn(ctx: ThreadContext, message: string): void {
  const payload = { name: "worktree", level: "warn", message, data: null };
  const run = { stepID: ctx.role ?? "agent", spent: [], memory: {} };
  withRun(run, () => publish("tool_message", payload));
}

/**
 * Returns the name of a worktree: the thread's name for it, or for a role's own worktree the role and its group member.
 */
function nameOf({ of = "thread", name }: Named, { role = "role", attempt }: ThreadContext): string {
  if (of === "thread") return name;
  const path = (attempt?.path ?? []).map((part) =>
    "run" in part ? part.run : `${part.child === role ? "" : part.child}${part.iteration ?? ""}`,
  );
  return [role, ...path].map(slug).join("@");
}

function slug(text: string): string {
  if (/^[A-Za-z0-9_-]{0,40}$/.test(text)) return text;
  return `${text.replace(/[^A-Za-z0-9_-]+/g, "-").slice(0, 40)}-${digest(text).slice(0, 6)}`;
}

/** The current work in each worktree: its signal, and the promise of its end. */
const busy = new Map<string, { signal: AbortSignal; ended: Promise<unknown> }>();
const leavingMs = 60_000;

/**
 * Runs work that must be alone in a worktree. Waits up to a minute for a role that is being stopped.
 * @throws WorkflowError if another role uses the worktree.
 */
async function alone<T>(path: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  for (let other = busy.get(path); other; other = busy.get(path)) {
    const isLeaving = other.signal.aborted && (await settledWithin(other.ended, leavingMs));
    if (isLeaving) continue;
    throw worktreeBusy(path);
  }
  const running = work();
  const ended = running.catch(() => undefined);
  busy.set(path, { signal, ended });
  try {
    return await running;
  } finally {
    busy.delete(path);
  }
}

async function settledWithin(ended: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<false>((done) => {
    timer = setTimeout(() => done(false), ms);
  });
  return await Promise.race([ended.then(() => true), late]).finally(() => clearTimeout(timer));
}

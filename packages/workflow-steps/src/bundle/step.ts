import { INPUT, type RoleOutput, WAIT, WorkflowError } from "@uncaged/workflow";
import type { PauseRequest } from "../context/feed.ts";
import { isPlain } from "../expression/value.ts";
import type { Commit, PathPart } from "../state/commit.ts";

/** Meta of the `__wait__` step of a Pause. */
export type PauseMeta = PauseRequest & { for: "pause" };

/**
 * Meta of the `__input__` step with which a rerun begins. `checkpoint` wins over the steps before it.
 * Without `stepID` the run goes on where they, or the checkpoint, stand. With a `path` the step is that
 * of the chain there, all others stay where they are, and the overrides are those of the run it is of.
 */
export type RerunMeta = {
  for: "rerun";
  stepID?: string;
  path?: readonly PathPart[];
  overrides?: Record<string, unknown>;
  checkpoint?: unknown;
};

/** A committed step of a run as a thread records it. `content` is a line for people. */
export const commitOutput = (role: string, commit: Commit): RoleOutput => ({
  role,
  content: lineOf(role, commit),
  meta: commit,
});

/** The `__wait__` step of a Pause. */
export function pauseOutput(wait: PauseRequest): RoleOutput {
  const meta: PauseMeta = { for: "pause", ...wait };
  return { role: WAIT, content: wait.reason ?? `${wait.stepID} waits for an answer`, meta };
}

/** What a step of a thread tells: a commit, a question, an answer, or where a rerun begins. */
export type Told =
  | { kind: "commit"; commit: Commit }
  | { kind: "pause"; stepID: string; path: PathPart[] }
  | { kind: "answer"; meta: Record<string, unknown>; content: string }
  | { kind: "rerun"; meta: RerunMeta };

/**
 * Reads a step of a thread.
 *
 * @throws WorkflowError `NOT_STEPS` for one that no step workflow made.
 */
export function toldBy({ role, content, meta }: RoleOutput, number: number): Told {
  if (role === WAIT && meta.for === "pause") {
    return { kind: "pause", stepID: String(meta.stepID), path: (meta.path ?? []) as PathPart[] };
  }
  if (role === INPUT && meta.for === "rerun") return { kind: "rerun", meta: meta as RerunMeta };
  if (role === INPUT) return { kind: "answer", meta, content };
  if (isCommit(meta)) return { kind: "commit", commit: meta };
  throw new WorkflowError({
    code: "NOT_STEPS",
    kind: "failed",
    message: `step ${number} (${role}) was not made by a step workflow`,
    hint: "a step workflow can go on only from steps of its own",
  });
}

const isCommit = (meta: Record<string, unknown>): meta is Commit =>
  Array.isArray(meta.path) &&
  Array.isArray(meta.variables) &&
  isPlain(meta.loopProgress) &&
  typeof meta.next === "string";

/** `LLM_Analyze: $plan set (1.2 KB), 12.3 s` */
function lineOf(role: string, commit: Commit): string {
  const { artifacts, durationMs, phase, selected, variables } = commit;
  if (phase === "mark") return `${role}: ${progressOf(commit)}`;
  const names = [...new Set(variables.map(({ path }) => String(path[0])))];
  const sizes = variables.reduce((sum, { value }) => sum + sizeOf(value), 0);
  const parts = [
    ...(names.length > 0 ? [`${listed(names)} set (${bytes(sizes)})`] : []),
    ...(artifacts.length > 0 ? [`${listed(artifacts.map(({ path }) => path))} written`] : []),
    ...(selected ? [`chose ${selected}`] : []),
    ...(selected === null ? ["no case held"] : []),
    ...(phase === "body" ? ["begun"] : []),
    `${(durationMs / 1000).toFixed(1)} s`,
  ];
  return `${role}: ${parts.join(", ")}`;
}

function progressOf({ completedBranches, loopProgress, path }: Commit): string {
  const last = path.at(-1);
  const child = last && "child" in last ? last.child : "";
  const [finished] = Object.values(loopProgress).filter((count) => count !== null);
  if (finished !== undefined)
    return `${finished} ${finished === 1 ? "iteration" : "iterations"} done`;
  return Object.keys(completedBranches).length > 0 ? `${child} done` : "done";
}

const listed = (names: string[]): string =>
  names.length > 3
    ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more`
    : names.join(", ");

const sizeOf = (value: unknown): number =>
  typeof value === "string" ? value.length : (JSON.stringify(value)?.length ?? 0);

const bytes = (size: number): string =>
  size < 1000 ? `${size} B` : `${(size / 1000).toFixed(1)} KB`;

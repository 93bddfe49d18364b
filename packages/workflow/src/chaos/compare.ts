import { END, INPUT, type RoleOutput, type Step } from "../contract/contract.ts";
import { isRecord } from "../contract/show.ts";
import { sleepsUntil } from "../contract/wait.ts";
import { tryOf } from "../durable/output.ts";
import type { EndRecord } from "../record/record.ts";
import { identityOf } from "./identity.ts";
import type { Run } from "./drive.ts";
import type { FilesIn } from "./folder.ts";

/**
 * The first difference between a run and an undisturbed run. `step` is the number of the step, from 1; the end counts
 * as one more step; null when a file differs. A side is null if its run lacks the step or the file.
 */
export type Difference = {
  step: number | null;
  undisturbed: Side | null;
  faulted: Side | null;
  /** Whether the varying output of an earlier step may be the cause. */
  isExplained: boolean;
};

/**
 * The step, end or file of one run in a difference. `role` is the step's role, `__end__` for an end, null for a file.
 * `text` is for people; comparisons use `key`. `cause` is the subject of a question, or the role that an error of a
 * replay names.
 */
export type Side = { role: string | null; text: string; key: string; cause?: string };

/** Differences between undisturbed runs. They are ignored in runs with faults. */
export type Varying = {
  /** Roles whose outputs differ. Of their steps, only the role names are compared. */
  readonly roles: Set<string>;
  readonly files: Set<string>;
  /** Whether the names of files differ. Then only files of the undisturbed run are compared. */
  hasNames: boolean;
  /** Whether ends differ after varying outputs. */
  isEnd: boolean;
  /** Whether paths differ after varying outputs. */
  isPath: boolean;
};

/**
 * A step and its index in the run. `openedAt` is the number of steps in the log when its work began. `id` is unique
 * among the steps of a run.
 */
type Placed = { step: Step; id: string; at: number; openedAt: number; path: readonly string[] };

/**
 * Returns the first difference between a run and an undisturbed run; null when they are equal. Ignores the order of
 * concurrent steps. After a varying output, also ignores another path or end if undisturbed runs vary in it too.
 */
export function differenceOf(whole: Run, run: Run, varying: Varying): Difference | null {
  const found = pathDifference(whole, run, varying);
  const exact = pathDifference(whole, run, nothing);
  const isExplained = exact !== null && exact.step !== found?.step;
  if (found && !(isExplained && varying.isPath)) return { ...found, isExplained };
  const end = found ? null : endDifference(whole, run);
  if (end && !(isExplained && varying.isEnd)) return { ...end, isExplained };
  return fileDifference(whole.files, run.files, varying);
}

const nothing: Pick<Varying, "roles"> = { roles: new Set() };

/** Returns the difference between the ends of two runs with the same steps; null when they are equal. */
export function endDifference({ steps, end }: Run, run: Run): Difference | null {
  const [undisturbed, faulted] = [endSide(end), endSide(run.end)];
  if (undisturbed?.text === faulted?.text) return null;
  return { step: steps.length + 1, undisturbed, faulted, isExplained: false };
}

/**
 * Compares undisturbed runs. Returns the parts that vary because a role's output varies, and for each other run the
 * difference that no varying output explains.
 */
export function varyingIn(
  whole: Run,
  others: readonly Run[],
): { varying: Varying; unexplained: (Difference | null)[] } {
  const varying: Varying = {
    ...{ roles: varyingRoles([whole, ...others]), files: new Set<string>() },
    ...{ hasNames: false, isEnd: false, isPath: false },
  };
  const learn = (other: Run): Difference | null => {
    for (;;) {
      const found = differenceOf(whole, other, varying);
      if (!found || (!noteVarying(found, varying) && !found.isExplained)) return found;
      const { undisturbed, faulted } = found;
      if (undisturbed?.role === END && faulted?.role === END) varying.isEnd = true;
      else if (undisturbed?.role !== faulted?.role) varying.isPath = true;
    }
  };
  return { varying, unexplained: others.map(learn) };
}

/** Returns the roles whose n-th steps differ between runs, also if the runs have different paths. */
function varyingRoles(runs: readonly Run[]): Set<string> {
  const outputs = new Map<string, string>();
  const roles = new Set<string>();
  for (const { steps } of runs) {
    const counts = new Map<string, number>();
    for (const step of steps) {
      const { role } = step;
      const count = (counts.get(role) ?? 0) + 1;
      counts.set(role, count);
      const [name, output] = [`${role} ${count}`, identityOf(step)];
      if ((outputs.get(name) ?? output) !== output && !role.startsWith("__")) roles.add(role);
      outputs.set(name, output);
    }
  }
  return roles;
}

/** Returns whether a run contains the step or file of a side. If the side is null, returns whether it lacks `file`. */
export function hasSide({ steps, files }: Run, side: Side | null, file: Side | null): boolean {
  if (side === null) return files?.has(fileOf(file)) === false;
  if (side.role !== null) return steps.some((step) => identityOf(step) === side.key);
  return [...(files ?? [])].some(([name, content]) => fileSide(name, content).key === side.key);
}

/**
 * Adds the role or the file of a difference to the varying parts. Returns false for a difference of paths or ends.
 */
export function noteVarying({ step, undisturbed, faulted }: Difference, varying: Varying): boolean {
  if (step === null) {
    varying.files.add(fileOf(undisturbed ?? faulted));
    varying.hasNames ||= undisturbed === null || faulted === null;
    return true;
  }
  const role = undisturbed?.role ?? END;
  if (role !== faulted?.role || role === END) return false;
  varying.roles.add(role);
  return true;
}

/** Returns the first difference between the steps of two runs; null when they are equal. */
function pathDifference(
  whole: Run,
  run: Run,
  varying: Pick<Varying, "roles">,
): Omit<Difference, "isExplained"> | null {
  const before = placedIn(whole, varying);
  const rest = placedIn(run, varying);
  for (const one of before) {
    const found = rest.findIndex(({ id }) => id === one.id);
    const match = rest[found];
    const passed = rest.slice(0, Math.max(0, found));
    if (!match || !passed.every((each) => mayPass(each, match, before))) {
      return { step: one.at + 1, ...sidesOf(one, rest[0], run.end) };
    }
    rest.splice(found, 1);
  }
  const [extra] = rest;
  if (!extra) return null;
  return {
    step: whole.steps.length + 1,
    undisturbed: endSide(whole.end),
    faulted: sideOf(extra.step),
  };
}

function fileDifference(
  whole: FilesIn | null,
  run: FilesIn | null,
  { files, hasNames }: Varying,
): Difference | null {
  if (whole === null || run === null) return null;
  const names = [...new Set([...whole.keys(), ...(hasNames ? [] : run.keys())])];
  const file = names.find((name) => !files.has(name) && whole.get(name) !== run.get(name));
  if (file === undefined) return null;
  const side = (found: FilesIn): Side | null => {
    const content = found.get(file);
    return content === undefined ? null : fileSide(file, content);
  };
  return { step: null, undisturbed: side(whole), faulted: side(run), isExplained: false };
}

const fileSide = (file: string, content: string): Side => {
  const text = `${file}: ${content}`;
  return { role: null, text, key: text };
};

const fileOf = (side: Side | null): string => side?.text.split(": ")[0] ?? "";

/** Returns whether a step is part of the comparison. Failed tries and sleeps are reactions to faults. */
const isOwn = (step: Step, index: number, steps: readonly Step[]): boolean =>
  tryOf(step) === null &&
  sleepsUntil(step) === null &&
  sleepsUntil(steps[index - 1] ?? null) === null;

function placedIn({ steps, openedAt }: Run, varying: Pick<Varying, "roles">): Placed[] {
  const counts = new Map<string, number>();
  return steps.flatMap((step, at) => {
    if (!isOwn(step, at, steps)) return [];
    const key = varying.roles.has(step.role) ? step.role : identityOf(step);
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    // An answer belongs to the step that asked.
    const isAnswer = step.role === INPUT && at > 0;
    const from = isAnswer ? at - 1 : at;
    const path = pathOf(steps[from]);
    return [{ step, id: `${key} ${count}`, at, openedAt: openedAt[from] ?? at, path }];
  });
}

/** Returns the constructs around a step as texts, without the ids of child runs, which differ between runs. */
function pathOf(step: Step | undefined): string[] {
  const path = step?.meta.path;
  if (!Array.isArray(path)) return [];
  return path.map((part) => JSON.stringify(isRecord(part) ? { ...part, run: undefined } : part));
}

/** Returns whether work overlapped, in the undisturbed run, in the two chains of a construct that the steps are in. */
function areBeside(a: Placed, b: Placed, before: readonly Placed[]): boolean {
  const fork = a.path.findIndex((part, index) => part !== b.path[index]);
  if (fork < 0 || b.path[fork] === undefined) return false;
  const chainOf = ({ path }: Placed) =>
    before.filter((one) => path.slice(0, fork + 1).every((part, at) => one.path[at] === part));
  const [first, second] = [chainOf(a), chainOf(b)];
  return first.some((one) =>
    second.some((other) => one.openedAt <= other.at && other.openedAt <= one.at),
  );
}

/** Returns whether two steps may have another order than in the undisturbed run: their work overlapped in a run. */
function mayPass(early: Placed, late: Placed, before: readonly Placed[]): boolean {
  if (late.openedAt <= early.at) return true;
  const [first, second] = [late, early].map(({ id }) => before.find((one) => one.id === id));
  if (first === undefined || second === undefined) return false;
  return second.openedAt <= first.at || areBeside(first, second, before);
}

const longest = 80;

/**
 * Returns the sides of two steps, or of a step and an end. Two steps with equal texts get texts with the difference.
 */
function sidesOf(
  one: Placed,
  other: Placed | undefined,
  ended: EndRecord | null,
): { undisturbed: Side; faulted: Side | null } {
  if (!other) return { undisturbed: sideOf(one.step), faulted: endSide(ended) };
  const sides = { undisturbed: sideOf(one.step), faulted: sideOf(other.step) };
  if (one.step.role !== other.step.role || sides.undisturbed.text !== sides.faulted.text)
    return sides;
  const [a, b] = [identityOf(one.step), identityOf(other.step)];
  let same = 0;
  while (a[same] === b[same]) same += 1;
  const from = Math.max(0, same - longest / 4);
  const shown = (side: Side, identity: string): Side => ({
    ...side,
    text: `${side.role} … ${identity.slice(from, from + longest)}`,
  });
  return { undisturbed: shown(sides.undisturbed, a), faulted: shown(sides.faulted, b) };
}

const sideOf = (step: RoleOutput): Side => {
  const { role, content, meta } = step;
  const what = typeof meta.for === "string" ? meta.for : undefined;
  const text = content === "" ? "" : ` ${JSON.stringify(content.slice(0, longest))}`;
  const whole = `${role}${what === undefined ? "" : ` for ${what}`}${text}`;
  // The source contains the subject of a question, not the role `__wait__`.
  return { role, text: whole, key: identityOf(step), ...(what !== undefined && { cause: what }) };
};

function endSide(end: EndRecord | null): Side | null {
  if (end === null) return null;
  const { returnCode, reason, value } = end.meta;
  const how = reason === "returned" ? `returned ${returnCode}` : reason;
  const data = value === undefined ? "" : ` with ${JSON.stringify(value).slice(0, longest)}`;
  const text = `${how} ${JSON.stringify(end.content.slice(0, 2 * longest))}${data}`;
  // Both messages end with the role that the workflow has reached.
  const isReplay = /^step \d+ of the log is |^the fixture of \S+ has no answer /.test(end.content);
  const cause = isReplay ? /"([^"]+)"$/.exec(end.content)?.[1] : undefined;
  return { role: END, text, key: text, ...(cause !== undefined && { cause }) };
}

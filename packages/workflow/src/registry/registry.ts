import { checkWorkflowName } from "../storage/paths.ts";

/** One registered version of a workflow: its bundle, and when it was registered (milliseconds). */
export type Version = { readonly hash: string; readonly timestamp: number };

/**
 * A registered name's value: the current version, and in `history` every other version that it ever
 * had, newest first.
 */
export type Workflow = Version & { readonly history: readonly Version[] };

/** The registry by name: a map and no object, for a workflow may be called `constructor` or `42`. */
export type Registry = ReadonlyMap<string, Workflow>;

/** The largest registry that is read, in bytes: room for more than a hundred thousand versions. */
export const maxRegistryBytes = 16 * 1024 * 1024;

/** The last millisecond that a date can show. */
export const maxTimestamp = 8.64e15;

/** Whether a value can be a version's timestamp. */
export const isTimestamp = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= maxTimestamp;

/** Whether a text can be a version's hash. The RFC's own example has a letter that no hash has. */
export const isVersionHash = (text: string): boolean => /^[0-9A-Z]{13}$/.test(text);

/** Words that some reader of YAML 1.1 or 1.2 takes for something else than a string. */
const notAString = /^(true|false|null|yes|no|on|off|y|n)$/i;

/**
 * The registry as the text of `workflow.yaml`: the one form that is ever written, with the key order,
 * the quotes and the indent of RFC-001 section 4.
 */
export function serialiseRegistry(registry: Registry): string {
  if (registry.size === 0) return "workflows: {}\n";
  return `workflows:\n${[...registry].map(serialiseWorkflow).join("")}`;
}

function serialiseWorkflow([name, workflow]: [string, Workflow]): string {
  const { hash, timestamp, history } = workflow;
  const head = `  ${key(name)}:\n    hash: "${hash}"\n    timestamp: ${timestamp}\n`;
  if (history.length === 0) return `${head}    history: []\n`;
  const versions = history.map(
    (version) => `      - hash: "${version.hash}"\n        timestamp: ${version.timestamp}\n`,
  );
  return `${head}    history:\n${versions.join("")}`;
}

function key(name: string): string {
  return /^[A-Za-z]/.test(name) && !notAString.test(name) ? name : `"${name}"`;
}

type Draft = { name: string; versions: Partial<{ hash: string; timestamp: number }>[] };

const nameLine = /^ {2}"?([^": ]+)"?:$/;
const hashLine = /^(?: {4}| {6}- )hash: "([^"]*)"$/;
const timestampLine = /^(?: {4}| {8})timestamp: (\d{1,16})$/;
const historyLine = /^ {4}history:( \[\])?$/;

/**
 * Reads a registry in the form that we write, without the YAML library, whose start costs more than
 * all else that `run` does before it speaks to a worker. Null when the text is anything else: also
 * when it is good YAML, and when it is broken.
 *
 * What is accepted is exactly what {@link serialiseRegistry} gives: it is written again and compared.
 */
export function readCanonical(text: string): Registry | null {
  if (text === "workflows: {}\n") return new Map();
  const drafts = readLines(text.split("\n"));
  if (!drafts) return null;
  const registry = new Map<string, Workflow>();
  for (const draft of drafts) {
    const [current, ...history] = draft.versions.filter(isVersion);
    if (!current || history.length + 1 !== draft.versions.length) return null;
    if (!isName(draft.name) || registry.has(draft.name)) return null;
    registry.set(draft.name, { ...current, history });
  }
  return hasRepeats(registry) || serialiseRegistry(registry) !== text ? null : registry;
}

/** The line, from 1, at which a text first shows that it is not in the form that we write. */
export function firstOddLine(text: string): number {
  const lines = text.split("\n");
  const known = [/^workflows:$/, nameLine, hashLine, timestampLine, historyLine];
  const odd = lines.findIndex((line) => !known.some((pattern) => pattern.test(line)));
  return odd < 0 ? 1 : odd + 1;
}

function readLines(lines: string[]): Draft[] | null {
  const drafts: Draft[] = [];
  for (const line of lines) {
    const name = nameLine.exec(line)?.[1];
    const hash = hashLine.exec(line)?.[1];
    const timestamp = timestampLine.exec(line)?.[1];
    const versions = drafts.at(-1)?.versions;
    if (name !== undefined) drafts.push({ name, versions: [] });
    else if (hash !== undefined) versions?.push({ hash });
    else if (timestamp !== undefined) {
      const version = versions?.at(-1);
      if (!version) return null;
      version.timestamp = Number(timestamp);
    }
  }
  return drafts;
}

function isVersion(draft: Partial<Version>): draft is Version {
  return draft.hash !== undefined && isVersionHash(draft.hash) && isTimestamp(draft.timestamp);
}

function hasRepeats(registry: Registry): boolean {
  for (const { hash, history } of registry.values()) {
    if (new Set([hash, ...history.map((version) => version.hash)]).size !== history.length + 1) {
      return true;
    }
  }
  return false;
}

function isName(text: string): boolean {
  try {
    return checkWorkflowName(text) === text;
  } catch {
    return false;
  }
}

import { checkRegisteredName } from "../storage/paths.ts";

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

const entryLines =
  /^ {2}"?([^": ]+)"?:$|^(?: {4}| {6}- )hash: "([0-9A-Z]{13})"\n +timestamp: (\d{1,16})$/gm;
const knownLine =
  /^(workflows:| {2}"?[^": ]+"?:|( {4}| {6}- )hash: "[^"]*"|( {4}| {8})timestamp: \d{1,16}| {4}history:( \[\])?)$/;

/**
 * Reads exactly what {@link serialiseRegistry} gives, without the YAML library, whose start costs more than
 * all else that `run` does before it speaks to a worker. Null for all other texts, good YAML too.
 */
export function readCanonical(text: string): Registry | null {
  const found: { name: string; versions: Version[] }[] = [];
  for (const [, name, hash = "", timestamp] of text.matchAll(entryLines)) {
    if (name !== undefined) found.push({ name, versions: [] });
    else found.at(-1)?.versions.push({ hash, timestamp: Number(timestamp) });
  }
  const registry = new Map<string, Workflow>();
  for (const { name, versions } of found) {
    const [current, ...history] = versions;
    if (!current || !isName(name) || !areVersions(versions)) return null;
    registry.set(name, { ...current, history });
  }
  return serialiseRegistry(registry) === text ? registry : null;
}

/** The line, from 1, at which a text first shows that it is not in the form that we write. */
export function firstOddLine(text: string): number {
  return text.split("\n").findIndex((line) => !knownLine.test(line)) + 1 || 1;
}

const areVersions = (versions: readonly Version[]): boolean =>
  new Set(versions.map(({ hash }) => hash)).size === versions.length &&
  versions.every(({ timestamp }) => isTimestamp(timestamp));

function isName(text: string): boolean {
  try {
    return checkRegisteredName(text) === text;
  } catch {
    return false;
  }
}

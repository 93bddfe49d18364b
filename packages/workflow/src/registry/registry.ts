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

/** Whether a value can stand as a version's timestamp. */
export const isTimestamp = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= maxTimestamp;

/** Whether a text can stand as a version's hash. The RFC's own example has a letter that no hash has. */
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

import { stringify } from "yaml";

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

/** The registry as the text of `workflow.yaml`, as RFC-001 section 4 shows it. YAML 1.1 readers get the same values. */
export function serialiseRegistry(registry: Registry): string {
  const workflows = new Map(
    [...registry].map(([name, { hash, timestamp, history }]) => [
      name,
      { hash, timestamp, history: history.map(versionOf) },
    ]),
  );
  return stringify(
    { workflows },
    {
      compat: "yaml-1.1",
      defaultStringType: "QUOTE_DOUBLE",
      defaultKeyType: "PLAIN",
      aliasDuplicateObjects: false,
    },
  );
}

const versionOf = ({ hash, timestamp }: Version): Version => ({ hash, timestamp });

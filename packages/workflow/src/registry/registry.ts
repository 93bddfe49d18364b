import { stringify } from "yaml";
import { xxh64 } from "../record/xxh64.ts";

/**
 * One registered version of a workflow: its bundle, the SHA-256 of the bundle's bytes, and when it was registered
 * (milliseconds). An entry of an earlier version of the format has no `sha256`.
 */
export type Version = {
  readonly hash: string;
  readonly sha256?: string;
  readonly timestamp: number;
};

/** The versions of a registered name: the current version, and in `history` all other versions, newest first. */
export type Workflow = Version & { readonly history: readonly Version[] };

/** The workflows by name. A map, because a workflow may be called `constructor` or `42`. */
export type Registry = ReadonlyMap<string, Workflow>;

/** Maximum size of a registry in bytes, enough for over 100,000 versions. */
export const maxRegistryBytes = 16 * 1024 * 1024;

/** The latest time of a JavaScript date, in milliseconds. */
export const maxTimestamp = 8.64e15;

/** Whether a value is a valid timestamp of a version. */
export const isTimestamp = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= maxTimestamp;

/**
 * Whether a text can be a version's hash. Also allows letters that hashes never contain, because a hash in the example
 * of RFC-001 has one.
 */
export const isVersionHash = (text: string): boolean => /^[0-9A-Z]{13}$/.test(text);

/** Whether a text can be the checksum of a registry. */
export const isRegistrySum = (text: unknown): text is string =>
  typeof text === "string" && /^[0-9a-f]{16}$/.test(text);

/**
 * Returns the checksum over all names and versions, in file order. It comes first in the file, so a truncated file
 * still has it.
 */
export function registrySum(registry: Registry): string {
  const entries = [...registry].map(([name, workflow]) => [
    name,
    [workflow, ...workflow.history].map(({ hash, sha256, timestamp }) => [hash, sha256, timestamp]),
  ]);
  return xxh64(Buffer.from(JSON.stringify(entries)))
    .toString(16)
    .padStart(16, "0");
}

/**
 * Formats the registry as the text of `workflow.yaml`: RFC-001 section 4 plus `sha256` and `sum`. YAML 1.1 readers get
 * the same values.
 */
export function serialiseRegistry(registry: Registry): string {
  const workflows = new Map(
    [...registry].map(([name, workflow]) => [
      name,
      { ...entryOf(workflow), history: workflow.history.map(entryOf) },
    ]),
  );
  return stringify(
    { sum: registrySum(registry), workflows },
    {
      compat: "yaml-1.1",
      defaultStringType: "QUOTE_DOUBLE",
      defaultKeyType: "PLAIN",
      aliasDuplicateObjects: false,
    },
  );
}

/** Returns a version with the registry's keys, in their order. */
export const entryOf = ({ hash, sha256, timestamp }: Version): Version => ({
  hash,
  ...(sha256 !== undefined && { sha256 }),
  timestamp,
});

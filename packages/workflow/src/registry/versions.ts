import { checkRegisteredName, isDevName, isHash, isHashPrefix } from "../contract/names.ts";
import { entryOf, isTimestamp, type Registry, type Version, type Workflow } from "./registry.ts";
import {
  ambiguousHash,
  changedMeanwhile,
  hashCollision,
  nameLikeHash,
  nameTaken,
  noLaterTimestamp,
  nothingToRollBack,
  versionNotFound,
  versionUnknownHere,
  workflowNotFound,
} from "./errors.ts";

/**
 * Registers a bundle as the name's current version. The previous version goes to the history; a version from the
 * history moves out of it and counts as registered now. `unchanged` is true when it is already the current version.
 * Timestamps within a name always increase, even within a millisecond and after the clock was set back. A name
 * registered by `dev` has no history: threads keep the older versions that they need.
 * @param expected The version that must be current; null for a new name. Of two concurrent writers, one is refused.
 * @throws WorkflowError `BAD_NAME`, `NAME_TAKEN` (another name differs by case only), `VERSION_CONFLICT`.
 */
export function register(
  registry: Registry,
  name: string,
  hash: string,
  now: number,
  expected?: string | null,
): { registry: Registry; unchanged: boolean } {
  checkNewName(registry, name);
  const found = registry.get(name);
  if (found?.hash === hash) return { registry, unchanged: true };
  checkExpected(name, found?.hash ?? null, expected);
  const versions = found ? versionsOf(found) : [];
  const timestamp = Math.max(now, (versions[0]?.timestamp ?? -1) + 1);
  if (!isTimestamp(timestamp)) throw noLaterTimestamp(name);
  const history = isDevName(name) ? [] : versions.filter((version) => version.hash !== hash);
  // A version from the history keeps its SHA-256.
  const { sha256 } = versions.find((version) => version.hash === hash) ?? {};
  const workflow = { hash, ...(sha256 !== undefined && { sha256 }), timestamp, history };
  return { registry: new Map(registry).set(name, workflow), unchanged: false };
}

/**
 * Merges the versions that a name has on another host into the registry. The other host's current version becomes
 * current here; local versions stay in the history.
 *
 * @throws WorkflowError `BAD_NAME`, `NAME_TAKEN`; `VERSION_CONFLICT` when the other host lacks the local current
 * version and `force` is false; `HASH_COLLISION` when a hash has other bytes there.
 */
export function takeVersions(
  registry: Registry,
  name: string,
  workflow: Workflow,
  force: boolean,
): { registry: Registry; unchanged: boolean } {
  checkNewName(registry, name);
  const found = registry.get(name);
  const theirs = versionsOf(workflow);
  if (found && !force && !theirs.some(({ hash }) => hash === found.hash)) {
    throw versionUnknownHere(name, found.hash, workflow.hash);
  }
  const known = found ? versionsOf(found) : [];
  for (const { hash, sha256 } of theirs) {
    const own = known.find((version) => version.hash === hash)?.sha256;
    if (own !== undefined && sha256 !== undefined && own !== sha256) throw hashCollision(hash);
  }
  const proofs = new Map(theirs.map(({ hash, sha256 }) => [hash, sha256]));
  const ours = known.map((version) =>
    entryOf({ ...version, sha256: version.sha256 ?? proofs.get(version.hash) }),
  );
  const isProven = ours.every(({ sha256 }, at) => sha256 === known[at]?.sha256);
  const added = theirs.filter(({ hash }) => !ours.some((version) => version.hash === hash));
  const unchanged = found?.hash === workflow.hash && added.length === 0;
  if (unchanged && isProven) return { registry, unchanged };
  const all = [...ours, ...added];
  const current = all.find(({ hash }) => hash === workflow.hash) as Version;
  const history = all
    .filter(({ hash }) => hash !== workflow.hash)
    .sort((a, b) => b.timestamp - a.timestamp);
  return { registry: new Map(registry).set(name, { ...current, history }), unchanged };
}

function checkExpected(name: string, current: string | null, expected?: string | null): void {
  if (expected === undefined || (expected?.toUpperCase() ?? null) === current) return;
  throw changedMeanwhile(name, current, expected ?? null);
}

/**
 * Checks that a version may be registered under a name.
 * @throws WorkflowError `BAD_NAME`, `NAME_TAKEN` (usage): names that differ only by case look the same to people and to
 * some file systems, and a name in the form of a hash would hide the bundle with that hash.
 */
export function checkNewName(registry: Registry, name: string): void {
  checkRegisteredName(name);
  if (registry.has(name)) return;
  if (isHash(name.toUpperCase())) throw nameLikeHash(name);
  const other = casePair(registry, name);
  if (other === undefined) return;
  throw nameTaken(name, other);
}

/**
 * Moves the name's pointer to the version registered before the current version, or to `version` (a hash or a unique
 * prefix). Versions and timestamps do not change.
 * @throws WorkflowError `WORKFLOW_NOT_FOUND`, `VERSION_NOT_FOUND` (missing), `VERSION_AMBIGUOUS` (usage),
 * `NOTHING_TO_ROLL_BACK` (failed) at the first version.
 */
export function rollBack(
  registry: Registry,
  name: string,
  version?: string,
): { registry: Registry; hash: string; previous: string } {
  const workflow = workflowOf(registry, name);
  const versions = versionsOf(workflow);
  const previous = workflow.hash;
  const before = versions[versions.findIndex(({ hash }) => hash === previous) + 1];
  const target = version === undefined ? before : versionOf(name, workflow, version);
  if (!target) throw nothingToRollBack(name, previous, versions.length === 1);
  const { hash } = target;
  if (hash === previous) return { registry, hash, previous };
  const history = versions.filter((other) => other.hash !== hash);
  return { registry: new Map(registry).set(name, { ...target, history }), hash, previous };
}

/**
 * Returns the registry without the name.
 * @throws WorkflowError `WORKFLOW_NOT_FOUND` (missing).
 */
export function unregister(registry: Registry, name: string): Registry {
  workflowOf(registry, name);
  const rest = new Map(registry);
  rest.delete(name);
  return rest;
}

/**
 * Returns the workflow of a name. `root` is the registry's storage root.
 * @throws WorkflowError `WORKFLOW_NOT_FOUND` (missing).
 */
export function workflowOf(registry: Registry, name: string, root?: string): Workflow {
  const found = registry.get(name);
  if (!found) throw workflowNotFound(name, { root, similar: casePair(registry, name) });
  return found;
}

/**
 * Returns all versions of a workflow, including the current one, last registered first. Versions with equal timestamps,
 * which only other programs write, are sorted by hash.
 */
export function versionsOf(workflow: Workflow): Version[] {
  return [entryOf(workflow), ...workflow.history].sort(
    (a, b) => b.timestamp - a.timestamp || (a.hash < b.hash ? 1 : -1),
  );
}

/**
 * Returns the version of a workflow with this hash or unique prefix.
 * @throws WorkflowError `VERSION_NOT_FOUND` (missing), `VERSION_AMBIGUOUS` (usage).
 */
export function versionOf(name: string, workflow: Workflow, text: string): Version {
  const wanted = text.toUpperCase();
  const found = versionsOf(workflow).filter(({ hash }) => wanted && hash.startsWith(wanted));
  const [only] = found;
  if (only && found.length === 1) return only;
  const hashes = found.map(({ hash }) => hash);
  if (only) throw ambiguousHash(text, hashes);
  throw versionNotFound(name, text);
}

function casePair(registry: Registry, name: string): string | undefined {
  const folded = name.toLowerCase();
  return [...registry.keys()].find((other) => other.toLowerCase() === folded);
}

/** A resolved workflow: the hash of its bundle and the name for its threads. */
export type Resolved = { name: string; hash: string };

/**
 * Resolves a workflow: a registered name, `name@hash` for one of its versions, or a hash. A hash may be a unique
 * prefix, in any case, of at least 4 digits when it stands alone. A name takes precedence over a hash. A bundle without
 * a name has its hash as its name.
 *
 * `stored` returns the hashes of the bundles in `root`. It is called only for a hash without a name.
 * @throws WorkflowError `WORKFLOW_NOT_FOUND`, `VERSION_NOT_FOUND` (missing), `VERSION_AMBIGUOUS` (usage).
 */
export function resolve(
  registry: Registry,
  text: string,
  stored: () => string[],
  root?: string,
): Resolved {
  const named = registry.get(text);
  if (named) return { name: text, hash: named.hash };
  const at = text.indexOf("@");
  if (at > 0) {
    const name = text.slice(0, at);
    const { hash } = versionOf(name, workflowOf(registry, name, root), text.slice(at + 1));
    return { name, hash };
  }
  const prefix = text.toUpperCase();
  if (!isHashPrefix(prefix))
    throw workflowNotFound(text, { root, similar: casePair(registry, text) });
  const known = new Set([...hashesOf(registry), ...stored()]);
  const found = [...known].filter((hash) => hash.startsWith(prefix)).sort();
  const [only] = found;
  if (!only) throw workflowNotFound(text, { root, similar: casePair(registry, text) });
  if (found.length > 1) throw ambiguousHash(text, found);
  return { name: nameOf(registry, only), hash: only };
}

/** Returns every hash in a registry, including histories. */
export function hashesOf(registry: Registry): Set<string> {
  const versions = [...registry.values()].flatMap((workflow) => [workflow, ...workflow.history]);
  return new Set(versions.map(({ hash }) => hash));
}

function nameOf(registry: Registry, hash: string): string {
  const all = [...registry];
  const current = all.find(([, workflow]) => workflow.hash === hash);
  const has = ({ history }: Workflow) => history.some((version) => version.hash === hash);
  return (current ?? all.find(([, workflow]) => has(workflow)))?.[0] ?? hash;
}

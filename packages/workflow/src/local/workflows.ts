import type { SourceKind } from "../bundle/build.ts";
import { readDescriptor } from "../bundle/descriptor-yaml.ts";
import { hashOf } from "../bundle/hash.ts";
import type { PreparedBundle, PrepareOptions } from "../bundle/prepare.ts";
import { SourceMap } from "../bundle/source-map.ts";
import { maxDescriptorBytes, withProofs } from "../bundle/proof.ts";
import { sealIn } from "../bundle/seal.ts";
import { putBundle, readBundle, type SideFiles } from "../bundle/store.ts";
import type { Descriptor } from "../contract/contract.ts";
import type {
  Added,
  RegisterOptions,
  RolledBack,
  VersionRow,
  VersionView,
  WorkflowRow,
  WorkflowView,
} from "../host/host.ts";
import { changeRegistry } from "../registry/change.ts";
import { readRegistry } from "../registry/read.ts";
import type { Registry } from "../registry/registry.ts";
import {
  checkNewName,
  register,
  rollBack,
  unregister,
  versionsOf,
  workflowOf,
} from "../registry/versions.ts";
import { readOwnFile } from "../disk/files.ts";
import { descriptorPath, devLockPath, mapPath, type Root, threadIdsOf } from "../disk/paths.ts";
import { checkWorkflowName, devNameOf } from "../contract/names.ts";
import { sha256 } from "../record/sha256.ts";
import { takeLock } from "../disk/lock.ts";
import { createRoot } from "../disk/root.ts";
import { system } from "../system/system.ts";
import { checkStored, resolveWorkflow } from "./threads/start.ts";
import { figuresOf } from "./threads/summary.ts";
import type { ThreadIndex } from "./threads/thread-index.ts";
import { sourceNotFound } from "../host/errors.ts";
import { alreadyBundle, devRunning } from "./errors.ts";

/** Lists the registered workflows by name, with an empty description if the descriptor can't be read. */
export async function listWorkflows(root: Root): Promise<WorkflowRow[]> {
  const rows: WorkflowRow[] = [];
  for (const [name, workflow] of await readRegistry(root)) {
    const { hash, timestamp, history } = workflow;
    const description = (await descriptorOf(root, hash))?.description ?? "";
    rows.push({ name, hash, timestamp, description, versions: history.length + 1 });
  }
  return rows.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Returns a workflow. @throws WorkflowError `WORKFLOW_NOT_FOUND` (missing), `REGISTRY_BROKEN`. @see Host.workflow */
export async function showWorkflow(root: Root, name: string): Promise<WorkflowView> {
  const workflow = workflowOf(await readRegistry(root), name, root);
  const { hash, timestamp } = workflow;
  const others = versionsOf(workflow).filter((version) => version.hash !== hash);
  const history = others.map((version) => ({ hash: version.hash, timestamp: version.timestamp }));
  return { name, hash, timestamp, history, descriptor: await descriptorOf(root, hash) };
}

/** Lists a workflow's versions. @throws WorkflowError `WORKFLOW_NOT_FOUND`, `REGISTRY_BROKEN`. @see Host.history */
export async function historyOf(
  root: Root,
  name: string,
  index: ThreadIndex | null = null,
): Promise<VersionRow[]> {
  const workflow = workflowOf(await readRegistry(root), name, root);
  const rows: VersionRow[] = [];
  for (const { hash, sha256: proof = null, timestamp } of versionsOf(workflow)) {
    rows.push({
      ...{ hash, sha256: proof, timestamp, current: hash === workflow.hash },
      threads: threadIdsOf(root, hash).length,
      ...(await figuresOf(root, hash, index)),
    });
  }
  return rows;
}

/**
 * Moves a name to an earlier version.
 * @throws WorkflowError the errors of `rollBack` and of `changeRegistry`, `BUNDLE_MISSING`. @see Host.rollback
 */
export async function rollbackWorkflow(
  root: Root,
  name: string,
  version?: string,
): Promise<RolledBack> {
  workflowOf(await readRegistry(root), name, root);
  const { hash, previous } = await changeProven(root, (registry) => {
    const moved = rollBack(registry, name, version);
    checkStored(root, name, moved.hash);
    return moved;
  });
  return { name, hash, previous };
}

/**
 * Removes a name.
 * @throws WorkflowError `WORKFLOW_NOT_FOUND` (missing), and the errors of `changeRegistry`. @see Host.unregister
 */
export async function removeWorkflow(root: Root, name: string): Promise<{ name: string }> {
  workflowOf(await readRegistry(root), name, root);
  await changeProven(root, (registry) => ({ registry: unregister(registry, name) }));
  return { name };
}

/**
 * Changes the registry, and adds the missing SHA-256 of each version from another record or from the stored bundle.
 * `known` are bundles whose SHA-256 the caller has computed.
 *
 * @throws WorkflowError the errors of `changeRegistry` and `change`
 */
export function changeProven<Change extends { registry: Registry }>(
  root: Root,
  change: (registry: Registry) => Change | Promise<Change>,
  known?: ReadonlyMap<string, string>,
): Promise<Change> {
  return changeRegistry(root, async (before) => {
    const changed = await change(before);
    return { ...changed, registry: withProofs(root, changed.registry, known) };
  });
}

/** The descriptor of a stored bundle; null if unreadable, so that a damaged store can be listed. */
export async function descriptorOf(root: Root, hash: string): Promise<Descriptor | null> {
  const path = descriptorPath(root, hash);
  try {
    const bytes = readOwnFile(path, maxDescriptorBytes);
    if (!bytes) return null;
    const { seal, text } = sealIn(new TextDecoder().decode(bytes));
    return seal === "broken" ? null : readDescriptor(text, path);
  } catch {
    return null;
  }
}

const maxMapBytes = 256 << 20;

/** Returns a version. @throws WorkflowError the errors of `resolveWorkflow`, and `BUNDLE_CHANGED`. @see Host.version */
export async function showVersion(root: Root, version: string): Promise<VersionView> {
  const { name, hash } = await resolveWorkflow(root, version);
  const { length: bytes } = await readBundle(root, hash);
  const descriptor = await descriptorOf(root, hash);
  const sources = [...sourcesOf(root, hash).keys()];
  const document = SourceMap.at(mapPath(root, hash))?.document ?? null;
  return { workflow: name, hash, bytes, descriptor, sources, document };
}

/**
 * Returns the text of a version's bundle, or of one of its sources.
 * @throws WorkflowError the errors of `showVersion`, `NO_SUCH_SOURCE` (missing). @see Host.source
 */
export async function readVersionText(root: Root, version: string, file?: string): Promise<string> {
  const { name, hash } = await resolveWorkflow(root, version);
  if (file === undefined) return new TextDecoder().decode(await readBundle(root, hash));
  const text = sourcesOf(root, hash).get(file);
  if (text !== undefined) return text;
  throw sourceNotFound(name, file);
}

const isTextPair = (pair: readonly [unknown, unknown]): pair is [string, string] =>
  pair.every((text) => typeof text === "string");

// An unreadable source map is ignored: it is optional.
function sourcesOf(root: Root, hash: string): Map<string, string> {
  try {
    const bytes = readOwnFile(mapPath(root, hash), maxMapBytes);
    return bytes ? sourcesIn(new TextDecoder().decode(bytes)) : new Map();
  } catch {
    return new Map();
  }
}

/** The texts of a bundle's source files, from its source map. */
export function sourcesIn(map: string): Map<string, string> {
  try {
    const { sources = [], sourcesContent = [] } = JSON.parse(map) as Record<string, unknown[]>;
    const pairs = sources.map((source, index) => [source, sourcesContent[index]] as const);
    return new Map(pairs.filter(isTextPair));
  } catch {
    return new Map();
  }
}

/**
 * Returns the roles whose defining files differ between two versions.
 * @throws WorkflowError the errors of `resolveWorkflow`, and `BUNDLE_CHANGED`. @see Host.changedRoles
 */
export async function compareRoles(
  root: Root,
  [before, after]: readonly [string, string],
  roles: readonly string[],
): Promise<string[]> {
  const { changedRoles } = await import("../bundle/roles.ts");
  const sources = async (version: string) => {
    const { hash } = await resolveWorkflow(root, version);
    const found = sourcesOf(root, hash);
    if (found.size > 0) return found;
    return new Map([["bundle.js", new TextDecoder().decode(await readBundle(root, hash))]]);
  };
  return changedRoles(await sources(before), await sources(after), roles);
}

/**
 * Checks a bundle, stores it and makes it the name's current version. Writes nothing when the bundle, the name or the
 * registry is refused. Restores missing files when the same bytes are added again.
 */
export async function addWorkflow(
  root: Root,
  name: string,
  file: string,
  { dev = false, expected, ...options }: RegisterOptions = {},
): Promise<Added> {
  const registered = dev ? devNameOf(checkWorkflowName(name)) : checkWorkflowName(name);
  checkNewName(await readRegistry(root), registered);
  const { bytes, ...beside } = await preparedBundle(file, options);
  return await registerBundle(root, registered, bytes, beside, expected);
}

/**
 * Locks a workflow name for development until this process ends or releases the lock.
 *
 * @throws WorkflowError `BAD_NAME` (usage), `DEV_RUNNING` when another process holds the lock.
 */
export function lockDevelopment(root: string, name: string): { release(): void } {
  const devName = devNameOf(checkWorkflowName(name));
  createRoot(root as Root);
  const lock = takeLock(devLockPath(root as Root, devName), 0);
  if (lock) return lock;
  throw devRunning(name);
}

/** Checks a bundle and stores it under its hash without a name. It is kept while a thread uses it. */
export async function storeBundle(
  root: Root,
  file: string,
  options: PrepareOptions = {},
): Promise<{ hash: string }> {
  const { bytes, ...beside } = await preparedBundle(file, options);
  return { hash: await putBundle(root, bytes, beside) };
}

/**
 * Makes a checked bundle the name's current version. The bundle is durable before the registry names it; after a crash
 * in between, `gc` collects the bundle.
 */
export async function registerBundle(
  root: Root,
  name: string,
  bytes: Uint8Array,
  beside: SideFiles,
  expected?: string | null,
): Promise<Added> {
  const hash = hashOf(bytes);
  const change = async (registry: Registry) => {
    const changed = register(registry, name, hash, system.clock.now(), expected);
    await putBundle(root, bytes, beside);
    return changed;
  };
  const { unchanged } = await changeProven(root, change, new Map([[hash, sha256(bytes)]]));
  return { name, hash, unchanged };
}

/** Makes a bundle from a file, as {@link prepareBundle} does. The build's modules are loaded on demand. */
export async function preparedBundle(
  file: string,
  options: PrepareOptions = {},
): Promise<PreparedBundle> {
  const { prepareBundle } = await import("../bundle/prepare.ts");
  return await prepareBundle(file, options);
}

/** The hash of a valid bundle file or of a source's bundle. @throws WorkflowError the errors of `prepareBundle`. */
export async function bundleHash(file: string, options: RegisterOptions = {}): Promise<string> {
  return hashOf((await preparedBundle(file, options)).bytes);
}

/** A built and checked bundle that is not stored yet. `map` is its source map. */
export type BuiltBundle = { hash: string; bytes: Uint8Array; map: string };

/**
 * Builds a source into a bundle and checks it as `addWorkflow` does; nothing is written.
 *
 * @throws WorkflowError `NOT_A_SOURCE` (usage); the errors of `prepareBundle`.
 */
export async function buildSource(
  file: string,
  options: { sources?: readonly SourceKind[] } = {},
): Promise<BuiltBundle> {
  const { bytes, map } = await preparedBundle(file, options);
  if (map !== undefined) return { hash: hashOf(bytes), bytes, map };
  throw alreadyBundle(file);
}

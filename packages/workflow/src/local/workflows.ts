import { readDescriptor } from "../bundle/descriptor.ts";
import type { Descriptor } from "../contract/contract.ts";
import type { VersionRow, WorkflowRow, WorkflowView } from "../host/host.ts";
import { changeRegistry } from "../registry/change.ts";
import { readRegistry } from "../registry/read.ts";
import { rollBack, unregister, versionsOf, workflowOf } from "../registry/versions.ts";
import { threadIdsOf } from "../storage/list.ts";
import { descriptorPath, type Root } from "../storage/paths.ts";
import { readOwnFile } from "../storage/read.ts";
import { checkStored } from "./resolve.ts";

/** The longest descriptor file that is read, in bytes. */
export const maxDescriptorBytes = 8 * 1024 * 1024;

/**
 * The registered workflows, by name. A workflow whose descriptor can't be read has the description
 * `""`; `verifyStore` says why.
 * @throws WorkflowError `REGISTRY_BROKEN`.
 */
export async function listWorkflows(root: Root): Promise<WorkflowRow[]> {
  const rows: WorkflowRow[] = [];
  for (const [name, workflow] of await readRegistry(root)) {
    const { hash, timestamp, history } = workflow;
    const description = (await descriptorOf(root, hash))?.description ?? "";
    rows.push({ name, hash, timestamp, description, versions: history.length + 1 });
  }
  return rows.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * A workflow with its history, newest first, and its descriptor.
 * @throws WorkflowError `WORKFLOW_NOT_FOUND` (missing), `REGISTRY_BROKEN`.
 */
export async function showWorkflow(root: Root, name: string): Promise<WorkflowView> {
  const workflow = workflowOf(await readRegistry(root), name);
  const { hash, timestamp } = workflow;
  const history = versionsOf(workflow).filter((version) => version.hash !== hash);
  return { name, hash, timestamp, history, descriptor: await descriptorOf(root, hash) };
}

/**
 * All versions of a workflow, the last registered first.
 * @throws WorkflowError `WORKFLOW_NOT_FOUND` (missing), `REGISTRY_BROKEN`.
 */
export async function historyOf(root: Root, name: string): Promise<VersionRow[]> {
  const workflow = workflowOf(await readRegistry(root), name);
  return versionsOf(workflow).map(({ hash, timestamp }) => ({
    hash,
    timestamp,
    current: hash === workflow.hash,
    threads: threadIdsOf(root, hash).length,
  }));
}

/**
 * Moves a name back to the version registered before its current one, or to the one that `version`
 * (a hash, or its unique beginning) names, which may be a later one too. Threads keep their bundle.
 *
 * @throws WorkflowError `WORKFLOW_NOT_FOUND`, `VERSION_NOT_FOUND` (missing), `VERSION_AMBIGUOUS`
 * (usage), `NOTHING_TO_ROLL_BACK`, `BUNDLE_MISSING`, and those of `changeRegistry`.
 */
export async function rollbackWorkflow(
  root: Root,
  name: string,
  version?: string,
): Promise<{ name: string; hash: string; previous: string }> {
  workflowOf(await readRegistry(root), name);
  const { hash, previous } = await changeRegistry(root, (registry) => {
    const moved = rollBack(registry, name, version);
    checkStored(root, name, moved.hash);
    return moved;
  });
  return { name, hash, previous };
}

/**
 * Removes a name and its history. Its threads stay, and so do the bundles that they need.
 * @throws WorkflowError `WORKFLOW_NOT_FOUND` (missing), and those of `changeRegistry`.
 */
export async function removeWorkflow(root: Root, name: string): Promise<{ name: string }> {
  workflowOf(await readRegistry(root), name);
  await changeRegistry(root, (registry) => ({ registry: unregister(registry, name) }));
  return { name };
}

/**
 * What a stored bundle says of itself; null when that can't be read: a list is for finding one's way, in
 * a damaged store too.
 */
export async function descriptorOf(root: Root, hash: string): Promise<Descriptor | null> {
  const path = descriptorPath(root, hash);
  try {
    const bytes = readOwnFile(path, maxDescriptorBytes);
    return bytes && (await readDescriptor(new TextDecoder().decode(bytes), path));
  } catch {
    return null;
  }
}

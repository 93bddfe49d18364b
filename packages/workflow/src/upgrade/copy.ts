import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { inTemporary } from "../bundle/child.ts";
import { DiskStore } from "../disk/store.ts";
import { createRoot, openRoot } from "../disk/root.ts";
import type { Host } from "../host/host.ts";
import { notFound } from "../record/errors.ts";
import { textOf } from "../record/record.ts";
import type { ThreadRef } from "../record/thread.ts";
import { stateAfter } from "../store/state.ts";
import { recordingOf, storedBundle } from "./stored.ts";

/**
 * Copies the start and the steps of a thread to a storage root, to fork it there. The copy has no end, no blobs and no
 * journal.
 *
 * @throws WorkflowError `THREAD_NOT_FOUND`
 */
export async function copyThread(host: Host, ref: ThreadRef, path: string): Promise<void> {
  const recording = await recordingOf(host, ref);
  if (recording === null) throw notFound(ref.threadId);
  const { start, steps } = recording;
  const root = openRoot({ path });
  createRoot(root);
  const { maxRounds } = start.parameters.options;
  await new DiskStore(root).create({
    ...{ hash: start.hash, threadId: start.threadId, name: start.name },
    createdAt: start.timestamp,
    records: [start, ...steps].map(textOf),
    state: stateAfter(steps.at(-1) ?? null, steps.length, maxRounds),
  });
}

/** Copies a stored version to another host. */
export async function copyVersion(from: Host, version: string, to: Host): Promise<void> {
  const { bytes, map } = await storedBundle(from, version);
  await inTemporary("uncaged-version-", async (folder) => {
    await writeFile(join(folder, "bundle.esm.js"), bytes);
    if (map !== undefined) await writeFile(join(folder, "bundle.map"), map);
    await to.store(join(folder, "bundle.esm.js"));
  });
}

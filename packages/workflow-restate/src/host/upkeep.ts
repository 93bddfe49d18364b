import {
  type CollectOptions,
  dataPath,
  readBundle,
  readLog,
  type VerifyOptions,
} from "@uncaged/workflow/driver";
import {
  type Garbage,
  isWorkflowError,
  type Problem,
  type Verification,
} from "@uncaged/workflow/host";
import { bundlesPeriod } from "../thread/row.ts";
import type { HostContext } from "./context.ts";
import { allRows } from "./list.ts";

/** A bundle that was stored so lately may be one that a thread is just being started with. */
const graceMs = 60 * 60 * 1000;

/** Reads every bundle and every thread of a cluster by the readers of a storage root. @see Host.verify */
export async function verifyCluster(
  context: HostContext,
  { onProgress }: VerifyOptions = {},
): Promise<Verification> {
  const { bundles, mirror, root } = context;
  const problems: Problem[] = [];
  const checked = { bundles: 0, threads: 0 };
  for (const hash of await bundles.hashes()) {
    bundles.forget(hash);
    try {
      await bundles.fetch(hash);
      await readBundle(root, hash);
    } catch (error) {
      if (!isWorkflowError(error)) throw error;
      problems.push({ path: `bundle/${hash}`, message: error.message });
    }
    checked.bundles += 1;
    onProgress?.({ ...checked });
  }
  for await (const { hash, threadId } of allRows(context)) {
    await mirror.forget(threadId);
    if (!(await mirror.sync(threadId))) continue;
    const log = readLog(dataPath(root, hash, threadId));
    const broken = log.kind === "empty" ? null : log.broken;
    if (broken) {
      const { line, offset, reason } = broken;
      problems.push({ path: `thread/${threadId}`, line, offset, message: reason });
    }
    await mirror.forget(threadId);
    checked.threads += 1;
    onProgress?.({ ...checked });
  }
  return { checked, problems, withoutSums: [] };
}

/** Removes the bundles that no name and no thread needs. @see Host.collect */
export async function collectGarbage(
  context: HostContext,
  { dryRun = false, now = Date.now() }: CollectOptions,
  registered: () => Promise<ReadonlySet<string>>,
): Promise<Garbage> {
  const needed = new Set(await registered());
  for await (const { hash } of allRows(context)) needed.add(hash);
  const removed: string[] = [];
  let kept = 0;
  let bytes = 0;
  for (const row of await context.client.state("index", bundlesPeriod)) {
    const stored = JSON.parse(row.bytes.toString("utf8")) as { bytes: number; at: number };
    if (needed.has(row.key) || now - stored.at < graceMs) kept += 1;
    else {
      removed.push(row.key);
      bytes += stored.bytes;
      if (!dryRun) await context.bundles.remove(row.key);
    }
  }
  return { removed: removed.sort(), kept, bytes, leftovers: [], emptied: [] };
}

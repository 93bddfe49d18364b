import {
  blobIdOf,
  type CollectOptions,
  readBundle,
  readLog,
  threadFiles,
  type VerifyOptions,
} from "@uncaged/workflow/store";
import {
  type Garbage,
  isWorkflowError,
  type Problem,
  type Verification,
} from "@uncaged/workflow/host";
import { blobIds, keptBlobs } from "../client/transfer.ts";
import { isAbandoned, type Staging } from "../thread/staging.ts";
import type { HostContext } from "./context.ts";
import { allRows } from "./list.ts";

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;

type Registered = () => Promise<ReadonlySet<string>>;

/** Checks every bundle and every thread of a cluster with the readers of a storage root. @see Host.verify */
export async function verifyCluster(
  context: HostContext,
  { onProgress }: VerifyOptions = {},
  registered: Registered,
): Promise<Verification> {
  const problems: Problem[] = [];
  const checked = { bundles: 0, threads: 0 };
  const count = async (
    kind: keyof typeof checked,
    path: string,
    check: () => Promise<Problem[]>,
  ) => {
    problems.push(...(await check().catch((error: unknown) => [problemOf(path, error)])));
    checked[kind] += 1;
    onProgress?.({ ...checked });
  };
  const stored = new Set(await context.bundles.hashes());
  const missing = new Map<string, string>();
  for (const hash of await registered())
    if (!stored.has(hash)) missing.set(hash, "a name needs it");
  for (const hash of stored) {
    await count("bundles", `bundle/${hash}`, () => bundleProblems(context, hash));
  }
  for await (const { hash, threadId } of allRows(context)) {
    await count("threads", `thread/${threadId}`, () => threadProblems(context, hash, threadId));
    if (!stored.has(hash)) missing.set(hash, `${threadId} needs it`);
  }
  for (const [hash, why] of missing) {
    // Another process may have stored or restored the bundle meanwhile.
    if ((await context.bundles.hashes()).includes(hash)) continue;
    problems.push({ path: `bundle/${hash}`, message: `the bundle is missing: ${why}` });
  }
  return { checked, problems, withoutSums: [] };
}

function problemOf(path: string, error: unknown): Problem {
  if (isWorkflowError(error)) return { path, message: error.message };
  throw error;
}

async function bundleProblems({ bundles, root }: HostContext, hash: string): Promise<Problem[]> {
  await bundles.forget(hash);
  await bundles.fetch(hash);
  await readBundle(root, hash);
  return [];
}

async function threadProblems(
  { client, mirror, root }: HostContext,
  hash: string,
  threadId: string,
): Promise<Problem[]> {
  const path = `thread/${threadId}`;
  const problems: Problem[] = [];
  await mirror.forget(threadId);
  if (!(await mirror.sync(threadId))) return [];
  const log = readLog(threadFiles(root, { hash, threadId }).data);
  const broken = log.kind === "empty" ? null : log.broken;
  if (broken) {
    const { line, offset, reason } = broken;
    problems.push({ path, line, offset, message: reason });
  }
  await mirror.forget(threadId);
  const ids = new Set(await blobIds(client, threadId));
  for await (const { key, bytes } of keptBlobs(client, threadId, ids)) {
    if (key === `b:${blobIdOf(bytes)}`) continue;
    problems.push({ path: `${path}/${key}`, message: "bytes differ from the stored value" });
  }
  return problems;
}

/**
 * Discards bundles without a name or thread, deletes bundles that were discarded a day ago, and deletes values of
 * abandoned starts. @see Host.collect
 */
export async function collectGarbage(
  context: HostContext,
  { dryRun = false, now = Date.now() }: CollectOptions,
  registered: Registered,
): Promise<Garbage> {
  const { bundles } = context;
  const garbage: Garbage = {
    ...{ removed: [], kept: 0, bytes: 0, emptied: [], problems: [] },
    leftovers: await leftovers(context, now, !dryRun),
  };
  const rows = await bundles.rows();
  const needed = new Set(await registered());
  for await (const { hash } of allRows(context)) needed.add(hash);
  for (const { hash, bytes, at, discarded } of rows.sort((a, b) => (a.hash < b.hash ? -1 : 1))) {
    if (discarded !== undefined) {
      if (needed.has(hash)) {
        if (!dryRun) await bundles.restore(hash);
      } else if (
        discarded <= now - dayMs &&
        (dryRun || (await bundles.remove(hash, now - dayMs)))
      ) {
        garbage.emptied.push(`bundle/${hash}`);
      }
    } else if (
      needed.has(hash) ||
      at > now - hourMs ||
      !(dryRun || (await bundles.discard(hash, now - hourMs)))
    ) {
      garbage.kept += 1;
    } else {
      garbage.removed.push(hash);
      garbage.bytes += bytes;
    }
  }
  return garbage;
}

/** Returns the abandoned multi-message starts. With `act`, deletes their values. */
async function leftovers({ client }: HostContext, now: number, act: boolean): Promise<string[]> {
  const found: string[] = [];
  const rows = await client.query<{ id: string; value: string }>(
    "SELECT service_key AS id, value FROM state WHERE scope IS NULL AND service_name = 'thread' AND key = 'staging'",
  );
  for (const { id, value } of rows) {
    const staging = JSON.parse(Buffer.from(value, "hex").toString("utf8")) as Staging;
    if (!isAbandoned(staging, now)) continue;
    if (act) await client.call("thread", id, "discard", { now });
    found.push(`thread/${id}`);
  }
  return found;
}

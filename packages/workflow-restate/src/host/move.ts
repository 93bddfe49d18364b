import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  DiskStore,
  readBundle,
  readLog,
  type Root,
  SearchText,
  threadFiles,
  type ThreadInfo,
  type ThreadLog,
  waitedIn,
} from "@uncaged/workflow/store";
import type {
  Arrival,
  HostIdentity,
  MoveOptions,
  MovingHost,
  Presence,
} from "@uncaged/workflow/internal";
import type { ThreadRef } from "@uncaged/workflow/host";
import { batchKey, frame, numbered } from "../client/frame.ts";
import { type Kept, blobIds, messagesOf } from "../client/transfer.ts";
import { hostUrl } from "../cluster/address.ts";
import { Bundles } from "../mirror/bundles.ts";
import type { ArriveHeader, ReceiveHeader } from "../service/move.ts";
import { lastOf, takenIds } from "../thread/record.ts";
import { maxRecordBytes, type ThreadMeta } from "../thread/thread.ts";
import type { HostContext } from "./context.ts";
import type { MovedNames } from "./workflows.ts";
import { logBroken, moveLost, otherThread, tooLargeToMove, withoutSums } from "./errors.ts";

/** Largest batch of a debug log in bytes, unless a single line is larger. */
const batchBytes = 512 * 1024;

/** Returns the operations by which threads leave a cluster and arrive in it. */
export function movingCluster(context: HostContext, names: MovedNames): MovingHost {
  const { client, root, mirror, bundles } = context;
  const metaOf = (threadId: string) => client.value<ThreadMeta>("thread", threadId, "meta");
  return {
    identity: () => identityOf(context),
    alone: (_, act) => act(),
    async presence(threadId): Promise<Presence | null> {
      const meta = await metaOf(threadId);
      return meta && { hash: meta.hash, location: meta.location ?? null };
    },
    async files({ hash, threadId }) {
      await mirror.sync(threadId);
      await bundles.fetch(hash);
      await fetchBlobs(context, { hash, threadId });
      return root;
    },
    async bundle(hash) {
      await bundles.fetch(hash);
      return root;
    },
    ...names,
    check: (from, ref) => check(context, from as Root, ref),
    async takeBundle(from, hash) {
      const code = await readBundle(from as Root, hash);
      if (!(await bundles.has(hash, code))) await new Bundles(from as Root, client).put(hash);
    },
    async leave({ threadId }, to) {
      const meta = await metaOf(threadId);
      const force = meta !== null && !(await context.isDriven(meta));
      return await client.call("thread", threadId, "leave", { to, force });
    },
    arrive: (from, ref, arrival, options) =>
      arriveWhole(context, from as Root, ref, arrival, options),
  };
}

async function identityOf({ client }: HostContext): Promise<HostIdentity> {
  const name = hostUrl(client.address);
  const known = await client.value<{ id: string }>("workflow", "cluster", "identity");
  const { id } =
    known ?? (await client.call<{ id: string }>("workflow", "cluster", "identify", {}));
  return { id, name };
}

async function fetchBlobs({ client, root }: HostContext, { hash, threadId }: ThreadRef) {
  const folder = threadFiles(root, { hash, threadId }).blobs;
  for (const id of await blobIds(client, threadId)) {
    const path = join(folder, id);
    if (existsSync(path)) continue;
    const [blob] = await client.state("thread", threadId, ` AND key = 'b:${id}'`);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (blob) writeFileSync(path, blob.bytes, { mode: 0o600 });
  }
}

const largest = (lines: readonly Uint8Array[]): number =>
  lines.reduce((most, { length }) => Math.max(most, length), 0);

/**
 * Checks that a thread of a storage root can arrive in the cluster.
 * @throws WorkflowError `RECORD_TOO_LARGE`, `NO_SUMS`, `LOG_CORRUPT`, `THREAD_EXISTS`
 */
async function check(context: HostContext, root: Root, ref: ThreadRef): Promise<void> {
  const { threadId } = ref;
  const { sum } = logOf(root, ref);
  if (sum === null) throw withoutSums(threadId);
  const { data, journal, values } = logsOf(root, ref);
  for (const [what, lines] of [
    ["a record", linesOf(data)],
    ["a record of its journal", linesOf(journal)],
    ["a value of its debug log", linesOf(values)],
    ["a blob", await blobsIn(root, ref)],
  ] as const) {
    if (largest(lines) > maxRecordBytes)
      throw tooLargeToMove(threadId, what, { length: largest(lines), limit: maxRecordBytes });
  }
  const before = (await older(context, ref))?.logs;
  if (!before) return;
  const isSame = startsWith(data, before.data) && startsWith(journal, before.journal);
  if (!isSame) throw otherThread(threadId);
}

/** Reads a thread's log. @throws WorkflowError `LOG_CORRUPT`. */
function logOf(root: Root, ref: ThreadRef): ThreadLog {
  const log = readLog(threadFiles(root, ref).data);
  if (log.kind === "thread" && !log.broken) return log;
  throw logBroken(ref.threadId);
}

/** Whole lines of a thread's files. */
type Logs = Record<"data" | "journal" | "info" | "values", Buffer>;

function logsOf(root: Root, ref: ThreadRef): Logs {
  const { data, journal, info, values } = threadFiles(root, ref);
  const read = (path: string): Buffer =>
    existsSync(path) ? wholeLines(readFileSync(path)) : nothing;
  return { data: read(data), journal: read(journal), info: read(info), values: read(values) };
}

/** Returns the blobs of a thread in a storage root. */
async function blobsIn(root: Root, ref: ThreadRef): Promise<Uint8Array[]> {
  const store = new DiskStore(root);
  const blobs: Uint8Array[] = [];
  for (const id of await store.listBlobs(ref)) {
    const bytes = await store.readBlob(ref, id);
    if (bytes) blobs.push(bytes);
  }
  return blobs;
}

const startsWith = (whole: Buffer, beginning: Buffer): boolean =>
  beginning.length <= whole.length && whole.subarray(0, beginning.length).equals(beginning);

/** Copy of a thread that stayed in the cluster when the thread left. */
type Older = { meta: ThreadMeta; logs: Logs };

async function older({ mirror, root }: HostContext, ref: ThreadRef): Promise<Older | null> {
  const meta = await mirror.sync(ref.threadId);
  return meta && { meta, logs: logsOf(root, ref) };
}

/** Sends the records, batches and blobs that the cluster lacks, then the thread's meta. */
async function arriveWhole(
  context: HostContext,
  root: Root,
  ref: ThreadRef,
  { moves, paused }: Arrival,
  { onProgress }: MoveOptions,
): Promise<void> {
  const { client, recent } = context;
  const { threadId, hash } = ref;
  const { start, steps, end } = logOf(root, ref);
  const { data, journal, info, values } = logsOf(root, ref);
  const [lines, entries] = [linesOf(data), linesOf(journal)];
  const before = await older(context, ref);
  const goesOn =
    before && startsWith(info, before.logs.info) && startsWith(values, before.logs.values);
  const from = goesOn ? before : null;
  const batches = [
    ...batchesOf(info.subarray(from?.logs.info.length ?? 0)).map((piece) => [piece, nothing]),
    ...batchesOf(values.subarray(from?.logs.values.length ?? 0)).map((piece) => [nothing, piece]),
  ] as [Buffer, Buffer][];
  const firstRecord = before?.meta.records ?? 0;
  const firstEntry = before?.meta.journal?.records ?? 0;
  const firstBatch = from?.meta.batches ?? 0;
  const store = new DiskStore(root);
  async function* kept(): AsyncGenerator<Kept> {
    for (let n = firstRecord; n < lines.length; n += 1)
      yield { key: numbered("s", n), bytes: lines[n] as Buffer };
    for (let n = firstEntry; n < entries.length; n += 1)
      yield { key: numbered("j", n), bytes: entries[n] as Buffer };
    for (const [n, parts] of batches.entries())
      yield { key: batchKey(firstBatch + n), bytes: frame({}, parts) };
    for (const id of await store.listBlobs(ref)) {
      const bytes = await store.readBlob(ref, id);
      if (bytes) yield { key: `b:${id}`, bytes };
    }
  }
  const all = [data, journal, info, values].reduce((sum, { length }) => sum + length, 0);
  let sent = 0;
  for await (const group of messagesOf(kept())) {
    const header: ReceiveHeader = { moves, keys: group.map(({ key }) => key) };
    const parts = group.map(({ bytes }) => bytes);
    const { arrived } = await client.call<{ arrived: boolean }>(
      ...(["thread", threadId, "receive", frame(header, parts)] as const),
    );
    if (arrived) return;
    sent = parts.reduce((sum, { length }) => sum + length, sent);
    onProgress?.(Math.min(sent, all), all);
  }
  const last = lines.at(-1) as Buffer;
  const entry = entries.at(-1);
  const { state, updatedAt } = (await store.find(threadId)) as ThreadInfo;
  const text = new SearchText();
  for (const step of steps) text.add(step);
  const header: ArriveHeader = {
    ...{ threadId, hash, workflow: start.name, createdAt: start.timestamp, updatedAt },
    ...(start.forkFrom && { forkFrom: start.forkFrom }),
    records: lines.length,
    batches: firstBatch + batches.length,
    sum: sumOf(last),
    ...(entry && { journal: { records: entries.length, sum: sumOf(entry) } }),
    last: lastOf(steps, state),
    waitedMs: waitedIn(start, [...steps, end]),
    end: end && { returnCode: end.meta.returnCode, reason: end.meta.reason },
    moves,
    paused,
    isNew: from === null,
    text: text.of(start, end),
    taken: takenIds(steps),
  };
  const { arrived } = await client.call<{ arrived: boolean }>("thread", threadId, "arrive", header);
  if (!arrived) throw moveLost(threadId);
  recent.set(threadId, { threadId, hash, at: Date.now() });
}

/** Splits a log into lines. */
function linesOf(log: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let from = 0; from < log.length; ) {
    const end = log.indexOf("\n", from);
    lines.push(log.subarray(from, end));
    from = end + 1;
  }
  return lines;
}

/** Returns the checksum of a record, its last field. */
const sumOf = (line: Buffer): string => (JSON.parse(line.toString("utf8")) as { sum: string }).sum;

const nothing = Buffer.alloc(0);

const wholeLines = (text: Buffer): Buffer => text.subarray(0, text.lastIndexOf("\n") + 1);

/** Splits whole lines into batches. */
function batchesOf(text: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let from = 0; from < text.length; ) {
    const last = text.lastIndexOf("\n", Math.min(from + batchBytes, text.length) - 1);
    const end = (last >= from ? last : text.indexOf("\n", from)) + 1;
    pieces.push(text.subarray(from, end));
    from = end;
  }
  return pieces;
}

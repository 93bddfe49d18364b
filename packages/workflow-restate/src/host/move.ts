import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  blobsDir,
  dataPath,
  infoPath,
  isBlobId,
  journalPath,
  namesIn,
  readBlob,
  readBundle,
  readLog,
  type Root,
  searchText,
  sha256,
  takenIds,
  type ThreadLog,
  valuesPath,
} from "@uncaged/workflow/driver";
import {
  type Arrival,
  type HostIdentity,
  type MoveOptions,
  type MovingHost,
  type Presence,
  type ThreadRef,
  WorkflowError,
} from "@uncaged/workflow/host";
import { batchKey, frame, numbered } from "../client/frame.ts";
import { type Kept, blobIds, messagesOf } from "../client/transfer.ts";
import { hostUrl } from "../cluster/address.ts";
import { Bundles } from "../mirror/bundles.ts";
import type { ArriveHeader, ReceiveHeader } from "../service/move.ts";
import { maxRecordBytes, type ThreadMeta } from "../thread/thread.ts";
import type { HostContext } from "./context.ts";
import { batchesOf, lastOf, linesOf, sumOf } from "./threads.ts";
import type { MovedNames } from "./workflows.ts";

/** A cluster as threads leave it and arrive in it. */
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
      const own = sha256(await readBundle(from as Root, hash));
      if (!(await bundles.has(hash, own))) await new Bundles(from as Root, client).put(hash);
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
  const folder = blobsDir(root, hash, threadId);
  for (const id of await blobIds(client, threadId)) {
    const path = join(folder, id);
    if (existsSync(path)) continue;
    const [blob] = await client.state("thread", threadId, ` AND key = 'b:${id}'`);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (blob) writeFileSync(path, blob.bytes, { mode: 0o600 });
  }
}

const largest = (lines: readonly Buffer[]): number =>
  lines.reduce((most, { length }) => Math.max(most, length), 0);

const readIfThere = (path: string): Buffer =>
  existsSync(path) ? readFileSync(path) : Buffer.alloc(0);

/** @throws WorkflowError `RECORD_TOO_LARGE`, `NO_SUMS`, `LOG_CORRUPT`, `THREAD_EXISTS`. */
async function check(context: HostContext, root: Root, ref: ThreadRef): Promise<void> {
  const { hash, threadId } = ref;
  const { sum } = logOf(root, ref);
  const data = readFileSync(dataPath(root, hash, threadId));
  if (sum === null) throw withoutSums(threadId);
  const values = readIfThere(valuesPath(root, hash, threadId));
  const journal = wholeLines(readIfThere(journalPath(root, hash, threadId)));
  const blobs = blobsIn(root, ref).map((path) => readIfThere(path));
  for (const [what, lines] of [
    ["a record", linesOf(data)],
    ["a value of its debug log", linesOf(values)],
    ["a record of its journal", linesOf(journal)],
    ["something that it keeps", blobs],
  ] as const) {
    if (largest(lines) > maxRecordBytes) throw tooLarge(threadId, what, largest(lines));
  }
  const there = await older(context, ref);
  if (there && !startsWith(data, there.data)) throw differs(threadId);
}

/** A thread's log. @throws WorkflowError `LOG_CORRUPT`. */
function logOf(root: Root, { hash, threadId }: ThreadRef): ThreadLog {
  const log = readLog(dataPath(root, hash, threadId));
  if (log.kind === "thread" && !log.broken) return log;
  const message = `the log of ${threadId} is broken`;
  throw WorkflowError.failed("LOG_CORRUPT", message, "see where: uncaged-workflow verify");
}

const blobsIn = (root: Root, { hash, threadId }: ThreadRef): string[] => {
  const folder = blobsDir(root, hash, threadId);
  return namesIn(folder)
    .filter(isBlobId)
    .map((id) => join(folder, id));
};

const startsWith = (whole: Buffer, beginning: Buffer): boolean =>
  beginning.length <= whole.length && whole.subarray(0, beginning.length).equals(beginning);

/** What the cluster has of a thread from before it left. */
type Older = { meta: ThreadMeta; data: Buffer; info: Buffer; values: Buffer; journal: Buffer };

async function older({ mirror, root }: HostContext, ref: ThreadRef): Promise<Older | null> {
  const meta = await mirror.sync(ref.threadId);
  if (!meta) return null;
  const [data, info, values, journal] = [dataPath, infoPath, valuesPath, journalPath].map((path) =>
    readIfThere(path(root, ref.hash, ref.threadId)),
  ) as [Buffer, Buffer, Buffer, Buffer];
  return { meta, data, info, values, journal };
}

/** Sends what the cluster lacks of a thread, and then what it is. */
async function arriveWhole(
  context: HostContext,
  root: Root,
  ref: ThreadRef,
  { moves, paused }: Arrival,
  { onProgress }: MoveOptions,
): Promise<void> {
  const { client, recent } = context;
  const { threadId, hash } = ref;
  const { start, steps, end, ...log } = logOf(root, ref);
  const lines = linesOf(readFileSync(dataPath(root, hash, threadId)).subarray(0, log.size));
  const before = await older(context, ref);
  const files = { info: infoPath, values: valuesPath, journal: journalPath };
  const names = Object.keys(files) as (keyof typeof files)[];
  const beside = names.map((name) => wholeLines(readIfThere(files[name](root, hash, threadId))));
  const goesOn = before && names.every((name, n) => startsWith(beside[n] ?? nothing, before[name]));
  const from = goesOn ? before : null;
  const batches = names.flatMap((name, n) =>
    batchesOf((beside[n] ?? nothing).subarray(from?.[name].length ?? 0)).map((piece) =>
      names.map((_, at) => (at === n ? piece : nothing)),
    ),
  );
  const firstRecord = before?.meta.records ?? 0;
  const firstBatch = from?.meta.batches ?? 0;
  function* kept(): Generator<Kept> {
    for (let n = firstRecord; n < lines.length; n += 1)
      yield { key: numbered("s", n), bytes: lines[n] as Buffer };
    for (const [n, parts] of batches.entries())
      yield { key: batchKey(firstBatch + n), bytes: frame({}, parts) };
    for (const path of blobsIn(root, ref)) {
      const id = path.slice(-32);
      const bytes = readBlob(path, id);
      if (bytes) yield { key: `b:${id}`, bytes };
    }
  }
  const all = [...lines, ...beside].reduce((sum, { length }) => sum + length, 0);
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
  const header: ArriveHeader = {
    threadId,
    hash,
    workflow: start.name,
    createdAt: start.timestamp,
    updatedAt: (end ?? steps.at(-1) ?? start).timestamp,
    ...(start.forkFrom && { forkFrom: start.forkFrom }),
    records: lines.length,
    batches: firstBatch + batches.length,
    sum: sumOf(lines.at(-1) as Buffer),
    last: lastOf(steps, start.parameters.options.maxRounds),
    end: end && { returnCode: end.meta.returnCode, reason: end.meta.reason },
    moves,
    paused,
    isNew: from === null,
    text: searchText(root, ref),
    taken: takenIds(steps),
  };
  const { arrived } = await client.call<{ arrived: boolean }>("thread", threadId, "arrive", header);
  if (!arrived) throw lostOnTheWay(threadId);
  recent.set(threadId, { threadId, hash, at: Date.now() });
}

const nothing = Buffer.alloc(0);

const wholeLines = (text: Buffer): Buffer => text.subarray(0, text.lastIndexOf("\n") + 1);

const tooLarge = (threadId: string, what: string, length: number): WorkflowError =>
  WorkflowError.failed(
    "RECORD_TOO_LARGE",
    `${threadId} has ${what} of ${(length / 1048576).toFixed(1)} MiB, and a cluster takes ${maxRecordBytes / 1048576}`,
    "it stays where it is",
  );

const withoutSums = (threadId: string): WorkflowError =>
  WorkflowError.failed(
    "NO_SUMS",
    `the log of ${threadId} has no checksums: an older version wrote it`,
    `move a fork of it: uncaged-workflow fork ${threadId}`,
  );

const differs = (threadId: string): WorkflowError =>
  WorkflowError.failed(
    "THREAD_EXISTS",
    `the cluster has another thread ${threadId}, with other records`,
    `it stays where it is; compare them: uncaged-workflow thread ${threadId}`,
  );

const lostOnTheWay = (threadId: string): WorkflowError =>
  WorkflowError.failed(
    "CALL_FAILED",
    `what the cluster had taken of ${threadId} is gone again`,
    "move it again: it is finished then",
  );

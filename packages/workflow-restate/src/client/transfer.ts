import type { NotStaged } from "../thread/staging.ts";
import type { ThreadMeta } from "../thread/thread.ts";
import type { ClusterClient } from "./client.ts";
import { frame } from "./frame.ts";
import { startPending } from "./errors.ts";

/**
 * Value in a thread's object: a record (`s:…`), a journal record (`j:…`), a batch of the debug log (`t:…`), or a blob
 * (`b:…`).
 */
export type Kept = { key: string; bytes: Uint8Array };

/** Returns the values of a new thread, in any order. Each retry calls the function again. */
export type KeptValues = () => Iterable<Kept> | AsyncIterable<Kept>;

/** The created thread, or the existing thread with the same id. */
export type Begun = { started: boolean; hash: string; workflow: string; meta: ThreadMeta };

type Answer<T> = T | { refused: NotStaged };

/** Largest message in bytes, unless a single value is larger. The limit of the cluster is 32 MiB. */
const messageBytes = 8 * 1024 * 1024;
const messageValues = 1000;
/** Longest wait for another start of the same thread, in milliseconds. Abandoned starts expire sooner. */
const pendingMs = 15_000;
const againMs = 100;

/**
 * Creates a thread from a header and any number of values. Each message stages values, and the last message creates the
 * thread. So a client that dies before the last message has created nothing and may retry.
 *
 * @throws WorkflowError `START_PENDING`, and the errors of {@link ClusterClient.call}.
 */
export async function createThread(
  client: ClusterClient,
  header: { threadId: string },
  values: KeptValues,
): Promise<Begun> {
  const { threadId } = header;
  const send = async <T extends object>(handler: string, more: object, kept: readonly Kept[]) => {
    const keys = kept.map(({ key }) => key);
    const message = frame(
      { ...more, keys },
      kept.map(({ bytes }) => bytes),
    );
    return await untilFree<T>(threadId, () => client.call("thread", threadId, handler, message));
  };
  const token = crypto.randomUUID();
  let sent = 0;
  let ready: Kept[] = [];
  for await (const message of messagesOf(values())) {
    if (ready.length > 0) {
      const before = await send<Begun | { staged: true }>("stage", { token, from: sent }, ready);
      if ("hash" in before) return before;
      sent += ready.length;
    }
    ready = message;
  }
  return await send<Begun>("start", { ...header, token: sent > 0 ? token : null }, ready);
}

/** Groups values into messages. */
export async function* messagesOf(
  values: Iterable<Kept> | AsyncIterable<Kept>,
): AsyncGenerator<Kept[]> {
  let group: Kept[] = [];
  let bytes = 0;
  for await (const kept of values) {
    const { length } = kept.bytes;
    if (group.length === messageValues || (group.length > 0 && bytes + length > messageBytes)) {
      yield group;
      [group, bytes] = [[], 0];
    }
    group.push(kept);
    bytes += length;
  }
  yield group;
}

/** Retries a call while another start of the thread is in progress. */
async function untilFree<T extends object>(
  threadId: string,
  call: () => Promise<Answer<T>>,
): Promise<T> {
  for (const late = Date.now() + pendingMs; ; await Bun.sleep(againMs)) {
    const reply = await call();
    if (!("refused" in reply)) return reply;
    if (reply.refused === "pending" && Date.now() < late) continue;
    throw startPending(threadId, reply.refused === "pending");
  }
}

/** Reads blobs of a thread by id. Skips missing blobs. */
export async function* keptBlobs(
  client: ClusterClient,
  threadId: string,
  ids: ReadonlySet<string>,
): AsyncGenerator<Kept> {
  for (const id of await blobIds(client, threadId)) {
    if (!ids.has(id)) continue;
    const [blob] = await client.state("thread", threadId, ` AND key = 'b:${id}'`);
    if (blob) yield blob;
  }
}

/** Returns the ids of a thread's blobs. */
export async function blobIds(client: ClusterClient, threadId: string): Promise<string[]> {
  const rows = await client.keys("thread", threadId, " AND key >= 'b:' AND key < 'b;'");
  return rows.map((key) => key.slice(2));
}

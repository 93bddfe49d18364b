import {
  blobsNamedIn,
  checkAnswerer,
  checkGiven,
  checkParams,
  checkThreadId,
  DiskStore,
  firstSum,
  forkRequest,
  isThreadId,
  newThreadId,
  notFound,
  pickThread,
  prepareThread,
  readBundle,
  requestIdOf,
  type Resolved,
  roundsOf,
  sealed,
  SearchText,
  sha256,
  type StartRequest,
  withValue,
  wakesAt,
} from "@uncaged/workflow/driver";
import { INPUT, WAIT } from "@uncaged/workflow";
import {
  type ControlResult,
  type Forked,
  type ForkOptions,
  type StartedThread,
  type StartOptions,
  type Step,
  type ThreadCommand,
  type ThreadRef,
  WorkflowError,
} from "@uncaged/workflow/host";
import { isPassing } from "../client/client.ts";
import { batchKey, frame, numbered } from "../client/frame.ts";
import { createThread, type Kept, keptBlobs } from "../client/transfer.ts";
import {
  type LastRecord,
  movedAway,
  type StartMessage,
  type ThreadMeta,
} from "../thread/thread.ts";
import { allRows } from "./list.ts";
import type { HostContext } from "./context.ts";

type Resolve = (workflow: string) => Promise<Resolved>;
type Request = Omit<StartRequest, "threadId" | "env">;

/** @see Host.start */
export async function startThread(
  context: HostContext,
  resolve: Resolve,
  options: StartOptions,
): Promise<StartedThread> {
  // Workers have an environment of their own, and each append is durable.
  const { threadId, cwd, env: _, name, durability: __, ...given } = options;
  checkGiven(given);
  const { name: resolved, hash } = await resolve(given.workflow);
  return await begin(context, hash, threadId, {
    ...given,
    input: given.input && withValue(given.input),
    workflow: name ?? resolved,
    options: { ...given.options, cwd },
  });
}

/** @see Host.fork */
export async function forkThread(
  context: HostContext,
  resolve: Resolve,
  ref: ThreadRef,
  options: ForkOptions,
): Promise<Forked> {
  const { env: _, threadId, durability: __, ...given } = options;
  const source = await context.mirror.sync(ref.threadId);
  if (source?.hash !== ref.hash) throw notFound(ref.threadId);
  const { hash, steps, request } = await forkRequest(context.root, ref, given, resolve);
  const started = await begin(context, hash, threadId, request);
  return { ...started, forkFrom: { threadId: ref.threadId, steps } };
}

/** Makes the log of a new thread here, as the local host makes it, and has the cluster take it whole. */
async function begin(
  context: HostContext,
  hash: string,
  given: string | undefined,
  request: Request,
): Promise<StartedThread> {
  const { client, root, bundles, local, recent } = context;
  const threadId = given === undefined ? await newThreadId() : checkThreadId(given);
  const before =
    given === undefined ? null : await client.value<ThreadMeta>("thread", threadId, "meta");
  const away = before && movedAway(before);
  if (away) throw new WorkflowError(away.error);
  if (before) return { threadId, workflow: before.workflow, hash: before.hash };
  await bundles.fetch(hash);
  const descriptor = await local.descriptor(hash);
  if (descriptor === null) throw descriptorDamaged(hash);
  const bundle = { descriptor, run: notRun };
  const whole = { ...request, threadId, env: {} };
  await checkParams(bundle, whole);
  const store = new DiskStore(root);
  const facts = { rounds: roundsOf(bundle), sha256: sha256(await readBundle(root, hash)) };
  const { thread, start, steps } = await prepareThread(store, hash, whole, facts);
  const lines = sealedLines(thread.records);
  const batches = batchesOf(
    Buffer.concat(sealedLines(thread.journal ?? []).flatMap((line) => [line, Buffer.from("\n")])),
  );
  const text = new SearchText();
  for (const step of steps) text.add(step);
  const header: StartMessage = {
    threadId,
    hash,
    workflow: start.name,
    createdAt: start.timestamp,
    ...(start.forkFrom && { forkFrom: start.forkFrom }),
    records: lines.length,
    batches: batches.length,
    sum: sumOf(lines.at(-1) as Buffer),
    last: lastOf(steps, start.parameters.options.maxRounds),
    text: text.of(start, null),
    taken: steps.flatMap((step) => (step.role === INPUT ? (requestIdOf(step) ?? []) : [])),
  };
  async function* values(): AsyncGenerator<Kept> {
    for (const [n, bytes] of lines.entries()) yield { key: numbered("s", n), bytes };
    for (const [n, piece] of batches.entries()) {
      const none = Buffer.alloc(0);
      yield { key: batchKey(n), bytes: frame({}, [none, none, piece]) };
    }
    const named = new Set(request.fork ? steps.flatMap(blobsNamedIn) : []);
    if (request.fork && named.size > 0) yield* keptBlobs(client, request.fork.threadId, named);
  }
  const started = await createThread(client, header, values).catch((error: unknown) => {
    throw isPassing(error) ? inDoubt(error, threadId) : error;
  });
  recent.set(threadId, { threadId, hash: started.hash, at: Date.now() });
  return { threadId, workflow: started.workflow, hash: started.hash };
}

const descriptorDamaged = (hash: string): WorkflowError =>
  WorkflowError.failed(
    "BAD_DESCRIPTOR",
    `bundle/${hash}: its descriptor is damaged`,
    "add the original file again to restore it: uncaged-workflow add <name> <file>",
  );

/** A start whose answer is lost, or late, may have had its effect, or have it yet. */
function inDoubt({ code, message }: WorkflowError, threadId: string): WorkflowError {
  const what = `${message}; whether the thread ${threadId} begins is not known`;
  const hint = `start it again as the same thread: --thread-id ${threadId}`;
  return WorkflowError.failed(code, what, hint);
}

// What a thread is started with is checked against the descriptor alone.
const notRun = (): never => {
  throw new Error("a host runs no bundle");
};

/** Records with the chained checksums of a log. */
function sealedLines(records: readonly string[]): Buffer[] {
  let last = firstSum;
  return records.map((record) => {
    const { text, sum } = sealed(record, last);
    last = sum;
    return Buffer.from(text);
  });
}

/** The lines of a log. */
export function linesOf(log: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let from = 0; from < log.length; ) {
    const end = log.indexOf("\n", from);
    lines.push(log.subarray(from, end));
    from = end + 1;
  }
  return lines;
}

/** So much of a log is one batch, unless it is one line. */
const batchBytes = 512 * 1024;

/** Whole lines in pieces of which each is one batch. */
export function batchesOf(text: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let from = 0; from < text.length; ) {
    const last = text.lastIndexOf("\n", Math.min(from + batchBytes, text.length) - 1);
    const end = (last >= from ? last : text.indexOf("\n", from)) + 1;
    pieces.push(text.subarray(from, end));
    from = end;
  }
  return pieces;
}

/** The checksum that a record has as its last field. */
export const sumOf = (line: Buffer): string =>
  (JSON.parse(line.toString("utf8")) as { sum: string }).sum;

/** What the object keeps of a log's last step. */
export function lastOf(steps: readonly Step[], maxRounds: number): LastRecord | null {
  const last = steps.at(-1);
  if (!last) return null;
  const { role, timestamp, meta } = last;
  const at = wakesAt(last);
  return {
    role,
    timestamp,
    waits: role === WAIT && steps.length < maxRounds,
    ...(meta.sleep === true && { sleeps: true }),
    ...(at !== null && { wakesAt: at }),
  };
}

/** @see Host.find */
export async function findThread(context: HostContext, text: string): Promise<ThreadRef> {
  if (isThreadId(text)) {
    const meta = await context.client.value<ThreadMeta>("thread", text, "meta");
    if (!meta) throw notFound(text);
    return { hash: meta.hash, threadId: text };
  }
  const refs: ThreadRef[] = [];
  for await (const { hash, threadId } of allRows(context)) {
    refs.push({ hash, threadId });
    if (text === "@last") break;
  }
  return pickThread(refs, text);
}

/** @see Host.control */
export async function controlThread<Command extends ThreadCommand>(
  context: HostContext,
  ref: ThreadRef,
  command: Command,
): Promise<ControlResult<Command>> {
  const call = (handler: string, body: object = {}) =>
    context.client.call<{ threadId: string }>("thread", ref.threadId, handler, body);
  const meta = await context.metaOf(ref);
  if (!meta) throw notFound(ref.threadId);
  const act = async () => {
    switch (command.kind) {
      case "pause":
        return await call("pause");
      case "resume":
        return await call((await context.isDriven(meta)) ? "resume" : "takeUp");
      case "answer":
        checkAnswerer(context.root);
        return await call("answer", {
          input: withValue(command.input),
          question: command.question,
        });
      case "kill":
        return { ...(await call("kill")), resumed: [] };
    }
  };
  return (await act()) as ControlResult<Command>;
}

import {
  checkSameThread,
  checkStart,
  forkRequest,
  newThread,
  pickThread,
  readBundle,
  refusals,
  type Resolved,
  startOf,
  type StartRequest,
} from "@uncaged/workflow/store";
import { checkAnswerer, checkThreadId, isThreadId, newThreadId } from "@uncaged/workflow/internal";
import {
  type ControlResult,
  type Forked,
  type ForkOptions,
  type StartedThread,
  type StartOptions,
  type ThreadCommand,
  type ThreadRef,
  WorkflowError,
} from "@uncaged/workflow/host";
import { isPassing } from "../client/client.ts";
import { sha256 } from "../mirror/bundles.ts";
import { createIn } from "../store/create.ts";
import { movedAway, type ThreadMeta } from "../thread/thread.ts";
import { allRows } from "./list.ts";
import type { HostContext } from "./context.ts";
import { descriptorDamaged, startInDoubt } from "./errors.ts";

type Resolve = (workflow: string) => Promise<Resolved>;
type Request = Omit<StartRequest, "threadId" | "env">;

/** @see Host.start */
export async function startThread(
  context: HostContext,
  resolve: Resolve,
  options: StartOptions,
): Promise<StartedThread> {
  // Ignore `env` and `durability`: workers have their own environment, and each append is durable.
  const { threadId, cwd, env: _, name, durability: __, ...given } = options;
  checkStart(given);
  const { name: resolved, hash } = await resolve(given.workflow);
  return await begin(context, hash, threadId, {
    ...given,
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
  if (source?.hash !== ref.hash) throw refusals.notFound(ref.threadId);
  const { hash, steps, request } = await forkRequest(context.root, ref, given, resolve);
  const started = await begin(context, hash, threadId, request);
  return { ...started, forkFrom: { threadId: ref.threadId, steps } };
}

/** Creates a thread. The cluster's workers drive it. */
async function begin(
  context: HostContext,
  hash: string,
  given: string | undefined,
  request: Request,
): Promise<StartedThread> {
  const { client, store, bundles, local, mirror, recent } = context;
  const threadId = given === undefined ? await newThreadId() : checkThreadId(given);
  const before =
    given === undefined ? null : await client.value<ThreadMeta>("thread", threadId, "meta");
  const away = before && movedAway(before);
  if (away) throw new WorkflowError(away.error);
  if (before) {
    await mirror.sync(threadId);
    const start = startOf(context.root, { hash: before.hash, threadId });
    if (start) checkSameThread(start, { ...request, hash });
    return { threadId, workflow: before.workflow, hash: before.hash };
  }
  await bundles.fetch(hash);
  const descriptor = await local.descriptor(hash);
  if (descriptor === null) throw descriptorDamaged(hash);
  const bundle = { descriptor, sha256: sha256(await readBundle(store.root, hash)) };
  const thread = await newThread(store, hash, bundle, { ...request, threadId, env: {} });
  const started = await createIn(client, thread).catch((error: unknown) => {
    throw isPassing(error) ? startInDoubt(error, threadId) : error;
  });
  recent.set(threadId, { threadId, hash: started.hash, at: Date.now() });
  return { threadId, workflow: started.workflow, hash: started.hash };
}

/** @see Host.find */
export async function findThread(context: HostContext, text: string): Promise<ThreadRef> {
  if (isThreadId(text)) {
    const meta = await context.client.value<ThreadMeta>("thread", text, "meta");
    if (!meta) throw refusals.notFound(text);
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
  if (!meta) throw refusals.notFound(ref.threadId);
  const kill = async () => {
    const done = await call("kill");
    const ended = await context.metaOf(ref).catch(() => null);
    // The cluster writes the end of a killed thread, so no worker sends the fields of its row.
    if (ended) await context.read(ended, false).catch(() => null);
    return done;
  };
  const act = async () => {
    switch (command.kind) {
      case "pause":
        return await call("pause");
      case "resume":
        return await call((await context.isDriven(meta)) ? "resume" : "takeUp");
      case "answer":
        checkAnswerer(context.root);
        return await call("answer", {
          input: command.input,
          question: command.question,
        });
      case "kill":
        return { ...(await kill()), resumed: [] };
    }
  };
  return (await act()) as ControlResult<Command>;
}

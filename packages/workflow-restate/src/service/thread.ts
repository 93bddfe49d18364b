import {
  handlers,
  InvocationIdParser,
  object,
  type ObjectContext,
  type ObjectSharedContext,
  serde,
} from "@restatedev/restate-sdk";
import type { Mask } from "@uncaged/workflow/interpreter";
import {
  answerAt,
  type GivenAnswer,
  killed,
  refusals,
  requestIdOf,
  sealed,
  timeoutStep,
  type WorkFigures,
} from "@uncaged/workflow/store";
import { type EndRecord, type ErrorRecord, type Step, toErrorRecord } from "@uncaged/workflow/host";
import { batchKey, frame, numbered, unframe } from "../client/frame.ts";
import { serviceMetadata } from "../cluster/names.ts";
import { tombstoneOf } from "../thread/move.ts";
import * as rules from "../thread/thread.ts";
import type { AppendedRecord, AppendRequest, ThreadMeta } from "../thread/thread.ts";
import { listThread, noteChange, unlistThread } from "./listing.ts";
import { claimHandlers } from "./claim.ts";
import { describeHandler } from "./describe.ts";
import { moveHandlers } from "./move.ts";
import { brief, long } from "./options.ts";
import { logRefusal } from "./refusal.ts";
import { startHandlers } from "./start.ts";

type Refusal = { error: ErrorRecord };
type Object = ObjectContext;

/**
 * Header of an append. The parts of the message are the record, or nothing, and new lines of the debug log and of the
 * values.
 */
export type AppendMessage = Omit<AppendRequest, "batch"> & {
  /** Offset of the lines in the worker's copy of the debug log. */
  at?: number;
  record?: AppendedRecord & { text?: string; figures?: WorkFigures };
};

/**
 * Drives a thread until it rests. Returns the outcome that the thread's object confirmed; throws without a
 * confirmation.
 */
export type Drive = (order: {
  threadId: string;
  epoch: number;
  invocation: string;
  signal: AbortSignal;
}) => Promise<string>;

/** Largest start record in the reply to a claim, in bytes. */
const mostWithClaim = 64 * 1024;

const metaOf = (ctx: Object | ObjectSharedContext) => ctx.get<ThreadMeta>("meta");
const sumOf = ({ sum }: ThreadMeta): bigint => BigInt(`0x${sum}`);

const setLine = (ctx: Object, n: number, bytes: Uint8Array): void =>
  ctx.set(numbered("s", n), bytes, serde.binary);

/**
 * Stores a thread's meta, updates its row, and sends its order to drive and its timeout. For a thread that left or
 * returned, `before` is null, and `isKnown` means that the index counts the thread already.
 */
async function become(
  ctx: Object,
  meta: ThreadMeta,
  before: ThreadMeta | null,
  { more = "", isKnown = before !== null, awaits = false } = {},
) {
  ctx.set("meta", meta);
  const { threadId, epoch, drive, end, last } = meta;
  if (drive && epoch !== before?.epoch) {
    const parameter = { epoch };
    ctx.genericSend({
      service: "thread",
      method: "drive",
      key: threadId,
      parameter,
      inputSerde: serde.json,
    });
  }
  const isHeld = (one: ThreadMeta) => one.drive !== null || one.lease !== undefined;
  const isResting = !isHeld(meta) && (before === null || isHeld(before) || end !== before.end);
  await listThread(ctx, meta, before, { isResting, isKnown, more, awaits });
  const isWoken = !meta.location?.host && !meta.byClaims;
  if (isResting && isWoken && last?.waits && last.wakesAt !== undefined && !end) {
    const delay = Math.max(0, last.wakesAt - (await ctx.date.now()));
    const parameter = { n: meta.records - 1 };
    ctx.genericSend({
      service: "thread",
      method: "expire",
      key: threadId,
      parameter,
      delay,
      inputSerde: serde.json,
    });
  }
}

/** Adds a record that the object itself creates. */
function sealedRecord(
  ctx: Object,
  meta: ThreadMeta,
  record: Step | EndRecord,
  end?: AppendedRecord["end"],
): AppendedRecord {
  const { text, sum } = sealed(JSON.stringify(record), sumOf(meta));
  setLine(ctx, meta.records, Buffer.from(text));
  const { role, timestamp } = record;
  return { sum: sum.toString(16), last: { role, timestamp, waits: false }, ...(end && { end }) };
}

const missing = (threadId: string): Refusal => ({
  error: toErrorRecord(refusals.notFound(threadId)),
});
const done = ({ threadId }: ThreadMeta) => ({ threadId });

/** Reads the clock only when a lease may have expired. */
const nowFor = async (ctx: Object, meta: ThreadMeta | null): Promise<number> =>
  meta?.lease ? await ctx.date.now() : 0;

/** Applies a rule to an existing thread and stores the result. */
async function change(
  ctx: Object,
  rule: (
    meta: ThreadMeta,
  ) => { meta: ThreadMeta } | Refusal | Promise<{ meta: ThreadMeta } | Refusal>,
): Promise<{ threadId: string } | Refusal> {
  const meta = await metaOf(ctx);
  if (!meta) return missing(ctx.key);
  const away = rules.movedAway(meta);
  if (away) return away;
  const changed = await rule(meta);
  if ("error" in changed) return changed;
  await become(ctx, changed.meta, meta);
  return done(changed.meta);
}

/** Cancels the invocation that drives a thread. */
function stopDrive(ctx: Object, { drive }: ThreadMeta): void {
  if (drive?.invocation) ctx.invocation(InvocationIdParser.fromString(drive.invocation)).cancel();
}

async function kill(ctx: Object): Promise<{ threadId: string } | Refusal> {
  const now = await ctx.date.now();
  return await change(ctx, (meta) => {
    if (meta.end)
      return rules.kill(meta, { sum: "", last: { role: "", timestamp: 0, waits: false } });
    const record = killed(now);
    const { returnCode, reason } = record.meta;
    stopDrive(ctx, meta);
    return rules.kill(meta, sealedRecord(ctx, meta, record, { returnCode, reason }));
  });
}

/** @see rules.append */
async function append(ctx: Object, message: Uint8Array) {
  const { header, parts } = unframe(message);
  const { record, at, ...request } = header as AppendMessage;
  const [line, lines, values] = parts as [Buffer, Buffer, Buffer];
  const before = await metaOf(ctx);
  const batch = lines.length + values.length > 0;
  const now = await nowFor(ctx, before);
  const appended = rules.append(before, { ...request, ...(record && { record }), batch }, now);
  if (appended.kind === "fenced") return { fenced: true };
  if (appended.kind === "ended") return { ended: true };
  const { meta, kind } = appended;
  if (kind === "done") {
    if (record) setLine(ctx, meta.records - 1, line);
    if (record?.figures) ctx.set("work", record.figures);
    if (request.journal) ctx.set(numbered("j", request.n), line, serde.binary);
    if (batch) {
      const { claim } = meta;
      const written = frame({ claim, at }, [lines, values]);
      ctx.set(batchKey(meta.batches - 1), written, serde.binary);
    }
    if (record)
      await become(ctx, meta, before, record.text === undefined ? {} : { more: record.text });
    else {
      ctx.set("meta", meta);
      noteChange(ctx, meta);
    }
  }
  return { pause: meta.pause };
}

async function lineOf(ctx: Object, n: number): Promise<Buffer | null> {
  const bytes = await ctx.get<Uint8Array>(numbered("s", n), serde.binary);
  return bytes && Buffer.from(bytes);
}

/** Returns the last record of a thread, such as the step at which it waits. */
async function lastRecordOf(ctx: Object, meta: ThreadMeta): Promise<Step | null> {
  const line = await lineOf(ctx, meta.records - 1);
  return line && (JSON.parse(line.toString("utf8")) as Step);
}

async function commitInput(
  ctx: Object,
  meta: ThreadMeta,
  step: Omit<Step, "timestamp">,
  now: number,
) {
  const record = sealedRecord(ctx, meta, { ...step, timestamp: now });
  const id = requestIdOf(step);
  if (id !== undefined) ctx.set(`r:${id}`, 1);
  await become(ctx, rules.answer(meta, record, now).meta, meta);
}

/**
 * The Restate object of a thread. Its rules are in `thread/thread.ts`. `drive` is the function of the worker; `mask`
 * masks secrets.
 */
export const threadObject = (drive: Drive, mask: Mask) =>
  object({
    name: "thread",
    metadata: serviceMetadata,
    options: brief,
    handlers: {
      ...startHandlers({
        metaOf,
        become: (ctx, meta, awaits) => become(ctx, meta, null, awaits ? { awaits } : {}),
      }),

      claim: async (ctx: Object, request: rules.ClaimRequest) => {
        const before = await metaOf(ctx);
        const claimed = rules.claim(before, request);
        if ("over" in claimed) return claimed;
        if (claimed.meta.epoch === request.epoch) {
          ctx.set("meta", claimed.meta);
          // A new thread has only its start record. Sending it with the claim saves a slower query.
          const { records, batches, journal } = claimed.meta;
          const isAll = records === 1 && batches === 0 && journal === undefined;
          const line = isAll ? await lineOf(ctx, 0) : null;
          const isShort = line !== null && line.length <= mostWithClaim;
          return { ...claimed, ...(isShort && { start: line.toString("utf8") }) };
        }
        await become(ctx, claimed.meta, before);
        return { over: "superseded" };
      },

      look: async (ctx: Object, request: { epoch: number }) =>
        rules.look(await metaOf(ctx), request),

      append: handlers.object.exclusive({ input: serde.binary, accept: "*/*" }, append),

      /** Appends to a small thread. The call brings all of the thread's state, which saves a logged read of `meta`. */
      appendEager: handlers.object.exclusive(
        { input: serde.binary, accept: "*/*", enableLazyState: false },
        append,
      ),

      keep: handlers.object.exclusive(
        { input: serde.binary, accept: "*/*" },
        async (ctx: Object, message: Uint8Array) => {
          const { header, parts } = unframe(message);
          const { id, ...holder } = header as rules.Holder & { id: string };
          const meta = await metaOf(ctx);
          if (!rules.isHeldBy(meta, holder, await nowFor(ctx, meta))) return { fenced: true };
          ctx.set(`b:${id}`, parts[0] as Uint8Array, serde.binary);
          if (!meta.isLarge) ctx.set("meta", { ...meta, isLarge: true });
          return { fenced: false };
        },
      ),

      ...claimHandlers({
        metaOf,
        stopDrive,
        missing,
        become: (ctx, meta, before) => become(ctx, meta, before),
      }),

      park: async (ctx: Object, request: rules.Holder) => {
        const before = await metaOf(ctx);
        const parked = rules.park(before, request, await nowFor(ctx, before));
        if ("parked" in parked) return parked;
        await become(ctx, parked.meta, before);
        return { parked: true };
      },

      pause: (ctx: Object) => change(ctx, rules.pause),

      resume: async (ctx: Object) => {
        const now = await ctx.date.now();
        return await change(ctx, (meta) => rules.resume(meta, now));
      },

      takeUp: async (ctx: Object) => {
        const now = await ctx.date.now();
        return await change(ctx, (meta) => {
          stopDrive(ctx, meta);
          return rules.takeUp(meta, now);
        });
      },

      kill,

      describe: describeHandler({ metaOf, lastRecordOf }),

      answer: async (ctx: Object, given: GivenAnswer) => {
        const meta = await metaOf(ctx);
        if (!meta) return missing(ctx.key);
        const away = rules.movedAway(meta);
        if (away) return away;
        const id = requestIdOf(given.input);
        if (id !== undefined && (await ctx.get(`r:${id}`)) !== null) return done(meta);
        const refused = async ({ error }: Refusal, stepID: unknown = null) => {
          const entry = {
            reason: error.message,
            stepID: typeof stepID === "string" ? stepID : null,
          };
          if (!meta.end) {
            ctx.set("meta", await logRefusal(ctx, meta, entry, mask));
            noteChange(ctx, meta);
          }
          return { error };
        };
        const refusal = rules.refusalOfAnswer(meta);
        const question = refusal ? null : await lastRecordOf(ctx, meta);
        if (!question) return await refused(refusal ?? missing(ctx.key));
        const now = await ctx.date.now();
        const wait = question.meta as Parameters<typeof timeoutStep>[0];
        // The start record counts as record 0.
        const asked = { number: meta.records - 1, wait };
        const step = await answerAt(meta.threadId, asked, given, now).catch(
          (error: unknown): Refusal => ({ error: toErrorRecord(error) }),
        );
        if ("error" in step) return await refused(step, wait.stepID);
        await commitInput(ctx, meta, step, now);
        return done(meta);
      },

      expire: async (ctx: Object, { n }: { n: number }) => {
        const meta = await metaOf(ctx);
        if (!rules.expires(meta, n)) return;
        const question = await lastRecordOf(ctx, meta);
        if (!question) return;
        const wait = question.meta as Parameters<typeof timeoutStep>[0];
        await commitInput(ctx, meta, timeoutStep(wait), await ctx.date.now());
      },

      remove: async (ctx: Object, { force, hash }: { force: boolean; hash?: string }) => {
        const meta = await metaOf(ctx);
        if (!meta || (hash !== undefined && hash !== meta.hash)) return missing(ctx.key);
        const refusal = rules.refusalOfRemoval(meta, force);
        if (refusal) return refusal;
        stopDrive(ctx, meta);
        ctx.clearAll();
        const tombstone = tombstoneOf(meta);
        if (tombstone) ctx.set("left", tombstone);
        unlistThread(ctx, meta);
        return done(meta);
      },

      ...moveHandlers({
        ...{ metaOf, stopDrive, missing },
        become: (ctx, meta, isKnown) => become(ctx, meta, null, { isKnown }),
      }),

      drive: handlers.object.shared(
        long,
        async (ctx: ObjectSharedContext, { epoch }: { epoch: number }) => {
          const stop = new AbortController();
          const { id, attemptCompletedSignal } = ctx.request();
          attemptCompletedSignal.addEventListener("abort", () => stop.abort());
          const order = { threadId: ctx.key, epoch, invocation: id, signal: stop.signal };
          try {
            return await ctx.run("drive", () => drive(order), {
              initialRetryInterval: 100,
              maxRetryInterval: 5000,
            });
          } catch (error) {
            // The invocation was canceled: another command took the thread from this worker.
            stop.abort();
            throw error;
          }
        },
      ),
    },
  });

import { OpenAPIHono } from "@hono/zod-openapi";
import {
  type Host,
  type HostChange,
  type ThreadRow,
  toErrorRecord,
  type Verification,
} from "@uncaged/workflow/host";
import {
  protocolVersion,
  type RemoteArguments,
  type RemoteEvent,
  type RemoteGreeting,
  type RemoteReply,
  type RemoteStreams,
} from "@uncaged/workflow/internal";
import type { Context as Call } from "hono";
import { z } from "zod";
import { checkDepth } from "../guard/body.ts";
import { errorResponseTo, violation } from "../guard/error-response.ts";
import { badJson, unknownPath } from "../guard/errors.ts";
import { admittedTo, answererOf, needs, requireRole } from "../guard/role.ts";
import type { Context } from "../routes/route.ts";
import { type Message, type Messages, messageOf } from "../stream/streams.ts";
import { otherProtocol, serverRestarted } from "./errors.ts";
import { methods, type RemoteMethod, roleOf, streamArguments } from "./methods.ts";
import { Once } from "./once.ts";

const requestSchema = z.strictObject({
  protocol: z.number(),
  arguments: z.unknown(),
  key: z.string().min(1).max(64).optional(),
  instance: z.string().optional(),
  forMs: z.number().min(1).max(60_000).optional(),
});

type Given = z.output<typeof requestSchema>;

/** Properties of the server that its greeting sends to clients. */
export type Served = { version: string; root: string; heartbeatMs: number };

/** Returns the routes of the protocol of remote hosts (`openRemoteHost`). */
export function remoteRoutes(context: Context, served: Served) {
  const { host, streams } = context;
  const instance = crypto.randomUUID();
  const once = new Once();
  const app = new OpenAPIHono();

  app.get("/host", needs("read"), (call) => {
    const { maxRecordBytes } = host;
    const own = { name: "uncaged-workflow", protocol: protocolVersion, instance } as const;
    return call.json({ ...own, ...served, maxRecordBytes } satisfies RemoteGreeting);
  });

  app.post("/host/:method", needs("read"), async (call) => {
    const method = call.req.param("method");
    try {
      requireRole(call, roleOf(method) ?? "read");
      if (Object.hasOwn(streamArguments, method)) {
        const name = method as keyof RemoteStreams;
        const given = await requestIn(call);
        const args = argumentsIn(streamArguments[name] as z.ZodType<object>, given);
        const { raw } = call.req;
        return await streams.send(call, (signal) => {
          const limit = given.forMs === undefined ? [] : [AbortSignal.timeout(given.forMs)];
          const until = AbortSignal.any([signal, ...limit]);
          return messagesOf(raw, itemsOf(context, name, args, until), host, until);
        });
      }
      if (!Object.hasOwn(methods, method)) throw unknownPath("POST", call.req.path);
      const given = await requestIn(call);
      const called = methods[method as keyof typeof methods] as RemoteMethod<object>;
      const wanted = argumentsIn(called.args, given);
      const { caller, noted } = admittedTo(call);
      noted.thread = (wanted as Partial<RemoteArguments["read"]>).ref?.threadId;
      // Only the own token of the storage root may name another sender of an answer.
      const sender = caller.name === null ? undefined : answererOf(call);
      const { key, instance: of } = given;
      if (of !== undefined && of !== instance) throw serverRestarted(method);
      const result =
        (await once.make(key, () => called.run(wanted, { ...context, sender }))) ?? null;
      return call.json({ result, instance } satisfies RemoteReply);
    } catch (error) {
      return refusal(call.req.raw, error, host);
    }
  });
  return app;
}

/**
 * Returns the response for an error. Unlike the responses of other routes, the response contains the kind of the error.
 */
function refusal(request: Request, thrown: unknown, { root }: Host): Response {
  const { status, headers, body } = errorResponseTo(request, thrown, root);
  if (status === 500) console.error(thrown);
  return Response.json({ error: recordOf(body, thrown) }, { status, headers });
}

const recordOf = ({ error }: { error: unknown }, thrown: unknown): object => ({
  ...(error as object),
  kind: toErrorRecord(thrown).kind,
});

/** Reads the body of a request. @throws WorkflowError `BAD_JSON`, `BAD_REQUEST` (usage), `OTHER_PROTOCOL`. */
async function requestIn(call: Call): Promise<Given> {
  const body: unknown = await call.req.json().catch(() => {
    throw badJson();
  });
  checkDepth(body);
  const { protocol } = (body ?? {}) as { protocol?: unknown };
  // A request of another version may have other fields.
  if (typeof protocol === "number" && protocol !== protocolVersion)
    throw otherProtocol(protocol, protocolVersion);
  return checked(requestSchema, body, "json");
}

const argumentsIn = <Arguments>(schema: z.ZodType<Arguments>, given: Given): Arguments =>
  checked(schema, given.arguments ?? {}, "arguments");

function checked<Value>(schema: z.ZodType<Value>, value: unknown, name: string): Value {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  throw violation(name, error, schema);
}

/** Yields the events of a stream: its items, then its result or its error. */
async function* messagesOf(
  request: Request,
  items: Items,
  { root }: Host,
  signal: AbortSignal,
): Messages {
  try {
    for (let next = await items.next(); ; next = await items.next()) {
      if (signal.aborted) return;
      if (next.done) return yield message("done", next.value ?? null);
      yield next.value;
    }
  } catch (error) {
    if (signal.aborted) return;
    const { status, body } = errorResponseTo(request, error, root);
    if (status === 500) console.error(error);
    yield message("failed", recordOf(body, error));
  }
}

type Items = AsyncGenerator<Message, unknown, undefined>;

async function* itemsOf(
  { host, changes }: Context,
  method: keyof RemoteStreams,
  given: object,
  signal: AbortSignal,
): Items {
  const streams: { [Method in keyof RemoteStreams]: (args: RemoteStreams[Method]) => Items } = {
    async *observe({ ref, cursor, options }) {
      for await (const item of host.observe(ref, cursor, { ...options, signal }))
        yield message("item", item, item.cursor);
    },
    async *log({ ref, options = {} }) {
      for await (const line of host.log(ref, { ...options, signal }))
        yield message("item", line, options.backward ? undefined : line.position);
    },
    async *changes({ cursor }) {
      for await (const { event, data, id } of changes.listen(cursor, signal))
        yield message("item", changeOf(event, data), id);
    },
    verify: () => verifying(host),
  };
  return yield* (streams[method] as (args: object) => Items)(given);
}

/** Returns the change of the host that an event of the change feed reports. */
function changeOf(event: string | undefined, data: string): HostChange {
  const value: unknown = JSON.parse(data);
  if (event === "thread") return { kind: "thread", row: value as ThreadRow };
  if (event === "removed") return { kind: "removed", ...(value as { threadId: string }) };
  return event === "workflows" ? { kind: "workflows" } : { kind: "ready" };
}

/** Yields the progress of a check, and returns its result. */
async function* verifying(host: Host): Items {
  let news = Promise.withResolvers<boolean>();
  let latest: Verification["checked"] | null = null;
  const verification = host.verify({
    onProgress(progress) {
      latest = progress;
      news.resolve(false);
    },
  });
  const hasEnded = verification.then(
    () => true,
    () => true,
  );
  for (;;) {
    const isEnd = await Promise.race([hasEnded, news.promise]);
    if (latest !== null) yield message("item", latest);
    if (isEnd) return await verification;
    latest = null;
    news = Promise.withResolvers();
  }
}

const message = (event: RemoteEvent, data: unknown, id?: string | number): Message =>
  messageOf(event, data, id);

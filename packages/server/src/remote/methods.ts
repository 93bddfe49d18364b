import type { AnsweredBy, Host } from "@uncaged/workflow/host";
import {
  type RemoteArguments,
  type RemoteStreams,
  threadIdPattern,
} from "@uncaged/workflow/internal";
import { z } from "zod";
import type { Role } from "../guard/role.ts";
import { statusSchema } from "../schema/thread.ts";
import { addBundle, storeBundle } from "./bundles.ts";

/**
 * The context of a call: the host, the environment and folder of threads that the server starts, and the sender of an
 * answer, if the client may not name another.
 */
export type CallContext = {
  host: Host;
  env: Record<string, string>;
  cwd: string;
  sender: AnsweredBy | undefined;
};

/** Returns an answer or an edit with its sender. */
const signed = <Given extends { by?: AnsweredBy } | undefined>(
  given: Given,
  sender: AnsweredBy | undefined,
): Given => (given && sender ? { ...given, by: sender } : given);

/** A method of the protocol: the required role, the arguments, and the call of the host. */
export type RemoteMethod<Arguments = never> = {
  role: Role;
  args: z.ZodType<Arguments>;
  run(args: Arguments, context: CallContext): Promise<unknown>;
};

// Unknown fields are dropped, because every host accepts objects with additional fields.
const text = z.string();
const optionalText = text.optional();
const number = z.number();
const optionalNumber = number.optional();
const flag = z.boolean().optional();
const nothing = z.object({});
const named = z.object({ name: text });
const version = z.object({ workflow: text });
// References become paths of files.
const hash = text.regex(/^[0-9A-HJKMNP-TV-Z]{13}$/, "must be the hash of a bundle");
export const ref = z.object({
  hash,
  threadId: text.regex(threadIdPattern, "must be a thread's whole id"),
});
const one = z.object({ ref });

const fields = z.record(text, z.unknown());
const durability = z.enum(["step", "os"]).optional();
/** The host checks the sender of an answer. */
const by = z.any().optional();
const input = z.object({
  content: text,
  value: z.unknown().optional(),
  meta: fields.optional(),
  by,
});
const keep = z.union([
  z.object({ fromRole: text }),
  z.object({ atStep: number }),
  z.object({ steps: z.array(number) }),
]);

const filter = z.object({
  status: z.union([statusSchema, z.array(statusSchema)]).optional(),
  workflow: optionalText,
  search: optionalText,
  since: optionalNumber,
  until: optionalNumber,
  minWorkedMs: optionalNumber,
  minCost: optionalNumber,
  hasError: z.literal(true).optional(),
});
const query = filter.extend({
  limit: optionalNumber,
  offset: optionalNumber,
  before: optionalText,
  paged: flag,
});

const bundle = {
  file: text.regex(/\.esm\.js$/, "must be a bundle (.esm.js)"),
  files: z.record(text, text),
  types: optionalText,
};

/** The options that a start and a fork have in common. */
const thread = {
  name: optionalText,
  prompt: optionalText,
  maxRounds: optionalNumber,
  params: z.unknown().optional(),
  options: fields.optional(),
  threadId: optionalText,
  input: input.optional(),
  traceparent: optionalText,
  durability,
};
const fork = z.object({
  ...thread,
  keep: keep.optional(),
  edit: z.object({ content: optionalText, meta: fields.optional(), by }).optional(),
  on: optionalText,
  rerun: input.optional(),
  anew: flag,
});

type Methods = { [Method in keyof RemoteArguments]: RemoteMethod<RemoteArguments[Method]> };

/**
 * All methods with a single response. A method with the role `operate` or `answer` changes something; the key of a call
 * prevents a second change.
 */
export const methods: Methods = {
  register: {
    role: "operate",
    args: z.object({
      name: text,
      ...bundle,
      dev: flag,
      expected: text.nullable().optional(),
    }),
    run: (args, { host }) => addBundle(host, args),
  },
  store: {
    role: "operate",
    args: z.object(bundle),
    run: (args, { host }) => storeBundle(host, args),
  },
  resolve: {
    role: "read",
    args: version,
    run: ({ workflow }, { host }) => host.resolve(workflow),
  },
  workflows: { role: "read", args: nothing, run: (_, { host }) => host.workflows() },
  workflow: { role: "read", args: named, run: ({ name }, { host }) => host.workflow(name) },
  history: { role: "read", args: named, run: ({ name }, { host }) => host.history(name) },
  rollback: {
    role: "operate",
    args: named.extend({ version: optionalText }),
    run: ({ name, version: to }, { host }) => host.rollback(name, to),
  },
  unregister: { role: "operate", args: named, run: ({ name }, { host }) => host.unregister(name) },
  version: { role: "read", args: version, run: ({ workflow }, { host }) => host.version(workflow) },
  source: {
    role: "read",
    args: version.extend({ file: optionalText }),
    run: ({ workflow, file }, { host }) => host.source(workflow, file),
  },
  changedRoles: {
    role: "read",
    args: z.object({ versions: z.tuple([text, text]), roles: z.array(text) }),
    run: ({ versions, roles }, { host }) => host.changedRoles(versions, roles),
  },
  descriptor: {
    role: "read",
    args: z.object({ hash }),
    run: ({ hash: of }, { host }) => host.descriptor(of),
  },

  start: {
    role: "operate",
    args: z.object({ ...thread, workflow: text }),
    run: (args, { host, env, cwd, sender }) =>
      host.start({ ...args, input: signed(args.input, sender), env, cwd }),
  },
  find: {
    role: "read",
    args: z.object({ text }),
    run: ({ text: given }, { host }) => host.find(given),
  },
  threads: {
    role: "read",
    args: z.object({ query: query.optional() }),
    run: ({ query: given }, { host }) => host.threads(given),
  },
  summary: {
    role: "read",
    args: z.object({ query: filter.optional() }),
    run: ({ query: given }, { host }) => host.summary(given),
  },
  live: { role: "read", args: nothing, run: (_, { host }) => host.live() },
  row: { role: "read", args: one, run: ({ ref: of }, { host }) => host.row(of) },
  read: { role: "read", args: one, run: ({ ref: of }, { host }) => host.read(of) },
  family: { role: "read", args: one, run: ({ ref: of }, { host }) => host.family(of) },
  attempts: { role: "read", args: one, run: ({ ref: of }, { host }) => host.attempts(of) },
  value: {
    role: "read",
    args: one.extend({ at: number }),
    run: ({ ref: of, at }, { host }) => host.value(of, at),
  },
  pause: {
    role: "operate",
    args: one,
    run: ({ ref: of }, { host }) => host.control(of, { kind: "pause" }),
  },
  resume: {
    role: "operate",
    args: one.extend({ durability }),
    run: ({ ref: of, ...given }, { host, env }) =>
      host.control(of, { kind: "resume", ...given, env }),
  },
  answer: {
    role: "answer",
    args: one.extend({ input, question: optionalNumber, durability }),
    run: ({ ref: of, input: given, ...rest }, { host, env, sender }) =>
      host.control(of, { kind: "answer", input: signed(given, sender), ...rest, env }),
  },
  kill: {
    role: "operate",
    args: one.extend({ force: flag }),
    run: ({ ref: of, force }, { host, env }) => host.control(of, { kind: "kill", force, env }),
  },
  fork: {
    role: "operate",
    args: one.extend({ options: fork }),
    run({ ref: of, options }, { host, env, sender }) {
      const own = {
        edit: signed(options.edit, sender),
        input: signed(options.input, sender),
        rerun: signed(options.rerun, sender),
      };
      return host.fork(of, { ...options, ...own, env });
    },
  },
  remove: {
    role: "operate",
    args: one.extend({ force: flag }),
    run: ({ ref: of, force }, { host }) => host.remove(of, { force }),
  },
  trash: { role: "read", args: nothing, run: (_, { host }) => host.trash() },
  restore: {
    role: "operate",
    args: z.object({ threadId: text }),
    run: ({ threadId }, { host }) => host.restore(threadId),
  },

  wake: {
    role: "operate",
    args: z.object({ durability }),
    run: (given, { host, env }) => host.wake({ ...given, env }),
  },
  recover: {
    role: "operate",
    args: z.object({ durability, dryRun: flag, only: z.array(text).optional() }),
    run: (given, { host, env }) => host.recover({ ...given, env }),
  },
  collect: {
    role: "operate",
    args: z.object({
      options: z.object({ dryRun: flag, trash: flag, now: optionalNumber }).optional(),
    }),
    run: ({ options }, { host }) => host.collect(options),
  },
  workers: { role: "read", args: nothing, run: (_, { host }) => host.workers() },
};

type StreamSchemas = { [Method in keyof RemoteStreams]: z.ZodType<RemoteStreams[Method]> };

/** The arguments of the methods that stream. Each needs the role `read`. */
export const streamArguments: StreamSchemas = {
  observe: one.extend({
    cursor: optionalText,
    options: z.object({ events: flag, until: optionalText }).optional(),
  }),
  log: one.extend({
    options: z
      .strictObject({
        after: optionalNumber,
        since: optionalNumber,
        only: z.array(text).optional(),
        tail: optionalNumber,
        backward: flag,
        follow: flag,
      })
      .optional(),
  }),
  changes: z.object({ cursor: optionalText }),
  verify: nothing,
};

/** Returns the role that a method needs; null for an unknown method. */
export function roleOf(method: string): Role | null {
  if (Object.hasOwn(methods, method)) return methods[method as keyof Methods].role;
  return Object.hasOwn(streamArguments, method) ? "read" : null;
}

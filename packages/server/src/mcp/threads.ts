import { statuses } from "@uncaged/workflow/host";
import { mostRounds, threadIdPattern } from "@uncaged/workflow/internal";
import { z } from "zod";
import { badTime } from "./errors.ts";
import { pageAt, pageShape } from "./parts.ts";
import { clipped, jsonBytes } from "./size.ts";
import { stateOf, stateShape, stateText } from "./state.ts";
import { defineTool } from "./tool.ts";
import { waitField, waitFor } from "./wait.ts";

const text = z.string();

export const threadField = text
  .min(1)
  .max(64)
  .describe("A thread's id, a unique beginning or end of it, or @last.");

/** The arguments that limit a thread. */
export const limitFields = {
  maxRounds: z.int().min(1).max(mostRounds).optional().describe("The most steps."),
  maxCost: z.number().positive().optional().describe("The most US dollars for model calls."),
  maxTokens: z.int().positive().optional().describe("The most tokens for model calls."),
};

/** Returns the options of `run` that limit the spending. */
export const limitsIn = ({ maxCost, maxTokens }: { maxCost?: number; maxTokens?: number }) => ({
  options: {
    ...(maxCost !== undefined && { maxCost }),
    ...(maxTokens !== undefined && { maxTokens }),
  },
});

export const stateSchema = z.strictObject(stateShape);

export const startThread = defineTool({
  name: "start_thread",
  title: "Start a thread",
  description:
    "Starts a thread of a workflow and returns its state. A thread is one durable execution. See list_workflows for the " +
    "workflows and their params.",
  input: z.strictObject({
    workflow: text.min(1).describe("A name, name@hash, or the hash of a version."),
    prompt: text.default(""),
    params: z.json().optional().describe("Structured input, as the workflow's input schema says."),
    ...limitFields,
    threadId: text
      .optional()
      .describe(
        "A ULID chosen by you: a second start with the same id starts nothing and returns the thread.",
      ),
    wait: waitField,
  }),
  output: stateSchema,
  kind: "adds",
  async run({ host, env, cwd }, { wait, maxCost, maxTokens, ...given }, call) {
    const limits = limitsIn({ maxCost, maxTokens });
    const { traceparent } = call;
    const started = await host.start({ ...given, ...limits, traceparent, env, cwd });
    await waitFor(host, started, wait, call);
    const data = await stateOf(host, started);
    return { data, text: stateText(data) };
  },
});

export const getThread = defineTool({
  name: "get_thread",
  title: "Show a thread",
  description:
    "Without a cursor: the state of a thread, with its result, its open question, or its failure with file, line and " +
    "source. With a cursor from `next` or `large`: a page of its steps, or a part of a large value.",
  input: z.strictObject({
    threadId: threadField,
    cursor: text.max(80).optional(),
    wait: waitField,
  }),
  output: z.strictObject({
    ...stateSchema.partial().shape,
    ...pageShape,
    threadId: text,
    status: z.enum(statuses),
    next: stateShape.next.describe("The next cursor; null on the last page."),
  }),
  kind: "reads",
  async run({ host }, { threadId: id, cursor, wait }, call) {
    const ref = await host.find(id);
    await waitFor(host, ref, wait, call);
    if (cursor === undefined) {
      const data = await stateOf(host, ref);
      return { data, text: stateText(data) };
    }
    const view = await host.read(ref);
    const { threadId, status, steps } = view;
    const page = pageAt(view, cursor);
    const shown = page.part ? `a part of ${page.part.of}` : `${page.records?.length} steps`;
    return {
      data: { threadId, status, steps: steps.length, ...page },
      text: `${threadId} ${status}: ${shown}`,
    };
  },
});

const rowSchema = z.strictObject({
  ...{ threadId: text, workflow: text, hash: text, status: z.enum(statuses) },
  ...{ subject: text, steps: z.int(), createdAt: text, updatedAt: text },
  role: text.optional(),
  text: text.optional().describe("The first line of its error or question."),
  cost: z.number().describe("In US dollars."),
  hasError: z.boolean(),
});

const timeField = (name: string) =>
  text.optional().describe(`${name} this time (ISO 8601, such as 2026-05-06T12:00:00Z).`);

const mostRows = 20_000;

export const searchThreads = defineTool({
  name: "search_threads",
  title: "Search threads",
  description: "Lists threads, newest first, that match all given arguments.",
  input: z.strictObject({
    query: text
      .max(1000)
      .optional()
      .describe(
        "Words that the thread must contain in its id, name, roles, prompt, params, question, result or error.",
      ),
    workflow: text.min(1).optional().describe("A name, name@hash, or a hash."),
    status: z.array(z.enum(statuses)).optional(),
    since: timeField("Started at or after"),
    until: timeField("Started at or before"),
    hasError: z.literal(true).optional(),
    minCost: z.number().nonnegative().optional(),
    limit: z.int().min(1).max(100).default(20),
    cursor: text.regex(threadIdPattern, "must be the `next` of a page").optional(),
  }),
  output: z.strictObject({ threads: z.array(rowSchema), next: text.nullable() }),
  kind: "reads",
  async run({ host }, { query, since, until, cursor, ...given }) {
    const { rows, next } = await host.threads({
      ...given,
      search: query,
      since: msOf("since", since),
      until: msOf("until", until),
      before: cursor,
    });
    const threads: z.infer<typeof rowSchema>[] = [];
    let bytes = 0;
    for (const row of rows) {
      const shown = shownRow(row);
      bytes += jsonBytes(shown);
      if (bytes > mostRows) break;
      threads.push(shown);
    }
    const isCut = threads.length < rows.length;
    const data = { threads, next: isCut ? (threads.at(-1)?.threadId ?? null) : next };
    const lines = threads.map((row) => `${row.threadId} ${row.status} ${row.workflow}`);
    return { data, text: lines.length === 0 ? "no thread matches" : lines.join("\n") };
  },
});

type Row = Awaited<ReturnType<Parameters<typeof stateOf>[0]["threads"]>>["rows"][number];

function shownRow(row: Row): z.infer<typeof rowSchema> {
  const { threadId, workflow, hash, status, steps, hasError, at, spent } = row;
  return {
    ...{ threadId, workflow, hash, status, subject: clipped(row.subject, 200), steps },
    createdAt: new Date(row.createdAt).toISOString(),
    updatedAt: new Date(row.updatedAt).toISOString(),
    ...(at.role !== null && { role: clipped(at.role, 100) }),
    ...(at.text !== null && { text: clipped(at.text, 300) }),
    ...{ cost: spent.cost, hasError },
  };
}

function msOf(name: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  const time = /^\d{4}-\d{2}-\d{2}/.test(given) ? Date.parse(given) : Number.NaN;
  if (Number.isNaN(time)) throw badTime(name, given);
  return time;
}

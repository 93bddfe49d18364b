import {
  failureOf,
  type Host,
  statuses,
  type ThreadRef,
  type ThreadView,
} from "@uncaged/workflow/host";
import { errorParts, sleepsUntil } from "@uncaged/workflow/records";
import { z } from "zod";
import { needsPerson } from "./approval.ts";
import { clipped, jsonBytes } from "./size.ts";

const text = z.string();

const largeSchema = z.strictObject({
  of: text.describe("The cut value."),
  bytes: z.int(),
  cursor: text.describe("The cursor of get_thread that returns it."),
});

/** The summary of a thread. */
export const stateShape = {
  threadId: text,
  workflow: text,
  hash: text.describe("The version of the workflow."),
  status: z.enum(statuses),
  steps: z.int().describe("The number of its steps."),
  role: text.optional().describe("The role that runs, asks, failed, or made the last step."),
  prompt: text,
  params: z.unknown().optional().describe("Its structured input."),
  createdAt: text,
  sleepingUntil: text.optional(),
  problem: text.optional().describe("The damage of a corrupt log, or the host of a moved thread."),
  spent: z
    .strictObject({ tokens: z.number(), cost: z.number() })
    .optional()
    .describe("The cost is in US dollars."),
  result: z
    .strictObject({
      returnCode: z.int(),
      summary: text,
      value: z.unknown().optional(),
      reason: z.literal("maxRounds").optional(),
    })
    .optional(),
  question: z
    .strictObject({
      number: z.int().describe("Give it to answer_thread."),
      for: text,
      text,
      needsPerson: z.boolean().describe("True for a decision that only the user may make."),
      schema: z.unknown().optional().describe("The JSON Schema of an answer."),
      expiresAt: text.optional(),
    })
    .optional(),
  failure: z
    .strictObject({
      name: text,
      message: text,
      code: text.optional(),
      hint: text.optional(),
      role: text.optional(),
      step: z.int().describe("The step that failed, from 1."),
      at: text.optional().describe("The author's line that threw: file:line:column."),
      source: text.optional().describe("The lines around it."),
      causes: z.array(text).optional(),
    })
    .optional(),
  last: z
    .strictObject({ number: z.int(), role: text, content: text })
    .optional()
    .describe("The last step."),
  forkedFrom: text.optional(),
  large: z.array(largeSchema).describe("The values that are cut here."),
  next: text.nullable().describe("The cursor of the first page of its steps."),
};

export type ThreadState = z.infer<z.ZodObject<typeof stateShape>>;

/** Maximum sizes of the values in a summary, in bytes. */
const most = {
  prompt: 800,
  params: 2_000,
  summary: 3_000,
  value: 3_000,
  question: 3_000,
  content: 2_000,
};
const mostName = 100;
const mostSource = 2_500;
const mostMessage = 2_000;
const mostCauses = 3;

/** Collects the values that do not fit. */
class Cutter {
  readonly large: z.infer<typeof largeSchema>[] = [];

  text(of: string, whole: string, limit: number): string {
    const cut = clipped(whole, limit);
    if (cut !== whole) this.#add(of, Buffer.byteLength(whole));
    return cut;
  }

  /** Returns the value; undefined if it is too large. */
  value(of: string, value: unknown, limit: number): unknown {
    const bytes = jsonBytes(value);
    if (bytes <= limit) return value;
    this.#add(of, bytes);
    return undefined;
  }

  #add(of: string, bytes: number): void {
    this.large.push({ of, bytes, cursor: `${of}:0` });
  }
}

const isoOf = (ms: number): string => new Date(ms).toISOString();

/** Returns the summary of a thread. */
export async function stateOf(host: Host, ref: ThreadRef): Promise<ThreadState> {
  return summaryOf(await host.read(ref), await host.row(ref).catch(() => null));
}

function summaryOf(view: ThreadView, row: Awaited<ReturnType<Host["row"]>>): ThreadState {
  const { threadId, workflow, hash, status, steps, createdAt } = view;
  const cut = new Cutter();
  const prompt = cut.text("prompt", view.prompt, most.prompt);
  const params =
    view.params === undefined ? undefined : cut.value("params", view.params, most.params);
  const last = steps.at(-1);
  const sleep = view.status === "waiting" ? sleepsUntil(view.question) : null;
  const role = row?.at.role ?? last?.role;
  const of = steps.length;
  return {
    ...{ threadId, workflow, hash, status, steps: of },
    ...(role !== undefined && { role: clipped(role, mostName) }),
    ...{ prompt, ...(params !== undefined && { params }), createdAt: isoOf(createdAt) },
    ...(sleep !== null && { sleepingUntil: isoOf(sleep) }),
    ...problemOf(view),
    ...(row && { spent: { tokens: row.spent.tokens, cost: row.spent.cost } }),
    ...("result" in view && status !== "failed" && { result: resultOf(view.result, cut) }),
    ...(view.status === "failed" && failedParts(view, cut)),
    ...(view.status === "waiting" && sleep === null && { question: questionOf(view, cut) }),
    ...(last && {
      last: {
        number: of,
        role: clipped(last.role, mostName),
        content: cut.text(`step.${of}.content`, last.content, most.content),
      },
    }),
    ...(view.forkFrom && { forkedFrom: view.forkFrom.threadId }),
    large: cut.large,
    next: of > 0 ? "steps:1" : null,
  };
}

function problemOf(view: ThreadView): { problem?: string } {
  if (view.status === "moved") return { problem: `it continues on ${clipped(view.movedTo, 500)}` };
  if (view.status !== "corrupt") return {};
  const { line, reason } = view.broken;
  return { problem: `line ${line} of its log: ${clipped(reason, 500)}; fork the steps before it` };
}

type Result = Extract<ThreadView, { result: unknown }>["result"];

function resultOf({ returnCode, summary, value, reason }: Result, cut: Cutter) {
  const shown = value === undefined ? undefined : cut.value("result.value", value, most.value);
  return {
    returnCode,
    summary: cut.text("result.summary", summary, most.summary),
    ...(shown !== undefined && { value: shown }),
    ...(reason && { reason }),
  };
}

function questionOf(view: ThreadView & { status: "waiting" }, cut: Cutter) {
  const number = view.steps.length;
  const { content, meta } = view.question;
  const { schema, expiresAt } = meta;
  const shown = cut.value(`step.${number}.meta`, schema, most.question);
  return {
    ...{
      number,
      for: clipped(String(meta.for), mostName),
      text: cut.text(`step.${number}.content`, content, most.question),
    },
    needsPerson: needsPerson(view.question),
    ...(shown !== undefined && { schema: shown }),
    ...(typeof expiresAt === "number" && { expiresAt: isoOf(expiresAt) }),
  };
}

function failedParts(view: ThreadView & { status: "failed" }, cut: Cutter) {
  const error = failureOf(view);
  if (!error) return { result: resultOf(view.result, cut) };
  const { name, message, code, hint, role, step } = error;
  const parts = errorParts(error);
  const at = parts.find((part) => part.error.at)?.error.at;
  const causes = parts
    .slice(1, 1 + mostCauses)
    .map((part) => clipped(`${part.error.name}: ${part.error.message}`, 500));
  return {
    failure: {
      ...{
        name: clipped(name, mostName),
        message: cut.text("result.summary", message, mostMessage),
      },
      ...(code !== undefined && { code: clipped(code, mostName) }),
      ...(hint !== undefined && { hint: clipped(hint, 500) }),
      ...(role !== undefined && { role: clipped(role, mostName) }),
      step,
      ...(at && { at: `${at.file}:${at.line}:${at.column}`, source: sourceOf(at) }),
      ...(causes.length > 0 && { causes }),
    },
  };
}

type Position = NonNullable<NonNullable<ReturnType<typeof failureOf>>["at"]>;

/** Returns the lines around a position, each with its number; the line itself is marked. */
function sourceOf({ line, text: own = "", frame }: Position): string {
  const { from, lines } = frame ?? { from: line, lines: [own] };
  const width = String(from + lines.length - 1).length;
  const rows = lines.map((source, index) => {
    const number = from + index;
    const mark = number === line ? ">" : " ";
    return `${mark} ${String(number).padStart(width)} | ${clipped(source, 300)}`;
  });
  return clipped(rows.join("\n"), mostSource);
}

/** Returns one line about a thread. */
export function stateText({ threadId, status, steps, ...state }: ThreadState): string {
  const { result, question, failure, problem } = state;
  const what =
    failure === undefined
      ? (problem ?? question?.text ?? result?.summary ?? "")
      : [failure.at, failure.message].filter(Boolean).join(": ");
  const counted = `${steps} step${steps === 1 ? "" : "s"}`;
  return clipped(`${threadId} ${status}, ${counted}${what === "" ? "" : `: ${what}`}`, 1_000);
}

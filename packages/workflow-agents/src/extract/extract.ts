import type { $ZodObject, output } from "zod/v4/core";
import type { JsonSchema, ThreadContext, WorkflowError } from "@uncaged/workflow";
import { foundProblems, isRounded, parseExact } from "@uncaged/workflow/interpreter";
import { withoutThinking } from "../content/think.ts";
import type { Checked, Form } from "./form.ts";
import { answerEmpty, answerUnfit } from "./errors.ts";

/**
 * Returns a value that fits `schema` from an agent's text. `problem` describes the mismatch of the previous try, or is
 * null for the first try. The caller checks the value. If the extractor throws, the step fails.
 */
export type Extractor = (
  text: string,
  schema: JsonSchema,
  problem: string | null,
  context: ThreadContext,
) => Promise<unknown>;

// Maximum length of a text for an extractor, in characters. No model accepts more.
const longestText = 4 * 1024 * 1024;
const longestAnswer = 4_000;

/**
 * Returns the fields in an agent's text: directly if the text is JSON or has one JSON code block, otherwise by the
 * extractor. Does not invent missing values.
 * @throws WorkflowError `EXTRACTION_FAILED` with a line for each problem; `EMPTY_ANSWER`.
 */
export async function extract<S extends $ZodObject>(
  text: string,
  form: Form<S>,
  { extractor, repairs }: { extractor: Extractor | null; repairs: number },
  ctx: ThreadContext,
): Promise<output<S>> {
  const direct = await read(text, form);
  if (direct.ok) return direct.value;
  if (text.trim() === "") throw answerEmpty(ctx.threadId);
  let { problems } = direct;
  if (extractor === null) throw failed(problems, ctx);
  if (text.length > longestText) {
    const many = `the answer has ${text.length} characters, too many to have the fields read from it`;
    throw failed([many], ctx);
  }
  const schema = form.readingSchema();
  let problem: string | null = null;
  for (let attempt = 0; attempt <= repairs; attempt += 1) {
    ctx.signal?.throwIfAborted();
    const answer: unknown = await extractor(text, schema, problem, ctx);
    const reading = readingIn(answer);
    // The text lacks the value, so a second request could only invent it.
    if (reading.ok && reading.value.isMissing) throw failed(missingIn(reading.value), ctx);
    const checked = reading.ok ? await form.check(reading.value.fields) : reading;
    if (checked.ok) return checked.value;
    problems = checked.problems;
    problem = `${problems.join("\n")}\n\nThe answer was: ${shown(answer)}`;
  }
  throw failed(problems, ctx);
}

/** Returns the fields in a text that is JSON or has one JSON code block, or the problems. */
export async function read<S extends $ZodObject>(
  text: string,
  form: Form<S>,
): Promise<Checked<output<S>>> {
  const given = form.empty ? {} : jsonIn(text);
  if (given === undefined) {
    const problem = "the answer is not JSON and does not have exactly one JSON code block";
    return { ok: false, problems: [problem] };
  }
  const checked = await form.check(given);
  if (checked.ok) return checked;
  const long = [...new Set(text.match(/-?\d{16,}/g))].filter(isRounded).slice(0, 5);
  const rounded = long.map((digits) => `${digits}: a number can't hold it exactly`);
  return { ok: false, problems: [...rounded, ...checked.problems] };
}

type Reading = { missing: string[]; fields: unknown; isMissing: boolean };

function readingIn(answer: unknown): Checked<Reading> {
  const { missing, fields } = Object(answer) as { missing?: unknown; fields?: unknown };
  if (!Array.isArray(missing) || !missing.every((name) => typeof name === "string")) {
    const form = "{missing: a list of names, fields: an object or null}";
    return { ok: false, problems: [`the answer is not ${form}`] };
  }
  const isMissing = missing.length > 0 || fields === null || fields === undefined;
  return { ok: true, value: { missing, fields, isMissing } };
}

const missingIn = ({ missing }: Reading): string[] => {
  const names = missing.slice(0, 20).join(", ").slice(0, 1000);
  return [`the text does not state${names ? `: ${names}` : " the fields"}`];
};

function shown(answer: unknown): string {
  const json = JSON.stringify(answer) ?? String(answer);
  return json.length > longestAnswer ? `${json.slice(0, longestAnswer)}…` : json;
}

function failed(problems: string[], { threadId }: ThreadContext): WorkflowError {
  const { message } = foundProblems(problems.length > 0 ? problems : ["it does not fit"]);
  return answerUnfit(threadId, message, problems);
}

type Fence = { mark: string; label: string; lines: string[] };

/**
 * Returns the JSON value of a text or of its only JSON code block; undefined if there are several. Ignores thinking in
 * tags before it. An integer that a number would round becomes a string.
 */
export function jsonIn(given: string): unknown {
  const whole = parsed(given);
  if (whole !== undefined) return whole;
  const text = withoutThinking(given);
  if (text !== given) return jsonIn(text);
  let only: string | undefined;
  for (const { label, lines } of fences(text)) {
    const block = lines.join("\n");
    const isJson = label === "json" || (label === "" && parsed(block) !== undefined);
    if (!isJson) continue;
    if (only !== undefined) return undefined;
    only = block;
  }
  return only === undefined ? undefined : parsed(only);
}

/** Yields each closed fenced code block (CommonMark), in one pass over the lines. */
function* fences(text: string): Generator<Fence> {
  let open: Fence | null = null;
  for (const line of text.split(/\r\n|[\n\r]/)) {
    const [, mark, rest = ""] = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (open === null) {
      if (mark === undefined || (mark.startsWith("`") && rest.includes("`"))) continue;
      open = { mark, label: rest.trim().split(/\s/)[0]?.toLowerCase() ?? "", lines: [] };
    } else if (mark?.startsWith(open.mark) && rest.trim() === "") {
      yield open;
      open = null;
    } else {
      open.lines.push(line);
    }
  }
}

/** Returns the value of a JSON text, or undefined for any other text. */
function parsed(text: string): unknown {
  // Most answers don't start like JSON, so skip the parse.
  if (!/^\s*["[{\dtfn-]/.test(text)) return undefined;
  try {
    return parseExact(text.trim());
  } catch {
    return undefined;
  }
}

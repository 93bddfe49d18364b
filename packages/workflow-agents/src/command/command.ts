import { basename } from "node:path";
import {
  type AgentFn,
  isWorkflowError,
  maskOf,
  type ThreadContext,
  WorkflowError,
} from "@uncaged/workflow";
import { runChild } from "../child/child.ts";
import { allowed } from "../child/group.ts";
import { currentRun } from "../run/run.ts";
import { noUsage } from "../run/usage.ts";
import { failureOf, lastLine, readLines, readText } from "./output.ts";
import type { LineReader } from "./reader.ts";
import { Report } from "./report.ts";

/** How a command is run as an agent. */
export type CommandOptions = {
  /** The command and its arguments, with placeholders for what the thread gives: {@link Template}. */
  argv: Template;
  /** How it gets the prompt: by stdin, unless argv has `{prompt}`. */
  prompt?: "stdin" | "argument";
  /** Its output is the answer (`text`), or JSON lines, which a reader understands. */
  output?: "text" | LineReader;
  /** The variables that it gets besides those that hold no secret (`PATH`, `HOME`, …); `NAME_*` is all that begin so. */
  env?: readonly string[];
  /** Variables of its own, whatever the thread's are. */
  set?: Readonly<Record<string, string>>;
  /** How long it may take (30 minutes), and how long to end when it is asked to (5 seconds). */
  timeoutMs?: number;
  graceMs?: number;
  /** The longest answer, in characters (10 Mi). */
  maxOutput?: number;
  /** Tells that a session is not there any more, so that the command is run without it. */
  lostSession?: RegExp;
  /** What it is asked: the thread. Its session knows the first `known` steps already. */
  say?: (ctx: ThreadContext, known: number) => string;
};

type Settings = Required<CommandOptions>;

/**
 * An agent that is a command: it runs in the thread's directory, is told the thread, and its output is
 * the answer.
 *
 *     const reviewer = commandAgent({ argv: ["my-agent", "--quiet", ["--system", "{system}"]] });
 *
 * Without `{system}` in argv, the system prompt stands before the prompt. The session that a reader
 * finds is kept in the step's `meta.agent`, and a later step of the same role goes on with it where
 * argv has `{session}`. The command's whole process group is ended at a time-out and with the thread.
 * Secrets of its environment are masked in all that it says.
 *
 * @throws WorkflowError `BAD_COMMAND` at once; from the running agent `NO_CWD`, `COMMAND_MISSING`,
 *   `COMMAND_REFUSED`, `COMMAND_FAILED`, `COMMAND_TIMEOUT`, `COMMAND_SAID_NOTHING`,
 *   `COMMAND_SAID_TOO_MUCH`, `BUDGET_EXCEEDED`; the signal's reason when the thread is ended.
 */
export function commandAgent(options: CommandOptions): AgentFn {
  const settings: Settings = {
    argv: options.argv,
    prompt: options.prompt ?? (has(options.argv, "prompt") ? "argument" : "stdin"),
    output: options.output ?? "text",
    env: options.env ?? [],
    set: options.set ?? {},
    timeoutMs: options.timeoutMs ?? 30 * 60_000,
    graceMs: options.graceMs ?? 5000,
    maxOutput: options.maxOutput ?? 10 * 1024 * 1024,
    lostSession: options.lostSession ?? /(?!)/,
    say: options.say ?? threadText,
  };
  checkTemplate(settings.argv, settings.prompt);
  const name = basename(String(settings.argv[0]));
  return async (ctx, systemPrompt) => {
    const { memory } = currentRun();
    const session =
      memory.command === name && has(settings.argv, "session") ? memory.session : null;
    const isKnown = typeof session === "string";
    const start = async (known: string | null): Promise<Run> => {
      const { told: budget, release } = budgetFor(name, settings);
      const given = { system: systemPrompt, session: known, budget };
      return await runOnce(name, settings, ctx, given).finally(release);
    };
    let run = await start(isKnown ? session : null);
    if (run.error && isKnown && settings.lostSession.test(run.error.message)) {
      run.report.note("warn", `the session ${session} is not there: the whole thread is told`);
      run.report.unasked();
      run = await start(null);
    }
    if (run.error) {
      const error = run.report.isOverBudget ? exceeded(name, settings, run.error) : run.error;
      run.report.failed(error);
      throw error;
    }
    if (run.report.session !== null) {
      Object.assign(memory, { command: name, session: run.report.session });
    }
    run.report.done();
    return run.text;
  };
}

const least = { usage: { ...noUsage, output_tokens: 1 }, cost: 0.0001 };

type Budget = { told: string | null; release: () => void };

/** Admits a run, with all that is left of the limit if the command can be told so; else with the least. */
function budgetFor(name: string, { argv }: Settings): Budget {
  const { reserve, remaining } = currentRun();
  const budget = has(argv, "budget") ? (remaining?.() ?? null) : null;
  const cost = Math.max(budget ?? 0, least.cost);
  const release = reserve({ model: name, usage: least.usage, cost });
  return { told: budget === null ? null : String(budget), release };
}

/** Why no other run is reserved: the thread's limit, or `error` when that one is not reached. */
function exceeded(name: string, settings: Settings, error: WorkflowError): WorkflowError {
  try {
    budgetFor(name, settings).release();
    return error;
  } catch (refusal) {
    return isWorkflowError(refusal) ? refusal : error;
  }
}

type Given = { system: string; session: string | null; budget: string | null };
type Run = { report: Report; text: string; error: WorkflowError | null };

async function runOnce(
  name: string,
  settings: Settings,
  ctx: ThreadContext,
  given: Given,
): Promise<Run> {
  const { signal = new AbortController().signal } = ctx;
  const env = { ...allowed(ctx.env ?? {}, settings.env), ...settings.set };
  const mask = maskOf(env);
  const report = new Report(name, mask, settings.output !== "text");
  const errors = lastLine((line) => report.note("info", line));
  const output =
    settings.output === "text"
      ? readText(settings.maxOutput, report)
      : readLines(settings.output, report);
  try {
    const { argv, input } = asked(settings, ctx, given);
    const end = await runChild({
      argv,
      input,
      env,
      signal,
      cwd: cwdOf(ctx),
      timeoutMs: settings.timeoutMs,
      graceMs: settings.graceMs,
      onOutput: (chunk) => output.add(chunk),
      onError: (chunk) => errors.lines.add(chunk),
    });
    signal.throwIfAborted();
    errors.lines.end();
    output.end();
    const error = failureOf(name, end, {
      timeoutMs: settings.timeoutMs,
      told: report.failure,
      last: mask(errors.last() || output.stray()),
      text: report.result?.trim() ?? "",
    });
    return { report, text: report.result?.trim() ?? "", error };
  } catch (thrown) {
    if (signal.aborted || !(thrown instanceof WorkflowError)) throw thrown;
    return { report, text: "", error: thrown };
  }
}

function asked(
  { argv, prompt, say }: Settings,
  ctx: ThreadContext,
  { system, session, budget }: Given,
): { argv: string[]; input?: string } {
  const known = session === null ? 0 : ctx.steps.findLastIndex(({ role }) => role === ctx.role) + 1;
  const said = say(ctx, known);
  const isApart = has(argv, "system");
  const text = isApart || system === "" ? said : `${system}\n\n${said}`;
  const values = { prompt: text, system: system === "" ? null : system, session, budget };
  const whole = filled(argv, values);
  return prompt === "stdin" ? { argv: whole, input: text } : { argv: whole };
}

function cwdOf({ cwd }: ThreadContext): string {
  if (cwd !== undefined) return cwd;
  const message = "the thread has no working directory, and a command needs one";
  const hint = "start the thread with the command line, or give cwd in the options of run";
  throw new WorkflowError({ code: "NO_CWD", kind: "failed", message, hint });
}

/**
 * A command's argv with `{prompt}`, `{system}`, `{session}` and `{budget}` in it: what is left of the
 * thread's `maxCost`, in US dollars. A list inside it stands for its arguments when all of its
 * placeholders have a value, and for nothing otherwise: `["--resume", "{session}"]`.
 */
export type Template = readonly (string | readonly string[])[];

const filledIn = /\{(prompt|system|session|budget)\}/;

/** What stands for the placeholders; null for one that has no value. */
export type Values = Record<Placeholder, string | null>;
type Placeholder = "prompt" | "system" | "session" | "budget";

const placeholder = /\{(prompt|system|session|budget)\}/g;

/** Whether a template has a placeholder. */
export const has = (template: Template, name: Placeholder): boolean =>
  template.flat().some((part) => part.includes(`{${name}}`));

/** The argv that a template makes. A value's own braces stay what they are. */
export function filled(template: Template, values: Values): string[] {
  return template.flatMap((part) => {
    if (typeof part === "string") return [fill(part, values)];
    const isWhole = [...part.join("\n").matchAll(placeholder)].every(
      ([, name]) => values[name as Placeholder] !== null,
    );
    return isWhole ? part.map((one) => fill(one, values)) : [];
  });
}

const fill = (part: string, values: Values): string =>
  part.replace(placeholder, (_, name: Placeholder) => values[name] ?? "");

/**
 * What a thread is to a command: the user's prompt and what each role said. One that goes on with a
 * session knows the first `known` steps already and is told the others.
 */
export function threadText(ctx: ThreadContext, known: number): string {
  const steps = ctx.steps.slice(known).map(({ role, content }, at) => {
    return `<step number="${known + at + 1}" role="${role}">\n${content}\n</step>`;
  });
  const prompt = known === 0 ? [ctx.start.content.trim() || "(no prompt)"] : [];
  const parts = [...prompt, ...steps];
  return parts.length > 0 ? parts.join("\n\n") : "Go on.";
}

/** @throws WorkflowError `BAD_COMMAND` when a template can't be run. */
export function checkTemplate(template: Template, prompt: "stdin" | "argument"): void {
  const [command] = template;
  const problem =
    typeof command !== "string" || command === "" || filledIn.test(command)
      ? "its argv must begin with the command's name"
      : prompt === "stdin" && has(template, "prompt")
        ? "its argv has {prompt}, and the prompt is given by stdin"
        : prompt === "argument" && !has(template, "prompt")
          ? "its argv has no {prompt}, and the prompt is an argument"
          : null;
  if (problem === null) return;
  const message = `a command agent can't be run: ${problem}`;
  const hint = "mend commandAgent's options";
  throw new WorkflowError({ code: "BAD_COMMAND", kind: "usage", message, hint });
}

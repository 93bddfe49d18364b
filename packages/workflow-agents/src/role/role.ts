import type { $ZodObject, output } from "zod/v4/core";
import {
  type AgentFn,
  type Descriptor,
  isWorkflowError,
  type JsonSchema,
  type Role,
  type ThreadContext,
  type WorkflowError,
} from "@uncaged/workflow";
import {
  type Journal,
  maskOf,
  messageOf,
  type Path,
  truncated,
  usesAttempt,
} from "@uncaged/workflow/interpreter";
import { extract, type Extractor, read } from "../extract/extract.ts";
import { type Form, formOf } from "../extract/form.ts";
import { openAccount } from "../ledger/budget.ts";
import { type CallPolicy, callPolicy, type CallRetry } from "../run/retry.ts";
import { isObject } from "../run/error.ts";
import { type AnswerForm, againText, mismatchNote, withInstruction } from "../run/form.ts";
import { digest, inAttempt, outerRun, publish, type RoleRun, withRun } from "../run/run.ts";
import {
  attach,
  checkFields,
  runSpending,
  type Spending,
  spendingKeys,
  spendingSchema,
} from "./spending.ts";
import { answerNotText, invalidOption } from "./errors.ts";

/** Options of {@link role}. The defaults are in parentheses. */
export type RoleSpec<S extends $ZodObject> = {
  /** One line about the role, for the bundle's descriptor. */
  description: string;
  agent: AgentFn;
  systemPrompt: string | ((ctx: ThreadContext) => string | Promise<string>);
  /** The fields of the step's meta: `z.object({…})`, without `usage`, `model`, `cost`, `models`, `agent`. */
  schema: S;
  /**
   * The form of the agent's answer: only the fields (`fields`, the default), or text that ends with the fields
   * (`text`), for later roles to read. For `fields`, an agent uses the provider's structured-output mode if there is
   * one.
   */
  answer?: "fields" | "text";
  /**
   * Reads the fields from a text that is not JSON. With an extractor, the role does not request the fields from the
   * agent.
   */
  extract?: Extractor;
  /** Maximum number of repeated requests to the agent or the extractor for an answer that does not fit (2). */
  repairs?: number;
  /**
   * The unit that is recorded, and so is not repeated after a crash: each turn of a model and each tool call (`turns`,
   * the default), or only the whole step (`role`).
   */
  durable?: "turns" | "role";
  /** The retry policy of model calls. Default: the agent's `maxRetries`. */
  retry?: CallRetry;
};

/** The entry of a role in a bundle's descriptor: a description, and the JSON Schema of its steps' meta. */
export type RoleEntry = { description: string; schema: JsonSchema };

/** The meta of a role's step: the schema's fields and the spending of the step. */
export type AgentMeta<S extends $ZodObject> = output<S> & Spending;

/** A role for `createRoleModerator`, and its descriptor entry for `describe`. */
export type AgentRole<S extends $ZodObject> = Role<AgentMeta<S>> & {
  readonly descriptor: RoleEntry;
};

/**
 * Returns a role with an agent, a system prompt and a schema. The content of its steps is the agent's text, in which
 * `***` replaces secrets of the thread's environment. The meta has the fields that the text states, and `usage`,
 * `model` and `cost`.
 *
 *     const planner = role({
 *       description: "Plans the change",
 *       agent: anthropicAgent({ model: "claude-opus-5-5" }),
 *       systemPrompt: "Plan the change. Name each file that it touches.",
 *       schema: z.object({ files: z.array(z.string()) }),
 *     });
 *
 * An error of the role fails the thread. The thread's end record then has the agent's text and the spending in
 * `meta.error.kept`. `retry` runs the role again.
 *
 * @throws WorkflowError `BAD_SCHEMA`, `RESERVED_FIELD`, `BAD_RETRY`, `BAD_ROLE` at definition; when the role runs
 *   `EXTRACTION_FAILED`, `EMPTY_ANSWER`, `BAD_AGENT_RESULT`, `BUDGET_EXCEEDED`, `PRICE_UNKNOWN`, `BAD_PRICES`,
 *   `BAD_BUDGET`, and errors of the agent.
 */
export function role<S extends $ZodObject>(spec: RoleSpec<S>): AgentRole<S> {
  const form = formOf(spec.schema, spendingKeys);
  checkFields(Object.keys(spec.schema._zod.def.shape));
  checkWord("durable", spec.durable, ["turns", "role"]);
  checkWord("answer", spec.answer, ["fields", "text"]);
  const policy = spec.retry && callPolicy(spec.retry);
  const play: Role<AgentMeta<S>> = async ({ attempt, journal, ...given }) => {
    const ctx = spec.durable === "role" ? given : { ...given, journal };
    // If `attempt` is set, the caller opened an attempt for the role. Otherwise the role runs within another role.
    const made = { ...spec, form, policy, role: play };
    if (attempt) return await execute(made, ctx, attempt.path, journal);
    return await inAttempt(ctx, ({ isChild }) => execute(made, ctx, isChild ? null : [], journal));
  };
  const schema = spendingSchema(form.schema);
  const descriptor = { description: spec.description, schema };
  return Object.assign(play, { descriptor, [usesAttempt]: true });
}

// Without type checks, an unknown value would be treated as the default.
function checkWord(option: string, given: unknown, words: readonly string[]): void {
  if (given === undefined || words.includes(given as string)) return;
  throw invalidOption(option, given, words);
}

/** The checked parts of a role. */
type MadeRole<S extends $ZodObject> = RoleSpec<S> & {
  form: Form<S>;
  policy?: CallPolicy;
  role: Role<AgentMeta<S>>;
};

/**
 * Runs a role. `path` is the place of the role's attempt, or null for a role without its own step that runs
 * concurrently in another role. `journal` records the spending of calls even if `ctx` does not have a journal for
 * turns.
 */
async function execute<S extends $ZodObject>(
  spec: MadeRole<S>,
  ctx: ThreadContext,
  path: Path | null,
  journal: Journal | undefined,
): Promise<{ content: string; meta: AgentMeta<S> }> {
  const { policy, description } = spec;
  const { close, ...account } = openAccount(ctx, journal);
  const outer = outerRun();
  const stepID = ctx.role ?? "agent";
  const run: RoleRun = {
    stepID,
    ...account,
    roles: [...(outer?.roles ?? []), { name: stepID, role: spec.role }],
    levels: outer?.levels,
    ...memoryOf(ctx, path),
    agents: { started: 0, running: 0 },
    ...(policy && { retrying: { policy, since: performance.now() } }),
    form: answerForm(spec),
  };
  let raw: string | null = null;
  let isRecorded = false;
  try {
    return await withRun(run, async () => {
      try {
        const systemPrompt = await systemPromptOf(spec, run.form, ctx);
        const resolvedInputs = { prompt: ctx.start.content, systemPrompt };
        const meta = { title: ctx.role, description };
        publish("step_start", { type: "Role", meta, resolvedInputs });
        const onText = (text: string) => void (raw = text);
        const { content, fields } = await answered(spec, run, ctx, { systemPrompt, onText });
        if (Object.keys(run.memory).length > 0) run.memory.said = digest(content);
        const whole = { ...fields, ...runSpending(run) };
        const outputs = { content: truncated(content), meta: truncated(whole) };
        publish("step_done", { outputs, spent: spentBy(run) });
        isRecorded = path !== null;
        return { content, meta: whole };
      } catch (error) {
        if (!ctx.signal?.aborted) failWith(error, raw, run);
        throw error;
      }
    });
  } finally {
    // The step of the calling role records the spending of both roles.
    for (const spent of run.spent.map(account.withCost)) {
      outer?.spent.push(spent);
      outer?.onSpent?.(spent);
    }
    close(isRecorded || outer !== null);
  }
}

/**
 * Returns the agent's text with masked secrets, and the fields in it. If the fields do not fit, runs the agent again
 * with the problems, unless the agent itself has repeated the request.
 */
async function answered<S extends $ZodObject>(
  { agent, form, extract: extractor, repairs = 2 }: MadeRole<S>,
  run: RoleRun,
  ctx: ThreadContext,
  { systemPrompt, onText }: { systemPrompt: string; onText: (text: string) => void },
): Promise<{ content: string; fields: output<S> }> {
  const reading = { extractor: extractor ?? null, repairs };
  let asked = ctx;
  for (let left = repairs; ; left -= 1) {
    const answer = textOf(await agent(asked, systemPrompt));
    const content = maskOf(ctx.env ?? {})(answer);
    onText(content);
    try {
      return { content, fields: await extract(content, form, reading, ctx) };
    } catch (error) {
      const isOver = left <= 0 || extractor !== undefined || run.form?.settled === answer;
      if (isOver || !isViolation(error)) throw error;
      asked = askedAgain(run, asked, content, error);
    }
  }
}

async function systemPromptOf<S extends $ZodObject>(
  { systemPrompt }: RoleSpec<S>,
  form: AnswerForm | undefined,
  ctx: ThreadContext,
): Promise<string> {
  const text = typeof systemPrompt === "string" ? systemPrompt : await systemPrompt(ctx);
  return form ? withInstruction(text, form.schema) : text;
}

/** Returns the form of the agent's answer, or undefined if the role has an extractor or does not have fields. */
function answerForm<S extends $ZodObject>(spec: MadeRole<S>): AnswerForm | undefined {
  const { form, answer = "fields", extract: extractor, repairs = 2 } = spec;
  if (extractor !== undefined || form.empty) return undefined;
  const { $schema: _, ...schema } = form.schema;
  const isAlone = answer === "fields";
  return {
    ...{ schema, repairs, isAlone },
    again: (problems) => againText(problems, { schema, isAlone }),
    async problemsOf(text) {
      const found = await read(text, form);
      return found.ok ? [] : found.problems;
    },
  };
}

const isViolation = (error: unknown): error is WorkflowError =>
  isWorkflowError(error) && error.code === "EXTRACTION_FAILED";

/**
 * Returns the thread with the agent's answer and its problems as steps, so that the agent can continue its
 * conversation.
 */
function askedAgain(
  run: RoleRun,
  ctx: ThreadContext,
  answer: string,
  { details, message }: WorkflowError,
): ThreadContext {
  const problems = details ?? [message];
  const note = { name: run.stepID, level: "warn", data: null };
  publish("tool_message", {
    ...note,
    message: mismatchNote(problems),
  });
  const content = againText(problems, null);
  const said = { role: run.stepID, content: answer, meta: {}, timestamp: Date.now() };
  const steps = [...ctx.steps, said, { ...said, role: "check", content }];
  // Restarts the counts of agents, so that each agent finds the session with its own answer.
  run.agents = { started: 0, running: 0 };
  run.remembered = ctx.steps.length;
  return { ...ctx, steps };
}

function textOf(answer: unknown): string {
  if (typeof answer === "string") return answer;
  throw answerNotText(answer === null ? "null" : `a value of type ${typeof answer}`);
}

function spentBy(run: RoleRun): Omit<Spending, "agent"> {
  const { agent: _, ...spent } = runSpending(run);
  return spent;
}

const longestRaw = 64 * 1024;

/** Publishes a failure, and adds the answer and the spending so far to the error, for the end record. */
function failWith(error: unknown, text: string | null, run: RoleRun): void {
  const raw = text !== null && text.length > longestRaw ? `${text.slice(0, longestRaw)}…` : text;
  const known = isWorkflowError(error) ? error : null;
  publish("step_error", {
    error: messageOf(error),
    code: known?.code ?? null,
    ...(known?.details && { problems: known.details }),
    ...(raw !== null && { raw }),
    spent: spentBy(run),
  });
  const paid = run.spent.length > 0 ? runSpending(run) : {};
  attach(error, "kept", { role: run.stepID, ...(raw !== null && { raw }), ...paid });
}

/** Returns the memory of agents in the role's last step with the same path. */
function memoryOf(
  { role: name = "agent", steps }: ThreadContext,
  path: Path | null,
): Pick<RoleRun, "memory" | "remembered" | "path"> {
  if (path === null) return { memory: {} };
  const isHere = (memory: unknown) =>
    JSON.stringify((isObject(memory) && memory.path) || []) === JSON.stringify(path);
  const remembered = steps.findLastIndex(({ role: other, meta }) => {
    return other === name && isHere(meta.agent);
  });
  const { content = "", meta } = steps[remembered] ?? {};
  const kept = meta?.agent;
  if (!isObject(kept)) return { memory: {}, path };
  const { path: _, said, ...memory } = kept;
  // The memory does not match an edited step.
  if (said !== undefined && said !== digest(content)) return { memory: {}, path };
  return { memory: structuredClone(memory), remembered, path };
}

/**
 * Returns the descriptor of a bundle with these roles. For a role that does not come from {@link role}, pass the role's
 * entry.
 *
 *     export const descriptor = describe("Solves an issue", { planner, coder });
 */
export function describe(
  description: string,
  roles: Readonly<Record<string, { readonly descriptor: RoleEntry } | RoleEntry>>,
): Descriptor {
  const entries = Object.entries(roles).map(([name, given]) => [
    name,
    "descriptor" in given ? given.descriptor : given,
  ]);
  return { description, roles: Object.fromEntries(entries) };
}

import {
  anthropicProvider,
  type ModelAnswer,
  type ModelProvider,
  type ToolResult,
  type ToolUse,
} from "@uncaged/workflow-agents";
import { checkPlan } from "../check/check.ts";
import { cut } from "../plan/cut.ts";
import { stepLines } from "../plan/definition.ts";
import type { ChannelContext, PlanMetadata, Workflow } from "../plan/plan.ts";
import { modification, systemPrompt } from "./prompt.ts";
import { type Secrets, withoutSecrets } from "../secret/secret.ts";
import {
  addToUser,
  newSession,
  type PlannerSession,
  type PlannerTurn,
  resultBlock,
  SessionFiles,
} from "./session.ts";
import { tools } from "./tools.ts";
import { asked, shown } from "./transcript.ts";
import { checkModifiable, modifiedWorkflow, newWorkflow } from "./workflow.ts";
import {
  blankRequest,
  credentialsNotStored,
  modelFailed,
  noPlanMade,
  plannerBusy,
  sessionCancelled,
  sessionsNotStored,
} from "./errors.ts";

/** Callbacks of a turn: `onToken` receives the model's streamed text; `signal` stops the turn but keeps the session. */
export type StreamCallbacks = { onToken?: (token: string) => void; signal?: AbortSignal };

/** The store of credentials: `all` returns their values, and `set` throws for a refused key or value. */
export type SecretStore = { all: () => Secrets; set: (key: string, value: string) => void };

/**
 * Options of {@link Planner}, {@link generatePlan} and {@link modifyPlan}. `now` is in milliseconds since the epoch.
 */
export type PlannerOptions = {
  /** The environment variables with the model's key and address. */
  env: Readonly<Record<string, string>>;
  model?: string;
  /** The provider of the model (default: the Anthropic API). */
  provider?: ModelProvider;
  /** The user and the place of the conversation (default: the terminal). */
  context?: ChannelContext;
  /** The metadata of new plans. */
  metadata?: PlanMetadata;
  secrets?: SecretStore;
  /** The names of additional credentials that steps can use. */
  credentials?: readonly string[];
  /** The folder of sessions (default: only in memory). */
  folder?: string;
  now?: () => number;
};

const defaultModel = "claude-opus-5-5";
const mostAutomaticTurns = 10;
const mostInvalidPlans = 3;
const longestFeedback = 20_000;
const noSecrets: SecretStore = {
  all: () => ({}),
  set: () => {
    throw credentialsNotStored();
  },
};

/** The reaction to a model's answer: a turn for the user, or the model's next turn. */
type Acted = { results: ToolResult[]; turn: PlannerTurn | null; isInvalidPlan: boolean };

/**
 * Holds conversations that result in a plan. Each tool call of the model gets its result in the next message. After a
 * turn that does not need the user's answer, the model gets another turn: at most 10 in a row, and at most 3 after an
 * invalid plan.
 */
export class Planner {
  readonly #options: PlannerOptions;
  readonly #secrets: SecretStore;
  readonly #files: SessionFiles | null;
  readonly #running = new Map<PlannerSession, AbortController>();

  constructor(options: PlannerOptions) {
    this.#options = options;
    this.#secrets = options.secrets ?? noSecrets;
    this.#files = options.folder === undefined ? null : new SessionFiles(options.folder);
  }

  /** Returns a stored session. @throws PlannerError */
  find(id: string): PlannerSession {
    if (this.#files) return this.#files.read(id);
    throw sessionsNotStored();
  }

  /**
   * Starts a session with a request.
   * @throws PlannerError if the call of the model fails.
   */
  async start(
    request: string,
    callbacks: StreamCallbacks = {},
  ): Promise<{ session: PlannerSession; turn: PlannerTurn }> {
    const session = newSession();
    return { session, turn: await this.answer(session, request, callbacks) };
  }

  /**
   * Starts a session about an existing plan.
   * @throws PlannerError
   */
  async modify(
    workflow: Workflow,
    text: string,
    callbacks: StreamCallbacks = {},
  ): Promise<{ session: PlannerSession; turn: PlannerTurn }> {
    const session = newSession(workflow);
    return { session, turn: await this.answer(session, text, callbacks) };
  }

  /** Continues with the user's text: an answer, or a change of the plan. @throws PlannerError */
  async answer(
    session: PlannerSession,
    text: string,
    { onToken, signal: stop }: StreamCallbacks = {},
  ): Promise<PlannerTurn> {
    if (session.status === "cancelled") throw sessionCancelled(session.id);
    if (this.#running.has(session)) throw plannerBusy(session.id);
    if (text.trim() === "") throw blankRequest();
    const { workflow } = session;
    if (workflow) checkModifiable(workflow);
    this.#clean(session);
    const isChange = workflow !== null && session.status !== "conversing";
    const isFirst = workflow !== null && session.messages.length === 0;
    const content = workflow && (isChange || isFirst) ? modification({ workflow, text }) : text;
    addToUser(session, [{ type: "text", text: content }]);
    session.status = "conversing";
    const abort = new AbortController();
    this.#running.set(session, abort);
    try {
      const signal = stop ? AbortSignal.any([abort.signal, stop]) : abort.signal;
      return await this.#turns(session, signal, onToken);
    } finally {
      this.#running.delete(session);
      this.#clean(session);
      // Without an answer of the model, the session has nothing to continue unless the user stopped the turn.
      const isKept = stop?.aborted || session.messages.some(({ role }) => role === "assistant");
      if (isKept) this.#files?.write(session);
    }
  }

  /** Ends a session. Drops a plan that arrives later. */
  cancel(session: PlannerSession): void {
    session.status = "cancelled";
    this.#running.get(session)?.abort(new Error("cancelled"));
    this.#files?.write(session);
  }

  #clean(session: PlannerSession): void {
    session.messages = withoutSecrets(session.messages, this.#secrets.all());
  }

  async #turns(
    session: PlannerSession,
    signal: AbortSignal,
    onToken: StreamCallbacks["onToken"],
  ): Promise<PlannerTurn> {
    let invalid = 0;
    for (let automatic = 0; automatic <= mostAutomaticTurns; automatic += 1) {
      const answer = await this.#ask(session, signal, onToken);
      // Another process may have cancelled the session during the turn.
      if (this.#files?.isCancelled(session.id)) session.status = "cancelled";
      if (session.status === "cancelled") return { type: "error", content: "cancelled" };
      if (signal.aborted || answer === null)
        return { type: "error", content: "stopped", stopped: true };
      if (answer.blocks.length === 0) return { type: "error", content: "the model gave no answer" };
      const { isInvalidPlan, results, turn } = this.#act(session, answer);
      session.messages.push({ role: "assistant", content: answer.blocks });
      if (results.length > 0) addToUser(session, results.map(resultBlock));
      this.#clean(session);
      if (turn) return withoutSecrets(turn, this.#secrets.all());
      if (isInvalidPlan) invalid += 1;
      if (invalid === mostInvalidPlans) {
        const reasons = results.find(({ is_error }) => is_error)?.content ?? "";
        return { type: "error", content: `the model made no valid plan: ${reasons}` };
      }
    }
    const content = `the model made no plan in ${mostAutomaticTurns} automatic turns`;
    return { type: "error", content };
  }

  /** Calls the model. Returns null if the session was cancelled during the call. */
  async #ask(
    { messages }: PlannerSession,
    signal: AbortSignal,
    onToken: StreamCallbacks["onToken"],
  ): Promise<ModelAnswer | null> {
    const { context = { channel: "tui" }, credentials = [], env } = this.#options;
    const { model = defaultModel, provider = anthropicProvider() } = this.#options;
    const names = [...new Set([...Object.keys(this.#secrets.all()), ...credentials])].toSorted();
    const system = systemPrompt(context, names);
    try {
      return await provider.answer(
        { model, system, messages, tools },
        { onToken },
        { env, signal },
      );
    } catch (cause) {
      if (signal.aborted) return null;
      const message = cause instanceof Error ? cause.message : String(cause);
      const { hint } = cause as { hint?: string };
      throw modelFailed(message, hint, cause);
    }
  }

  /** Handles the model's calls: all secrets first, then a question, else a plan, else a text. */
  #act(session: PlannerSession, answer: ModelAnswer): Acted {
    const { text, toolUses } = answer;
    const results = new Map<ToolUse, ToolResult>();
    const settle = (use: ToolUse, content: string, isError = false): void => {
      const result = { tool_use_id: use.id, content: cut(content, longestFeedback) };
      results.set(use, isError ? { ...result, is_error: true } : result);
    };
    for (const use of toolUses) {
      const problem = problemOf(use, answer);
      if (problem) settle(use, problem, true);
    }
    const open = (name: string) => toolUses.filter((use) => use.name === name && !results.has(use));
    for (const use of open("set_secret")) this.#setSecret(use, settle);
    const [question, ...others] = open("ask_question");
    const plans = toolUses.filter(({ name }) => name === "create_workflow");
    const [plan, ...more] = open("create_workflow");
    let turn: PlannerTurn | null = null;
    let isInvalidPlan = plan === undefined && plans.length > 0;
    if (question) {
      turn = { type: "question", content: stringIn(question, "question") };
      settle(question, asked);
      for (const one of others) settle(one, "not done: one question at a time");
      for (const one of open("create_workflow")) settle(one, "not done: a question is open");
      isInvalidPlan = false;
    } else if (plan) {
      const { summary, workflow, problems } = this.#plan(session, plan);
      if (workflow) {
        session.workflow = workflow;
        session.status = "plan_ready";
        turn = { type: "plan", content: summary, workflow };
        settle(plan, shown);
      } else settle(plan, problems, true);
      isInvalidPlan = workflow === null;
      for (const one of more) settle(one, "not done: one plan at a time");
    }
    if (toolUses.length === 0) turn = { type: "text", content: text };
    return { results: toolUses.flatMap((use) => results.get(use) ?? []), turn, isInvalidPlan };
  }

  #setSecret(use: ToolUse, settle: (use: ToolUse, content: string, isError?: boolean) => void) {
    const [key, value] = [stringIn(use, "key"), stringIn(use, "value")];
    try {
      this.#secrets.set(key, value);
      settle(use, `stored as ${key}`);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      settle(use, `not stored: ${reason}`, true);
    }
  }

  #plan(
    { workflow: before }: PlannerSession,
    { input }: ToolUse,
  ): { workflow: Workflow | null; summary: string; problems: string } {
    const { context = { channel: "tui" as const }, metadata, now = Date.now } = this.#options;
    const { errors, plan, warnings } = checkPlan(withoutSecrets(input, this.#secrets.all()));
    if (plan === null) {
      const list = errors.map(({ message }) => `- ${message}`).join("\n");
      const problems = `The plan is not valid:\n${list}\nCorrect it and call create_workflow again.`;
      return { workflow: null, summary: "", problems };
    }
    const workflow = before
      ? modifiedWorkflow(before, plan, now())
      : newWorkflow(plan, { context, metadata, now: now() });
    const notes = warnings.map(({ message }) => `Warning: ${message}`);
    const summary = [workflow.name, ...stepLines(workflow), ...notes].join("\n");
    return { workflow, summary, problems: "" };
  }
}

const fields: Record<string, readonly string[]> = {
  ask_question: ["question"],
  set_secret: ["key", "value"],
  create_workflow: [],
};

const stringIn = ({ input }: ToolUse, field: string): string =>
  String((input as Record<string, unknown>)[field]);

/** Returns the reason why a tool call is invalid, or null if it is valid. */
function problemOf({ broken, input, name }: ToolUse, { stop }: ModelAnswer): string | null {
  if (!Object.hasOwn(fields, name)) return `no tool ${name} found`;
  if (broken !== undefined) {
    const why = stop === "truncated" ? "the answer was cut off: make it shorter" : broken;
    return `not done: ${why}`;
  }
  const wanted = fields[name] ?? [];
  const missing = wanted.find((field) => {
    const value = (input as Record<string, unknown>)[field];
    return typeof value !== "string" || value.trim() === "";
  });
  return missing === undefined ? null : `not done: ${missing} must be a non-blank string`;
}

/**
 * Makes a plan from one request, without a conversation.
 * @throws PlannerError if the model makes no plan.
 */
export async function generatePlan(
  request: string,
  options: PlannerOptions,
  callbacks: StreamCallbacks = {},
): Promise<Workflow> {
  const { turn } = await new Planner(options).start(request, callbacks);
  return planOf(turn);
}

/**
 * Changes a plan by one request, without a conversation.
 * @throws PlannerError if the model makes no plan.
 */
export async function modifyPlan(
  workflow: Workflow,
  text: string,
  options: PlannerOptions,
  callbacks: StreamCallbacks = {},
): Promise<Workflow> {
  const { turn } = await new Planner(options).modify(workflow, text, callbacks);
  return planOf(turn);
}

function planOf({ content, type, workflow }: PlannerTurn): Workflow {
  if (workflow) return workflow;
  const reason = type === "question" ? `the model asks: ${content}` : content;
  throw noPlanMade(reason);
}

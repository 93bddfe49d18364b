import { addUsage, allRounded, noUsage } from "@uncaged/workflow/interpreter";
import { kindOf } from "../content/sent.ts";
import type { AnswerCheck } from "../run/form.ts";
import { Meter, publish, type Spent, spend, spending } from "../run/run.ts";
import type { ToolAnswer, ToolContext, ToolRunner } from "../tools/tools.ts";
import { Approvals, type Decision } from "./approvals.ts";
import {
  type AskAside,
  Compaction,
  compactAtOf,
  type ContextOptions,
  isContextFull,
} from "./compact.ts";
import { ProviderError } from "./error.ts";
import { type Capped, pricedBy, raised, reserveCall, retrying } from "./reserve.ts";
import { retried } from "./retry.ts";
import { turnAt } from "./turn.ts";
import { placeOf, Recorded, type RecordingStep } from "./recorded.ts";
import { repairOf } from "./repair.ts";
import {
  type ModelAnswer,
  type ModelProvider,
  type ModelRequest,
  type ModelSink,
  type Surroundings,
  type ToolResult,
  type ToolUse,
} from "./provider.ts";
import {
  answerRefused,
  answerTruncated,
  callTruncated,
  contextFull,
  cutByLimit,
  emptyAnswer,
  textNotString,
  tooManyTurns,
  turnsRefused,
  unknownEnd,
} from "./errors.ts";

/** Optional callbacks for the events of a conversation. */
export type ModelCallbacks = Omit<ModelSink, "onUsage" | "onResponse"> & {
  onToolUse?: (use: ToolUse) => void;
  onToolResult?: (result: ToolResult) => void;
};

/** The tools of a conversation. `runner` runs the model's calls in `context`. */
export type Toolbox = { runner: ToolRunner; context: ToolContext };

/** The options of a conversation: its environment, callbacks, tools and limits. */
export type Conversation = Surroundings & {
  callbacks?: ModelCallbacks;
  toolbox?: Toolbox;
  maxTurns?: number;
  allowTruncated?: boolean;
  /** The condition for summarising a conversation that fills the model's context window (never by default). */
  context?: ContextOptions | false;
  /** The check of the last answer. If the answer does not fit, the model is called again with the problems. */
  form?: AnswerCheck;
  /**
   * The step whose journal records the turns and has turns of earlier executions. Without a step, turns are not
   * recorded.
   */
  step?: RecordingStep;
};

/** The last answer, with the final text of the conversation, and the thinking and usage of all answers. */
export type Conversed = ModelAnswer & { hasToolUse: boolean };

/**
 * Calls a model until it ends its turn. Runs the tools that the model calls, and lets the model continue after a pause.
 * Without a toolbox, an answer with tool calls is the last answer. The text comes from the last turn with text.
 *
 *     const { text } = await converse(anthropicProvider(), request, { env: options.env });
 *
 * @throws ProviderError; the signal's reason if the signal is aborted.
 */
export async function converse(
  provider: ModelProvider,
  request: ModelRequest,
  conversation: Conversation,
): Promise<Conversed> {
  const { callbacks = {}, toolbox, maxTurns = 50, allowTruncated = false, step } = conversation;
  const { context = false, form, signal } = conversation;
  const compactAt = context && compactAtOf(request.model, context);
  const compaction = new Compaction(request.messages, compactAt || null);
  const { messages } = compaction;
  const isLast = ({ toolUses, stop }: ModelAnswer): boolean =>
    toolUses.length > 0 ? !toolbox : stop !== "paused";
  const recorded = await Recorded.open(step ? placeOf(step, provider, request) : null, isLast);
  const { turns, toolCalls } = recorded;
  const approvals = new Approvals(step, recorded);
  if (turns > 0) publish("llm_resumed", { turns, tool_calls: toolCalls });
  let [text, thinking, usage, hasToolUse] = ["", "", noUsage, false];
  // Spending that is not recorded yet.
  const paid: Spent[] = [];
  // Recorded turns are already paid for, so they do not count toward `maxTurns`.
  for (let turn = 1; turn <= turns + maxTurns; turn += 1) {
    const known = recorded.answer(turn);
    const asking = async () => {
      const asked = { ...request, messages };
      const answer = await retried(retrying(provider), signal, () =>
        ask(provider, asked, conversation, paid),
      ).catch((error: unknown) => {
        throw turn > 1 && recorded.isKept ? refusedTurn(error, step) : error;
      });
      if (answer.stop === "context_full") {
        usage = addUsage(usage, answer.usage);
        throw contextFull();
      }
      return answer;
    };
    const compact = async (isFull: boolean): Promise<boolean> => {
      const aside: AskAside = async (all) => {
        const plain = { ...request, format: undefined, messages: all };
        const summary = await retried(retrying(provider), signal, () =>
          ask(provider, plain, { ...conversation, callbacks: {} }, paid),
        );
        usage = addUsage(usage, summary.usage);
        return summary;
      };
      const summary = await compaction.summary(aside, isFull);
      if (summary !== null) {
        const summarised = { summary, at: compaction.learned };
        await recorded.summarised(turn, summarised, paid.splice(0));
        compaction.compact(summarised);
      }
      return summary !== null;
    };
    const summary = recorded.summary(turn);
    if (summary !== undefined) compaction.compact(summary);
    else if (!known && compaction.isDue) await compact(false);
    const { cap, ...answer } = known
      ? { ...known, usage: noUsage, cap: null }
      : await asking().catch(async (error: unknown) => {
          const mayHelp = context && summary === undefined && isContextFull(error);
          if (!mayHelp) throw error;
          compaction.refused(error);
          if (!(await compact(true))) throw error;
          return await asking();
        });
    usage = addUsage(usage, answer.usage);
    if (isCutByLimit(answer, { allowTruncated, cap }) && (await raised(request, answer))) {
      turn -= 1;
      continue;
    }
    compaction.counted((known ?? answer).usage);
    const isContinued = messages.at(-1)?.role === "assistant";
    text = answer.text ? (isContinued ? text : "") + answer.text : text;
    thinking += answer.thinking;
    if (!known) {
      check(provider.name, answer, { allowTruncated, cap });
      await recorded.answered(turn, answer, paid.splice(0));
    }
    messages.push({ role: "assistant", content: answer.blocks });
    if (!known) reportHosted(answer, callbacks);
    if (answer.toolUses.length > 0) {
      hasToolUse = true;
      if (!known) for (const use of answer.toolUses) callbacks.onToolUse?.(use);
      if (!toolbox) return { ...answer, text, thinking, usage, hasToolUse };
      const results = await runTools(answer.toolUses, toolbox, {
        ...{
          turn,
          recorded,
          approvals,
          wasBegun: known !== undefined,
          onResult: callbacks.onToolResult,
        },
        onAgain: known ? callbacks.onToolUse : undefined,
      });
      const content = results.map((result) => ({ type: "tool_result", ...result }));
      messages.push({ role: "user", content });
    } else if (isLast(answer)) {
      const isSilent = !answer.text.trim();
      if (isSilent && form && (await form.problemsOf(text)).length > 0)
        throw emptyAnswer(provider.name);
      // Text of an earlier turn must not replace a lost answer.
      if (isSilent && !isContinued && !isSilence(known ?? answer)) throw emptyAnswer(provider.name);
      const again = isSilent ? null : await repairOf(form, recorded, turn, text);
      if (again !== null) messages.push({ role: "user", content: again });
      else if (text.trim()) return { ...answer, text, thinking, usage, hasToolUse };
      else throw emptyAnswer(provider.name);
    }
  }
  throw tooManyTurns(maxTurns);
}

/**
 * Returns the error for a refusal of recorded turns. Its hint suggests a fork, because a retry would send the turns
 * again.
 */
function refusedTurn(error: unknown, { threadId = "<thread>" }: RecordingStep = {}): unknown {
  if (!(error instanceof ProviderError)) return error;
  const { code, status } = error;
  // A refusal without a status comes from the model, whose next answer may be different.
  const isFinal = code === "LLM_BAD_REQUEST" || (code === "LLM_REFUSED" && status !== null);
  return isFinal ? turnsRefused(code, error, threadId) : error;
}

async function ask(
  provider: ModelProvider,
  request: ModelRequest,
  { env, signal, callbacks, step = {} }: Conversation,
  paid: Spent[],
): Promise<ModelAnswer & Capped> {
  signal?.throwIfAborted();
  const turn = await turnAt(provider, request, { env, signal }, step);
  const reserved = await reserveCall(provider, request, { env, signal });
  const own = pricedBy(provider);
  const meter = new Meter(request.model, provider.cacheWrites, reserved.call);
  const pay = (one: Omit<Spent, "cost">): Spent => {
    const spent = { ...own, ...one, call: meter.call };
    spend(spent);
    paid.push(spent);
    return spent;
  };
  const onUsage: ModelSink["onUsage"] = (partial) => meter.update(partial);
  const sink: ModelSink = { ...callbacks, onUsage, onResponse: turn.send() };
  try {
    await meter.begun();
    const answer = await provider.answer(reserved.request, sink, { env, signal });
    if (typeof answer.text !== "string") {
      throw textNotString(provider.name, kindOf(answer.text));
    }
    // Some servers omit the name of the model.
    const model = answer.model || request.model;
    const isCounted = answer.usage !== noUsage && !answer.isUncounted;
    // If a server does not report all usage, the reserved maximum counts toward a limit.
    const usage = isCounted || !reserved.usage ? answer.usage : reserved.usage;
    const whole = pay({ model, usage });
    if (isCounted || reserved.usage) meter.end(whole);
    else meter.breakOff();
    if (!isCounted) publish("tool_message", uncounted(provider.name, model));
    for (const piece of answer.unread ?? []) publish("tool_message", unread(provider.name, piece));
    return { ...answer, model, cap: reserved.cap };
  } catch (error) {
    const known = error instanceof ProviderError ? error : null;
    // A broken answer costs at least the reported usage.
    if (known?.partial) pay(known.partial);
    if (known?.isFree) meter.free();
    else meter.breakOff();
    throw error;
  } finally {
    reserved.release();
  }
}

/** Reports the calls of hosted tools. */
function reportHosted(
  { hosted = [] }: ModelAnswer,
  { onToolUse, onToolResult }: ModelCallbacks,
): void {
  for (const { result, ...use } of hosted) {
    onToolUse?.(use);
    onToolResult?.({ tool_use_id: use.id, content: result });
  }
}

function check(
  name: string,
  answer: ModelAnswer,
  { allowTruncated, cap }: Capped & { allowTruncated: boolean },
): void {
  const { stop, toolUses, finishReason, detail } = answer;
  const [use] = toolUses;
  if (stop === "refused") throw answerRefused(name, detail);
  if (isCutByLimit({ stop, toolUses }, { allowTruncated, cap })) throw cutByLimit(name, cap ?? 0);
  if (stop === "truncated" && use) throw callTruncated(name, use.name);
  if (stop === "truncated" && !allowTruncated) throw answerTruncated(name);
  if (stop === "unknown") throw unknownEnd(name, finishReason);
}

/** Returns whether an answer is unusable because the thread's limit cut it off. */
const isCutByLimit = (
  { stop, toolUses }: Pick<ModelAnswer, "stop" | "toolUses">,
  { allowTruncated, cap }: Capped & { allowTruncated: boolean },
): boolean => cap !== null && stop === "truncated" && (toolUses.length > 0 || !allowTruncated);

const uncounted = (name: string, model: string) => {
  const message = `the server reports no usage of ${model}: toward a limit, the call counts as the maximum that it could have used`;
  return { name, level: "warn", message, data: null };
};

const unread = (name: string, piece: string) => {
  const message = `the answer has ${piece}, which is not understood and is left out`;
  return { name, level: "warn", message, data: null };
};

// Maximum number of tokens in an answer without content, for the tokens that end a turn.
const mostOfNothing = 3;

/** Returns whether a model ended its turn without any output. The text of an earlier turn is then the answer. */
const isSilence = ({ thinking, unread: pieces, usage, isUncounted }: ModelAnswer): boolean =>
  !pieces &&
  !thinking.trim() &&
  !isUncounted &&
  usage.output_tokens - usage.thinking_tokens <= mostOfNothing;

/** Returns a note for the model about integers that the tool got as strings. */
function longNote({ exact }: ToolUse): string {
  const found = [...allRounded(exact ?? "")].slice(0, 5).map(({ text }) => text);
  if (found.length === 0) return "";
  return `\n${found.join(", ")}: a number can't hold an integer beyond 2^53 exactly, so the tool got it as a string`;
}

type ToolRuns = {
  turn: number;
  recorded: Recorded;
  approvals: Approvals;
  /** Whether an earlier execution started the calls that lack a result. */
  wasBegun: boolean;
  /** Called for each call of a recorded answer that runs in this execution. */
  onAgain: ModelCallbacks["onToolUse"];
  onResult: ModelCallbacks["onToolResult"];
};

/** Runs the calls that lack a result, in parallel. A tool that ignores an abort does not block the others. */
async function runTools(
  uses: readonly ToolUse[],
  { runner, context }: Toolbox,
  { turn, recorded, approvals, wasBegun, onAgain, onResult }: ToolRuns,
): Promise<ToolResult[]> {
  const { signal } = context;
  signal.throwIfAborted();
  const decided = await approvals.decide(turn, uses, { runner, context });
  const isWaited = decided.some(({ wasAsked }) => wasAsked);
  const hasBegun = isWaited ? recorded.isBegun(turn) : wasBegun;
  if (isWaited && !hasBegun) await recorded.begun(turn);
  const runs = uses.map(async (use, at): Promise<ToolResult> => {
    const { id, name, broken } = use;
    const { approved, input = use.input, note = "", refusal } = decided[at] as Decision;
    const exact = input === use.input ? use.exact : undefined;
    const known = recorded.result(turn, id);
    if (known) return known;
    onAgain?.(use);
    const call = { ...context, key: recorded.keyOf(turn, id), wasBegun: hasBegun, approved, exact };
    const why = broken ? `${name} was not run: ${broken}` : refusal;
    const refused: ToolAnswer | null = why ? { content: why, is_error: true } : null;
    const done = await spending(async () => refused ?? (await runner.run(name, input, call, id)));
    const { content, is_error, parts } = done.result;
    const about = is_error && input === use.input ? longNote(use) : "";
    const shown = { tool_use_id: id, content: note + content + about, is_error };
    const result = { ...shown, ...(parts && { parts }) };
    if (signal.aborted) return result;
    await recorded.finished(turn, result, done.spent);
    onResult?.(shown);
    return result;
  });
  let stop: () => void = () => undefined;
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
    signal.addEventListener("abort", stop);
  });
  try {
    return await Promise.race([Promise.all(runs), stopped]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

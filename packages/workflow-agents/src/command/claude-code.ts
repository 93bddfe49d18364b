import { addUsage, noUsage, totalTokens } from "@uncaged/workflow/interpreter";
import type { AgentFn, Usage } from "@uncaged/workflow";
import { costOf } from "../ledger/prices.ts";
import type { Spent } from "../run/run.ts";
import { type PresetOptions, presetAgent } from "./command.ts";
import {
  type AgentOutput,
  countOf,
  dollarsOf,
  type Fields,
  fieldsOf,
  isTrue,
  type LineReader,
  listOf,
  modelOf,
  resultIn,
  sessionIn,
  shownIn,
  stringOf,
} from "./reader.ts";

/**
 * Returns an agent that runs Claude Code in headless mode. By default, Claude Code may edit files in the thread's
 * directory without asking. Grant more permissions with `args` (`["--allowedTools", "Bash(npm test)"]`) or Claude
 * Code's settings. A later step of the role resumes a copy of the session, so forks and retries start where that step
 * ended. Source: https://code.claude.com/docs/en/headless and `claude --help` of 2.1.330.
 */
export function claudeCode(options: PresetOptions & { permissionMode?: string } = {}): AgentFn {
  const { model, permissionMode = "acceptEdits", args = [] } = options;
  return presetAgent(options, "claude", ["ANTHROPIC_*", "CLAUDE_CODE_*", "CLAUDE_CONFIG_DIR"], {
    argv: [
      ["--print", "--output-format", "stream-json", "--verbose", "--include-partial-messages"],
      ["--permission-mode", permissionMode],
      model === undefined ? [] : ["--model", model],
      ["--append-system-prompt", "{system}"],
      ["--resume", "{session}", "--fork-session"],
      ...args,
      ["--max-budget-usd", "{budget}"],
    ],
    output: readClaudeCode,
    lostSession: /No conversation found/i,
    isClaude: true,
  });
}

/** Reads the lines of `--output-format stream-json --include-partial-messages`. */
export const readClaudeCode: LineReader = () => {
  let model = "claude-code";
  let paid = 0;
  const answers = new Answers();
  const last = new LastMessage();
  return (value) => {
    const line = fieldsOf(value);
    switch (line.type) {
      case "system":
        if (line.subtype !== "init") return [];
        model = modelOf(line.model) || model;
        return [{ kind: "model", model }, ...sessionIn(line.session_id)];
      case "stream_event":
        return [...answers.update(line, model), ...deltaOf(fieldsOf(fieldsOf(line.event).delta))];
      case "assistant":
        return [
          ...answers.whole(fieldsOf(line.message), model),
          ...contentOf(line).flatMap(blockOf),
          ...last.add(line),
        ];
      case "user":
        return contentOf(line).flatMap(blockOf);
      case "result": {
        const total = dollarsOf(line.total_cost_usd) ?? paid;
        const cost = Math.max(0, total - paid);
        paid = total;
        const spent = spentIn(line, model, answers).map((one): Spent => {
          const isUnknown = one.cost === null && costOf(one.model, one.usage) === null;
          return isUnknown && cost > 0 ? { ...one, cost } : one;
        });
        return [
          ...spent.map((one): AgentOutput => ({ kind: "spent", spent: one })),
          ...sessionIn(line.session_id),
          resultOf(line, last.problem),
        ];
      }
      default:
        return [];
    }
  };
};

const contentOf = ({ message }: Fields): Fields[] => {
  const { content } = fieldsOf(message);
  return listOf(typeof content === "string" ? [{ type: "text", text: content }] : content);
};

/** Collects the main agent's last message, which arrives block by block. */
class LastMessage {
  #id: unknown;
  #texts: string[] = [];
  /** The last message if Claude Code itself wrote it instead of a model, for example at a usage limit, or "". */
  problem = "";

  add(line: Fields): AgentOutput[] {
    const { parent_tool_use_id: agent = null, message } = line;
    if (agent !== null) return [];
    const { id, model } = fieldsOf(message);
    if (id === undefined || id !== this.#id) this.#texts = [];
    this.#id = id;
    const blocks = contentOf(line);
    this.#texts.push(
      ...blocks.filter(({ type }) => type === "text").map(({ text }) => shownIn(text)),
    );
    const text = this.#texts.join("");
    const isSynthetic = model === "<synthetic>" || isTrue(line.isApiErrorMessage);
    const isProblem = isSynthetic || problemText.test(text.trim());
    this.problem = isProblem ? text.trim() : "";
    if (this.problem !== "") return [{ kind: "failed", message: this.problem }];
    const isCall = blocks.some(({ type }) => type === "tool_use");
    return isCall || isSynthetic ? [] : [{ kind: "said", text }];
  }
}

type Answer = { id: string; spent: Spent; isCounted: boolean };

/**
 * Collects the usage of each answer. Streamed answers of subagents are interleaved. After a broken stream, Claude Code
 * repeats the request without streaming, and the answer arrives in one line.
 */
class Answers {
  readonly #open = new Map<unknown, Answer>();
  readonly #spent = new Map<string, Spent>();
  readonly #streamed = new Set<string>();

  update({ event: value, parent_tool_use_id: agent = null }: Fields, model: string): AgentOutput[] {
    const event = fieldsOf(value);
    const message = fieldsOf(event.message);
    const counts = fieldsOf(event.type === "message_start" ? message.usage : event.usage);
    if (event.type === "message_start") {
      const id = stringOf(message.id);
      const spent = { model: modelOf(message.model) || model, usage: noUsage, cost: null };
      this.#streamed.add(id);
      this.#open.set(agent, { id, spent, isCounted: false });
    }
    const answer = this.#open.get(agent);
    if (!answer) return [];
    if (event.type === "message_stop" && !answer.isCounted) {
      return [{ kind: "broken", model: answer.spent.model }];
    }
    if (event.type !== "message_start" && event.type !== "message_delta") return [];
    const { id } = answer;
    const spent = { ...answer.spent, usage: counted(counts, answer.spent.usage) };
    this.#open.set(agent, { id, spent, isCounted: event.type === "message_delta" });
    return this.#counted(id, spent);
  }

  /** Counts an answer that was not streamed. */
  whole({ id: given, model: named, usage: counts }: Fields, model: string): AgentOutput[] {
    const id = stringOf(given);
    const usage = counted(fieldsOf(counts), noUsage);
    if (id === "" || this.#streamed.has(id) || totalTokens(usage) === 0) return [];
    return this.#counted(id, { model: modelOf(named) || model, usage, cost: null });
  }

  /** Returns the usage of all answers of a model. */
  of(model: string): Usage {
    const all = [...this.#spent.values()].filter((spent) => spent.model === model);
    return all.reduce((sum, { usage }) => addUsage(sum, usage), noUsage);
  }

  #counted(id: string, spent: Spent): AgentOutput[] {
    this.#spent.set(id, spent);
    return [{ kind: "usage", id, spent }];
  }
}

/** Merges the API's counts of one answer. Each reported count replaces the previous count. */
function counted(used: Fields, before: Usage): Usage {
  const of = (value: unknown, known: number): number =>
    typeof value === "number" && value >= 0 ? countOf(value) : known;
  const thinking = fieldsOf(used.output_tokens_details).thinking_tokens;
  return {
    input_tokens: of(used.input_tokens, before.input_tokens),
    output_tokens: of(used.output_tokens, before.output_tokens),
    thinking_tokens: of(thinking, before.thinking_tokens),
    cache_read_tokens: of(used.cache_read_input_tokens, before.cache_read_tokens),
    cache_write_tokens: of(used.cache_creation_input_tokens, before.cache_write_tokens),
  };
}

function deltaOf({ type, text, thinking }: Fields): AgentOutput[] {
  if (type === "text_delta") return [{ kind: "text", delta: shownIn(text) }];
  if (type === "thinking_delta") return [{ kind: "thinking", delta: shownIn(thinking) }];
  return [];
}

function blockOf({ type, id, name, input, tool_use_id, content, is_error }: Fields): AgentOutput[] {
  if (type === "tool_use") {
    return [{ kind: "toolUse", id: stringOf(id), name: stringOf(name), input }];
  }
  if (type !== "tool_result") return [];
  return [{ kind: "toolResult", id: stringOf(tool_use_id), content, isError: is_error === true }];
}

/** Matches error texts that Claude Code returns in place of an answer, with `is_error: false` in some versions. */
const problemText = new RegExp(
  `^(${[
    /Claude( AI)? usage limit reached|You've hit your [^.]{0,40}limit|\S{1,12} limit reached\b/,
    /You're out of extra usage|Spending cap reached|Credit balance is too low/,
    /(Failed to authenticate\. )?API Error: (\d{3}\b|Repeated \d{3}\b|Connection error|Request timed out)/,
    /Invalid API key|OAuth token (has expired|revoked)|Not logged in\b|Prompt is too long$/,
  ]
    .map(({ source }) => source)
    .join("|")})[^\n]{0,200}$`,
  "i",
);

function resultOf(line: Fields, written: string): AgentOutput {
  const subtype = stringOf(line.subtype);
  if (!isTrue(line.is_error) && !subtype.startsWith("error")) {
    const answer = resultIn(line.result, "result");
    const text = answer.kind === "result" ? answer.text.trim() : "";
    const isProblem = text === written || problemText.test(text);
    if (text !== "") return isProblem ? { kind: "failed", message: text } : answer;
    return written === "" ? answer : { kind: "failed", message: written };
  }
  const problems = (Array.isArray(line.errors) ? line.errors : []).map(problemIn).join("; ");
  const message = shownIn(line.result) || problems || subtype;
  return { kind: "failed", message, overBudget: subtype === "error_max_budget_usd" };
}

const problemIn = (error: unknown): string =>
  typeof error === "string"
    ? error
    : stringOf(fieldsOf(error).message) || (JSON.stringify(error) ?? "");

const isEqual = (a: Usage, b: Usage): boolean =>
  (Object.keys(a) as (keyof Usage)[]).every((name) => a[name] === b[name]);

const inputOf = (usage: Usage): number =>
  usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens;

// Prefers the usage of all models in this run. `usage` has only the main model's tokens, and `modelUsage` has the
// tokens of the whole session.
function spentIn(line: Fields, model: string, answers: Answers): Spent[] {
  const since = Object.entries(fieldsOf(line.model_usage_since_last_result));
  if (since.length > 0) {
    return since.map(([given, value]) => {
      const name = modelOf(given) || model;
      const used = fieldsOf(value);
      const usage = {
        input_tokens: countOf(used.inputTokens),
        output_tokens: countOf(used.outputTokens),
        thinking_tokens: countOf(used.thinkingTokens),
        cache_read_tokens: countOf(used.cacheReadInputTokens),
        cache_write_tokens: countOf(used.cacheCreationInputTokens),
      };
      const cost = dollarsOf(used.costUSD);
      // After a broken stream, the total of Claude Code omits counted usage or includes an estimate.
      const own = answers.of(name);
      const hasAll = totalTokens(own) > 0 && inputOf(own) >= inputOf(usage);
      if (!hasAll || isEqual(own, usage)) return { model: name, usage, cost };
      return { model: name, usage: own, cost: costOf(name, own) === null ? cost : null };
    });
  }
  const usage = counted(fieldsOf(line.usage), noUsage);
  return Object.values(usage).some((count) => count > 0) ? [{ model, usage, cost: null }] : [];
}

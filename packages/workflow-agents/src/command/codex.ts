import type { AgentFn } from "@uncaged/workflow";
import { type PresetOptions, presetAgent } from "./command.ts";
import {
  type AgentOutput,
  countOf,
  type Fields,
  fieldsOf,
  type LineReader,
  resultIn,
  sessionIn,
  shownIn,
  stringOf,
} from "./reader.ts";

/**
 * Returns an agent that runs Codex in headless mode. By default, Codex may write in the thread's directory.
 * `codexSandbox` sets the mode of Codex's own sandbox. Source: https://developers.openai.com/codex/noninteractive,
 * codex-rs/exec/src/exec_events.rs.
 */
export function codex(options: PresetOptions & { codexSandbox?: string } = {}): AgentFn {
  const { codexSandbox = "workspace-write", model, args = [] } = options;
  return presetAgent(options, "codex", ["CODEX_*", "OPENAI_*"], {
    argv: [
      ["exec", "--json", "--skip-git-repo-check", "--sandbox", codexSandbox],
      model === undefined ? [] : ["--model", model],
      ...args,
      ["resume", "{session}"],
      "-",
    ],
    output: () => readCodex(model ?? "codex"),
    lostSession: /no rollout found|session .*not found|thread .*not found/i,
  });
}

/** Returns a reader for the lines of `exec --json`. */
export function readCodex(model: string): ReturnType<LineReader> {
  let answer: unknown = "";
  return (value) => {
    const line = fieldsOf(value);
    switch (line.type) {
      case "thread.started":
        return [{ kind: "model", model }, ...sessionIn(line.thread_id)];
      case "item.started": {
        const item = fieldsOf(line.item);
        return reportedLate.has(item.type) ? [] : toolUse(item);
      }
      case "item.completed": {
        const item = fieldsOf(line.item);
        if (item.type === "agent_message") answer = item.text;
        return completedItem(item);
      }
      case "turn.completed":
        return [spentOf(fieldsOf(line.usage), model), resultIn(answer, "the agent message's text")];
      case "turn.failed":
        return [{ kind: "failed", message: shownIn(fieldsOf(line.error).message) }];
      case "error":
        return [{ kind: "failed", message: shownIn(line.message) }];
      default:
        return [];
    }
  };
}

const tools: Record<string, (item: Fields) => { name: string; input: unknown }> = {
  command_execution: ({ command }) => ({ name: "command", input: { command } }),
  file_change: ({ changes }) => ({ name: "file_change", input: { changes } }),
  web_search: ({ query }) => ({ name: "web_search", input: { query } }),
  mcp_tool_call: ({ server, tool, arguments: input }) => ({
    name: `${stringOf(server)}__${stringOf(tool)}`,
    input: input ?? {},
  }),
};
// File changes and web searches may be reported only when they end.
const reportedLate = new Set<unknown>(["file_change", "web_search"]);

function toolUse(item: Fields): AgentOutput[] {
  const type = stringOf(item.type);
  const described = Object.hasOwn(tools, type) ? tools[type]?.(item) : undefined;
  return described ? [{ kind: "toolUse", id: stringOf(item.id), ...described }] : [];
}

function completedItem(item: Fields): AgentOutput[] {
  const text = shownIn(item.text);
  if (item.type === "agent_message")
    return [
      { kind: "text", delta: `${text}\n` },
      { kind: "said", text },
    ];
  if (item.type === "reasoning") return [{ kind: "thinking", delta: `${text}\n` }];
  const use = toolUse(item);
  if (use.length === 0) return [];
  const { exit_code: exitCode, status } = item;
  const hasFailed = status === "failed" || status === "declined";
  const isError = hasFailed || (typeof exitCode === "number" && exitCode !== 0);
  const content = item.aggregated_output ?? item.result ?? item.error ?? stringOf(status);
  const late = reportedLate.has(item.type) ? use : [];
  return [...late, { kind: "toolResult", id: stringOf(item.id), content, isError }];
}

// `input_tokens` includes the cached tokens.
function spentOf(used: Fields, model: string): AgentOutput {
  const cached = countOf(used.cached_input_tokens);
  const usage = {
    input_tokens: Math.max(countOf(used.input_tokens) - cached, 0),
    output_tokens: countOf(used.output_tokens),
    thinking_tokens: countOf(used.reasoning_output_tokens),
    cache_read_tokens: cached,
    cache_write_tokens: 0,
  };
  return { kind: "spent", spent: { model, usage, cost: null } };
}

import type { AgentFn } from "@uncaged/workflow";
import { commandAgent, type PresetOptions, proxies } from "./command.ts";
import {
  type AgentOutput,
  countOf,
  type Fields,
  fieldsOf,
  type LineReader,
  stringOf,
} from "./reader.ts";

/**
 * Codex without its screen. It may write in the thread's directory (`sandbox`); the directory need be
 * no Git repository.
 *
 * Source: https://developers.openai.com/codex/noninteractive, and openai/codex: codex-rs/exec/src/cli.rs
 * and exec_events.rs.
 */
export function codex(options: PresetOptions & { sandbox?: string } = {}): AgentFn {
  const { command = "codex", model, sandbox = "workspace-write", args = [], ...rest } = options;
  return commandAgent({
    ...rest,
    argv: [
      command,
      "exec",
      "--json",
      "--skip-git-repo-check",
      "--sandbox",
      sandbox,
      ...(model === undefined ? [] : ["--model", model]),
      ...args,
      ["resume", "{session}"],
      "-",
    ],
    env: ["CODEX_*", "OPENAI_*", ...proxies, ...(options.env ?? [])],
    output: () => readCodex(model ?? "codex"),
    lostSession: /no rollout found|session .*not found|thread .*not found/i,
  });
}

function readCodex(model: string): ReturnType<LineReader> {
  let answer = "";
  return (value) => {
    const line = fieldsOf(value);
    switch (line.type) {
      case "thread.started":
        return [{ kind: "session", id: stringOf(line.thread_id) }];
      case "item.started":
        return startedItem(fieldsOf(line.item));
      case "item.completed": {
        const item = fieldsOf(line.item);
        if (item.type === "agent_message") answer = stringOf(item.text);
        return completedItem(item);
      }
      case "turn.completed":
        return [spentOf(fieldsOf(line.usage), model), { kind: "result", text: answer }];
      case "turn.failed":
        return [{ kind: "failed", message: stringOf(fieldsOf(line.error).message) }];
      case "error":
        return [{ kind: "failed", message: stringOf(line.message) }];
      default:
        return [];
    }
  };
}

// A file change and a web search may be reported only when they are over.
const reportedLate = new Set(["file_change", "web_search"]);

function startedItem(item: Fields): AgentOutput[] {
  return reportedLate.has(stringOf(item.type)) ? [] : toolUse(item);
}

function completedItem(item: Fields): AgentOutput[] {
  const text = stringOf(item.text);
  if (item.type === "agent_message") return [{ kind: "text", delta: `${text}\n` }];
  if (item.type === "reasoning") return [{ kind: "thinking", delta: `${text}\n` }];
  const late = reportedLate.has(stringOf(item.type)) ? toolUse(item) : [];
  return [...late, ...toolResult(item)];
}

function toolUse(item: Fields): AgentOutput[] {
  const id = stringOf(item.id);
  switch (item.type) {
    case "command_execution":
      return [{ kind: "toolUse", id, name: "command", input: { command: item.command } }];
    case "file_change":
      return [{ kind: "toolUse", id, name: "file_change", input: { changes: item.changes } }];
    case "web_search":
      return [{ kind: "toolUse", id, name: "web_search", input: { query: item.query } }];
    case "mcp_tool_call": {
      const name = `${stringOf(item.server)}__${stringOf(item.tool)}`;
      return [{ kind: "toolUse", id, name, input: item.arguments ?? {} }];
    }
    default:
      return [];
  }
}

function toolResult(item: Fields): AgentOutput[] {
  if (toolUse(item).length === 0) return [];
  const exitCode = item.exit_code;
  const isError = item.status === "failed" || item.status === "declined";
  const isBad = isError || (typeof exitCode === "number" && exitCode !== 0);
  const content = item.aggregated_output ?? item.result ?? item.error ?? stringOf(item.status);
  return [{ kind: "toolResult", id: stringOf(item.id), content, isError: isBad }];
}

// `input_tokens` has the cached ones in it.
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

import type { AgentFn } from "@uncaged/workflow";
import { type PresetOptions, presetAgent } from "./command.ts";
import {
  type AgentOutput,
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
 * Returns an agent that runs Cursor's agent in headless mode. With `force: false`, Cursor only proposes changes. Cursor
 * does not report tokens. Source: https://cursor.com/docs/cli/reference/parameters and …/output-format.
 */
export function cursor(options: PresetOptions & { force?: boolean } = {}): AgentFn {
  const { model, force = true, args = [] } = options;
  return presetAgent(options, "cursor-agent", ["CURSOR_*"], {
    argv: [
      ["--print", "--output-format", "stream-json"],
      force ? ["--force"] : [],
      model === undefined ? [] : ["--model", model],
      ["--resume", "{session}"],
      ...args,
    ],
    output: readCursor,
    lostSession: /(chat|session|conversation) .*not found/i,
  });
}

/** Reads the lines of `--output-format stream-json`. */
export const readCursor: LineReader = () => (value) => {
  const line = fieldsOf(value);
  switch (line.type) {
    case "system":
      return [{ kind: "model", model: modelOf(line.model) || "cursor" }];
    case "assistant": {
      const texts = listOf(fieldsOf(line.message).content).flatMap(({ type, text }) =>
        type === "text" ? [shownIn(text)] : [],
      );
      const deltas = texts.map((delta): AgentOutput => ({ kind: "text", delta }));
      return [...deltas, { kind: "said", text: texts.join("") }];
    }
    case "tool_call":
      return toolCall(line);
    case "result": {
      const session = sessionIn(line.session_id);
      if (!isTrue(line.is_error)) return [...session, resultIn(line.result, "result")];
      return [...session, { kind: "failed", message: shownIn(line.result) }];
    }
    default:
      return [];
  }
};

// `{"readToolCall": {args, result}}`, or `{"function": {name, arguments}}` for other tools.
function toolCall(line: Fields): AgentOutput[] {
  const id = stringOf(line.call_id);
  const [entry] = Object.entries(fieldsOf(line.tool_call));
  if (!entry) return [];
  const [kind, value] = entry;
  const call = fieldsOf(value);
  const name = stringOf(call.name) || kind.replace(/ToolCall$/, "");
  if (line.subtype === "started") {
    return [{ kind: "toolUse", id, name, input: call.args ?? call.arguments ?? {} }];
  }
  const result = fieldsOf(call.result);
  const isError = "error" in result || "failure" in result || "rejected" in result;
  const content = result.success ?? call.result ?? null;
  return [{ kind: "toolResult", id, content, isError }];
}

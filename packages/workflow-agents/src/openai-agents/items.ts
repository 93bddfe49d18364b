import type { AgentOutputItem, RunToolApprovalItem } from "@openai/agents";
import { publish } from "../run/run.ts";

/** Returns whether an item requests a person's approval for a call of a hosted MCP tool. */
export const isApproval = ({ type, providerData }: AgentOutputItem): boolean =>
  type === "hosted_tool_call" && providerData?.type === "mcp_approval_request";

/** Returns the texts of a message, or an empty list for other items. */
export function textsOf(item: AgentOutputItem): string[] {
  if (item.type !== "message" || item.role !== "assistant") return [];
  return item.content.flatMap((part) => (part.type === "output_text" ? [part.text] : []));
}

/** Returns the arguments of a call, as a string if they are not JSON. */
export function inputOf(json = "{}"): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return json;
  }
}

/** Publishes a finished tool call. */
export function publishTool(id: string, name: string, json = "{}", content: unknown = ""): void {
  publish("llm_tool_use", { tool_use_id: id, name, input: inputOf(json) });
  publish("llm_tool_result", { tool_use_id: id, content });
}

/** Returns the id, the name and the input of a call that needs an approval. */
export function callOf(item: RunToolApprovalItem): { id: string; name: string; input: unknown } {
  const { rawItem } = item;
  const { type, id = "", status: _, providerData = {}, ...raw } = rawItem;
  const callId = "callId" in rawItem ? rawItem.callId : id;
  const given: unknown = item.arguments ?? providerData.arguments;
  const input = typeof given === "string" ? inputOf(given) : raw;
  return { id: callId, name: item.name ?? type, input };
}

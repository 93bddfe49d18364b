/** A model's request to run a tool. */
export type ToolUseBlock = { id: string; name: string; input: object };

/** What a tool answered. `tool_use_id` is the `id` of the {@link ToolUseBlock} that asked. */
export type ToolResultBlock = { tool_use_id: string; content: string; is_error?: boolean };

/**
 * One block of a message: `{type: "text", text}`, `{type: "tool_use", …ToolUseBlock}`,
 * `{type: "tool_result", …ToolResultBlock}`, or one of the provider's own, which is handed back as it
 * came (`thinking` with its signature).
 */
export type Block = { type: string; [field: string]: unknown };

/** One message of a conversation. A `system` message is added to the system prompt. */
export type Message = { role: "user" | "assistant" | "system"; content: string | Block[] };

/** The blocks of a message. */
export const blocksOf = ({ content }: Message): Block[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : content;

/** All text of some blocks, in order. */
export function textOf(blocks: readonly Block[]): string {
  return blocks
    .filter(({ type }) => type === "text")
    .map(({ text }) => (typeof text === "string" ? text : ""))
    .join("");
}

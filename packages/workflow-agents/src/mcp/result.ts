import type { CallToolResult } from "@modelcontextprotocol/client";
import { mcpError } from "./problem.ts";

type Block = CallToolResult["content"][number];

/**
 * What a tool's result is to a model: its texts, and a word on what is no text. `structuredContent` is
 * kept beside, and shown when there is no text.
 *
 * @throws WorkflowError `MCP_TOOL_FAILED` when the server says that the tool failed.
 */
export function resultOf({ content, structuredContent, isError }: CallToolResult): unknown {
  const texts = content.map(textOf).filter((text) => text !== "");
  if (isError === true) {
    const text = texts.join("\n") || "the tool failed and does not say why";
    throw mcpError("MCP_TOOL_FAILED", text);
  }
  if (texts.length === 0 && structuredContent !== undefined) return structuredContent;
  return {
    result: texts.join("\n"),
    ...(structuredContent !== undefined && { structuredContent }),
  };
}

function textOf(block: Block): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
      return `[${block.type} ${block.mimeType}, ${Math.floor((block.data.length * 3) / 4)} bytes]`;
    case "resource_link":
      return `[resource ${block.uri}]`;
    case "resource":
      return "text" in block.resource ? block.resource.text : `[resource ${block.resource.uri}]`;
    default:
      return "";
  }
}

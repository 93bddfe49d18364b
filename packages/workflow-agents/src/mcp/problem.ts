import { WorkflowError } from "@uncaged/workflow";

const hints: Record<string, string> = {
  MCP_UNREACHABLE:
    "check the server's command or URL, and what it needs in the thread's environment",
  MCP_DIED: "call it again if that does no harm: the server is then started anew",
  MCP_REFUSED: "check the key in the thread's environment that the server's headers are made of",
};

/** An error of an MCP server. */
export const mcpError = (code: string, message: string, cause?: unknown): WorkflowError =>
  new WorkflowError({ code, kind: "failed", message, hint: hints[code] }, { cause });

/** The words of whatever the protocol's client threw, on a line. */
export function wordsOf(error: unknown): string {
  const { message, cause } =
    error instanceof Error ? error : { message: String(error), cause: null };
  const deeper = cause instanceof Error && !message.includes(cause.message) ? cause.message : "";
  return [message, deeper].filter(Boolean).join(": ").replace(/\s+/g, " ").slice(0, 500);
}

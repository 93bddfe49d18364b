import type { WorkflowError } from "@uncaged/workflow";
import { failure, misuse } from "../run/error.ts";

/* The errors of MCP servers. */

const badMcp = (problem: string): WorkflowError =>
  misuse("BAD_MCP", problem, "fix mcpTools' options");

export const invalidServerName = (name: string): WorkflowError =>
  badMcp(`invalid name ${JSON.stringify(name)}: use at most 32 letters, digits and -`);

export const serverNotUrl = (url: string): WorkflowError =>
  badMcp(`${JSON.stringify(url)} is not a URL`);

/** Returns the error for a prompt with content that a system prompt cannot have. `part` describes the content. */
export const promptNotText = (name: string, part: string): WorkflowError =>
  failure(
    "MCP_PROMPT_FAILED",
    `the prompt ${name} contains ${part}, but a system prompt is text`,
    "pass the picture or document in the agent's files or messages, or use a prompt without it",
  );

export const crashedAgain = (server: string): WorkflowError =>
  failure(
    "MCP_DIED",
    `the MCP server ${server} crashed again after a restart`,
    "fix the server, then retry the thread",
  );

/** Hints by error code. */
const hints: Record<string, string> = {
  MCP_UNREACHABLE:
    "check the server's command or URL, and the variables in the thread's environment that it needs",
  MCP_BUSY: "call the tool again later: the server did not run it",
  MCP_UNAVAILABLE: "call the tool again if this is safe: the server may have run it",
  MCP_DIED: "call the tool again if this is safe: the server then restarts",
  MCP_REFUSED: "check the key in the thread's environment that the server's headers use",
};

/** Returns the error for a problem of a server or an answer, with the hint for the code. */
export const mcpError = (code: string, message: string, cause?: unknown): WorkflowError =>
  failure(code, message, hints[code], { cause });

import type { WorkflowError } from "@uncaged/workflow";
import { failure, misuse } from "../run/error.ts";

/* The errors of MCP servers. */

const badMcp = (problem: string): WorkflowError =>
  misuse("BAD_MCP", problem, "fix mcpTools' options");

export const invalidServerName = (name: string): WorkflowError =>
  badMcp(`invalid name ${JSON.stringify(name)}: use at most 32 letters, digits and -`);

export const serverNotUrl = (url: string): WorkflowError =>
  badMcp(`${JSON.stringify(url)} is not a URL`);

/** `part`: the content that can't be in a system prompt. */
export const promptNotText = (name: string, part: string): WorkflowError =>
  failure(
    "MCP_PROMPT_FAILED",
    `the prompt ${name} contains ${part}, but a system prompt is text`,
    "give the agent the picture or document by files or messages, or use a prompt without it",
  );

export const crashedAgain = (server: string): WorkflowError =>
  failure(
    "MCP_DIED",
    `the MCP server ${server} crashed again after a restart`,
    "fix the server; then retry the thread",
  );

/** Hints by error code. */
const hints: Record<string, string> = {
  MCP_UNREACHABLE:
    "check the server's command or URL, and the variables that it needs in the thread's environment",
  MCP_BUSY: "call it again later: nothing was done",
  MCP_UNAVAILABLE: "call it again if that does no harm: it may have been done",
  MCP_DIED: "call it again if that does no harm: the server is then started again",
  MCP_REFUSED: "check the key in the thread's environment that the server's headers use",
};

/** A problem of a server or of an answer, with the hint of its code. */
export const mcpError = (code: string, message: string, cause?: unknown): WorkflowError =>
  failure(code, message, hints[code], { cause });

import type { Environment } from "@uncaged/workflow/host";
import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { refusalOf, writeRefusal } from "./guard.ts";

/** The result of the hook: a text for the agent, and the exit code (0 allows a call, 2 refuses it). */
export type HookAnswer = { exitCode: 0 | 2; message: string };

/**
 * Answers the hook that Claude Code calls before it uses a tool: refuses or allows the call. Refuses unreadable input.
 * Source: https://code.claude.com/docs/en/hooks
 */
export function guardCall(text: string, env: Environment): HookAnswer {
  try {
    const { cwd, tool_input: input, tool_name: tool } = JSON.parse(text) as HookInput;
    const directories = { cwd: cwd ?? "/", home: env.HOME ?? "/root" };
    const refusal =
      typeof input?.command === "string"
        ? refusalOf(input.command, directories)
        : tool !== "Bash" && typeof input?.file_path === "string"
          ? writeRefusal(real(input.file_path), directories)
          : "it has no command";
    if (refusal === null) return { exitCode: 0, message: "" };
    return {
      exitCode: 2,
      message: `refused: ${refusal}. Find a way that avoids this.`,
    };
  } catch (error) {
    return { exitCode: 2, message: `refused: the call can't be read: ${String(error)}` };
  }
}

type HookInput = {
  cwd?: string;
  tool_name?: string;
  tool_input?: { command?: unknown; file_path?: unknown };
};

/** Resolves the links of a path, even if its file is missing. */
const real = (path: string): string => {
  try {
    return realpathSync(path);
  } catch {
    const folder = dirname(path);
    return folder === path ? path : join(real(folder), basename(path));
  }
};

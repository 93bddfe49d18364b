import type { Environment } from "@uncaged/workflow/host";
import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { refusalOf, writeRefusal } from "./guard.ts";

/** What the hook ends with: a text for the agent, and the exit code that refuses a call, or lets it pass. */
export type HookAnswer = { exitCode: 0 | 2; message: string };

/**
 * The hook that Claude Code calls before it uses a tool: it reads what is about to be done, and refuses it or not. What
 * can't be read is refused. Source: https://code.claude.com/docs/en/hooks
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
      message: `refused: ${refusal}. Find another way that does no such thing.`,
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

/** Where a path leads, also that of a file which is not there yet. */
const real = (path: string): string => {
  try {
    return realpathSync(path);
  } catch {
    const folder = dirname(path);
    return folder === path ? path : join(real(folder), basename(path));
  }
};

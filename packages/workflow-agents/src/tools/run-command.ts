import { maskOf } from "@uncaged/workflow/interpreter";
import { ownProcesses } from "@uncaged/workflow/sandbox";
import * as z from "zod/mini";
import { type ChildEnd, leavesRunning, runChild } from "../child/child.ts";
import { allowed } from "../child/request.ts";
import { checkSandbox, type SandboxOptions, sandboxed } from "../child/sandbox.ts";
import { HeadAndTail } from "../child/output.ts";
import { confinedPath } from "./path.ts";
import { type Tool, tool, type ToolExecution } from "./tools.ts";
import { argvOrCommand, commandTimeout, noProgram } from "./errors.ts";

/**
 * Options of {@link runCommand}, with defaults in parentheses. `env` lists the environment variables that commands get
 * in addition to the harmless variables. `timeoutMs` is the default timeout of a call (2 minutes), `longestMs` the
 * maximum timeout of a call (10 minutes), and `graceMs` the time between SIGTERM and SIGKILL (2 seconds). `maxOutput`
 * is the maximum output in bytes (30,000).
 */
export type RunCommandOptions = SandboxOptions & {
  env?: readonly string[];
  allowShell?: boolean;
  timeoutMs?: number;
  longestMs?: number;
  graceMs?: number;
  maxOutput?: number;
};

const limits = {
  timeoutMs: z.optional(z.int().check(z.minimum(1))),
  cwd: z.optional(z.string()),
  input: z.optional(z.string()),
};
const argv = z.array(z.string()).check(z.minLength(1));

type Call = { argv?: string[]; command?: string; timeoutMs?: number; cwd?: string; input?: string };

/**
 * Returns a tool that runs commands in the thread's directory or a folder in it. Without `sandbox`, a command has all
 * permissions of the user. The tool ends the command's process group at a timeout, with the thread, and when the
 * command exits. If bubblewrap is installed, all other processes that the command started end too.
 *
 * @throws WorkflowError `BAD_TOOL` for invalid sandbox options.
 */
export function runCommand(options: RunCommandOptions = {}): Tool {
  const { allowShell = false, longestMs = 600_000, graceMs = 2000 } = options;
  checkSandbox(options, "BAD_TOOL");
  const what = "in the working directory, or in the folder `cwd` in it, and returns the output";
  const how = allowShell
    ? "Give `argv`, the program and its arguments, or `command`, a shell command line."
    : "`argv` is the program and its arguments, without a shell.";
  return tool({
    name: "runCommand",
    description: `Runs a command ${what}. ${how}`,
    input: allowShell
      ? z.object({ argv: z.optional(argv), command: z.optional(z.string()), ...limits })
      : z.object({ argv, ...limits }),
    timeoutMs: longestMs + 2 * graceMs + 5000,
    execute: (call, execution) => run(call, { ...options, longestMs, graceMs }, execution),
  });
}

function argvOf(call: Call): string[] {
  if (call.command === undefined && call.argv) return call.argv;
  if (call.command !== undefined && !call.argv) return ["/bin/sh", "-c", call.command];
  throw argvOrCommand();
}

type Bounds = RunCommandOptions & { longestMs: number; graceMs: number };

async function run(call: Call, options: Bounds, execution: ToolExecution) {
  const { longestMs, graceMs, maxOutput = 30_000 } = options;
  const args = argvOf(call);
  const { path } = await confinedPath(execution.cwd, call.cwd ?? ".");
  const timeoutMs = Math.min(call.timeoutMs ?? options.timeoutMs ?? 120_000, longestMs);
  if (args[0] === "") throw noProgram();
  const env = allowed(execution.env, options.env ?? []);
  const kept = new HeadAndTail(maxOutput);
  const keep = (chunk: Uint8Array) => kept.add(chunk);
  const { by, exitCode, signal } = await runConfined(args, options, execution, {
    ...{ env, cwd: path, input: call.input, timeoutMs, graceMs },
    ...{ signal: execution.signal, onOutput: keep, onError: keep },
  });
  const text = maskOf(env)(kept.text()).trimEnd();
  if (by === "timeout") {
    throw commandTimeout(args[0] ?? "", timeoutMs, text);
  }
  const failed = exitCode === 0 ? "" : `[exit code ${exitCode}]`;
  const ending = signal === null ? failed : `[ended by ${signal}]`;
  const result = [text, ending].filter(Boolean).join("\n") || "[no output]";
  return { result, exitCode, signal };
}

/** Runs a command to its end, in a sandbox if the options require it. */
async function runConfined(
  [program = "", ...rest]: readonly string[],
  options: SandboxOptions,
  execution: ToolExecution,
  request: Omit<Parameters<typeof runChild>[0], "argv">,
): Promise<ChildEnd> {
  const { cwd: top, env: threadEnv, thread = null } = execution;
  const box = await sandboxed(options, {
    ...{ program, top, cwd: request.cwd, env: request.env, threadEnv, thread },
    ...{ home: "commands", warn: (message) => execution.warn(message) },
  });
  try {
    const own = box ? null : await ownProcesses();
    if (!box && !own) execution.warn(leavesRunning);
    return await runChild({
      ...{ ...request, argv: [...(box?.argv ?? [program]), ...rest], own },
      ...(box && { env: box.env, isSandbox: true, descriptors: box.descriptors() }),
    });
  } finally {
    await box?.end();
  }
}

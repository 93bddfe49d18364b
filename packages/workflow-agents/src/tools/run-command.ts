import { maskOf } from "@uncaged/workflow";
import * as z from "zod/mini";
import { type ChildEnd, runChild } from "../child/child.ts";
import { allowed } from "../child/child.ts";
import { HeadAndTail } from "../child/output.ts";
import { failure } from "../run/error.ts";
import { confinedPath, pathError } from "./path.ts";
import { type Tool, tool, type ToolExecution } from "./tools.ts";

/**
 * `env` names the variables that commands get besides those that hold no secret (`PATH`, `HOME`, …).
 * `allowShell` lets the model give a shell's command line instead of an argv array. `timeoutMs` (2
 * minutes) is for calls that name none, `longestMs` (10 minutes) the most that one may name; `graceMs`
 * (2 seconds) is the time between SIGTERM and SIGKILL. `maxOutput` is 30,000 bytes.
 */
export type RunCommandOptions = {
  env?: readonly string[];
  allowShell?: boolean;
  timeoutMs?: number;
  longestMs?: number;
  graceMs?: number;
  maxOutput?: number;
};

type Settings = Required<RunCommandOptions>;

const limits = {
  timeoutMs: z.optional(z.int().check(z.minimum(1))),
  cwd: z.optional(z.string()),
  input: z.optional(z.string()),
};
const argv = z.array(z.string()).check(z.minLength(1));

/**
 * A tool that runs commands, in the thread's directory or a folder in it. It is no cage: a command may
 * do whatever the user may. Its whole process group is ended at a timeout and with the thread, and
 * what it leaves running when it exits.
 */
export function runCommand(options: RunCommandOptions = {}): Tool {
  const settings: Settings = {
    env: options.env ?? [],
    allowShell: options.allowShell ?? false,
    timeoutMs: options.timeoutMs ?? 120_000,
    longestMs: options.longestMs ?? 600_000,
    graceMs: options.graceMs ?? 2000,
    maxOutput: options.maxOutput ?? 30_000,
  };
  const common = {
    name: "runCommand",
    timeoutMs: settings.longestMs + 2 * settings.graceMs + 5000,
  };
  const what = "in the working directory, or in the folder `cwd` in it, and gives its output";
  if (!settings.allowShell) {
    return tool({
      ...common,
      description: `Runs a command ${what}. \`argv\` is the program and its arguments: no shell reads them.`,
      input: z.object({ argv, ...limits }),
      execute: (call, runtime) => run(call.argv, call, settings, runtime),
    });
  }
  return tool({
    ...common,
    description: `Runs a command ${what}. Give \`argv\`, the program and its arguments, or \`command\`, a line for the shell.`,
    input: z.object({ argv: z.optional(argv), command: z.optional(z.string()), ...limits }),
    execute: (call, runtime) => run(argvOf(call), call, settings, runtime),
  });
}

function argvOf(call: { argv?: string[]; command?: string }): string[] {
  if (call.command === undefined && call.argv) return call.argv;
  if (call.command !== undefined && !call.argv) return ["/bin/sh", "-c", call.command];
  const message = "runCommand needs either argv or command";
  const hint = "give one of the two";
  throw failure("TOOL_INPUT", message, hint);
}

type Call = { timeoutMs?: number; cwd?: string; input?: string };

async function run(args: string[], call: Call, settings: Settings, runtime: ToolExecution) {
  const { path } = await confinedPath(runtime.cwd, call.cwd ?? ".");
  const timeoutMs = Math.min(call.timeoutMs ?? settings.timeoutMs, settings.longestMs);
  if (args[0] === "") throw pathError("COMMAND_MISSING", "", "is no command", "name a program");
  const env = allowed(runtime.env, settings.env);
  const kept = new HeadAndTail(settings.maxOutput);
  const keep = (chunk: Uint8Array) => kept.add(chunk);
  const end = await runChild({
    argv: args,
    cwd: path,
    env,
    input: call.input,
    signal: runtime.signal,
    timeoutMs,
    graceMs: settings.graceMs,
    onOutput: keep,
    onError: keep,
  });
  const text = maskOf(env)(kept.text()).trimEnd();
  const ending = endingOf(end, timeoutMs);
  if (end.by === "timeout") {
    const hint = `${text}\n[${ending}]`.trim();
    const message = `the command ${JSON.stringify(args[0])} was ended after ${timeoutMs} ms`;
    throw failure("COMMAND_TIMEOUT", message, hint);
  }
  const result = [text, ending && `[${ending}]`].filter(Boolean).join("\n") || "[no output]";
  return { result, exitCode: end.exitCode, signal: end.signal };
}

function endingOf({ by, exitCode, signal }: ChildEnd, timeoutMs: number): string {
  if (by === "timeout") return `ended after ${timeoutMs} ms: what it printed until then is above`;
  if (signal !== null) return `ended by ${signal}`;
  return exitCode === 0 ? "" : `exit code ${exitCode}`;
}

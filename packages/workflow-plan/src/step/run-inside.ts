import { type ChildEnd, runChild } from "@uncaged/workflow-agents/interpreter";
import { removeRunFolder, runFolder } from "@uncaged/workflow/sandbox";
import { mkdirSync } from "node:fs";
import { launchIn, type LaunchRequest } from "./launch.ts";
import type { CheckedSandbox } from "./view.ts";
import { noSandbox } from "./errors.ts";

const timeoutMs = 30_000;
const mostOutput = 1024 * 1024;

/** The result of a command in a sandbox: its end, its output, and the last line of its stderr. */
type Ran = { end: ChildEnd; output: string; problem: string };

/** Runs a command in a checked sandbox like a step, with a temporary home and working folder. */
export async function runInside(
  checked: CheckedSandbox,
  {
    args = [],
    command,
    env,
    files,
    set,
  }: Pick<LaunchRequest, "command" | "env" | "files" | "set"> & { args?: readonly string[] },
): Promise<Ran> {
  const run = runFolder(env, `test-${crypto.randomUUID()}`);
  mkdirSync(run, { recursive: true, mode: 0o700 });
  const launch = await launchIn(checked, {
    ...{ command, env, files, set, run, step: "test", ipc: null, programs: [] },
  });
  if (launch === null) throw noSandbox();
  let output = "";
  let complaint = "";
  try {
    const end = await runChild({
      ...{
        argv: [...launch.argv, ...args],
        cwd: "/",
        env: launch.env,
        descriptors: launch.descriptors(),
      },
      ...{ graceMs: 200, signal: launch.exceeded, onStarted: launch.onStarted, timeoutMs },
      onOutput(chunk) {
        output = `${output}${Buffer.from(chunk).toString()}`.slice(0, mostOutput);
      },
      onError(chunk) {
        complaint = `${complaint}${Buffer.from(chunk).toString()}`.slice(-2000);
      },
    });
    const how =
      end.by === "exit" ? `exit code ${end.exitCode}` : `ended after ${timeoutMs / 1000} s`;
    return { end, output, problem: complaint.trim().split("\n").at(-1) || how };
  } finally {
    await launch.end();
    removeRunFolder(run);
  }
}

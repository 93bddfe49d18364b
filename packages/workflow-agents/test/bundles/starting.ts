import { spawn } from "node:child_process";
import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import type { WorkflowFn } from "@uncaged/workflow";
import { runCommand, toolRegistry } from "../../src/entry/index.ts";
import { processesIn } from "../processes.ts";

/*
 * Starts processes that never exit, in each way that `params` lists. A second execution yields the surviving processes.
 */
export const descriptor = {
  description: "starts processes",
  roles: { starter: { description: "starts them", schema: {} } },
};

type Way = "tool" | "deaf" | "session" | "node" | "bun" | "given" | "free" | "daemon";

const tools = toolRegistry([runCommand({ graceMs: 60_000, longestMs: 60_000 })]);

// Starts two processes in a folder of their own. The test finds the processes by the folder.
const script = 'mkdir -p "$1.d"; cd "$1.d"; sleep 1000 & exec sleep 1000';
const deaf = `trap "" TERM; ${script}`;

export const run: WorkflowFn = async function* ({ params }, { cwd = "", env = {}, signal }) {
  const { ways, name, end } = params as { ways: Way[]; name: string; end?: boolean };
  const file = join(cwd, name);
  const quiet = { cwd, stdio: "ignore", detached: true } as const;
  const start: Record<Way, () => unknown> = {
    tool: () => shell(["sh", "-c", script, "sh", file]),
    deaf: () => shell(["sh", "-c", deaf, "sh", file]),
    session: () => shell(["sh", "-c", `setsid sh -c '${script}' sh "$1" & wait`, "sh", file]),
    node: () => spawn("sh", ["-c", script, "sh", file], { ...quiet, detached: false }),
    bun: () =>
      Bun.spawn(["sh", "-c", script, "sh", file], { cwd, stdio: ["ignore", "ignore", "ignore"] }),
    given: () => spawn("sh", ["-c", script, "sh", file], { ...quiet, env }),
    daemon: () => spawn("sh", ["-c", script, "sh", file], quiet).unref(),
    free: () => spawn("sh", ["-c", script, "sh", file], { ...quiet, env: { PATH: env.PATH } }),
  };
  const shell = (argv: string[]) => {
    const context = { cwd, env: env as Record<string, string>, signal: signal as AbortSignal };
    return tools.run("runCommand", { argv }, context);
  };
  if (existsSync(file)) {
    const running = processesIn(`${file}.d`);
    yield { role: "starter", content: JSON.stringify(running), meta: {} };
    return { returnCode: 0, summary: "" };
  }
  appendFileSync(file, "");
  for (const way of ways) void start[way]();
  if (end) return { returnCode: 0, summary: "" };
  return await new Promise<never>(() => undefined);
};

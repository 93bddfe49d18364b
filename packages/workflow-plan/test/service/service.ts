import { readFileSync } from "node:fs";
import { openLocalHost } from "@uncaged/workflow/host";
import { openPlans, runService, type ServiceEvent, tick } from "../../src/entry/service.ts";
import { crashAt } from "./crash.ts";

/*
 * The service of a plan home, or one pass, as a separate process. A file holds its current time. The process kills
 * itself with SIGKILL at a given point.
 */
type Task = {
  root: string;
  home: string;
  cwd: string;
  agentCommand: string;
  pass?: boolean;
  clock?: string;
  crash?: number;
  everyMs?: number;
};

const task = JSON.parse(process.argv[2] ?? "{}") as Task;
const { clock, crash, cwd, home, root } = task;
const now = () => (clock === undefined ? Date.now() : Number(readFileSync(clock, "utf8")));
const env = { ...process.env, PATH: process.env.PATH ?? "" } as Record<string, string>;
const host = crashAt(openLocalHost({ path: root }), crash);
const open = () =>
  openPlans({ home, host, env, cwd, now, runOptions: { agentCommand: task.agentCommand } });
const commandOf = async (_workflow: unknown, script: string) => ({
  ...{ argv: ["sh", "-c", script], cwd, env },
});
const put = (line: unknown) => process.stdout.write(`${JSON.stringify(line)}\n`);

if (task.pass) {
  const plans = open();
  put(await tick(plans, { commandOf, env, host, now }));
  plans.close();
  process.exit(0);
}

const stop = new AbortController();
process.on("SIGTERM", () => stop.abort());
const shown = (event: ServiceEvent) =>
  "error" in event ? { ...event, error: String(event.error) } : event;
await runService({
  ...{ commandOf, env, home, host, now, open, everyMs: task.everyMs },
  signal: stop.signal,
  report: (event) => put(shown(event)),
  onReady: () => put({ kind: "ready" }),
});
put({ kind: "over" });
process.exit(0);

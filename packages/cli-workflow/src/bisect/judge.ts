import { spawn } from "node:child_process";
import { once } from "node:events";
import { type Status, threadJson, type ThreadView } from "@uncaged/workflow/host";
import { hostVariable, rootVariable } from "@uncaged/workflow/internal";
import { jsonOf } from "../output/output.ts";
import { scriptFailed } from "./errors.ts";
import type { TestResult } from "./search.ts";

/** Judges the thread of a version in the storage root `root`. Returns null if `signal` was aborted meanwhile. */
export type Judge = (
  view: ThreadView,
  root: string,
  signal: AbortSignal,
) => Promise<TestResult | null>;

/** Returns a judge that calls a version good if its thread has the status. */
export const byStatus =
  (status: Status): Judge =>
  async (view) =>
    view.status === status ? "good" : "bad";

const skipCode = 125;

/**
 * Returns a judge that runs a shell command for each thread. Exit code 0 means good, 1 to 124 bad, 125 skip. The command
 * gets the thread as JSON on stdin, and the variables `BISECT_VERSION`, `BISECT_THREAD` and `BISECT_STATUS`. Its
 * environment names the temporary storage root instead of the caller's host. Its output goes to stderr.
 *
 * @throws WorkflowError `BISECT_SCRIPT_FAILED` for another exit code, or a signal.
 */
export const byScript =
  (script: string, cwd: string, env: Record<string, string>): Judge =>
  async (view, root, signal) => {
    const { [hostVariable]: _, ...rest } = env;
    const own = {
      BISECT_VERSION: view.hash,
      BISECT_THREAD: view.threadId,
      BISECT_STATUS: view.status,
      [rootVariable]: root,
    };
    const child = spawn("sh", ["-c", script], {
      cwd,
      env: { ...rest, ...own },
      stdio: ["pipe", 2, 2],
    });
    // A script need not read its input.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(`${jsonOf(threadJson(view))}\n`);
    const kill = () => child.kill();
    signal.addEventListener("abort", kill);
    const [code, endedBy] = (await once(child, "exit")) as [number | null, string | null];
    signal.removeEventListener("abort", kill);
    if (signal.aborted) return null;
    if (code === 0) return "good";
    if (code === skipCode) return "skip";
    if (code !== null && code < skipCode) return "bad";
    throw scriptFailed(
      script,
      endedBy === null ? `exited with ${code}` : `was ended by ${endedBy}`,
    );
  };

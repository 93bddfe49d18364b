import { join } from "node:path";
import {
  listThreads,
  listWorkers,
  listWorkflows,
  type Root,
  resolveWorkflow,
} from "@uncaged/workflow/host";
import { count } from "../output/text.ts";
import type { Problem } from "./doctor.ts";

/** Whether the registry can be read, and each name's bundle is there. */
export async function checkRegistry(root: Root): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const { name, hash } of await listWorkflows(root)) {
    try {
      await resolveWorkflow(root, name);
    } catch {
      problems.push({
        code: "BUNDLE_MISSING",
        message: `the bundle ${hash} of ${name} is gone`,
        hint: `add the same file again, or: uncaged-workflow rollback ${name}`,
      });
    }
  }
  return problems;
}

/** Threads that nobody drives on: they were interrupted, or their log is broken. */
export async function checkThreads(root: Root): Promise<Problem[]> {
  const limit = Number.POSITIVE_INFINITY;
  const rows = await listThreads(root, { status: ["interrupted", "corrupt"], limit });
  return rows.map(({ threadId, workflow, status, steps }) =>
    status === "interrupted"
      ? {
          code: "THREAD_INTERRUPTED",
          message: `the thread ${threadId} of ${workflow} was interrupted after ${count(steps, "step")}`,
          hint: `go on: uncaged-workflow resume ${threadId}`,
        }
      : {
          code: "LOG_CORRUPT",
          message: `the log of the thread ${threadId} is broken`,
          hint: "see where: uncaged-workflow verify",
        },
  );
}

/** Workers that do not answer, and sockets that dead ones have left. */
export async function checkWorkers(root: Root): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const { hash, state } of await listWorkers(root)) {
    if (state === "silent") {
      problems.push({
        code: "WORKER_SILENT",
        message: `the worker of ${hash} does not answer: a role may block it`,
        hint: "end it and take up its other threads: uncaged-workflow kill --force <id>",
      });
    }
    if (state === "gone") {
      problems.push({
        code: "SOCKET_STALE",
        message: `the worker of ${hash} is gone and has left its socket in ${join(root, "run")}`,
        hint: "it does no harm: the next worker takes its place, or delete it",
      });
    }
  }
  return problems;
}

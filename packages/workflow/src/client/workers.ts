import type { LiveThreads } from "../control/control.ts";
import type { WorkerState } from "../host/host.ts";
import type { Root } from "../storage/paths.ts";
import { ask } from "./connect.ts";
import { hashesWithSocket } from "./live.ts";

const answerTimeoutMs = 2_000;

/** The workers that have a control socket in this storage root. It changes nothing. */
export async function listWorkers(root: Root): Promise<WorkerState[]> {
  return await Promise.all(
    hashesWithSocket(root).map(async (hash) => ({ hash, state: await stateOf(root, hash) })),
  );
}

async function stateOf(root: Root, hash: string): Promise<WorkerState["state"]> {
  const request = { method: "GET", path: "/threads", timeoutMs: answerTimeoutMs } as const;
  const reply = await ask<LiveThreads>(root, hash, request).catch(() => null);
  if (reply?.kind === "reply") return "answers";
  return reply?.kind === "silent" ? "silent" : "gone";
}

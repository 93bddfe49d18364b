import type { EvalPlace } from "@uncaged/workflow-evals";
import type { Session } from "./session.ts";

/** Folder of the records of a call's evals: on this machine, also for a cluster, which is named without its secrets. */
export function evalPlace(session: Session): EvalPlace {
  const { clusterChosen: chosen } = session;
  if (chosen === null) return { root: session.host.root };
  const { hostname, port, protocol } = new URL(chosen.url);
  return { root: session.openRoot().root, cluster: `${protocol}//${hostname}:${port}` };
}

import type { EvalPlace } from "@uncaged/workflow-evals";
import type { Session } from "./session.ts";

/** Where the evals of a call are recorded: on this machine, also of a cluster, which is named without what is secret. */
export function evalPlace(session: Session): EvalPlace {
  const { clusterChosen: chosen } = session;
  if (chosen === null) return { root: session.host.root };
  const { hostname, port, protocol } = new URL(chosen.url);
  return { root: session.openRoot().root, cluster: `${protocol}//${hostname}:${port}` };
}

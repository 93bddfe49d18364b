import type { EvalPlace } from "@uncaged/workflow-evals";
import type { Session } from "./session.ts";

/**
 * Returns the folder for the records of a command's evals. The folder is on this machine, even for a cluster. Its name
 * then contains the cluster's URL without secrets.
 */
export function evalPlace(session: Session): EvalPlace {
  const { clusterChosen: chosen } = session;
  if (chosen === null) return { root: session.host.root };
  const { root } = session.openRoot();
  if (session.hostKind === "database") {
    const database = new URL(session.host.root);
    database.username = "";
    return { root, cluster: database.href };
  }
  const { hostname, port, protocol } = new URL(chosen.url);
  return { root, cluster: `${protocol}//${hostname}:${port}` };
}

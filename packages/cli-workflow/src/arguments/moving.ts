import { hostname } from "node:os";
import {
  type Copied,
  copyBundle,
  copyWorkflow,
  moveThread,
  type MovingHost,
  movingRoot,
} from "@uncaged/workflow/internal";
import { type Host, isWorkflowError } from "@uncaged/workflow/host";
import { openedCluster } from "../session/cluster.ts";
import { wrongUse } from "../session/errors.ts";
import type { Session } from "../session/session.ts";

type Side = { host: Host; moving: MovingHost };

/** The argument of `push` and `pull`: a thread, a name or a bundle. */
type Selected =
  | { kind: "workflow"; name: string }
  | { kind: "bundle"; hash: string }
  | { kind: "thread" };

/**
 * Moves a thread, or copies a workflow or a bundle, from the storage root to the cluster or database, or
 * back.
 *
 * @throws WorkflowError `BAD_OPTION` without a cluster or database, and the errors of `moveThread` and `copyWorkflow`.
 */
export async function moveBetween(
  session: Session,
  way: "push" | "pull",
  id: string,
  { force = false }: { force?: boolean },
): Promise<void> {
  const chosen = session.clusterChosen;
  if (!chosen) {
    const hint = "name it: --host restate://host:port or --host postgres://user@host/database";
    throw wrongUse(`${way} needs a cluster or a database`, hint);
  }
  const cluster = await openedCluster(chosen.url, session.env, session.clusterFolder);
  try {
    const local = session.openRoot();
    const here: Side = { host: local, moving: movingRoot(local.root, hostname()) };
    const there: Side = { host: cluster, moving: cluster.moving };
    const [from, to] = way === "push" ? [here, there] : [there, here];
    await moveOne(session, from, to, id, force);
  } finally {
    await cluster.close();
  }
}

async function moveOne(
  session: Session,
  from: Side,
  to: Side,
  id: string,
  force: boolean,
): Promise<void> {
  const selected = await select(from.host, id);
  if (selected.kind === "bundle") {
    const { hash } = selected;
    const copied = await copyBundle(from.moving, to.moving, hash);
    session.show(copied, () => `copied ${hash} to ${copied.to}\n`);
  } else if (selected.kind === "workflow") {
    const copied = await copyWorkflow(from.moving, to.moving, selected.name, { force });
    session.show(copied, () => copiedText(copied));
  } else {
    const ref = await from.host.find(id);
    let percent = 0;
    const spinner = session.spinner(() => [`moving ${ref.threadId} (${percent} %)`]);
    const onProgress = (done: number, all: number) => {
      percent = all === 0 ? 100 : Math.round((done / all) * 100);
    };
    const moved = await moveThread(from.moving, to.moving, ref, { onProgress }).finally(() =>
      spinner.stop(),
    );
    const { status } = await to.host.read(ref);
    session.show({ ...moved, status }, () => {
      const what = moved.moved ? "moved" : "had moved";
      return `${what} ${ref.threadId} to ${moved.to}; it is ${status} there\n`;
    });
  }
}

const copiedText = ({ name, hash, versions, unchanged, to }: Copied): string =>
  unchanged
    ? `${name} is at ${hash} on ${to} already\n`
    : `copied ${name} with ${versions} ${versions === 1 ? "version" : "versions"} to ${to}; it is at ${hash} there\n`;

/** Finds the thread, name or bundle of an argument. A name takes precedence over a hash, and a hash over a thread. */
async function select(host: Host, text: string): Promise<Selected> {
  try {
    const { name, hash } = await host.resolve(text);
    return name === text && hash !== text ? { kind: "workflow", name } : { kind: "bundle", hash };
  } catch (error) {
    if (isWorkflowError(error) && error.code === "WORKFLOW_NOT_FOUND") return { kind: "thread" };
    throw error;
  }
}

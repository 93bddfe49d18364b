import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { durationMs, hostVariable } from "@uncaged/workflow/internal";
import { badOption } from "../session/errors.ts";
import { ownProgram } from "../session/own-command.ts";
import type { Session } from "../session/session.ts";
import { cacheOf } from "./cache.ts";

/** Options of a worker of a PostgreSQL database. */
export type DatabaseWorkerOptions = {
  cache?: string;
  threads?: number;
  partition?: string;
  keep?: string;
};

const defaultThreads = 100;
/** The environment variable with the password of the database. Threads must not get the password. */
const passwordVariable = "PGPASSWORD";

/** Drives threads of a PostgreSQL database until SIGTERM or Ctrl-C. */
export async function runDatabaseWorker(
  session: Session,
  url: string,
  { cache: given, threads = defaultThreads, partition = "month", keep }: DatabaseWorkerOptions,
): Promise<void> {
  if (partition !== "day" && partition !== "month") {
    throw badOption("--partition", partition, "give day or month");
  }
  const keepMs = keep === undefined ? undefined : durationMs(keep);
  if (keepMs === null) throw badOption("--keep", keep ?? "", "give a duration such as 30d");
  const postgres = await import("@uncaged/workflow-postgres");
  const { planHome, workerEnv } = await import("@uncaged/workflow-plan/worker");
  const { env } = session;
  const { root } = session.openRoot();
  const signal = session.termination();
  const cache = given ?? cacheOf(env, `pid-${process.pid}`);
  mkdirSync(cache, { recursive: true, mode: 0o700 });
  // The steps of plans use the plan folders of this machine, even for threads that another machine started.
  const site = { planHome: planHome(root, env), planRoot: root, planProgram: ownProgram() };
  // A thread with the password could use the whole database.
  const { [hostVariable]: _, [passwordVariable]: __, ...threadEnv } = env;
  const report = (problem: string) =>
    session.json ? session.stream({ problem }) : session.note(problem);
  const worker = await postgres.servePostgresWorker({
    ...{ url, cache, threads, partition, isolate: true, report },
    ...(keepMs !== undefined && { keepMs }),
    env: { ...threadEnv, ...workerEnv(site) },
  });
  // Modules of a bundle read the `process.env` of this process.
  for (const name of [hostVariable, passwordVariable]) Reflect.deleteProperty(process.env, name);
  const host = postgres.shownUrl(postgres.readDatabaseUrl(url));
  session.show({ host, owner: worker.owner, pid: process.pid }, () => "");
  session.note(`a worker of ${host} drives up to ${threads} threads; Ctrl-C ends the worker`);
  if (!signal.aborted) await once(signal, "abort");
  session.note(
    "the worker accepts no more threads, and ends after it has released its running threads",
  );
  await worker.close();
}

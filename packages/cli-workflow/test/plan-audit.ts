import { Database } from "bun:sqlite";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/*
 * What has happened on a plan home, seen from outside: by triggers of the database itself, the logs of the threads and a
 * file of what the agents have done. None of the code under test takes part.
 */
type Change = { id: string; from: string; to: string };
type Line = {
  role?: string;
  meta?: Record<string, unknown>;
  parameters?: { options: Record<string, unknown> };
};
export type AuditedRun = { id: string; workflow_id: string; status: string; data: string | null };

/** The changes of a phase that the requirements have. */
const allowed: Record<string, string[]> = {
  planning: ["awaiting_confirmation"],
  awaiting_confirmation: ["active", "executing", "planning"],
  active: ["executing", "paused"],
  executing: ["active", "completed", "failed", "paused"],
  paused: ["active"],
  completed: [],
  failed: ["executing"],
};

export class PlanAudit {
  readonly #database: Database;
  readonly #root: string;

  /** From here on each change of a phase or of a run is written down. */
  constructor(root: string) {
    this.#root = root;
    this.#database = new Database(join(root, "plans/plans.db"));
    this.#database.run("PRAGMA busy_timeout = 10000");
    for (const statement of [
      "CREATE TABLE seen_phases (n INTEGER PRIMARY KEY, id TEXT, was TEXT, became TEXT)",
      "CREATE TABLE seen_runs (n INTEGER PRIMARY KEY, id TEXT, was TEXT, became TEXT)",
      "CREATE TABLE seen_unfinished (id TEXT, count INTEGER)",
      `CREATE TRIGGER see_phase AFTER UPDATE OF phase ON workflows WHEN old.phase <> new.phase
        BEGIN INSERT INTO seen_phases (id, was, became) VALUES (new.id, old.phase, new.phase); END`,
      `CREATE TRIGGER see_status AFTER UPDATE OF status ON workflow_runs WHEN old.status <> new.status
        BEGIN INSERT INTO seen_runs (id, was, became) VALUES (new.id, old.status, new.status); END`,
      `CREATE TRIGGER see_run AFTER INSERT ON workflow_runs
        BEGIN INSERT INTO seen_unfinished SELECT new.workflow_id, count(*) FROM workflow_runs
          WHERE workflow_id = new.workflow_id AND status = 'running'; END`,
    ])
      this.#database.run(statement);
  }

  /** Executes a statement, as somebody who reaches into the database. */
  run(statement: string, ...values: string[]): void {
    this.#database.run(statement, values);
  }

  #rows<Row>(statement: string, ...values: string[]): Row[] {
    return this.#database.query<Row, string[]>(statement).all(...values);
  }

  /** The phases that a plan has had, from the first change on. */
  phasesOf(id: string): string[] {
    const changes = this.#changes("seen_phases").filter((one) => one.id === id);
    return [...changes.slice(0, 1).map(({ from }) => from), ...changes.map(({ to }) => to)];
  }

  #changes(table: "seen_phases" | "seen_runs"): Change[] {
    return this.#rows(`SELECT id, was AS "from", became AS "to" FROM ${table} ORDER BY n`);
  }

  runs(): AuditedRun[] {
    return this.#rows(
      "SELECT id, workflow_id, status, trigger_data AS data FROM workflow_runs ORDER BY started_at, id",
    );
  }

  /** The records of a run's thread. */
  log(runId: string): Line[] {
    const [path = ""] = new Bun.Glob(`logs/*/${runId.slice(4)}.data.jsonl`).scanSync(this.#root);
    const lines = readFileSync(join(this.#root, path), "utf8").trimEnd().split("\n");
    return lines.map((line) => JSON.parse(line) as Line);
  }

  /** What is not as it must be; `calls` is the file in which each agent has written down its session. */
  violations(calls: string): string[] {
    return [...this.#phases(), ...this.#runs(), ...this.#threads(calls)];
  }

  #phases(): string[] {
    const last = new Map<string, string>();
    return this.#changes("seen_phases").flatMap(({ from, id, to }) => {
      const before = last.get(id) ?? from;
      last.set(id, to);
      const isAllowed = before === from && allowed[from]?.includes(to);
      return isAllowed ? [] : [`${id} was ${before}, and became ${to} from ${from}`];
    });
  }

  #runs(): string[] {
    const again = this.#changes("seen_runs").filter(({ from }) => from !== "running");
    const several = this.#rows<{ id: string }>("SELECT id FROM seen_unfinished WHERE count > 1");
    return [
      ...again.map(({ from, id, to }) => `${id} was ${from} and became ${to}`),
      ...several.map(({ id }) => `${id} had two unfinished runs at once`),
    ];
  }

  /** Each run has one thread, each thread one run; each step began as often as its agent was called. */
  #threads(calls: string): string[] {
    const runs = this.runs().map(({ id }) => id);
    const logs = [...new Bun.Glob("logs/*/*.data.jsonl").scanSync(this.#root)];
    const threads = logs.map((path) => `run_${/([0-9A-Z]{26})\.data/.exec(path)?.[1]}`);
    const sessions = threads.flatMap((id) => this.#sessions(id));
    const called = readFileSync(calls, "utf8").trimEnd().split("\n");
    return [
      ...runs.filter((id) => !threads.includes(id)).map((id) => `${id} has no thread`),
      ...threads.filter((id) => !runs.includes(id)).map((id) => `${id} has no row`),
      ...differing(called, sessions, "an agent was called without a record"),
      ...differing(sessions, called, "a step began without its agent"),
      ...threads.flatMap((id) => this.#log(id)),
    ];
  }

  #sessions(runId: string): string[] {
    const started = this.log(runId).filter(({ meta }) => meta?.event === "started");
    return started.map(({ meta }) => String(meta?.sdkSessionId));
  }

  #log(runId: string): string[] {
    const lines = this.log(runId);
    const starts = lines.filter(({ parameters }) => parameters).length;
    const ends = lines.filter(({ role }) => role === "__end__").length;
    const begun = lines.filter(({ meta }) => meta?.event === "started").map(({ role }) => role);
    return [
      ...(starts === 1 && ends === 1 ? [] : [`${runId} has ${starts} starts and ${ends} ends`]),
      ...(new Set(begun).size === begun.length ? [] : [`${runId} has run a step twice`]),
    ];
  }

  close(): void {
    this.#database.close();
  }
}

/** What stands in one list more often than in the other. */
function differing(some: string[], others: string[], what: string): string[] {
  const rest = [...others];
  return some.flatMap((one) => {
    const at = rest.indexOf(one);
    if (at < 0) return [`${what}: ${one}`];
    rest.splice(at, 1);
    return [];
  });
}

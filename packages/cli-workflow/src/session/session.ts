import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  findProject,
  type Host,
  type openLocalHost,
  isWorkflowError,
  type Project,
  WorkflowError,
  toErrorRecord,
} from "@uncaged/workflow/host";
import { hostVariable, rootVariable, withoutPasswords } from "@uncaged/workflow/internal";
import type { Command } from "commander";
import {
  jsonDocument,
  jsonOf,
  type Output,
  type Sink,
  type Spinner,
  startSpinner,
} from "../output/output.ts";
import { type Column, table } from "../output/table.ts";
import { type Look, type Paint, paintFor } from "../output/style.ts";

import { isKnownRoot, noteRoot } from "./known-root.ts";
import { wakeAside } from "./wake-aside.ts";
import { isDatabaseUrl, openedCluster } from "./cluster.ts";
import { isServerUrl, notOnServer, openedServer } from "./server.ts";
import { folderGone, notAddress, notOnCluster, wrongUse } from "./errors.ts";

/** The program's environment, given only by `main.ts`. */
export type World = {
  argv: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd(): string;
  output: Output;
  /** The umask for the user's own files. Files in the storage root are readable only by their owner. */
  umask: number;
  /** Returns a signal that Ctrl-C aborts. Before the first call, Ctrl-C ends the program. */
  interruption(): AbortSignal;
  /** Opens the host of a storage root. */
  openRoot: typeof openLocalHost;
};

/** The common options, each given before or after the command. */
export type CommonOptions = {
  json?: boolean;
  quiet?: boolean;
  root?: string;
  host?: string;
  color?: boolean;
};

/**
 * Support of a command for clusters: undefined for a command that runs on a cluster, "unused" for a command that uses
 * no host, or the reason for refusing a cluster.
 */
export type OnCluster = "unused" | { refused: string } | undefined;

/** The reason for refusing a server. Undefined if the command works on each host that `OnCluster` allows. */
export type OnServer = { refused: string } | undefined;

export type Load = (command: Command) => Promise<void>;

/** Commands that wake due threads themselves. */
const wakesItself = new Set(["wake", "serve"]);
/** Commands by which the user allows the threads of a storage root to run. */
const runsThreads = new Set(
  "run add dev resume retry fork rerun wake serve worker confirm".split(" "),
);

/** Returns the folder of the cluster that `cluster up` creates in a storage root. */
export const clusterFolderOf = ({ root }: Host): string => join(root, "cluster");

/** Commands that name both a storage root and a cluster. */
const usesBoth = new Set(["push", "pull"]);

/** The codes of errors about threads, workflows, versions and plans that were not found. */
const inRoot: ReadonlySet<string> = new Set([
  "THREAD_NOT_FOUND",
  "WORKFLOW_NOT_FOUND",
  "VERSION_NOT_FOUND",
  "EXECUTOR_ERROR",
]);

const kindOf = (url: string): "cluster" | "database" =>
  isDatabaseUrl(url) ? "database" : "cluster";

/** Returns the words that call a command, without the program's name. */
const wordsOf = (command: Command): string =>
  command.parent?.parent ? `${wordsOf(command.parent)} ${command.name()}` : command.name();

/** One call of a command: its environment, changed by its common options. */
export class Session {
  readonly #exact = new WeakSet<WorkflowError>();
  readonly json: boolean;
  readonly quiet: boolean;
  readonly output: Output;
  /** The parser's command, and a function that loads the other commands. */
  readonly called: { command: Command; load: Load };
  readonly #world: World;
  readonly #options: CommonOptions;
  #host: Host | null = null;
  /** The address of the cluster or server; null if the host is a storage root. */
  #cluster: string | null = null;
  #project: { found: Project | null } | { error: unknown } = { found: null };

  constructor(world: World, options: CommonOptions, called: Session["called"]) {
    this.called = called;
    this.#world = world;
    this.#options = options;
    this.output = world.output;
    this.json = options.json === true;
    this.quiet = options.quiet === true;
  }

  /** Returns the presentation of a stream. stdout may be a pipe while stderr is a terminal, and vice versa. */
  lookOf({ terminal, columns }: Sink): Look {
    const paint = paintFor(this.#options.color !== false, terminal, this.#world.env);
    return { paint, terminal, columns };
  }

  get look(): Look {
    return this.lookOf(this.output.results);
  }

  get paint(): Paint {
    return this.look.paint;
  }

  /** Searches for the project of the current folder. Its errors are thrown when a command uses the project. */
  async findProject(): Promise<void> {
    const { env } = this.#world;
    try {
      this.#project = { found: await findProject(this.cwd, env) };
    } catch (error) {
      const isGone = isWorkflowError(error) && error.code === "FOLDER_GONE";
      this.#project = isGone ? { found: null } : { error };
    }
  }

  /**
   * The project of the current folder, if any.
   * @throws WorkflowError the errors of `findProject`.
   */
  get project(): Project | null {
    if ("error" in this.#project) throw this.#project.error;
    return this.#project.found;
  }

  /**
   * The project whose storage root is the host; null if the command names the root.
   * @throws WorkflowError the errors of `findProject`.
   */
  get hostProject(): Project | null {
    const isNamed = this.#options.root !== undefined || this.#world.env[rootVariable];
    return isNamed ? null : this.project;
  }

  /**
   * URL of the chosen cluster or server, and the source of the choice; null if the host is a storage root. The command
   * line takes precedence over the environment, and the environment over the project.
   * @throws WorkflowError `BAD_OPTION` if the command line names both, or gives an address to `serve`.
   */
  get clusterChosen(): { url: string; by: string } | null {
    const { root, host } = this.#options;
    const { env } = this.#world;
    const isBoth = usesBoth.has(this.called.command.name());
    if (host !== undefined) {
      if (this.called.command.name() === "serve" && !host.includes("://")) throw notAddress(host);
      if (root === undefined || isBoth) return { url: host, by: "--host" };
      throw wrongUse(
        "--root and --host are both given",
        "threads are in a storage root or on a cluster: name one of them",
      );
    }
    if (root !== undefined && !isBoth) return null;
    const named = env[hostVariable];
    if (named) return { url: named, by: hostVariable };
    if ((env[rootVariable] && !isBoth) || "error" in this.#project) return null;
    const { found } = this.#project;
    return found?.host ? { url: found.host, by: `"host" in ${found.file}` } : null;
  }

  /**
   * Opens the command's cluster or server, if any, and checks that it answers.
   * @throws WorkflowError `NOT_ON_A_CLUSTER`, `NOT_ON_A_SERVER`, and the errors of `openedCluster` and `openedServer`.
   */
  async openHost(onCluster: OnCluster, onServer?: OnServer): Promise<void> {
    const chosen = onCluster === "unused" ? null : this.clusterChosen;
    if (chosen === null) return;
    if (isServerUrl(chosen.url)) {
      const refusal = onServer ?? onCluster;
      if (typeof refusal === "object") this.refuseServer(refusal.refused);
      this.#host = await openedServer(chosen.url, this.env, dirname(this.clusterFolder ?? "/"));
      this.#cluster = chosen.url;
      return;
    }
    if (typeof onCluster === "object") {
      const kind = kindOf(chosen.url);
      const why = { chosenBy: chosen.by, reason: onCluster.refused, kind };
      throw notOnCluster(wordsOf(this.called.command), why);
    }
    this.#host = await openedCluster(chosen.url, this.env, this.clusterFolder);
    this.#cluster = isDatabaseUrl(chosen.url) ? this.#host.root : withoutPasswords(chosen.url);
  }

  /** @throws WorkflowError `NOT_ON_A_SERVER` if the chosen host is a server. */
  refuseServer(reason: string): void {
    const { url, by } = this.clusterChosen ?? {};
    if (url === undefined || by === undefined || !isServerUrl(url)) return;
    throw notOnServer(wordsOf(this.called.command), { chosenBy: by, reason });
  }

  /** Closes the host's connections to a cluster. */
  async close(): Promise<void> {
    // This command may have created the project's storage root.
    if (this.#cluster === null && this.#host) this.#isUsers(this.#host.root);
    if (this.#cluster !== null) await this.#host?.close();
  }

  /** Name of the host for people: a storage root's path, or the URL of a cluster or server. */
  get hostName(): string {
    return this.#cluster ?? this.host.root;
  }

  /** The kind of the host, for people. */
  get hostKind(): "storage root" | "cluster" | "database" {
    const { url } = this.clusterChosen ?? {};
    return url === undefined ? "storage root" : kindOf(url);
  }

  /** The host of workflows and threads. A storage root is checked at its first use. */
  get host(): Host {
    const { root } = this.#options;
    if (root === "") throw wrongUse("--root must be the path of a folder, not empty");
    if (this.#host) return this.#host;
    this.#host = this.openRoot();
    const name = this.called.command.name();
    if (!wakesItself.has(name) && this.#isUsers(this.#host.root))
      wakeAside(this.#host.root, root, this.env);
    return this.#host;
  }

  /**
   * Tells whether due threads of a root may run without a request: the user has named the root, or has run threads in
   * it before.
   */
  #isUsers(root: string): boolean {
    const isNamed = this.#options.root !== undefined || this.#world.env[rootVariable];
    if (isNamed || this.hostProject?.root === undefined) return true;
    if (runsThreads.has(this.called.command.name())) noteRoot(root, this.env);
    return isKnownRoot(root, this.env);
  }

  /** Opens the host of the storage root, even if threads run on a cluster. */
  openRoot(): Host {
    const { env } = this.#world;
    const path = this.#options.root;
    return this.#world.openRoot({ path, env, project: this.hostProject });
  }

  /** The folder of the storage root's own cluster, used or not; null if the root is unknown. */
  get clusterFolder(): string | null {
    try {
      return clusterFolderOf(this.openRoot());
    } catch {
      // Errors of the project or the root are thrown when a command uses it.
      return null;
    }
  }

  /** Returns an error whose hint also applies if the storage root is missing. */
  exact(error: WorkflowError): WorkflowError {
    this.#exact.add(error);
    return error;
  }

  /** The path of a named storage root that does not exist, and may be mistyped; null otherwise. */
  get #missingRoot(): string | null {
    const isNamed = this.#options.root !== undefined || this.#world.env[rootVariable];
    const root = this.#cluster === null ? this.#host?.root : undefined;
    return isNamed && root !== undefined && !existsSync(root) ? root : null;
  }

  /**
   * Returns the error to report for a command. A not-found error in a missing storage root becomes an error about the
   * missing root.
   */
  explained(thrown: unknown): unknown {
    const root = this.#missingRoot;
    if (root === null || !isWorkflowError(thrown) || this.#exact.has(thrown)) return thrown;
    if (thrown.kind !== "missing" || !inRoot.has(thrown.code)) return thrown;
    const hint = `no storage root ${root} found: check ${this.#options.root === undefined ? rootVariable : "--root"}`;
    return new WorkflowError({ ...toErrorRecord(thrown), hint });
  }

  get env(): Record<string, string> {
    return { ...this.#world.env };
  }

  /**
   * The current folder of the command.
   * @throws WorkflowError `FOLDER_GONE`.
   */
  get cwd(): string {
    try {
      return this.#world.cwd();
    } catch {
      throw folderGone();
    }
  }

  /** A signal that Ctrl-C aborts. From the first call on, Ctrl-C no longer ends the program. */
  interruption(): AbortSignal {
    return this.#world.interruption();
  }

  /** Like {@link interruption}, but a service manager's signal aborts it too, with the reason `SIGTERM`. */
  termination(): AbortSignal {
    const terminated = new AbortController();
    process.once("SIGTERM", () => terminated.abort("SIGTERM"));
    return AbortSignal.any([this.interruption(), terminated.signal]);
  }

  /** Creates the user's own files, outside the storage root, with the user's umask. */
  withUsersUmask<T>(make: () => T): T {
    const ours = process.umask(this.#world.umask);
    try {
      return make();
    } finally {
      process.umask(ours);
    }
  }

  /** Shows a result: the document with `--json`, else the text for people. */
  show(document: unknown, forPeople: () => string): void {
    const { results } = this.output;
    results.write(this.json ? jsonDocument(document, results.terminal) : forPeople());
  }

  /** Shows a list: the rows with `--json`, the names with `--quiet`, else a table. */
  list<Row>(rows: Row[], nameOf: (row: Row) => string, columns: Column<Row>[]): void {
    const root = this.#missingRoot;
    if (root !== null) this.note(`the storage root ${root} does not exist yet`);
    this.show(rows, () => {
      if (this.quiet) return rows.map((row) => `${nameOf(row)}\n`).join("");
      return rows.length === 0 ? "" : table(columns, rows, this.look);
    });
  }

  stream(value: unknown): void {
    this.write(`${jsonOf(value)}\n`);
  }

  write(text: string): void {
    this.output.results.write(text);
  }

  spinner(lines: () => string[]): Spinner {
    return startSpinner(this.output.notes, this.json || this.#world.env.TERM === "dumb", lines);
  }

  /** Writes a note to stderr, apart from the results. Programs (`--json`, `--quiet`) get no notes. */
  note(text: string): void {
    if (!this.json && !this.quiet) this.output.notes.write(`${text}\n`);
  }
}

import { type Environment, findProject } from "@uncaged/workflow/host";
import { writeFileAtomic } from "@uncaged/workflow/internal";
import { createHash } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { projectFileName } from "../config/config.ts";
import type { Workflow } from "../plan/plan.ts";
import { agentFile } from "../step/agent-file.ts";
import { checkFiles, type Confirmed, digestOf, readConfirmed } from "../step/confirmed.ts";
import type { SandboxReport } from "../step/report.ts";
import { notConfirmedHere } from "../step/errors.ts";

/** Options of {@link Confirmations}. */
export type ConfirmationsOptions = {
  home: string;
  env: Environment;
  /** The default working directory of a plan's agents. */
  cwd: string;
  /** Options for every thread: `agentCommand`, `maxParallelSteps`. */
  runOptions?: Record<string, unknown>;
  /** The user's plan home, which contains the confirmations. Without it, confirmations are neither kept nor compared. */
  userHome?: string;
};

type Plan = Pick<Workflow, "id" | "metadata">;

/** Checks the sandbox of a plan's steps before the plan is confirmed. @throws ConfigError */
export type CheckSandbox = (workflow: Workflow) => Promise<Pick<SandboxReport, "mode">>;

/** The options for the thread of a confirmed plan's run. */
export type ConfirmedOptions = { planConfirmed: string; agentCommand?: string };

/**
 * The confirmations of a home's plans: the files in a plan's directory that control the host, and the agent, at the time
 * of the confirmation. Confirmations belong to the user, even for plans in a project's storage root.
 */
export class Confirmations {
  readonly #options: ConfirmationsOptions;
  readonly #folder: string;

  constructor(options: ConfirmationsOptions, userHome: string) {
    this.#options = options;
    const home = createHash("sha256").update(resolve(options.home)).digest("hex").slice(0, 16);
    this.#folder = join(userHome, "confirmed", home);
  }

  /**
   * Returns the confirmations of a home, or null if they are not kept, for example for plans that run on the workers of
   * a cluster.
   */
  static of(options: ConfirmationsOptions): Confirmations | null {
    return options.userHome === undefined ? null : new Confirmations(options, options.userHome);
  }

  /** Returns the current state of a plan to confirm. */
  async found(workflow: Plan): Promise<Omit<Confirmed, "bundle" | "sandbox">> {
    const { env } = this.#options;
    const cwd = this.#cwdOf(workflow);
    const command = this.#command;
    const files = await obeyedIn(cwd, env);
    return {
      ...{ workflowId: workflow.id, cwd, command },
      files: Object.fromEntries(files.map((path) => [path, digestOf(path)])),
      agent: command === null ? null : await agentFile(command, env),
    };
  }

  keep(confirmed: Confirmed): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const path = this.#pathOf(confirmed.workflowId);
    writeFileAtomic(path, `${JSON.stringify(confirmed, null, 2)}\n`);
  }

  remove(id: string): void {
    rmSync(this.#pathOf(id), { force: true });
  }

  /**
   * Returns the options of a run that starts or continues under its confirmation.
   * @throws ExecutorError if the plan was not confirmed here, or the files that control the host have changed since.
   */
  async checked(workflow: Plan): Promise<ConfirmedOptions> {
    const { id, metadata } = workflow;
    const planConfirmed = this.#pathOf(id);
    const confirmed = readConfirmed(planConfirmed);
    if (confirmed === null || confirmed.bundle !== metadata?.bundle?.hash)
      throw notConfirmedHere(id, this.#user);
    checkFiles(confirmed, this.#cwdOf(workflow));
    const { agent, command } = confirmed;
    const own = this.#command;
    // The user may have changed the command since: then find its program again.
    const at = own === command ? agent?.at : own && (await agentFile(own, this.#options.env))?.at;
    return { planConfirmed, ...(at && { agentCommand: at }) };
  }

  /** Returns the confirmation of a plan, or null. */
  kept(id: string): Confirmed | null {
    return readConfirmed(this.#pathOf(id));
  }

  /** Tells whether a confirmed plan's files or agent have changed since, or its sandbox is missing. */
  async isOutdated(workflow: Workflow, check?: CheckSandbox): Promise<boolean> {
    if (!workflow.metadata?.bundle) return false;
    try {
      await this.checked(workflow);
    } catch {
      return true;
    }
    const { agent } = await this.found(workflow);
    const kept = this.kept(workflow.id);
    if (agent?.sha256 !== kept?.agent?.sha256) return true;
    const hadSandbox = (kept?.sandbox ?? "off") !== "off";
    return hadSandbox && (await check?.(workflow))?.mode === "off";
  }

  get #user(): string {
    return dirname(dirname(this.#folder));
  }

  get #command(): string | null {
    const { agentCommand } = this.#options.runOptions ?? {};
    return typeof agentCommand === "string" ? agentCommand : null;
  }

  #cwdOf({ metadata }: Plan): string {
    return resolve(metadata?.cwd ?? this.#options.cwd);
  }

  #pathOf(id: string): string {
    return join(this.#folder, `${encodeURIComponent(id).slice(0, 200)}.json`);
  }
}

/** Returns the files in a directory that control the host for a thread, existing or not. */
async function obeyedIn(cwd: string, env: Environment): Promise<string[]> {
  const project = await findProject(cwd, env);
  const folders = [];
  for (let folder = cwd; ; folder = dirname(folder)) {
    folders.push(folder);
    if (folder === project?.folder || dirname(folder) === folder) break;
  }
  const makers = folders.flatMap((folder) => [
    join(folder, "uncaged.json"),
    join(folder, "package.json"),
  ]);
  const settings = new Set([cwd, project?.folder ?? cwd].map((one) => join(one, projectFileName)));
  return [...makers, ...settings, ...(project?.env ?? [])];
}

import { randomBytes } from "node:crypto";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { buildConsole } from "../../../../apps/web/test/built.ts";
import { programWords } from "../../../cli-workflow/test/command.ts";
import { until } from "../../../workflow/test/fixtures/until.ts";
import type { PlanMetadata, PlanStep, Workflow } from "../../src/entry/index.ts";
import { workflow } from "../home.ts";
import { plan } from "../parts.ts";
import { Canaries, canaryText, ownAddresses } from "./canaries.ts";
import { endAll } from "./end-all.ts";
import { digestsBelow, digestsOf, systemFiles } from "./digests.ts";
import { ownId, type User } from "./users.ts";

const top = join(import.meta.dir, "../../../..");

export type StepRow = {
  step_id: string;
  status: string;
  output_json: string | null;
  error: string | null;
};
export type PlanView = {
  id: string;
  phase: string;
  runs: { id: string; status: string; error: string | null; steps: StepRow[] }[];
};

/** The location of a cluster: its URLs and its ports. */
type Cluster = { host: string; ingress: number; admin: number; workers: number[] };

type Ended = { code: number; stdout: string; stderr: string };
type SpawnOptions = { cwd?: string; stdin?: string; env?: Record<string, string> };

/**
 * A user with keys, a login, a project and other secrets, on whose machine steps run. The user has a storage root, and
 * runs a process, a server, and servers that a step must not reach.
 */
export class Victim {
  readonly user: User;
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), "hostile-")));
  readonly home = join(this.folder, "home");
  readonly projects = join(this.home, "projects");
  /** The project. Steps may write to it and to its folder `data`; `fixed` is read-only. */
  readonly project: string;
  readonly root: string;
  readonly planHome: string;
  readonly agent = join(this.folder, "tools/node_modules/hostile-agent/agent.mjs");
  readonly canaries = new Canaries();
  /** A mark in the command lines of processes that must stay hidden, and of processes that must not survive. */
  readonly mark = `hostile-mark-${randomBytes(6).toString("hex")}`;
  /** The common prefix of the secrets in files. Only the test knows the second half of each secret. */
  readonly secret = `CANARY-${randomBytes(6).toString("hex")}`;
  readonly rest = randomBytes(8).toString("hex");
  readonly env: Record<string, string> = {};
  readonly #children: Bun.Subprocess[] = [];
  bystander = 0;
  #kept: string[] = [];
  #plans = 0;
  server = 0;
  /** An unconfirmed plan. */
  waiting = "";
  cluster: Cluster | null = null;

  constructor(user: User, rootIn: (victim: { home: string; project: string }) => string) {
    this.user = user;
    this.project = join(this.projects, "site");
    this.root = rootIn(this);
    this.planHome = join(this.root, "plans");
    // Another user must have access.
    chmodSync(tmpdir(), statSync(tmpdir()).mode | 0o011);
    chmodSync(this.folder, 0o755);
  }

  /** Creates the user's files, processes and servers. With `server`, also starts a server of the storage root. */
  async open(more: { server?: boolean; cluster?: Cluster } = {}): Promise<void> {
    this.#writeFiles();
    const abstract = `${this.mark}-abstract`;
    await this.canaries.open(abstract);
    for (const path of [
      this.unix,
      join(this.project, "service.sock"),
      join(this.fixed, "service.sock"),
    ])
      await this.canaries.openPath(path);
    Object.assign(this.env, {
      PATH: process.env.PATH ?? "",
      HOME: this.home,
      TMPDIR: join(this.folder, "tmp"),
      UNCAGED_WORKFLOW_STORAGE_ROOT: this.root,
      UNCAGED_WORKFLOW_IDLE_MS: "300",
      ANTHROPIC_BASE_URL: `http://${this.canaries.model}`,
      OTHER_TOKEN: `value-of-${this.rest}`,
      DATABASE_PASSWORD: `value-of-${this.rest}`,
      PRIVATE_SETTING: this.whole,
      MARK: this.mark,
    });
    this.#give(this.folder);
    const loop = ["/bin/sh", "-c", "while :; do sleep 1; done", "hostile-bystander"];
    this.bystander = this.#start(loop).pid;
    if (more.server) this.server = await this.#serve();
    this.cluster = more.cluster ?? null;
  }

  get whole(): string {
    return `${this.secret}-${this.rest}`;
  }

  get unix(): string {
    return join(this.home, "agent.sock");
  }

  get fixed(): string {
    return join(this.projects, "fixed");
  }

  get data(): string {
    return join(this.projects, "data");
  }

  #writeFiles(): void {
    const own = (path: string, text = `${this.whole}\n`, mode = 0o600) => {
      const whole = join(this.home, path);
      mkdirSync(join(whole, ".."), { recursive: true, mode: 0o700 });
      writeFileSync(whole, text, { mode });
    };
    for (const path of [
      ...[".ssh/id_rsa", ".netrc", ".aws/credentials", ".bash_history", "private/kept"],
      ...[".bashrc", ".gnupg/key"],
    ])
      own(path);
    const login = { claudeAiOauth: { accessToken: "login-of-the-user", expiresAt: 4e12 } };
    own(".claude/.credentials.json", JSON.stringify(login));
    own("projects/fixed/kept", "kept\n");
    own("projects/data/kept", "kept\n");
    this.newProject(this.project);
    Bun.spawnSync(["git", "init", "-q", this.data]);
    mkdirSync(join(this.folder, "tmp"));
    mkdirSync(this.planHome, { recursive: true, mode: 0o700 });
    const put = (name: string, value: object) =>
      writeFileSync(join(this.planHome, name), JSON.stringify(value), { mode: 0o600 });
    put("secrets.json", { A_TOKEN: `of-a-${this.rest}`, STORED_TOKEN: this.whole });
    put("mount-allowlist.json", {
      allowedRoots: [
        { path: this.fixed, allowReadWrite: false },
        { path: this.projects, allowReadWrite: true },
      ],
      blockedPatterns: [".ssh", ".gnupg", ".aws"],
      nonMainReadOnly: false,
    });
    cpSync(join(import.meta.dir, "agent"), join(this.agent, ".."), { recursive: true });
  }

  /** Creates a project with a repository, settings and variables, which a step may write. */
  newProject(path: string): string {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    writeFileSync(join(path, "uncaged.json"), "{}\n");
    writeFileSync(join(path, "uncaged.plans.yaml"), "max_parallel_steps: 4\n");
    writeFileSync(join(path, ".env"), "SETTING=1\n");
    writeFileSync(join(path, "readme"), "a project\n");
    Bun.spawnSync(["git", "init", "-q", "-b", "main", path]);
    this.#give(path);
    return path;
  }

  #give(path: string): void {
    if (this.user.id !== ownId)
      Bun.spawnSync(["chown", "-Rh", `${this.user.id}:${this.user.id}`, path]);
  }

  #start(words: string[], { cwd = this.home, env = {}, stdin = "" }: SpawnOptions = {}) {
    const child = Bun.spawn([...this.user.words, ...words], {
      cwd,
      env: { ...this.env, ...env },
      stdin: new TextEncoder().encode(stdin),
      stdout: "pipe",
      stderr: "pipe",
    });
    this.#children.push(child);
    return child;
  }

  /** Runs any program as the user. */
  async does(words: string[], options: SpawnOptions = {}): Promise<Ended> {
    const child = this.#start(words, options);
    const [code, stdout, stderr] = await Promise.all([
      child.exited,
      child.stdout.text(),
      child.stderr.text(),
    ]);
    return { code, stdout, stderr };
  }

  /** Runs the command line as the user. */
  run(words: string[], options: SpawnOptions = {}): Promise<Ended> {
    return this.does([...programWords, ...words], options);
  }

  async json<T>(words: string[], options: SpawnOptions = {}): Promise<T> {
    const { code, stderr, stdout } = await this.run([...words, "--json"], options);
    if (stdout === "") throw new Error(`${words.join(" ")}: ${code} ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  async #serve(): Promise<number> {
    if (this.user.id !== ownId) {
      // Another user can read the console, but cannot build it.
      await buildConsole();
      Bun.spawnSync(["chmod", "-R", "a+rX", join(top, "apps/web/dist")]);
    }
    const child = this.#start([...programWords, "serve", "--port", "0", "--json"]);
    const { value } = await child.stdout.getReader().read();
    const { error, port } = JSON.parse(new TextDecoder().decode(value)) as {
      error?: { message: string };
      port: number;
    };
    if (error) throw new Error(error.message);
    return port;
  }

  /** Returns the targets of attempts. */
  targets(step: string, more: object = {}): object {
    const { canaries, cluster, home, mark, planHome, project, root, secret, server } = this;
    const addresses = ownAddresses();
    const logs = this.#logs();
    return {
      ...{ step, home, root, planHome, project, mark, secret, server, addresses },
      ...{ port: canaries.port, udp: canaries.udp, model: canaries.model, canary: canaryText },
      ...{ ingress: cluster?.ingress ?? null, admin: cluster?.admin ?? null },
      ...{ clusterHost: cluster?.host ?? null, workers: cluster?.workers ?? [] },
      ...{ unix: this.unix, abstract: `${mark}-abstract`, pid: this.bystander },
      ...{ hostname: hostname(), log: logs[0] ?? `${root}/logs`, waiting: this.waiting },
      most: { processes: 2000, memory: 1.4 * 1024 ** 3, disk: 20 * 1024 ** 3 },
      ...more,
    };
  }

  #logs(): string[] {
    const all = readdirSync(this.root, { recursive: true, encoding: "utf8" });
    return all
      .filter((name) => /logs\/.*\.data\.jsonl$/.test(name))
      .map((name) => join(this.root, name));
  }

  /** Returns a step whose agent tries the given attempts. */
  step(id: string, attempts: string[], more: object = {}): PlanStep {
    const { onRetry = false, ...targets } = more as { onRetry?: boolean };
    const task = { attempts, onRetry, targets: this.targets(id, targets) };
    const description = JSON.stringify(task);
    return { id, description, agent: "claude", inputs: {}, depends_on: [] };
  }

  /** Stores plans in the sandbox, and returns their ids. */
  async create(
    plans: { steps: PlanStep[]; cwd?: string; metadata?: PlanMetadata; retries?: number }[],
  ): Promise<string[]> {
    const additionalMounts = [
      { hostPath: this.data, containerPath: "/workspace/mounts/data", readonly: false },
      { hostPath: this.fixed, containerPath: "/workspace/mounts/fixed" },
    ];
    const workflows: Workflow[] = plans.map(
      ({ cwd = this.project, metadata, retries = 0, steps }) =>
        workflow(plan(steps, { max_retries: retries }), {
          // Each plan has a different name, so that concurrent confirmations don't build for the same name.
          name: `plan ${(this.#plans += 1)}`,
          metadata: {
            ...{ cwd, sandbox: "bubblewrap", ...metadata },
            container: { additionalMounts, ...metadata?.container },
          },
        }),
    );
    const task = { root: this.root, home: this.planHome, cwd: this.project, workflows };
    const program = join(import.meta.dir, "create.ts");
    const stdin = JSON.stringify(task);
    const { stderr, stdout } = await this.does([process.execPath, program], { stdin });
    if (stdout === "") throw new Error(stderr);
    return JSON.parse(stdout) as string[];
  }

  /** Confirms a plan and waits for the end of its run. */
  async ran(id: string, longestMs?: number): Promise<PlanView> {
    const confirmed = await this.run(["plan", "confirm", id, "--agent", this.agent]);
    if (confirmed.code !== 0) throw new Error(`plan confirm: ${confirmed.stderr}`);
    return await this.ended(id, longestMs);
  }

  /**
   * Waits for the end of a plan's run.
   * @throws after `longestMs` milliseconds.
   */
  async ended(id: string, longestMs = 240_000): Promise<PlanView> {
    const isOver = ({ status }: { status: string }) => /^(completed|failed)$/.test(status);
    for (const late = Date.now() + longestMs; ; ) {
      const view = await this.json<PlanView>(["plan", "show", id]);
      if (view.runs.length > 0 && view.runs.every(isOver)) return view;
      if (Date.now() > late) {
        const states = view.runs.flatMap(({ steps }) =>
          steps.map(({ status, step_id }) => `${step_id} ${status}`),
        );
        throw new Error(`${id} does not end: ${states.join(", ")}`);
      }
      // The command costs more processor time than reading the log.
      const look = Math.min(late, Date.now() + 10_000);
      do await Bun.sleep(100);
      while (Date.now() < look && !view.runs.every((run) => this.#hasEnded(run)));
    }
  }

  /** Whether the log of a run has its end record. */
  #hasEnded({ id }: { id: string }): boolean {
    const name = `${id.replace(/^run_/, "")}.data.jsonl`;
    const log = this.#logs().find((path) => path.endsWith(name));
    return log !== undefined && readFileSync(log, "utf8").includes('{"role":"__end__"');
  }

  /** Returns the records of a run. */
  async records(view: PlanView) {
    const thread = view.runs[0]?.id.replace(/^run_/, "") ?? "";
    const { steps } = await this.json<{
      steps: { role: string; content: string; meta: Record<string, unknown> }[];
    }>(["thread", thread]);
    return steps;
  }

  /** Adds the logs of the existing threads to the files that must not change. */
  keepLogs(): void {
    this.#kept = this.#logs();
  }

  /** Returns digests of the files that must not change, by path or name. */
  kept(): Record<string, string> {
    // Bun keeps its compiled code in its own folder.
    const open = [join(this.home, ".cache"), join(this.home, ".bun"), this.root];
    const isOpen = (path: string) =>
      open.includes(path) || (path.startsWith(`${this.projects}/`) && !path.startsWith(this.fixed));
    const settings = ["secrets.json", "mount-allowlist.json", "config.yaml"];
    return {
      ...digestsBelow(this.home, isOpen),
      ...digestsBelow(join(this.agent, "..")),
      ...digestsOf([...settings.map((name) => join(this.planHome, name)), ...this.#kept]),
      ...digestsOf(systemFiles),
    };
  }

  /** Returns the living processes of the steps, by their command lines. */
  left(): string[] {
    return readdirSync("/proc").flatMap((id) => {
      if (!/^\d+$/.test(id) || Number(id) === this.bystander) return [];
      try {
        const line = readFileSync(`/proc/${id}/cmdline`, "utf8").replaceAll("\0", " ");
        const isOurs = line.includes(this.mark) || line.includes("hostile-agent/agent.mjs");
        return isOurs && !line.includes("plan confirm") ? [line.slice(0, 200)] : [];
      } catch {
        return [];
      }
    });
  }

  /** Returns the files of the storage root and the cache that contain the hidden part of a secret. */
  leaks(): string[] {
    const { stdout } = Bun.spawnSync([
      "grep",
      "-rlsF",
      "--",
      this.rest,
      this.root,
      join(this.home, ".cache"),
    ]);
    return stdout
      .toString()
      .split("\n")
      .filter((path) => path !== "" && !path.endsWith("/secrets.json"));
  }

  async close(): Promise<void> {
    for (const child of this.#children) {
      child.kill("SIGKILL");
      await child.exited;
    }
    await until(() => endAll(this.mark));
    this.canaries.close();
    Bun.spawnSync(["chmod", "-R", "u+rwX", this.folder]);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

import { randomBytes } from "node:crypto";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { programWords } from "../../../cli-workflow/test/command.ts";
import { until } from "../../../workflow/test/fixtures/until.ts";
import { endAll } from "../hostile/end-all.ts";
import type { User } from "../hostile/users.ts";
import type { PlanView } from "../hostile/victim.ts";
import { workflow } from "../home.ts";
import { plan, step } from "../parts.ts";

type Ended = { code: number; stdout: string; stderr: string };
type Variables = Record<string, string>;

/** The scripts of a plan's steps by id, and the variables of their agent. */
type Task = { agent: string; steps: Variables; env?: Variables; retries?: number };

/**
 * The outcome of a plan: its confirmation text, the outputs or errors of its steps by id, and the records of its run.
 */
type Outcome = {
  shown: string;
  outputs: Record<string, string>;
  records: { role: string; content: string; meta: Record<string, unknown> }[];
};

/** A user with a home directory, a project and a storage root, who runs plans in the sandbox by the command line. */
export class Person {
  readonly user: User;
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), "person-")));
  readonly home = join(this.folder, "home");
  readonly project = join(this.home, "projects/site");
  readonly planHome = join(this.home, ".uncaged/workflow/plans");
  readonly env: Variables;
  readonly #mark = `person-${randomBytes(6).toString("hex")}`;

  constructor(user: User) {
    this.user = user;
    chmodSync(tmpdir(), statSync(tmpdir()).mode | 0o011);
    chmodSync(this.folder, 0o755);
    for (const path of [this.project, this.planHome]) mkdirSync(path, { recursive: true });
    chmodSync(this.planHome, 0o700);
    const allowedRoots = [{ path: join(this.home, "projects"), allowReadWrite: true }];
    const allowlist = { allowedRoots, blockedPatterns: [".ssh"], nonMainReadOnly: false };
    this.write(".uncaged/workflow/plans/mount-allowlist.json", JSON.stringify(allowlist));
    this.env = {
      ...{ PATH: `${join(this.home, ".local/bin")}:${process.env.PATH}`, HOME: this.home },
      ...{ UNCAGED_WORKFLOW_IDLE_MS: "300", MARK: this.#mark },
    };
    this.own();
  }

  /** Writes a file below the home directory, and returns its path. */
  write(path: string, text: string | Uint8Array, mode = 0o600): string {
    const whole = join(this.home, path);
    mkdirSync(dirname(whole), { recursive: true, mode: 0o755 });
    writeFileSync(whole, text, { mode });
    return whole;
  }

  /** Makes a link below the home directory, and returns its path. */
  link(path: string, target: string): string {
    const whole = join(this.home, path);
    mkdirSync(dirname(whole), { recursive: true, mode: 0o755 });
    symlinkSync(target, whole);
    return whole;
  }

  /** Makes the user the owner of the files written so far. */
  own(): void {
    const { id } = this.user;
    if (id !== process.getuid?.()) Bun.spawnSync(["chown", "-Rh", `${id}:${id}`, this.folder]);
  }

  /** Sets the addresses that steps may reach in addition to public addresses. */
  allow(addresses: readonly string[]): void {
    const settings = { sandbox: { network: { allow: addresses } } };
    this.write(".uncaged/workflow/plans/config.yaml", JSON.stringify(settings));
    this.own();
  }

  /** Runs a program as the user. */
  async does(words: string[], { env = {}, stdin = "" }: { env?: Variables; stdin?: string } = {}) {
    const child = Bun.spawn([...this.user.words, ...words], {
      ...{
        cwd: this.project,
        env: { ...this.env, ...env },
        stdin: new TextEncoder().encode(stdin),
      },
      ...{ stdout: "pipe", stderr: "pipe" },
    });
    const [code, stdout, stderr] = await Promise.all([
      child.exited,
      child.stdout.text(),
      child.stderr.text(),
    ]);
    return { code, stdout, stderr } satisfies Ended;
  }

  /** Runs the command line as the user. */
  run(words: string[], env: Variables = {}): Promise<Ended> {
    return this.does([...programWords, ...words], { env });
  }

  async #json<T>(words: string[]): Promise<T> {
    const { code, stderr, stdout } = await this.run([...words, "--json"]);
    if (stdout === "") throw new Error(`${words.join(" ")}: ${code} ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  /** Stores a plan, shows it and confirms it. */
  async confirm(task: Task): Promise<Ended & { id: string; shown: string }> {
    const { agent, env, retries = 0, steps } = task;
    const all = Object.entries(steps).map(([id, description]) => step(id, [], { description }));
    const metadata = { cwd: this.project, sandbox: "bubblewrap" } as const;
    const workflows = [workflow(plan(all, { max_retries: retries }), { metadata })];
    const root = dirname(this.planHome);
    const stdin = JSON.stringify({ root, home: this.planHome, cwd: this.project, workflows });
    const program = join(import.meta.dir, "../hostile/create.ts");
    const made = await this.does([process.execPath, program], { stdin });
    if (made.stdout === "") throw new Error(made.stderr);
    const [id = ""] = JSON.parse(made.stdout) as string[];
    const look = await this.run(["plan", "show", id], {
      ...env,
      UNCAGED_PLAN_AGENT_COMMAND: agent,
    });
    const confirmed = await this.run(["plan", "confirm", id, "--agent", agent], env);
    return { id, shown: look.stdout, ...confirmed };
  }

  /** Confirms a plan and waits for the end of its run. */
  async ran(task: Task): Promise<Outcome> {
    const { code, id, shown, stderr } = await this.confirm(task);
    if (code !== 0) throw new Error(`plan confirm: ${stderr}`);
    let view = await this.#json<PlanView>(["plan", "show", id]);
    const isOver = () => view.runs.some(({ status }) => /^(completed|failed)$/.test(status));
    for (const late = Date.now() + 240_000; !isOver(); await Bun.sleep(250)) {
      if (Date.now() > late) throw new Error(`${id} does not end: ${JSON.stringify(view.runs)}`);
      view = await this.#json<PlanView>(["plan", "show", id]);
    }
    const [run] = view.runs;
    const thread = run?.id.replace(/^run_/, "") ?? "";
    const { steps: records } = await this.#json<{ steps: Outcome["records"] }>(["thread", thread]);
    const isEnd = ({ meta }: Outcome["records"][number]) =>
      meta.event === "succeeded" || meta.event === "failed";
    const outputs = records.filter(isEnd).map(({ content, role }) => [role, content]);
    return { shown, outputs: Object.fromEntries(outputs), records };
  }

  async close(): Promise<void> {
    await until(() => endAll(this.#mark));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

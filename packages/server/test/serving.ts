import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { openLocalHost, type Status } from "@uncaged/workflow/host";
import { command } from "../../cli-workflow/test/command.ts";
import { openRoot } from "../../workflow/src/disk/root.ts";
import { asker, bundleOf, counter, endless } from "../../workflow/test/fixtures/bundles.ts";
import { signalWorkers } from "../../workflow/test/fixtures/store.ts";
import type { StartedThread, Thread } from "../src/entry/api-types.ts";
import { until } from "../../workflow/test/fixtures/until.ts";

/** Publishes what it does in each step, as a model would. */
const talker = `import { channel } from "node:diagnostics_channel";
${bundleOf(`
  const publish = (type, payload) => channel("uncaged.workflow").publish({ type, stepID: "talk", payload });
  for (let n = input.steps.length; n < (options.count ?? 3); n += 1) {
    publish("step_start", { n });
    for (let k = 0; k < 5; k += 1) publish("step_print", { text: n + "." + k });
    if (options.delayMs) await sleep(options.delayMs);
    yield step("talk", String(n).repeat(options.size ?? 1), { n });
  }
`)}`;

const bundles = { counter, asker, endless, talker };

/** The bundles that a server may be started with. */
export type BundleName = keyof typeof bundles;

const made: Serving[] = [];

/** Ends the servers and the workers of all that was made, and removes their folders. */
export async function stopServing(): Promise<void> {
  await Promise.all(made.splice(0).map((serving) => serving.remove()));
}

type Asked<T> = { status: number; body: T };

type Running = { child: Bun.Subprocess<"ignore", "pipe", "pipe">; port: number; token: string };

/** A storage root of a test's own with the bundles above, and a server process for it. */
export class Serving {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), "uw-server-")));
  readonly path = join(this.folder, "root");
  readonly root = openLocalHost({ path: this.path }).root;
  /** What the server's environment has beside that which it needs. */
  more: Record<string, string> = {};
  /** What the server is started with beside its port. */
  readonly flags: string[] = [];
  #running: Running | null = null;

  /** A storage root with a server, and the named bundles registered by it. */
  static async start(...names: BundleName[]): Promise<Serving> {
    return await Serving.startWith({}, ...names);
  }

  /** As {@link start}, with more in the server's environment. */
  static async startWith(more: Record<string, string>, ...names: BundleName[]): Promise<Serving> {
    const serving = new Serving();
    serving.more = more;
    await serving.begin(...names);
    return serving;
  }

  /** Starts the server of a storage root that was only made, and registers the named bundles. */
  async begin(...names: BundleName[]): Promise<void> {
    made.push(this);
    await this.serve();
    for (const name of names) await this.add(name, bundles[name]);
  }

  get env(): Record<string, string> {
    return {
      PATH: process.env.PATH ?? "",
      HOME: join(this.folder, "home"),
      UNCAGED_WORKFLOW_STORAGE_ROOT: this.path,
      UNCAGED_WORKFLOW_IDLE_MS: "300",
      ...this.more,
    };
  }

  get port(): number {
    return this.#now.port;
  }

  get token(): string {
    return this.#now.token;
  }

  get pid(): number {
    return this.#now.child.pid;
  }

  get #now(): Running {
    if (!this.#running) throw new Error("no server runs");
    return this.#running;
  }

  /** Starts a command line as a process. */
  spawn(...args: string[]): Bun.Subprocess<"ignore", "pipe", "pipe"> {
    return this.spawnIn({}, ...args);
  }

  /** The same, with more in its environment. */
  spawnIn(env: Record<string, string>, ...args: string[]) {
    return Bun.spawn([command, ...args], {
      cwd: this.folder,
      env: { ...this.env, ...env },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    } as const);
  }

  /** Starts the server; on the same port when it ran before. */
  async serve(port = 0): Promise<void> {
    const child = this.spawn("serve", "--port", String(port), "--json", ...this.flags);
    const { value } = await child.stdout.getReader().read();
    const text = new TextDecoder().decode(value);
    if (text === "") throw new Error(await new Response(child.stderr).text());
    const { port: taken, token } = JSON.parse(text) as { port: number; token: string };
    this.#running = { child, port: taken, token };
  }

  /** Ends the server's process, and gives its exit code. */
  async stop(signal: NodeJS.Signals = "SIGINT"): Promise<number> {
    const { child } = this.#now;
    child.kill(signal);
    const code = await child.exited;
    this.#running = null;
    return code;
  }

  /** Sends a request with the token. */
  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    if (!headers.has("Authorization")) headers.set("Authorization", `Bearer ${this.token}`);
    return fetch(`http://127.0.0.1:${this.port}${path}`, { ...init, headers });
  }

  /** Sends JSON, or asks with GET when there is nothing to send, and gives status and answer. */
  async ask<T>(path: string, send?: unknown, method?: string): Promise<Asked<T>> {
    const sends = send !== undefined;
    const response = await this.fetch(path, {
      method: method ?? (sends ? "POST" : "GET"),
      ...(sends && {
        body: JSON.stringify(send),
        headers: { "Content-Type": "application/json" },
      }),
    });
    return { status: response.status, body: (await response.json()) as T };
  }

  /** What {@link ask} gives, when all was well. */
  async ok<T>(path: string, send?: unknown, method?: string): Promise<T> {
    const { status, body } = await this.ask<T>(path, send, method);
    if (status >= 300) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
    return body;
  }

  /** Registers a text as a workflow. */
  async add(name: string, text: string, file = `${name}.esm.js`): Promise<Response> {
    return await this.fetch(`/api/workflows/${name}?file=${file}`, {
      method: "POST",
      body: text,
      headers: { "Content-Type": "application/octet-stream" },
    });
  }

  /** Starts a thread and gives its id. */
  async run(workflow: string, options: Record<string, unknown> = {}): Promise<string> {
    const started = await this.ok<StartedThread>("/api/threads", {
      workflow,
      options,
      maxRounds: 1_000_000,
    });
    return started.threadId;
  }

  /** Waits until a thread has the status, and at least so many steps. */
  async until(id: string, status: Status, steps = 0): Promise<Thread> {
    const read = () => this.ok<Thread>(`/api/threads/${id}`);
    let thread = await read();
    await until(
      async () => (thread = await read()).status === status && thread.stepCount >= steps,
      () => `the thread ${id} is ${thread.status} and never was ${status}`,
    );
    return thread;
  }

  /** A thread's log as it lies on the disk. */
  logOf({ hash, threadId }: { hash: string; threadId: string }): string {
    return readFileSync(join(this.path, "logs", hash, `${threadId}.data.jsonl`), "utf8");
  }

  write(name: string, text: string): string {
    const path = join(this.folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  /** Ends the workers as a crash would. */
  async killWorkers(): Promise<void> {
    if (!existsSync(join(this.path, "run"))) return;
    await signalWorkers(openRoot({ path: this.path }), "SIGKILL");
  }

  /** Ends the server and the workers, and removes the folder. */
  async remove(): Promise<void> {
    if (this.#running) await this.stop("SIGKILL");
    await this.killWorkers();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

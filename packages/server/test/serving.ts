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
import {
  type Host,
  Memory,
  memoryStore,
  openLocalHost,
  openStoreHost,
  type Status,
} from "@uncaged/workflow/host";
import { command } from "../../cli-workflow/test/command.ts";
import { openRoot } from "../../workflow/src/disk/root.ts";
import { asker, bundleOf, counter, endless } from "../../workflow/test/fixtures/bundles.ts";
import { signalWorkers } from "../../workflow/test/fixtures/store.ts";
import type { StartedThread, Thread } from "../src/entry/api-types.ts";
import { type RunningServer, type ServerOptions, startServer } from "../src/entry/index.ts";
import { until } from "../../workflow/test/fixtures/until.ts";

/** A workflow that publishes events in each step, like a model. */
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

/** The bundles that a server can start with. */
export type BundleName = keyof typeof bundles;

const made: Serving[] = [];

/** Stops the servers and workers of all instances, and removes their folders. */
export async function stopServing(): Promise<void> {
  await Promise.all(made.splice(0).map((serving) => serving.remove()));
}

type Asked<T> = { status: number; body: T };

type Address = { port: number; token: string };

/** A server in this process over a store in memory; its threads run in this process too. */
export class Serving {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), "uw-server-")));
  /**
   * The folder that the host names as its root. The folder contains the server's address, and the records of graphs and
   * evals.
   */
  readonly path = join(this.folder, "root");
  /** Additional environment variables for the server's threads. */
  more: Record<string, string> = {};
  /** Options of the server other than its host and its port. */
  options: Partial<ServerOptions> = {};
  #host: Host | null = null;
  #server: RunningServer | null = null;

  /** Starts a server and registers the named bundles. */
  static async start<S extends Serving>(this: new () => S, ...names: BundleName[]): Promise<S> {
    const serving = new this();
    await serving.begin(...names);
    return serving;
  }

  /** Like {@link start}, with additional environment variables. */
  static async startWith<S extends Serving>(
    this: new () => S,
    more: Record<string, string>,
    ...names: BundleName[]
  ): Promise<S> {
    const serving = new this();
    serving.more = more;
    await serving.begin(...names);
    return serving;
  }

  /** Starts the server, and registers the named bundles. */
  async begin(...names: BundleName[]): Promise<void> {
    made.push(this);
    await this.serve();
    for (const name of names) await this.add(name, bundles[name]);
  }

  get host(): Host {
    return (this.#host ??= this.openHost());
  }

  protected openHost(): Host {
    return openStoreHost(memoryStore(new Memory()), { root: this.path });
  }

  get env(): Record<string, string> {
    return {
      PATH: process.env.PATH ?? "",
      HOME: join(this.folder, "home"),
      ...this.more,
    };
  }

  get port(): number {
    return this.address.port;
  }

  get token(): string {
    return this.address.token;
  }

  protected get address(): Address {
    if (!this.#server) throw new Error("no server runs");
    return this.#server;
  }

  /** Starts the server, on its previous port after a restart. */
  async serve(port = 0): Promise<void> {
    mkdirSync(this.path, { recursive: true, mode: 0o700 });
    const { host, env, folder: cwd } = this;
    const parts = { host, env, cwd, version: "test", hostname: "127.0.0.1", port };
    this.#server = startServer({ ...parts, ...this.options });
  }

  /** Stops the server; the host stays open. */
  async end(): Promise<void> {
    await this.#server?.stop();
    this.#server = null;
  }

  /** Sends a request with the token. */
  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    if (!headers.has("Authorization")) headers.set("Authorization", `Bearer ${this.token}`);
    return fetch(`http://127.0.0.1:${this.port}${path}`, { ...init, headers });
  }

  /** Sends a value as JSON, or a GET request without a value. Returns the status and the answer. */
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

  /** Returns the body of {@link ask}. Throws for an error response. */
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

  /** Starts a thread and returns its id. */
  async run(workflow: string, options: Record<string, unknown> = {}): Promise<string> {
    const started = await this.ok<StartedThread>("/api/threads", {
      workflow,
      options,
      maxRounds: 1_000_000,
    });
    return started.threadId;
  }

  /** Waits until a thread has a status, and at least a number of steps. */
  async until(id: string, status: Status, steps = 0): Promise<Thread> {
    const read = () => this.ok<Thread>(`/api/threads/${id}`);
    let thread = await read();
    await until(
      async () => (thread = await read()).status === status && thread.stepCount >= steps,
      () => `the thread ${id} is ${thread.status}, not ${status}`,
    );
    return thread;
  }

  write(name: string, text: string): string {
    const path = join(this.folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  /** Stops the server and its threads, and removes the folder. */
  async remove(): Promise<void> {
    await this.end();
    await this.#host?.close();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/** Like {@link Serving}, over a storage root: threads run in workers, and tests can access the files. */
export class ServingRoot extends Serving {
  protected override openHost(): Host {
    return openLocalHost({ path: this.path, env: this.env });
  }

  override get env(): Record<string, string> {
    return {
      UNCAGED_WORKFLOW_STORAGE_ROOT: this.path,
      UNCAGED_WORKFLOW_IDLE_MS: "300",
      ...super.env,
    };
  }

  /** Kills the workers, as in a crash. */
  async killWorkers(): Promise<void> {
    if (!existsSync(join(this.path, "run"))) return;
    await signalWorkers(openRoot({ path: this.path }), "SIGKILL");
  }

  override async remove(): Promise<void> {
    await this.end();
    await this.killWorkers();
    await super.remove();
  }
}

/** Like {@link ServingRoot}, served by the command in a separate process. */
export class ServingProcess extends ServingRoot {
  /** Arguments of the command other than the port. */
  readonly flags: string[] = [];
  /** The working folder of the command. */
  place = this.folder;
  #running: (Address & { url: string; child: Bun.Subprocess<"ignore", "pipe", "pipe"> }) | null =
    null;

  protected override get address(): Address {
    if (!this.#running) throw new Error("no server runs");
    return this.#running;
  }

  get pid(): number {
    return this.#running?.child.pid ?? -1;
  }

  /** The printed URL. */
  get url(): string {
    return this.#running?.url ?? "";
  }

  /** Returns the storage root's own token, which a server with a token file doesn't print. */
  #recordedToken(): string {
    const text = readFileSync(join(this.path, "run/server.json"), "utf8");
    return (JSON.parse(text) as Address).token;
  }

  /**
   * Collects the lines that the running server prints to stderr from now on. Returns a function that returns the lines
   * so far.
   */
  said(): () => string {
    let text = "";
    const collect = async (stream: ReadableStream<Uint8Array> | undefined) => {
      for await (const bytes of stream ?? []) text += new TextDecoder().decode(bytes);
    };
    void collect(this.#running?.child.stderr);
    return () => text;
  }

  /** Starts a command line as a process. */
  spawn(...args: string[]): Bun.Subprocess<"ignore", "pipe", "pipe"> {
    return this.spawnIn({}, ...args);
  }

  /** Like {@link spawn}, with additional environment variables. */
  spawnIn(env: Record<string, string>, ...args: string[]) {
    return Bun.spawn([command, ...args], {
      cwd: this.place,
      env: { ...this.env, ...env },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    } as const);
  }

  override async serve(port = 0): Promise<void> {
    const child = this.spawn("serve", "--port", String(port), "--json", ...this.flags);
    const { value } = await child.stdout.getReader().read();
    const text = new TextDecoder().decode(value);
    if (text === "") throw new Error(await new Response(child.stderr).text());
    const {
      port: taken,
      token,
      url,
    } = JSON.parse(text) as { port: number; token: string | null; url: string };
    this.#running = { child, port: taken, token: token ?? this.#recordedToken(), url };
  }

  /** Stops the server's process, and returns its exit code. */
  async stop(signal: NodeJS.Signals = "SIGINT"): Promise<number> {
    const child = this.#running?.child;
    if (!child) throw new Error("no server runs");
    child.kill(signal);
    const code = await child.exited;
    this.#running = null;
    return code;
  }

  override async end(): Promise<void> {
    if (this.#running) await this.stop("SIGKILL");
  }
}

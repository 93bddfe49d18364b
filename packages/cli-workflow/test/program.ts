import {
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Host,
  Memory,
  memoryStore,
  openLocalHost,
  openStoreHost,
  threadJson,
} from "@uncaged/workflow/host";
import { openRoot } from "../../workflow/src/disk/root.ts";
import { signalWorkers } from "../../workflow/test/fixtures/store.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { runProgram } from "../src/program/program.ts";
import type { Sink } from "../src/output/output.ts";
import { programWords } from "./command.ts";

/** Whether util-linux's `script` is available. The `script` of macOS and the BSDs has other arguments. */
export const hasScript = process.platform === "linux" && Bun.which("script") !== null;

/** The test bundle, controlled by its params. */
export const playBundle = join(import.meta.dir, "bundle/play.esm.js");

export type Ended = { code: number; stdout: string; stderr: string };

export type RunOptions = {
  stdin?: string | Uint8Array;
  env?: Record<string, string>;
  cwd?: string;
};

const needsProcess = new Set(["eval", "plan", "worker", "cluster", "new", "dev", "serve", "score"]);

const folders: string[] = [];
const hosts: Host[] = [];
const home = process.cwd();
/** Closes the hosts in memory and removes the folders. Call it in `afterAll` of each test file. */
export function removeFolders(): void {
  for (const host of hosts.splice(0)) void host.close();
  process.chdir(home);
  delete process.env.UNCAGED_WORKFLOW_IDLE_MS;
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

/** Creates a folder that {@link removeFolders} removes. */
export function newFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "uw-cli-")));
  folders.push(folder);
  return folder;
}

/** Waits for a process to exit. Returns its exit code and output. */
export async function ended(
  child: Bun.Subprocess<"ignore" | "pipe" | Uint8Array, "pipe", "pipe">,
): Promise<Ended> {
  const [code, stdout, stderr] = await Promise.all([
    child.exited,
    child.stdout.text(),
    child.stderr.text(),
  ]);
  return { code, stdout, stderr };
}

/** A new storage root, or a store in memory, and the program that works on it. */
export class Store {
  readonly folder = newFolder();
  readonly root = join(this.folder, "root");
  /** Whether every command runs in its own process. Files that this process opens would keep a disk in use. */
  isApart = false;
  /** Host in memory for commands in this process, instead of the storage root. */
  readonly memory: Host | null;
  readonly #medium: Memory | null;

  constructor({ inMemory = false } = {}) {
    if (inMemory) mkdirSync(this.root, { mode: 0o700 });
    this.#medium = inMemory ? new Memory() : null;
    this.memory =
      this.#medium && openStoreHost(memoryStore(this.#medium), { root: this.root, env: this.env });
    if (this.memory) hosts.push(this.memory);
  }

  get env(): Record<string, string> {
    return {
      PATH: process.env.PATH ?? "",
      HOME: join(this.folder, "home"),
      UNCAGED_WORKFLOW_STORAGE_ROOT: this.root,
      UNCAGED_WORKFLOW_IDLE_MS: "300",
    };
  }

  start(args: string[], { stdin = "", env = {}, cwd = this.folder }: RunOptions = {}) {
    return Bun.spawn([...programWords, ...args], {
      cwd,
      env: { ...this.env, ...env },
      stdin: typeof stdin === "string" ? new TextEncoder().encode(stdin) : stdin,
      stdout: "pipe",
      stderr: "pipe",
    });
  }

  /**
   * Runs a command and returns its output and exit code. Runs it in this process, which is faster, unless the
   * command needs its own process, for example because a process keeps its connections to a cluster. Tests of
   * processes, pipes and signals call {@link start}.
   */
  async run(args: string[], options: RunOptions = {}): Promise<Ended> {
    const { stdin, env = {} } = options;
    const isOnCluster =
      args.includes("--host") || "UNCAGED_WORKFLOW_HOST" in { ...this.env, ...env };
    const isApart =
      this.isApart ||
      isOnCluster ||
      stdin !== undefined ||
      "TMPDIR" in env ||
      this.needsProcess(args);
    if (isApart && this.memory) throw new Error(`${args[0]} runs in a process: it needs a root`);
    return isApart ? await ended(this.start(args, options)) : await this.#runHere(args, options);
  }

  async #runHere(argv: string[], { env = {}, cwd = this.folder }: RunOptions): Promise<Ended> {
    const written = { stdout: "", stderr: "" };
    const sink = (stream: "stdout" | "stderr"): Sink => ({
      terminal: false,
      columns: Number.POSITIVE_INFINITY,
      write: (text) => void (written[stream] += text),
    });
    const world = {
      argv,
      env: { ...this.env, ...env },
      cwd: () => process.cwd(),
      umask: 0o022,
      openRoot: (options?: Parameters<typeof openLocalHost>[0]) =>
        this.memory ?? openLocalHost(options),
      output: { results: sink("stdout"), notes: sink("stderr") },
      interruption: () => new AbortController().signal,
    };
    process.env.UNCAGED_WORKFLOW_IDLE_MS = world.env.UNCAGED_WORKFLOW_IDLE_MS;
    process.chdir(cwd);
    const code = await runProgram(world);
    return { code, ...written };
  }

  /** Tells whether a command starts this program again, reads a terminal, or runs until it is stopped. */
  protected needsProcess([command = ""]: string[]): boolean {
    return needsProcess.has(command);
  }

  /** Returns the output of the program on its own terminal, if `script` can create one here. */
  async onTerminal(args: string, env: Record<string, string> = {}): Promise<string> {
    const line = programWords.map((word) => `'${word}'`).join(" ");
    const child = Bun.spawn(["script", "-qec", `${line} ${args}`, "/dev/null"], {
      cwd: this.folder,
      env: { ...this.env, SHELL: "/bin/sh", TERM: "xterm", ...env },
      stdin: openSync("/dev/null", "r"),
      stdout: "pipe",
      stderr: "ignore",
    });
    return await child.stdout.text();
  }

  /** Returns the output of a finished command; throws the output if it fails. */
  async ok(args: string[], options: RunOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.run(args, options);
    if (code !== 0) throw new Error(`${args.join(" ")}: exit code ${code}\n${stdout}${stderr}`);
    return stdout.trimEnd();
  }

  /** Returns the JSON document that a command prints. */
  async json<T>(args: string[], options: RunOptions = {}): Promise<T> {
    return JSON.parse(await this.ok([...args, "--json"], options)) as T;
  }

  /** Starts a thread of the test bundle and returns its id. */
  async play(params: object = {}, ...args: string[]): Promise<string> {
    return await this.ok(["run", "play", "--params", JSON.stringify(params), ...args]);
  }

  /** Starts a thread that stops before a step until `open` is called, so that a test can act before the step. */
  async playGated(before: number, params: object = {}): Promise<{ id: string; open: () => void }> {
    const path = join(newFolder(), "gate");
    const id = await this.play({ ...params, gate: { before, path } });
    return { id, open: () => writeFileSync(path, "") };
  }

  /**
   * Waits until a thread has a status, and returns the thread. Reads the thread in this process, which is faster than
   * repeated commands.
   */
  async until<T extends { status: string }>(id: string, status: string): Promise<T> {
    const host = this.memory ?? openLocalHost({ path: this.root });
    const ref = await host.find(id);
    let found = "";
    let view: T | undefined;
    const isThere = async () => (found = threadJson(await host.read(ref)).status) === status;
    await until(
      async () =>
        (await isThere()) && (view = await this.json<T>(["thread", id])).status === status,
      () => `the thread ${id} is ${found}, not ${status}`,
    );
    return view as T;
  }

  /** Kills the workers. A worker may have exited, because a waiting thread needs no worker. */
  async killWorkers(): Promise<void> {
    await signalWorkers(openRoot({ path: this.root }), "SIGKILL");
  }

  /** Returns all stored data, by path or name. Two results are equal if nothing was written in between. */
  tree(): Record<string, string> {
    const found: Record<string, string> = {};
    if (this.#medium) {
      const { registry, bundles, threads } = this.#medium;
      for (const hash of bundles.keys()) found[hash] = "bundle";
      for (const [id, { logs }] of threads) found[id] = JSON.stringify(logs.data);
      return { ...found, registry };
    }
    for (const path of namesUnder(this.root)) {
      const full = join(this.root, path);
      // A worker creates and deletes its own files at any time, and writes the debug log late.
      if (path.startsWith("run") || path.endsWith(".info.jsonl")) continue;
      found[path] = statSync(full).isFile() ? readFileSync(full, "latin1") : "folder";
    }
    return found;
  }
}

function namesUnder(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  } catch {
    return [];
  }
}

/** Returns a storage root, or a store in memory, in which the test bundle is registered as `play`. */
export async function playStore(options?: { inMemory: boolean }): Promise<Store> {
  const store = new Store(options);
  await store.ok(["add", "play", playBundle]);
  return store;
}

/** Waits until all workers have exited, so that the next command starts its own worker. */
export async function untilNoWorker(root: string): Promise<void> {
  await until(
    () => !readdirSync(join(root, "run")).some((name) => name.endsWith(".sock")),
    () => "a worker still runs",
  );
}

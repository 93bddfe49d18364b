import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const main = join(import.meta.dir, "../src/main.ts");
const config = join(import.meta.dir, "../bin/bunfig.toml");

/** The program as a command line, for shells. */
export const programWords = [
  process.execPath,
  "--no-env-file",
  "--no-install",
  `--config=${config}`,
  main,
];

/** The bundle that the tests run: it does what its params ask for. */
export const playBundle = join(import.meta.dir, "bundle/play.esm.js");

export type Ended = { code: number; stdout: string; stderr: string };

export type RunOptions = {
  stdin?: string | Uint8Array;
  env?: Record<string, string>;
  cwd?: string;
};

const folders: string[] = [];
/** For `afterAll` of each test file: takes away the folders that it has made. */
export function removeFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

/** A new folder, gone after {@link removeFolders}. */
export function newFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "uw-cli-")));
  folders.push(folder);
  return folder;
}

/** How a process ends whose output is read. */
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

/** A storage root of its own, and the program that works on it. */
export class Store {
  readonly folder = newFolder();
  readonly root = join(this.folder, "root");

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

  async run(args: string[], options: RunOptions = {}): Promise<Ended> {
    return await ended(this.start(args, options));
  }

  /** What a command prints when it is done; throws its output when it fails. */
  async ok(args: string[], options: RunOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.run(args, options);
    if (code !== 0) throw new Error(`${args.join(" ")}: exit code ${code}\n${stdout}${stderr}`);
    return stdout.trimEnd();
  }

  /** The JSON document that a command prints. */
  async json<T>(args: string[], options: RunOptions = {}): Promise<T> {
    return JSON.parse(await this.ok([...args, "--json"], options)) as T;
  }

  /** Starts a thread of the test bundle and gives its id. */
  async play(params: object = {}, ...args: string[]): Promise<string> {
    return await this.ok(["run", "play", "--params", JSON.stringify(params), ...args]);
  }

  /** Waits until a thread's status is the wanted one, and gives the thread. */
  async until<T extends { status: string }>(id: string, status: string): Promise<T> {
    for (let tries = 0; tries < 400; tries += 1) {
      const view = await this.json<T>(["thread", id]);
      if (view.status === status) return view;
      await Bun.sleep(25);
    }
    throw new Error(`the thread ${id} never was ${status}`);
  }

  /** Every file of the storage root with its bytes: two are equal when nothing was written between. */
  tree(): Record<string, string> {
    const found: Record<string, string> = {};
    for (const path of namesUnder(this.root)) {
      const full = join(this.root, path);
      // What a live worker keeps for itself, and its debug log, come and go.
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

/** A storage root in which the test bundle is registered as `play`. */
export async function playStore(): Promise<Store> {
  const store = new Store();
  await store.ok(["add", "play", playBundle]);
  return store;
}

/** The product as the crash test uses it: processes, their output, and HTTP. Imports no code of the product. */
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const cli = join(import.meta.dir, "../../packages/cli-workflow");
const words = [
  process.execPath,
  "--no-env-file",
  "--no-install",
  `--config=${join(cli, "bin/bunfig.toml")}`,
  join(cli, "src/main.ts"),
];

/** Random number generator with a seed (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  below(most: number): number {
    return Math.floor(this.next() * most);
  }

  pick<T>(items: readonly T[]): T | undefined {
    return items[this.below(items.length)];
  }
}

/** Result of a request: the response, the code of the error, or null when the request was cut off. */
export type Answer = {
  value: Record<string, unknown> | null;
  code: string | null;
  text: string;
};

export type Row = { threadId: string; hash: string; status: string; steps: number };

/** A disturbance after `afterMs`: a freeze for `forMs`, or a kill. A kill ends a process or aborts a request. */
type Harm = { kind: "kill" | "freeze"; afterMs: number; forMs: number };

const cutOff: Answer = { value: null, code: null, text: "cut off" };

/** Storage root of the crash test, with its commands, server and workers. */
export class Product {
  readonly folder = mkdtempSync(join(tmpdir(), "uw-crash-"));
  readonly root = join(this.folder, "root");
  readonly counts = { kills: 0, freezes: 0, commands: 0, requests: 0 };
  /** Kinds of the first disturbances. Even a short run with few disturbances needs each kind. */
  readonly #firstKinds: Harm["kind"][] = ["freeze", "kill"];
  readonly #notes = join(this.folder, "notes");
  readonly #random: Random;
  readonly #children = new Set<Bun.Subprocess>();
  #server: { child: Bun.Subprocess; url: string; token: string } | null = null;
  #port = 0;
  #isServing = true;
  /** Whether the test still disturbs commands, servers and workers. */
  isHarsh = true;

  constructor(seed: number) {
    this.#random = new Random(seed);
    mkdirSync(join(this.folder, "home"));
  }

  get notes(): string {
    return this.#notes;
  }

  note(...line: (string | number)[]): void {
    appendFileSync(this.#notes, `${line.join(" ")}\n`);
  }

  spawn(args: readonly string[]) {
    const child = Bun.spawn([...words, ...args], {
      cwd: this.folder,
      env: {
        PATH: process.env.PATH ?? "",
        HOME: join(this.folder, "home"),
        UNCAGED_WORKFLOW_STORAGE_ROOT: this.root,
        UNCAGED_WORKFLOW_IDLE_MS: "300",
      },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    this.#children.add(child);
    void child.exited.then(() => this.#children.delete(child));
    return child;
  }

  /** Runs a command to its end. Kills or freezes some commands before they end. */
  async command(...args: string[]): Promise<Answer> {
    this.counts.commands += 1;
    const child = this.spawn([...args, "--json"]);
    void this.#disturb((signal) => child.kill(signal), this.#harm(0.25, 150));
    const [text, errors] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    await child.exited;
    // Lines printed before the kill count as acknowledged.
    if (child.signalCode && !text.endsWith("\n")) return cutOff;
    const answer = answerOf(text, `${text}${errors}`);
    return text === "" && child.exitCode !== 0 ? { ...answer, code: "NO_ANSWER" } : answer;
  }

  /** Sends a request to the server. Aborts some requests before their response. */
  async request(method: string, path: string, body?: unknown): Promise<Answer> {
    const server = this.#server;
    if (!server) return cutOff;
    this.counts.requests += 1;
    const harm = this.#harm(0.15, 40);
    const signal = AbortSignal.timeout(harm?.kind === "kill" ? harm.afterMs : 40_000);
    const headers: Record<string, string> = { Authorization: `Bearer ${server.token}` };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    try {
      const response = await fetch(`${server.url}${path}`, { method, headers, signal, ...sent });
      const text = await response.text();
      return answerOf(text, text);
    } catch {
      return cutOff;
    }
  }

  /** Opens a stream of the server; null when the server is down. */
  async stream(path: string, lastEventId: string | null): Promise<Response | null> {
    const server = this.#server;
    if (!server) return null;
    const headers: Record<string, string> = { Authorization: `Bearer ${server.token}` };
    if (lastEventId !== null) headers["Last-Event-ID"] = lastEventId;
    return await fetch(`${server.url}${path}`, { headers }).catch(() => null);
  }

  /** Keeps a server running on one port, and restarts it after each kill. */
  async serve(): Promise<void> {
    while (this.#isServing) {
      const child = this.spawn(["serve", "--port", String(this.#port), "--json"]);
      const line = await firstLine(child.stdout);
      const { port, token } = answerOf(line, line).value ?? {};
      if (typeof port === "number" && typeof token === "string") {
        this.#port = port;
        this.#server = { child, url: `http://127.0.0.1:${port}`, token };
      }
      await child.exited;
      this.#server = null;
      await Bun.sleep(20);
    }
  }

  async stopServer(): Promise<void> {
    this.#isServing = false;
    for (const late = performance.now() + 10_000; performance.now() < late; await Bun.sleep(20)) {
      if (!this.#server) return;
      this.#server.child.kill("SIGTERM");
    }
  }

  get server(): Bun.Subprocess | null {
    return this.#server?.child ?? null;
  }

  /** Returns the worker processes, by the first lines of the files in docs/reference/storage-format.md. */
  workers(): { pid: number; hash: string }[] {
    return filesIn(join(this.root, "run"))
      .filter((name) => name.endsWith(".holder"))
      .flatMap((name) => {
        const [line = ""] = readText(join(this.root, "run", name)).split("\n");
        const pid = Number(/"pid":(\d+)/.exec(line)?.[1] ?? 0);
        return pid > 0 && this.#isOurs(String(pid)) ? [{ pid, hash: name.slice(0, 13) }] : [];
      });
  }

  /** Kills or freezes a process through `send`, and continues a frozen process. */
  async strike(send: (signal: NodeJS.Signals) => void): Promise<void> {
    await this.#disturb(send, this.#harm(1, 1));
  }

  /** Kills or freezes a process with probability 0.4, after at most 1.5 seconds. */
  async strikeLater(send: (signal: NodeJS.Signals) => void): Promise<void> {
    await this.#disturb(send, this.#harm(0.4, 1_500));
  }

  /** Returns the running processes of this storage root. */
  processes(): string[] {
    const workers = filesIn("/proc")
      .filter((name) => /^\d+$/.test(name))
      .filter((pid) => this.#isOurs(pid));
    return [...workers, ...[...this.#children].map(({ pid }) => String(pid))];
  }

  #isOurs(pid: string): boolean {
    return readText(`/proc/${pid}/cmdline`).includes(this.root);
  }

  #harm(chance: number, mostAfterMs: number): Harm | null {
    const [dice, kind, after, during] = [0, 0, 0, 0].map(() => this.#random.next());
    if (!this.isHarsh || (dice ?? 1) >= chance) return null;
    return {
      kind: this.#firstKinds.shift() ?? ((kind ?? 0) < 0.6 ? "kill" : "freeze"),
      afterMs: (after ?? 0) * mostAfterMs,
      forMs: 20 + (during ?? 0) ** 4 * 1_200,
    };
  }

  async #disturb(send: (signal: NodeJS.Signals) => void, harm: Harm | null): Promise<void> {
    if (!harm) return;
    await Bun.sleep(harm.afterMs);
    try {
      this.counts[harm.kind === "kill" ? "kills" : "freezes"] += 1;
      if (harm.kind === "kill") return send("SIGKILL");
      send("SIGSTOP");
      await Bun.sleep(harm.forMs);
      send("SIGCONT");
    } catch {
      // The process has already ended.
    }
  }
}

function answerOf(text: string, all: string): Answer {
  const [line = ""] = text.trim().split("\n").slice(-1);
  try {
    const value = JSON.parse(line) as { error?: { code: string } };
    return { value, code: value.error?.code ?? null, text: all };
  } catch {
    return { value: null, code: text.trim() === "" ? null : "NO_JSON", text: all };
  }
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (const bytes of stream) {
    text += new TextDecoder().decode(bytes);
    if (text.includes("\n")) break;
  }
  return text.split("\n")[0] ?? "";
}

const filesIn = (folder: string): string[] => {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
};

const readText = (path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
};

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Thread } from "../../server/src/entry/api-types.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import type { Store } from "./program.ts";

/** A bundle that writes a line `<name> <step>` to a file at each execution of a step, before the commit. */
const bundle = `export const descriptor = { description: "notes its steps", roles: {} };
export async function* run({ steps, params }) {
  const { name, log, wait, count, delayMs = 0 } = params;
  const fs = process.getBuiltinModule("node:fs");
  if (wait && steps.length === 0)
    yield { role: "__wait__", content: "go on?", meta: { for: "it", ...wait } };
  for (let n = steps.filter(({ role }) => role === "noted").length; n < count; n += 1) {
    fs.appendFileSync(log, name + " " + n + "\\n");
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    yield { role: "noted", content: String(n), meta: {} };
  }
  return { returnCode: 0, summary: "noted" };
}`;

type NotedOptions = { wait?: object; count: number; delayMs?: number };

/** A server under a supervisor, which starts the server again whenever it ends. */
export class Supervised {
  readonly #store: Store;
  readonly #log: string;
  #child: ReturnType<Store["start"]> | null = null;
  #supervising: Promise<void> | null = null;
  #isOver = false;
  #port = 0;
  starts = 0;

  private constructor(store: Store) {
    this.#store = store;
    this.#log = join(store.folder, "effects");
  }

  static async start(store: Store): Promise<Supervised> {
    const supervised = new Supervised(store);
    writeFileSync(join(store.folder, "noted.esm.js"), bundle);
    await store.ok(["add", "noted", "noted.esm.js"]);
    await supervised.begin();
    return supervised;
  }

  /** Starts the supervisor, and waits until the server is ready. */
  async begin(): Promise<void> {
    this.#isOver = false;
    this.#supervising = this.#supervise();
    await this.ready();
  }

  async #supervise(): Promise<void> {
    while (!this.#isOver) {
      const port = String(this.#port);
      const args = ["serve", "--resume", "--port", port, "--json"];
      this.#child = this.#store.start(args);
      this.starts += 1;
      void this.#child.stdout.text();
      const printed = this.#child.stderr.text();
      const code = await this.#child.exited;
      if (code !== 0 && this.#child.signalCode === null) throw new Error(await printed);
    }
  }

  #address(): { url: string; token: string } {
    return JSON.parse(readFileSync(join(this.#store.root, "run/server.json"), "utf8")) as {
      url: string;
      token: string;
      pid: number;
    };
  }

  /** Waits until the current process of the server is ready. */
  async ready(): Promise<void> {
    await until(async () => {
      if (!existsSync(join(this.#store.root, "run/server.json"))) return false;
      const reply = await fetch(`${this.#address().url}/readyz`).catch(() => null);
      return reply?.status === 200;
    });
    this.#port = Number(new URL(this.#address().url).port);
  }

  /** Kills the server's process; the supervisor starts the next one. */
  async killServer(): Promise<void> {
    this.#child?.kill("SIGKILL");
    await this.#child?.exited;
  }

  /** Ends the server and its supervisor. */
  async end(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    this.#isOver = true;
    this.#child?.kill(signal);
    await this.#supervising;
  }

  async ask<T>(path: string, body?: unknown): Promise<T> {
    const { url, token } = this.#address();
    const response = await fetch(`${url}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  /** Starts a thread that writes its steps to the file under a name. */
  async run(name: string, options: NotedOptions): Promise<string> {
    const params = { name, log: this.#log, ...options };
    const body = { workflow: "noted", params, maxRounds: 10_000 };
    return (await this.ask<{ threadId: string }>("/api/threads", body)).threadId;
  }

  async until(id: string, status: string): Promise<void> {
    let found = "";
    await until(
      async () => (found = (await this.ask<Thread>(`/api/threads/${id}`)).status) === status,
      () => `the thread ${id} is ${found} and never was ${status}`,
    );
  }

  /** Returns the executed steps of a thread, in their order. */
  effects(name: string): number[] {
    if (!existsSync(this.#log)) return [];
    const lines = readFileSync(this.#log, "utf8").trimEnd().split("\n");
    return lines.flatMap((line) => {
      const [of, step] = line.split(" ");
      return of === name ? [Number(step)] : [];
    });
  }
}

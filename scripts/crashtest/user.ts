/**
 * Users of the product in the crash test, with counts. Each user performs one action after the other, through the
 * command line or the server, and records acknowledgements.
 */
import { writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { followByCommand, followByServer } from "./observers.ts";
import { type Answer, type Product, Random, type Row } from "./product.ts";

const mostOpen = 12;
export const names = ["one", "two"];

/**
 * The workflow counts and sometimes asks a question. Before each yield it has an external effect and records the
 * effect. It records each step when the engine requests the next step.
 */
const source = (note: string) => `// ${note}
import { appendFileSync } from "node:fs";
export const descriptor = { description: "counts", roles: {} };
export async function* run(input, { threadId, count, delayMs, size, askEvery, notes }) {
  for (let n = input.steps.length; n < count; n += 1) {
    if (delayMs) await new Promise((resolve) => setTimeout(resolve, Math.random() * delayMs));
    const nonce = Math.random().toString(36).slice(2);
    const asks = askEvery > 0 && n % askEvery === askEvery - 1;
    const content = n + ":" + nonce + " " + "x".repeat(Math.random() * size);
    appendFileSync(notes, "effect " + threadId + " " + n + " " + n + ":" + nonce + "\\n");
    yield asks ? { role: "__wait__", content, meta: { for: "go" } } : { role: "count", content, meta: {} };
    appendFileSync(notes, "step " + threadId + " " + n + " " + n + ":" + nonce + "\\n");
    if (asks) n += 1;
  }
  return { returnCode: 0, summary: "counted to " + count };
}
`;

/** Error codes of a command whose process was killed, or that came after another command. */
const harmless = new Set(
  `WORKER_LOST WORKER_SILENT WORKER_CLOSING WORKER_OUT_OF_SIGHT THREAD_ENDED NOT_RUNNING NOT_WAITING STALE_ANSWER
  NOT_LIVE ALREADY_RUNNING WAITING NOTHING_TO_RETRY THREAD_NOT_FOUND THREAD_RUNNING NO_SUCH_STEP NOTHING_TO_ROLL_BACK
  AMBIGUOUS_ID`.split(/\s+/),
);

export const isOpen = ({ status }: Row): boolean => !/completed|failed|killed/.test(status);

type Counts = Map<string, number>;

const addOne = (counts: Counts, what: string) => counts.set(what, (counts.get(what) ?? 0) + 1);

/** Actions of all users, and their results. */
export class Usage {
  readonly verbs: Counts = new Map();
  readonly refusals: Counts = new Map();
  readonly unexpected: Counts = new Map();
  readonly violations: string[] = [];
  /** Ids of starts. A late command may start them again. */
  readonly givenIds = new Set<string>();
  readonly #product: Product;
  #versions = 0;

  constructor(product: Product) {
    this.#product = product;
  }

  /** Counts a reply. Returns its value when the request was accepted. */
  taken(verb: string, { value, code, text }: Answer, alsoHarmless: string[] = []): Answer["value"] {
    addOne(this.verbs, verb);
    if (code === null) return value;
    const isHarmless = harmless.has(code) || alsoHarmless.includes(code);
    if (isHarmless) addOne(this.refusals, `${verb} ${code}`);
    else addOne(this.unexpected, `${verb}: ${text.trim().slice(0, 600)}`);
    return null;
  }

  async threads(): Promise<Row[]> {
    const product = this.#product;
    const byServer = product.isHarsh && (await product.request("GET", "/api/threads?limit=1000"));
    const isAnswered = byServer && Array.isArray(byServer.value);
    const answer = isAnswered ? byServer : await product.command("threads", "--limit", "100000");
    const value: unknown = this.taken("threads", answer);
    return Array.isArray(value) ? (value as Row[]) : [];
  }

  /** Writes a new version and returns its path. */
  newVersion(): string {
    const note = `version${(this.#versions += 1)}`;
    const path = join(this.#product.folder, `${note}.esm.js`);
    writeFileSync(path, source(note));
    return path;
  }

  async addVersion(name: string): Promise<void> {
    const value = this.taken("add", await this.#product.command("add", name, this.newVersion()));
    if (value) this.#product.note("added", name, String(value.hash));
  }
}

/** Options of a thread. */
type Options = Record<string, string | number>;

/** A user of the product, with its own random generator. */
export class User {
  readonly #random: Random;
  readonly #product: Product;
  readonly #usage: Usage;

  constructor(product: Product, usage: Usage, seed: number) {
    this.#random = new Random(seed);
    this.#product = product;
    this.#usage = usage;
  }

  /** Performs one random action. */
  async act(): Promise<void> {
    const dice = this.#random.next();
    if (dice < 0.14) return await this.#keepVersions();
    const rows = await this.#usage.threads();
    const open = rows.filter(isOpen);
    const chosen = this.#random.pick(open);
    if (!chosen || (open.length < mostOpen / 2 && dice < 0.8)) return await this.#start();
    if (dice < 0.2 && open.length < mostOpen) return await this.#start();
    if (dice < 0.28 && open.length < mostOpen) return await this.#fork(rows);
    if (dice < 0.33) return await this.#kill(chosen);
    if (dice < 0.37) return await this.#remove(rows);
    if (dice < 0.5 && chosen.status === "running") {
      await this.#control("pause", chosen);
      return;
    }
    if (dice < 0.55) return await this.#look(chosen);
    const still = this.#random.pick(open.filter(({ status }) => status !== "running"));
    if (still) await this.#takeUp(still);
  }

  /** Follows a thread through the command or the server. */
  async observe(): Promise<void> {
    const row = this.#random.pick((await this.#usage.threads()).filter(isOpen));
    if (!row) return;
    const follow = this.#random.next() < 0.5 ? followByCommand : followByServer;
    addOne(this.#usage.verbs, "follow");
    await follow(this.#product, row, this.#usage.violations);
  }

  /**
   * Kills or freezes a worker, or sometimes the server. Sometimes kills a thread with `--force` while its worker is
   * frozen.
   */
  async strike(): Promise<void> {
    const { server } = this.#product;
    if (server && this.#random.next() < 0.1)
      return await this.#product.strike((name) => server.kill(name));
    const worker = this.#random.pick(this.#product.workers());
    if (!worker) return;
    const send = (name: NodeJS.Signals) => void process.kill(worker.pid, name);
    const dice = this.#random.next();
    if (dice < 0.1) return attempt(() => send("SIGTERM"));
    if (dice > 0.15) return await this.#product.strike(send);
    const row = this.#random.pick(
      (await this.#usage.threads()).filter(({ hash }) => hash === worker.hash),
    );
    if (!row || !isOpen(row)) return;
    attempt(() => send("SIGSTOP"));
    await this.#kill(row, true);
    attempt(() => send("SIGCONT"));
  }

  /** Sometimes kills the worker of a version right after it has acknowledged a request. */
  #killBehind(hash: string, chance = 0.3): void {
    if (!this.#product.isHarsh || this.#random.next() > chance) return;
    for (const worker of this.#product.workers()) {
      if (worker.hash !== hash) continue;
      this.#product.counts.kills += 1;
      attempt(() => process.kill(worker.pid, "SIGKILL"));
    }
  }

  get #isByServer(): boolean {
    return this.#random.next() < 0.4 && this.#product.server !== null;
  }

  async #start(): Promise<void> {
    const options = {
      count: 5 + this.#random.below(40),
      delayMs: this.#random.pick([0, 5, 50]) ?? 0,
      size: this.#random.pick([10, 10, 2_000, 200_000]) ?? 10,
      askEvery: this.#random.pick([0, 0, 7]) ?? 0,
      notes: this.#product.notes,
    };
    const name = this.#random.pick(names) ?? "";
    if (this.#random.next() < 0.2) return await this.#startAtOnce(options);
    const more = this.#isByServer ? "server" : (this.#random.pick(["", "", "--wait"]) ?? "");
    await this.#startOne(name, options, null, more);
  }

  /** Starts several versions and workflows with one id concurrently: only one thread may result. */
  async #startAtOnce(options: Options): Promise<void> {
    const history = this.#usage.taken(
      "history",
      await this.#product.command("history", names[0] ?? ""),
    );
    const versions = Array.isArray(history) ? (history as { hash: string }[]) : [];
    const hashes = versions.slice(0, 3).map(({ hash }) => hash);
    const id = ulid(this.#random);
    this.#usage.givenIds.add(id);
    const starts = [...hashes, ...names].map((workflow) =>
      this.#startOne(workflow, options, id, this.#isByServer ? "server" : ""),
    );
    await Promise.all(starts);
  }

  async #startOne(
    workflow: string,
    options: Options,
    threadId: string | null,
    more: string,
  ): Promise<void> {
    const verb = threadId === null ? "run" : "run --thread-id";
    const id = threadId === null ? {} : { threadId };
    const durability = this.#random.next() < 0.2 ? "os" : "step";
    const given = [...optionWords(options), "--durability", durability];
    const words = ["run", workflow, ...given, ...(threadId ? ["--thread-id", threadId] : [])];
    const answer =
      more === "server"
        ? await this.#product.request("POST", "/api/threads", {
            workflow,
            options,
            durability,
            ...id,
          })
        : await this.#product.command(...words, ...(more === "" ? [] : [more]));
    // Another workflow may have started the thread with this id first.
    const value = this.#usage.taken(verb, answer, threadId === null ? [] : ["THREAD_EXISTS"]);
    if (!value) return;
    this.#product.note("started", String(value.threadId), String(value.hash));
    this.#killBehind(String(value.hash));
    if (value.result) this.#product.note("ended", String(value.threadId), String(value.status));
  }

  async #fork(rows: Row[]): Promise<void> {
    const ended = rows.filter(({ status }) => status === "killed");
    const retried = this.#random.next() < 0.3 ? this.#random.pick(ended) : undefined;
    const row = retried ?? this.#random.pick(rows);
    if (!row) return;
    const keep = this.#random.below(row.steps + 1);
    const byStep = retried === undefined && this.#random.next() < 0.5;
    const verb = retried ? "retry" : "fork";
    const answer = this.#isByServer
      ? await this.#product.request("POST", `/api/threads/${row.threadId}/${verb}`, {
          ...(byStep && { keep: { atStep: keep } }),
        })
      : await this.#product.command(
          verb,
          row.threadId,
          ...(byStep ? ["--at-step", String(keep)] : []),
        );
    const value = this.#usage.taken(verb, answer);
    const from = value?.forkFrom as { threadId: string; steps: number } | undefined;
    if (from) this.#product.note("forked", String(value?.threadId), from.threadId, from.steps);
  }

  async #control(verb: string, { threadId }: Row, ...more: string[]): Promise<Answer["value"]> {
    const path = `/api/threads/${threadId}/${verb}`;
    const answer = this.#isByServer
      ? await this.#product.request("POST", path, more.length > 0 ? { force: true } : undefined)
      : await this.#product.command(verb, threadId, ...more);
    // A worker that was frozen before it drove a thread looks like a worker whose bundle blocks it.
    return this.#usage.taken(verb, answer, ["BUNDLE_LOAD_FAILED"]);
  }

  async #kill(row: Row, force = false): Promise<void> {
    this.#product.note("try-kill", row.threadId);
    const value = await this.#control("kill", row, ...(force ? ["--force"] : []));
    if (value) this.#product.note("killed", row.threadId);
    if (value) this.#killBehind(row.hash);
  }

  async #remove(rows: Row[]): Promise<void> {
    const row = this.#random.pick(
      rows.filter(({ threadId }) => !this.#usage.givenIds.has(threadId)),
    );
    if (!row) return;
    this.#product.note("try-remove", row.threadId);
    const answer = this.#isByServer
      ? await this.#product.request("DELETE", `/api/threads/${row.threadId}?force=true`)
      : await this.#product.command("thread", "rm", row.threadId, "--force");
    if (this.#usage.taken("thread rm", answer)) this.#product.note("removed", row.threadId);
  }

  async #look({ threadId }: Row): Promise<void> {
    const value = this.#usage.taken("thread", await this.#product.command("thread", threadId));
    const steps = (value?.steps ?? []) as { content: string }[];
    for (const [n, { content }] of steps.entries()) {
      this.#product.note("seen", threadId, n, content.split(" ")[0] ?? "");
    }
  }

  async #takeUp(row: Row): Promise<void> {
    if (row.status !== "waiting") {
      await this.#control("resume", row);
      return;
    }
    const content = crypto.randomUUID();
    this.#product.note("try-answer", row.threadId, content);
    const answer = this.#isByServer
      ? await this.#product.request("POST", `/api/threads/${row.threadId}/input`, { content })
      : await this.#product.command("resume", row.threadId, "--input", content);
    if (!this.#usage.taken("input", answer)) return;
    this.#product.note("answered", row.threadId, content);
    this.#killBehind(row.hash);
  }

  async #keepVersions(): Promise<void> {
    const name = this.#random.pick(names) ?? "";
    const dice = this.#random.next();
    if (dice < 0.3) return await this.#usage.addVersion(name);
    if (dice >= 0.7) return await this.#passingVersion();
    const args = dice < 0.45 ? ["rollback", name] : [dice < 0.5 ? "list" : "gc"];
    this.#usage.taken(args[0] ?? "", await this.#product.command(...args));
  }

  /** Adds a version and removes its name: gc may delete the version, unless a thread runs on it. */
  async #passingVersion(): Promise<void> {
    const path = this.#usage.newVersion();
    const name = basename(path, ".esm.js");
    const added = this.#usage.taken("add", await this.#product.command("add", name, path));
    if (!added) return;
    const options = { count: 8, delayMs: 20, size: 10, askEvery: 0, notes: this.#product.notes };
    this.#usage.taken("remove", await this.#product.command("remove", name));
    if (this.#random.next() < 0.3) return;
    const words = optionWords(options);
    const collected = this.#random.next() < 0.4 ? this.#product.command("gc") : null;
    const answer = await this.#product.command("run", String(added.hash), ...words);
    if (collected) this.#usage.taken("gc", await collected);
    const value = this.#usage.taken("run", answer, ["BUNDLE_MISSING", "WORKFLOW_NOT_FOUND"]);
    if (!value) return;
    this.#product.note("started", String(value.threadId), String(value.hash));
    this.#killBehind(String(value.hash), 0.7);
    this.#usage.taken("gc", await this.#product.command("gc"));
  }
}

const optionWords = (options: Options): string[] =>
  Object.entries(options).flatMap(([key, value]) => ["--option", `${key}=${value}`]);

const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const ulid = (random: Random): string =>
  `01${Array.from({ length: 24 }, () => digits[random.below(32)]).join("")}`;

/** Sends a signal to a process that may have ended. */
export function attempt(send: () => void): void {
  try {
    send();
  } catch {
    // The process has already ended.
  }
}

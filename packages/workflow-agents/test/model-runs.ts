import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Host, openLocalHost, type ThreadRef } from "@uncaged/workflow/host";
import type { Root } from "../../workflow/src/disk/paths.ts";
import { openRoot } from "../../workflow/src/disk/root.ts";
import { signalWorkers } from "../../workflow/test/fixtures/store.ts";
import { anthropicServer } from "./anthropic-server.ts";
import { expectCounted, untilRead } from "./counted.ts";
import { openaiServer } from "./openai-server.ts";
import { responsesServer } from "./responses-server.ts";
import type { Reply, WireServer } from "./wire.ts";

/** The protocol of a model's server: Anthropic's Messages API, OpenAI's chat completions, or OpenAI's Responses API. */
export type Model = "claude" | "gpt" | "responses";
export type Run = { ref: ThreadRef; cwd: string; env: Record<string, string> };

type Servers = Record<Model, WireServer<{ model: string }>>;

/** Runs threads in real workers, with a model server for each protocol. */
export class ModelRuns {
  readonly folder: string;
  readonly host: Host;
  readonly servers: Servers;
  #count = 0;
  #last: Promise<ThreadRef> | null = null;

  private constructor(folder: string, servers: Servers) {
    this.folder = folder;
    this.host = openLocalHost({ path: join(folder, "root") });
    this.servers = servers;
  }

  static async open(reply: (body: object) => Reply): Promise<ModelRuns> {
    const folder = mkdtempSync(join(tmpdir(), "uncaged-models-"));
    return new ModelRuns(folder, {
      claude: await anthropicServer(reply),
      gpt: await openaiServer(reply),
      responses: await responsesServer(reply),
    });
  }

  async close(): Promise<void> {
    for (const server of Object.values(this.servers)) await server.stop();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  /**
   * Starts a thread in its own folder. The file `die` in that folder names the place at which the bundle's process
   * exits. `api` is the server for OpenAI's models.
   */
  async start(
    workflow: string,
    prompt: string,
    die = "",
    api: "gpt" | "responses" = prompt === "responses" ? "responses" : "gpt",
  ): Promise<Run> {
    const cwd = join(this.folder, `run-${(this.#count += 1)}`);
    mkdirSync(cwd);
    if (die) writeFileSync(join(cwd, "die"), die);
    const { claude, gpt, responses } = this.servers;
    for (const server of [claude, gpt, responses]) server.came.splice(0);
    const openai = this.servers[api];
    const env = {
      PATH: process.env.PATH ?? "",
      ...{ ANTHROPIC_API_KEY: claude.key, ANTHROPIC_BASE_URL: claude.url },
      ...{ OPENAI_API_KEY: openai.key, OPENAI_BASE_URL: openai.url },
    };
    this.#last = this.host.start({ workflow, prompt, env, cwd });
    return { ref: await this.#last, cwd, env };
  }

  get root(): Root {
    return openRoot({ path: this.host.root });
  }

  kill(): Promise<void> {
    return signalWorkers(this.root, "SIGKILL");
  }

  /** Kills the worker during an answer, after the worker has read the reported usage. */
  async killInAnswer(): Promise<void> {
    const ref = await this.#last;
    if (ref) await untilRead(this.host, [ref], Object.values(this.servers));
    await this.kill();
  }

  /** Expects the ledgers of `threads`, which must be all threads since the last start, to equal the servers' counts. */
  async expectCounted(...threads: ThreadRef[]): Promise<void> {
    await expectCounted(this.host, threads, Object.values(this.servers));
  }

  /** Returns the lines that the bundle's tools left in the file `marks`. */
  marksOf({ cwd }: Run): string[] {
    const file = join(cwd, "marks");
    return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  }
}

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Host, openLocalHost, type ThreadRef } from "@uncaged/workflow/host";
import type { Root } from "../../workflow/src/storage/paths.ts";
import { openRoot } from "../../workflow/src/storage/root.ts";
import { signalWorkers } from "../../workflow/test/fixtures/store.ts";
import { anthropicServer } from "./anthropic-server.ts";
import { openaiServer } from "./openai-server.ts";
import type { Reply, WireServer } from "./wire.ts";

export type Model = "claude" | "gpt";
export type Run = { ref: ThreadRef; cwd: string; env: Record<string, string> };

/** Threads in real workers, whose models are a server of each protocol. */
export class ModelRuns {
  readonly folder: string;
  readonly host: Host;
  readonly servers: Record<Model, WireServer<object>>;
  #count = 0;

  private constructor(folder: string, servers: Record<Model, WireServer<object>>) {
    this.folder = folder;
    this.host = openLocalHost({ path: join(folder, "root") });
    this.servers = servers;
  }

  static async open(reply: (body: object) => Reply): Promise<ModelRuns> {
    const folder = mkdtempSync(join(tmpdir(), "uncaged-models-"));
    return new ModelRuns(folder, {
      claude: await anthropicServer(reply),
      gpt: await openaiServer(reply),
    });
  }

  async close(): Promise<void> {
    for (const server of Object.values(this.servers)) await server.stop();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  /** Starts a thread in a folder of its own; what its bundle finds in the file `die` there is where it dies. */
  async start(workflow: string, prompt: string, die = ""): Promise<Run> {
    const cwd = join(this.folder, `run-${(this.#count += 1)}`);
    mkdirSync(cwd);
    if (die) writeFileSync(join(cwd, "die"), die);
    const { claude, gpt } = this.servers;
    for (const server of [claude, gpt]) server.came.splice(0);
    const env = {
      PATH: process.env.PATH ?? "",
      ...{ ANTHROPIC_API_KEY: claude.key, ANTHROPIC_BASE_URL: claude.url },
      ...{ OPENAI_API_KEY: gpt.key, OPENAI_BASE_URL: gpt.url },
    };
    return { ref: await this.host.start({ workflow, prompt, env, cwd }), cwd, env };
  }

  get root(): Root {
    return openRoot({ path: this.host.root });
  }

  kill(): Promise<void> {
    return signalWorkers(this.root, "SIGKILL");
  }

  /** The lines that the bundle's tools have left in the file `marks`. */
  marksOf({ cwd }: Run): string[] {
    const file = join(cwd, "marks");
    return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  }
}

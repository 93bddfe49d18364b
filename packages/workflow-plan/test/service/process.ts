import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { until } from "../../../workflow/test/fixtures/until.ts";
import { command, type TestHome } from "../home.ts";

const program = fileURLToPath(new URL("./service.ts", import.meta.url));

type Settings = { pass?: boolean; clock?: string; crash?: number; everyMs?: number };

/** A service of a test's plan home, or one pass, in a separate process. */
export class ServiceProcess {
  readonly lines: { kind?: string; [key: string]: unknown }[] = [];
  readonly #child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<number | string | null>;
  errors = "";

  constructor({ home, store }: TestHome, settings: Settings = {}) {
    const own = { root: store.root, home, cwd: store.folder, agentCommand: command };
    const task = JSON.stringify({ ...own, everyMs: 20, ...settings });
    const env = { ...store.env, PATH: process.env.PATH ?? "" };
    this.#child = spawn(process.execPath, [program, task], { env });
    let rest = "";
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const [last = "", ...lines] = `${rest}${text}`.split("\n").toReversed();
      rest = last;
      this.lines.push(...lines.toReversed().map((line) => JSON.parse(line) as { kind?: string }));
    });
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => (this.errors += text));
    this.ended = new Promise((resolve) => {
      this.#child.once("close", (code, signal) => resolve(signal ?? code));
    });
  }

  /** Waits until the process reports an event of a kind. */
  async reported(kind: string): Promise<void> {
    await until(
      () => this.lines.some((line) => line.kind === kind),
      () => `no ${kind}: ${JSON.stringify(this.lines)} ${this.errors}`,
    );
  }

  async kill(signal: "SIGKILL" | "SIGTERM" = "SIGKILL"): Promise<void> {
    this.#child.kill(signal);
    await this.ended;
  }
}

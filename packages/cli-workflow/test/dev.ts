import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Store } from "./program.ts";

/** A line that `dev --json` prints. */
export type DevLine = {
  kind: string;
  threadId?: string;
  changed?: string | null;
  forkFrom?: { threadId: string; steps: number } | null;
  number?: number;
  step?: { role: string; content: string };
  unchanged?: boolean;
  status?: string;
} & Record<string, unknown>;

const patienceMs = 60_000;

/** A running `dev --json` of a file, with its output so far. */
export class Dev {
  readonly lines: DevLine[] = [];
  readonly #child: Bun.Subprocess<"ignore" | "pipe" | Uint8Array, "pipe", "pipe">;
  readonly #path: string;
  #taken = 0;
  #change = Promise.withResolvers<void>();
  #isOver = false;

  constructor(child: Bun.Subprocess<"ignore" | "pipe" | Uint8Array, "pipe", "pipe">, path: string) {
    this.#path = path;
    this.#child = child;
    void this.#read();
  }

  static of(store: Store, file: string, ...args: string[]): Dev {
    return new Dev(store.start(["dev", file, "--json", ...args]), join(store.folder, file));
  }

  /** Returns the next line of a kind that was not returned before. */
  async next(kind: string, isIt: (line: DevLine) => boolean = () => true): Promise<DevLine> {
    const end = Date.now() + patienceMs;
    for (;;) {
      const found = this.lines.findIndex(
        (line, at) => at >= this.#taken && line.kind === kind && isIt(line),
      );
      if (found >= 0) {
        this.#taken = found + 1;
        return this.lines[found] as DevLine;
      }
      if (this.#isOver || Date.now() > end) {
        throw new Error(
          `no line of the kind ${kind} came after ${JSON.stringify(this.lines.slice(this.#taken))}`,
        );
      }
      await Promise.race([this.#change.promise, Bun.sleep(200)]);
    }
  }

  /** Waits until a thread ends or waits. Returns its steps as text, including kept steps. */
  async steps(): Promise<string[]> {
    const from = this.#taken;
    await this.next("end");
    return this.lines
      .slice(from, this.#taken)
      .flatMap(({ step }) => (step ? [`${step.role}: ${step.content}`] : []));
  }

  /** Changes the file, or another file in its folder, in place, like some editors. */
  edit(from: string, to: string, name?: string): void {
    const path = name === undefined ? this.#path : join(dirname(this.#path), name);
    const text = readFileSync(path, "utf8");
    if (!text.includes(from)) throw new Error(`the file does not contain ${from}`);
    writeFileSync(path, text.replace(from, to));
  }

  async end(signal: NodeJS.Signals = "SIGINT"): Promise<number> {
    this.#child.kill(signal);
    return await this.#child.exited;
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of this.#child.stdout) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = parts.pop() ?? "";
      this.lines.push(...parts.map((text) => JSON.parse(text) as DevLine));
      this.#ring();
    }
    this.#isOver = true;
    this.#ring();
  }

  #ring(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }
}

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Descriptor } from "@uncaged/workflow";
import { openLocalHost, settled } from "@uncaged/workflow/host";
import { newThreadId } from "@uncaged/workflow/internal";
import { buildBundle } from "../../../workflow/src/bundle/build.ts";
import { openRoot } from "../../../workflow/src/disk/root.ts";
import { DiskStore } from "../../../workflow/src/disk/store.ts";
import { registerBundle } from "../../../workflow/src/local/workflows.ts";
import { textOf } from "../../../workflow/src/record/record.ts";
import type { Recording } from "../../../workflow/src/upgrade/recording.ts";
import { newFolder, Store, type Ended } from "../program.ts";

/** The name of the workflow in each home. */
const name = "generated";
const descriptor: Descriptor = { description: "a generated workflow", roles: {} };

export type Tested = { version: string; result: "good" | "bad" | "skip" };
export type Answer = {
  code: number;
  firstBad?: string | null;
  tested?: Tested[];
  error?: { code: string; message: string };
  stderr: string;
};

/** The working folder of all commands, so that several can run at once in this process. */
let together: string | undefined;

/** A storage root with the versions of one workflow, and a recorded thread. */
export class Home {
  readonly store = new Store();
  readonly hashes: string[] = [];

  /** Registers bundles as versions, the first is the oldest. They are not loaded. */
  async add(bundles: readonly string[]): Promise<void> {
    const root = openRoot({ path: this.store.root });
    for (const text of bundles) {
      const bytes = new TextEncoder().encode(text);
      const { hash, unchanged } = await registerBundle(root, name, bytes, { descriptor });
      if (unchanged || this.hashes.includes(hash)) throw new Error("two versions are the same");
      this.hashes.push(hash);
    }
  }

  /** Builds and registers sources with the command. */
  async build(sources: readonly string[]): Promise<void> {
    const file = join(this.store.folder, "generated.ts");
    for (const source of sources) {
      writeFileSync(file, source);
      const { hash } = await this.store.json<{ hash: string }>(["add", name, file]);
      this.hashes.push(hash);
    }
  }

  /** Stores a recorded thread of a version, and returns its id. `summary` and `code` are its result. */
  async record(at: number, { start, steps, end }: Recording, code = 0): Promise<string> {
    const hash = this.hashes[at] as string;
    const threadId = await newThreadId();
    const { options, ...parameters } = start.parameters;
    const own = { ...options, cwd: this.store.folder };
    const begun = {
      ...{ ...start, name, hash, threadId },
      parameters: { ...parameters, options: own },
    };
    const ended = {
      ...({ role: "__end__", content: "ended" } as const),
      ...{ meta: { returnCode: code, reason: end ?? "returned" }, timestamp: Date.now() },
    };
    const records = [begun, ...steps].map(textOf);
    if (end !== null) records.push(textOf(ended));
    const store = new DiskStore(openRoot({ path: this.store.root }));
    await store.create({
      ...{ hash, threadId, name, createdAt: start.timestamp, records },
      state: end === null ? { kind: "running" } : { kind: "ended" },
    });
    await store.close();
    return threadId;
  }

  /** Runs a thread of a version, answers its questions, and returns its id. */
  async run(at: number): Promise<string> {
    const id = await this.store.ok(["run", `${name}@${this.hashes[at] ?? ""}`]);
    const host = openLocalHost({ path: this.store.root, env: this.store.env });
    const ref = await host.find(id);
    for (;;) {
      const { status } = await settled(host, ref);
      if (status === "completed") return id;
      if (status !== "waiting") throw new Error(`the thread is ${status}`);
      await this.store.ok(["resume", id, "--input", "4"]);
    }
  }

  /** Runs the command between two versions, in this process unless `isApart`. */
  async bisect(
    id: string,
    [good, bad]: readonly [number, number],
    args: readonly string[],
    { isApart = false, env = {} }: { isApart?: boolean; env?: Record<string, string> } = {},
  ): Promise<Answer> {
    const range = ["--good", this.hashes[good] ?? "", "--bad", `${name}@${this.hashes[bad] ?? ""}`];
    const words = ["bisect", id, ...range, ...args, "--json"];
    const cwd = (together ??= newFolder());
    const run = (): Promise<Ended> | Ended =>
      isApart ? this.#apart(words, env) : this.store.run(words, { env, cwd });
    const { code, stdout, stderr } = await run();
    return { code, stderr, ...(JSON.parse(stdout || "{}") as Omit<Answer, "code" | "stderr">) };
  }

  async #apart(words: string[], env: Record<string, string>): Promise<Ended> {
    const child = this.store.start(words, { env });
    const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    return { code: await child.exited, stdout, stderr };
  }
}

/** Builds a TypeScript module once. Returns a function that puts a text in place of `marker`. */
export async function moduleOf(source: string, marker: string): Promise<(text: string) => string> {
  const file = join(newFolder(), "module.ts");
  writeFileSync(file, source);
  const { code } = await buildBundle(file);
  const parts = new TextDecoder().decode(code).split(marker);
  if (parts.length !== 2) throw new Error(`the module has ${parts.length - 1} markers`);
  return (text) => parts.join(text);
}

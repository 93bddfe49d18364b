import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import {
  openLocalHost,
  settled,
  threadJson,
  type ThreadJson,
  type ThreadRef,
} from "@uncaged/workflow/host";
import { stepsSource } from "@uncaged/workflow-steps/source";

/** Options of a thread. */
export type Given = {
  cwd: string;
  params?: object;
  prompt?: string;
  env?: Record<string, string>;
};

/** A storage root for a test. Its functions add and run step workflows as a user would. */
export class StepsHouse {
  readonly folder = mkdtempSync(join(tmpdir(), "uncaged-steps-"));
  readonly host = openLocalHost({ path: join(this.folder, "root") });
  readonly #idleBefore = process.env.UNCAGED_WORKFLOW_IDLE_MS;

  constructor() {
    process.env.UNCAGED_WORKFLOW_IDLE_MS = "500";
  }

  /** Creates an empty folder for a thread. */
  place(name = "cwd"): string {
    return mkdtempSync(join(this.folder, `${name}-`));
  }

  /** Adds a file under a name. Returns the warnings of its check. */
  async add(name: string, file: string): Promise<string[]> {
    const warnings: string[] = [];
    const sources = [stepsSource((warning) => warnings.push(warning))];
    await this.host.register(name, file, { sources });
    return warnings.map((warning) => warning.slice(warning.indexOf(basename(file))));
  }

  async start(workflow: string, { cwd, params, prompt = "", env }: Given): Promise<ThreadRef> {
    const options = { workflow, prompt, params, cwd, env: this.env(env) };
    const { threadId, hash } = await this.host.start(options);
    return { threadId, hash };
  }

  /** Runs a thread until it ends or waits. */
  async run(workflow: string, given: Given): Promise<ThreadJson> {
    return threadJson(await settled(this.host, await this.start(workflow, given)));
  }

  /** Answers a waiting thread, and runs it until it ends or waits again. */
  async answer(ref: ThreadRef, value: unknown, env?: Record<string, string>): Promise<ThreadJson> {
    const content = typeof value === "string" ? value : JSON.stringify(value);
    await this.host.control(ref, { kind: "answer", env: this.env(env), input: { content, value } });
    return threadJson(await settled(this.host, ref));
  }

  /** Returns the types of a thread's events. */
  async events(ref: ThreadRef): Promise<string[]> {
    const types: string[] = [];
    for await (const { record } of this.host.log(ref)) if (record.type) types.push(record.type);
    return types;
  }

  /** Returns the environment of a thread, with additional variables. */
  env(more: Record<string, string> = {}): Record<string, string> {
    return { PATH: process.env.PATH ?? "", HOME: this.folder, GIT_CONFIG_NOSYSTEM: "1", ...more };
  }

  close(): void {
    if (this.#idleBefore === undefined) delete process.env.UNCAGED_WORKFLOW_IDLE_MS;
    else process.env.UNCAGED_WORKFLOW_IDLE_MS = this.#idleBefore;
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/** Returns a thread's complete variables by name, with their last values. */
export function writtenBy({ steps }: ThreadJson): Record<string, unknown> {
  const writes = steps.flatMap(({ meta }) => (meta.variables ?? []) as Written[]);
  const whole = writes.filter(({ path }) => path.length === 1);
  return Object.fromEntries(whole.map(({ path: [name], value }) => [String(name), value]));
}

type Written = { path: (string | number)[]; value: unknown };

export const textIn = (cwd: string, path: string): string => readFileSync(join(cwd, path), "utf8");

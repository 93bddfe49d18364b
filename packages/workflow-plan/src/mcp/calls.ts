import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { StepMessage, StepReply } from "../ipc/message.ts";
import { fileForm, inOrder, mostBytes } from "../ipc/message.ts";
import { callRefused, callTooLong, noAnswer, otherAnswer } from "./errors.ts";

const pollMs = 20;
const answerMs = 120_000;

/** Calls the process that runs the step, with files in the step's folder. */
export class StepCalls {
  readonly #folder: string;
  readonly #hide: (text: string) => string;
  #count = 0;
  readonly #read = new Set<string>();

  /** Calls through a folder. `hide` removes the secrets from written texts. */
  constructor(folder: string, hide: (text: string) => string) {
    this.#folder = folder;
    this.#hide = hide;
  }

  /**
   * Writes a message and waits for its answer.
   * @throws ExecutorError for a refusal or a missing answer.
   */
  async call(message: StepMessage): Promise<unknown> {
    const text = this.#hide(JSON.stringify(message));
    if (Buffer.byteLength(text) > mostBytes) throw callTooLong();
    this.#count += 1;
    const order = `${Date.now()}-${String(this.#count).padStart(6, "0")}`;
    const name = `${order}-${randomBytes(4).toString("hex")}.json`;
    const aside = join(this.#folder, "output", `.${name}`);
    await writeFile(aside, text, { mode: 0o600, flag: "wx" });
    await rename(aside, join(this.#folder, "output", name));
    const reply = await this.#reply(join(this.#folder, "input", name));
    this.#read.add(name);
    if (reply.type === "done") return reply.value;
    throw reply.type === "refused" ? callRefused(reply.error) : otherAnswer();
  }

  async #reply(path: string): Promise<StepReply> {
    const end = performance.now() + answerMs;
    while (performance.now() < end && !existsSync(join(this.#folder, "_close"))) {
      const text = await readFile(path, "utf8").catch(() => null);
      if (text !== null) return JSON.parse(text) as StepReply;
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
    throw noAnswer();
  }

  /** Returns the user's additions to the step's task, each once, in the order of the file names. */
  async instructions(): Promise<string[]> {
    const input = join(this.#folder, "input");
    const names = await readdir(input).catch(() => []);
    const texts: string[] = [];
    for (const name of names.sort(inOrder)) {
      if (!fileForm.test(name) || this.#read.has(name)) continue;
      const text = await readFile(join(input, name), "utf8").catch(() => null);
      const instruction = text === null ? null : instructionIn(text);
      if (instruction === null) continue;
      this.#read.add(name);
      texts.push(instruction);
    }
    return texts;
  }
}

function instructionIn(text: string): string | null {
  try {
    const reply = JSON.parse(text) as StepReply;
    return reply.type === "instruction" && typeof reply.text === "string" ? reply.text : null;
  } catch {
    return null;
  }
}

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { AgentInputItem, Session } from "@openai/agents";

/** A session in a file, which outlives its process. */
export class FileSession implements Session {
  readonly #file: string;
  readonly #onWrite: () => void;

  /** Calls `onWrite` after each write. */
  constructor(file: string, onWrite: () => void) {
    this.#file = file;
    this.#onWrite = onWrite;
  }

  async getSessionId(): Promise<string> {
    return this.#file;
  }

  async getItems(limit?: number): Promise<AgentInputItem[]> {
    const all = existsSync(this.#file)
      ? (JSON.parse(readFileSync(this.#file, "utf8")) as AgentInputItem[])
      : [];
    return limit === undefined ? all : all.slice(-limit);
  }

  async addItems(items: AgentInputItem[]): Promise<void> {
    this.#write([...(await this.getItems()), ...items]);
  }

  async popItem(): Promise<AgentInputItem | undefined> {
    const all = await this.getItems();
    const last = all.pop();
    this.#write(all);
    return last;
  }

  async clearSession(): Promise<void> {
    this.#write([]);
  }

  #write(items: AgentInputItem[]): void {
    writeFileSync(this.#file, JSON.stringify(items));
    this.#onWrite();
  }
}

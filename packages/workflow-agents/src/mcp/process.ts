import { type ChildProcess, spawn } from "node:child_process";
import {
  type JSONRPCMessage,
  ReadBuffer,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { endGroup, guardGroup } from "../child/group.ts";

/** A server's command; `env` is all the environment that it gets. */
export type Program = {
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string;
};

// How long a server may take to end when its input ends, and again when it is asked to.
const graceMs = 2000;
// How long output may still come from a process that the server left behind.
const drainMs = 250;

/**
 * A server that is a process, which reads stdin and writes stdout. The client's own transport ends the one
 * process that it started: a wrapper's children, and what a server left running, would stay. This one
 * gives it a process group, which ends with it and with this process.
 */
export class ServerProcess implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport["onmessage"];
  readonly #program: Program;
  readonly #onErrorOutput: (chunk: Uint8Array) => void;
  readonly #buffer = new ReadBuffer();
  readonly #over: Promise<void>;
  #resolveOver: () => void = () => undefined;
  #child: ChildProcess | null = null;

  constructor(program: Program, onErrorOutput: (chunk: Uint8Array) => void) {
    this.#program = program;
    this.#onErrorOutput = onErrorOutput;
    this.#over = new Promise((resolve) => (this.#resolveOver = resolve));
  }

  async start(): Promise<void> {
    const { command, args, env, cwd } = this.#program;
    const child = spawn(command, args, { cwd, env: { ...env }, detached: true, stdio: "pipe" });
    const { pid } = child;
    // At once: a process that is killed before it has a guard leaves the server running.
    const guard = pid === undefined ? null : guardGroup(pid, graceMs);
    const fail = (error: Error): void => this.onerror?.(error);
    child.stdin.on("error", fail);
    child.stdout.on("data", (chunk: Buffer) => this.#take(chunk));
    child.stderr.on("data", this.#onErrorOutput);
    child.once("exit", () => {
      void this.#ended(child).then(() => guard?.release());
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", reject);
    });
    child.on("error", fail);
    this.#child = child;
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const { stdin } = this.#child ?? {};
    if (!stdin) throw new Error("the server does not run");
    if (stdin.write(serializeMessage(message))) return;
    await Promise.race([new Promise((drained) => stdin.once("drain", drained)), this.#over]);
  }

  /** Ends the server: its input first, then its whole group is asked to, then it is by force. */
  async close(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child?.pid === undefined) return;
    child.stdin?.end();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<"late">((resolve) => {
      timer = setTimeout(() => resolve("late"), graceMs);
    });
    if ((await Promise.race([this.#over, late])) === "late") {
      await endGroup(child.pid, graceMs);
    }
    clearTimeout(timer);
    await this.#over;
  }

  #take(chunk: Buffer): void {
    try {
      this.#buffer.append(chunk);
    } catch (error) {
      // More than any message may have: what follows can't be understood.
      this.onerror?.(error as Error);
      void this.close();
      return;
    }
    for (let isMore = true; isMore; ) {
      try {
        const message = this.#buffer.readMessage();
        isMore = message !== null;
        if (message) this.onmessage?.(message);
      } catch (error) {
        this.onerror?.(error as Error);
      }
    }
  }

  async #ended(child: ChildProcess): Promise<void> {
    const group = child.pid === undefined ? null : endGroup(child.pid, graceMs);
    const closed = new Promise<void>((done) => child.once("close", () => done()));
    await Promise.race([closed, new Promise((done) => setTimeout(done, drainMs))]);
    child.stdout?.destroy();
    child.stderr?.destroy();
    this.#child = null;
    this.#buffer.clear();
    this.#resolveOver();
    this.onclose?.();
    await group;
  }
}

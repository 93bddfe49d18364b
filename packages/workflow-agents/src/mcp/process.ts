import {
  type JSONRPCMessage,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { type ProcessGroup, spawnGroup } from "../child/group.ts";
import { Lines } from "../child/output.ts";
import type { GroupRequest } from "../child/request.ts";
import type { Exchange } from "./exchange.ts";
import { longestMessage, tooLong } from "./http.ts";

// Time for a server to exit after the end of its stdin, and again after SIGTERM, in milliseconds.
const graceMs = 2000;

/** A transport to a server in its own process group. The SDK's transport would not end the server's child processes. */
export class ServerProcess implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport["onmessage"];
  readonly #program: Omit<GroupRequest, "graceMs">;
  readonly #onErrorOutput: (chunk: Uint8Array) => void;
  readonly #exchange: Exchange;
  #server: ProcessGroup | null = null;

  constructor(
    program: Omit<GroupRequest, "graceMs">,
    exchange: Exchange,
    onErrorOutput: (chunk: Uint8Array) => void,
  ) {
    this.#program = program;
    this.#exchange = exchange;
    this.#onErrorOutput = onErrorOutput;
  }

  /*
   * Because of these two properties, the client treats the server as a local program, whose late answers are not
   * errors.
   */
  get pid(): number | null {
    return this.#server?.pid ?? null;
  }

  get stderr(): null {
    return null;
  }

  async start(): Promise<void> {
    const { child, ended } = (this.#server = await spawnGroup({ ...this.#program, graceMs }));
    child.stdin.on("error", (error) => this.onerror?.(error));
    const lines = new Lines(
      longestMessage,
      (line) => this.#give(this.#exchange.line(line)),
      () => this.#give(this.#exchange.failed(tooLong)),
    );
    child.stdout.on("data", (chunk: Buffer) => lines.add(chunk));
    child.stderr.on("data", this.#onErrorOutput);
    void ended.then(() => {
      this.#server = null;
      // The last line may lack a line end.
      lines.end();
      this.onclose?.();
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (!this.#server) throw new Error("the server is not running");
    this.#exchange.sent(message);
    const { child, ended } = this.#server;
    if (child.stdin.write(serializeMessage(message))) return;
    await Promise.race([new Promise((drained) => child.stdin.once("drain", drained)), ended]);
  }

  /** Ends the server: closes its stdin, then sends SIGTERM to the group, then SIGKILL. */
  async close(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (!server) return;
    server.child.stdin.end();
    const timer = setTimeout(() => void server.end(), graceMs);
    await server.ended;
    clearTimeout(timer);
  }

  #give(messages: readonly JSONRPCMessage[]): void {
    for (const message of messages) this.onmessage?.(message);
  }
}

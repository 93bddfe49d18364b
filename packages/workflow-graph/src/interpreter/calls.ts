import type { SubagentCall } from "../agent/agent.ts";
import type { LogType } from "./log.ts";

type Log = (type: LogType, content: string) => void;

/** The calls of subagents below one node: each that was started is ended, also when the node's agent fails. */
export class Calls {
  readonly #open = new Map<string, SubagentCall>();
  readonly #nodeId: string;
  readonly #log: Log;

  constructor(nodeId: string, log: Log) {
    this.#nodeId = nodeId;
    this.#log = log;
  }

  take(call: SubagentCall): void {
    if (call.type === "subagent_call_start") this.#open.set(call.callId, call);
    else if (!this.#open.delete(call.callId)) return;
    const { type, ...rest } = call;
    this.#log(type, JSON.stringify({ type, parentNodeId: this.#nodeId, ...rest }));
  }

  /** The agent has thrown: whatever is still open ends with it. */
  fail(message: string): void {
    for (const call of [...this.#open.values()].toReversed()) {
      this.take({ ...call, type: "subagent_call_error", message });
    }
  }
}

import type { Host, HostChange } from "@uncaged/workflow/host";
import { setTimeout as sleep } from "node:timers/promises";
import type { HostEvents } from "../schema/thread.ts";
import { Feed } from "./feed.ts";
import { type Message, messageOf } from "./streams.ts";

const retryMs = 1_000;

/** The changes of a host. Without listeners the feed keeps no changes, so a later listener must read everything. */
export class ChangeFeed extends Feed {
  readonly #host: Host;
  #epoch = "";
  #sent = 0;

  constructor(host: Host) {
    super();
    this.#host = host;
  }

  protected get cursor(): string {
    return `${this.#epoch}.${this.#sent}`;
  }

  protected reload(cursor: string): Message {
    return message("reload", {}, cursor);
  }

  protected async watch(signal: AbortSignal): Promise<void> {
    this.#epoch = crypto.randomUUID().slice(0, 8);
    this.#sent = 0;
    this.begin(this.cursor);
    while (!signal.aborted) {
      try {
        for await (const change of this.#host.changes(signal)) {
          if (signal.aborted) return;
          this.#sent += 1;
          this.push(messageFor(change, this.cursor));
          this.ready();
        }
      } catch {
        // The next attempt may succeed. It begins with a `ready` change, so that listeners reload.
      }
      await sleep(retryMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
}

function messageFor(change: HostChange, id: string): Message {
  switch (change.kind) {
    case "ready":
      return message("reload", {}, id);
    case "thread":
      return message("thread", change.row, id);
    case "removed":
      return message("removed", { threadId: change.threadId }, id);
    case "workflows":
      return message("workflows", {}, id);
  }
}

const message = <Name extends keyof HostEvents>(
  name: Name,
  data: HostEvents[Name],
  id: string,
): Message => messageOf(name, data, id);

import type { Root } from "@uncaged/workflow/host";
import { logEventNames, type StoreEventName } from "../shape/event.ts";
import type { LiveThreads } from "./live.ts";
import { Logs } from "./logs.ts";
import { Notices } from "./notices.ts";
import type { Source } from "./streams.ts";
import { Wake } from "./wake.ts";
import { Watcher } from "./watcher.ts";

/** All threads of a storage root, for all who watch them now: their logs, and how they stand. */
export class Overview {
  readonly #newsOfLogs = new Wake();
  readonly #news = new Wake(this.#newsOfLogs);
  readonly #notices: Notices;
  readonly #logs: Logs;

  constructor(root: Root, live: LiveThreads) {
    this.#notices = new Notices(root, live, this.#news);
    this.#logs = new Logs(root, live, this.#newsOfLogs);
  }

  /**
   * Begins to watch what has one of the names, behind the event with an id; without one from now on.
   *
   * @throws WorkflowError `BAD_POSITION` (usage).
   */
  watch(id: string | undefined, names: ReadonlySet<StoreEventName>): Source {
    const isLog = logEventNames.some((name) => names.has(name));
    return new Watcher({
      id,
      names,
      notices: this.#notices,
      logs: isLog ? this.#logs : null,
      wake: isLog ? this.#newsOfLogs : this.#news,
    });
  }
}

import { useQueryClient } from "@tanstack/react-query";
import type { ThreadEvents } from "@uncaged/workflow-server/api-types";
import { useEffect, useMemo, useState } from "react";
import { pathOf } from "../api/request.ts";
import { threadKeys } from "../api/threads.ts";
import { Stream } from "../events/stream.ts";
import { ThreadLog } from "./log.ts";

/** What is counted from a thread's steps is asked for this often at the most. */
const askEveryMs = 1_000;

/** A thread's log: all that stands in it, and all that comes. Give the id as it is, not shortened. */
export function useThreadLog(threadId: string): ThreadLog {
  const client = useQueryClient();
  const log = useMemo(() => ({ threadId, log: new ThreadLog() }), [threadId]).log;
  const [, setShown] = useState(0);
  useEffect(() => {
    const reader = new Reader(log, {
      onShow: () => setShown((count) => count + 1),
      onAsk: () => void client.invalidateQueries({ queryKey: threadKeys.one(threadId) }),
    });
    const stream = new Stream<ThreadEvents>({
      url: (from) => {
        const at = from ?? reader.position;
        return `/api${pathOf("threads", threadId, "events")}${at ? `?from=${encodeURIComponent(at)}` : ""}`;
      },
      on: reader.listeners(() => stream.close()),
    });
    return () => {
      reader.position = stream.position;
      stream.close();
      reader.close();
    };
  }, [client, log, threadId]);
  return log;
}

type Told = { onShow: () => void; onAsk: () => void };

/** Where a log was read to, for one who begins to read it again. */
const positions = new WeakMap<ThreadLog, string>();

class Reader {
  readonly #log: ThreadLog;
  readonly #told: Told;
  #frame = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(log: ThreadLog, told: Told) {
    this.#log = log;
    this.#told = told;
  }

  get position(): string | null {
    return positions.get(this.#log) ?? null;
  }

  set position(position: string | null) {
    if (position !== null) positions.set(this.#log, position);
  }

  listeners(onOver: () => void) {
    const log = this.#log;
    return {
      start: (data: ThreadEvents["start"]) => this.#take(() => log.takeStart(data), true),
      step: (data: ThreadEvents["step"]) => this.#take(() => log.takeStep(data), true),
      event: (data: ThreadEvents["event"]) => this.#take(() => log.takeEvent(data), false),
      status: ({ status }: ThreadEvents["status"]) =>
        this.#take(() => {
          log.status = status;
        }, true),
      end: (data: ThreadEvents["end"]) => {
        this.#take(() => {
          log.end = data;
          log.status = data.status;
        }, true);
        onOver();
      },
      removed: () => {
        this.#take(() => {
          log.isRemoved = true;
        }, false);
        onOver();
      },
    };
  }

  close(): void {
    cancelAnimationFrame(this.#frame);
    if (this.#timer) clearTimeout(this.#timer);
  }

  // A long log comes in thousands of pieces: they are shown together, once a frame.
  #take(change: () => void, isCounted: boolean): void {
    change();
    if (this.#frame === 0) {
      this.#frame = requestAnimationFrame(() => {
        this.#frame = 0;
        this.#told.onShow();
      });
    }
    if (!isCounted) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#told.onAsk();
    }, askEveryMs);
  }
}

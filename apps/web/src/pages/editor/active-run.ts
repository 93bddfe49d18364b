import { useEffect } from "react";
import type { Run } from "../../thread/run/use-run.ts";
import { isEnded } from "../../lib/threads.ts";

/** Storage key of the id of the run in progress, which other programs read. */
const key = "agentflow-run-id";
const threadId = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/**
 * Stores the id of the selected run while it has not ended. At first, `onFound` gets the id that another tab or an
 * earlier version has stored. `isUsed` is false for a saved graph.
 */
export function useActiveRun(isUsed: boolean, run: Run, onFound: (id: string) => void): void {
  useEffect(() => {
    const found = isUsed ? read() : null;
    if (found !== null && threadId.test(found)) onFound(found);
  }, []);
  const { threadId: id, status } = run;
  useEffect(() => {
    if (isUsed && id !== null && status !== null) write(isEnded(status) ? null : id);
  }, [isUsed, id, status]);
}

function read(): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function write(id: string | null): void {
  try {
    if (id === null) localStorage.removeItem(key);
    else localStorage.setItem(key, id);
  } catch {
    // The storage is full or disabled.
  }
}

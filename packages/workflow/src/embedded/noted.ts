import { isWorkflowError } from "../contract/error.ts";
import type { Noted } from "../record/thread.ts";
import type { ThreadInfo } from "../store/store.ts";

/** Returns the facts about a thread that the store keeps outside of its log. */
export const notedIn = (info: ThreadInfo | null): Noted => ({
  movedTo: info?.movedTo ?? null,
  paused: info?.paused ?? false,
});

/** Returns whether an error is about a missing thread. */
export const isMissing = (error: unknown): boolean =>
  isWorkflowError(error) && error.code === "THREAD_NOT_FOUND";

import { readThreadsSearch } from "../../lib/search.ts";
import type { View } from "./filter.ts";

const key = "thread-views";
const listeners = new Set<() => void>();
let known: { text: string | null; views: readonly View[] } = { text: null, views: [] };

/** The views that this browser has saved. */
export function readViews(): readonly View[] {
  const text = localStorage.getItem(key);
  if (text !== known.text) known = { text, views: text === null ? [] : viewsIn(text) };
  return known.views;
}

/** The valid views of a stored text. */
export function viewsIn(text: string): View[] {
  try {
    const stored: unknown = JSON.parse(text);
    if (!Array.isArray(stored)) return [];
    return stored.flatMap((one: Partial<View> | null) =>
      typeof one?.name === "string"
        ? { name: one.name, filter: readThreadsSearch({ ...one.filter, start: undefined }) }
        : [],
    );
  } catch {
    return [];
  }
}

export function keepViews(views: readonly View[]): void {
  localStorage.setItem(key, JSON.stringify(views));
  for (const listener of listeners) listener();
}

/** Calls a listener when the views change, also in another tab. */
export function subscribeToViews(listener: () => void): () => void {
  listeners.add(listener);
  addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    removeEventListener("storage", listener);
  };
}

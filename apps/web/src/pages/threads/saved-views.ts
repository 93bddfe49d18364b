import { readThreadsSearch } from "../../lib/search.ts";
import { store } from "../../lib/stored.ts";
import type { View } from "./filter.ts";

/** Storage key of the views that this browser has saved. */
export const viewsKey = "thread-views";

/** The valid views of a stored text. */
export function viewsIn(text: string | null): View[] {
  try {
    const stored: unknown = JSON.parse(text ?? "[]");
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

/** Saves the views. Returns false if the browser can't store them. */
export const keepViews = (views: readonly View[]): boolean =>
  store(viewsKey, JSON.stringify(views));

import { prefixOf } from "./step-type.ts";

/**
 * What a step's id names: the id without its prefix, and without one group of digits that orders the
 * steps unless the name with it is a known one (`API_010_users` calls `users`).
 */
export function nameOf(id: string, known: readonly string[] = []): string {
  const rest = id.slice(prefixOf(id).length + 1);
  if (known.includes(rest)) return rest;
  return rest.replace(/^\d+_(?=.)/, "");
}

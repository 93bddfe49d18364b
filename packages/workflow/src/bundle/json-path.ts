/** The keys and indices that lead to a place in a JSON value. */
export type JsonPath = readonly (string | number)[];

/** A path as a person reads it: `roles.planner.schema.anyOf[0]["a b"]`. */
export function showPath(path: JsonPath): string {
  return path
    .map((key) => {
      if (typeof key === "number") return `[${key}]`;
      return /^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
    })
    .join("")
    .replace(/^\./, "");
}

/** A value of JSON. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** The keys and indices that lead to a place in a JSON value. */
export type JsonPath = readonly (string | number)[];

/** Why a value is no JSON, and where. */
export type JsonProblem = { path: JsonPath; message: string };

const maxDepth = 100;

/**
 * A deep copy of a value as JSON, or why it is none.
 *
 * Properties that are `undefined` are left out, as JSON leaves them out. Nothing else is bent into
 * shape: no function, symbol, BigInt, NaN, Infinity, cycle, class instance (a Date, a Map, a Zod
 * schema), hole in an array, lone surrogate or key `__proto__`.
 */
export function toJson(value: unknown): { value: Json } | { problem: JsonProblem } {
  try {
    return { value: copy(value, []) };
  } catch (error) {
    if (error instanceof NotJson) return { problem: { path: error.path, message: error.message } };
    throw error;
  }
}

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

class NotJson extends Error {
  constructor(
    readonly path: JsonPath,
    message: string,
  ) {
    super(message);
  }
}

function copy(value: unknown, path: JsonPath): Json {
  if (path.length > maxDepth) throw new NotJson(path.slice(0, 5), "is nested too deeply");
  switch (typeof value) {
    case "boolean":
      return value;
    case "number":
      if (!Number.isFinite(value)) throw new NotJson(path, `is ${value}, which JSON can't hold`);
      return value;
    case "string":
      if (!value.isWellFormed()) throw new NotJson(path, "holds half of a surrogate pair");
      return value;
    case "object":
      return value === null ? null : copyObject(value, path);
    default:
      throw new NotJson(path, `is ${typeof value}, which JSON can't hold`);
  }
}

function copyObject(value: object, path: JsonPath): Json {
  if (Array.isArray(value)) {
    return Array.from(value, (item: unknown, index) => copy(item, [...path, index]));
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    throw new NotJson(path, "is an instance of a class, not a plain object");
  }
  const result: { [key: string]: Json } = {};
  for (const [key, item] of Object.entries(value) as [string, unknown][]) {
    if (key === "__proto__") throw new NotJson(path, "has a key __proto__");
    copy(key, path);
    if (item !== undefined) result[key] = copy(item, [...path, key]);
  }
  return result;
}

import { show } from "./show.ts";

/** What a value is, in words that follow "is". */
export function kindOf(value: unknown): string {
  if (value === undefined || value === null || typeof value === "boolean") return String(value);
  if (typeof value === "bigint") return "a BigInt";
  if (typeof value === "number") return Number.isFinite(value) ? "a number" : String(value);
  if (typeof value !== "object") return `a ${typeof value}`;
  if (Array.isArray(value)) return "an array";
  const name: unknown = Object.getPrototypeOf(value)?.constructor?.name;
  if (typeof name !== "string" || name === "" || name === "Object") return "an object";
  return `an instance of ${/^[\w$]{1,80}$/.test(name) ? name : show(name)}`;
}

/** Whether a value is an object made by `{}`, also in another realm, or one without a prototype. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/*
 * Converts values to JSON and back without loss. A value that JSON can't represent (bytes, a date, a URL, undefined, a
 * bigint, -0, a number that is not finite) becomes an object with the only key `$`.
 */
import { resultNotJson } from "../tools/errors.ts";

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/**
 * Returns a value as JSON. The class of an object is lost: only its data, or the result of `toJSON`, is kept.
 *
 * @throws WorkflowError `TOOL_RESULT` for a function, a symbol or a cycle.
 */
export const encoded = (value: unknown): Json => encodedIn(value, []);

function encodedIn(value: unknown, parents: readonly unknown[]): Json {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0)
        ? value
        : tagged("number", Object.is(value, -0) ? "-0" : String(value));
    case "undefined":
      return tagged("undefined", "");
    case "bigint":
      return tagged("bigint", String(value));
    case "object":
      return value === null ? null : encodedObject(value, parents);
    default:
      throw resultNotJson(`the value contains a ${typeof value}`, undefined);
  }
}

function encodedObject(value: object, parents: readonly unknown[]): Json {
  if (parents.includes(value)) throw resultNotJson("the value contains itself", undefined);
  const within = [...parents, value];
  if (Array.isArray(value)) return value.map((one) => encodedIn(one, within));
  if (value instanceof Uint8Array) return tagged("bytes", Buffer.from(value).toString("base64"));
  if (value instanceof Date) return tagged("date", String(value.getTime()));
  if (value instanceof URL) return tagged("url", value.href);
  if ("toJSON" in value && typeof value.toJSON === "function") {
    return encodedIn(value.toJSON(), within);
  }
  const entries = Object.entries(value).map(([key, one]): [string, Json] => [
    key,
    encodedIn(one, within),
  ]);
  const object = Object.fromEntries(entries);
  return Object.hasOwn(object, "$") ? { $: ["object", object] } : object;
}

const tagged = (type: string, text: string): Json => ({ $: [type, text] });

/** Returns the original value of JSON from {@link encoded}. */
export function decoded(json: unknown): unknown {
  if (typeof json !== "object" || json === null) return json;
  if (Array.isArray(json)) return json.map(decoded);
  const { $: tag } = json as { $?: unknown };
  if (!Array.isArray(tag)) return fields(json);
  const [type, given] = tag as [string, unknown];
  const text = String(given);
  switch (type) {
    case "number":
      return Number(text);
    case "undefined":
      return undefined;
    case "bigint":
      return BigInt(text);
    case "bytes":
      return new Uint8Array(Buffer.from(text, "base64"));
    case "date":
      return new Date(Number(text));
    case "url":
      return new URL(text);
    default:
      return fields(given as object);
  }
}

const fields = (object: object): object =>
  Object.fromEntries(Object.entries(object).map(([key, one]) => [key, decoded(one)]));

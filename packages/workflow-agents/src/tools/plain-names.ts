import { createHash } from "node:crypto";
import { isRawNumber } from "@uncaged/workflow/interpreter";
import { type Fields, isObject } from "../run/error.ts";

/**
 * A tool's schema with property names that every provider accepts. `restored` restores the tool's names in a model's
 * input.
 */
export type Sendable = { schema: Fields; restored: (input: Fields) => Fields };

const plainName = /^[a-zA-Z0-9_.-]{1,64}$/;
const deepest = 64;

export function sendable(given: Fields): Sendable {
  const names = new Map<string, string>();
  const root = renamed(given, names, 0) as Fields;
  return {
    schema: {
      ...root,
      type: "object",
      properties: isObject(root.properties) ? root.properties : {},
    },
    restored: (input) => (names.size === 0 ? input : (restoredIn(input, names) as Fields)),
  };
}

/** Returns a schema whose property names every provider accepts. Adds the changed names to `names`. */
function renamed(value: unknown, names: Map<string, string>, depth: number): unknown {
  if (Array.isArray(value)) return value.map((one) => renamed(one, names, depth + 1));
  if (!isObject(value) || depth > deepest) return value;
  const schema = Object.entries(value).map(([key, one]): [string, unknown] => {
    if (asIs.has(key)) return [key, one];
    if (key === "properties" && isObject(one)) {
      const properties = Object.entries(one).map(([name, inner]) => [
        nameFor(name, names),
        renamed(inner, names, depth + 1),
      ]);
      return [key, Object.fromEntries(properties)];
    }
    if (key === "required" && Array.isArray(one)) {
      return [key, one.flatMap((name) => (typeof name === "string" ? [nameFor(name, names)] : []))];
    }
    return [key, renamed(one, names, depth + 1)];
  });
  return Object.fromEntries(schema);
}

// These keywords contain the author's values instead of schemas.
const asIs = new Set(["enum", "const", "default", "examples", "example"]);

function nameFor(name: string, names: Map<string, string>): string {
  if (plainName.test(name)) return name;
  const digits = createHash("sha256").update(name.toWellFormed()).digest("hex").slice(0, 6);
  const plain = `${name.replace(/[^a-zA-Z0-9_.-]/g, "_").slice(0, 57)}_${digits}`;
  names.set(plain, name);
  return plain;
}

function restoredIn(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((one) => restoredIn(one, names));
  if (!isObject(value) || isRawNumber(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [names.get(key) ?? key, restoredIn(one, names)]),
  );
}

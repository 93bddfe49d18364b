import { createHash } from "node:crypto";
import { type Fields, isObject } from "../run/error.ts";

/**
 * A tool's schema as every provider takes it: an object with `properties` whose names are plain, and without alternatives at
 * its root. `restored` gives what a model made of it the names that the server knows.
 */
export type Sendable = { schema: Fields; restored: (input: Fields) => Fields };

const plainName = /^[a-zA-Z0-9_.-]{1,64}$/;
const alternatives = ["anyOf", "oneOf", "allOf"] as const;
/** Keywords that no provider takes beside the type of a root. */
const refused = new Set([...alternatives, "not", "enum", "const", "if", "then", "else"]);
const deepest = 64;

export function sendable(given: Fields): Sendable {
  const names = new Map<string, string>();
  const root = renamed(merged(given), names, 0) as Fields;
  return {
    schema: {
      ...root,
      type: "object",
      properties: isObject(root.properties) ? root.properties : {},
    },
    restored: (input) => (names.size === 0 ? input : (restoredIn(input, names) as Fields)),
  };
}

/** A root with the properties of all its alternatives; it requires what each of them does. The server checks the rest. */
function merged(root: Fields, depth = 0): Fields {
  const schema = at(root, root);
  const entries = Object.entries(schema).filter(([key]) => !refused.has(key));
  const own: Fields = { ...Object.fromEntries(entries) };
  for (const key of alternatives) {
    const list: unknown[] = Array.isArray(schema[key]) ? schema[key] : [];
    const parts = list
      .filter(isObject)
      .map((part) =>
        depth < deepest ? merged({ ...definitionsOf(root), ...at(part, root) }, depth + 1) : {},
      );
    const required = parts.map((part) => listOf(part.required));
    const all =
      key === "allOf"
        ? required.flat()
        : (required[0] ?? []).filter((name) => required.every((one) => one.includes(name)));
    const properties = parts
      .toReversed()
      .map((part) => (isObject(part.properties) ? part.properties : {}));
    own.properties = Object.assign(
      {},
      ...properties,
      isObject(own.properties) ? own.properties : {},
    );
    const names = [...new Set([...listOf(own.required), ...all])];
    if (names.length > 0) own.required = names;
    // What one alternative refuses another may take.
    if (parts.length > 0) delete own.additionalProperties;
  }
  return own;
}

const definitionsOf = ({ $defs, definitions }: Fields): Fields => ({
  ...($defs !== undefined && { $defs }),
  ...(definitions !== undefined && { definitions }),
});

/** A schema, or what it refers to within the root. */
function at(schema: Fields, root: Fields): Fields {
  const { $ref, ...rest } = schema;
  const path = typeof $ref === "string" && /^#\/(\$defs|definitions)\/([^/]+)$/.exec($ref);
  if (!path) return schema;
  const [, key = "", name = ""] = path;
  const definitions = root[key];
  const found =
    isObject(definitions) && Object.hasOwn(definitions, name) ? definitions[name] : undefined;
  return isObject(found) ? { ...found, ...rest } : rest;
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** A schema whose properties have plain names; `names` keeps those that were changed. */
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

// Values of the author's, and no schemas.
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
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [names.get(key) ?? key, restoredIn(one, names)]),
  );
}

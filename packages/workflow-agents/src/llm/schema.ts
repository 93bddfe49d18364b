import { isRawNumber } from "@uncaged/workflow/interpreter";
import { isObject } from "../run/error.ts";

/** The JSON Schema subset of a provider's structured-output mode. */
export type SchemaRules = {
  /** Whether all properties must be required. Optional properties then become nullable. */
  areAllRequired: boolean;
  mayRecur: boolean;
  /**
   * Returns whether the mode enforces a keyword. Other keywords are described to the model, and the caller checks them.
   */
  enforces: (keyword: string, value: unknown) => boolean;
  /** Returns whether the mode allows a schema of this size. */
  allows: (size: SchemaSize) => boolean;
};

export type SchemaSize = {
  properties: number;
  optional: number;
  unions: number;
  depth: number;
  enumValues: number;
  /** The number of characters in all names and all enum values. */
  characters: number;
};

type Node = Record<string, unknown>;

/**
 * Converts an object's schema to a schema that a provider's mode allows. Returns null if the mode cannot express the
 * schema, for example arbitrary keys or values of any type. Keywords that the mode does not enforce become parts of the
 * descriptions.
 */
export function strictSchema(schema: object, rules: SchemaRules): Node | null {
  const strict = new Strict(schema as Node, rules);
  try {
    return strict.root();
  } catch (error) {
    if (error instanceof NotAllowed) return null;
    throw error;
  }
}

class NotAllowed extends Error {}

const structure = `type properties required additionalProperties items anyOf oneOf const enum $ref
  $defs definitions $schema $id title description`;
const known = new Set(structure.split(/\s+/));
// Keywords that only narrow a value, so that a later check can replace them. All other keywords define the structure.
const narrowing = new Set(
  `minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format minItems maxItems
  uniqueItems minProperties maxProperties not contains minContains maxContains default contentEncoding contentMediaType`
    .trim()
    .split(/\s+/),
);
const structural = new Set(
  `allOf prefixItems additionalItems patternProperties unevaluatedProperties unevaluatedItems if then else
  dependentSchemas dependencies $dynamicRef $recursiveRef $anchor`.split(/\s+/),
);

/** Converts one schema, and measures it. */
class Strict {
  readonly #schema: Node;
  readonly #rules: SchemaRules;
  readonly #size: SchemaSize = {
    ...{ properties: 0, optional: 0, unions: 0, depth: 0, enumValues: 0, characters: 0 },
  };

  constructor(schema: Node, rules: SchemaRules) {
    this.#schema = schema;
    this.#rules = rules;
  }

  root(): Node {
    if (this.#schema.type !== "object") throw new NotAllowed();
    const node = this.#node(this.#schema, 0);
    for (const name of ["$defs", "definitions"]) {
      const given = this.#schema[name];
      if (!isObject(given)) continue;
      const entries = Object.entries(given).map(([key, one]) => {
        this.#size.characters += key.length;
        return [key, this.#node(one, 1)];
      });
      node[name] = Object.fromEntries(entries);
    }
    const isEndless = this.#rules.mayRecur ? isLoop : recurs;
    if (isEndless(node, node, [])) throw new NotAllowed();
    if (!this.#rules.allows(this.#size)) throw new NotAllowed();
    return node;
  }

  #node(schema: unknown, depth: number): Node {
    if (!isObject(schema)) throw new NotAllowed();
    const given = Object.entries(schema);
    if (given.some(([keyword]) => structural.has(keyword))) throw new NotAllowed();
    if (schema.$ref !== undefined) return this.#reference(schema);
    const union = schema.anyOf ?? schema.oneOf;
    const node =
      union === undefined ? this.#plain(schema, depth) : this.#union(union, schema, depth);
    const { enforces } = this.#rules;
    const narrow = given.filter(([keyword]) => narrowing.has(keyword));
    const kept = narrow.filter(([keyword, value]) => enforces(keyword, value));
    const left = narrow.filter(([keyword, value]) => !enforces(keyword, value));
    const words = left.map(([keyword, value]) => `${keyword}: ${JSON.stringify(value)}`);
    const description = [schema.description, words.length > 0 && `{${words.join(", ")}}`]
      .filter((part) => typeof part === "string" && part !== "")
      .join("\n");
    return {
      ...node,
      ...Object.fromEntries(kept),
      ...(typeof schema.title === "string" && { title: schema.title }),
      ...(description && { description }),
    };
  }

  #reference(schema: Node): Node {
    const { $ref, ...beside } = schema;
    const isLocal = resolved($ref, this.#schema) !== null;
    const isAlone = Object.keys(beside).every((keyword) => !known.has(keyword) || isNote(keyword));
    if (!isLocal || !isAlone || Object.keys(beside).some((one) => narrowing.has(one))) {
      throw new NotAllowed();
    }
    return { $ref };
  }

  #union(union: unknown, beside: Node, depth: number): Node {
    const own = Object.keys(beside).filter((keyword) => !["anyOf", "oneOf"].includes(keyword));
    const isAlone = own.every((keyword) => !known.has(keyword) || isNote(keyword));
    if (!Array.isArray(union) || union.length === 0 || !isAlone) throw new NotAllowed();
    if (beside.anyOf !== undefined && beside.oneOf !== undefined) throw new NotAllowed();
    this.#size.unions += 1;
    return { anyOf: union.map((one) => this.#node(one, depth)) };
  }

  #plain(schema: Node, depth: number): Node {
    const { type = typesOf(schema), properties, items } = schema;
    const types = Array.isArray(type) ? type : [type];
    if (types.length === 0 || !types.every((one) => typeof one === "string"))
      throw new NotAllowed();
    if (types.length > 1) this.#size.unions += 1;
    const literals = this.#literals(schema);
    if (literals) return { type, ...literals };
    return {
      type,
      ...(types.includes("object") && this.#object(schema, properties, depth + 1)),
      ...(types.includes("array") && { items: this.#node(items, depth + 1) }),
    };
  }

  #literals(schema: Node): Node | null {
    const values = schema.enum ?? ("const" in schema ? [schema.const] : null);
    if (values === null) return null;
    if (
      !Array.isArray(values) ||
      values.length === 0 ||
      values.some((one) => Object(one) === one)
    ) {
      throw new NotAllowed();
    }
    this.#size.enumValues += values.length;
    this.#size.characters += values.join("").length;
    return "const" in schema ? { const: schema.const } : { enum: values };
  }

  #object({ required = [], additionalProperties }: Node, given: unknown, depth: number): Node {
    const properties = Object.entries(isObject(given) ? given : {});
    const names = new Set(Array.isArray(required) ? required : []);
    // A schema without properties allows any object, unless it forbids additional properties.
    const isClosed =
      additionalProperties === false ||
      (additionalProperties === undefined && properties.length > 0);
    if (!isClosed || [...names].some((name) => !properties.some(([key]) => key === name))) {
      throw new NotAllowed();
    }
    const size = this.#size;
    size.depth = Math.max(size.depth, depth);
    size.properties += properties.length;
    const entries = properties.map(([key, one]) => {
      size.characters += key.length;
      const node = this.#node(one, depth);
      if (names.has(key)) return [key, node];
      size.optional += 1;
      return [key, this.#rules.areAllRequired && !mayBeNull(one) ? orNull(node) : node];
    });
    const all = this.#rules.areAllRequired ? properties.map(([key]) => key) : [...names];
    return {
      properties: Object.fromEntries(entries) as Node,
      required: all,
      additionalProperties: false,
    };
  }
}

const orNull = (node: Node): Node => ({ anyOf: [node, { type: "null" }] });

const isNote = (keyword: string): boolean =>
  ["title", "description", "$schema", "$id", "$defs", "definitions"].includes(keyword);

function typesOf(schema: Node): unknown {
  const values = Array.isArray(schema.enum) ? schema.enum : "const" in schema ? [schema.const] : [];
  const types = [...new Set(values.map((one) => (one === null ? "null" : typeof one)))];
  return types.length === 1 ? types[0] : types;
}

/** Returns the schema that a local `$ref` refers to, or null. */
function resolved($ref: unknown, root: Node): Node | null {
  if ($ref === "#") return root;
  const [, kind = "", name = ""] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(String($ref)) ?? [];
  const key = decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~");
  const list = root[kind];
  const found = isObject(list) && Object.hasOwn(list, key) ? list[key] : null;
  return isObject(found) ? found : null;
}

function recurs(node: unknown, root: Node, path: readonly unknown[]): boolean {
  if (typeof node !== "object" || node === null) return false;
  const { $ref, $defs: _, definitions: __, ...parts } = node as Node;
  const next = $ref === undefined ? null : resolved($ref, root);
  if (next) return path.includes(next) || recurs(next, root, [...path, next]);
  return Object.values(parts).some((part) => recurs(part, root, path));
}

/** Returns whether a definition refers to itself without a property or an item in between. */
function isLoop(_: Node, { $defs = {}, definitions = {} }: Node): boolean {
  const root = { $defs, definitions };
  const comesTo = (node: unknown, path: readonly unknown[]): boolean => {
    if (!isObject(node)) return false;
    if (path.includes(node)) return true;
    const next = node.$ref === undefined ? null : resolved(node.$ref, root);
    return [next, node.anyOf].flat().some((one) => comesTo(one, [...path, node]));
  };
  return [$defs, definitions].some((list) =>
    Object.values(Object(list) as Node).some((one) => comesTo(one, [])),
  );
}

/** Removes the nulls that represent omitted optional properties. */
export function withoutNulls(value: unknown, schema: unknown, root: unknown = schema): unknown {
  if (!isObject(schema) || !isObject(root)) return value;
  if (schema.$ref !== undefined) return withoutNulls(value, resolved(schema.$ref, root), root);
  const union = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(union)) {
    const one = union.find((each) => fits(each, value, root));
    return one === undefined ? value : withoutNulls(value, one, root);
  }
  if (Array.isArray(value)) return value.map((each) => withoutNulls(each, schema.items, root));
  const { properties, required } = schema;
  if (!isObject(value) || !isObject(properties)) return value;
  const entries = Object.entries(value).flatMap(([key, each]) => {
    const own = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (isLeftOut(each, own, key, required)) return [];
    return [[key, withoutNulls(each, own, root)]];
  });
  return Object.fromEntries(entries);
}

const isLeftOut = (value: unknown, schema: unknown, key: string, required: unknown): boolean =>
  value === null && !(Array.isArray(required) && required.includes(key)) && !mayBeNull(schema);

/** Returns whether the author's schema allows null. */
function mayBeNull(schema: unknown): boolean {
  if (!isObject(schema)) return false;
  const union = schema.anyOf ?? schema.oneOf;
  const said = [schema.type, schema.const, schema.enum].flat();
  return (
    said.includes("null") || said.includes(null) || (Array.isArray(union) && union.some(mayBeNull))
  );
}

/** Returns whether a value has the structure of a schema, where null may represent an omitted property. */
function fits(schema: unknown, value: unknown, root: Node): boolean {
  if (!isObject(schema)) return schema !== false;
  if (schema.$ref !== undefined) return fits(resolved(schema.$ref, root), value, root);
  const union = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(union)) return union.some((each) => fits(each, value, root));
  if (Array.isArray(schema.enum)) return schema.enum.includes(value);
  if ("const" in schema) return schema.const === value;
  const types = [schema.type ?? []].flat();
  if (types.length > 0 && !types.some((type) => isOf(type, value))) return false;
  if (Array.isArray(value)) return value.every((each) => fits(schema.items, each, root));
  const { properties, required = [] } = schema;
  if (!isObject(value) || !isObject(properties)) return true;
  const isWhole = (required as unknown[]).every((key) => Object.hasOwn(value, String(key)));
  return (
    isWhole &&
    Object.entries(value).every(([key, each]) => {
      if (!Object.hasOwn(properties, key)) return false;
      const own = properties[key];
      return fits(own, each, root) || isLeftOut(each, own, key, required);
    })
  );
}

function isOf(type: unknown, value: unknown): boolean {
  if (isRawNumber(value)) return type === "integer" || type === "number";
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isObject(value);
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}
